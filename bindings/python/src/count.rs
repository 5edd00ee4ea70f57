//! Counts that Python passes.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBool;

/// Reads a count, of at least `least`. What has `__index__` is one, as an integer of NumPy has, but a
/// truth value is none.
///
/// # Errors
/// If it is none, with what is allowed for the argument `what`.
pub fn count(what: &str, least: u64, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let wrong = || {
        let given = value.repr().map_or_else(|_| "this".to_owned(), |repr| repr.to_string());
        format!("{what} is a whole number, {least} or more, not {given}")
    };
    if value.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err(wrong()));
    }
    match value.extract::<u64>() {
        Ok(count) if count >= least => Ok(count),
        Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => Err(PyTypeError::new_err(wrong())),
        // A negative number, or one that is too large.
        Ok(_) | Err(_) => Err(PyValueError::new_err(wrong())),
    }
}
