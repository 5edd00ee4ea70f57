//! NumPy's universal functions, made of what a function means at one moment.
#![allow(unsafe_code)]

use crate::apply::{self, Ending, How};
use crate::arrow;
use crate::call::{self, CallSettings};
use crate::callback::{Callables, readable_source};
use crate::meaning::{Meaning, Target};
use crate::ndarray::{self, numpy};
use crate::pickle::pickled;
use kal::Column;
use numpy::npyffi::{NPY_TYPES, PY_UFUNC_API, PyUFuncGenericFunction, PyUFuncObject, npy_intp};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::ffi::{
    Py_TPFLAGS_HAVE_GC, Py_TYPE, PyGILState_Ensure, PyGILState_Release, PyGILState_STATE, PyObject,
    PyObject_GC_IsTracked, PyObject_GC_Track, PyType_GetFlags,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyFloat, PyInt, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use std::ffi::{CString, c_char, c_int, c_void};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, OnceLock};
use std::{ptr, slice};

/// Values that lie apart are brought together for this number of rows at a time.
const BLOCK: usize = 1 << 14;

/// `PyUFunc_None`: the function has no identity, so NumPy does not reduce without a first value.
const NO_IDENTITY: c_int = -1;

/// The fewest arguments that NumPy has no functions of: 32 in NumPy 1.
const FEWEST_REFUSED: usize = 32;

/// What NumPy's function refers to for as long as it exists.
#[pyclass(frozen)]
struct Loop {
    meaning: Arc<Meaning>,
    /// The Python functions that it may call.
    callables: Py<Callables>,
    functions: [PyUFuncGenericFunction; 1],
    /// The address of the loop itself.
    data: [AtomicPtr<c_void>; 1],
    types: Vec<c_char>,
    name: CString,
    doc: CString,
    /// How NumPy calls the function.
    call: OnceLock<VectorCall>,
}

#[pymethods]
impl Loop {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.callables)
    }
}

/// `vectorcallfunc`, which the stable interface of `CPython` has from 3.12 on.
type VectorCall =
    unsafe extern "C" fn(*mut PyObject, *const *mut PyObject, usize, *mut PyObject) -> *mut PyObject;

/// The bit of `nargsf` that is not of the number of arguments:
/// `PY_VECTORCALL_ARGUMENTS_OFFSET`.
const OFFSET: usize = 1 << (usize::BITS - 1);

/// Creates NumPy's function of a meaning.
///
/// # Errors
/// If there is no NumPy, or the function has more arguments than NumPy's can have.
pub fn ufunc(py: Python<'_>, meaning: &Arc<Meaning>, callables: &Py<Callables>) -> PyResult<Py<PyAny>> {
    numpy(py)?;
    pickle_as_text(py)?;
    let text = |text: String| CString::new(text.replace('\0', " ")).unwrap_or_default();
    let name = match &meaning.target {
        Target::Name(name) => name,
        Target::Formula { .. } => "formula",
    };
    let signature = format!("{name}({})", meaning.parameters.join(", "));
    let made = Loop {
        meaning: meaning.clone(),
        callables: callables.clone_ref(py),
        functions: [Some(rows)],
        data: [AtomicPtr::default()],
        types: vec![NPY_TYPES::NPY_DOUBLE as c_char; meaning.parameters.len() + 1],
        name: text(name.to_owned()),
        doc: text(format!("{signature}\n\n{}", readable_source(&meaning.kernel.source()))),
        call: OnceLock::new(),
    };
    let arity = meaning.parameters.len() as c_int;
    let object = Bound::new(py, made)?;
    let made: &Loop = object.get();
    made.data[0].store(ptr::from_ref(made).cast_mut().cast(), Ordering::Relaxed);
    // SAFETY: the object keeps the loop at its place. NumPy keeps the pointers, which are good
    // while the object exists, and writes through none: its function gets a reference to the
    // object, which it gives up when it is destroyed.
    unsafe {
        let function = PY_UFUNC_API.PyUFunc_FromFuncAndData(
            py,
            made.functions.as_ptr().cast_mut(),
            made.data.as_ptr().cast_mut().cast(),
            made.types.as_ptr().cast_mut(),
            1,
            arity,
            1,
            NO_IDENTITY,
            made.name.as_ptr(),
            made.doc.as_ptr(),
            0,
        );
        let function = Bound::from_owned_ptr_or_err(py, function).map_err(|error| {
            if meaning.parameters.len() < FEWEST_REFUSED { error } else { too_many_arguments(meaning) }
        })?;
        let fields = &mut (*function.as_ptr().cast::<PyUFuncObject>()).fields;
        // NumPy's functions are called through their field `vectorcall`, whose type this is. Only
        // the call through a function that was made here gets to `called`.
        if let Some(call) = std::mem::transmute::<*mut c_void, Option<VectorCall>>(fields.vectorcall) {
            let _ = made.call.set(call);
            fields.vectorcall = called as *mut c_void;
        }
        fields.obj = object.into_ptr();
        // NumPy has the garbage collector track only those that it makes of functions of Python. It
        // looks into the field that was just set.
        let has_gc = PyType_GetFlags(Py_TYPE(function.as_ptr())) & Py_TPFLAGS_HAVE_GC != 0;
        if has_gc && PyObject_GC_IsTracked(function.as_ptr()) == 0 {
            PyObject_GC_Track(function.as_ptr().cast());
        }
        Ok(function.unbind())
    }
}

