//! Importing: bringing modules, and the aliases of their names, into force.

use super::history::Changed;
use super::{Context, Evaluation, Outcome};
use crate::config::Mode;
use crate::debugger::Debugger;
use crate::error::Error;
use crate::library::{self, ModuleItem, ModuleItems, ModuleReader, ReadModule};
use crate::module::{MemberKind, Module, add_operators, short_name};
use crate::name::Name;
use crate::sema::Import;
use crate::sema::checked::CheckedFunction;
use crate::syntax::operator::Operators;
use crate::world::{Layer, Origin};
use std::sync::Arc;

impl Context {
    /// Imports a module: reads it, and those that it imports, as far as that has not
    /// been done or they have changed, and makes its names known.
    pub(super) fn import(&mut self, import: &Import) -> Result<Outcome, Error> {
        if let Some(second) = library::same_qualifier(import, self.world.imports()) {
            return Err(Error::Invalid(vec![second]));
        }
        let read = {
            // One of which a function was removed is read again.
            let known = |name| self.world.module(name).filter(|module| self.is_whole(module)).cloned();
            let front_end = self.front_end.modules;
            let keeps = self.evaluation != Evaluation::Record;
            ModuleReader { engine: &self.engine, program: self, known: &known, keeps, front_end }.read(import)
        };
        let read = read.map_err(Error::Invalid)?;
        for module in read {
            self.add_module(module)?;
        }
        let refused = |diagnostic| Error::Invalid(vec![diagnostic]);
        let module = self.world.module(import.module.name()).cloned();
        let module = module.ok_or_else(|| Error::NoFunction(import.module.to_string()))?;
        if let Some(unknown) = library::unknown_name(import, &module) {
            return Err(refused(unknown));
        }
        let imported = library::imported(import, module);
        let mut operators = Operators::clone(self.world.operators());
        add_operators(&imported, &mut operators, self.engine.names())
            .map_err(|(operator, other)| refused(library::two_meanings(import, operator, &other)))?;
        let moment = self.history.moment(&self.world);
        self.world.import(imported, operators);
        self.history.push(moment, &self.world, Changed::Import(import.module.clone()));
        self.adopt_called();
        Ok(Outcome::Imported { module: import.module.to_string() })
    }

    /// Returns whether all functions of a module are bound.
    fn is_whole(&self, module: &Module) -> bool {
        let mut functions = module.functions();
        self.world.has_layer_of(module.name.name())
            || functions.all(|member| self.world.defines(member.qualified.name()))
    }

    /// Brings a module into force, or another version of it: what has not changed
    /// stays as it is.
    fn add_module(&mut self, read: ReadModule) -> Result<(), Error> {
        let ReadModule { module, items } = read;
        let before = self.world.module(module.name.name()).cloned();
        self.parsed_units += u64::from(matches!(items, ModuleItems::Parsed(_)));
        let items = match items {
            ModuleItems::Stored(layer) if before.is_none() && self.take_module(&layer) => {
                library::others(&layer).collect()
            }
            items => items.all(),
        };
        self.check_functions(&items)?;
        let mut variables = Vec::new();
        for item in items {
            match item {
                ModuleItem::Function(function, operators) => {
                    self.add_function(&function, &operators, before.is_some())?;
                }
                ModuleItem::Variables(function, names) => variables.push((function, names)),
                ModuleItem::Extern(declared) => _ = self.declare_extern(&declared)?,
            }
        }
        for (declaration, names) in variables {
            self.declare_in_module(&declaration, &names)?;
        }
        // Only now: a module whose variables cannot be assigned is read again.
        self.world.add_module(module.clone());
        let gone = before.iter().flat_map(|before| before.offered(MemberKind::Function));
        let gone = gone.filter(|member| module.member(member.short.name(), MemberKind::Function).is_none());
        for member in gone {
            let name = member.qualified.name();
            let moment = self.history.moment(&self.world);
            let before = moment.as_ref().and_then(|_| self.backend.bound(name));
            self.unbind(name);
            let name = member.qualified.clone();
            self.history.push(moment, &self.world, Changed::Function { name, before, after: None });
        }
        Ok(())
    }

