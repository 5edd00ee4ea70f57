//! Reading CSV, in pieces of whole rows.
//!
//! The rules are those of RFC 4180, as the crate `csv` has them: a row ends with `\n`, `\r`
//! or both, and empty lines are none. Rows keep their bytes, so that they can be written as
//! they were.

use super::format::{TableFormat, TableStream};
use super::number::FieldValue;
use crate::kernel::Column;
use csv_core::ReadRecordResult;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::ops::Range;

/// The bytes of a piece, unless one row has more.
const PIECE: usize = 2 << 20;

/// A longer row is a mistake.
const LONGEST_ROW: usize = 64 << 20;

/// At most this many characters of a field are shown.
const SHOWN: usize = 40;

/// What is wrong with a table.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TableError {
    #[error("{0}: {1}")]
    Io(String, io::Error),
    #[error("{0}: there is no header")]
    Empty(String),
    #[error("{place}: the row has {}, the header {wanted}", fields(*.found))]
    Fields { place: TableLine, found: usize, wanted: usize },
    #[error("{0}: the row is longer than 64 MiB: a quotation mark may be missing in it")]
    TooLong(TableLine),
    #[error("{0}: a quotation mark in this row is not closed")]
    Unclosed(TableLine),
    #[error("{place}: `{text}` in the column `{column}` is not a number")]
    NotANumber { place: TableLine, column: String, text: String },
    #[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "only Parquet has them"))]
    #[error("{file}: the column `{column}` holds {what}, which are not numbers")]
    NoNumbers { file: String, column: String, what: &'static str },
    #[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "only Parquet has them"))]
    #[error(
        "{file}: the column `{column}` holds intervals in lists or structures, which cannot be written as text"
    )]
    NoText { file: String, column: String },
    #[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "only Parquet has them"))]
    #[error("{file}, row {row}: the number in the column `{column}` is too large")]
    TooLarge { file: String, row: u64, column: String },
    #[error("{0}: this Parquet file cannot be read: {1}")]
    Parquet(String, String),
    #[error("{file} is {what}: {remedy}")]
    OtherFormat { file: String, what: &'static str, remedy: &'static str },
}

/// A line of a table, or a row of one without lines, from 1.
#[derive(Clone, Debug)]
pub(crate) struct TableLine {
    file: String,
    line: u64,
    is_row: bool,
}

impl std::fmt::Display for TableLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}{}", self.file, if self.is_row { ", row " } else { ":" }, self.line)
    }
}

/// A column that is read as numbers.
pub(super) struct NumberColumn {
    pub(super) position: usize,
    pub(super) name: String,
}

/// Some rows of a table, one after another.
#[derive(Default)]
pub(super) struct TableRows {
    /// The rows as they are in the file.
    pub(super) bytes: Vec<u8>,
    /// Where each row is, without its end of line.
    places: Vec<Range<usize>>,
    /// Their numbers, for each column that is read as such; NaN where there is none.
    pub(super) columns: Vec<Vec<f64>>,
    /// The bits of rows that have all numbers, as [`Validity`](crate::kernel::Validity) has
    /// them.
    pub(super) valid: Vec<u8>,
    /// Whether all rows have all numbers.
    pub(super) is_valid: bool,
    /// How many rows have a field that is no number.
    pub(super) unreadable: usize,
    /// The line of the first byte; the number of the first row if there are no lines.
    line: u64,
    has_no_lines: bool,
    /// Whether no rows come after them.
    pub(super) is_last: bool,
    /// What is wrong with the row after them.
    pub(super) error: Option<TableError>,
}

impl TableRows {
    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns a row as it is in the file, without its end of line.
    pub(super) fn row(&self, row: usize) -> &[u8] {
        &self.bytes[self.places[row].clone()]
    }

    /// Returns where a row is in a file.
    pub(super) fn place(&self, file: &str, row: usize) -> TableLine {
        let (file, is_row) = (file.to_owned(), self.has_no_lines);
        let before = if is_row { row as u64 } else { line_ends(&self.bytes[..self.places[row].start]) };
        TableLine { file, line: self.line + before, is_row }
    }

