//! What is left of ended runs: code that a run in progress may still be in, and
//! the state of the last failed run, for inspection.

use super::execute::InterpState;
use super::inspect::Outer;
use super::{Interpreter, KEPT_STACK};
use crate::failure::RunFailure;

/// What is left of ended runs.
#[derive(Default)]
pub(super) struct Remains {
    /// Functions to be removed when no run is in progress any more.
    retired: Vec<u32>,
    /// Whether the frames of a run that fails are kept until the next run.
    pub(super) is_keeping: bool,
    /// The state in which the last run failed, and why.
    pub(super) failed: Option<(InterpState, RunFailure)>,
}

impl Interpreter {
    /// Removes a function as soon as no frame of it can be left.
    pub(super) fn retire(&mut self, code: Option<u32>) {
        if self.depth > 0 || self.remains.failed.is_some() {
            self.remains.retired.extend(code);
        } else {
            self.code.remove_if(code);
        }
    }

    /// Returns whether a function waits to be removed: nothing calls it, but a
    /// run may still be in it.
    pub(super) fn is_retired(&self, code: u32) -> bool {
        self.remains.retired.contains(&code)
    }

    /// Drops what earlier runs have left, when a run begins or a binding
    /// changes.
    pub(super) fn forget_remains(&mut self) {
        if self.depth > 0 {
            return;
        }
        self.remains.failed = None;
        for code in std::mem::take(&mut self.remains.retired) {
            self.code.remove(code);
        }
    }

    /// Keeps the state of a failed run, if all of its frames are interpreted.
    pub(super) fn keep_remains(&mut self, state: InterpState, stopped: RunFailure) -> RunFailure {
        let is_whole = self.outer.iter().all(|outer| matches!(outer, Outer::Interpreted(_)));
        let is_whole = is_whole && stopped.trace.is_empty() && self.stack.len() <= KEPT_STACK;
        if self.remains.is_keeping && self.depth == 0 && is_whole {
            self.remains.failed = Some((state, stopped.clone()));
        }
        stopped
    }
}
