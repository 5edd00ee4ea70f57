//! Sessions, as Python sees them.

use crate::callback::{self, Callables};
use crate::count::count;
use crate::error::{OrException, exception, not_text};
use crate::function::Function;
use crate::meaning::Target;
use crate::names::Names;
use crate::settings::{Folders, Settings};
use crate::shared_session::SharedSession;
use kal::source::Source;
use kal::{Error, Stage};
use parking_lot::Mutex;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{PyTraverseError, PyVisit};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A Kal program in progress: its functions and variables.
///
/// Sessions are independent of one another. Any number of threads may use one: each call has
/// it for itself, and waits for its turn.
///
/// timeout: seconds after which an evaluation or call is stopped, with `kal.Timeout`.
/// fuel: how many calls and iterations an evaluation or call may take.
/// library: folders in which imported modules are looked for.
/// interpret: whether programs are interpreted, and nothing is compiled.
///
/// >>> s = kal.Session()
/// >>> s.eval("def area(w h) w * h / 2")
/// >>> s.eval("area(3, 4)")
/// 6.0
/// >>> s["area"](3, 4)
/// 6.0
#[pyclass(frozen, module = "kal", weakref)]
pub struct Session {
    shared: Arc<SharedSession>,
    callables: Py<Callables>,
    /// The functions that Python has asked for, with what is compiled of them.
    functions: Mutex<BTreeMap<Target, Py<Function>>>,
}

/// How many functions of Python a session keeps at most.
const KEPT: usize = 4096;

impl Session {
    pub fn of(shared: Arc<SharedSession>, callables: Py<Callables>) -> Self {
        Self { shared, callables, functions: Mutex::default() }
    }

    /// Returns the function of a target, always the same one.
    fn function<'py>(&self, py: Python<'py>, target: Target) -> PyResult<Bound<'py, Function>> {
        let known = self.functions.lock().get(&target).map(|function| function.clone_ref(py));
        if let Some(known) = known {
            known.get().check(py)?;
            return Ok(known.into_bound(py));
        }
        let callables = self.callables.clone_ref(py);
        let function = Bound::new(py, Function::new(py, self.shared.clone(), callables, target.clone())?)?;
        let mut functions = self.functions.lock();
        let forgotten =
            if functions.len() < KEPT { BTreeMap::new() } else { std::mem::take(&mut *functions) };
        functions.insert(target, function.clone().unbind());
        // Dropped when nothing is locked.
        drop(functions);
        drop(forgotten);
        Ok(function)
    }
}

