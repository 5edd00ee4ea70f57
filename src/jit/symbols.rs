//! The symbols of bodies.
//!
//! A body is called after its function and the identity of that:
//! `fib$impl$9f3a21…`, the same in every context and process. While one is in
//! use, others of the same function, compiled with other assumptions or for
//! another tier, have a number as well.

use super::worker::locked_steadily;
use crate::fingerprint::Fingerprint;
use crate::name::Names;
use crate::process::Generation;
use crate::sema::checked::{CheckedFunction, EXPRESSION};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex};

/// The digits of a fingerprint in a symbol.
const DIGITS: usize = 16;

/// The symbols that are in use.
#[derive(Clone, Default)]
pub(super) struct Symbols(Arc<Mutex<FxHashMap<Box<str>, Uses>>>);

/// The symbols that begin alike.
#[derive(Default)]
struct Uses {
    present: usize,
    next: u64,
}

/// A symbol that no other body has until it is dropped.
pub(super) struct BodySymbol {
    symbols: Symbols,
    base: Box<str>,
    text: String,
}

impl Symbols {
    /// Returns a symbol for a body of a function, or of its shape, with that
    /// identity; `kind` is `impl` for one that is called.
    pub(super) fn body(
        &self,
        function: &CheckedFunction,
        identity: Fingerprint,
        names: &Names,
        kind: &str,
    ) -> BodySymbol {
        let mut identity = identity.to_string();
        identity.truncate(DIGITS);
        let base = match (&*names.text(function.name), kind) {
            (EXPRESSION, "impl") => format!("$expression${identity}"),
            (EXPRESSION, kind) => format!("$expression${kind}${identity}"),
            (name, kind) => format!("{name}${kind}${identity}"),
        };
        self.unique(base)
    }

    fn unique(&self, base: String) -> BodySymbol {
        let mut table = locked_steadily(&self.0);
        let uses = table.entry(base.as_str().into()).or_default();
        let number = uses.next;
        (uses.present, uses.next) = (uses.present + 1, number + 1);
        drop(table);
        let generation = Generation::current().suffix();
        let text = if number == 0 { base.clone() } else { format!("{base}${number}") };
        BodySymbol { symbols: self.clone(), base: base.into(), text: text + &generation }
    }
}

impl BodySymbol {
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

impl Drop for BodySymbol {
    fn drop(&mut self) {
        let mut table = locked_steadily(&self.symbols.0);
        if let Some(uses) = table.get_mut(&self.base) {
            uses.present -= 1;
            if uses.present == 0 {
                table.remove(&self.base);
            }
        }
    }
}
