//! Columns with nulls: Arrow's arrays, through its capsules for Python.
#![allow(unsafe_code)]

use crate::apply::{self, How, OnError};
use crate::meaning::Meaning;
use crate::ndarray::{self, plain};
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{
    Array as _, ArrayReader as _, ArrayRef, Float64Array, cast::AsArray, make_array, new_empty_array, types,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_schema::{ArrowError, DataType};
use kal::{Column, Validity};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyFloat, PyInt, PyList, PyTuple};
use rustix::mm::{Advice, madvise};
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

/// Returns whether an argument is a column that is computed with its nulls. What knows NumPy's
/// functions takes part in them by itself, except for series of Polars: of these, it would pass
/// the numbers by which categories and dates are stored.
pub fn is_column(argument: &Bound<'_, PyAny>) -> PyResult<bool> {
    let has = |name| argument.hasattr(name);
    let has_capsules = has("__arrow_c_array__")? || has("__arrow_c_stream__")?;
    Ok(has_capsules && (!has("__array_ufunc__")? || is_series(argument)?))
}

/// Returns whether an argument is a series of Polars.
pub fn is_series(argument: &Bound<'_, PyAny>) -> PyResult<bool> {
    let modules = argument.py().import("sys")?.getattr("modules")?;
    let series = modules.get_item("polars").and_then(|polars| polars.getattr("Series"));
    series.map_or(Ok(false), |series| argument.is_instance(&series))
}

/// An argument.
enum Input {
    Column(Float64Array),
    Every(f64),
    Null,
}

impl Input {
    /// Returns the rows that a column has. One with a single row is repeated, as NumPy does.
    fn rows(&self) -> Option<usize> {
        match self {
            Self::Column(array) => Some(array.len()),
            Self::Every(_) | Self::Null => None,
        }
    }

    /// Returns a column of one row as what is the same in every row.
    fn repeated(self) -> Self {
        match self {
            Self::Column(array) if array.is_null(0) => Self::Null,
            Self::Column(array) => Self::Every(array.value(0)),
            Self::Every(_) | Self::Null => self,
        }
    }

    fn column(&self) -> Column<'_> {
        match self {
            Self::Column(array) => Column::Values(array.values()),
            Self::Every(value) => Column::Every(*value),
            Self::Null => Column::Every(f64::NAN),
        }
    }
}

/// Calls a function with columns: where an argument is null, so is the result. Returns a column
/// of the library that the first one is of, if that is pyarrow or Polars.
pub fn call<'py>(
    py: Python<'py>,
    meaning: &Arc<Meaning>,
    arguments: &[Bound<'py, PyAny>],
    threads: usize,
    on_error: OnError,
) -> PyResult<Bound<'py, PyAny>> {
    let named = meaning.parameters.iter().zip(arguments);
    let inputs = named
        .map(|(parameter, argument)| input(argument).map_err(|error| at_parameter(py, parameter, error)));
    let mut inputs: Vec<Input> = inputs.collect::<PyResult<_>>()?;
    let mut counts = inputs.iter().filter_map(Input::rows).filter(|rows| *rows != 1);
    let rows = counts.next().unwrap_or(1);
    if let Some(other) = counts.find(|other| *other != rows) {
        return Err(PyValueError::new_err(format!("columns have {rows} and {other} rows")));
    }
    if rows != 1 {
        let fitting = |input: Input| if input.rows() == Some(1) { input.repeated() } else { input };
        inputs = inputs.into_iter().map(fitting).collect();
    }
    let nulls = nulls(&inputs, rows);
    let result = Array(computed(py, meaning, &inputs, rows, nulls, (threads, on_error))?);
    as_given(py, result, arguments)
}

/// Returns why columns are not computed with an option, such as those of NumPy's functions. Polars
/// looks for Python's own words in it, and then leaves away an option that it has added.
pub fn refused_option(option: &str) -> PyErr {
    let message =
        format!("a call with columns of Arrow or Polars got an unexpected keyword argument '{option}'");
    PyTypeError::new_err(message)
}

/// Returns an error of an argument with the parameter that it was given for.
fn at_parameter(py: Python<'_>, parameter: &str, error: PyErr) -> PyErr {
    let message = format!("`{parameter}`: {}", error.value(py));
    if error.is_instance_of::<PyTypeError>(py) {
        PyTypeError::new_err(message)
    } else if error.is_instance_of::<PyValueError>(py) {
        PyValueError::new_err(message)
    } else {
        error
    }
}

