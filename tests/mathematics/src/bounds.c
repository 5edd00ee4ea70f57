// The lanes forms once more, with a record of the last sums that were rounded, and of the
// bounds on their errors.

#include <stddef.h>

static double highs[8], lows[8], errors[8];
static unsigned goods;

#define ON_NEAREST(x, error, good)                                                             \
  (store(highs, (x).high), store(lows, (x).low), store(errors, error), goods = of_mask(good))
#define LANES_BUILD bounds
#define SCALAR_BUILD fma
#include "lanes.c"

// Returns the bits of the lanes whose sums are to be within the bounds.
unsigned kal_math_bounds(double *high, double *low, double *error) {
  for (int i = 0; i < LANES; i++) {
    high[i] = highs[i];
    low[i] = lows[i];
    error[i] = errors[i];
  }
  return goods;
}