    /// Removes all rows; the next ones have numbers in place of lines, this is the first.
    #[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "only Parquet has them"))]
    pub(super) fn begin_numbered(&mut self, columns: usize, first: u64) {
        self.clear(columns);
        (self.line, self.has_no_lines) = (first, true);
    }

    /// Removes the numbers that are in no row.
    pub(super) fn cut(&mut self) {
        let rows = self.len();
        self.columns.iter_mut().for_each(|column| column.truncate(rows));
    }

    /// Returns the numbers, a column for each that is read.
    pub(super) fn columns(&self) -> Vec<Column<'_>> {
        self.columns.iter().map(|column| Column::Values(column)).collect()
    }

    /// Returns whether a row has all numbers.
    pub(super) fn has_numbers(&self, row: usize) -> bool {
        self.is_valid || self.valid[row / 8] >> (row % 8) & 1 == 1
    }

    /// Returns a number of a row.
    pub(super) fn number(&self, column: usize, row: usize) -> f64 {
        self.columns[column][row]
    }

    /// Removes all rows.
    fn clear(&mut self, columns: usize) {
        self.bytes.clear();
        self.places.clear();
        self.columns.iter_mut().for_each(Vec::clear);
        self.columns.resize_with(columns, Vec::new);
        self.valid.clear();
        (self.is_valid, self.unreadable, self.is_last) = (true, 0, false);
    }

    /// Adds a row with its numbers.
    pub(super) fn push(&mut self, place: Range<usize>, has_numbers: bool) {
        let row = self.places.len();
        if row.is_multiple_of(8) {
            self.valid.push(0);
        }
        self.valid[row / 8] |= u8::from(has_numbers) << (row % 8);
        self.is_valid &= has_numbers;
        self.places.push(place);
    }
}

/// The header as it is in the file.
pub(super) struct HeaderRow {
    /// Its bytes, without the end of the line.
    pub(super) bytes: Vec<u8>,
    /// What ends its line.
    pub(super) line_end: &'static [u8],
}

/// A table that is being read.
pub(super) struct TableReader {
    stream: TableStream,
    name: String,
    splitter: RowSplitter,
    /// What was read and not handed out.
    rest: Vec<u8>,
    /// The number of the line that `rest` begins in.
    line: u64,
    width: usize,
    numbers: Vec<NumberColumn>,
    /// Whether rows with a field that is no number are rows without a result.
    skips_others: bool,
}

impl TableReader {
    /// Creates a reader of a file, which errors call by that name.
    pub(super) fn new(file: File, name: String, delimiter: u8) -> Self {
        Self {
            stream: TableStream::Plain(file),
            name,
            splitter: RowSplitter::new(delimiter),
            rest: Vec::new(),
            line: 1,
            width: 0,
            numbers: Vec::new(),
            skips_others: false,
        }
    }

    /// Returns what errors call the table.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns what the table is.
    pub(super) fn format(&mut self) -> Result<TableFormat, TableError> {
        let mut bytes = std::mem::take(&mut self.rest);
        let format = loop {
            match TableFormat::of(&bytes) {
                Some(format) => break format,
                None if self.splitter.is_at_end => break TableFormat::Csv,
                // More may not come soon, so only what is needed is waited for.
                None => self.read_more(&mut bytes)?,
            }
        };
        self.rest = bytes;
        Ok(format)
    }

    /// Decompresses the table while it is read.
    pub(super) fn decompress(&mut self) -> Result<(), TableError> {
        let read = std::mem::take(&mut self.rest);
        self.stream =
            self.stream.decompressed(read).map_err(|error| TableError::Io(self.name.clone(), error))?;
        self.splitter.is_at_end = false;
        Ok(())
    }

    /// Copies all of it to a temporary file, which is gone when it is closed.
    pub(super) fn spool(&mut self) -> Result<File, TableError> {
        let mut copy = || {
            let mut file = tempfile::tempfile()?;
            file.write_all(&self.rest)?;
            io::copy(&mut self.stream, &mut file).map(|_| file)
        };
        copy().map_err(|error| TableError::Io(format!("{}, copied to a temporary file", self.name), error))
    }

