"""What the tests share."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import kal


@pytest.fixture
def session():
    return kal.Session()


@pytest.fixture
def run():
    """Runs a program of Python in a process of its own; returns what it prints."""

    def run(text, **keywords):
        command = [sys.executable, "-c", textwrap.dedent(text)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=float(os.environ.get("KAL_SECONDS", 120)), **keywords)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def interrupted():
    """Calls something that never ends, sends the process a SIGINT, and returns how long it
    took from there to the exception, in seconds: the least of some turns, for others use the
    machine, too."""

    def turn(call, after):
        sent = []

        def interrupt():
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(after, interrupt)
        timer.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                call()
            return time.perf_counter() - sent[0]
        finally:
            timer.join()

    def interrupted(call, after=0.3):
        for _ in range(4):
            took = turn(call, after)
            if took <= 0.2:
                break
        return took

    return interrupted
