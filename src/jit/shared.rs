//! The definitions that contexts share.
//!
//! Contexts that were given the same checked function have one definition of
//! it, so its code is made once. The table owns nothing: a definition lives as
//! long as a context is bound to it or a handle holds it.

use super::definition::Definition;
use crate::sema::checked::CheckedFunction;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Weak};

/// Definitions by the address of their function.
#[derive(Default)]
pub(super) struct SharedDefinitions {
    definitions: FxHashMap<usize, Weak<Definition>>,
    /// The size of the table at which the entries of dropped definitions are
    /// removed.
    full: usize,
}

/// Smaller tables are not searched for dropped definitions.
const SMALLEST: usize = 1024;

impl SharedDefinitions {
    /// Returns the definition of this very function.
    pub(super) fn find(&self, function: &Arc<CheckedFunction>) -> Option<Arc<Definition>> {
        let definition = self.definitions.get(&address(function))?.upgrade()?;
        // A dropped function's address may be that of another one by now, but
        // not while its definition is alive.
        Arc::ptr_eq(definition.function(), function).then_some(definition)
    }

    pub(super) fn add(&mut self, definition: &Arc<Definition>) {
        if self.definitions.len() >= self.full {
            self.definitions.retain(|_, definition| definition.strong_count() > 0);
            self.full = (self.definitions.len() * 2).max(SMALLEST);
        }
        self.definitions.insert(address(definition.function()), Arc::downgrade(definition));
    }
}

fn address(function: &Arc<CheckedFunction>) -> usize {
    Arc::as_ptr(function) as usize
}
