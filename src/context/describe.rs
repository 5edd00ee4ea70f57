//! Descriptions: what there is to know about a function, as plain data.

use super::Context;
#[cfg(feature = "cli")]
use crate::library::ModuleContents;
#[cfg(feature = "cli")]
use crate::module::standard;
use crate::module::{ImportedModule, MemberKind};
use crate::name::Name;
use crate::sema::checked::CheckedFunction;
use crate::sema::declaration;
use crate::sema::instance::{is_taken, shown};
use crate::status::State;
use crate::syntax::comment::{documentation, trailing_comment};
use crate::syntax::operator::Fixity;
use crate::tier::Tier;
use crate::world::Origin;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What there is to know about a function.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Description {
    /// The name; `unary!` or `binary|` for an operator.
    pub name: String,
    /// The names of the parameters.
    pub parameters: Vec<String>,
    /// The signature, such as `fib(n)` or `binary | 5 (a b)`.
    pub signature: String,
    /// Its source, with the comment after it on its last line.
    pub text: String,
    /// The lines that begin with `##` above it, without the marks.
    pub documentation: Option<String>,
    /// Where it is defined: the source's name, and the line from 1.
    pub place: (String, usize),
    /// The compilation status of its code.
    pub state: State,
    /// The tier of its compiled code; `None` if it is not compiled, or
    /// interpreted.
    pub tier: Option<Tier>,
    /// The size of that code in bytes.
    pub code_bytes: u64,
    /// The functions that it calls, in alphabetical order; an instance as `twice(sin, …)`.
    pub callees: Vec<String>,
    /// The functions that call it, in the same way.
    pub callers: Vec<String>,
}

impl Context {
    /// Returns the description of a definition; `None` if the name is not
    /// bound.
    pub fn describe(&self, name: &str) -> Option<Description> {
        let name = self.known(name)?;
        let mut description = self.description(name)?;
        description.callers = self.texts(self.callers_of(name));
        Some(description)
    }

    /// Returns the functions that call a name, or an alias of it.
    fn callers_of(&self, name: Name) -> impl Iterator<Item = Name> {
        let alias = self.world.alias_of(name, self.engine.names());
        let through_alias = alias.into_iter().flat_map(|alias| self.world.callers(alias));
        self.world.callers(name).chain(through_alias)
    }

    /// Returns the name of a text. An alias is the name that it is an alias of.
    pub(super) fn known(&self, text: &str) -> Option<Name> {
        let name = self.name_of(text)?;
        Some(self.world.aliased(name).map_or(name, |aliased| aliased.function.name))
    }

    /// Returns what a module offers that is imported, or else part of Kal.
    #[cfg(feature = "cli")]
    pub(crate) fn module_contents(&self, name: &str) -> Option<ModuleContents> {
        let mut imports = self.world.imports().iter();
        let imported = imports.find(|import| *import.module.name == *name || *import.qualifier == *name);
        let source = imported.map(|import| import.module.source.clone());
        source.or_else(|| standard::source(name)).map(|source| ModuleContents::of(&source))
    }

    /// Returns the help about a name that is not known, if a module offers it that is part of
    /// Kal and not imported.
    #[cfg(feature = "cli")]
    pub(crate) fn import_help(&self, name: &str) -> Option<String> {
        standard::name_help(name, self.world.imports())
    }

    /// Returns the imports in force, as source, in their order.
    pub fn imports_in_force(&self) -> Vec<String> {
        self.world.imports().iter().map(ImportedModule::text).collect()
    }

