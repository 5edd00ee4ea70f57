//! `--trace-compile`: a line for each function that is compiled.
//!
//! ```text
//! precompile(stats.mean/1) # full, 1.3 ms
//! ```
//!
//! The name and the number of arguments say which function it is. What is behind `#` is for
//! people: the tier, the time, and whether the function was compiled before at that tier.

use crate::diagnostic::visible::visible_text;
use crate::status::Compilation;
use crate::tier::Tier;
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// The functions that have been compiled, with the number of arguments and the tier.
type Known = FxHashSet<(Box<str>, u32, Tier, bool)>;

/// Returns an observer that writes the lines to a file, or to `stderr`.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn observer(path: &Path) -> io::Result<impl Fn(&Compilation<'_>) + Send + Sync + 'static> {
    let output: Box<dyn Write + Send> = match path.to_str() {
        Some("stderr") => Box::new(io::stderr()),
        _ => Box::new(File::create(path)?),
    };
    let state = Mutex::new((output, Known::default()));
    Ok(move |compilation: &Compilation<'_>| {
        let (output, known) = &mut *state.lock();
        // A trace that cannot be written is no reason to stop the program.
        let _ = output.write_all(line(compilation, known).as_bytes());
    })
}

fn line(compilation: &Compilation<'_>, known: &mut Known) -> String {
    let Compilation { name, arity, tier, is_osr, took, .. } = *compilation;
    let is_new = known.insert((name.into(), arity, tier, is_osr));
    let tier = match tier {
        Tier::Quick => "quick",
        Tier::Full => "full",
    };
    let osr = if is_osr { ", OSR" } else { "" };
    let again = if is_new { "" } else { ", recompiled" };
    let took = took.as_secs_f64() * 1e3;
    format!("precompile({}/{arity}) # {tier}{osr}, {took:.1} ms{again}\n", visible_text(name))
}
