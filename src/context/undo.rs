//! Undo and redo, and removing what names are bound to.

use super::history::{Change, Changed, History, UndoStep};
use super::module_files::ModuleFiles;
use super::notes::VariableNotes;
use super::{Context, Error};
use crate::backend::BoundDefinition;
use crate::diagnostic::Diagnostic;
use crate::name::Name;
use crate::world::{Origin, World};
use rustc_hash::FxHashSet;

/// Where a step is gone through.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Back,
    Forth,
}

impl Context {
    /// Sets how many steps are kept for [`undo`](Self::undo), and as many for
    /// [`redo`](Self::redo), with the definitions that they replaced; 0 at
    /// first.
    pub fn keep_history(&mut self, steps: usize) {
        self.history.depth = steps;
        self.history.trim();
    }

    /// Reverts what the last source, [`drop_function`](Self::drop_function) or
    /// [`drop_variable`](Self::drop_variable) changed; calls made while a
    /// source was running belong to its step. Names are bound to their earlier
    /// definitions, operators are read as before. Nothing is compiled again.
    /// Variables keep their values. Returns what changed, each name once; empty
    /// if there is nothing to undo.
    pub fn undo(&mut self) -> Vec<Change> {
        let Some(step) = self.history.done.pop_back() else { return Vec::new() };
        let changes = self.go(&step, Direction::Back);
        self.history.undone.push(step);
        self.history.trim();
        self.history.end();
        changes
    }

    /// Reverts the last undo; returns what changed, each name once.
    pub fn redo(&mut self) -> Vec<Change> {
        let Some(step) = self.history.undone.pop() else { return Vec::new() };
        let changes = self.go(&step, Direction::Forth);
        self.history.done.push_back(step);
        self.history.trim();
        self.history.end();
        changes
    }

    /// Rebinds the names of a step to what they meant before it, or after it.
    fn go(&mut self, step: &UndoStep, direction: Direction) -> Vec<Change> {
        let mut seen = FxHashSet::default();
        let is_new = |changed: &&Changed| seen.insert(changed.subject());
        let changes: Vec<Change> = match direction {
            Direction::Back => {
                let first: Vec<&Changed> = step.changed.iter().filter(is_new).collect();
                first.into_iter().map(|changed| self.go_to(changed, &step.before, direction)).collect()
            }
            Direction::Forth => {
                let mut last: Vec<&Changed> = step.changed.iter().rev().filter(is_new).collect();
                last.reverse();
                last.into_iter().map(|changed| self.go_to(changed, &step.after, direction)).collect()
            }
        };
        // A function that goes with its declaration is reported once, as a function.
        let is_function =
            |change: &Change| !change.is_variable && !change.is_declaration && !change.is_import;
        let functions: FxHashSet<String> =
            changes.iter().filter(|change| is_function(change)).map(|change| change.name.clone()).collect();
        let is_reported = |change: &Change| !change.is_declaration || !functions.contains(&change.name);
        changes.into_iter().filter(is_reported).collect()
    }

    /// Rebinds a name to what it means in another value of the book.
    fn go_to(&mut self, changed: &Changed, world: &World, direction: Direction) -> Change {
        let mut change = Change {
            name: changed.name().to_string(),
            is_variable: false,
            is_declaration: false,
            is_import: false,
            is_defined: true,
            warnings: Vec::new(),
        };
        match changed {
            Changed::Function { name, before, after } => {
                let bound = if direction == Direction::Back { before } else { after };
                change.is_defined = bound.is_some();
                change.warnings = self.go_to_definition(name.name(), bound.as_ref(), world);
            }
            Changed::Variable(name) => {
                change.is_variable = true;
                change.is_defined = world.has_variable(name.name());
                if change.is_defined {
                    self.world.declare_variable(name.clone());
                } else {
                    self.world.remove_variable(name.name());
                }
            }
            Changed::Import(name) => {
                change.is_import = true;
                change.is_defined = world.imports().iter().any(|import| import.module.name == *name);
                self.world.restore_imports(world);
                self.drop_lost_aliases();
                self.adopt_called();
            }
            Changed::Declaration(name) => {
                change.is_declaration = true;
                let declared = world.declaration(name.name());
                change.is_defined = declared.is_some();
                self.set_extern(name.name(), declared.cloned());
            }
        }
        change
    }

