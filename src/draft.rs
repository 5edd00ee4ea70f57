//! Drafts: a whole text, checked but not run.
//!
//! `kal check` and `kal emit` look at programs without running them. A draft
//! takes the items in order, as a context would, and brings definitions,
//! variables and operators into force, but evaluates nothing. Failures that a
//! run is certain to meet are reported (`draft::certain`).

#[cfg(feature = "cli")]
mod certain;
#[cfg(feature = "cli")]
pub(crate) mod symbols;

use crate::diagnostic::suggest::{Budget, nearest};
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::engine::Engine;
use crate::host::HostFunctions;
use crate::library::{self, ModuleFrontEnd, ModuleItem, ModuleReader, ReadModule};
use crate::module::{Imports, MemberKind, Module, NameMistake, add_operators, parts, short_name, standard};
use crate::name::{HeldName, Name, Names};
use crate::sema::checked::{Callee, CheckedFunction};
use crate::sema::instance::{instance, instance_parts, is_made, misgiven, operands_of, shown};
use crate::sema::{self, Environment, Extern, arguments, called_variable, declaration, unqualified};
use crate::source::Source;
use crate::stop::Poll;
use crate::syntax::ast;
use crate::syntax::foreign;
use crate::syntax::lexer::Pieces;
use crate::syntax::lint;
use crate::syntax::operator::Operators;
use crate::syntax::parser::{ParseLimits, Parser};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a program defines and evaluates, and everything wrong with it.
pub(crate) struct Draft<'a> {
    engine: &'a Engine,
    names: &'a Names,
    hosts: &'a HostFunctions,
    /// What is defined before, if the source continues a program.
    outer: Option<&'a dyn Environment>,
    suggestions: Budget,
    poll: Poll,
    /// The sources of the program, in order.
    sources: Vec<Source>,
    functions: FxHashMap<Name, Arc<CheckedFunction>>,
    variables: BTreeSet<Name>,
    externs: FxHashMap<Name, Extern>,
    modules: FxHashMap<Name, Arc<Module>>,
    imports: Imports,
    /// Whether an import was refused: what is unknown may be of that module.
    has_lost_import: bool,
    /// The names that are bound to functions of modules, and the names of these.
    aliases: FxHashMap<Name, Name>,
    /// What refused items were to define or declare: uses of it are not reported.
    refused: FxHashMap<Name, HeldName>,
    /// What would be compiled: definitions and expressions in source order,
    /// including those that a later definition replaces.
    pub(crate) compiled: Vec<Arc<CheckedFunction>>,
    /// The items that passed the check, in source order.
    pub(crate) items: Vec<sema::CheckedItem>,
    /// The mistakes, in source order.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The lints, in source order: valid code that probably means something
    /// else.
    pub(crate) lints: Vec<Diagnostic>,
}

impl<'a> Draft<'a> {
    /// Checks a program that consists of `sources`, within the limits of the
    /// engine.
    pub(crate) fn new(sources: &[Source], engine: &'a Engine) -> Self {
        Self::empty(engine, None, engine.poll()).filled(sources, engine, Operators::new(engine.names()))
    }

    /// Checks `source` as the continuation of a program with the definitions
    /// and variables of `outer` and these `operators`.
    #[cfg(feature = "cli")]
    pub(crate) fn within(
        source: &Source,
        engine: &'a Engine,
        outer: &'a dyn Environment,
        operators: Operators,
    ) -> Self {
        Self::empty(engine, Some(outer), outer.poll()).filled(std::slice::from_ref(source), engine, operators)
    }

    /// Returns whether a name is that of a function of the host.
    fn is_of_the_host(&self, name: Name) -> bool {
        self.hosts.get(name).is_some() || self.hosts.foreign(name).is_some()
    }

