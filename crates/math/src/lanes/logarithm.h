// Logarithms, powers, and inverse hyperbolic functions.

// How much of a logarithm's argument and result counts.
enum {
  PLAIN = 0,
  // The argument is a pair.
  OF_PAIR = 1,
  // The result is more precise.
  MORE = 2,
};

typedef struct {
  Pair value;
  // A bound on its error.
  V error;
} Logarithm;

// Computes log(x) for normal positive numbers; other lanes are taken out of `good`. With
// `OF_PAIR`, x is less than 2^1000, and the error is 2^-100 more.
//
// x = 2^e m, with m from LOG_START to twice that, in one of 32 intervals. With C, about the
// reciprocal of its middle, r = m C - 1 is exact as a pair, |r| <= 2^-6, |r.low| <= 2^-53.
// In the interval around 1, C is 1, so r = m - 1. Then log(x) is
//   e log(2) - log(C) + r - r^2/2 + r^3 q(r)
// where all products and sums but for the last are pairs.
//
// In the interval around 1, for e = 0, all errors are relative to r^3/3: 7 roundings (two
// products, 1.5 in q, two sums, one in `nearest`, and half a one of the constant 1/3), with
// what follows less than 8 2^-53 |r|^3/3 <= 2^-57.5 r^2. Elsewhere these errors are not larger;
// there are others, too: r.low r^4, which is left out, at most 2^-65 r^2, and the roundings
// of the low parts of logarithms, which are below 2^-32: 2^-84. For small r, what counts is
// the rounding of the sum of the low parts, at most 2^-104 |r|.
//
// With `MORE`, r^3/3 is a pair, too: the errors are relative to r^4/4, 7 roundings of that
// at most 2^-64.1 r^2, and again r.low r^4.
INLINE Logarithm logarithm(Pair x, int precision, Mask *good) {
  V largest = all(precision & OF_PAIR ? 0x1p1000 : 0x1.fffffffffffffp1023);
  *good = both(*good, both(at_most(all(0x1p-1022), x.high), at_most(x.high, largest)));
  Bits offset = minus_bits(bits(x.high), bits(all(LOG_START)));
  Bits index = shift_right(offset, 47);
  Bits scale = and_bits(offset, all_bits(-1LL * (1LL << 52)));
  V m = number(minus_bits(bits(x.high), scale));
  V e = exponent(scale);
  V c = lookup(RECIPROCALS, index);

  Pair mc = product(m, c);
  V r = mc.high - all(1), r_low = mc.low;
  if (precision & OF_PAIR) {
    V m_low = x.low * number(minus_bits(bits(all(1)), scale));
    Pair both_parts = sum(r, madd(m_low, c, r_low));
    r = both_parts.high;
    r_low = both_parts.low;
  }
  Pair square = product(r, r);
  V cube = r * square.high;
  // r.low / (1 + r), and the low parts of e log(2) - log(C) and r^2/2.
  V low = madd(e, all(LOG2_LOW), lookup(LOGS_LOW, index));
  low = low + nmadd(r_low, (r - square.high) + cube, r_low);
  low = nmadd(all(0.5), square.low, low);

  // |first| >= |r|, or it is 0.
  V first = madd(e, all(LOG2_HIGH), lookup(LOGS_HIGH, index));
  Pair second = sum(first, r);
  Pair third = sum(second.high, square.high * all(-0.5));
  V q = madd(square.high, all(LOG[6]), madd(r, all(LOG[5]), all(LOG[4])));
  q = madd(square.high, q, madd(r, all(LOG[3]), all(LOG[2])));
  q = madd(square.high, q, madd(r, all(LOG[1]), all(LOG[0])));
  V other = choose(equal(first, all(0)), magnitude(r) * all(0x1p-100), all(0x1p-84));
  if (!(precision & MORE)) {
    low = (second.low + third.low) + madd(cube, madd(r, q, all(THIRD_HIGH)), low);
    return (Logarithm){{third.high, low}, madd(square.high, all(0x1.8p-58), other)};
  }
  Pair fourth = product(cube, all(THIRD_HIGH));
  V cube_low = madd(r, square.low, msub(r, square.high, cube));
  fourth.low = fourth.low + madd(cube, all(THIRD_LOW), cube_low * all(THIRD_HIGH));
  Pair last = sum(third.high, fourth.high);
  low = madd(square.high * square.high, q, low + fourth.low);
  low = ((second.low + third.low) + last.low) + low;
  return (Logarithm){{last.high, low}, madd(square.high, all(0x1p-63), other)};
}

