//! Sessions: programs in progress, each behind a lock.

use crate::callback;
use crate::error::{OrException, exception};
use crate::function::Function;
use crate::meaning::{Target, declared_parameters};
use crate::output::Printed;
use crate::signals::{self, Heard};
use kal::source::Source;
use kal::{Config, Context, Engine, Error, InterruptHandle, Limits, Mode, Stage};
use parking_lot::{Mutex, MutexGuard};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// What a session is made with.
#[derive(Clone, PartialEq, Default)]
pub struct Settings {
    pub timeout: Option<Duration>,
    pub fuel: Option<u64>,
    pub library: Vec<PathBuf>,
    pub interpret: bool,
}

impl Settings {
    /// Returns an engine with these settings. All sessions with the default ones share one, and
    /// with it the code of equal functions.
    fn engine(&self) -> Result<Engine, Error> {
        static SHARED: OnceLock<Engine> = OnceLock::new();
        if *self != Self::default() {
            return self.new_engine();
        }
        if let Some(engine) = SHARED.get() {
            return Ok(engine.clone());
        }
        let engine = self.new_engine()?;
        Ok(SHARED.get_or_init(|| engine).clone())
    }

    fn new_engine(&self) -> Result<Engine, Error> {
        let limits = Limits { deadline: self.timeout, fuel: self.fuel, ..Limits::default() };
        let mut config = callback::configure(Config::new()).limits(limits);
        if self.interpret {
            config = config.mode(Mode::Interpret);
        }
        for folder in &self.library {
            config = config.library_path(folder);
        }
        Engine::with_config(config)
    }

    /// Returns the settings as keyword arguments of a session.
    pub fn keywords<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let keywords = PyDict::new(py);
        keywords.set_item("timeout", self.timeout.map(|timeout| timeout.as_secs_f64()))?;
        keywords.set_item("fuel", self.fuel)?;
        let library: Vec<String> =
            self.library.iter().map(|folder| folder.to_string_lossy().into_owned()).collect();
        keywords.set_item("library", library)?;
        keywords.set_item("interpret", self.interpret)?;
        Ok(keywords)
    }
}

/// A context with what Python needs of it.
pub struct SharedSession {
    pub settings: Settings,
    context: Mutex<Context>,
    /// Changes with everything that may change what a name means, under the lock.
    version: AtomicU64,
    /// Changes when variables may have other values, under the lock.
    values: AtomicU64,
    /// The process and the thread of Python that run something with the lock held, while
    /// Python's other threads run.
    holder: Mutex<Option<(u32, u64)>>,
    interrupt: InterruptHandle,
    pub printed: Printed,
    /// The numbers of the Python functions that it has defined.
    callables: Mutex<Vec<u64>>,
}

impl Drop for SharedSession {
    fn drop(&mut self) {
        callback::forget(self.callables.get_mut());
    }
}

/// Returns a number of this thread.
fn thread_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: Cell<u64> = const { Cell::new(0) };
    }
    if NUMBER.get() == 0 {
        NUMBER.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    NUMBER.get()
}

