//! Tables in Parquet.
//!
//! Only the columns that a formula uses are decoded. Where a table in Parquet is written, the
//! others are copied as they are, page by page, in the same row groups: so they keep their
//! types, and a column may hold anything. What is in memory is the results of a row group.

mod file;
mod text;
mod values;

use super::csv::{NumberColumn, TableError, TableRows};
use super::format::PARQUET;
use super::results::RowResults;
use crate::terminal::replacement::Replacement;

use file::SharedFile;
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{DataType, DoubleType};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{FileMetaData, ParquetMetaData};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use std::fs::File;
use std::io::{self, BufWriter};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use text::TextColumns;
use values::{half, values_of};

/// The rows that are read at once.
const PIECE: usize = 1 << 16;

/// The same where all columns are written as text.
const TEXT_PIECE: usize = 1 << 12;

/// The rows of a row group where there are none to keep.
const GROUP: usize = 1 << 20;

/// The schema of Arrow that writers add says how many columns there are, and others.
const ARROW_SCHEMA: &str = "ARROW:schema";

/// How values of a column are numbers.
#[derive(Clone, Copy)]
enum NumberKind {
    Signed,
    Unsigned,
    /// An integer, divided by as many tens.
    Decimal(i32),
    /// A floating-point number of 16 bits.
    Half,
}

impl NumberKind {
    /// Returns how values of a column are numbers.
    ///
    /// # Errors
    /// What they are instead.
    fn of(column: &Type) -> Result<Self, &'static str> {
        let info = column.get_basic_info();
        if !column.is_primitive() || info.repetition() == Repetition::REPEATED {
            return Err("lists or structures");
        }
        let physical = column.get_physical_type();
        match (info.logical_type_ref(), info.converted_type()) {
            (Some(LogicalType::Decimal(decimal)), _) => return Ok(Self::Decimal(decimal.scale)),
            (None, ConvertedType::DECIMAL) => return Ok(Self::Decimal(column.get_scale())),
            (Some(LogicalType::Float16), _) => return Ok(Self::Half),
            (Some(LogicalType::Integer(integer)), _) if !integer.is_signed => return Ok(Self::Unsigned),
            (Some(LogicalType::Date | LogicalType::Time(_) | LogicalType::Timestamp(_)), _)
            | (
                None,
                ConvertedType::DATE
                | ConvertedType::TIME_MILLIS
                | ConvertedType::TIME_MICROS
                | ConvertedType::TIMESTAMP_MILLIS
                | ConvertedType::TIMESTAMP_MICROS
                | ConvertedType::INTERVAL,
            ) => return Err("dates or times"),
            (
                None,
                ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64,
            ) => return Ok(Self::Unsigned),
            (Some(_) | None, _) => {}
        }
        match physical {
            Physical::BOOLEAN | Physical::INT32 | Physical::INT64 | Physical::FLOAT | Physical::DOUBLE => {
                Ok(Self::Signed)
            }
            Physical::INT96 => Err("dates or times"),
            Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY => Err("texts"),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "the nearest double is meant")]
    fn of_integer(self, value: i64, unsigned: u64) -> f64 {
        match self {
            Self::Signed | Self::Half => value as f64,
            Self::Unsigned => unsigned as f64,
            Self::Decimal(scale) => decimal(value.into(), scale),
        }
    }

    /// Returns the number that some bytes are; `None` if there are too many for one.
    fn of_bytes(self, bytes: &[u8]) -> Option<f64> {
        if let (Self::Half, &[low, high]) = (self, bytes) {
            return Some(half(u16::from_le_bytes([low, high])));
        }
        let Self::Decimal(scale) = self else { return None };
        let sign = bytes.first().map_or(0, |first| if first >> 7 == 1 { 0xff } else { 0 });
        let mut all = [sign; 16];
        all.get_mut(16_usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
        Some(decimal(i128::from_be_bytes(all), scale))
    }
}

/// Returns the double nearest to an integer that is divided by as many tens.
#[expect(clippy::cast_precision_loss, reason = "it is exact where it matters")]
fn decimal(integer: i128, scale: i32) -> f64 {
    // Both are exact, so the quotient is the nearest double.
    if integer.unsigned_abs() <= 1 << 53 && (0..=22).contains(&scale) {
        let tens = (0..scale).fold(1.0, |power: f64, _| power * 10.0);
        return integer as f64 / tens;
    }
    format!("{integer}e{}", -i64::from(scale)).parse().unwrap_or(f64::NAN)
}

/// A column that is read as numbers.
struct NumberLeaf {
    /// Its number among those that are stored.
    leaf: usize,
    kind: NumberKind,
    is_optional: bool,
    name: String,
}