    /// Reads the header and passes its fields to `read`.
    pub(super) fn header<T>(
        &mut self,
        read: impl FnOnce(&mut dyn Iterator<Item = &[u8]>) -> T,
    ) -> Result<(HeaderRow, T), TableError> {
        let mut bytes = std::mem::take(&mut self.rest);
        let mut has_some = !bytes.is_empty();
        let (place, end) = loop {
            if !std::mem::take(&mut has_some) {
                self.read_more(&mut bytes)?;
            }
            let mark = if bytes.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
            let mut at = mark;
            match self.splitter.next(&bytes, &mut at) {
                Ok(Some(place)) if place.start == mark => break (0..place.end, at),
                Ok(Some(place)) => break (place, at),
                Err(Unclosed) => return Err(TableError::Unclosed(self.line_of(&bytes, mark))),
                Ok(None) if self.splitter.is_at_end => return Err(TableError::Empty(self.name.clone())),
                Ok(None) if bytes.len() > LONGEST_ROW => {
                    return Err(TableError::TooLong(self.line_of(&bytes, mark)));
                }
                Ok(None) => {}
            }
        };
        self.width = self.splitter.count;
        let value = read(&mut (0..self.width).map(|field| self.splitter.field(field)));
        let line_end: &[u8] = match bytes[place.end..] {
            [b'\r', b'\n', ..] => b"\r\n",
            [b'\r', ..] => b"\r",
            _ => b"\n",
        };
        let header = HeaderRow { bytes: bytes[place].to_vec(), line_end };
        self.hand_out(&bytes, end);
        Ok((header, value))
    }

    /// Sets which columns are read as numbers, and whether a row is no mistake that has
    /// something else there.
    pub(super) fn read_numbers(&mut self, columns: Vec<NumberColumn>, skips_others: bool) {
        (self.numbers, self.skips_others) = (columns, skips_others);
    }

    /// Reads the next rows: as many as fit into a piece, or as have arrived.
    pub(super) fn fill(&mut self, rows: &mut TableRows) {
        rows.clear(self.numbers.len());
        std::mem::swap(&mut rows.bytes, &mut self.rest);
        rows.line = self.line;
        let mut at = 0;
        while rows.places.is_empty() && rows.error.is_none() && !rows.is_last {
            rows.error = self.read_more(&mut rows.bytes).and_then(|()| self.split(rows, &mut at)).err();
            rows.is_last = self.splitter.is_at_end || rows.error.is_some();
        }
        let bytes = std::mem::take(&mut rows.bytes);
        self.hand_out(&bytes, at);
        rows.bytes = bytes;
    }

    /// Splits bytes into rows, from an offset to the last whole row.
    fn split(&mut self, rows: &mut TableRows, at: &mut usize) -> Result<(), TableError> {
        loop {
            let start = *at;
            match self.splitter.next(&rows.bytes, at) {
                Ok(Some(place)) => self.add(rows, place)?,
                Ok(None) if rows.bytes.len() - start > LONGEST_ROW => {
                    return Err(TableError::TooLong(self.line_of(&rows.bytes, start)));
                }
                Ok(None) => return Ok(()),
                Err(Unclosed) => return Err(TableError::Unclosed(self.line_of(&rows.bytes, start))),
            }
        }
    }

    /// Adds a row that was split into its fields.
    fn add(&self, rows: &mut TableRows, place: Range<usize>) -> Result<(), TableError> {
        let fields = self.splitter.count;
        if fields != self.width {
            let place = self.line_of(&rows.bytes, place.start);
            return Err(TableError::Fields { place, found: fields, wanted: self.width });
        }
        let (mut has_numbers, mut is_readable) = (true, true);
        for (number, column) in self.numbers.iter().zip(&mut rows.columns) {
            let field = self.splitter.field(number.position);
            let value = match FieldValue::of(field) {
                FieldValue::Number(value) => value,
                FieldValue::Missing => {
                    has_numbers = false;
                    f64::NAN
                }
                FieldValue::Other if self.skips_others => {
                    (has_numbers, is_readable) = (false, false);
                    f64::NAN
                }
                FieldValue::Other => {
                    let (column, text) = (number.name.clone(), shortened(field));
                    let place = self.line_of(&rows.bytes, place.start);
                    rows.cut();
                    return Err(TableError::NotANumber { place, column, text });
                }
            };
            column.push(value);
        }
        rows.unreadable += usize::from(!is_readable);
        rows.push(place, has_numbers);
        Ok(())
    }

