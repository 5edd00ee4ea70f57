//! Continuations: code for the rest of a function from a round of a loop on.
//!
//! A loop that turns out to be long is left, at the beginning of a round, for
//! code that is entered right there. It belongs to one run; who runs it keeps it.

use super::Jit;
use super::code::LinkedBody;
use super::tier::CompilePlan;
use super::worker::with_compiler;
use crate::codegen::{self, LoopEntry};
use crate::sema::checked::CheckedFunction;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The code for the rest of a function. It is freed when dropped.
pub struct OsrCode {
    function: Arc<CheckedFunction>,
    entry: LoopEntry,
    status: Mutex<OsrStatus>,
}

/// How far the code is.
enum OsrStatus {
    Idle,
    Linked(LinkedBody),
    /// It cannot be made.
    Failed,
}

impl OsrCode {
    pub(super) fn new(function: Arc<CheckedFunction>, entry: LoopEntry) -> Self {
        Self { function, entry, status: Mutex::new(OsrStatus::Idle) }
    }

    /// Where the code begins, if it is there.
    pub(super) fn body(&self) -> Option<usize> {
        match &*self.status.lock() {
            OsrStatus::Linked(linked) => Some(linked.body()),
            OsrStatus::Idle | OsrStatus::Failed => None,
        }
    }

    /// Whether the code is there.
    pub fn is_ready(&self) -> bool {
        self.body().is_some()
    }

    /// Whether the code cannot be made.
    pub fn has_failed(&self) -> bool {
        matches!(*self.status.lock(), OsrStatus::Failed)
    }

    /// Makes the code; on a worker.
    pub(super) fn make(&self, jit: &Jit, plan: &CompilePlan) {
        if jit.is_too_large(&self.function) {
            *self.status.lock() = OsrStatus::Failed;
            return;
        }
        let number = jit.osr_count.fetch_add(1, Ordering::Relaxed);
        let symbol = format!("$continuation${number}");
        let body = codegen::Body {
            function: &self.function,
            symbol: &symbol,
            inline: &plan.inline,
            hot_after: None,
            osr: Some(self.entry),
        };
        let object = with_compiler(|compiler| compiler.object(&[body], &jit.names, plan.options));
        let linked = object.ok().and_then(|object| jit.link(&object, &symbol, Some(&self.function)).ok());
        jit.note_removed_symbol();
        *self.status.lock() = linked.map_or(OsrStatus::Failed, OsrStatus::Linked);
    }
}
