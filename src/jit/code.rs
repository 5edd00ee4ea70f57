//! Linked code and its release.

use super::Jit;
use super::code_map::CodeMap;
use super::symbols::BodySymbol;
use super::tier::{Assumptions, Tier};
use crate::process::{self, Activity};
use crate::sema::checked::CheckedFunction;
use kal_orc::Tracker;
use std::sync::{Arc, Weak};

/// The linked code of a definition. Dropping it retires it: it is freed when no
/// run that may be inside is left.
pub(super) struct CompiledCode {
    jit: Weak<Jit>,
    pieces: Option<LinkedBody>,
    body: usize,
    tier: Tier,
    assumptions: Assumptions,
}

impl CompiledCode {
    pub(super) fn new(jit: &Arc<Jit>, linked: LinkedBody, tier: Tier, assumptions: Assumptions) -> Self {
        Self { jit: Arc::downgrade(jit), body: linked.body, pieces: Some(linked), tier, assumptions }
    }

    /// Returns the tier it was compiled at.
    pub(super) fn tier(&self) -> Tier {
        self.tier
    }

    /// Returns the address that calls jump to.
    pub(super) fn body(&self) -> usize {
        self.body
    }

    /// Returns what has to hold where it runs.
    pub(super) fn assumptions(&self) -> &Assumptions {
        &self.assumptions
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

/// A body in memory. Its object is freed when all of its bodies have been
/// dropped: nothing may run in them then.
pub(super) struct LinkedBody {
    object: Option<Arc<Object>>,
    body: usize,
    map: Arc<CodeMap>,
}

impl LinkedBody {
    /// Registers a body at address `body`. Its object may have more of them;
    /// `function` is `None` for a thunk.
    pub(super) fn new(
        map: &Arc<CodeMap>,
        object: &Arc<Object>,
        body: usize,
        function: Option<&Arc<CheckedFunction>>,
    ) -> Self {
        map.insert(body, function);
        Self { object: Some(object.clone()), body, map: map.clone() }
    }

    /// Returns the address where its code begins.
    pub(super) fn body(&self) -> usize {
        self.body
    }

    /// Keeps the body in memory until the session ends. Returns its address.
    pub(super) fn keep(mut self) -> usize {
        if let Some(mut object) = self.object.take().and_then(Arc::into_inner) {
            object.tracker = None;
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
pub(super) struct Object {
    tracker: Option<Tracker>,
    /// The symbols that it defines.
    symbols: Vec<BodySymbol>,
}

impl Object {
    /// Wraps the tracker of an object that defines these symbols.
    pub(super) fn new(tracker: Tracker, symbols: Vec<BodySymbol>) -> Arc<Self> {
        Arc::new(Self { tracker: Some(tracker), symbols })
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        let removed = self.tracker.take().is_some_and(discard);
        if !removed {
            std::mem::forget(std::mem::take(&mut self.symbols));
        }
    }
}

/// Removes what a tracker tracks. This fails only for code that is still being
/// materialized, which then fails itself; what cannot be removed stays until
/// the session ends. Returns whether it is removed.
fn discard(tracker: Tracker) -> bool {
    process::within(Activity::Steady, || tracker.remove()).is_ok()
}