/// A table that is being read.
pub(super) struct ParquetReader {
    file: SharedFile,
    name: String,
    reader: SerializedFileReader<SharedFile>,
    numbers: Vec<NumberLeaf>,
    /// All columns, if they are written as text.
    texts: Option<TextColumns>,
    /// The row group that is read, the columns of its numbers, and its rows that are left.
    group: usize,
    columns: Vec<ColumnReader>,
    left: usize,
    /// The number of the next row, from 1.
    row: u64,
}

/// Returns whether a file begins as tables in Parquet do; a pipe does not.
pub(super) fn is_parquet(file: &File) -> bool {
    let mut magic = [0; 4];
    file.read_exact_at(&mut magic, 0).is_ok() && &magic == PARQUET
}

impl ParquetReader {
    /// Opens a table, which errors call by that name.
    ///
    /// # Errors
    /// If it is none that can be read.
    pub(super) fn open(file: File, name: String) -> Result<Self, TableError> {
        let file = SharedFile(Arc::new(file));
        match SerializedFileReader::new(file.clone()) {
            Ok(reader) => {
                let (numbers, columns) = (Vec::new(), Vec::new());
                Ok(Self { file, name, reader, numbers, texts: None, group: 0, columns, left: 0, row: 1 })
            }
            Err(error) => Err(damaged(&name, &error)),
        }
    }

    /// Returns what errors call the table.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    fn fields(&self) -> &[TypePtr] {
        self.reader.metadata().file_metadata().schema().get_fields()
    }

    /// Returns the names of the columns.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields().iter().map(|field| field.name())
    }

    /// Returns what another table is made of that has the same columns.
    pub(super) fn source(&self) -> ParquetSource {
        ParquetSource { file: self.file.clone(), metadata: Arc::new(self.reader.metadata().clone()) }
    }

    /// Sets which columns are read as numbers, and what is between the fields of a row if all
    /// of them are read as text.
    ///
    /// # Errors
    /// If one holds no numbers.
    pub(super) fn read_numbers(
        &mut self,
        columns: Vec<NumberColumn>,
        delimiter: Option<u8>,
    ) -> Result<(), TableError> {
        let schema = self.reader.metadata().file_metadata().schema_descr_ptr();
        let mut leaves = vec![None; self.fields().len()];
        (0..schema.num_columns())
            .rev()
            .for_each(|leaf| leaves[schema.get_column_root_idx(leaf)] = Some(leaf));
        for NumberColumn { position, name } in columns {
            let field = &self.fields()[position];
            let kind = NumberKind::of(field).map_err(|what| TableError::NoNumbers {
                file: self.name.clone(),
                column: name.clone(),
                what,
            })?;
            let is_optional = field.get_basic_info().repetition() == Repetition::OPTIONAL;
            let Some(leaf) = leaves[position] else { continue };
            self.numbers.push(NumberLeaf { leaf, kind, is_optional, name });
        }
        if let Some(delimiter) = delimiter {
            let fields = self.fields();
            if let Some(column) = TextColumns::unwritable(fields) {
                return Err(TableError::NoText { file: self.name.clone(), column: column.to_owned() });
            }
            let texts = TextColumns::new(&self.file, fields, &leaves, delimiter);
            self.texts = Some(texts.map_err(|error| damaged(&self.name, &error))?);
        }
        Ok(())
    }

    /// Reads the next rows.
    pub(super) fn fill(&mut self, rows: &mut TableRows) {
        rows.begin_numbered(self.numbers.len(), self.row);
        if let Err(error) = self.read(rows) {
            rows.cut();
            (rows.error, rows.is_last) = (Some(error), true);
        }
        self.row += rows.len() as u64;
    }

    fn read(&mut self, rows: &mut TableRows) -> Result<(), TableError> {
        let groups = self.reader.metadata().num_row_groups();
        while self.left == 0 && self.group < groups {
            let group = self.reader.get_row_group(self.group).map_err(|error| damaged(&self.name, &error))?;
            let columns = self.numbers.iter().map(|number| group.get_column_reader(number.leaf));
            let columns = columns.collect::<ParquetResult<Vec<_>>>();
            self.left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            self.columns = columns.map_err(|error| damaged(&self.name, &error))?;
            if let Some(texts) = &mut self.texts {
                let begun = texts.begin(&|leaf| group.get_column_reader(leaf));
                begun.map_err(|error| damaged(&self.name, &error))?;
            }
            self.group += 1;
        }
        let count = self.left.min(if self.texts.is_some() { TEXT_PIECE } else { PIECE });
        self.left -= count;
        rows.is_last = self.left == 0 && self.group == groups;
        let mut has_numbers = vec![true; count];
        for ((number, reader), values) in self.numbers.iter().zip(&mut self.columns).zip(&mut rows.columns) {
            number.read(reader, values, &mut has_numbers).map_err(|error| match error {
                LeafError::Damaged(error) => damaged(&self.name, &error),
                LeafError::TooLarge(row) => TableError::TooLarge {
                    file: self.name.clone(),
                    row: self.row + row as u64,
                    column: number.name.clone(),
                },
            })?;
        }
        if let Some(texts) = &mut self.texts {
            texts.read(count).map_err(|error| damaged(&self.name, &error))?;
        }
        for (row, has_numbers) in has_numbers.into_iter().enumerate() {
            let start = rows.bytes.len();
            self.texts.iter().for_each(|texts| texts.write(row, &mut rows.bytes));
            rows.push(start..rows.bytes.len(), has_numbers);
        }
        Ok(())
    }
}

