//! Columns with nulls: Arrow's arrays, through its capsules for Python.
#![allow(unsafe_code)]

use crate::apply::{self, How, OnError};
use crate::meaning::Meaning;
use crate::ndarray::{self, plain};
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array as _, ArrayRef, Float64Array, cast::AsArray, make_array, new_empty_array, types};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_schema::{ArrowError, DataType};
use kal::{Column, Validity};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyFloat, PyInt, PyTuple};
use std::sync::Arc;

const SCHEMA: &std::ffi::CStr = c"arrow_schema";
const ARRAY: &std::ffi::CStr = c"arrow_array";
const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// A column of doubles, some of which may be null, that any library which knows Arrow takes:
/// `pyarrow.array(column)`, `polars.Series(column)`. NumPy gets NaN for what is null.
#[pyclass(frozen, module = "kal")]
pub struct Array(Float64Array);

type Capsules<'py> = (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>);

#[pymethods]
impl Array {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// How many values are null.
    #[getter]
    fn null_count(&self) -> usize {
        self.0.null_count()
    }

    /// Returns the values as a list, with None for what is null.
    fn to_pylist(&self) -> Vec<Option<f64>> {
        self.0.iter().collect()
    }

    /// Returns the capsules of Arrow's C data interface: a schema and an array.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Capsules<'py>> {
        // A producer may leave a request aside, and the consumer casts.
        drop(requested_schema);
        let (array, schema) = to_ffi(&self.0.to_data()).map_err(refused)?;
        Ok((PyCapsule::new_with_value(py, schema, SCHEMA)?, PyCapsule::new_with_value(py, array, ARRAY)?))
    }

    /// Returns the capsule of the schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.data_type()).map_err(refused)?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }

    /// Returns the values as a new array of NumPy.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(PyValueError::new_err("the values of a column with nulls have to be copied"));
        }
        ndarray::numpy(py)?;
        let array = ndarray::filled(py, &[self.0.len() as isize], |values| {
            let given = self.0.iter().map(|value| value.unwrap_or(f64::NAN));
            values.iter_mut().zip(given).for_each(|(value, given)| *value = given);
            Ok(())
        })?;
        dtype.map_or(Ok(array.clone()), |dtype| array.call_method1("astype", (dtype,)))
    }

    fn __repr__(&self) -> String {
        const SHOWN: usize = 8;
        let text = |value: Option<f64>| value.map_or("null".to_owned(), kal::format_number);
        let mut values: Vec<String> = self.0.iter().take(SHOWN).map(text).collect();
        if self.0.len() > SHOWN {
            values.push("…".into());
        }
        format!("<kal.Array [{}], {} rows>", values.join(", "), self.0.len())
    }
}

fn refused(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Returns whether an argument is a column that is to be taken with its nulls. What knows
/// NumPy's functions takes part in them by itself.
pub fn is_column(argument: &Bound<'_, PyAny>) -> PyResult<bool> {
    let has = |name| argument.hasattr(name);
    Ok((has("__arrow_c_array__")? || has("__arrow_c_stream__")?) && !has("__array_ufunc__")?)
}

/// An argument.
enum Input<'a> {
    Column(Float64Array),
    Values(&'a [f64]),
    Every(f64),
    Null,
}

impl Input<'_> {
    fn rows(&self) -> Option<usize> {
        match self {
            Self::Column(array) => Some(array.len()),
            Self::Values(values) => Some(values.len()),
            Self::Every(_) | Self::Null => None,
        }
    }

    fn column(&self) -> Column<'_> {
        match self {
            Self::Column(array) => Column::Values(array.values()),
            Self::Values(values) => Column::Values(values),
            Self::Every(value) => Column::Every(*value),
            Self::Null => Column::Every(f64::NAN),
        }
    }
}

/// Calls a function with columns: where an argument is null, so is the result. Returns an array
/// of the library that the columns are of, if that is pyarrow.
pub fn call<'py>(
    py: Python<'py>,
    meaning: &Arc<Meaning>,
    arguments: &[Bound<'py, PyAny>],
    threads: usize,
    on_error: OnError,
) -> PyResult<Bound<'py, PyAny>> {
    let arguments: Vec<Bound<'py, PyAny>> =
        arguments.iter().map(|argument| plain_or_same(argument)).collect::<PyResult<_>>()?;
    let inputs: Vec<Input<'_>> = arguments.iter().map(input).collect::<PyResult<_>>()?;
    let rows = inputs.iter().find_map(Input::rows).unwrap_or(0);
    if let Some(other) = inputs.iter().filter_map(Input::rows).find(|other| *other != rows) {
        return Err(PyValueError::new_err(format!("columns have {rows} and {other} rows")));
    }
    let nulls = nulls(&inputs, rows);
    let result = Array(computed(py, meaning, &inputs, rows, nulls, (threads, on_error))?);
    as_given(py, result, &arguments)
}

/// Returns an array of NumPy as a plain one, anything else as it is.
fn plain_or_same<'py>(argument: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = argument.py();
    let is_array = || argument.is_instance(&ndarray::numpy(py)?.getattr("ndarray")?);
    if is_number(argument) || argument.is_none() || is_column(argument)? || !is_array()? {
        return Ok(argument.clone());
    }
    ndarray::numpy(py)?.call_method1("ascontiguousarray", (argument, "float64"))
}

fn is_number(argument: &Bound<'_, PyAny>) -> bool {
    argument.is_instance_of::<PyFloat>() || argument.is_instance_of::<PyInt>()
}

