//! Texts in quotes: what `print` and `write` may have among their arguments.

use crate::source::Span;
use std::str::Chars;

/// Why a text is malformed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MalformedText {
    /// It does not end on its line.
    Unclosed,
    /// A `\` with something after it that has no meaning, at this place in the token.
    UnknownEscape(Span),
    /// A `\u{…}` with a number that no character has, at this place in the token.
    NoCharacter(Span),
    /// Its quotes are typographic.
    TypographicQuotes,
}

impl MalformedText {
    /// Returns what is wrong, as a note.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Unclosed => "no `\"` closes it on this line",
            Self::UnknownEscape(_) => "a `\\` without a meaning",
            Self::NoCharacter(_) => "no character has this number",
            Self::TypographicQuotes => "typographic quotes",
        }
    }

    /// Returns its place in the token, if that is a part of it.
    pub fn place(self) -> Option<Span> {
        match self {
            Self::Unclosed | Self::TypographicQuotes => None,
            Self::UnknownEscape(place) | Self::NoCharacter(place) => Some(place),
        }
    }

    /// Returns how to mend it.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Unclosed => "a line feed in a text is written `\\n`",
            Self::TypographicQuotes => "write `\"…\"`",
            Self::NoCharacter(_) => {
                "characters are `\\u{0}` to `\\u{10ffff}`, but for `\\u{d800}` to `\\u{dfff}`"
            }
            Self::UnknownEscape(_) => {
                "`\\n` is a line feed, `\\t` a tab, `\\\"` a quote, `\\\\` a backslash, `\\u{b5}` the character U+00B5"
            }
        }
    }
}

/// Returns the characters that a token in quotes stands for.
///
/// # Errors
/// If it is malformed.
pub fn value(token: &str) -> Result<String, MalformedText> {
    let mut text = String::new();
    let offset = |rest: &Chars<'_>| token.len() - rest.as_str().len();
    let mut rest = token.strip_prefix('"').ok_or(MalformedText::TypographicQuotes)?.chars();
    while let Some(character) = rest.next() {
        match character {
            '"' => return Ok(text),
            '\\' => {
                let start = offset(&rest) - 1;
                let escaped = escaped(&mut rest);
                text.push(escaped.map_err(|mistake| mistake(Span::new(start, offset(&rest))))?);
            }
            other => text.push(other),
        }
    }
    Err(MalformedText::Unclosed)
}

/// Returns how many bytes after a character belong to a text in typographic quotes, if it is
/// the first of these.
pub fn typographic(quote: &str, after: &str) -> Option<usize> {
    let (ends, begins) = match quote {
        "“" | "„" => (['“', '”'], '„'),
        "‘" | "‚" => (['‘', '’'], '‚'),
        _ => return None,
    };
    let is_quote = |letter: &char| ends.contains(letter) || *letter == begins;
    let (at, last) = after.lines().next()?.char_indices().find(|(_, letter)| is_quote(letter))?;
    (at > 0 && last != begins).then_some(at + last.len_utf8())
}

/// Returns the character that stands after a `\`.
///
/// # Errors
/// What is wrong, at a place.
fn escaped(rest: &mut Chars<'_>) -> Result<char, fn(Span) -> MalformedText> {
    let unknown: fn(Span) -> MalformedText = MalformedText::UnknownEscape;
    Ok(match rest.next().ok_or(unknown)? {
        'n' => '\n',
        't' => '\t',
        '"' => '"',
        '\\' => '\\',
        'u' => {
            let braced = rest.as_str().strip_prefix('{').and_then(|after| after.split_once('}'));
            let (digits, after) = braced.ok_or(unknown)?;
            if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(unknown);
            }
            *rest = after.chars();
            let code = u32::from_str_radix(digits, 16).ok().filter(|_| digits.len() <= 6);
            code.and_then(char::from_u32).ok_or(MalformedText::NoCharacter as fn(Span) -> MalformedText)?
        }
        _ => return Err(unknown),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_stand_for_characters() {
        let cases = [
            (r#""""#, Ok("")),
            (r#""a b""#, Ok("a b")),
            (r#""\"\\\n\t""#, Ok("\"\\\n\t")),
            (r#""\u{b5}\u{1F600}x""#, Ok("µ😀x")),
            (r#""a"#, Err(MalformedText::Unclosed)),
            (r#""a\""#, Err(MalformedText::Unclosed)),
            (r#""\x""#, Err(MalformedText::UnknownEscape(Span::new(1, 3)))),
            (r#""\u{}""#, Err(MalformedText::UnknownEscape(Span::new(1, 3)))),
            (r#""a\u{d800}b""#, Err(MalformedText::NoCharacter(Span::new(2, 10)))),
            (r#""\u{110000}""#, Err(MalformedText::NoCharacter(Span::new(1, 11)))),
            (r#""\u{00000041}""#, Err(MalformedText::NoCharacter(Span::new(1, 13)))),
            (r#""\u{+41}""#, Err(MalformedText::UnknownEscape(Span::new(1, 3)))),
            (r#""\u41""#, Err(MalformedText::UnknownEscape(Span::new(1, 3)))),
        ];
        for (token, expected) in cases {
            assert_eq!(value(token), expected.map(str::to_owned), "{token}");
        }
    }
}
