//! Computing rows so that signals are heard.
//!
//! What ends soon is simply computed. What may last begins on the caller's thread, with a
//! deadline after which signals are looked at. Then the rows that are missing are computed on
//! another thread while the caller waits. What has effects cannot begin twice, so it is
//! computed there from the first row on.

use crate::error::{row_exception, with_cause};
use crate::meaning::{Meaning, QUICK};
use crate::signals::{self, Heard};
use kal::diagnostic::ErrorCode;
use kal::{Column, Failing, RowError, Run, Validity};
use pyo3::prelude::*;
use std::time::Instant;

/// What becomes of a row that fails.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// It is an exception.
    #[default]
    Raise,
    /// Its result is NaN; of a column with nulls, null.
    Nan,
}

/// How rows are computed.
#[derive(Default)]
pub struct How<'a> {
    pub threads: usize,
    pub on_error: OnError,
    /// How often the session had been interrupted when the computation began, if that is not
    /// now.
    pub since: Option<u64>,
    /// The rows that have values.
    pub valid: Option<Validity<'a>>,
    /// Where the rows that have failed are marked, a bit for each.
    pub marks: Option<&'a mut [u8]>,
}

/// Why an output is not complete.
pub enum Ending {
    /// A row failed, or was being computed when the run was stopped.
    Row(RowError),
    /// Something was raised in Python.
    Raised(PyErr),
    /// A row failed because a Python function has raised something.
    Caused(Box<(RowError, PyErr)>),
}

impl Ending {
    /// Returns the exception of Python.
    pub fn exception(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Row(error) => row_exception(py, &error),
            Self::Raised(error) => error,
            Self::Caused(both) => with_cause(py, &both.0.error, both.0.row, Some(both.1)),
        }
    }

    /// Returns the row in which it was, if that is known.
    pub fn row(&self) -> Option<usize> {
        match self {
            Self::Row(error) => error.row,
            Self::Raised(_) => None,
            Self::Caused(both) => both.0.row,
        }
    }

    /// Returns it for rows of which the first one had this number, if that is known.
    pub fn after(self, first: Option<usize>) -> Self {
        let moved = |mut error: RowError| {
            error.row = error.row.zip(first).map(|(row, first)| row + first);
            error
        };
        match self {
            Self::Row(error) => Self::Row(moved(error)),
            Self::Raised(error) => Self::Raised(error),
            Self::Caused(both) => Self::Caused(Box::new((moved(both.0), both.1))),
        }
    }
}

impl From<RowError> for Ending {
    fn from(error: RowError) -> Self {
        Self::Row(error)
    }
}

/// Returns whether all rows are computed soon.
pub fn is_quick(meaning: &Meaning, rows: usize) -> bool {
    meaning.operations.is_some_and(|operations| operations.saturating_mul(rows) <= QUICK)
}

/// Computes rows that are [computed soon](is_quick).
pub fn quick(
    meaning: &Meaning,
    inputs: &[Column<'_>],
    output: &mut [f64],
    how: How<'_>,
) -> Result<(), Ending> {
    Ok(meaning.kernel.apply(inputs, output, &mut how.run(&Run::new(), None))?)
}

/// Computes rows, detached from the interpreter as the caller is.
pub fn lasting(
    meaning: &Meaning,
    inputs: &[Column<'_>],
    output: &mut [f64],
    mut how: How<'_>,
) -> Result<(), Ending> {
    let Meaning { session, kernel, .. } = meaning;
    let end = session.settings.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let base = Run::new();
    let since = how.since.unwrap_or_else(|| session.runs.interrupts());
    let in_progress = session.runs.begin(since, base.interrupt_handle());
    let mut first = 0;
    if signals::is_heard_here() && kernel.is_pure() {
        let look = Instant::now() + signals::STEP;
        let until = end.map_or(look, |end| end.min(look));
        let Err(error) = kernel.apply(inputs, output, &mut how.rest(0).run(&base, Some(until))) else {
            return Ok(());
        };
        if !is_deadline(&error) || end.is_some_and(|end| Instant::now() >= end) {
            return Err(error.into());
        }
        signals::look(&session.printed).map_err(Ending::Raised)?;
        in_progress.heed();
        // Bitmaps are cut between two bytes.
        first = error.row.unwrap_or(0) & !7;
    }
    let inputs: Vec<Column<'_>> = inputs.iter().map(|input| rest_of(*input, first)).collect();
    let output = &mut output[first..];
    let mut run = how.rest(first).run(&base, end);
    let stop = || in_progress.stop();
    let work = || kernel.apply(&inputs, output, &mut run);
    let Heard { result, raised, cause } = signals::heard(&session.printed, stop, work);
    let written = signals::finish(&session.printed).err();
    let ending = match (result, raised.or(written), cause) {
        (_, Some(raised), _) => Ending::Raised(raised),
        (Ok(()), None, _) => return Ok(()),
        (Err(error), None, None) => Ending::Row(error),
        (Err(error), None, Some(cause)) => Ending::Caused(Box::new((error, cause))),
    };
    Err(ending.after(Some(first)))
}

fn is_deadline(error: &RowError) -> bool {
    let diagnostic = error.error.diagnostics().first();
    diagnostic.is_some_and(|diagnostic| diagnostic.code == ErrorCode::DeadlineExceeded)
}

fn rest_of(input: Column<'_>, first: usize) -> Column<'_> {
    match input {
        Column::Values(values) => Column::Values(&values[first..]),
        Column::Every(value) => Column::Every(value),
    }
}

impl<'a> How<'a> {
    /// Returns it for the rows from `first` on, a multiple of eight.
    fn rest(&mut self, first: usize) -> How<'_> {
        let valid = self.valid.map(|valid| Validity { offset: valid.offset + first, ..valid });
        let marks = self.marks.as_deref_mut().map(|marks| &mut marks[first / 8..]);
        How { threads: self.threads, on_error: self.on_error, since: self.since, valid, marks }
    }

    /// Returns the run, which the handles of `base` interrupt.
    fn run(self, base: &Run<'_>, deadline: Option<Instant>) -> Run<'a> {
        let mut run = base.next();
        run.threads = self.threads;
        run.deadline = deadline;
        run.valid = self.valid;
        run.failing = match (self.on_error, self.marks) {
            (OnError::Raise, _) => Failing::Stop,
            (OnError::Nan, None) => Failing::Nan,
            (OnError::Nan, Some(marks)) => Failing::Mark(marks),
        };
        run
    }
}
