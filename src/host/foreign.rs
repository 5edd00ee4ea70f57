//! Foreign functions, which the user allows by name: of the process, or of a
//! shared library.
//!
//! Only their address is known; compiled code calls it directly, the
//! interpreter with [`ForeignFunction::call`]. Their requirements are
//! documented at [`Config::allow_extern`](crate::Config::allow_extern).
#![allow(unsafe_code)]

use libloading::os::unix::Library;
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A function that programs may call once they have declared its arity.
#[derive(Clone)]
pub struct ForeignFunction {
    /// Its address.
    pub address: usize,
    /// Keeps the function in memory.
    library: Arc<Library>,
}

/// Why a foreign function cannot be found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForeignError {
    /// The library cannot be loaded; the second part is the reason.
    #[error("`{path}` cannot be loaded: {1}", path = .0.display())]
    Library(PathBuf, String),
    /// There is no function of that name.
    #[error("there is no function `{0}` in {1}")]
    Missing(String, String),
}

/// Calls a function with as many doubles as a slice holds, up to the number of
/// names: one arm, and one function type, for each length.
macro_rules! call {
    ($address:expr, $arguments:expr, $($name:ident)*) => {
        call!(@ $address, $arguments, [], $($name)*)
    };
    (@ $address:expr, $arguments:expr, [$($arm:tt)*], $first:ident $($rest:ident)*) => {
        call!(@ $address, $arguments, [$($arm)* $first], $($rest)*)
            .or_else(|| call!(arm $address, $arguments, $($arm)*))
    };
    (@ $address:expr, $arguments:expr, [$($arm:tt)*],) => { call!(arm $address, $arguments, $($arm)*) };
    (arm $address:expr, $arguments:expr, $($name:ident)*) => {
        match *$arguments {
            [$($name),*] => {
                // SAFETY: the user who allowed the function has promised that
                // it takes the doubles the program passes, and returns one, by
                // the C calling convention.
                let function = unsafe {
                    std::mem::transmute::<*const (), extern "C" fn($(call!(double $name)),*) -> f64>($address)
                };
                Some(function($($name),*))
            }
            _ => None,
        }
    };
    (double $name:ident) => { f64 };
}

impl ForeignFunction {
    /// The largest number of arguments that a program may pass to a foreign
    /// function.
    pub const MOST_ARGUMENTS: u32 = 16;

    /// Calls the function; `None` for more than [`MOST_ARGUMENTS`](Self::MOST_ARGUMENTS).
    pub fn call(&self, arguments: &[f64]) -> Option<f64> {
        let address = self.address as *const ();
        call!(address, arguments, a b c d e f g h i j k l m n o p)
    }

    /// Finds a function in a library, or in the process and its loaded
    /// libraries.
    ///
    /// # Errors
    /// If the library cannot be loaded or has no such function.
    ///
    /// # Safety
    /// The initialisers of the library must be safe to run in this process, and
    /// the function must meet the requirements of
    /// [`Config::allow_extern`](crate::Config::allow_extern).
    pub unsafe fn find(name: &str, path: Option<&Path>) -> Result<Self, ForeignError> {
        let library = match path {
            None => Library::this(),
            // SAFETY: the caller's promise.
            Some(path) => unsafe { Library::new(path) }.map_err(|error| {
                let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                ForeignError::Library(path.to_owned(), reason)
            })?,
        };
        // SAFETY: only the address is taken.
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

/// Returns whether the C library, or another that this process has, defines a name.
pub fn is_of_process(name: &str) -> bool {
    // SAFETY: nothing is loaded, and only whether there is an address is asked.
    unsafe { Library::this().get::<*const ()>(name) }.is_ok()
}

impl fmt::Debug for ForeignFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ForeignFunction({:#x} in {:?})", self.address, self.library)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! weighted {
        ($($name:ident $weight:literal)*) => {
            extern "C" fn weighted($($name: f64),*) -> f64 { 0.0 $(+ $name * $weight)* }
        };
    }

    weighted!(a 1.0 b 2.0 c 3.0 d 4.0 e 5.0 f 6.0 g 7.0 h 8.0 i 9.0 j 10.0 k 11.0 l 12.0 m 13.0 n 14.0 o 15.0 p 16.0);

    extern "C" fn nothing() -> f64 {
        7.0
    }

    #[test]
    fn arguments_arrive_in_their_order() {
        let foreign = |address| ForeignFunction { address, library: Arc::new(Library::this()) };
        let arguments: Vec<f64> = (0..17).map(|index| f64::from(1 << index)).collect();
        let expected = (0..16).map(|index| f64::from((1 << index) * (index + 1))).sum();
        assert_eq!(foreign(weighted as *const () as usize).call(&arguments[..16]), Some(expected));
        assert_eq!(foreign(weighted as *const () as usize).call(&arguments), None);
        assert_eq!(foreign(nothing as *const () as usize).call(&[]), Some(7.0));
    }
}
