//! The table that is read, in its format.

use super::csv::{HeaderRow, NumberColumn, TableError, TableReader, TableRows};
use super::field::write_field;
use super::format::TableFormat;
use super::header::TableHeader;
use super::parquet::ParquetReader;

/// A table that is being read.
pub(super) enum TableInput {
    Csv(Box<TableReader>),
    Parquet(Box<ParquetReader>),
}

impl TableInput {
    /// Returns what errors call the table.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Csv(reader) => reader.name(),
            Self::Parquet(reader) => reader.name(),
        }
    }

    /// Reads the header. It is returned as a row as well, as CSV has it.
    pub(super) fn header(&mut self, delimiter: u8) -> Result<(HeaderRow, TableHeader), TableError> {
        while let Self::Csv(reader) = self {
            match reader.format()? {
                TableFormat::Csv => break,
                // In a pipe, or compressed. Its description is at its end.
                TableFormat::Parquet => {
                    let (file, name) = (reader.spool()?, reader.name().to_owned());
                    *self = Self::Parquet(Box::new(ParquetReader::open(file, name)?));
                }
                TableFormat::Gzip => reader.decompress()?,
                TableFormat::Other(what, remedy) => {
                    return Err(TableError::OtherFormat { file: reader.name().to_owned(), what, remedy });
                }
            }
        }
        match self {
            Self::Csv(reader) => reader.header(|fields| TableHeader::new(fields)),
            Self::Parquet(reader) => {
                let mut bytes = Vec::new();
                for (index, name) in reader.names().enumerate() {
                    if index > 0 {
                        bytes.push(delimiter);
                    }
                    write_field(name, delimiter, &mut bytes);
                }
                let header = TableHeader::new(reader.names().map(str::as_bytes));
                Ok((HeaderRow { bytes, line_end: b"\n" }, header))
            }
        }
    }

    /// Sets which columns are read as numbers, whether a row is no mistake that has something
    /// else there, and what is between the fields of a row if the others are written as text.
    ///
    /// # Errors
    /// If a column holds no numbers.
    pub(super) fn read_numbers(
        &mut self,
        columns: Vec<NumberColumn>,
        skips_others: bool,
        texts: Option<u8>,
    ) -> Result<(), TableError> {
        match self {
            Self::Csv(reader) => {
                reader.read_numbers(columns, skips_others);
                Ok(())
            }
            Self::Parquet(reader) => reader.read_numbers(columns, texts),
        }
    }

    /// Reads the next rows: as many as fit into a piece, or as have arrived.
    pub(super) fn fill(&mut self, rows: &mut TableRows) {
        match self {
            Self::Csv(reader) => reader.fill(rows),
            Self::Parquet(reader) => reader.fill(rows),
        }
    }
}
