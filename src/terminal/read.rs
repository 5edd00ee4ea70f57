//! Reading programs from files and from standard input.

use crate::bytes::StoredBytes;
use crate::error::Error;
use crate::library::read_up_to;
use crate::program::Program;
use crate::saved_session::{SavedSession, is_session};
use crate::source::{Content, Source};
use crate::syntax::lexer::LONGEST_SOURCE;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek};
use std::path::Path;

/// How much of a file is compared at a time, in bytes.
const COMPARED: usize = 64 << 10;

/// Why a program cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// The file cannot be read.
    #[error("{0}: {1}")]
    Io(String, io::Error),
    /// It is not UTF-8 from a line on.
    #[error("{0}: line {1} is not UTF-8 text")]
    NotText(String, usize),
    /// It is a stored program where a source is needed.
    #[error("{0} is a stored program, not a text; run it with `kal FILE`, read it with `kal emit tape FILE`")]
    IsStored(String),
    /// It is a stored program that cannot be used.
    #[error("{0}: {1}")]
    Stored(String, Error),
}

/// Reads a file into a source.
pub(crate) fn read(path: &Path) -> Result<Source, ReadError> {
    text(path, load(path)?)
}

/// Reads the bytes of a file, up to the first that no source may have.
pub(crate) fn load(path: &Path) -> Result<StoredBytes, ReadError> {
    load_unless_known(path, None)
}

/// Does so, unless they are those that are `known`.
pub(crate) fn load_unless_known(path: &Path, known: Option<StoredBytes>) -> Result<StoredBytes, ReadError> {
    let failed = |error| ReadError::Io(path.display().to_string(), error);
    let mut file = File::open(path).map_err(failed)?;
    if let Some(known) = known
        && is_in_file(known.get(), &mut file).map_err(failed)?
    {
        return Ok(known);
    }
    // A device may have no end.
    read_up_to(file, u64::from(LONGEST_SOURCE) + 1).map_err(failed)
}

/// Returns whether these are the bytes of a file, of which little is in memory at a time. One that has
/// others is at its beginning again.
///
/// # Errors
/// If it cannot be read.
fn is_in_file(bytes: &[u8], file: &mut File) -> io::Result<bool> {
    let data = file.metadata()?;
    if !data.is_file() || data.len() != bytes.len() as u64 {
        return Ok(false);
    }
    let mut part = vec![0; COMPARED.min(bytes.len())];
    let mut is_next = |expected: &[u8]| match file.read_exact(&mut part[..expected.len()]) {
        Ok(()) => Ok(part[..expected.len()] == *expected),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    };
    for expected in bytes.chunks(COMPARED) {
        if !is_next(expected)? {
            file.rewind()?;
            return Ok(false);
        }
    }
    Ok(true)
}

/// Makes a source of the bytes of a file: a text, or a session, whose script it is.
pub(crate) fn text(path: &Path, bytes: StoredBytes) -> Result<Source, ReadError> {
    let name = path.display().to_string();
    if Program::is_stored(bytes.get()) {
        return Err(ReadError::IsStored(name));
    }
    if is_session(bytes.get()) {
        let session = SavedSession::from_bytes(bytes.get());
        let session =
            session.map_err(|damage| ReadError::Stored(name.clone(), Error::DamagedSession(damage)))?;
        return Ok(Source::new(name, session.script));
    }
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    let text = decoded(&name, bytes)?.without_mark();
    Ok(Source::of_file(name, text, Some(folder.to_owned())))
}

/// Reads all of standard input into a source.
pub(crate) fn standard_input() -> Result<Source, ReadError> {
    let name = "standard input";
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|error| ReadError::Io(name.to_owned(), error))?;
    Ok(Source::of_file("<stdin>", decoded(name, bytes.into())?.without_mark(), None))
}

fn decoded(name: &str, bytes: StoredBytes) -> Result<Content, ReadError> {
    Content::new(bytes).map_err(|(error, bytes)| {
        let valid = &bytes.get()[..error.valid_up_to()];
        ReadError::NotText(name.to_owned(), valid.iter().filter(|&&byte| byte == b'\n').count() + 1)
    })
}
