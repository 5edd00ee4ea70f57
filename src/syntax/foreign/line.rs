//! Lines of a text around an offset.

/// Returns the rest of the line from an offset on.
pub(super) fn line_from(text: &str, offset: u32) -> &str {
    text[offset as usize..].lines().next().unwrap_or("")
}

/// Returns the line up to an offset.
pub(super) fn line_up_to(text: &str, offset: u32) -> &str {
    let before = &text[..offset as usize];
    &before[before.rfind('\n').map_or(0, |at| at + 1)..]
}
