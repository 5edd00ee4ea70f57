//! Functions without a name that are run many times: each interpreter that has
//! run one keeps it linked, until its last owner drops it.

use super::code::{CodeMemory, EntryPoint};
use super::{Crossing, Interpreter};
use crate::failure::{Failure, RunFailure};
use crate::host::Outside;
use crate::sema::checked::CheckedFunction;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Weak};

/// A function without a name that is run many times, in any context of an
/// engine.
pub struct KeptFunction {
    /// The checked function.
    pub function: Arc<CheckedFunction>,
}

/// The number of entries at which unused ones are first removed.
const FIRST: usize = 64;

/// Entry points by the address of the function, which the weak reference keeps
/// from being reused.
pub(super) struct Kept {
    entries: FxHashMap<usize, (Weak<KeptFunction>, EntryPoint)>,
    /// The number of entries at which unused ones are removed next.
    most: usize,
}

impl Default for Kept {
    fn default() -> Self {
        Self { entries: FxHashMap::default(), most: FIRST }
    }
}

impl Kept {
    /// Removes the functions for which `is_good` is false, and those without an
    /// owner.
    pub(super) fn retain(&mut self, code: &mut CodeMemory, is_good: impl Fn(&CheckedFunction) -> bool) {
        self.entries.retain(|_, (kept, entry)| {
            let is_good = kept.upgrade().is_some_and(|kept| is_good(&kept.function));
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
    pub fn run_kept(
        &mut self,
        kept: &Arc<KeptFunction>,
        arguments: &[f64],
        compiled: Crossing<'_>,
        outside: &mut Outside,
    ) -> Result<f64, RunFailure> {
        let known = self.kept.entries.get(&(Arc::as_ptr(kept) as usize)).map(|(_, entry)| *entry);
        let entry = match known {
            Some(entry) => entry,
            None => self.keep(kept)?,
        };
        self.enter(entry, arguments, compiled, outside)
    }

    /// Links a function until its last owner drops it.
    fn keep(&mut self, kept: &Arc<KeptFunction>) -> Result<EntryPoint, Failure> {
        if self.kept.entries.len() >= self.kept.most {
            self.kept.retain(&mut self.code, |_| true);
            // Amortised: each is visited once for each that is added.
            self.kept.most = FIRST.max(2 * self.kept.entries.len());
        }
        let entry = self.link(&kept.function, None)?;
        self.kept.entries.insert(Arc::as_ptr(kept) as usize, (Arc::downgrade(kept), entry));
        Ok(entry)
    }
}
