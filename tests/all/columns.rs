//! Functions over columns give the bits that they give row by row, at every number of
//! lanes, on every kind of processor, whatever is the same in every row, and on any number
//! of threads.

use crate::choices::{Choices, Random};
use crate::modes;
use crate::program::program;
use crate::{binary, scale};
use kal::{Column, Config, Context, Engine, Error, Failing, Kernel, Limits, Mode, Processor, Run, Validity};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Numbers at which something changes.
const EDGES: [f64; 29] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    -2.0,
    3.0,
    0.5,
    -0.5,
    0.1,
    10.0,
    -10.0,
    7.25,
    100.0,
    1e16,
    -1e16,
    9007199254740991.0,
    9007199254740993.0,
    1e300,
    -1e300,
    1e-300,
    5e-324,
    -5e-324,
    f64::MIN_POSITIVE,
    f64::MAX,
    f64::MIN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// Returns numbers: edges, small integers and random bits.
fn numbers(random: &mut Random, count: usize) -> Vec<f64> {
    let mut number = || match random.below(4) {
        0 => random.pick(&EDGES),
        1 => random.below(21) as f64 - 10.0,
        2 => (random.below(2001) as f64 - 1000.0) / 64.0,
        _ => f64::from_bits(((random.below(1 << 31) as u64) << 33) | random.below(1 << 31) as u64),
    };
    (0..count).map(|_| number()).collect()
}

/// Returns the bits of numbers; all NaNs have the same.
fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| if number.is_nan() { f64::NAN } else { *number }.to_bits()).collect()
}

/// Returns the results of calling a function for each row.
fn row_by_row(context: &mut Context, name: &str, columns: &[Column<'_>], rows: usize) -> Vec<f64> {
    let value = |column: &Column<'_>, row: usize| match column {
        Column::Values(values) => values[row],
        Column::Every(value) => *value,
    };
    let call = |row| {
        let arguments: Vec<f64> = columns.iter().map(|column| value(column, row)).collect();
        context.call(name, &arguments).unwrap_or_else(|error| panic!("{name}{arguments:?}: {error}"))
    };
    (0..rows).map(call).collect()
}

