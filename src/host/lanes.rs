//! Functions of the library over the lanes of a vector: in memory, which compiled code calls
//! that computes many rows at once, and two in one register.
#![allow(unsafe_code)]

use kal_math::{BinaryFunction, Build, TwoPointer, UnaryFunction};

/// What the symbols begin with of the functions that call another one for each lane; the
/// number of its arguments follows.
pub const MAP: &str = "kal$map";

/// The symbol of the function that makes every NaN of a column the same pattern.
pub const SAME_NAN: &str = "kal$same_nan";

/// What the symbols begin with of the functions that compute all lanes themselves.
const LANES: &str = "kal$lanes$";

/// What the symbols begin with of the functions that compute two lanes in one register.
const TWO: &str = "kal$two$";

/// The form that computes the sine of one lane and the cosine of the other.
const SIN_COS: &str = "sin_cos";

/// Returns the name in `kal-math` of a function of the library, or of the function that an operator
/// is; any other name as it is.
pub fn name_in_kal_math(name: &str) -> &str {
    match name {
        "ln" => "log",
        "^" => "pow",
        name => name,
    }
}

/// A function of the library that computes all lanes itself.
enum LanesFunction {
    One(UnaryFunction),
    Two(BinaryFunction),
}

impl LanesFunction {
    fn of(name: &str) -> Option<Self> {
        let name = name_in_kal_math(name);
        let one = UnaryFunction::ALL.iter().find(|function| function.name() == name);
        let two = || BinaryFunction::ALL.iter().find(|function| function.name() == name);
        one.map(|one| Self::One(*one)).or_else(|| two().map(|two| Self::Two(*two)))
    }
}

/// Returns the symbol of a function of the library that computes all lanes itself, if it
/// has such a form: it gets the address of the lanes of each argument, and how many they
/// are, and writes its results over those of the first argument.
#[cfg(feature = "compiler")]
pub fn symbol(name: &str) -> Option<String> {
    LanesFunction::of(name).map(|_| format!("{LANES}{name}"))
}

/// Returns the symbol of the form of a function of the library that computes two lanes in one
/// register, if it has one. It takes and returns vectors where the function has doubles.
#[cfg(feature = "compiler")]
pub fn two_symbol(name: &str) -> Option<String> {
    two(name).map(|_| format!("{TWO}{name}"))
}

/// Returns the symbol of the form that computes a function of the library in one lane and another
/// function in the other one, if there is one, and the first one's lane.
#[cfg(feature = "compiler")]
pub fn mixed_symbol(name: &str) -> Option<(String, u32)> {
    let lane = match name {
        "sin" => 0,
        "cos" => 1,
        _ => return None,
    };
    two(SIN_COS).map(|_| (format!("{TWO}{SIN_COS}"), lane))
}

/// Returns the address of a form for two lanes, if there is one of that name.
fn two(name: &str) -> Option<usize> {
    if name == SIN_COS {
        return kal_math::sin_cos(Build::fastest()).map(TwoPointer::address);
    }
    let two = match LanesFunction::of(name)? {
        LanesFunction::One(function) => function.two(Build::fastest()),
        LanesFunction::Two(function) => function.two(Build::fastest()),
    };
    two.map(TwoPointer::address)
}

/// Returns the address of a function of this file, or of a form for all lanes.
pub(super) fn support(symbol: &str) -> Option<usize> {
    if let Some(name) = symbol.strip_prefix(LANES) {
        return LanesFunction::of(name).map(|function| match function {
            LanesFunction::One(function) => function.fastest_lanes() as *const () as usize,
            LanesFunction::Two(function) => function.fastest_lanes() as *const () as usize,
        });
    }
    if let Some(name) = symbol.strip_prefix(TWO) {
        return two(name);
    }
    if symbol == SAME_NAN {
        return Some(same_nan_in_column as *const () as usize);
    }
    match symbol.strip_prefix(MAP)? {
        "1" => Some(map_one as *const () as usize),
        "2" => Some(map_two as *const () as usize),
        "3" => Some(map_three as *const () as usize),
        _ => None,
    }
}

/// Returns a number; a NaN is always the same NaN.
#[inline]
pub fn same_nan(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value }
}

/// Makes every NaN of a column the same pattern.
///
/// # Safety
/// `values` points to `count` doubles, which this call alone uses.
unsafe extern "C" fn same_nan_in_column(values: *mut f64, count: usize) {
    // SAFETY: as many, by this function's contract.
    let values = unsafe { std::slice::from_raw_parts_mut(values, count) };
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2")]
        fn by_avx2(values: &mut [f64]) {
            values.iter_mut().for_each(|value| *value = same_nan(*value));
        }
        // SAFETY: the processor has it.
        return unsafe { by_avx2(values) };
    }
    values.iter_mut().for_each(|value| *value = same_nan(*value));
}

type One = extern "C" fn(f64) -> f64;
type Two = extern "C" fn(f64, f64) -> f64;
type Three = extern "C" fn(f64, f64, f64) -> f64;

/// Replaces each of `count` doubles by what a function returns for it.
///
/// # Safety
/// `values` points to as many doubles, which this call alone uses.
unsafe extern "C" fn map_one(function: One, values: *mut f64, count: usize) {
    for index in 0..count {
        // SAFETY: inside of `values`, by this function's contract.
        unsafe {
            let value = values.add(index);
            *value = function(*value);
        }
    }
}

/// As [`map_one`], for a function of two arguments.
///
/// # Safety
/// As for [`map_one`], also at `second`.
unsafe extern "C" fn map_two(function: Two, values: *mut f64, second: *const f64, count: usize) {
    for index in 0..count {
        // SAFETY: inside of both, by this function's contract.
        unsafe {
            let value = values.add(index);
            *value = function(*value, *second.add(index));
        }
    }
}

/// As [`map_one`], for a function of three arguments.
///
/// # Safety
/// As for [`map_one`], also at `second` and `third`.
unsafe extern "C" fn map_three(
    function: Three,
    values: *mut f64,
    second: *const f64,
    third: *const f64,
    count: usize,
) {
    for index in 0..count {
        // SAFETY: inside of all three, by this function's contract.
        unsafe {
            let value = values.add(index);
            *value = function(*value, *second.add(index), *third.add(index));
        }
    }
}