    /// Keeps what comes after the first `end` of some bytes, which are those of `rest`.
    fn hand_out(&mut self, bytes: &[u8], end: usize) {
        let (done, rest) = bytes.split_at(end);
        self.line += line_ends(done);
        self.rest.clear();
        self.rest.extend_from_slice(rest);
    }

    /// Returns the line of an offset of bytes that begin where `rest` did; empty lines there
    /// are before it.
    fn line_of(&self, bytes: &[u8], offset: usize) -> TableLine {
        let blank = bytes[offset..].iter().take_while(|byte| is_line_end(**byte)).count();
        let line = self.line + line_ends(&bytes[..offset + blank]);
        TableLine { file: self.name.clone(), line, is_row: false }
    }

    /// Reads until a piece is full, nothing more has arrived, or the file ends.
    fn read_more(&mut self, bytes: &mut Vec<u8>) -> Result<(), TableError> {
        let mut length = bytes.len();
        bytes.resize(if length < PIECE { PIECE } else { 2 * length }, 0);
        let read = loop {
            match self.stream.read(&mut bytes[length..]) {
                Ok(0) => {
                    self.splitter.is_at_end = true;
                    break Ok(());
                }
                Ok(count) => length += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => break Err(TableError::Io(self.name.clone(), error)),
            }
            if length == bytes.len() || !has_arrived(self.stream.file()) {
                break Ok(());
            }
        };
        bytes.truncate(length);
        read
    }
}

/// Splits bytes into rows, and rows into fields.
struct RowSplitter {
    parser: csv_core::Reader,
    /// The fields of the last row, without their quotation marks.
    fields: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
    /// How many there are.
    count: usize,
    /// Whether nothing comes after the bytes.
    is_at_end: bool,
}

/// The bytes end inside quotation marks.
struct Unclosed;

impl RowSplitter {
    fn new(delimiter: u8) -> Self {
        let parser = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
        Self { parser, fields: vec![0; 1024], ends: vec![0; 32], count: 0, is_at_end: false }
    }

    /// Returns a field of the last row.
    fn field(&self, field: usize) -> &[u8] {
        let start = if field == 0 { 0 } else { self.ends[field - 1] };
        &self.fields[start..self.ends[field]]
    }

