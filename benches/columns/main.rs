//! Functions over columns, beside C that clang has compiled: `cargo bench --bench columns`.
//!
//! Each row is a function of `kernels.kal`, in nanoseconds a row of the table: the median of
//! several runs, which take turns. `KAL_ROWS` says how many rows the columns have, `KAL_PROCESSOR`
//! which one is compiled for, such as `x86-64-v3`, `KAL_LANES` how many rows are computed at once, and
//! `KAL_PEERS` is a Python whose packages are measured as well. Then, which targets are reached, and
//! how soon runs are stopped.
#![allow(unsafe_code)]

mod peers;
mod stops;
mod targets;

use kal::{Column, Config, Context, Engine, Run};
use std::convert::Infallible;
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// How often each is measured; less often where it takes seconds.
const TURNS: usize = 9;
const LONG_TURNS: usize = 3;

/// The number of rows from which on it takes seconds.
const LONG: usize = 100_000_000;

/// The number of rows that are measured together, where a column has less.
const MEASURED: usize = 1_000_000;

/// The functions, each with the ranges of its columns; a range of one number is the same in
/// every row.
const KERNELS: &[(&str, &[(f64, f64)])] = &[
    ("line", &[(-1.0, 1.0), (-10.0, 10.0), (0.0, 5.0)]),
    ("polynomial", &[(-1.0, 1.0)]),
    ("tax", &[(0.0, 400_000.0)]),
    ("option", &[(50.0, 150.0), (50.0, 150.0), (0.1, 2.0), (0.02, 0.02), (0.3, 0.3)]),
    ("haversine", &[(-1.5, 1.5), (-3.1, 3.1), (-1.5, 1.5), (-3.1, 3.1)]),
    ("mandelbrot", &[(-2.0, 1.0), (-1.2, 1.2)]),
    ("scattered", &[(-2.0, 1.0), (-1.2, 1.2)]),
    ("kepler", &[(0.0, 1.5), (0.0, 0.8)]),
    ("nested", &[(-4.0, 4.0), (-4.0, 4.0)]),
    ("series", &[(0.0, 1.0)]),
    ("root", &[(0.1, 1.0)]),
    ("interest", &[(100.0, 1000.0), (0.0, 0.1), (1.0, 30.0)]),
];

fn main() -> Outcome<()> {
    let rows: usize = std::env::var("KAL_ROWS").map_or(Ok(1_000_000), |text| text.parse())?;
    let threads: usize = std::env::var("KAL_THREADS").map_or(Ok(1), |text| text.parse())?;
    let peer = compiled_peer()?;
    let mut config = Config::new();
    if let Ok(processor) = std::env::var("KAL_PROCESSOR") {
        config = config.processor(processor.parse()?);
    }
    if let Ok(lanes) = std::env::var("KAL_LANES") {
        config = config.lanes(lanes.parse()?);
    }
    let engine = Engine::with_config(config)?;
    let mut context = engine.context()?;
    context.eval(include_str!("kernels.kal"))?;
    println!("{rows} rows, {threads} thread(s); nanoseconds a row");
    println!("{:<12} {:>8} {:>8} {:>8} {:>7}  first", "", "Kal", "C", "by hand", "C / Kal");
    let mut measured = Vec::new();
    for (name, ranges) in KERNELS {
        measured.push(measure(&mut context, &peer, name, ranges, rows, threads)?);
    }
    let others = match std::env::var("KAL_PEERS") {
        Ok(python) => peers::measure(&python, rows, threads, &measured)?,
        Err(_) => Vec::new(),
    };
    targets::print(&measured, &others, threads);
    stops::measure(&mut context, rows, threads)
}

/// What a function takes.
struct Measured {
    name: &'static str,
    /// Nanoseconds a row.
    ours: f64,
    compiled: f64,
    /// Milliseconds of the first use.
    first: f64,
}

/// Returns what a function takes, if it was measured.
fn of<'m>(measured: &'m [Measured], name: &str) -> Option<&'m Measured> {
    measured.iter().find(|one| one.name == name)
}

/// Compiles `kernels.c` to a library that is loaded.
fn compiled_peer() -> Outcome<libloading::Library> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels.so");
    let mut clang = Command::new("clang-22");
    clang.args(["-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-shared", "-fPIC"]);
    clang.arg("-o").arg(&library).arg(folder.join("benches/columns/kernels.c")).arg("-lm");
    let status = clang.status().map_err(|error| format!("clang-22: {error}"))?;
    if !status.success() {
        return Err("clang-22 does not compile kernels.c".into());
    }
    // SAFETY: the library was just compiled, and does nothing when it is loaded.
    Ok(unsafe { libloading::Library::new(&library)? })
}

/// Returns the points of a grid, row by row, as those of a picture are.
fn grid(ranges: &[(f64, f64)], rows: usize) -> Vec<Vec<f64>> {
    let width = (rows as f64).sqrt().ceil() as usize;
    let at = |(low, high): (f64, f64), step: usize| low + (high - low) * step as f64 / width as f64;
    vec![
        (0..rows).map(|row| at(ranges[0], row % width)).collect(),
        (0..rows).map(|row| at(ranges[1], row / width)).collect(),
    ]
}

