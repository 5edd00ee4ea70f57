//! NumPy's arrays, where they are plain: doubles of this machine, one after the other.
#![allow(unsafe_code)]

use numpy::npyffi::{
    NPY_ARRAY_ALIGNED, NPY_ARRAY_C_CONTIGUOUS, NPY_TYPES, NpyTypes, PY_ARRAY_API, PyArrayObject,
    get_type_object, npy_intp,
};
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// Imports NumPy, or raises why there is none.
pub fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    let import = || {
        let imported = py.import("numpy").map(Bound::unbind);
        imported.map_err(|cause| {
            let missing =
                PyImportError::new_err("arrays are computed with NumPy, which could not be imported");
            missing.set_cause(py, Some(cause));
            missing
        })
    };
    Ok(NUMPY.get_or_try_init(py, import)?.bind(py))
}

/// Returns whether NumPy has been imported: else there are no arrays.
pub fn is_numpy_loaded(py: Python<'_>) -> PyResult<bool> {
    if NUMPY.get(py).is_some() {
        return Ok(true);
    }
    let is_loaded = py.import("sys")?.getattr("modules")?.contains("numpy")?;
    if is_loaded {
        numpy(py)?;
    }
    Ok(is_loaded)
}

/// Returns whether an object is an array, not of a subclass. NumPy must have been
/// [imported](numpy).
pub fn is_array(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: NumPy's types exist since it was imported.
    let array_type = unsafe { get_type_object(object.py(), NpyTypes::PyArray_Type) };
    object.get_type().as_ptr() == array_type.cast()
}

/// The values of a plain array.
#[derive(Clone, Copy)]
pub struct Plain<'a> {
    pub values: &'a [f64],
    pub shape: &'a [npy_intp],
}

/// Returns the values of an array, not of a subclass, that is plain and not a scalar. NumPy
/// must have been [imported](numpy).
///
/// Another thread may write to the array while the values are read, as it may while NumPy
/// computes with them: the results of these rows are then of old or of new values.
pub fn plain<'a>(object: &'a Bound<'_, PyAny>) -> Option<Plain<'a>> {
    const FLAGS: i32 = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
    if !is_array(object) {
        return None;
    }
    let array = object.as_ptr().cast::<PyArrayObject>();
    // SAFETY: the object is an array of exactly that type, which keeps its descriptor, shape
    // and data while it exists; nothing resizes it while something refers to it. The beginning
    // of a descriptor, with type and order of bytes, is the same in NumPy 1 and 2. Flags and
    // type say that the data are doubles without gaps, as many as the shape says.
    unsafe {
        let fields = &(*array).fields;
        let descriptor = &(*fields.descr).fields;
        let is_double =
            descriptor.type_num == NPY_TYPES::NPY_DOUBLE as i32 && descriptor.byteorder as u8 != b'>';
        if !is_double || fields.flags & FLAGS != FLAGS || fields.nd < 1 {
            return None;
        }
        let shape = std::slice::from_raw_parts(fields.dimensions, fields.nd as usize);
        let count = shape.iter().product::<npy_intp>() as usize;
        let values = if count == 0 { &[] } else { std::slice::from_raw_parts(fields.data.cast(), count) };
        Some(Plain { values, shape })
    }
}

/// Creates an array of doubles, whose values `fill` writes.
///
/// # Errors
/// As `fill`, and if there is no memory.
pub fn filled<'py>(
    py: Python<'py>,
    shape: &[npy_intp],
    fill: impl FnOnce(&mut [f64]) -> PyResult<()>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut dimensions = shape.to_vec();
    let count = shape.iter().product::<npy_intp>() as usize;
    // SAFETY: the shape is one of an array; the descriptor is a new reference, which the call
    // takes over. It returns a new reference, or null with an exception.
    let array = unsafe {
        let descriptor = PY_ARRAY_API.PyArray_DescrFromType(py, NPY_TYPES::NPY_DOUBLE as i32);
        let array =
            PY_ARRAY_API.PyArray_Empty(py, dimensions.len() as i32, dimensions.as_mut_ptr(), descriptor, 0);
        Bound::from_owned_ptr_or_err(py, array)?
    };
    // SAFETY: a new array of doubles without gaps, which nothing else refers to. Its memory
    // may hold anything, and any bits are a double.
    let values = unsafe {
        let data = (*array.as_ptr().cast::<PyArrayObject>()).fields.data.cast::<f64>();
        if count == 0 { &mut [] } else { std::slice::from_raw_parts_mut(data, count) }
    };
    fill(values)?;
    Ok(array)
}
