"""Writes stats.txt, the accuracy table of the module stats: expected values by mpmath.

The bounds are those that the table has. `stats.py dense N FILE [NAMES…]` writes a table of
up to N random points for each group, which is what the bounds were chosen by.
"""
import random
import sys
import time
from mpmath import mp, mpf, nstr, log, exp, sqrt, pi, erfc, loggamma, log1p, expm1, atan2, tan, inf

mp.dps = 60
WIDE = 420


def tail_series(ratio, tolerance):
    term = total = mpf(1)
    n = 1
    while True:
        r = ratio(n)
        term *= r
        total += term
        n += 1
        if r < 1 and term * r < tolerance * total * (1 - r):
            return total


def gamma_part(a, x, upper):
    if x == 0:
        return mpf(upper)
    for digits in (60, WIDE):
        with mp.workdps(digits):
            value = exp(a * log(x) - x - loggamma(a + 1))
            p = value * tail_series(lambda n: x / (a + n), mpf(10) ** (-mp.dps + 5))
            result = 1 - p if upper else p
        if not upper or result > mpf(10) ** -25:
            return +result
    return +result


def beta_series(x, y, a, b):
    value = exp(a * log(x) + b * log(y) + loggamma(a + b) - loggamma(a + 1) - loggamma(b))
    return value * tail_series(lambda n: (a + b + n - 1) / (a + n) * x, mpf(10) ** (-mp.dps + 5))


def beta_part(x, y, a, b, upper):
    if upper:
        return beta_part(y, x, b, a, 0)
    if x == 0:
        return mpf(0)
    if x <= 0.9:
        return beta_series(x, y, a, b)
    for digits in (60, WIDE):
        with mp.workdps(digits):
            result = 1 - beta_series(y, 1 - y, b, a)
        if result > mpf(10) ** -25:
            return +result
    return +result


def inverse(f, density, p, start):
    """Newton's method for log f as a function of log x; f rises or falls."""
    x, goal = mpf(start), log(p)
    sign = 1 if f(x * 1.01) > f(x) else -1
    last = None
    for _ in range(1200):
        with mp.workdps(60):
            v = f(x)
            change = (log(v) - goal) * v / (sign * x * density(x))
        x *= exp(-max(mpf(-700 if sign > 0 else -0.7), min(700, change)))
        if abs(change) < mpf(10) ** -22:
            return x
    raise ValueError("no quantile")


def z(x, m, s):
    return (x - m) / s


def normal_q(p, m, s):
    if p == mpf(0.5):
        return m
    q = min(p, 1 - p)
    if q > 0.25:
        t = mp.erfinv(2 * p - 1) * sqrt(mpf(2))
        return m + s * t
    t = inverse(lambda x: erfc(x / sqrt(mpf(2))) / 2,
                lambda x: exp(-x * x / 2) / sqrt(2 * pi), q, 1 + sqrt(-2 * log(q)) * 0.7)
    return m + s * (t if p > 0.5 else -t)


def gamma_density(x, a, r):
    return exp(a * log(r * x) - r * x - loggamma(a)) / x


def gamma_q(p, a, r):
    upper = p > 0.5
    q = 1 - p if upper else p
    start = a if a > 1 else exp((log(p) + loggamma(a + 1)) / a)
    return inverse(lambda x: gamma_part(a, x, upper), lambda x: gamma_density(x, a, 1), q, start) / r


def beta_density(x, a, b):
    return exp((a - 1) * log(x) + (b - 1) * log1p(-x) + loggamma(a + b) - loggamma(a) - loggamma(b))


def beta_q(p, a, b):
    f = lambda x: beta_part(x, 1 - x, a, b, 0)
    x = a / (a + b)
    low, high = mpf(0), mpf(1)
    for _ in range(200):
        v = f(x)
        if v < p:
            low = x
        else:
            high = x
        change = (log(v) - log(p)) * v / (x * beta_density(x, a, b))
        new = x * exp(-max(-700, min(700, change)))
        if not low < new < high:
            new = (low + high) / 2
        if abs(new - x) < mpf(10) ** -22 * x:
            return new
        x = new
    raise ValueError