/// Registers how the functions of NumPy that Kal makes are pickled, once.
fn pickle_as_text(py: Python<'_>) -> PyResult<()> {
    static REGISTERED: PyOnceLock<()> = PyOnceLock::new();
    let register = || py.import("kal._pickle")?.call_method0("register_ufuncs").map(drop);
    REGISTERED.get_or_try_init(py, register).map(drop)
}

/// Returns the arguments with which `kal._pickle.ufunc` makes a function of NumPy again; None for
/// one that Kal has not made.
#[pyfunction]
pub fn pickled_ufunc<'py>(function: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let py = function.py();
    if !function.is_instance(&numpy(py)?.getattr("ufunc")?)? {
        return Ok(None);
    }
    // SAFETY: it is a function of NumPy, whose loops are as many as its types.
    let loops = unsafe {
        let fields = &(*function.as_ptr().cast::<PyUFuncObject>()).fields;
        if fields.ntypes != 1 || fields.functions.is_null() {
            return Ok(None);
        }
        (*fields.functions, fields.data)
    };
    if loops.0.map(|computing| computing as usize) != Some(rows as *const () as usize) {
        return Ok(None);
    }
    // SAFETY: what computes with `rows` was made here, so its data are one pointer, to the loop
    // that it refers to.
    let made = unsafe { &*(*loops.1).cast::<Loop>() };
    pickled(py, &made.meaning).map(Some)
}

/// Returns why NumPy can have no function of a meaning. NumPy 2 has functions of 63 arguments at most.
fn too_many_arguments(meaning: &Meaning) -> PyErr {
    let message = format!(
        "{} takes {} arguments, and a function of NumPy takes fewer: give it numbers, arrays of \
         doubles of one shape, or columns of Arrow",
        meaning.title(),
        meaning.parameters.len()
    );
    PyValueError::new_err(message)
}

/// What Python calls: NumPy's own way to call the function, with the rows counted. Series of
/// Polars are computed as columns.
unsafe extern "C" fn called(
    function: *mut PyObject,
    arguments: *const *mut PyObject,
    count: usize,
    keywords: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: Python passes the function that it calls, which is one that was made here: its
    // data are one pointer, to the loop that it refers to.
    let made = unsafe { &*(*(*function.cast::<PyUFuncObject>()).fields.data).cast::<Loop>() };
    let Some(original) = made.call.get() else { return std::ptr::null_mut() };
    // SAFETY: Python's caller is attached, and the arguments are as many as it says.
    if unsafe { has_series(Python::assume_attached(), arguments, count) } {
        // PyO3 drops exceptions at once only where it has attached the thread by itself.
        return Python::attach(|py| {
            // SAFETY: the arguments are those that Python passes.
            let given = unsafe { Given::of(py, arguments, count, keywords) };
            let computed = catch_unwind(AssertUnwindSafe(|| given.computed(&made.meaning)));
            match computed.unwrap_or_else(|_| Err(panicked())) {
                Ok(result) => result.into_ptr(),
                Err(error) => {
                    error.restore(py);
                    std::ptr::null_mut()
                }
            }
        });
    }
    let since = made.meaning.session.runs.interrupts();
    // SAFETY: what Python has passed is passed on.
    let pass_on = || unsafe { original(function, arguments, count, keywords) };
    let (result, progress) = call::counted(since, pass_on);
    if result.is_null() {
        let explain = |py: Python<'_>| {
            let Some(error) = PyErr::take(py) else { return };
            // SAFETY: the arguments are those that Python passes.
            let given = unsafe { Given::of(py, arguments, count, keywords) };
            let error = if progress.has_failed {
                // SAFETY: Python passes the function that it calls.
                let function = unsafe { Bound::from_borrowed_ptr(py, function) };
                placed(error, &made.meaning, &function, &given)
            } else {
                refused(error, &made.meaning, &given)
            };
            error.restore(py);
        };
        drop(catch_unwind(AssertUnwindSafe(|| Python::attach(explain))));
    }
    result
}

