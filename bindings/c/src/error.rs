//! Error objects.

use crate::guard::{free, quiet};
use crate::raw::c_text;
use kal::diagnostic::draw::{self, Style};
use kal::diagnostic::{Diagnostic, ErrorCode};
use kal::{Error, RowError};
use std::any::Any;
use std::ffi::{CString, c_char};
use std::fmt::Write;
use std::sync::OnceLock;

/// A text was refused: it has mistakes.
pub const KAL_ERROR_INVALID: u32 = 1;
/// A program, or a function of the host in it, failed while it ran.
pub const KAL_ERROR_FAILED: u32 = 2;
/// What ran was interrupted.
pub const KAL_ERROR_INTERRUPTED: u32 = 3;
/// What ran took longer than allowed.
pub const KAL_ERROR_DEADLINE: u32 = 4;
/// The call was wrong: nothing is defined of that name, a column has another length, a pointer
/// is NULL.
pub const KAL_ERROR_CALLER: u32 = 5;
/// The context is in use: by another thread, or by the caller, who is inside of it.
pub const KAL_ERROR_IN_USE: u32 = 6;
/// The system refuses memory, a thread or a file.
pub const KAL_ERROR_SYSTEM: u32 = 7;
/// A bug in Kal, which is worth a report. Everything can be used afterwards.
pub const KAL_ERROR_INTERNAL: u32 = 8;

/// The row of an error that has none. `cbindgen.toml` has it for C.
pub const KAL_NO_ROW: usize = usize::MAX;

/// What went wrong. It does not change, any thread may read it, and its texts are there until it
/// is freed.
pub struct KalError {
    kind: u32,
    message: CString,
    diagnostics: Vec<Diagnostic>,
    row: Option<usize>,
    code: OnceLock<CString>,
    source: OnceLock<CString>,
    report: OnceLock<CString>,
    json: OnceLock<CString>,
}

impl KalError {
    fn new(kind: u32, message: impl Into<Vec<u8>>) -> Self {
        Self {
            kind,
            message: c_text(message),
            diagnostics: Vec::new(),
            row: None,
            code: OnceLock::new(),
            source: OnceLock::new(),
            report: OnceLock::new(),
            json: OnceLock::new(),
        }
    }

    /// Creates the error of a call that is wrong.
    #[cold]
    pub fn of_caller(message: impl Into<Vec<u8>>) -> Box<Self> {
        Box::new(Self::new(KAL_ERROR_CALLER, message))
    }

    /// Creates the error of a call with a null pointer.
    #[cold]
    pub fn of_null(what: &str) -> Box<Self> {
        Self::of_caller(format!("the {what} is null"))
    }

    /// Creates the error for something that is in use.
    #[cold]
    pub fn in_use(what: &str) -> Box<Self> {
        Box::new(Self::new(KAL_ERROR_IN_USE, format!("the {what} is in use")))
    }

    /// Creates the error for what the system refuses.
    pub fn of_system(message: impl Into<Vec<u8>>) -> Box<Self> {
        Box::new(Self::new(KAL_ERROR_SYSTEM, message))
    }

    /// Creates the error for a panic.
    #[cold]
    pub fn of_panic(payload: Box<dyn Any + Send>) -> Box<Self> {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        let error =
            Self::new(KAL_ERROR_INTERNAL, format!("this is a bug in Kal: {}", text.unwrap_or("a panic")));
        // What it panicked with may panic again when it is dropped.
        std::mem::forget(payload);
        Box::new(error)
    }

    fn first(&self) -> Option<&Diagnostic> {
        self.diagnostics.first()
    }

    fn code(&self) -> String {
        let internal = || (self.kind == KAL_ERROR_INTERNAL).then_some(ErrorCode::Internal);
        self.first()
            .map(|first| first.code)
            .or_else(internal)
            .map(|code| code.to_string())
            .unwrap_or_default()
    }

    /// Returns the name of the text, and the line and column in it.
    fn place(&self) -> Option<(&str, usize, usize)> {
        let label = self.first()?.labels.first()?;
        let (line, column) = label.source.position(label.span.start);
        Some((label.source.name(), line, column))
    }

    fn report(&self) -> String {
        let drawn: String =
            self.diagnostics.iter().map(|diagnostic| draw::draw(diagnostic, Style::default())).collect();
        let mut report =
            if drawn.is_empty() { format!("error: {}\n", self.message.to_string_lossy()) } else { drawn };
        if let (Some(row), false) = (self.row, self.diagnostics.is_empty()) {
            let _ = writeln!(report, "  Row: {row}");
        }
        report
    }

