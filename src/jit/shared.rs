//! The definitions that contexts share.
//!
//! Contexts that were given the same checked function have one definition of
//! it, so its code is made once. The table owns nothing: a definition lives as
//! long as a context is bound to it or a handle holds it.

use super::definition::Definition;
use super::weak_table::WeakTable;
use crate::sema::checked::CheckedFunction;
use std::sync::Arc;

/// Definitions by the address of their function.
#[derive(Default)]
pub(super) struct SharedDefinitions(WeakTable<usize, Definition>);

impl SharedDefinitions {
    /// Returns the definition of this very function.
    pub(super) fn find(&self, function: &Arc<CheckedFunction>) -> Option<Arc<Definition>> {
        let definition = self.0.find(&address(function))?;
        // A dropped function's address may be that of another one by now, but
        // not while its definition is alive.
        Arc::ptr_eq(definition.function(), function).then_some(definition)
    }

    pub(super) fn add(&mut self, definition: &Arc<Definition>) {
        self.0.add(address(definition.function()), definition);
    }
}

fn address(function: &Arc<CheckedFunction>) -> usize {
    Arc::as_ptr(function) as usize
}
