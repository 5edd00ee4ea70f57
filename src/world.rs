//! The book of names: what every name of a program means.
//!
//! A [`World`] is a value. Cloning it takes constant time, and a clone stays as
//! it is: what undo goes back to, and what a second context begins with, are
//! older or other values of the book. It knows no back end. A back end keeps
//! what it makes of a definition, a tape or code, in tables of its own.

mod bound;
mod calls;
mod edit;
mod graph;
mod layer;
mod layers;
mod lazy;
mod numbered;
mod opening;
mod stored;

use crate::module::{ImportedModule, Imports, MemberKind, Module, NameMistake, parts};
use crate::name::{HeldName, Name, NameMap, Names};
use crate::sema::Extern;
use crate::sema::checked::{CheckedFunction, Made};
use crate::sema::instance::shared::{dispatchers, functions_given, hand_over};
use crate::sema::instance::{instance, instance_parts};
use crate::syntax::operator::{BinaryAction, Fixity, Infix, Operators, UnaryMeaning};
pub use bound::{BoundFunction, Origin};
use calls::Calls;
pub use edit::EditedText;
pub use layer::Layer;
pub use layers::Layers;
pub use lazy::LazyTable;
use numbered::NumberedFunctions;
pub use opening::StoredOpening;
use std::sync::Arc;
pub use stored::{StoredEnvironment, StoredItem, StoredText, TextWriter, WrittenText, encode_module};

/// What the names of a program mean.
#[derive(Clone)]
pub struct World {
    definitions: NameMap<BoundFunction>,
    /// What lies below them. No name of it is bound among them as well.
    layers: Layers,
    operators: Arc<Operators>,
    /// The declared variables.
    variables: NameMap<HeldName>,
    /// The declarations that add information: of foreign functions, and of
    /// functions that the program will define.
    externs: NameMap<Extern>,
    /// Counts how the definitions call each other.
    calls: Calls,
    /// The modules that have been read, by name.
    modules: NameMap<Arc<Module>>,
    imports: Imports,
    /// How many instances the patterns have that are not calls of shared ones.
    instances: NameMap<u32>,
    /// What shared instances call by number.
    numbered: NumberedFunctions,
}

/// How many instances a pattern may have; what is more are calls of a shared one.
const MOST_INSTANCES: u32 = 256;

/// What a definition or a removal has changed for others.
pub struct Redefinition {
    /// What the name was bound to before.
    pub before: Option<Arc<CheckedFunction>>,
    /// The definitions that call the name with another number of arguments
    /// than it takes now, and had no reason to before.
    pub stale: Vec<Arc<CheckedFunction>>,
}

impl World {
    /// Creates a book in which only operators mean something.
    pub fn new(operators: Arc<Operators>) -> Self {
        Self {
            definitions: NameMap::default(),
            layers: Layers::default(),
            operators,
            variables: NameMap::default(),
            externs: NameMap::default(),
            calls: Calls::default(),
            modules: NameMap::default(),
            imports: Imports::default(),
            instances: NameMap::default(),
            numbered: NumberedFunctions::default(),
        }
    }

    /// Returns whether nothing is defined in either book, and the same is declared.
    pub fn declares_the_same(&self, other: &Self) -> bool {
        let is_alike = |declared: &Extern| {
            other.declaration(declared.name).is_some_and(|other| other.arity() == declared.arity())
        };
        self.len() == 0
            && self.imports.is_empty()
            && other.imports.is_empty()
            && other.len() == 0
            && Arc::ptr_eq(&self.operators, &other.operators)
            && self.variables.len() == other.variables.len()
            && self.variables().all(|name| other.has_variable(name))
            && self.externs.len() == other.externs.len()
            && self.declarations().all(is_alike)
    }

    /// Returns the definition that a name is bound to.
    pub fn definition(&self, name: Name) -> Option<&BoundFunction> {
        self.definitions.get(name).or_else(|| self.layers.definition(name))
    }

