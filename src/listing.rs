//! Listings: what a stage of the compiler makes of functions, as text.

use crate::engine::Engine;
pub(crate) use crate::jit::Listing;
use crate::name::Name;
use crate::sema::checked::CheckedFunction;
use crate::tape::{Counts, Linkage, LoweringContext, Tape, TapeCallee, TooMany};
use std::sync::Arc;

/// Disassembles the tapes of functions, each under its title, in a program that
/// defines the names that `is_defined` says.
///
/// # Errors
/// For a function that is too large for a tape.
pub(crate) fn tapes<'f, T: AsRef<str>>(
    functions: impl IntoIterator<Item = (&'f Arc<CheckedFunction>, T)>,
    engine: &Engine,
    is_defined: impl Fn(Name) -> bool,
) -> Result<String, TooMany> {
    let linkage = |callee: TapeCallee| Linkage::of(callee, engine.hosts(), is_defined(callee.name));
    let counts_fuel = engine.config().limits.fuel.is_some();
    let environment = LoweringContext { linkage: &linkage, counts_fuel, counts: Counts::Nothing };
    let mut text = String::new();
    for (function, title) in functions {
        text += &Tape::lower(function, environment)?.disassemble(title.as_ref(), function, engine.names());
    }
    Ok(text)
}
