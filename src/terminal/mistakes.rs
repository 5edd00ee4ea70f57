//! The mistakes in a source besides the one that ended it.

use crate::context::Context;
use crate::diagnostic::Diagnostic;
use crate::error::Error;
use crate::source::Source;

/// Returns the syntax errors of a source besides those with which it ended;
/// nothing if it did not end with any.
pub(crate) fn other_mistakes(context: &Context, source: &Source, misread: &[Diagnostic]) -> Vec<Diagnostic> {
    if misread.is_empty() {
        return Vec::new();
    }
    let mut others = context.syntax_errors(source);
    // What is wrong with a module was said where that was imported.
    let is_here = |diagnostic: &Diagnostic| {
        diagnostic.labels.first().is_some_and(|label| label.source.name() == source.name())
    };
    others.retain(|diagnostic| is_here(diagnostic) && !misread.contains(diagnostic));
    others
}

/// Returns those of an error's diagnostics that are syntax errors.
pub(crate) fn syntax_errors(error: &Error) -> Vec<Diagnostic> {
    let diagnostics = error.diagnostics().iter();
    diagnostics.filter(|diagnostic| diagnostic.code.is_syntax()).cloned().collect()
}
