//! Values of a table in Parquet as fields of text.
//!
//! Columns of plain values are read column by column, lists and structures row by row.

use super::super::field::write_field;
use super::super::number::write_number;
use super::file::SharedFile;
use super::values::{half, values_of};
use crate::host::decimal::format_number;
use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, Decimal, Int96};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::record::reader::RowIter;
use parquet::schema::types::{Type, TypePtr};
use std::fmt::{self, Display};
use std::io::Write;
use std::ops::Range;

/// Seconds in a day.
const DAY: i64 = 86_400;

/// The columns of a table, as text.
pub(super) struct TextColumns {
    columns: Vec<TextColumn>,
    /// Those of lists and structures.
    nested: Option<RowIter<'static>>,
    /// What is between two fields.
    delimiter: u8,
}

enum TextColumn {
    Leaf(Box<TextLeaf>),
    /// Lists or structures.
    Nested(FieldTexts),
}

/// A column of plain values.
struct TextLeaf {
    /// Its number among those that are stored.
    leaf: usize,
    kind: TextKind,
    is_optional: bool,
    /// What reads the row group.
    reader: Option<ColumnReader>,
    texts: FieldTexts,
}

/// Fields of rows, one after the other.
#[derive(Default)]
struct FieldTexts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// How values of a column are written.
#[derive(Clone, Copy)]
enum TextKind {
    /// As what they are stored as.
    Plain,
    Unsigned,
    Decimal {
        precision: i32,
        scale: i32,
    },
    Half,
    Text,
    Uuid,
    Interval,
    Date,
    Time(Fraction),
    Timestamp {
        fraction: Fraction,
        is_utc: bool,
    },
}

/// What times are counted in: as many of them are a second, which as many digits are for.
#[derive(Clone, Copy)]
struct Fraction {
    per_second: i64,
    digits: usize,
}

impl Fraction {
    const MILLIS: Self = Self { per_second: 1_000, digits: 3 };
    const MICROS: Self = Self { per_second: 1_000_000, digits: 6 };
    const NANOS: Self = Self { per_second: 1_000_000_000, digits: 9 };

    fn of(unit: TimeUnit) -> Self {
        match unit {
            TimeUnit::MILLIS => Self::MILLIS,
            TimeUnit::MICROS => Self::MICROS,
            TimeUnit::NANOS => Self::NANOS,
        }
    }
}

