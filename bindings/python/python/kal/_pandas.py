"""The engine for pandas: `column.map(f, engine=kal.engine)`, `table.apply(f, axis=1,
engine=kal.engine)`."""

from ._evaluate import formula
from ._kal import Function


def _function(function):
    if isinstance(function, Function):
        return function
    if isinstance(function, str):
        return formula(function)
    raise TypeError(f"kal.engine runs functions and formulas of Kal, not {function!r}")


class _Udf:
    """What pandas calls."""

    @staticmethod
    def map(data, func, args, kwargs, decorator, skip_na):
        """Computes each value. A missing one is NaN, which functions get like any number
        unless `skip_na`."""
        del decorator
        function = _function(func)
        result = function(data, *args, **kwargs)
        return result.where(data.notna()) if skip_na and hasattr(data, "notna") else result

    @staticmethod
    def apply(data, func, args, kwargs, decorator, axis):
        """Computes each row of a table, if `axis` is 1: the parameters are columns of the same
        names. Else each column is computed, value by value."""
        del decorator
        function = _function(func)
        if axis in (0, "index") or not hasattr(data, "columns"):
            return function(data, *args, **kwargs)
        given = function.parameters[len(args) :]
        missing = [name for name in given if name not in kwargs and name not in data.columns]
        if missing:
            raise KeyError(f"no column is called {', '.join(map(repr, missing))}")
        columns = [kwargs.pop(name) if name in kwargs else data[name] for name in given]
        return function(*args, *columns, **kwargs)


class _Engine:
    """The engine for pandas: `column.map(f, engine=kal.engine)`, and for tables
    `table.apply(f, axis=1, engine=kal.engine)`, whose columns are the arguments of the same
    names."""

    __pandas_udf__ = _Udf

    def __call__(self, function):
        return _function(function)

    def __repr__(self):
        return "kal.engine"


engine = _Engine()
