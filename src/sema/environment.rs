//! What the check is told about the program around an item.

use super::checked::{CheckedFunction, TakenFunction, signature};
use crate::diagnostic::suggest::Budget;
use crate::host::HostFunctions;
use crate::host::decimal::counted;
use crate::module::{Imports, MemberKind, NameMistake};
use crate::name::{HeldName, HeldNames, Name, Names};
use crate::source::{Source, Span};
use crate::stop::Poll;
use std::sync::Arc;

/// What the check needs to know about the program around an item.
pub trait Environment {
    /// Returns the table of names.
    fn names(&self) -> &Names;

    /// Returns the host functions that a program may call.
    fn hosts(&self) -> &HostFunctions;

    /// Returns the definition that a name is bound to.
    fn function(&self, name: Name) -> Option<Arc<CheckedFunction>>;

    /// Returns the [signature](CheckedFunction::signature) of that definition.
    fn arity(&self, name: Name) -> Option<u32> {
        self.function(name).map(|function| function.signature())
    }

    /// Returns the `extern` that declares a function of unknown arity: a
    /// foreign one, or one that the program is to define.
    fn declared(&self, name: Name) -> Option<&Extern>;

    /// Returns the name that a name which is not a local stands for here: in a
    /// module the qualified one, in a program that of an imported variable. The
    /// alias of a function stands for itself, since a program can define it.
    ///
    /// # Errors
    /// If two imports offer it, or the module of a qualified name is not known.
    fn global(&self, name: Name, kind: MemberKind) -> Result<HeldName, NameMistake> {
        let _ = kind;
        self.imports().qualified(&self.names().text(name), self.names())
    }

    /// Returns the name that a definition of this name defines.
    ///
    /// # Errors
    /// If the module of a qualified name is not known.
    fn head(&self, name: Name) -> Result<HeldName, NameMistake> {
        self.imports().qualified(&self.names().text(name), self.names())
    }

    /// Returns whether all names have to be looked up, not only qualified ones.
    fn has_aliases(&self) -> bool {
        !self.imports().is_empty()
    }

    /// Returns the imports in force.
    fn imports(&self) -> &Imports;

    /// Returns whether a variable of that name is declared.
    fn has_variable(&self, name: Name) -> bool;

    /// Returns the names of all functions, for suggestions.
    fn functions(&self) -> Vec<Name>;

    /// Returns the names of all variables, for suggestions.
    fn variables(&self) -> Vec<Name>;

    /// Returns the budget for suggestions.
    fn suggestions(&self) -> &Budget;

    /// Returns the poll that tells when the check has to stop.
    fn poll(&self) -> Poll;
}

/// A declaration by `extern`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Extern {
    /// The function.
    pub name: Name,
    /// The names of its parameters.
    pub parameters: Box<[Name]>,
    /// The functions that it takes besides, if it stands for a definition of a module.
    pub functions: Box<[TakenFunction]>,
    /// The place of the name.
    pub place: SourcePlace,
    /// These names, held.
    pub names: HeldNames,
}

impl Extern {
    /// Returns the number of parameters.
    pub fn arity(&self) -> u32 {
        self.parameters.len() as u32
    }

    /// Returns the [signature](CheckedFunction::signature) of what it declares.
    pub fn signature(&self) -> u32 {
        signature(self.arity(), &self.functions)
    }
}

/// What an `import` asks for.
#[derive(Clone, Debug)]
pub struct Import {
    /// The module.
    pub module: HeldName,
    /// What qualifies its names, if not the name of the module.
    pub alias: Option<HeldName>,
    /// The names that are to need no qualifier, with their places; all, if there
    /// is no list.
    pub names: Option<Vec<(HeldName, Span)>>,
    /// The place of the module's name.
    pub place: SourcePlace,
}

/// A place that can be shown: a source and a span of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// The source.
    pub source: Source,
    /// The span of bytes in it.
    pub span: Span,
}

/// Returns a count with its noun: `1 argument`, `2 arguments`.
pub(crate) fn arguments(count: usize) -> String {
    counted(count, "argument")
}

/// Returns what is wrong with a call that passes a number of arguments, for people.
pub(crate) fn mistaken_call(name: &str, passed: u32, takes: &str) -> String {
    format!("`{name}` with {}, but `{name}` takes {takes}", arguments(passed as usize))
}

/// Returns the advice for a call of a variable.
pub(crate) fn called_variable(name: &str) -> String {
    format!("`{name}` is a variable, and no function; a product is written `{name} * (…)`")
}

/// Returns what is wrong with a call that does not fit a function, for people.
pub(crate) fn misfit(function: &CheckedFunction, name: &str, passed: u32) -> String {
    let takes = if function.functions.is_empty() { function.arity().to_string() } else { taken(function) };
    mistaken_call(name, passed, &takes)
}

/// Returns what a function takes, for people.
pub(crate) fn taken(function: &CheckedFunction) -> String {
    let numbers = function.arity() as usize;
    match function.functions.len() {
        0 => arguments(numbers),
        functions if numbers == 0 => counted(functions, "function"),
        functions => format!("{} and {}", counted(functions, "function"), counted(numbers, "number")),
    }
}
