//! Formulas: code without a name, kept to be run many times.
//!
//! A formula may run in every context of an engine. Where a context defines a
//! function that the code has as a builtin, it runs a variant that calls
//! this function; the variant is compiled on first use.

use super::code::CompiledCode;
use super::tier::builtins;
use crate::host::{Builtin, HostFunctions};
use crate::name::Name;
use crate::process::SteadyCell;
use crate::sema::checked::{Callee, CheckedFunction};
use std::sync::Arc;

/// A function that no name is bound to, with its code.
pub struct CompiledFormula {
    function: Arc<CheckedFunction>,
    /// The calls that are builtins unless the program defines their names.
    builtins: Vec<(Name, Builtin)>,
    uses: Builtins,
    variants: Variants,
}

/// Code of a formula; kept as long as the formula.
struct FormulaVariant {
    /// The builtins that it calls through slots, as the program defines their names.
    calls: Builtins,
    code: Arc<CompiledCode>,
    next: Variants,
}

/// A list that only grows: the first variant, which has the next.
#[derive(Default)]
struct Variants(SteadyCell<Box<FormulaVariant>>);

/// A set of builtins.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Builtins(u64);

impl CompiledFormula {
    /// Creates a formula without code.
    pub(super) fn new(function: Arc<CheckedFunction>, hosts: &HostFunctions) -> Self {
        let builtin = |callee: &Callee| hosts.builtin(callee.name, callee.arity);
        let builtins = builtins([&function], &builtin);
        let uses = builtins.iter().fold(Builtins::default(), |set, (_, one)| set.with(*one, true));
        Self { function, builtins, uses, variants: Variants::default() }
    }

    /// Returns the code of the variant for a program that defines those
    /// builtins itself; `None` before it is compiled.
    pub(super) fn code(&self, defined: Builtins) -> Option<&CompiledCode> {
        let calls = self.uses.among(defined);
        self.variants.iter().find(|variant| variant.calls == calls).map(|variant| &*variant.code)
    }

    /// Returns the function.
    pub(super) fn function(&self) -> &Arc<CheckedFunction> {
        &self.function
    }

    /// Returns the calls that are builtins in a program that defines those
    /// builtins itself.
    pub(super) fn builtins(&self, defined: Builtins) -> Vec<(Name, Builtin)> {
        self.builtins.iter().filter(|(_, one)| !defined.contains(*one)).copied().collect()
    }

    /// Adds the variant for a program that defines those builtins itself.
    /// Returns its code, or that of the one that another thread has added.
    pub(super) fn add(&self, defined: Builtins, code: Arc<CompiledCode>) -> &CompiledCode {
        let calls = self.uses.among(defined);
        let mut new = Some(Box::new(FormulaVariant { calls, code, next: Variants::default() }));
        let mut list = &self.variants;
        loop {
            if let Some(mine) = new.take() {
                new = list.0.set(mine).err();
            }
            // It is set now.
            let Some(variant) = list.0.get() else { continue };
            if variant.calls == calls {
                return &variant.code;
            }
            list = &variant.next;
        }
    }
}

impl Variants {
    fn iter(&self) -> impl Iterator<Item = &FormulaVariant> {
        std::iter::successors(self.0.get(), |variant| variant.next.0.get()).map(|variant| &**variant)
    }
}

impl Builtins {
    /// Returns the set with, or without, one of them.
    pub(super) fn with(self, builtin: Builtin, is_in: bool) -> Self {
        let bit = 1 << builtin.number();
        if is_in { Self(self.0 | bit) } else { Self(self.0 & !bit) }
    }

    fn contains(self, builtin: Builtin) -> bool {
        self.with(builtin, true) == self
    }

    fn among(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }
}
