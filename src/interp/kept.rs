//! Functions without a name that are run many times: linked once, until nobody
//! has them any more.

use super::code::{CodeMemory, EntryPoint};
use super::{CompiledCalls, Interpreter};
use crate::failure::{Failure, RunFailure};
use crate::host::Output;
use crate::sema::checked::CheckedFunction;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Weak};

/// So many are kept before those are looked for that nobody has any more.
const FIRST: usize = 64;

/// Where they have been linked, by their address, which the weak reference
/// keeps from being used again.
pub(super) struct Kept {
    entries: FxHashMap<usize, (Weak<CheckedFunction>, EntryPoint)>,
    /// At how many of them those are looked for that nobody has any more.
    most: usize,
}

impl Default for Kept {
    fn default() -> Self {
        Self { entries: FxHashMap::default(), most: FIRST }
    }
}

impl Kept {
    /// Takes out the functions that are not good any more; `None` for one that
    /// nobody has.
    pub(super) fn retain(
        &mut self,
        code: &mut CodeMemory,
        is_good: impl Fn(Option<&CheckedFunction>) -> bool,
    ) {
        self.entries.retain(|_, (function, entry)| {
            // Its linked code has it, too.
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
    /// Runs a function that no name is bound to, as one that will be run again.
    ///
    /// # Errors
    /// Why it did not run to its end.
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

    /// Links a function until nobody has it any more.
    fn keep(&mut self, function: &Arc<CheckedFunction>) -> Result<EntryPoint, Failure> {
        if self.kept.entries.len() >= self.kept.most {
            self.kept.retain(&mut self.code, |function| function.is_some());
            // Each is looked at once for each that comes.
            self.kept.most = FIRST.max(2 * self.kept.entries.len());
        }
        let entry = self.link(function, None)?;
        self.kept.entries.insert(Arc::as_ptr(function) as usize, (Arc::downgrade(function), entry));
        Ok(entry)
    }
}
