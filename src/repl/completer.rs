//! Completion of the word before the cursor.

use super::command::{self, ArgumentKind, COMMANDS};
use super::manual::{ManualEntry, TOPICS};
use super::session::ANS;
use crate::context::Context;
use crate::module::standard;
use crate::syntax::token::KEYWORDS;
use rustyline::completion::{FilenameCompleter, Pair};

/// Finds the completions of a word.
pub(super) struct Completion {
    files: FilenameCompleter,
}

impl Completion {
    pub(super) fn new() -> Self {
        Self { files: FilenameCompleter::new() }
    }

    /// Returns where the word before the cursor begins, and its completions.
    pub(super) fn candidates(
        &self,
        context: &Context,
        line: &str,
        pos: usize,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = &line[..pos];
        let start = word_start(before);
        let word = &before[start..];
        let Some((name, rest)) = command_before(before) else {
            let typed = before[..start].trim();
            let found = if typed.starts_with('?') {
                topics(context, word)
            } else if typed == "import" {
                modules(word)
            } else {
                let mut found = words(context, word);
                found.extend(parameters(&before[..start], word));
                found
            };
            return Ok((start, found));
        };
        if rest.is_none() {
            return Ok((before.len() - name.len(), commands(name)));
        }
        let Ok(command) = command::find(name) else { return Ok((pos, Vec::new())) };
        Ok(match command.arguments {
            ArgumentKind::File | ArgumentKind::AnyFile => self.files.complete_path(line, pos)?,
            ArgumentKind::Code if is_in_file(before) => self.files.complete_path(line, pos)?,
            ArgumentKind::Code => (start, words(context, word)),
            ArgumentKind::Topic if before[..start].ends_with(':') => (start, command_names(word)),
            ArgumentKind::Topic => (start, topics(context, word)),
            ArgumentKind::Name | ArgumentKind::AnyName | ArgumentKind::Place => {
                (start, definitions(context, word))
            }
            ArgumentKind::Switch => (start, fixed(word, &["on", "off"])),
            ArgumentKind::Nothing => (pos, Vec::new()),
        })
    }
}

/// Returns the command's name as typed so far, and the text after it if there
/// is a blank.
fn command_before(before: &str) -> Option<(&str, Option<&str>)> {
    let rest = before.trim_start().strip_prefix(':')?;
    match rest.split_once(char::is_whitespace) {
        Some((name, arguments)) => Some((name, Some(arguments))),
        None => Some((rest, None)),
    }
}

/// Returns whether a file is being typed, after an option that takes one.
fn is_in_file(before: &str) -> bool {
    let option = before.split_whitespace().rev().find(|word| word.starts_with("--"));
    option.is_some_and(|option| ["--svg", "--in", "--out"].contains(&option) && !before.ends_with(option))
}

fn word_start(before: &str) -> usize {
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '.');
    before
        .char_indices()
        .rev()
        .take_while(|(_, character)| is_part(*character))
        .last()
        .map_or(before.len(), |(at, _)| at)
}

fn pair(display: impl Into<String>, replacement: impl Into<String>) -> Pair {
    Pair { display: display.into(), replacement: replacement.into() }
}

fn commands(typed: &str) -> Vec<Pair> {
    let matching = COMMANDS.iter().filter(|command| command.name.starts_with(typed));
    let replacement = |command: &command::PromptCommand| match command.arguments {
        ArgumentKind::Nothing
        | ArgumentKind::AnyFile
        | ArgumentKind::Topic
        | ArgumentKind::AnyName
        | ArgumentKind::Place => command.name.to_owned(),
        ArgumentKind::File | ArgumentKind::Name | ArgumentKind::Code | ArgumentKind::Switch => {
            format!("{} ", command.name)
        }
    };
    matching.map(|command| pair(format!(":{}", command.name), replacement(command))).collect()
}

/// Returns the keywords, functions and variables that begin with a word; none
/// for an empty word.
fn words(context: &Context, word: &str) -> Vec<Pair> {
    if word.is_empty() {
        return Vec::new();
    }
    let keywords = KEYWORDS.iter().map(|(_, keyword)| *keyword);
    let mut pairs: Vec<Pair> =
        keywords.filter(|keyword| keyword.starts_with(word)).map(|keyword| pair(keyword, keyword)).collect();
    let variables = context.variable_names().into_iter().filter(|name| name.starts_with(word));
    pairs.extend(variables.filter(|name| name != ANS || word.len() > 1).map(|name| pair(&*name, &*name)));
    pairs.extend(functions(context, word).map(|(name, signature)| {
        let closed = if signature.ends_with("()") { "()" } else { "(" };
        pair(signature, name + closed)
    }));
    pairs
}

