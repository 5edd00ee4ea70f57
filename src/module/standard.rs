//! The standard library: modules that are part of Kal.
//!
//! They are looked for last, so a module of the user hides one of the same name. One is
//! read when it is imported, as any other.

use super::Imports;
use crate::diagnostic::suggest::{Budget, nearest};
use crate::source::Source;

/// The modules by name.
const MODULES: &[(&str, &str)] = &[
    ("calculus", include_str!("standard/calculus.kal")),
    ("complex", include_str!("standard/complex.kal")),
    ("finance", include_str!("standard/finance.kal")),
    ("math", include_str!("standard/math.kal")),
    ("number", include_str!("standard/number.kal")),
    ("optimize", include_str!("standard/optimize.kal")),
    ("random", include_str!("standard/random.kal")),
    ("roots", include_str!("standard/roots.kal")),
    ("series", include_str!("standard/series.kal")),
    ("stats", include_str!("standard/stats.kal")),
];

/// Returns the text of a module.
pub fn source(module: &str) -> Option<Source> {
    let (name, text) = MODULES.iter().find(|(name, _)| *name == module)?;
    Some(Source::of_standard_library(name, text))
}

/// Returns all modules, with their names.
#[cfg(feature = "cli")]
pub fn sources() -> impl Iterator<Item = (&'static str, Source)> {
    MODULES.iter().map(|(name, text)| (*name, Source::of_standard_library(name, text)))
}

/// Returns the name of the module that a misspelt name means.
pub fn nearest_module(name: &str) -> Option<&'static str> {
    nearest(name, MODULES.iter().map(|(module, _)| *module))
}

/// Returns help about a function that is not known, and is misspelt for one that a module
/// offers which is not imported.
pub fn misspelt_help(function: &str, imports: &Imports, budget: &Budget) -> Option<String> {
    let is_imported = |module: &str| imports.iter().any(|import| *import.module.name == *module);
    let modules = MODULES.iter().filter(|(module, _)| !is_imported(module));
    let functions = modules.flat_map(|(module, text)| offered(text).map(move |name| (*module, name)));
    let functions: Vec<_> = functions.filter(|(_, name)| !name.starts_with('_')).collect();
    let near = budget.nearest(function, functions.iter().map(|(_, name)| *name))?;
    let (module, name) = functions.iter().find(|(_, name)| *name == near)?;
    Some(format!("did you mean `{name}`? `import {module}` makes it known"))
}

/// Returns the names that the definitions of a module begin with.
fn offered(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| Some(line.strip_prefix("def ")?.split_once('(')?.0))
}

/// Returns help about a function that is not known, and that a module offers which is not
/// imported.
pub fn import_help(function: &str, imports: &Imports) -> Option<String> {
    let head = format!("\ndef {function}(");
    let offers = |text: &str| !function.starts_with('_') && text.contains(&head);
    let is_imported = |module: &str| imports.iter().any(|import| *import.module.name == *module);
    let (module, _) = MODULES.iter().find(|(module, text)| offers(text) && !is_imported(module))?;
    Some(format!("`import {module}` makes it known"))
}
