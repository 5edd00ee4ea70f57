// Cube roots.

// cbrt(x) = 2^q cbrt(m), with x = 2^3q m and m from 1/2 to 4.
//
// z is about m^(-1/3): a polynomial with a relative error of 0.0071, then two steps
//   z + z (h/3 + 2/9 h^2), with h = 1 - m z^3,
// of which each leaves 4.7 times the third power of an error: 1.7 10^-6, then less than the
// roundings, 2^-51. So y = m z^2 is cbrt(m) with a relative error d of less than 2^-49.
// The rest m - y^3 is exact but for roundings of 2^-53 3 d m. Divided by 3 y^2, which z^2/3
// is with a relative error of 2^-49, it is the low part, to 2^-98 y; what is left out, d^2 y,
// is as small. All errors together are less than 2^-95 y.
INLINE V lanes_cbrt(V x, Mask *good) {
  V size = magnitude(x);
  *good = both(at_most(all(0x1p-1022), size), at_most(size, all(0x1.fffffffffffffp1023)));
  Bits scale = and_bits(minus_bits(bits(size), bits(all(1))), all_bits(-1LL * (1LL << 52)));
  Bits third = shift_left(bits(madd(exponent(scale), all(1.0 / 3), all(ROUNDER))), 52);
  V m = number(minus_bits(bits(size), plus_bits(third, plus_bits(third, third))));

  V square = m * m;
  V z = madd(square, madd(m, all(-0.130886), all(0.546795)), madd(m, all(-1.110792), all(1.685385)));
  z = madd(square * square, all(0.0117976), z);
  for (int i = 0; i < 2; i++) {
    V h = nmadd(z * z, z * m, all(1));
    z = madd(z * h, madd(h, all(2.0 / 9), all(1.0 / 3)), z);
  }
  V inverse_square = z * z, y = m * inverse_square;
  Pair y2 = product(y, y), y3 = product(y2.high, y);
  V rest = nmadd(y2.low, y, (m - y3.high) - y3.low);
  V low = rest * (inverse_square * all(1.0 / 3));
  V result = nearest((Pair){y, low}, y * all(0x1p-95), good);
  return with_sign(number(plus_bits(bits(result), third)), sign(x));
}