    /// Returns the function that a name is bound to.
    pub fn function(&self, name: Name) -> Option<&Arc<CheckedFunction>> {
        self.definition(name).map(|definition| &definition.function)
    }

    /// Returns the number of parameters of the function that a name is bound to, or would
    /// be if it were called. Decodes nothing of a layer.
    pub fn arity(&self, name: Name) -> Option<u32> {
        if !self.definitions.contains(name)
            && let Some(arity) = self.layers.arity(name)
        {
            return Some(arity);
        }
        self.meaning(name).map(|function| function.signature())
    }

    /// Returns whether a name is bound to a function.
    pub fn defines(&self, name: Name) -> bool {
        self.definitions.contains(name) || self.layers.defines(name)
    }

    /// Returns the name that reads so, if something may have it: what a layer defines may not
    /// have been met.
    pub fn name(&self, text: &str, names: &Names) -> Option<Name> {
        names.get(text).or_else(|| self.layers.name(text))
    }

    /// Returns the definitions: those of the layers, then the others in the order in which
    /// their names were first met.
    fn definitions(&self) -> impl Iterator<Item = &BoundFunction> {
        let layers = self.layers.iter().flat_map(|layer| layer.definitions());
        layers.chain(self.definitions.values())
    }

    /// Returns the functions, those of the layers first.
    pub fn functions(&self) -> impl Iterator<Item = &Arc<CheckedFunction>> {
        self.definitions().map(|definition| &definition.function)
    }

    /// Returns the names of the functions, in the same order.
    pub fn function_names(&self) -> impl Iterator<Item = Name> {
        let layers = self.layers.iter().flat_map(|layer| layer.names());
        layers.map(|held| held.name()).chain(self.definitions.names())
    }

    /// Returns the functions of the program itself, in the same order.
    pub fn own_functions(&self) -> impl Iterator<Item = &Arc<CheckedFunction>> {
        let layers = self.layers.iter().filter(|layer| layer.module().is_none());
        let definitions = layers.flat_map(|layer| layer.definitions()).chain(self.definitions.values());
        let own = definitions.filter(|definition| definition.origin == Origin::Program);
        own.map(|definition| &definition.function)
    }

    /// Returns the number of functions of the program itself, without decoding any.
    pub fn own_count(&self) -> usize {
        let layers = self.layers.iter().filter(|layer| layer.module().is_none());
        let own = self.definitions.values().filter(|definition| definition.origin == Origin::Program);
        layers.map(|layer| layer.len()).sum::<usize>() + own.count()
    }

    /// Returns the number of functions.
    pub fn len(&self) -> usize {
        self.definitions.len() + self.layers.definition_count()
    }

    /// Returns whether nothing is defined or imported, and no variable declared.
    fn is_blank(&self) -> bool {
        self.len() == 0 && self.variables.is_empty() && self.modules.is_empty() && self.imports.is_empty()
    }

    /// Returns whether all is as in a new program.
    pub fn is_untouched(&self, operators: &Arc<Operators>) -> bool {
        self.is_blank() && self.externs.is_empty() && Arc::ptr_eq(&self.operators, operators)
    }

    /// Returns the opening of a text as a layer to lie below the book; `None` if the book says
    /// something about its names, or the text is damaged. What its
    /// [reading asked](Layer::record) must have the same answers besides.
    pub fn layer_of(&self, text: &Arc<StoredText>) -> Option<Layer> {
        let layer = Layer::new(text, text.described().ok()?, &self.operators)?;
        let is_free = |name: Name| !layer.defines(name);
        let is_known = |declared: &Extern| {
            is_free(declared.name)
                && (!layer.calls(declared.name)
                    || layer.record().knows_declared(declared.name, declared.signature()))
        };
        let fits = self.definitions.names().all(is_free)
            && self.layers.iter().all(|layer| layer.module().is_some() && layer.called().all(is_free))
            && self.calls.names().all(is_free)
            && self.imports.aliases(MemberKind::Function).all(is_free)
            && self.declarations().all(is_known);
        fits.then_some(layer)
    }

