//! How an engine is set up.

use crate::cache::{CacheOptions, EngineCache};
use crate::error::Error;
use crate::host::{Call, Callable, Closure, ForeignFunction, HostError, HostFunctions, Output};
use crate::image::{Image, ImageInfo};
use crate::limits::Limits;
use crate::name::Names;
use crate::output::LineOutput;
use crate::prelude::Prelude;
use crate::processor::Processor;
use crate::runtime::on_thread_stack;
use crate::status::{Compilation, CompileObserver};
use crate::syntax::is_identifier;
use crate::tier::{Level, TierUp};
use std::path::PathBuf;
use std::sync::Arc;

/// When functions are compiled. Answers never depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Mode {
    /// On their first call. The default. Without the feature `compiler`, functions run as the
    /// code that packs have of them, or else as baseline code.
    #[default]
    Lazy,
    /// When they are defined, on all cores. Top-level expressions, which mostly run once, begin
    /// at the baseline tier as with [`Lazy`](Self::Lazy). An error without the feature
    /// `compiler`.
    Eager,
    /// Never: programs are interpreted, and the compiler is not started.
    Interpret,
    /// In the background, once they are hot in the interpreter. Long loops
    /// continue in compiled code, too (on-stack replacement). Without the feature `compiler`,
    /// hot functions run as the code that packs have of them, or else as baseline code, and loops
    /// stay in the interpreter.
    Tiered,
}

/// How many arguments a host function may take: the time to compile a call of it
/// grows with their square.
const MOST_ARGUMENTS: u32 = 50_000;

/// The default stack of a compile worker, in bytes: enough for the largest
/// function that is compiled.
pub(crate) const WORKER_STACK: usize = 1 << 30;

/// What creates the output of a context.
type OutputMaker = Arc<dyn Fn() -> Box<dyn Output> + Send + Sync>;

/// How an engine is set up: mode, optimisation, limits, host functions. Without
/// the feature `compiler`, what concerns code has no effect.
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
    pub(crate) waits_for_code: bool,
    pub(crate) keeps_texts: bool,
    /// Whether a child of the process writes what later runs need.
    pub(crate) leaves_writing: bool,
    pub(crate) keeps_code: bool,
    pub(crate) compile_observer: Option<CompileObserver>,
    /// Standard output if `None`.
    output: Option<OutputMaker>,
    /// `None`: one for each core, counted when the first is needed.
    pub(crate) workers: Option<usize>,
    /// In how many parts all of a program is compiled, at least; one for each worker if `None`.
    pub(crate) shards: Option<usize>,
    pub(crate) worker_stack: usize,
    pub(crate) limits: Limits,
    pub(crate) perf_map: bool,
    pub(crate) debug_objects: bool,
    pub(crate) library_paths: Vec<PathBuf>,
    pub(crate) program_folder: Option<PathBuf>,
    pub(crate) cache: Option<CacheOptions>,
    pub(crate) engine_cache: Option<EngineCache>,
    pub(crate) images: Vec<Image>,
    pub(crate) requires_images: bool,
    /// Whether what was checked of the texts of images is used where their code cannot be.
    pub(crate) uses_checked_texts: bool,
    pub(crate) processor: Processor,
    /// How many rows kernels compute at once; as many as are fastest if `None`.
    pub(crate) lanes: Option<u32>,
    /// Whether programs are compiled and not run.
    pub(crate) is_for_image: bool,
    /// Whether only clones are compiled then: the functions that gain from what the processor has.
    pub(crate) only_clones: bool,
    /// Whether functions that do not use their context are compiled to be called in whatever
    /// floating-point environment, where the processor has AVX-512.
    pub(crate) rounds_statically: bool,
    /// What contexts begin with.
    pub(crate) prelude: Option<Arc<Prelude>>,
    /// Whether programs are preludes: they have no effects outside of their context.
    pub(crate) is_for_prelude: bool,
    hosts: Vec<(String, u32, Closure)>,
    hosts_on_thread_stack: bool,
    foreign: Vec<(String, Option<PathBuf>)>,
    /// The first name of a function that programs cannot write. It is looked for when the function
    /// is added, so that who adds none is linked without a lexer.
    bad_name: Option<String>,
}

