//! Debugging a whole session: what `kal debug` and the prompt ask of the
//! debugger besides what embedders do.

use super::{Debugger, DebuggerScope, Ending, Reach};
use crate::name::Name;
use crate::sema::checked::CheckedFunction;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Debugger {
    /// Makes a step from the end of a run continue at the beginning of the next
    /// one.
    pub(crate) fn follow(&self) {
        self.0.lock().follows = true;
    }

    /// Sets whether runs stop where they fail.
    pub(crate) fn break_on_error(&self, breaks: bool) {
        self.0.lock().breaks_on_error = breaks;
    }

    /// Announces the functions of a program that is about to run, so that
    /// breakpoints and conditions can name them.
    pub(crate) fn expect(&self, functions: Vec<Arc<CheckedFunction>>, scope: DebuggerScope) {
        let mut inner = self.0.lock();
        inner.expected = functions;
        inner.scope = scope;
    }

    /// Interprets everything, so that every frame can be inspected; returns a
    /// function that restores what was in force before.
    pub(crate) fn look_at_everything(&self) -> impl FnOnce(&Self) + use<> {
        let mut inner = self.0.lock();
        let (reach, breaks_on_error) = (inner.reach, inner.breaks_on_error);
        inner.reach = Reach::Everything;
        inner.breaks_on_error = true;
        move |debugger| {
            let mut inner = debugger.0.lock();
            inner.reach = reach;
            inner.breaks_on_error = breaks_on_error;
        }
    }

    /// Returns how the last run was ended at the prompt, if it was.
    pub(crate) fn ending(&self) -> Option<Ending> {
        self.0.lock().ending
    }

    /// Returns the names of all functions that were defined at the prompt.
    pub(crate) fn take_defined(&self) -> BTreeSet<Name> {
        std::mem::take(&mut self.0.lock().defined)
    }
}