    /// Splits off the row at an offset, and advances that beyond it; `None` if it is not
    /// complete. Returns where it is, without its end of line.
    fn next(&mut self, bytes: &[u8], at: &mut usize) -> Result<Option<Range<usize>>, Unclosed> {
        let blank = bytes[*at..].iter().take_while(|byte| is_line_end(**byte)).count();
        let start = *at + blank;
        // A `\n` may come after a `\r`.
        let may_go_on = !self.is_at_end && bytes.last() == Some(&b'\r');
        if start == bytes.len() {
            *at = start - usize::from(may_go_on && blank > 0);
            return Ok(None);
        }
        let (mut input, mut written) = (&bytes[start..], 0);
        let mut is_after_end = false;
        self.count = 0;
        loop {
            let (fields, ends) = (&mut self.fields[written..], &mut self.ends[self.count..]);
            let (result, taken, put, ended) = self.parser.read_record(input, fields, ends);
            (input, written, self.count) = (&input[taken..], written + put, self.count + ended);
            match result {
                ReadRecordResult::OutputFull => self.fields.resize(2 * self.fields.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::Record => break,
                ReadRecordResult::InputEmpty if !self.is_at_end => {
                    self.parser.reset();
                    return Ok(None);
                }
                ReadRecordResult::InputEmpty | ReadRecordResult::End if is_after_end => return Err(Unclosed),
                // The last line may end with the file; a field in quotation marks may not.
                ReadRecordResult::InputEmpty | ReadRecordResult::End => {
                    (input, is_after_end) = (b"\n", true);
                }
            }
        }
        let read = if is_after_end { bytes.len() } else { bytes.len() - input.len() };
        if read == bytes.len() && may_go_on {
            self.parser.reset();
            return Ok(None);
        }
        let end = if is_line_end(bytes[read - 1]) { read - 1 } else { read };
        *at = if bytes[end..].starts_with(b"\r\n") { end + 2 } else { read };
        Ok(Some(start..end))
    }
}

/// Returns whether something can be read without waiting.
fn has_arrived(stream: &File) -> bool {
    let mut streams = [PollFd::new(stream, PollFlags::IN)];
    poll(&mut streams, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).map_or(true, |ready| ready > 0)
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Returns the number of lines that end in some bytes.
fn line_ends(bytes: &[u8]) -> u64 {
    let count = |wanted| bytes.iter().filter(|byte| **byte == wanted).count();
    let (feeds, returns) = (count(b'\n'), count(b'\r'));
    let pairs = if returns == 0 { 0 } else { bytes.windows(2).filter(|pair| pair == b"\r\n").count() };
    (feeds + returns - pairs) as u64
}

fn shortened(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(field);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

fn fields(count: usize) -> String {
    if count == 1 { "1 field".into() } else { format!("{count} fields") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row as it is in the text, and its fields.
    type SplitRow = (Vec<u8>, Vec<Vec<u8>>);

    /// Returns the rows of a text, which arrives in two parts.
    fn rows(text: &[u8], cut: usize) -> Option<Vec<SplitRow>> {
        let mut splitter = RowSplitter::new(b',');
        let (mut rows, mut at) = (Vec::new(), 0);
        for (end, is_at_end) in [(cut, false), (text.len(), true)] {
            splitter.is_at_end = is_at_end;
            while let Some(place) = splitter.next(&text[..end], &mut at).ok()? {
                let fields = (0..splitter.count).map(|field| splitter.field(field).to_vec()).collect();
                rows.push((text[place].to_vec(), fields));
            }
        }
        Some(rows)
    }

    #[test]
    fn rows_do_not_depend_on_how_they_arrive() {
        let texts: [(&[u8], &[&[&str]]); 5] = [
            (b"a,b\nc,\n", &[&["a", "b"], &["c", ""]]),
            (b"\r\n\r\na,b\r\n\r\n\"x\r\n\"\"y\",z\r\n", &[&["a", "b"], &["x\r\n\"y", "z"]]),
            (b"a\rb\r\rc", &[&["a"], &["b"], &["c"]]),
            (b",\n\"\"\n5\" pipe,'q'", &[&["", ""], &[""], &["5\" pipe", "'q'"]]),
            (b"\n\r\n\r", &[]),
        ];
        for (text, expected) in texts {
            for cut in 0..=text.len() {
                let found = rows(text, cut).expect("it is well formed");
                let fields: Vec<Vec<String>> = found
                    .iter()
                    .map(|(_, fields)| fields.iter().map(|field| shortened(field)).collect())
                    .collect();
                assert_eq!(fields, expected, "{text:?} {cut}");
                assert!(found.iter().all(|(row, _)| !row.ends_with(b"\r") && !row.ends_with(b"\n")));
            }
        }
        for text in [&b"a,\"b\n"[..], b"\"", b"a\n\"x\"\"", b"\"a\nb\n"] {
            assert!((0..=text.len()).all(|cut| rows(text, cut).is_none()), "{text:?}");
        }
    }

    #[test]
    fn lines_are_counted_whatever_ends_them() {
        for (text, lines) in [("", 0), ("a\nb\n", 2), ("a\r\nb\r\n", 2), ("a\rb\r", 2), ("\n\r\n\r", 3)] {
            assert_eq!(line_ends(text.as_bytes()), lines, "{text:?}");
        }
    }
}
