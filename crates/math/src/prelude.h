// Included before each of CORE-MATH's sources.
//
// They read the rounding mode and handle the exception flags of the C library, which
// includes those of the x87 unit. The functions of this crate are called with the default
// rounding and promise no flags, so nothing is asked or changed.
//
// `lgamma` stores the sign of the gamma function in a variable of the C library, which
// threads would share. Nothing here asks for it, so each thread stores it in its own.

#include <fenv.h>
#include <math.h>

#define fegetround() FE_TONEAREST
#define feclearexcept(flags) 0
#define feraiseexcept(flags) 0
#define fetestexcept(flags) 0
#define fegetexceptflag(place, flags) 0
#define fesetexceptflag(place, flags) 0
#define feholdexcept(place) 0
#define feupdateenv(place) 0

static __thread int kal_math_signgam __attribute__((unused));
#define signgam kal_math_signgam
