//! How an engine is set up.

use crate::codegen::Level;
use crate::error::Error;
use crate::host::{Call, Callable, Closure, HostError, HostFunctions};
use crate::jit::TierUp;
use crate::limits::Limits;
use crate::name::Names;
use std::sync::Arc;

/// When functions are compiled. Answers never depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Mode {
    /// On their first call.
    #[default]
    Lazy,
    /// When they are defined, on all cores.
    Eager,
    /// Never: programs are interpreted, and the compiler is not started.
    Interpret,
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
    pub(crate) tier_up: TierUp,
    /// Nothing: one for each core, counted when they are needed.
    pub(crate) workers: Option<usize>,
    pub(crate) limits: Limits,
    pub(crate) perf_map: bool,
    pub(crate) debug_objects: bool,
    hosts: Vec<(String, u32, Closure)>,
}

impl Config {
    /// Lazy, level 2, a worker for each core.
    pub fn new() -> Self {
        Self {
            mode: Mode::default(),
            level: Level::default(),
            tier_up: TierUp::default(),
            workers: None,
            limits: Limits::default(),
            perf_map: false,
            debug_objects: false,
            hosts: Vec::new(),
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

    /// When functions that were compiled quickly are compiled again, at the
    /// full level. Answers never depend on it.
    #[must_use]
    pub fn tier_up(mut self, tier_up: TierUp) -> Self {
        self.tier_up = tier_up;
        self
    }

    /// How many threads may compile at once; at least 1.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers.max(1));
        self
    }

    /// What programs may use.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Whether the names of compiled functions are written to
    /// `/tmp/perf-PID.map`, so that `perf report` shows them.
    #[must_use]
    pub fn perf_map(mut self, on: bool) -> Self {
        self.perf_map = on;
        self
    }

    /// Whether debuggers are told of compiled functions, through GDB's JIT
    /// interface. Linking takes longer then.
    #[must_use]
    pub fn debug_objects(mut self, on: bool) -> Self {
        self.debug_objects = on;
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

    /// The table of host functions that this describes.
    pub(crate) fn hosts(&self, names: &Names) -> Result<HostFunctions, Error> {
        let mut table = HostFunctions::standard(names);
        for (name, arity, closure) in &self.hosts {
            if !crate::syntax::is_identifier(name) {
                return Err(Error::Setup(format!("a host function cannot be called `{name}`")));
            }
            table.insert(names.intern(name), *arity, Callable::Closure(closure.clone()));
        }
        Ok(table)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}
