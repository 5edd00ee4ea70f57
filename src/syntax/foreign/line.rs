//! Lines of a text around an offset.

/// How much of a very long line is looked at, in bytes.
const LONGEST: usize = 4096;

/// Returns the rest of the line from an offset on; of a very long one, the beginning.
pub(super) fn line_from(text: &str, offset: u32) -> &str {
    let rest = &text[offset as usize..];
    rest[..rest.floor_char_boundary(LONGEST)].lines().next().unwrap_or("")
}

/// Returns the line up to an offset; of a very long one, the end.
pub(super) fn line_up_to(text: &str, offset: u32) -> &str {
    let before = &text[..offset as usize];
    let before = &before[before.ceil_char_boundary(before.len().saturating_sub(LONGEST))..];
    &before[before.rfind('\n').map_or(0, |at| at + 1)..]
}
