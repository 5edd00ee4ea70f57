//! Debugging: a context whose runs stop at breakpoints.

use super::Context;
use crate::debugger::{Console, Debugger, Scope};
use crate::error::Error;
use crate::source::Source;

impl Context {
    /// Lets runs stop: from now on breakpoints can be set, and `console` is
    /// asked for commands wherever a run stops. Functions that hold breakpoints,
    /// or are stepped through, are interpreted meanwhile; nothing else changes.
    ///
    /// # Errors
    /// [`Error::Setup`] when the system refuses memory.
    pub fn debug(&mut self, console: Box<dyn Console>) -> Result<(), Error> {
        let debugger = Debugger::new(self.engine.names(), self.scope(), console);
        self.machine.attach(&self.engine, Box::new(debugger.clone()))?;
        self.debugger = Some(debugger);
        Ok(())
    }

    /// Whether runs can be stopped.
    pub fn is_debugged(&self) -> bool {
        self.debugger.is_some()
    }

    /// Lists, sets, changes or removes breakpoints, as `bp` does at a stop:
    /// nothing, `PLACE`, `PLACE if EXPR`, `rm N`, `off N`, `on N`, `error on`,
    /// `error off`. A place is a function, `LINE`, `LINE:COLUMN` or
    /// `FILE:LINE`. Gives what there is to say.
    ///
    /// # Errors
    /// [`Error::Setup`] for a text that means nothing, and without
    /// [`debug`](Self::debug).
    pub fn breakpoints(&mut self, text: &str) -> Result<String, Error> {
        let nobody = || Error::Setup("no debugger is attached".into());
        let debugger = self.debugger.clone().ok_or_else(nobody)?;
        let functions: Vec<_> = self.machine.all().into_iter().map(|(_, function)| function).collect();
        let said = debugger.breakpoints(text.trim(), functions.iter()).map_err(Error::Setup)?;
        self.machine.recall();
        Ok(said)
    }

    /// Runs a text, item by item, as [`run`](Self::run) does, and stops at the
    /// beginning of its first expression.
    ///
    /// # Errors
    /// As [`eval`](Self::eval), and [`Error::Setup`] without
    /// [`debug`](Self::debug).
    pub fn eval_stopping(&mut self, source: &Source) -> Result<Option<f64>, Error> {
        let nobody = || Error::Setup("no debugger is attached".into());
        let debugger = self.debugger.clone().ok_or_else(nobody)?;
        debugger.stop_at_first(true);
        let result = self.last_value(source);
        debugger.stop_at_first(false);
        result
    }

    /// Whether a step from the end of an expression leads to the next one, and
    /// whether the first one begins with a stop.
    pub(crate) fn follow(&mut self, stops_at_first: bool) {
        if let Some(debugger) = &self.debugger {
            debugger.follow();
            debugger.stop_at_first(stops_at_first);
            debugger.break_on_error(true);
        }
    }

    pub(super) fn scope(&self) -> Scope {
        Scope {
            operators: self.operators.clone(),
            variables: self.variables.clone(),
            max_nesting: self.engine.config().limits.max_nesting,
        }
    }
}