    fn empty(engine: &'a Engine, outer: Option<&'a dyn Environment>, poll: Poll) -> Self {
        Self {
            engine,
            names: engine.names(),
            hosts: engine.hosts(),
            outer,
            suggestions: Budget::default(),
            poll,
            sources: Vec::new(),
            functions: FxHashMap::default(),
            variables: BTreeSet::new(),
            externs: FxHashMap::default(),
            modules: FxHashMap::default(),
            imports: outer.map(|outer| outer.imports().clone()).unwrap_or_default(),
            has_lost_import: false,
            aliases: FxHashMap::default(),
            refused: FxHashMap::default(),
            compiled: Vec::new(),
            items: Vec::new(),
            diagnostics: Vec::new(),
            lints: Vec::new(),
        }
    }

    fn filled(mut self, sources: &[Source], engine: &Engine, mut operators: Operators) -> Self {
        let limits = engine.config().limits;
        for source in sources {
            self.sources.push(source.clone());
            match Pieces::new(source, self.names, limits.max_source_bytes) {
                Ok(pieces) => {
                    let pieces = pieces.polled(&self.poll);
                    self.pieces(pieces, ParseLimits { max_nesting: limits.max_nesting }, &mut operators);
                }
                Err(diagnostic) => self.diagnostics.push(diagnostic),
            }
        }
        self.calls();
        self
    }

    fn pieces(&mut self, pieces: Pieces<'_>, limits: ParseLimits, operators: &mut Operators) {
        for tokens in pieces {
            let parser = Parser::new(&tokens, self.names, limits).polled(&self.poll);
            self.items(parser, operators);
            if self.diagnostics.last().is_some_and(|found| found.code.is_stop()) {
                break;
            }
        }
    }

    fn items(&mut self, mut parser: Parser<'_>, operators: &mut Operators) {
        while let Some(item) = parser.next_item(operators) {
            let checked = item.map_err(|errors| errors.diagnostics).and_then(|item| {
                let checked = sema::check(&item, self);
                let checked = checked.map_err(|mistakes| self.explained(parser.runs_on(), mistakes))?;
                self.lint(&item, parser.runs_on());
                Ok(checked)
            });
            if checked.is_err() {
                parser.refuse();
                let intended = parser.intended().into_iter();
                self.refused.extend(intended.map(|intended| (intended.name, self.names.text(intended.name))));
                parser.skip_block();
            }
            if let Ok(
                sema::CheckedItem::Definition(function, _)
                | sema::CheckedItem::Variables(function, _)
                | sema::CheckedItem::Expression(function)
                | sema::CheckedItem::Effect(function),
            ) = &checked
            {
                self.alias_calls(function);
            }
            let checked = match checked {
                Ok(sema::CheckedItem::Import(import)) => match self.import(&import, operators) {
                    Ok(()) => continue,
                    Err(mistakes) => {
                        self.has_lost_import = true;
                        Err(mistakes)
                    }
                },
                Err(mut mistakes) if self.has_lost_import => {
                    mistakes.retain(|mistake| !is_unknown_name(mistake));
                    Err(mistakes)
                }
                other => other,
            };
            self.items.extend(checked.as_ref().ok().cloned());
            match checked {
                Ok(sema::CheckedItem::Definition(function, fixity)) => {
                    self.diagnostics.extend(sema::uncalled(&function, fixity, self.names));
                    if let Some(fixity) = fixity {
                        operators.define(fixity, function.name, &function.names);
                    }
                    self.functions.insert(function.name, function.clone());
                    self.aliases.remove(&function.name);
                    self.follow_alias(&function);
                    if !function.functions.is_empty() {
                        self.follow_pattern(&function);
                    }
                    self.compiled.push(function);
                }
                Ok(sema::CheckedItem::Variables(function, names)) => {
                    self.variables.extend(names);
                    self.compiled.push(function);
                }
                Ok(sema::CheckedItem::Expression(function) | sema::CheckedItem::Effect(function)) => {
                    self.compiled.push(function);
                }
                Ok(sema::CheckedItem::Import(_)) => {}
                Ok(sema::CheckedItem::Extern(declared)) => {
                    self.externs.entry(declared.name).or_insert(declared);
                }
                Err(diagnostics) => {
                    let is_stopped = diagnostics.iter().any(|found| found.code.is_stop());
                    self.diagnostics.extend(diagnostics);
                    if is_stopped {
                        return;
                    }
                }
            }
        }
    }

