"""Writes the accuracy tables of the modules besides stats: expected values by mpmath.

Arguments are taken as the doubles that they are; each group has its domain and its bound,
which docs/library.md shows and the test suite checks.
"""
import random
from math import ldexp
from mpmath import mp, mpf, mpc, nstr, log, exp, expm1, log1p, sqrt, pi, findroot
from mpmath import sin, cos, atan, erfc, zeta, cbrt, fabs, ncdf

mp.dps = 60


class Table:
    def __init__(self, module):
        self.file = open(f"{module}.txt", "w")
        self.random = random.Random(module)

    def define(self, *definitions):
        self.file.write("\n".join(definitions) + "\n")

    def group(self, signature, domain, bound, rows):
        self.file.write(f"[{signature}] {domain}: {bound}\n")
        for arguments, expected in rows:
            words = " ".join(a if isinstance(a, str) else repr(a) for a in arguments)
            self.file.write(f"{words} = {nstr(mpf(expected), 25)}\n")

    def rows(self, count, function, *ranges):
        """Rows with random arguments: of (low, high), or (low, high, 'log')."""
        for _ in range(count):
            arguments = []
            for low, high, *scale in ranges:
                if scale:
                    value = float(exp(mpf(self.random.uniform(float(log(low)), float(log(high))))))
                else:
                    value = self.random.uniform(low, high)
                arguments.append(value)
            yield arguments, function(*map(mpf, arguments))


def math_table():
    t = Table("math")
    t.group("radians(degrees)", "from -1000 to 1000", "1.5 ulp", t.rows(20, lambda x: x * pi / 180, (-1000, 1000)))
    t.group("degrees(radians)", "from -100 to 100", "2 ulp", t.rows(20, lambda x: x * 180 / pi, (-100, 100)))
    t.group("logarithm(x base)", "x from 2 to 1e300, base from 2 to 1000", "3 ulp",
            t.rows(20, lambda x, b: log(x) / log(b), (2, 1e300, "log"), (2, 1000)))


def complex_table():
    t = Table("complex")
    wide = (-1e10, 1e10)
    z = lambda a, b: mpc(a, b)
    for name, f in [("product", lambda a, b, c, d: z(a, b) * z(c, d)), ("quotient", lambda a, b, c, d: z(a, b) / z(c, d))]:
        bound = {"product": "2 ulp", "quotient": "5 ulp"}[name]
        for part, take in [("re", lambda v: v.real), ("im", lambda v: v.imag)]:
            t.group(f"{name}_{part}(a b c d)", "from -1e10 to 1e10", bound,
                    t.rows(20, lambda *n: take(f(*n)), wide, wide, wide, wide))
            # What cancels.
            near = [([1.1, b, b * (1 + 1e-12), 1.1], None) for b in (1.3, 2.7, 1e5 / 3)]
            rows = [(n, take(f(*map(mpf, n)))) for n, _ in near]
            t.group(f"{name}_{part}(a b c d)", "nearly equal products", bound, rows)
    t.group("modulus(a b)", "from -1e300 to 1e300", "1 ulp", t.rows(20, lambda a, b: abs(z(a, b)), (-1e300, 1e300), (-1e300, 1e300)))
    t.group("argument(a b)", "from -1e10 to 1e10", "2 ulp", t.rows(20, lambda a, b: mp.arg(z(a, b)), wide, wide))
    functions = [
        ("root", lambda a, b: sqrt(z(a, b)), "from -1e10 to 1e10", wide, "4 ulp"),
        ("exp", lambda a, b: exp(z(a, b)), "from -10 to 10", (-10, 10), "3 ulp"),
        ("sin", lambda a, b: mp.sin(z(a, b)), "from -10 to 10", (-10, 10), "4 ulp"),
        ("cos", lambda a, b: mp.cos(z(a, b)), "from -10 to 10", (-10, 10), "4 ulp"),
    ]
    for name, f, domain, r, bound in functions:
        for part, take in [("re", lambda v: v.real), ("im", lambda v: v.imag)]:
            t.group(f"{name}_{part}(a b)", domain, bound, t.rows(20, lambda *n: take(f(*n)), r, r))
    t.group("log_re(a b)", "from -1e10 to 1e10", "2 ulp", t.rows(20, lambda a, b: log(abs(z(a, b))), wide, wide))
    t.group("log_re(a b)", "from 0.5 to 0.9, near the circle of radius 1", "2e-16 absolute",
            t.rows(20, lambda a, b: log(abs(z(a, b))), (0.6, 0.8), (0.6, 0.8)))
    power = lambda a, b, c, d: exp(z(c, d) * log(z(a, b)))
    small = (-5, 5)
    for part, take in [("re", lambda v: v.real), ("im", lambda v: v.imag)]:
        # A part that nearly cancels is as inexact as the whole.
        rows = t.rows(20, power, small, small, small, small)
        rows = [(n, take(v)) for n, v in rows if abs(take(v)) > abs(v) / 100]
        t.group(f"power_{part}(a b c d)", "from -5 to 5, a part of at least 1 % of the absolute value",
                "1e-12 relative", rows)
    for part, take in [("re", lambda v: v.real), ("im", lambda v: v.imag)]:
        rows = []
        while len(rows) < 20:
            over, under = (10 ** t.random.uniform(-320, 307) for _ in range(2))
            n = [t.random.uniform(-1, 1) * scale for scale in (over, over, under, under)]
            expected = take(z(*map(mpf, n[:2])) / z(*map(mpf, n[2:])))
            if 1e-300 < abs(expected) < 1e308:
                rows.append((n, expected))
        t.group(f"quotient_{part}(a b c d)", "to 1e308 and down to 1e-320", "5 ulp", rows)
        mixed = [(n, take(z(*map(mpf, n[:2])) / z(*map(mpf, n[2:])))) for n in
                 [[1e200, 1e-200, 1.0, 0.0], [1e300, 1e-20, 0.0, 1e10], [1e-300, 1e300, 3.0, 1e-300], [7e-310, 2e150, 1e-160, 3e-308]]]
        t.group(f"quotient_{part}(a b c d)", "parts of different sizes", "5 ulp", mixed)


