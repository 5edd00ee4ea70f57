// Vectors of doubles, for the processors that have them with FMA: 8 lanes with AVX-512, 4
// with AVX2, two or one. The methods are written once, with the names below.
//
// Arithmetic is that of C: `+ - *` work on vectors, and nothing is contracted.

#include <immintrin.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

#ifdef ONE_LANE // For `one.c`.

#define LANES 1
typedef double V;
typedef int64_t Bits;
typedef int Mask;

INLINE V all(double x) { return x; }
INLINE Bits all_bits(int64_t x) { return x; }
INLINE Bits bits(V x) { return _mm_cvtsi128_si64(_mm_castpd_si128(_mm_set_sd(x))); }
INLINE V number(Bits x) { return _mm_cvtsd_f64(_mm_castsi128_pd(_mm_cvtsi64_si128(x))); }
INLINE V madd(V x, V y, V z) { return __builtin_fma(x, y, z); }
INLINE V msub(V x, V y, V z) { return __builtin_fma(x, y, -z); }
INLINE V nmadd(V x, V y, V z) { return __builtin_fma(-x, y, z); }
INLINE V root(V x) { return __builtin_sqrt(x); }
INLINE V greatest(V x, V y) { return x > y ? x : y; }
INLINE V least(V x, V y) { return x < y ? x : y; }
INLINE Bits and_bits(Bits x, Bits y) { return x & y; }
INLINE Bits xor_bits(Bits x, Bits y) { return x ^ y; }
INLINE Bits plus_bits(Bits x, Bits y) { return (Bits)((uint64_t)x + (uint64_t)y); }
INLINE Bits minus_bits(Bits x, Bits y) { return (Bits)((uint64_t)x - (uint64_t)y); }
#define shift_left(x, places) ((Bits)((uint64_t)(x) << (places)))
#define shift_right(x, places) ((Bits)((uint64_t)(x) >> (places)))

INLINE Mask equal(V x, V y) { return x == y; }
INLINE Mask at_most(V x, V y) { return x <= y; }
INLINE Mask both(Mask x, Mask y) { return x & y; }
INLINE V choose(Mask mask, V yes, V no) { return mask ? yes : no; }
INLINE V exponent(Bits x) { return (V)(x >> 52); }
INLINE unsigned of_mask(Mask x) { return (unsigned)x; }
INLINE V lookup(const double *table, Bits index) { return table[index & 31]; }
INLINE void lookup_rows(const double *table, Bits index, V columns[4]) {
  for (int i = 0; i < 4; i++)
    columns[i] = table[4 * index + i];
}

#elif defined(__AVX512F__)

#define LANES 8
typedef __m512d V;
typedef __m512i Bits;
typedef __mmask8 Mask;

INLINE V all(double x) { return _mm512_set1_pd(x); }
INLINE Bits all_bits(int64_t x) { return _mm512_set1_epi64(x); }
INLINE Bits bits(V x) { return _mm512_castpd_si512(x); }
INLINE V number(Bits x) { return _mm512_castsi512_pd(x); }
// x y + z, x y - z and z - x y, rounded once.
INLINE V madd(V x, V y, V z) { return _mm512_fmadd_pd(x, y, z); }
INLINE V msub(V x, V y, V z) { return _mm512_fmsub_pd(x, y, z); }
INLINE V nmadd(V x, V y, V z) { return _mm512_fnmadd_pd(x, y, z); }
INLINE V root(V x) { return _mm512_sqrt_pd(x); }
INLINE V greatest(V x, V y) { return _mm512_max_pd(x, y); }
// Returns y where one of them is a NaN.
INLINE V least(V x, V y) { return _mm512_min_pd(x, y); }
INLINE Bits and_bits(Bits x, Bits y) { return _mm512_and_si512(x, y); }
INLINE Bits xor_bits(Bits x, Bits y) { return _mm512_xor_si512(x, y); }
INLINE Bits plus_bits(Bits x, Bits y) { return _mm512_add_epi64(x, y); }
INLINE Bits minus_bits(Bits x, Bits y) { return _mm512_sub_epi64(x, y); }
#define shift_left(x, places) _mm512_slli_epi64(x, places)
#define shift_right(x, places) _mm512_srli_epi64(x, places)

INLINE Mask equal(V x, V y) { return _mm512_cmp_pd_mask(x, y, _CMP_EQ_OQ); }
INLINE Mask at_most(V x, V y) { return _mm512_cmp_pd_mask(x, y, _CMP_LE_OQ); }
INLINE Mask both(Mask x, Mask y) { return x & y; }
INLINE V choose(Mask mask, V yes, V no) { return _mm512_mask_blend_pd(mask, no, yes); }
// Returns n, for n 2^52.
INLINE V exponent(Bits x) { return _mm512_cvtepi64_pd(_mm512_srai_epi64(x, 52)); }
// Bit i says whether lane i is set.
INLINE unsigned of_mask(Mask x) { return x; }

