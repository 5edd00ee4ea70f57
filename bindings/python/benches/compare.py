"""Compares Kal with NumPy, numexpr and numba, on one thread, and measures what calls cost.

    make python-bench

K3 is a tax with five brackets, K8 functions that call each other, twenty times in all, K9 interest on
interest, as in benches/columns. Times are the least of several runs.
"""

import os
import subprocess
import sys
import time
import timeit
from pathlib import Path

for name in ["OMP", "NUMEXPR", "NUMBA", "OPENBLAS"]:
    os.environ[f"{name}_NUM_THREADS"] = "1"

import numba  # noqa: E402
import numexpr  # noqa: E402
import numpy as np  # noqa: E402

import kal  # noqa: E402

KERNELS = Path(__file__).resolve().parents[3] / "benches/columns"
sys.path.insert(0, str(KERNELS))
import twenty  # noqa: E402

ROWS = 1_000_000
TURNS = 15
ROUNDS = 60
random = np.random.default_rng(1)


def least(work, turns=TURNS):
    """Returns the seconds of the quickest run, after one that warms up."""
    return least_in_turns([work], turns)[0]


def least_in_turns(works, turns=ROUNDS):
    """Returns the seconds of the quickest run of each; they take turns, each first as often as the others."""
    for work in works:
        work()
    times = [float("inf")] * len(works)
    for turn in range(turns):
        for index in range(len(works)):
            index = (index + turn) % len(works)
            start = time.perf_counter()
            works[index]()
            times[index] = min(times[index], time.perf_counter() - start)
    return times


def tax():
    x = random.uniform(0, 400_000, ROWS)

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

    numexpr_text = (
        "where(x < 10000, 0, where(x < 30000, (x - 10000) * 0.14, where(x < 60000, 2800 + (x - 30000) * 0.24, "
        "where(x < 250000, 10000 + (x - 60000) * 0.42, 89800 + (x - 250000) * 0.45))))"
    )
    kal_text = (
        "if x < 10000 then 0 else if x < 30000 then (x - 10000) * 0.14 else if x < 60000 then 2800 + (x - 30000) * 0.24 "
        "else if x < 250000 then 10000 + (x - 60000) * 0.42 else 89800 + (x - 250000) * 0.45"
    )
    return (x,), kal.formula(kal_text), with_numpy, numexpr_text, numba.vectorize(["f8(f8)"])(one)


def nested():
    x, y = random.uniform(-4, 4, ROWS), random.uniform(-4, 4, ROWS)
    session = kal.Session()
    session.load(KERNELS / "kernels.kal")
    with_numpy, vectorized = twenty.with_numpy, twenty.vectorized
    return (x, y), session["nested"], lambda: with_numpy(x, y), twenty.NUMEXPR, vectorized


def interest():
    p, r, n = random.uniform(1, 1e5, ROWS), random.uniform(0, 0.1, ROWS), random.uniform(1, 40, ROWS)
    vectorized = numba.vectorize(["f8(f8,f8,f8)"])(lambda p, r, n: p * (1 + r) ** n)
    return (p, r, n), kal.formula("p * (1 + r) ^ n"), lambda: p * (1 + r) ** n, "p * (1 + r) ** n", vectorized


def compare():
    print(f"{'ns a row':12} {'Kal':>8} {'NumPy':>8} {'numexpr':>8} {'numba':>8}")
    kernels = {"K3": tax(), "K8": nested(), "K9": interest()}
    for name, (columns, function, with_numpy, numexpr_text, vectorized) in kernels.items():
        names = dict(zip(function.parameters, columns))
        assert np.allclose(function(*columns), with_numpy(), rtol=1e-12)
        works = [
            lambda: function(*columns),
            with_numpy,
            lambda: numexpr.evaluate(numexpr_text, names),
            lambda: vectorized(*columns),
        ]
        times = [seconds / ROWS * 1e9 for seconds in least_in_turns(works)]
        print(f"{name:12}" + "".join(f" {value:8.2f}" for value in times))
        print(f"{'  × Kal':12}" + "".join(f" {value / times[0]:8.2f}" for value in times))


def first_call():
    """Prints what the first call of new formulas takes more than another one."""
    x = random.uniform(0, 10, ROWS)
    more = []
    for number in range(12):
        text = f"if x < {number} then x * {number}.5 + sqrt(x) else exp(-x) * {number}.25"
        start = time.perf_counter()
        function = kal.formula(text)
        function(x)
        first = time.perf_counter() - start
        more.append(first - least(lambda: function(x), 5))
    print(f"first call of a new formula, above the run: {sorted(more)[len(more) // 2] * 1e3:.1f} ms")


def calls():
    session = kal.Session()
    session.eval("def area(w h) w * h / 2")
    area, a, b = session["area"], random.uniform(size=100), random.uniform(size=100)
    ufunc = area.ufunc
    names = {"area": area, "a": a, "b": b, "ufunc": ufunc, "abs": abs}
    for text in ["area(3.0, 4.0)", "area(3, 4)", "area(a, b)", "ufunc(a, b)", "a * b", "abs(3.0)"]:
        count = 200_000
        cost = min(timeit.repeat(text, number=count, repeat=7, globals=names)) / count
        print(f"{text:16} {cost * 1e9:8.0f} ns")


def importing():
    """Prints what `import kal` takes, alone in a process."""
    text = "import time; t = time.perf_counter(); import kal; print(time.perf_counter() - t)"
    times = [float(subprocess.run([sys.executable, "-c", text], capture_output=True, text=True).stdout) for _ in range(10)]
    print(f"import kal: {min(times) * 1e3:.1f} ms")


def duckdb_columns():
    """Prints how a function of DuckDB does that takes columns of Arrow, beside one of NumPy."""
    import duckdb
    import pyarrow as pa

    database = duckdb.connect()
    database.execute("set threads = 1")
    database.execute(f"create table t as select random() * 1e5 p, random() * 0.1 r, random() * 39 + 1 n from range({ROWS})")
    double = ["DOUBLE"] * 3
    database.create_function("k", kal.formula("p * (1 + r) ^ n"), double, "DOUBLE", type="arrow")
    with_numpy = lambda p, r, n: pa.array(p.to_numpy() * (1 + r.to_numpy()) ** n.to_numpy())  # noqa: E731
    database.create_function("v", with_numpy, double, "DOUBLE", type="arrow")
    for name in "kv":
        cost = least(lambda: database.execute(f"select sum({name}(p, r, n)) from t").fetchall(), 5)
        print(f"DuckDB, K9, {'Kal' if name == 'k' else 'NumPy'}: {cost / ROWS * 1e9:.1f} ns a row")


if __name__ == "__main__":
    importing()
    calls()
    first_call()
    compare()
    duckdb_columns()
