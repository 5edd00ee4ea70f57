//! Python functions that programs call.
//!
//! A program calls a Python function by its number, through one of the functions of the host
//! [`host_name`], which are there for each number of arguments. The number is that of a function in
//! this process: it is not sent to another one, and a program cannot guess that of a function which
//! was given to another session. Users see the name that a function was given with, not these.
//!
//! A Python function mostly refers to its session, which has it. So what has Python functions is
//! [`Callables`], an object that Python's garbage collector looks into, and everything that may
//! call them refers to that; here they are found by references that are weak. These are not Python's:
//! the collector clears those before it calls `__del__`, which may use the session.
//!
//! A program that runs on another thread than the one that waits for it asks that one to make
//! the call. So Python functions are called on the thread of Python's caller.

use crate::call;
use crate::output::{self, Printed};
use kal::diagnostic::Diagnostic;
use kal::host::{Call, HostError};
use kal::source::Source;
use kal::{Config, Remark};
use parking_lot::Mutex;
use pyo3::exceptions::{PyException, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak, mpsc};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// The most arguments that a Python function may take.
const MOST_ARGUMENTS: usize = 16;

/// What the functions of the host that call Python functions begin with.
const PREFIX: &str = "python_function_of_";

/// The Python functions of a session, by their numbers.
#[pyclass(frozen)]
#[derive(Default)]
pub struct Callables(Arc<CallableTable>);

/// Python functions by their numbers.
type CallableTable = Mutex<BTreeMap<u64, Py<PyAny>>>;

/// What has the Python function with a number.
static OWNERS: Mutex<BTreeMap<u64, Weak<CallableTable>>> = Mutex::new(BTreeMap::new());

impl Callables {
    /// Adds a Python function. Returns its number, which an integer of 53 bits is.
    ///
    /// # Errors
    /// What Python raises.
    pub fn add(&self, py: Python<'_>, callable: Py<PyAny>) -> PyResult<u64> {
        watch_end(py)?;
        let number = loop {
            let number = RandomState::new().build_hasher().finish() >> 11;
            if let Entry::Vacant(place) = OWNERS.lock().entry(number) {
                place.insert(Arc::downgrade(&self.0));
                break number;
            }
        };
        self.0.lock().insert(number, callable);
        Ok(number)
    }

    /// Forgets all of them.
    pub fn clear(&self) {
        // Dropped when nothing is locked.
        let forgotten = std::mem::take(&mut *self.0.lock());
        let mut owners = OWNERS.lock();
        forgotten.keys().for_each(|number| drop(owners.remove(number)));
        drop(owners);
    }

    /// Returns the Python function with a number, of whichever session, if it is there.
    fn find(py: Python<'_>, number: u64) -> Option<Py<PyAny>> {
        let owner = OWNERS.lock().get(&number).and_then(Weak::upgrade)?;
        let callables = owner.lock();
        callables.get(&number).map(|callable| callable.clone_ref(py))
    }
}

#[pymethods]
impl Callables {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let callables = self.0.try_lock();
        callables
            .iter()
            .flat_map(|callables| callables.values())
            .try_for_each(|callable| visit.call(callable))
    }

    fn __clear__(&self) {
        self.clear();
    }
}

impl Drop for Callables {
    fn drop(&mut self) {
        self.clear();
    }
}

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

/// What the sources of these definitions are called.
pub const SOURCE: &str = "<Python>";

/// Returns the name of the function of the host that calls a Python function with this many
/// arguments.
fn host_name(arity: usize) -> String {
    format!("{PREFIX}{arity}")
}

/// Adds the functions of the host.
pub fn configure(config: Config) -> Config {
    (0..=MOST_ARGUMENTS).fold(config, |config, arity| {
        config.host_function(host_name(arity), 1 + arity as u32, |call: &mut Call<'_>| match call.arguments {
            [number, arguments @ ..] => call_by_number(*number as u64, arguments),
            [] => Err(HostError("a Python function is called without its number".into())),
        })
    })
}

/// Returns the definition of a function that calls the Python function with a number.
pub fn definition(function: &str, number: u64, parameters: &[String]) -> String {
    let arguments: String = parameters.iter().map(|parameter| format!(", {parameter}")).collect();
    format!("def {function}({}) {}({number}{arguments})", parameters.join(" "), host_name(parameters.len()))
}

/// Returns the name and the parameters of a line that is the [`definition`] of a Python function.
fn defined(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.strip_prefix("def ")?.split_once('(')?;
    let (parameters, body) = rest.split_once(") ")?;
    body.starts_with(PREFIX).then_some((name, parameters))
}

/// Returns a source for people: a comment in place of the definition of each Python function.
pub fn readable_source(source: &str) -> String {
    let readable = |line: &str| match defined(line) {
        Some((name, parameters)) => format!("# {name}({parameters}) is a Python function"),
        None => line.to_owned(),
    };
    source.split('\n').map(readable).collect::<Vec<String>>().join("\n")
}

/// Returns the name of the Python function that a source defines.
fn defined_by(source: &Source) -> Option<&str> {
    Some(defined(source.text()).filter(|_| source.name() == SOURCE)?.0)
}

/// Returns a diagnostic for people: the failure of a Python function has its name, and no place is in
/// the definition of one.
pub fn readable_diagnostic(diagnostic: &Diagnostic) -> Diagnostic {
    let mut readable = diagnostic.clone();
    let failed = readable.message.strip_prefix('`').filter(|message| message.starts_with(PREFIX));
    if let Some((_, failure)) = failed.and_then(|message| message.split_once('`')) {
        let name = readable.labels.iter().find_map(|label| defined_by(&label.source));
        let function = name.map_or_else(|| "a Python function".to_owned(), |name| format!("`{name}`"));
        readable.message = format!("{function}{failure}");
    }
    readable.labels.retain(|label| defined_by(&label.source).is_none());
    readable
}