impl TextColumns {
    /// Returns the columns with these fields, each with its first leaf, with a delimiter between
    /// them in a row.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn new(
        file: &SharedFile,
        fields: &[TypePtr],
        leaves: &[Option<usize>],
        delimiter: u8,
    ) -> ParquetResult<Self> {
        let column = |(field, leaf): (&TypePtr, &Option<usize>)| {
            let is_optional = field.get_basic_info().repetition() == Repetition::OPTIONAL;
            let found = TextKind::of(field).zip(*leaf);
            found.map_or(TextColumn::Nested(FieldTexts::default()), |(kind, leaf)| {
                let texts = FieldTexts::default();
                TextColumn::Leaf(Box::new(TextLeaf { leaf, kind, is_optional, reader: None, texts }))
            })
        };
        let columns: Vec<_> = fields.iter().zip(leaves).map(column).collect();
        let is_nested = |column: &TextColumn| matches!(column, TextColumn::Nested(_));
        let nested: Vec<TypePtr> = fields
            .iter()
            .zip(&columns)
            .filter(|(_, column)| is_nested(column))
            .map(|(field, _)| field.clone())
            .collect();
        let nested = if nested.is_empty() {
            None
        } else {
            let reader = SerializedFileReader::new(file.clone())?;
            let root = reader.metadata().file_metadata().schema().name().to_owned();
            let schema = Type::group_type_builder(&root).with_fields(nested).build()?;
            Some(RowIter::from_file_into(Box::new(reader)).project(Some(schema))?)
        };
        Ok(Self { columns, nested, delimiter })
    }

    /// Returns the first column that has values in lists or structures that cannot be written.
    pub(super) fn unwritable(fields: &[TypePtr]) -> Option<&str> {
        fn is_unwritable(field: &Type) -> bool {
            if field.is_group() {
                return field.get_fields().iter().any(|field| is_unwritable(field));
            }
            !is_value(field.get_physical_type(), field.get_basic_info().converted_type())
        }
        let mut fields = fields.iter();
        fields.find(|field| TextKind::of(field).is_none() && is_unwritable(field)).map(|field| field.name())
    }

    /// Begins with a row group.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn begin(
        &mut self,
        column: &dyn Fn(usize) -> ParquetResult<ColumnReader>,
    ) -> ParquetResult<()> {
        for text in &mut self.columns {
            if let TextColumn::Leaf(leaf) = text {
                leaf.reader = Some(column(leaf.leaf)?);
            }
        }
        Ok(())
    }

    /// Reads the next rows of a row group, as many as `count`.
    ///
    /// # Errors
    /// If they are not there.
    pub(super) fn read(&mut self, count: usize) -> ParquetResult<()> {
        for column in &mut self.columns {
            match column {
                TextColumn::Leaf(leaf) => leaf.read(count, self.delimiter)?,
                TextColumn::Nested(texts) => texts.clear(),
            }
        }
        for _ in 0..count {
            let Some(nested) = &mut self.nested else { break };
            let row = nested.next().ok_or_else(missing)??;
            let mut fields = row.get_column_iter().map(|(_, field)| field);
            for column in &mut self.columns {
                if let TextColumn::Nested(texts) = column {
                    let field = fields.next().unwrap_or(&Field::Null);
                    if !matches!(field, Field::Null) {
                        write_field(&nested_text(field), self.delimiter, &mut texts.bytes);
                    }
                    texts.end();
                }
            }
        }
        Ok(())
    }

    /// Appends a row of those that were read last.
    pub(super) fn write(&self, row: usize, bytes: &mut Vec<u8>) {
        for (number, column) in self.columns.iter().enumerate() {
            if number > 0 {
                bytes.push(self.delimiter);
            }
            let texts = match column {
                TextColumn::Leaf(leaf) => &leaf.texts,
                TextColumn::Nested(texts) => texts,
            };
            bytes.extend_from_slice(&texts.bytes[texts.field(row)]);
        }
    }
}

impl TextLeaf {
    /// Reads the next rows, as many as `count`.
    fn read(&mut self, count: usize, delimiter: u8) -> ParquetResult<()> {
        let Self { kind, is_optional, reader, texts, .. } = self;
        let (kind, rows) = (*kind, (count, *is_optional));
        texts.clear();
        match reader.as_mut().ok_or_else(missing)? {
            ColumnReader::BoolColumnReader(reader) => {
                texts.read(reader, rows, |value, text| append(text, value))
            }
            ColumnReader::Int32ColumnReader(reader) => texts.read(reader, rows, |value, text| {
                append(text, kind.integer((*value).into(), value.cast_unsigned().into()));
            }),
            ColumnReader::Int64ColumnReader(reader) => texts.read(reader, rows, |value, text| {
                append(text, kind.integer(*value, value.cast_unsigned()));
            }),
            ColumnReader::Int96ColumnReader(reader) => {
                texts.read(reader, rows, |value, text| append(text, old_timestamp(value)))
            }
            ColumnReader::FloatColumnReader(reader) => {
                texts.read(reader, rows, |value, text| append(text, single_text(*value)))
            }
            ColumnReader::DoubleColumnReader(reader) => {
                texts.read(reader, rows, |value, text| write_number(*value, text))
            }
            ColumnReader::ByteArrayColumnReader(reader) => texts.read(reader, rows, |value, text| {
                write_field(&kind.bytes(value.data()), delimiter, text);
            }),
            ColumnReader::FixedLenByteArrayColumnReader(reader) => texts.read(reader, rows, |value, text| {
                write_field(&kind.bytes(value.data()), delimiter, text);
            }),
        }
    }
}

