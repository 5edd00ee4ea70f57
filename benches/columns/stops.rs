//! How soon a run over columns ends that is asked to.

use kal::{Column, Context, Run};
use std::error::Error;
use std::time::{Duration, Instant};

/// Functions of each kind: short rows, rows with a loop, long ones, and rows one by one.
const FUNCTIONS: &[(&str, &str)] = &[
    ("a line", "line"),
    ("an option", "option"),
    ("a loop", "mandelbrot"),
    ("100,000 rounds", "rounds"),
    ("one by one", "recursive"),
];

const MORE: &str = "
    def rounds(x) var s = 0 in (for i = 0, i < 100000 in s = s + x / (i + 1)) : s
    def down(n) if n < 1 then 0 else 1 + down(n - 1)
    def recursive(x) down(20 + x)";

/// How often each is stopped in each way.
const TIMES: usize = 100;

/// Prints what passes from a request, and from a deadline, until the run has ended.
pub(super) fn measure(context: &mut Context, rows: usize, threads: usize) -> Result<(), Box<dyn Error>> {
    context.eval(MORE)?;
    let values: Vec<f64> = (0..rows).map(|row| (row % 100) as f64 / 100.0).collect();
    let mut output = vec![0.0; rows];
    println!("\nmilliseconds until a run is stopped  {:>8} {:>8} {:>8}", "median", "p99", "most");
    for (what, name) in FUNCTIONS {
        let kernel = context.kernel(name)?;
        let arity = kernel.parameters().len();
        let inputs = vec![Column::Values(&values); arity];
        let mut run = Run::new();
        run.threads = threads;
        // Begins at once from here on.
        let few = vec![Column::Values(&values[..rows.min(16)]); arity];
        kernel.apply(&few, &mut output[..rows.min(16)], &mut run)?;
        for is_asked in [true, false] {
            let mut late = Vec::new();
            for number in 0..TIMES {
                let moment = Instant::now() + Duration::from_micros(500 + 200 * number as u64);
                run.deadline = (!is_asked).then_some(moment);
                let handle = run.interrupt_handle();
                let asks = is_asked.then(|| {
                    std::thread::spawn(move || {
                        std::thread::sleep(moment.saturating_duration_since(Instant::now()));
                        let asked = Instant::now();
                        handle.interrupt();
                        asked
                    })
                });
                let is_stopped = kernel.apply(&inputs, &mut output, &mut run).is_err();
                let end = Instant::now();
                let asked = asks
                    .map_or(Ok(moment), std::thread::JoinHandle::join)
                    .map_err(|_| "the thread failed")?;
                if is_stopped {
                    late.push(end.saturating_duration_since(asked).as_secs_f64() * 1e3);
                }
            }
            late.sort_by(f64::total_cmp);
            let way = if is_asked { "interrupt" } else { "deadline" };
            let at = |part: f64| late.get((late.len() as f64 * part) as usize).copied().unwrap_or(f64::NAN);
            let most = late.last().copied().unwrap_or(f64::NAN);
            println!(
                "{what:<16} {way:<10} {:>3} times {:>8.3} {:>8.3} {most:>8.3}",
                late.len(),
                at(0.5),
                at(0.99)
            );
        }
    }
    Ok(())
}
