//! Looking at a run that has failed: its frames are kept for the debugger.

use super::Backend;
use super::tiered::TieredBackend;
use crate::host::Outside;

impl Backend {
    /// Keeps the frames of failed runs for [`examine`](Self::examine), in
    /// contexts that interpret first.
    pub(crate) fn keep_failures(&mut self) {
        match self {
            Self::Jit(_) => {}
            Self::Tiered(tiered) => tiered.interpreter.keep_failures(),
        }
    }

    /// Shows the last failed run to the inspector; returns whether its frames
    /// are still there.
    pub(crate) fn examine(&mut self, outside: &mut Outside) -> bool {
        match self {
            Self::Jit(_) => false,
            Self::Tiered(tiered) => tiered.examine(outside),
        }
    }
}

impl TieredBackend {
    /// Shows the last failed run to the inspector; returns whether its frames
    /// are still there.
    fn examine(&mut self, outside: &mut Outside) -> bool {
        self.interpreter.examine(Some(&self.jit), outside)
    }
}
