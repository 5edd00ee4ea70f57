"""Columns with missing values that know NumPy's functions: masked arrays, and series of pandas whose
types have missing values. Rows in which a value is missing are not computed."""

import sys


def given(*arguments):
    """Returns how to call a function with arguments of which some values are missing: the
    arguments, the keywords for NumPy's function, or None if the arguments are columns of Arrow, and
    what makes the result of NumPy's or Arrow's. None if no value is missing, or this module knows
    nothing of an argument."""
    import numpy as np

    pandas = sys.modules.get("pandas")
    if pandas is not None and any(isinstance(argument, pandas.Series) for argument in arguments):
        return _series(pandas, np, arguments)
    if any(isinstance(argument, np.ma.MaskedArray) for argument in arguments):
        return _masked(np, arguments)
    return None


def _where_present(np, missing):
    """Returns the keywords for rows of which some are missing: their results are 0."""
    return {"where": ~missing, "out": np.zeros(missing.shape)}


def _masked(np, arguments):
    if not all(isinstance(argument, (np.ndarray, int, float)) for argument in arguments):
        return None
    masks = [np.ma.getmask(argument) for argument in arguments]
    masks = [mask for mask in masks if mask is not np.ma.nomask]
    if not any(mask.any() for mask in masks):
        return None
    arguments = tuple(np.ma.getdata(argument) for argument in arguments)
    mask = np.zeros(np.broadcast_shapes(*(np.shape(argument) for argument in arguments)), bool)
    for one in masks:
        mask |= one
    if mask.ndim == 0:
        return None
    return arguments, _where_present(np, mask), lambda result: np.ma.array(result, mask=mask)


def _has_mask(series):
    """Returns whether a series is of one of pandas' own types with missing values."""
    return hasattr(series.array, "_mask")


def _series(pandas, np, arguments):
    series = [argument for argument in arguments if isinstance(argument, pandas.Series)]
    if not all(isinstance(argument, (pandas.Series, int, float)) for argument in arguments):
        return None
    of_arrow = [one for one in series if isinstance(one.dtype, pandas.ArrowDtype)]
    masked = [one for one in series if _has_mask(one)]
    if not of_arrow and not masked:
        return None
    index = series[0].index
    if not all(index.equals(other.index) for other in series[1:]):
        for other in series[1:]:
            index = index.union(other.index)
        arguments = tuple(
            argument.reindex(index) if isinstance(argument, pandas.Series) else argument
            for argument in arguments
        )
    names = {one.name for one in series}
    name = names.pop() if len(names) == 1 else None
    if of_arrow:
        import pyarrow

        def column(argument):
            if not isinstance(argument, pandas.Series):
                return argument
            if isinstance(argument.dtype, pandas.ArrowDtype):
                return pyarrow.chunked_array(argument.array.__arrow_array__())
            return pyarrow.array(argument, from_pandas=_has_mask(argument))

        def of_columns(result):
            values = pandas.arrays.ArrowExtensionArray(pyarrow.chunked_array([pyarrow.array(result)]))
            return pandas.Series(values, index=index, name=name)

        return tuple(column(argument) for argument in arguments), None, of_columns
    if not any(one.isna().any() for one in masked):
        return None
    missing = np.zeros(len(index), bool)
    values = []
    for argument in arguments:
        if isinstance(argument, pandas.Series) and _has_mask(argument):
            missing |= argument.isna().to_numpy()
            values.append(argument.to_numpy(dtype=float, na_value=np.nan))
        else:
            values.append(np.asarray(argument, dtype=float))
    make = pandas.arrays.FloatingArray
    return (
        tuple(values),
        _where_present(np, missing),
        lambda result: pandas.Series(make(result, missing), index=index, name=name),
    )
