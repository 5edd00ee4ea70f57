//! Libraries: reading the modules that a program imports.
//!
//! A file is a module, and a folder is a library: `stats` is the file `stats.kal`,
//! `stats.robust` is `stats/robust.kal`. What an import needs is read and checked as
//! a whole before anything of it is in force, so one that is refused leaves nothing.
//! All modules are parsed before the first is checked: so they may import each other
//! in a circle, and a body may call what is defined below it.

#[cfg(feature = "cli")]
mod contents;
mod find;
mod parse;
mod project;
mod scope;
mod stored;

#[cfg(feature = "cli")]
pub(crate) use contents::ModuleContents;
#[cfg(feature = "cli")]
pub(crate) use find::{LibraryModule, folders_of_user, modules_of, read_up_to};

use crate::cache::CheckedText;
use crate::diagnostic::suggest::nearest;
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::engine::Engine;
use crate::module::standard;
use crate::module::{
    ImportedModule, ImportedNames, Imports, MemberKind, Module, add_operators, by_name, parts,
};
use crate::name::{HeldName, Name};
use crate::sema::asked::{ReadingRecord, Recorder};
use crate::sema::checked::CheckedFunction;
use crate::sema::{self, CheckedItem, Environment, Extern, Import, SourcePlace};
use crate::source::{Source, Span};
use crate::syntax::ast::{Item, ItemKind};
use crate::syntax::lexer::lex_polled;
use crate::syntax::operator::Operators;
use crate::syntax::parser::{ParseLimits, Parser};
use crate::syntax::token::Tokens;
use crate::text_cache::{KeptModule, KeptText};
use crate::world::{BoundFunction, Layer, Layers};
use find::ModulePlace;
use parse::ParsedModule;
use rustc_hash::FxHashMap;
use scope::ModuleScope;
use std::path::Path;
use std::sync::Arc;
use stored::StoredModule;

/// What reading a module needs to know.
pub(crate) struct ModuleReader<'a> {
    pub(crate) engine: &'a Engine,
    /// The program that imports.
    pub(crate) program: &'a dyn Environment,
    /// The modules that have been read before.
    pub(crate) known: &'a dyn Fn(Name) -> Option<Arc<Module>>,
    /// Whether what is parsed is kept for later runs.
    pub(crate) keeps: bool,
}

/// A module that was read and can be brought into force.
pub(crate) struct ReadModule {
    pub(crate) module: Arc<Module>,
    pub(crate) items: ModuleItems,
}

/// The items of a module.
pub(crate) enum ModuleItems {
    /// As they were parsed and checked, in order.
    Parsed(Vec<ModuleItem>),
    /// As an earlier run has checked them.
    Stored(Arc<Layer>),
}

impl ModuleItems {
    /// Returns all of them.
    pub(crate) fn all(self) -> Vec<ModuleItem> {
        match self {
            Self::Parsed(items) => items,
            Self::Stored(layer) => {
                let function = |bound: &BoundFunction| {
                    ModuleItem::Function(bound.function.clone(), bound.operators.clone())
                };
                layer.definitions().map(function).chain(others(&layer)).collect()
            }
        }
    }
}

/// Returns the items of a module that define no functions.
pub(crate) fn others(layer: &Layer) -> impl Iterator<Item = ModuleItem> {
    layer.others().filter_map(|item| match item.ok()? {
        CheckedItem::Variables(function, names) => Some(ModuleItem::Variables(function, names)),
        CheckedItem::Extern(declared) => Some(ModuleItem::Extern(declared)),
        CheckedItem::Definition(..)
        | CheckedItem::Import(_)
        | CheckedItem::Expression(_)
        | CheckedItem::Effect(_) => None,
    })
}

/// An item of a module, with the operators it was read with.
pub(crate) enum ModuleItem {
    /// A function.
    Function(Arc<CheckedFunction>, Arc<Operators>),
    /// Variables, with the function that assigns them.
    Variables(Arc<CheckedFunction>, Vec<Name>),
    /// The declaration of a function of the host.
    Extern(sema::Extern),
}

/// A module that is being read.
struct FoundModule {
    name: HeldName,
    source: Source,
    /// How many modules were complete before it, and one.
    number: usize,
    text: FoundText,
}