def finance_table():
    t = Table("finance")
    rate = (1e-6, 0.5, "log")
    growth = lambda r, n: (1 + r) ** n
    annuity = lambda r, n: (1 - (1 + r) ** -n) / r
    t.group("growth(rate n)", "rate from 1e-6 to 0.5, n to 500", "1e-13 relative", t.rows(20, growth, rate, (1, 500)))
    t.group("growth(rate n)", "rate from -0.999 to -0.5, n to 500", "1e-15 relative",
            [([r, n], growth(mpf(r), mpf(n))) for r, n in [(-0.75, 30), (-0.9, 200), (-0.999, 50), (-0.5625, 500)]])
    t.group("annuity(rate n)", "rate from 1e-12 to 0.5, n to 500", "8 ulp", t.rows(20, annuity, (1e-12, 0.5, "log"), (1, 500)))
    t.group("effective_rate(nominal n)", "rate from 1e-6 to 0.5, n to 365", "4 ulp",
            t.rows(20, lambda r, n: growth(r / n, n) - 1, rate, (1, 365)))
    t.group("nominal_rate(effective n)", "rate from 1e-6 to 0.5, n to 365", "4 ulp",
            t.rows(20, lambda r, n: n * ((1 + r) ** (1 / n) - 1), rate, (1, 365)))
    t.group("payment(rate n loan)", "rate from 1e-6 to 0.5, n to 500", "8 ulp",
            t.rows(20, lambda r, n, p: p / annuity(r, n), rate, (1, 500), (1, 1e6)))
    t.group("loan_rate(n payment loan)", "rates from 1e-4 to 0.5, n from 10 to 500", "2e-13 relative", [
        ([n, p, l], findroot(lambda r: annuity(r, mpf(n)) - mpf(l) / mpf(p), mpf(r)))
        for n, r in [(10.0, 0.5), (360.0, 0.003), (60.0, 0.01), (500.0, 1e-4), (24.0, 0.05), (120.0, 0.2)]
        for l in [1000.0] for p in [float(l / annuity(mpf(r), mpf(n)))]])
    bond = lambda c, y, n: c * annuity(y, n) + 100 * growth(y, -n)
    t.group("bond_price(coupon yield n)", "coupon to 20, yield from 1e-6 to 0.5, n to 100", "1e-14 relative",
            t.rows(20, bond, (0, 20), rate, (1, 100)))
    d1 = lambda s, k, r, v, t: (log(s / k) + (r + v * v / 2) * t) / (v * sqrt(t))
    call = lambda s, k, r, v, t: s * ncdf(d1(s, k, r, v, t)) - k * exp(-r * t) * ncdf(d1(s, k, r, v, t) - v * sqrt(t))
    ranges = [(50, 150), (50, 150), (0, 0.1), (0.05, 0.8), (0.1, 5)]
    t.group("call_price(share strike rate volatility years)", "prices from 50 to 150, volatility from 0.05 to 0.8", "1e-13 absolute",
            t.rows(20, call, *ranges))
    t.group("put_price(share strike rate volatility years)", "prices from 50 to 150, volatility from 0.05 to 0.8", "1e-13 absolute",
            t.rows(20, lambda s, k, r, v, t: call(s, k, r, v, t) - s + k * exp(-r * t), *ranges))
    t.group("call_delta(share strike rate volatility years)", "prices from 50 to 150, volatility from 0.05 to 0.8", "1e-14 absolute",
            t.rows(20, lambda *n: ncdf(d1(*n)), *ranges))


