"""Arrays of NumPy: types, layouts, broadcasting, and what rows raise."""

import fractions
import gc
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import kal

TYPES = ["?", "b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "e", "f", "d", ">f8", ">i4", "<f4"]


@pytest.fixture
def f(session):
    session.eval("def f(x y) if x < y then x * 2 - y else sqrt(x - y) + 1")
    return session["f"]


def expected(x, y):
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    with np.errstate(all="ignore"):
        return np.where(x < y, x * 2 - y, np.sqrt(x - y) + 1)


@pytest.mark.parametrize("kind", TYPES)
def test_all_types_of_numbers(f, kind):
    x = np.arange(100).astype(kind)
    result = f(x, 30.5)
    assert result.dtype == np.float64
    assert (result == expected(x, 30.5)).all()
    assert (f(x[::3], x[::-3][:34]) == expected(x[::3], x[::-3][:34])).all()


@pytest.mark.parametrize("kind", ["F", "D", "O", "U3", "M8[s]", "g"])
def test_other_types_are_refused_as_numpy_does(f, kind):
    for call in (f, f.ufunc):
        with pytest.raises(TypeError, match="^`x`: "):
            call(np.zeros(3).astype(kind), 1.0)
        with pytest.raises(TypeError, match="^`y`: "):
            call([1, 2, 3], np.zeros(3).astype(kind))


def test_what_is_no_number_is_named(f):
    given = {"NoneType": None, "str": "3", "Fraction": fractions.Fraction(1, 2), "dict": {}, "complex": 1j}
    for kind, value in given.items():
        for call in (f, f.ufunc):
            with pytest.raises(TypeError, match=f"`y`: a value of type {kind} is not computed as a double"):
                call(np.ones(2), value)
    with pytest.raises(TypeError, match="`x`: values of type complex128 are not computed as doubles"):
        f([1j], 1)
    # These are errors of something else.
    with pytest.raises(TypeError, match="output"):
        f(np.ones(2), 1, out=np.ones(2, dtype=int))
    with pytest.raises(TypeError, match="dtype"):
        f(np.array([1j]), 1, dtype=float)


def test_errors_of_ufuncs_do_not_leak(session):
    limited = kal.Session(fuel=100)
    fails = limited.formula("(for i = 0, i < n in 0) + n").ufunc
    calls = [lambda: fails("text"), lambda: fails([1e6]), lambda: fails(pl.Series(["text"])), lambda: fails([1], [2], [3])]
    for call in calls:
        before = None
        for turn in range(300):
            with pytest.raises(Exception) as caught:
                call()
            del caught
            if turn == 100:
                before = sum(isinstance(thing, Exception) for thing in gc.get_objects())
        assert sum(isinstance(thing, Exception) for thing in gc.get_objects()) <= before + 5


def test_a_longdouble_is_rounded_if_that_is_asked_for(f):
    third = np.longdouble(1) / 3
    assert third != float(third)
    for value in (third, np.array([third])):
        with pytest.raises(TypeError, match="`x`: a longdouble has digits that a double has not, and `dtype=float`"):
            f(value, 0)
        assert f(value, 0, dtype=float) == f(float(third), 0)


@pytest.mark.parametrize("arguments", [(1.0, 2.0), ([1.0], 2.0), (np.ones(3), 2.0), (pa.array([1.0]), 2.0)])
def test_options_say_what_is_allowed(f, arguments):
    for threads in (-1, 0, np.int64(-1), 10**30):
        with pytest.raises(ValueError, match=f"threads is a whole number, 1 or more, not .*{threads}"):
            f(*arguments, threads=threads)
    for threads in (True, False, 2.0, "2", None):
        with pytest.raises(TypeError, match=f"threads is a whole number, 1 or more, not {threads!r}"):
            f(*arguments, threads=threads)
    for threads in (1, np.int64(2), 10**9):
        assert f(*arguments, threads=threads) is not None
    for on_error in ("ignore", None, 3):
        with pytest.raises(ValueError, match=f'on_error is "raise" or "nan", not {on_error!r}'):
            f(*arguments, on_error=on_error)


def test_layouts(f):
    base = np.random.default_rng(1).uniform(-5, 5, (40, 60))
    other = np.random.default_rng(2).uniform(-5, 5, (40, 60))
    unaligned = np.zeros(8 * 50 + 1, dtype="u1")[1:].view("f8")
    unaligned[:] = np.linspace(-3, 3, 50)
    cases = [
        (base, other),
        (np.asfortranarray(base), other),
        (np.asfortranarray(base), np.asfortranarray(other)),
        (base.T, other.T),
        (base[::2, ::-3], other[1::2, ::3]),
        (base[:, 0], other[:, 1]),
        (base[0], 0.5),
        (unaligned, unaligned[::-1]),
        (np.broadcast_to(base[0], base.shape), other),
        (base.ravel()[:1], other.ravel()[:1]),
    ]
    for x, y in cases:
        result = f(x, y)
        assert result.shape == np.broadcast_shapes(np.shape(x), np.shape(y))
        assert (result == expected(x, y)).all()
    read_only = base.copy()
    read_only.flags.writeable = False
    assert (f(read_only, other) == expected(base, other)).all()


def test_scalars_and_empty_arrays(f):
    assert f(np.array(3.0), 1) == 1 + np.sqrt(2.0)
    assert np.ndim(f(np.float32(3), np.int64(1))) == 0
    assert f(np.array([]), 1).shape == (0,)
    assert f(np.zeros((3, 0)), np.zeros((3, 1))).shape == (3, 0)
    assert (f([1, 2, 3], (2.0,)) == expected([1, 2, 3], [2.0])).all()


def test_broadcasting_on_random_shapes(f):
    random = np.random.default_rng(7)
    refused = 0
    for _ in range(400):
        shapes = [tuple(random.choice([0, 1, 1, 2, 3, 5], random.integers(0, 5))) for _ in range(2)]
        x, y = (random.uniform(-2, 2, shape) for shape in shapes)
        try:
            shape = np.broadcast_shapes(*shapes)
        except ValueError:
            refused += 1
            with pytest.raises(ValueError):
                f(x, y)
            continue
        result = f(x, y)
        assert np.shape(result) == shape
        assert (result == expected(x, y)).all()
    assert 20 < refused < 380


def test_out_and_where(f):
    x, y = np.linspace(-4, 4, 9), np.linspace(2, -2, 9)
    out = np.full(9, -1.0)
    assert f(x, y, out=out) is out
    assert (out == expected(x, y)).all()
    where = np.arange(9) % 2 == 0
    out = np.full(9, -1.0)
    f(x, y, out=out, where=where)
    assert (out == np.where(where, expected(x, y), -1.0)).all()
    assert f(x, y, out=None).shape == (9,)
    narrow = np.zeros(9, dtype="f4")
    f(x, y, out=narrow, casting="same_kind")
    assert (narrow == expected(x, y).astype("f4")).all()
    with pytest.raises(TypeError):
        f(x, y, out=np.zeros(9, dtype=int))
    with pytest.raises(ValueError):
        f(x, y, out=np.zeros(8))
    with pytest.raises(ValueError):
        frozen = np.zeros(9)
        frozen.flags.writeable = False
        f(x, y, out=frozen)
    with pytest.raises(TypeError):
        f(x, y, nothing=1)


@pytest.mark.parametrize("rows", [1, 7, 64, 500, 40_000])
def test_an_output_may_overlap_the_inputs(f, rows):
    memory = np.random.default_rng(3).uniform(-3, 3, rows + 3)
    for target, x, y in [
        (slice(0, rows), slice(0, rows), slice(1, rows + 1)),
        (slice(1, rows + 1), slice(0, rows), slice(2, rows + 2)),
        (slice(2, rows + 2), slice(0, rows), slice(1, rows + 1)),
    ]:
        given = memory.copy()
        wanted = expected(given[x].copy(), given[y].copy())
        f(given[x], given[y], out=given[target])
        assert (given[target] == wanted).all()
    given = memory.copy()
    f(given[:rows][::-1], 0.5, out=given[:rows])
    assert (given[:rows] == expected(memory[:rows][::-1], 0.5)).all()


def test_ufuncs_are_functions_of_numpy(f):
    ufunc = f.ufunc
    assert isinstance(ufunc, np.ufunc)
    assert (ufunc.__name__, ufunc.nin, ufunc.nout, ufunc.types) == ("f", 2, 1, ["dd->d"])
    assert f.ufunc is ufunc
    x = np.linspace(-2, 2, 5)
    assert (ufunc.outer(x, x) == expected(x[:, None], x[None, :])).all()
    assert kal.formula("a + b").ufunc.reduce(np.arange(5.0)) == 10.0
    assert (kal.formula("a + b").ufunc.accumulate(np.arange(5.0)) == [0, 1, 3, 6, 10]).all()
    kept = kal.formula("x * 3").ufunc
    gc.collect()
    assert (kept(np.arange(3)) == [0, 3, 6]).all()


def test_subclasses_and_protocols(f):
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    result = f(masked, 2.0)
    assert isinstance(result, np.ma.MaskedArray) and result.mask.tolist() == [False, True, False]


def test_guarded_code_warns_of_nothing(session):
    session.eval("def safe(x) if x > 0 then log(x) else 0 - 1")
    column = np.array([0.0, -1.0, 2.0, np.inf, np.nan, 1e308] * 20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (session["safe"](column)[:3] == [-1, -1, np.log(2.0)]).all()
        session["safe"].ufunc(column)
        session["safe"].ufunc(column[::2])


def test_variables_are_those_of_the_moment(session):
    session["rate"] = 2.0
    session.eval("def f(x) x * rate")
    f = session["f"]
    assert f(np.ones(3)).tolist() == [2.0] * 3
    session["rate"] = 5.0
    assert f(np.ones(3)).tolist() == [5.0] * 3
    session.eval("def set(x) rate = x")
    session["set"](7)
    assert f(np.ones(3)).tolist() == [7.0] * 3


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_that_fail_are_named(session, threads):
    session.eval("def deep(n) if n < 1 then 0 else 1 + deep(n)")
    column = np.zeros(20_000)
    column[[12_345, 15_000]] = 1
    with pytest.raises(kal.RowError) as caught:
        session["deep"](column, threads=threads)
    assert caught.value.row == 12_345
    with pytest.raises(kal.RowError) as caught:
        session["deep"](column[::-1], threads=threads)
    assert caught.value.row == 4_999
    result = session["deep"](column, threads=threads, on_error="nan")
    assert np.isnan(result[[12_345, 15_000]]).all() and np.isnan(result).sum() == 2
    with pytest.raises(ValueError, match="on_error"):
        session["deep"](column, on_error="ignore")


@pytest.mark.parametrize("through", ["ufunc", "function"])
def test_rows_are_named_whatever_the_layout(through):
    session = kal.Session(fuel=1000)
    session.eval("def deep(n) if n < 1 then 0 else 1 + deep(n)")
    deep = session["deep"] if through == "function" else session["deep"].ufunc

    def row(*arguments, **keywords):
        with pytest.raises(kal.RowError) as caught:
            deep(*arguments, **keywords)
        error = caught.value
        assert ("row" in str(error)) == (error.row is not None)
        assert error.row is None or str(error).startswith(f"row {error.row}: ")
        return error.row

    column = np.zeros(40_000)
    column[[12_345, 15_000, 39_999]] = 1
    assert row(column) == 12_345
    assert row(column[1::2]) == 6_172
    assert row(column[::-1]) == 0
    assert row(column[:39_999][::-1]) == 24_998
    # Many loops, each with a part of the rows.
    assert row(column.astype("i4")) == 12_345
    assert row(column.astype("i4")[12_346:]) == 2_654
    table = column.reshape(200, 200)
    assert row(table) == 12_345
    # 12,345 is row 61, column 145; 15,000 is row 75, column 0.
    assert row(table.T) == 75
    assert row(np.asfortranarray(table)) == 12_345
    assert row(np.asfortranarray(table), out=np.zeros((200, 200))) == 12_345
    assert row(np.broadcast_to(column[12_300:12_400], (3, 100))) == 45
    assert row(np.broadcast_to(column[12_300:12_400, None], (100, 3))) == 135
    where = np.arange(40_000) % 1000 == 0
    assert row(column, where=where, out=np.zeros(40_000)) == 15_000
    assert row(table.T, where=where.reshape(200, 200).T, out=np.zeros((200, 200))) == 75
    assert row([1.0, 0.0]) == 0
    # The rows cannot be computed again when they are overwritten.
    assert row(memory := column[::-1].copy()[::-1], out=memory) is None
    assert deep(np.zeros(5)).tolist() == [0.0] * 5


def test_whatever_stops_a_row_names_it():
    counted = kal.Session(fuel=1000)
    counted.eval("def turns(n) (for i = 0, i < n in 0) + n")
    for f in (counted["turns"], counted["turns"].ufunc):
        with pytest.raises(kal.RowError, match="row 3") as caught:
            f(np.array([10.0, 20.0, 30.0, 1e6, 40.0, 1e6]))
        assert caught.value.row == 3
    timed = kal.Session(timeout=0.2)
    timed.eval("def late(x) if x < 9000 then x else for i = 0, 1 in i")
    for column in (np.arange(10_000.0), np.arange(10_000)):
        with pytest.raises(kal.Timeout) as caught:
            timed["late"].ufunc(column)
        assert 8_000 < caught.value.row <= 9_000


def test_functions_of_python_fail_in_a_row_of_a_ufunc(session):
    seen = []

    @session.define
    def half(x):
        seen.append(x)
        if x >= 300:
            raise ValueError("too much")
        return x / 2

    session.eval("def f(x) half(x) + 1")
    for column in (np.arange(1000.0), np.arange(1000), np.arange(20_000)):
        seen.clear()
        with pytest.raises(kal.RowError) as caught:
            session["f"].ufunc(column)
        assert caught.value.row == 300
        assert isinstance(caught.value.__cause__, ValueError)
        # Nothing is computed behind the row that fails.
        assert seen == list(range(301))
    with pytest.raises(kal.RowError) as caught:
        session["f"].ufunc(np.arange(1000)[::-1])
    assert caught.value.row is None


def test_a_function_of_python_that_computes_arrays_does_not_disturb_the_rows(session):
    plus = kal.formula("a + b").ufunc
    limited = kal.Session(fuel=100)
    limited.eval("def turns(n) (for i = 0, i < n in 0) + n")
    inner = limited["turns"].ufunc
    session.define("total", lambda x: plus.reduce(np.arange(x)), arity=1)
    session.define("turns", lambda x: inner(np.array([x, x], dtype="i4"))[1], arity=1)
    session.eval("def f(x) total(5) + turns(x)")
    column = np.array([1, 2, 3, 1000, 4, 1000], dtype="i4")
    with pytest.raises(kal.RowError) as caught:
        session["f"](column)
    assert caught.value.row == 3
    assert isinstance(caught.value.__cause__, kal.RowError) and caught.value.__cause__.row == 0
    # The inner call raises, so it is the outer row that has no value.
    result = session["f"](column, on_error="nan")
    assert np.array_equal(result, [11, 12, 13, np.nan, 14, np.nan], equal_nan=True)


def test_threads_do_not_change_results(session):
    session.eval("def f(x) exp(-x * x) * sin(x) + x ^ 3")
    column = np.random.default_rng(5).normal(size=300_001)
    one, many = session["f"](column), session["f"](column, threads=4)
    assert (one == many).all()
    assert (session["f"](column[::-1], threads=4)[::-1] == one).all()


def test_ctrl_c_is_heard_in_rows(session, interrupted):
    session.eval(
        "def forever(x) for i = 0, x in i; var n = 0; def count(x) for i = 0, x in n = n + 1;"
        "def slow(x) for i = 0, i < 300000 in x * x"
    )
    session.eval("def half(x) if x < 500 then 0 else forever(x)")
    session.define("python", lambda x: x, arity=1)
    session.eval("def mixed(x) for i = 0, x in python(x)")
    row = np.ones(1)
    for call in (
        lambda: session["forever"](row),
        lambda: session["forever"](np.ones(10_000), threads=2),
        lambda: session["half"](np.arange(1000.0)),
        lambda: session["forever"].ufunc(row),
        lambda: session["forever"](row[::-1], where=[True], out=row),
        lambda: session["slow"](np.ones(10_000_000)),
        lambda: session["count"](row),
        lambda: session["mixed"](row),
    ):
        assert interrupted(call) <= 0.2
    assert session["forever"](np.zeros(3)).tolist() == [0, 0, 0]


def interrupting(session, call):
    """Calls something while another thread interrupts the session, again and again; returns
    what the call raises."""
    done = threading.Event()

    def interrupt():
        while not done.wait(0.01):
            session.interrupt()

    other = threading.Thread(target=interrupt)
    other.start()
    try:
        with pytest.raises(kal.Stopped) as caught:
            call()
        # And not by its timeout.
        assert caught.type is kal.Stopped
        return caught.value
    finally:
        done.set()
        other.join()


def test_another_thread_interrupts_rows():
    session = kal.Session(timeout=60)
    session.eval("def forever(x) if x < 5 then x else for i = 0, x in i")
    session.eval("var n = 0; def count(x) for i = 0, x in n = n + 1")
    column = np.arange(10_000.0)
    calls = [
        lambda: session["forever"](column),
        lambda: session["forever"](column, threads=2),
        lambda: session["forever"](column, on_error="nan"),
        lambda: session["forever"].ufunc(column),
        lambda: session["forever"](column.astype("i4")),
        lambda: session["forever"](pa.array(column)),
        lambda: session["count"](column + 1),
    ]
    for call in calls:
        assert interrupting(session, call).row <= 5
    with ThreadPoolExecutor(1) as pool:
        for call in calls:
            assert interrupting(session, lambda: pool.submit(call).result()).row <= 5
    assert session["forever"](column[:5]).tolist() == [0, 1, 2, 3, 4]
    assert session.eval("20 + 1") == 21.0


def test_one_interrupt_stops_all_rows_that_are_computed():
    session = kal.Session(timeout=60)
    begun = threading.Barrier(4)
    session.define("begun", lambda: begun.wait() * 0.0, arity=0)
    session.eval("def f(x) begun() + for i = 0, x in i")
    # Another session goes on.
    other = kal.Session()
    stop = threading.Event()
    other.define("stopped", lambda: float(stop.is_set()), arity=0)
    other.eval("def g(x) begun() + x + for i = 0, 1 - stopped() in i")
    other.define("begun", lambda: begun.wait() * 0.0, arity=0)

    def raised(*arguments):
        with pytest.raises(kal.Stopped) as caught:
            session["f"](*arguments)
        assert caught.type is kal.Stopped
        return caught.value.row

    with ThreadPoolExecutor(3) as pool:
        rows = [pool.submit(raised, np.ones(3)) for _ in range(2)]
        undisturbed = pool.submit(other["g"], np.ones(1))
        begun.wait()
        session.interrupt()
        assert [row.result() for row in rows] == [0, 0]
        stop.set()
        assert undisturbed.result().tolist() == [1.0]


def test_many_quick_loops_of_one_call_can_be_stopped(session):
    f = session.formula("x * x * x * x + x * x * x + x * x + x")
    column = np.ones(20_000_000, dtype="i4")
    assert interrupting(f.session, lambda: f(column)).row is not None
    assert f(column[:10]).tolist() == [4.0] * 10


def test_what_takes_longer_than_a_look_at_signals_is_complete(session):
    session.eval("def slow(x) var s = 0 in (for i = 0, i < 3000 in s = s + x) + s")
    column = np.arange(200_003.0) % 100
    assert (session["slow"](column) == 3001 * column).all()
    assert (session["slow"](column[::-1]) == 3001 * column[::-1]).all()


def test_the_time_of_rows_is_limited():
    session = kal.Session(timeout=0.3)
    session.eval("def late(x) if x < 70 then x else for i = 0, 1 in i")
    with pytest.raises(kal.Timeout) as caught:
        session["late"](np.arange(100.0))
    assert caught.value.row is not None and caught.value.row <= 70


def test_python_functions_are_called_for_rows(session):
    seen = []

    @session.define
    def half(x):
        if x == 3:
            raise ValueError("three")
        seen.append(x)
        return x / 2

    session.eval("def f(x) half(x) + 1")
    assert session["f"](np.array([2.0, 4.0])).tolist() == [2.0, 3.0]
    with pytest.raises(kal.RowError) as caught:
        session["f"](np.arange(5.0))
    assert caught.value.row == 3 and isinstance(caught.value.__cause__, ValueError)
    result = session["f"](np.arange(5.0), on_error="nan")
    assert result[[0, 1, 2, 4]].tolist() == [1.0, 1.5, 2.0, 3.0] and np.isnan(result[3])


def test_too_many_arguments_for_numpy(session):
    names = [f"p{index}" for index in range(80)]
    session.eval(f"def wide({' '.join(names)}) {' + '.join(names)}")
    wide, formula = session["wide"], session.formula(" + ".join(names))
    for call in (wide, formula):
        assert call(*range(80)) == sum(range(80))
        assert call(*[np.ones(4)] * 80).tolist() == [80.0] * 4
        assert call(*[pa.array([1, None])] * 80).to_pylist() == [80.0, None]
    for call in (lambda: wide.ufunc, lambda: wide(*[[1, 2]] * 80), lambda: wide(*[np.ones(4, "f4")] * 80)):
        with pytest.raises(ValueError, match="`wide` takes 80 arguments, and a function of NumPy takes fewer"):
            call()
    fewer = session.formula(" + ".join(names[:31]))
    assert fewer.ufunc(*range(31)) == sum(range(31))


def test_flush_to_zero_set_by_another_library(run):
    text = """
        import ctypes, numpy as np, pathlib, struct, subprocess, tempfile, kal
        folder = pathlib.Path(tempfile.mkdtemp())
        (folder / "ftz.c").write_text(
            "#include <xmmintrin.h>\\nvoid set(void) { _mm_setcsr(_mm_getcsr() | 0x8040); }"
            "unsigned get(void) { return _mm_getcsr(); }")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "ftz.so", folder / "ftz.c"], check=True)
        library = ctypes.CDLL(str(folder / "ftz.so"))
        library.set()
        tiny = kal.formula("x / 4")(np.full(100, 2.0 ** -1022))
        scalar = kal.formula("x / 4")(2.0 ** -1022)
        print(tiny.view("u8").tolist() == [1 << 50] * 100, struct.pack(">d", scalar).hex(), hex(library.get() & 0x8040))
    """
    assert run(text) == "True 0004000000000000 0x8040\n"
