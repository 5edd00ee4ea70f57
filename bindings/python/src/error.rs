//! Errors as Python's exceptions. Their classes are in `kal/_errors.py`.

use crate::callback::readable_diagnostic;
use kal::diagnostic::draw::{Style, draw};
use kal::diagnostic::{Diagnostic, ErrorCode};
use kal::source::Source;
use kal::{Error, RowError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Returns the function of Python that makes exceptions: `make(kind, message, code, line,
/// column, source, row, report, calls)`.
fn maker(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static MAKER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = || PyResult::Ok(py.import("kal._errors")?.getattr("make")?.unbind());
    Ok(MAKER.get_or_try_init(py, make)?.bind(py))
}

/// Returns the class of an exception, by its name.
fn kind(error: &Error) -> &'static str {
    match error {
        Error::Invalid(_) | Error::BadName(_) | Error::Constant { .. } => "SourceError",
        Error::Failed(diagnostic) => match diagnostic.code {
            ErrorCode::Interrupted => "Stopped",
            ErrorCode::DeadlineExceeded => "Timeout",
            _ => "RunError",
        },
        Error::NoFunction(_) | Error::NoVariable(_) => "UndefinedError",
        Error::Arity { .. } | Error::TakesFunctions(_) => "ArgumentsError",
        _ => "Error",
    }
}

/// Returns the exception for an error, in a row if it was in one.
pub fn exception(py: Python<'_>, error: &Error, row: Option<usize>) -> PyErr {
    let diagnostics: Vec<Diagnostic> = error.diagnostics().iter().map(readable_diagnostic).collect();
    let diagnostic = diagnostics.first();
    let code = diagnostic.map(|diagnostic| diagnostic.code.to_string());
    let place = diagnostic.and_then(|diagnostic| diagnostic.labels.first()).map(|label| {
        let (line, column) = label.source.position(label.span.start);
        (line, column, label.source.name().to_owned())
    });
    let (line, column, source) =
        place.map_or((None, None, None), |(line, column, source)| (Some(line), Some(column), Some(source)));
    let style = Style { colour: false, columns: Some(100) };
    let report: String = diagnostics.iter().map(|diagnostic| draw(diagnostic, style)).collect();
    let calls = diagnostic.map_or_else(Vec::new, |Diagnostic { trace, .. }| trace.clone());
    let kind = match kind(error) {
        "RunError" if row.is_some() => "RowError",
        kind => kind,
    };
    let message = match (error, diagnostic) {
        // These show their first diagnostic.
        (Error::Invalid(_) | Error::Failed(_), Some(diagnostic)) => diagnostic.message.clone(),
        _ => error.to_string(),
    };
    let made = maker(py)
        .and_then(|make| make.call1((kind, message, code, line, column, source, row, report, calls)));
    made.map_or_else(|failure| failure, PyErr::from_value)
}

/// Returns the exception for a file that is UTF-8 text only up to a place: that of the end of
/// `before`.
pub fn not_text(py: Python<'_>, before: &Source) -> PyErr {
    let (line, column) = before.position(before.text().len() as u32);
    let message = "the file is not UTF-8 text from here on";
    let (code, row, report, calls) = (None::<String>, None::<usize>, "", Vec::<String>::new());
    let made = maker(py).and_then(|make| {
        make.call1(("SourceError", message, code, line, column, before.name(), row, report, calls))
    });
    made.map_or_else(|failure| failure, PyErr::from_value)
}

/// Returns the exception for an error, which something raised in Python may have caused.
pub fn with_cause(py: Python<'_>, error: &Error, row: Option<usize>, cause: Option<PyErr>) -> PyErr {
    let exception = exception(py, error, row);
    if cause.is_some() {
        exception.set_cause(py, cause);
    }
    exception
}

/// Returns the exception for a row that failed.
pub fn row_exception(py: Python<'_>, error: &RowError) -> PyErr {
    exception(py, &error.error, error.row)
}

/// Turns errors into exceptions.
pub trait OrException<T> {
    /// Returns the value, or the exception for the error.
    fn or_exception(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrException<T> for Result<T, Error> {
    fn or_exception(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error, None))
    }
}