impl FieldTexts {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Reads the next rows of a column, of which some may be missing.
    fn read<T: DataType>(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        (count, is_optional): (usize, bool),
        write: impl Fn(&T::T, &mut Vec<u8>),
    ) -> ParquetResult<()> {
        let (values, levels) = values_of(reader, count, is_optional)?;
        let mut values = values.iter();
        for row in 0..count {
            if levels.get(row).is_none_or(|level| *level > 0) {
                write(values.next().ok_or_else(missing)?, &mut self.bytes);
            }
            self.end();
        }
        Ok(())
    }

    /// Ends a field.
    fn end(&mut self) {
        self.ends.push(self.bytes.len());
    }

    fn field(&self, row: usize) -> Range<usize> {
        row.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[row]
    }
}

fn append(text: &mut Vec<u8>, value: impl Display) {
    // A vector takes everything.
    let _ = write!(text, "{value}");
}

fn missing() -> ParquetError {
    ParquetError::EOF("rows are missing".into())
}

impl TextKind {
    /// Returns how values of a column are written; `None` for lists and structures.
    fn of(column: &Type) -> Option<Self> {
        let info = column.get_basic_info();
        if !column.is_primitive() || info.repetition() == Repetition::REPEATED {
            return None;
        }
        let decimal = || Self::Decimal { precision: column.get_precision(), scale: column.get_scale() };
        let timestamp = |fraction| Self::Timestamp { fraction, is_utc: true };
        Some(match info.logical_type_ref() {
            Some(LogicalType::Decimal(_)) => decimal(),
            Some(LogicalType::Integer(integer)) if !integer.is_signed => Self::Unsigned,
            Some(LogicalType::Float16) => Self::Half,
            Some(LogicalType::String | LogicalType::Enum | LogicalType::Json) => Self::Text,
            Some(LogicalType::Uuid) => Self::Uuid,
            Some(LogicalType::Date) => Self::Date,
            Some(LogicalType::Time(time)) => Self::Time(Fraction::of(time.unit)),
            Some(LogicalType::Timestamp(timestamp)) => Self::Timestamp {
                fraction: Fraction::of(timestamp.unit),
                is_utc: timestamp.is_adjusted_to_u_t_c,
            },
            _ => match info.converted_type() {
                ConvertedType::DECIMAL => decimal(),
                ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON => Self::Text,
                ConvertedType::DATE => Self::Date,
                ConvertedType::TIME_MILLIS => Self::Time(Fraction::MILLIS),
                ConvertedType::TIME_MICROS => Self::Time(Fraction::MICROS),
                ConvertedType::TIMESTAMP_MILLIS => timestamp(Fraction::MILLIS),
                ConvertedType::TIMESTAMP_MICROS => timestamp(Fraction::MICROS),
                ConvertedType::INTERVAL => Self::Interval,
                ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64 => Self::Unsigned,
                _ => Self::Plain,
            },
        })
    }

    /// Returns the text of an integer, which is given without its sign as well.
    fn integer(self, value: i64, unsigned: u64) -> String {
        match self {
            Self::Unsigned => unsigned.to_string(),
            Self::Decimal { precision, scale } => {
                Field::Decimal(Decimal::from_i64(value, precision, scale)).to_string()
            }
            Self::Date => date_text(value),
            Self::Time(fraction) => time_text(value, fraction),
            Self::Timestamp { fraction, is_utc } => timestamp_text(value, fraction, is_utc),
            _ => value.to_string(),
        }
    }

