//! Interned names.
//!
//! A [`Name`] is a small number that represents a text: two names are equal
//! exactly when their texts are. The table they come from, [`Names`], belongs
//! to an engine and only grows; there is no global table.

mod map;

pub(crate) use map::NameMap;

use crate::process;
use lasso::{Key, Spur, ThreadedRodeo};
use rustc_hash::FxBuildHasher;

/// An interned text: the name of a function, a variable or an operator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Name(Spur);

impl Name {
    /// Returns the position of this name in its table: 0 for the first text
    /// interned.
    pub fn index(self) -> usize {
        self.0.into_usize()
    }

    /// Creates the name at a position of its table.
    pub fn from_index(index: usize) -> Option<Self> {
        Spur::try_from_usize(index).map(Self)
    }
}

/// The table of names of one engine; shared by all its threads.
#[derive(Debug)]
pub struct Names(ThreadedRodeo<Spur, FxBuildHasher>);

impl Names {
    /// Creates an empty table.
    pub fn new() -> Self {
        Self(ThreadedRodeo::with_hasher(FxBuildHasher))
    }

    /// Returns the number of names.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the name of `text`; adds it to the table if it is new.
    pub fn intern(&self, text: &str) -> Name {
        Name(self.0.get_or_intern(text))
    }

    /// Returns the name of `text` if it has been interned before.
    pub fn get(&self, text: &str) -> Option<Name> {
        self.0.get(text).map(Name)
    }

    /// Returns the text of a name that came from this table.
    pub fn text(&self, name: Name) -> &str {
        process::briefly_steady(|| self.0.resolve(&name.0))
    }
}

impl Default for Names {
    fn default() -> Self {
        Self::new()
    }
}
