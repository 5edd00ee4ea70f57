//! NumPy's universal functions, made of what a function means at one moment.
#![allow(unsafe_code)]

use crate::apply::{self, Ending, How, OnError};
use crate::meaning::Meaning;
use crate::ndarray::numpy;
use kal::Column;
use numpy::npyffi::{NPY_TYPES, PY_UFUNC_API, PyUFuncGenericFunction, PyUFuncObject, npy_intp};
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi::{PyGILState_Ensure, PyGILState_Release, PyGILState_STATE};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::cell::Cell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use std::sync::Arc;

/// Values that lie apart are brought together for this number of rows at a time.
const BLOCK: usize = 1 << 14;

/// `PyUFunc_None`: the function has no identity, so NumPy does not reduce without a first value.
const NO_IDENTITY: c_int = -1;

/// What NumPy's function refers to for as long as it exists.
struct Loop {
    meaning: Arc<Meaning>,
    functions: [PyUFuncGenericFunction; 1],
    data: [*mut c_void; 1],
    types: Vec<c_char>,
    name: CString,
    doc: CString,
}

// SAFETY: the pointer is to the value itself; all else may be sent.
unsafe impl Send for Loop {}

/// How the function of NumPy that this thread calls is to compute; NumPy does not pass it on.
#[derive(Clone, Copy, Default)]
pub struct CallSettings {
    pub threads: usize,
    pub on_error: OnError,
    /// The number of rows that are computed; `None` if they are not counted.
    pub rows: Option<usize>,
}

thread_local! {
    static SETTINGS: Cell<CallSettings> = const { Cell::new(CallSettings { threads: 0, on_error: OnError::Raise, rows: None }) };
}

/// Puts settings in force for a call of NumPy's functions on this thread.
pub fn with_settings<T>(settings: CallSettings, call: impl FnOnce() -> T) -> T {
    struct Restore(CallSettings);
    impl Drop for Restore {
        fn drop(&mut self) {
            SETTINGS.set(self.0);
        }
    }
    let _restore = Restore(SETTINGS.replace(settings));
    call()
}

/// Creates NumPy's function of a meaning.
///
/// # Errors
/// If there is no NumPy, or the function has more arguments than NumPy's can have.
pub fn ufunc(py: Python<'_>, meaning: &Arc<Meaning>) -> PyResult<Py<PyAny>> {
    numpy(py)?;
    let text = |text: String| CString::new(text.replace('\0', " ")).unwrap_or_default();
    let name = meaning.kernel.name();
    let signature = format!("{name}({})", meaning.parameters.join(", "));
    let made = Loop {
        meaning: meaning.clone(),
        functions: [Some(rows)],
        data: [std::ptr::null_mut()],
        types: vec![NPY_TYPES::NPY_DOUBLE as c_char; meaning.parameters.len() + 1],
        name: text(if name.starts_with('(') { "formula".into() } else { name.to_owned() }),
        doc: text(format!("{signature}\n\n{}", meaning.kernel.source())),
    };
    let arity = meaning.parameters.len() as c_int;
    let capsule = PyCapsule::new_with_value(py, made, c"kal.loop")?;
    let made: *mut Loop = capsule.pointer_checked(Some(c"kal.loop"))?.as_ptr().cast();
    // SAFETY: the capsule keeps the value at its place, and nothing else refers to it now.
    // NumPy keeps the pointers, which are good while the capsule exists: its function gets a
    // reference to it, which it gives up when it is destroyed.
    unsafe {
        (*made).data[0] = made.cast();
        let Loop { functions, data, types, name, doc, .. } = &mut *made;
        let function = PY_UFUNC_API.PyUFunc_FromFuncAndData(
            py,
            functions.as_mut_ptr(),
            data.as_mut_ptr(),
            types.as_mut_ptr(),
            1,
            arity,
            1,
            NO_IDENTITY,
            name.as_ptr(),
            doc.as_ptr(),
            0,
        );
        let function = Bound::from_owned_ptr_or_err(py, function)?;
        (*function.as_ptr().cast::<PyUFuncObject>()).fields.obj = capsule.into_ptr();
        Ok(function.unbind())
    }
}

/// The loop that NumPy calls, attached to the interpreter or not.
unsafe extern "C" fn rows(
    args: *mut *mut c_char,
    dimensions: *mut npy_intp,
    steps: *mut npy_intp,
    data: *mut c_void,
) {
    let compute = || {
        // SAFETY: NumPy passes the data of the function that it calls, which exists meanwhile,
        // and a pointer and a step for each argument and for the result. These are doubles, as
        // many as the dimension says, the result's writable.
        unsafe {
            let meaning = &*(*data.cast::<Loop>()).meaning;
            let operands = meaning.parameters.len() + 1;
            let (args, steps) =
                (slice::from_raw_parts(args, operands), slice::from_raw_parts(steps, operands));
            compute(meaning, args, steps, *dimensions as usize)
        }
    };
    let result = catch_unwind(AssertUnwindSafe(compute));
    let ending = match result {
        Ok(Ok(())) => return,
        Ok(Err(ending)) => ending,
        Err(_) => Ending::Raised(PyRuntimeError::new_err("a bug in Kal: the computation panicked")),
    };
    let first = SETTINGS.get().rows;
    attached(|py| ending.after(first).exception(py).restore(py));
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
        let mut settings = SETTINGS.get();
        settings.rows = settings.rows.map(|before| before + count);
        SETTINGS.set(settings);
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
    let CallSettings { threads, on_error, .. } = SETTINGS.get();
    let how = How { threads, on_error, ..How::default() };
    if apply::is_quick(meaning, output.len()) {
        return apply::quick(meaning, columns, output, how);
    }
    attached(|py| py.detach(|| apply::lasting(meaning, columns, output, how)))
}
