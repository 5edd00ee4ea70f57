//! Functions as Python calls them, with numbers, arrays and columns.

use crate::apply::{self, How, OnError};
use crate::arrow;
use crate::call::{CallSettings, with_settings};
use crate::callback::{self, Callables};
use crate::count::count;
use crate::error::OrException;
use crate::meaning::{Meaning, Target};
use crate::missing;
use crate::ndarray::{self, plain};
use crate::pickle::pickled;
use crate::session::Session;
use crate::shared_session::SharedSession;
use crate::signals;
use crate::ufunc;
use kal::diagnostic::ErrorCode;
use kal::{Column, Context, Error};
use parking_lot::Mutex;
use pyo3::exceptions::{PyException, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use std::sync::Arc;
use std::time::Instant;

/// A function of a session, or a formula. It follows its name: a call computes what the name
/// means then.
///
/// Called with numbers it returns a float. Called with arrays it computes an array, by NumPy's
/// rules of broadcasting; `out=`, `where=` and other arguments are those of NumPy's functions.
/// Columns of Arrow and Polars keep their nulls. Parameters may be given by name.
///
/// `threads` is how many threads compute the rows of arrays, 1 by default. With
/// `on_error="nan"`, rows that fail are NaN (null in such columns) in place of an exception.
///
/// >>> s = kal.Session()
/// >>> s.eval("def area(w h) w * h / 2")
/// >>> area = s["area"]
/// >>> area(3, 4)
/// 6.0
/// >>> area(np.array([1.0, 2.0, 3.0]), 10)
/// array([ 5., 10., 15.])
#[pyclass(frozen, module = "kal", weakref)]
pub struct Function {
    session: Arc<SharedSession>,
    /// The Python functions that it may call.
    callables: Py<Callables>,
    target: Target,
    /// What it meant when it was used last.
    last: Mutex<Arc<Meaning>>,
    /// NumPy's function of what it meant when that was asked for last. NumPy's function has
    /// the meaning, so the meaning cannot have it.
    ufunc: Mutex<Option<(Arc<Meaning>, Py<PyAny>)>>,
}

/// The most arguments of a call that needs no memory.
const FEW: usize = 8;

/// The keyword arguments of NumPy's functions, besides `out` and `where`.
const OF_NUMPY: &[&str] =
    &["casting", "order", "dtype", "subok", "signature", "sig", "extobj", "axes", "axis", "keepdims"];

/// What keyword arguments say, besides parameters.
struct Options<'py> {
    threads: usize,
    on_error: OnError,
    /// For NumPy.
    others: Option<Bound<'py, PyDict>>,
}

impl Function {
    /// Creates the function of a target.
    ///
    /// # Errors
    /// If a name means nothing, or a formula is refused.
    pub fn new(
        py: Python<'_>,
        session: Arc<SharedSession>,
        callables: Py<Callables>,
        target: Target,
    ) -> PyResult<Self> {
        let mut context = session.lock(py)?;
        let meaning = Meaning::of(&mut context, &session, &target).or_exception(py)?;
        drop(context);
        let last = Mutex::new(Arc::new(meaning));
        Ok(Self { session, callables, target, last, ufunc: Mutex::default() })
    }

