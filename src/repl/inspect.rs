//! The commands that show definitions, stages of the compiler, and statistics.

use super::command::CommandError;
use super::denotation::Denotation;
use super::session::ReplSession;
use crate::context::{Description, Stage};
use crate::host::decimal::counted;
use crate::host::decimal::format_number;
use crate::{Mode, State, Tier};

/// Returns the state of a function: whether it is compiled, and if so at which
/// level and how large.
pub(super) fn state_of(session: &ReplSession<'_>, known: &Description) -> String {
    let engine = session.context.engine();
    let size = || bytes(known.code_bytes);
    match (known.state, known.tier) {
        (State::Materialized, Some(Tier::Quick)) => format!("compiled (quick), {}", size()),
        (State::Materialized, Some(Tier::Full)) => {
            format!("compiled (-O{}), {}", engine.level() as u8, size())
        }
        (State::Materialized, None) => "interpreted".into(),
        (State::Materializing, _) => "being compiled".into(),
        (State::Inlined, _) => "inlined".into(),
        (State::NotDefined | State::Pending, _) => waiting(engine.mode()).into(),
    }
}

/// Returns the state of code that has not been needed yet.
fn waiting(mode: Mode) -> &'static str {
    match mode {
        Mode::Lazy | Mode::Eager => "not compiled yet",
        Mode::Interpret | Mode::Tiered => "not called yet",
    }
}

fn bytes(count: u64) -> String {
    if count == 1 { "1 byte".into() } else { format!("{count} bytes") }
}

pub(super) fn list(session: &mut ReplSession<'_>, _: &str) -> Result<(), CommandError> {
    let all = session.context.definitions();
    let mut variables = session.context.variable_names();
    let own = session.own_variable();
    let is_listed = |name: &String| !name.contains("._") && session.context.is_of_import(name);
    variables.retain(|name| Some(name.as_str()) != own && is_listed(name));
    let (constants, variables): (Vec<String>, Vec<String>) =
        variables.into_iter().partition(|name| name.contains('.'));
    let imports = session.context.imports_in_force();
    imports.iter().for_each(|import| session.screen.line(import));
    let declared = session.context.undefined_declarations();
    for head in &declared {
        session.screen.line(&format!("{head}  declared, not yet defined"));
    }
    let is_empty = all.is_empty() && variables.is_empty() && constants.is_empty();
    if is_empty && !(declared.is_empty() && imports.is_empty()) {
        return Ok(());
    }
    if is_empty {
        session.screen.line("nothing is defined");
        return Ok(());
    }
    let width = all.iter().map(|known| known.signature.chars().count()).max().unwrap_or_default();
    for known in &all {
        session.screen.line(&format!("{:width$}  {}", known.signature, state_of(session, known)));
    }
    for name in variables.iter().chain(&constants) {
        let value = session.context.variable(name)?;
        session.screen.line(&format!("{name} = {}", format_number(value)));
    }
    let mut counts = Vec::new();
    if !all.is_empty() {
        let compiled = all.iter().filter(|known| known.tier.is_some()).count();
        let size = bytes(all.iter().map(|known| known.code_bytes).sum());
        counts.push(format!("{} ({compiled} compiled, {size})", counted(all.len(), "definition")));
    }
    if !variables.is_empty() {
        counts.push(counted(variables.len(), "variable"));
    }
    if !constants.is_empty() {
        counts.push(format!("{} of modules", counted(constants.len(), "variable")));
    }
    session.screen.line(&session.faint(&counts.join(", ")));
    Ok(())
}

pub(super) fn state(session: &mut ReplSession<'_>, name: &str) -> Result<(), CommandError> {
    let denoted = Denotation::of(session.context, name)?;
    let line = denoted.line(session.context);
    let known = match &denoted {
        Denotation::Definition(name) => session.context.describe(name),
        Denotation::Variable(_) | Denotation::Host(_) | Denotation::Manual(_) => None,
    };
    session
        .screen
        .line(&known.map_or(line, |known| format!("{} {}", known.signature, state_of(session, &known))));
    Ok(())
}

pub(super) fn tokens(session: &mut ReplSession<'_>, text: &str) -> Result<(), CommandError> {
    listing(session, Stage::Tokens, text)
}

pub(super) fn ast(session: &mut ReplSession<'_>, text: &str) -> Result<(), CommandError> {
    listing(session, Stage::Ast, text)
}

pub(super) fn tape(session: &mut ReplSession<'_>, text: &str) -> Result<(), CommandError> {
    listing(session, Stage::Tape, text)
}

pub(super) fn ir(session: &mut ReplSession<'_>, text: &str) -> Result<(), CommandError> {
    listing(session, Stage::Ir, text)
}

pub(super) fn asm(session: &mut ReplSession<'_>, text: &str) -> Result<(), CommandError> {
    listing(session, Stage::Assembly, text)
}

fn listing(session: &mut ReplSession<'_>, stage: Stage, text: &str) -> Result<(), CommandError> {
    let text = match Denotation::all(session.context, text).as_slice() {
        // Any token has a listing as a token.
        _ if stage == Stage::Tokens && session.context.state(text).is_none() => text.to_owned(),
        [Denotation::Definition(name)] => name.clone(),
        [built_in @ Denotation::Manual(_)] => {
            let line = built_in.line(session.context);
            return Err(CommandError::Text(format!("{line}; only definitions and expressions are listed")));
        }
        [] | [Denotation::Variable(_) | Denotation::Host(_)] => text.to_owned(),
        [_, _, ..] => return Denotation::of(session.context, text).map(drop),
    };
    let listing = session.context.listing(stage, &text)?;
    session.screen.line(&listing);
    Ok(())
}

pub(super) fn stats(session: &mut ReplSession<'_>, _: &str) -> Result<(), CommandError> {
    let stats = session.context.stats();
    let (unused, used) = match session.context.engine().mode() {
        Mode::Lazy | Mode::Eager => ("  not compiled yet", "  compiled"),
        Mode::Interpret | Mode::Tiered => ("  not called yet", "  called"),
    };
    let counts = [
        ("definitions", stats.defined),
        (unused, stats.pending),
        ("  inlined", stats.inlined),
        (used, stats.materialized),
        ("redefinitions", stats.redefined),
        ("functions compiled", stats.ir_generated),
        ("expressions compiled", stats.expressions),
        ("objects linked", stats.objects_linked),
        ("bytes of code", stats.code_bytes),
    ];
    for (what, count) in counts {
        session.screen.line(&format!("{what:<22} {count:>10}"));
    }
    let times = [
        ("parse", stats.parse_ms),
        ("compile, all workers", stats.compile_ms),
        ("wait for workers", stats.wait_ms),
        ("run", stats.run_ms),
    ];
    for (what, time) in times {
        session.screen.line(&format!("{what:<22} {time:>10.3} ms"));
    }
    Ok(())
}
