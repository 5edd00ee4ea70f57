"""Sessions, scalar calls and errors."""

import contextlib
import functools
import gc
import inspect
import io
import math
import pickle
import threading
import time
import weakref

import numpy as np
import pyarrow as pa
import pytest

import kal


def test_a_text_is_run_up_to_its_first_mistake(session):
    assert session.eval("def square(x) x * x") is None
    assert session.eval("square(3); square(4)") == 16.0
    with pytest.raises(kal.SourceError) as caught:
        session.eval("var side = 7\nside + nothing + 1")
    assert session["side"] == 7.0
    assert (caught.value.code, caught.value.line, caught.value.column) == ("E0201", 2, 8)
    assert "side + nothing + 1" in caught.value.report
    assert caught.value.source == "<eval>"
    assert caught.value.__notes__ == [caught.value.report.rstrip("\n")]


def test_functions_follow_their_names(session):
    session.eval("def area(w h) w * h / 2")
    area = session["area"]
    assert area(3, 4) == 6.0
    pinned = area.ufunc
    session.eval("def area(w h) w * h")
    assert area(3, 4) == 12.0
    assert pinned(3.0, 4.0) == 6.0
    session.eval("def area(a) a")
    assert area.parameters == ("a",)
    assert area(3) == 3.0
    with pytest.raises(TypeError, match="`area` takes 1 argument, `a`, not 2"):
        area(3, 4)


def test_what_is_compiled_is_kept(session):
    session.eval("def f(x) x * 2")
    assert session["f"] is session["f"]
    assert session.formula("f(x)") is session.formula("f(x)", ["x"])
    column = np.ones(10)
    session["f"](column), kal.evaluate("f(column)", session=session)
    began = time.process_time()
    for _ in range(200):
        session["f"](column)
        kal.evaluate("f(column)", session=session)
    assert time.process_time() - began < 0.2


def test_numbers_of_python_are_arguments(session):
    session.eval("def f(x y) x - y")
    f = session["f"]
    assert [f(3, 1), f(True, 0.5), f(x=3, y=1), f(3, y=1)] == [2.0, 0.5, 2.0, 2.0]
    assert type(f(3, 1)) is float
    with pytest.raises(TypeError):
        f("3", 1)
    with pytest.raises(OverflowError):
        f(10**400, 1)
    with pytest.raises(TypeError, match="`y` is missing"):
        session.eval("def g(x y z) x")
        session["g"](1, z=2)
    with pytest.raises(TypeError, match="`x` is given twice"):
        f(1, x=2)


def test_functions_with_any_number_of_parameters(session):
    for count in range(13):
        names = [f"p{index}" for index in range(count)]
        body = " + ".join(f"{name} * {index + 1}" for index, name in enumerate(names)) or "7"
        session.eval(f"def f{count}({' '.join(names)}) {body}")
        expected = sum((index + 1) ** 2 for index in range(count)) if count else 7
        assert session[f"f{count}"](*range(1, count + 1)) == expected


def test_library_functions_are_functions(session):
    assert session["sin"](1.0) == pytest.approx(math.sin(1.0), abs=1e-15)
    assert session["atan2"].parameters
    assert "sin" in session and "nothing" not in session


def test_variables(session):
    session["rate"] = 0.07
    session.eval("def gross(net) net * (1 + rate)")
    gross = session["gross"]
    assert gross(100) == pytest.approx(107)
    session["rate"] = 0.19
    assert gross(100) == pytest.approx(119)
    assert session.variables == {"rate": 0.19}
    session.eval("var count = 0; def next() count = count + 1")
    next_ = session["next"]
    assert [next_(), next_(), next_()] == [1.0, 2.0, 3.0]
    assert session["count"] == 3.0
    assert not next_.is_pure


def test_what_has_no_meaning_is_a_key_error(session):
    with pytest.raises(KeyError) as caught:
        session["nothing"]
    assert str(caught.value) == "no function `nothing` is defined"
    assert isinstance(caught.value, kal.Error)


def test_reprs(session):
    assert repr(session) == "<kal.Session: empty>"
    session.eval("def area(w h) w * h; var x = 2.5")
    assert repr(session) == "<kal.Session: area(w h), x = 2.5>"
    assert repr(session["area"]) == "<kal.Function area(w, h)>"
    assert repr(kal.formula("a * b")) == "<kal.Function (a, b): a * b>"


