"""Kal: formulas and functions on numbers, compiled, for Python.

>>> import kal
>>> area = kal.formula("w * h / 2")
>>> area(3, 4)
6.0
>>> area(np.array([1.0, 2.0, 3.0]), 10)
array([ 5., 10., 15.])

A `Session` is a program: its functions call each other, and each can be redefined at any
time. A `Function` is called with numbers, arrays of NumPy, or columns of Arrow, and its
`.ufunc` is a function of NumPy. `%load_ext kal` brings cells of Kal to notebooks.
"""

from ._errors import (
    ArgumentsError,
    Error,
    RowError,
    RunError,
    SourceError,
    Stopped,
    Timeout,
    UndefinedError,
)
from ._evaluate import evaluate, formula
from ._kal import Array, Function, Session, __version__
from ._pandas import engine

__all__ = [
    "ArgumentsError",
    "Array",
    "Error",
    "Function",
    "RowError",
    "RunError",
    "Session",
    "SourceError",
    "Stopped",
    "Timeout",
    "UndefinedError",
    "engine",
    "evaluate",
    "formula",
]


def load_ipython_extension(ipython):
    """Adds `%%kal`, `%kal` and `%kal_asm`: what `%load_ext kal` calls."""
    from ._ipython import Magics

    ipython.register_magics(Magics)
