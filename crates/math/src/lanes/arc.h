// Arcs.

// Returns the angle of the point (x, y) for y.high > 0, from 0 to pi; x and y have relative
// errors of 2^-99.
//
// Let n and d be the lesser and the greater of |x| and |y|, and c = i/16 the multiple of 1/16
// nearest to n / d. Then u = (n - c d) / (d + c n), with n.high - c d.high exact, is at most
// 1/32 (a bit more, as n / d was rounded), and atan(n / d) = atan(c) + atan(u). With B = 0,
// pi/2 or pi for the octant and s = 1 or -1, the angle is
//   B + s atan(c) + s u + s u^3 q(u^2)
// where all sums but the last are pairs.
//
// Where B and c are 0, all errors are relative to u^3/3: 7 roundings (two products, 1.5 in q,
// two sums, one in `nearest` and half a one of the constant) are less than 7.5 2^-53 |u|^3/3
// <= 2^-56.6 u^2. Elsewhere these are not larger. What u.low lacks, u.low u^4, is less than
// 2^-73 u^2, and the other errors are less than 2^-97 of the angle and u.
INLINE V arc(Pair y, Pair x, Mask *good) {
  V size = magnitude(x.high);
  Pair positive = {size, with_sign(x.low, sign(x.high))};
  // Whether y > |x|: then the angle is pi/2 - atan(x / y), otherwise atan(y / x).
  Mask is_steep = at_most(size, y.high);
  Pair n = {choose(is_steep, positive.high, y.high), choose(is_steep, positive.low, y.low)};
  Pair d = {choose(is_steep, y.high, positive.high), choose(is_steep, y.low, positive.low)};
  *good = both(*good, both(at_most(all(0x1p-450), n.high), at_most(d.high, all(0x1p450))));

  V shifted = madd(n.high / d.high, all(16), all(ROUNDER));
  V c = (shifted - all(ROUNDER)) * all(0x1p-4);
  V rest = nmadd(c, d.high, n.high);
  Pair cn = product(c, n.high), divisor = sum(d.high, cn.high);
  divisor.low = divisor.low + (cn.low + madd(c, n.low, d.low));
  Pair u = quotient(sum(rest, nmadd(c, d.low, n.low)), divisor);

  // The base B, the sign s and B + s atan(c).
  Bits is_left = sign(x.high);
  V base = choose(is_steep, all(0.5), choose(at_most(all(0), x.high), all(0), all(1)));
  Bits turn = xor_bits(is_left, sign(choose(is_steep, all(-1), all(1))));
  Pair first = sum(base * all(PI_HIGH), with_sign(lookup(ARCS_HIGH, bits(shifted)), turn));
  V low = madd(base, all(PI_LOW), with_sign(lookup(ARCS_LOW, bits(shifted)), turn));
  Pair second = sum(first.high, with_sign(u.high, turn));

  V square = u.high * u.high;
  V q = madd(square, madd(square, all(ATAN[4]), all(ATAN[3])), all(ATAN[2]));
  q = madd(square, q, all(ATAN[1]));
  q = madd(square, q, all(ATAN[0]));
  V tail = madd(u.high * square, q, nmadd(square, u.low, u.low));
  low = (low + (first.low + second.low)) + with_sign(tail, turn);
  V error = madd(square, all(0x1.6p-57), (second.high + magnitude(u.high)) * all(0x1p-97));
  return nearest((Pair){second.high, low}, error, good);
}

INLINE V lanes_atan2(V y, V x, Mask *good) {
  *good = equal(x, x);
  return with_sign(arc((Pair){magnitude(y), all(0)}, (Pair){x, all(0)}, good), sign(y));
}

INLINE V lanes_atan(V x, Mask *good) {
  *good = equal(x, x);
  return with_sign(arc((Pair){magnitude(x), all(0)}, (Pair){all(1), all(0)}, good), sign(x));
}

// Returns sqrt(1 - x^2).
INLINE Pair other_side(V x) {
  Pair square = product(x, x);
  return root_of(add((Pair){all(1), all(0)}, (Pair){-square.high, -square.low}));
}

// The angle of the point (sqrt(1 - x^2), x).
INLINE V lanes_asin(V x, Mask *good) {
  *good = at_most(magnitude(x), all(1));
  return with_sign(arc((Pair){magnitude(x), all(0)}, other_side(x), good), sign(x));
}

// The angle of the point (x, sqrt(1 - x^2)).
INLINE V lanes_acos(V x, Mask *good) {
  *good = at_most(magnitude(x), all(1));
  return arc(other_side(x), (Pair){x, all(0)}, good);
}

// The square root of x^2 + y^2.
INLINE V lanes_hypot(V x, V y, Mask *good) {
  V size = greatest(magnitude(x), magnitude(y));
  *good = both(at_most(all(0x1p-400), size), at_most(size, all(0x1p400)));
  Pair result = root_of(add(product(x, x), product(y, y)));
  return nearest(result, result.high * all(0x1p-98), good);
}
