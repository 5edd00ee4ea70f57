//! The header of a table: its columns, and what a formula calls them.

use crate::diagnostic::suggest::nearest;
use crate::syntax::is_identifier;

/// At most this many columns are listed.
const LISTED: usize = 20;

/// The columns of a table.
pub(super) struct TableHeader {
    columns: Vec<TableColumn>,
}

/// A column by its names.
struct TableColumn {
    /// As the header has it.
    name: String,
    /// As a formula has it.
    identifier: String,
}

/// What a name of a formula stands for.
pub(super) enum ColumnMeaning {
    /// The column at a position, from 0.
    Column(usize),
    /// One of two, at these positions.
    Ambiguous(usize, usize),
    Unknown,
}

impl TableHeader {
    /// Creates a header of the fields of a table's first row.
    pub(super) fn new<'f>(fields: impl Iterator<Item = &'f [u8]>) -> Self {
        let column = |field: &[u8]| {
            let name = String::from_utf8_lossy(field).into_owned();
            TableColumn { identifier: identifier(&name), name }
        };
        Self { columns: fields.map(column).collect() }
    }

    /// Returns the name of a column as the header has it.
    pub(super) fn name(&self, column: usize) -> &str {
        &self.columns[column].name
    }

    /// Returns whether a column has this name in the header.
    pub(super) fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.name == name)
    }

    /// Returns what formulas call the columns, each name once.
    pub(super) fn identifiers(&self) -> Vec<&str> {
        let mut identifiers: Vec<&str> =
            self.columns.iter().map(|column| column.identifier.as_str()).collect();
        identifiers.sort_unstable();
        identifiers.dedup();
        // The rare name that is none, whatever is done with it.
        identifiers.retain(|identifier| is_identifier(identifier));
        identifiers
    }

    /// Returns what a name of a formula stands for.
    pub(super) fn meaning(&self, identifier: &str) -> ColumnMeaning {
        let all = self.columns.iter().enumerate();
        let mut called = all.filter(|(_, column)| column.identifier == identifier).map(|(at, _)| at);
        match (called.next(), called.next()) {
            (None, _) => ColumnMeaning::Unknown,
            (Some(column), None) => ColumnMeaning::Column(column),
            (Some(one), Some(other)) => ColumnMeaning::Ambiguous(one, other),
        }
    }

    /// Returns what formulas call a column whose other name is in a text, if there is one.
    pub(super) fn renamed_in(&self, text: &str) -> Option<String> {
        let is_word = |name: &str| name.contains(char::is_alphanumeric);
        let is_apart = |(at, name): (usize, &str)| {
            let (before, after) = (text[..at].chars().next_back(), text[at + name.len()..].chars().next());
            ![before, after].into_iter().flatten().any(unicode_ident::is_xid_continue)
        };
        let is_in = |column: &&TableColumn| {
            column.identifier != column.name
                && is_word(&column.name)
                && text.match_indices(&column.name).any(is_apart)
        };
        let found = self.columns.iter().find(is_in)?;
        Some(format!("the column \"{}\" is `{}` in formulas", found.name, found.identifier))
    }

    /// Returns a sentence that lists the columns, those first that look like a name.
    pub(super) fn list(&self, wanted: Option<&str>) -> String {
        let shown = |column: &TableColumn| match &column.identifier {
            identifier if *identifier == column.name => format!("`{identifier}`"),
            identifier => format!("`{identifier}` for \"{}\"", column.name),
        };
        let mut names: Vec<String> = self.columns.iter().take(LISTED).map(shown).collect();
        match self.columns.len().saturating_sub(LISTED) {
            0 => {}
            more => names.push(format!("and {more} more")),
        }
        let near = wanted
            .and_then(|wanted| nearest(wanted, self.columns.iter().map(|column| column.identifier.as_str())));
        let tip = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        let listed = format!("{tip}the columns are {}", names.join(", "));
        match self.other_delimiter() {
            Some(delimiter) => format!("{listed}; does `--delimiter '{delimiter}'` separate them?"),
            None => listed,
        }
    }

    /// Returns what separates columns elsewhere and is in the name of the only column.
    fn other_delimiter(&self) -> Option<&'static str> {
        let [only] = &*self.columns else { return None };
        let others = [(';', ";"), ('\t', "\\t"), ('|', "|"), (',', ",")];
        others.into_iter().find(|(delimiter, _)| only.name.contains(*delimiter)).map(|(_, shown)| shown)
    }
}

/// Returns what a formula calls a column: its name with `_` for every character that no
/// name has, and before a digit or a keyword.
fn identifier(name: &str) -> String {
    let fitting = |character| if unicode_ident::is_xid_continue(character) { character } else { '_' };
    let mut identifier: String = name.trim().chars().map(fitting).collect();
    if !is_identifier(&identifier) {
        identifier.insert(0, '_');
    }
    identifier
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_a_name_in_formulas() {
        let cases = [
            ("price", "price"),
            (" price ", "price"),
            ("unit price", "unit_price"),
            ("a-b", "a_b"),
            ("2020", "_2020"),
            ("in", "_in"),
            ("", "_"),
            ("größe (cm)", "größe__cm_"),
            ("%", "_"),
            ("a.b", "a_b"),
        ];
        for (name, expected) in cases {
            assert_eq!(identifier(name), expected, "{name}");
            assert!(is_identifier(expected), "{expected}");
        }
    }
}
