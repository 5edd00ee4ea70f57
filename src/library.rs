//! Libraries: reading the modules that a program imports.
//!
//! A file is a module, and a folder is a library: `stats` is the file `stats.kal`,
//! `stats.robust` is `stats/robust.kal`. What an import needs is read and checked as
//! a whole before anything of it is in force, so one that is refused leaves nothing.
//! All modules are parsed before the first is checked: so they may import each other
//! in a circle, and a body may call what is defined below it.

mod find;
mod parse;
mod project;
mod scope;
mod standard;

#[cfg(feature = "cli")]
pub(crate) use find::folders_of_user;

use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::engine::Engine;
use crate::module::{ImportedModule, ImportedNames, Imports, Module, add_operators};
use crate::name::{HeldName, Name};
use crate::sema::checked::CheckedFunction;
use crate::sema::{self, CheckedItem, Environment, Import, SourcePlace};
use crate::source::{Source, Span};
use crate::syntax::ast::ItemKind;
use crate::syntax::lexer::lex_polled;
use crate::syntax::operator::Operators;
use crate::syntax::parser::{ParseLimits, Parser};
use crate::syntax::token::Tokens;
use find::ModulePlace;
use parse::ParsedModule;
use rustc_hash::FxHashMap;
use scope::ModuleScope;
use std::path::Path;
use std::sync::Arc;

/// What reading a module needs to know.
pub(crate) struct ModuleReader<'a> {
    pub(crate) engine: &'a Engine,
    /// The program that imports.
    pub(crate) program: &'a dyn Environment,
    /// The modules that have been read before.
    pub(crate) known: &'a dyn Fn(Name) -> Option<Arc<Module>>,
}

/// A module that was read and can be brought into force.
pub(crate) struct ReadModule {
    pub(crate) module: Arc<Module>,
    pub(crate) items: Vec<ModuleItem>,
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

impl ModuleReader<'_> {
    /// Reads the module that an import names, and those that it imports, as far as
    /// they have not been read before or have changed since. An imported module
    /// comes before those that import it, but for circles.
    ///
    /// # Errors
    /// All that is wrong with them.
    pub(crate) fn read(&self, import: &Import) -> Result<Vec<ReadModule>, Vec<Diagnostic>> {
        let mut parsed = Vec::new();
        let folder = import.place.source.folder().or(self.engine.config().program_folder.as_deref());
        let mut visited = VisitedFiles::default();
        self.parse(&import.module, &import.place, folder, &mut parsed, &mut visited)?;
        self.check(parsed)
    }

    /// Parses a module and those that it imports, which may import others in turn.
    fn parse(
        &self,
        name: &HeldName,
        place: &SourcePlace,
        folder: Option<&Path>,
        parsed: &mut Vec<ParsedModule>,
        visited: &mut VisitedFiles,
    ) -> Result<(), Vec<Diagnostic>> {
        /// The most stack that one module may use, in bytes.
        const RED_ZONE: usize = 128 << 10;
        /// The size of the stack segment that is added when less than that is left.
        const STACK_SEGMENT: usize = 4 << 20;
        stacker::maybe_grow(RED_ZONE, STACK_SEGMENT, || {
            let found = self.find(name, place, folder)?;
            let file = found.file.display().to_string();
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
            let source = self.source(name, place, &found)?;
            let known = known.filter(|known| known.source.text() == source.text());
            if let Some(known) = known {
                let before = parsed.len();
                for import in known.imports.iter() {
                    self.parse(&import.module.name, place, known.source.folder(), parsed, visited)?;
                }
                if parsed.len() == before {
                    return Ok(());
                }
                // What it imports has changed: operators may mean something else.
            }
            let (longest, poll) = (self.engine.config().limits.max_source_bytes, self.program.poll());
            let tokens = lex_polled(&source, self.engine.names(), longest, &poll);
            let tokens = tokens.map_err(|diagnostic| vec![diagnostic])?;
            let at = parsed.len();
            parsed.push(ParsedModule::begin(name.clone(), &tokens, self.engine.names()));
            self.parse_items(at, &tokens, parsed, visited)?;
            parsed[at].number = parsed.iter().map(|other| other.number).max().unwrap_or_default() + 1;
            Ok(())
        })
    }