/// Why a column cannot be read.
enum LeafError {
    Damaged(ParquetError),
    /// The decimal of a row has more than 16 bytes.
    TooLarge(usize),
}

impl NumberLeaf {
    /// Reads the next numbers, as many as there are `has_numbers`; NaN where there is none.
    fn read(
        &self,
        reader: &mut ColumnReader,
        numbers: &mut Vec<f64>,
        has_numbers: &mut [bool],
    ) -> Result<(), LeafError> {
        let kind = self.kind;
        match reader {
            ColumnReader::BoolColumnReader(reader) => {
                self.read_as(reader, numbers, has_numbers, |value| Some(f64::from(u8::from(*value))))
            }
            ColumnReader::Int32ColumnReader(reader) => self.read_as(reader, numbers, has_numbers, |value| {
                Some(kind.of_integer((*value).into(), value.cast_unsigned().into()))
            }),
            ColumnReader::Int64ColumnReader(reader) => self.read_as(reader, numbers, has_numbers, |value| {
                Some(kind.of_integer(*value, value.cast_unsigned()))
            }),
            ColumnReader::FloatColumnReader(reader) => {
                self.read_as(reader, numbers, has_numbers, |value| Some((*value).into()))
            }
            ColumnReader::DoubleColumnReader(reader) => {
                self.read_as(reader, numbers, has_numbers, |value| Some(*value))
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                self.read_as(reader, numbers, has_numbers, |value| kind.of_bytes(value.data()))
            }
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                self.read_as(reader, numbers, has_numbers, |value| kind.of_bytes(value.data()))
            }
            ColumnReader::Int96ColumnReader(_) => Ok(()),
        }
    }

    fn read_as<T: DataType>(
        &self,
        reader: &mut ColumnReaderImpl<T>,
        numbers: &mut Vec<f64>,
        has_numbers: &mut [bool],
        number: impl Fn(&T::T) -> Option<f64>,
    ) -> Result<(), LeafError> {
        let read = values_of(reader, has_numbers.len(), self.is_optional);
        let (values, levels) = read.map_err(LeafError::Damaged)?;
        let mut values = values.iter();
        for (row, has_numbers) in has_numbers.iter_mut().enumerate() {
            let is_there = levels.get(row).is_none_or(|level| *level > 0);
            numbers.push(match is_there.then(|| values.next()).flatten() {
                Some(value) => number(value).ok_or(LeafError::TooLarge(row))?,
                None => {
                    *has_numbers = false;
                    f64::NAN
                }
            });
        }
        Ok(())
    }
}

fn damaged(name: &str, error: &ParquetError) -> TableError {
    let message = match error {
        ParquetError::General(message) | ParquetError::EOF(message) | ParquetError::NYI(message) => {
            message.clone()
        }
        ParquetError::External(error) => error.to_string(),
        other => other.to_string(),
    };
    TableError::Parquet(name.to_owned(), message)
}

/// Returns the system's error that one of a writer holds.
fn of_system(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => {
            error.downcast::<io::Error>().map_or_else(io::Error::other, |error| *error)
        }
        other => io::Error::other(other),
    }
}

/// A table whose columns another one has.
pub(super) struct ParquetSource {
    file: SharedFile,
    metadata: Arc<ParquetMetaData>,
}

/// A table that is being written.
pub(super) struct ParquetWriter {
    writer: SerializedFileWriter<BufWriter<Replacement>>,
    /// Where the other columns are.
    source: Option<ParquetSource>,
    /// How many row groups are written.
    groups: usize,
    /// The results of the next row group that are there, and which rows have one.
    values: Vec<f64>,
    has_value: Vec<bool>,
}

