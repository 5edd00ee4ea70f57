"""Pickling, other processes, and other libraries in this one."""

import importlib.metadata
import multiprocessing
import os
import pickle
import subprocess
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import kal
from kal import _kal


def test_functions_are_pickled_as_text(session):
    session.eval("var rate = 3; def unused(x) x; def half(x) x / 2; def f(x) half(x) * rate")
    bytes_ = pickle.dumps(session["f"])
    assert b"def half(x) x / 2" in bytes_ and b"unused" not in bytes_
    copy = pickle.loads(bytes_)
    assert copy(4) == 6.0 and copy.id == session["f"].id
    assert pickle.loads(bytes_) is copy
    formula = session.formula("half(a) + rate * b")
    copy = pickle.loads(pickle.dumps(formula))
    assert copy(4, 1) == 5.0 and copy.parameters == ("a", "b") and copy.id == formula.id
    assert pickle.loads(pickle.dumps(session["sin"]))(0.5) == session["sin"](0.5)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_ufuncs_are_pickled_as_text(session, protocol):
    session.eval("var rate = 3; def half(x) x / 2; def f(x y) half(x) * rate + y")
    for function in (session["f"], session.formula("half(a) - rate * b"), session["atan2"]):
        ufunc = function.ufunc
        copy = pickle.loads(pickle.dumps(ufunc, protocol))
        assert isinstance(copy, np.ufunc) and copy.__name__ == ufunc.__name__ == function.__name__
        assert (copy(np.arange(5), [[1], [2]]) == ufunc(np.arange(5), [[1], [2]])).all()
        assert copy.accumulate(np.arange(5.0)).tolist() == ufunc.accumulate(np.arange(5.0)).tolist()
        assert pickle.loads(pickle.dumps(ufunc, protocol)) is copy
    # It is that of the definition which it was made of.
    before = session["f"].ufunc
    session.eval("def f(x y) 0")
    assert pickle.loads(pickle.dumps(before, protocol))(4, 1) == before(4, 1) == 7.0
    # Others are pickled as they were.
    assert pickle.loads(pickle.dumps(np.add, protocol)) is np.add
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(np.frompyfunc(abs, 1, 1), protocol)


def test_ufuncs_arrive_in_other_processes(session):
    session.eval("def half(x) x / 2; def f(x) half(x) + 1")
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert list(pool.map(session["f"].ufunc, range(4))) == [1.0, 1.5, 2.0, 2.5]


def test_what_arrives_again_is_what_was_sent(session):
    session.eval("var rate = 3; def f(x) x * rate")
    bytes_ = pickle.dumps(session["f"])
    copy = pickle.loads(bytes_)
    copy.session["rate"] = 100
    assert (copy(2), pickle.loads(bytes_)(2)) == (200.0, 6.0)
    copy = pickle.loads(bytes_)
    copy.session.reset()
    assert pickle.loads(bytes_)(2) == 6.0


def test_sessions_are_pickled_as_text(session):
    session.eval("def f(x) g(x) + y; def g(x) x * 2; var y = 1".replace("def f(x) g(x) + y; ", ""))
    session.eval("def f(x) g(x) + y")
    copy = pickle.loads(pickle.dumps(session))
    assert copy["f"](3) == 7.0 and copy.functions == ["f", "g"] and copy.variables == {"y": 1.0}


def test_limits_travel_with_functions():
    session = kal.Session(timeout=0.2)
    session.eval("def forever(x) for i = 0, x in i")
    copy = pickle.loads(pickle.dumps(session["forever"]))
    with pytest.raises(kal.Timeout):
        copy(1)


def test_what_is_damaged_or_not_of_kal_is_refused(session):
    session.define("python", lambda x: x, arity=1)
    session.eval("def f(x) python(x)")
    for thing in (session["f"], session["f"].ufunc, session):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(thing)
    session.eval("def g(x) x + 25")
    damaged = pickle.dumps(session["g"]).replace(b"x + 25", b"x + 26")
    with pytest.raises(kal.Error, match="computes something else"):
        pickle.loads(damaged)


def test_errors_are_pickled(session):
    with pytest.raises(kal.SourceError) as caught:
        session.eval("1 +")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(copy), copy.code, copy.report) == (kal.SourceError, caught.value.code, caught.value.report)


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_processes(session, method):
    session.eval("def half(x) x / 2; def f(x) half(x) + 1")
    f = session["f"]
    assert f(np.ones(10)).tolist() == [1.5] * 10
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(f, range(6))) == [1.0, 1.5, 2.0, 2.5, 3.0, 3.5]
        parts = np.split(np.arange(20_000.0), 4)
        assert np.array_equal(np.concatenate(list(pool.map(f, parts))), np.arange(20_000) / 2 + 1)


def test_forks_while_other_threads_compile(run):
    text = """
        import os, threading, numpy as np, kal
        sessions = [kal.Session() for _ in range(4)]
        done = threading.Event()
        def work(session, number):
            count = 0
            while not done.is_set():
                count += 1
                session.eval(f"def f{number}(x) x * {count} + sin(x); f{number}(1)")
                session[f"f{number}"](np.ones(1000))
        threads = [threading.Thread(target=work, args=each) for each in zip(sessions, range(4))]
        for thread in threads: thread.start()
        mine = kal.Session()
        mine.eval("def g(x) x + 1")
        good = 0
        for turn in range(20):
            child = os.fork()
            if child == 0:
                mine.eval(f"def h(x) g(x) * {turn}")
                new = kal.Session()
                new.eval("def k(x) x * 2")
                ok = mine["h"](1) == 2 * turn and new["k"](np.ones(5000)).sum() == 10000
                os._exit(0 if ok else 1)
            good += os.waitpid(child, 0)[1] == 0
        done.set()
        for thread in threads: thread.join()
        print(good)
    """
    assert run(text) == "20\n"


