//! What rows of an input begin with: the prompts, and the margin of
//! continuation rows.
//!
//! An input of several lines is one buffer of the line editor, which draws a
//! prompt before the first row only. So every other row begins with a margin of
//! blanks, as wide as a prompt, and the highlighter draws the continuation
//! prompt in their place. The margin ends with a blank that programs do not
//! contain, so that the keys can find it. Nothing outside the editor sees it.

pub(crate) const PROMPT: &str = "kal> ";
pub(crate) const CONTINUATION: &str = "...> ";

/// The last character of a margin: an em space, one column wide.
pub(crate) const EDGE: char = '\u{2003}';

/// The margin of a continuation row.
pub(crate) const MARGIN: &str = "    \u{2003}";

/// Returns a text as the editor's buffer: with margins.
pub(crate) fn added(text: &str) -> String {
    text.replace('\n', &format!("\n{MARGIN}"))
}

/// Returns the text of a buffer without its margins, wherever editing has moved
/// them.
pub(crate) fn removed(buffer: &str) -> String {
    buffer.replace(&format!("\n{MARGIN}"), "\n").replace(MARGIN, " ")
}

/// Returns the part of the cursor's row before the cursor.
pub(crate) fn before_cursor(buffer: &str, pos: usize) -> &str {
    let start = buffer[..pos].rfind('\n').map_or(0, |at| at + 1);
    &buffer[start..pos]
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn margins_are_as_wide_as_prompts_and_come_off_again() {
        assert_eq!(MARGIN.width(), CONTINUATION.width());
        assert!(MARGIN.ends_with(EDGE));
        let text = "def f(x)\n  x +\n\n1";
        assert_eq!(removed(&added(text)), text);
        // It was joined to the row above.
        assert_eq!(removed(&format!("a{MARGIN}b")), "a b");
    }

    #[test]
    fn rows_end_at_the_cursor() {
        assert_eq!(before_cursor("ab\ncd", 4), "c");
        assert_eq!(before_cursor("ab\ncd", 1), "a");
        assert_eq!(before_cursor("ab\n", 3), "");
    }
}
