//! What the command and its prompt ask of a context, beyond the embedding API:
//! checking input before it is run, and debugging a whole session.

use super::Context;
use crate::debugger::{Debugger, Ending};
use crate::diagnostic::{Diagnostic, Severity};
use crate::draft::Draft;
use crate::error::Error;
use crate::sema::CheckedItem;
use crate::source::Source;
use crate::syntax::operator::Operators;
use crate::syntax::parser;

impl Context {
    /// Returns the syntax errors of a source, in source order. Nothing is run.
    pub(crate) fn syntax_errors(&self, source: &Source) -> Vec<Diagnostic> {
        let mut mistakes = self.mistakes(source);
        mistakes.retain(|mistake| mistake.code.is_syntax());
        mistakes
    }

    /// Returns every mistake in a source that can be found without running it.
    /// Each item is checked as if those before it had been run.
    pub(crate) fn mistakes(&self, source: &Source) -> Vec<Diagnostic> {
        let draft = Draft::within(source, &self.engine, self, Operators::clone(self.world.operators()));
        draft.diagnostics.into_iter().filter(|diagnostic| diagnostic.severity == Severity::Error).collect()
    }

    /// Returns the lints of a source without syntax errors.
    pub(crate) fn lints(&self, source: &Source) -> Vec<Diagnostic> {
        parser::lints(source, self.engine.names(), Operators::clone(self.world.operators()))
    }

    /// Returns the length in bytes of all items of a source but the last:
    /// whatever is appended to it, they do not change.
    pub(crate) fn complete_items(&self, source: &Source) -> usize {
        let limits = parser::ParseLimits { max_nesting: self.engine.config().limits.max_nesting };
        parser::complete_items(source, self.engine.names(), self.world.operators(), limits)
    }

    /// Makes a step from the end of an expression continue in the next one;
    /// sets whether the first one stops at its beginning.
    pub(crate) fn follow(&mut self, stops_at_first: bool) {
        if let Some(debugger) = &self.debugger {
            debugger.follow();
            debugger.stop_at_first(stops_at_first);
            debugger.break_on_error(true);
            debugger.break_in(true);
        }
    }

    /// Announces the definitions of a source that is about to run; see
    /// [`expect`](Self::expect).
    pub(crate) fn expect_source(&self, source: &Source) {
        let draft = Draft::within(source, &self.engine, self, Operators::clone(self.world.operators()));
        self.expect(&draft.items);
    }

    /// Announces the items of a program that is about to run, so that
    /// breakpoints and conditions can name them.
    pub(crate) fn expect<'i>(&self, items: impl IntoIterator<Item = &'i CheckedItem>) {
        let Some(debugger) = &self.debugger else { return };
        let (mut scope, mut functions) = (self.scope(), Vec::new());
        for item in items {
            match item {
                CheckedItem::Definition(function, fixity) => {
                    scope.world.define(function, *fixity);
                    functions.push(function.clone());
                }
                CheckedItem::Variables(function, names) => {
                    names
                        .iter()
                        .for_each(|name| scope.world.declare_variable(self.engine.names().text(*name)));
                    functions.push(function.clone());
                }
                CheckedItem::Expression(function) | CheckedItem::Effect(function) => {
                    functions.push(function.clone());
                }
                CheckedItem::Extern(_) | CheckedItem::Import(_) => {}
            }
        }
        debugger.expect(functions, scope);
    }

    /// Returns how the last run was ended at the debugger's prompt, if it was.
    pub(crate) fn ending(&self) -> Option<Ending> {
        self.debugger.as_ref()?.ending()
    }

    /// Removes everything, for a restart; returns the names of what had been
    /// defined at the debugger's prompt.
    pub(crate) fn forget_definitions(&mut self) -> Vec<String> {
        let defined = self.debugger.as_ref().map(Debugger::take_defined).unwrap_or_default();
        self.reset();
        defined.into_iter().map(|name| self.engine.names().text(name).to_string()).collect()
    }

    /// Keeps the frames of a run that fails for [`examine`](Self::examine).
    pub(crate) fn keep_failures(&mut self) {
        self.keeps_failures = true;
        self.backend.keep_failures();
    }

    /// Shows the frames of the evaluation that failed last, if they have been
    /// kept; returns whether they have.
    pub(crate) fn examine(&mut self) -> bool {
        let Some(debugger) = self.debugger.clone() else { return false };
        debugger.begin(self.scope());
        let restore = debugger.look_at_everything();
        let was_there = self.backend.examine(&mut self.outside);
        restore(&debugger);
        self.adopt();
        was_there
    }

    /// Runs the expression that failed last again, up to its error; `None` if
    /// none has failed.
    pub(crate) fn run_failed_again(&mut self) -> Option<Result<f64, Error>> {
        let (expression, debugger) = (self.failed.clone()?, self.debugger.clone()?);
        let restore = debugger.look_at_everything();
        debugger.break_in(true);
        self.backend.deoptimize();
        let result = self.evaluate(&expression);
        debugger.break_in(false);
        restore(&debugger);
        self.backend.deoptimize();
        Some(result)
    }

    /// Returns the source of the expression that failed last.
    pub(crate) fn failed_text(&self) -> Option<&str> {
        self.failed.as_ref().map(|expression| expression.text())
    }
}
