//! What the items of a module are checked in: its own names come first, then what it
//! imports, then the host.

use crate::diagnostic::suggest::Budget;
use crate::host::HostFunctions;
use crate::module::{Imports, MemberKind, Module, NameMistake, parts, qualified};
use crate::name::{HeldName, Name, Names};
use crate::sema::checked::CheckedFunction;
use crate::sema::{Environment, Extern};
use crate::stop::Poll;
use crate::world::Layers;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// The environment of a module's items.
pub(super) struct ModuleScope<'a> {
    program: &'a dyn Environment,
    module: &'a Module,
    /// The functions of all modules that are being parsed.
    heads: &'a FxHashMap<Name, Extern>,
    /// The modules that an earlier run has checked.
    layers: &'a Layers,
    /// The variables of the module that have been declared.
    variables: FxHashSet<Name>,
}

impl<'a> ModuleScope<'a> {
    pub(super) fn new(
        program: &'a dyn Environment,
        module: &'a Module,
        heads: &'a FxHashMap<Name, Extern>,
        layers: &'a Layers,
    ) -> Self {
        Self { program, module, heads, layers, variables: FxHashSet::default() }
    }

    /// Declares variables of the module, by their qualified names.
    pub(super) fn declare(&mut self, variables: impl Iterator<Item = Name>) {
        self.variables.extend(variables);
    }

    fn own(&self, name: Name) -> HeldName {
        let names = self.names();
        names.hold(&qualified(&self.module.name, &names.text(name)))
    }
}

impl Environment for ModuleScope<'_> {
    fn names(&self) -> &Names {
        self.program.names()
    }

    fn hosts(&self) -> &HostFunctions {
        self.program.hosts()
    }

    fn function(&self, name: Name) -> Option<Arc<CheckedFunction>> {
        // What is being read comes first: it may replace what was read before.
        if self.heads.contains_key(&name) {
            return None;
        }
        self.layers.function(name).cloned().or_else(|| self.program.function(name))
    }

    fn arity(&self, name: Name) -> Option<u32> {
        if self.heads.contains_key(&name) {
            return None;
        }
        self.layers.arity(name).or_else(|| self.program.arity(name))
    }

    fn declared(&self, name: Name) -> Option<&Extern> {
        self.heads.get(&name)
    }

    fn global(&self, name: Name, kind: MemberKind) -> Result<HeldName, NameMistake> {
        let text = self.names().text(name);
        match parts(&text) {
            Some((module, _)) if *module == *self.module.name => return Ok(text),
            Some(_) => return self.module.imports.qualified(&text, self.names()),
            None => {}
        }
        if let Some(member) = self.module.member(name, kind) {
            return Ok(member.qualified.clone());
        }
        if let Some(member) = self.module.imports.alias(name, kind)? {
            return Ok(member.qualified.clone());
        }
        let hosts = self.hosts();
        if kind == MemberKind::Function
            && let Some(sealed) = hosts.sealed(name, self.names())
        {
            return Ok(sealed);
        }
        let is_of_host = hosts.get(name).is_some() || hosts.foreign(name).is_some();
        // A function may be defined later; a variable cannot.
        Ok(if is_of_host || kind == MemberKind::Variable { text } else { self.own(name) })
    }

    fn head(&self, name: Name) -> Result<HeldName, NameMistake> {
        let text = self.names().text(name);
        match parts(&text) {
            Some((module, _)) if *module != *self.module.name => {
                Err(NameMistake::foreign_head(&text, &self.module.name))
            }
            Some(_) => Ok(text),
            None => Ok(self.own(name)),
        }
    }

    fn has_aliases(&self) -> bool {
        true
    }

    fn imports(&self) -> &Imports {
        &self.module.imports
    }

    fn has_variable(&self, name: Name) -> bool {
        self.variables.contains(&name)
            || self.module.imports.iter().any(|import| {
                let mut offered = import.module.offered(MemberKind::Variable);
                offered.any(|member| member.qualified.name() == name)
            })
    }

    fn functions(&self) -> Vec<Name> {
        let layers = self.layers.iter().flat_map(|layer| layer.names()).map(|held| held.name());
        self.heads.keys().copied().chain(layers).chain(self.hosts().names()).collect()
    }

    fn variables(&self) -> Vec<Name> {
        self.variables.iter().copied().collect()
    }

    fn suggestions(&self) -> &Budget {
        self.program.suggestions()
    }

    fn poll(&self) -> Poll {
        self.program.poll()
    }
}
