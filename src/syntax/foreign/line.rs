//! Lines of a text around an offset.

/// Returns the rest of the line from an offset on.
pub(super) fn line_from(text: &str, offset: u32) -> &str {
    text[offset as usize..].lines().next().unwrap_or("")
}

/// Returns the line up to an offset; of a very long one, the end.
pub(super) fn line_up_to(text: &str, offset: u32) -> &str {
    const LONGEST: usize = 4096;
    let first = (offset as usize).saturating_sub(LONGEST);
    let first = (first..).find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let before = &text[first..offset as usize];
    &before[before.rfind('\n').map_or(0, |at| at + 1)..]
}
