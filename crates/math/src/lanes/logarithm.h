// Logarithms, and powers.

typedef struct {
  Pair value;
  // A bound on its error.
  V error;
} Logarithm;

// Computes log(x) for normal positive numbers; other lanes are taken out of `good`.
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
// of the low parts of logarithms, which are below 2^-32: 2^-84.
//
// With `more`, r^3/3 is a pair, too: the errors are relative to r^4/4, 7 roundings of that
// at most 2^-64.1 r^2, and again r.low r^4.
INLINE Logarithm logarithm(V x, int more, Mask *good) {
  *good = both(*good, both(at_most(all(0x1p-1022), x), at_most(x, all(0x1.fffffffffffffp1023))));
  Bits offset = minus_bits(bits(x), bits(all(LOG_START)));
  Bits index = shift_right(offset, 47);
  Bits scale = and_bits(offset, all_bits(-1LL * (1LL << 52)));
  V m = number(minus_bits(bits(x), scale));
  V e = exponent(scale);
  V c = lookup(RECIPROCALS, index);

  Pair mc = product(m, c);
  V r = mc.high - all(1);
  Pair square = product(r, r);
  V cube = r * square.high;
  // r.low / (1 + r), and the low parts of e log(2) - log(C) and r^2/2.
  V low = madd(e, all(LOG2_LOW), lookup(LOGS_LOW, index));
  low = low + nmadd(mc.low, (r - square.high) + cube, mc.low);
  low = nmadd(all(0.5), square.low, low);

  // |first| >= |r|, or it is 0.
  V first = madd(e, all(LOG2_HIGH), lookup(LOGS_HIGH, index));
  Pair second = sum(first, r);
  Pair third = sum(second.high, square.high * all(-0.5));
  V q = madd(square.high, all(LOG[6]), madd(r, all(LOG[5]), all(LOG[4])));
  q = madd(square.high, q, madd(r, all(LOG[3]), all(LOG[2])));
  q = madd(square.high, q, madd(r, all(LOG[1]), all(LOG[0])));
  if (!more) {
    low = (second.low + third.low) + madd(cube, madd(r, q, all(THIRD_HIGH)), low);
    return (Logarithm){{third.high, low}, madd(square.high, all(0x1.8p-58), all(0x1p-84))};
  }
  Pair fourth = product(cube, all(THIRD_HIGH));
  V cube_low = madd(r, square.low, msub(r, square.high, cube));
  fourth.low = fourth.low + madd(cube, all(THIRD_LOW), cube_low * all(THIRD_HIGH));
  Pair last = sum(third.high, fourth.high);
  low = madd(square.high * square.high, q, low + fourth.low);
  low = ((second.low + third.low) + last.low) + low;
  return (Logarithm){{last.high, low}, madd(square.high, all(0x1p-63), all(0x1p-84))};
}

INLINE V lanes_log(V x, Mask *good) {
  *good = equal(x, x);
  Logarithm result = logarithm(x, 0, good);
  return nearest(result.value, result.error, good);
}

// x^y = exp(y log(x)). An error d of the logarithm is one of y d in the result, relatively;
// that of the product is far less.
INLINE V lanes_pow(V x, V y, Mask *good) {
  *good = equal(x, x);
  Logarithm log = logarithm(x, 1, good);
  Pair l = sum(log.value.high, log.value.low);
  Pair exponent = product(y, l.high);
  exponent.low = madd(y, l.low, exponent.low);
  *good = both(*good, at_most(magnitude(exponent.high), all(708)));
  V shifted;
  Pair result = exponential(exponent, &shifted);
  V error = madd(magnitude(y), log.error, all(POWER_ERROR));
  return scaled(nearest(result, result.high * error, good), bits(shifted));
}