// Returns the entries of a table of 32 that the last 5 bits choose.
INLINE V lookup(const double *table, Bits index) {
  V low = _mm512_permutex2var_pd(_mm512_loadu_pd(table), index, _mm512_loadu_pd(table + 8));
  V high = _mm512_permutex2var_pd(_mm512_loadu_pd(table + 16), index, _mm512_loadu_pd(table + 24));
  return _mm512_mask_blend_pd(_mm512_test_epi64_mask(index, all_bits(16)), low, high);
}

// Reads the rows of a table of 4 columns, one for each lane.
INLINE void lookup_rows(const double *table, Bits index, V columns[4]) {
  int64_t rows[LANES];
  _mm512_storeu_si512(rows, shift_left(index, 2));
  V two[4]; // Rows i and i + 4.
  for (int i = 0; i < 4; i++) {
    V first = _mm512_castpd256_pd512(_mm256_load_pd(table + rows[i]));
    two[i] = _mm512_insertf64x4(first, _mm256_load_pd(table + rows[i + 4]), 1);
  }
  Bits left = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
  Bits right = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
  V even[2] = {_mm512_unpacklo_pd(two[0], two[1]), _mm512_unpacklo_pd(two[2], two[3])};
  V odd[2] = {_mm512_unpackhi_pd(two[0], two[1]), _mm512_unpackhi_pd(two[2], two[3])};
  columns[0] = _mm512_permutex2var_pd(even[0], left, even[1]);
  columns[1] = _mm512_permutex2var_pd(odd[0], left, odd[1]);
  columns[2] = _mm512_permutex2var_pd(even[0], right, even[1]);
  columns[3] = _mm512_permutex2var_pd(odd[0], right, odd[1]);
}

INLINE V load(const double *values) { return _mm512_loadu_pd(values); }
INLINE void store(double *values, V x) { _mm512_storeu_pd(values, x); }
// These read and write `count` lanes only; the others are 1.
INLINE V load_some(const double *values, size_t count) {
  return _mm512_mask_loadu_pd(all(1), (Mask)((1u << count) - 1), values);
}
INLINE void store_some(double *values, V x, size_t count) {
  _mm512_mask_storeu_pd(values, (Mask)((1u << count) - 1), x);
}

#else

// 4 lanes, or two for `two.c`: the instructions differ in their names.
#ifdef TWO_LANES
#define LANES 2
typedef __m128d V;
typedef __m128i Bits;
#define OP(operation) _mm_##operation
#define BITS_OP(operation) _mm_##operation##_si128
#define FROM_BITS _mm_castsi128_pd
#else
#define LANES 4
typedef __m256d V;
typedef __m256i Bits;
#define OP(operation) _mm256_##operation
#define BITS_OP(operation) _mm256_##operation##_si256
#define FROM_BITS _mm256_castsi256_pd
#endif
typedef V Mask;

INLINE V all(double x) { return OP(set1_pd)(x); }
INLINE Bits all_bits(int64_t x) { return OP(set1_epi64x)(x); }
INLINE Bits bits(V x) { return BITS_OP(castpd)(x); }
INLINE V number(Bits x) { return FROM_BITS(x); }
INLINE V madd(V x, V y, V z) { return OP(fmadd_pd)(x, y, z); }
INLINE V msub(V x, V y, V z) { return OP(fmsub_pd)(x, y, z); }
INLINE V nmadd(V x, V y, V z) { return OP(fnmadd_pd)(x, y, z); }
INLINE V root(V x) { return OP(sqrt_pd)(x); }
INLINE V greatest(V x, V y) { return OP(max_pd)(x, y); }
INLINE V least(V x, V y) { return OP(min_pd)(x, y); }
INLINE Bits and_bits(Bits x, Bits y) { return BITS_OP(and)(x, y); }
INLINE Bits xor_bits(Bits x, Bits y) { return BITS_OP(xor)(x, y); }
INLINE Bits plus_bits(Bits x, Bits y) { return OP(add_epi64)(x, y); }
INLINE Bits minus_bits(Bits x, Bits y) { return OP(sub_epi64)(x, y); }
#define shift_left(x, places) OP(slli_epi64)(x, places)
#define shift_right(x, places) OP(srli_epi64)(x, places)

INLINE Mask equal(V x, V y) { return OP(cmp_pd)(x, y, _CMP_EQ_OQ); }
INLINE Mask at_most(V x, V y) { return OP(cmp_pd)(x, y, _CMP_LE_OQ); }
INLINE Mask both(Mask x, Mask y) { return OP(and_pd)(x, y); }
INLINE V choose(Mask mask, V yes, V no) { return OP(blendv_pd)(no, yes, mask); }
INLINE V exponent(Bits x) {
  // As the last places of 2^52, without a sign.
  Bits places = OP(srli_epi64)(plus_bits(x, all_bits(1024LL << 52)), 52);
  return number(BITS_OP(or)(places, bits(all(0x1p52)))) - all(0x1p52 + 1024);
}
INLINE unsigned of_mask(Mask x) { return (unsigned)OP(movemask_pd)(x); }

#ifdef TWO_LANES

INLINE V lookup(const double *table, Bits index) {
  return _mm_set_pd(table[_mm_extract_epi64(index, 1) & 31], table[_mm_cvtsi128_si64(index) & 31]);
}

