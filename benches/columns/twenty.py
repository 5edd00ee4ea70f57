"""K8, twenty functions that call each other, as kernels.kal has it: for the peers in Python."""

import numba
import numpy as np


def with_numpy(x, y):
    def k4(x):
        k1 = (x + 1) * 0.5
        return (np.where(k1 > 1, k1 - 1, x + 1) + k1) * 0.25

    def k6(x, y):
        k5 = k4(x) + k4(y)
        return np.where(k5 > x, k5, y)

    return (k6(x, y) - k6(y, x)) * 2 + (k6(y, x) - k6(x, y))


def for_numexpr():
    def k4(x):
        k1 = f"(({x} + 1) * 0.5)"
        return f"((where({k1} > 1, {k1} - 1, {x} + 1) + {k1}) * 0.25)"

    def k6(x, y):
        k5 = f"({k4(x)} + {k4(y)})"
        return f"where({k5} > {x}, {k5}, {y})"

    one, other = k6("x", "y"), k6("y", "x")
    return f"({one} - {other}) * 2 + ({other} - {one})"


NUMEXPR = for_numexpr()


@numba.njit
def k4(x):
    k1 = (x + 1) * 0.5
    return ((k1 - 1 if k1 > 1 else x + 1) + k1) * 0.25


@numba.njit
def k6(x, y):
    k5 = k4(x) + k4(y)
    return k5 if k5 > x else y


@numba.vectorize(["f8(f8,f8)"])
def vectorized(x, y):
    return (k6(x, y) - k6(y, x)) * 2 + (k6(y, x) - k6(x, y))
