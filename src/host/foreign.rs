//! Functions that the user allows by name: of the process, or of a shared
//! library.
//!
//! Nothing is known of them but an address. What they must be like to be called
//! is said at [`Config::allow_extern`](crate::Config::allow_extern).
#![allow(unsafe_code)]

use libloading::os::unix::Library;
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A function which programs may call once they have declared how many
/// arguments it takes.
#[derive(Clone)]
pub struct Foreign {
    /// Its address.
    pub address: usize,
    /// What keeps it in memory.
    library: Arc<Library>,
}

/// Why there is no such function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForeignError {
    /// The library cannot be loaded; the second part says why.
    #[error("`{path}` cannot be loaded: {1}", path = .0.display())]
    Library(PathBuf, String),
    /// It has no function of that name.
    #[error("there is no function `{0}` in {1}")]
    Missing(String, String),
}

impl Foreign {
    /// Finds a function in a library, or in the process and what it has loaded.
    ///
    /// # Errors
    /// When the library cannot be loaded or has no such function.
    ///
    /// # Safety
    /// The initialisers of the library must be fit to run in this process.
    pub unsafe fn find(name: &str, path: Option<&Path>) -> Result<Self, ForeignError> {
        let library = match path {
            None => Library::this(),
            // SAFETY: the caller's promise.
            Some(path) => unsafe { Library::new(path) }.map_err(|error| {
                let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                ForeignError::Library(path.to_owned(), reason)
            })?,
        };
        // SAFETY: only the address is taken, whatever is at it.
        let address = match unsafe { library.get::<*const ()>(name) } {
            Ok(symbol) => symbol.as_raw_ptr() as usize,
            Err(_) => 0,
        };
        if address == 0 {
            let place = path.map_or("this process".into(), |path| format!("`{}`", path.display()));
            return Err(ForeignError::Missing(name.to_owned(), place));
        }
        Ok(Self { address, library: Arc::new(library) })
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Foreign({:#x} in {:?})", self.address, self.library)
    }
}