def test_what_functions_tell_of_themselves(session):
    session.eval("## Half of what is given.\ndef half(x) x / 2\ndef quarter(x) half(half(x))")
    quarter = session["quarter"]
    assert session["half"].doc.strip() == "Half of what is given."
    assert quarter.source.splitlines()[-1] == "def quarter(x) half(half(x))"
    assert "def half(x) x / 2" in quarter.source
    assert str(inspect.signature(quarter)) == "(x)"
    assert (quarter.name, quarter.__name__, quarter.is_pure, quarter.is_wide) == ("quarter", "quarter", True, True)
    assert session.functions == ["half", "quarter"]
    assert "half" in session.source
    assert "ret" in session.listing("half", "asm")
    with pytest.raises(ValueError, match="no stage"):
        session.listing("half", "nothing")
    other = kal.Session()
    other.eval(quarter.source)
    assert other["quarter"].id == quarter.id


def test_explain_says_what_keeps_rows_apart(session):
    session.eval("def fib(n) if n < 2 then n else fib(n-1) + fib(n-2)")
    remarks = session["fib"].explain()
    assert remarks[0] == "row by row"
    assert "`fib` is called while it runs" in remarks[1]


def test_what_is_printed_goes_to_python(session, capsys):
    session.eval("printd(42); putchard(65); putchard(10)")
    assert capsys.readouterr().out == "42\nA\n"
    session.eval("def show(x) printd(x)")
    session["show"](7)
    assert capsys.readouterr().out == "7\n"


def test_what_rows_print_goes_to_python(session, capsys):
    session.eval("def show(x) printd(x)")
    column = np.array([1.0, 2.5])
    session["show"](column)
    session["show"].ufunc(column)
    session["show"](column.astype("f4"))
    session["show"](pa.array(column))
    thread = threading.Thread(target=session["show"], args=(column,))
    thread.start()
    thread.join()
    kal.Session(interpret=True, fuel=100).formula("printd(x)")(column)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("1\n2.5\n" * 6, "")
    with contextlib.redirect_stdout(io.StringIO()) as text:
        session["show"](column)
        session.eval("show(3)")
    assert (text.getvalue(), capsys.readouterr().out) == ("1\n2.5\n3\n", "")


def test_what_is_printed_is_in_order(session):
    session.define("note", lambda x: print(f"note {x:g}") or x, arity=1)
    session.eval("def both(x) printd(x) + note(x) + putchard(65) + note(x + 1) + putchard(10)")
    expected = "1\nnote 1\nAnote 2\n\n"

    def everything():
        print("first")
        session.eval("both(1)")
        print("second")
        session["both"](1)
        session["both"](np.ones(2))
        session["both"].ufunc(np.ones(1))
        print("last")

    with contextlib.redirect_stdout(io.StringIO()) as text:
        everything()
        thread = threading.Thread(target=everything)
        thread.start()
        thread.join()
    assert text.getvalue() == f"first\n{expected}second\n{expected * 4}last\n" * 2


def test_what_was_printed_before_a_mistake_is_shown_before_it(session):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        with pytest.raises(kal.RunError):
            session.eval("def deep(n) 1 + deep(n); putchard(195); putchard(169); printd(1); deep(1)")
        print("caught")
        session.eval("def shown(n) printd(n) + (if n < 2 then 0 else deep(n))")
        with pytest.raises(kal.RowError):
            session["shown"](np.arange(5.0))
        print("caught")
    assert text.getvalue() == "é\n1\ncaught\n0\n1\n2\ncaught\n"


def test_an_output_that_raises_is_heard(session):
    class Closed:
        def write(self, text):
            raise ValueError("closed")

    with contextlib.redirect_stdout(Closed()):
        for call in (lambda: session.eval("printd(1)"), lambda: session.formula("printd(x)")(np.ones(2))):
            with pytest.raises(ValueError, match="closed"):
                call()
    assert session.eval("1 + 1") == 2.0


def test_the_time_is_limited():
    session = kal.Session(timeout=0.2)
    session.eval("def forever(x) for i = 0, 1 in i")
    for call in (lambda: session.eval("forever(1)"), lambda: session["forever"](1)):
        began = time.perf_counter()
        with pytest.raises(kal.Timeout) as caught:
            call()
        assert 0.15 < time.perf_counter() - began < 2
        assert isinstance(caught.value, TimeoutError)
    assert session.eval("1 + 1") == 2.0
    with pytest.raises(ValueError):
        kal.Session(timeout=-1)


def test_fuel_stops_at_the_same_point():
    session = kal.Session(fuel=1000)
    session.eval("var n = 0")
    with pytest.raises(kal.RunError):
        session.eval("for i = 0, 1 in n = n + 1")
    first = session["n"]
    session["n"] = 0
    with pytest.raises(kal.RunError):
        session.eval("for i = 0, 1 in n = n + 1")
    assert session["n"] == first > 0


