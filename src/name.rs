//! Interned names.
//!
//! A [`Name`] is a small number that represents a text: two names are equal
//! exactly when their texts are. The table they come from, [`Names`], belongs
//! to an engine; there is no global table.
//!
//! Whatever keeps names holds them, as [`HeldName`]s: a checked function, a
//! declaration, a book of names. A name without holders is *idle*. It keeps its
//! number, because the next text may use it again, until idle names are
//! collected; after that its text gets a new number. Numbers of collected names
//! are used again only when all others have been, so a number that was kept
//! without holding its name matches nothing.

mod map;
mod table;

pub(crate) use map::NameMap;
pub use table::{Names, TooManyNames};

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use triomphe::ThinArc;

/// An interned text: the name of a function, a variable or an operator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Name(NonZeroU32);

impl Name {
    /// Returns the position of this name in its table: 0 for the first text
    /// interned.
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    /// Creates the name at a position of its table.
    pub fn from_index(index: usize) -> Option<Self> {
        u32::try_from(index).ok()?.checked_add(1).and_then(NonZeroU32::new).map(Self)
    }
}

/// A name that is held: its table keeps it until the last clone is dropped.
/// Dereferences to its text.
// A program of many definitions has as many of them, so each is one allocation.
#[derive(Clone)]
pub struct HeldName(ThinArc<NameHeader, u8>);

/// What an entry of a table has before the bytes of its text.
struct NameHeader {
    name: Name,
    /// Whether it stays in the table without holders.
    is_permanent: AtomicBool,
}

impl HeldName {
    fn new(name: Name, text: &str) -> Self {
        let header = NameHeader { name, is_permanent: AtomicBool::new(false) };
        Self(ThinArc::from_header_and_slice(header, text.as_bytes()))
    }

    /// Returns the name.
    pub fn name(&self) -> Name {
        self.0.header.header.name
    }

    /// Returns whether its table keeps it without holders.
    pub fn is_permanent(&self) -> bool {
        self.0.header.header.is_permanent.load(Ordering::Relaxed)
    }

    fn make_permanent(&self) {
        self.0.header.header.is_permanent.store(true, Ordering::Relaxed);
    }

    fn holders(&self) -> usize {
        ThinArc::strong_count(&self.0)
    }
}

impl Deref for HeldName {
    type Target = str;

    fn deref(&self) -> &str {
        // They are the bytes of a text.
        str::from_utf8(&self.0.slice).unwrap_or_default()
    }
}

impl AsRef<str> for HeldName {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for HeldName {
    fn borrow(&self) -> &str {
        self
    }
}

impl PartialEq for HeldName {
    fn eq(&self, other: &Self) -> bool {
        self.0.slice == other.0.slice
    }
}

impl Eq for HeldName {}

impl PartialEq<str> for HeldName {
    fn eq(&self, other: &str) -> bool {
        &**self == other
    }
}

impl PartialEq<&str> for HeldName {
    fn eq(&self, other: &&str) -> bool {
        &**self == *other
    }
}

impl Hash for HeldName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Display for HeldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl fmt::Debug for HeldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// Names that are held together.
pub type HeldNames = Arc<[HeldName]>;
