//! Completion of the command line in a shell.
//!
//! A shell loads a short script once, which then runs `kal` itself for the
//! candidates: so they are those of the binary that is installed.

use super::arguments::trimmed;
use crate::terminal::report;
use clap::{Arg, Command, ValueHint};
use clap_complete::Shell;
use clap_complete::env::{CompleteEnv, Shells};
use std::ffi::OsString;
use std::io;

/// The variable with which the scripts ask for candidates.
const VARIABLE: &str = "KAL_COMPLETE";

/// Prints the script that completes `kal` in a shell.
pub(super) fn script(shell: Shell) -> io::Result<()> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let adapter = shells.completer(&shell.to_string()).ok_or(io::ErrorKind::Unsupported)?;
    adapter.write_registration(VARIABLE, "kal", "kal", "kal", &mut script)?;
    report::print(&script)
}

/// Prints the candidates if a script asks for them; returns whether it did.
///
/// # Errors
/// The message for a shell that is not known.
pub(super) fn answer() -> Result<bool, clap::Error> {
    if std::env::var_os(VARIABLE).is_none() {
        return Ok(false);
    }
    let words: Vec<OsString> = std::env::args_os().collect();
    let folder = std::env::current_dir().ok();
    let command = || description(&words);
    CompleteEnv::with_factory(command).var(VARIABLE).try_complete(words.clone(), folder.as_deref())
}

/// Returns the description of the command line for completing `words`: options
/// are only offered for a word that begins like one.
fn description(words: &[OsString]) -> Command {
    let typed = words.iter().position(|word| word == "--").map_or(words, |dashes| &words[dashes + 1..]);
    let index = std::env::var("_CLAP_COMPLETE_INDEX").ok().and_then(|index| index.parse().ok());
    let word = index.map_or(typed.last(), |index: usize| typed.get(index));
    let is_option = word.is_some_and(|word| word.as_encoded_bytes().starts_with(b"-"));
    let prepared = move |arg: Arg| match (arg.is_positional(), arg.get_id().as_str()) {
        (true, "file" | "files") => arg.value_hint(ValueHint::FilePath),
        (true, _) => arg,
        (false, _) if is_option => arg,
        (false, _) => arg.hide(true),
    };
    let command = trimmed().mut_args(prepared).mut_subcommands(|sub| sub.mut_args(prepared));
    let help = move |command: Command| if is_option { command } else { command.disable_help_flag(true) };
    help(command).mut_subcommands(help)
}
