//! The commands that show: help, definitions, stages of the compiler, figures.

use super::command::{self, COMMANDS, Trouble};
use super::denotation::Denotation;
use super::session::Session;
use crate::context::{Description, Stage};
use crate::diagnostic::visible::{visible_lines, visible_text};
use crate::{State, Tier};

pub(super) fn help(session: &mut Session<'_>, topic: &str) -> Result<(), Trouble> {
    if topic.is_empty() {
        session.screen.line(&overview());
        return Ok(());
    }
    if let Some(name) = topic.strip_prefix(':') {
        let command = command::find(name)?;
        session.screen.line(&format!("{}\n    {}", head(command).trim_end(), command.help));
        return Ok(());
    }
    let denoted = match Denotation::of(session.context, topic) {
        Err(_) if command::find(topic).is_ok() => return help(session, &format!(":{topic}")),
        denoted => denoted?,
    };
    let text = match &denoted {
        Denotation::Definition(name) => described(session, name),
        Denotation::Host(name) => host_function(session, name),
        Denotation::Variable(name) => Some(variable(session, name)),
    };
    session.screen.line(&text.unwrap_or_default());
    Ok(())
}

fn overview() -> String {
    let width = COMMANDS.iter().map(|command| head(command).len()).filter(|width| *width < 24).max();
    let width = width.unwrap_or_default();
    let mut text = String::from("Type an expression, a definition, or a command:\n");
    for command in COMMANDS {
        let head = head(command);
        if head.len() > width {
            text += &format!("  {head}\n  {:width$}  {}\n", "", command.help);
        } else {
            text += &format!("  {head:width$}  {}\n", command.help);
        }
    }
    text.push_str("The beginning of a name will do. `ans` is the last value.\n");
    text.push_str("An empty line ends an unfinished input, Ctrl-C cancels it.");
    text
}

fn head(command: &command::Command) -> String {
    format!(":{} {}", command.name, command.usage)
}

/// All about a definition.
fn described(session: &Session<'_>, name: &str) -> Option<String> {
    let known = session.context.describe(name)?;
    let mut text = known.signature.clone();
    for line in known.documentation.iter().flat_map(|documentation| documentation.lines()) {
        text += &format!("\n    {}", visible_lines(line));
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

fn variable(session: &Session<'_>, name: &str) -> String {
    let line = Denotation::Variable(name.to_owned()).line(session.context);
    match session.context.users(name).as_slice() {
        [] => line,
        users => format!("{line}\n{:<10} {}", "used by", users.join(", ")),
    }
}

fn host_function(session: &Session<'_>, name: &str) -> Option<String> {
    let signature = session.context.signature(name)?;
    Some(format!("{signature}\n    a function of the host"))
}

/// The state, and once there is code its tier and size.
fn state_of(session: &Session<'_>, known: &Description) -> String {
    let size = || bytes(known.code_bytes);
    match (known.state, known.tier) {
        (State::Materialized, Some(Tier::Quick)) => format!("materialized, quick, {}", size()),
        (State::Materialized, Some(Tier::Full)) => {
            format!("materialized, full {:?}, {}", session.context.engine().level(), size())
        }
        (State::Materialized, None) => "materialized, tape".into(),
        (other, _) => other.text().to_owned(),
    }
}

fn bytes(count: u64) -> String {
    if count == 1 { "1 byte".into() } else { format!("{count} bytes") }
}

pub(super) fn list(session: &mut Session<'_>, _: &str) -> Result<(), Trouble> {
    let all = session.context.definitions();
    if all.is_empty() {
        session.screen.line("nothing is defined");
        return Ok(());
    }
    let width = all.iter().map(|known| known.signature.chars().count()).max().unwrap_or_default();
    for known in &all {
        session.screen.line(&format!("{:width$}  {}", known.signature, state_of(session, known)));
    }
    let ready = all.iter().filter(|known| known.state == State::Materialized);
    let (materialized, size) = (ready.clone().count(), ready.map(|known| known.code_bytes).sum());
    let total = format!("{} defined, {materialized} materialized, {}", all.len(), bytes(size));
    session.screen.line(&session.faint(&total));
    Ok(())
}

pub(super) fn state(session: &mut Session<'_>, name: &str) -> Result<(), Trouble> {
    let denoted = Denotation::of(session.context, name)?;
    let line = denoted.line(session.context);
    let known = match &denoted {
        Denotation::Definition(name) => session.context.describe(name),
        Denotation::Variable(_) | Denotation::Host(_) => None,
    };
    session
        .screen
        .line(&known.map_or(line, |known| format!("{} {}", known.signature, state_of(session, &known))));
    Ok(())
}

pub(super) fn tokens(session: &mut Session<'_>, text: &str) -> Result<(), Trouble> {
    listing(session, Stage::Tokens, text)
}

pub(super) fn ast(session: &mut Session<'_>, text: &str) -> Result<(), Trouble> {
    listing(session, Stage::Ast, text)
}

pub(super) fn tape(session: &mut Session<'_>, text: &str) -> Result<(), Trouble> {
    listing(session, Stage::Tape, text)
}

pub(super) fn ir(session: &mut Session<'_>, text: &str) -> Result<(), Trouble> {
    listing(session, Stage::Ir, text)
}

pub(super) fn asm(session: &mut Session<'_>, text: &str) -> Result<(), Trouble> {
    listing(session, Stage::Assembly, text)
}

fn listing(session: &mut Session<'_>, stage: Stage, text: &str) -> Result<(), Trouble> {
    let text = match Denotation::of(session.context, text) {
        Ok(Denotation::Definition(name)) => name,
        Ok(Denotation::Variable(_) | Denotation::Host(_)) | Err(_) => text.to_owned(),
    };
    let listing = session.context.listing(stage, &text)?;
    session.screen.line(&listing);
    Ok(())
}

pub(super) fn stats(session: &mut Session<'_>, _: &str) -> Result<(), Trouble> {
    let stats = session.context.stats();
    let counts = [
        ("definitions", stats.defined),
        ("  pending", stats.pending),
        ("  materialized", stats.materialized),
        ("redefinitions", stats.redefined),
        ("functions compiled", stats.ir_generated),
        ("expressions compiled", stats.expressions),
        ("objects linked", stats.objects_linked),
        ("bytes of code", stats.code_bytes),
    ];
    for (what, count) in counts {
        session.screen.line(&format!("{what:<21} {count:>10}"));
    }
    let times = [
        ("parse", stats.parse_ms),
        ("compile, all workers", stats.compile_ms),
        ("  waited for", stats.wait_ms),
        ("run", stats.run_ms),
    ];
    for (what, time) in times {
        session.screen.line(&format!("{what:<21} {time:>10.3} ms"));
    }
    Ok(())
}
