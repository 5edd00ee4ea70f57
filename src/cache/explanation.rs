//! Why code of a function is in the cache, or is not: for people.

use std::fmt;

/// Whether the cache has code of a function, and why not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Explanation {
    /// It has.
    Cached,
    /// No run that the cache remembers has compiled a function of that name.
    NeverCompiled,
    /// The function has changed.
    Changed,
    /// A function that was inlined into it has changed, or is not defined any more.
    InlinedChanged(String),
    /// A name that it calls was a function of the library, and is defined by the program
    /// now.
    Redefined(String),
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cached => f.write_str("from the cache"),
            Self::NeverCompiled => f.write_str("not compiled before"),
            Self::Changed => f.write_str("compiled again: it has changed"),
            Self::InlinedChanged(name) => {
                write!(f, "compiled again: `{name}`, which was inlined into it, has changed")
            }
            Self::Redefined(name) => write!(f, "compiled again: the program defines `{name}` now"),
        }
    }
}
