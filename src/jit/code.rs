//! Linked code, and how it is given up.

use super::Jit;
use super::code_map::CodeMap;
use super::tier::Tier;
use crate::orc::Tracker;
use crate::sema::checked::Function;
use std::sync::{Arc, Weak};

/// The linked code of a definition. Dropping it gives it up: it is freed when
/// no run that could be in it is left.
pub(super) struct Code {
    jit: Weak<Jit>,
    pieces: Option<Linked>,
    body: usize,
    tier: Tier,
    /// What was inlined into it.
    inlined: Vec<Arc<Function>>,
}

impl Code {
    pub(super) fn new(jit: &Arc<Jit>, linked: Linked, tier: Tier, inlined: Vec<Arc<Function>>) -> Self {
        Self { jit: Arc::downgrade(jit), body: linked.body, pieces: Some(linked), tier, inlined }
    }

    /// The level it was made at.
    pub(super) fn tier(&self) -> Tier {
        self.tier
    }

    /// The address that calls go to.
    pub(super) fn body(&self) -> usize {
        self.body
    }

    /// What was inlined into it.
    pub(super) fn inlined(&self) -> &[Arc<Function>] {
        &self.inlined
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        if let (Some(jit), Some(linked)) = (self.jit.upgrade(), self.pieces.take()) {
            jit.epochs.retire(linked);
            jit.note_removed_symbol();
        }
    }
}

/// An object in memory. Dropping it frees it: nothing may run in it.
pub(super) struct Linked {
    tracker: Option<Tracker>,
    body: usize,
    map: Arc<CodeMap>,
}

impl Linked {
    /// An object whose code begins at `body` and belongs to `function`, or is
    /// a thunk.
    pub(super) fn new(
        map: &Arc<CodeMap>,
        tracker: Tracker,
        body: usize,
        function: Option<&Arc<Function>>,
    ) -> Self {
        map.insert(body, function);
        Self { tracker: Some(tracker), body, map: map.clone() }
    }

    /// Where its code begins.
    pub(super) fn body(&self) -> usize {
        self.body
    }

    /// Leaves the object in memory for as long as the session lasts.
    pub(super) fn keep(mut self) -> usize {
        self.tracker = None;
        self.body
    }
}

impl Drop for Linked {
    fn drop(&mut self) {
        if let Some(tracker) = self.tracker.take() {
            self.map.remove(self.body);
            discard(tracker);
        }
    }
}

/// Removes what a tracker tracks. It fails only for code that is being
/// materialized and then fails itself; what cannot be removed stays until the
/// session ends.
pub(super) fn discard(tracker: Tracker) {
    let _ = tracker.remove();
}
