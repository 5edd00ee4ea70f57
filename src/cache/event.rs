//! What happens in the cache.

use std::fmt;
use std::path::PathBuf;

/// Something that has happened in the cache. As text, it is a line for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CacheEvent {
    /// A pack was read.
    Opened {
        /// Its file.
        file: PathBuf,
        /// How many functions and expressions it has code of.
        bodies: usize,
    },
    /// The checked items of a pack were read, but not its code: another user made it.
    WithoutCode {
        /// Its file.
        file: PathBuf,
    },
    /// A pack was not used: others could have written it.
    Untrusted {
        /// The file or folder.
        file: PathBuf,
        /// What others can do.
        reason: String,
    },
    /// A pack was not used, and deleted if that is allowed.
    Damaged {
        /// Its file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A pack was written.
    Written {
        /// Its file.
        file: PathBuf,
        /// How many functions and expressions it has code of.
        bodies: usize,
    },
    /// A pack could not be written.
    NotWritten {
        /// The folder where it would be.
        folder: PathBuf,
        /// Why.
        reason: String,
    },
}

impl fmt::Display for CacheEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened { file, bodies } => write!(f, "cache: read {} ({bodies} in it)", file.display()),
            Self::WithoutCode { file } => {
                write!(f, "cache: read {}, without its code: made with another key", file.display())
            }
            Self::Untrusted { file, reason } => write!(f, "cache: not used: {}: {reason}", file.display()),
            Self::Damaged { file, reason } => write!(f, "cache: not used: {}: {reason}", file.display()),
            Self::Written { file, bodies } => write!(f, "cache: wrote {} ({bodies} in it)", file.display()),
            Self::NotWritten { folder, reason } => {
                write!(f, "cache: not written: {}: {reason}", folder.display())
            }
        }
    }
}
