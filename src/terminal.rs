//! What the commands and the prompt share: how they end, report mistakes, read
//! files, wait for input, and write to a terminal.
//!
//! All of it uses the embedding API. Nothing here knows a command.

pub(crate) mod console;
pub(crate) mod exit;
pub(crate) mod file;
pub(crate) mod highlighter;
pub(crate) mod interrupt;
pub(crate) mod margin;
pub(crate) mod palette;
pub(crate) mod read;
pub(crate) mod report;
pub(crate) mod screen;