    /// Brings a module into force: what it defines becomes a part of the program.
    fn import(&mut self, import: &sema::Import, operators: &mut Operators) -> Result<(), Vec<Diagnostic>> {
        let engine = self.engine;
        let known = |name: Name| {
            let outer = || self.outer?.imports().iter().find(|known| known.module.name.name() == name);
            self.modules.get(&name).or_else(|| Some(&outer()?.module)).cloned()
        };
        let front_end = Some(ModuleFrontEnd::WHOLE);
        let read =
            ModuleReader { engine, program: &*self, known: &known, keeps: false, front_end }.read(import)?;
        let known = known(import.module.name());
        let module = read.last().map(|read| read.module.clone()).or(known);
        let Some(module) = module.filter(|module| module.name == import.module) else { return Ok(()) };
        let second = || library::same_qualifier(import, &self.imports);
        library::unknown_name(import, &module).or_else(second).map_or(Ok(()), |wrong| Err(vec![wrong]))?;
        let imported = library::imported(import, module);
        add_operators(&imported, operators, self.names)
            .map_err(|(operator, other)| vec![library::two_meanings(import, operator, &other)])?;
        let mut defined = Vec::new();
        for ReadModule { module, items } in read {
            self.modules.insert(module.name.name(), module);
            // Functions stand in any order, also behind the variables that need them.
            let (variables, others): (Vec<_>, Vec<_>) =
                items.all().into_iter().partition(|item| matches!(item, ModuleItem::Variables(..)));
            for item in others.into_iter().chain(variables) {
                match item {
                    ModuleItem::Function(function, _) => {
                        self.functions.insert(function.name, function.clone());
                        self.items.push(sema::CheckedItem::Definition(function.clone(), None));
                        defined.push(function);
                    }
                    ModuleItem::Variables(function, names) => {
                        self.variables.extend(names.iter().copied());
                        self.items.push(sema::CheckedItem::Variables(function, names));
                    }
                    ModuleItem::Extern(declared) => {
                        self.items.push(sema::CheckedItem::Extern(declared.clone()));
                        self.externs.entry(declared.name).or_insert(declared);
                    }
                }
            }
        }
        self.imports.add(imported);
        // A pattern may follow what calls its instances.
        defined.iter().for_each(|function| self.instances_called(function));
        Ok(())
    }

    /// Defines the names that a function calls and that imports make aliases.
    fn alias_calls(&mut self, function: &CheckedFunction) {
        self.instances_called(function);
        for callee in &function.callees {
            if let Some(target) = self.aliased(callee.name).cloned() {
                self.define_alias(callee.name, &target);
            }
        }
    }

    /// Defines the instances that a function calls, unless that is a pattern, which is never
    /// called itself.
    fn instances_called(&mut self, function: &CheckedFunction) {
        if function.functions.is_empty() {
            function.callees.iter().for_each(|callee| self.define_instance(callee.name));
        }
    }

    /// Defines the instance of that name, if it is one that is not defined.
    fn define_instance(&mut self, name: Name) {
        let text = self.names.text(name);
        let pattern = instance_parts(&text).and_then(|(pattern, _)| self.names.get(pattern));
        let Some(pattern) = pattern else { return };
        if let Some(target) = self.aliased(pattern).cloned() {
            self.define_alias(pattern, &target);
        }
        let Some(pattern) = self.functions.get(&pattern).cloned() else {
            return;
        };
        if self.functions.get(&name).is_some_and(|known| known.is_alias_of(&pattern)) {
            return;
        }
        if let Some(instance) = instance(&pattern, &text, self.names).map(Arc::new) {
            self.functions.insert(name, instance.clone());
            self.items.push(sema::CheckedItem::Definition(instance.clone(), None));
            self.alias_calls(&instance);
        }
    }

    /// Defines the instances of a pattern that are called, or follow it.
    fn follow_pattern(&mut self, pattern: &CheckedFunction) {
        let text = self.names.text(pattern.name);
        let is_instance =
            |name: &Name| instance_parts(&self.names.text(*name)).is_some_and(|(of, _)| of == &*text);
        let called =
            self.functions.values().flat_map(|function| function.callees.iter().map(|callee| callee.name));
        let instances: Vec<Name> = called.filter(is_instance).collect();
        instances.into_iter().for_each(|name| self.define_instance(name));
    }

