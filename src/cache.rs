//! The cache: packs in files, so that the next start finds the code of this one.
//!
//! Each program or module that comes from a file has a folder in the cache, named by
//! the file's path, with the packs of its functions:
//!
//! ```text
//! FOLDER/packs-1/BUILD/TARGET/PATH/TEXT.kpk     what the first run of a text has compiled
//!                                  TEXT.1.kpk   what a later run has compiled besides
//! ```
//!
//! Code is found by its identity, so packs of earlier texts of a file serve a later
//! one: only what was edited is compiled again. A pack is never changed. It gets its
//! name when it is whole, and only if there is none of that name.
//!
//! A cache that cannot be read is empty, and one that cannot be written is left as it
//! is: a program never fails for it.

mod engine_cache;
mod event;
#[cfg(feature = "cli")]
mod explain;
mod explanation;
mod files;
mod folder;
mod image_text;
mod images;
#[cfg(feature = "cli")]
mod library;
mod lock;
mod mark;
mod options;
mod pack_file;
mod reading;
mod session;
mod trust;

use crate::bytes::SharedParts;
use crate::source::Source;
use crate::world::WrittenText;
pub use engine_cache::{CompilePolicy, EngineCache, StoredEngine, UpdatePolicy};
pub use event::CacheEvent;
pub use explanation::Explanation;
pub use files::Cache;
pub use files::{FindLinks, StoredForm, WrittenPack};
pub use folder::CacheUsage;
pub use image_text::ImageText;
pub use images::{BuiltText, PackParts};
pub use mark::FileMarks;
pub use options::CacheOptions;

/// The items that an earlier run has checked of a file.
pub enum CheckedText {
    /// Those of its text.
    Same(SharedParts),
    /// Those of a program's earlier text.
    Earlier(SharedParts),
}

/// Returns the items of a text that was read as a program, or as the module of that name,
/// as bytes; `None` if they have not been read, or have been written before.
pub type CheckedTexts<'a> = &'a dyn Fn(&Source, Option<&str>) -> Option<WrittenText>;