    /// Declares variables of a module as its file does, unless they are by the same declaration.
    /// Those that the program has assigned keep their values.
    fn declare_in_module(&mut self, declaration: &Arc<CheckedFunction>, names: &[Name]) -> Result<(), Error> {
        let identity = declaration.fingerprint(self.engine.names());
        let is_known = |name: &Name| self.world.has_variable(*name);
        if names.iter().all(|name| is_known(name) && self.module_files.is_by(*name, identity)) {
            return Ok(());
        }
        let values = names.iter().filter(|name| is_known(name)).map(|name| (*name, self.value_of(*name)));
        let assigned: Vec<_> = values
            .filter_map(|(name, value)| Some((name, value.ok()?)))
            .filter(|(name, value)| self.module_files.is_assigned(*name, *value))
            .collect();
        // The first values of a module's variables are not what is stepped through.
        let stepping = self.debugger.as_ref().map(Debugger::suspend_stepping);
        let declared = self.declare_variables(declaration, names);
        if let (Some(debugger), Some(stepping)) = (&self.debugger, stepping) {
            debugger.resume_stepping(stepping);
        }
        for name in declared? {
            let value = self.value_of(name.name())?;
            self.module_files.declared(name, identity, value);
        }
        assigned.into_iter().try_for_each(|(name, value)| self.set_value_of(name, value))
    }

    /// Puts a module below the program as a layer. Returns `false`, without effect, where
    /// its functions have to be bound one by one.
    fn take_module(&mut self, layer: &Arc<Layer>) -> bool {
        let limits = self.engine.config().limits;
        let fits = self.engine.mode() == Mode::Lazy
            && self.debugger.is_none()
            && layer.largest() <= limits.max_compiled_operations
            && self.world.len() + layer.len() <= limits.max_definitions
            && self.engine.names().has_room_for(layer.text().name_count())
            && self.backend.takes_layers();
        fits && self.put_below(layer)
    }

    /// Puts a layer below the program, with the aliases and instances that it calls. Returns
    /// whether the back end has taken it.
    pub(super) fn put_below(&mut self, layer: &Arc<Layer>) -> bool {
        self.world.put_below(layer);
        // The back end has them before the layer, whose code then lies below them.
        layer.adoptable().iter().for_each(|name| self.adopt_alias(*name));
        self.backend.put_below(layer)
    }

    /// Checks that the functions of a module fit into the book.
    fn check_functions(&self, items: &[ModuleItem]) -> Result<(), Error> {
        let functions = items.iter().filter_map(|item| match item {
            ModuleItem::Function(function, _) => Some(function),
            ModuleItem::Variables(..) | ModuleItem::Extern(_) => None,
        });
        let new = functions.filter(|function| !self.world.defines(function.name));
        new.enumerate().try_for_each(|(before, function)| self.check_definition(function, before))
    }

    /// Binds the name of a module's function to it. If the module has been imported before
    /// (`is_again`), a function that is new in it can be undone by itself.
    fn add_function(
        &mut self,
        function: &Arc<CheckedFunction>,
        operators: &Arc<Operators>,
        is_again: bool,
    ) -> Result<(), Error> {
        let (name, names) = (function.name, self.engine.names());
        if let Some(bound) = self.world.definition(name) {
            let is_kept = bound.origin == Origin::Program && self.module_files.is_still(function, names);
            if is_kept || bound.function.means_the_same_as(function, names) {
                return Ok(());
            }
        }
        self.backend.admit(&self.engine, function)?;
        // What the first version defines goes with its import.
        let is_step = is_again || self.world.defines(name);
        let moment = if is_step { self.history.moment(&self.world) } else { None };
        let before = moment.as_ref().and_then(|_| self.backend.bound(name));
        if let Some(debugger) = &self.debugger {
            debugger.note(function);
        }
        let changed = self.world.define_in_module(function, operators);
        self.backend.define(function);
        if moment.is_some() {
            let (held, after) = (self.engine.names().text(name), self.backend.bound(name));
            self.history.push(moment, &self.world, Changed::Function { name: held, before, after });
        }
        self.follow_aliases(name);
        self.follow_pattern(name, changed.before.as_ref(), Some(function));
        if self.engine.mode() == Mode::Eager {
            self.backend.prepare_soon(name);
        }
        Ok(())
    }

