//! Compares the lanes forms with the functions of one double, bit for bit. Many more arguments
//! are compared by `tests/mathematics`.

use kal_math::{BinaryFunction, Build, LanesBuild, UnaryFunction};

/// The arguments of each function.
const COUNT: usize = 20_000;

/// Numbers at which something changes.
const EDGES: [f64; 14] = [
    0.0,
    -0.0,
    f64::from_bits(1),
    f64::MIN_POSITIVE,
    1.0,
    -1.0,
    0.5,
    std::f64::consts::PI,
    709.782712893384,
    -745.1332191019412,
    f64::MAX,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// Returns numbers of all sizes, most of them such as programs have.
fn numbers(mut state: u64) -> impl Iterator<Item = f64> {
    let mut next = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state ^ state >> 32
    };
    std::iter::from_fn(move || {
        let (kind, bits) = (next() % 32, next());
        let uniform = bits as f64 / 2_f64.powi(63) - 1.0;
        Some(match kind {
            0 => EDGES[bits as usize % EDGES.len()],
            1 => f64::from_bits(bits),
            2 => uniform * 1e9,
            3..8 => uniform * 700.0,
            8..20 => uniform * 10.0,
            _ => 1.0 + uniform / (1_u64 << kind) as f64,
        })
    })
}

fn is_same(left: f64, right: f64) -> bool {
    left.to_bits() == right.to_bits() || left.is_nan() && right.is_nan()
}

/// Compares what is in blocks of 0 to 20 doubles afterwards.
fn compare(name: &str, scalar: impl Fn(f64, f64) -> f64, apply: impl Fn(LanesBuild, &mut [f64], &[f64])) {
    let first: Vec<f64> = numbers(1).take(COUNT).collect();
    let second: Vec<f64> = numbers(2).take(COUNT).collect();
    for build in LanesBuild::ALL.into_iter().filter(|build| build.is_supported()) {
        let mut values = first.clone();
        let mut begin = 0;
        for length in (0..=20).cycle() {
            let end = (begin + length).min(COUNT);
            apply(build, &mut values[begin..end], &second[begin..end]);
            begin = end;
            if begin == COUNT {
                break;
            }
        }
        for ((x, y), result) in first.iter().zip(&second).zip(values) {
            let expected = scalar(*x, *y);
            assert!(
                is_same(result, expected),
                "{name}({x:e}, {y:e}) is {expected:e}, not {result:e} ({build:?})"
            );
        }
    }
}

#[test]
fn lanes_have_the_bits_of_the_functions_of_one_double() {
    for function in UnaryFunction::ALL {
        let scalar = function.fastest();
        compare(function.name(), |x, _| scalar(x), |build, values, _| function.apply(build, values));
    }
    for function in BinaryFunction::ALL {
        let scalar = function.fastest();
        compare(
            function.name(),
            |x, y| scalar(x, y),
            |build, values, second| function.apply(build, values, second),
        );
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn two_at_once_have_the_bits_of_the_functions_of_one_double() {
    let mut functions = Vec::new();
    let same = |name: &str, values: [f64; 2], results: [f64; 2], expected: [f64; 2]| {
        let equal = is_same(results[0], expected[0]) && is_same(results[1], expected[1]);
        assert!(equal, "{name} of {values:?} is {expected:?}, not {results:?}");
    };
    let pairs = |seed| numbers(seed).zip(numbers(seed + 1)).map(|(x, y)| [x, y]).take(COUNT);
    for build in Build::ALL.into_iter().filter(|build| build.is_supported()) {
        for function in UnaryFunction::ALL.iter().filter(|function| function.two(build).is_some()) {
            functions.push(function.name());
            let one = function.fastest();
            for values in pairs(6) {
                let results = function.apply_to_two(build, values).expect("it has the form");
                same(function.name(), values, results, values.map(|x| one(x)));
            }
        }
        for values in pairs(12) {
            let results = kal_math::apply_sin_cos(build, values).expect("it has the form");
            same("sine and cosine", values, results, [kal_math::sin(values[0]), kal_math::cos(values[1])]);
        }
        for function in BinaryFunction::ALL.iter().filter(|function| function.two(build).is_some()) {
            functions.push(function.name());
            let one = function.fastest();
            for (x, y) in pairs(8).zip(pairs(10)) {
                let results = function.apply_to_two(build, x, y).expect("it has the form");
                same(function.name(), x, results, [one(x[0], y[0]), one(x[1], y[1])]);
            }
        }
    }
    assert!(["erfc", "sin", "pow"].iter().all(|name| functions.contains(name)), "{functions:?}");
}

#[test]
fn a_build_is_there_if_the_processor_has_it() {
    for build in LanesBuild::ALL {
        assert_eq!(UnaryFunction::ALL[0].lanes(build).is_some(), build.is_supported());
    }
    assert!(LanesBuild::fastest().is_supported());
}

/// Some functions of the fast build have methods of their own.
#[test]
fn both_builds_have_the_same_bits() {
    let (Some(_), count) = (UnaryFunction::ALL[0].of(Build::Fma), 10 * COUNT) else { return };
    for function in UnaryFunction::ALL {
        let [plain, fast] =
            [Build::Baseline, Build::Fma].map(|build| function.of(build).expect("it is supported"));
        for x in numbers(3).take(count) {
            let (plain, fast) = (plain(x), fast(x));
            assert!(is_same(plain, fast), "{}({x:e}) is {plain:e} and {fast:e}", function.name());
        }
    }
    for function in BinaryFunction::ALL {
        let [plain, fast] =
            [Build::Baseline, Build::Fma].map(|build| function.of(build).expect("it is supported"));
        for (x, y) in numbers(4).zip(numbers(5)).take(count) {
            let (plain, fast) = (plain(x, y), fast(x, y));
            assert!(is_same(plain, fast), "{}({x:e}, {y:e}) is {plain:e} and {fast:e}", function.name());
        }
    }
}
