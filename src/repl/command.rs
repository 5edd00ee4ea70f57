//! The commands: one table for reading, help and completion.

use crate::error::Error;
use crate::terminal::palette::{COMMAND, UNKNOWN, paint};
use crate::terminal::read::ReadError;
use std::io;
use std::path::PathBuf;

/// The kind of argument that a command takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ArgumentKind {
    Nothing,
    /// Anything that has help; may be missing.
    Topic,
    File,
    /// A file; may be missing.
    AnyFile,
    /// The name of a definition or a variable.
    Name,
    /// The name of a definition or a variable; may be missing.
    AnyName,
    /// Program text, or the name of a definition.
    Code,
    Switch,
    /// The place of a breakpoint; may be missing.
    Place,
}

/// A row of the table of commands.
#[derive(Debug)]
pub(super) struct PromptCommand {
    pub(super) name: &'static str,
    pub(super) arguments: ArgumentKind,
    /// The arguments as help shows them.
    pub(super) usage: &'static str,
    pub(super) help: &'static str,
    pub(super) action: PromptAction,
}

macro_rules! commands {
    ($($action:ident $name:literal $arguments:ident $usage:literal $help:literal;)+) => {
        /// What a command does.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum PromptAction { $($action),+ }

        /// Every command, in the order of the help.
        pub(super) const COMMANDS: &[PromptCommand] = &[$(PromptCommand {
            name: $name,
            arguments: ArgumentKind::$arguments,
            usage: $usage,
            help: $help,
            action: PromptAction::$action,
        }),+];
    };
}

commands! {
    Help "help" Topic "[NAME]" "this list, or what NAME is: a command, function, operator, keyword; also ?NAME";
    Quit "quit" Nothing "" "leave; also Ctrl-D";
    Load "load" File "FILE" "run a file";
    Reload "reload" Nothing "" "run the last file again; only what changed is redefined, variables are set again";
    Watch "watch" AnyFile "[FILE | off [FILE]]" "load a file now and whenever it is saved with another text, or no longer. Alone: list those files";
    Save "save" AnyFile "[FILE]" "write all definitions and variables as a script, or as a session to FILE.kses";
    SaveOver "save!" AnyFile "[FILE]" "the same, even if FILE contains something else";
    Autosave "autosave" Switch "on|off" "write the session to its file after every input";
    Edit "edit" AnyName "[NAME]" "change a definition, or the last input, in $EDITOR";
    Undo "undo" Nothing "" "undo the last change of what names are bound to";
    Redo "redo" Nothing "" "redo what was undone last";
    Drop "drop" Name "NAME" "remove a definition, an operator or a variable";
    List "list" Nothing "" "all definitions with their state, all variables with their values";
    State "state" Name "NAME" "whether a definition is compiled, and how large its code is";
    Tokens "tokens" Code "TEXT" "the tokens of a definition or a text";
    Ast "ast" Code "TEXT" "the syntax tree of a definition or a text";
    Tape "tape" Code "TEXT" "the interpreter's instructions for a definition or a text";
    Ir "ir" Code "TEXT" "the LLVM IR of a definition or a text";
    Asm "asm" Code "TEXT" "the machine code of a definition or a text";
    Debug "debug" Code "[EXPR]" "run step by step; h lists the commands there. Alone: inspect what failed last";
    Breakpoints "bp" Place "[PLACE [if EXPR] | rm N | off N | on N | error | nan]" "list, set or change breakpoints";
    Time "time" Code "EXPR" "run once, and show the time to parse, compile and run";
    Bench "bench" Code "EXPR" "run many times, and show the median time of a run";
    Plot "plot" Code "EXPR, … [, VAR = A..B] [--svg FILE]" "draw curves; A..B defaults to -10..10";
    Map "map" Code "EXPR --in FILE [--out FILE] [--name COLUMN] [--alone]" "compute EXPR in every row of a table, with its columns as variables; more options as for `kal map`";
    Trace "trace" Switch "on|off" "show what happens to definitions, as it happens";
    Stats "stats" Nothing "" "statistics about this session";
    Reset "reset" Nothing "" "remove everything but what init.kal defines";
}

/// The one-letter commands; these never change, whatever commands are added.
const SHORT: &[(&str, &str)] = &[
    ("?", "help"),
    ("e", "edit"),
    ("h", "help"),
    ("l", "load"),
    ("q", "quit"),
    ("r", "reload"),
    ("t", "time"),
    ("u", "undo"),
];

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CommandError {
    #[error("{0}")]
    Program(#[from] Error),
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A row of a table failed, which is described.
    #[error("{error}")]
    Row { error: Error, place: String },
    #[error("{}: {error}", .path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("{0}")]
    Text(String),
    #[error("usage: :{name} {usage}")]
    Usage { name: &'static str, usage: &'static str },
}

impl CommandError {
    /// Creates the message for arguments that the command does not understand.
    pub(super) fn usage(name: &str) -> Self {
        match COMMANDS.iter().find(|command| command.name == name) {
            Some(command) => Self::Usage { name: command.name, usage: command.usage },
            None => Self::Text(format!("unknown command :{name}")),
        }
    }
}

impl From<String> for CommandError {
    fn from(message: String) -> Self {
        Self::Text(message)
    }
}

impl PromptCommand {
    /// Returns whether its arguments are source.
    pub(super) fn takes_code(&self) -> bool {
        self.arguments == ArgumentKind::Code
    }

    /// Returns its one-letter forms.
    pub(super) fn short(&self) -> impl Iterator<Item = &'static str> {
        SHORT.iter().filter(|(_, name)| *name == self.name).map(|(short, _)| *short)
    }

    /// Returns whether it means nothing without arguments.
    pub(super) fn needs_arguments(&self) -> bool {
        match self.arguments {
            ArgumentKind::Nothing
            | ArgumentKind::Topic
            | ArgumentKind::AnyFile
            | ArgumentKind::AnyName
            | ArgumentKind::Place => false,
            ArgumentKind::File | ArgumentKind::Name | ArgumentKind::Code | ArgumentKind::Switch => true,
        }
    }
}

