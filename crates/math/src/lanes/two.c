// Functions of two doubles at once, in one register of the C ABI. The build script compiles
// this file once for each build of the functions of one double, whose bits these have.
//
// With FMA they are the methods of the lanes forms, and only of those functions for which that
// takes less time than calling the function of one double twice.

#include "builds.h"

double SCALAR(sin)(double);
double SCALAR(cos)(double);

#ifdef __FMA__

#define TWO_LANES
#include "vector.h"
#include "tables.h"
#include "exponential.h"
#include "logarithm.h"
#include "trigonometric.h"
#include "arc.h"
#include "erf.h"
#include "repair.h"

// Returns a result whose lanes in `bad` the function of one double computes.
__attribute__((noinline, cold)) static V
repaired(V result, V x, unsigned bad, double (*scalar)(double)) {
  double values[LANES];
  store(values, result);
  repair(values, x, bad, scalar);
  return load(values);
}

__attribute__((noinline, cold)) static V
repaired_binary(V result, V x, V y, unsigned bad, double (*scalar)(double, double)) {
  double values[LANES];
  store(values, result);
  repair_binary(values, x, y, bad, scalar);
  return load(values);
}

#define UNARY(name)                                                                            \
  double SCALAR(name)(double);                                                                 \
  V OVER(name##_two)(V x) {                                                                    \
    Mask good;                                                                                 \
    V result = lanes_##name(x, &good);                                                         \
    unsigned bad = of_mask(good) ^ ALL_LANES;                                                  \
    return __builtin_expect(bad != 0, 0) ? repaired(result, x, bad, SCALAR(name)) : result;    \
  }

#define BINARY(name)                                                                           \
  double SCALAR(name)(double, double);                                                         \
  V OVER(name##_two)(V x, V y) {                                                               \
    Mask good;                                                                                 \
    V result = lanes_##name(x, y, &good);                                                      \
    unsigned bad = of_mask(good) ^ ALL_LANES;                                                  \
    return __builtin_expect(bad != 0, 0) ? repaired_binary(result, x, y, bad, SCALAR(name))    \
                                         : result;                                             \
  }

__attribute__((noinline, cold)) static V repaired_sin_cos(V result, V x, unsigned bad) {
  return _mm_set_pd(bad & 2 ? SCALAR(cos)(x[1]) : result[1],
                    bad & 1 ? SCALAR(sin)(x[0]) : result[0]);
}

// The sine of the first lane, and the cosine of the second.
V OVER(sin_cos_two)(V x) {
  Mask good;
  V result = lanes_sin_cos(x, &good);
  unsigned bad = of_mask(good) ^ ALL_LANES;
  return __builtin_expect(bad != 0, 0) ? repaired_sin_cos(result, x, bad) : result;
}

#else

typedef double V __attribute__((vector_size(16)));

V OVER(sin_cos_two)(V x) { return (V){SCALAR(sin)(x[0]), SCALAR(cos)(x[1])}; }

#define UNARY(name)                                                                            \
  double SCALAR(name)(double);                                                                 \
  V OVER(name##_two)(V x) { return (V){SCALAR(name)(x[0]), SCALAR(name)(x[1])}; }

#define BINARY(name)                                                                           \
  double SCALAR(name)(double, double);                                                         \
  V OVER(name##_two)(V x, V y) {                                                               \
    return (V){SCALAR(name)(x[0], y[0]), SCALAR(name)(x[1], y[1])};                            \
  }

#endif

UNARY(cos)
UNARY(erf)
UNARY(erfc)
UNARY(exp)
UNARY(exp2)
UNARY(sin)
UNARY(tan)
UNARY(tanh)
BINARY(atan2)
BINARY(hypot)
BINARY(pow)
