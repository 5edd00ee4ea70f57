//! The indentation of a new row of an unfinished input.

use crate::syntax::token::Terminal;
use logos::Logos;

/// Blanks for each level.
const STEP: usize = 2;

/// Returns the indentation of the row after `text`, in blanks: that of its last
/// row, or more after the beginning of an item or of an indented part.
pub(super) fn after(text: &str) -> usize {
    let (before, row) = text.rsplit_once('\n').unwrap_or(("", text));
    let own = row.len() - row.trim_start_matches(' ').len();
    let terminals: Vec<Terminal> = Terminal::lexer(row).flatten().collect();
    let begins_item = !terminals.is_empty() && Terminal::lexer(before).next().is_none();
    if begins_item || opens(&terminals) { own + STEP } else { own }
}

/// Returns whether a row begins something that the next row is inside of.
fn opens(terminals: &[Terminal]) -> bool {
    let count = |wanted| terminals.iter().filter(|terminal| **terminal == wanted).count();
    matches!(terminals.last(), Some(Terminal::Then | Terminal::Else | Terminal::In))
        || count(Terminal::LeftParenthesis) > count(Terminal::RightParenthesis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_indented_below_what_they_belong_to() {
        let cases = [
            ("def f(x)", 2),
            ("1 +", 2),
            ("## The identity.", 0),
            ("## The identity.\ndef f(x)", 2),
            ("def f(x)\n  if x then", 4),
            ("def f(x)\n  x +", 2),
            ("def f(x)\n  g(x,", 4),
            ("def f(x)\n  g(x) +", 2),
            ("", 0),
        ];
        for (text, blanks) in cases {
            assert_eq!(after(text), blanks, "{text}");
        }
    }
}