def calculus_table():
    t = Table("calculus")
    t.define("def bell(x) exp(-x * x)", "def witch(x) 1 / (1 + x * x)", "def waves(x) sin(50 * x) * exp(-x)",
             "def jump(x) x < 1 / 3", "def pole(x) 1 / sqrt(x)", "def cusp(x) sqrt(abs(x - 0.3))",
             "def polynomial(x) x ^ 7 - 3 * x ^ 4 + x", "def peak(x) 1 / (1e-6 + (x - 0.7) ^ 2)",
             "def growth(t y) y", "def decay(t y) -2 * t * y", "def wave(t y) cos(t)", "def logistic(t y) y * (1 - y)",
             "def stiff(t y) -50 * (y - cos(t))", "def hill(x) exp(-(x - 1000) ^ 2)",
             "def fast(x) sin(50 * x)", "def sharp(x) exp(-x) / sqrt(x)", "def sharper(x) 1 / (sqrt(x) * (1 + x))")
    e6 = mpf(1e-6)
    rows = [
        (["sin", 0.0, 3.0], 1 - cos(3)), (["exp", -1.0, 1.0], exp(1) - exp(-1)), (["bell", 0.0, 1.0], sqrt(pi) / 2 * mp.erf(1)),
        (["bell", "-inf", "inf"], sqrt(pi)), (["bell", 0.0, "inf"], sqrt(pi) / 2), (["bell", "inf", 0.0], -sqrt(pi) / 2),
        (["bell", -1000.0, 1000.0], sqrt(pi)), (["witch", "-inf", "inf"], pi), (["witch", -1000.0, 1000.0], 2 * atan(1000)),
        (["exp", "-inf", 0.0], 1), (["ln", 0.0, 1.0], -1), (["sqrt", 0.0, 1.0], mpf(2) / 3),
        (["polynomial", 0.0, 2.0], mpf(2) ** 8 / 8 - mpf(3) * 2 ** 5 / 5 + 2), (["sin", 3.0, 0.0], cos(3) - 1),
        (["waves", 0.0, 10.0], (50 - exp(-10) * (50 * cos(500) + sin(500))) / 2501),
        (["peak", 0.0, 1.0], (atan((1 - mpf(0.7)) / sqrt(e6)) + atan(mpf(0.7) / sqrt(e6))) / sqrt(e6)),
        (["cusp", 0.0, 1.0], mpf(2) / 3 * (mpf(0.3) ** 1.5 + (1 - mpf(0.3)) ** 1.5)),
    ]
    t.group("integral(f(x) a b)", "smooth functions, square roots, logarithms, without ends", "2e-13 relative", rows)
    t.group("integral(f(x) a b)", "a jump; an end where f is infinite", "1e-12 relative",
            [(["jump", 0.0, 1.0], mpf(1 / 3)), (["pole", 0.0, 1.0], 2), (["sharp", 0.0, "inf"], sqrt(pi)), (["sharper", 0.0, "inf"], pi)])
    t.group("derivative(f(x) x)", "smooth functions", "1e-11 relative",
            [(["sin", 1.0], cos(1)), (["exp", 0.0], 1), (["exp", 5.0], exp(5)), (["ln", 2.0], mpf(1) / 2), (["sqrt", 1e6], mpf(1) / 2000),
             (["fast", 0.88], 50 * cos(50 * mpf(0.88))), (["fast", 20.0], 50 * cos(1000)), (["ln", 1e-18], 1 / mpf(1e-18)), (["hill", 999.5], exp(mpf(-0.25))), (["pole", 1e-20], -mpf(1e-20) ** -1.5 / 2),
             (["bell", 0.5], -exp(mpf(-0.25))), (["atan", 1e-3], 1 / (1 + mpf(1e-3) ** 2)), (["polynomial", 1.5], 7 * mpf(1.5) ** 6 - 12 * mpf(1.5) ** 3 + 1)])
    t.group("derivative(f(x) x)", "x far larger than the distance over which f changes", "1e-9 relative",
            [(["sin", 1e9], cos(10 ** 9)), (["fast", 1e6], 50 * cos(50 * 10 ** 6))])
    t.group("second_derivative(f(x) x)", "smooth functions", "1e-8 relative",
            [(["sin", 1.0], -sin(1)), (["exp", 0.0], 1), (["exp", 5.0], exp(5)), (["ln", 2.0], mpf(-1) / 4),
             (["bell", 0.5], -exp(mpf(-0.25))), (["polynomial", 1.5], 42 * mpf(1.5) ** 5 - 36 * mpf(1.5) ** 2)])
    t.group("solve(slope(t y) t y end)", "times to 10", "2e-9 relative",
            [(["growth", 0.0, 1.0, 1.0], exp(1)), (["growth", 0.0, 1.0, -1.0], exp(-1)), (["growth", 0.0, 1.0, 10.0], exp(10)),
             (["wave", 0.0, 0.0, 10.0], sin(10)), (["logistic", 0.0, 0.1, 10.0], 1 / (1 + (1 / mpf(0.1) - 1) * exp(-10))),
             (["stiff", 0.0, 0.0, 2.0], (2500 * cos(2) + 50 * sin(2) - 2500 * exp(-100)) / 2501)])
    t.group("solve(slope(t y) t y end)", "results that fall below 1", "1e-9 absolute",
            [(["decay", 0.0, 1.0, 2.0], exp(-4)), (["decay", 0.0, 1.0, 4.0], exp(-16)), (["growth", 0.0, 1.0, -10.0], exp(-10))])