/// Returns whether an argument is a number of Python.
pub fn is_number(argument: &Bound<'_, PyAny>) -> bool {
    argument.is_instance_of::<PyFloat>() || argument.is_instance_of::<PyInt>()
}

fn input(argument: &Bound<'_, PyAny>) -> PyResult<Input> {
    if argument.is_none() {
        return Ok(Input::Null);
    }
    if is_number(argument) {
        return argument.extract().map(Input::Every);
    }
    if is_column(argument)? {
        return doubles(argument).map(Input::Column);
    }
    // A scalar of pyarrow, which may be null.
    if let Ok(value) = argument.call_method0("as_py") {
        return input(&value);
    }
    let numpy = ndarray::numpy(argument.py())?;
    if argument.hasattr("__array_ufunc__")? && !argument.is_instance(&numpy.getattr("ndarray")?)? {
        let kind = kind(argument)?;
        return Err(PyTypeError::new_err(format!(
            "a {kind} cannot be combined with columns of Arrow or Polars: convert it to one of these"
        )));
    }
    let array = numpy.call_method1("asanyarray", (argument,))?;
    let is_object = array.getattr("dtype")?.getattr("hasobject")?.extract::<bool>()?;
    match array.getattr("ndim")?.extract::<usize>()? {
        // A number of another kind, such as a `Decimal`.
        0 if is_object => argument.extract().map(Input::Every),
        0 => as_doubles(&array)?.extract().map(Input::Every),
        1 => of_numpy(&array).map(Input::Column),
        _ => Err(PyValueError::new_err("a column has one dimension")),
    }
}

/// Returns the name of the library that an argument is of.
fn library_name(argument: &Bound<'_, PyAny>) -> PyResult<String> {
    let module = argument.get_type().getattr("__module__")?.extract::<String>()?;
    Ok(module.split('.').next().unwrap_or_default().to_owned())
}

/// Returns the type of an argument, with the library that it is of.
fn kind(argument: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(format!("{}.{}", library_name(argument)?, argument.get_type().name()?))
}

/// Returns an array of NumPy as one of doubles, if that loses nothing but digits of integers.
fn as_doubles<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    array.call_method1("astype", ("float64", "C", "safe", false, false))
}

/// Returns an array of NumPy, of one dimension, as a column. What is masked is null.
fn of_numpy(array: &Bound<'_, PyAny>) -> PyResult<Float64Array> {
    let numpy = ndarray::numpy(array.py())?;
    let data = as_doubles(&numpy.call_method1("asarray", (array,))?)?;
    let values = plain(&data).map_or_else(Vec::new, |plain| plain.values.to_vec());
    let mut nulls = None;
    if let Ok(mask) = array.getattr("mask") {
        let mask = numpy.call_method1("broadcast_to", (mask, (values.len(),)))?;
        let valid: Vec<bool> = mask.call_method0("tolist")?.cast_into::<PyList>()?.extract()?;
        nulls = Some(NullBuffer::from_iter(valid.into_iter().map(|is_masked| !is_masked)));
    }
    Ok(Float64Array::new(values.into(), nulls))
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
    let field = reader.field().clone();
    let chunks: Vec<ArrayRef> = reader.collect::<Result<_, _>>().map_err(refused)?;
    let chunks: Vec<&dyn arrow_array::Array> = chunks.iter().map(AsRef::as_ref).collect();
    match chunks[..] {
        [] => Ok(new_empty_array(field.data_type())),
        _ => arrow_select::concat::concat(&chunks).map_err(refused),
    }
}