    fn define_alias(&mut self, name: Name, target: &CheckedFunction) {
        let alias = Arc::new(target.under(self.names.text(name)));
        self.functions.insert(name, alias.clone());
        self.aliases.insert(name, target.name);
        self.items.push(sema::CheckedItem::Definition(alias, None));
    }

    /// Makes the alias of a module's function follow its present definition.
    fn follow_alias(&mut self, function: &CheckedFunction) {
        if self.aliases.is_empty() {
            return;
        }
        let short = short_name(function.name, self.names);
        if let Some(short) = short.filter(|short| self.aliases.get(short) == Some(&function.name)) {
            self.define_alias(short, function);
        }
    }

    /// Returns the function that an undefined name is an alias of.
    fn aliased(&self, name: Name) -> Option<&Arc<CheckedFunction>> {
        if self.imports.is_empty() || self.functions.contains_key(&name) {
            return None;
        }
        let member = self.imports.alias(name, MemberKind::Function).ok()??;
        self.functions.get(&member.qualified.name())
    }

    /// Returns the diagnostics to report for an item that the check refuses.
    fn explained(&mut self, runs_on: bool, mistakes: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let is_of_body = |mistake: &Diagnostic| {
            let place = mistake.labels.first();
            place.is_some_and(|place| foreign::ended_definition(&place.source, place.span).is_some())
        };
        if runs_on || mistakes.iter().any(is_of_body) {
            self.forgive_unused();
        }
        if runs_on { lint::explain_run_on(mistakes) } else { mistakes }
    }

    fn lint(&mut self, item: &ast::Item, runs_on: bool) {
        if runs_on {
            self.forgive_unused();
        }
        let mut found = lint::lints(item, runs_on, self.names);
        let has_own_nan = || self.names.get("nan").is_some_and(|nan| self.has_variable(nan));
        found.retain(|lint| lint.code != ErrorCode::ComparedWithNan || !has_own_nan());
        if found.iter().all(|lint| lint.code != ErrorCode::SwallowedLine) {
            self.lints.extend(lint::unused_parameters(item, self.names));
        }
        self.lints.extend(found);
    }

    /// Withdraws warnings about unused parameters of a body that a mistake cut
    /// short: the rest may have used them.
    fn forgive_unused(&mut self) {
        while self.lints.last().is_some_and(|last| last.code == ErrorCode::UnusedParameter) {
            self.lints.pop();
        }
    }

    /// Warns of calls that fit no definition of the whole program.
    fn calls(&mut self) {
        let live = self.compiled.iter().filter(|function| {
            self.functions.get(&function.name).is_none_or(|last| Arc::ptr_eq(last, function))
        });
        let warnings: Vec<_> = live
            .flat_map(|caller| caller.callees.iter().map(move |callee| (caller, callee)))
            .flat_map(|(caller, callee)| {
                self.call(caller, callee).into_iter().chain(self.given(caller, callee))
            })
            .collect();
        self.diagnostics.extend(warnings);
        self.declarations();
    }

    /// Warns of functions that are declared ahead and not defined.
    fn declarations(&mut self) {
        let is_undefined = |declared: &&Extern| {
            let Extern { name, .. } = **declared;
            !self.functions.contains_key(&name)
                && !self.refused.contains_key(&name)
                && self.hosts.get(name).is_none()
                && self.hosts.foreign(name).is_none()
        };
        let mut undefined: Vec<&Extern> = self.externs.values().filter(is_undefined).collect();
        undefined.sort_by_key(|declared| declared.place.span.start);
        let warning = |declared| declaration::undefined(declared, self.names, self.hosts, &self.suggestions);
        let warnings: Vec<_> = undefined.into_iter().map(warning).collect();
        self.diagnostics.extend(warnings);
    }

