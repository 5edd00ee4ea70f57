//! Links: which code is that of which definition of a text, as long as nothing but the
//! text defines anything.
//!
//! They are found when code is written, by planning each definition again with what the
//! text alone says: code that has the identity of that plan is its code wherever a program
//! begins with the text. So no later start decodes a function to find its code, or computes
//! an identity. All else that a plan depends on is in the identity of what links assume.

use super::Jit;
use super::tier::{Callees, CompilePlan, Defined, Tier};
use crate::bytes::Writer;
use crate::codegen::Entry;
use crate::fingerprint::Fingerprint;
use crate::host::{Callable, HostFunction};
use crate::name::Name;
use crate::pack::links::{CodeLink, CodeLinks};
use crate::sema::checked::{Callee, CheckedFunction};
use crate::tier::TierUp;
use crate::world::StoredText;
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use std::sync::Arc;

impl Jit {
    /// Returns what of the code of these names and identities is that of definitions in
    /// the opening of a text, which `find` finds with their items; `None` if there is no
    /// opening.
    pub fn links<'m>(
        &self,
        text: &StoredText,
        find: &dyn Fn(Name) -> Option<(usize, Arc<CheckedFunction>)>,
        made: impl Iterator<Item = (&'m str, Fingerprint)>,
    ) -> Option<CodeLinks> {
        let assumed = self.assumed(text)?;
        let tiers = [self.options.tier_up.first(self.options.code.level), Tier::Full];
        let link = |(name, identity): (&str, Fingerprint)| {
            let (item, function) = find(self.names.get(name)?)?;
            let consulted = RefCell::new(vec![item as u32]);
            let consult = |name: Name| {
                let (item, function) = find(name)?;
                consulted.borrow_mut().push(item as u32);
                Some(function)
            };
            let is_of = |tier: &&Tier| {
                let plan = self.plan_alone(**tier, &function, &consult);
                plan.identity(&function, Entry::Call, &self.names) == identity
            };
            let tier = *tiers.iter().find(is_of)?;
            let (name, arity) = (name.into(), function.arity());
            let mut consulted = consulted.into_inner();
            consulted.sort_unstable();
            consulted.dedup();
            Some((CodeLink { item: item as u32, name, arity, tier, consulted }, identity))
        };
        if text.opening().is_empty() {
            return None;
        }
        let bodies: Vec<(CodeLink, Fingerprint)> = made.filter_map(link).collect();
        let full = bodies.iter().filter(|(link, _)| link.tier == Tier::Full).map(|(link, _)| link.item);
        let others = text.described().map_or(0, |opening| opening.others.len());
        let is_whole = full.collect::<FxHashSet<_>>().len() + others == text.opening().len();
        Some(CodeLinks { assumed, bodies, is_whole })
    }

    /// Returns the identity of what links of a text assume.
    pub(super) fn assumed(&self, text: &StoredText) -> Option<Fingerprint> {
        text.identity().map(|identity| self.assumed_of(identity))
    }

    /// Returns the same of the text of that identity.
    pub(super) fn assumed_of(&self, text: Fingerprint) -> Fingerprint {
        self.assumed_with(text, self.options.tier_up)
    }

    /// Returns the same where all code is optimised at once, as in images: that does not depend
    /// on when baseline code is hot.
    pub(super) fn assumed_of_full(&self, text: Fingerprint) -> Fingerprint {
        self.assumed_with(text, TierUp::Never)
    }

    fn assumed_with(&self, text: Fingerprint, tier_up: TierUp) -> Fingerprint {
        let mut writer = Writer::default();
        writer.bytes(text.as_bytes());
        writer.byte(self.options.code.level as u8);
        writer.byte(self.options.code.counts_fuel.into());
        writer.long(match tier_up {
            TierUp::Never => 0,
            TierUp::After(calls) => u64::from(calls) + 1,
        });
        for name in self.hosts.names() {
            // Where a closure is called, nothing is inlined, since it may fail.
            let host = self.hosts.get(name);
            let is_closure = host.is_some_and(|host| matches!(host.callable, Callable::Closure(_)));
            writer.text(&self.names.text(name));
            writer.byte(is_closure.into());
        }
        Fingerprint::of("kal 2026 links", writer)
    }

    /// Plans the code of a function in a program that has these definitions only.
    pub(super) fn plan_alone(
        &self,
        tier: Tier,
        function: &Arc<CheckedFunction>,
        defined: Defined<'_>,
    ) -> CompilePlan {
        let of_host = |callee: &Callee| {
            let host = self.hosts.get(callee.name).filter(|host| host.arity == callee.arity);
            host.is_some_and(|HostFunction { callable, .. }| !matches!(callable, Callable::Closure(_)))
        };
        let succeeds = |callee: &Callee| match defined(callee.name) {
            Some(function) => function.fits(callee.arity),
            None => of_host(callee),
        };
        let builtin = |callee: &Callee| {
            self.hosts.builtin(callee.name, callee.arity).filter(|_| defined(callee.name).is_none())
        };
        let node_count = |name| defined(name).map(|function| function.nodes.len());
        let known =
            Callees { bound: defined, node_count: &node_count, succeeds: &succeeds, builtin: &builtin };
        self.options.tier_up.plan(tier, function, self.options.code, &known)
    }
}
