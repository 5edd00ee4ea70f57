//! Colours of the prompt: escape sequences, one name for each use.

pub(crate) const PROMPT: &str = "\x1b[1;32m";
pub(crate) const KEYWORD: &str = "\x1b[35m";
pub(crate) const NUMBER: &str = "\x1b[33m";
pub(crate) const OPERATOR: &str = "\x1b[2m";
pub(crate) const KNOWN: &str = "\x1b[36m";
pub(crate) const UNKNOWN: &str = "\x1b[31m";
pub(crate) const NEW: &str = "\x1b[1;36m";
pub(crate) const FAINT: &str = "\x1b[2m";
pub(crate) const MATCH: &str = "\x1b[1;4m";
pub(crate) const MISMATCH: &str = "\x1b[1;31m";
pub(crate) const COMMAND: &str = "\x1b[34m";
/// Curves of a plot, in turn.
pub(crate) const CURVES: &[&str] = &["\x1b[34m", "\x1b[33m", "\x1b[32m", "\x1b[35m", "\x1b[36m", "\x1b[31m"];
const OFF: &str = "\x1b[0m";

/// Returns a text in a colour.
pub(crate) fn paint(color: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{color}{text}{OFF}") }
}
