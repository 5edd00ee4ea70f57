"""Making again what was pickled: a text, which is read and compiled where it arrives.

What the text defines is compared with what was sent by its identity. Functions that arrive
more than once in a process are the same one.
"""

import copyreg
import threading
from collections import OrderedDict

from ._errors import Error
from ._kal import Session, pickled_ufunc

# How many functions a process keeps.
_MOST = 1024

_lock = threading.Lock()
_functions = OrderedDict()


def session(source, settings):
    """Returns a session with what `source` defines."""
    made = Session(**settings)
    made.eval(source, source="<pickle>")
    return made


def function(source, text, parameters, identity, settings):
    """Returns the function that `source` defines: that of the name `text`, or if there are
    `parameters`, the formula `text`."""
    key = (identity, text, parameters, repr(settings))
    with _lock:
        made = _functions.get(key)
        if made is None or not _is(made, identity):
            made = _functions[key] = _make(source, text, parameters, identity, settings)
            if len(_functions) > _MOST:
                _functions.popitem(last=False)
        else:
            _functions.move_to_end(key)
        return made


def _is(function, identity):
    """Returns whether a function still computes what arrived: its session may have been changed."""
    try:
        return function.id == identity
    except Error:
        return False


def ufunc(*arguments):
    """Returns the function of NumPy of what `function` returns."""
    return function(*arguments).ufunc


def register_ufuncs():
    """Makes functions of NumPy pickle as text if Kal has made them. NumPy pickles its own by their
    names, and goes on to do so."""
    import numpy

    before = copyreg.dispatch_table[numpy.ufunc]

    def reduce(function):
        arguments = pickled_ufunc(function)
        return before(function) if arguments is None else (ufunc, arguments)

    copyreg.pickle(numpy.ufunc, reduce)


def _make(source, text, parameters, identity, settings):
    made = Session(**settings)
    if parameters is None:
        made.eval(source, source="<pickle>")
        result = made[text]
    else:
        if not source.endswith(text):
            raise Error("the formula does not end the text that was pickled with it")
        made.eval(source[: -len(text)], source="<pickle>")
        result = made.formula(text, list(parameters))
    if result.id != identity:
        raise Error(f"`{text}` computes something else here: the versions of Kal differ")
    return result
