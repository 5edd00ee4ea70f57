"""Formulas without a session of their own."""

import re
import sys
import threading
from collections import OrderedDict

from ._kal import Session

# How many formulas `evaluate` keeps.
_MOST = 512

_lock = threading.Lock()
_session = None
_formulas = OrderedDict()


def formula(text, parameters=None, /):
    """Returns the function of an expression.

    parameters: their names, in the order of the arguments. By default, all names of the text
    that mean nothing by themselves, in their order of appearance.

    >>> kal.formula("w * h / 2")(3, 4)
    6.0
    """
    return Session().formula(text, parameters)


# The names of Kal that are numbers: a variable of the caller comes first.
_CONSTANTS = ("e", "inf", "nan", "pi")


def _kept(text, given):
    global _session
    key = text, given
    with _lock:
        function = _formulas.get(key)
        if function is None:
            if _session is None:
                _session = Session()
            function = _formulas[key] = _with_constants(_session, text, given)
            if len(_formulas) > _MOST:
                _formulas.popitem(last=False)
        else:
            _formulas.move_to_end(key)
        return function


def _with_constants(session, text, given):
    """Returns a formula whose parameters are `given`, of the constants, and what means nothing."""
    function = session.formula(text)
    if not given:
        return function
    return session.formula(text, [*function.parameters, *(name for name in given if name not in function.parameters)])


def _constants_in(text, local_dict, global_dict):
    """Returns the constants that a text has, and the caller has variables of."""
    known = [name for name in _CONSTANTS if name in local_dict or name in global_dict]
    words = set(re.findall(r"\w+", text)) if known else ()
    return tuple(name for name in known if name in words)


def evaluate(text, /, local_dict=None, global_dict=None, out=None, *, session=None, threads=1):
    """Returns the value of an expression over numbers and arrays, whose names are variables of
    the caller.

    local_dict, global_dict: where names are looked up, in place of the caller's variables.
    out: an array for the results.
    session: a session whose functions and variables the expression can use.
    threads: how many threads compute the rows of arrays.

    >>> a, b = np.arange(3.0), 2.0
    >>> kal.evaluate("a * exp(-b) + 1")
    array([1.        , 1.13533528, 1.27067057])
    """
    if local_dict is None or global_dict is None:
        frame = sys._getframe(1)
        # A call of `f_locals` copies all variables where it is not the module's.
        local_dict = frame.f_locals if local_dict is None else local_dict
        global_dict = frame.f_globals if global_dict is None else global_dict
    given = _constants_in(text, local_dict, global_dict)
    function = _kept(text, given) if session is None else _with_constants(session, text, given)
    arguments = []
    for name in function.parameters:
        if name in local_dict:
            arguments.append(local_dict[name])
        elif name in global_dict:
            arguments.append(global_dict[name])
        else:
            raise NameError(f"`{name}` is neither a variable here nor a name of Kal", name=name)
    return function(*arguments, out=out, threads=threads)
