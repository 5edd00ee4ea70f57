//! Formulas: code without a name, kept to be run many times.
//!
//! A formula may run in every context of an engine. Where a context defines a
//! function that the code has as an intrinsic, it runs a variant that calls
//! this function; the variant is compiled on first use.

use super::definition::Definition;
use crate::host::Intrinsic;
use crate::name::Names;
use crate::sema::checked::CheckedFunction;
use std::cell::RefCell;
use std::sync::Arc;

/// A function that no name is bound to, with its code.
pub struct CompiledFormula {
    function: Arc<CheckedFunction>,
    uses: Intrinsics,
    variants: RefCell<Vec<FormulaVariant>>,
}

/// Code of a formula; kept as long as the formula.
struct FormulaVariant {
    /// The intrinsics that it calls instead of using an instruction.
    calls: Intrinsics,
    body: usize,
    _definition: Arc<Definition>,
}

/// A set of intrinsics.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Intrinsics(u8);

impl CompiledFormula {
    /// Creates a formula without code.
    pub(super) fn new(function: Arc<CheckedFunction>) -> Self {
        let used = Intrinsic::ALL.into_iter().filter(|intrinsic| function.uses_intrinsic(*intrinsic));
        let uses = used.fold(Intrinsics::default(), |set, intrinsic| set.with(intrinsic, true));
        Self { function, uses, variants: RefCell::default() }
    }

    /// Returns the body of the variant for a program that defines those
    /// intrinsics itself; `None` before it is compiled.
    pub(super) fn body(&self, defined: Intrinsics) -> Option<usize> {
        let calls = self.uses.among(defined);
        self.variants.borrow().iter().find(|code| code.calls == calls).map(|code| code.body)
    }

    /// Returns the function with calls in place of the intrinsics that the
    /// program defines.
    pub(super) fn function(&self, names: &Names, defined: Intrinsics) -> Arc<CheckedFunction> {
        let is_defined = |name| {
            let text = names.text(name);
            let mut all = Intrinsic::ALL.into_iter();
            all.any(|intrinsic| intrinsic.text() == text && defined.contains(intrinsic))
        };
        self.function.without_bound_intrinsics(names, is_defined)
    }

    /// Adds the variant for a program that defines those intrinsics itself.
    pub(super) fn add(&self, defined: Intrinsics, definition: Arc<Definition>, body: usize) {
        let calls = self.uses.among(defined);
        self.variants.borrow_mut().push(FormulaVariant { calls, body, _definition: definition });
    }
}

impl Intrinsics {
    /// Returns the set with, or without, one of them.
    pub(super) fn with(self, intrinsic: Intrinsic, is_in: bool) -> Self {
        let bit = 1 << intrinsic as u8;
        if is_in { Self(self.0 | bit) } else { Self(self.0 & !bit) }
    }

    fn contains(self, intrinsic: Intrinsic) -> bool {
        self.with(intrinsic, true) == self
    }

    fn among(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }
}