/// The text of a module.
enum FoundText {
    /// As an earlier run has checked it.
    Stored(StoredModule),
    Parsed(ParsedModule),
}

impl FoundModule {
    fn imports(&self) -> &[Import] {
        match &self.text {
            FoundText::Stored(stored) => &stored.imports,
            FoundText::Parsed(parsed) => &parsed.imports,
        }
    }

    fn parsed(&mut self) -> Option<&mut ParsedModule> {
        match &mut self.text {
            FoundText::Stored(_) => None,
            FoundText::Parsed(parsed) => Some(parsed),
        }
    }

    /// Returns what it offers, as far as it has been read, without what it imports.
    fn interface(&self) -> Arc<Module> {
        match &self.text {
            FoundText::Stored(stored) => stored.interface.clone(),
            FoundText::Parsed(parsed) => Arc::new(parsed.interface()),
        }
    }
}

/// What each module that is being read offers, without what it imports.
struct Interfaces(FxHashMap<Name, Arc<Module>>);

impl Interfaces {
    fn of(found: &[FoundModule]) -> Self {
        Self(found.iter().map(|found| (found.name.name(), found.interface())).collect())
    }
}

impl ModuleReader<'_> {
    /// Reads the module that an import names, and those that it imports, as far as
    /// they have not been read before or have changed since. An imported module
    /// comes before those that import it, but for circles.
    ///
    /// # Errors
    /// All that is wrong with them.
    pub(crate) fn read(&self, import: &Import) -> Result<Vec<ReadModule>, Vec<Diagnostic>> {
        let mut found = Vec::new();
        let folder = import.place.source.folder().or(self.engine.config().program_folder.as_deref());
        let mut visited = VisitedFiles::default();
        self.visit(&import.module, &import.place, folder, &mut found, &mut visited)?;
        found.sort_by_key(|module| module.number);
        let layers = self.layers(&mut found, &mut visited)?;
        self.check(found, layers)
    }

    /// Reads the text of a module and those that it imports, which may import others in
    /// turn.
    fn visit(
        &self,
        name: &HeldName,
        place: &SourcePlace,
        folder: Option<&Path>,
        found: &mut Vec<FoundModule>,
        visited: &mut VisitedFiles,
    ) -> Result<(), Vec<Diagnostic>> {
        /// The most stack that one module may use, in bytes.
        const RED_ZONE: usize = 128 << 10;
        /// The size of the stack segment that is added when less than that is left.
        const STACK_SEGMENT: usize = 4 << 20;
        stacker::maybe_grow(RED_ZONE, STACK_SEGMENT, || {
            let module = self.find(name, place, folder, visited)?;
            let file = module.file.display().to_string();
            let known = (self.known)(name.name());
            let present =
                visited.get(name).map(String::as_str).or(known.as_ref().map(|known| known.source.name()));
            if let Some(other) = present.filter(|present| **present != *file) {
                let message = format!("there are two modules `{name}`");
                let error = Diagnostic::error(ErrorCode::AmbiguousName, &place.source, place.span, message);
                let help = format!("this is {file}, and {other} has been imported");
                return Err(vec![error.with_note("which one?").with_help(help)]);
            }
            if visited.insert(name.clone(), file).is_some() {
                return Ok(());
            }
            let source = self.source(name, place, &module)?;
            let known = known.filter(|known| known.source.text() == source.text());
            if let Some(known) = known {
                let before = found.len();
                for import in known.imports.iter() {
                    self.visit(&import.module.name, place, known.source.folder(), found, visited)?;
                }
                if found.len() == before {
                    return Ok(());
                }
                // What it imports has changed: operators may mean something else.
            }
            let at = found.len();
            match self.stored(name, &source) {
                Some(stored) => {
                    let imports = stored.imports.clone();
                    let text = FoundText::Stored(stored);
                    found.push(FoundModule { name: name.clone(), source: source.clone(), number: 0, text });
                    for import in imports {
                        self.visit(&import.module, &import.place, source.folder(), found, visited)?;
                    }
                }
                None => {
                    let tokens = self.tokens(&source)?;
                    let parsed = ParsedModule::begin(name.clone(), &tokens, self.engine.names());
                    let text = FoundText::Parsed(parsed);
                    found.push(FoundModule { name: name.clone(), source: source.clone(), number: 0, text });
                    self.parse_items(at, &tokens, found, visited)?;
                }
            }
            found[at].number = found.iter().map(|other| other.number).max().unwrap_or_default() + 1;
            Ok(())
        })
    }

    /// Returns what an earlier run has checked of a module.
    fn stored(&self, name: &HeldName, source: &Source) -> Option<StoredModule> {
        let Some(CheckedText::Same(bytes)) = self.engine.open_cached(source, Some(name)) else { return None };
        StoredModule::new(name, source, bytes, self.engine.stored_environment()?)
    }

    fn tokens(&self, source: &Source) -> Result<Tokens, Vec<Diagnostic>> {
        let (longest, poll) = (self.engine.config().limits.max_source_bytes, self.program.poll());
        lex_polled(source, self.engine.names(), longest, &poll).map_err(|diagnostic| vec![diagnostic])
    }

    /// Parses the items of a module, whose operators are known by then.
    fn parse_items(
        &self,
        at: usize,
        tokens: &Tokens,
        found: &mut Vec<FoundModule>,
        visited: &mut VisitedFiles,
    ) -> Result<(), Vec<Diagnostic>> {
        let (source, names) = (tokens.source(), self.engine.names());
        let limits = ParseLimits { max_nesting: self.engine.config().limits.max_nesting };
        let mut parser = Parser::new(tokens, names, limits).polled(&self.program.poll());
        let mut operators = Operators::new(names);
        while let Some(item) = parser.next_item(&operators) {
            let item = item.map_err(|errors| errors.diagnostics)?;
            if let Some(import) = sema::import(&item, names) {
                self.visit(&import.module, &import.place, source.folder(), found, visited)?;
                let name = import.module.name();
                let read = found.iter().find(|found| found.name.name() == name);
                let offered = read.map(FoundModule::interface).or_else(|| (self.known)(name));
                let offered = offered.unwrap_or_else(|| self.nothing(name));
                self.add_operators(&import, offered, &mut operators)?;
                found[at].parsed().into_iter().for_each(|parsed| parsed.imports.push(import.clone()));
            }
            let Some(module) = found[at].parsed() else { break };
            match &item.kind {
                ItemKind::Expression(_) | ItemKind::Effect(_) => {
                    return Err(vec![refused_expression(source, item.span)]);
                }
                ItemKind::Definition(prototype, _) => {
                    if let Some(fixity) = prototype.fixity {
                        let function = module.operator(prototype.name.name, names);
                        operators.define(fixity, function.name(), &[names.text(fixity.operator()), function]);
                    }
                }
                ItemKind::Import(_) | ItemKind::Extern(_) | ItemKind::Variables(_) => {}
            }
            module.used.extend(parser.operators());
            module.add(item, &operators, names);
        }
        Ok(())
    }

    /// Brings the operators of an import into force.
    fn add_operators(
        &self,
        import: &Import,
        interface: Arc<Module>,
        operators: &mut Operators,
    ) -> Result<(), Vec<Diagnostic>> {
        let imported = imported(import, interface);
        let added = add_operators(&imported, operators, self.engine.names());
        added.map_err(|(operator, other)| vec![two_meanings(import, operator, &other)])
    }

    /// Returns the layers of the modules that an earlier run has checked, and that mean
    /// the same now. Parses the others.
    fn layers(
        &self,
        found: &mut Vec<FoundModule>,
        visited: &mut VisitedFiles,
    ) -> Result<Layers, Vec<Diagnostic>> {
        let (interfaces, heads) = (Interfaces::of(found), self.heads(found));
        let mut layers = Layers::default();
        for module in &*found {
            let FoundText::Stored(stored) = &module.text else { continue };
            let import = |import: &Import, operators: &mut Operators| {
                self.add_operators(import, self.offered(import, &interfaces), operators).ok()
            };
            stored.layer(&import).into_iter().for_each(|layer| layers.add(&Arc::new(layer)));
        }
        let is_changed = |module: &FoundModule| match module.text {
            FoundText::Stored(_) => self.is_same(module, &interfaces, &heads, &layers).is_none(),
            FoundText::Parsed(_) => false,
        };
        let changed: Vec<_> = (0..found.len()).filter(|at| is_changed(&found[*at])).collect();
        for at in changed {
            let (name, source) = (found[at].name.clone(), found[at].source.clone());
            let tokens = self.tokens(&source)?;
            let parsed = ParsedModule::begin(name.clone(), &tokens, self.engine.names());
            found[at].text = FoundText::Parsed(parsed);
            self.parse_items(at, &tokens, found, visited)?;
            layers.take(|layer| layer.module() == Some(&name));
        }
        Ok(layers)
    }

    /// Returns something if a module that is a layer means what it has meant when it was
    /// checked.
    fn is_same(
        &self,
        module: &FoundModule,
        interfaces: &Interfaces,
        heads: &FxHashMap<Name, Extern>,
        layers: &Layers,
    ) -> Option<()> {
        let layer = layers.iter().find(|layer| layer.module() == Some(&module.name))?;
        let (interface, mistakes) = self.interface(module, interfaces);
        let operators = self.imported_operators(module, interfaces)?;
        let scope = ModuleScope::new(self.program, &interface, heads, layers);
        let is_same = mistakes.is_empty() && layer.record().holds_in_module(&scope, &operators);
        is_same.then_some(())
    }

    /// Returns the operators that the imports of a module alone bring into force; `None` if
    /// one would have two meanings.
    fn imported_operators(&self, module: &FoundModule, interfaces: &Interfaces) -> Option<Operators> {
        let mut operators = Operators::new(self.engine.names());
        for import in module.imports() {
            self.add_operators(import, self.offered(import, interfaces), &mut operators).ok()?;
        }
        Some(operators)
    }

    /// Returns the heads of the functions of the modules that were parsed.
    fn heads(&self, found: &[FoundModule]) -> FxHashMap<Name, Extern> {
        let heads = |module: &FoundModule| match &module.text {
            FoundText::Stored(_) => Vec::new(),
            FoundText::Parsed(parsed) => parsed.heads(self.engine.names()),
        };
        found.iter().flat_map(heads).collect()
    }

    /// Returns what the module of an import offers.
    fn offered(&self, import: &Import, interfaces: &Interfaces) -> Arc<Module> {
        let name = import.module.name();
        let read = interfaces.0.get(&name).cloned().or_else(|| (self.known)(name));
        read.unwrap_or_else(|| self.nothing(name))
    }

    /// Returns a module that offers nothing.
    fn nothing(&self, name: Name) -> Arc<Module> {
        let (name, functions) = (self.engine.names().text(name), Arc::new(by_name([])));
        Arc::new(Module::new(name, Source::new("", ""), functions, by_name([]), Vec::new()))
    }

    /// Returns a module with what it imports, and what is wrong with its imports.
    fn interface(&self, module: &FoundModule, interfaces: &Interfaces) -> (Arc<Module>, Vec<Diagnostic>) {
        let (mut imports, mut mistakes) = (Imports::default(), Vec::new());
        for import in module.imports() {
            let offering = self.offered(import, interfaces);
            mistakes.extend(unknown_name(import, &offering).or_else(|| same_qualifier(import, &imports)));
            imports.add(imported(import, offering));
        }
        let own = interfaces.0.get(&module.name.name()).cloned();
        let own = own.unwrap_or_else(|| self.nothing(module.name.name()));
        (Arc::new(own.importing(imports)), mistakes)
    }

    /// Checks the modules that were parsed.
    fn check(&self, found: Vec<FoundModule>, layers: Layers) -> Result<Vec<ReadModule>, Vec<Diagnostic>> {
        let (interfaces, heads) = (Interfaces::of(&found), self.heads(&found));
        let with_imports: Vec<_> = found.iter().map(|module| self.interface(module, &interfaces)).collect();
        let mut mistakes: Vec<_> = with_imports.iter().flat_map(|(_, mistakes)| mistakes.clone()).collect();
        let (mut read, mut kept) = (Vec::new(), Vec::new());
        for (found, (module, _)) in found.into_iter().zip(with_imports) {
            let layer = || layers.iter().find(|layer| layer.module() == Some(&found.name));
            if let Some(layer) = layer() {
                read.push(ReadModule { module, items: ModuleItems::Stored(layer.clone()) });
                continue;
            }
            let operators = self.imported_operators(&found, &interfaces);
            let FoundText::Parsed(parsed) = found.text else { continue };
            let scope = ModuleScope::new(self.program, &module, &heads, &layers);
            let keeps = self.keeps && self.engine.caches(&module.source);
            let ParsedModule { items, used, .. } = parsed;
            let (items, checked, records) = self.check_items(items, scope, keeps, &mut mistakes);
            if let Some(operators) = operators.filter(|_| keeps) {
                let is_own = |name: Name, kind: Option<MemberKind>| {
                    let text = self.engine.names().text(name);
                    parts(&text).is_some_and(|(qualifier, _)| *qualifier == *module.name)
                        || kind.is_some_and(|kind| module.member(name, kind).is_some())
                };
                let record = ReadingRecord::of_module(&records, used.into_iter(), &operators, is_own);
                kept.push((module.clone(), checked, record));
            }
            read.push(ReadModule { module, items: ModuleItems::Parsed(items) });
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        for (module, items, record) in kept {
            if let Some(environment) = self.engine.stored_environment() {
                let kept = KeptModule { items, record, environment: environment.clone() };
                self.engine.texts().keep(&module.source, Some(&module.name), KeptText::Module(kept));
            }
        }
        Ok(read)
    }

    /// Checks the items of a module. Returns them, and if they are kept for later runs, as
    /// they were checked, with what that asked.
    fn check_items(
        &self,
        items: Vec<(Item, Arc<Operators>)>,
        mut scope: ModuleScope<'_>,
        keeps: bool,
        mistakes: &mut Vec<Diagnostic>,
    ) -> (Vec<ModuleItem>, Vec<CheckedItem>, Vec<ReadingRecord>) {
        let nothing = Operators::new(self.engine.names());
        let (mut read, mut kept, mut records) = (Vec::new(), Vec::new(), Vec::new());
        for (item, operators) in items {
            let recorder = keeps.then(|| Recorder::new(&scope, &nothing, Vec::new(), item.names.clone()));
            let environment: &dyn Environment = match &recorder {
                Some(recorder) => recorder,
                None => &scope,
            };
            let checked = sema::check(&item, environment);
            records.extend(recorder.map(Recorder::record));
            kept.extend(checked.as_ref().ok().filter(|_| keeps).cloned());
            match checked {
                Ok(CheckedItem::Definition(function, _)) => {
                    read.push(ModuleItem::Function(function, operators));
                }
                Ok(CheckedItem::Variables(function, variables)) => {
                    scope.declare(variables.iter().copied());
                    read.push(ModuleItem::Variables(function, variables));
                }
                Ok(CheckedItem::Extern(declared)) => read.push(ModuleItem::Extern(declared)),
                Ok(CheckedItem::Import(_) | CheckedItem::Expression(_) | CheckedItem::Effect(_)) => {}
                Err(found) => mistakes.extend(found),
            }
        }
        (read, kept, records)
    }

    /// Finds the file of a module. A program does not mean itself, though it has the name of a
    /// module: `import math` in `math.kal`.
    fn find(
        &self,
        name: &HeldName,
        place: &SourcePlace,
        folder: Option<&Path>,
        visited: &VisitedFiles,
    ) -> Result<ModulePlace, Vec<Diagnostic>> {
        let looked = find::places(name, folder, &self.engine.config().library_paths);
        let looked =
            looked.map_err(|error| not_read(place, format!("the module `{name}` cannot be found"), error))?;
        let importer = (place.source.folder(), Path::new(place.source.name()).file_name());
        let is_program = |candidate: &ModulePlace| {
            importer == (Some(&*candidate.library), candidate.file.file_name())
                && visited.values().all(|file| Path::new(file) != candidate.file)
        };
        let others: Vec<_> = looked.iter().filter(|candidate| !is_program(candidate)).cloned().collect();
        let in_images = self.engine.module_in_images(name);
        let found = find::find(&others, name, in_images).or_else(|| find::find(&looked, name, in_images));
        found.ok_or_else(|| {
            let looked: Vec<_> = looked.iter().map(|place| place.file.display().to_string()).collect();
            if let Some(module) = name.strip_suffix(".kal") {
                let help = format!("a module is named without the ending of its file: `import {module}`");
                return not_read(place, format!("there is no module `{name}`"), help);
            }
            let help = match (looked.as_slice(), standard::import_of(name), standard::nearest_module(name)) {
                ([], _, _) => "this program may import nothing: no folder is searched".to_owned(),
                (_, Some(import), _) => import,
                (places, _, Some(near)) => {
                    format!("did you mean `{near}`? There is no {}", places.join(", and no "))
                }
                (places, _, None) => format!("there is no {}", places.join(", and no ")),
            };
            not_read(place, format!("there is no module `{name}`"), help)
        })
    }

    /// Reads the file of a module.
    fn source(
        &self,
        name: &HeldName,
        place: &SourcePlace,
        found: &ModulePlace,
    ) -> Result<Source, Vec<Diagnostic>> {
        find::read(found, self.engine.config().limits.max_source_bytes)
            .map_err(|error| not_read(place, format!("the module `{name}` cannot be read"), error))
    }
}

