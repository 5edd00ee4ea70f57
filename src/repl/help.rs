//! `:help` and `?`: help about a name, and the lists.

use super::command::{self, COMMANDS, CommandError, PromptCommand};
use super::denotation::{Denotation, public_names};
use super::inspect::state_of;
use super::manual::TOPICS;
use super::session::ReplSession;
use crate::diagnostic::ErrorCode;
use crate::diagnostic::suggest::nearest;
use crate::diagnostic::visible::{visible_lines, visible_text};
use crate::host::library::LibraryEntry;
use crate::module::standard;

pub(super) fn help(session: &mut ReplSession<'_>, topic: &str) -> Result<(), CommandError> {
    let text = match topic.strip_prefix(':') {
        Some(name) if !name.is_empty() => of_command(command::find(name)?, session.width),
        _ if topic.is_empty() => overview(session.width),
        _ => about(session, topic)?,
    };
    session.screen.line(&text);
    Ok(())
}

/// Returns the help about a name: as the program uses it, else as a topic or a
/// command.
fn about(session: &ReplSession<'_>, topic: &str) -> Result<String, CommandError> {
    let denoted = Denotation::all(session.context, topic);
    let mut texts: Vec<String> = denoted.iter().map(|denoted| described(session, denoted)).collect();
    texts.extend(module(session, topic));
    if !texts.is_empty() {
        if COMMANDS.iter().any(|command| command.name == topic) {
            texts.push(format!("There is a command of that name, too: `:help :{topic}`"));
        }
        return Ok(texts.join("\n"));
    }
    if let Some((_, text)) = TOPICS.iter().find(|(name, _)| *name == topic) {
        return Ok(text());
    }
    if let Some(code) = ErrorCode::ALL.iter().find(|code| code.to_string().eq_ignore_ascii_case(topic)) {
        let lines: Vec<&str> = code.meaning().lines().map(str::trim).collect();
        return Ok(format!("{code}\n    {}", lines.join("\n    ")));
    }
    match command::find(topic) {
        Ok(command) => Ok(of_command(command, session.width)),
        Err(_) => Err(unknown(session, topic)),
    }
}

fn unknown(session: &ReplSession<'_>, topic: &str) -> CommandError {
    if let Some(help) = session.context.import_help(topic) {
        return CommandError::Text(format!("`{topic}` is not defined: {help}"));
    }
    let mut names = public_names(session.context);
    names.extend(COMMANDS.iter().map(|command| command.name.to_owned()));
    names.extend(TOPICS.iter().map(|(name, _)| (*name).to_owned()));
    names.extend(standard::sources().map(|(name, _)| name.to_owned()));
    CommandError::Text(match nearest(topic, names.iter().map(String::as_str)) {
        Some(near) => format!("`{topic}` is not defined; did you mean `{near}`?"),
        None => format!("`{topic}` is not defined"),
    })
}

fn described(session: &ReplSession<'_>, denoted: &Denotation) -> String {
    match denoted {
        Denotation::Definition(name) => definition(session, name).unwrap_or_default(),
        Denotation::Host(name) => host_function(session, name),
        Denotation::Variable(name) => variable(session, name),
        Denotation::Manual(entry) => wrapped_lines(&entry.text(), session.width),
    }
}

/// Returns the help about a definition.
fn definition(session: &ReplSession<'_>, name: &str) -> Option<String> {
    let known = session.context.describe(name)?;
    let mut text = known.signature.clone();
    for line in known.documentation.iter().flat_map(|documentation| documentation.lines()) {
        text += format!("\n    {}", visible_lines(line)).trim_end_matches(' ');
    }
    for line in known.text.lines() {
        text += &format!("\n  {}", session.faint(&visible_lines(line)));
    }
    text += &format!("\n{:<10} {}", "state", state_of(session, &known));
    for (what, names) in [("calls", &known.callees), ("called by", &known.callers)] {
        if !names.is_empty() {
            text += &format!("\n{what:<10} {}", names.join(", "));
        }
    }
    let (source, line) = &known.place;
    if !source.starts_with('<') {
        text += &format!("\n{:<10} {}:{line}", "from", visible_text(source));
    }
    Some(text)
}

/// Returns the help about a module: what it offers, one line for each.
fn module(session: &ReplSession<'_>, name: &str) -> Option<String> {
    let known = session.context.module_contents(name)?;
    let mut text = format!("import {name}");
    if !known.about.is_empty() {
        text += &format!("\n    {}", wrapped(&visible_text(&known.about), 4, session.width));
    }
    let widths = known.members.iter().map(|(head, _)| head.chars().count());
    let column = widths.filter(|width| *width < 30).max().unwrap_or_default() + 4;
    for (head, summary) in &known.members {
        let summary = visible_text(summary.strip_prefix("Returns ").unwrap_or(summary));
        text += &format!("\n{}", row(&visible_text(head), &summary, column, session.width).trim_end());
    }
    Some(text)
}