/// Returns columns of numbers in ranges, always the same.
fn columns(ranges: &[(f64, f64)], rows: usize) -> Vec<Vec<f64>> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let column = |(low, high): &(f64, f64)| (0..rows).map(|_| low + (high - low) * random()).collect();
    ranges.iter().map(column).collect()
}

fn measure(
    context: &mut Context,
    peer: &libloading::Library,
    name: &'static str,
    ranges: &[(f64, f64)],
    rows: usize,
    threads: usize,
) -> Outcome<Measured> {
    // The same function over points that have nothing to do with their neighbours.
    let (shown, is_grid) = (name, *name == *"mandelbrot");
    let name = if *name == *"scattered" { "mandelbrot" } else { name };
    let columns = if is_grid { grid(ranges, rows) } else { columns(ranges, rows) };
    let mut inputs = Vec::new();
    for (column, (low, high)) in columns.iter().zip(ranges) {
        inputs.push(if low == high { Column::Every(*low) } else { Column::Values(column) });
    }
    let mut output = vec![0.0; rows];
    let mut run = Run::new();
    run.threads = threads;
    let start = Instant::now();
    let kernel = context.kernel(name)?;

    let few: Vec<Column<'_>> = inputs
        .iter()
        .map(|input| match input {
            Column::Values(values) => Column::Values(&values[..16]),
            Column::Every(value) => Column::Every(*value),
        })
        .collect();
    kernel.apply(&few, &mut output[..16], &mut run)?;
    let first = start.elapsed().as_secs_f64() * 1e3;
    let mut expected = vec![0.0; rows];
    let (mut ours, mut theirs, mut by_hand) = (Vec::new(), Vec::new(), Vec::new());
    let compiled = compiled_function(peer, name, &columns, ranges)?;
    let is_written = *name == *"mandelbrot" && rows.is_multiple_of(8);
    let written =
        is_written.then(|| compiled_function(peer, "mandelbrot_by_hand", &columns, ranges)).transpose()?;
    for _ in 0..if rows < LONG { TURNS } else { LONG_TURNS } {
        ours.push(seconds(rows, || kernel.apply(&inputs, black_box(&mut output), &mut run))?);
        let mut compute = |compiled: &Compiled<'_>| {
            seconds(rows, || {
                compiled(black_box(&mut expected));
                Ok::<(), Infallible>(())
            })
        };
        theirs.push(compute(&compiled)?);
        by_hand.extend(written.as_ref().map(&mut compute).transpose()?);
    }
    let differ = output.iter().zip(&expected).filter(|(one, other)| (*one - *other).abs() > 1e-9 * one.abs());
    let differ = differ.count();
    let each = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).map_or(f64::NAN, |time| time / rows as f64 * 1e9)
    };
    let (ours, theirs, by_hand) = (each(ours), each(theirs), each(by_hand));
    println!(
        "{shown:<12} {ours:>8.3} {theirs:>8.3} {by_hand:>8.3} {:>7.2}  {first:.1} ms{}",
        theirs / ours,
        if differ > 0 { format!("  {differ} rows differ") } else { String::new() }
    );
    Ok(Measured { name: shown, ours, compiled: theirs, first })
}

/// Returns the seconds that some work over rows takes: with few rows, of many turns.
fn seconds<E>(rows: usize, mut work: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let turns = (MEASURED / rows).max(1);
    let start = Instant::now();
    for _ in 0..turns {
        work()?;
    }
    Ok(start.elapsed().as_secs_f64() / turns as f64)
}

/// A function of the library over columns.
type Compiled<'c> = Box<dyn Fn(&mut [f64]) + 'c>;

/// Returns the function of the library over these columns.
fn compiled_function<'c>(
    peer: &libloading::Library,
    name: &str,
    columns: &'c [Vec<f64>],
    ranges: &[(f64, f64)],
) -> Outcome<Compiled<'c>> {
    type P = *const f64;
    let column = |index: usize| columns[index].as_ptr();
    /// Looks the function up, and passes it all but the output.
    macro_rules! compiled {
        ($($kind:ty),+; $($argument:expr),+) => {{
            // SAFETY: the functions of kernels.c have these signatures, and the library stays loaded.
            let function = unsafe { *peer.get::<unsafe extern "C" fn($($kind),+, *mut f64, usize)>(name)? };
            // SAFETY: the columns have as many rows as the output.
            Box::new(move |output: &mut [f64]| unsafe { function($($argument),+, output.as_mut_ptr(), output.len()) })
        }};
    }
    Ok(match columns.len() {
        1 => compiled!(P; column(0)),
        2 => compiled!(P, P; column(0), column(1)),
        3 => compiled!(P, P, P; column(0), column(1), column(2)),
        4 => compiled!(P, P, P, P; column(0), column(1), column(2), column(3)),
        _ => {
            let (rate, volatility) = (ranges[3].0, ranges[4].0);
            compiled!(P, P, P, f64, f64; column(0), column(1), column(2), rate, volatility)
        }
    })
}
