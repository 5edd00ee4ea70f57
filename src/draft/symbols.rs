//! The symbols that functions of a program have in emitted code.

use super::Draft;
use crate::name::{Name, Names};
use crate::sema::checked::{CheckedFunction, EXPRESSION};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Returns the functions of a program with their symbols in emitted code:
/// `f$impl` for what `f` means at its end, `f$impl$1` and so on for earlier
/// definitions, `$expression$1` and so on for top-level expressions.
pub(crate) fn symbols<'f>(
    functions: impl Iterator<Item = &'f CheckedFunction> + Clone,
    names: &Names,
) -> Vec<String> {
    let mut all: FxHashMap<Name, u32> = FxHashMap::default();
    functions.clone().for_each(|function| *all.entry(function.name).or_insert(0) += 1);
    let mut seen: FxHashMap<Name, u32> = FxHashMap::default();
    let symbol = |function: &CheckedFunction| {
        let count = seen.entry(function.name).or_insert(0);
        *count += 1;
        match &*names.text(function.name) {
            EXPRESSION => format!("$expression${count}"),
            name if all.get(&function.name) == Some(count) => format!("{name}$impl"),
            name => format!("{name}$impl${count}"),
        }
    };
    functions.map(symbol).collect()
}

impl Draft<'_> {
    /// Returns the definition that a name has at the end of the program.
    pub(crate) fn definition(&self, name: &str) -> Option<&Arc<CheckedFunction>> {
        self.functions.get(&self.names.get(name)?)
    }

    /// Returns the definitions that names have at the end of the program: its own in
    /// order, then those that it imports, by name.
    pub(crate) fn definitions(&self) -> Vec<Arc<CheckedFunction>> {
        let is_last = |function: &&Arc<CheckedFunction>| {
            self.functions.get(&function.name).is_some_and(|last| Arc::ptr_eq(last, function))
        };
        let mut all: Vec<_> = self.compiled.iter().filter(is_last).cloned().collect();
        let own: FxHashSet<Name> = all.iter().map(|function| function.name).collect();
        let mut imported: Vec<_> =
            self.functions.values().filter(|function| !own.contains(&function.name)).cloned().collect();
        imported.sort_by_cached_key(|function| self.names.text(function.name).to_string());
        all.append(&mut imported);
        all
    }

    /// Returns what would be compiled, with the symbols it has in emitted code.
    pub(crate) fn symbols(&self) -> Vec<(&Arc<CheckedFunction>, String)> {
        let symbols = symbols(self.compiled.iter().map(|function| &**function), self.names);
        self.compiled.iter().zip(symbols).collect()
    }
}
