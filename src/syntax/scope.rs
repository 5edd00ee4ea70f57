//! Scopes: where the scope of a variable of a `var` ends in the source.
//!
//! The body of a `var` reaches as far right as possible. No token marks its
//! end, and a checked function does not record it; but it ends before a token
//! that closes something opened before the `var`.

use super::token::Terminal;
use logos::Logos;

/// Returns where the scope of a variable of a `var` ends, as an offset into
/// `text`: the source from after its name to the end of the item.
pub fn end(text: &str) -> usize {
    // What later tokens may close, beginning with the `var` itself.
    let mut open = vec![Terminal::In];
    for (token, span) in Terminal::lexer(text).spanned() {
        let is_open = match token.unwrap_or(Terminal::Unknown) {
            Terminal::If => opens(&mut open, Terminal::Then),
            Terminal::For | Terminal::Var => opens(&mut open, Terminal::In),
            Terminal::LeftParenthesis => opens(&mut open, Terminal::RightParenthesis),
            Terminal::Then => closes(&mut open, Terminal::Then) && opens(&mut open, Terminal::Else),
            closer @ (Terminal::Else | Terminal::In | Terminal::RightParenthesis) => {
                closes(&mut open, closer)
            }
            Terminal::Comma => !open.is_empty(),
            Terminal::Semicolon | Terminal::Def | Terminal::Extern | Terminal::Import => false,
            Terminal::Unary
            | Terminal::Binary
            | Terminal::Equals
            | Terminal::Identifier
            | Terminal::Number
            | Terminal::Operator
            | Terminal::Unknown => true,
        };
        if !is_open {
            return span.start;
        }
    }
    text.len()
}

fn opens(open: &mut Vec<Terminal>, closer: Terminal) -> bool {
    open.push(closer);
    true
}

/// Returns whether a token closes the innermost open construct.
fn closes(open: &mut Vec<Terminal>, closer: Terminal) -> bool {
    open.pop() == Some(closer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_reach_as_far_as_possible() {
        // The scope of `v` ends at `|`.
        for text in [
            "var v = 1 in v + 2|",
            "(var v = 1 in v|) + 2",
            "f(var v = 1 in v + g(1, 2)|, 3)",
            "var v = (1, 2), w = f(v, 1) in (v) + w|; 3",
            "if var v = 1 in v| then 2 else 3",
            "if 1 then var v = 1 in if v then 2 else 3| else 4",
            "if 1 then 2 else var v = 1 in v < 2|",
            "for i = var v = 1 in v|, i < 2, 3 in i",
            "for i = 1, i < 2, var v = 3 in v| in i",
            "for i = 1, i < 2 in var v = 3 in for j = v, j < 2, 1 in v # )\n|",
            "var v = var w = 1 in w, x = 2 in v + x|",
            "f((var v = 1 in var w = 2 in v + w|), 3)",
        ] {
            let start = text.find("v =").expect("there is a `v`") + 1;
            let expected = text.find('|').expect("there is an end") - start;
            let rest = text[start..].replacen('|', "", 1);
            // Blanks between tokens belong to either side.
            assert_eq!(rest[..end(&rest)].trim_end(), rest[..expected].trim_end(), "{text}");
        }
    }
}