impl SharedSession {
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let mut context = settings.engine()?.context()?;
        let printed = Printed::default();
        context.set_output(printed.output());
        let interrupt = context.interrupt_handle();
        Ok(Self {
            settings,
            context: Mutex::new(context),
            version: AtomicU64::new(1),
            values: AtomicU64::new(1),
            holder: Mutex::default(),
            interrupt,
            printed,
            callables: Mutex::default(),
        })
    }

    /// Returns its context, when no other thread uses it.
    #[inline]
    pub fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Context>> {
        match self.context.try_lock() {
            Some(context) => Ok(context),
            None => self.wait(py),
        }
    }

    #[cold]
    fn wait(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Context>> {
        let own = (std::process::id(), thread_number());
        loop {
            match *self.holder.lock() {
                Some(holder) if holder == own => {
                    let message = "this session runs a program that has called this Python function, \
                                   which cannot use the session until it has returned";
                    return Err(PyRuntimeError::new_err(message));
                }
                Some((process, _)) if process != own.0 => {
                    let message = "this session ran a program when the process forked; make another one";
                    return Err(PyRuntimeError::new_err(message));
                }
                Some(_) | None => {}
            }
            if let Some(context) = py.detach(|| self.context.try_lock_for(signals::STEP)) {
                return Ok(context);
            }
            py.check_signals()?;
        }
    }

    /// Returns the number of what names mean now. It is changed under the lock.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// Returns the number of the values that variables have now. It is changed under the lock.
    pub fn values(&self) -> u64 {
        self.values.load(Ordering::Relaxed)
    }

    /// Notes that variables may have other values now.
    pub fn assigned(&self) {
        self.values.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that names may mean something else now.
    pub fn changed(&self) {
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    /// Runs something that may last, while other threads run and signals are heard.
    pub fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Context) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let mut context = self.lock(py)?;
        self.assigned();
        *self.holder.lock() = Some((std::process::id(), thread_number()));
        let stop = || self.interrupt.interrupt_running();
        let running = &mut *context;
        let heard = py.detach(|| signals::heard(Some(&self.printed), stop, || work(running)));
        *self.holder.lock() = None;
        drop(context);
        self.printed.write_out(py)?;
        outcome(py, heard)
    }

    /// Runs a source. Returns the value of its last expression.
    fn define(&self, py: Python<'_>, source: &Source) -> PyResult<Option<f64>> {
        self.run(py, |context| {
            self.changed();
            last_value(context, source)
        })
    }

    /// Runs something on this thread, while other threads run and no signal is heard.
    pub fn run_here<T: Send>(
        &self,
        py: Python<'_>,
        context: &mut Context,
        work: impl FnOnce(&mut Context) -> T + Send,
    ) -> Heard<T> {
        *self.holder.lock() = Some((std::process::id(), thread_number()));
        let heard = py.detach(|| signals::here(|| work(context)));
        *self.holder.lock() = None;
        heard
    }
}

/// Returns the value of what was run, or why there is none: what a signal has raised, or else
/// the program's error, whose cause may be that of a Python function.
pub fn outcome<T>(py: Python<'_>, heard: Heard<Result<T, Error>>) -> PyResult<T> {
    let Heard { result, raised, cause } = heard;
    match raised {
        Some(raised) => Err(raised),
        None => result.map_err(|error| with_cause(py, &error, None, cause)),
    }
}

/// Returns the exception for an error, which something raised in Python may have caused.
pub fn with_cause(py: Python<'_>, error: &Error, row: Option<usize>, cause: Option<PyErr>) -> PyErr {
    let exception = exception(py, error, row);
    if cause.is_some() {
        exception.set_cause(py, cause);
    }
    exception
}

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
    /// The functions that Python has asked for, with what is compiled of them.
    functions: Mutex<BTreeMap<Target, Py<Function>>>,
}

/// How many functions of Python a session keeps at most.
const KEPT: usize = 4096;

impl Session {
    pub fn of(shared: Arc<SharedSession>) -> Self {
        Self { shared, functions: Mutex::default() }
    }

