//! What a table is, by its first bytes, and decompressing it while it is read.

use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, Chain, Cursor, ErrorKind, Read};

/// What a table is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TableFormat {
    /// Anything else.
    Csv,
    Parquet,
    /// One of these, compressed.
    Gzip,
    /// Something else: what it is, and how it becomes one of these.
    Other(&'static str, &'static str),
}

/// What tables in Parquet begin with.
pub(super) const PARQUET: &[u8; 4] = b"PAR1";

/// What spreadsheets call "Unicode text".
const UTF16: TableFormat =
    TableFormat::Other("text in UTF-16", "`iconv -f UTF-16 -t UTF-8 FILE | kal map FORMULA`");

/// What files of each format begin with.
const MAGICS: &[(&[u8], TableFormat)] = &[
    (PARQUET, TableFormat::Parquet),
    // With its only method.
    (b"\x1f\x8b\x08", TableFormat::Gzip),
    (b"\x28\xb5\x2f\xfd", TableFormat::Other("compressed with zstd", "`zstd -dc FILE | kal map FORMULA`")),
    (b"\xfd7zXZ\0", TableFormat::Other("compressed with xz", "`xz -dc FILE | kal map FORMULA`")),
    // With the block size that the program chooses if none is given, and the first block's mark.
    (b"BZh91AY&SY", TableFormat::Other("compressed with bzip2", "`bzip2 -dc FILE | kal map FORMULA`")),
    (b"\xff\xfe", UTF16),
    (b"\xfe\xff", UTF16),
    (b"PK\x03\x04", TableFormat::Other("a ZIP archive, as workbooks are", "save the table in it as CSV")),
];

impl TableFormat {
    /// Returns the format of a table with these first bytes; `None` if it takes more of them.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let format = MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, format)| *format);
        let is_open = || MAGICS.iter().any(|(magic, _)| magic.starts_with(bytes));
        format.or_else(|| (!is_open()).then_some(Self::Csv))
    }
}

/// The bytes of a table.
pub(super) enum TableStream {
    Plain(File),
    Gzip(Box<MultiGzDecoder<Chain<Cursor<Vec<u8>>, File>>>),
}

impl TableStream {
    /// Returns the file that they are in.
    pub(super) fn file(&self) -> &File {
        match self {
            Self::Plain(file) => file,
            Self::Gzip(decoder) => decoder.get_ref().get_ref().1,
        }
    }

    /// Returns what is compressed in bytes that have been read and the rest of their file.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn decompressed(&self, bytes: Vec<u8>) -> io::Result<Self> {
        let rest = Cursor::new(bytes).chain(self.file().try_clone()?);
        Ok(Self::Gzip(Box::new(MultiGzDecoder::new(rest))))
    }
}

impl Read for TableStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(buffer),
            Self::Gzip(decoder) => decoder.read(buffer).map_err(|error| match error.kind() {
                kind @ (ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof) => {
                    io::Error::new(kind, "the gzip data is damaged or incomplete")
                }
                _ => error,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_as_few_bytes_as_it_takes() {
        for (magic, format) in MAGICS {
            for length in 0..magic.len() {
                assert_eq!(TableFormat::of(&magic[..length]), None, "{format:?}");
            }
            assert_eq!(TableFormat::of(&[magic, &b"more"[..]].concat()), Some(*format));
        }
        for text in ["a", "\u{feff}a,b\n", "PAR,b\n", "BZh,b\n", "BZh9,b\n", "\n"] {
            assert_eq!(TableFormat::of(text.as_bytes()), Some(TableFormat::Csv), "{text:?}");
        }
    }
}