def roots_table():
    t = Table("roots")
    t.define("def fixed_point(x) cos(x) - x", "def cube2(x) x ^ 3 - 2", "def cube2_slope(x) 3 * x * x", "def far(x) x - 1e10",
             "def flat(x) (x - 1) ^ 9", "def steep(x) atan(1e6 * (x - 0.5))", "def step(x) if x < 2 then -1 else 1",
             "def kepler(x) x - 0.9 * sin(x) - 1", "def kepler_slope(x) 1 - 0.9 * cos(x)")
    dottie = findroot(lambda x: cos(x) - x, 0.7)
    kepler = findroot(lambda x: x - mpf(0.9) * sin(x) - 1, 1.8)
    for name in ("root", "bisection"):
        t.group(f"{name}(f(x) a b)", "single roots", "2 ulp",
                [(["fixed_point", 0.0, 1.0], dottie), (["cube2", 0.0, 2.0], cbrt(2)), (["cube2", 2.0, 0.0], cbrt(2)),
                 (["far", 0.0, 1e11], 1e10), (["steep", 0.0, 3.0], 0.5), (["step", 0.0, 10.0], 2), (["cos", 1.0, 2.0], pi / 2),
                 (["sin", 3.0, 4.0], pi), (["kepler", 0.0, 3.0], kepler), (["cube2", -1e6, 1e6], cbrt(2))])
    t.group("newton(f(x) slope(x) start)", "single roots", "2 ulp",
            [(["cube2", "cube2_slope", 1.0], cbrt(2)), (["cube2", "cube2_slope", 100.0], cbrt(2)), (["kepler", "kepler_slope", 2.0], kepler),
             (["sin", "cos", 3.0], pi)])
    t.group("secant(f(x) a b)", "single roots", "2 ulp",
            [(["cube2", 1.0, 2.0], cbrt(2)), (["fixed_point", 0.0, 1.0], dottie), (["kepler", 1.0, 2.0], kepler), (["cos", 1.0, 2.0], pi / 2)])
    def quadratic(k):
        def f(a, b, c):
            with mp.workdps(700):
                d = sqrt(b * b - 4 * a * c)
                return sorted([(-b + d) / (2 * a), (-b - d) / (2 * a)])[k]
        return f
    def coefficients(count):
        found = []
        while len(found) < count:
            a, b, c = (t.random.uniform(-10, 10) for _ in range(3))
            if mpf(b) ** 2 - 4 * mpf(a) * mpf(c) > 0:
                found.append((a, b, c))
        return found
    hard = [(1.0, -2.0, 1 - 1e-15), (1.0, 1e8, 1.0), (1.0, -1e8, 1.0), (94906265.625, -189812534.0, 94906268.375), (1e-300, 3.0, 1e-3)]
    for k in (0, 1):
        t.group("quadratic(a b c k)", f"from -10 to 10, and hard ones, root {k + 1}", "3 ulp",
                [([a, b, c, float(k + 1)], quadratic(k)(mpf(a), mpf(b), mpf(c))) for a, b, c in coefficients(15) + hard])
    rows = []
    for _ in range(20):
        n = [t.random.uniform(-10, 10) for _ in range(4)]
        found = sorted((r.real for r in mp.polyroots(list(map(mpf, n)), maxsteps=500, extraprec=500) if fabs(r.imag) < mpf(10) ** -40))
        rows += [(n + [float(k + 1)], r) for k, r in enumerate(found)]
    t.group("cubic(a b c d k)", "from -10 to 10", "1e-14 relative", rows)
    def size():
        return ldexp(t.random.choice((-1, 1)) * t.random.uniform(1, 2), t.random.choice((t.random.randint(-1074, 1022), t.random.randint(-60, 60))))
    sizes = [(1e-200, 1.0, -1e200), (1e-150, 1.0, -1e165), (5e-324, 1e-300, -1.7e308), (1.7e308, 1e300, -5e-324), (1e-320, 3e-320, -7e-320), (1e200, -2e200, 1e200)]
    while len(sizes) < 46:
        n = (size(), size(), size())
        with mp.workdps(700):
            if mpf(n[1]) ** 2 > 4 * mpf(n[0]) * mpf(n[2]):
                sizes.append(n)
    for k in (0, 1):
        values = [([*n, float(k + 1)], quadratic(k)(*map(mpf, n))) for n in sizes]
        t.group("quadratic(a b c k)", f"coefficients of all sizes, root {k + 1}", "3 ulp",
                [row for row in values if mpf(5e-324) <= fabs(row[1]) < mpf(1.7e308)])


