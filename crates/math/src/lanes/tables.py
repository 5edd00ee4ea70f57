#!/usr/bin/env python3
"""Writes the constants of the methods: `./tables.py > tables.h`. It needs mpmath."""

from mpmath import mp, mpf, pi, log, sin, cos, atan, erfc, exp, sqrt, nint

mp.prec = 400


def double(x):
    """Returns the nearest double (no subnormal numbers are met)."""
    return float(x)


def text(x):
    """Returns a double as C has it."""
    return float(x).hex()


def pair(x):
    high = double(x)
    return high, double(x - mpf(high))


def short(x, places):
    """Returns a double that is a multiple of 2^-places, and the rest as another."""
    high = double(nint(x * 2**places) / mpf(2) ** places)
    return high, double(x - mpf(high))


def constant(name, comment, value):
    print(f"// {comment}" if comment else "", end="\n" if comment else "")
    print(f"static const double {name} = {text(value)};\n")


def table(name, comment, values, attribute=""):
    print(f"// {comment}" if comment else "", end="\n" if comment else "")
    print(f"static const double {name}[{len(values)}]{attribute} = {{")
    for at in range(0, len(values), 4):
        print("  " + ", ".join(text(value) for value in values[at : at + 4]) + ",")
    print("};\n")


def polynomial(name, comment, function, low, high, degree):
    """Writes the polynomial that agrees with a function at the Chebyshev nodes."""
    low, high = mpf(low), mpf(high)
    nodes = [
        (low + high) / 2 + (high - low) / 2 * cos(pi * (2 * k + 1) / (2 * (degree + 1)))
        for k in range(degree + 1)
    ]
    # Newton's divided differences, then the powers of x.
    differences = [function(x) for x in nodes]
    for level in range(1, degree + 1):
        for k in range(degree, level - 1, -1):
            differences[k] = (differences[k] - differences[k - 1]) / (nodes[k] - nodes[k - level])
    result = []
    for difference, node in zip(reversed(differences), reversed(nodes)):
        # result * (x - node) + difference
        shifted, scaled = [mpf(0)] + result, [c * node for c in result] + [mpf(0)]
        result = [x - y for x, y in zip(shifted, scaled)]
        result[0] += difference
    rounded = [double(c) for c in result]
    worst = max(
        abs(sum(mpf(c) * x**j for j, c in enumerate(rounded)) - function(x))
        for x in [low + (high - low) * k / 257 for k in range(258)]
    )
    table(name, f"{comment}, with an error of 2^{float(log(worst, 2)):.1f}.", rounded)


def rest(x, first, term):
    """Returns a power series without its beginning: the sum of `term(n) * x^(n - first)`."""
    return sum(term(n) * x ** (n - first) for n in range(first, first + 60))


print("// Written by tables.py, checked by tests/mathematics.\n")

# Exponentials.
powers = [mpf(2) ** (mpf(i) / 32) for i in range(32)]
table("POWERS_HIGH", "2^(i/32), and what is missing.", [pair(x)[0] for x in powers])
table("POWERS_LOW", "", [pair(x)[1] for x in powers])
high, low = pair(log(2) / 32)
constant("STEPS", "32 / log(2).", 32 / log(2))
constant("STEP_HIGH", "log(2) / 32, and what is missing.", high)
constant("STEP_LOW", "", low)
polynomial(
    "EXP",
    "(exp(x) - 1 - x) / x^2 for |x| <= 0.01084",
    lambda x: rest(x, 2, lambda n: 1 / mp.factorial(n)),
    -0.01084,
    0.01084,
    5,
)

polynomial(
    "EXPM1",
    "(exp(x) - 1 - x - x^2/2) / x^3 for |x| <= 0.01084",
    lambda x: rest(x, 3, lambda n: 1 / mp.factorial(n)),
    -0.01084,
    0.01084,
    5,
)
high, low = pair(log(2))
constant("NATURAL_HIGH", "log(2), and what is missing.", high)
constant("NATURAL_LOW", "", low)

# Logarithms. The 32 intervals, as wide in the bits of doubles, are 2^-6 wide below 1 and
# 2^-5 above.
START = 1 - mpf(2) ** -7 - 20 * mpf(2) ** -6
bounds = [START]
while bounds[-1] < 1:
    bounds.append(bounds[-1] + mpf(2) ** -6)
bounds[-1] = 1 + mpf(2) ** -6
while len(bounds) < 33:
    bounds.append(bounds[-1] + mpf(2) ** -5)
