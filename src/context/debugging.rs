//! Debugging: a context whose runs stop at breakpoints.

use super::Context;
use crate::abi::HeldVariables;
use crate::debugger::{Changes, Console, Debugger, DebuggerScope, NewDefinition};
use crate::error::Error;
use crate::float_environment::DefaultEnvironment;
use crate::source::Source;

impl Context {
    /// Enables debugging: from now on breakpoints can be set, and `console` is
    /// asked for commands wherever a run stops. Functions that hold
    /// breakpoints, or are stepped through, are interpreted meanwhile; nothing
    /// else changes.
    ///
    /// # Errors
    /// [`Error::NoMemory`] when the system refuses memory.
    pub fn debug(&mut self, console: Box<dyn Console>) -> Result<(), Error> {
        let (names, hosts, variables) = (self.engine.names(), self.engine.hosts(), self.engine.variables());
        let debugger = Debugger::new(names, hosts, variables, self.scope(), console);
        self.backend.attach(&self.engine, Box::new(debugger.clone()))?;
        self.debugger = Some(debugger);
        self.note_watch();
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
        let _environment = DefaultEnvironment::enter();
        let functions: Vec<_> = self.world.functions().cloned().collect();
        let said = debugger.breakpoints(text.trim(), functions, self.scope())?;
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

    /// Adopts what was defined at the debugger's prompt during the last run.
    pub(super) fn adopt(&mut self) {
        let Some(debugger) = &self.debugger else { return };
        let Changes { functions, variables } = debugger.take_changes();
        for name in variables.iter().flat_map(HeldVariables::names) {
            // The debugger holds it meanwhile, so there is a place.
            self.variables.hold(name);
            self.world.declare_variable(self.engine.names().text(name));
        }
        for NewDefinition { function, fixity } in functions {
            // The back end knows it already; the history is to see the change.
            match self.world.function(function.name) {
                Some(before) => self.backend.define(before),
                None => self.backend.drop_binding(function.name),
            }
            let _ = self.define(&function, fixity);
        }
    }

    pub(super) fn scope(&self) -> DebuggerScope {
        DebuggerScope { world: self.world.clone(), max_nesting: self.engine.config().limits.max_nesting }
    }
}