    /// Returns the text of bytes.
    fn bytes(self, bytes: &[u8]) -> String {
        match (self, bytes) {
            (Self::Text, _) => std::str::from_utf8(bytes).map_or_else(|_| bytes_text(bytes), str::to_owned),
            (Self::Decimal { precision, scale }, _) => {
                let value = Decimal::from_bytes(ByteArray::from(bytes.to_vec()), precision, scale);
                Field::Decimal(value).to_string()
            }
            (Self::Half, &[low, high]) => format_number(half(u16::from_le_bytes([low, high]))),
            (Self::Uuid, _) if bytes.len() == 16 => {
                let parts = [&bytes[..4], &bytes[4..6], &bytes[6..8], &bytes[8..10], &bytes[10..]];
                parts.map(hexadecimal).join("-")
            }
            (Self::Interval, _) if bytes.len() == 12 => {
                let part = |at: usize| bytes[at..].first_chunk().map_or(0, |part| u32::from_le_bytes(*part));
                interval_text(part(0), part(4), part(8))
            }
            _ => bytes_text(bytes),
        }
    }
}

/// Returns whether the crate has a value for what is stored so, and does not panic.
fn is_value(physical: Physical, converted: ConvertedType) -> bool {
    use ConvertedType as Converted;
    match physical {
        Physical::INT32 => !matches!(
            converted,
            Converted::INT_64
                | Converted::UINT_64
                | Converted::TIME_MICROS
                | Converted::TIMESTAMP_MILLIS
                | Converted::TIMESTAMP_MICROS
        ),
        Physical::INT64 => matches!(
            converted,
            Converted::NONE
                | Converted::INT_64
                | Converted::UINT_64
                | Converted::TIME_MICROS
                | Converted::TIMESTAMP_MILLIS
                | Converted::TIMESTAMP_MICROS
                | Converted::DECIMAL
        ),
        Physical::FIXED_LEN_BYTE_ARRAY => matches!(converted, Converted::NONE | Converted::DECIMAL),
        Physical::BOOLEAN | Physical::INT96 | Physical::FLOAT | Physical::DOUBLE | Physical::BYTE_ARRAY => {
            true
        }
    }
}

