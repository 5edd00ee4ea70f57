//! Who calls whom: the questions that are about several definitions.

use super::{Origin, World};
use crate::module::short_name;
use crate::name::{Name, NameMap, Names};
use crate::sema::checked::{CheckedFunction, Made};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Returns what orders definitions by their places.
fn place(function: &CheckedFunction) -> (&str, (usize, usize), u32) {
    (function.source.name(), function.source.first(), function.name_span.start)
}

impl World {
    /// Returns the functions that call `name`, or an instance of it, in the order in which
    /// their names were first met.
    pub fn callers(&self, name: Name) -> impl Iterator<Item = Name> {
        let takes_functions = self.function(name).is_none_or(|known| !known.functions.is_empty());
        let is_instance =
            move |function: &&Arc<CheckedFunction>| takes_functions && function.made.pattern() == Some(name);
        let made = self.functions().take_while(|_| takes_functions).filter(is_instance);
        let instances: FxHashSet<Name> = made.map(|one| one.name).collect();
        let calls = move |caller: &&Arc<CheckedFunction>| {
            let mut callees = caller.callees.iter();
            !is_instance(caller)
                && callees.any(|callee| callee.name == name || instances.contains(&callee.name))
        };
        // Of a layer, nothing is decoded unless something in it calls the name.
        let layers = self.layers.iter().filter(move |layer| takes_functions || layer.concerns(name));
        let of_layers = layers.flat_map(|layer| layer.definitions());
        let functions = of_layers.chain(self.definitions.values()).map(|bound| &bound.function);
        functions.filter(calls).map(|caller| caller.name)
    }

    /// Returns the name under which an import makes a function of a module known, if that is bound.
    pub fn alias_of(&self, target: Name, names: &Names) -> Option<Name> {
        if self.imports().is_empty() {
            return None;
        }
        let short = short_name(target, names)?;
        (self.definition(short)?.origin == Origin::Alias(target)).then_some(short)
    }

    /// Returns the callers of every name that is called, each once.
    pub fn all_callers(&self) -> NameMap<Vec<Name>> {
        let pattern = |function: &Arc<CheckedFunction>| Some((function.name, function.made.pattern()?));
        let patterns: FxHashMap<Name, Name> = self.functions().filter_map(pattern).collect();
        let mut callers: NameMap<Vec<Name>> = NameMap::default();
        for caller in self.functions() {
            for callee in &caller.callees {
                let pattern =
                    patterns.get(&callee.name).filter(|name| patterns.get(&caller.name) != Some(name));
                for name in pattern.into_iter().chain([&callee.name]) {
                    let known = callers.entry(*name);
                    // All calls of one caller come together.
                    if known.last() != Some(&caller.name) {
                        known.push(caller.name);
                    }
                }
            }
        }
        callers
    }

    /// Returns the functions that read or assign a variable, in the order in
    /// which their names were first met.
    pub fn users(&self, variable: Name) -> impl Iterator<Item = Name> {
        self.functions().filter(move |function| function.uses_variable(variable)).map(|user| user.name)
    }

    /// Returns the definitions that call `function` with another number of
    /// arguments than it takes, by their places. Searches all definitions, but only if one of
    /// them makes such a call. What a dispatcher calls was given by another definition.
    pub fn stale_callers(&self, function: &CheckedFunction) -> Vec<Arc<CheckedFunction>> {
        if !self.calls.misfit(function.name, function.signature()) {
            return Vec::new();
        }
        let is_stale = |caller: &&Arc<CheckedFunction>| {
            let mut callees = caller.callees.iter();
            caller.made != Made::Dispatcher
                && callees.any(|callee| callee.name == function.name && !function.fits(callee.arity))
        };
        self.by_place(is_stale)
    }

    /// Returns the definitions that call those of `instances` which `function` is no pattern of,
    /// by their places.
    pub fn stale_givers(
        &self,
        function: &CheckedFunction,
        instances: &[Name],
        names: &Names,
    ) -> Vec<Arc<CheckedFunction>> {
        let is_lost = |name: &&Name| !function.is_pattern_of(&names.text(**name));
        let lost: FxHashSet<Name> = instances.iter().filter(is_lost).copied().collect();
        if lost.is_empty() {
            return Vec::new();
        }
        let gives =
            |caller: &&Arc<CheckedFunction>| caller.callees.iter().any(|callee| lost.contains(&callee.name));
        self.by_place(gives)
    }

    /// Returns the definitions that are wanted, by their places.
    fn by_place(&self, is_wanted: impl Fn(&&Arc<CheckedFunction>) -> bool) -> Vec<Arc<CheckedFunction>> {
        let mut wanted: Vec<_> = self.functions().filter(is_wanted).cloned().collect();
        wanted.sort_by(|one, other| place(one).cmp(&place(other)));
        wanted
    }

    /// Returns the functions whose names are given, callees before callers
    /// except in a cycle; of each level, in the given order.
    pub fn callees_first(&self, roots: impl IntoIterator<Item = Name>) -> Vec<Name> {
        let mut order = Vec::new();
        let mut seen = FxHashSet::default();
        for root in roots {
            let mut open: Vec<(&CheckedFunction, usize)> = Vec::new();
            let mut visit = |name: Name, open: &mut Vec<_>| {
                let function = self.function(name).filter(|_| seen.insert(name));
                open.extend(function.map(|function| (&**function, 0)));
            };
            visit(root, &mut open);
            while let Some((function, next)) = open.last_mut() {
                match function.callees.get(*next) {
                    Some(callee) => {
                        *next += 1;
                        visit(callee.name, &mut open);
                    }
                    None => {
                        order.push(function.name);
                        open.pop();
                    }
                }
            }
        }
        order
    }
}
