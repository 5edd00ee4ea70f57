//! Expressions at a stop: they see the variables of a frame, and may assign
//! them.

use super::{DebuggerScope, Inner};
use crate::diagnostic::suggest::Budget;
use crate::diagnostic::{Diagnostic, ErrorCode, draw};
use crate::failure::RunFailure;
use crate::host::HostFunctions;
use crate::interp::KeptFunction;
use crate::interp::inspect::{CallFrame, PausedRun};
use crate::module::{Imports, MemberKind, NameMistake};
use crate::name::{HeldName, Name, Names};
use crate::sema::checked::CheckedFunction;
use crate::sema::{self, Environment, Extern};
use crate::source::{Source, Span};
use crate::stop::Poll;
use crate::syntax::ast;
use crate::syntax::lexer::lex;
use crate::syntax::parser::{NotOneItem, ParseLimits, Parser};
use std::sync::Arc;

/// Why an expression at a stop has no value.
#[derive(Debug, thiserror::Error)]
pub(super) enum EvaluationError {
    /// It is not an expression, or has no meaning there.
    #[error("{}", drawn(.0))]
    Invalid(Vec<Diagnostic>),
    /// It did not run to its end.
    #[error("error: {}", .0.message)]
    Failed(Box<Diagnostic>),
}

impl Inner {
    /// Evaluates an expression in a frame; assignments change the frame's
    /// variables.
    pub(super) fn evaluate(
        &mut self,
        stop: &mut PausedRun<'_>,
        frame: &CallFrame,
        text: &str,
    ) -> Result<f64, EvaluationError> {
        let locals = self.visible(frame);
        let extras = self.extras(&locals, text);
        let parameters: Vec<Name> = locals.iter().map(|(name, _)| *name).collect();
        let parameters = [parameters, extras.iter().map(|(name, _)| *name).collect()].concat();
        let function = self.known(text, parameters).map_err(EvaluationError::Invalid)?;
        self.adopt_called(stop, &function.function);
        let before = locals.iter().map(|(_, local)| stop.local(frame, *local));
        let before: Vec<f64> = before.chain(extras.iter().map(|(_, value)| *value)).collect();
        // Its callees are linked without breakpoints.
        self.has_changed |= !function.function.callees.is_empty();
        let result = stop.evaluate(&function, &before);
        let (value, after) = result.map_err(|stopped| self.why(&stopped))?;
        for ((_, local), (before, after)) in locals.iter().zip(before.iter().zip(&after)) {
            if before.to_bits() != after.to_bits() {
                stop.set_local(frame, *local, *after);
            }
        }
        Ok(value)
    }

    /// Binds the aliases and instances among the names that a function calls, which the program
    /// has not called so far.
    pub(super) fn adopt_called(&mut self, stop: &mut PausedRun<'_>, function: &CheckedFunction) {
        for callee in &function.callees {
            // What is debugged is shown as it is written.
            for adopted in self.scope.world.adopt(callee.name, false, &self.names) {
                stop.define(&adopted);
                self.breakpoints.note(&adopted);
                self.adopt_called(stop, &adopted);
            }
        }
    }

    /// Returns the error for an expression that failed.
    pub(super) fn why(&self, stopped: &RunFailure) -> EvaluationError {
        EvaluationError::Failed(Box::new(self.with_report(|report| report.diagnose_run(stopped))))
    }

    /// Returns the prompt's own values that a text names, unless the program
    /// defines that name: `_`, returned by the call stepped over, and `ans`.
    fn extras(&self, locals: &[(Name, u32)], text: &str) -> Vec<(Name, f64)> {
        let own = [("_", self.returned), ("ans", self.answer)];
        let named = own.into_iter().filter(|(name, _)| text.contains(name));
        let values = named.map(|(name, value)| (self.names.intern(name), value));
        let is_hidden = |name: Name| locals.iter().any(|(local, _)| *local == name);
        let known = values.filter_map(|(name, value)| match value {
            Some(value) => Some((name, value)),
            None if self.names.text(name) == "ans" && !self.scope.world.has_variable(name) => {
                Some((name, 0.0))
            }
            None => None,
        });
        known.filter(|(name, _)| !is_hidden(*name)).collect()
    }

