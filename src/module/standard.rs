//! The standard library: modules that are part of Kal.
//!
//! They are looked for last, so a module of the user hides one of the same name. One is
//! read when it is imported, as any other.

use super::{Imports, Module};
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

/// The functions that modules offer, by the names of the modules.
const OFFERED: &[(&str, &[&str])] = include!(concat!(env!("OUT_DIR"), "/standard_library.rs"));

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
    nearest(name, OFFERED.iter().map(|(module, _)| *module))
}

/// Returns what to import instead of a module that is not there, if it is the name of a function
/// of a module, `sum`, or names one, `series.sum`.
pub fn import_of(name: &str) -> Option<String> {
    let (known, member) =
        name.rsplit_once('.').map_or((None, name), |(module, member)| (Some(module), member));
    let is_meant =
        |module: &str, offered: &str| known.is_none_or(|known| known == module) && offered == member;
    let mut modules = OFFERED.iter();
    let (module, _) = modules.find(|(module, names)| names.iter().any(|name| is_meant(module, name)))?;
    Some(format!("`{member}` is a function of the module `{module}`: `import {module}({member})`"))
}

/// Returns help about a function that is not known, and that a module offers which is not
/// imported, or not with this name alone.
pub fn import_help(function: &str, imports: &Imports) -> Option<String> {
    if let Some(qualified) = imports.qualified_spelling(function) {
        return Some(format!("did you mean `{qualified}`?"));
    }
    if let Some((module, _)) = not_imported(imports).find(|(_, name)| *name == function) {
        return Some(format!("`import {module}` makes it known"));
    }
    let (known, member) =
        function.rsplit_once('.').map_or((None, function), |(known, member)| (Some(known), member));
    let imported = imports.iter().filter(|import| known.is_none_or(|known| *import.qualifier == *known));
    imported.into_iter().find_map(|import| hidden_help(&import.module, member))
}

/// Returns help about a function that a module does not offer, but the module of the standard
/// library that it hides.
pub fn hidden_help(module: &Module, member: &str) -> Option<String> {
    let (name, offered) = OFFERED.iter().find(|(name, _)| **name == *module.name)?;
    let is_meant = !module.source.is_of_standard_library() && offered.contains(&member);
    let file = module.source.name();
    is_meant.then(|| format!("`{name}` is {file}, which hides the module `{name}` of the standard library"))
}

/// Returns that help about a function that may be named with its module, `stats.mean`.
#[cfg(feature = "cli")]
pub fn name_help(name: &str, imports: &Imports) -> Option<String> {
    let Some((module, member)) = name.rsplit_once('.') else { return import_help(name, imports) };
    let is_meant = |(known, offered): &(&str, &str)| *known == module && *offered == member;
    not_imported(imports).find(is_meant).map(|_| format!("`import {module}` makes it known"))
}

/// Returns help about a function that is not known, and is misspelt for one that a module
/// offers which is not imported.
pub fn misspelt_help(function: &str, imports: &Imports, budget: &Budget) -> Option<String> {
    let name = budget.nearest(function, not_imported(imports).map(|(_, name)| name))?;
    let help = import_help(name, imports)?;
    Some(format!("did you mean `{name}`? {help}"))
}

/// Returns the functions of modules that are not imported, with their modules.
fn not_imported(imports: &Imports) -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_imported = |module: &str| imports.iter().any(|import| *import.module.name == *module);
    let modules = OFFERED.iter().filter(move |(module, _)| !is_imported(module));
    modules.flat_map(|(module, names)| names.iter().map(move |name| (*module, *name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_listed_with_what_they_offer() {
        let modules: Vec<_> = MODULES.iter().map(|(module, _)| *module).collect();
        let listed: Vec<_> = OFFERED.iter().map(|(module, _)| *module).collect();
        assert_eq!(modules, listed);
        for ((module, text), (_, offered)) in MODULES.iter().zip(OFFERED) {
            let is_defined = |name: &&&str| text.contains(&format!("\ndef {name}("));
            assert_eq!(offered.iter().filter(is_defined).count(), offered.len(), "{module}");
        }
    }
}