def test_a_session_that_ran_when_the_process_forked_says_so(run):
    text = """
        import os, threading, kal
        session = kal.Session()
        began = threading.Event()
        session.define("begun", lambda: began.set() or 0.0, arity=0)
        thread = threading.Thread(target=lambda: session.eval("begun(); for i = 0, 1 in i"), daemon=True)
        thread.start()
        began.wait()
        child = os.fork()
        if child == 0:
            try:
                session.eval("1")
            except RuntimeError as error:
                os._exit(7 if "forked" in str(error) else 1)
            os._exit(2)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        session.interrupt()
    """
    assert run(text).splitlines()[0] == "7"


@pytest.mark.parametrize("order", ["numba, kal", "kal, numba"])
def test_numba_and_kal_compile_in_one_process(run, order):
    text = f"""
        import {order}, numpy as np
        def with_kal(number):
            session = kal.Session()
            session.eval(f"def f(x) exp(x) * {{number}} + 1")
            return session["f"](np.zeros(1000)).sum().item()
        def with_numba(number):
            f = numba.vectorize(["f8(f8)"])(eval(f"lambda x: x * {{number}} + 1"))
            return f(np.ones(1000)).sum().item()
        both = [with_kal, with_numba] if "{order}".startswith("kal") else [with_numba, with_kal]
        print([[one(number) for one in both] for number in (1, 2)])
        def fails(x):
            if x > 0: raise ValueError("no")
            return x
        try:
            numba.njit(fails)(1.0)
        except ValueError as error:
            print(error, with_kal(3))
    """
    assert run(text) == "[[2000.0, 2000.0], [3000.0, 3000.0]]\nno 4000.0\n"


def test_only_the_entry_of_the_module_is_exported():
    listed = subprocess.run(["nm", "-D", "--defined-only", _kal.__file__], capture_output=True, text=True, check=True)
    assert [line.split()[-1] for line in listed.stdout.splitlines()] == ["PyInit__kal"]


def test_nothing_is_needed_but_what_every_system_has():
    listed = subprocess.run(["readelf", "-d", _kal.__file__], capture_output=True, text=True, check=True)
    needed = {line.split("[")[1].rstrip("]") for line in listed.stdout.splitlines() if "(NEEDED)" in line}
    assert needed <= {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}


def test_no_text_of_the_package_names_the_folder_that_it_was_built_in():
    folder = str(Path(__file__).parents[3]).encode()
    files = [file for file in importlib.metadata.files("kal-lang") if file.suffix not in (".pyc", ".so")]
    # pip notes where a wheel came from.
    files = [file for file in files if file.name not in ("direct_url.json", "RECORD")]
    assert len(files) > 8
    assert [str(file) for file in files if folder in file.read_binary()] == []


def test_exceptions_of_cpp_unwind_after_code_was_freed(run):
    text = """
        import gc, kal, numpy as np, duckdb
        for turn in range(50):
            session = kal.Session(fuel=None, timeout=10.0)
            session.eval(f"def f(x) x + {turn}; f(1)")
            session["f"](np.ones(10))
        del session
        gc.collect()
        try:
            duckdb.sql("select nothing")
        except duckdb.Error as error:
            print("caught")
    """
    assert run(text) == "caught\n"


def test_importing_is_quick_and_imports_little(run):
    text = """
        import sys, time
        began = time.process_time()
        import kal
        took = time.process_time() - began
        print(sorted({"numpy", "pandas", "pyarrow", "IPython"} & set(sys.modules)), took)
    """
    lines = [run(text).rsplit(" ", 1) for _ in range(5)]
    assert {line[0] for line in lines} == {"[]"}
    assert min(float(line[1]) for line in lines) < 0.015


def test_without_numpy_numbers_still_work(run):
    text = """
        import sys
        sys.modules["numpy"] = None
        import kal
        f = kal.formula("x * 2")
        print(f(4), kal.evaluate("a + 1", {"a": 1}))
        try:
            f([1.0, 2.0])
        except ImportError as error:
            print(error)
    """
    assert run(text) == "8.0 2.0\narrays are computed with NumPy, which could not be imported\n"


def test_sessions_do_not_leak(run):
    text = """
        import gc, kal, numpy as np
        def size():
            gc.collect()
            fields = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
            return int(fields["VmRSS"].split()[0])
        column = np.ones(10)
        def use():
            session = kal.Session()
            session.eval("def f(x) x * 2 + 1")
            session["f"](3)
            session["f"](column)
            session["f"].ufunc(column)
            session["v"] = 1
        # It keeps the code.
        kept = kal.Session()
        kept.eval("def f(x) x * 2 + 1")
        kept["f"](3), kept["f"](column)
        for _ in range(COUNT // 10): use()
        before = size()
        for _ in range(COUNT): use()
        print(size() - before)
    """
    count = os.environ.get("KAL_SESSIONS", "10000")
    grown = int(run(text.replace("COUNT", count)))
    assert grown < 4_000, f"{grown} KB"


def test_the_package_names_no_folder_of_the_machine_that_built_it():
    library = Path(kal._kal.__file__).read_bytes()
    project = Path(__file__).resolve().parents[3]
    for folder in ["/.cargo/", f"{project}/"]:
        assert folder.encode() not in library, folder