/// Returns the values of a column as doubles.
fn doubles(column: &Bound<'_, PyAny>) -> PyResult<Float64Array> {
    fn has_numbers(data_type: &DataType) -> bool {
        match data_type {
            DataType::Null | DataType::Boolean => true,
            DataType::Dictionary(_, values) => has_numbers(values),
            other => other.is_numeric(),
        }
    }
    let own = own_type(column)?;
    let array = match own.as_deref() {
        // What Polars exports of these types is not defined by Arrow.
        Some("Null" | "Int128" | "UInt128") if is_series(column)? => {
            let double = column.py().import("polars")?.getattr("Float64")?;
            imported(&column.call_method1("cast", (double,))?)?
        }
        _ => imported(column)?,
    };
    if !has_numbers(array.data_type()) {
        let refusal = if column.hasattr("columns")? {
            format!("a {} is a table, not a column", kind(column)?)
        } else {
            let own = own.unwrap_or_else(|| array.data_type().to_string());
            format!("a column of {own} does not hold numbers")
        };
        return Err(PyTypeError::new_err(refusal));
    }
    let cast = arrow_cast::cast(&array, &DataType::Float64).map_err(refused)?;
    Ok(cast.as_primitive::<types::Float64Type>().clone())
}

/// Returns what the library of a column calls the type of its values.
fn own_type(column: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let attribute = match Library::of(column)? {
        Library::Pyarrow => "type",
        Library::Polars => "dtype",
        Library::Other => return Ok(None),
    };
    // Tables have no type.
    Ok(column.getattr(attribute).ok().map(|own| own.to_string()))
}

/// Returns which rows are null because an argument is.
fn nulls(inputs: &[Input], rows: usize) -> Option<NullBuffer> {
    inputs.iter().fold(None, |nulls, input| match input {
        Input::Column(array) => NullBuffer::union(nulls.as_ref(), array.nulls()),
        Input::Null => Some(NullBuffer::new_null(rows)),
        Input::Every(_) => nulls,
    })
}

/// Computes the rows that are not null.
fn computed(
    py: Python<'_>,
    meaning: &Meaning,
    inputs: &[Input],
    rows: usize,
    nulls: Option<NullBuffer>,
    (threads, on_error): (usize, OnError),
) -> PyResult<Float64Array> {
    let columns: Vec<Column<'_>> = inputs.iter().map(Input::column).collect();
    let mut values = vec![0.0; rows];
    advise_huge_pages(&mut values);
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

/// Asks the system for huge pages for values that were not written yet, if they are many, as NumPy
/// does for its arrays: else most of the time of a short formula is spent on page faults.
fn advise_huge_pages(values: &mut [f64]) {
    const LEAST: usize = 4 << 20;
    const PAGE: usize = 4096;
    let bytes = size_of_val(values);
    if bytes < LEAST {
        return;
    }
    let start = values.as_mut_ptr().cast::<u8>();
    let skipped = start.align_offset(PAGE);
    // SAFETY: the range is within the values; the advice changes nothing in them.
    // Without huge pages the result is the same.
    let _ = unsafe { madvise(start.add(skipped).cast(), bytes - skipped, Advice::LinuxHugepage) };
}

/// A library that columns come back as columns of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Library {
    Pyarrow,
    Polars,
    Other,
}

impl Library {
    /// Returns the library that a column is of.
    fn of(column: &Bound<'_, PyAny>) -> PyResult<Self> {
        if is_series(column)? {
            return Ok(Self::Polars);
        }
        let is_of_pyarrow = library_name(column)? == "pyarrow";
        Ok(if is_of_pyarrow { Self::Pyarrow } else { Self::Other })
    }
}

/// Returns a column as one of the library that the first column is of: in chunks if one of
/// pyarrow is, or with the name of the first series of Polars.
fn as_given<'py>(
    py: Python<'py>,
    result: Array,
    arguments: &[Bound<'py, PyAny>],
) -> PyResult<Bound<'py, PyAny>> {
    let mut columns = Vec::with_capacity(arguments.len());
    for argument in arguments {
        if !argument.is_none() && !is_number(argument) && is_column(argument)? {
            columns.push((argument, Library::of(argument)?));
        }
    }
    let result = Bound::new(py, result)?.into_any();
    match columns.first() {
        None | Some((_, Library::Other)) => Ok(result),
        Some((first, Library::Polars)) => {
            let series = py.import("polars")?.call_method1("Series", (result,))?;
            series.call_method1("alias", (first.getattr("name")?,))
        }
        Some((_, Library::Pyarrow)) => {
            let pyarrow = py.import("pyarrow")?;
            let array = pyarrow.call_method1("array", (result,))?;
            let chunked = pyarrow.getattr("ChunkedArray")?;
            for (column, _) in columns {
                if column.is_instance(&chunked)? {
                    return pyarrow.call_method1("chunked_array", (vec![array],));
                }
            }
            Ok(array)
        }
    }
}