/// Returns the command and its arguments, if a text is a command: `:name …`,
/// `:name! …`, `?name`.
pub(super) fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    if let Some(topic) = text.strip_prefix('?') {
        return Some(("help", topic.trim()));
    }
    let rest = text.strip_prefix(':')?;
    let in_name = |character: char| character.is_ascii_alphanumeric();
    let mut end = rest.find(|character| !in_name(character)).unwrap_or(rest.len());
    end += usize::from(if end == 0 { rest.starts_with('?') } else { rest[end..].starts_with('!') });
    (end > 0 || rest.is_empty()).then(|| (&rest[..end], rest[end..].trim()))
}

/// Returns the answer to input that looks like a command and is none.
pub(super) fn advice(text: &str) -> Option<String> {
    let rest = text.trim().strip_prefix(':')?;
    let spaced = rest.trim_start().split(char::is_whitespace).next().unwrap_or_default();
    if rest.starts_with('!') {
        return Some("there is no shell here; :quit leaves, Ctrl-Z suspends".into());
    }
    let command = (!spaced.is_empty()).then(|| find(spaced).ok()).flatten();
    Some(match command {
        Some(command) => format!("a command has no blank after the colon: `:{}`", command.name),
        None => "that is no command; `:` lists them".into(),
    })
}

/// Returns the command for a name, a one-letter form or an unambiguous prefix
/// of a name.
pub(super) fn find(name: &str) -> Result<&'static PromptCommand, CommandError> {
    let name = SHORT.iter().find(|(short, _)| *short == name).map_or(name, |(_, long)| long);
    if let Some(exact) = COMMANDS.iter().find(|command| command.name == name) {
        return Ok(exact);
    }
    let is_meant = |command: &&PromptCommand| match (command.name.strip_suffix('!'), name.strip_suffix('!')) {
        (Some(long), Some(typed)) => long.starts_with(typed),
        (None, None) => command.name.starts_with(name),
        (Some(_), None) | (None, Some(_)) => false,
    };
    let matching: Vec<&PromptCommand> = COMMANDS.iter().filter(is_meant).collect();
    match matching.as_slice() {
        [only] => Ok(only),
        [] => Err(CommandError::Text(unknown(name))),
        several => {
            let names: Vec<String> = several.iter().map(|command| format!(":{}", command.name)).collect();
            Err(CommandError::Text(format!("`:{name}` could be {}", names.join(", "))))
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

/// Returns the coloured beginning of a command, and the offset of the source
/// after it.
pub(super) fn head(line: &str) -> (String, usize) {
    let trimmed = line.trim_start();
    let Some((name, _)) = split(line).filter(|_| trimmed.starts_with(':')) else {
        return (String::new(), 0);
    };
    let end = line.len() - trimmed.len() + 1 + name.len();
    let known = find(name).ok();
    let head = paint(if known.is_some() { COMMAND } else { UNKNOWN }, &line[..end]);
    match known {
        Some(known) if known.takes_code() => (head, end),
        Some(_) | None => (head + &line[end..], line.len()),
    }
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
        assert_eq!((find("sav").unwrap().name, find("sav!").unwrap().name), ("save", "save!"));
        assert!(find("load!").is_err());
    }

    #[test]
    fn short_forms_have_fixed_meanings() {
        for (short, name) in SHORT {
            assert!(COMMANDS.iter().any(|command| command.name == *name), "{name}");
            assert_eq!(find(short).unwrap().name, *name);
        }
    }

    #[test]
    fn commands_are_told_from_programs() {
        assert_eq!(split(" :load a b "), Some(("load", "a b")));
        assert_eq!(split("?fib"), Some(("help", "fib")));
        assert_eq!(split(":"), Some(("", "")));
        assert_eq!(split(":?"), Some(("?", "")));
        assert_eq!(split(":? sin"), Some(("?", "sin")));
        assert_eq!(split(":save! a b"), Some(("save!", "a b")));
        assert_eq!(split(":!ls"), None);
        assert_eq!(split(": x"), None);
        assert_eq!(split("1 : 2"), None);
    }

    #[test]
    fn only_known_commands_have_their_colour() {
        assert_eq!(head(":time 1+1"), (paint(COMMAND, ":time"), 5));
        assert_eq!(head(":nope x"), (paint(UNKNOWN, ":nope") + " x", 7));
        assert_eq!(head(":load x"), (paint(COMMAND, ":load") + " x", 7));
        for source in ["", "1 + x", "?sin", "((1)"] {
            assert_eq!(head(source).1, 0, "{source}");
        }
    }
}