/// Returns a remark for people: that a Python function is called has its name, and no place.
pub fn readable_remark(remark: &Remark) -> String {
    match remark.place.as_ref().and_then(|(source, _)| defined_by(source)) {
        Some(name) => format!("`{name}` is a Python function"),
        None => remark.to_string(),
    }
}

/// A call of a Python function in progress.
///
/// When Python ends, it ends every thread that is to be attached, by unwinding, which must not come
/// to functions of Rust. So before it does, no thread but the one that ends it begins a call any
/// more: they wait for good. And it waits until the others have left theirs.
struct InProgress;

/// How many there are, and the thread that ends Python.
static IN_PROGRESS: AtomicUsize = AtomicUsize::new(0);
static ENDS: OnceLock<ThreadId> = OnceLock::new();

/// How long Python's end waits for calls in progress, which may wait for something themselves.
const MOST_WAITED: Duration = Duration::from_secs(2);

impl InProgress {
    fn begin() -> Self {
        IN_PROGRESS.fetch_add(1, Ordering::SeqCst);
        let this = Self;
        if ENDS.get().is_some_and(|ends| *ends != thread::current().id()) {
            drop(this);
            loop {
                thread::park();
            }
        }
        this
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        IN_PROGRESS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What Python calls before it ends.
#[pyfunction]
pub fn ending(py: Python<'_>) {
    let _ = ENDS.set(thread::current().id());
    py.detach(|| {
        let end = Instant::now() + MOST_WAITED;
        while IN_PROGRESS.load(Ordering::SeqCst) != 0 && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
    });
}

/// Has [`ending`] called, once.
fn watch_end(py: Python<'_>) -> PyResult<()> {
    static WATCHED: PyOnceLock<()> = PyOnceLock::new();
    let watch = || {
        let ending = py.import("kal._kal")?.getattr("ending")?;
        py.import("atexit")?.call_method1("register", (ending,)).map(drop)
    };
    WATCHED.get_or_try_init(py, watch).map(drop)
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
    let _in_progress = InProgress::begin();
    Python::attach(|py| {
        let missing = || PyException::new_err("this Python function belongs to a session that is gone");
        let callable = || Callables::find(py, number).ok_or_else(missing);
        let result = output::write_current(py).and_then(|()| callable()).and_then(|callable| {
            let result = call::apart(|| callable.bind(py).call1(PyTuple::new(py, arguments)?))?;
            result.extract::<f64>().map_err(|_| no_number(&result))
        });
        result.map_err(|error| {
            let text = HostError(error.to_string());
            (error, text)
        })
    })
}

/// Returns why what a Python function has returned is refused.
fn no_number(result: &Bound<'_, PyAny>) -> PyErr {
    if result.is_instance_of::<PyInt>() {
        return PyOverflowError::new_err("it returned an integer that no double can hold");
    }
    let class = result.get_type().name().map_or_else(|_| "something".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("it returned no number, but a value of type {class}"))
}

/// Returns the names of the parameters of a Python function: of as many as `arity` says, or of those
/// that have to be given.
///
/// # Errors
/// If they are not known, or too many.
pub fn parameters_of(function: &Bound<'_, PyAny>, arity: Option<usize>) -> PyResult<Vec<String>> {
    let (mut names, arity) = match (signature_of(function), arity) {
        (Ok((names, needed)), arity) => (names, arity.unwrap_or(needed)),
        (Err(_), Some(arity)) => (Vec::new(), arity),
        (Err(error), None) => return Err(error),
    };
    if arity > MOST_ARGUMENTS {
        let message = format!("a Python function can have {MOST_ARGUMENTS} arguments at most, not {arity}");
        return Err(PyValueError::new_err(message));
    }
    names.truncate(arity);
    let can_be_used = names.len() == arity && names.iter().all(|name| kal::syntax::is_identifier(name));
    Ok(if can_be_used { names } else { (1..=arity).map(|index| format!("x{index}")).collect() })
}

/// Returns the names of the positional parameters of a Python function, and how many have to be given.
fn signature_of(function: &Bound<'_, PyAny>) -> PyResult<(Vec<String>, usize)> {
    let py = function.py();
    let unknown = |_| {
        let text = function.repr().map_or_else(|_| "it".to_owned(), |repr| repr.to_string());
        PyValueError::new_err(format!("how many arguments {text} takes is not known: say `arity=`"))
    };
    let signature = py.import("inspect")?.call_method1("signature", (function,)).map_err(unknown)?;
    let parameters = signature.getattr("parameters")?.call_method0("values")?;
    let (mut names, mut needed) = (Vec::new(), 0);
    for parameter in parameters.try_iter()? {
        let parameter = parameter?;
        let kind = parameter.getattr("kind")?.getattr("name")?.extract::<String>()?;
        let is_given = parameter.getattr("default")?.is(&parameter.getattr("empty")?);
        match kind.as_str() {
            "POSITIONAL_ONLY" | "POSITIONAL_OR_KEYWORD" => {
                names.push(parameter.getattr("name")?.extract()?);
                needed += usize::from(is_given);
            }
            "VAR_POSITIONAL" => return Err(unknown(PyTypeError::new_err(()))),
            _ => {}
        }
    }
    Ok((names, needed))
}

/// Checks that a source calls no Python function, before it is pickled.
///
/// # Errors
/// If it calls one, which is named.
pub fn check_pickled(source: &str) -> PyResult<()> {
    match source.lines().find_map(defined) {
        None => Ok(()),
        Some((name, _)) => Err(PyTypeError::new_err(format!(
            "what calls `{name}`, a Python function, cannot be pickled: only Kal's source is"
        ))),
    }
}