    /// Checks that it means something now.
    ///
    /// # Errors
    /// If it does not.
    pub fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.meaning(py).map(drop)
    }

    /// Returns what it means now.
    fn meaning(&self, py: Python<'_>) -> PyResult<Arc<Meaning>> {
        let mut context = self.session.lock(py)?;
        let mut last = self.last.lock();
        if last.version != self.session.version() || last.values != self.session.values() {
            *last = Arc::new(Meaning::of(&mut context, &self.session, &self.target).or_exception(py)?);
        }
        Ok(last.clone())
    }

    /// Returns NumPy's function of a meaning.
    fn ufunc_of(&self, py: Python<'_>, meaning: &Arc<Meaning>) -> PyResult<Py<PyAny>> {
        if let Some((of, function)) = &*self.ufunc.lock()
            && Arc::ptr_eq(of, meaning)
        {
            return Ok(function.clone_ref(py));
        }
        let function = ufunc::ufunc(py, meaning, &self.callables)?;
        // What it replaces is dropped when nothing is locked.
        let _before = self.ufunc.lock().replace((meaning.clone(), function.clone_ref(py)));
        Ok(function)
    }

    /// Calls it with numbers. The values of variables are those of the context, so it does not
    /// matter which ones the meaning has.
    #[inline]
    fn number(&self, py: Python<'_>, arguments: &[f64]) -> PyResult<f64> {
        let mut context = self.session.lock(py)?;
        let mut last = self.last.lock();
        if last.version != self.session.version() {
            *last = Arc::new(Meaning::of(&mut context, &self.session, &self.target).or_exception(py)?);
        }
        check_count(&last, arguments.len())?;
        if last.is_quick {
            let result = last.handle.call(&mut context, arguments);
            if !last.is_pure {
                self.session.assigned();
            }
            return result.or_exception(py);
        }
        let meaning = last.clone();
        drop(last);
        if signals::is_heard_here() && !meaning.is_pure {
            drop(context);
            let since = self.session.runs.interrupts();
            return self.number_elsewhere(py, &meaning, arguments, since);
        }
        self.lasting_number(py, context, meaning, arguments)
    }

    /// Calls it with numbers where that may last, and begins again if it does.
    fn lasting_number(
        &self,
        py: Python<'_>,
        mut context: parking_lot::MutexGuard<'_, Context>,
        meaning: Arc<Meaning>,
        arguments: &[f64],
    ) -> PyResult<f64> {
        let call = |context: &mut Context| meaning.handle.call(context, arguments);
        if !signals::is_heard_here() {
            let heard = self.session.run_here(py, &mut context, call);
            if !meaning.is_pure {
                self.session.assigned();
            }
            drop(context);
            self.session.printed.finish(py)?;
            return heard.outcome(py);
        }
        let (began, since) = (Instant::now(), self.session.runs.interrupts());
        let heard = self.session.run_here(py, &mut context, |context| {
            context.set_deadline(Some(began + signals::STEP));
            let result = call(context);
            context.set_deadline(None);
            result
        });
        drop(context);
        let timeout = self.session.settings.timeout;
        match heard.result {
            Err(error) if is_deadline(&error) && timeout.is_none_or(|timeout| began.elapsed() < timeout) => {
                py.check_signals()?;
                self.number_elsewhere(py, &meaning, arguments, since)
            }
            result => result.or_exception(py),
        }
    }

    /// Calls it with numbers on another thread, while signals are heard, unless the session was
    /// interrupted after the call began: then there were `since` interrupts.
    fn number_elsewhere(
        &self,
        py: Python<'_>,
        meaning: &Meaning,
        arguments: &[f64],
        since: u64,
    ) -> PyResult<f64> {
        self.session.run(py, |context| {
            let handle = context.interrupt_handle();
            if self.session.runs.interrupts() != since {
                handle.interrupt();
            }
            let result = meaning.handle.call(context, arguments);
            handle.clear();
            result
        })
    }

    /// Calls it with anything but numbers alone.
    fn columns<'py>(
        &self,
        py: Python<'py>,
        arguments: &[Bound<'py, PyAny>],
        options: &Options<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let meaning = self.meaning(py)?;
        check_count(&meaning, arguments.len())?;
        if options.others.is_none()
            && ndarray::is_numpy_loaded(py)?
            && let Some(result) = arrays(py, &meaning, arguments, options)?
        {
            return Ok(result);
        }
        for argument in arguments {
            if arrow::is_column(argument)? {
                if let Some(others) = &options.others {
                    return Err(arrow::refused_option(&others.keys().get_item(0)?.extract::<String>()?));
                }
                return arrow::call(py, &meaning, arguments, options.threads, options.on_error);
            }
        }
        let settings = CallSettings { threads: options.threads, on_error: options.on_error };
        let function = self.ufunc_of(py, &meaning)?;
        // NumPy was imported to make its function.
        let may_miss =
            |argument: &Bound<'_, PyAny>| !arrow::is_number(argument) && !ndarray::is_array(argument);
        if options.others.is_none() && arguments.iter().any(may_miss) {
            let columns = |arguments: &Bound<'py, PyTuple>| {
                let arguments: Vec<_> = arguments.iter().collect();
                arrow::call(py, &meaning, &arguments, options.threads, options.on_error)
            };
            if let Some(result) = missing::call(py, &function, arguments, settings, columns)? {
                return Ok(result);
            }
        }
        let arguments = PyTuple::new(py, arguments)?;
        with_settings(settings, || function.bind(py).call(arguments, options.others.as_ref()))
    }

    /// Puts arguments that are given by the names of parameters in their places. Returns the
    /// options besides.
    fn options<'py>(
        &self,
        py: Python<'py>,
        arguments: &mut Vec<Bound<'py, PyAny>>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Options<'py>> {
        let mut options = Options { threads: 1, on_error: OnError::Raise, others: None };
        let Some(keywords) = keywords else { return Ok(options) };
        let meaning = self.meaning(py)?;
        let mut named: Vec<Option<Bound<'py, PyAny>>> = vec![None; meaning.parameters.len()];
        for (key, value) in keywords {
            let key: String = key.extract()?;
            // A parameter of that name comes first.
            if let Some(place) = meaning.parameters.iter().position(|parameter| *parameter == key) {
                if place < arguments.len() {
                    return Err(PyTypeError::new_err(format!("`{key}` is given twice")));
                }
                named[place] = Some(value);
                continue;
            }
            match key.as_str() {
                "threads" => options.threads = count("threads", 1, &value)? as usize,
                "on_error" => options.on_error = on_error(&value)?,
                // NumPy's own way to say that there is none.
                "out" if value.is_none() => {}
                "out" | "where" => add(py, &mut options, &key, value)?,
                key if OF_NUMPY.contains(&key) => add(py, &mut options, key, value)?,
                key => {
                    let message = format!("{} got an unexpected keyword argument '{key}'", meaning.title());
                    return Err(PyTypeError::new_err(message));
                }
            }
        }
        let last = named.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        let places = meaning.parameters.iter().zip(named).take(last).skip(arguments.len());
        for (parameter, value) in places {
            arguments.push(value.ok_or_else(|| PyTypeError::new_err(format!("`{parameter}` is missing")))?);
        }
        Ok(options)
    }
}

