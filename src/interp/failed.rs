//! Looking at a run that has failed: its frames are kept for the debugger of
//! the command.

use super::{Crossing, Interpreter};
use crate::host::Outside;

impl Interpreter {
    /// Keeps the frames of failed runs for [`examine`](Self::examine): until
    /// the next run, or the next change of a binding.
    pub fn keep_failures(&mut self) {
        self.remains.is_keeping = true;
    }

    /// Shows the last failed run to the inspector; returns whether its frames
    /// are still there.
    pub fn examine(&mut self, compiled: Crossing<'_>, outside: &mut Outside) -> bool {
        let Some((mut state, stopped)) = self.remains.failed.take() else { return false };
        // What is evaluated meanwhile is a nested run.
        self.depth += 1;
        self.begin_outermost();
        self.show_failure(&mut state, &stopped, compiled, outside);
        self.depth -= 1;
        self.remains.failed = Some((state, stopped));
        true
    }
}
