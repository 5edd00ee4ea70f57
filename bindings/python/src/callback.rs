//! Python functions that programs call.
//!
//! A program calls a Python function by its number, through one of the functions of the host
//! [`name`], which are there for each number of arguments. The number is that of a function in
//! this process: it is not sent to another one.
//!
//! A program that runs on another thread than the one that waits for it asks that one to make
//! the call. So Python functions are called on the thread of Python's caller.

use crate::call;
use crate::output::{self, Printed};
use kal::Config;
use kal::host::{Call, HostError};
use parking_lot::Mutex;
use pyo3::exceptions::{PyException, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

/// The most arguments that a Python function may take.
pub const MOST_ARGUMENTS: usize = 16;

/// What the functions of the host that call Python functions begin with.
pub const PREFIX: &str = "python_function_of_";

/// The Python functions that programs may call, by their numbers.
static CALLABLES: Mutex<BTreeMap<u64, Py<PyAny>>> = Mutex::new(BTreeMap::new());

/// A call that the thread which waits is asked to make.
pub struct Asked {
    number: u64,
    arguments: Vec<f64>,
    answer: mpsc::SyncSender<Result<f64, HostError>>,
}

thread_local! {
    /// Where calls are asked for, if another thread is to make them.
    static WAITING: RefCell<Option<mpsc::Sender<Asked>>> = const { RefCell::new(None) };
    /// What the Python function has raised that ended the run.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Returns the name of the function of the host that calls a Python function with this many
/// arguments.
pub fn name(arity: usize) -> String {
    format!("{PREFIX}{arity}")
}

/// Adds the functions of the host.
pub fn configure(config: Config) -> Config {
    (0..=MOST_ARGUMENTS).fold(config, |config, arity| {
        config.host_function(name(arity), 1 + arity as u32, |call: &mut Call<'_>| match call.arguments {
            [number, arguments @ ..] => call_by_number(*number as u64, arguments),
            [] => Err(HostError("a Python function is called without its number".into())),
        })
    })
}

/// Returns the definition of a function that calls the Python function with a number.
pub fn definition(function: &str, number: u64, arity: usize) -> String {
    let parameters: Vec<String> = (1..=arity).map(|index| format!("x{index}")).collect();
    let arguments: String = parameters.iter().map(|parameter| format!(", {parameter}")).collect();
    format!("def {function}({}) {}({number}{arguments})", parameters.join(" "), name(arity))
}

/// Makes a Python function known. Returns its number.
pub fn register(callable: Py<PyAny>) -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    CALLABLES.lock().insert(number, callable);
    number
}

/// Forgets Python functions.
pub fn forget(numbers: &[u64]) {
    let forgotten: Vec<_> = numbers.iter().filter_map(|number| CALLABLES.lock().remove(number)).collect();
    drop(forgotten);
}

/// Runs something whose calls of Python functions another thread makes.
pub fn asking<T>(waiting: mpsc::Sender<Asked>, work: impl FnOnce() -> T) -> T {
    WAITING.set(Some(waiting));
    let result = work();
    WAITING.set(None);
    result
}

/// Takes what the last Python function has raised on this thread.
pub fn take_raised() -> Option<PyErr> {
    RAISED.take()
}

fn call_by_number(number: u64, arguments: &[f64]) -> Result<f64, HostError> {
    let waiting = WAITING.with_borrow(Clone::clone);
    let Some(waiting) = waiting else {
        return call(number, arguments).map_err(|(error, text)| {
            RAISED.set(Some(error));
            text
        });
    };
    let gone = |_| HostError("the caller has gone".into());
    let (answer, answered) = mpsc::sync_channel(1);
    waiting
        .send(Asked { number, arguments: arguments.to_vec(), answer })
        .map_err(|error| gone(error.to_string()))?;
    answered.recv().map_err(|error| gone(error.to_string()))?
}

impl Asked {
    /// Makes the call, after what the program has printed was written, and answers. Returns what the Python function has raised.
    pub fn make(self, printed: &Printed) -> Option<PyErr> {
        let (result, raised) = match printed.during(|| call(self.number, &self.arguments)) {
            Ok(value) => (Ok(value), None),
            Err((error, text)) => (Err(text), Some(error)),
        };
        // Nobody waits for it if the run has ended meanwhile.
        let _ = self.answer.send(result);
        raised
    }

    /// Answers that the run is to end.
    pub fn refuse(self) {
        let _ = self.answer.send(Err(HostError("the run was stopped".into())));
    }
}

fn call(number: u64, arguments: &[f64]) -> Result<f64, (PyErr, HostError)> {
    Python::attach(|py| {
        let callable = CALLABLES.lock().get(&number).map(|callable| callable.clone_ref(py));
        let missing = || PyException::new_err("this Python function belongs to a session that is gone");
        let result =
            output::write_current(py).and_then(|()| callable.ok_or_else(missing)).and_then(|callable| {
                call::apart(|| callable.bind(py).call1(PyTuple::new(py, arguments)?)?.extract::<f64>())
            });
        result.map_err(|error| {
            let text = HostError(error.to_string());
            (error, text)
        })
    })
}

/// Returns how many arguments a Python function takes.
pub fn arity_of(function: &Bound<'_, PyAny>) -> PyResult<usize> {
    let py = function.py();
    let unknown = |_| {
        let text = function.repr().map_or_else(|_| "it".to_owned(), |repr| repr.to_string());
        PyValueError::new_err(format!("how many arguments {text} takes is not known: say `arity=`"))
    };
    let signature = py.import("inspect")?.call_method1("signature", (function,)).map_err(unknown)?;
    let parameters = signature.getattr("parameters")?.call_method0("values")?;
    let mut arity = 0;
    for parameter in parameters.try_iter()? {
        let parameter = parameter?;
        let kind = parameter.getattr("kind")?.getattr("name")?.extract::<String>()?;
        let is_given = parameter.getattr("default")?.is(&parameter.getattr("empty")?);
        match kind.as_str() {
            "POSITIONAL_ONLY" | "POSITIONAL_OR_KEYWORD" if is_given => arity += 1,
            "VAR_POSITIONAL" => return Err(unknown(PyTypeError::new_err(()))),
            _ => {}
        }
    }
    Ok(arity)
}

/// Returns why what calls a Python function is not pickled.
pub fn not_to_be_pickled() -> PyErr {
    PyTypeError::new_err("what calls a Python function cannot be pickled: only Kal's text is")
}