/// What a function of NumPy is called with.
struct Given<'py> {
    py: Python<'py>,
    positional: Vec<Bound<'py, PyAny>>,
    /// Keywords with their values.
    named: Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>,
}

impl<'py> Given<'py> {
    /// Reads the arguments of a call.
    ///
    /// # Safety
    /// The arguments are as many as `count` says, and one for each of the keywords, which are a
    /// tuple or null.
    unsafe fn of(
        py: Python<'py>,
        arguments: *const *mut PyObject,
        count: usize,
        keywords: *mut PyObject,
    ) -> Self {
        let positional = count & !OFFSET;
        // SAFETY: the caller's promise; Python passes no null.
        let argument = |place| unsafe { Bound::from_borrowed_ptr(py, *arguments.add(place)) };
        // SAFETY: the caller's promise.
        let keywords = unsafe { Bound::from_borrowed_ptr_or_opt(py, keywords) };
        let keywords = keywords.and_then(|keywords| keywords.cast_into::<PyTuple>().ok());
        let keywords = keywords.into_iter().flatten();
        Self {
            py,
            positional: (0..positional).map(argument).collect(),
            named: keywords.zip(positional..).map(|(key, place)| (key, argument(place))).collect(),
        }
    }

    /// Computes the call with columns.
    fn computed(&self, meaning: &Arc<Meaning>) -> PyResult<Bound<'py, PyAny>> {
        let (count, takes) = (self.positional.len(), meaning.parameters.len());
        if count != takes {
            let message = format!("a call with columns takes {takes} arguments, not {count}");
            return Err(PyTypeError::new_err(message));
        }
        if let Some((option, _)) = self.named.first() {
            return Err(arrow::refused_option(&option.to_string()));
        }
        let CallSettings { threads, on_error } = call::settings();
        arrow::call(self.py, meaning, &self.positional, threads, on_error)
    }
}

/// Returns whether an argument of a call is a series of Polars.
///
/// # Safety
/// The arguments are as many as `count` says.
unsafe fn has_series(py: Python<'_>, arguments: *const *mut PyObject, count: usize) -> bool {
    (0..count & !OFFSET).any(|place| {
        // SAFETY: the caller's promise; Python passes no null.
        let argument = unsafe { Bound::from_borrowed_ptr(py, *arguments.add(place)) };
        let is_common = ndarray::is_array(&argument)
            || argument.is_exact_instance_of::<PyFloat>()
            || argument.is_exact_instance_of::<PyInt>();
        !is_common && arrow::is_series(&argument).unwrap_or(false)
    })
}

/// Returns the error of a call with the row in which it was.
fn placed(error: PyErr, meaning: &Meaning, function: &Bound<'_, PyAny>, given: &Given<'_>) -> PyErr {
    let py = given.py;
    let place = || {
        let named = PyDict::new(py);
        for (key, value) in &given.named {
            named.set_item(key, value)?;
        }
        let arguments = PyTuple::new(py, &given.positional)?;
        let placed = py.import("kal._rows")?.getattr("placed")?;
        placed.call1((error.value(py), meaning.is_pure, function, arguments, named))
    };
    // What goes wrong here leaves the error as it is.
    place().map_or_else(|_: PyErr| error.clone_ref(py), PyErr::from_value)
}