impl Config {
    /// Creates the default configuration: the default mode, level 2, a worker
    /// for each core.
    pub fn new() -> Self {
        Self {
            mode: Mode::default(),
            level: Level::default(),
            tier_up: TierUp::default(),
            waits_for_code: false,
            keeps_texts: true,
            leaves_writing: false,
            keeps_code: false,
            compile_observer: None,
            output: None,
            workers: None,
            shards: None,
            worker_stack: WORKER_STACK,
            limits: Limits::default(),
            perf_map: false,
            debug_objects: false,
            library_paths: Vec::new(),
            program_folder: None,
            cache: None,
            engine_cache: None,
            images: Vec::new(),
            requires_images: false,
            uses_checked_texts: false,
            processor: Processor::Native,
            lanes: None,
            is_for_image: false,
            only_clones: false,
            rounds_statically: false,
            prelude: None,
            is_for_prelude: false,
            hosts: Vec::new(),
            hosts_on_thread_stack: false,
            foreign: Vec::new(),
            bad_name: None,
        }
    }

    /// When functions are compiled.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Adds a folder in which the modules are looked for that programs import, after
    /// those added before; none at first. A program from a
    /// [file](crate::source::Source::in_folder) finds those beside it before.
    #[must_use]
    pub fn library_path(mut self, folder: impl Into<PathBuf>) -> Self {
        self.library_paths.push(folder.into());
        self
    }

