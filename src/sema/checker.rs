//! The check of one item in progress.

use super::environment::Environment;
use super::unqualified;
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::module::{MemberKind, NameMistake};
use crate::name::{HeldName, HeldNames, Name};
use crate::source::{Source, Span};
use crate::stop::Poll;
use crate::syntax::ast::Spanned;

/// The check of one item: its environment and what has been found so far.
pub(super) struct Checker<'a> {
    pub(super) environment: &'a dyn Environment,
    pub(super) source: &'a Source,
    /// The names of the item.
    pub(super) names: HeldNames,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) poll: Poll,
    has_aliases: bool,
    /// The names that others stood for.
    pub(super) resolved: Vec<HeldName>,
}

impl<'a> Checker<'a> {
    pub(super) fn new(environment: &'a dyn Environment, source: &'a Source, names: HeldNames) -> Self {
        Self {
            environment,
            source,
            names,
            diagnostics: Vec::new(),
            poll: environment.poll(),
            has_aliases: environment.has_aliases(),
            resolved: Vec::new(),
        }
    }

    /// Returns what a name at a place stands for.
    pub(super) fn global(&mut self, name: Name, kind: MemberKind, span: Span) -> Name {
        if !self.has_aliases && !self.source.slice(span).contains('.') {
            return name;
        }
        let found = self.environment.global(name, kind);
        self.resolve(name, found, span)
    }

    /// Returns the same without a mistake, if there is one.
    pub(super) fn stands_for(&self, name: Name, kind: MemberKind, span: Span) -> Option<Name> {
        if !self.has_aliases && !self.source.slice(span).contains('.') {
            return Some(name);
        }
        self.environment.global(name, kind).ok().map(|found| found.name())
    }

    /// Returns what the head of a definition names.
    pub(super) fn head(&mut self, head: Spanned) -> Spanned {
        if !self.has_aliases && !self.source.slice(head.span).contains('.') {
            return head;
        }
        let found = self.environment.head(head.name);
        Spanned { name: self.resolve(head.name, found, head.span), span: head.span }
    }

    fn resolve(&mut self, name: Name, found: Result<HeldName, NameMistake>, span: Span) -> Name {
        match found {
            Ok(found) => {
                let resolved = found.name();
                if resolved != name && !found.is_permanent() && !self.resolved.contains(&found) {
                    self.resolved.push(found);
                }
                resolved
            }
            Err(mistake) => {
                let mut diagnostic = mistake.at(self.source, span);
                let (names, hosts) = (self.environment.names(), self.environment.hosts());
                if let Some(help) = unqualified::advice(self.source.slice(span), names, hosts) {
                    diagnostic.help = Some(help);
                }
                self.diagnostics.push(diagnostic);
                name
            }
        }
    }

    /// Returns the names of the item, with those that they stood for.
    pub(super) fn names(&self) -> HeldNames {
        if self.resolved.is_empty() {
            return self.names.clone();
        }
        self.names.iter().chain(&self.resolved).cloned().collect()
    }

    /// Returns a name, which the item holds.
    pub(super) fn hold(&mut self, text: &str) -> Name {
        let held = self.environment.names().hold(text);
        let name = held.name();
        if !self.resolved.contains(&held) {
            self.resolved.push(held);
        }
        name
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
