//! Visible stand-ins for characters that must not reach a terminal.
//!
//! A source may contain escape sequences, or characters that reverse the
//! direction of others; shown as they are, they would let a source control the
//! terminal or look like another.

/// Returns `character`, or a visible stand-in of the same width.
pub fn visible(character: char) -> char {
    match character {
        '\0'..='\x1F' => char::from_u32(0x2400 + character as u32).unwrap_or('\u{FFFD}'),
        '\x7F' => '\u{2421}',
        _ if character.is_control() || is_invisible(character) => '\u{FFFD}',
        _ => character,
    }
}

/// Replaces the invisible characters of a text that is shown on one line.
pub fn visible_text(text: &str) -> String {
    text.chars().map(visible).collect()
}

/// Replaces the invisible characters of a text, except line feeds and tabs.
pub fn visible_lines(text: &str) -> String {
    let kept = |character| matches!(character, '\n' | '\t');
    text.chars().map(|character| if kept(character) { character } else { visible(character) }).collect()
}

/// Returns whether a character is invisible or controls a terminal.
pub fn is_invisible(character: char) -> bool {
    matches!(character, '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{E000}'..='\u{F8FF}'
        | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_moves_the_cursor_stays() {
        assert_eq!(visible_text("a\x1b[2J\r\n\t\x7f"), "a␛[2J␍␊␉␡");
        assert_eq!(visible_text("\u{9b}x\u{202e}y"), "\u{fffd}x\u{fffd}y");
        assert_eq!(visible_text("été ∑ 中"), "été ∑ 中");
        assert_eq!(visible_lines("a\x1b\n\tb\r\n"), "a␛\n\tb␍\n");
    }
}
