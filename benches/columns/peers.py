"""The functions of kernels.kal in NumPy, numexpr, blosc2, numba, Polars and DuckDB.

Prints nanoseconds a row, the median of several runs, for each that can say the function at
all: python3 peers.py [ROWS [THREADS]]. NumPy and numba always use one thread.
"""

import math
import os
import sys
import time

THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
for name in ["OMP", "NUMEXPR", "NUMBA", "POLARS", "OPENBLAS"]:
    os.environ[f"{name}_{'MAX' if name == 'POLARS' else 'NUM'}_THREADS"] = str(THREADS)

import blosc2
import duckdb
import numba
import numexpr
import numpy as np
import polars as pl

import twenty

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
TURNS = 5
# How often few rows are computed in a turn.
TIMES = max(1, 100_000 // ROWS)
random = np.random.default_rng(1)


def column(low, high):
    return random.uniform(low, high, ROWS)


def each(work):
    """Returns the nanoseconds that some work takes a row, after one run that warms up."""
    work()
    times = []
    for _ in range(TURNS):
        start = time.perf_counter()
        for _ in range(TIMES):
            work()
        times.append((time.perf_counter() - start) / TIMES)
    return sorted(times)[TURNS // 2] / ROWS * 1e9


def line():
    a, x, b = column(-1, 1), column(-10, 10), column(0, 5)
    vectorized = numba.vectorize(["f8(f8,f8,f8)"])(lambda a, x, b: a * x + b)
    return {"a": a, "x": x, "b": b}, lambda: a * x + b, "a * x + b", vectorized, "a * x + b"


def polynomial():
    x = column(-1, 1)
    text = "1 + x * (0.5 + x * (0.25 + x * (0.125 + x * (0.0625 + x * (0.03125 + x * (0.015625 + x * (0.0078125 + x * 0.00390625)))))))"
    vectorized = numba.vectorize(["f8(f8)"])(eval(f"lambda x: {text}"))
    return {"x": x}, lambda: eval(text, {"x": x}), text, vectorized, text


def tax():
    x = column(0, 400_000)

    def one(x):
        if x < 10000:
            return 0.0
        if x < 30000:
            return (x - 10000) * 0.14
        if x < 60000:
            return 2800 + (x - 30000) * 0.24
        if x < 250000:
            return 10000 + (x - 60000) * 0.42
        return 89800 + (x - 250000) * 0.45

    def with_numpy():
        conditions = [x < 10000, x < 30000, x < 60000, x < 250000]
        values = [0, (x - 10000) * 0.14, 2800 + (x - 30000) * 0.24, 10000 + (x - 60000) * 0.42]
        return np.select(conditions, values, 89800 + (x - 250000) * 0.45)

    text = "where(x < 10000, 0, where(x < 30000, (x - 10000) * 0.14, where(x < 60000, 2800 + (x - 30000) * 0.24, where(x < 250000, 10000 + (x - 60000) * 0.42, 89800 + (x - 250000) * 0.45))))"
    sql = "case when x < 10000 then 0 when x < 30000 then (x - 10000) * 0.14 when x < 60000 then 2800 + (x - 30000) * 0.24 when x < 250000 then 10000 + (x - 60000) * 0.42 else 89800 + (x - 250000) * 0.45 end"
    return {"x": x}, with_numpy, text, numba.vectorize(["f8(f8)"])(one), sql


def option():
    s, k, t, r, v = column(50, 150), column(50, 150), column(0.1, 2), 0.02, 0.3

    def one(s, k, t):
        d = (math.log(s / k) + (r + v * v / 2) * t) / (v * math.sqrt(t))
        e = d - v * math.sqrt(t)
        return s * 0.5 * math.erfc(-d * 0.7071067811865476) - k * math.exp(-r * t) * 0.5 * math.erfc(
            -e * 0.7071067811865476
        )

    # None of the others has erfc.
    return {"s": s, "k": k, "t": t}, None, None, numba.vectorize(["f8(f8,f8,f8)"])(one), None


def haversine():
    a, b, c, d = column(-1.5, 1.5), column(-3.1, 3.1), column(-1.5, 1.5), column(-3.1, 3.1)

    def one(a, b, c, d):
        u, w = math.sin((c - a) / 2), math.sin((d - b) / 2)
        return 2 * math.asin(math.sqrt(u * u + math.cos(a) * math.cos(c) * w * w))

    def with_numpy():
        u, w = np.sin((c - a) / 2), np.sin((d - b) / 2)
        return 2 * np.arcsin(np.sqrt(u * u + np.cos(a) * np.cos(c) * w * w))

    text = "2 * arcsin(sqrt(sin((c - a) / 2) ** 2 + cos(a) * cos(c) * sin((d - b) / 2) ** 2))"
    sql = "2 * asin(sqrt(sin((c - a) / 2) * sin((c - a) / 2) + cos(a) * cos(c) * sin((d - b) / 2) * sin((d - b) / 2)))"
    vectorized = numba.vectorize(["f8(f8,f8,f8,f8)"])(one)
    return {"a": a, "b": b, "c": c, "d": d}, with_numpy, text, vectorized, sql


def scattered():
    x, y = column(-2, 1), column(-1.2, 1.2)

    def one(x, y):
        r = i = n = 0.0
        while n < 255 and r * r + i * i < 4:
            t = r * r - i * i + x
            i = 2 * r * i + y
            r = t
            n += 1
        return n

    return {"x": x, "y": y}, None, None, numba.vectorize(["f8(f8,f8)"])(one), None


def kepler():
    m, e = column(0, 1.5), column(0, 0.8)

    def one(m, e):
        x, d, n = m, 1.0, 0
        while abs(d) > 0.0000000001 and n < 50:
            d = (x - e * x * (1 - x * x / 6 * (1 - x * x / 20)) - m) / (1 - e * (1 - x * x / 2 * (1 - x * x / 12)))
            x = x - d
            n = n + 1
        return x

    return {"m": m, "e": e}, None, None, numba.vectorize(["f8(f8,f8)"])(one), None


def nested():
    x, y = column(-4, 4), column(-4, 4)
    return {"x": x, "y": y}, lambda: twenty.with_numpy(x, y), None, twenty.vectorized, None


def interest():
    s, r, y = column(100, 1000), column(0, 0.1), column(1, 30)
    vectorized = numba.vectorize(["f8(f8,f8,f8)"])(lambda s, r, y: s * (1 + r) ** y)
    return {"s": s, "r": r, "y": y}, lambda: s * (1 + r) ** y, "s * (1 + r) ** y", vectorized, "s * pow(1 + r, y)"


connection = duckdb.connect()
connection.execute(f"set threads = {THREADS}")
numexpr.set_num_threads(THREADS)
blosc2.set_nthreads(THREADS)
print(f"{ROWS} rows, {THREADS} thread(s); nanoseconds a row")
print(f"{'':<12} {'NumPy':>8} {'numexpr':>8} {'blosc2':>8} {'numba':>8} {'Polars':>8} {'DuckDB':>8}")
for make in [line, polynomial, tax, option, haversine, scattered, kepler, nested, interest]:
    columns, with_numpy, expression, vectorized, sql = make()
    frame = pl.DataFrame(columns)
    connection.execute("create or replace table t as select * from frame")
    arguments = list(columns.values())
    compressed = {name: blosc2.asarray(values) for name, values in columns.items()}
    out = np.empty(ROWS)
    times = [
        each(with_numpy) if with_numpy else math.nan,
        each(lambda: numexpr.evaluate(expression, columns, out=out)) if expression else math.nan,
        # The operands are arrays of its own, and the result is one of NumPy.
        each(lambda: blosc2.lazyexpr(expression, compressed)[:]) if expression else math.nan,
        each(lambda: vectorized(*arguments, out=out)),
        # The query as SQL, in memory.
        each(lambda: pl.SQLContext(t=frame).execute(f"select {sql} as v from t", eager=True)) if sql else math.nan,
        # All results are computed, and one number comes back.
        each(lambda: connection.execute(f"select sum({sql}) from t").fetchall()) if sql else math.nan,
    ]
    print(f"{make.__name__:<12} " + " ".join(f"{time:>8.3f}" for time in times))
