//! Expressions that are read at a stop: they see the variables of a call, and
//! may assign them.

use super::{Inner, Scope};
use crate::diagnostic::suggest::Budget;
use crate::diagnostic::{Diagnostic, draw};
use crate::host::HostFunctions;
use crate::interp::inspect::{Frame, Stop};
use crate::name::{Name, Names};
use crate::sema::checked::Function;
use crate::sema::{self, Environment};
use crate::source::Source;
use crate::stop::Poll;
use crate::syntax::lexer::lex;
use crate::syntax::parser::{Limits, Parser};
use std::sync::Arc;

impl Inner {
    /// The value of an expression in a call; what it assigns is changed there.
    pub(super) fn evaluate(&mut self, stop: &mut Stop<'_>, frame: &Frame, text: &str) -> Result<f64, String> {
        let locals = self.visible(stop, frame);
        let parameters: Vec<Name> = locals.iter().map(|(name, _)| *name).collect();
        let function = self.known(stop, text, parameters).map_err(|diagnostics| {
            diagnostics.iter().map(|found| draw::draw(found, draw::Style::default())).collect::<String>()
        })?;
        let before: Vec<f64> = locals.iter().map(|(_, local)| stop.local(frame, *local)).collect();
        // What it calls is linked without breaks.
        self.has_changed |= !function.callees.is_empty();
        let result = stop.evaluate(&function, &before);
        let (value, after) = result.map_err(|stopped| self.why(stop, &stopped))?;
        for ((_, local), (before, after)) in locals.iter().zip(before.iter().zip(&after)) {
            if before.to_bits() != after.to_bits() {
                stop.set_local(frame, *local, *after);
            }
        }
        Ok(value)
    }

    /// The checked expression, as it was read before in this run if it was: a
    /// condition is evaluated often.
    fn known(
        &mut self,
        stop: &Stop<'_>,
        text: &str,
        parameters: Vec<Name>,
    ) -> Result<Arc<Function>, Vec<Diagnostic>> {
        let key = (text.to_owned(), parameters);
        if let Some(function) = self.read.get(&key) {
            return Ok(function.clone());
        }
        let function = self.read(stop, text, &key.1)?;
        self.read.insert(key, function.clone());
        Ok(function)
    }

    /// Checks an expression that has parameters.
    fn read(
        &self,
        stop: &Stop<'_>,
        text: &str,
        parameters: &[Name],
    ) -> Result<Arc<Function>, Vec<Diagnostic>> {
        let source = Source::new("<debug>", text);
        let tokens = lex(&source, &self.names).map_err(|diagnostic| vec![diagnostic])?;
        let limits = Limits { max_nesting: self.scope.max_nesting };
        let mut parser = Parser::new(&tokens, &self.names, limits);
        let missing = || {
            let end = crate::source::Span::new(text.len(), text.len());
            let code = crate::diagnostic::Code::UnexpectedToken;
            let message = "expected an expression, found nothing";
            vec![Diagnostic::error(code, &source, end, message).with_note("expected an expression")]
        };
        let item = parser.next_item(&self.scope.operators).ok_or_else(missing)?;
        let item = item.map_err(|errors| errors.diagnostics)?;
        let suggestions = Budget::default();
        let surroundings = Surroundings { stop, scope: &self.scope, names: &self.names, suggestions };
        sema::check_formula(&item, parameters, &surroundings)
    }
}

/// What the check asks of a program that stands still.
struct Surroundings<'a, 's> {
    stop: &'a Stop<'s>,
    scope: &'a Scope,
    names: &'a Names,
    suggestions: Budget,
}

impl Environment for Surroundings<'_, '_> {
    fn names(&self) -> &Names {
        self.names
    }

    fn hosts(&self) -> &HostFunctions {
        self.stop.hosts()
    }

    fn function(&self, name: Name) -> Option<Arc<Function>> {
        self.stop.binding(name).cloned()
    }

    fn declared(&self, _: Name) -> Option<u32> {
        None
    }

    fn has_variable(&self, name: Name) -> bool {
        self.scope.variables.contains(&name)
    }

    fn functions(&self) -> Vec<Name> {
        self.stop.bound().map(|function| function.name).chain(self.stop.hosts().names()).collect()
    }

    fn variables(&self) -> Vec<Name> {
        self.scope.variables.iter().copied().collect()
    }

    fn suggestions(&self) -> &Budget {
        &self.suggestions
    }

    fn poll(&self) -> Poll {
        Poll::default()
    }
}
