//! Colours for the input, from the program's own lexer.

use super::margin::{CONTINUATION, MARGIN};
use super::palette::{FAINT, KEYWORD, KNOWN, MATCH, MISMATCH, NEW, NUMBER, OPERATOR, PROMPT, UNKNOWN, paint};
use crate::syntax::token::Terminal;
use logos::Logos;
use rustyline::highlight::CmdKind;
use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

/// Colours lines; records whether the line is still being edited.
pub(crate) struct Highlight {
    has_color: bool,
    is_final: Cell<bool>,
    head: CommandHead,
}

/// Returns the beginning of a line that is a command, with its colour, and the
/// offset of the source after it.
pub(crate) type CommandHead = fn(&str) -> (String, usize);

/// A piece of a line and its colour.
type Piece = (Range<usize>, Option<&'static str>);

impl Highlight {
    /// A longer line is not redrawn at every key.
    const LONGEST_WHILE_TYPING: usize = 400;
    /// Several rows are redrawn, up to this length: keys join and split them.
    const LONGEST_ROWS_WHILE_TYPING: usize = 10_000;
    /// A row that is longer on average has no colours.
    const LONGEST_ROW: usize = 4000;

    pub(crate) fn new(has_color: bool, head: CommandHead) -> Self {
        Self { has_color, is_final: Cell::new(false), head }
    }

    pub(crate) fn has_color(&self) -> bool {
        self.has_color
    }

    /// Returns whether a line is redrawn at every key.
    pub(crate) fn is_drawn_while_typing(&self, line: &str) -> bool {
        let longest =
            if line.contains('\n') { Self::LONGEST_ROWS_WHILE_TYPING } else { Self::LONGEST_WHILE_TYPING };
        line.len() <= longest
    }

    /// Records the editor's reason for the next redraw.
    pub(crate) fn note(&self, kind: CmdKind) {
        self.is_final.set(kind == CmdKind::ForcedRefresh);
    }

    /// Returns the line with colours, and with prompts in place of margins;
    /// `is_function` tells which names can be called.
    pub(crate) fn line<'l>(
        &self,
        line: &'l str,
        pos: usize,
        is_function: impl Fn(&str) -> bool,
    ) -> Cow<'l, str> {
        if line.len() / (1 + line.matches('\n').count()) > Self::LONGEST_ROW {
            return Cow::Borrowed(line);
        }
        if !self.has_color {
            return Cow::Owned(line.replace(MARGIN, CONTINUATION));
        }
        let cursor = (!self.is_final.get()).then_some(pos);
        Cow::Owned(
            painted(line, self.head, cursor, is_function).replace(MARGIN, &paint(PROMPT, CONTINUATION)),
        )
    }
}

fn painted(
    line: &str,
    head: CommandHead,
    cursor: Option<usize>,
    is_function: impl Fn(&str) -> bool,
) -> String {
    let (mut painted, code) = head(line);
    let tokens = tokens(&line[code..]);
    let brackets = brackets(&tokens, cursor.and_then(|pos| pos.checked_sub(code)));
    let own: Vec<&str> = defined(&line[code..], &tokens).collect();
    let is_known = |name: &str| own.contains(&name) || is_function(name);
    let pieces = pieces(&line[code..], &tokens, is_known);
    for ((span, color), bracket) in pieces.into_iter().zip(brackets) {
        let text = &line[code..][span];
        match bracket.or(color) {
            // A comment may be followed by a margin, which has a colour of its own.
            Some(color) => text.split_inclusive('\n').for_each(|row| painted.push_str(&in_row(color, row))),
            None => painted.push_str(text),
        }
    }
    painted
}

/// Returns a part of a row in a colour, without the margin before it.
fn in_row(color: &str, row: &str) -> String {
    match row.strip_prefix(MARGIN) {
        Some(rest) => MARGIN.to_owned() + &paint(color, rest),
        None => paint(color, row),
    }
}

/// Returns the tokens of a text and, as `None`, the gaps between them.
fn tokens(text: &str) -> Vec<(Range<usize>, Option<Terminal>)> {
    let mut tokens = Vec::new();
    let mut end = 0;
    for (terminal, span) in Terminal::lexer(text).spanned() {
        if end < span.start {
            tokens.push((end..span.start, None));
        }
        end = span.end;
        tokens.push((span, Some(terminal.unwrap_or(Terminal::Unknown))));
    }
    if end < text.len() {
        tokens.push((end..text.len(), None));
    }
    tokens
}

