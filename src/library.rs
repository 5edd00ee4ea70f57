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
mod reading;
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
use crate::module::{ImportedModule, ImportedNames, Imports, Module, add_operators, by_name};
use crate::name::{HeldName, Name};
use crate::sema::asked::ReadingRecord;
use crate::sema::checked::CheckedFunction;
use crate::sema::{self, CheckedItem, Environment, Extern, Import, SourcePlace};
use crate::source::{Source, Span};
use crate::syntax::operator::Operators;
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
    /// `None` where modules are those of images only, all of them checked.
    pub(crate) front_end: Option<ModuleFrontEnd>,
}

/// The front end of modules. It is reached by pointers, so that a program that needs none is
/// linked without it.
#[derive(Clone, Copy)]
pub(crate) struct ModuleFrontEnd {
    find: FindModule,
    parse: ParseModule,
    check: CheckModule,
}

/// [`ModuleReader::find`].
type FindModule = fn(
    &ModuleReader<'_>,
    &HeldName,
    &SourcePlace,
    Option<&Path>,
    &VisitedFiles,
) -> Result<ModulePlace, Vec<Diagnostic>>;

/// [`ModuleReader::parse`].
type ParseModule = fn(
    &ModuleReader<'_>,
    &HeldName,
    &Source,
    usize,
    &mut Vec<FoundModule>,
    &mut VisitedFiles,
) -> Result<(), Vec<Diagnostic>>;

/// [`ModuleReader::check_module`].
type CheckModule = fn(
    &ModuleReader<'_>,
    ParsedModule,
    &Module,
    ModuleScope<'_>,
    Option<Operators>,
    &mut Vec<Diagnostic>,
) -> CheckedModule;

impl ModuleFrontEnd {
    /// Finds, parses and checks any module.
    pub(crate) const WHOLE: Self = Self {
        find: |reader, name, place, folder, visited| reader.find(name, place, folder, visited),
        parse: |reader, name, source, at, found, visited| reader.parse(name, source, at, found, visited),
        check: |reader, parsed, module, scope, operators, mistakes| {
            reader.check_module(parsed, module, scope, operators, mistakes)
        },
    };
}

/// A module that was parsed and checked.
struct CheckedModule {
    items: Vec<ModuleItem>,
    /// What is kept for later runs: the items as they were checked, and what that asked.
    kept: Option<(Vec<CheckedItem>, ReadingRecord)>,
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
    /// With what parsed it, which checks it, too.
    Parsed(ParsedModule, ModuleFrontEnd),
}

impl FoundModule {
    fn imports(&self) -> &[Import] {
        match &self.text {
            FoundText::Stored(stored) => &stored.imports,
            FoundText::Parsed(parsed, _) => &parsed.imports,
        }
    }

    fn parsed(&mut self) -> Option<&mut ParsedModule> {
        match &mut self.text {
            FoundText::Stored(_) => None,
            FoundText::Parsed(parsed, _) => Some(parsed),
        }
    }

    /// Returns what it offers, as far as it has been read, without what it imports.
    fn interface(&self) -> Arc<Module> {
        match &self.text {
            FoundText::Stored(stored) => stored.interface.clone(),
            FoundText::Parsed(parsed, _) => Arc::new(parsed.interface()),
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
            let module = match self.front_end {
                Some(front_end) => (front_end.find)(self, name, place, folder, visited)?,
                None => find::in_image(self.engine.module_in_images(name))
                    .ok_or_else(|| not_in_image(name, place))?,
            };
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
                    let parse = self.front_end.ok_or_else(|| not_in_image(name, place))?.parse;
                    parse(self, name, &source, at, found, visited)?;
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
            FoundText::Parsed(..) => false,
        };
        let changed: Vec<_> = (0..found.len()).filter(|at| is_changed(&found[*at])).collect();
        for at in changed {
            let (name, source) = (found[at].name.clone(), found[at].source.clone());
            let start = SourcePlace { source: source.clone(), span: Span::default() };
            let parse = self.front_end.ok_or_else(|| not_in_image(&name, &start))?.parse;
            parse(self, &name, &source, at, found, visited)?;
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
            FoundText::Parsed(parsed, _) => parsed.heads(self.engine.names()),
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
            let FoundText::Parsed(parsed, front_end) = found.text else { continue };
            let scope = ModuleScope::new(self.program, &module, &heads, &layers);
            let checked = (front_end.check)(self, parsed, &module, scope, operators, &mut mistakes);
            kept.extend(checked.kept.map(|(items, record)| (module.clone(), items, record)));
            read.push(ReadModule { module, items: ModuleItems::Parsed(checked.items) });
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

/// Returns the error for a module that only a front end could read, where there is none.
fn not_in_image(name: &HeldName, place: &SourcePlace) -> Vec<Diagnostic> {
    not_read(place, format!("the module `{name}` is not in the image"), "build the program again".to_owned())
}

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
