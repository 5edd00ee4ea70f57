//! Names that Python passes.

use pyo3::prelude::*;

/// Names, one or many: in one text, between commas or white space, or in an iterable.
pub struct Names(pub Vec<String>);

impl<'py> FromPyObject<'_, 'py> for Names {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = object.extract::<String>() {
            let names = text.split(|character: char| character == ',' || character.is_whitespace());
            return Ok(Self(names.filter(|name| !name.is_empty()).map(str::to_owned).collect()));
        }
        object.try_iter()?.map(|name| name?.extract()).collect::<PyResult<_>>().map(Self)
    }
}
