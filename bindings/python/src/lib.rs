//! The compiled part of the Python package `kal`.
//!
//! - `session`: sessions, as Python sees them
//! - `shared_session`: the context of a session, behind a lock; `settings`: what it is made with
//! - `names`, `count`: names and counts that Python passes
//! - `meaning`: what a name of a session, or a formula, means at one moment, ready to run
//! - `function`: functions as Python calls them, with numbers, arrays and columns
//! - `ufunc`, `ndarray`: NumPy's functions and arrays
//! - `call`: the call of one of NumPy's functions that a thread makes
//! - `arrow`: columns with nulls; `missing`: others with missing values
//! - `apply`: computing rows so that signals are heard
//! - `runs`: computations of arrays in progress, which a session interrupts
//! - `signals`: running something long while Python's signals are heard
//! - `callback`: Python functions that programs call
//! - `output`: what programs print
//! - `pickle`: what functions are pickled as
//! - `error`: errors as Python's exceptions
//!
//! Rules: nothing starts LLVM, and nothing imports NumPy, before something needs it. The lock
//! of a session is never waited for while attached to the interpreter. `unsafe` is in
//! `ufunc`, `ndarray` and `arrow` only.

mod apply;
mod arrow;
mod call;
mod callback;
mod count;
mod error;
mod function;
mod meaning;
mod missing;
mod names;
mod ndarray;
mod output;
mod pickle;
mod runs;
mod session;
mod settings;
mod shared_session;
mod signals;
mod ufunc;

use pyo3::prelude::*;

#[pymodule]
fn _kal(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<session::Session>()?;
    module.add_class::<function::Function>()?;
    module.add_class::<arrow::Array>()?;
    module.add_function(wrap_pyfunction!(ufunc::pickled_ufunc, module)?)?;
    module.add_function(wrap_pyfunction!(callback::ending, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