    /// Returns the descriptions of the program's own definitions, in alphabetical
    /// order.
    pub fn definitions(&self) -> Vec<Description> {
        let callers = self.world.all_callers();
        let describe = |function: &Arc<CheckedFunction>| {
            let mut description = self.description(function.name)?;
            let callers = callers.get(function.name).into_iter().flatten();
            description.callers = self.texts(callers.copied());
            Some(description)
        };
        let mut all: Vec<_> = self.world.own_functions().filter_map(describe).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    /// Returns the number of the program's own definitions.
    pub fn definition_count(&self) -> usize {
        self.world.own_count()
    }

    /// Returns the names of the functions that a program can call now: its own,
    /// those that it imports, with and without their qualifier, and the host's.
    pub fn function_names(&self) -> Vec<String> {
        let own = self.world.own_functions().map(|function| function.name);
        let mut names = self.texts(own.chain(self.engine.hosts().names()));
        names.extend(self.world.imports().names(MemberKind::Function));
        names.sort();
        names.dedup();
        names
    }

    /// Returns whether a call of that name would reach a function now.
    pub fn is_function(&self, name: &str) -> bool {
        let name = self.known(name);
        name.is_some_and(|name| self.world.defines(name) || self.engine.hosts().get(name).is_some())
    }

    /// Returns the signature of a function, such as `fib(n)` or `atan2(x y)`;
    /// `None` if there is none of that name. The parameters of host functions
    /// that you add get generic names.
    pub fn signature(&self, name: &str) -> Option<String> {
        let name = self.known(name)?;
        if let Some(function) = self.world.function(name) {
            return Some(self.head(function));
        }
        if let Some(declared) = self.world.declaration(name) {
            return Some(declaration::head(declared, self.engine.names()));
        }
        let host = self.engine.hosts().get(name)?;
        if let Some(entry) = self.engine.hosts().entry(name, self.engine.names()) {
            return Some(entry.signature());
        }
        let arity = host.arity as usize;
        let parameters = match arity {
            0..=3 => ["x", "y", "z"][..arity].join(" "),
            more => (1..=more).map(|number| format!("x{number}")).collect::<Vec<_>>().join(" "),
        };
        Some(format!("{}({parameters})", self.engine.names().text(name)))
    }

    /// Returns the functions that call `name`, in alphabetical order.
    pub fn callers(&self, name: &str) -> Vec<String> {
        self.name_of(name).map_or_else(Vec::new, |name| self.texts(self.callers_of(name)))
    }

    /// Returns the functions that read or assign a variable, in alphabetical
    /// order.
    pub fn users(&self, variable: &str) -> Vec<String> {
        let Some(variable) = self.name_of(variable) else { return Vec::new() };
        self.texts(self.world.users(variable))
    }

    fn description(&self, name: Name) -> Option<Description> {
        let (state, function) = (self.backend.state(name)?, self.world.function(name)?);
        let bound = self.backend.bound(name)?;
        let text = |name: &Name| self.engine.names().text(*name).to_string();
        let callees = function.callees.iter().map(|callee| callee.name);
        // Which functions a pattern calls is said by its calls.
        let callees = callees.filter(|name| !is_taken(&self.engine.names().text(*name)));
        Some(Description {
            name: text(&name),
            parameters: function.parameters.iter().map(text).collect(),
            signature: self.head(function),
            text: function.text().to_owned() + trailing_comment(&function.source, function.span),
            documentation: documentation(&function.source, function.span),
            place: (function.source.name().to_owned(), function.source.line(function.span.start)),
            state,
            tier: bound.tier(),
            code_bytes: bound.code_bytes(),
            callees: self.texts(callees),
            callers: Vec::new(),
        })
    }

    fn head(&self, function: &CheckedFunction) -> String {
        let names = self.engine.names();
        let mut numbers = function.parameters.iter();
        let count = function.parameters.len() + function.functions.len();
        let parameter = |position: usize| match function
            .functions
            .iter()
            .find(|taken| taken.position as usize == position)
        {
            Some(taken) => {
                let own: Vec<_> =
                    ["x", "y", "z", "u", "v", "w"].into_iter().take(taken.arity as usize).collect();
                Some(format!("{}({})", names.text(taken.name), own.join(" ")))
            }
            None => numbers.next().map(|name| names.text(*name).to_string()),
        };
        let parameters = (0..count).filter_map(parameter).collect::<Vec<_>>().join(" ");
        match self.world.definition(function.name).and_then(|definition| definition.fixity) {
            None => format!("{}({parameters})", names.text(function.name)),
            Some(Fixity::Unary { operator }) => format!("unary {} ({parameters})", names.text(operator)),
            Some(Fixity::Binary { operator, precedence }) => {
                format!("binary {} {precedence} ({parameters})", names.text(operator))
            }
        }
    }

    fn texts(&self, names: impl IntoIterator<Item = Name>) -> Vec<String> {
        let is_written =
            |name: &Name| self.world.definition(*name).is_none_or(|bound| bound.origin != Origin::Dispatcher);
        let texts = names.into_iter().filter(is_written);
        let texts = texts.map(|name| shown(&self.engine.names().text(name)));
        texts.collect::<BTreeSet<_>>().into_iter().collect()
    }
}