/// The file of each module that has been met.
type VisitedFiles = FxHashMap<HeldName, String>;

fn not_read(place: &SourcePlace, message: String, help: String) -> Vec<Diagnostic> {
    let error = Diagnostic::error(ErrorCode::UnknownModule, &place.source, place.span, message);
    vec![error.with_note("imported here").with_help(help)]
}

/// Returns what an import makes known of a module.
pub(crate) fn imported(import: &Import, module: Arc<Module>) -> ImportedModule {
    let qualifier = import.alias.clone().unwrap_or_else(|| import.module.clone());
    let names = match (&import.names, &import.alias) {
        (Some(names), _) => ImportedNames::Listed(names.iter().map(|(name, _)| name.clone()).collect()),
        (None, Some(_)) => ImportedNames::Qualified,
        (None, None) => ImportedNames::All,
    };
    ImportedModule { module, qualifier, names }
}

/// Returns the error for the first name of an import that its module does not offer.
pub(crate) fn unknown_name(import: &Import, module: &Module) -> Option<Diagnostic> {
    let (name, span) = import.names.iter().flatten().find(|(name, _)| !module.offers(name))?;
    let message = format!("the module `{}` has no `{name}`", import.module);
    let error = Diagnostic::error(ErrorCode::UnknownModule, &import.place.source, *span, message);
    if name.starts_with('_') {
        return Some(error.with_note("private: it begins with `_`"));
    }
    let offered: Vec<&HeldName> = module.functions().map(|member| &member.short).collect();
    let meant = || nearest(name, offered.iter().map(|name| &***name).filter(|name| !name.starts_with('_')));
    let spelling = || meant().map(|meant| format!("did you mean `{meant}`?"));
    let help = standard::hidden_help(module, name).or_else(spelling);
    Some(error.with_note("not defined there").with_any_help(help))
}

