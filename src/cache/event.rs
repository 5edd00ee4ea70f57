//! What happens in the cache.

use super::{CompilePolicy, StoredEngine};
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
    /// No engine cache was there to be loaded.
    NoEngine {
        /// Its file; `None` if none is configured.
        file: Option<PathBuf>,
    },
    /// An engine cache was loaded.
    LoadedEngine {
        /// Its file.
        file: PathBuf,
        /// Its size in bytes.
        bytes: u64,
        /// How long that took, in microseconds.
        microseconds: u64,
    },
    /// An engine cache was not used.
    UnusedEngine {
        /// Its file.
        file: PathBuf,
        /// Why.
        reason: String,
    },
    /// An engine is about to be stored.
    PreparingEngine {
        /// What is compiled before.
        policy: CompilePolicy,
    },
    /// An engine was stored.
    StoredEngine {
        /// The file.
        file: PathBuf,
        /// What is in it.
        stored: StoredEngine,
    },
    /// An engine was not stored.
    KeptEngine {
        /// The file.
        file: PathBuf,
        /// Why.
        reason: String,
    },
    /// A pack could not be written.
    NotWritten {
        /// The folder where it would be.
        folder: PathBuf,
        /// Why.
        reason: String,
    },
}

impl fmt::Display for CompilePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Compiled => "compiled",
            Self::Hot => "hot",
            Self::Aot => "aot",
            Self::Executed => "executed",
        })
    }
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
            Self::NoEngine { file: None } => f.write_str("engine: no cache to load is configured"),
            Self::NoEngine { file: Some(file) } => {
                write!(f, "engine: there is no cache {} yet", file.display())
            }
            Self::LoadedEngine { file, bytes, microseconds } => {
                let (file, time) = (file.display(), *microseconds as f64 / 1e3);
                write!(f, "engine: loaded {file} in {time:.1} ms: {bytes} bytes")
            }
            Self::UnusedEngine { file, reason } => {
                write!(f, "engine: the cache {} is not used: {reason}", file.display())
            }
            Self::PreparingEngine { policy } => {
                write!(f, "engine: preparing to be stored (compile policy {policy})")
            }
            Self::StoredEngine { file, stored: StoredEngine { texts, functions, bytes } } => {
                let file = file.display();
                write!(f, "engine: stored in {file}: {texts} texts, {functions} functions, {bytes} bytes")
            }
            Self::KeptEngine { file, reason } => {
                write!(f, "engine: not stored in {}: {reason}", file.display())
            }
            Self::NotWritten { folder, reason } => {
                write!(f, "cache: not written: {}: {reason}", folder.display())
            }
        }
    }
}
