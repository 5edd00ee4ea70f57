//! What the text of a source is kept in.
#![allow(unsafe_code)]

use crate::bytes::StoredBytes;
use std::ops::Deref;
use std::str::{self, Utf8Error};

/// A text in bytes that it owns, or that others keep as well.
pub struct Content(StoredBytes);

impl Content {
    /// Takes bytes for a text.
    ///
    /// # Errors
    /// Where they are not UTF-8, and the bytes.
    pub fn new(bytes: StoredBytes) -> Result<Self, (Utf8Error, StoredBytes)> {
        match str::from_utf8(bytes.get()) {
            Ok(_) => Ok(Self(bytes)),
            Err(error) => Err((error, bytes)),
        }
    }

    /// Returns the text without a byte order mark at its start.
    pub fn without_mark(self) -> Self {
        match self.strip_prefix('\u{FEFF}') {
            Some(rest) => rest.to_owned().into(),
            None => self,
        }
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self(StoredBytes::Own(text.into_bytes()))
    }
}

impl Deref for Content {
    type Target = str;

    fn deref(&self) -> &str {
        // SAFETY: they are from a `String`, or `new` has found them to be UTF-8. Nothing changes
        // them: what gives parts of shared bytes is immutable, too.
        unsafe { str::from_utf8_unchecked(self.0.get()) }
    }
}