    /// Puts a layer below a book that it was made for.
    pub fn put_below(&mut self, layer: &Arc<Layer>) {
        if layer.module().is_none() {
            self.operators = layer.operators().clone();
        }
        self.layers.add(layer);
    }

    /// Returns whether a module lies below the book as a layer.
    pub fn has_layer_of(&self, module: Name) -> bool {
        self.layers.iter().filter_map(|layer| layer.module()).any(|held| held.name() == module)
    }

    /// Binds all names of the layers that `concerns` selects.
    fn bind_layers(&mut self, concerns: impl Fn(&Layer) -> bool) {
        for layer in self.layers.take(concerns) {
            for definition in layer.definitions() {
                self.calls.add(&definition.function);
                self.definitions.insert(definition.function.name, definition.clone());
            }
        }
    }

    /// Binds a function's name to it. The operator of that fixity, if there is
    /// one, means the function from now on.
    pub fn define(&mut self, function: &Arc<CheckedFunction>, fixity: Option<Fixity>) -> Redefinition {
        let operators = self.operators.clone();
        if let Some(fixity) = fixity {
            Arc::make_mut(&mut self.operators).define(fixity, function.name, &function.names);
        }
        let origin = Origin::Program;
        self.bind(BoundFunction { function: function.clone(), operators, fixity, origin })
    }

    /// Binds the name of a module's function to it. Operators stay as they are:
    /// an import brings those of a module into force.
    pub fn define_in_module(
        &mut self,
        function: &Arc<CheckedFunction>,
        operators: &Arc<Operators>,
    ) -> Redefinition {
        let (function, operators) = (function.clone(), operators.clone());
        self.bind(BoundFunction { function, operators, fixity: None, origin: Origin::Module })
    }

    /// Returns the function to which an import makes a name an alias, if the
    /// program does not define the name itself.
    pub fn aliased(&self, name: Name) -> Option<&BoundFunction> {
        match self.definition(name).map(|bound| bound.origin) {
            Some(Origin::Program | Origin::Module | Origin::Dispatcher) => return None,
            Some(Origin::Alias(_) | Origin::Instance(_)) | None => {}
        }
        let member = self.imports.alias(name, MemberKind::Function).ok()??;
        self.definition(member.qualified.name())
    }

    /// Binds a name to the function of a module that it is an [alias](Self::aliased)
    /// of, or the name of an instance to it. Returns what is bound; nothing if the name is
    /// none of these, or bound to it already. With `shares`, instances beyond a bound are
    /// calls of a shared one.
    pub fn adopt(&mut self, name: Name, shares: bool, names: &Names) -> Vec<Arc<CheckedFunction>> {
        let is_instance = instance_parts(&names.text(name)).is_some();
        if is_instance {
            self.adopt_instance(name, shares, names).unwrap_or_default()
        } else {
            self.adopt_alias(name, names).into_iter().collect()
        }
    }

    fn adopt_alias(&mut self, name: Name, names: &Names) -> Option<Arc<CheckedFunction>> {
        let aliased = self.aliased(name)?.clone();
        let (target, held) = (aliased.function.name, names.text(name));
        let is_bound = self.definition(name).is_some_and(|bound| {
            bound.origin == Origin::Alias(target) && bound.function.is_alias_of(&aliased.function)
        });
        if is_bound {
            return None;
        }
        let function = Arc::new(aliased.function.under(held));
        self.bind(BoundFunction {
            function: function.clone(),
            operators: aliased.operators,
            fixity: None,
            origin: Origin::Alias(target),
        });
        Some(function)
    }

