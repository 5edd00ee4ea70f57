// Sines and cosines, of arguments up to this one.
#define LARGEST_ANGLE 0x1p32

// Up to this one, two constants are enough to reduce it.
#define SMALL_ANGLE 0x1p17

typedef struct {
  // x as k pi/32 + r. The last bits of `index` are k.
  Bits index;
  Pair r;
  // Whether k is 0, and r is x.
  Mask is_x;
} Angle;

// Reduces an angle. The lanes that are not too large for it are `good`.
INLINE Angle angle(V x, Mask *good) {
  *good = at_most(magnitude(x), all(LARGEST_ANGLE));
  V shifted = madd(x, all(ANGLES), all(ROUNDER)), k = shifted - all(ROUNDER);
  V first = nmadd(k, all(ANGLE_HIGH), x);
  unsigned is_small = of_mask(at_most(magnitude(x), all(SMALL_ANGLE)));
  Pair r;
  if (__builtin_expect(is_small == ALL_LANES, 1)) {
    r.high = nmadd(k, all(ANGLE_LOW), first);
    r.low = nmadd(k, all(ANGLE_LOW), first - r.high);
  } else {
    Pair second = product(k, all(ANGLE_LOW));
    r = any_sum(first, -second.high);
    r.low = nmadd(k, all(ANGLE_THIRD), r.low - second.low);
  }
  return (Angle){bits(shifted), r, equal(k, all(0))};
}

// A multiple of pi/32, by its sine and cosine as pairs.
typedef struct {
  V s, s_low, c, c_low;
} Direction;

// Returns that of (k + turn) pi/32, or the opposite one.
INLINE Direction direction(Angle x, Bits turn) {
  Bits index = plus_bits(x.index, turn);
  return (Direction){lookup(SINES_HIGH, index), lookup(SINES_LOW, index),
                     lookup(COSINES_HIGH, index), lookup(COSINES_LOW, index)};
}

// Computes the sine of a direction and r, with an error of at most `sine_error`.
//
// x = k pi/32 + r, for |x| <= 2^32 and so |k| < 2^36, |r| <= 0.0491. With `ANGLE_HIGH`, the
// difference is exact, a multiple of that number's last place, 2^-56, or |k| is at most 1;
// with `ANGLE_LOW` as a pair, its error is less than 2^21 2^-111 from that number, and
// 2^-106, for |x| <= 2^17. Beyond, that product is exact, the low part of the difference is at most
// 2^-58 + 2^-76, and its two roundings are at most 2^-110. With S and C, the sine and cosine of
// the direction, it is
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
INLINE Pair sine(Direction of, Angle x, Mask *good) {
  V r = x.r.high, r_low = x.r.low, s = of.s, c = of.c;

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
  // C.low r + S.low (1 - r^2/2), and the factors of C and of S; what is known last is added last.
  V low = madd(of.c_low, r, madd(of.s_low, half, of.s_low));
  low = madd(c, r_low, low);
  low = madd(s, madd(fourth, p, nmadd(r, r_low, square.low * all(-0.5))), low);
  low = madd(c, r * square.high * q, low);
  low = (((cosines.low + sines.low) + second.low) + third.low) + low;

  V least = choose(x.is_x, all(0x1p-1074), all(0x1p-20));
  *good = both(*good, at_most(least, magnitude(second.high)));
  return (Pair){third.high, low};
}

INLINE V sine_error(Angle x, V absolute) {
  return madd(x.r.high * x.r.high, all(0x1.4p-57), absolute);
}

// Returns the sine of x + turn pi/32 for multiples of 16, with that absolute part of the error.
INLINE V rounded_sine(Angle x, Bits turn, V absolute, Mask *good) {
  V result = nearest(sine(direction(x, turn), x, good), sine_error(x, absolute), good);
  Bits index = plus_bits(x.index, turn);
  return with_sign(result, and_bits(shift_left(index, 58), all_bits(INT64_MIN)));
}

INLINE V lanes_sin(V x, Mask *good) {
  Angle a = angle(x, good);
  return rounded_sine(a, all_bits(0), choose(a.is_x, all(0), all(0x1p-88)), good);
}

INLINE V lanes_cos(V x, Mask *good) {
  return rounded_sine(angle(x, good), all_bits(16), all(0x1p-88), good);
}

#ifdef TWO_LANES
// The sine of the first lane, and the cosine of the second.
INLINE V lanes_sin_cos(V x, Mask *good) {
  Angle a = angle(x, good);
  V absolute = choose(a.is_x, _mm_set_pd(0x1p-88, 0), all(0x1p-88));
  return rounded_sine(a, _mm_set_epi64x(16, 0), absolute, good);
}
#endif

// tan(x) = s / c, where c is the sine of the direction a quarter of a turn on. The low parts of
// their pairs are at most r^3/6 + r^4/24 <= 2^-6.9 r^2, and that of the quotient this times
// (1 + |s/c|) / |c|. It is computed with five roundings, that in `nearest` counted, so with an
// error of 5 2^-53 of that, 2^-57.5 r^2. Errors of s and c up to d, with `sine_error` 1.25 2^-57
// r^2 + 2^-88, are one of d (1 + |s/c|) / |c|. For k = 0, those of 2^-88 are only in c, and so
// times |s/c|, which is at most 1.001 |r|.
INLINE V lanes_tan(V x, Mask *good) {
  Angle a = angle(x, good);
  Direction of = direction(a, all_bits(0)), on = {of.c, of.c_low, -of.s, -of.s_low};
  Pair s = sine(of, a, good), c = sine(on, a, good);
  V inverse = all(1) / c.high, high = s.high * inverse;
  V rest = nmadd(high, c.high, s.high) + nmadd(high, c.low, s.low);
  V low = rest / (c.high + c.low);
  V scale = choose(a.is_x, magnitude(a.r.high), all(1));
  V error = madd(a.r.high * a.r.high, all(0x1p-56), scale * all(0x1p-88));
  error = error * madd(all(1.01), magnitude(c.high), magnitude(s.high)) * (inverse * inverse);
  return nearest((Pair){high, low}, error, good);
}
