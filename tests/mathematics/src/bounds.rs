//! The bounds on the errors of the lanes forms: what these round is compared with the exact
//! value. A bound that is too small would change few bits of results.

use crate::arguments::Arguments;
use crate::exact::Exact;
use rug::Float;
use std::ffi::c_uint;

/// The lanes with AVX2.
const LANES: usize = 4;

// SAFETY: as in `bounds.c`; three arrays of `LANES` doubles.
unsafe extern "C" {
    fn kal_math_bounds(high: *mut f64, low: *mut f64, error: *mut f64) -> c_uint;
}

macro_rules! recorded {
    (unary $($one:ident)+, binary $($two:ident)+) => {
        /// Calls the recording build of a function with one vector; `false` if it has no
        /// vectors.
        fn call(name: &str, values: &mut [f64; LANES], second: &[f64; LANES]) -> bool {
            $({
                // SAFETY: `lanes.c` of this build has it.
                unsafe extern "C" {
                    #[link_name = concat!("kal_math_", stringify!($one), "_lanes_bounds")]
                    fn function(values: *mut f64, count: usize);
                }
                if name == stringify!($one) {
                    // SAFETY: there are that many values.
                    unsafe { function(values.as_mut_ptr(), LANES) };
                    return true;
                }
            })+
            $({
                // SAFETY: `lanes.c` of this build has it.
                unsafe extern "C" {
                    #[link_name = concat!("kal_math_", stringify!($two), "_lanes_bounds")]
                    fn function(values: *mut f64, second: *const f64, count: usize);
                }
                if name == stringify!($two) {
                    // SAFETY: there are that many values of both.
                    unsafe { function(values.as_mut_ptr(), second.as_ptr(), LANES) };
                    return true;
                }
            })+
            false
        }
    };
}

recorded! {
    unary acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp exp2 expm1 lgamma log log10 log1p log2 sin sinh tan tanh tgamma,
    binary atan2 hypot pow
}

/// What was found of a function.
#[derive(Default)]
pub(super) struct Bound {
    /// The sums that were compared.
    pub(super) count: usize,
    /// Those of them that do not decide which double is nearest.
    pub(super) open: usize,
    /// The largest error in relation to its bound, and where it is.
    pub(super) worst: f64,
    pub(super) at: [f64; 2],
}

/// Compares the sums of a function with its exact values; `None` if it has no vectors.
pub(super) fn check(exact: &Exact, count: usize) -> Option<Bound> {
    let mut bound = Bound::default();
    let mut arguments = Arguments::of(exact.name).take(count).chain(Arguments::usual(exact.name).take(count));
    while let Some(first) = arguments.next() {
        let mut block = [first; LANES];
        block[1..].iter_mut().for_each(|pair| *pair = arguments.next().unwrap_or(first));
        let (mut values, second) = (block.map(|[x, _]| x), block.map(|[_, y]| y));
        if !call(exact.name, &mut values, &second) {
            return None;
        }
        let (mut high, mut low, mut error) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        // SAFETY: as `bounds.c` has it.
        let good = unsafe { kal_math_bounds(high.as_mut_ptr(), low.as_mut_ptr(), error.as_mut_ptr()) };
        for (lane, [x, y]) in block.into_iter().enumerate().filter(|(lane, _)| good >> lane & 1 != 0) {
            let sum = Float::with_val(200, high[lane]) + low[lane];
            let value = exact.value(x, y);
            bound.count += 1;
            let [above, below] = [error[lane], -error[lane]].map(|error| high[lane] + (low[lane] + error));
            bound.open += usize::from(above != below);
            if value.is_zero() && sum.is_zero() {
                continue;
            }
            // Afterwards, a sum is only scaled by a power of 2, or negated.
            let places = Float::with_val(53, &value / &sum).abs().log2().round().to_f64();
            let scaled = if places.is_finite() { value >> places as i32 } else { value };
            let ratio = ((scaled.abs() - sum.abs()).abs() / error[lane]).to_f64();
            if !(ratio <= bound.worst) {
                (bound.worst, bound.at) = (ratio, [x, y]);
            }
        }
    }
    Some(bound)
}
