//! How many rows are done, on a terminal.

use crate::host::decimal::grouped;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// A line on standard error that is drawn again and again, and erased at the end.
pub(super) struct ProgressLine {
    started: Instant,
    drawn: Instant,
    rows: usize,
    /// The characters of what is shown.
    width: usize,
    is_enabled: bool,
}

/// The time between two drawings, and before the first.
const PAUSE: Duration = Duration::from_millis(250);

impl ProgressLine {
    /// Creates the line, which is not shown at once; never if standard error is not a
    /// terminal, or the table is written to one.
    pub(super) fn new(writes_to_stdout: bool) -> Self {
        let is_shared = writes_to_stdout && io::stdout().is_terminal();
        let is_enabled = io::stderr().is_terminal() && !is_shared;
        let now = Instant::now();
        Self { started: now, drawn: now, rows: 0, width: 0, is_enabled }
    }

    /// Counts more rows.
    pub(super) fn add(&mut self, rows: usize) {
        self.rows += rows;
        if self.is_enabled && self.drawn.elapsed() >= PAUSE {
            self.draw();
        }
    }

    fn draw(&mut self) {
        #[expect(clippy::cast_precision_loss, reason = "it is for people")]
        let rate = self.rows as f64 / self.started.elapsed().as_secs_f64();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is for people")]
        let line = format!("{} rows, {} a second", grouped(self.rows as u64), grouped(rate as u64));
        let blanks = self.width.saturating_sub(line.len());
        let _ = write!(io::stderr(), "\r{line}{:blanks$}", "");
        (self.width, self.drawn) = (line.len(), Instant::now());
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.width > 0 {
            let _ = write!(io::stderr(), "\r{:width$}\r", "", width = self.width);
        }
    }
}
