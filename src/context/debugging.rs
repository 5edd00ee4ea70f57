//! Debugging: a context whose runs stop at breakpoints.

use super::Context;
use crate::debugger::{Changes, Console, Debugger, DebuggerScope, Ending, NewDefinition};
use crate::draft::Draft;
use crate::error::Error;
use crate::sema::CheckedItem;
use crate::source::Source;
use crate::syntax::operator::Operators;
use std::sync::Arc;

impl Context {
    /// Enables debugging: from now on breakpoints can be set, and `console` is
    /// asked for commands wherever a run stops. Functions that hold
    /// breakpoints, or are stepped through, are interpreted meanwhile; nothing
    /// else changes.
    ///
    /// # Errors
    /// [`Error::NoMemory`] when the system refuses memory.
    pub fn debug(&mut self, console: Box<dyn Console>) -> Result<(), Error> {
        let debugger = Debugger::new(self.engine.names(), self.engine.hosts(), self.scope(), console);
        self.backend.attach(&self.engine, Box::new(debugger.clone()))?;
        self.debugger = Some(debugger);
        Ok(())
    }

    /// Returns whether runs can be stopped.
    pub fn is_debugged(&self) -> bool {
        self.debugger.is_some()
    }

    /// Lists, sets, changes or removes breakpoints, as `bp` does at a stop:
    /// nothing, `PLACE`, `PLACE if EXPR`, `rm N`, `off N`, `on N`, `error on`,
    /// `error off`, `nan on`, `nan off`, `once PLACE`, `ignore N COUNT`. A
    /// place is a function, `LINE`, `LINE:COLUMN`, `FILE:LINE` or
    /// `FUNCTION:LINE`. Returns the message for the user: where the breakpoint
    /// is, that it is kept until its function is defined, or that another line
    /// was taken.
    ///
    /// # Errors
    /// [`Error::Breakpoint`] for a command that is not understood, a line that
    /// nothing can stop on, or an invalid condition; [`Error::NoDebugger`]
    /// without [`debug`](Self::debug).
    pub fn breakpoints(&mut self, text: &str) -> Result<String, Error> {
        let debugger = self.debugger.clone().ok_or(Error::NoDebugger)?;
        let functions: Vec<_> = self.backend.all().into_iter().map(|(_, function)| function).collect();
        let said = debugger.breakpoints(text.trim(), functions)?;
        self.backend.deoptimize();
        Ok(said)
    }

    /// Runs a source, item by item, as [`run`](Self::run) does, and stops at
    /// the beginning of its first expression. Meanwhile an
    /// [interrupt](Self::interrupt_handle) pauses interpreted code instead of
    /// ending the run.
    ///
    /// # Errors
    /// As [`eval`](Self::eval), and [`Error::NoDebugger`] without
    /// [`debug`](Self::debug).
    pub fn eval_stopping(&mut self, source: &Source) -> Result<Option<f64>, Error> {
        if !self.is_debugged() {
            return Err(Error::NoDebugger);
        }
        self.stop_runs(true);
        let result = self.last_value(source);
        self.stop_runs(false);
        result
    }

    /// Sets whether runs stop at their beginning and on an interrupt.
    pub(crate) fn stop_runs(&self, stops: bool) {
        if let Some(debugger) = &self.debugger {
            debugger.stop_at_first(stops);
            debugger.break_in(stops);
        }
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
        let draft = Draft::within(source, &self.engine, self, Operators::clone(&self.operators));
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
                    if let Some(fixity) = fixity {
                        Arc::make_mut(&mut scope.operators).define(*fixity, function.name);
                    }
                    functions.push(function.clone());
                }
                CheckedItem::Variables(function, names) => {
                    scope.variables.extend(names);
                    functions.push(function.clone());
                }
                CheckedItem::Expression(function) => functions.push(function.clone()),
                CheckedItem::Extern(_) => {}
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
        defined.into_iter().map(|name| self.engine.names().text(name).to_owned()).collect()
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
        let was_there = self.backend.examine(&mut *self.output);
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

    /// Adopts what was defined at the debugger's prompt during the last run.
    pub(super) fn adopt(&mut self) {
        let Some(debugger) = &self.debugger else { return };
        let Changes { functions, variables } = debugger.take_changes();
        self.variables.extend(variables);
        for NewDefinition { before, function, fixity } in functions {
            // The back end knows it already; the history is to see the change.
            match before {
                Some(before) => drop(self.backend.define(before)),
                None => self.backend.drop_binding(function.name),
            }
            let _ = self.define(&function, fixity);
        }
    }

    pub(super) fn scope(&self) -> DebuggerScope {
        DebuggerScope {
            operators: self.operators.clone(),
            variables: self.variables.clone(),
            externs: self.externs.clone(),
            max_nesting: self.engine.config().limits.max_nesting,
        }
    }
}