def student_density(x, n):
    return exp(loggamma((n + 1) / 2) - loggamma(n / 2) - (n + 1) / 2 * log1p(x * x / n)) / sqrt(n * pi)


def student_upper(x, n):
    if x < 0:
        return 1 - student_upper(-x, n)
    return beta_part(x * x / (n + x * x), n / (n + x * x), mpf(0.5), n / 2, 1) / 2


def student_q(p, n):
    if p == 0.5:
        return mpf(0)
    q = min(p, 1 - p)
    t = inverse(lambda x: student_upper(x, n), lambda x: student_density(x, n), q,
                1) if q < 0.25 else inverse(
                lambda x: 0.5 - student_upper(x, n), lambda x: student_density(x, n), 0.5 - q,
                (0.5 - q) * 2.6)
    return t if p > 0.5 else -t


def fisher_part(x, a, b, upper):
    return beta_part(a * x / (a * x + b), b / (a * x + b), a / 2, b / 2, upper)


def fisher_density(x, a, b):
    p, q = a * x / (a * x + b), b / (a * x + b)
    return exp(a / 2 * log(p) + b / 2 * log(q) + loggamma((a + b) / 2) - loggamma(a / 2)
               - loggamma(b / 2)) / x


def fisher_q(p, a, b):
    upper = p > 0.5
    return inverse(lambda x: fisher_part(x, a, b, upper), lambda x: fisher_density(x, a, b),
                   1 - p if upper else p, 1)


def binomial(k, n, p):
    return exp(loggamma(n + 1) - loggamma(k + 1) - loggamma(n - k + 1) + k * log(p) + (n - k) * log1p(-p))


def whole_q(cumulative, p):
    low, high = -1, 1
    while cumulative(mpf(high)) < p:
        low, high = high, 2 * high
    while high - low > 1:
        k = (low + high) // 2
        if cumulative(mpf(k)) < p:
            low = k
        else:
            high = k
    return mpf(high)


def uni(a, b, digits=6):
    return lambda r: float(f"%.{digits}g" % r.uniform(a, b))


def lg(a, b, digits=6):
    from math import log10
    return lambda r: float(f"%.{digits}g" % 10 ** r.uniform(log10(a), log10(b)))


def whole(a, b):
    return lambda r: float(r.randint(a, b))


def pick(*values):
    return lambda r: float(r.choice(values))


def prob(r):
    return r.choice([lg(1e-300, 1e-3), lg(1e-4, 0.5), uni(0.01, 0.99), lambda s: 1 - lg(1e-15, 1e-2)(s)])(r)


def near(low, high, spread, position=0):
    """Parameters, and x that is up to so many deviations from the mean of a gamma distribution."""
    def make(r):
        a = lg(low, high)(r)
        x = abs(float("%.10g" % (a + r.uniform(-1, 1) * spread * (a ** 0.5 + 1)))) or 0.5
        return [a, x]
    return make


def near_beta(low, high, spread):
    def make(r):
        a, b = lg(low, high)(r), lg(low, high)(r)
        m, d = a / (a + b), (a * b / (a + b + 1)) ** 0.5 / (a + b)
        while True:
            x = float("%.10g" % (m + r.uniform(-1, 1) * spread * d))
            if 1e-9 < x < 1 - 1e-9:
                return [x, a, b]
    return make


def each(*parts):
    return lambda r: [part(r) for part in parts]


def turned(make, *order):
    def made(r):
        v = make(r)
        return [float(v[k]) if isinstance(k, int) else float(k[1:]) for k in order]
    return made


