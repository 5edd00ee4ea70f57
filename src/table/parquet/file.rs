//! The file of a table in Parquet.

use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// A file that is read by several threads, each at places of its own.
#[derive(Clone)]
pub(super) struct SharedFile(pub(super) Arc<File>);

/// A part of such a file, from an offset on.
pub(super) struct FilePart {
    file: Arc<File>,
    offset: u64,
}

impl Read for FilePart {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

impl Length for SharedFile {
    fn len(&self) -> u64 {
        self.0.metadata().map_or(0, |metadata| metadata.len())
    }
}

impl ChunkReader for SharedFile {
    type T = BufReader<FilePart>;

    fn get_read(&self, offset: u64) -> ParquetResult<Self::T> {
        Ok(BufReader::new(FilePart { file: self.0.clone(), offset }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        // A damaged file may ask for more than there is.
        if start.checked_add(length as u64).is_none_or(|end| end > self.len()) {
            return Err(ParquetError::EOF("the file ends before".into()));
        }
        let mut bytes = vec![0; length];
        self.0.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}
