//! Reading programs from files and from standard input.

use crate::error::Error;
use crate::library::read_up_to;
use crate::program::Program;
use crate::saved_session::{SavedSession, is_session};
use crate::source::Source;
use crate::syntax::lexer::LONGEST_SOURCE;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

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
pub(crate) fn load(path: &Path) -> Result<Vec<u8>, ReadError> {
    let failed = |error| ReadError::Io(path.display().to_string(), error);
    let file = File::open(path).map_err(failed)?;
    // A device may have no end.
    read_up_to(file, u64::from(LONGEST_SOURCE) + 1).map_err(failed)
}

/// Makes a source of the bytes of a file: a text, or a session, whose script it is.
pub(crate) fn text(path: &Path, bytes: Vec<u8>) -> Result<Source, ReadError> {
    let name = path.display().to_string();
    if Program::is_stored(&bytes) {
        return Err(ReadError::IsStored(name));
    }
    if is_session(&bytes) {
        let session = SavedSession::from_bytes(&bytes);
        let session =
            session.map_err(|damage| ReadError::Stored(name.clone(), Error::DamagedSession(damage)))?;
        return Ok(Source::new(name, session.script));
    }
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    Ok(Source::in_folder(name.clone(), decoded(name, bytes)?, folder))
}

/// Reads all of standard input into a source.
pub(crate) fn standard_input() -> Result<Source, ReadError> {
    let name = || "standard input".to_owned();
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|error| ReadError::Io(name(), error))?;
    Ok(Source::read("<stdin>", decoded(name(), bytes)?))
}

fn decoded(name: String, bytes: Vec<u8>) -> Result<String, ReadError> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid].iter().filter(|&&byte| byte == b'\n').count() + 1;
        ReadError::NotText(name, line)
    })
}
