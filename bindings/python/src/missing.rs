//! Columns with missing values that know NumPy's functions: masked arrays, and series of pandas.
//! They would have every row computed, and mark the missing ones afterwards.

use crate::call::{CallSettings, with_settings};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Calls a function with columns of which some values are missing; `None` if none are. `columns`
/// calls it with columns of Arrow.
///
/// # Errors
/// As the call.
pub fn call<'py>(
    py: Python<'py>,
    function: &Py<PyAny>,
    arguments: &[Bound<'py, PyAny>],
    settings: CallSettings,
    columns: impl FnOnce(&Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let given = py.import("kal._missing")?.getattr("given")?.call1(PyTuple::new(py, arguments)?)?;
    if given.is_none() {
        return Ok(None);
    }
    let (arguments, keywords, made): (Bound<'py, PyTuple>, Option<Bound<'py, PyDict>>, Bound<'py, PyAny>) =
        given.extract()?;
    let result = match keywords {
        None => columns(&arguments)?,
        some => with_settings(settings, || function.bind(py).call(arguments, some.as_ref()))?,
    };
    made.call1((result,)).map(Some)
}