fn input<'a>(argument: &'a Bound<'_, PyAny>) -> PyResult<Input<'a>> {
    if argument.is_none() {
        return Ok(Input::Null);
    }
    if is_number(argument) {
        return argument.extract().map(Input::Every);
    }
    if is_column(argument)? {
        return doubles(&imported(argument)?).map(Input::Column);
    }
    match plain(argument) {
        Some(array) if array.shape.len() == 1 => Ok(Input::Values(array.values)),
        Some(_) => Err(PyValueError::new_err("a column has one dimension")),
        None => argument.extract().map(Input::Every),
    }
}

/// Returns the array that an object is, or the arrays that it streams, in one.
fn imported(object: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    if object.hasattr("__arrow_c_array__")? {
        let capsules = object.call_method0("__arrow_c_array__")?.cast_into::<PyTuple>()?;
        let schema = capsules.get_item(0)?.cast_into::<PyCapsule>()?.pointer_checked(Some(SCHEMA))?;
        let array = capsules.get_item(1)?.cast_into::<PyCapsule>()?.pointer_checked(Some(ARRAY))?;
        // SAFETY: the names of the capsules say what they hold, which follows Arrow's C data
        // interface. The array is moved out, as a consumer does, which leaves a released one.
        let data = unsafe {
            let array = FFI_ArrowArray::from_raw(array.as_ptr().cast());
            from_ffi(array, schema.cast::<FFI_ArrowSchema>().as_ref())
        };
        return data.map(make_array).map_err(refused);
    }
    let capsule = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(STREAM))?;
    // SAFETY: as above, of a stream.
    let reader = unsafe { ArrayStreamReader::from_raw(stream.as_ptr().cast::<FFI_ArrowArrayStream>()) };
    let reader = reader.map_err(refused)?;
    let chunks: Vec<ArrayRef> = reader.collect::<Result<_, _>>().map_err(refused)?;
    let chunks: Vec<&dyn arrow_array::Array> = chunks.iter().map(AsRef::as_ref).collect();
    match chunks[..] {
        [] => Ok(new_empty_array(&DataType::Float64)),
        _ => arrow_select::concat::concat(&chunks).map_err(refused),
    }
}

/// Returns the values of a column as doubles.
fn doubles(array: &ArrayRef) -> PyResult<Float64Array> {
    fn has_numbers(data_type: &DataType) -> bool {
        match data_type {
            DataType::Null | DataType::Boolean => true,
            DataType::Dictionary(_, values) => has_numbers(values),
            other => other.is_numeric(),
        }
    }
    if !has_numbers(array.data_type()) {
        return Err(PyTypeError::new_err(format!("a column of {} does not hold numbers", array.data_type())));
    }
    let cast = arrow_cast::cast(array, &DataType::Float64).map_err(refused)?;
    Ok(cast.as_primitive::<types::Float64Type>().clone())
}

/// Returns which rows are null because an argument is.
fn nulls(inputs: &[Input<'_>], rows: usize) -> Option<NullBuffer> {
    inputs.iter().fold(None, |nulls, input| match input {
        Input::Column(array) => NullBuffer::union(nulls.as_ref(), array.nulls()),
        Input::Null => Some(NullBuffer::new_null(rows)),
        Input::Values(_) | Input::Every(_) => nulls,
    })
}

/// Computes the rows that are not null.
fn computed(
    py: Python<'_>,
    meaning: &Meaning,
    inputs: &[Input<'_>],
    rows: usize,
    nulls: Option<NullBuffer>,
    (threads, on_error): (usize, OnError),
) -> PyResult<Float64Array> {
    let columns: Vec<Column<'_>> = inputs.iter().map(Input::column).collect();
    let mut values = vec![0.0; rows];
    let mut marks = vec![0_u8; if on_error == OnError::Nan { rows.div_ceil(8) } else { 0 }];
    let valid = nulls.as_ref().map(|nulls| Validity { bitmap: nulls.validity(), offset: nulls.offset() });
    let since = Some(meaning.session.runs.interrupts());
    let marked = (on_error == OnError::Nan).then_some(&mut marks[..]);
    let how = How { threads, on_error, since, valid, marks: marked };
    let result = if apply::is_quick(meaning, rows) {
        apply::quick(meaning, &columns, &mut values, how)
    } else {
        py.detach(|| apply::lasting(meaning, &columns, &mut values, how))
    };
    result.map_err(|ending| ending.exception(py))?;
    let failed = marks.iter().any(|mark| *mark != 0).then(|| {
        let bits = BooleanBuffer::new(Buffer::from_vec(marks), 0, rows);
        NullBuffer::new(!&bits)
    });
    Ok(Float64Array::new(values.into(), NullBuffer::union(nulls.as_ref(), failed.as_ref())))
}

/// Returns a column as one of pyarrow, in chunks or not, if an argument is.
fn as_given<'py>(
    py: Python<'py>,
    result: Array,
    arguments: &[Bound<'py, PyAny>],
) -> PyResult<Bound<'py, PyAny>> {
    let result = Bound::new(py, result)?.into_any();
    let mut is_of_pyarrow = false;
    let mut is_chunked = false;
    for argument in arguments {
        let kind = argument.get_type();
        if kind.getattr("__module__")?.extract::<String>().is_ok_and(|module| module.starts_with("pyarrow")) {
            is_of_pyarrow = true;
            is_chunked |= kind.name()? == "ChunkedArray";
        }
    }
    if !is_of_pyarrow {
        return Ok(result);
    }
    let pyarrow = py.import("pyarrow")?;
    let array = pyarrow.call_method1("array", (result,))?;
    if is_chunked { pyarrow.call_method1("chunked_array", (vec![array],)) } else { Ok(array) }
}
