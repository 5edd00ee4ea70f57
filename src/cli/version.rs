//! The version, and how this binary was built.

use crate::engine::Engine;
use crate::fingerprint::Fingerprint;
use crate::terminal::report;
use std::io;

/// Prints the version; with `is_verbose`, also how this binary was built.
pub(super) fn print(is_verbose: bool) -> io::Result<()> {
    let mut text = format!("kal {}\n", env!("CARGO_PKG_VERSION"));
    if is_verbose {
        let features = if cfg!(feature = "unchecked") { "unchecked" } else { "none" };
        let llvm = Engine::llvm_version().unwrap_or_else(|| "none: programs are interpreted".into());
        text += &format!("build: {}\n", Fingerprint::BUILD);
        text += &format!("LLVM: {llvm}\ntarget: {}\nfeatures: {features}\n", env!("KAL_TARGET"));
    }
    report::print(text.as_bytes())
}