    /// Returns the pattern of the instance of that name, and the name by which it is called.
    fn pattern(&self, name: Name, names: &Names) -> Option<(Name, &Arc<CheckedFunction>)> {
        let text = names.text(name);
        // What a layer defines may have a name that nothing has met yet.
        let pattern = names.try_hold(instance_parts(&text)?.0).ok()?.name();
        Some((pattern, self.meaning(pattern)?))
    }

    /// Binds the name of an instance to it. Returns it, with the dispatchers that have changed;
    /// `None` if its pattern is not known or does not fit, or the name is bound to it already.
    fn adopt_instance(
        &mut self,
        name: Name,
        shares: bool,
        names: &Names,
    ) -> Option<Vec<Arc<CheckedFunction>>> {
        let (pattern_name, pattern) = self.pattern(name, names)?;
        let (pattern, text) = (pattern.clone(), names.text(name));
        let origin = Origin::Instance(pattern_name);
        let bound = self.definition(name).filter(|bound| bound.origin == origin);
        if bound.is_some_and(|bound| bound.function.is_alias_of(&pattern)) {
            return None;
        }
        let is_shared = match bound {
            Some(bound) => matches!(bound.function.made, Made::HandOver(_)),
            None => shares && self.instances.get(pattern_name).is_some_and(|count| *count >= MOST_INSTANCES),
        };
        let given = if is_shared { functions_given(&pattern, &text) } else { None };
        let mut changed = Vec::new();
        let function = match given {
            Some(given) => {
                let mut numbers = Vec::new();
                for (function, arity) in given {
                    let (number, is_new) = self.numbered.number(names.try_hold(function).ok()?, arity);
                    numbers.push(number);
                    if is_new {
                        changed.extend(dispatchers(arity, self.numbered.functions(arity), &pattern, names)?);
                    }
                }
                hand_over(&pattern, &text, &numbers, names)?
            }
            None => instance(&pattern, &text, names)?,
        };
        changed.push(function);
        let changed: Vec<_> = changed.into_iter().map(Arc::new).collect();
        for function in &changed {
            let (function, operators) = (function.clone(), self.operators.clone());
            let origin = if function.made == Made::Dispatcher { Origin::Dispatcher } else { origin };
            self.bind(BoundFunction { function, operators, fixity: None, origin });
        }
        Some(changed)
    }

    /// Returns the instances of a pattern that are bound, or called.
    pub fn instances_of(&self, pattern: Name, names: &Names) -> Vec<Name> {
        let text = names.text(pattern);
        let is_instance =
            |name: &Name| instance_parts(&names.text(*name)).is_some_and(|(of, _)| of == &*text);
        let bound = self.definitions.values().filter(|bound| bound.origin == Origin::Instance(pattern));
        let bound = bound.map(|bound| bound.function.name);
        let called = self.calls.names().chain(self.called_in_layers()).filter(is_instance);
        bound.chain(called).collect()
    }

    /// Returns the function that a name is bound to, or would be if it were called: it
    /// may be an alias that nothing has used yet.
    pub fn meaning(&self, name: Name) -> Option<&Arc<CheckedFunction>> {
        self.function(name).or_else(|| Some(&self.aliased(name)?.function))
    }

    /// Returns the name that a name which is not a local stands for.
    ///
    /// # Errors
    /// If two imports offer it, or the module of a qualified name is not imported.
    pub fn global(&self, name: Name, kind: MemberKind, names: &Names) -> Result<HeldName, NameMistake> {
        let text = names.text(name);
        if parts(&text).is_some() {
            return self.imports.qualified(&text, names);
        }
        let is_own = match kind {
            MemberKind::Function => {
                self.definition(name).is_some_and(|bound| bound.origin == Origin::Program)
            }
            MemberKind::Variable => self.has_variable(name),
        };
        if is_own {
            return Ok(text);
        }
        // The alias of a function is a binding, since a definition can hide it later;
        // that of a variable is the variable.
        let alias = self.imports.alias(name, kind)?.filter(|_| kind == MemberKind::Variable);
        Ok(alias.map_or(text, |member| member.qualified.clone()))
    }