/// Returns the names that follow `def`.
fn defined<'t>(text: &'t str, tokens: &[(Range<usize>, Option<Terminal>)]) -> impl Iterator<Item = &'t str> {
    let words = tokens.iter().filter(|(_, terminal)| terminal.is_some());
    let names = words.clone().skip(1).zip(words).filter(|(_, before)| before.1 == Some(Terminal::Def));
    names.map(|(name, _)| &text[name.0.clone()])
}

/// Returns every piece with the colour of its kind.
fn pieces(
    text: &str,
    tokens: &[(Range<usize>, Option<Terminal>)],
    is_function: impl Fn(&str) -> bool,
) -> Vec<Piece> {
    let mut before = None;
    let mut pieces = Vec::with_capacity(tokens.len());
    for (index, (span, terminal)) in tokens.iter().enumerate() {
        let color = match terminal {
            None => text[span.clone()].contains('#').then_some(FAINT),
            Some(Terminal::Identifier | Terminal::Qualified) => {
                let rest = tokens[index + 1..].iter().find_map(|(_, terminal)| *terminal);
                let is_call = rest == Some(Terminal::LeftParenthesis);
                match before {
                    Some(Terminal::Def | Terminal::Extern) => Some(NEW),
                    _ if !is_call => None,
                    _ if is_function(&text[span.clone()]) => Some(KNOWN),
                    _ => Some(UNKNOWN),
                }
            }
            Some(Terminal::Number | Terminal::Text) => Some(NUMBER),
            Some(Terminal::Unknown) => Some(UNKNOWN),
            Some(other) => match other.kind() {
                "keyword" => Some(KEYWORD),
                "operator" => Some(OPERATOR),
                _ => None,
            },
        };
        before = terminal.or(before);
        pieces.push((span.clone(), color));
    }
    pieces
}

/// Returns the colours of brackets: the one at the cursor and its partner, and
/// unmatched ones.
fn brackets(tokens: &[(Range<usize>, Option<Terminal>)], cursor: Option<usize>) -> Vec<Option<&'static str>> {
    let mut colors = vec![None; tokens.len()];
    let mut open: Vec<usize> = Vec::new();
    let is_at = |token: usize| {
        let span = &tokens[token].0;
        cursor.is_some_and(|cursor| span.start == cursor || span.end == cursor)
    };
    for (index, (_, terminal)) in tokens.iter().enumerate() {
        match terminal {
            Some(Terminal::LeftParenthesis) => open.push(index),
            Some(Terminal::RightParenthesis) => match open.pop() {
                Some(partner) if is_at(partner) || is_at(index) => {
                    colors[partner] = Some(MATCH);
                    colors[index] = Some(MATCH);
                }
                Some(_) => {}
                None => colors[index] = Some(MISMATCH),
            },
            _ => {}
        }
    }
    colors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_head(_: &str) -> (String, usize) {
        (String::new(), 0)
    }

    fn painted(line: &str, pos: usize) -> String {
        Highlight::new(true, no_head).line(line, pos, |name| name == "known").into_owned()
    }

    fn plain(text: &str) -> String {
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("\x1b[") {
            plain.push_str(before);
            rest = after.split_once('m').map_or("", |(_, rest)| rest);
        }
        plain + rest
    }

    #[test]
    fn colours_change_no_character() {
        for line in
            ["", "1 + known(x) # c", ":time 1+1", ":nope x", "((1)", "1)", "é(\u{1})", ":", "def f(x", "# c"]
        {
            for pos in 0..=line.len() {
                assert_eq!(plain(&painted(line, pos)), line);
            }
        }
    }

    #[test]
    fn prompts_are_drawn_for_margins() {
        let line = format!("f(1, # (\n{MARGIN}2)\n{MARGIN}# )\n{MARGIN}# )");
        let drawn = "f(1, # (\n...> 2)\n...> # )\n...> # )";
        assert_eq!(plain(&painted(&line, 0)), drawn);
        assert_eq!(Highlight::new(false, no_head).line(&line, 0, |_| true), drawn);
    }

    #[test]
    fn names_are_told_apart() {
        assert!(painted("known(1)", 0).starts_with(KNOWN));
        assert!(painted("other(1)", 0).starts_with(UNKNOWN));
        assert!(painted("x", 0).starts_with('x'));
        assert!(painted("def f(x) x", 0).contains(NEW));
        assert_eq!(painted("(1)", 3).matches(MATCH).count(), 2);
        assert!(painted("1)", 0).contains(MISMATCH));
    }
}
