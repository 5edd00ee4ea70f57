//! The commands that show: help, definitions, stages of the compiler, figures.

use super::command::{self, COMMANDS, Trouble};
use super::session::Session;
use crate::State;
use crate::config::Mode;
use crate::context::{Description, Stage};

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
    let documented = described(session, topic);
    if let Some(text) = documented.or_else(|| host_function(session, topic)) {
        session.screen.line(&text);
    } else if let Ok(value) = session.context.variable(topic) {
        session.screen.line(&format!("{topic} = {}, a variable", crate::output::format_number(value)));
    } else if command::find(topic).is_ok() {
        return help(session, &format!(":{topic}"));
    } else {
        return Err(Trouble::Text(format!("nothing is known of `{topic}`")));
    }
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
    text.push_str("The beginning of a name will do. `ans` is the last value.");
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
        text += &format!("\n    {line}");
    }
    for line in known.text.lines() {
        text += &format!("\n  {}", session.faint(line));
    }
    text += &format!("\n{:<10} {}", "state", state_of(session, &known));
    for (what, names) in [("calls", &known.callees), ("called by", &known.callers)] {
        if !names.is_empty() {
            text += &format!("\n{what:<10} {}", names.join(", "));
        }
    }
    let (source, line) = &known.place;
    if !source.starts_with('<') {
        text += &format!("\n{:<10} {source}:{line}", "from");
    }
    Some(text)
}

fn host_function(session: &Session<'_>, name: &str) -> Option<String> {
    let signature = session.context.signature(name)?;
    Some(format!("{signature}\n    a function of the host"))
}

fn state_of(session: &Session<'_>, known: &Description) -> String {
    match known.state {
        State::Materialized if session.context.engine().mode() == Mode::Interpret => "interpreted".into(),
        State::Materialized => {
            format!("materialized, native {:?}, {}", known.level, bytes(known.code_bytes))
        }
        other => other.text().to_owned(),
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
    match session.context.describe(name) {
        Some(known) => session.screen.line(&format!("{} {}", known.signature, state_of(session, &known))),
        None if session.context.is_function(name) => {
            session.screen.line(&format!("{name} is a function of the host"));
        }
        None => session.screen.line(&format!("{name} is {}", State::NotDefined.text())),
    }
    Ok(())
}

pub(super) fn tokens(session: &mut Session<'_>, text: &str) -> Result<(), Trouble> {
    listing(session, Stage::Tokens, text)
}

pub(super) fn ast(session: &mut Session<'_>, text: &str) -> Result<(), Trouble> {
    listing(session, Stage::Ast, text)
}

pub(super) fn ir(session: &mut Session<'_>, text: &str) -> Result<(), Trouble> {
    listing(session, Stage::Ir, text)
}

pub(super) fn asm(session: &mut Session<'_>, text: &str) -> Result<(), Trouble> {
    listing(session, Stage::Assembly, text)
}

fn listing(session: &mut Session<'_>, stage: Stage, text: &str) -> Result<(), Trouble> {
    let listing = session.context.listing(stage, text)?;
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
    for (what, time) in [("parse", stats.parse_ms), ("compile", stats.compile_ms), ("run", stats.run_ms)] {
        session.screen.line(&format!("{what:<21} {time:>10.3} ms"));
    }
    Ok(())
}
