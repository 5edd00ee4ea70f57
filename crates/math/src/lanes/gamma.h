// The gamma function and its logarithm, of positive numbers.
//
// Let y be x if that is at least 16, and P = 1; otherwise y = x + 16, and P = x (x + 1) ... (x + 15).
// Then gamma(x) = gamma(y) / P, and Stirling's series is
//   log(gamma(y)) = (y - 1/2) (log(y) - 1) + (log(2 pi) - 1)/2 + 1/(12 y) + r(y)
//   r(y) = -1/(360 y^3) + 1/(1260 y^5) - ...
// Its terms alternate in their signs, so without those after 1/y^17, the error is less than the
// next one, 1.393 / 16^19 < 2^-75.5.
//
// y is exact as a pair, and 1/(12 y) has an error of 2^-100 of it. r(y) is one double, less than
// 2^-20.4, with at most 5 roundings of it (1/y and its square and cube, the polynomial, the sum),
// and those of terms that are less than 2^-9 of it: together less than 2^-71.
// The other sums and products have relative errors of 2^-100, of numbers that are less than 2.4
// times the result.
#define SERIES_ERROR 0x1.8p-71

// Returns log(gamma(y)) for y from 16 to 2^900.
INLINE Logarithm log_gamma(Pair y, Mask *good) {
  Logarithm log = logarithm(y, OF_PAIR | MORE, good);
  Pair less = sum(log.value.high, all(-1)), factor = sum(y.high, all(-0.5));
  less = sum(less.high, less.low + log.value.low);
  factor.low = factor.low + y.low;
  Pair main = times(factor, less);

  Pair inverse = quotient((Pair){all(1), all(0)}, y);
  V v = inverse.high, vv = v * v, vvvv = vv * vv;
  V r = madd(vv, all(STIRLING[7]), all(STIRLING[6]));
  r = madd(vvvv, r, madd(vv, all(STIRLING[5]), all(STIRLING[4])));
  r = madd(vvvv, r, madd(vv, all(STIRLING[3]), all(STIRLING[2])));
  r = (v * vv) * madd(vvvv, r, madd(vv, all(STIRLING[1]), all(STIRLING[0])));
  Pair first = times(inverse, (Pair){all(TWELFTH_HIGH), all(TWELFTH_LOW)});
  Pair rest = sum(all(HALF_LOG_HIGH), first.high);
  rest = sum(rest.high, rest.low + (r + (first.low + all(HALF_LOG_LOW))));

  // main >= 27.
  Pair value = sum(main.high, rest.high);
  value = sum(value.high, value.low + (main.low + rest.low));
  V error = madd(y.high, log.error, madd(magnitude(value.high), all(0x1p-96), all(SERIES_ERROR)));
  return (Logarithm){value, error};
}

// A number of at least 16, and what has been passed on the way there.
typedef struct {
  Pair y, passed;
} Moved;

// Adds 16 to x where it is less than that. What is passed is
//   x (x + 1) ... (x + 15) = (u + 0) (u + 14) ... (u + 56),  u = x (x + 15),
// since (x + i) (x + 15 - i) = u + i (15 - i), with a relative error of 2^-98; otherwise 1.
INLINE Moved moved_up(V x, Mask is_small) {
  Pair last = any_sum(x, all(15)), u = product(x, last.high);
  u.low = madd(x, last.low, u.low);
  // Two products, since each multiplication waits for the one before.
  Pair products[2] = {u, {all(1), all(0)}};
  for (int i = 1; i < 8; i++) {
    Pair factor = any_sum(u.high, all(i * (15 - i)));
    factor.low = factor.low + u.low;
    products[i & 1] = times(products[i & 1], factor);
  }
  Pair passed = times(products[0], products[1]);
  passed = sum(choose(is_small, passed.high, all(1)), choose(is_small, passed.low, all(0)));
  return (Moved){any_sum(x, choose(is_small, all(16), all(0))), passed};
}

INLINE V lanes_tgamma(V x, Mask *good) {
  *good = both(at_most(all(0x1p-300), x), at_most(x, all(171)));
  Moved moved = moved_up(x, at_most(x, all(0x1.fffffffffffffp3)));
  Logarithm log = log_gamma(moved.y, good);
  V shifted;
  Pair power = exponential(log.value, &shifted);
  Pair result = quotient(sum(power.high, power.low), moved.passed);
  V error = magnitude(result.high) * (log.error + all(1.001 * POWER_ERROR));
  return scaled(nearest(result, error, good), bits(shifted));
}

INLINE V lanes_lgamma(V x, Mask *good) {
  *good = both(at_most(all(0x1p-300), x), at_most(x, all(0x1p900)));
  Mask is_small = at_most(x, all(0x1.fffffffffffffp3));
  if (of_mask(is_small) == 0) {
    Logarithm log = log_gamma((Pair){x, all(0)}, good);
    return nearest(log.value, log.error, good);
  }
  Moved moved = moved_up(x, is_small);
  Logarithm log = log_gamma(moved.y, good);
  Logarithm passed = logarithm(moved.passed, OF_PAIR | MORE, good);
  Pair l = sum(passed.value.high, passed.value.low);
  Pair result = add(log.value, (Pair){-l.high, -l.low});
  V error = madd(magnitude(l.high), all(0x1p-97), log.error + (passed.error + all(0x1p-96)));
  return nearest(result, error, good);
}
