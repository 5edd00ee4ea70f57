//! Fields of CSV.

/// Appends a text as a field, in quotation marks if it needs them.
pub(super) fn write_field(text: &str, delimiter: u8, row: &mut Vec<u8>) {
    let is_special = |byte: &u8| *byte == delimiter || matches!(byte, b'"' | b'\n' | b'\r');
    if !text.is_empty() && !text.as_bytes().iter().any(is_special) {
        row.extend_from_slice(text.as_bytes());
        return;
    }
    let quoted = format!("\"{}\"", text.replace('"', "\"\""));
    row.extend_from_slice(quoted.as_bytes());
}