INLINE void lookup_rows(const double *table, Bits index, V columns[4]) {
  const double *first = table + 4 * _mm_cvtsi128_si64(index);
  const double *second = table + 4 * _mm_extract_epi64(index, 1);
  for (int i = 0; i < 4; i += 2) {
    V left = _mm_load_pd(first + i), right = _mm_load_pd(second + i);
    columns[i] = _mm_unpacklo_pd(left, right);
    columns[i + 1] = _mm_unpackhi_pd(left, right);
  }
}

#else

INLINE V lookup(const double *table, Bits index) {
  return _mm256_i64gather_pd(table, and_bits(index, all_bits(31)), 8);
}

INLINE void lookup_rows(const double *table, Bits index, V columns[4]) {
  int64_t rows[LANES];
  _mm256_storeu_si256((Bits *)rows, shift_left(index, 2));
  V row[4];
  for (int i = 0; i < 4; i++)
    row[i] = _mm256_load_pd(table + rows[i]);
  V even[2] = {_mm256_unpacklo_pd(row[0], row[1]), _mm256_unpacklo_pd(row[2], row[3])};
  V odd[2] = {_mm256_unpackhi_pd(row[0], row[1]), _mm256_unpackhi_pd(row[2], row[3])};
  columns[0] = _mm256_permute2f128_pd(even[0], even[1], 0x20);
  columns[1] = _mm256_permute2f128_pd(odd[0], odd[1], 0x20);
  columns[2] = _mm256_permute2f128_pd(even[0], even[1], 0x31);
  columns[3] = _mm256_permute2f128_pd(odd[0], odd[1], 0x31);
}

#endif

INLINE V load(const double *values) { return OP(loadu_pd)(values); }
INLINE void store(double *values, V x) { OP(storeu_pd)(values, x); }
INLINE V load_some(const double *values, size_t count) {
  double lanes[LANES];
  store(lanes, all(1));
  for (size_t i = 0; i < count; i++)
    lanes[i] = values[i];
  return load(lanes);
}
INLINE void store_some(double *values, V x, size_t count) {
  double lanes[LANES];
  store(lanes, x);
  for (size_t i = 0; i < count; i++)
    values[i] = lanes[i];
}

#endif

// What `of_mask` returns where all lanes are set.
#define ALL_LANES ((1u << LANES) - 1)

INLINE V magnitude(V x) { return number(and_bits(bits(x), all_bits(INT64_MAX))); }

INLINE Bits sign(V x) { return and_bits(bits(x), all_bits(INT64_MIN)); }

// Returns x, negated where the sign is set.
INLINE V with_sign(V x, Bits sign) { return number(xor_bits(bits(x), sign)); }

// To this, numbers below 2^51 are added to round them to integers, which are then its last
// bits.
#define ROUNDER 0x1.8p52

// A sum of two doubles that is not rounded: `low` is much less than `high`, about or below
// its last place, unless said otherwise.
typedef struct {
  V high, low;
} Pair;

// Returns x + y exactly if |x| >= |y| or x is 0.
INLINE Pair sum(V x, V y) {
  V high = x + y;
  return (Pair){high, (x - high) + y};
}

// Returns x * y exactly, if that does not underflow.
INLINE Pair product(V x, V y) {
  V high = x * y;
  return (Pair){high, msub(x, y, high)};
}

// Returns x + y exactly.
INLINE Pair any_sum(V x, V y) {
  V high = x + y, of_y = high - x;
  return (Pair){high, (x - (high - of_y)) + (y - of_y)};
}

// Returns x + y with a relative error of 2^-103 of the larger one.
INLINE Pair add(Pair x, Pair y) {
  Pair high = any_sum(x.high, y.high);
  return sum(high.high, high.low + (x.low + y.low));
}

// Returns x y with a relative error of 2^-103.
INLINE Pair times(Pair x, Pair y) {
  Pair high = product(x.high, y.high);
  return (Pair){high.high, madd(x.high, y.low, madd(x.low, y.high, high.low))};
}

// Returns x / y with a relative error of 2^-100.
INLINE Pair quotient(Pair x, Pair y) {
  V inverse = all(1) / y.high, high = x.high * inverse;
  V rest = nmadd(high, y.high, x.high) + nmadd(high, y.low, x.low);
  return (Pair){high, rest * inverse};
}

// Returns the square root with a relative error of 2^-100.
INLINE Pair root_of(Pair x) {
  V high = root(x.high);
  return sum(high, (nmadd(high, high, x.high) + x.low) / (high + high));
}

// Rounds a sum to the nearest double. Lanes are taken out of `good` for which that is open,
// if the sum is wrong by up to `error`. That counts the rounding of `low` changed by it.
INLINE V nearest(Pair x, V error, Mask *good) {
#ifdef ON_NEAREST // For tests/mathematics, which compares the sum with the exact value.
  ON_NEAREST(x, error, *good);
#endif
  V above = x.high + (x.low + error), below = x.high + (x.low - error);
  *good = both(*good, equal(above, below));
  return above;
}