/// Returns the error of a call that NumPy has refused, with the argument because of which it was.
fn refused(error: PyErr, meaning: &Meaning, given: &Given<'_>) -> PyErr {
    let py = given.py;
    let is_typed = given.named.iter().any(|(key, _)| matches!(&*key.to_string(), "dtype" | "signature"));
    if is_typed || !error.is_instance_of::<PyTypeError>(py) {
        return error;
    }
    let explain = || {
        let arguments = PyTuple::new(py, &given.positional)?;
        let parameters = PyTuple::new(py, &meaning.parameters)?;
        let refused = py.import("kal._arguments")?.getattr("refused")?;
        refused.call1((error.value(py), parameters, arguments))
    };
    // What goes wrong here leaves the error as it is.
    explain().map_or_else(|_: PyErr| error.clone_ref(py), PyErr::from_value)
}

/// The loop that NumPy calls, attached to the interpreter or not.
unsafe extern "C" fn rows(
    args: *mut *mut c_char,
    dimensions: *mut npy_intp,
    steps: *mut npy_intp,
    data: *mut c_void,
) {
    // SAFETY: NumPy passes the data of the function that it calls, which exists meanwhile.
    let meaning = unsafe { &*(*data.cast::<Loop>()).meaning };
    let operands = meaning.parameters.len() + 1;
    // NumPy converts what it has had computed, also after an exception, and would raise another one
    // for what happens to lie in its memory.
    let leave = |first: usize| {
        // SAFETY: it passes a pointer and a step for the result, as many doubles as the dimension
        // says.
        unsafe {
            let (address, step) = (*args.add(operands - 1), *steps.add(operands - 1));
            for row in first..*dimensions as usize {
                address.wrapping_byte_offset(step * row as npy_intp).cast::<f64>().write_unaligned(0.0);
            }
        }
    };
    let begun = call::progress();
    if begun.is_some_and(|call| call.has_failed) {
        return leave(0);
    }
    let compute = || {
        // SAFETY: NumPy passes a pointer and a step for each argument and for the result. These are
        // doubles, as many as the dimension says, the result's writable.
        unsafe {
            let (args, steps) =
                (slice::from_raw_parts(args, operands), slice::from_raw_parts(steps, operands));
            compute(meaning, args, steps, *dimensions as usize)
        }
    };
    let result = catch_unwind(AssertUnwindSafe(compute));
    let ending = match result {
        Ok(Ok(())) => return,
        Ok(Err(ending)) => ending,
        Err(_) => Ending::Raised(panicked()),
    };
    let first = call::progress().map(|call| call.rows);
    call::update(|call| call.has_failed = true);
    let done = first.zip(begun).map_or(0, |(first, begun)| first - begun.rows);
    leave(done + ending.row().unwrap_or(0));
    attached(|py| ending.after(first).exception(py).restore(py));
}

fn panicked() -> PyErr {
    PyRuntimeError::new_err("a bug in Kal: the computation panicked")
}

/// Runs something attached to the interpreter, on a thread that NumPy may have detached.
/// `Python::attach` does not know of that, if what has called NumPy was attached by it.
fn attached<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    struct Attached(PyGILState_STATE);
    impl Drop for Attached {
        fn drop(&mut self) {
            // SAFETY: the value is that of the call that has attached this thread, and later
            // ones have been undone.
            unsafe { PyGILState_Release(self.0) };
        }
    }
    // SAFETY: the interpreter runs: it has called NumPy.
    let _attached = Attached(unsafe { PyGILState_Ensure() });
    // SAFETY: this thread is attached until the end.
    work(unsafe { Python::assume_attached() })
}

/// Doubles that NumPy passes.
#[derive(Clone, Copy)]
struct Operand {
    address: *const f64,
    /// In bytes.
    step: npy_intp,
}

impl Operand {
    fn is_same(self) -> bool {
        self.step == 0
    }

    /// Returns whether they are one after the other.
    fn is_slice(self) -> bool {
        self.step == size_of::<f64>() as npy_intp && self.address.is_aligned()
    }

    /// Returns the addresses of its memory.
    fn range(self, rows: usize) -> Range<usize> {
        let (first, last) = (self.address.addr(), self.at(rows - 1).addr());
        first.min(last)..first.max(last) + size_of::<f64>()
    }

    /// Returns whether two operands share memory.
    fn overlaps(self, other: Self, rows: usize) -> bool {
        let (one, other) = (self.range(rows), other.range(rows));
        one.start < other.end && other.start < one.end
    }

