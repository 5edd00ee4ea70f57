// Functions of two doubles at once, in one register of the C ABI. The build script compiles
// this file once for each build of the functions of one double, whose bits these have.
//
// With FMA they are the methods of the lanes forms, and only of those functions for which that
// takes less time than calling the function of one double twice.

#define PASTE(name, suffix) kal_math_##name##_##suffix
#define NAME(name, suffix) PASTE(name, suffix)
#define SCALAR(name) NAME(name, LANES_BUILD)
#define OVER(name) NAME(name##_two, LANES_BUILD)

#ifdef __FMA__

#define TWO_LANES
#include "vector.h"
#include "tables.h"
#include "exponential.h"
#include "logarithm.h"
#include "trigonometric.h"
#include "arc.h"
#include "erf.h"

#define UNARY(name)                                                                            \
  double SCALAR(name)(double);                                                                 \
  __attribute__((noinline, cold)) static V repair_##name(V x, V result, unsigned good) {       \
    V first = good & 1 ? result : all(SCALAR(name)(x[0]));                                     \
    V second = good & 2 ? result : all(SCALAR(name)(x[1]));                                    \
    return (V){first[0], second[1]};                                                           \
  }                                                                                            \
  V OVER(name)(V x) {                                                                          \
    Mask mask;                                                                                 \
    V result = lanes_##name(x, &mask);                                                         \
    unsigned good = of_mask(mask);                                                             \
    return __builtin_expect(good == 3, 1) ? result : repair_##name(x, result, good);           \
  }

#define BINARY(name)                                                                           \
  double SCALAR(name)(double, double);                                                         \
  __attribute__((noinline, cold)) static V repair_##name(V x, V y, V result, unsigned good) {  \
    V first = good & 1 ? result : all(SCALAR(name)(x[0], y[0]));                               \
    V second = good & 2 ? result : all(SCALAR(name)(x[1], y[1]));                              \
    return (V){first[0], second[1]};                                                           \
  }                                                                                            \
  V OVER(name)(V x, V y) {                                                                     \
    Mask mask;                                                                                 \
    V result = lanes_##name(x, y, &mask);                                                      \
    unsigned good = of_mask(mask);                                                             \
    return __builtin_expect(good == 3, 1) ? result : repair_##name(x, y, result, good);        \
  }

#else

typedef double V __attribute__((vector_size(16)));

#define UNARY(name)                                                                            \
  double SCALAR(name)(double);                                                                 \
  V OVER(name)(V x) { return (V){SCALAR(name)(x[0]), SCALAR(name)(x[1])}; }

#define BINARY(name)                                                                           \
  double SCALAR(name)(double, double);                                                         \
  V OVER(name)(V x, V y) { return (V){SCALAR(name)(x[0], y[0]), SCALAR(name)(x[1], y[1])}; }

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