def near_binomial(low, high, spread):
    def make(r):
        n, p = round(lg(low, high)(r)), uni(0.01, 0.99)(r)
        k = round(n * p + r.uniform(-1, 1) * spread * (n * p * (1 - p)) ** 0.5)
        return [float(max(0, min(n - 1, k))), float(n), p]
    return make


def near_poisson(low, high, spread):
    def make(r):
        m = lg(low, high)(r)
        return [float(max(0, round(m + r.uniform(-1, 1) * spread * (m ** 0.5 + 1)))), m]
    return make


def discrete_near(make):
    return make


def groups():
    g = []

    def add(signature, domain, bound, f, make, hard=(), count=16, smallest=1e-290):
        g.append((signature, domain, bound, f, make, hard, count, smallest))
    s01 = turned(each(uni(-37, 37)), 0, "=0", "=1")
    std = [(-37, 0, 1), (-20.5, 0, 1), (-1e-10, 0, 1), (0, 0, 1), (1e-300, 0, 1), (8.25, 0, 1), (37, 0, 1)]
    any_z = each(uni(-30, 30), uni(-3, 3), lg(1, 1e6))
    nd = lambda x, m, s: exp(-z(x, m, s) ** 2 / 2) / (s * sqrt(2 * pi))
    nc = lambda x, m, s: erfc(-z(x, m, s) / sqrt(mpf(2))) / 2
    nu = lambda x, m, s: erfc(z(x, m, s) / sqrt(mpf(2))) / 2
    for name, f in (("density", nd), ("cumulative", nc), ("upper", nu)):
        add(f"normal_{name}(x mean deviation)", "x from -37 to 37, standard", BOUNDS, f, s01, std)
        add(f"normal_{name}(x mean deviation)", "x from -30 to 30, any mean and deviation from 1",
            BOUNDS, f, any_z, [(0.1, 0.3, 0.007), (-30, 0.1, 1), (1e6 + 0.1, 1e6, 0.01)])
    add("normal_quantile(p mean deviation)", "p from 1e-300 to 1 - 1e-15, standard", BOUNDS, normal_q,
        turned(prob, "=0", "=0", "=1") if 0 else (lambda r: [prob(r), 0.0, 1.0]),
        [(1e-300, 0, 1), (0.075, 0, 1), (0.4999999, 0, 1), (0.925, 0, 1), (1 - 2**-53, 0, 1)])
    add("uniform_density(x low high)", "x from 0 to 1", BOUNDS, lambda x, a, b: 1 / (b - a),
        each(uni(0, 1), uni(-3, 0), uni(1, 7)), count=10)
    add("uniform_cumulative(x low high)", "x from 0 to 1", BOUNDS, lambda x, a, b: (x - a) / (b - a),
        each(uni(0, 1), uni(-3, 0), uni(1, 7)), count=10)
    add("uniform_upper(x low high)", "x from 0 to 1", BOUNDS, lambda x, a, b: (b - x) / (b - a),
        each(uni(0, 1), uni(-3, 0), uni(1, 7)), count=10)
    add("uniform_quantile(p low high)", "low from 0", BOUNDS, lambda p, a, b: a + p * (b - a),
        each(uni(0, 1), uni(0, 3), uni(4, 7)), count=10)
    ex = each(lg(1e-6, 100), lg(1e-3, 7))
    eh = [(700, 1), (1e-300, 3), (0.1, 0.1), (2300, 0.3)]
    add("exponential_density(x rate)", "x * rate from 0 to 700", BOUNDS, lambda x, r: r * exp(-r * x), ex, eh)
    add("exponential_cumulative(x rate)", "x * rate from 0 to 700", BOUNDS, lambda x, r: -expm1(-r * x), ex, eh)
    add("exponential_upper(x rate)", "x * rate from 0 to 700", BOUNDS, lambda x, r: exp(-r * x), ex, eh)
    add("exponential_quantile(p rate)", "p from 1e-300 to 1 - 1e-15", BOUNDS,
        lambda p, r: -log1p(-p) / r, lambda r: [prob(r), lg(1e-3, 1e3)(r)])
    gp = lambda a, x: gamma_part(a, x, 0)
    gq = lambda a, x: gamma_part(a, x, 1)
    small = each(lg(0.001, 1), lg(1e-3, 300))
    sh = [(0.5, 1e-300), (0.5, 1.1), (0.001, 0.5), (0.25, 1.05), (1, 600)]
    for name, f, big in (("incomplete_gamma", gp, 1e5), ("incomplete_gamma_upper", gq, 3e3)):
        add(f"{name}(a x)", "a from 0.001 to 1, x to 600", BOUNDS, f, small, sh)
        add(f"{name}(a x)", "a from 1 to 100, to 30 deviations from a", BOUNDS, f, near(1, 100, 30),
            [(10, 1e-20), (10, 10), (10, 600), (100, 3), (100, 101), (16, 16.5)])
        add(f"{name}(a x)", f"a from 100 to {big:.0f}, to 30 deviations from a", BOUNDS, f,
            near(100, big, 30), [(1000, 1000), (2000, 2200)], count=10)
    add("gamma_density(x shape rate)", "shape from 0.001 to 100, rate 0.3, to 30 deviations", BOUNDS, gamma_density,
        turned(near(0.001, 100, 30), 1, 0, "=0.3"),
        [(1e-200, 0.5, 2), (600, 2.5, 1), (3, 2, 1e-5), (0.010790796876474199, 81.2586021522242, 0.3)], smallest=1e-321)
    add("gamma_density(x shape rate)", "shape from 100 to 1e12, to 30 deviations", BOUNDS, gamma_density,
        turned(near(100, 1e12, 30), 1, 0, "=1"), [(1e15, 1e15, 1), (5000, 1000, 1), (300, 1000, 1)])
    add("gamma_cumulative(x shape rate)", "shape from 0.1 to 1000, rate 0.3, to 50 deviations", BOUNDS,
        lambda x, a, r: gamma_part(a, x * r, 0), turned(near(0.1, 1000, 50), 1, 0, "=0.3"))
    add("gamma_upper(x shape rate)", "shape from 0.1 to 1000, rate 0.3, to 50 deviations", BOUNDS,
        lambda x, a, r: gamma_part(a, x * r, 1), turned(near(0.1, 1000, 50), 1, 0, "=0.3"))
    add("gamma_quantile(p shape rate)", "p from 1e-300, shape from 1 to 100", BOUNDS, gamma_q,
        lambda r: [prob(r), lg(1, 100)(r), 2.0], [(1e-300, 3, 1), (0.5, 100, 1), (1 - 2**-53, 2, 1)])
    chi = turned(near(0.5, 200, 20), 1, 0)
    add("chi_squared_density(x freedom)", "freedom from 0.5 to 200, to 20 deviations", BOUNDS,
        lambda x, f: gamma_density(x, f / 2, mpf(0.5)), chi,
        [(0.034414756167686, 187.29794717513332)], smallest=1e-321)
    add("chi_squared_cumulative(x freedom)", "freedom from 0.5 to 200, to 20 deviations", BOUNDS,
        lambda x, f: gamma_part(f / 2, x / 2, 0), chi)
    add("chi_squared_upper(x freedom)", "freedom from 0.5 to 200, to 20 deviations", BOUNDS,
        lambda x, f: gamma_part(f / 2, x / 2, 1), chi, [(3.841, 1), (1000, 3), (1e-10, 1)])
    add("chi_squared_quantile(p freedom)", "p from 1e-300, freedom from 1 to 200", BOUNDS,
        lambda p, f: gamma_q(p, f / 2, mpf(0.5)), lambda r: [prob(r), whole(1, 200)(r)], [(0.95, 1), (1e-12, 1)])
    bsmall, bbig = near_beta(0.1, 100, 15), near_beta(100, 3000, 30)
    bh = [(1e-300, 0.5, 3), (0.999999, 2, 0.5), (0.5, 0.5, 0.5), (0.001, 0.1, 900), (0.7, 3, 1.4)]
    lower = lambda x, a, b: beta_part(x, 1 - x, a, b, 0)
    above = lambda x, a, b: beta_part(x, 1 - x, a, b, 1)
    for name, f in (("incomplete_beta", lower), ("beta_cumulative", lower), ("beta_upper", above)):
        add(f"{name}(x a b)", "a and b from 0.1 to 100, to 15 deviations", BOUNDS, f, bsmall, bh[1:])
        add(f"{name}(x a b)", "a and b from 100 to 3000, to 30 deviations", BOUNDS, f, bbig, count=10)
    add("beta_density(x a b)", "a and b from 0.001 to 100, to 15 deviations", BOUNDS, beta_density,
        near_beta(0.001, 100, 15), bh)
    add("beta_density(x a b)", "a and b from 100 to 1e10, to 30 deviations", BOUNDS, beta_density,
        near_beta(100, 1e10, 30))
    add("beta_quantile(p a b)", "p from 1e-300 to 0.9, a and b from 1 to 50", BOUNDS, beta_q,
        lambda r: [min(prob(r), 0.9), lg(1, 50)(r), lg(1, 50)(r)])
    st = each(lg(1e-3, 1e3), lg(0.5, 300))
    sth = [(1e-300, 3), (1e10, 2), (40, 1000), (0.7, 1e6), (-3, 4), (1e120, 2)]
    add("student_density(x freedom)", "freedom from 0.5 to 1e12, x to 30", BOUNDS, student_density,
        lambda r: [lg(1e-3, 30)(r), lg(0.5, 1e12)(r)], sth)
    add("student_cumulative(x freedom)", "freedom from 0.5 to 300, x from -1000 to 1000", BOUNDS,
        lambda x, n: student_upper(-x, n), st, sth)
    add("student_upper(x freedom)", "freedom from 0.5 to 300, x to 1000", BOUNDS, student_upper, st, sth)
    add("student_upper(x freedom)", "freedom from 300 to 1e12, x to 10", BOUNDS, student_upper,
        lambda r: [uni(0, 10)(r), lg(300, 1e12)(r)], [(5, 1e14)])
    add("student_quantile(p freedom)", "p from 1e-300, freedom from 1 to 300", BOUNDS, student_q,
        lambda r: [prob(r), lg(1, 300)(r)], [(0.5000001, 4), (0.975, 1), (1e-100, 1)])
    fi = each(lg(1e-3, 1e3), lg(0.5, 300), lg(0.5, 300))
    fh = [(1e-10, 1, 7), (1e10, 3, 2), (1, 300, 300)]
    add("fisher_density(x above below)", "freedoms from 0.5 to 300, x from 0.001 to 1000", BOUNDS, fisher_density, fi, fh)
    add("fisher_cumulative(x above below)", "freedoms from 0.5 to 300, x from 0.001 to 1000", BOUNDS,
        lambda x, a, b: fisher_part(x, a, b, 0), fi, fh)
    add("fisher_upper(x above below)", "freedoms from 0.5 to 300, x from 0.001 to 1000", BOUNDS,
        lambda x, a, b: fisher_part(x, a, b, 1), fi, fh)
    add("fisher_quantile(p above below)", "p from 1e-20, freedoms from 1 to 100", BOUNDS, fisher_q,
        lambda r: [max(1e-20, prob(r)), lg(1, 100)(r), lg(1, 100)(r)])
    we = each(uni(0.01, 20), uni(0.3, 1.5), uni(1, 9))
    w = lambda x, k, s: (x / s) ** k
    dom = "(x / scale)^shape to 100"
    add("weibull_density(x shape scale)", dom, BOUNDS,
        lambda x, k, s: k / x * w(x, k, s) * exp(-w(x, k, s)), we, [(3, 2, 0.5)])
    add("weibull_cumulative(x shape scale)", dom, BOUNDS, lambda x, k, s: -expm1(-w(x, k, s)), we)
    add("weibull_upper(x shape scale)", dom, BOUNDS, lambda x, k, s: exp(-w(x, k, s)), we, [(3, 2, 0.5)])
    add("weibull_quantile(p shape scale)", "p from 1e-300, shape from 1 to 10", BOUNDS,
        lambda p, k, s: s * (-log1p(-p)) ** (1 / k), lambda r: [prob(r), uni(1, 10)(r), 2.0])
    ca = each(lg(1e-6, 1e12), pick(0, 0, -0.5), uni(0.5, 9))
    add("cauchy_density(x middle scale)", "any x", BOUNDS,
        lambda x, m, s: 1 / (pi * s * (1 + z(x, m, s) ** 2)), ca)
    add("cauchy_cumulative(x middle scale)", "any x", BOUNDS, lambda x, m, s: atan2(s, m - x) / pi, ca,
        [(-1e300, 0, 1), (-1e10, 1, 3)])
    add("cauchy_upper(x middle scale)", "any x", BOUNDS, lambda x, m, s: atan2(s, x - m) / pi, ca)
    add("cauchy_quantile(p middle scale)", "p from 1e-300, middle 0", BOUNDS,
        lambda p, m, s: m + s * tan(pi * (p - mpf(0.5))) if 0.1 < p < 0.9 else
        (m - s / tan(pi * p)), lambda r: [prob(r), 0.0, uni(1, 9)(r)])
    lo = each(uni(-300, 300), uni(-1, 1), lg(0.5, 9))
    lf = lambda x, m, s: 1 / (1 + exp(-z(x, m, s)))
    add("logistic_density(x middle scale)", "to 600 scales from the middle", BOUNDS,
        lambda x, m, s: exp(-abs(z(x, m, s))) / (s * (1 + exp(-abs(z(x, m, s)))) ** 2), lo)
    add("logistic_cumulative(x middle scale)", "to 600 scales from the middle", BOUNDS, lf, lo)
    add("logistic_upper(x middle scale)", "to 600 scales from the middle", BOUNDS,
        lambda x, m, s: lf(-x, -m, s), lo)
    add("logistic_quantile(p middle scale)", "p from 1e-300, middle 0", BOUNDS,
        lambda p, m, s: m + s * (log(p) - log1p(-p)), lambda r: [prob(r), 0.0, uni(1, 9)(r)])
    ln = turned(each(lg(1e-3, 1e3)), 0, "=0", "=1")
    add("lognormal_density(x mean deviation)", "x from 0.001 to 1000, standard", BOUNDS,
        lambda x, m, s: nd(log(x), m, s) / x, ln)
    add("lognormal_cumulative(x mean deviation)", "x from 0.001 to 1000, standard", BOUNDS,
        lambda x, m, s: nc(log(x), m, s), ln)
    add("lognormal_upper(x mean deviation)", "x from 0.001 to 1000, standard", BOUNDS,
        lambda x, m, s: nu(log(x), m, s), ln)
    add("lognormal_quantile(p mean deviation)", "p from 1e-300, standard", BOUNDS,
        lambda p, m, s: exp(normal_q(p, m, s)), lambda r: [prob(r), 0.0, 1.0])
    bn, bN = near_binomial(1, 1000, 20), near_binomial(1e3, 1e12, 30)
    add("binomial_probability(k n p)", "n to 1000, to 20 deviations", BOUNDS, binomial, bn, [(0, 700, 0.5), (5, 5, 0.1), (1, 1000, 1e-200)])
    add("binomial_probability(k n p)", "n from 1000 to 1e12, to 30 deviations", BOUNDS, binomial, bN)
    add("binomial_cumulative(k n p)", "n to 1000, to 20 deviations", BOUNDS,
        lambda k, n, p: beta_part(p, 1 - p, k + 1, n - k, 1), bn)
    add("binomial_upper(k n p)", "n to 1000, to 20 deviations", BOUNDS,
        lambda k, n, p: beta_part(p, 1 - p, k + 1, n - k, 0), bn)
    add("binomial_quantile(p n probability)", "n to 300", BOUNDS,
        lambda p, n, q: whole_q(lambda k: beta_part(q, 1 - q, k + 1, n - k, 1) if k < n else mpf(1), p),
        lambda r: [prob(r), whole(1, 300)(r), uni(0.01, 0.99)(r)])
    pn, pN = near_poisson(0.001, 1000, 30), near_poisson(1e3, 1e12, 30)
    pr = lambda k, m: exp(k * log(m) - m - loggamma(k + 1))
    add("poisson_probability(k mean)", "mean to 1000, to 30 deviations", BOUNDS, pr, pn, [(0, 650), (300, 1e-1), (3, 1e-50)])
    add("poisson_probability(k mean)", "mean from 1000 to 1e12, to 30 deviations", BOUNDS, pr, pN)
    add("poisson_cumulative(k mean)", "mean to 1000, to 30 deviations", BOUNDS, lambda k, m: gamma_part(k + 1, m, 1), pn)
    add("poisson_upper(k mean)", "mean to 1000, to 30 deviations", BOUNDS, lambda k, m: gamma_part(k + 1, m, 0), pn)
    add("poisson_quantile(p mean)", "mean to 300", BOUNDS,
        lambda p, m: whole_q(lambda k: gamma_part(k + 1, m, 1), p), lambda r: [prob(r), lg(0.01, 300)(r)])
    ge = each(whole(0, 500), lg(1e-6, 0.7))
    add("geometric_probability(k p)", "k to 500", BOUNDS, lambda k, p: p * exp(k * log1p(-p)), ge)
    add("geometric_cumulative(k p)", "k to 500", BOUNDS, lambda k, p: -expm1((k + 1) * log1p(-p)), ge)
    add("geometric_upper(k p)", "k to 500", BOUNDS, lambda k, p: exp((k + 1) * log1p(-p)), ge)
    add("geometric_quantile(p probability)", "probability from 1e-6 to 0.7", BOUNDS,
        lambda p, q: mpf(max(0, int(mp.ceil(log1p(-p) / log1p(-q) - 1)))),
        lambda r: [prob(r), lg(1e-6, 0.7)(r)])
    return g


