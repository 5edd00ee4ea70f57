//! `:edit`: a definition, or the last input, changed in the user's editor.
//!
//! An edited text that fails is kept, so that the next `:edit` opens it again.

use super::command::CommandError;
use super::denotation::Denotation;
use super::manual::{ManualEntry, ManualKind};
use super::session::{FailedEdit, ReplSession};
use crate::context::Context;
use crate::output::literal;
use crate::source::Source;
use crate::syntax::{is_identifier, is_operator_in};
use std::path::Path;
use std::process::Command;

pub(super) fn edit(session: &mut ReplSession<'_>, name: &str) -> Result<(), CommandError> {
    let before = offered(session, name)?;
    let draft = session.draft.take().filter(|draft| draft.name == name && draft.before == before);
    let text = draft.map_or_else(|| before.clone(), |draft| draft.text);
    let after = in_editor(&text);
    let is_changed = after.as_ref().is_ok_and(|after| *after != before);
    if after.is_err() {
        session.draft = Some(FailedEdit { name: name.to_owned(), before: before.clone(), text });
    }
    let after = after?;
    if !is_changed {
        session.screen.line("unchanged");
        return Ok(());
    }
    if !session.run_checked(&Source::new("<edit>", after.as_str())) {
        let before = offered(session, name)?;
        session.draft = Some(FailedEdit { name: name.to_owned(), before, text: after });
        session.screen.line(&format!("{} opens this text again", format!(":edit {name}").trim_end()));
    }
    Ok(())
}

/// Returns the text to edit.
fn offered(session: &ReplSession<'_>, name: &str) -> Result<String, CommandError> {
    match (name, &session.last_input) {
        ("", Some(input)) => Ok(input.trim_end().to_owned() + "\n"),
        ("", None) => {
            Err(CommandError::Text("nothing has been typed yet; `:edit NAME` edits a definition".into()))
        }
        _ => editable(session.context, name),
    }
}

/// Returns the source that defines what a name denotes, or the beginning of a
/// definition.
fn editable(context: &Context, name: &str) -> Result<String, CommandError> {
    match Denotation::all(context, name).as_slice() {
        [Denotation::Definition(name)] => Ok(definition(context, name).unwrap_or_default()),
        [Denotation::Variable(name)] => {
            let value = context.variable(name).map(literal);
            Ok(format!("var {name} = {}\n", value.unwrap_or_default()))
        }
        [Denotation::Host(name)] => {
            let signature = context.signature(name).unwrap_or_else(|| format!("{name}()"));
            Ok(format!("def {signature} \n"))
        }
        [Denotation::Manual(entry)] => replacement(entry),
        [] => beginning(context, name),
        [_, _, ..] => Denotation::of(context, name).map(|_| String::new()),
    }
}

/// Returns a definition with its documentation.
fn definition(context: &Context, name: &str) -> Option<String> {
    let known = context.describe(name)?;
    let lines = known.documentation.iter().flat_map(|documentation| documentation.lines());
    let documentation: String = lines.map(|line| format!("## {line}\n")).collect();
    Some(documentation + &known.text + "\n")
}

/// Returns the beginning of a definition that replaces something built in.
fn replacement(entry: &ManualEntry) -> Result<String, CommandError> {
    let assigns = entry.kind == ManualKind::Binary && entry.name == "=";
    match entry.head().filter(|_| !assigns) {
        Some(head) => Ok(head + "\n"),
        None => Err(CommandError::Text(format!("`{}` cannot be defined", entry.name))),
    }
}

/// Returns the beginning of a definition of something undefined.
fn beginning(context: &Context, name: &str) -> Result<String, CommandError> {
    let is_operator = |text: &str| is_operator_in(text, context.engine().names());
    let operator = |kind: &str| name.strip_prefix(kind).map(str::trim).filter(|text| is_operator(text));
    let head = name.split('(').next().unwrap_or_default().trim_end();
    if let Some(operator) = operator("unary") {
        Ok(format!("def unary {operator} (x) \n"))
    } else if let Some(operator) = operator("binary") {
        Ok(format!("def binary {operator} 30 (x y) \n"))
    } else if is_operator(name) {
        let choice = format!("`:edit unary {name}` or `:edit binary {name}` begins a definition");
        Err(CommandError::Text(format!("`{name}` is not defined; {choice}")))
    } else if is_identifier(name) {
        Ok(format!("def {name}()\n"))
    } else if is_identifier(head) && name.ends_with(')') {
        match context.describe(head) {
            Some(_) => Ok(definition(context, head).unwrap_or_default()),
            None => Ok(format!("def {name} \n")),
        }
    } else {
        Err(CommandError::Text(format!("`{name}` is not a name")))
    }
}

/// Opens a text in the user's editor; returns the edited text.
pub(super) fn in_editor(text: &str) -> Result<String, CommandError> {
    let path = std::env::temp_dir().join(format!("kal-edit-{}.kal", std::process::id()));
    let result = edit_file(&path, text);
    let _ = std::fs::remove_file(&path);
    result
}

fn edit_file(path: &Path, text: &str) -> Result<String, CommandError> {
    let wrong = |error| CommandError::File { path: path.to_owned(), error };
    let variable = |name| std::env::var(name).ok().filter(|editor: &String| !editor.trim().is_empty());
    let editor = variable("VISUAL").or_else(|| variable("EDITOR")).unwrap_or_else(|| "vi".into());
    std::fs::write(path, text).map_err(wrong)?;
    // As in git, the variable is a shell command, and the file its argument.
    let status = Command::new("sh").args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(path).status();
    match status {
        Ok(status) if status.success() => std::fs::read_to_string(path).map_err(wrong),
        Ok(status) => Err(CommandError::Text(format!("the editor `{editor}` failed: {status}"))),
        Err(error) => Err(CommandError::Text(format!("the editor `{editor}` cannot be started: {error}"))),
    }
}
