//! What functions are pickled as: the source of their definitions, with what identifies what they
//! compute.

use crate::callback;
use crate::meaning::{Meaning, Target};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Returns the arguments with which `kal._pickle.function` makes a function of this meaning again.
///
/// # Errors
/// If it calls a Python function, which is not sent to another process.
pub fn pickled<'py>(py: Python<'py>, meaning: &Meaning) -> PyResult<Bound<'py, PyTuple>> {
    let source = meaning.kernel.source();
    callback::check_pickled(&source)?;
    let (source, text, parameters) = match &meaning.target {
        // A function of the library has no definition.
        Target::Name(name) if meaning.is_formula() => (String::new(), &**name, None),
        Target::Name(name) => (source, &**name, None),
        // Without comments around it.
        Target::Formula { parameters, .. } => {
            (source, meaning.kernel.text(), Some(PyTuple::new(py, parameters)?))
        }
    };
    let id = meaning.kernel.id().to_string();
    (source, text, parameters, id, meaning.session.settings.keywords(py)?).into_pyobject(py)
}
