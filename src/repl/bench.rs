//! `:time` and `:bench`: how long an expression takes.

use super::command::CommandError;
use super::session::ReplSession;
use crate::context::Formula;
use crate::source::Source;
use std::time::{Duration, Instant};

/// Runs a source once, as if it had been typed, and shows how long each phase
/// took. Background compilation that nothing waits for is not counted.
pub(super) fn time(session: &mut ReplSession<'_>, text: &str) -> Result<(), CommandError> {
    let before = session.context.stats();
    if !session.run_checked(&Source::new("<input>", text)) {
        return Ok(());
    }
    let after = session.context.stats();
    let parts = [
        ("parse", after.parse_ms - before.parse_ms),
        ("compile", after.wait_ms - before.wait_ms),
        ("run", after.run_ms - before.run_ms),
    ];
    for (what, time) in parts {
        session.screen.line(&format!("{what:<8}{time:>10.3} ms"));
    }
    Ok(())
}

/// Minimum length of a batch of runs, so that the clock's resolution does not
/// matter.
const BATCH: Duration = Duration::from_micros(500);
/// Total measuring time.
const TOTAL: Duration = Duration::from_millis(600);
/// Minimum and maximum number of batches.
const FEWEST: usize = 5;
const MOST: usize = 1000;

/// Runs an expression many times; its output is discarded.
pub(super) fn bench(session: &mut ReplSession<'_>, text: &str) -> Result<(), CommandError> {
    let text = as_expression(session, text);
    let formula = session.context.formula_of(&Source::new("<input>", text), &[])?;
    let empty = session.context.formula("0", &[])?;
    session.screen.discard();
    let measured = measure(session, &empty, FEWEST, BATCH)
        .and_then(|empty| Ok((empty, measure(session, &formula, MOST, TOTAL)?)));
    let _ = session.screen.release();
    let (empty, times) = measured?;
    let line = format!(
        "median {}, interquartile range {} to {}, {} batches of {}",
        duration(times.at(2)),
        duration(times.at(1)),
        duration(times.at(3)),
        times.batches.len(),
        times.runs
    );
    session.screen.line(&line);
    // The two are measured separately: a part must not exceed the whole.
    let entering = duration(empty.at(2).min(times.at(2)));
    let note = format!("of which {entering} to enter and leave a run");
    session.screen.line(&session.faint(&note));
    Ok(())
}

/// Returns the expression to measure: a call, for the name of a definition
/// without parameters.
fn as_expression(session: &ReplSession<'_>, text: &str) -> String {
    match session.context.describe(text) {
        Some(known) if known.parameters.is_empty() => format!("{text}()"),
        Some(_) | None => text.to_owned(),
    }
}

/// Seconds that one run took, averaged over batches, in ascending order.
struct Times {
    batches: Vec<f64>,
    runs: u32,
}

impl Times {
    /// Returns a quartile: 2 is the median.
    fn at(&self, quartile: usize) -> f64 {
        self.batches[(self.batches.len() - 1) * quartile / 4]
    }
}

fn measure(
    session: &mut ReplSession<'_>,
    formula: &Formula,
    most: usize,
    total: Duration,
) -> Result<Times, CommandError> {
    // The first run compiles what it calls.
    batch(session, formula, 1)?;
    let mut runs = 1;
    while runs < 1 << 24 && batch(session, formula, runs)? < BATCH {
        runs *= 2;
    }
    let start = Instant::now();
    let mut batches = Vec::new();
    while batches.len() < FEWEST || (batches.len() < most && start.elapsed() < total) {
        batches.push(batch(session, formula, runs)?.as_secs_f64() / f64::from(runs));
    }
    batches.sort_by(f64::total_cmp);
    Ok(Times { batches, runs })
}

/// Runs a formula `count` times. A formula without loops does not poll for
/// interrupts, so that happens here; batches are short.
fn batch(session: &mut ReplSession<'_>, formula: &Formula, runs: u32) -> Result<Duration, CommandError> {
    if session.context.interrupt_handle().is_pending() {
        session.context.eval("0")?;
    }
    let start = Instant::now();
    for _ in 0..runs {
        std::hint::black_box(formula.call(session.context, &[])?);
    }
    Ok(start.elapsed())
}

/// Formats seconds in a suitable unit.
fn duration(seconds: f64) -> String {
    match seconds {
        ..1e-6 => format!("{:.1} ns", seconds * 1e9),
        ..1e-3 => format!("{:.2} µs", seconds * 1e6),
        ..1.0 => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::terminal::report::{Colors, Reporter};
    use crate::terminal::screen::Screen;

    #[test]
    fn an_interrupt_between_batches_is_heard() {
        let mut context = Engine::new().and_then(|engine| engine.context()).unwrap();
        let mut reporter = Reporter::new(Colors::default());
        let (changes, _) = std::sync::mpsc::channel();
        let mut session = ReplSession::new(&mut context, &mut reporter, Screen::stdout(), changes);
        let formula = session.context.formula("sin(1)", &[]).unwrap();
        session.context.interrupt_handle().interrupt();
        let is_interrupted = match measure(&mut session, &formula, MOST, TOTAL) {
            Err(CommandError::Program(error)) => error.is_interrupt(),
            Err(_) | Ok(_) => false,
        };
        assert!(is_interrupted && !session.context.interrupt_handle().is_pending());
        assert!(measure(&mut session, &formula, FEWEST, BATCH).is_ok());
    }
}