/// Returns the text of a value in a list or a structure, or of these.
fn nested_text(value: &Field) -> String {
    match value {
        Field::Date(days) => date_text((*days).into()),
        Field::TimeMillis(time) => time_text((*time).into(), Fraction::MILLIS),
        Field::TimeMicros(time) => time_text(*time, Fraction::MICROS),
        Field::TimestampMillis(time) => timestamp_text(*time, Fraction::MILLIS, false),
        Field::TimestampMicros(time) => timestamp_text(*time, Fraction::MICROS, false),
        Field::Float(number) => single_text(*number),
        Field::Double(number) => format_number(*number),
        Field::Bytes(bytes) => format!("\"{}\"", bytes_text(bytes.data())),
        Field::Group(row) => {
            let fields = row.get_column_iter().map(|(name, field)| format!("{name}: {}", nested_text(field)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Field::ListInternal(list) => {
            let elements = list.elements().iter().map(nested_text);
            format!("[{}]", elements.collect::<Vec<_>>().join(", "))
        }
        Field::MapInternal(map) => {
            let entry =
                |(key, value): &(Field, Field)| format!("{} -> {}", nested_text(key), nested_text(value));
            format!("{{{}}}", map.entries().iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn single_text(value: f32) -> String {
    if value.is_finite() { value.to_string() } else { format_number(value.into()) }
}

/// Returns a date, given in days since 1970-01-01: <https://howardhinnant.github.io/date_algorithms.html>,
/// `civil_from_days`.
fn date_text(days: i64) -> String {
    let shifted = days.saturating_add(719_468);
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let sign = if year < 0 { "-" } else { "" };
    format!("{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs())
}

/// Returns a time of day.
fn time_text(time: i64, Fraction { per_second, digits }: Fraction) -> String {
    let (seconds, rest) = (time.div_euclid(per_second), time.rem_euclid(per_second));
    let mut text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if rest > 0 {
        let all = format!("{rest:0digits$}");
        // Whole groups of three.
        let end = all.trim_end_matches('0').len().next_multiple_of(3);
        let _ = fmt::Write::write_fmt(&mut text, format_args!(".{}", &all[..end]));
    }
    text
}

fn timestamp_text(time: i64, fraction: Fraction, is_utc: bool) -> String {
    let day = DAY * fraction.per_second;
    let (days, time) = (time.div_euclid(day), time.rem_euclid(day));
    let zone = if is_utc { "+00:00" } else { "" };
    format!("{} {}{zone}", date_text(days), time_text(time, fraction))
}

/// Returns a timestamp as Impala and old versions of Spark store it: nanoseconds of a day, and
/// the number of the day in the Julian calendar.
fn old_timestamp(value: &Int96) -> String {
    const FIRST: i64 = 2_440_588;
    let &[low, high, day] = value.data() else { return String::new() };
    let nanoseconds = i64::try_from(u64::from(high) << 32 | u64::from(low)).unwrap_or(0);
    format!("{} {}", date_text(i64::from(day) - FIRST), time_text(nanoseconds, Fraction::NANOS))
}

fn interval_text(months: u32, days: u32, milliseconds: u32) -> String {
    let part = |count: u32, unit: &str| {
        (count > 0).then(|| format!("{count} {unit}{}", if count == 1 { "" } else { "s" }))
    };
    let time = (milliseconds > 0).then(|| time_text(milliseconds.into(), Fraction::MILLIS));
    let parts = [part(months, "month"), part(days, "day"), time];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "00:00:00".to_owned() } else { parts.join(" ") }
}

/// Returns bytes as text: those of ASCII that can be seen as they are, others as `\xNN`.
fn bytes_text(bytes: &[u8]) -> String {
    let shown = |byte: &u8| match byte {
        b'\\' => "\\x5c".to_owned(),
        b' '..=b'~' => char::from(*byte).to_string(),
        byte => format!("\\x{byte:02x}"),
    };
    bytes.iter().map(shown).collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_written_whatever_they_are() {
        let dates = [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (-719_528, "0000-01-01"),
            (-719_529, "-0001-12-31"),
            (2_932_897, "10000-01-01"),
            (i32::MAX.into(), "5881580-07-11"),
            (i32::MIN.into(), "-5877641-06-23"),
        ];
        for (days, expected) in dates {
            assert_eq!(date_text(days), expected, "{days}");
        }
        let nanos = Fraction::NANOS;
        assert_eq!(timestamp_text(1_609_459_200_123_000_000, nanos, false), "2021-01-01 00:00:00.123");
        assert_eq!(timestamp_text(-1, nanos, true), "1969-12-31 23:59:59.999999999+00:00");
        assert_eq!(timestamp_text(i64::MAX, Fraction::MILLIS, false), "292278994-08-17 07:12:55.807");
        assert_eq!(timestamp_text(i64::MIN, Fraction::MICROS, false), "-290308-12-21 19:59:05.224192");
        assert_eq!(time_text(86_399_999, Fraction::MILLIS), "23:59:59.999");
        assert_eq!(interval_text(0, 3, 0), "3 days");
        assert_eq!(interval_text(1, 1, 3_600_500), "1 month 1 day 01:00:00.500");
        assert_eq!(interval_text(0, 0, 0), "00:00:00");
    }

    #[test]
    fn bytes_are_written_so_that_they_can_be_told_apart() {
        assert_eq!(bytes_text(b"a\\\x00\xffz"), "a\\x5c\\x00\\xffz");
        let uuid: Vec<u8> = (0..16).collect();
        assert_eq!(TextKind::Uuid.bytes(&uuid), "00010203-0405-0607-0809-0a0b0c0d0e0f");
        assert_eq!(TextKind::Text.bytes("größe".as_bytes()), "größe");
        assert_eq!(TextKind::Text.bytes(&[0xff]), "\\xff");
    }
}