    /// Binds the aliases among the names that a function calls.
    pub(super) fn adopt_aliases(&mut self, function: &CheckedFunction) {
        // A pattern is never called itself.
        let calls_instances = function.functions.is_empty() && function.takes_or_gives(self.engine.names());
        if self.world.imports().is_empty() && !calls_instances {
            return;
        }
        for callee in &function.callees {
            self.adopt_alias(callee.name);
        }
    }

    /// Binds the aliases and instances that a function calls and that nothing is bound to.
    pub(super) fn adopt_unbound(&mut self, function: &CheckedFunction) {
        for callee in &function.callees {
            if !self.world.defines(callee.name) {
                self.adopt_alias(callee.name);
            }
        }
    }

    /// Binds a name to the function of a module that it is an alias of, or to the instance that
    /// it is the name of, if it is one.
    pub(super) fn adopt_alias(&mut self, name: Name) {
        // What is debugged is shown as it is written.
        let shares = self.debugger.is_none();
        for function in self.world.adopt(name, shares, self.engine.names()) {
            if let Some(debugger) = &self.debugger {
                debugger.note(&function);
            }
            self.backend.define(&function);
            self.adopt_aliases(&function);
        }
    }

    /// Binds the aliases that definitions call, after the imports have changed.
    pub(super) fn adopt_called(&mut self) {
        for name in self.world.called_or_aliases() {
            self.adopt_alias(name);
        }
    }

    /// Binds an alias that definitions call, when nothing hides it any more.
    pub(super) fn adopt_if_called(&mut self, name: Name) {
        if self.world.is_called(name) || self.world.defines(name) {
            self.adopt_alias(name);
        }
    }

    /// Returns the function which takes functions that an import makes a name an alias of, if the
    /// program does not define the name itself.
    pub(super) fn imported_pattern(&self, name: Name) -> Option<Arc<CheckedFunction>> {
        if self.world.imports().is_empty() {
            return None;
        }
        let aliased = self.world.aliased(name).map(|bound| bound.function.clone());
        aliased.filter(|function| !function.functions.is_empty())
    }

    /// Makes the instances of a name follow its present definition, if that is a pattern
    /// or the one before was. Returns those of the one before.
    pub(super) fn follow_pattern(
        &mut self,
        pattern: Name,
        before: Option<&Arc<CheckedFunction>>,
        after: Option<&Arc<CheckedFunction>>,
    ) -> Vec<Name> {
        // One that was hidden until now.
        let shown = self.imported_pattern(pattern);
        if before.into_iter().chain(after).chain(&shown).all(|function| function.functions.is_empty()) {
            return Vec::new();
        }
        let instances = self.adopt_instances(pattern);
        // An import may make another name an alias of it.
        if let Some(short) = short_name(pattern, self.engine.names()) {
            self.adopt_instances(short);
        }
        self.drop_lost_aliases();
        match before {
            Some(before) if !before.functions.is_empty() => instances,
            // They were called ahead of the definition, which takes nothing away from them.
            Some(_) | None => Vec::new(),
        }
    }

    /// Binds the instances of a name to those of its present definition. Returns them.
    fn adopt_instances(&mut self, pattern: Name) -> Vec<Name> {
        let instances = self.world.instances_of(pattern, self.engine.names());
        instances.iter().for_each(|name| self.adopt_alias(*name));
        instances
    }

    /// Makes the aliases of a function follow its present definition.
    pub(super) fn follow_aliases(&mut self, target: Name) {
        if self.world.imports().is_empty() {
            return;
        }
        let Some(short) = short_name(target, self.engine.names()) else { return };
        let origin = self.world.definition(short).map(|bound| bound.origin);
        // It is bound again if it was lost, with the function, and that is back.
        if origin == Some(Origin::Alias(target)) || origin.is_none() && self.world.is_called(short) {
            self.adopt_alias(short);
            self.drop_lost_aliases();
        }
    }

    /// Unbinds names that no import makes aliases any more.
    pub(super) fn drop_lost_aliases(&mut self) {
        for name in self.world.lost_aliases(self.engine.names()) {
            self.unbind(name);
        }
    }

    /// Unbinds a name of a module, or an alias.
    fn unbind(&mut self, name: Name) {
        self.world.remove(name, self.engine.names());
        self.backend.drop_binding(name);
        self.follow_aliases(name);
    }
}
