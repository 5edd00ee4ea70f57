// The functions over small blocks of doubles, in place: `values[i] = f(values[i])`, with
// the bits of the function of one double. The build script compiles this file once for
// each build.
//
// With FMA, some compute a vector at a time, to about 64 bits. That mostly decides which
// double is nearest. Where it does not, and where an argument or a result is special, the
// lane is left to the function of one double. So results are right if the bound on the error
// is, which each method has in its comment; nothing else can change a bit.

#include <stddef.h>

#include "builds.h"

#define UNARY(name)                                                                            \
  double SCALAR(name)(double);                                                                 \
  void OVER(name##_lanes)(double *values, size_t count) {                                      \
    for (size_t i = 0; i < count; i++)                                                         \
      values[i] = SCALAR(name)(values[i]);                                                     \
  }

#define BINARY(name)                                                                           \
  double SCALAR(name)(double, double);                                                         \
  void OVER(name##_lanes)(double *values, const double *second, size_t count) {                \
    for (size_t i = 0; i < count; i++)                                                         \
      values[i] = SCALAR(name)(values[i], second[i]);                                          \
  }

#ifdef __FMA__

#include "vector.h"
#include "tables.h"
#include "exponential.h"
#include "logarithm.h"
#include "trigonometric.h"
#include "arc.h"
#include "erf.h"
#include "gamma.h"
#include "root.h"
#include "repair.h"

// A function of one argument whose vectors `lanes_...` computes. It says which lanes of
// its result are good.
#define FAST_UNARY(name)                                                                       \
  double SCALAR(name)(double);                                                                 \
  void OVER(name##_lanes)(double *values, size_t count) {                                      \
    for (; count >= LANES; values += LANES, count -= LANES) {                                  \
      Mask good;                                                                               \
      V x = load(values), result = lanes_##name(x, &good);                                     \
      store(values, result);                                                                   \
      unsigned bad = of_mask(good) ^ ALL_LANES;                                                \
      if (__builtin_expect(bad != 0, 0))                                                       \
        repair(values, x, bad, SCALAR(name));                                                  \
    }                                                                                          \
    if (count > 0) {                                                                           \
      Mask good;                                                                               \
      V x = load_some(values, count), result = lanes_##name(x, &good);                         \
      store_some(values, result, count);                                                       \
      unsigned bad = ~of_mask(good) & ((1u << count) - 1);                                     \
      if (__builtin_expect(bad != 0, 0))                                                       \
        repair(values, x, bad, SCALAR(name));                                                  \
    }                                                                                          \
  }

#define FAST_BINARY(name)                                                                      \
  double SCALAR(name)(double, double);                                                         \
  void OVER(name##_lanes)(double *values, const double *second, size_t count) {                \
    for (; count >= LANES; values += LANES, second += LANES, count -= LANES) {                 \
      Mask good;                                                                               \
      V x = load(values), y = load(second), result = lanes_##name(x, y, &good);                \
      store(values, result);                                                                   \
      unsigned bad = of_mask(good) ^ ALL_LANES;                                                \
      if (__builtin_expect(bad != 0, 0))                                                       \
        repair_binary(values, x, y, bad, SCALAR(name));                                        \
    }                                                                                          \
    if (count > 0) {                                                                           \
      Mask good;                                                                               \
      V x = load_some(values, count), y = load_some(second, count);                            \
      V result = lanes_##name(x, y, &good);                                                    \
      store_some(values, result, count);                                                       \
      unsigned bad = ~of_mask(good) & ((1u << count) - 1);                                     \
      if (__builtin_expect(bad != 0, 0))                                                       \
        repair_binary(values, x, y, bad, SCALAR(name));                                        \
    }                                                                                          \
  }

#else

#define FAST_UNARY UNARY
#define FAST_BINARY BINARY

#endif

FAST_UNARY(acos)
FAST_UNARY(acosh)
FAST_UNARY(asin)
FAST_UNARY(asinh)
FAST_UNARY(atan)
FAST_UNARY(atanh)
FAST_UNARY(cbrt)
FAST_UNARY(cos)
FAST_UNARY(cosh)
FAST_UNARY(erf)
FAST_UNARY(erfc)
FAST_UNARY(exp)
FAST_UNARY(exp2)
FAST_UNARY(expm1)
FAST_UNARY(lgamma)
FAST_UNARY(log)
FAST_UNARY(log10)
FAST_UNARY(log1p)
FAST_UNARY(log2)
FAST_UNARY(sin)
FAST_UNARY(sinh)
FAST_UNARY(tan)
FAST_UNARY(tanh)
FAST_UNARY(tgamma)
FAST_BINARY(atan2)
FAST_BINARY(hypot)
FAST_BINARY(pow)