    /// Returns the names that are bound to functions of modules, but are not their
    /// aliases any more.
    pub fn lost_aliases(&self, names: &Names) -> Vec<Name> {
        let is_lost = |bound: &&BoundFunction| match bound.origin {
            Origin::Alias(target) => {
                self.aliased(bound.function.name).is_none_or(|aliased| aliased.function.name != target)
            }
            Origin::Instance(_) => self.pattern(bound.function.name, names).is_none_or(|(_, pattern)| {
                instance(pattern, &names.text(bound.function.name), names).is_none()
            }),
            Origin::Program | Origin::Module | Origin::Dispatcher => false,
        };
        self.definitions.values().filter(is_lost).map(|bound| bound.function.name).collect()
    }

    /// Returns a module that has been read.
    pub fn module(&self, name: Name) -> Option<&Arc<Module>> {
        self.modules.get(name)
    }

    /// Returns the modules that have been read.
    pub fn modules(&self) -> impl Iterator<Item = &Arc<Module>> {
        self.modules.iter().map(|(_, module)| module)
    }

    /// Adds a module, or another version of one.
    pub fn add_module(&mut self, module: Arc<Module>) {
        self.imports.replace(&module);
        self.modules.insert(module.name.name(), module);
    }

    /// Returns the imports in force.
    pub fn imports(&self) -> &Imports {
        &self.imports
    }

    /// Adds an import, and brings its operators into force.
    pub fn import(&mut self, import: ImportedModule, operators: Operators) {
        self.operators = Arc::new(operators);
        self.imports.add(import);
    }

    /// Makes the imports, the modules that have been read, and the operators in force, those of
    /// another value of the book.
    pub fn restore_imports(&mut self, other: &Self) {
        self.imports = other.imports.clone();
        self.modules = other.modules.clone();
        self.operators = other.operators.clone();
    }

    /// Returns whether a definition calls a name.
    pub fn is_called(&self, name: Name) -> bool {
        self.calls.any(name) || self.layers.calls(name)
    }

    /// Returns the names that may be those of aliases that definitions call: what is
    /// called, and the aliases that are bound.
    pub fn called_or_aliases(&self) -> Vec<Name> {
        let is_alias =
            |bound: &&BoundFunction| matches!(bound.origin, Origin::Alias(_) | Origin::Instance(_));
        let aliases = self.definitions.values().filter(is_alias).map(|bound| bound.function.name);
        aliases.chain(self.calls.names()).chain(self.called_in_layers()).collect()
    }

    /// Returns the names that definitions of layers call, and that may be those of aliases or
    /// instances.
    fn called_in_layers(&self) -> impl Iterator<Item = Name> {
        self.layers.iter().flat_map(|layer| layer.adoptable().iter().copied())
    }

    fn bind(&mut self, definition: BoundFunction) -> Redefinition {
        let function = definition.function.clone();
        match definition.origin {
            Origin::Program | Origin::Module => {
                self.bind_layers(|layer| layer.calls(function.name) || layer.defines(function.name));
            }
            // No warning is about them, and no layer defines them.
            Origin::Alias(_) | Origin::Instance(_) | Origin::Dispatcher => {}
        }
        self.calls.add(&function);
        if let Made::Instance(pattern) = function.made {
            *self.instances.entry(pattern) += 1;
        }
        let before = self.definitions.insert(function.name, definition).map(|before| before.function);
        before.iter().for_each(|before| self.forget(before));
        // Callers that did not fit the old definition have been reported before.
        let is_same = before.as_ref().is_some_and(|before| before.arity() == function.arity());
        let stale = if is_same { Vec::new() } else { self.stale_callers(&function) };
        Redefinition { before, stale }
    }

