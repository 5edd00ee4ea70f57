//! Continuations: code for the rest of a function from a round of a loop on.
//!
//! A loop that turns out to be long is left, at the beginning of a round, for
//! code that is entered right there. It belongs to one run; who runs it keeps it.

use super::Jit;
use super::code::Linked;
use super::tier::Plan;
use super::worker::with_compiler;
use crate::codegen::{self, Round};
use crate::sema::checked::CheckedFunction;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The code for the rest of a function. It is freed when dropped.
pub struct Continuation {
    function: Arc<CheckedFunction>,
    round: Round,
    made: Mutex<Made>,
}

/// How far the code is.
enum Made {
    Not,
    Linked(Linked),
    /// It cannot be made.
    Never,
}

impl Continuation {
    pub(super) fn new(function: Arc<CheckedFunction>, round: Round) -> Self {
        Self { function, round, made: Mutex::new(Made::Not) }
    }

    /// Where the code begins, if it is there.
    pub(super) fn body(&self) -> Option<usize> {
        match &*self.made.lock() {
            Made::Linked(linked) => Some(linked.body()),
            Made::Not | Made::Never => None,
        }
    }

    /// Whether the code is there.
    pub fn is_ready(&self) -> bool {
        self.body().is_some()
    }

    /// Whether the code cannot be made.
    pub fn has_failed(&self) -> bool {
        matches!(*self.made.lock(), Made::Never)
    }

    /// Makes the code; on a worker.
    pub(super) fn make(&self, jit: &Jit, plan: &Plan) {
        if jit.is_too_large(&self.function) {
            *self.made.lock() = Made::Never;
            return;
        }
        let number = jit.continuations.fetch_add(1, Ordering::Relaxed);
        let symbol = format!("$continuation${number}");
        let body = codegen::Body {
            function: &self.function,
            symbol: &symbol,
            inline: &plan.inline,
            hot_after: None,
            round: Some(self.round),
        };
        let object = with_compiler(|compiler| compiler.object(&[body], &jit.names, plan.options));
        let linked = object.ok().and_then(|object| jit.link(&object, &symbol, Some(&self.function)).ok());
        jit.note_removed_symbol();
        *self.made.lock() = linked.map_or(Made::Never, Made::Linked);
    }
}
