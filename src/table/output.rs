//! Where tables go.

use std::io::{self, Write};
use std::path::Path;

/// Where a table is written.
pub(crate) enum TableOutput<'a> {
    /// To a file, which is replaced when all is written.
    File(&'a Path),
    /// To something else, as it comes.
    Stream(Box<dyn Write>),
}

impl TableOutput<'_> {
    /// Returns standard output.
    pub(crate) fn stdout() -> Self {
        Self::Stream(Box::new(io::stdout()))
    }

    /// Returns whether the table is written as Parquet.
    pub(super) fn is_parquet(&self) -> bool {
        self.ends_with("parquet")
    }

    /// Returns whether the table is compressed with gzip.
    pub(super) fn is_gzip(&self) -> bool {
        self.ends_with("gz")
    }

    fn ends_with(&self, ending: &str) -> bool {
        let Self::File(path) = self else { return false };
        path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(ending))
    }
}