    /// Returns whether a result may be an argument of a later row, as when NumPy reduces or
    /// accumulates.
    fn feeds(self, input: Self, rows: usize) -> bool {
        let is_row_by_row = self.step != 0 && self.step == input.step && self.address == input.address;
        rows > 1 && !is_row_by_row && self.overlaps(input, rows)
    }

    fn at(self, row: usize) -> *const f64 {
        self.address.wrapping_byte_offset(self.step * row as npy_intp)
    }
}

/// Computes the rows of one loop.
///
/// # Safety
/// There is a pointer and a step for each argument and for the result, to that many doubles,
/// the result's writable.
unsafe fn compute(
    meaning: &Meaning,
    args: &[*mut c_char],
    steps: &[npy_intp],
    rows: usize,
) -> Result<(), Ending> {
    if rows == 0 {
        return Ok(());
    }
    let operand = |(address, step): (&*mut c_char, &npy_intp)| Operand {
        address: address.cast_const().cast(),
        step: if rows == 1 { size_of::<f64>() as npy_intp } else { *step },
    };
    let operands: Vec<Operand> = args.iter().zip(steps).map(operand).collect();
    let Some((output, inputs)) = operands.split_last() else { return Ok(()) };
    let is_free = |input: &Operand| !output.overlaps(*input, rows);
    let is_whole = |input: &Operand| input.is_same() || input.is_slice();
    let is_direct = output.is_slice() && inputs.iter().all(|input| is_whole(input) && is_free(input));
    let block = if is_direct {
        rows
    } else if inputs.iter().any(|input| output.feeds(*input, rows)) {
        1
    } else {
        BLOCK.min(rows)
    };
    let mut gathered = vec![Vec::new(); inputs.len()];
    let mut result = if is_direct { Vec::new() } else { vec![0.0; block] };
    for first in (0..rows).step_by(block) {
        let count = block.min(rows - first);
        let mut columns = Vec::with_capacity(inputs.len());
        for (input, memory) in inputs.iter().zip(&mut gathered) {
            // SAFETY: the caller's promise, for the rows from `first` on. The memory of a
            // slice is written only after it was read for the last time: the output is
            // elsewhere, or these rows of it are written when they are computed.
            columns.push(unsafe { column(*input, first, count, memory) });
        }
        if is_direct {
            // SAFETY: the caller's promise; no input is in there.
            let output = unsafe { slice::from_raw_parts_mut(output.at(first).cast_mut(), count) };
            apply_here(meaning, &columns, output)?;
        } else {
            apply_here(meaning, &columns, &mut result[..count])?;
            for (row, value) in (first..).zip(&result[..count]) {
                // SAFETY: the caller's promise.
                unsafe { output.at(row).cast_mut().write_unaligned(*value) };
            }
        }
        call::update(|call| call.rows += count);
    }
    Ok(())
}

/// Returns some rows of an input as a column: where they are, or brought together.
///
/// # Safety
/// There are that many doubles, which do not change while the column is used.
unsafe fn column<'m>(input: Operand, first: usize, count: usize, memory: &'m mut Vec<f64>) -> Column<'m> {
    if input.is_same() {
        // SAFETY: the caller's promise.
        return Column::Every(unsafe { input.address.read_unaligned() });
    }
    if input.is_slice() {
        // SAFETY: the caller's promise, and the address is aligned.
        return Column::Values(unsafe { slice::from_raw_parts(input.at(first), count) });
    }
    memory.clear();
    // SAFETY: the caller's promise.
    memory.extend((first..first + count).map(|row| unsafe { input.at(row).read_unaligned() }));
    Column::Values(memory)
}

/// Computes rows with the settings in force.
fn apply_here(meaning: &Meaning, columns: &[Column<'_>], output: &mut [f64]) -> Result<(), Ending> {
    let (CallSettings { threads, on_error }, call) = (call::settings(), call::progress());
    let how = How { threads, on_error, since: call.map(|call| call.since), ..How::default() };
    // Many quick loops together are not quick.
    let unheard = call.map_or(0, |call| call.unheard) + output.len();
    if apply::is_quick(meaning, unheard) {
        call::update(|call| call.unheard = unheard);
        return apply::quick(meaning, columns, output, how);
    }
    call::update(|call| call.unheard = 0);
    attached(|py| {
        if unheard > output.len() {
            py.check_signals().map_err(Ending::Raised)?;
        }
        py.detach(|| apply::lasting(meaning, columns, output, how))
    })
}
