// Exponentials.

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

// Returns exp(x) as 2^(k/32) exp(r), with x = k log(2)/32 + r, for |x| <= 708. The
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
