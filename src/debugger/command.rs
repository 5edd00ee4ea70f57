//! The commands of the debugger: one table for reading, help and completion.
//! Commands of gdb and pdb have their meaning here.

use crate::diagnostic::suggest::nearest;

/// What a command does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DebuggerAction {
    Next,
    NextLine,
    NextCall,
    Step,
    Token,
    Finish,
    Until,
    Continue,
    Retry,
    Restart,
    Quit,
    Here,
    List,
    Whole,
    Backtrace,
    Frame,
    Up,
    Down,
    Locals,
    Print,
    Watch,
    Unwatch,
    Info,
    Functions,
    Breakpoints,
    Once,
    Ignore,
    Delete,
    Enable,
    Disable,
    Help,
}

/// A row of the table of commands.
pub(super) struct DebuggerCommand {
    /// Its names and abbreviations; help shows the first two.
    names: &'static [&'static str],
    pub(super) arguments: &'static str,
    help: &'static str,
    pub(super) action: DebuggerAction,
}

macro_rules! commands {
    ($($group:literal { $($action:ident $names:expr, $arguments:literal $help:literal;)+ })+) => {
        &[$(($group, &[$(DebuggerCommand {
            names: &$names,
            arguments: $arguments,
            help: $help,
            action: DebuggerAction::$action,
        }),+])),+]
    };
}

/// Every command, in groups, in the order of the help.
const GROUPS: &[(&str, &[DebuggerCommand])] = commands! {
    "Running" {
        Next ["n", "next"], "" "to the next call or line of this function, or its caller";
        NextLine ["nl", "nextline"], "" "to the next line of this function, or its caller";
        NextCall ["nc", "nextcall"], "" "to the next call in this function, or its caller";
        Step ["s", "step"], "" "as `n`, but into functions that are called";
        Token ["si", "stepi"], "" "execute one instruction";
        Finish ["so", "finish", "ret", "return"], "" "until this function returns";
        Until ["u", "until"], "[LINE]" "until a later place, or a line, of this function: out of loops";
        Continue ["c", "continue", "cont"], "" "to the next breakpoint";
        Retry ["retry"], "" "repeat the call that failed, or the call of the selected function";
        Restart ["r", "restart", "run"], "" "run from the beginning; breakpoints stay";
        Quit ["q", "quit", "exit"], "" "leave; also Ctrl-D";
    }
    "Looking" {
        Print ["p", "print"], "EXPR" "the value of an expression; it may assign. `p` may be omitted";
        Locals ["lo", "locals"], "" "the parameters and variables of the selected call";
        Backtrace ["bt", "where", "backtrace"], "" "the calls in progress, the middle of very many left out";
        Up ["up"], "" "select the caller";
        Down ["down"], "" "select the function that it calls";
        Frame ["fr", "frame"], "[N]" "select the Nth call, or show the selected one";
        Here ["st", "here"], "" "show where this is";
        List ["l", "list"], "[LINE]" "the source around this line, or another";
        Whole ["ll", "longlist"], "" "the source of the whole function";
        Watch ["w", "watch", "display"], "[EXPR | rm N]" "show an expression at every stop";
        Unwatch ["undisplay"], "N" "as `w rm N`";
        Info ["info"], "locals | args | frame | breakpoints | display | functions" "as in gdb";
        Functions ["defs", "functions"], "" "what is defined";
    }
    "Breakpoints" {
        Breakpoints ["bp", "b", "break"],
            "[PLACE [if EXPR] | rm N | off N | on N | error [off] | nan [off]]" "list, set or change them";
        Once ["tbp", "tbreak"], "PLACE [if EXPR]" "stop there once";
        Ignore ["ignore"], "N COUNT" "pass breakpoint N COUNT times";
        Delete ["delete"], "N" "as `bp rm N`";
        Enable ["enable"], "N" "as `bp on N`";
        Disable ["disable"], "N" "as `bp off N`";
        Help ["h", "help", "?"], "" "these commands";
    }
};

const NOTES: &str = "\
The number in `1|debug>` is that of the selected call, as `bt` shows it.
A PLACE is FUNCTION, LINE, LINE:COLUMN, FILE:LINE or FUNCTION:LINE. `bp error` stops at
errors, `bp nan` where the first NaN or infinity appears. Steps are finer than a line: `n`
stops at each call on it. Ctrl-C stops a run, or clears the line. An empty line repeats the
last command. `_` is the value of the call stepped over, `ans` the value shown last.
`def f(x) …` defines a function; calls that begin later, and `retry`, use it.";

fn all() -> impl Iterator<Item = &'static DebuggerCommand> {
    GROUPS.iter().flat_map(|(_, commands)| commands.iter())
}

impl DebuggerCommand {
    /// Returns the command that a line begins with, and its arguments.
    pub(super) fn read(line: &str) -> Option<(&'static Self, &str)> {
        let line = line.trim();
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let command = all().find(|command| command.names.contains(&name))?;
        Some((command, rest.trim()))
    }

    /// Returns whether the arguments fit: some commands need them, others take
    /// none.
    pub(super) fn takes(&self, arguments: &str) -> bool {
        let (is_none, is_optional) = (self.arguments.is_empty(), self.arguments.starts_with('['));
        if arguments.is_empty() { is_none || is_optional } else { !is_none }
    }

    /// Returns its usage line.
    pub(super) fn usage(&self) -> String {
        match (self.names[0], self.arguments) {
            (name, "") => format!("`{name}` takes no arguments"),
            (name, arguments) => format!("usage: {name} {arguments}"),
        }
    }
}

/// Returns the command nearest to a misspelt one.
pub(super) fn meant(word: &str) -> Option<&'static str> {
    nearest(word, words().filter(|known| known.len() > 2))
}

/// Returns every word that is a command.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    all().flat_map(|command| command.names.iter().copied())
}

/// Returns the help text: all commands, one a line, and the forms of places.
pub(super) fn help() -> String {
    let mut text = String::new();
    for (group, commands) in GROUPS {
        text += &format!("{group}\n");
        for command in *commands {
            let names = &command.names[..command.names.len().min(2)];
            let head = format!("{} {}", names.join(", "), command.arguments);
            match head.len() {
                ..=20 => text += &format!("  {head:<20}  {}\n", command.help),
                _ => text += &format!("  {}\n{:24}{}\n", head.trim_end(), "", command.help),
            }
        }
    }
    text + NOTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_by_letter_and_name() {
        let read = |line| DebuggerCommand::read(line).map(|(command, rest)| (command.action, rest));
        assert_eq!(read("n"), Some((DebuggerAction::Next, "")));
        assert_eq!(read(" p  x + 1 "), Some((DebuggerAction::Print, "x + 1")));
        assert_eq!(read("finish"), Some((DebuggerAction::Finish, "")));
        assert_eq!(read("x"), None);
        let mut names: Vec<_> = words().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert_eq!(meant("contniue"), Some("continue"));
    }

    #[test]
    fn commands_take_what_they_say() {
        let takes = |line| DebuggerCommand::read(line).map(|(command, rest)| command.takes(rest));
        for line in ["n", "u", "u 5", "p x", "bp", "bp f", "ignore 1 2"] {
            assert_eq!(takes(line), Some(true), "{line}");
        }
        for line in ["n 3", "up 2", "p", "ignore", "tbp"] {
            assert_eq!(takes(line), Some(false), "{line}");
        }
    }
}
