//! Functions without a name that are run many times: linked once, until their
//! last owner drops them.

use super::code::{CodeMemory, EntryPoint};
use super::{CompiledCalls, Interpreter};
use crate::failure::{Failure, RunFailure};
use crate::host::Output;
use crate::sema::checked::CheckedFunction;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Weak};

/// The number of entries at which unused ones are first removed.
const FIRST: usize = 64;

/// Entry points by the address of the function, which the weak reference keeps
/// from being reused.
pub(super) struct Kept {
    entries: FxHashMap<usize, (Weak<CheckedFunction>, EntryPoint)>,
    /// The number of entries at which unused ones are removed next.
    most: usize,
}

impl Default for Kept {
    fn default() -> Self {
        Self { entries: FxHashMap::default(), most: FIRST }
    }
}

impl Kept {
    /// Removes the functions for which `is_good` is false; it is given `None`
    /// for one without other owners.
    pub(super) fn retain(
        &mut self,
        code: &mut CodeMemory,
        is_good: impl Fn(Option<&CheckedFunction>) -> bool,
    ) {
        self.entries.retain(|_, (function, entry)| {
            // Its linked code owns it, too.
            let held = function.upgrade().filter(|function| Arc::strong_count(function) > 2);
            let is_good = is_good(held.as_deref());
            if !is_good {
                code.remove(entry.code);
            }
            is_good
        });
    }
}

impl Interpreter {
    /// Runs a function that no name is bound to, and keeps it linked for the
    /// next time.
    ///
    /// # Errors
    /// If the run fails or is stopped.
    pub fn run_formula(
        &mut self,
        function: &Arc<CheckedFunction>,
        arguments: &[f64],
        compiled: &mut dyn CompiledCalls,
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        let known = self.kept.entries.get(&(Arc::as_ptr(function) as usize)).map(|(_, entry)| *entry);
        let entry = match known {
            Some(entry) => entry,
            None => self.keep(function)?,
        };
        self.enter(entry, arguments, compiled, output)
    }

    /// Links a function until its last owner drops it.
    fn keep(&mut self, function: &Arc<CheckedFunction>) -> Result<EntryPoint, Failure> {
        if self.kept.entries.len() >= self.kept.most {
            self.kept.retain(&mut self.code, |function| function.is_some());
            // Amortised: each is visited once for each that is added.
            self.kept.most = FIRST.max(2 * self.kept.entries.len());
        }
        let entry = self.link(function, None)?;
        self.kept.entries.insert(Arc::as_ptr(function) as usize, (Arc::downgrade(function), entry));
        Ok(entry)
    }
}