    /// Returns the checked expression, cached for the present run: a condition
    /// is evaluated often.
    fn known(&mut self, text: &str, parameters: Vec<Name>) -> Result<Arc<KeptFunction>, Vec<Diagnostic>> {
        let key = (text.to_owned(), parameters);
        if let Some(function) = self.read.get(&key) {
            return Ok(function.clone());
        }
        let function = Arc::new(KeptFunction { function: self.read(text, &key.1)? });
        self.read.insert(key, function.clone());
        Ok(function)
    }

    /// Checks an expression that has parameters.
    fn read(&self, text: &str, parameters: &[Name]) -> Result<Arc<CheckedFunction>, Vec<Diagnostic>> {
        let item = parse(text, &self.names, &self.scope)?;
        self.checking(|surroundings| sema::check_formula(&item, parameters, surroundings))
    }

    /// Runs a check with the environment of a stop.
    pub(super) fn checking<T>(&self, check: impl FnOnce(&DebuggerEnvironment<'_>) -> T) -> T {
        check(&DebuggerEnvironment {
            hosts: &self.hosts,
            scope: &self.scope,
            names: &self.names,
            suggestions: Budget::default(),
        })
    }
}

/// Parses the first item of a text.
pub(super) fn parse(text: &str, names: &Names, scope: &DebuggerScope) -> Result<ast::Item, Vec<Diagnostic>> {
    let source = Source::new("<debug>", text);
    let tokens = lex(&source, names).map_err(|diagnostic| vec![diagnostic])?;
    let parser = Parser::new(&tokens, names, ParseLimits { max_nesting: scope.max_nesting });
    parser.only_item(scope.world.operators()).map_err(|reason| {
        let (place, message, note) = match reason {
            NotOneItem::Invalid(diagnostics) => return diagnostics,
            NotOneItem::Nothing => {
                let end = Span::new(text.len(), text.len());
                (end, "expected an expression, found nothing", "expected an expression")
            }
            NotOneItem::Another(next) => (next, "one expression at a time", "a second item"),
        };
        vec![Diagnostic::error(ErrorCode::UnexpectedToken, &source, place, message).with_note(note)]
    })
}

/// Draws diagnostics as text.
pub(super) fn drawn(diagnostics: &[Diagnostic]) -> String {
    let drawn = diagnostics.iter().map(|found| draw::draw(found, draw::Style::default()));
    drawn.collect::<String>().trim_end().to_owned()
}

/// The environment for checking input while a program is being debugged.
pub(super) struct DebuggerEnvironment<'a> {
    pub(super) hosts: &'a HostFunctions,
    pub(super) scope: &'a DebuggerScope,
    pub(super) names: &'a Names,
    /// The budget for suggestions.
    pub(super) suggestions: Budget,
}

impl Environment for DebuggerEnvironment<'_> {
    fn names(&self) -> &Names {
        self.names
    }

    fn hosts(&self) -> &HostFunctions {
        self.hosts
    }

    fn function(&self, name: Name) -> Option<Arc<CheckedFunction>> {
        self.scope.world.function(name).cloned()
    }

    fn global(&self, name: Name, kind: MemberKind) -> Result<HeldName, NameMistake> {
        self.scope.world.global(name, kind, self.names)
    }

    fn imports(&self) -> &Imports {
        self.scope.world.imports()
    }

    fn declared(&self, name: Name) -> Option<&Extern> {
        self.scope.world.declaration(name)
    }

    fn has_variable(&self, name: Name) -> bool {
        self.scope.world.has_variable(name)
    }

    fn functions(&self) -> Vec<Name> {
        let bound = self.scope.world.function_names();
        bound.chain(self.hosts.names()).collect()
    }

    fn variables(&self) -> Vec<Name> {
        self.scope.world.variables().collect()
    }

    fn suggestions(&self) -> &Budget {
        &self.suggestions
    }

    fn poll(&self) -> Poll {
        Poll::default()
    }
}