fn variable(session: &ReplSession<'_>, name: &str) -> String {
    let mut line = Denotation::Variable(name.to_owned()).line(session.context);
    for note in session.context.variable_documentation(name).into_iter().flat_map(str::lines) {
        line += format!("\n    {}", visible_lines(note)).trim_end_matches(' ');
    }
    match session.context.users(name).as_slice() {
        [] => line,
        users => format!("{line}\n{:<10} {}", "used by", users.join(", ")),
    }
}

fn host_function(session: &ReplSession<'_>, name: &str) -> String {
    let signature = session.context.signature(name).unwrap_or_else(|| name.to_owned());
    let summary = LibraryEntry::of(name).map_or("built in", |entry| entry.summary);
    format!("{signature}\n    {summary}")
}

fn of_command(command: &PromptCommand, width: usize) -> String {
    let short: Vec<String> = command.short().map(|short| format!(":{short}")).collect();
    let short = if short.is_empty() { String::new() } else { format!("; short: {}", short.join(", ")) };
    format!("{}\n    {}", head(command).trim_end(), wrapped(&format!("{}{short}", command.help), 4, width))
}

fn head(command: &PromptCommand) -> String {
    format!(":{} {}", command.name, command.usage)
}

/// Returns all commands, one a line.
fn overview(width: usize) -> String {
    let indent =
        COMMANDS.iter().map(|command| head(command).chars().count()).filter(|width| *width < 24).max();
    let indent = indent.unwrap_or_default() + 4;
    let mut text = wrapped("Type an expression, a definition, or a command:", 0, width) + "\n";
    for command in COMMANDS {
        text += &(row(&head(command), command.help, indent, width) + "\n");
    }
    text += &wrapped(
        "Names may be shortened, as :li for :list. ?NAME explains NAME: ?sin, ?+, ?for, ?E0301.",
        0,
        width,
    );
    let topics: Vec<String> = TOPICS.iter().map(|(name, _)| format!(":help {name}")).collect();
    let more = [
        format!("Lists: {}.", topics.join(", ")),
        "`ans` is the last value. An empty line ends an unfinished input, Ctrl-C cancels it.".into(),
    ];
    more.iter().fold(text, |text, line| text + "\n" + &wrapped(line, 0, width))
}

/// Returns a head with the help for it at a column, below the head if that is too long.
fn row(head: &str, help: &str, column: usize, width: usize) -> String {
    let is_long = head.chars().count() + 4 > column;
    let gap = if is_long { format!("\n{:column$}", "") } else { String::new() };
    let room = if is_long { 0 } else { column - 2 };
    format!("  {head:room$}{gap}{}", wrapped(help, column, width))
}

/// Breaks lines that are too wide between their words, with their indentation.
fn wrapped_lines(text: &str, width: usize) -> String {
    let line = |line: &str| {
        let words = line.trim_start();
        let indent = line.len() - words.len();
        format!("{:indent$}{}", "", wrapped(words, indent, width))
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Breaks a text into lines between its words; lines after the first are
/// indented.
fn wrapped(text: &str, indent: usize, width: usize) -> String {
    let room = width.saturating_sub(indent).max(20);
    let (mut lines, mut column) = (String::new(), 0);
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > room {
            lines += &format!("\n{:indent$}", "");
            column = 0;
        } else if column > 0 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
    }
    lines
}

/// Prints the names of all commands, in columns.
pub(super) fn names(session: &ReplSession<'_>) {
    let widest = COMMANDS.iter().map(|command| command.name.len()).max().unwrap_or_default() + 3;
    let columns = (session.width / widest).max(1);
    let line = |row: &[PromptCommand]| {
        let names: String =
            row.iter().map(|command| format!("{:widest$}", format!(":{}", command.name))).collect();
        names.trim_end().to_owned()
    };
    COMMANDS.chunks(columns).for_each(|row| session.screen.line(&line(row)));
    session.screen.line(&session.faint(":help explains them"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_breaks_between_words() {
        assert_eq!(wrapped("one two three four", 2, 22), "one two three four");
        assert_eq!(wrapped("aaaa bbbb cccc dddd eeee ffff", 2, 22), "aaaa bbbb cccc dddd\n  eeee ffff");
        for width in [40, 60, 80, 200] {
            let text = overview(width);
            let usual = |line: &&str| !line.starts_with("  :");
            let widest = text.lines().filter(usual).map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{width}: {text}");
        }
    }
}
