//! The progress line: how long a query runs, and how many rows it has read.

use datafusion::physical_plan::ExecutionPlan;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// How often the line changes.
const STEP: Duration = Duration::from_millis(100);

/// The line on standard error, if that is a terminal. Dropping it removes the line.
pub(crate) struct Progress {
    line: Option<JoinHandle<()>>,
}

impl Progress {
    /// Shows the progress of a plan that is being executed.
    pub(crate) fn of(plan: &Arc<dyn ExecutionPlan>) -> Self {
        let plan = plan.clone();
        let line = std::io::stderr().is_terminal().then(|| {
            tokio::spawn(async move {
                let start = Instant::now();
                loop {
                    tokio::time::sleep(STEP).await;
                    let (rows, seconds) = (rows_read(&plan), start.elapsed().as_secs_f64());
                    let rows =
                        if rows == 0 { String::new() } else { format!(", {} rows read", grouped(rows)) };
                    eprint!("\r\x1b[K{seconds:.1} s{rows}");
                    let _ = std::io::stderr().flush();
                }
            })
        });
        Self { line }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(line) = self.line.take() {
            line.abort();
            eprint!("\r\x1b[K");
        }
    }
}

/// Returns how many rows the sources of a plan have given.
fn rows_read(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let children = plan.children();
    if children.is_empty() {
        return plan.metrics().and_then(|metrics| metrics.output_rows()).unwrap_or(0);
    }
    children.into_iter().map(rows_read).sum()
}

/// Returns a number with its digits in threes.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn digits_are_in_threes() {
        assert_eq!([0, 999, 1000, 1234567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
