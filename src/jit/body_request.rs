//! A body that is to be made: what is asked of the compilers, and what is kept of their
//! code.

use super::Jit;
use super::code::LinkedBody;
use super::code_map::CodeOwner;
use super::symbols::BodySymbol;
use super::tier::CompilePlan;
use crate::baseline;
use crate::codegen::{Body, Entry};
use crate::fingerprint::Fingerprint;
use crate::host::discard;
use crate::name::Names;
use crate::pack::origin::CodeOrigin;
use crate::pack::portable::PortableCode;
use crate::pack::store::{CodeRecipe, MadeCode};
use crate::sema::checked::CheckedFunction;
use crate::status::{Compilation, CompileObserver};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// A body to make.
#[derive(Clone, Copy)]
pub(super) struct BodyRequest<'a> {
    pub(super) function: &'a Arc<CheckedFunction>,
    pub(super) plan: &'a CompilePlan,
    /// Where the code is entered.
    pub(super) entry: Entry,
}

/// What baseline code is made of.
struct BaselineRecipe {
    function: Arc<CheckedFunction>,
    plan: CompilePlan,
    names: Arc<Names>,
}

impl CodeRecipe for BaselineRecipe {
    fn make(&self) -> Option<MadeCode> {
        let Self { function, plan, names } = self;
        let request = BodyRequest { function, plan, entry: Entry::Call };
        let code = baseline::compile(request.body(""), names, plan.options).ok()?;
        Some((request.identity_among(names), Arc::new(code), request.origin(names)))
    }
}

/// A linked body, and its size in bytes.
pub(super) type MadeBody = (LinkedBody, u64);

impl BodyRequest<'_> {
    /// Returns the identity of its code.
    pub(super) fn identity(&self, jit: &Jit) -> Fingerprint {
        self.identity_among(&jit.names)
    }

    fn identity_among(&self, names: &Names) -> Fingerprint {
        self.plan.identity(self.function, self.entry, names)
    }

    /// Returns whether the baseline compiler makes its code.
    pub(super) fn is_baseline(&self, jit: &Jit) -> bool {
        self.entry == Entry::Call && jit.is_baseline(self.plan.tier)
    }

    /// Keeps its code for later runs.
    pub(super) fn keep(&self, jit: &Jit, code: PortableCode) {
        jit.store.made(self.function.source.name(), self.identity(jit), code, self.origin(&jit.names));
    }

    /// Returns what its baseline code is made of.
    pub(super) fn recipe(&self, jit: &Jit) -> Arc<dyn CodeRecipe> {
        let (function, plan, names) = (self.function.clone(), self.plan.clone(), jit.names.clone());
        Arc::new(BaselineRecipe { function, plan, names })
    }

    /// Returns what its code is made of, for people.
    fn origin(&self, names: &Names) -> CodeOrigin {
        let text = |name| Box::from(&*names.text(name));
        let identity = |function: &CheckedFunction| (text(function.name), function.fingerprint(names));
        let assumptions = &self.plan.assumptions;
        CodeOrigin {
            name: text(self.function.name),
            function: self.plan.identity_of(self.function, names),
            inlined: assumptions.inlined.iter().map(|function| identity(function)).collect(),
            builtins: assumptions.builtins.iter().map(|(name, _)| text(*name)).collect(),
        }
    }

    /// Reports the function to an observer of compiles, unless it is a top-level expression.
    pub(super) fn tell(&self, jit: &Jit, observer: &CompileObserver, took: Duration) {
        if jit.is_expression(self.function) {
            return;
        }
        let name = jit.names.text(self.function.name);
        let (arity, tier, is_osr) = (self.function.arity(), self.plan.tier, self.entry.osr().is_some());
        let compilation = Compilation { name: &name, arity, tier, is_osr, took };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| observer(&compilation))) {
            discard(panic);
        }
    }

    /// Returns a symbol for its body.
    pub(super) fn symbol(&self, jit: &Jit) -> BodySymbol {
        let kind = match self.entry {
            Entry::Call => "impl",
            Entry::Loop(_) => "osr",
            Entry::Columns(_) => "columns",
        };
        let identity = self.plan.identity_of(self.function, &jit.names);
        jit.symbols.body(self.function, identity, &jit.names, kind)
    }

    /// Returns what its code belongs to.
    pub(super) fn owner(&self) -> CodeOwner {
        CodeOwner {
            function: self.function.clone(),
            is_shared_by_shape: self.plan.loads_numbers,
            is_osr: self.entry.osr().is_some(),
        }
    }

    pub(super) fn body<'a>(&'a self, symbol: &'a str) -> Body<'a> {
        Body {
            function: self.function,
            symbol,
            inline: &self.plan.assumptions.inlined,
            builtins: &self.plan.assumptions.builtins,
            hot_after: self.plan.hot_after,
            loads_numbers: self.plan.loads_numbers,
            entry: self.entry,
        }
    }
}
