//! Visible stand-ins for characters that must not reach a terminal.
//!
//! A source text may hold escape sequences, or characters that turn the
//! direction of others around; shown as they are, they would let a program
//! text command the terminal or look like another text.

/// `character`, or one of the same width that shows where it stands.
pub fn visible(character: char) -> char {
    match character {
        '\0'..='\x1F' => char::from_u32(0x2400 + character as u32).unwrap_or('\u{FFFD}'),
        '\x7F' => '\u{2421}',
        _ if character.is_control() || is_invisible(character) => '\u{FFFD}',
        _ => character,
    }
}

/// The same for a whole text, on one line.
pub fn visible_text(text: &str) -> String {
    text.chars().map(visible).collect()
}

/// The same for lines, in which line feeds and tabs are what they are.
pub fn visible_lines(text: &str) -> String {
    let kept = |character| matches!(character, '\n' | '\t');
    text.chars().map(|character| if kept(character) { character } else { visible(character) }).collect()
}

/// Returns whether a character has no shape of its own.
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
