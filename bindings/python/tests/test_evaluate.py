"""Formulas and `evaluate`."""

import math
import pickle

import numpy as np
import pytest

import kal

scale = 10.0


def test_parameters_are_in_order_of_appearance():
    assert kal.formula("h * w + h ^ sin(b)").parameters == ("h", "w", "b")
    assert kal.formula("pi * r ^ 2").parameters in (("r",), ("pi", "r"))
    assert kal.formula("var t = a in t * t + b").parameters == ("a", "b")
    assert kal.formula("1 + 2").parameters == ()
    assert kal.formula("1 + 2")() == 3.0
    assert kal.formula("a - b", ["b", "a"])(1, 10) == 9.0
    assert kal.formula("a - b", "b, a")(1, 10) == 9.0


def test_formulas_that_are_refused():
    with pytest.raises(kal.SourceError) as caught:
        kal.formula("a * (b + ")
    assert caught.value.column is not None
    for text in ("", "a; b", "def f(x) x", "a = 1 2"):
        with pytest.raises(kal.SourceError):
            kal.formula(text)
    with pytest.raises(kal.SourceError):
        kal.formula("a + b", ["a"])
    with pytest.raises(kal.SourceError):
        kal.formula("a", ["a", "a"])


def test_formulas_follow_the_functions_of_their_session(session):
    session.eval("def tax(x) x * 0.1; var free = 5")
    formula = session.formula("tax(income - free)")
    assert formula.parameters == ("income",)
    assert formula(105) == pytest.approx(10)
    session.eval("def tax(x) x * 0.2")
    session["free"] = 0
    assert formula(100) == pytest.approx(20)
    assert formula(np.array([100.0, 200.0])).tolist() == pytest.approx([20, 40])


def test_names_are_those_of_the_caller():
    a, b = np.arange(3.0), 2.0
    assert kal.evaluate("a * scale + b").tolist() == [2.0, 12.0, 22.0]
    out = np.zeros(3)
    assert kal.evaluate("a + b", out=out) is out and out.tolist() == [2.0, 3.0, 4.0]
    assert kal.evaluate("a + b", local_dict={"a": 1, "b": 2}) == 3.0
    assert kal.evaluate("a + scale", {"a": 1}, {"scale": 5}) == 6.0

    def inner():
        a = 7
        return kal.evaluate("a * 2")

    assert inner() == 14.0
    with pytest.raises(NameError, match="`nothing`"):
        kal.evaluate("nothing + 1")
    with pytest.raises(NameError):
        kal.evaluate("a + scale", {"a": 1}, {})
    session = kal.Session()
    session.eval("def tax(x) x / 2")
    assert kal.evaluate("tax(b)", session=session) == 1.0


def test_no_python_is_evaluated():
    for text in ("__import__('os')", "(lambda: 1)()", "a.__class__", "open('x')"):
        with pytest.raises((kal.Error, NameError)):
            kal.evaluate(text, {"a": 1}, {})


def test_variables_come_before_constants():
    a, e = np.arange(3.0), 10.0
    assert kal.evaluate("a * e").tolist() == [0.0, 10.0, 20.0]
    assert kal.evaluate("a * e", {"a": 2.0}, {}) == 2 * math.e
    assert kal.evaluate("a * pi + inf * 0", {"a": 2.0, "pi": 3.0, "inf": 1.0}, {}) == 6.0
    session = kal.Session()
    session.eval("def twice(x) 2 * x")
    assert kal.evaluate("twice(e)", session=session) == 20.0
    del a, e


def test_parameters_come_before_options():
    formula = kal.formula("out + where * 2 + threads * 3")
    assert formula(out=1, where=2, threads=3) == 14.0
    with pytest.raises(TypeError, match="`f` got an unexpected keyword argument 'z'"):
        session = kal.Session()
        session.eval("def f(x y) x + y")
        session["f"](1, z=2)


def test_formulas_are_pickled_without_their_comments():
    for text in ("x + 1 # c", "x + 1;", "# c\nx + 1", "(x + 1)\n# end"):
        assert pickle.loads(pickle.dumps(kal.formula(text)))(2) == 3.0
    session = kal.Session()
    session["n"] = float("nan")
    session.eval("def f(x) x + n")
    assert math.isnan(pickle.loads(pickle.dumps(session["f"]))(1))


def test_a_nan_is_always_the_same():
    formula = kal.formula("sqrt(x)")
    assert math.copysign(1, formula(-1.0)) == 1.0
    assert not np.signbit(formula(np.array([-1.0])))[0]
    assert math.copysign(1, kal.formula("0/0")()) == 1.0
