//! What the preview of an expression takes for each keystroke: prints the
//! median, the 99th percentile and the maximum in microseconds, of calls as
//! quick as possible and of calls with a pause as between keystrokes.
//! `cargo bench --bench preview`, or `-- sin` for those with that word.

use kal::{Context, Engine};
use std::hint::black_box;
use std::thread::sleep;
use std::time::{Duration, Instant};

const DEFINITIONS: &str = "
    def fib(n) if n < 2 then n else fib(n - 1) + fib(n - 2)
    def deep(n) deep(n + 1)
    def spin(n) for i = 0, 1 in i
    def wide(n) for i = 0, i < 1e9 in sin(i) * cos(i) + fib(n)
    def powers(n) for i = 1, 1 in i ^ 0.3 % 7
    var g = 1
";

/// Expressions that end soon, that do not, and such as have no preview.
const EXPRESSIONS: &[&str] = &[
    "1 + 2 * 3",
    "sin(1) + cos(2) * fib(15)",
    "fib(35)",
    "deep(1)",
    "spin(1)",
    "wide(9) + 1",
    "powers(1)",
    "g = 5",
    "printd(3)",
    "fib(1) +",
    "unknown(3)",
];

fn measure(context: &Context, expression: &str, count: usize, pause: Duration) -> [f64; 3] {
    let mut times: Vec<f64> = (0..count)
        .map(|_| {
            sleep(pause);
            let start = Instant::now();
            black_box(context.preview(black_box(expression)));
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    [times[count / 2], times[count * 99 / 100], times[count - 1]]
}

fn main() {
    let mut context = Engine::new().and_then(|engine| engine.context()).expect("a context");
    context.eval(DEFINITIONS).expect("they are right");
    let only = std::env::args().nth(1).filter(|only| !only.starts_with("--"));
    println!("{:<28} {:>26}   {:>26}", "microseconds", "without a pause", "every 20 ms");
    for expression in EXPRESSIONS.iter().filter(|text| only.as_ref().is_none_or(|only| text.contains(only))) {
        let quick = measure(&context, expression, 2_000, Duration::ZERO);
        let typed = measure(&context, expression, 200, Duration::from_millis(20));
        let shown = |[median, tail, most]: [f64; 3]| format!("{median:>8.1} {tail:>8.1} {most:>8.1}");
        println!("{expression:<28} {}   {}", shown(quick), shown(typed));
    }
}
