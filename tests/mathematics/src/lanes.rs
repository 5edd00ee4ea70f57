//! The lanes forms: compared bit for bit with the function of one double, in each build, and
//! measured.

use crate::exact::{Exact, FUNCTIONS};
use crate::{Function, cost, is_same};
use kal_math::{BinaryFunction, Build, LanesBuild, UnaryFunction};
use std::hint::black_box;
use std::time::Instant;

/// The doubles of a block when it is measured.
const MEASURED: usize = 16;

/// A function over a block of doubles. One of one double does not look at the second block.
#[derive(Clone, Copy)]
enum Lanes {
    One(UnaryFunction),
    Two(BinaryFunction),
}

impl Lanes {
    fn named(name: &str) -> Self {
        let one = UnaryFunction::ALL.iter().find(|function| function.name() == name);
        let two = BinaryFunction::ALL.iter().find(|function| function.name() == name);
        one.map(|one| Self::One(*one))
            .or_else(|| two.map(|two| Self::Two(*two)))
            .unwrap_or_else(|| panic!("`kal-math` has no {name}"))
    }

    /// Returns what calls the C function without asking whether the processor can run it.
    fn caller(self, build: LanesBuild) -> Box<dyn Fn(&mut [f64], &[f64])> {
        match self {
            Self::One(function) => {
                let pointer = function.lanes(build).expect("the build is supported");
                // SAFETY: there are that many values.
                Box::new(move |values, _| unsafe { pointer(values.as_mut_ptr(), values.len()) })
            }
            Self::Two(function) => {
                let pointer = function.lanes(build).expect("the build is supported");
                Box::new(move |values, second| {
                    assert_eq!(values.len(), second.len());
                    // SAFETY: there are that many values of both.
                    unsafe { pointer(values.as_mut_ptr(), second.as_ptr(), values.len()) }
                })
            }
        }
    }

    /// Returns the function of two values, and of those beside them, by its form for two; `None`
    /// if it has none.
    fn apply_to_two(self, build: Build, [[x, y], [other_x, other_y]]: [[f64; 2]; 2]) -> Option<[f64; 2]> {
        match self {
            Self::One(function) => function.apply_to_two(build, [x, other_x]),
            Self::Two(function) => function.apply_to_two(build, [x, other_x], [y, other_y]),
        }
    }

    fn apply(self, build: LanesBuild, values: &mut [f64], second: &[f64]) {
        match self {
            Self::One(function) => function.apply(build, values),
            Self::Two(function) => function.apply(build, values, second),
        }
    }
}

pub(super) fn builds() -> Vec<LanesBuild> {
    LanesBuild::ALL.into_iter().filter(|build| build.is_supported()).collect()
}

/// Returns how many results of any build, or of a form for two doubles, are not those of the
/// function of one double. Blocks have 1 to 40 doubles; what is behind them has to stay as it is.
pub(super) fn check(exact: &Exact, mut arguments: impl Iterator<Item = [f64; 2]>) -> usize {
    let scalar = Function::named(exact.name, Build::fastest());
    let lanes = Lanes::named(exact.name);
    let (builds, mut wrong) = (builds(), 0);
    for length in (1..=40).cycle() {
        let block: Vec<[f64; 2]> = arguments.by_ref().take(length).collect();
        let second: Vec<f64> = block.iter().map(|[_, y]| *y).collect();
        let expected: Vec<f64> = block.iter().map(|[x, y]| scalar.call(*x, *y)).collect();
        for build in &builds {
            let mut values: Vec<f64> = block.iter().map(|[x, _]| *x).chain([7.0; 16]).collect();
            lanes.apply(*build, &mut values[..block.len()], &second);
            assert_eq!(values.split_off(block.len()), [7.0; 16]);
            for ((result, expected), pair) in values.iter().zip(&expected).zip(&block) {
                wrong += differs(exact.name, *pair, *result, *expected, wrong, format_args!("{build:?}"));
            }
        }
        for build in Build::ALL.into_iter().filter(|build| build.is_supported()) {
            for (pairs, expected) in block.as_chunks().0.iter().zip(expected.as_chunks::<2>().0) {
                let results = lanes.apply_to_two(build, *pairs);
                for ((result, expected), pair) in results.into_iter().flatten().zip(expected).zip(pairs) {
                    wrong +=
                        differs(exact.name, *pair, result, *expected, wrong, format_args!("two, {build:?}"));
                }
            }
        }
        if block.len() < length {
            return wrong;
        }
    }
    wrong
}

/// Returns 1 if a result is not the expected one, and says so if few have been wrong before.
fn differs(
    name: &str,
    [x, y]: [f64; 2],
    result: f64,
    expected: f64,
    before: usize,
    form: std::fmt::Arguments<'_>,
) -> usize {
    if is_same(result, expected) {
        return 0;
    }
    if before < 10 {
        println!("{name}({x:e}, {y:e}) is {expected:e}, not {result:e} ({form})");
    }
    1
}

/// Prints a table of nanoseconds a double, in blocks of 16: the least of many repetitions.
pub(super) fn print(only: Option<&str>) {
    let builds = builds();
    print!("\n{:8} {:>9}", "ns", "one");
    builds.iter().for_each(|build| print!(" {:>9}", format!("{build:?}")));
    println!();
    for exact in FUNCTIONS.iter().filter(|exact| only.is_none_or(|name| name == exact.name)) {
        let arguments = cost::arguments(exact);
        let first: Vec<f64> = arguments.iter().map(|[x, _]| *x).collect();
        let second: Vec<f64> = arguments.iter().map(|[_, y]| *y).collect();
        let (scalar, lanes) = (Function::named(exact.name, Build::fastest()), Lanes::named(exact.name));
        let mut best = vec![f64::INFINITY; builds.len() + 1];
        for _ in 0..cost::REPETITIONS {
            best[0] = best[0].min(cost::time(&scalar, &arguments));
            for (build, best) in builds.iter().zip(&mut best[1..]) {
                let mut values = first.clone();
                let call = lanes.caller(*build);
                let begin = Instant::now();
                for (values, second) in values.chunks_mut(MEASURED).zip(second.chunks(MEASURED)) {
                    call(black_box(values), second);
                }
                *best = best.min(begin.elapsed().as_secs_f64() * 1e9 / first.len() as f64);
            }
        }
        let times: String = best.iter().map(|time| format!(" {time:>9.2}")).collect();
        println!("{:8}{times}", exact.name);
    }
}