/// Returns the modules of the standard library that begin with a word.
fn modules(word: &str) -> Vec<Pair> {
    let names = standard::sources().map(|(name, _)| name).filter(|name| name.starts_with(word));
    names.map(|name| pair(name, name)).collect()
}

/// Returns the commands that begin with a word, without their arguments.
fn command_names(word: &str) -> Vec<Pair> {
    let names = COMMANDS.iter().map(|command| command.name).filter(|name| name.starts_with(word));
    names.map(|name| pair(format!(":{name}"), name)).collect()
}

/// Returns the parameters that begin with a word, of the last definition that begins in a text.
fn parameters(text: &str, word: &str) -> Vec<Pair> {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    let begins = |at: &usize| text[..*at].chars().next_back().is_none_or(|before| !is_letter(before));
    let head = text.match_indices("def ").map(|(at, _)| at).filter(begins).last();
    let Some((head, parameters)) = head.and_then(|at| text[at + 4..].split_once('(')) else {
        return Vec::new();
    };
    if word.is_empty() || head.contains(';') {
        return Vec::new();
    }
    let mut depth = 1;
    let end = parameters.find(|letter| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        depth == 0
    });
    let Some(end) = end else { return Vec::new() };
    let mut names: Vec<&str> =
        parameters[..end].split(|letter| !is_letter(letter)).filter(|name| name.starts_with(word)).collect();
    names.dedup();
    names.into_iter().map(|name| pair(name, name)).collect()
}

fn topics(context: &Context, word: &str) -> Vec<Pair> {
    let mut pairs: Vec<Pair> =
        functions(context, word).map(|(name, signature)| pair(signature, name)).collect();
    pairs.extend(command_names(word));
    let others = TOPICS.iter().map(|(name, _)| *name).chain(KEYWORDS.iter().map(|(_, keyword)| *keyword));
    let others = others.chain(standard::sources().map(|(name, _)| name));
    pairs.extend(others.filter(|name| name.starts_with(word)).map(|name| pair(name, name)));
    pairs
}

fn functions(context: &Context, word: &str) -> impl Iterator<Item = (String, String)> {
    let names = context.function_names().into_iter();
    let matching = names.filter(move |name| name.starts_with(word) && crate::syntax::is_name(name));
    let known = matching.filter_map(|name| Some((name.clone(), context.signature(&name)?)));
    let words = ManualEntry::called_words().filter(move |entry| entry.name.starts_with(word));
    let words = words.filter(|entry| !context.is_function(entry.name));
    known.chain(words.map(|entry| (entry.name.to_owned(), entry.form.to_owned())))
}

fn definitions(context: &Context, word: &str) -> Vec<Pair> {
    let all = context.definitions().into_iter().filter(|known| known.name.starts_with(word));
    let mut pairs: Vec<Pair> = all.map(|known| pair(known.signature, known.name)).collect();
    let variables = context.variable_names().into_iter().filter(|name| name.starts_with(word));
    pairs.extend(variables.map(|name| pair(&*name, &*name)));
    pairs
}

fn fixed(word: &str, texts: &[&str]) -> Vec<Pair> {
    texts.iter().filter(|text| text.starts_with(word)).map(|text| pair(*text, *text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_commands_are_found() {
        assert_eq!(word_start("1 + fib"), 4);
        assert_eq!(word_start("1 + "), 4);
        assert_eq!(word_start("é"), 0);
        assert_eq!(command_before(" :lo"), Some(("lo", None)));
        assert_eq!(command_before(":load a b"), Some(("load", Some("a b"))));
        assert_eq!(command_before("load"), None);
        assert!(is_in_file(":map a --in x.c") && is_in_file(":plot x --svg "));
        assert!(!is_in_file(":map a --in") && !is_in_file(":map a --in x --name n") && !is_in_file(":map a"));
        let completed = |text: &str, word: &str| -> Vec<String> {
            parameters(text, word).into_iter().map(|pair| pair.replacement).collect()
        };
        assert_eq!(completed("def area(width height) width * ", "he"), ["height"]);
        assert_eq!(completed("def ap(first(x) factor) 2 * ", "f"), ["first", "factor"]);
        assert_eq!(completed("def area(width hei", "w"), Vec::<String>::new());
        assert_eq!(completed("undef (width) ", "w"), Vec::<String>::new());
        assert_eq!(command_names("ti").len(), 1);
        assert_eq!(commands("lo").len(), 1);
        assert_eq!(commands("").len(), COMMANDS.len());
    }
}
