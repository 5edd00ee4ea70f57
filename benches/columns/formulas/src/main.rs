//! The functions of `kernels.kal` in the crates for formulas and scripts that Rust programs
//! embed, row by row: nanoseconds a row, the median of several runs.
//!
//! `exmex` evaluates expressions without conditions, `rhai` runs scripts.

use exmex::{Express, FlatEx};
use rhai::{AST, Engine, FuncArgs, Scope};
use std::hint::black_box;
use std::time::Instant;

/// How often each is measured.
const TURNS: usize = 5;

/// Returns a column of numbers in a range, always the same.
fn column(state: &mut u64, rows: usize, (low, high): (f64, f64)) -> Vec<f64> {
    let mut random = || {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..rows).map(|_| low + (high - low) * random()).collect()
}

/// Returns the nanoseconds a row of some work, and the sum of the results.
fn each(rows: usize, work: impl Fn(usize) -> f64) -> (f64, f64) {
    let (mut times, mut sum) = (Vec::new(), 0.0);
    for _ in 0..TURNS {
        let start = Instant::now();
        sum = (0..rows).map(&work).sum();
        times.push(start.elapsed().as_secs_f64() / rows as f64 * 1e9);
        black_box(sum);
    }
    times.sort_by(f64::total_cmp);
    (times[TURNS / 2], sum)
}

/// Returns what calls a function of a script.
fn scripted<'s, A: FuncArgs>(engine: &'s Engine, script: &'s AST, name: &'s str) -> impl Fn(A) -> f64 + 's {
    move |arguments| engine.call_fn(&mut Scope::new(), script, name, arguments).expect("the script runs")
}

fn main() {
    let rows = std::env::args().nth(1).map_or(Ok(100_000), |text| text.parse()).expect("a number");
    let mut state = 88_172_645_463_325_252;
    let mut column = |range| column(&mut state, rows, range);
    let [a, x, b] = [(-1.0, 1.0), (-10.0, 10.0), (0.0, 5.0)].map(&mut column);
    let [small, income] = [(-1.0, 1.0), (0.0, 400_000.0)].map(&mut column);
    let [re, im] = [(-2.0, 1.0), (-1.2, 1.2)].map(&mut column);

    let engine = Engine::new();
    let script = engine.compile(include_str!("kernels.rhai")).expect("it is right");
    let parse = |text: &str| exmex::parse::<f64>(text).expect("it is right");
    // Variables are passed in alphabetical order.
    let line: FlatEx<f64> = parse("a*x+b");
    let polynomial: FlatEx<f64> =
        parse("1+x*(0.5+x*(0.25+x*(0.125+x*(0.0625+x*(0.03125+x*(0.015625+x*(0.0078125+x*0.00390625)))))))");
    let value = |formula: &FlatEx<f64>, values: &[f64]| formula.eval(values).expect("it is right");
    let three = scripted::<(f64, f64, f64)>(&engine, &script, "line");
    let one = |name| scripted::<(f64,)>(&engine, &script, name);
    let (of_polynomial, tax) = (one("polynomial"), one("tax"));
    let mandelbrot = scripted::<(f64, f64)>(&engine, &script, "mandelbrot");

    println!("{rows} rows, 1 thread; nanoseconds a row");
    println!("{:<12} {:>9} {:>9}", "", "exmex", "rhai");
    let row = |name: &str, exmex: Option<(f64, f64)>, rhai: (f64, f64)| {
        let shown = exmex.map_or_else(|| "-".to_owned(), |(time, _)| format!("{time:.1}"));
        let differ = exmex.is_some_and(|(_, sum)| (sum - rhai.1).abs() > 1e-9 * sum.abs());
        println!("{name:<12} {shown:>9} {:>9.1}{}", rhai.0, if differ { "  the sums differ" } else { "" });
    };
    row(
        "line",
        Some(each(rows, |at| value(&line, &[a[at], b[at], x[at]]))),
        each(rows, |at| three((a[at], x[at], b[at]))),
    );
    row(
        "polynomial",
        Some(each(rows, |at| value(&polynomial, &[small[at]]))),
        each(rows, |at| of_polynomial((small[at],))),
    );
    row("tax", None, each(rows, |at| tax((income[at],))));
    row("mandelbrot", None, each(rows / 10, |at| mandelbrot((re[at], im[at]))));
}
