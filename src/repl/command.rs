//! The commands: one table for dispatch, help and completion.

use super::session::{Flow, Session};
use super::{bench, debug, inspect, plot, session, trace, watch};
use crate::error::Error;
use std::io;
use std::path::PathBuf;

/// What stands behind a command's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arguments {
    Nothing,
    /// A command or a function; may be missing.
    Topic,
    File,
    /// The name of a definition or a variable.
    Name,
    /// Program text, or the name of a definition.
    Code,
    Switch,
    /// The place of a breakpoint; may be missing.
    Place,
}

/// One command.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) name: &'static str,
    pub(super) arguments: Arguments,
    /// The arguments as help shows them.
    pub(super) usage: &'static str,
    pub(super) help: &'static str,
    run: fn(&mut Session<'_>, &str) -> Result<Flow, Trouble>,
}

macro_rules! commands {
    ($($name:literal $arguments:ident $usage:literal $help:literal $run:path;)+) => {
        &[$(Command {
            name: $name,
            arguments: Arguments::$arguments,
            usage: $usage,
            help: $help,
            run: |session, text| $run(session, text).map(Into::into),
        }),+]
    };
}

/// Every command, in the order of the help.
pub(super) const COMMANDS: &[Command] = commands! {
    "help" Topic "[NAME]" "these commands, one of them, or a function; also ?NAME" inspect::help;
    "quit" Nothing "" "leave; also Ctrl-D" session::quit;
    "load" File "FILE" "run a file" session::load;
    "reload" Nothing "" "run the last file again; only what changed is redefined" session::reload;
    "watch" File "FILE" "load a file now and whenever it is saved" watch::watch;
    "save" File "FILE" "write the present definitions and variables as a script" session::save;
    "edit" Name "NAME" "change a definition, or begin one, in $EDITOR" session::edit;
    "undo" Nothing "" "bind names as they were before the last change" session::undo;
    "redo" Nothing "" "take the last undo back" session::redo;
    "drop" Name "NAME" "forget a definition, an operator or a variable" session::drop;
    "list" Nothing "" "all definitions: state, tier, size of the code" inspect::list;
    "state" Name "NAME" "how far the code of a definition is" inspect::state;
    "tokens" Code "TEXT" "the tokens of a definition or a text" inspect::tokens;
    "ast" Code "TEXT" "the syntax tree of a definition or a text" inspect::ast;
    "tape" Code "TEXT" "the interpreter's instructions for a definition or a text" inspect::tape;
    "ir" Code "TEXT" "the LLVM IR of a definition or a text" inspect::ir;
    "asm" Code "TEXT" "the machine code of a definition or a text" inspect::asm;
    "debug" Code "EXPR" "run step by step; there, h lists the debugger's commands" debug::debug;
    "bp" Place "[PLACE [if EXPR] | rm N | off N | on N]" "list, set or change breakpoints" debug::breakpoints;
    "time" Code "EXPR" "run once, and show the time to parse, compile and run" bench::time;
    "bench" Code "EXPR" "run many times, and show the median time of a run" bench::bench;
    "plot" Code "EXPR, VAR = A..B  or  NAME A..B  [--svg FILE]" "draw a curve" plot::plot;
    "trace" Switch "on|off" "show what happens to definitions, as it happens" trace::trace;
    "stats" Nothing "" "figures about this session" inspect::stats;
    "reset" Nothing "" "forget everything" session::reset;
};

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error("{0}")]
    Program(#[from] Error),
    #[error("{}: {error}", .path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("{0}")]
    Text(String),
    #[error("usage: :{name} {usage}")]
    Usage { name: &'static str, usage: &'static str },
}

impl Trouble {
    /// The message for arguments that the command does not understand.
    pub(super) fn usage(name: &str) -> Self {
        match COMMANDS.iter().find(|command| command.name == name) {
            Some(command) => Self::Usage { name: command.name, usage: command.usage },
            None => Self::Text(format!("unknown command :{name}")),
        }
    }
}

impl From<String> for Trouble {
    fn from(message: String) -> Self {
        Self::Text(message)
    }
}

impl Command {
    /// Whether its arguments are program text.
    pub(super) fn takes_code(&self) -> bool {
        self.arguments == Arguments::Code
    }

    fn needs_arguments(&self) -> bool {
        !matches!(self.arguments, Arguments::Nothing | Arguments::Topic | Arguments::Place)
    }
}

/// The command and its arguments, if a text is a command: `:name …`, `?name`.
pub(super) fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    if let Some(topic) = text.strip_prefix('?') {
        return Some(("help", topic.trim()));
    }
    let rest = text.strip_prefix(':')?;
    let end = rest.find(|character: char| !character.is_ascii_alphabetic()).unwrap_or(rest.len());
    let is_name = rest.starts_with(|character: char| character.is_ascii_alphabetic());
    (is_name || rest.is_empty()).then(|| (&rest[..end], rest[end..].trim()))
}

/// The command that a name or an unambiguous beginning of one stands for.
pub(super) fn find(name: &str) -> Result<&'static Command, Trouble> {
    if let Some(exact) = COMMANDS.iter().find(|command| command.name == name) {
        return Ok(exact);
    }
    let matching: Vec<&Command> = COMMANDS.iter().filter(|command| command.name.starts_with(name)).collect();
    match matching.as_slice() {
        [only] => Ok(only),
        [] => Err(Trouble::Text(unknown(name))),
        several => {
            let names: Vec<String> = several.iter().map(|command| format!(":{}", command.name)).collect();
            Err(Trouble::Text(format!("`:{name}` could be {}", names.join(", "))))
        }
    }
}

fn unknown(name: &str) -> String {
    let near = crate::diagnostic::suggest::nearest(name, COMMANDS.iter().map(|command| command.name));
    match near {
        Some(near) => format!("unknown command `:{name}`; did you mean `:{near}`?"),
        None => format!("unknown command `:{name}`; :help lists them"),
    }
}

/// Carries out a command.
pub(super) fn run(session: &mut Session<'_>, name: &str, arguments: &str) -> Result<Flow, Trouble> {
    let command = find(name)?;
    if command.needs_arguments() && arguments.is_empty() && command.name != "trace" {
        return Err(Trouble::usage(command.name));
    }
    if command.arguments == Arguments::Nothing && !arguments.is_empty() {
        return Err(Trouble::Text(format!(":{} takes nothing behind it", command.name)));
    }
    (command.run)(session, arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unambiguous_beginnings_are_enough() {
        assert_eq!(find("q").unwrap().name, "quit");
        assert_eq!(find("re").unwrap_err().to_string(), "`:re` could be :reload, :redo, :reset");
        assert_eq!(find("lod").unwrap_err().to_string(), "unknown command `:lod`; did you mean `:load`?");
        assert!(find("xyzzy").is_err());
    }

    #[test]
    fn commands_are_told_from_programs() {
        assert_eq!(split(" :load a b "), Some(("load", "a b")));
        assert_eq!(split("?fib"), Some(("help", "fib")));
        assert_eq!(split(":"), Some(("", "")));
        assert_eq!(split(": x"), None);
        assert_eq!(split("1 : 2"), None);
    }
}
