// Functions of one double by the methods of the lanes forms, where these take less time than
// CORE-MATH's do: everywhere, or for arguments for which those nearly always need their second,
// slow way. The bits are the same: what a method leaves open is left to CORE-MATH.

#define ONE_LANE
#include "vector.h"
#include "tables.h"
#include "exponential.h"
#include "logarithm.h"
#include "trigonometric.h"
#include "arc.h"
#include "erf.h"

#define UNARY_WHERE(name, condition)                                                           \
  double kal_math_##name##_core(double);                                                       \
  double kal_math_##name##_fma(double x) {                                                     \
    if (condition) {                                                                           \
      Mask good;                                                                               \
      V result = lanes_##name(x, &good);                                                       \
      if (__builtin_expect(good, 1))                                                           \
        return result;                                                                         \
    }                                                                                          \
    return kal_math_##name##_core(x);                                                          \
  }

#define BINARY_WHERE(name, condition)                                                          \
  double kal_math_##name##_core(double, double);                                               \
  double kal_math_##name##_fma(double x, double y) {                                           \
    if (condition) {                                                                           \
      Mask good;                                                                               \
      V result = lanes_##name(x, y, &good);                                                    \
      if (__builtin_expect(good, 1))                                                           \
        return result;                                                                         \
    }                                                                                          \
    return kal_math_##name##_core(x, y);                                                       \
  }

UNARY_WHERE(cos, magnitude(x) <= LARGEST_ANGLE)
UNARY_WHERE(erfc, 1)
UNARY_WHERE(sin, magnitude(x) <= LARGEST_ANGLE)
UNARY_WHERE(tan, magnitude(x) <= LARGEST_ANGLE)
BINARY_WHERE(hypot, 1)

// CORE-MATH's fast ways have errors that are absolute near 1, so for log(x) near 0.
UNARY_WHERE(log, magnitude(x - 1) < 0x1p-11)
UNARY_WHERE(log2, magnitude(x - 1) < 0x1p-11)
UNARY_WHERE(log10, magnitude(x - 1) < 0x1p-11)
UNARY_WHERE(atan, magnitude(x) >= 0x1p-8 && magnitude(x) < 0x1p-3)
BINARY_WHERE(atan2, x != 0 && y != 0 && (magnitude(x) < magnitude(y) * 0x1p-40 ||
                                       magnitude(y) < magnitude(x) * 0x1p-40))