    /// Sets the folder of programs that are from no file: the modules that they import
    /// are looked for there first. None at first.
    #[must_use]
    pub fn program_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.program_folder = Some(folder.into());
        self
    }

    /// Keeps the code of programs and modules that are from
    /// [files](crate::source::Source::in_folder) for later runs, and uses what earlier
    /// ones have kept; off at first.
    #[must_use]
    pub fn cache(mut self, options: CacheOptions) -> Self {
        self.cache = Some(options);
        self
    }

    /// Sets a file in which the engine finds the texts and the code of an earlier one, and in
    /// which it leaves its own; none by default. Values of variables are not in it. In
    /// [`Mode::Interpret`] it has no effect.
    ///
    /// Unlike a [cache](Self::cache), which has a file for each program, it has texts from
    /// anywhere, and what is in it is chosen.
    #[must_use]
    pub fn engine_cache(mut self, cache: EngineCache) -> Self {
        self.engine_cache = Some(cache);
        self
    }

    /// Adds an image: what is in it of the programs and modules that are read is neither
    /// checked nor compiled. What is not in it, or does not fit, is; an image that cannot be
    /// used at all is left out, which [`Engine::image_failures`](crate::Engine::image_failures)
    /// tells.
    #[must_use]
    pub fn image(mut self, image: Image) -> Self {
        self.prelude = self.prelude.or_else(|| image.prelude().cloned());
        self.images.push(image);
        self
    }

    /// Sets whether it is an error if an image cannot be used, in place of compiling what is
    /// in it: false by default.
    #[must_use]
    pub fn require_images(mut self, require: bool) -> Self {
        self.requires_images = require;
        self
    }

    /// Sets what code is compiled for: the processor of this machine by default, with all
    /// that it has. Results do not depend on it.
    #[must_use]
    pub fn processor(mut self, processor: Processor) -> Self {
        self.processor = processor;
        self
    }

    /// Sets how many rows [kernels](crate::Kernel) compute at once: a power of two from 2 to
    /// 64; others are rounded. By default, as many as fill two or four vectors of the processor.
    /// Results do not depend on it.
    #[must_use]
    pub fn lanes(mut self, lanes: u32) -> Self {
        self.lanes = Some(lanes.clamp(2, 64).next_power_of_two());
        self
    }

    /// Makes programs be compiled for that processor, optimised, to become an image, and not be
    /// run.
    pub(crate) fn for_image(mut self, processor: Processor) -> Self {
        (self.is_for_image, self.processor) = (true, processor);
        (self.mode, self.tier_up, self.keeps_texts) = (Mode::Lazy, TierUp::Never, false);
        self.leaves_writing = false;
        (self.engine_cache, self.compile_observer) = (None, None);
        self
    }

    /// Returns what an image says of itself that is made with this configuration.
    pub(crate) fn image_info(&self, is_program: bool) -> ImageInfo {
        ImageInfo {
            kal: env!("CARGO_PKG_VERSION").to_owned(),
            level: self.level as u8,
            fuel: self.limits.fuel,
            max_nesting: self.limits.max_nesting,
            is_program,
        }
    }

    /// Makes programs be run as preludes, which are refused if they have effects outside of
    /// their context.
    pub(crate) fn for_prelude(mut self) -> Self {
        self.is_for_prelude = true;
        self
    }

    /// Sets the optimisation level.
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// Sets after how many calls a function, and after how many iterations a loop,
    /// is compiled again at the full level; in a tiered program, after how many
    /// it continues in compiled code. Answers never depend on it.
    #[must_use]
    pub fn tier_up(mut self, tier_up: TierUp) -> Self {
        self.tier_up = tier_up;
        self
    }

    /// Sets whether a program waits for the code of hot functions and loops instead
    /// of going on as before until it is ready: for repeatable runs.
    #[must_use]
    pub fn wait_for_code(mut self, wait: bool) -> Self {
        self.waits_for_code = wait;
        self
    }

    /// Sets what is told of every function that is compiled, when its code is linked: none at
    /// first. It is called on the threads that compile, several at once, and must not use the
    /// engine; what it panics with is discarded.
    #[must_use]
    pub fn on_compile(mut self, observer: impl Fn(&Compilation<'_>) + Send + Sync + 'static) -> Self {
        self.compile_observer = Some(Arc::new(observer));
        self
    }

    /// Sets what creates the output of `printd` and `putchard` for each context, also for those
    /// in which a kernel computes rows one by one: standard output by default.
    /// [`Context::set_output`](crate::Context::set_output) is for one context only.
    ///
    /// ```
    /// use kal::{Column, Config, Engine, LineOutput, Run};
    ///
    /// let file = std::env::temp_dir().join(format!("kal-output-{}", std::process::id()));
    /// let stream = std::fs::File::create(&file)?;
    /// let output = move || -> Box<dyn kal::host::Output> {
    ///     Box::new(LineOutput::new(stream.try_clone().expect("a file can be opened twice")).flush_lines(true))
    /// };
    /// let mut context = Engine::with_config(Config::new().output(output))?.context()?;
    /// context.eval("def shown(x) printd(x); shown(1)")?;
    /// let shown = context.kernel("shown")?;
    /// shown.apply(&[Column::Values(&[2.0, 3.0])], &mut [0.0; 2], &mut Run::new())?;
    /// assert_eq!(std::fs::read_to_string(&file)?, "1\n2\n3\n");
    /// # std::fs::remove_file(&file)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn output(mut self, create: impl Fn() -> Box<dyn Output> + Send + Sync + 'static) -> Self {
        self.output = Some(Arc::new(create));
        self
    }

    /// Returns a new output for a context.
    pub(crate) fn new_output(&self) -> Box<dyn Output> {
        match &self.output {
            Some(create) => create(),
            None => Box::new(LineOutput::stdout()),
        }
    }

    /// Sets whether the engine keeps all code that it compiles, for
    /// [`Context::save`](crate::Context::save): false by default. It needs a
    /// [cache](Self::cache), and takes some hundred bytes for a function, up to 64 MiB.
    #[must_use]
    pub fn keep_code(mut self, keep: bool) -> Self {
        self.keeps_code = keep;
        self
    }

    /// Sets whether the engine keeps the texts that its contexts read, with the
    /// checked items and their code, for other contexts that are given them: true
    /// by default. For an engine with one context it only costs memory.
    #[must_use]
    pub fn keep_texts(mut self, keep: bool) -> Self {
        self.keeps_texts = keep;
        self
    }

    /// Sets whether the engine's owner has a child write
    /// what later runs need.
    #[cfg(feature = "cli")]
    pub(crate) fn leave_writing(mut self, leave: bool) -> Self {
        self.leaves_writing = leave;
        self
    }

    /// Returns whether only such a child needs what is kept for later runs, so that it can find
    /// most of it out itself.
    pub(crate) fn leaves_keeping(&self) -> bool {
        self.leaves_writing && self.engine_cache.is_none() && !self.keeps_code
    }

    /// Sets how many threads may compile at once; at least 1.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers.max(1));
        self
    }

    /// Sets the stack size of each compile worker, in bytes: 1 GiB by default,
    /// at least 16 MiB. Addresses are reserved for all of it; memory is taken
    /// from the system only when it is used, unless the process locks what it
    /// reserves. A worker gets at most a 64th of the addresses that the process
    /// may have (`ulimit -v`), but at least 16 MiB. A function of more
    /// operations than kibibytes of stack is too large to be compiled.
    #[must_use]
    pub fn worker_stack(mut self, bytes: usize) -> Self {
        self.worker_stack = bytes;
        self
    }

    /// Sets the limits of what programs may use.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets whether the names of compiled functions are written to
    /// `/tmp/perf-PID.map`, so that `perf report` shows them. If the file
    /// cannot be written, or is a link or another user's, programs run without
    /// it; [`Engine::perf_map_failure`](crate::Engine::perf_map_failure) says
    /// why.
    #[must_use]
    pub fn perf_map(mut self, on: bool) -> Self {
        self.perf_map = on;
        self
    }

    /// Sets whether compiled functions are registered with debuggers, through
    /// GDB's JIT interface. Linking takes longer then.
    #[must_use]
    pub fn debug_objects(mut self, on: bool) -> Self {
        self.debug_objects = on;
        self
    }

    /// Adds a host function: programs may call `function` as `name`, with
    /// `arity` arguments. It replaces a function of the standard library of
    /// that name. An error or a panic in it ends the run with an error, and has
    /// no other effect.
    ///
    /// It may use 2 MiB of stack when compiled code calls it, even if the
    /// program has used up its own; the interpreter calls it on the stack of
    /// the running thread. It may run programs, in other contexts, which may
    /// call host functions in turn: a run nested in more than 32 of them fails
    /// with a stack overflow. Interpreted, each takes some 6.4 KB of the
    /// thread's stack besides what its closure needs: 32 of them fit into 256
    /// KiB if they need little, and on a smaller stack the process ends.
    ///
    /// It is called in the floating-point environment of the host, if that has set a
    /// rounding mode or flushes subnormal numbers to zero; the program is not.
    ///
    /// [`Engine::with_config`](crate::Engine::with_config) refuses more than
    /// 50,000 arguments.
    #[must_use]
    pub fn host_function(
        mut self,
        name: impl Into<String>,
        arity: u32,
        function: impl Fn(&mut Call<'_>) -> Result<f64, HostError> + Send + Sync + 'static,
    ) -> Self {
        let name = self.checked(name.into());
        self.hosts.push((name, arity, Arc::new(function)));
        self
    }

    /// Sets whether host functions, and the output, are called on the stack of the thread that
    /// runs the program, with what is left of that: false by default, where compiled code calls
    /// them on its own stack. For functions in languages that know where the stack of a thread
    /// is, and take another one for an overflow: Go, JavaScript, and others that are reached
    /// through C.
    #[must_use]
    pub fn host_functions_on_thread_stack(mut self, on: bool) -> Self {
        self.hosts_on_thread_stack = on;
        self
    }

    /// Allows programs to declare, with `extern`, and call a C function by its
    /// name: one of the shared library at `library`, or of this process and
    /// what it has loaded, unless programs may call a function of that name
    /// already. It may have up to 16 arguments. The library is loaded, and its
    /// initialisers run, when the engine is made; it stays until the engine is
    /// gone.
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
    /// Nothing is known about the function but its address, so all of the
    /// following must hold for every program that is run:
    ///
    /// - It takes doubles by value, as many as the programs' `extern`s say (a
    ///   program may choose any number), and returns a double, in the C way.
    /// - It computes in the default floating-point environment, and leaves it so: other
    ///   than a [host function](Self::host_function), it is called in that of the program.
    /// - It returns: it neither unwinds nor jumps over its caller, and does not
    ///   end the thread.
    /// - It needs at most 2 MiB of stack, and does not call back into the
    ///   context that called it.
    /// - It may be called from every thread that uses a context of the engine,
    ///   at the same time, and by every program in every order.
    /// - The initialisers of the library may run in this process.
    #[must_use]
    #[allow(unsafe_code)]
    pub unsafe fn allow_extern(mut self, name: impl Into<String>, library: Option<PathBuf>) -> Self {
        let name = self.checked(name.into());
        self.foreign.push((name, library));
        self
    }

    /// Returns the name of a function, after noting whether programs can write it.
    fn checked(&mut self, name: String) -> String {
        if self.bad_name.is_none() && !is_identifier(&name) {
            self.bad_name = Some(name.clone());
        }
        name
    }

    /// Creates the table of host functions that this describes.
    #[allow(unsafe_code)]
    pub(crate) fn hosts(&self, names: &Names) -> Result<HostFunctions, Error> {
        if let Some(name) = &self.bad_name {
            return Err(Error::BadName(name.clone()));
        }
        let mut table = HostFunctions::standard(names);
        if self.hosts_on_thread_stack {
            table.call_in(on_thread_stack);
        }
        for (name, arity, closure) in &self.hosts {
            if *arity > MOST_ARGUMENTS {
                return Err(Error::TooManyArguments(name.clone()));
            }
            table.insert(names.intern(name), *arity, Callable::Closure(closure.clone()));
        }
        for (name, library) in &self.foreign {
            let is_standard = library.is_none() && table.get(names.intern(name)).is_some();
            if !is_standard {
                // SAFETY: the caller of `allow_extern` has promised it.
                let found = unsafe { ForeignFunction::find(name, library.as_deref()) };
                table.insert_foreign(names.intern(name), found?);
            }
        }
        if self.is_for_prelude {
            table.refuse_effects();
        }
        Ok(table)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}