INLINE V lanes_log(V x, Mask *good) {
  *good = equal(x, x);
  Logarithm result = logarithm((Pair){x, all(0)}, PLAIN, good);
  return nearest(result.value, result.error, good);
}

// Rounds log(x) times a constant. The product with the low part of the logarithm adds two
// roundings of that, mostly r^3/3, to the nine for which the bound on its error has room.
INLINE V scaled_log(V x, double high, double low, Mask *good) {
  *good = equal(x, x);
  Logarithm log = logarithm((Pair){x, all(0)}, PLAIN, good);
  Pair result = times(log.value, (Pair){all(high), all(low)});
  V error = madd(magnitude(result.high), all(0x1p-83), log.error * all(1.3 * high));
  return nearest(result, error, good);
}

INLINE V lanes_log2(V x, Mask *good) { return scaled_log(x, BINARY_HIGH, BINARY_LOW, good); }

INLINE V lanes_log10(V x, Mask *good) { return scaled_log(x, DECIMAL_HIGH, DECIMAL_LOW, good); }

// x^y = exp(y log(x)). An error d of the logarithm is one of y d in the result, relatively;
// that of the product is far less.
INLINE V lanes_pow(V x, V y, Mask *good) {
  *good = equal(x, x);
  Logarithm log = logarithm((Pair){x, all(0)}, MORE, good);
  Pair l = sum(log.value.high, log.value.low);
  Pair exponent = product(y, l.high);
  exponent.low = madd(y, l.low, exponent.low);
  *good = both(*good, at_most(magnitude(exponent.high), all(708)));
  V shifted;
  Pair result = exponential(exponent, &shifted);
  V error = madd(magnitude(y), log.error, all(POWER_ERROR));
  return scaled(nearest(result, result.high * error, good), bits(shifted));
}

// Rounds log(x) scale, for a pair x with a relative error of 2^-99, with the sign.
INLINE V log_of_pair(Pair x, double scale, Bits sign, Mask *good) {
  Logarithm log = logarithm(x, OF_PAIR, good);
  V result = nearest(log.value, log.error + all(0x1p-98), good);
  return with_sign(result * all(scale), sign);
}

// The following are logarithms of numbers near 1 for small x, whose error is one of log(x):
// so |x| is to be at least 2^-30.

INLINE V lanes_log1p(V x, Mask *good) {
  *good = at_most(all(0x1p-30), magnitude(x));
  return log_of_pair(any_sum(all(1), x), 1, all_bits(0), good);
}

// asinh(|x|) = log(|x| + sqrt(x^2 + 1))
INLINE V lanes_asinh(V x, Mask *good) {
  V size = magnitude(x);
  *good = both(at_most(all(0x1p-30), size), at_most(size, all(0x1p500)));
  Pair root = root_of(add((Pair){all(1), all(0)}, product(x, x)));
  return log_of_pair(add(root, (Pair){size, all(0)}), 1, sign(x), good);
}

// acosh(x) = log(x + sqrt(x^2 - 1)), which is at least 2^-26 if it is not 0.
INLINE V lanes_acosh(V x, Mask *good) {
  *good = both(at_most(all(1), x), at_most(x, all(0x1p500)));
  Pair root = root_of(add(product(x, x), (Pair){all(-1), all(0)}));
  return log_of_pair(add((Pair){x, all(0)}, root), 1, all_bits(0), good);
}

// atanh(|x|) = log((1 + |x|) / (1 - |x|)) / 2
INLINE V lanes_atanh(V x, Mask *good) {
  V size = magnitude(x);
  *good = both(at_most(all(0x1p-30), size), at_most(size, all(0x1.fffffffffffffp-1)));
  Pair ratio = quotient(sum(all(1), size), sum(all(1), -size));
  return log_of_pair(sum(ratio.high, ratio.low), 0.5, sign(x), good);
}