def test_limits_say_what_is_allowed(session):
    for wrong in (-1, 10**30):
        with pytest.raises(ValueError, match="fuel is a whole number, 0 or more"):
            kal.Session(fuel=wrong)
        with pytest.raises(ValueError, match="arity is a whole number, 0 or more"):
            session.define("f", abs, arity=wrong)
    for wrong in (1.5, True, "1"):
        with pytest.raises(TypeError, match="fuel is a whole number, 0 or more"):
            kal.Session(fuel=wrong)


def test_interpreted_sessions_give_the_same():
    session = kal.Session(interpret=True)
    session.eval("def f(x) exp(x) + 1")
    assert session["f"](0.5) == kal.formula("exp(x) + 1")(0.5)


def test_files_find_modules_beside_them(session, tmp_path):
    (tmp_path / "prices.kal").write_text("def gross(net) net * 1.19")
    (tmp_path / "main.kal").write_text("import prices\ndef paid(net) prices.gross(net) * 2\npaid(100)")
    assert session.load(tmp_path / "main.kal") == pytest.approx(238)
    beside = kal.Session(library=[tmp_path])
    assert beside.eval("import prices\nprices.gross(100)") == pytest.approx(119)


def test_errors_of_files_say_where(session, tmp_path):
    def error(path):
        with pytest.raises(kal.Error) as caught:
            session.load(path)
        error = caught.value
        assert str(error).startswith(f"{error.source}:{error.line}:{error.column}: ")
        return error.source, error.line, error.column

    main, other = tmp_path / "main.kal", tmp_path / "other.kal"
    main.write_text("def f(x) x\n\nf(1) + nothing\n")
    assert error(main) == (str(main), 3, 8)
    main.write_bytes("def f(x) x\n# ä \xff\n".encode("latin-1").replace(b"\xe4", "ä".encode()))
    assert error(main) == (str(main), 2, 5)
    main.write_text("import other")
    other.write_text("def g(x)\n  x +")
    assert error(main) == (str(other), 2, 5)
    main.write_text("def deep(n) 1 + deep(n)\ndef rows(n) if n < 1 then 0 else deep(n)")
    session.load(main)
    with pytest.raises(kal.RowError) as caught:
        session["rows"](np.arange(5.0))
    assert str(caught.value).startswith(f"row 1: {main}:1:")
    # What is no file names no place.
    with pytest.raises(kal.SourceError) as caught:
        session.eval("1 + nothing")
    assert str(caught.value) == "unknown variable `nothing`"
    with pytest.raises(FileNotFoundError) as caught:
        session.load(tmp_path / "nothing.kal")
    assert caught.value.filename == str(tmp_path / "nothing.kal")
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        session.load(tmp_path)


def test_python_functions_are_called(session):
    @session.define
    def clamp(x):
        return min(max(x, 0), 1)

    assert clamp(7) == 1
    assert session.eval("clamp(7) + clamp(0.25)") == 1.25
    session["twice"] = lambda x: 2 * x
    assert session["twice"](4) == 8.0
    session.define("most", max, arity=3)
    assert session.eval("most(1, 5, 3)") == 5.0
    with pytest.raises(ValueError, match="say `arity=`"):
        session.define("most", max)
    with pytest.raises(ValueError, match="not a name"):
        session.define("1x", abs, arity=1)


def test_python_functions_are_shown_by_their_names(session):
    @session.define
    def clamp(x, low=0.0):
        return 1 / x

    session.define("add", lambda a, b: a + b)
    session.define("most", max, arity=2)
    session.define("second", lambda def_, then: then)
    session.define("none", lambda x: None)
    session.eval("def half(x) clamp(x) / 2")
    shown = "<kal.Session: add(a b), clamp(x), half(x), most(x1 x2), none(x), second(x1 x2)>"
    assert repr(session) == shown
    assert session["add"].parameters == ("a", "b") and session["add"](b=1, a=2) == 3.0
    assert session["second"](1, 2) == 2.0
    half = session["half"]
    assert half.source == "# clamp(x) is a Python function\ndef half(x) clamp(x) / 2"
    assert "# add(a b) is a Python function\n" in session.source
    assert half.explain() == ["row by row", "`clamp` is a Python function"]
    errors = []
    for call in (lambda: half(0), lambda: half(np.zeros(2)), lambda: half.ufunc([0]), lambda: session.eval("half(0)")):
        with pytest.raises(kal.RunError) as caught:
            call()
        assert "`clamp` failed: ZeroDivisionError: " in str(caught.value)
        assert (caught.value.source, caught.value.line) == (None, None)
        errors.append(caught.value)
    with pytest.raises(kal.RunError, match="`none` failed: TypeError: it returned no number, but a value of type NoneType"):
        session["none"](1)
    with pytest.raises(kal.SourceError, match="`clamp` takes 1 argument, not 2") as caught:
        session.eval("clamp(1, 2)")
    errors.append(caught.value)
    with pytest.raises(TypeError, match="what calls `clamp`, a Python function, cannot be pickled") as caught:
        pickle.dumps(half)
    texts = [str(error) + error.report for error in errors]
    texts += [repr(session), session.source, half.ufunc.__doc__, *half.explain(), *session.functions]
    assert [text for text in texts if "python_function" in text or "<Python>" in text] == []