    /// Returns the error for a call of a function that is never defined.
    fn never_defined(&self, caller: &CheckedFunction, callee: &Callee) -> Diagnostic {
        let text = self.names.text(callee.name);
        let message = format!("`{}` is called but never defined", shown(&text));
        let error = |source, span, note: &str| {
            Diagnostic::error(ErrorCode::UndefinedFunction, source, span, message.clone()).with_note(note)
        };
        // In an instance, the mistake is where the function is given.
        let giver = self.call_of_instance(caller);
        let diagnostic = match giver {
            Some((giver, given)) => error(&giver.source, given.span, "this call gives it"),
            None => error(&caller.source, callee.span, "this call"),
        };
        let across_lines = || foreign::called_across_lines(&caller.source, callee.span);
        let called = instance_parts(&text).map_or(&*text, |(pattern, _)| pattern);
        let habit = || foreign::function(called).map(str::to_owned);
        let head = || caller.head_taking(callee.name, self.names);
        let taken = || head().map(|head| format!("to take a function: `def {head} …`"));
        let here = giver.is_none().then(|| across_lines().or_else(taken)).flatten();
        let offered = || standard::import_help(called, self.imports());
        let variable = self.has_variable(callee.name).then(|| called_variable(called));
        if let Some(help) = here.or(variable).or_else(offered).or_else(habit) {
            return diagnostic.with_help(help);
        }
        if let Some(help) = unqualified::advice(&text, self.names, self.hosts()) {
            return diagnostic.with_help(help);
        }
        if let Some((pattern, given)) = instance_parts(&text) {
            let is_defined =
                |name: &str| self.names.get(name).is_some_and(|name| self.functions.contains_key(&name));
            let is_function = |name: &str| {
                is_defined(name) || self.names.get(name).is_some_and(|name| self.is_of_the_host(name))
            };
            if is_defined(pattern) {
                return diagnostic.with_help(misgiven(pattern, &given, is_function));
            }
        }
        diagnostic.with_any_help(
            self.nearest_function(&text)
                .or_else(|| standard::misspelt_help(called, self.imports(), &self.suggestions)),
        )
    }

    /// Returns the advice for the name of no function that is similar to that of one.
    fn nearest_function(&self, text: &str) -> Option<String> {
        let known = self.functions().into_iter().map(|name| self.names.text(name));
        let near = nearest(text, known.filter(|known| !is_made(known)))?;
        Some(format!("did you mean `{near}`?"))
    }

    /// Returns the first call of an instance that is no instance's itself; `None` of what is
    /// no instance.
    fn call_of_instance(&self, instance: &CheckedFunction) -> Option<(&CheckedFunction, &Callee)> {
        if !is_made(&self.names.text(instance.name)) {
            return None;
        }
        // A function of a module may give it, too.
        let of_modules = self.items.iter().filter_map(sema::CheckedItem::function);
        let callers = self.compiled.iter().chain(of_modules);
        let calls = callers.flat_map(|caller| caller.callees.iter().map(move |callee| (&**caller, callee)));
        let is_written = |caller: &CheckedFunction| !is_made(&self.names.text(caller.name));
        calls.filter(|(caller, _)| is_written(caller)).find(|(_, callee)| callee.name == instance.name)
    }

    /// Returns the warning for a call that gives a function which is never defined.
    fn given(&self, caller: &CheckedFunction, callee: &Callee) -> Option<Diagnostic> {
        let text = self.names.text(callee.name);
        let (pattern, given) = instance_parts(&text)?;
        let is_known = |name: &str| {
            let is_function = |name| {
                self.function(name).is_some() || self.is_of_the_host(name) || self.may_be_defined(name)
            };
            operands_of(name).is_some() || is_made(name) || self.names.get(name).is_some_and(is_function)
        };
        let unknown = given.into_iter().flatten().find(|name| !is_known(name))?;
        let message = format!("`{unknown}` is given to `{}` but never defined", shown(pattern));
        let warning = Diagnostic::error(ErrorCode::UndefinedFunction, &caller.source, callee.span, message);
        let help = self.nearest_function(unknown);
        Some(warning.with_note("this call gives it").with_any_help(help).as_warning())
    }

