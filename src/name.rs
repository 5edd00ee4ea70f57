//! Interned names.
//!
//! A [`Name`] is a small number that represents a text: two names are equal
//! exactly when their texts are. The table they come from, [`Names`], belongs
//! to an engine and only grows, up to its limit; there is no global table.
//!
//! Names are not given back: they are in checked functions, tapes, symbols and
//! errors, as plain numbers that anything may copy and compare. Counting who has
//! one would cost more than the names. A text that is refused has interned what
//! was read of it, as one that is accepted would: what grows without end is
//! bounded by the limit alone.

mod map;

pub(crate) use map::NameMap;

use crate::process;
use lasso::{Key, Spur, ThreadedRodeo};
use rustc_hash::FxBuildHasher;
use std::fmt;

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
pub struct Names {
    table: ThreadedRodeo<Spur, FxBuildHasher>,
    most: usize,
}

/// The message that a table has no room for another name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyNames {
    most: usize,
}

impl fmt::Display for TooManyNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an engine may know no more than {} names", self.most)
    }
}

impl Names {
    /// Creates an empty table without a limit.
    pub fn new() -> Self {
        Self::limited(usize::MAX)
    }

    /// Creates an empty table that programs may fill with `most` names.
    pub fn limited(most: usize) -> Self {
        Self { table: ThreadedRodeo::with_hasher(FxBuildHasher), most }
    }

    /// Returns the number of names.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Returns the name of `text`; adds it to the table if it is new, whatever
    /// the limit: for texts that do not come from programs.
    pub fn intern(&self, text: &str) -> Name {
        Name(self.table.get_or_intern(text))
    }

    /// Returns the name of `text`; adds it to the table if it is new and the limit
    /// allows it.
    ///
    /// # Errors
    /// If it does not. Threads that add names at once may each add one more.
    pub fn try_intern(&self, text: &str) -> Result<Name, TooManyNames> {
        if self.len() < self.most {
            return Ok(self.intern(text));
        }
        self.get(text).ok_or(TooManyNames { most: self.most })
    }

    /// Returns the name of `text` if it has been interned before.
    pub fn get(&self, text: &str) -> Option<Name> {
        self.table.get(text).map(Name)
    }

    /// Returns the text of a name that came from this table.
    pub fn text(&self, name: Name) -> &str {
        process::briefly_steady(|| self.table.resolve(&name.0))
    }
}

impl Default for Names {
    fn default() -> Self {
        Self::new()
    }
}