def test_what_cannot_be_a_python_function_is_refused(session):
    with pytest.raises(TypeError, match="3 is not callable"):
        session.define(3)
    with pytest.raises(TypeError, match="has no name: say `define"):
        session.define(functools.partial(max, 1), arity=1)
    with pytest.raises(ValueError, match="16 arguments at most, not 17"):
        session.define("many", abs, arity=17)


def test_a_session_does_not_call_the_python_functions_of_another_one(session):
    session.define("secret", lambda: 42.0)
    assert session.eval("secret()") == 42.0
    other = kal.Session()
    for number in range(1000):
        with pytest.raises(kal.RunError):
            other.eval(f"python_function_of_0({number})")


def test_what_a_python_function_raises_is_the_cause(session):
    @session.define
    def bad(x):
        raise ValueError("no")

    for call in (lambda: session.eval("bad(1)"), lambda: session["bad"](1)):
        with pytest.raises(kal.RunError) as caught:
            call()
        assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(SystemExit):
        session.define("leave", lambda x: exec("raise SystemExit"), arity=1)
        session.eval("leave(1)")
    assert session.eval("2 + 2") == 4.0


def test_a_python_function_runs_on_the_thread_of_its_caller(session):
    threads = []
    session.define("note", lambda: threads.append(threading.get_ident()) or 1.0, arity=0)
    session.eval("note()")
    other = threading.Thread(target=lambda: session.eval("note()"))
    other.start()
    other.join()
    assert threads == [threading.get_ident(), other.ident]


def test_a_python_function_cannot_use_the_session_that_calls_it(session):
    session.define("again", lambda: session.eval("1"), arity=0)
    with pytest.raises(kal.RunError) as caught:
        session.eval("again()")
    assert isinstance(caught.value.__cause__, RuntimeError)
    other = kal.Session()
    session.define("elsewhere", lambda: other.eval("20 + 1"), arity=0)
    assert session.eval("2 * elsewhere()") == 42.0


def test_another_thread_can_interrupt(session):
    timer = threading.Timer(0.2, session.interrupt)
    timer.start()
    with pytest.raises(kal.Stopped):
        session.eval("for i = 0, 1 in i")
    timer.join()
    assert session.eval("1 + 1") == 2.0


def test_ctrl_c_is_heard_in_calls(session, interrupted):
    session.eval("def forever(x) for i = 0, x in i; var n = 0; def count(x) for i = 0, x in n = n + 1")
    for call in (
        lambda: session.eval("for i = 0, 1 in i"),
        lambda: session["forever"](1),
        lambda: session["count"](1),
    ):
        assert interrupted(call) <= 0.2
        assert session.eval("1 + 1") == 2.0
    assert session["n"] > 0


def test_reset_forgets(session):
    session.eval("def f(x) x; var y = 1")
    f = session["f"]
    session.reset()
    assert (session.functions, session.variables) == ([], {})
    with pytest.raises(kal.UndefinedError):
        f(1)
    assert repr(f) == "<kal.Function f, not defined now>"


def test_eight_threads_call_while_one_redefines(session):
    session.eval("def f(x) x + 0 * 1")
    f = session["f"]
    column = np.zeros(5000)
    done = threading.Event()
    wrong = []

    def call():
        while not done.is_set():
            value = f(0.0)
            rows = f(column)
            # One call never mixes two definitions.
            if value != int(value) or (rows != rows[0]).any() or rows[0] != int(rows[0]):
                wrong.append((value, rows))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for version in range(1, 200):
        session.eval(f"def f(x) x + {version} * 1")
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert f(0.0) == 199.0