fn refused_expression(source: &Source, span: Span) -> Diagnostic {
    let message = "a library only defines".to_owned();
    let error = Diagnostic::error(ErrorCode::UnknownModule, source, span, message);
    let help = format!("to run it as a program: `kal {}`", source.name());
    error.with_note("an expression").with_help(help)
}

/// Returns the error for an import whose qualifier is that of another module.
pub(crate) fn same_qualifier(import: &Import, imports: &Imports) -> Option<Diagnostic> {
    let qualifier = import.alias.as_ref().unwrap_or(&import.module);
    let known = imports.module(qualifier).filter(|known| *known.name != *import.module.as_ref())?;
    let SourcePlace { source, span } = &import.place;
    let message = format!("`{qualifier}` is the module `{}` here", known.name);
    let help = format!("give it another name: `import {} as …`", import.module);
    let diagnostic = Diagnostic::error(ErrorCode::AmbiguousName, source, *span, message);
    Some(diagnostic.with_note("a second module of that name").with_help(help))
}

/// Returns the error for an operator to which two imports give a meaning.
pub(crate) fn two_meanings(
    import: &Import,
    operator: &crate::module::ModuleOperator,
    other: &str,
) -> Diagnostic {
    let SourcePlace { source, span } = &import.place;
    let (token, function) = (&operator.token, &operator.function.qualified);
    let message = format!("`{token}` would have two meanings: `{other}` and `{function}`");
    let error = Diagnostic::error(ErrorCode::AmbiguousName, source, *span, message);
    error.with_note("the second import").with_help("name what is to be imported, in parentheses")
}