# The bounds are in the table.
BOUNDS = None
# How long points are looked for, for each group.
SECONDS = 4


def main():
    dense = sys.argv[1:2] == ["dense"]
    names = sys.argv[4:] if dense else []
    bounds = {}
    for line in open("stats.txt"):
        if line.startswith("["):
            key, bound = line.rsplit(": ", 1)
            bounds[key] = bound.strip()
    out = open(sys.argv[3] if dense else "stats.txt", "w")
    for signature, domain, _, f, make, hard, count, smallest in groups():
        if names and not any(signature.startswith(n) for n in names):
            continue
        key = f"[{signature}] {domain}"
        out.write(f"{key}: {bounds.get(key, '1 ulp')}\n")
        r = random.Random(key + ('1' if dense else ''))
        points = [tuple(map(float, h)) for h in hard]
        written = 0
        start = time.time()
        wanted = int(sys.argv[2]) if dense else count
        while written < wanted:
            if dense and written > 20 and time.time() - start > SECONDS:
                break
            arguments = points.pop() if points else make(r)
            try:
                value = f(*map(mpf, arguments))
            except (ValueError, ZeroDivisionError):
                print("failed", key, arguments, file=sys.stderr)
                continue
            if value != 0 and not smallest < abs(value) < 1e300:
                continue
            written += 1
            text = " ".join(repr(a)[:-2] if repr(a).endswith(".0") else repr(a) for a in arguments)
            out.write(f"{text} = {nstr(value, 25)}\n")
        out.write("\n")
        out.flush()


main()