    /// Unbinds a name. Returns the function it was bound to. An operator that it
    /// defined gets its built-in meaning back.
    pub fn remove(&mut self, name: Name, names: &Names) -> Option<Arc<CheckedFunction>> {
        let fixity = self.definition(name)?.fixity;
        if let Some(fixity) = fixity {
            Arc::make_mut(&mut self.operators).forget(fixity, names);
        }
        self.unbind(name)
    }

    fn unbind(&mut self, name: Name) -> Option<Arc<CheckedFunction>> {
        self.bind_layers(|layer| layer.defines(name));
        let BoundFunction { function, .. } = self.definitions.remove(name)?;
        self.forget(&function);
        Some(function)
    }

    /// Takes back what was counted of a function when its name was bound to it.
    fn forget(&mut self, function: &CheckedFunction) {
        self.calls.remove(function);
        if let Made::Instance(pattern) = function.made
            && let Some(count) = self.instances.get_mut(pattern)
        {
            *count = count.saturating_sub(1);
        }
    }

    /// Binds a name to what it is bound to in another value of the book, and
    /// reads operators as there.
    pub fn rebind(&mut self, name: Name, other: &Self) -> Redefinition {
        self.operators = other.operators.clone();
        match other.definition(name) {
            Some(definition) => self.bind(definition.clone()),
            None => Redefinition { before: self.unbind(name), stale: Vec::new() },
        }
    }

    /// Returns whether a name is bound to an equal definition already.
    pub fn is_bound_to(&self, function: &CheckedFunction, fixity: Option<Fixity>, names: &Names) -> bool {
        self.function(function.name).is_some_and(|bound| bound.means_the_same_as(function, names))
            && fixity.is_none_or(|fixity| self.reads_as(fixity, function.name))
    }

    fn reads_as(&self, fixity: Fixity, function: Name) -> bool {
        match fixity {
            Fixity::Unary { operator } => {
                self.operators.unary(operator) == Some(UnaryMeaning::Function(function))
            }
            Fixity::Binary { operator, .. } if self.operators.assigns(operator) => true,
            Fixity::Binary { operator, precedence } => {
                self.operators.binary(operator).is_some_and(|meaning| {
                    meaning.infix == Infix::defined(precedence)
                        && meaning.action == BinaryAction::Function(function)
                })
            }
        }
    }

    /// Returns the operators in force.
    pub fn operators(&self) -> &Arc<Operators> {
        &self.operators
    }

    /// Returns whether a variable is declared.
    pub fn has_variable(&self, name: Name) -> bool {
        self.variables.contains(name)
    }

    /// Returns the declared variables, in the order in which their names were
    /// first met.
    pub fn variables(&self) -> impl Iterator<Item = Name> {
        self.variables.names()
    }

    /// Returns the number of declared variables.
    pub fn variable_count(&self) -> usize {
        self.variables.len()
    }

    /// Declares a variable.
    pub fn declare_variable(&mut self, name: HeldName) {
        self.variables.insert(name.name(), name);
    }

    /// Removes a variable.
    pub fn remove_variable(&mut self, name: Name) {
        self.variables.remove(name);
    }

    /// Returns the `extern` that declares a function.
    pub fn declaration(&self, name: Name) -> Option<&Extern> {
        self.externs.get(name)
    }

    /// Returns the declarations by `extern`, in the order in which their names
    /// were first met.
    pub fn declarations(&self) -> impl Iterator<Item = &Extern> {
        self.externs.values()
    }

    /// Returns the number of declarations by `extern`.
    pub fn declaration_count(&self) -> usize {
        self.externs.len()
    }

    /// Sets what a name is declared as. Returns what it was before.
    pub fn declare(&mut self, name: Name, declared: Option<Extern>) -> Option<Extern> {
        match declared {
            Some(declared) => self.externs.insert(name, declared),
            None => self.externs.remove(name),
        }
    }
}
