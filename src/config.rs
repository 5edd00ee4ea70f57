//! How an engine is set up.

use crate::codegen::Level;
use crate::error::Error;
use crate::host::{Call, Callable, Closure, Foreign, HostError, HostFunctions};
use crate::limits::Limits;
use crate::name::Names;
use libloading::os::unix::Library;
use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// When functions are compiled. Answers never depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Mode {
    /// On their first call.
    #[default]
    Lazy,
    /// When they are defined, on all cores.
    Eager,
}

/// How an engine is set up: mode, optimisation, limits, host functions.
///
/// ```
/// use kal::{Config, Engine, Level};
///
/// let config = Config::new().level(Level::O3).host_function("twice", 1, |call| Ok(2.0 * call.arguments[0]));
/// let engine = Engine::with_config(config)?;
/// assert_eq!(engine.context()?.eval("twice(21)")?, Some(42.0));
/// # Ok::<(), kal::Error>(())
/// ```
#[derive(Clone)]
pub struct Config {
    pub(crate) mode: Mode,
    pub(crate) level: Level,
    pub(crate) workers: usize,
    pub(crate) limits: Limits,
    hosts: Vec<(String, u32, Closure)>,
    foreign: Vec<(String, Option<PathBuf>)>,
}

impl Config {
    /// Lazy, level 2, a worker for each core.
    pub fn new() -> Self {
        Self {
            mode: Mode::default(),
            level: Level::default(),
            workers: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            limits: Limits::default(),
            hosts: Vec::new(),
            foreign: Vec::new(),
        }
    }

    /// When functions are compiled.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// How much the compiler does for the speed of the code.
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// How many threads may compile at once; at least 1.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.max(1);
        self
    }

    /// What programs may use.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Lets programs call `function` as `name`, with `arity` arguments. It
    /// replaces a function of the standard library of that name. An error or
    /// a panic in it ends the run with an error; nothing else happens.
    #[must_use]
    pub fn host_function(
        mut self,
        name: impl Into<String>,
        arity: u32,
        function: impl Fn(&mut Call<'_>) -> Result<f64, HostError> + Send + Sync + 'static,
    ) -> Self {
        self.hosts.push((name.into(), arity, Arc::new(function)));
        self
    }

    /// Lets programs declare, with `extern`, and call a C function by its name:
    /// one of the shared library at `library`, or of this process and what it
    /// has loaded, unless programs may call a function of that name already.
    /// The library is loaded, and its initialisers run, when the
    /// engine is made; it stays until the engine is gone.
    ///
    /// ```
    /// use kal::{Config, Engine};
    ///
    /// // SAFETY: `double j0(double)`, and the one program declares it so.
    /// let config = unsafe { Config::new().allow_extern("j0", Some("libm.so.6".into())) };
    /// let mut context = Engine::with_config(config)?.context()?;
    /// assert_eq!(context.eval("extern j0(x); j0(0)")?, Some(1.0));
    /// # Ok::<(), kal::Error>(())
    /// ```
    ///
    /// # Safety
    /// Nothing is known of the function but its address, so all of this must
    /// hold for every program that is run:
    ///
    /// - It takes doubles by value, as many as the programs' `extern`s say (a
    ///   program may choose any number), and returns a double, in the C way.
    /// - It returns: it neither unwinds nor jumps over its caller, and does not
    ///   end the thread.
    /// - It gets by with 128 KiB of stack, and does not call back into the
    ///   context that called it.
    /// - It may be called from every thread that uses a context of the engine,
    ///   at the same time, and by every program in every order.
    /// - The initialisers of the library may run in this process.
    #[must_use]
    #[allow(unsafe_code)]
    pub unsafe fn allow_extern(mut self, name: impl Into<String>, library: Option<PathBuf>) -> Self {
        self.foreign.push((name.into(), library));
        self
    }

    /// The table of host functions that this describes.
    pub(crate) fn hosts(&self, names: &Names) -> Result<HostFunctions, Error> {
        let mut table = HostFunctions::standard(names);
        for (name, arity, closure) in &self.hosts {
            if !crate::syntax::is_identifier(name) {
                return Err(Error::Setup(format!("a host function cannot be called `{name}`")));
            }
            table.insert(names.intern(name), *arity, Callable::Closure(closure.clone()));
        }
        for (name, library) in &self.foreign {
            let is_standard = library.is_none() && table.get(names.intern(name)).is_some();
            if !is_standard {
                table.insert_foreign(names.intern(name), foreign(name, library.as_deref())?);
            }
        }
        Ok(table)
    }
}

/// Finds a function that the user has allowed.
#[allow(unsafe_code)]
fn foreign(name: &str, path: Option<&Path>) -> Result<Foreign, Error> {
    if !crate::syntax::is_identifier(name) {
        return Err(Error::Setup(format!("no program can call a function `{name}`")));
    }
    let library = match path {
        None => Library::this(),
        // SAFETY: whoever allowed the function has promised that the library
        // may be loaded.
        Some(path) => unsafe { Library::new(path) }
            .map_err(|error| {
                let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                Error::Setup(format!("`{}` cannot be loaded: {reason}", path.display()))
            })?,
    };
    // SAFETY: only the address is taken here; what is at it is part of the
    // same promise.
    let symbol = unsafe { library.get::<*const ()>(name) };
    let address = symbol.map(|symbol| symbol.as_raw_ptr() as usize).unwrap_or_default();
    if address == 0 {
        let place = path.map_or("this process".into(), |path| format!("`{}`", path.display()));
        return Err(Error::Setup(format!("there is no function `{name}` in {place}")));
    }
    Ok(Foreign { address, library: Arc::new(library) })
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}
