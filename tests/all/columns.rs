//! Functions over columns give the bits that they give row by row, at every number of
//! lanes, on every kind of processor, whatever is the same in every row, and on any number
//! of threads.

use crate::choices::{Choices, Random};
use crate::modes;
use crate::program::program;
use crate::rows::{self, applied, bits, inputs, numbers, row_by_row, value_at};
use crate::{binary, scale};
use kal::{Column, Config, Context, Engine, Error, Failing, Kernel, Limits, Processor, Run, Validity};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Engines whose kernels differ.
fn engines() -> Vec<(String, Engine)> {
    let mut configs: Vec<(String, Config)> =
        [2, 4, 8, 16, 32].map(|lanes| (format!("{lanes} lanes"), Config::new().lanes(lanes))).into();
    for name in ["x86-64", "x86-64-v3", "x86-64-v4"] {
        let processor: Processor = name.parse().expect("it is one");
        configs.push((name.to_owned(), Config::new().processor(processor)));
    }
    let started = |(name, config): (String, Config)| Some((name, Engine::with_config(config).ok()?));
    configs.into_iter().filter_map(started).collect()
}

/// Returns the kernel of a function in each of these engines.
pub fn kernels(definitions: &str, function: &str) -> Vec<(String, Kernel)> {
    let made = |(name, engine): (String, Engine)| {
        let mut context = engine.context().expect("a context starts");
        context.eval(definitions).expect("it is right");
        (name, context.kernel(function).expect("it is defined"))
    };
    engines().into_iter().map(made).collect()
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
fn a_single_nan_of_any_pattern_is_the_same_one() {
    for (name, kernel) in kernels("def id(x) x", "id") {
        for row in [0, 1, 15, 16, 4095, 4096, 4999] {
            for pattern in [0x7ff8_0000_0000_0000, 0xfff8_0000_0000_0000, 0x7ff8_dead_beef_0001_u64] {
                let mut column: Vec<f64> = (0..5000).map(f64::from).collect();
                (column[7], column[8]) = (f64::INFINITY, f64::NEG_INFINITY);
                let mut wanted = bits(&column);
                (column[row], wanted[row]) = (f64::from_bits(pattern), f64::NAN.to_bits());
                let mut output = vec![0.0; column.len()];
                kernel.apply(&[Column::Values(&column)], &mut output, &mut Run::new()).expect("it ends");
                assert!(bits(&output) == wanted, "{name}, row {row}, {pattern:x}");
            }
        }
    }
}

#[test]
fn rows_before_the_one_where_fuel_ends_have_the_same_nan() {
    for (name, kernel) in kernels("def f(x) (for i = 0, i < 3 || x == 900 in i) : x", "f") {
        let mut column: Vec<f64> = (0..2000).map(f64::from).collect();
        column[5] = f64::from_bits(0xfff8_0000_0000_0001);
        let mut output = vec![7.0; column.len()];
        let mut run = Run::new();
        run.fuel = Some(100_000);
        assert_eq!(fuelled(&kernel, &[Column::Values(&column)], &mut output, &mut run), Some(900), "{name}");
        column[5] = f64::NAN;
        assert!(bits(&output[..900]) == bits(&column[..900]), "{name}");
    }
}

#[test]
fn a_large_frame_finds_a_stack_with_room_for_it() {
    const VALUES: usize = 600;
    let engine = Engine::with_config(Config::new().lanes(64)).expect("an engine starts");
    let mut context = engine.context().expect("a context starts");
    let values: Vec<String> = (0..VALUES).map(|value| format!("v{value} = x * {value}.5")).collect();
    let sum: Vec<String> = (0..VALUES).rev().map(|value| format!("v{value}")).collect();
    context.eval(&format!("def f(x) var {} in {}", values.join(", "), sum.join(" + "))).expect("it is right");
    let kernel = context.kernel("f").expect("it is defined");
    assert!(kernel.is_wide());
    let column: Vec<f64> = (0..100).map(f64::from).collect();
    let wanted: Vec<u64> = column
        .iter()
        .map(|x| context.call("f", &[*x]).map(f64::to_bits).expect("it returns a number"))
        .collect();
    for stack in [256 << 10, 16 << 20] {
        let (kernel, column, wanted) = (kernel.clone(), column.clone(), wanted.clone());
        let computed = std::thread::Builder::new().stack_size(stack).spawn(move || {
            let mut output = vec![0.0; column.len()];
            kernel.apply(&[Column::Values(&column)], &mut output, &mut Run::new()).expect("it ends");
            assert_eq!(bits(&output), wanted, "with a stack of {stack} bytes");
        });
        computed.expect("a thread starts").join().expect("all bits are right");
    }
}

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
                    let inputs = inputs(&columns, every);
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

#[test]
fn random_functions_agree_over_columns() {
    agree(scale("KAL_COLUMNS", 2_000), |random| rows::functions(random));
}

#[test]
fn random_programs_agree_over_columns() {
    // Many of their functions write or assign variables of the context, and are not wide.
    agree(scale("KAL_COLUMNS", 2_000) / 4, |random| program(random).text());
}

/// Runs programs, and compares each of their functions over columns with calls.
fn agree(count: u64, make: impl Fn(&mut Random) -> String + Sync) {
    const ROWS: usize = 257;
    const CHUNK: u64 = 100;
    let from = scale("KAL_SEED", 0);
    let chunks: Vec<u64> = (from..from + count).step_by(CHUNK as usize).collect();
    let compared = AtomicU64::new(0);
    let complaints = binary::in_parallel(&chunks, |chunk| {
        for number in *chunk..(chunk + CHUNK).min(from + count) {
            let mut random = Random::new(number);
            let text = make(&mut random);
            let lanes = 2 << (number % 5);
            let config = modes::host_functions(Config::new().lanes(lanes).workers(1));
            // Masks are others with AVX-512, with AVX and with neither.
            let level = ["native", "x86-64-v3", "x86-64"][(number / 5 % 3) as usize];
            let processor: Processor = level.parse().expect("it is one");
            let engine = Engine::with_config(config.clone().processor(processor));
            let engine = engine.or_else(|_| Engine::with_config(config)).expect("an engine starts");
            let mut context = engine.context().expect("there is memory");
            context.set_output(Box::new(kal::LineOutput::new(std::io::sink())));
            // It may fail; what it has defined stays.
            let _ = context.eval(&text);
            for description in context.definitions() {
                let (name, arity) = (description.name.as_str(), description.parameters.len());
                let Ok(kernel) = context.kernel(name) else { continue };
                if !kernel.is_wide() {
                    continue;
                }
                let columns: Vec<Vec<f64>> = (0..arity).map(|_| numbers(&mut random, ROWS)).collect();
                let every = random.below(1 << arity);
                let inputs = inputs(&columns, every);
                let threads = 1 + 2 * random.below(2);
                let expected = bits(&row_by_row(&mut context, name, &inputs, ROWS));
                let found = applied(&kernel, &inputs, ROWS, threads);
                let found: Vec<u64> = found.iter().map(|value| value.to_bits()).collect();
                if let Some(row) = (0..ROWS).find(|row| found[*row] != expected[*row]) {
                    let (found, expected) = (f64::from_bits(found[row]), f64::from_bits(expected[row]));
                    let what =
                        format!("program {number}, {lanes} lanes of {level}, {name}, set {every}, row {row}");
                    return Err(format!("{what}: {found:e}, not {expected:e}:\n{text}"));
                }
                compared.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    });
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
    let compared = compared.into_inner();
    assert!(compared > count / 2, "only {compared} functions of {count} programs");
}

/// Returns the row at which a run ends since its fuel does, if it does.
fn fuelled(kernel: &Kernel, inputs: &[Column<'_>], output: &mut [f64], run: &mut Run<'_>) -> Option<usize> {
    let error = kernel.apply(inputs, output, run).err()?;
    assert_eq!(error.error.to_string(), "out of fuel", "{kernel:?}");
    assert_eq!(error.error.diagnostics()[0].code, kal::diagnostic::ErrorCode::OutOfFuel);
    error.row
}

#[test]
fn fuel_ends_a_run_at_the_same_row_everywhere() {
    const ROWS: usize = 9_000;
    const PLENTY: u64 = 1 << 40;
    let functions = format!(
        "{FUNCTIONS}
         def long(x) var s = 0 in (for i = 1, i < 300 in s = s + x / i) : s
         def down(n) if n < 1 then 0 else 1 + down(n - 1)
         def deep(x y) down(fabs(x) % 12) + nested(x, y)"
    );
    // What each row takes and gives, in a context that counts.
    let limits = Limits { fuel: Some(PLENTY), ..Limits::default() };
    let mut counting = context_of(Config::new().limits(limits), &functions);
    let processor: Processor = "x86-64-v3".parse().expect("it is one");
    let configs = [Config::new(), Config::new().lanes(2), Config::new().processor(processor)];
    let mut contexts: Vec<Context> =
        configs.into_iter().map(|config| context_of(config, &functions)).collect();
    contexts.push(context_of(Config::new().mode(kal::Mode::Interpret), &functions));
    let mut random = Random::new(5);
    for description in counting.definitions() {
        let (name, arity) = (description.name.as_str(), description.parameters.len());
        let mut columns: Vec<Vec<f64>> = (0..arity).map(|_| numbers(&mut random, ROWS)).collect();
        if name == "down" {
            columns[0] = (0..ROWS).map(|row| (row % 9) as f64).collect();
        }
        let every = if name == "down" { 0 } else { random.below(1 << arity) };
        let inputs = inputs(&columns, every);
        // Every 7th row has no value: it takes nothing.
        let bitmap: Vec<u8> = (0..ROWS.div_ceil(8))
            .map(|byte| (0..8).fold(0, |bits, bit| bits | u8::from((byte * 8 + bit) % 7 != 3) << bit))
            .collect();
        let (mut values, mut taken) = (Vec::new(), Vec::new());
        for row in 0..ROWS {
            let arguments: Vec<f64> = inputs.iter().map(|input| value_at(input, row)).collect();
            values.push(counting.call(name, &arguments).expect("it has plenty"));
            taken.push(PLENTY - counting.fuel().expect("it is counted"));
        }
        let values = bits(&values);
        for (kernel, threads) in contexts.iter_mut().flat_map(|context| {
            let kernel = context.kernel(name).expect("it is defined");
            [(kernel.clone(), 1), (kernel, 3)]
        }) {
            for masked in [false, true] {
                let valid = masked.then_some(Validity { bitmap: &bitmap, offset: 0 });
                let is_valid = |row: usize| valid.is_none_or(|valid| valid.is_valid(row));
                let sums: Vec<u64> = (0..ROWS)
                    .scan(0, |sum, row| {
                        *sum += if is_valid(row) { taken[row] } else { 0 };
                        Some(*sum)
                    })
                    .collect();
                let total = sums[ROWS - 1];
                for fuel in
                    [0, 1, sums[4095], sums[4095] - 1, sums[4100] + 1, total / 3, total - 1, total, total + 9]
                {
                    let mut run = Run::new();
                    (run.threads, run.fuel, run.valid) = (threads, Some(fuel), valid);
                    let mut output = vec![7.0; ROWS];
                    let end = fuelled(&kernel, &inputs, &mut output, &mut run);
                    let expected = sums.iter().position(|sum| *sum > fuel);
                    let what = format!("{kernel:?}, {threads} threads, fuel {fuel} of {total}, set {every}");
                    assert_eq!(end, expected, "{what}");
                    assert_eq!(
                        run.fuel,
                        Some(if end.is_some() { 0 } else { fuel - total.min(fuel) }),
                        "{what}"
                    );
                    for row in 0..end.unwrap_or(ROWS) {
                        let wanted = if is_valid(row) { values[row] } else { f64::NAN.to_bits() };
                        assert_eq!(output[row].to_bits(), wanted, "{what}, row {row}");
                    }
                }
            }
        }
    }
}

#[test]
fn fuel_ends_rows_without_an_end() {
    let mut context =
        context("def f(x) for i = 0, i < 10 || x == 9000 in i  def g(x) if x < 1 then 0 else g(x - 1)");
    let rows: Vec<f64> = (0..20_000).map(f64::from).collect();
    for threads in [1, 3] {
        let mut run = Run::new();
        (run.threads, run.fuel) = (threads, Some(1_000_000));
        let mut output = vec![7.0; rows.len()];
        let kernel = context.kernel("f").expect("it is defined");
        assert!(kernel.is_wide());
        assert_eq!(fuelled(&kernel, &[Column::Values(&rows)], &mut output, &mut run), Some(9000));
        assert!(output[..9000].iter().all(|value| *value == 0.0));
        // Rows that fail are skipped, but not that for which there is no fuel.
        let mut marks = vec![0; rows.len().div_ceil(8)];
        (run.fuel, run.failing) = (Some(1_000), Failing::Mark(&mut marks));
        let kernel = context.kernel("g").expect("it is defined");
        assert!(!kernel.is_wide());
        // A row takes one entry more than its number: the sum up to 43 is 990.
        assert_eq!(fuelled(&kernel, &[Column::Values(&rows)], &mut output, &mut run), Some(44));
        assert_eq!(marks.iter().map(|byte| u32::from(*byte)).sum::<u32>(), 0);
    }
    // What is left is for the next run.
    let kernel = context.kernel("g").expect("it is defined");
    let mut run = Run::new();
    run.fuel = Some(1_000);
    kernel.apply(&[Column::Every(9.0)], &mut [0.0; 50], &mut run).expect("it has enough");
    assert_eq!(run.fuel, Some(500));
    let mut next = run.next();
    assert_eq!(fuelled(&kernel, &[Column::Every(9.0)], &mut [0.0; 60], &mut next), Some(50));

    // The limit of an engine is for each row, and a row that takes more fails as others do.
    let limits = Limits { fuel: Some(20), ..Limits::default() };
    let mut context = context_of(Config::new().limits(limits), "def g(x) if x < 1 then 0 else g(x - 1)");
    let kernel = context.kernel("g").expect("it is defined");
    let values = [5.0, 30.0, 5.0, 25.0, 30.0];
    let (mut output, mut run) = ([7.0; 5], Run::new());
    (run.fuel, run.failing) = (Some(60), Failing::Nan);
    assert_eq!(fuelled(&kernel, &[Column::Values(&values)], &mut output, &mut run), Some(4));
    assert_eq!(bits(&output[..4]), bits(&[0.0, f64::NAN, 0.0, f64::NAN]));
}

/// Returns a context of an engine like this, with these definitions.
fn context_of(config: Config, text: &str) -> Context {
    let mut context =
        Engine::with_config(config).expect("an engine starts").context().expect("there is memory");
    context.eval(text).expect("it is right");
    context
}

pub fn context(text: &str) -> Context {
    let mut context = Engine::new().and_then(|engine| engine.context()).expect("there is memory");
    context.eval(text).expect("it is right");
    context
}

/// How many operations a row takes is known unless something may go on without end.
#[test]
fn operations_are_counted_where_they_have_an_end() {
    let text = "var sum = 10
        def half(x) x / 2
        def quarter(x) half(half(x))
        def assigns(x) sum = sum + x
        def loops(x) for i = 0, i < x in i
        def recurs(n) if n < 2 then n else recurs(n - 1)
        def fails(x) undefined(x)";
    let mut context = context(text);
    let mut operations = |name: &str| context.kernel(name).expect("it is defined").operations();
    assert_eq!(operations("half"), Some(3));
    assert_eq!(operations("quarter"), Some(7));
    assert_eq!(operations("assigns"), Some(4));
    for name in ["loops", "recurs", "fails"] {
        assert_eq!(operations(name), None, "{name}");
    }
}

#[test]
fn what_cannot_be_wide_is_computed_row_by_row_and_says_why() {
    let engine =
        Engine::with_config(Config::new().host_function("twice", 1, |call| Ok(2.0 * call.arguments[0])));
    let mut context = engine.and_then(|engine| engine.context()).expect("there is memory");
    let text = "var sum = 10
        def fib(n) if n < 2 then n else fib(n - 1) + fib(n - 2)
        def doubled(x) twice(x) + fib(5)
        def total(x) sum = sum + x";
    context.eval(text).expect("it is right");
    let values: Vec<f64> = (0..20).map(f64::from).collect();
    let columns = [Column::Values(&values)];
    let reasons = |kernel: &Kernel| {
        let remarks = kernel.explain();
        remarks.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let fib = context.kernel("fib").expect("it is defined");
    assert!(!fib.is_wide() && fib.is_pure() && !fib.is_total());
    let at = "`fib` is called while it runs (<eval>:2:41)";
    assert_eq!(reasons(&fib)[..2], ["row by row", at]);
    for threads in [1, 3] {
        assert_eq!(applied(&fib, &columns, 20, threads)[..8], [0.0, 1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0]);
    }
    let doubled = context.kernel("doubled").expect("it is defined");
    assert!(!doubled.is_pure());
    assert_eq!(reasons(&doubled)[1], "`twice` is a function of the host (<eval>:3:24)");
    assert_eq!(applied(&doubled, &columns, 20, 3)[3], 11.0);
    // The variable begins with the value that it had, and rows come in order.
    let total = context.kernel("total").expect("it is defined");
    assert_eq!(reasons(&total)[1], "`sum`, a variable of the context, is assigned (<eval>:4:22)");
    context.set_variable("sum", 0.0).expect("it is declared");
    for _ in 0..2 {
        assert_eq!(applied(&total, &columns, 20, 3)[..4], [10.0, 11.0, 13.0, 16.0]);
    }
    let mut columns_of_total = context.columns("total").expect("it is defined");
    context.set_variable("sum", 5.0).expect("it is declared");
    let mut output = [0.0; 20];
    columns_of_total.apply(&mut context, &columns, &mut output, &mut Run::new()).expect("it ends");
    assert_eq!(output[..4], [5.0, 6.0, 8.0, 11.0]);
    assert_eq!(context.variable("sum").ok(), Some(5.0));
}

#[test]
fn the_lowest_row_that_fails_is_named_whatever_the_threads() {
    let mut context = context("def f(x) (for i = 1, i < 300 in x) : if x < 0 then missing(x) else x + 1");
    let kernel = context.kernel("f").expect("it is defined");
    let mut values: Vec<f64> = (0..20_000).map(f64::from).collect();
    for row in [19_000, 9_001, 17, 4_097] {
        values[row] = -1.0;
    }
    let inputs = [Column::Values(&values)];
    for threads in [0, 1, 2, 5] {
        let mut output = vec![0.0; values.len()];
        let mut run = Run::new();
        run.threads = threads;
        let error = kernel.apply(&inputs, &mut output, &mut run).expect_err("it fails");
        assert_eq!(error.row, Some(17));
        assert_eq!(error.to_string(), "row 17: `f` calls `missing`, which is not defined");
        assert!((0..17).all(|row| output[row] == values[row] + 1.0));
        // Failing rows are NaN, or marked.
        run.failing = Failing::Nan;
        kernel.apply(&inputs, &mut output, &mut run).expect("it goes on");
        let failed: Vec<usize> = (0..values.len()).filter(|row| output[*row].is_nan()).collect();
        assert_eq!(failed, [17, 4_097, 9_001, 19_000]);
        let mut marks = vec![0; 2_500];
        run.failing = Failing::Mark(&mut marks);
        kernel.apply(&inputs, &mut output, &mut run).expect("it goes on");
        drop(run);
        let marked: Vec<usize> =
            (0..values.len()).filter(|row| marks[row / 8] >> (row % 8) & 1 == 1).collect();
        assert_eq!(marked, failed);
    }
    // Rows without values cannot fail.
    let mut bitmap = vec![0xff; 2_501];
    for row in [17, 4_097, 9_001, 19_000, 3] {
        let bit = row + 5;
        bitmap[bit / 8] &= !(1 << (bit % 8));
    }
    let mut run = Run::new();
    run.valid = Some(Validity { bitmap: &bitmap, offset: 5 });
    let mut output = vec![0.0; values.len()];
    kernel.apply(&inputs, &mut output, &mut run).expect("no row fails");
    assert!(output[3].is_nan() && output[17].is_nan() && output[4] == 5.0);
    let wide = context.formula_kernel("x * 2", &["x"]).expect("it is right");
    wide.apply(&inputs, &mut output, &mut run).expect("no row fails");
    assert!(output[3].is_nan() && output[17].is_nan() && output[4] == 8.0);
}

#[test]
fn columns_that_do_not_fit_are_refused() {
    let mut context = context("def f(x y) x + y def twice(f(x) y) f(f(y))");
    let kernel = context.kernel("f").expect("it is defined");
    let mut output = [0.0; 3];
    let mut refusal = |inputs: &[Column<'_>], run: &mut Run<'_>| {
        let error = kernel.apply(inputs, &mut output, run).expect_err("it is refused");
        assert_eq!(error.row, None);
        error.to_string()
    };
    let mut run = Run::new();
    assert_eq!(refusal(&[Column::Every(1.0)], &mut run), "`f` takes 2 arguments, not 1");
    let short = [Column::Every(1.0), Column::Values(&[1.0, 2.0])];
    assert_eq!(refusal(&short, &mut run), "column 1 has 2 rows, not 3");
    run.valid = Some(Validity { bitmap: &[0xff], offset: 6 });
    let fits = [Column::Every(1.0), Column::Every(2.0)];
    assert_eq!(refusal(&fits, &mut run), "a bitmap has 2 bits for 3 rows");
    assert!(matches!(context.kernel("g"), Err(Error::NoFunction(name)) if name == "g"));
    let two = context.kernel("atan2").expect("the library has it");
    two.apply(&[Column::Values(&[1.0, 2.0, 3.0]), Column::Every(2.0)], &mut output, &mut Run::new())
        .expect("it runs");
    assert_eq!(output, [1.0_f64, 2.0, 3.0].map(|y| y.atan2(2.0)));
    assert!(matches!(context.kernel("twice"), Err(Error::TakesFunctions(name)) if name == "twice"));
    let error = context.formula_kernel("x +", &["x"]).expect_err("it is refused");
    assert_eq!(error.to_string(), "expected an expression after `+`, found the end of the input");
}

#[test]
fn a_run_is_stopped_and_names_the_lowest_row_that_is_not_complete() {
    const ENDLESS: usize = 70_003;
    let text = "def endless(x) var i = 0 in (while x == 70003 || i < 3 in i = i + 1) : i
        def overflow(x) if x == 70003 then overflow(x) + 1 else 3";
    let values: Vec<f64> = (0..100_000).map(f64::from).collect();
    let inputs = [Column::Values(&values)];
    // Returns the row; all before it are complete.
    let stopped = |kernel: &Kernel, run: &mut Run<'_>, message: &str| {
        let mut output = vec![0.0; values.len()];
        let error = kernel.apply(&inputs, &mut output, run).expect_err("it is stopped");
        assert_eq!(error.error.to_string(), message);
        let row = error.row.expect("it has begun");
        assert!(output[..row].iter().all(|value| *value == 3.0));
        row
    };
    let late = "the run took longer than allowed";
    let mut context = context(text);
    let endless = context.kernel("endless").expect("it is defined");
    assert!(endless.is_wide());
    for threads in [1, 3] {
        let mut run = Run::new();
        run.threads = threads;
        run.deadline = Some(Instant::now() + Duration::from_millis(200));
        assert_eq!(stopped(&endless, &mut run, late), ENDLESS);
        run.deadline = None;
        for _ in 0..20 {
            // It may come before the row is reached.
            let handle = run.interrupt_handle();
            let interrupts = std::thread::spawn(move || handle.interrupt());
            assert!(stopped(&endless, &mut run, "interrupted") <= ENDLESS);
            interrupts.join().expect("it ends well");
        }
        // Nothing is left of the requests.
        let some = [Column::Values(&values[..ENDLESS])];
        let mut output = vec![0.0; ENDLESS];
        endless.apply(&some, &mut output, &mut run).expect("it ends");
    }
    let overflow = context.kernel("overflow").expect("it is defined");
    assert!(!overflow.is_wide());
    for threads in [1, 3] {
        let mut run = Run::new();
        run.threads = threads;
        let mut output = vec![0.0; values.len()];
        let error = overflow.apply(&inputs, &mut output, &mut run).expect_err("it fails");
        assert_eq!(error.row, Some(ENDLESS));
        assert!(output[..ENDLESS].iter().all(|value| *value == 3.0));
    }
    let limits = Limits { deadline: Some(Duration::from_millis(200)), ..Limits::default() };
    let engine = Engine::with_config(Config::new().limits(limits)).expect("an engine starts");
    let mut limited = engine.context().expect("there is memory");
    limited.eval(text).expect("it is right");
    let endless = limited.kernel("endless").expect("it is defined");
    assert_eq!(stopped(&endless, &mut Run::new(), late), ENDLESS);
    // Row by row, in a recursion that does not end.
    limited.eval("def slow(x) if x == 70003 then slow(x) else 3").expect("it is right");
    let slow = limited.kernel("slow").expect("it is defined");
    let mut run = Run::new();
    let handle = run.interrupt_handle();
    handle.interrupt();
    assert_eq!(stopped(&slow, &mut run, "interrupted"), 0);
}

#[test]
fn a_kernel_is_what_names_meant_and_columns_follow_them() {
    let mut context = context("var k = 2 def g(x) x + k def f(x) g(x) * 10");
    let inputs = [Column::Values(&[1.0, 2.0])];
    let kernel = context.kernel("f").expect("it is defined");
    let mut columns = context.columns("f").expect("it is defined");
    let mut live = |context: &mut Context| {
        let mut output = [0.0; 2];
        columns.apply(context, &inputs, &mut output, &mut Run::new()).map(|()| output)
    };
    assert_eq!(live(&mut context).ok(), Some([30.0, 40.0]));
    let id = kernel.id();
    context.set_variable("k", 5.0).expect("it is declared");
    assert_eq!(live(&mut context).ok(), Some([60.0, 70.0]));
    assert_ne!(context.kernel("f").expect("it is defined").id(), id);
    context.set_variable("k", 2.0).expect("it is declared");
    assert_eq!(context.kernel("f").expect("it is defined").id(), id);
    context.eval("def g(x) x - k").expect("it is right");
    assert_eq!(live(&mut context).ok(), Some([-10.0, 0.0]));
    context.eval("def g(x) sin(x) - sin(x) + k").expect("it is right");
    assert_eq!(live(&mut context).ok(), Some([20.0, 20.0]));
    context.eval("def sin(x) 4 * x").expect("it is right");
    context.eval("def f(x) g(x) + sin(1)").expect("it is right");
    assert_eq!(live(&mut context).ok(), Some([6.0, 6.0]));
    context.undo();
    context.drop_function("g").expect("it is defined");
    let error = live(&mut context).expect_err("it fails");
    assert_eq!(error.to_string(), "row 0: `f` calls `g`, which is not defined");
    assert_eq!(applied(&kernel, &inputs, 2, 1), [30.0, 40.0]);
    assert_eq!(kernel.source(), "var k = 2\ndef g(x) x + k\ndef f(x) g(x) * 10");
    let mut other = Engine::new().and_then(|engine| engine.context()).expect("there is memory");
    other.eval(&kernel.source()).expect("it is right");
    assert_eq!(other.kernel("f").expect("it is defined").id(), id);
    let error = live(&mut other).expect_err("it is refused");
    assert!(matches!(error.error, Error::OtherEngine));
}

#[test]
fn a_kernel_tells_what_keeps_it_from_being_pure_and_which_calls_fail() {
    let mut context = context(
        "var calls = 0
         def counted(x) (calls = calls + 1) : x
         def shown(x) printd(x) + counted(x)
         def half(x) x / 2
         def whole(x) half(x) + missing(x, 1)
         def deep(n) if n < 1 then 0 else 1 + deep(n - 1)",
    );
    let mut told = |name: &str| {
        let kernel = context.kernel(name).expect("it is defined");
        let lines = |remarks: &[kal::Remark]| remarks.iter().map(ToString::to_string).collect::<Vec<_>>();
        (kernel.is_pure(), lines(kernel.effects()), lines(kernel.failing_calls()))
    };
    let (is_pure, effects, failing) = told("shown");
    let wanted = [
        "`printd` is a function of the host (<eval>:3:23)",
        "`calls`, a variable of the context, is assigned",
    ];
    assert!(effects.iter().zip(wanted).all(|(effect, wanted)| effect.starts_with(wanted)), "{effects:?}");
    assert_eq!((is_pure, effects.len(), failing.len()), (false, 2, 0));
    assert_eq!(told("whole"), (true, vec![], vec!["the call of `missing` fails (<eval>:5:33)".to_owned()]));
    assert_eq!(told("deep"), (true, vec![], vec![]));
}

#[test]
fn a_kernel_is_compiled_when_it_is_prepared() {
    let mut context = context("def f(x y) x * y + exp(x)");
    let kernel = context.kernel("f").expect("it is defined");
    let compiled = |kernel: &Kernel| kernel.explain()[0].message != "many rows at once";
    assert!(!compiled(&kernel));
    kernel.prepare(&[Column::Values(&[]), Column::Every(2.0)]).expect("it is compiled");
    assert!(compiled(&kernel));
    assert_eq!(applied(&kernel, &[Column::Values(&[0.0, 0.0]), Column::Every(2.0)], 2, 1), [1.0, 1.0]);
}

#[test]
fn a_kernel_that_was_compiled_before_is_found_in_the_cache() {
    let folder = tempfile::tempdir().expect("there is room");
    let compiled = || {
        let options = kal::CacheOptions::new(folder.path().join("cache"), folder.path().join("key"));
        let engine = Engine::with_config(Config::new().cache(options)).expect("an engine starts");
        let mut context = engine.context().expect("there is memory");
        let file = folder.path().join("f.kal");
        let text = "def f(x) x * 3 + exp(x) % 7\nf(1)";
        std::fs::write(&file, text).expect("the folder is writable");
        let source =
            kal::source::Source::in_folder(file.display().to_string(), text.to_owned(), folder.path());
        let _ = context.run_for_values(&source, &mut |_, _| std::ops::ControlFlow::Continue(()));
        let kernel = context.kernel("f").expect("it is defined");
        let found = applied(&kernel, &[Column::Values(&[1.0, 2.0, 3.0])], 3, 1);
        assert_eq!(found[1], 6.0 + 2_f64.exp() % 7.0);
        let compiled = context.stats().objects_linked;
        drop((kernel, context));
        engine.write_cache();
        compiled
    };
    assert_eq!((compiled(), compiled()), (2, 0));
}

/// Returns a context of an engine in a mode.
fn context_in(configure: modes::Configure) -> Context {
    let engine = Engine::with_config(configure(Config::new())).expect("an engine starts");
    engine.context().expect("a context")
}

#[test]
fn kernels_draw_random_numbers_of_their_own() {
    for (mode, configure) in modes::MODES {
        let mut context = context_in(*configure);
        context.eval("def r(x) random() + 0 * x").expect("it is defined");
        let mut draw = |begin: &str| {
            context.eval(begin).expect("it is right");
            let (kernel, other) =
                (context.kernel("r").expect("it is there"), context.kernel("r").expect("it is there"));
            let mut rows = [0.0; 6];
            let (first, rest) = rows.split_at_mut(2);
            let (second, third) = rest.split_at_mut(2);
            for (kernel, rows) in [(&kernel, first), (&other, second), (&kernel, third)] {
                kernel.apply(&[Column::Every(1.0)], rows, &mut Run::new()).expect("it runs");
            }
            rows.map(f64::to_bits)
        };
        let (one, again, other) = (draw("seed(7)"), draw("seed(7)"), draw("seed(8)"));
        assert_eq!(one, again, "{mode}");
        let all: std::collections::BTreeSet<u64> = one.into_iter().chain(other).collect();
        assert_eq!(all.len(), 12, "{mode}: no number comes twice");
        // They are not those of the context, which draws what it drew before.
        let scalar = context.eval("seed(7) : random()").expect("it is right").map(f64::to_bits);
        context.kernel("r").expect("it is there");
        let again = context.eval("seed(7)").and_then(|_| context.eval("random()")).expect("it is right");
        assert_eq!(scalar, again.map(f64::to_bits), "{mode}");
        assert!(scalar.is_some_and(|scalar| !all.contains(&scalar)), "{mode}");
    }
}

#[test]
fn a_callee_that_takes_another_number_is_said_so() {
    for (mode, configure) in modes::MODES {
        let mut context = context_in(*configure);
        context.eval("def f2(x) x; def f(x) f2(x); def f2(x y) x").expect("it is defined");
        let kernel = context.kernel("f").expect("it is there");
        let mut row = [0.0];
        let error = kernel.apply(&[Column::Every(1.0)], &mut row, &mut Run::new()).expect_err("it fails");
        assert_eq!(error.error.to_string(), "`f` calls `f2` with 1 argument, but `f2` takes 2", "{mode}");
    }
}
