//! Typed or pasted input, and whether it is complete.

use super::{command, denotation};
use crate::context::Context;
use crate::engine::Engine;
use crate::source::Source;
use crate::syntax::operator::Operators;
use crate::terminal::margin::{CONTINUATION, PROMPT};

/// Returns the source or command in the input: prompts and answers of pasted
/// transcripts are removed.
pub(super) fn without_prompts(text: &str) -> String {
    if !text.trim_start().starts_with(PROMPT.trim_end()) {
        return text.to_owned();
    }
    let mut inputs = Vec::new();
    for line in text.lines().map(str::trim_start) {
        let input = [PROMPT, CONTINUATION].iter().find_map(|prompt| {
            let rest = line.strip_prefix(prompt.trim_end())?;
            Some(rest.strip_prefix(' ').unwrap_or(rest))
        });
        inputs.extend(input);
    }
    inputs.join("\n")
}

/// What is needed to decide whether an input is complete, without the session.
pub(super) struct Grammar {
    engine: Engine,
    operators: Operators,
}

impl Grammar {
    /// Creates the grammar of a context as it is now.
    pub(super) fn of(context: &Context) -> Self {
        Self { engine: context.engine().clone(), operators: context.operators().clone() }
    }

    /// Returns whether more input is needed; see [`is_incomplete`].
    pub(super) fn is_incomplete(&self, text: &str) -> bool {
        is_unfinished(text, |source| {
            crate::syntax::parser::is_incomplete(source, self.engine.names(), &self.operators)
        })
    }
}

/// Returns whether more input is needed before the text can be run: the parser
/// decides that, and documentation comments wait for their definition.
pub(super) fn is_incomplete(context: &Context, text: &str) -> bool {
    is_unfinished(text, |source| context.is_incomplete(source))
}

fn is_unfinished(text: &str, is_incomplete: impl Fn(&Source) -> bool) -> bool {
    match command::split(text) {
        Some((name, arguments)) => {
            command::find(name).is_ok_and(command::PromptCommand::takes_code)
                && arguments.contains(|character: char| character.is_alphanumeric() || character == '(')
                && !denotation::is_operator_name(arguments)
                && is_incomplete(&Source::new("", arguments))
        }
        None => {
            is_incomplete(&Source::new("", text))
                || (text.trim_start().starts_with("##") && text.lines().all(is_comment))
        }
    }
}

/// Returns whether the last row of several is empty: unfinished input is then
/// answered as it is.
pub(super) fn ends_with_empty_row(text: &str) -> bool {
    text.rsplit_once('\n').is_some_and(|(_, row)| row.trim().is_empty())
}

fn is_comment(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// Splits a pasted text into commands and sources. A command begins on a line
/// of its own where no source is unfinished.
pub(super) fn parts(context: &Context, text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for line in text.lines() {
        let is_command = command::split(line).is_some();
        match parts.last_mut() {
            Some(last) if goes_on(context, last, is_command) => {
                last.push('\n');
                last.push_str(line);
            }
            Some(_) | None => parts.push(line.to_owned()),
        }
    }
    parts
}

/// Returns whether the line after `part` belongs to it.
fn goes_on(context: &Context, part: &str, line_is_command: bool) -> bool {
    let part_is_program = command::split(part).is_none();
    (part_is_program && !line_is_command) || is_incomplete(context, part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transcripts_lose_prompts_and_answers() {
        let transcript = "kal> def f(x)\n...>   x + 1\nf(x) defined\nkal> f(1)\n2\nkal> ";
        assert_eq!(without_prompts(transcript), "def f(x)\n  x + 1\nf(1)\n");
        assert_eq!(without_prompts("1 +\n2"), "1 +\n2");
    }
}
