//! Linked code, and how it is given up.

use super::Jit;
use super::code_map::CodeMap;
use super::tier::Tier;
use crate::orc::Tracker;
use crate::process::{self, Activity};
use crate::sema::checked::CheckedFunction;
use std::sync::{Arc, Weak};

/// The linked code of a definition. Dropping it gives it up: it is freed when
/// no run that could be in it is left.
pub(super) struct CompiledCode {
    jit: Weak<Jit>,
    pieces: Option<LinkedBody>,
    body: usize,
    tier: Tier,
    /// What was inlined into it.
    inlined: Vec<Arc<CheckedFunction>>,
}

impl CompiledCode {
    pub(super) fn new(
        jit: &Arc<Jit>,
        linked: LinkedBody,
        tier: Tier,
        inlined: Vec<Arc<CheckedFunction>>,
    ) -> Self {
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
    pub(super) fn inlined(&self) -> &[Arc<CheckedFunction>] {
        &self.inlined
    }
}

impl Drop for CompiledCode {
    fn drop(&mut self) {
        if let (Some(jit), Some(linked)) = (self.jit.upgrade(), self.pieces.take()) {
            jit.epochs.retire(linked);
            jit.note_removed_symbol();
        }
    }
}

/// A body in memory. When all bodies of an object have been dropped, it is
/// freed: nothing may run in them.
pub(super) struct LinkedBody {
    object: Option<Arc<Object>>,
    body: usize,
    map: Arc<CodeMap>,
}

impl LinkedBody {
    /// A body that begins at `body`, in an object that may have others, and
    /// belongs to `function`, or is a thunk.
    pub(super) fn new(
        map: &Arc<CodeMap>,
        object: &Arc<Object>,
        body: usize,
        function: Option<&Arc<CheckedFunction>>,
    ) -> Self {
        map.insert(body, function);
        Self { object: Some(object.clone()), body, map: map.clone() }
    }

    /// Where its code begins.
    pub(super) fn body(&self) -> usize {
        self.body
    }

    /// Leaves the body in memory for as long as the session lasts.
    pub(super) fn keep(mut self) -> usize {
        if let Some(mut object) = self.object.take().and_then(Arc::into_inner) {
            object.0 = None;
        }
        self.body
    }
}

impl Drop for LinkedBody {
    fn drop(&mut self) {
        if let Some(object) = self.object.take() {
            self.map.remove(self.body);
            drop(object);
        }
    }
}

/// An object in memory; freed when it is dropped.
pub(super) struct Object(Option<Tracker>);

impl Object {
    /// What a tracker tracks.
    pub(super) fn new(tracker: Tracker) -> Arc<Self> {
        Arc::new(Self(Some(tracker)))
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        if let Some(tracker) = self.0.take() {
            discard(tracker);
        }
    }
}

/// Removes what a tracker tracks. It fails only for code that is being
/// materialized and then fails itself; what cannot be removed stays until the
/// session ends.
fn discard(tracker: Tracker) {
    let _ = process::within(Activity::Steady, || tracker.remove());
}
