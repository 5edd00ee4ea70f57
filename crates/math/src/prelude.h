// Included before each of CORE-MATH's sources.
//
// They read the rounding mode, and take back flags of exceptions that are none of the
// exact result. The functions of this crate are called with the default rounding and promise
// no flags, so nothing is asked or changed: `hypot` and `pow` take a seventh less time.
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

#ifdef __x86_64__
#include <x86intrin.h>
#define _mm_getcsr() 0
#define _mm_setcsr(flags) ((void)(flags))
#endif

static __thread int kal_math_signgam __attribute__((unused));
#define signgam kal_math_signgam
