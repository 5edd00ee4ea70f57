//! The functions that have a number, for shared instances.

use crate::name::{HeldName, Name};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The functions that have a number, by their number of arguments. Cloning it takes
/// constant time.
#[derive(Clone, Default)]
pub(super) struct NumberedFunctions(Arc<FxHashMap<u32, OneArity>>);

/// Those of one number of arguments.
#[derive(Clone, Default)]
struct OneArity {
    functions: Vec<HeldName>,
    numbers: FxHashMap<Name, u32>,
}

impl NumberedFunctions {
    /// Returns the number of a function, and whether it has just got it.
    pub(super) fn number(&mut self, function: HeldName, arity: u32) -> (u32, bool) {
        let known = self.0.get(&arity).and_then(|known| known.numbers.get(&function.name()));
        if let Some(number) = known {
            return (*number, false);
        }
        let known = Arc::make_mut(&mut self.0).entry(arity).or_default();
        let number = known.functions.len() as u32;
        known.numbers.insert(function.name(), number);
        known.functions.push(function);
        (number, true)
    }

    /// Returns the functions of that number of arguments, in the order of their numbers.
    pub(super) fn functions(&self, arity: u32) -> &[HeldName] {
        self.0.get(&arity).map_or(&[], |known| &known.functions)
    }
}