    /// Returns whether a name that nothing here defines may be that of a function all the same:
    /// it is declared, its definition was refused, or a module could not be read.
    fn may_be_defined(&self, name: Name) -> bool {
        self.has_lost_import || self.externs.contains_key(&name) || self.refused.contains_key(&name)
    }

    fn call(&self, caller: &CheckedFunction, callee: &Callee) -> Option<Diagnostic> {
        let text = self.names.text(callee.name);
        let warning =
            |code, message| Some(Diagnostic::error(code, &caller.source, callee.span, message).as_warning());
        match self.functions.get(&callee.name) {
            Some(known) if known.fits(callee.arity) => None,
            Some(known) => {
                let takes = arguments(known.arity() as usize);
                let message =
                    format!("at the end of the file `{}` takes {takes}, not {}", shown(&text), callee.arity);
                let passed = format!("called with {}", arguments(callee.arity as usize));
                Some(warning(ErrorCode::StaleCall, message)?.with_note(passed).with_label(
                    &known.source,
                    known.name_span,
                    "its last definition",
                ))
            }
            None if self.hosts.get(callee.name).is_some() => None,
            None if self.outer.is_some_and(|outer| outer.function(callee.name).is_some()) => None,
            None if self.may_be_defined(callee.name) => None,
            // What a pattern calls is known when it is given.
            None if !caller.functions.is_empty() && is_made(&text) => None,
            None => Some(self.never_defined(caller, callee).as_warning()),
        }
    }
}

impl Environment for Draft<'_> {
    fn names(&self) -> &Names {
        self.names
    }

    fn hosts(&self) -> &HostFunctions {
        self.hosts
    }

    fn function(&self, name: Name) -> Option<Arc<CheckedFunction>> {
        let own = self.functions.get(&name).or_else(|| self.aliased(name));
        own.cloned().or_else(|| self.outer?.function(name))
    }

    fn declared(&self, name: Name) -> Option<&Extern> {
        self.externs.get(&name).or_else(|| self.outer?.declared(name))
    }

    fn global(&self, name: Name, kind: MemberKind) -> Result<HeldName, NameMistake> {
        let text = self.names.text(name);
        if parts(&text).is_some() {
            return self.imports.qualified(&text, self.names);
        }
        let is_own = match kind {
            MemberKind::Function => self.functions.contains_key(&name),
            MemberKind::Variable => self.variables.contains(&name),
        };
        if is_own {
            return Ok(text);
        }
        if let Some(outer) = self.outer.filter(|outer| match kind {
            MemberKind::Function => outer.function(name).is_some(),
            MemberKind::Variable => outer.has_variable(name),
        }) {
            return outer.global(name, kind);
        }
        let alias = self.imports.alias(name, kind)?.filter(|_| kind == MemberKind::Variable);
        Ok(alias.map_or(text, |member| member.qualified.clone()))
    }

    fn imports(&self) -> &Imports {
        &self.imports
    }

    fn has_variable(&self, name: Name) -> bool {
        self.variables.contains(&name)
            || self.refused.contains_key(&name)
            || self.outer.is_some_and(|outer| outer.has_variable(name))
    }

    fn functions(&self) -> Vec<Name> {
        let outer = match self.outer {
            Some(outer) => outer.functions(),
            None => self.hosts.names().collect(),
        };
        self.functions.keys().copied().chain(outer).collect()
    }

    fn variables(&self) -> Vec<Name> {
        let outer = self.outer.map(Environment::variables).unwrap_or_default();
        self.variables.iter().copied().chain(outer).collect()
    }

    fn suggestions(&self) -> &Budget {
        &self.suggestions
    }

    fn poll(&self) -> Poll {
        self.poll.clone()
    }
}

/// Returns whether a mistake may be that a name of a module is not known.
fn is_unknown_name(mistake: &Diagnostic) -> bool {
    matches!(
        mistake.code,
        ErrorCode::UnknownVariable
            | ErrorCode::UnknownOperator
            | ErrorCode::UnknownModule
            | ErrorCode::UndefinedFunction
    )
}