fn add<'py>(
    py: Python<'py>,
    options: &mut Options<'py>,
    key: &str,
    value: Bound<'py, PyAny>,
) -> PyResult<()> {
    options.others.get_or_insert_with(|| PyDict::new(py)).set_item(key, value)
}

fn on_error(value: &Bound<'_, PyAny>) -> PyResult<OnError> {
    match value.extract::<String>().as_deref() {
        Ok("raise") => Ok(OnError::Raise),
        Ok("nan") => Ok(OnError::Nan),
        Ok(_) | Err(_) => {
            let message = format!("on_error is \"raise\" or \"nan\", not {}", value.repr()?);
            Err(PyValueError::new_err(message))
        }
    }
}

fn is_deadline(error: &Error) -> bool {
    error.diagnostics().first().is_some_and(|diagnostic| diagnostic.code == ErrorCode::DeadlineExceeded)
}

#[inline]
fn check_count(meaning: &Meaning, count: usize) -> PyResult<()> {
    if meaning.parameters.len() == count { Ok(()) } else { Err(wrong_count(meaning, count)) }
}

#[cold]
fn wrong_count(meaning: &Meaning, count: usize) -> PyErr {
    let takes = match &meaning.parameters[..] {
        [] => "no arguments".to_owned(),
        [one] => format!("1 argument, `{one}`"),
        many => format!("{} arguments, `{}`", many.len(), many.join("`, `")),
    };
    PyTypeError::new_err(format!("{} takes {takes}, not {count}", meaning.title()))
}

/// Reads an argument that is a number of Python.
#[inline]
fn number(argument: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    if let Ok(number) = argument.cast::<PyFloat>() {
        return Ok(Some(number.value()));
    }
    if argument.is_exact_instance_of::<PyInt>() || argument.is_exact_instance_of::<PyBool>() {
        return argument.extract().map(Some);
    }
    Ok(None)
}

/// Reads arguments that are all numbers; `false` if one is not.
#[inline]
fn all_numbers<'a, 'py: 'a>(
    arguments: impl Iterator<Item = Bound<'py, PyAny>>,
    numbers: &mut [f64],
) -> PyResult<bool> {
    for (argument, place) in arguments.zip(numbers) {
        match number(&argument)? {
            Some(value) => *place = value,
            None => return Ok(false),
        }
    }
    Ok(true)
}

/// Calls a function with plain arrays of one shape, and numbers; `None` if the arguments are
/// not that.
fn arrays<'py>(
    py: Python<'py>,
    meaning: &Meaning,
    arguments: &[Bound<'py, PyAny>],
    options: &Options<'py>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let mut shape = None;
    let mut columns = Vec::with_capacity(arguments.len());
    for argument in arguments {
        if let Some(value) = number(argument)? {
            columns.push(Column::Every(value));
            continue;
        }
        let Some(array) = plain(argument) else { return Ok(None) };
        if **shape.get_or_insert(array.shape) != *array.shape {
            return Ok(None);
        }
        columns.push(Column::Values(array.values));
    }
    let Some(shape) = shape else { return Ok(None) };
    let since = Some(meaning.session.runs.interrupts());
    let how = How { threads: options.threads, on_error: options.on_error, since, ..How::default() };
    let compute = |output: &mut [f64]| {
        let result = if apply::is_quick(meaning, output.len()) {
            apply::quick(meaning, &columns, output, how)
        } else {
            py.detach(|| apply::lasting(meaning, &columns, output, how))
        };
        result.map_err(|ending| ending.exception(py))
    };
    ndarray::filled(py, shape, compute).map(Some)
}