    fn go_to_definition(
        &mut self,
        name: Name,
        bound: Option<&BoundDefinition>,
        world: &World,
    ) -> Vec<Diagnostic> {
        let hidden = self.imported_pattern(name);
        let changed = self.world.rebind(name, world);
        let mut warnings = match bound {
            Some(bound) => {
                self.backend.rebind(bound);
                self.warnings(&changed.stale, bound.function())
            }
            None => {
                self.backend.drop_binding(name);
                Vec::new()
            }
        };
        self.adopt_if_called(name);
        self.follow_aliases(name);
        let before = changed.before.as_ref().or(hidden.as_ref());
        let instances = self.follow_pattern(name, before, bound.map(BoundDefinition::function));
        if let Some(bound) = bound {
            warnings.extend(self.warnings_of_givers(&instances, bound.function()));
        }
        warnings
    }

    /// Removes a function: unbinds its name, and removes its declaration.
    /// Callers then fail; an operator gets its built-in meaning back.
    ///
    /// # Errors
    /// [`Error::NoFunction`] if nothing of that name is defined or declared.
    pub fn drop_function(&mut self, name: &str) -> Result<(), Error> {
        let known = self.name_of(name);
        let is_alias = |name| {
            let origin = self.world.definition(name).map(|bound| bound.origin);
            matches!(origin, Some(Origin::Alias(_) | Origin::Instance(_) | Origin::Dispatcher))
        };
        let is_known = |name: &Name| {
            self.world.defines(*name) && !is_alias(*name) || self.world.declaration(*name).is_some()
        };
        let name = known.filter(is_known).ok_or_else(|| Error::NoFunction(name.to_owned()))?;
        let _step = self.history.step();
        if self.world.declaration(name).is_some() {
            let moment = self.history.moment(&self.world);
            self.set_extern(name, None);
            self.history.push(moment, &self.world, Changed::Declaration(self.engine.names().text(name)));
        }
        if !self.world.defines(name) {
            return Ok(());
        }
        let moment = self.history.moment(&self.world);
        let before = moment.as_ref().and_then(|_| self.backend.bound(name));
        let removed = self.world.remove(name, self.engine.names());
        self.backend.drop_binding(name);
        let held = self.engine.names().text(name);
        self.history.push(moment, &self.world, Changed::Function { name: held, before, after: None });
        self.adopt_if_called(name);
        self.follow_aliases(name);
        self.follow_pattern(name, removed.as_ref(), None);
        Ok(())
    }

    /// Removes a variable that no definition uses.
    ///
    /// # Errors
    /// [`Error::NoVariable`] if it is not declared, [`Error::VariableInUse`] if
    /// a definition reads or assigns it.
    pub fn drop_variable(&mut self, name: &str) -> Result<(), Error> {
        let declared = self.declared(name)?;
        let users = self.users(name);
        if !users.is_empty() {
            return Err(Error::VariableInUse { name: name.to_owned(), users });
        }
        let moment = self.history.moment(&self.world);
        let held = self.engine.names().text(declared);
        self.world.remove_variable(declared);
        self.notes.remove(declared);
        let _step = self.history.step();
        self.history.push(moment, &self.world, Changed::Variable(held));
        self.release_variables();
        Ok(())
    }

    /// Removes everything: definitions, variables, operators, history. The context
    /// is as good as a new one of its engine; its output, deadline and
    /// interrupt handles stay.
    pub fn reset(&mut self) {
        let world = std::mem::replace(&mut self.world, World::new(self.engine.operators().clone()));
        if !self.backend.reset() {
            for name in world.function_names() {
                self.backend.drop_binding(name);
            }
            for declared in world.declarations() {
                self.tell_declared(declared.name, None);
            }
        }
        let History { depth, ref step, .. } = self.history;
        self.history = History { depth, step: step.clone(), ..History::default() };
        self.release_variables();
        self.notes = VariableNotes::default();
        self.module_files = ModuleFiles::default();
        self.redefined = 0;
        self.backend.budget().restart();
    }
}
