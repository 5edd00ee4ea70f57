//! The commands of the debugger: one table for reading and help.

/// What a command does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    Next,
    Step,
    Token,
    Finish,
    Until,
    Continue,
    Backtrace,
    Frame,
    Up,
    Down,
    Locals,
    Print,
    Watch,
    Breakpoints,
    Where,
    Help,
    Quit,
}

/// One command.
pub(super) struct Command {
    /// What is typed, the letters first.
    names: &'static [&'static str],
    arguments: &'static str,
    help: &'static str,
    pub(super) action: Action,
}

macro_rules! commands {
    ($($action:ident $names:expr, $arguments:literal $help:literal;)+) => {
        &[$(Command { names: &$names, arguments: $arguments, help: $help, action: Action::$action }),+]
    };
}

/// Every command, in the order of the help.
const COMMANDS: &[Command] = commands! {
    Next ["n", "next"], "" "go on to the next call or line of this function, or its caller";
    Step ["s", "step"], "" "the same, but into the function that is called";
    Token ["si"], "" "execute one instruction";
    Finish ["so", "finish"], "" "go on until this function returns";
    Until ["u", "until"], "[LINE]" "go on until a later place, or a line, of this function: out of loops";
    Continue ["c", "continue"], "" "go on to the next breakpoint";
    Backtrace ["bt", "backtrace"], "" "the calls in progress";
    Frame ["fr", "frame"], "[N]" "select the Nth of these calls, or show the selected one";
    Up ["up"], "" "select the caller";
    Down ["down"], "" "select the function that it calls";
    Locals ["l", "locals"], "" "the parameters and variables of the selected call";
    Print ["p", "print"], "EXPR" "the value of an expression there; it may assign";
    Watch ["w", "watch"], "[EXPR | rm N]" "show an expression at every stop";
    Breakpoints ["bp"], "[PLACE [if EXPR] | rm N | off N | on N | error [off]]" "list, set or change breakpoints";
    Where ["st"], "" "show where this is";
    Help ["h", "help"], "" "these commands";
    Quit ["q", "quit"], "" "end the run";
};

impl Command {
    /// The command that a line begins with, and what stands behind it.
    pub(super) fn read(line: &str) -> Option<(&'static Self, &str)> {
        let line = line.trim();
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let command = COMMANDS.iter().find(|command| command.names.contains(&name))?;
        Some((command, rest.trim()))
    }
}

/// All commands, a line each, and what places are.
pub(super) fn help() -> String {
    let mut text = String::new();
    for command in COMMANDS {
        let head = format!("{} {}", command.names.join(", "), command.arguments);
        match head.len() {
            ..=20 => text += &format!("{head:<20}  {}\n", command.help),
            _ => text += &format!("{}\n{:20}  {}\n", head.trim_end(), "", command.help),
        }
    }
    text + "A PLACE is a function, LINE, LINE:COLUMN or FILE:LINE. An empty line repeats the last command."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_by_letter_and_name() {
        let read = |line| Command::read(line).map(|(command, rest)| (command.action, rest));
        assert_eq!(read("n"), Some((Action::Next, "")));
        assert_eq!(read(" p  x + 1 "), Some((Action::Print, "x + 1")));
        assert_eq!(read("finish"), Some((Action::Finish, "")));
        assert_eq!(read("x"), None);
        let mut names: Vec<_> = COMMANDS.iter().flat_map(|command| command.names).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
