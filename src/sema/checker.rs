//! The check of one item in progress.

use super::environment::Environment;
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::name::{HeldName, HeldNames, Name};
use crate::source::{Source, Span};
use crate::stop::Poll;

/// The check of one item: its environment and what has been found so far.
pub(super) struct Checker<'a> {
    pub(super) environment: &'a dyn Environment,
    pub(super) source: &'a Source,
    /// The names of the item.
    pub(super) names: HeldNames,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) poll: Poll,
}

impl<'a> Checker<'a> {
    pub(super) fn new(environment: &'a dyn Environment, source: &'a Source, names: HeldNames) -> Self {
        Self { environment, source, names, diagnostics: Vec::new(), poll: environment.poll() }
    }

    pub(super) fn text(&self, name: Name) -> HeldName {
        self.environment.names().text(name)
    }

    pub(super) fn error(&mut self, code: ErrorCode, span: Span, message: String) -> &mut Diagnostic {
        let at = self.diagnostics.len();
        self.diagnostics.push(Diagnostic::error(code, self.source, span, message));
        &mut self.diagnostics[at]
    }
}
