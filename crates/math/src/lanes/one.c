// Functions of one double by the methods of the lanes forms, where these take less time than
// CORE-MATH's do. The bits are the same: what a method leaves open is left to CORE-MATH.

#define ONE_LANE
#include "vector.h"
#include "tables.h"
#include "exponential.h"
#include "logarithm.h"
#include "trigonometric.h"
#include "arc.h"
#include "erf.h"

#define UNARY(name)                                                                            \
  double kal_math_##name##_core(double);                                                       \
  double kal_math_##name##_fma(double x) {                                                     \
    Mask good;                                                                                 \
    V result = lanes_##name(x, &good);                                                         \
    return __builtin_expect(good, 1) ? result : kal_math_##name##_core(x);                     \
  }

#define BINARY(name)                                                                           \
  double kal_math_##name##_core(double, double);                                               \
  double kal_math_##name##_fma(double x, double y) {                                           \
    Mask good;                                                                                 \
    V result = lanes_##name(x, y, &good);                                                      \
    return __builtin_expect(good, 1) ? result : kal_math_##name##_core(x, y);                  \
  }

UNARY(cos)
UNARY(erfc)
UNARY(sin)
UNARY(tan)
BINARY(hypot)