    fn json(&self) -> String {
        let diagnostics = self.diagnostics.iter().map(draw::json);
        let diagnostics = diagnostics.filter_map(|text| serde_json::from_str(&text).ok());
        let code = Some(self.code()).filter(|code| !code.is_empty());
        serde_json::json!({
            "kind": KINDS.get(self.kind as usize).copied().unwrap_or_default(),
            "code": code,
            "message": self.message.to_string_lossy(),
            "row": self.row,
            "diagnostics": diagnostics.collect::<Vec<serde_json::Value>>(),
        })
        .to_string()
    }
}

/// The kinds of errors in JSON, by their numbers.
const KINDS: [&str; 9] =
    ["", "invalid", "failed", "interrupted", "deadline", "caller", "in use", "system", "internal"];

impl From<Error> for Box<KalError> {
    #[cold]
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::Invalid(_) => KAL_ERROR_INVALID,
            Error::Internal(_) => KAL_ERROR_INTERNAL,
            Error::Failed(_) => KAL_ERROR_FAILED,
            Error::NoCompiler(_) | Error::NoMemory(_) | Error::Foreign(_) | Error::ImageRequired(_) => {
                KAL_ERROR_SYSTEM
            }
            _ => KAL_ERROR_CALLER,
        };
        let kind = match error.diagnostics().first().map(|first| first.code) {
            Some(ErrorCode::Interrupted) => KAL_ERROR_INTERRUPTED,
            Some(ErrorCode::DeadlineExceeded) => KAL_ERROR_DEADLINE,
            _ => kind,
        };
        let diagnostics = error.diagnostics().to_vec();
        Self::new(KalError { diagnostics, ..KalError::new(kind, error.to_string()) })
    }
}

impl From<RowError> for Box<KalError> {
    fn from(error: RowError) -> Self {
        let message = c_text(error.to_string());
        Self::new(KalError { row: error.row, message, ..*Self::from(error.error) })
    }
}

fn text<'a>(
    error: Option<&'a KalError>,
    choose: impl FnOnce(&'a KalError) -> &'a OnceLock<CString>,
    write: impl FnOnce(&'a KalError) -> String,
) -> *const c_char {
    quiet(c"".as_ptr(), || {
        error.map_or(c"".as_ptr(), |error| choose(error).get_or_init(|| c_text(write(error))).as_ptr())
    })
}

/// Returns what went wrong, on one line; "" for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kal_error_message(error: Option<&KalError>) -> *const c_char {
    error.map_or(c"".as_ptr(), |error| error.message.as_ptr())
}

/// Returns whose mistake it is: one of the numbers `KAL_ERROR_…`; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kal_error_kind(error: Option<&KalError>) -> u32 {
    error.map_or(0, |error| error.kind)
}

/// Returns the code of the mistake in a program, such as "E0205"; "" if it is none.
#[unsafe(no_mangle)]
pub extern "C" fn kal_error_code(error: Option<&KalError>) -> *const c_char {
    text(error, |error| &error.code, KalError::code)
}

/// Returns the name of the text with the mistake: that of a file, or "<eval>"; "" if it is in
/// none.
#[unsafe(no_mangle)]
pub extern "C" fn kal_error_source(error: Option<&KalError>) -> *const c_char {
    let name = |error: &KalError| error.place().map_or(String::new(), |(name, ..)| name.to_owned());
    text(error, |error| &error.source, name)
}

/// Returns the line of the mistake in its text, from 1; 0 if it is in none.
#[unsafe(no_mangle)]
pub extern "C" fn kal_error_line(error: Option<&KalError>) -> usize {
    quiet(0, || error.and_then(KalError::place).map_or(0, |(_, line, _)| line))
}

/// Returns the column of the mistake in its line, from 1, in characters; 0 if it is in no text.
#[unsafe(no_mangle)]
pub extern "C" fn kal_error_column(error: Option<&KalError>) -> usize {
    quiet(0, || error.and_then(KalError::place).map_or(0, |(_, _, column)| column))
}

/// Returns the lowest row that failed, or was not complete when a kernel was stopped, from 0;
/// `KAL_NO_ROW` if the error is not that of a row.
#[unsafe(no_mangle)]
pub extern "C" fn kal_error_row(error: Option<&KalError>) -> usize {
    error.and_then(|error| error.row).unwrap_or(KAL_NO_ROW)
}

/// Returns all mistakes for people, each with the lines of its text, marks under them, advice
/// and the calls in progress: several lines.
#[unsafe(no_mangle)]
pub extern "C" fn kal_error_report(error: Option<&KalError>) -> *const c_char {
    text(error, |error| &error.report, KalError::report)
}

/// Returns everything for programs, as a JSON object on one line: `kind`, `code`, `message`,
/// `row`, and `diagnostics`, which are as `kal check --json` writes them.
#[unsafe(no_mangle)]
pub extern "C" fn kal_error_json(error: Option<&KalError>) -> *const c_char {
    text(error, |error| &error.json, KalError::json)
}

/// Frees an error; nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kal_error_free(error: Option<Box<KalError>>) {
    free(error);
}