impl ParquetWriter {
    /// Creates a table with the columns of another one, if there is one, and one of results.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn new(path: &Path, source: Option<ParquetSource>, name: &str) -> io::Result<Self> {
        let file = source.as_ref().map(|source| source.metadata.file_metadata());
        let result = Type::primitive_type_builder(name, Physical::DOUBLE)
            .with_repetition(Repetition::OPTIONAL)
            .build()
            .map_err(of_system)?;
        let mut fields = file.map_or_else(Vec::new, |file| file.schema().get_fields().to_vec());
        fields.push(Arc::new(result));
        let root = file.map_or("schema", |file| file.schema().name());
        let schema = Type::group_type_builder(root).with_fields(fields).build().map_err(of_system)?;
        let mut notes = file.and_then(FileMetaData::key_value_metadata).cloned().unwrap_or_default();
        notes.retain(|note| note.key != ARROW_SCHEMA);
        let properties = WriterProperties::builder()
            .set_created_by(concat!("kal version ", env!("CARGO_PKG_VERSION")).into())
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_key_value_metadata((!notes.is_empty()).then_some(notes))
            .build();
        let target = BufWriter::new(Replacement::of(path)?);
        let writer = SerializedFileWriter::new(target, Arc::new(schema), Arc::new(properties));
        let (values, has_value) = (Vec::new(), Vec::new());
        Ok(Self { writer: writer.map_err(of_system)?, source, groups: 0, values, has_value })
    }

    /// Writes the results of the first `count` of some rows.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn rows(&mut self, rows: &TableRows, results: &RowResults, count: usize) -> io::Result<()> {
        for row in 0..count {
            self.values.push(results.values[row]);
            self.has_value.push(rows.has_numbers(row) && !results.has_failed(row));
            while self.values.len() == self.group_length() {
                self.group()?;
            }
        }
        Ok(())
    }

    /// Returns how many rows the next row group has.
    fn group_length(&self) -> usize {
        let Some(source) = &self.source else { return GROUP };
        let group = source.metadata.row_groups().get(self.groups);
        group.map_or(usize::MAX, |group| usize::try_from(group.num_rows()).unwrap_or(usize::MAX))
    }

    /// Writes a row group.
    fn group(&mut self) -> io::Result<()> {
        let mut group = self.writer.next_row_group().map_err(of_system)?;
        if let Some(source) = &self.source {
            let found = source.metadata.row_group(self.groups);
            for column in found.columns() {
                let close = ColumnCloseResult {
                    bytes_written: u64::try_from(column.compressed_size()).unwrap_or(0),
                    rows_written: u64::try_from(found.num_rows()).unwrap_or(0),
                    metadata: column.clone(),
                    bloom_filter: None,
                    column_index: None,
                    offset_index: None,
                };
                group.append_column(&source.file, close).map_err(of_system)?;
            }
        }
        let missing = || io::Error::other("a table without columns");
        let mut column = group.next_column().map_err(of_system)?.ok_or_else(missing)?;
        let levels: Vec<i16> = self.has_value.iter().map(|has_value| i16::from(*has_value)).collect();
        let mut has_value = self.has_value.iter();
        self.values.retain(|_| has_value.next() == Some(&true));
        column.typed::<DoubleType>().write_batch(&self.values, Some(&levels), None).map_err(of_system)?;
        column.close().map_err(of_system)?;
        group.close().map_err(of_system)?;
        self.groups += 1;
        self.values.clear();
        self.has_value.clear();
        Ok(())
    }

    /// Puts the file in its place: it is complete.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn finish(mut self) -> io::Result<()> {
        // Those that have no rows come last, too.
        let groups = self.source.as_ref().map_or(0, |source| source.metadata.num_row_groups());
        while !self.values.is_empty() || self.groups < groups {
            self.group()?;
        }
        let target = self.writer.into_inner().map_err(of_system)?;
        target.into_inner().map_err(io::IntoInnerError::into_error)?.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_the_nearest_double() {
        assert_eq!(decimal(12345, 2), 123.45);
        assert_eq!(decimal(-1, 3), -0.001);
        assert_eq!(decimal(123_456_789_012_345_678_901_234_567_890, 10), 12345678901234567890.123456789);
        assert_eq!(decimal(5, -2), 500.0);
        let kind = NumberKind::Decimal(2);
        assert_eq!(kind.of_bytes(&[0xff, 0x85]), Some(-1.23));
        assert_eq!(kind.of_bytes(&[0; 17]), None);
    }
}
