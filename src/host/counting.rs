//! The values of a loop's counter, many at once: what compiled code calls that runs a loop in
//! strips.
#![allow(unsafe_code)]

/// The number of iterations of a strip.
pub const STRIP: usize = 128;

/// The symbol of [`fill`].
pub const COUNTERS: &str = "kal$counters";

/// How a loop's condition compares its counter with a bound.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "compiler"), allow(dead_code, reason = "only compiled code passes them"))]
#[repr(u64)]
pub enum CounterComparison {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// Computes something by the vectors of AVX2, if the processor has them.
macro_rules! with_avx2 {
    ($name:ident($($argument:ident: $type:ty),+) -> $result:ty $body:block) => {{
        #[inline(always)]
        fn $name($($argument: $type),+) -> $result $body
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            #[target_feature(enable = "avx2")]
            fn by_avx2($($argument: $type),+) -> $result {
                $name($($argument),+)
            }
            // SAFETY: the processor has it.
            return unsafe { by_avx2($($argument),+) };
        }
        $name($($argument),+)
    }};
}

/// 2 to the power of 52: sums of whole numbers below it are exact.
const EXACT: f64 = 4_503_599_627_370_496.0;

/// Returns the address of the function of a symbol of this file.
pub(super) fn support(symbol: &str) -> Option<usize> {
    (symbol == COUNTERS).then_some(fill as *const () as usize)
}

/// Stores the values that the counter of a loop has in its next iterations: from `first` on, each is
/// the sum of the one before and `step`. They end with a strip, or with the first for which the
/// condition does not hold. Returns their number. What is stored after them is `first`.
///
/// If numbers times `scale` are whole and small, all sums are exact, so they are computed at once.
/// If they are not, and `is_light` is not 0, it returns 0.
///
/// # Safety
/// `counters` points to [`STRIP`] doubles, which this call alone uses.
unsafe extern "C" fn fill(
    counters: *mut f64,
    comparison: CounterComparison,
    is_light: u64,
    first: f64,
    step: f64,
    bound: f64,
    scale: f64,
) -> u64 {
    // SAFETY: by this function's contract.
    let counters = unsafe { &mut *counters.cast::<[f64; STRIP]>() };
    let is_exact = are_exact(first, step, scale);
    if !is_exact && is_light != 0 {
        return 0;
    }
    let holds = |value: f64| match comparison {
        CounterComparison::Less => value < bound,
        CounterComparison::LessEqual => value <= bound,
        CounterComparison::Greater => value > bound,
        CounterComparison::GreaterEqual => value >= bound,
    };
    if is_exact {
        all(counters, first, step);
        // They go up or down, so those for which the condition holds are next to each other.
        let count = match holds(first) {
            true => (holding(counters, comparison, bound) + 1).min(STRIP),
            false => 1,
        };
        counters[count..].fill(first);
        return count as u64;
    }
    let mut value = first;
    let mut count = 0;
    for counter in counters.iter_mut() {
        *counter = value;
        count += 1;
        if !holds(value) {
            break;
        }
        value += step;
    }
    counters[count..].fill(first);
    count as u64
}

/// Returns whether the values of the counter of a strip, and the next one, are exact.
fn are_exact(first: f64, step: f64, scale: f64) -> bool {
    let next = first + step * STRIP as f64;
    let is_small = |value: f64| (value * scale).abs() < EXACT;
    let is_whole = |value: f64| (value * scale) as i64 as f64 == value * scale;
    scale > 0.0 && is_small(first) && is_small(next) && is_whole(first) && is_whole(step)
}

/// Stores all values of the counter of a strip, which are exact.
fn all(counters: &mut [f64; STRIP], first: f64, step: f64) {
    with_avx2!(store(counters: &mut [f64; STRIP], first: f64, step: f64) -> () {
        for (number, counter) in (0_u32..).zip(counters.iter_mut()) {
            *counter = first + step * f64::from(number);
        }
        // It may be -0.
        counters[0] = first;
    });
}

/// Returns for how many values the condition holds.
fn holding(counters: &[f64; STRIP], comparison: CounterComparison, bound: f64) -> usize {
    with_avx2!(count(counters: &[f64; STRIP], comparison: CounterComparison, bound: f64) -> usize {
        match comparison {
            CounterComparison::Less => counters.iter().filter(|value| **value < bound).count(),
            CounterComparison::LessEqual => counters.iter().filter(|value| **value <= bound).count(),
            CounterComparison::Greater => counters.iter().filter(|value| **value > bound).count(),
            CounterComparison::GreaterEqual => counters.iter().filter(|value| **value >= bound).count(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is stored, and how many values count.
    fn filled(comparison: CounterComparison, [first, step, bound, scale]: [f64; 4]) -> ([f64; STRIP], usize) {
        let mut counters = [f64::NAN; STRIP];
        // SAFETY: that is the array.
        let count = unsafe { fill(counters.as_mut_ptr(), comparison, 0, first, step, bound, scale) };
        (counters, count as usize)
    }

    /// Returns the bits of the values that the counter has, in turn.
    fn expected(comparison: CounterComparison, [first, step, bound, _]: [f64; 4]) -> Vec<u64> {
        let mut values = vec![first.to_bits()];
        let mut value = first;
        while values.len() < STRIP
            && match comparison {
                CounterComparison::Less => value < bound,
                CounterComparison::LessEqual => value <= bound,
                CounterComparison::Greater => value > bound,
                CounterComparison::GreaterEqual => value >= bound,
            }
        {
            value += step;
            values.push(value.to_bits());
        }
        values
    }

    #[test]
    fn values_are_those_of_the_loop_to_the_bit() {
        let firsts = [0.0, -0.0, 1.0, -500.0, 0.25, 0.1, 1e15, 4_503_599_627_370_400.0, 1e300, f64::INFINITY];
        let steps = [(1.0, 1.0), (-1.0, 1.0), (0.25, 4.0), (0.1, 0.0), (0.0, 1.0), (-0.0, 1.0), (1e20, 1.0)];
        let bounds = [0.0, 64.0, 127.0, 128.0, 1e9, -1e9, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        let comparisons = [
            CounterComparison::Less,
            CounterComparison::LessEqual,
            CounterComparison::Greater,
            CounterComparison::GreaterEqual,
        ];
        for first in firsts {
            for (step, scale) in steps {
                for (bound, comparison) in bounds.iter().flat_map(|bound| comparisons.map(|op| (*bound, op)))
                {
                    let case = [first, step, bound, scale];
                    let (counters, count) = filled(comparison, case);
                    let found: Vec<u64> = counters[..count].iter().map(|value| value.to_bits()).collect();
                    assert_eq!(found, expected(comparison, case), "{comparison:?} {case:?}");
                    assert!(counters[count..].iter().all(|value| value.to_bits() == first.to_bits()));
                }
            }
        }
    }

    #[test]
    fn a_light_loop_has_no_strip_of_values_that_are_not_exact() {
        let mut counters = [0.0; STRIP];
        let mut count = |first, step, scale| {
            // SAFETY: that is the array.
            unsafe { fill(counters.as_mut_ptr(), CounterComparison::Less, 1, first, step, 50.0, scale) }
        };
        assert_eq!([count(0.5, 1.0, 1.0), count(0.5, 1.0, 2.0), count(1.0, 1.0, 1.0)], [0, 51, 50]);
        assert_eq!([count(1.0, 0.1, 0.0), count(1e16, 1.0, 1.0)], [0, 0]);
    }
}
