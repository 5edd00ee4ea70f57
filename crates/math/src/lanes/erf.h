// Error functions.

// Returns base + s erfc(size), where s is 1 or -1 with the sign of `turn`: erfc(size) with a
// base of 0, and with s = -1, erf(size) with a base of 1 and 2 - erfc(size). Sizes above 6 are
// only for bases of 1 and 2: soon erfc(size) counts as 0, with an error of 2^-54. It is less
// than 2^-55.3, and 1 - 2^-54 still rounds to 1.
//
// Let c = i/64 be the multiple of 1/64 nearest to the size, and h = size - c, which is exact.
// With E = 2/sqrt(pi) exp(-c^2), t = c h and v from 0 to 1,
//   erfc(c + h) = erfc(c) - E h (the integral of exp(-2 t v) exp(-h^2 v^2))
//     = erfc(c) - E h (1 - t + R),  R = t^2 m0(t) - h^2 (m1(t) - h^2 (m2(t) - ...)),
// where |h| <= 2^-7, |t| <= 3/64, and t is exact: if the size is in [2^e, 2^(e+1)), h is a
// multiple of 2^(e-52), so has 45 - e bits, and c < 2^(e+1) has e + 7, or else is 2^(e+1).
//
// All sums and products are pairs but for those with R, which is one double. In 2^-53 E|h|,
// the errors are
//   of t^2 m0:      3.6 |t^2 m0| (t^2, half a one of the constant, 1.1 in m0, the sum)
//   of h^2 m1...:   5.6 |h^2 m1| (h^2, half a one of the constant, 2.1 in m1..., the product,
//                   the sum)
//   of R:           6 |R| (1 - t + R, the product with h, that with E, the last sum, one in
//                   `nearest`, and the low part of E, left out)
// with m0 <= 0.684 and m1 <= 0.358 if t is negative, otherwise 0.667 and 0.334, but then E|h|
// is up to 1.05 times E|h| (1 - t). The polynomials' errors, beside those of the constants, are
// less than 0.1 t^2 and 2.8 h^2. In 2^-53 E|h| (1 - t), all that is less than 6.9 t^2 + 7.1 h^2.
//
// The other errors are below 2^-96 of the result: 5 of 2^-106 in relation to erfc(c) or 1, and
// if the base is 1, the result is more than 2^-7, or else c is 0 and 1 - erfc(c) is exact.
#define ERF_ERROR 0x1.dp-51

INLINE V erf_or_erfc(V size, V base, Bits turn, Mask *good) {
  V x = least(size, all(6 + 0x1p-6)); // The row of this is 0.
  V shifted = madd(x, all(64), all(ROUNDER));
  V c = (shifted - all(ROUNDER)) * all(0x1p-6), h = x - c;
  V columns[4];
  lookup_rows(ERFC, and_bits(bits(shifted), all_bits(511)), columns);

  V t = c * h, tt = t * t, hh = h * h;
  V m0 = madd(tt, all(ERF_0[7]), madd(t, all(ERF_0[6]), all(ERF_0[5])));
  m0 = madd(tt, m0, madd(t, all(ERF_0[4]), all(ERF_0[3])));
  m0 = madd(tt, m0, madd(t, all(ERF_0[2]), all(ERF_0[1])));
  m0 = madd(t, m0, all(ERF_0[0]));
  V m1 = madd(tt, all(ERF_1[7]), madd(t, all(ERF_1[6]), all(ERF_1[5])));
  m1 = madd(tt, m1, madd(t, all(ERF_1[4]), all(ERF_1[3])));
  m1 = madd(tt, m1, madd(t, all(ERF_1[2]), all(ERF_1[1])));
  V m2 = madd(tt, madd(t, all(ERF_2[5]), all(ERF_2[4])), madd(t, all(ERF_2[3]), all(ERF_2[2])));
  m2 = madd(tt, m2, madd(t, all(ERF_2[1]), all(ERF_2[0])));
  V m3 = madd(tt, madd(t, all(ERF_3[3]), all(ERF_3[2])), madd(t, all(ERF_3[1]), all(ERF_3[0])));
  m2 = nmadd(hh, nmadd(hh, all(ERF_4[0]), m3), m2);
  m1 = madd(t, m1, nmadd(hh, m2, all(ERF_1[0])));
  V rest = msub(tt, m0, hh * m1);

  Pair linear = sum(all(1), -t), first = product(linear.high, h);
  V low = madd(h, linear.low + rest, first.low);
  Pair step = product(columns[2], first.high);
  step.low = madd(columns[2], low, madd(columns[3], first.high, step.low));

  Pair start = sum(base, with_sign(columns[0], turn));
  Pair result = sum(start.high, -with_sign(step.high, turn));
  result.low = (start.low + result.low) + with_sign(columns[1], turn) - with_sign(step.low, turn);
  V error = magnitude(step.high) * ((tt + hh) * all(ERF_ERROR));
  error = madd(result.high, all(0x1p-95), error);
  error = choose(at_most(size, all(6)), error, all(0x1p-54));
  return nearest(result, error, good);
}

INLINE V lanes_erfc(V x, Mask *good) {
  *good = at_most(x, all(6));
  V base = choose(at_most(all(0), x), all(0), all(2));
  // The sum is 0 for -0.
  return erf_or_erfc(magnitude(x), base, sign(x + all(0)), good);
}

INLINE V lanes_erf(V x, Mask *good) {
  *good = at_most(all(0x1p-300), magnitude(x));
  return with_sign(erf_or_erfc(magnitude(x), all(1), sign(all(-1)), good), sign(x));
}