fn applied(kernel: &Kernel, columns: &[Column<'_>], rows: usize, threads: usize) -> Vec<f64> {
    let mut output = vec![7.0; rows];
    let mut run = Run::new();
    run.threads = threads;
    kernel.apply(columns, &mut output, &mut run).unwrap_or_else(|error| panic!("{kernel:?}: {error}"));
    output
}

/// Engines whose kernels differ.
fn engines() -> Vec<(String, Engine)> {
    let mut configs: Vec<(String, Config)> =
        [2, 4, 8, 16].map(|lanes| (format!("{lanes} lanes"), Config::new().lanes(lanes))).into();
    for name in ["x86-64", "x86-64-v3", "x86-64-v4"] {
        let processor: Processor = name.parse().expect("it is one");
        configs.push((name.to_owned(), Config::new().processor(processor)));
    }
    let started = |(name, config): (String, Config)| Some((name, Engine::with_config(config).ok()?));
    configs.into_iter().filter_map(started).collect()
}

/// Functions with everything that a wide lowering has to get right.
const FUNCTIONS: &str = "
    var scale = 1.5, limit = 40
    def id(x) x
    def line(a x b) a * x + b
    def tax(x) if x < 10 then 0 else if x < 100 then (x - 10) * 0.1 else if x < 1000 then 9 + (x - 100) * 0.2 else 189 + (x - 1000) / 3
    def both(x y) (x < y && y / x < 3) + (x > 1 || exp(y) > 2) * 10 + !x
    def escape(x y) var r = 0, i = 0, n = 0 in
      (for k = 1, k < limit && r * r + i * i < 4 in
        (var t = r * r - i * i + x in (i = 2 * r * i + y) : (r = t) : n = n + 1)) : n
    def nested(x n) var s = 0 in
      (for i = 0, i < n && i < 7 in (for j = i, j < x && j < 9, 2 in s = s + i * j + (if s > 30 then 1 else x))) : s
    def early(x) var s = 0 in (if x > 0 then (for i = 0, i < x && i < 20 in s = s + 1 / (i + x)) else (for i = 0, i < 3 in s = s - i * x)) : s
    def kepler(m e) var x = m, d = 1, n = 0 in (while (d > 1e-12 || d < -1e-12) && n < 30 in (d = (x - e * sin(x) - m) / (1 - e * cos(x))) : (x = x - d) : n += 1) : x
    def mathematics(x y) exp(-fabs(x)) + log(1 + x * x) + sin(x) * cos(y) + atan2(x, y) + hypot(x, y) + pow(fabs(x), y / 8) + cbrt(x)
    def powers(x) x ^ 2 + x ^ -1 + x ^ 0.5 + x ^ 3 + x ^ 1 + 2 ^ x
    def remainders(x y) x % y
    def floored(x y) mod(x, y)
    def modulo(x) fmod(x, 3) + x % 0.1
    def exact(x y) floor(x) + ceil(y) * 3 + trunc(x / 2) + rint(x) + nearbyint(y) + round(x) + sqrt(fabs(y)) + copysign(x, y)
    def extremes(x y) fmax(x, y) - fmin(y, x) * 3 + max(x, 1) + min(-0, x) + fdim(x, y) + sign(x) + fma(x, y, 1)
    def signs(x y) 1 / copysign(0, x) + copysign(2, x * y)
    def uniform(x) if scale > 1 then x * scale else x / scale
    def outer(x) line(uniform(x), tax(x), both(x, scale))
    def shadow(x) var x = x + 1 in (x = x * 2) : x
    def chain(x y) (1 < x < y) + (x <= y <= 3)
    def counting(x) var n = x in (while n > 1 && n < 1e6 in (n = if n % 2 == 0 then n / 2 else 3 * n + 1)) : n
    def loops(x) var s = 0 in (for i = 1, i < 4 in (for j = 1, j < 3 in s = s + x * i / j)) : s
    def condition(x) var s = 0 in (for i = 0, (for k = 0, k < 2 in s = s + 1) : i < x && i < 5 in s = s + 10) : s
    def step(x) var s = 0 in (for i = 0, i < 10, 1 + fabs(x) in s = s + i) : s
    def nothing() 42
";

#[test]
fn many_rows_at_once_are_what_they_are_one_by_one() {
    for (what, engine) in engines() {
        let mut random = Random::new(11);
        let mut context = engine.context().expect("there is memory");
        context.eval(FUNCTIONS).expect("it is right");
        for description in context.definitions() {
            let (name, arity) = (description.name.as_str(), description.parameters.len());
            let kernel = context.kernel(name).expect("it is defined");
            assert!(
                kernel.is_wide() && kernel.is_pure() && kernel.is_total(),
                "{name}: {:?}",
                kernel.explain()
            );
            for rows in [1, 5, 16, 257] {
                let columns: Vec<Vec<f64>> = (0..arity).map(|_| numbers(&mut random, rows)).collect();
                // Each set of arguments that are the same in every row.
                for every in 0..1_usize << arity {
                    let inputs: Vec<Column<'_>> = columns
                        .iter()
                        .enumerate()
                        .map(|(index, column)| {
                            if every >> index & 1 == 1 {
                                Column::Every(column[0])
                            } else {
                                Column::Values(column)
                            }
                        })
                        .collect();
                    let expected = bits(&row_by_row(&mut context, name, &inputs, rows));
                    let found = applied(&kernel, &inputs, rows, 1);
                    let found = found.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
                    for row in 0..rows {
                        assert_eq!(
                            found[row],
                            expected[row],
                            "{what}, {name}, row {row} of {rows}, set {every}: {:e}, not {:e}, of {:?}",
                            f64::from_bits(found[row]),
                            f64::from_bits(expected[row]),
                            columns.iter().map(|column| column[row]).collect::<Vec<_>>()
                        );
                    }
                }
            }
        }
    }
}
