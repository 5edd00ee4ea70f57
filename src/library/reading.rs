//! Finding, parsing and checking modules that no earlier run has checked.

use super::find::{self, ModulePlace};
use super::parse::ParsedModule;
use super::scope::ModuleScope;
use super::{
    CheckedModule, FoundModule, FoundText, ModuleFrontEnd, ModuleItem, ModuleReader, VisitedFiles, not_read,
};
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::module::{MemberKind, Module, parts, standard};
use crate::name::{HeldName, Name};
use crate::sema::asked::{ReadingRecord, Recorder};
use crate::sema::{self, CheckedItem, Environment, SourcePlace};
use crate::source::{Source, Span};
use crate::syntax::ast::{Item, ItemKind};
use crate::syntax::lexer::lex_polled;
use crate::syntax::operator::Operators;
use crate::syntax::parser::{ParseLimits, Parser};
use crate::syntax::token::Tokens;
use std::path::Path;
use std::sync::Arc;

impl ModuleReader<'_> {
    /// Finds the file of a module. A program does not mean itself, though it has the name of a
    /// module: `import math` in `math.kal`.
    pub(super) fn find(
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

    /// Parses a module and what it imports: the one at this place among those that were found, or
    /// one that is added to them.
    pub(super) fn parse(
        &self,
        name: &HeldName,
        source: &Source,
        at: usize,
        found: &mut Vec<FoundModule>,
        visited: &mut VisitedFiles,
    ) -> Result<(), Vec<Diagnostic>> {
        let (longest, poll) = (self.engine.config().limits.max_source_bytes, self.program.poll());
        let tokens = lex_polled(source, self.engine.names(), longest, &poll);
        let tokens = tokens.map_err(|diagnostic| vec![diagnostic])?;
        let parsed = ParsedModule::begin(name.clone(), &tokens, self.engine.names());
        let text = FoundText::Parsed(parsed, ModuleFrontEnd::WHOLE);
        match found.get_mut(at) {
            Some(found) => found.text = text,
            None => found.push(FoundModule { name: name.clone(), source: source.clone(), number: 0, text }),
        }
        self.parse_items(at, &tokens, found, visited)
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

    /// Checks a module that was parsed, whose imports alone bring these operators into force.
    pub(super) fn check_module(
        &self,
        parsed: ParsedModule,
        module: &Module,
        scope: ModuleScope<'_>,
        operators: Option<Operators>,
        mistakes: &mut Vec<Diagnostic>,
    ) -> CheckedModule {
        let keeps = self.keeps && self.engine.caches(&module.source);
        let ParsedModule { items, used, .. } = parsed;
        let (items, checked, records) = self.check_items(items, scope, keeps, mistakes);
        let kept = operators.filter(|_| keeps).map(|operators| {
            let is_own = |name: Name, kind: Option<MemberKind>| {
                let text = self.engine.names().text(name);
                parts(&text).is_some_and(|(qualifier, _)| *qualifier == *module.name)
                    || kind.is_some_and(|kind| module.member(name, kind).is_some())
            };
            (checked, ReadingRecord::of_module(&records, used.into_iter(), &operators, is_own))
        });
        CheckedModule { items, kept }
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
}

fn refused_expression(source: &Source, span: Span) -> Diagnostic {
    let message = "a library only defines".to_owned();
    let error = Diagnostic::error(ErrorCode::UnknownModule, source, span, message);
    let help = format!("to run it as a program: `kal {}`", source.name());
    error.with_note("an expression").with_help(help)
}
