// Sines and cosines.

typedef struct {
  // x as k pi/32 + r. The last bits of `index` are k.
  Bits index;
  Pair r;
  // Whether k is 0, and r is x.
  Mask is_x;
} Angle;

INLINE Angle angle(V x) {
  V shifted = madd(x, all(ANGLES), all(ROUNDER)), k = shifted - all(ROUNDER);
  V first = nmadd(k, all(ANGLE_HIGH), x);
  V r = nmadd(k, all(ANGLE_LOW), first);
  return (Angle){bits(shifted), {r, nmadd(k, all(ANGLE_LOW), first - r)}, equal(k, all(0))};
}

// Computes sin(x + quarters pi/2) with an error of at most `sine_error`, but for its sign.
//
// x = k pi/32 + r, for |x| <= 2^17 and so |k| < 2^21, |r| <= 0.0491. With `ANGLE_HIGH`, the
// difference is exact, a multiple of that number's last place, 2^-56, or |k| is at most 1;
// with `ANGLE_LOW` as a pair, its error is less than 2^21 2^-111 from that number, and
// 2^-106. With S and C, the sine and cosine of k pi/32 from a table, it is
//   S + C r - S r^2/2 + (C r^3 q(r^2) + S r^4 p(r^2))
// where all products and sums but for the last are pairs.
//
// Where S is 0, all errors are relative to r^3/6: 8 roundings (three products, 1.5 in q, two
// sums, one in `nearest`, and half a one of the constant), at most 8 2^-53 |r|^3/6 <=
// 2^-56.9 r^2. Elsewhere these are not larger, those of r^4/24 less than a twentieth of them,
// that of the polynomial p at most 2^-61.6 r^2, and what the low part of C lacks, for r^3, at
// most 2^-60.9 r^2. The others are absolute, below 2^-89: |S + C r| is at least 2^-20, or the
// lane is not good. For k = 0 and S = 0 there are no others, and r is x: only 0 is not good,
// for its sign.
INLINE Pair sine(Angle x, int64_t quarters, Mask *good) {
  Bits index = plus_bits(x.index, all_bits(16 * quarters));
  V r = x.r.high, r_low = x.r.low;
  V s = lookup(SINES_HIGH, index), c = lookup(COSINES_HIGH, index);

  Pair square = product(r, r);
  V half = square.high * all(-0.5);
  Pair sines = product(s, half), cosines = product(c, r);
  // |S| >= |C r|, or it is 0, and then the second sum is that of 0.
  Pair second = sum(s, cosines.high);
  Pair third = sum(second.high, sines.high);

  V fourth = square.high * square.high;
  V p = madd(square.high, madd(square.high, all(COS[2]), all(COS[1])), all(COS[0]));
  V q = madd(square.high, all(SIN[1]), all(SIN[0]));
  q = madd(fourth, madd(square.high, all(SIN[3]), all(SIN[2])), q);
  // C.low r + S.low (1 - r^2/2), and the factors of C and of S.
  V s_low = lookup(SINES_LOW, index);
  V low = madd(lookup(COSINES_LOW, index), r, madd(s_low, half, s_low));
  low = low + (cosines.low + sines.low);
  low = madd(s, madd(fourth, p, nmadd(r, r_low, square.low * all(-0.5))), low);
  low = madd(c, r_low, low);
  low = madd(c, r * square.high * q, low);
  low = (second.low + third.low) + low;

  V least = choose(x.is_x, all(0x1p-1074), all(0x1p-20));
  *good = both(*good, at_most(least, magnitude(second.high)));
  return (Pair){third.high, low};
}

INLINE V sine_error(Angle x, V absolute) {
  return madd(x.r.high * x.r.high, all(0x1.4p-57), absolute);
}

// The sign of sin(x + quarters pi/2), beside that of `sine`.
INLINE Bits sine_sign(Angle x, int64_t quarters) {
  Bits index = plus_bits(x.index, all_bits(16 * quarters));
  return and_bits(shift_left(index, 58), all_bits(INT64_MIN));
}

INLINE V rounded_sine(V x, int64_t quarters, Mask *good) {
  *good = at_most(magnitude(x), all(0x1p17));
  Angle a = angle(x);
  V absolute = quarters == 0 ? choose(a.is_x, all(0), all(0x1p-88)) : all(0x1p-88);
  V result = nearest(sine(a, quarters, good), sine_error(a, absolute), good);
  return with_sign(result, sine_sign(a, quarters));
}

INLINE V lanes_sin(V x, Mask *good) { return rounded_sine(x, 0, good); }
INLINE V lanes_cos(V x, Mask *good) { return rounded_sine(x, 1, good); }

// tan(x) = s / c. Errors of s and c up to d are one of d (1 + |s/c|) / |c| in it.
INLINE V lanes_tan(V x, Mask *good) {
  *good = at_most(magnitude(x), all(0x1p17));
  Angle a = angle(x);
  Pair s = sine(a, 0, good), c = sine(a, 1, good);
  s = sum(s.high, s.low);
  c = sum(c.high, c.low);
  Pair result = quotient(s, c);
  V error = sine_error(a, all(0x1p-88)) * (all(1.01) + magnitude(result.high)) / magnitude(c.high);
  return with_sign(nearest(result, error, good), xor_bits(sine_sign(a, 0), sine_sign(a, 1)));
}