assert bounds[-1] == 2 * START
reciprocals = [double(2 / (bounds[i] + bounds[i + 1])) for i in range(32)]
reciprocals[20] = 1.0
logs = [short(-log(mpf(c)), 42) for c in reciprocals]
constant("LOG_START", "Where the first interval begins.", START)
table("RECIPROCALS", "The reciprocals of the middles of the intervals; 1 for the one with 1.", reciprocals)
table("LOGS_HIGH", "The negative logarithms of these, as multiples of 2^-42, and what is missing.", [x for x, _ in logs])
table("LOGS_LOW", "", [x for _, x in logs])
high, low = short(log(2), 42)
constant("LOG2_HIGH", "log(2) as a multiple of 2^-42, and what is missing.", high)
constant("LOG2_LOW", "", low)
high, low = pair(mpf(1) / 3)
constant("THIRD_HIGH", "1/3, and what is missing.", high)
constant("THIRD_LOW", "", low)
polynomial(
    "LOG",
    "(log(1 + x) - x + x^2/2 - x^3/3) / x^4 for |x| <= 2^-6",
    lambda x: rest(x, 4, lambda n: mpf((-1) ** (n + 1)) / n),
    -mpf(2) ** -6,
    mpf(2) ** -6,
    6,
)

high, low = pair(1 / log(2))
constant("BINARY_HIGH", "1 / log(2), and what is missing.", high)
constant("BINARY_LOW", "", low)
high, low = pair(1 / log(10))
constant("DECIMAL_HIGH", "1 / log(10), and what is missing.", high)
constant("DECIMAL_LOW", "", low)

# Sines.
table("SINES_HIGH", "sin(i pi/32), and what is missing.", [pair(sin(pi * i / 32))[0] for i in range(32)])
table("SINES_LOW", "", [pair(sin(pi * i / 32))[1] for i in range(32)])
cosines = [mpf(0) if i == 16 else cos(pi * i / 32) for i in range(32)]
table("COSINES_HIGH", "cos(i pi/32), and what is missing.", [pair(x)[0] for x in cosines])
table("COSINES_LOW", "", [pair(x)[1] for x in cosines])
high, low = pair(pi / 32)
third = double(pi / 32 - mpf(high) - mpf(low))
constant("ANGLES", "32 / pi.", 32 / pi)
constant("ANGLE_HIGH", "pi / 32, and what is missing.", high)
constant("ANGLE_LOW", "", low)
constant("ANGLE_THIRD", "", third)
# Functions of the square of the angle.
LIMIT = mpf(0.0491) ** 2
polynomial(
    "SIN",
    "(sin(x) - x) / x^3 as a function of x^2, for |x| <= 0.0491",
    lambda square: sum(mpf((-1) ** n) / mp.factorial(2 * n + 1) * square ** (n - 1) for n in range(1, 40)),
    0,
    LIMIT,
    3,
)
polynomial(
    "COS",
    "(cos(x) - 1 + x^2/2) / x^4 as a function of x^2, for |x| <= 0.0491",
    lambda square: sum(mpf((-1) ** n) / mp.factorial(2 * n) * square ** (n - 2) for n in range(2, 40)),
    0,
    LIMIT,
    2,
)

# Arcs.
arcs = [pair(atan(mpf(i) / 16)) if i <= 16 else (0.0, 0.0) for i in range(32)]
table("ARCS_HIGH", "atan(i/16) for i <= 16, and what is missing.", [x for x, _ in arcs])
table("ARCS_LOW", "", [x for _, x in arcs])
high, low = pair(pi)
constant("PI_HIGH", "pi, and what is missing.", high)
constant("PI_LOW", "", low)
polynomial(
    "ATAN",
    "(atan(x) - x) / x^3 as a function of x^2, for |x| <= 0.03126",
    lambda square: sum(mpf((-1) ** n) / (2 * n + 1) * square ** (n - 1) for n in range(1, 60)),
    0,
    mpf(0.03126) ** 2,
    4,
)

# The gamma function.
high, low = pair(mpf(1) / 12)
constant("TWELFTH_HIGH", "1/12, and what is missing.", high)
constant("TWELFTH_LOW", "", low)
high, low = pair((log(2 * pi) - 1) / 2)
constant("HALF_LOG_HIGH", "(log(2 pi) - 1) / 2, and what is missing.", high)
constant("HALF_LOG_LOW", "", low)
table(
    "STIRLING",
    "The series of Stirling from its second term on: B_2k / (2k (2k - 1)).",
    [double(mp.bernoulli(2 * k) / (2 * k * (2 * k - 1))) for k in range(2, 10)],
)

# Error functions. A row of the table is in one line of the cache.
rows = []
for i in range(6 * 64 + 1):
    c = mpf(i) / 64
    rows += [*pair(erfc(c)), *pair(2 / sqrt(pi) * exp(-c * c))]
table(
    "ERFC",
    "Rows for c = i/64: erfc(c), what is missing, 2/sqrt(pi) exp(-c^2), what is missing; and 0.",
    rows + [0.0] * 4,
    " __attribute__((aligned(32)))",
)
for k, degree in enumerate([7, 7, 5, 3, 0]):
    # Without its first two terms for k = 0.
    first = 2 if k == 0 else 0
    polynomial(
        f"ERF_{k}",
        f"The integral of v^{2 * k} exp(-2 t v)/{k}! over v from 0 to 1"
        + (", less 1 - t, by t^2," if k == 0 else "")
        + " for |t| <= 3/64",
        lambda t: rest(t, first, lambda j: mpf(-2) ** j / (mp.factorial(j) * (2 * k + j + 1) * mp.factorial(k))),
        -mpf(3) / 64,
        mpf(3) / 64,
        degree,
    )
