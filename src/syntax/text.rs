//! Texts in quotes: what `print` and `write` may have among their arguments.

/// Why a text is malformed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MalformedText {
    /// It does not end on its line.
    Unclosed,
    /// A `\` with something behind it that has no meaning.
    UnknownEscape,
    /// Its quotes are typographic.
    TypographicQuotes,
}

impl MalformedText {
    /// Returns what is wrong, as a note.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Unclosed => "no `\"` closes it on this line",
            Self::UnknownEscape => "a `\\` without a meaning",
            Self::TypographicQuotes => "typographic quotes",
        }
    }

    /// Returns how to mend it.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Unclosed => "a line feed in a text is written `\\n`",
            Self::TypographicQuotes => "write `\"…\"`",
            Self::UnknownEscape => {
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
    let mut rest = token.strip_prefix('"').ok_or(MalformedText::TypographicQuotes)?.chars();
    while let Some(character) = rest.next() {
        match character {
            '"' => return Ok(text),
            '\\' => text.push(escaped(&mut rest).ok_or(MalformedText::UnknownEscape)?),
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

/// Returns the character that stands behind a `\`.
fn escaped(rest: &mut std::str::Chars<'_>) -> Option<char> {
    Some(match rest.next()? {
        'n' => '\n',
        't' => '\t',
        '"' => '"',
        '\\' => '\\',
        'u' => {
            let (digits, after) = rest.as_str().strip_prefix('{')?.split_once('}')?;
            let is_number =
                (1..=6).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            let code = u32::from_str_radix(digits, 16).ok().filter(|_| is_number)?;
            *rest = after.chars();
            char::from_u32(code)?
        }
        _ => return None,
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
            (r#""\x""#, Err(MalformedText::UnknownEscape)),
            (r#""\u{}""#, Err(MalformedText::UnknownEscape)),
            (r#""\u{d800}""#, Err(MalformedText::UnknownEscape)),
            (r#""\u{+41}""#, Err(MalformedText::UnknownEscape)),
            (r#""\u41""#, Err(MalformedText::UnknownEscape)),
        ];
        for (token, expected) in cases {
            assert_eq!(value(token), expected.map(str::to_owned), "{token}");
        }
    }
}