    /// Parses the items of a module, whose operators are known by then.
    fn parse_items(
        &self,
        at: usize,
        tokens: &Tokens,
        parsed: &mut Vec<ParsedModule>,
        visited: &mut VisitedFiles,
    ) -> Result<(), Vec<Diagnostic>> {
        let (source, names) = (tokens.source(), self.engine.names());
        let limits = ParseLimits { max_nesting: self.engine.config().limits.max_nesting };
        let mut parser = Parser::new(tokens, names, limits).polled(&self.program.poll());
        let mut operators = Operators::new(names);
        while let Some(item) = parser.next_item(&operators) {
            let item = item.map_err(|errors| errors.diagnostics)?;
            if let Some(import) = sema::import(&item, names) {
                self.parse(&import.module, &import.place, source.folder(), parsed, visited)?;
                let imported = imported(&import, self.interface(import.module.name(), parsed));
                let added = add_operators(&imported, &mut operators, names);
                added.map_err(|(operator, other)| vec![two_meanings(&import, operator, &other)])?;
                parsed[at].imports.push(import);
            }
            match &item.kind {
                ItemKind::Expression(_) => return Err(vec![refused_expression(source, item.span)]),
                ItemKind::Definition(prototype, _) => {
                    if let Some(fixity) = prototype.fixity {
                        let function = parsed[at].operator(prototype.name.name, names);
                        operators.define(fixity, function.name(), &[names.text(fixity.operator()), function]);
                    }
                }
                ItemKind::Import(_) | ItemKind::Extern(_) | ItemKind::Variables(_) => {}
            }
            parsed[at].add(item, &operators, names);
        }
        Ok(())
    }

    /// Returns what a module offers, as far as it has been read.
    fn interface(&self, name: Name, parsed: &[ParsedModule]) -> Arc<Module> {
        let parsed = parsed.iter().find(|parsed| parsed.name.name() == name);
        let known = || (self.known)(name);
        let read = parsed.map(|parsed| Arc::new(parsed.interface())).or_else(known);
        read.unwrap_or_else(|| {
            let source = Source::new("", "");
            Arc::new(Module::new(self.engine.names().text(name), source, [], Vec::new(), Imports::default()))
        })
    }

    /// Checks the modules that were parsed.
    fn check(&self, mut parsed: Vec<ParsedModule>) -> Result<Vec<ReadModule>, Vec<Diagnostic>> {
        parsed.sort_by_key(|module| module.number);
        let names = self.engine.names();
        let heads = parsed.iter().flat_map(|parsed| parsed.heads(names)).collect();
        let (mut read, mut mistakes) = (Vec::new(), Vec::new());
        let mut all_imports = Vec::new();
        for module in &parsed {
            let mut imports = Imports::default();
            for import in &module.imports {
                let offering = self.interface(import.module.name(), &parsed);
                mistakes.extend(unknown_name(import, &offering));
                imports.add(imported(import, offering));
            }
            all_imports.push(imports);
        }
        for (module, imports) in parsed.into_iter().zip(all_imports) {
            let interface = Arc::new(module.interface().importing(imports));
            let mut scope = ModuleScope::new(self.program, &interface, &heads);
            let mut items = Vec::new();
            for (item, operators) in module.items {
                match sema::check(&item, &scope) {
                    Ok(CheckedItem::Definition(function, _)) => {
                        items.push(ModuleItem::Function(function, operators));
                    }
                    Ok(CheckedItem::Variables(function, variables)) => {
                        scope.declare(variables.iter().copied());
                        items.push(ModuleItem::Variables(function, variables));
                    }
                    Ok(CheckedItem::Extern(declared)) => items.push(ModuleItem::Extern(declared)),
                    Ok(CheckedItem::Import(_) | CheckedItem::Expression(_)) => {}
                    Err(found) => mistakes.extend(found),
                }
            }
            read.push(ReadModule { module: interface, items });
        }
        if mistakes.is_empty() { Ok(read) } else { Err(mistakes) }
    }

    /// Finds the file of a module.
    fn find(
        &self,
        name: &HeldName,
        place: &SourcePlace,
        folder: Option<&Path>,
    ) -> Result<ModulePlace, Vec<Diagnostic>> {
        let looked = find::places(name, folder, &self.engine.config().library_paths);
        let looked =
            looked.map_err(|error| not_read(place, format!("the module `{name}` cannot be found"), error))?;
        find::find(&looked, name).ok_or_else(|| {
            let looked: Vec<_> = looked.iter().map(|place| place.file.display().to_string()).collect();
            let help = match looked.as_slice() {
                [] => "this program may import nothing: no folder is searched".to_owned(),
                places => format!("there is no {}", places.join(", and no ")),
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
    let is_private = name.starts_with('_');
    Some(error.with_note(if is_private { "private: it begins with `_`" } else { "not defined there" }))
}

fn refused_expression(source: &Source, span: Span) -> Diagnostic {
    let message = "a library only defines".to_owned();
    let error = Diagnostic::error(ErrorCode::UnknownModule, source, span, message);
    let help = format!("to run it as a program: `kal {}`", source.name());
    error.with_note("an expression").with_help(help)
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
