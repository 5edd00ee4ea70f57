"""Formulas and `evaluate`."""

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