def optimize_table():
    t = Table("optimize")
    t.define("def valley(x) (x - 1.25) ^ 2 * (x * x + 1)", "def entropy(x) x * log(x)", "def kink(x) abs(x - 0.3)")
    low = [(["cos", 0.0, 6.0], pi), (["entropy", 0.001, 1.0], exp(-1)), (["valley", 0.5, 3.0], 1.25), (["kink", -1.0, 1.0], mpf(0.3))]
    t.group("minimum(f(x) a b)", "one minimum", "3e-8 relative", low)
    t.group("golden(f(x) a b)", "one minimum", "3e-8 relative", low)
    t.group("maximum(f(x) a b)", "one maximum", "3e-8 relative", [(["sin", 0.0, 3.0], pi / 2), (["cos", 2.0, 9.0], 2 * pi)])


def series_table():
    t = Table("series")
    t.define("def basel(i) 1 / (i * i)", "def power15(i) i ^ -1.5", "def power12(i) i ^ -1.2", "def harmonic(i) 1 / (i + 1)",
             "def leibniz(i) 4 / (2 * i + 1)", "def roots(i) sqrt(i + 1)", "def compound(n) (1 + 1 / n) ^ n",
             "def sine(n) n * sin(1 / n)", "def one(i) 1",
             "def tenth(i) 0.1", "def swing(i) if i % 2 == 0 then 1e15 else 1 - 1e15",
             "def twelve(i) 12", "def never_0(i) i != 0",
             "def four(i) if i == 1 then 4 else (i - 1) * (i - 1)", "def around(i) if i == 0 then 0 else 2 * i - 1")
    t.group("infinite_sum(term(i))", "powers of i below -1.1", "1e-13 relative",
            [(["basel"], zeta(2)), (["power15"], zeta(mpf(1.5))), (["power12"], zeta(mpf(1.2)))])
    t.group("alternating_sum(term(i))", "terms that fall smoothly, or grow slowly", "1e-13 relative",
            [(["harmonic"], log(2)), (["leibniz"], pi), (["roots"], mp.altzeta(mpf(-0.5)))])
    t.group("limit(f(n))", "series in 1 / n", "1e-12 relative", [(["compound"], exp(1)), (["sine"], 1)])
    t.group("continued_fraction(a(i) b(i))", "fractions that settle", "4 ulp",
            [(["one", "one"], (1 + sqrt(5)) / 2), (["four", "around"], pi), (["twelve", "one"], 4), (["one", "never_0"], (sqrt(5) - 1) / 2)])
    tenth = mpf(0.1)
    t.group("sum(term(i) first last)", "to a million terms", "1 ulp",
            [(["tenth", 1.0, 1000.0], tenth * 1000), (["tenth", 1.0, 1e6], tenth * 10 ** 6), (["swing", 0.0, 999.0], 500),
             (["basel", 1.0, 100000.0], zeta(2) - zeta(2, 100001))])


for table in (math_table, complex_table, finance_table, calculus_table, roots_table, optimize_table, series_table):
    table()
