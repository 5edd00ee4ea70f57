//! What the commands, the prompt and executables share: how they end, run programs, report
//! mistakes, read files, wait for input, and write to a terminal.
//!
//! All of it uses the embedding API. Nothing here knows a command.

#[cfg(feature = "cli")]
pub(crate) mod console;
pub(crate) mod exit;
#[cfg(feature = "cli")]
pub(crate) mod file;
#[cfg(feature = "cli")]
pub(crate) mod highlighter;
pub(crate) mod interrupt;
#[cfg(feature = "cli")]
pub(crate) mod margin;
#[cfg(feature = "cli")]
pub(crate) mod mistakes;
pub(crate) mod outcome;
#[cfg(feature = "cli")]
pub(crate) mod palette;
#[cfg(feature = "cli")]
pub(crate) mod read;
#[cfg(feature = "cli")]
pub(crate) mod replacement;
pub(crate) mod report;
#[cfg(feature = "cli")]
pub(crate) mod screen;
