"""What is wrong with the arguments of a function of NumPy. NumPy says that it refuses some, but not
which ones."""


def refused(error, parameters, arguments):
    """Returns the error of a call that was refused: with the first argument that is not computed as
    a double, or as it is if there is none.

    A `longdouble` is refused, as NumPy does where a function has doubles only.
    """
    import numpy as np

    for parameter, argument in zip(parameters, arguments):
        if hasattr(argument, "__array_ufunc__") and not isinstance(argument, np.ndarray):
            # Its library says what it refuses.
            continue
        array = np.asarray(argument)
        if np.can_cast(array.dtype, float, "safe"):
            continue
        if array.dtype == np.longdouble:
            what = "a longdouble has digits that a double has not, and `dtype=float` rounds them"
        elif array.ndim == 0:
            what = f"a value of type {type(argument).__name__} is not computed as a double"
        else:
            what = f"values of type {array.dtype} are not computed as doubles"
        return TypeError(f"`{parameter}`: {what}")
    return error