    /// Returns the function of a target, always the same one.
    fn function<'py>(&self, py: Python<'py>, target: Target) -> PyResult<Bound<'py, Function>> {
        let known = self.functions.lock().get(&target).map(|function| function.clone_ref(py));
        if let Some(known) = known {
            known.get().check(py)?;
            return Ok(known.into_bound(py));
        }
        let function = Bound::new(py, Function::new(py, self.shared.clone(), target.clone())?)?;
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
    #[pyo3(signature = (*, timeout=None, fuel=None, library=Vec::new(), interpret=false))]
    fn new(
        py: Python<'_>,
        timeout: Option<f64>,
        fuel: Option<u64>,
        library: Vec<PathBuf>,
        interpret: bool,
    ) -> PyResult<Self> {
        let timeout = timeout.map(Duration::try_from_secs_f64).transpose();
        let timeout = timeout.map_err(|error| PyValueError::new_err(format!("timeout: {error}")))?;
        let settings = Settings { timeout, fuel, library, interpret };
        let shared = py.detach(|| SharedSession::new(settings)).or_exception(py)?;
        Ok(Self::of(Arc::new(shared)))
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
        let text = std::fs::read_to_string(&path)?;
        let folder = path.parent().map_or_else(PathBuf::new, PathBuf::from);
        let source = Source::in_folder(path.to_string_lossy(), text, folder);
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
        arity: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (name, function) = match function {
            Some(function) => (name.extract::<String>()?, function),
            None => (name.getattr("__name__")?.extract::<String>()?, name),
        };
        if !function.is_callable() {
            return Err(PyTypeError::new_err(format!("{} is not callable", function.repr()?)));
        }
        if !kal::syntax::is_identifier(&name) {
            return Err(PyValueError::new_err(format!("`{name}` is not a name that a program can use")));
        }
        let arity = match arity {
            Some(arity) => arity,
            None => arity_of(&function)?,
        };
        if arity > callback::MOST_ARGUMENTS {
            let most = callback::MOST_ARGUMENTS;
            let message = format!("a Python function can have {most} arguments at most, not {arity}");
            return Err(PyValueError::new_err(message));
        }
        let number = callback::register(function.clone().unbind());
        self.shared.callables.lock().push(number);
        let parameters: Vec<String> = (1..=arity).map(|index| format!("x{index}")).collect();
        let arguments: String = parameters.iter().map(|parameter| format!(", {parameter}")).collect();
        let call = callback::name(arity);
        let text = format!("def {name}({}) {call}({number}{arguments})", parameters.join(" "));
        let source = Source::new("<Python>", text);
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

    /// What the session defines, as a text that defines it again.
    #[getter]
    fn source(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.shared.lock(py)?.script(&[]))
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

    /// Stops what another thread evaluates in this session, with `kal.Stopped`.
    fn interrupt(&self) {
        self.shared.interrupt.interrupt_running();
    }

    /// Forgets everything: the session is as good as a new one.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        let mut context = self.shared.lock(py)?;
        self.shared.changed();
        context.reset();
        drop(context);
        callback::forget(&std::mem::take(&mut *self.shared.callables.lock()));
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
        let source = self.source(py)?;
        if source.contains(callback::PREFIX) {
            return Err(not_to_be_pickled());
        }
        let restore = py.import("kal._pickle")?.getattr("session")?;
        Ok((restore, (source, self.shared.settings.keywords(py)?)))
    }
}

/// Returns why what calls a Python function is not pickled.
pub fn not_to_be_pickled() -> PyErr {
    PyTypeError::new_err("what calls a Python function cannot be pickled: only Kal's text is")
}

/// Names, one or many.
pub struct Names(pub Vec<String>);

impl<'py> FromPyObject<'_, 'py> for Names {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = object.extract::<String>() {
            let names = text.split(|character: char| character == ',' || character.is_whitespace());
            return Ok(Self(names.filter(|name| !name.is_empty()).map(str::to_owned).collect()));
        }
        object.extract().map(Self)
    }
}

/// Runs a source up to its first error; returns the value of its last expression.
fn last_value(context: &mut Context, source: &Source) -> Result<Option<f64>, Error> {
    let mut result = Ok(None);
    let _ = context.run(source, &mut |_, outcome| {
        match outcome {
            Ok(kal::Outcome::Value(value)) => result = Ok(Some(value)),
            Ok(_) => {}
            Err(error) => result = Err(error),
        }
        if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    // What it has printed in part of a line is printed, too.
    let _ = context.output().flush();
    result
}

/// Returns how many arguments a Python function takes.
fn arity_of(function: &Bound<'_, PyAny>) -> PyResult<usize> {
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

impl Target {
    /// Returns a formula; its parameters are found if they are not given.
    fn formula(
        py: Python<'_>,
        session: &SharedSession,
        text: &str,
        parameters: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let text = text.trim().to_owned();
        let parameters = match parameters {
            Some(parameters) => parameters,
            None => declared_parameters(&mut *session.lock(py)?, &text).or_exception(py)?,
        };
        Ok(Self::Formula { text, parameters })
    }
}
