// Exponentials, and hyperbolic functions.

// Computes exp(r) 2^(i/32), where i are the last 5 bits of `index`, |r.high| <= 0.01084 and
// |r.low| <= 2^-60.
//
// With T = 2^(i/32) as a pair, and p = exp(r) - 1 - r.high as one double, it is
//   T.high + T.high r.high + (T.high p + T.low (1 + r.high)),
// where the first sum and product are exact. Relative to T, the errors are
//   of p, at most 2^-14.05:        4 roundings (square, 2 in q, p): 2^-65.05
//   r.low r.high, not in p:        2^-66.5
//   T.low p, left out:             2^-67.05
//   roundings of the low parts:    3 of 2^-67.05, and one more in `nearest`
// and the polynomial's 2^-71: together less than 2^-63.6 of the result.
#define POWER_ERROR 0x1.5p-64

INLINE Pair power(Bits index, Pair r) {
  V high = lookup(POWERS_HIGH, index), low = lookup(POWERS_LOW, index);
  V square = r.high * r.high;
  V q = madd(square, madd(square, madd(r.high, all(EXP[5]), all(EXP[4])),
                        madd(r.high, all(EXP[3]), all(EXP[2]))),
            madd(r.high, all(EXP[1]), all(EXP[0])));
  V p = madd(square, q, r.low);
  Pair first = product(high, r.high);
  Pair result = sum(high, first.high);
  result.low = result.low + (first.low + madd(high, p, madd(low, r.high, low)));
  return result;
}

// Returns x 2^e, which is normal, where e is the integer in `bits` without its last 5 bits.
INLINE V scaled(V x, Bits index) {
  return number(plus_bits(bits(x), shift_left(and_bits(index, all_bits(~31)), 47)));
}

// Computes exp(x) as 2^(k/32) exp(r), with x = k log(2)/32 + r, for |x| <= 708. The
// difference of x.high and k `STEP_HIGH` is exact: it is a multiple of that number's last
// place, 2^-58, or |k| is at most 1. The error of r is less than 2^-95.
INLINE Pair exponential(Pair x, V *shifted) {
  *shifted = madd(x.high, all(STEPS), all(ROUNDER));
  V k = *shifted - all(ROUNDER);
  V first = nmadd(k, all(STEP_HIGH), x.high);
  return power(bits(*shifted), sum(first, nmadd(k, all(STEP_LOW), x.low)));
}

INLINE V lanes_exp(V x, Mask *good) {
  *good = at_most(magnitude(x), all(708));
  V shifted;
  Pair result = exponential((Pair){x, all(0)}, &shifted);
  return scaled(nearest(result, result.high * all(POWER_ERROR), good), bits(shifted));
}

// 2^x = 2^(k/32) exp(r log(2)), where r = x - k/32 is exact.
INLINE V lanes_exp2(V x, Mask *good) {
  *good = at_most(magnitude(x), all(1021));
  V shifted = madd(x, all(32), all(ROUNDER)), k = shifted - all(ROUNDER);
  V first = nmadd(k, all(0x1p-5), x);
  Pair r = product(first, all(NATURAL_HIGH));
  r.low = madd(first, all(NATURAL_LOW), r.low);
  Pair result = power(bits(shifted), r);
  return scaled(nearest(result, result.high * all(POWER_ERROR), good), bits(shifted));
}

// Computes exp(x) - 1 for |x| <= 708, with a relative error below 2^-65.
//
// With x = k log(2)/32 + r, as for exp(x), and T = 2^(k/32), it is
//   (T.high - 1) + T.high r.high + T.high r.high^2/2 + (T.high p + T.low (1 + r + r^2/2))
// where p = exp(r) - 1 - r.high - r.high^2/2 is one double, and all products and sums but for
// the last are pairs. The result is at least T / 94 if k is not 0. Otherwise it is about r,
// and T.high - 1, T.low and r.low are 0. So relative to the result, the errors are
//   of r^3/6, 2^-15.6 of it:    8 roundings (three products, 1.5 in q, three sums and, in
//                               `nearest`, one more): 2^-65.6
//   r.low r^2/2, left out:      2^-67.5
//   T.low r^3/6, left out:      2^-68.6
#define EXPM1_ERROR 0x1p-65

INLINE Pair exponential_minus_1(V x) {
  V shifted = madd(x, all(STEPS), all(ROUNDER)), k = shifted - all(ROUNDER);
  Bits index = bits(shifted);
  Pair r = sum(nmadd(k, all(STEP_HIGH), x), k * all(-STEP_LOW));
  V high = scaled(lookup(POWERS_HIGH, index), index);
  V low = lookup(POWERS_LOW, index) * scaled(all(1), index);

  Pair square = product(r.high, r.high);
  V half = square.high * all(0.5), cube = square.high * r.high;
  V q = madd(square.high, madd(r.high, all(EXPM1[5]), all(EXPM1[4])),
             madd(r.high, all(EXPM1[3]), all(EXPM1[2])));
  q = madd(square.high, q, madd(r.high, all(EXPM1[1]), all(EXPM1[0])));
  V p = madd(cube, q, madd(r.high, r.low, madd(square.low, all(0.5), r.low)));

  Pair linear = product(high, r.high), quadratic = product(high, half);
  Pair first = any_sum(high, all(-1));
  Pair second = sum(first.high, linear.high);
  Pair third = sum(second.high, quadratic.high);
  V last = madd(low, r.high + half, low) + (first.low + (linear.low + quadratic.low));
  return sum(third.high, madd(high, p, last) + (second.low + third.low));
}

INLINE V lanes_expm1(V x, Mask *good) {
  *good = both(at_most(magnitude(x), all(708)), at_most(all(0x1p-300), magnitude(x)));
  Pair result = exponential_minus_1(x);
  return nearest(result, result.high * all(EXPM1_ERROR), good);
}

// tanh(|x|) = -m / (2 + m), with m = exp(-2|x|) - 1. As m >= -1, the relative error is at
// most twice that of m.
INLINE V lanes_tanh(V x, Mask *good) {
  *good = both(at_most(magnitude(x), all(354)), at_most(all(0x1p-300), magnitude(x)));
  Pair m = exponential_minus_1(magnitude(x) * all(-2));
  Pair divisor = add((Pair){all(2), all(0)}, m);
  Pair result = quotient((Pair){-m.high, -m.low}, divisor);
  return with_sign(nearest(result, result.high * all(2.01 * EXPM1_ERROR), good), sign(x));
}

// sinh(|x|) = (m + m / (1 + m)) / 2, with m = exp(|x|) - 1. The relative errors of both terms
// are at most that of m.
INLINE V lanes_sinh(V x, Mask *good) {
  *good = both(at_most(magnitude(x), all(708)), at_most(all(0x1p-300), magnitude(x)));
  Pair m = exponential_minus_1(magnitude(x));
  Pair result = add(m, quotient(m, add((Pair){all(1), all(0)}, m)));
  V rounded = nearest(result, result.high * all(1.01 * EXPM1_ERROR), good);
  return with_sign(rounded * all(0.5), sign(x));
}

// cosh(x) = (e + 1 / e) / 2, with e = exp(|x|).
INLINE V lanes_cosh(V x, Mask *good) {
  *good = at_most(magnitude(x), all(708));
  Pair m = exponential_minus_1(magnitude(x));
  Pair one = {all(1), all(0)}, e = add(one, m);
  Pair result = add(e, quotient(one, e));
  return nearest(result, result.high * all(1.01 * EXPM1_ERROR), good) * all(0.5);
}