def test_arrays_draw_random_numbers_where_the_session_goes_on(session):
    session.eval("def r(x) random() + 0 * x")
    r, zeros = session["r"], np.zeros(3)
    scalar = kal.Session().eval("seed(7) : random()")

    def draw(seed):
        session.eval(f"seed({seed})")
        return [*r(zeros), *r(zeros), r(0)]

    drawn, again = draw(7), draw(7)
    assert drawn == again and drawn[-1] == scalar and len(set(drawn)) == 7
    session.eval("var unrelated = 1")
    more = r(zeros)
    assert not set(more) & set(drawn)
    assert not set(draw(9)) & {*drawn, *more}


def test_constants_of_modules_stay(session):
    session.eval("import math")
    with pytest.raises(kal.SourceError, match="`pi` is a constant of `math`"):
        session["math.pi"] = 3
    with pytest.raises(kal.SourceError):
        session["if"] = 3
    with pytest.raises(kal.SourceError):
        session.define("if", lambda x: x)


def test_what_sessions_are_made_with():
    assert kal.Session(timeout=float("inf")).eval("1") == 1.0
    with pytest.raises(ValueError, match="timeout is a number of seconds, not -1"):
        kal.Session(timeout=-1)
    assert kal.Session(library="nowhere").eval("1") == 1.0
    assert kal.Session(library=("a", "b")).eval("1") == 1.0
    session = kal.Session()
    assert session.formula("a - b", {"b": 1, "a": 2}.keys())(1, 3) == 2.0
    session.define("huge", lambda x: 10**400)
    with pytest.raises(kal.RunError, match="an integer that no double can hold"):
        session["huge"](1)


def test_a_callee_that_takes_another_number_is_told_of_in_arrays(session):
    session.eval("def f2(x) x; def f(x) f2(x); def f2(x y) x")
    for call in (lambda: session["f"](1), lambda: session["f"](np.ones(2))):
        with pytest.raises(kal.RunError, match="`f` calls `f2` with 1 argument, but `f2` takes 2"):
            call()


def test_rows_behind_a_failed_one_are_no_exception_of_numpy(session):
    session.eval("def f(x) if x > 100 then nothing(x) else x")
    x = np.zeros(7)
    x[1] = 200
    out = np.zeros(7, "f4")
    with np.errstate(all="raise"):
        np.add(np.full(7, 1e30), 0, out=np.zeros(7))
        for _ in range(20):
            with pytest.raises(kal.RowError):
                session["f"].ufunc(x, out=out, casting="unsafe")


@pytest.mark.parametrize(
    "use",
    [
        lambda session: None,
        lambda session: session.eval("f(1)"),
        lambda session: session["f"](2),
        lambda session: session["f"](np.ones(3)),
        lambda session: session["f"].ufunc(np.ones(3)),
        lambda session: session.formula("f(x) * 2")(np.ones(3)),
        lambda session: session["f"].session["f"](3),
    ],
)
def test_a_session_whose_python_functions_refer_to_it_is_freed(use):
    class Model:
        def __init__(self):
            self.session = kal.Session()
            self.session.define("f", self.more)
            # What a function refers to may also be a function of the session.
            self.session.define("g", lambda x, f=self.session["f"]: x, arity=1)

        def more(self, x):
            return x + 1

    model = Model()
    use(model.session)
    gone = weakref.ref(model)
    assert gone() is not None
    del model
    gc.collect()
    assert gone() is None


def test_an_object_that_ends_can_still_call_its_python_functions():
    answers = []

    class Model:
        def __init__(self):
            self.session = kal.Session()
            self.session.define("f", self.more)

        def more(self, x):
            return x + 1

        def __del__(self):
            answers.append(self.session.eval("f(1)"))

    Model()
    gc.collect()
    assert answers == [2]


def test_python_functions_are_there_as_long_as_something_may_call_them():
    session = kal.Session()
    session["f"] = lambda x: x + 1
    ufunc, formula, of_function = session["f"].ufunc, session.formula("f(x) * 2"), session["f"].session
    del session
    gc.collect()
    assert list(ufunc(np.ones(2))) == [2, 2]
    del ufunc
    gc.collect()
    assert formula(3) == 8
    assert list(formula(np.ones(2))) == [4, 4]
    del formula
    gc.collect()
    assert of_function.eval("f(1)") == 2


def test_python_ends_while_a_thread_calls_a_python_function(run):
    text = """
        import kal, threading, time
        session = kal.Session()
        began = threading.Event()
        def step(x):
            began.set()
            time.sleep(0.002)
            return x
        session.define("step", step)
        session.eval("def f(x) while 1 in step(x)")
        threading.Thread(target=lambda: session["f"](1.0), daemon=True).start()
        began.wait()
        print("the end")
    """
    assert run(text) == "the end\n"
