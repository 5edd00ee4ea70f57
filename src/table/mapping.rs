//! All rows of a table, computed.
//!
//! One thread reads rows and their numbers, a piece of the table at a time; this one computes
//! and writes them. So memory does not depend on the length of the table.

use super::csv::TableRows;
use super::error::MapError;
use super::input::TableInput;
use super::progress::ProgressLine;
use super::results::RowResults;
use super::writer::TableWriter;
use crate::diagnostic::visible::visible_text;
use crate::error::Error;
use crate::host::decimal::format_number;
use crate::kernel::{Failing, Kernel, Run, Validity};
use crate::process;
use crate::terminal::exit::Exit;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

/// Pieces that are read ahead of the one that is computed.
const AHEAD: usize = 2;

/// How often a request to stop is looked for while nothing arrives.
const TICK: Duration = Duration::from_millis(20);

/// At most this many columns of a row that fails are shown.
const SHOWN: usize = 8;

/// A table on its way from a reader to a writer.
pub(super) struct TableMapping<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) run: Run<'static>,
    /// The columns of the parameters, by their names in the header.
    pub(super) parameters: Vec<String>,
    /// What errors call the table.
    pub(super) input: String,
    pub(super) writer: TableWriter,
    /// The file of the table that is written; standard output if `None`.
    pub(super) output: Option<String>,
    /// Whether rows may fail.
    pub(super) skips_failures: bool,
    /// How many rows are computed at most.
    pub(super) rows: usize,
    pub(super) progress: ProgressLine,
}

/// What was done, with the rows whose results are empty although they have values.
#[derive(Default)]
pub(super) struct TableSummary {
    /// How many rows are written.
    pub(super) rows: usize,
    /// Whether there are others.
    pub(super) has_more: bool,
    /// Those with a field that is no number.
    unreadable: usize,
    /// Those in which the function failed.
    failed: usize,
}

impl TableSummary {
    /// Returns a sentence about rows with empty results, if there are any.
    pub(super) fn described(&self) -> Option<String> {
        let rows = |count| if count == 1 { "1 row".to_owned() } else { format!("{count} rows") };
        let unreadable = format!("{} with a field that is not a number", rows(self.unreadable));
        let failed = format!("{} in which the function failed", rows(self.failed));
        let what = match (self.unreadable, self.failed) {
            (0, 0) => return None,
            (_, 0) => unreadable,
            (0, _) => failed,
            (_, _) => format!("{unreadable}, {failed}"),
        };
        Some(format!("results are empty: {what}"))
    }
}

impl TableMapping<'_> {
    /// Maps all rows.
    ///
    /// # Errors
    /// The first row with a mistake, or that failed; those before it are written.
    pub(super) fn run(mut self, reader: TableInput) -> Result<TableSummary, MapError> {
        let (full_sender, full) = mpsc::sync_channel(AHEAD);
        let (empty, empty_receiver) = mpsc::channel();
        let builder = thread::Builder::new().name("kal table".into());
        // It is not waited for: it may be reading from a pipe in which nothing comes.
        process::spawn(builder, move || read_all(reader, &full_sender, &empty_receiver))
            .map_err(MapError::Thread)?;
        let failed = |error| MapError::Write { file: self.output.clone(), error };
        let (mut results, mut done) = (RowResults::default(), TableSummary::default());
        loop {
            let mut rows = self.next(&full)?;
            let (complete, error) = self.compute(&rows, &mut results);
            self.kernel.flush().map_err(MapError::Print)?;
            let left = self.rows - done.rows;
            done.has_more = rows.len() > left;
            let (complete, error) = (complete.min(left), error.filter(|_| complete < left));
            done.rows += complete;
            self.writer.rows(&rows, &results, complete).map_err(failed)?;
            if let Some(error) = error.or_else(|| rows.error.take().map(MapError::Table)) {
                return Err(error);
            }
            done.unreadable += rows.unreadable;
            done.failed += results.failures();
            self.progress.add(rows.len());
            if rows.is_last || done.has_more {
                break;
            }
            let _ = empty.send(rows);
        }
        self.writer.finish().map_err(failed)?;
        Ok(done)
    }

    /// Computes some rows. Returns how many of them are complete, and why not all.
    fn compute(&self, rows: &TableRows, results: &mut RowResults) -> (usize, Option<MapError>) {
        results.reset(rows.len());
        let mut run = self.run.next();
        run.valid = (!rows.is_valid).then_some(Validity { bitmap: &rows.valid, offset: 0 });
        run.failing = if self.skips_failures { Failing::Mark(&mut results.failed) } else { Failing::Stop };
        match self.kernel.apply(&rows.columns(), &mut results.values, &mut run) {
            Ok(()) => (rows.len(), None),
            Err(failure) => {
                let row = failure.row.unwrap_or(0);
                let is_of_row = failure.row.is_some() && !is_stop(&failure.error);
                let place = is_of_row.then(|| self.described(rows, row));
                (row, Some(MapError::Kal(failure.error, place)))
            }
        }
    }

    /// Returns a line that says where a row is and what it holds.
    fn described(&self, rows: &TableRows, row: usize) -> String {
        let number = |(column, name): (usize, &String)| {
            format!("{name} = {}", format_number(rows.number(column, row)))
        };
        let mut numbers: Vec<_> = self.parameters.iter().enumerate().take(SHOWN).map(number).collect();
        if self.parameters.len() > SHOWN {
            numbers.push("…".into());
        }
        let line = format!("{}: the row that failed", rows.place(&self.input, row));
        let line = if numbers.is_empty() { line } else { format!("{line}: {}", numbers.join(", ")) };
        format!("note: {}", visible_text(&line))
    }

    /// Waits for the next rows.
    fn next(&self, full: &Receiver<TableRows>) -> Result<TableRows, MapError> {
        loop {
            let rows = full.recv_timeout(TICK);
            if let Some(error) = self.kernel.stop_of(&self.run) {
                return Err(error.into());
            }
            if self.run.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Err(MapError::Deadline);
            }
            match rows {
                Ok(rows) => return Ok(rows),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(MapError::Reported(Exit::Bug)),
            }
        }
    }
}

/// Reads a table to its end, or to what is wrong with it.
fn read_all(mut reader: TableInput, full: &SyncSender<TableRows>, empty: &Receiver<TableRows>) {
    loop {
        let mut rows = empty.try_recv().unwrap_or_default();
        reader.fill(&mut rows);
        let is_last = rows.is_last;
        if full.send(rows).is_err() || is_last {
            return;
        }
    }
}

/// Returns whether an error is no row's own.
fn is_stop(error: &Error) -> bool {
    error.diagnostics().first().is_some_and(|diagnostic| diagnostic.code.is_stop())
}
