//! What a function uses of modules, as a program says it.

use super::Context;
use crate::module::ImportedModule;
use crate::sema::call_graph::CallGraph;
use rustc_hash::FxHashSet;

/// The modules that a function uses.
#[derive(Debug)]
pub(crate) struct UsedModules {
    /// The imports of them that are in force, as source.
    pub(crate) imports: Vec<String>,
    /// The names of the files that define functions which are called.
    pub(crate) sources: FxHashSet<String>,
    /// Their variables to which the program has given another value: their names, everywhere and
    /// in the program.
    pub(crate) assigned: Vec<(String, String)>,
}

impl Context {
    /// Returns what functions use of modules.
    pub(crate) fn modules_of(&self, graph: &CallGraph) -> UsedModules {
        let (names, imports) = (self.engine.names(), self.world.imports());
        if self.world.modules().next().is_none() {
            return UsedModules { imports: Vec::new(), sources: FxHashSet::default(), assigned: Vec::new() };
        }
        let called: FxHashSet<&str> = graph.functions.iter().map(|function| function.source.name()).collect();
        let variables: Vec<_> = graph.variables.iter().map(|name| names.text(*name)).collect();
        let is_used = |import: &&ImportedModule| {
            let begins = |name: &str| {
                name.strip_prefix(&*import.module.name).is_some_and(|rest| rest.starts_with('.'))
            };
            called.contains(import.module.source.name()) || variables.iter().any(|name| begins(name))
        };
        let is_assigned = |name: &&crate::name::Name| {
            let value = self.value_of(**name);
            value.is_ok_and(|value| self.module_files.is_assigned(**name, value))
        };
        let assigned = graph.variables.iter().filter(is_assigned).map(|name| names.text(*name));
        let files = self.world.modules().map(|module| module.source.name());
        UsedModules {
            imports: imports.iter().filter(is_used).map(ImportedModule::text).collect(),
            sources: files.filter(|file| called.contains(file)).map(str::to_owned).collect(),
            assigned: assigned.map(|name| (name.to_string(), imports.spelling(&name).into_owned())).collect(),
        }
    }
}
