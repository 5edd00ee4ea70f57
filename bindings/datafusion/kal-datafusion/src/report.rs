//! Kal's errors as those of DataFusion.

use datafusion::error::DataFusionError;
use kal::diagnostic::draw::{Style, draw};
use kal::diagnostic::{Diagnostic, ErrorCode};
use kal::source::{Source, Span};
use kal::{Error, Remark};

/// Returns the plan error for what Kal refuses: each mistake with its code, and with its place
/// in the source.
pub(crate) fn refusal(what: &str, error: &Error) -> DataFusionError {
    match error.diagnostics() {
        [] => DataFusionError::Plan(format!("{what}: {error}")),
        diagnostics => refusal_of(what, diagnostics),
    }
}

/// Returns the plan error for mistakes.
pub(crate) fn refusal_of(what: &str, mistakes: &[Diagnostic]) -> DataFusionError {
    let drawn: Vec<String> = mistakes.iter().map(|mistake| draw(mistake, Style::default())).collect();
    DataFusionError::Plan(format!("{what}\n{}", drawn.concat().trim_end()))
}

/// Returns the mistake that a remark is about.
pub(crate) fn mistake(code: ErrorCode, remark: &Remark, fallback: &Source) -> Diagnostic {
    let whole = || (fallback.clone(), Span::new(0, fallback.text().len()));
    let (source, span) = remark.place.clone().unwrap_or_else(whole);
    Diagnostic::error(code, &source, span, remark.message.clone())
}

/// Returns what an error says on one line, with its code.
pub(crate) fn in_one_line(error: &Error) -> String {
    match error.diagnostics() {
        [first, ..] => format!("error[{}]: {}", first.code, first.message),
        [] => error.to_string(),
    }
}
