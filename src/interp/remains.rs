//! What is left of runs: instructions that a run in progress may still stand
//! in, and where the last one failed, so that it can be looked at afterwards.

use super::execute::InterpState;
use super::inspect::Outer;
use super::{CompiledCalls, Interpreter, KEPT_STACK};
use crate::failure::RunFailure;
use crate::host::Output;

/// What is left of runs.
#[derive(Default)]
pub(super) struct Remains {
    /// Functions that are taken out when no run is in progress any more.
    retired: Vec<u32>,
    /// Whether the frames of a run that fails are kept until the next run.
    is_keeping: bool,
    /// Where the last run stood when it failed, and why it did.
    failed: Option<(InterpState, RunFailure)>,
}

impl Interpreter {
    /// Keeps the frames of a run that fails until the next run, or the next
    /// change of a binding, for [`examine`](Self::examine).
    pub fn keep_failures(&mut self) {
        self.remains.is_keeping = true;
    }

    /// Shows the run that has failed last, if its frames are still there.
    pub fn examine(&mut self, compiled: &mut dyn CompiledCalls, output: &mut dyn Output) -> bool {
        let Some((mut state, stopped)) = self.remains.failed.take() else { return false };
        // What is evaluated meanwhile is a run inside that one.
        self.depth += 1;
        self.begin_outermost();
        self.show_failure(&mut state, &stopped, compiled, output);
        self.depth -= 1;
        self.remains.failed = Some((state, stopped));
        true
    }

    /// Takes a function out as soon as no frame of it can be left.
    pub(super) fn retire(&mut self, code: Option<u32>) {
        if self.depth > 0 || self.remains.failed.is_some() {
            self.remains.retired.extend(code);
        } else {
            self.code.remove_if(code);
        }
    }

    /// Whether a run in progress may still stand in code that nothing calls.
    pub(super) fn is_retired(&self, code: u32) -> bool {
        self.remains.retired.contains(&code)
    }

    /// A run begins, or a binding changes: what has failed before is gone.
    pub(super) fn forget_remains(&mut self) {
        if self.depth > 0 {
            return;
        }
        self.remains.failed = None;
        for code in std::mem::take(&mut self.remains.retired) {
            self.code.remove(code);
        }
    }

    /// Keeps where a run stands that has failed, if all of it is on tapes.
    pub(super) fn keep_remains(&mut self, state: InterpState, stopped: RunFailure) -> RunFailure {
        let is_whole = self.outer.iter().all(|outer| matches!(outer, Outer::Interpreted(_)));
        let is_whole = is_whole && stopped.trace.is_empty() && self.stack.len() <= KEPT_STACK;
        if self.remains.is_keeping && self.depth == 0 && is_whole {
            self.remains.failed = Some((state, stopped.clone()));
        }
        stopped
    }
}
