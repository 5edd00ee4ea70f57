//! The standard library: modules that are part of Kal.
//!
//! They are looked for last, so a module of the user hides one of the same name. One is
//! read when it is imported, as any other.

use crate::source::Source;

/// The modules by name.
const MODULES: &[(&str, &str)] = &[
    ("calculus", include_str!("standard/calculus.kal")),
    ("math", include_str!("standard/math.kal")),
    ("numbers", include_str!("standard/numbers.kal")),
    ("random", include_str!("standard/random.kal")),
    ("ranges", include_str!("standard/ranges.kal")),
];

/// Returns a module.
pub(super) fn source(module: &str) -> Option<Source> {
    let (name, text) = MODULES.iter().find(|(name, _)| *name == module)?;
    Some(Source::of_standard_library(name, text))
}
