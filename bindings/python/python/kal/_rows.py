"""Which row has failed when NumPy called a function.

A row is known by its place in the result, in the order of C. NumPy computes rows in the order
that suits the memory, and only those of `where`. The compiled part counts them as they come, and
asks here what the count means."""

from ._errors import Error, Stopped, at_row


def placed(error, is_pure, function, arguments, keywords):
    """Returns the error of a call with the lowest row that fails.

    error: what the call has raised, with the number of rows that were computed before as row.
    is_pure: whether rows can be computed again.
    """
    import numpy as np

    if not isinstance(error, Error) or error.row is None:
        return error
    inputs = [np.asarray(argument) for argument in arguments[: function.nin]]
    given = keywords.get("out")
    given = given if isinstance(given, tuple) else (given,)
    outputs = [output for output in (*arguments[function.nin :], *given) if output is not None]
    where = np.asarray(keywords.get("where", True))
    arrays = [*inputs, *outputs, where]
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    is_everywhere = where.ndim == 0 and bool(where)
    is_in_order = all(_is_in_order(array) for array in arrays)
    if is_in_order and is_everywhere:
        return error
    rows = np.flatnonzero(np.broadcast_to(where, shape))
    if is_in_order:
        return at_row(error, int(rows[error.row]))
    is_overwritten = any(np.may_share_memory(input, output) for input in inputs for output in outputs)
    if is_pure and not is_overwritten and not isinstance(error, Stopped):
        options = {key: keywords[key] for key in ("casting", "dtype", "signature") if key in keywords}
        columns = [np.broadcast_to(input, shape).ravel()[rows] for input in inputs]
        try:
            function(*columns, **options)
        except Error as again:
            return again if again.row is None else at_row(again, int(rows[again.row]))
    return at_row(error, None)


def _is_in_order(array):
    """Returns whether NumPy computes the rows of an array in the order of C: the first axis
    whose steps are the longest."""
    steps = [step for step, count in zip(array.strides, array.shape) if count > 1 and step != 0]
    return all(step > 0 for step in steps) and steps == sorted(steps, reverse=True)