/// What makes it again, with its arguments.
type Reduced<'py> = (Bound<'py, PyAny>, (String, Bound<'py, PyDict>));

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (*, timeout=None, fuel=None, library=Folders(Vec::new()), interpret=false))]
    fn new(
        py: Python<'_>,
        timeout: Option<f64>,
        fuel: Option<Bound<'_, PyAny>>,
        library: Folders,
        interpret: bool,
    ) -> PyResult<Self> {
        let timeout = match timeout {
            Some(seconds) if seconds.is_nan() || seconds < 0.0 => {
                let message = format!("timeout is a number of seconds, not {}", kal::format_number(seconds));
                return Err(PyValueError::new_err(message));
            }
            // What is too long to be told is for ever.
            seconds => seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        };
        let fuel = fuel.map(|fuel| count("fuel", 0, &fuel)).transpose()?;
        let settings = Settings { timeout, fuel, library: library.0, interpret };
        let shared = py.detach(|| SharedSession::new(settings)).or_exception(py)?;
        Ok(Self::of(Arc::new(shared), Py::new(py, Callables::default())?))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.callables)?;
        let functions = self.functions.try_lock();
        functions
            .iter()
            .flat_map(|functions| functions.values())
            .try_for_each(|function| visit.call(function))
    }

    /// Runs a text: definitions, declarations and expressions, up to the first mistake.
    ///
    /// Returns the value of its last expression as a float, or None if it has none. What comes
    /// before a mistake stays in force.
    ///
    /// source: what the text is called in errors.
    #[pyo3(signature = (text, /, *, source="<eval>"))]
    fn eval(&self, py: Python<'_>, text: &str, source: &str) -> PyResult<Option<f64>> {
        let source = Source::new(source, text);
        self.shared.define(py, &source)
    }

    /// Runs a file, as `eval` runs a text. The modules that it imports are looked for in its
    /// folder first.
    #[pyo3(signature = (path, /))]
    fn load(&self, py: Python<'_>, path: PathBuf) -> PyResult<Option<f64>> {
        // Python's exceptions name the file.
        let file = py.import("pathlib")?.getattr("Path")?.call1((&path,))?;
        let bytes: Vec<u8> = file.call_method0("read_bytes")?.extract()?;
        let name = path.to_string_lossy();
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            not_text(py, &Source::new(&*name, String::from_utf8_lossy(valid)))
        })?;
        let folder = path.parent().map_or_else(PathBuf::new, PathBuf::from);
        let source = Source::in_folder(name, text, folder);
        self.shared.define(py, &source)
    }

    /// Returns a formula of this session: an expression that can use its functions and
    /// variables.
    ///
    /// parameters: their names, in the order of the arguments. By default, all names of the
    /// text that mean nothing here, in their order of appearance.
    #[pyo3(signature = (text, parameters=None, /))]
    fn formula<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        parameters: Option<Names>,
    ) -> PyResult<Bound<'py, Function>> {
        let target = Target::formula(py, &self.shared, text, parameters.map(|names| names.0))?;
        self.function(py, target)
    }

    /// Makes a Python function known to programs. It takes floats and returns one.
    ///
    /// Programs call it once for each row. They give it as many arguments as it has parameters,
    /// or `arity`. It can also be a decorator, for a function that keeps its name:
    ///
    /// >>> @s.define
    /// ... def clamp(x):
    /// ...     return min(max(x, 0), 1)
    /// >>> s.eval("clamp(7)")
    /// 1.0
    #[pyo3(signature = (name, function=None, /, *, arity=None))]
    fn define<'py>(
        &self,
        py: Python<'py>,
        name: Bound<'py, PyAny>,
        function: Option<Bound<'py, PyAny>>,
        arity: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (name, function) = match function {
            Some(function) => (Some(name.extract::<String>()?), function),
            None => (name.getattr("__name__").ok().map(|name| name.extract::<String>()).transpose()?, name),
        };
        if !function.is_callable() {
            return Err(PyTypeError::new_err(format!("{} is not callable", function.repr()?)));
        }
        let Some(name) = name else {
            let message = format!("{} has no name: say `define(name, function)`", function.repr()?);
            return Err(PyTypeError::new_err(message));
        };
        if !kal::syntax::is_identifier(&name) {
            return Err(exception(py, &Error::BadName(name), None));
        }
        let arity = arity.map(|arity| count("arity", 0, &arity)).transpose()?;
        let parameters = callback::parameters_of(&function, arity.map(|arity| arity as usize))?;
        let number = self.callables.get().add(py, function.clone().unbind())?;
        let text = callback::definition(&name, number, &parameters);
        let source = Source::new(callback::SOURCE, text);
        self.shared.define(py, &source)?;
        Ok(function)
    }

    /// Returns what a name means: a function, or the value of a variable as a float.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let value = self.shared.lock(py)?.variable(name);
        match value {
            Ok(value) => Ok(value.into_pyobject(py)?.into_any()),
            Err(_) => Ok(self.function(py, Target::Name(name.to_owned()))?.into_any()),
        }
    }

    /// Sets a variable, which is declared if it is new; of a callable, makes a Python function
    /// known as `define` does.
    fn __setitem__(&self, py: Python<'_>, name: &str, value: Bound<'_, PyAny>) -> PyResult<()> {
        if value.is_callable() {
            let name = name.into_pyobject(py)?.into_any();
            return self.define(py, name, Some(value), None).map(drop);
        }
        let value: f64 = value.extract()?;
        let mut context = self.shared.lock(py)?;
        self.shared.assigned();
        match context.set_variable(name, value) {
            Err(Error::NoVariable(_)) => {
                self.shared.changed();
                context.declare(name, value).or_exception(py)
            }
            result => result.or_exception(py),
        }
    }

    fn __contains__(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        let context = self.shared.lock(py)?;
        Ok(context.variable(name).is_ok() || context.is_function(name))
    }

    /// The names of the functions that the session defines, in alphabetical order.
    #[getter]
    fn functions(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let context = self.shared.lock(py)?;
        Ok(context.definitions().into_iter().map(|definition| definition.name).collect())
    }

    /// The variables with their values.
    #[getter]
    fn variables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let context = self.shared.lock(py)?;
        let variables = PyDict::new(py);
        for name in context.variable_names() {
            let value = context.variable(&name).or_exception(py)?;
            variables.set_item(name, value)?;
        }
        Ok(variables)
    }

    /// What the session defines, as a text that defines it again, except for Python functions, which
    /// are named in comments.
    #[getter]
    fn source(&self, py: Python<'_>) -> PyResult<String> {
        Ok(callback::readable_source(&self.shared.lock(py)?.script(&[])))
    }

    /// Returns what a stage of the compiler makes of a function, or of a text: "tokens", "ast",
    /// "tape", "ir" or "asm".
    #[pyo3(signature = (text, stage="asm", /))]
    fn listing(&self, py: Python<'_>, text: &str, stage: &str) -> PyResult<String> {
        let stage = match stage {
            "tokens" => Stage::Tokens,
            "ast" => Stage::Ast,
            "tape" => Stage::Tape,
            "ir" => Stage::Ir,
            "asm" => Stage::Assembly,
            other => {
                let message = format!("no stage {other:?}: there are tokens, ast, tape, ir and asm");
                return Err(PyValueError::new_err(message));
            }
        };
        self.shared.run(py, |context| context.listing(stage, text))
    }

    /// Stops what other threads evaluate, call and compute in this session, with `kal.Stopped`.
    fn interrupt(&self) {
        self.shared.interrupt();
    }

    /// Forgets everything: the session is as good as a new one.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        let mut context = self.shared.lock(py)?;
        self.shared.changed();
        context.reset();
        drop(context);
        self.callables.get().clear();
        Ok(())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        const SHOWN: usize = 6;
        let context = self.shared.lock(py)?;
        let mut parts: Vec<String> =
            context.definitions().into_iter().map(|definition| definition.signature).collect();
        parts.extend(context.variable_names().into_iter().map(|name| {
            let value = context.variable(&name).unwrap_or(f64::NAN);
            format!("{name} = {}", kal::format_number(value))
        }));
        let more = parts.len().saturating_sub(SHOWN);
        parts.truncate(SHOWN);
        if more > 0 {
            parts.push(format!("{more} more"));
        }
        let parts = if parts.is_empty() { "empty".to_owned() } else { parts.join(", ") };
        Ok(format!("<kal.Session: {parts}>"))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let source = self.shared.lock(py)?.script(&[]);
        callback::check_pickled(&source)?;
        let restore = py.import("kal._pickle")?.getattr("session")?;
        Ok((restore, (source, self.shared.settings.keywords(py)?)))
    }
}