#[pymethods]
impl Function {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.callables)?;
        let ufunc = self.ufunc.try_lock();
        ufunc.iter().flat_map(|ufunc| &**ufunc).try_for_each(|(_, function)| visit.call(function))
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let count = args.len();
        if kwargs.is_none() && count <= FEW {
            let mut numbers = [0.0; FEW];
            if all_numbers(args.iter(), &mut numbers)? {
                let value = self.number(py, &numbers[..count])?;
                return Ok(PyFloat::new(py, same_nan(value)).into_any());
            }
        }
        let mut arguments: Vec<Bound<'py, PyAny>> = args.iter().collect();
        let options = self.options(py, &mut arguments, kwargs)?;
        if options.others.is_none() {
            let mut numbers = vec![0.0; arguments.len()];
            if all_numbers(arguments.iter().cloned(), &mut numbers)? {
                let value = match self.number(py, &numbers) {
                    Err(error) if options.on_error == OnError::Nan && is_of_run(py, &error) => f64::NAN,
                    value => value?,
                };
                return Ok(PyFloat::new(py, same_nan(value)).into_any());
            }
        }
        self.columns(py, &arguments, &options)
    }

    /// NumPy's function of the present definition. It stays the same when the name is
    /// redefined.
    #[getter]
    fn ufunc(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.ufunc_of(py, &self.meaning(py)?)
    }

    /// The name; None for a formula.
    #[getter]
    fn name(&self) -> Option<&str> {
        match &self.target {
            Target::Name(name) => Some(name),
            Target::Formula { .. } => None,
        }
    }

    #[getter]
    fn __name__(&self) -> &str {
        self.name().unwrap_or("formula")
    }

    /// The names of the parameters.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.meaning(py)?.parameters)
    }

    /// How `inspect.signature` sees it.
    #[getter]
    fn __signature__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("kal._errors")?.getattr("signature")?.call1((self.parameters(py)?,))
    }

    /// The session that it belongs to.
    #[getter]
    fn session(&self, py: Python<'_>) -> Session {
        Session::of(self.session.clone(), self.callables.clone_ref(py))
    }

    /// The definitions of the function and of all that it calls, as text. Python functions are named in
    /// comments.
    #[getter]
    fn source(&self, py: Python<'_>) -> PyResult<String> {
        Ok(callback::readable_source(&self.meaning(py)?.kernel.source()))
    }

    /// What identifies what it computes, in hexadecimal: the same wherever the same is defined.
    #[getter]
    fn id(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.meaning(py)?.kernel.id().to_string())
    }

    /// The documentation of the function: the lines with `##` above its definition.
    #[getter]
    fn doc(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let context = self.session.lock(py)?;
        let name = self.name().and_then(|name| context.describe(name));
        Ok(name.and_then(|description| description.documentation))
    }

    /// Whether its results depend on its arguments only, and it has no effects.
    #[getter]
    fn is_pure(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.meaning(py)?.kernel.is_pure())
    }

    /// Whether many rows are computed at once.
    #[getter]
    fn is_wide(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.meaning(py)?.kernel.is_wide())
    }

    /// Returns how rows are computed, and if that is one by one, what keeps them from being
    /// computed many at once: a list of remarks.
    fn explain(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.meaning(py)?.kernel.explain().iter().map(callback::readable_remark).collect())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let parameters = |meaning: &Meaning| meaning.parameters.join(", ");
        match (&self.target, self.meaning(py)) {
            (Target::Name(name), Ok(meaning)) => {
                Ok(format!("<kal.Function {name}({})>", parameters(&meaning)))
            }
            // Such as Ctrl-C while it waits for the session.
            (_, Err(error)) if !error.is_instance_of::<PyException>(py) => Err(error),
            (Target::Name(name), Err(_)) => Ok(format!("<kal.Function {name}, not defined now>")),
            (Target::Formula { text, parameters }, _) => {
                Ok(format!("<kal.Function ({}): {text}>", parameters.join(", ")))
            }
        }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let restore = py.import("kal._pickle")?.getattr("function")?;
        Ok((restore, pickled(py, &*self.meaning(py)?)?))
    }
}

/// Returns a number; in place of any NaN, the one that arrays have.
#[inline]
fn same_nan(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value }
}

/// Returns whether an exception says that a call did not run to its end by itself.
fn is_of_run(py: Python<'_>, error: &PyErr) -> bool {
    let class = error.get_type(py).name().map(|name| name.to_string());
    class.is_ok_and(|class| class == "RunError")
}
