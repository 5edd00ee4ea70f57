//! Options of every command, before or after its name.

use super::{compile_trace, quantity};
use crate::cache::{CacheOptions, CompilePolicy, EngineCache, FileMarks, UpdatePolicy};
use crate::config::{Config, Mode};
use crate::engine::Engine;
use crate::host::sink::Output;
use crate::image::Image;
use crate::output::LineOutput;
use crate::process;
use crate::terminal::report::Colors;
use crate::{Level, Limits, TierUp};
use clap::{Args, ValueEnum};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The options of every command.
#[derive(Args, Debug, Clone)]
pub(super) struct CommonOptions {
    /// Compile functions on their first call (the default)
    #[arg(long, global = true, help_heading = "Compilation")]
    lazy: bool,
    /// Compile functions when they are defined, on all cores
    #[arg(long, global = true, help_heading = "Compilation")]
    eager: bool,
    /// Compile nothing: interpret
    #[arg(long, global = true, help_heading = "Compilation")]
    interpret: bool,
    /// Interpret first, and compile what is hot in the background
    #[arg(long, global = true, help_heading = "Compilation")]
    tiered: bool,
    /// Optimisation level
    #[arg(
        short = 'O',
        value_name = "LEVEL",
        global = true,
        default_value = "2",
        help_heading = "Compilation"
    )]
    level: LevelArgument,
    /// Compile everything at the full level at once
    #[arg(long, global = true, help_heading = "Compilation", hide_short_help = true)]
    no_tier_up: bool,
    /// Compile a function at the full level after this many calls, a loop after
    /// this many iterations. 1000 if not given
    #[arg(long, value_name = "COUNT", global = true, allow_hyphen_values = true,
          value_parser = quantity::small_count, help_heading = "Compilation", hide_short_help = true)]
    tier_up_after: Option<u32>,
    /// Wait for the code of what is hot, for repeatable runs
    #[arg(long, global = true, help_heading = "Compilation", hide_short_help = true)]
    tier_up_waits: bool,
    /// Stop after this time: `2s`, `500ms`, `1.5m`, `1h`, `1d`; in seconds
    /// without a unit. At a prompt on a terminal, each input has this time
    #[arg(long, value_name = "TIME", global = true, value_parser = quantity::time,
          allow_hyphen_values = true, help_heading = "Limits")]
    pub(super) timeout: Option<Duration>,
    /// Stop each item after this many function entries and loop iterations:
    /// `5000`, `1e6`, `100k`
    #[arg(long, value_name = "COUNT", global = true, value_parser = quantity::count,
          allow_hyphen_values = true, help_heading = "Limits")]
    pub(super) fuel: Option<u64>,
    /// Size of the program's stack: `512MiB`, `1GB`; in MiB without a unit
    #[arg(long, value_name = "SIZE", global = true, default_value = "256MiB", allow_hyphen_values = true,
          value_parser = quantity::stack_size, help_heading = "Limits")]
    stack_size: usize,
    /// How deep expressions may be nested
    #[arg(long, value_name = "DEPTH", global = true, default_value = "10_000", allow_hyphen_values = true,
          value_parser = quantity::depth, help_heading = "Limits", hide_short_help = true)]
    pub(super) max_nesting: u32,
    /// At the end, print statistics as one JSON object on standard error
    #[arg(long, global = true, help_heading = "Inspection")]
    pub(super) stats: bool,
    /// Show compiled functions by name in `perf report`
    #[arg(long, global = true, help_heading = "Inspection", hide_short_help = true)]
    perf: bool,
    /// Show compiled functions by name in gdb
    #[arg(long, global = true, help_heading = "Inspection", hide_short_help = true)]
    gdb: bool,
    /// Where compiled code is kept between runs: `off`, `ro` (not written), or a
    /// folder. `KAL_CACHE` if not given, else the user's folder for caches
    #[arg(long, value_name = "WHERE", global = true, help_heading = "Compilation", hide_short_help = true)]
    cache: Option<String>,
    /// At the end, say on standard error which files of the cache were used
    #[arg(long, global = true, help_heading = "Inspection", hide_short_help = true)]
    pub(super) trace_cache: bool,
    /// Write a line for each function that is compiled to a file, or to `stderr`
    #[arg(long, value_name = "FILE", global = true, help_heading = "Inspection", hide_short_help = true)]
    trace_compile: Option<PathBuf>,
    /// Use what an image has of programs and modules; may be given several times
    #[arg(long, value_name = "FILE", global = true, help_heading = "Compilation", hide_short_help = true)]
    image: Vec<PathBuf>,
    /// Fail if an image cannot be used on this machine, in place of compiling
    #[arg(long, global = true, help_heading = "Compilation", hide_short_help = true)]
    image_required: bool,
    /// Load the texts and the code of an earlier run from a file, and store those of this one
    /// in it
    #[arg(long, value_name = "FILE", global = true, help_heading = "Compilation", hide_short_help = true)]
    engine_cache: Option<PathBuf>,
    /// Load from that file, in place of that of `--engine-cache`
    #[arg(long, value_name = "FILE", global = true, help_heading = "Compilation", hide_short_help = true)]
    engine_cache_load: Option<PathBuf>,
    /// Store in that file, in place of that of `--engine-cache`
    #[arg(long, value_name = "FILE", global = true, help_heading = "Compilation", hide_short_help = true)]
    engine_cache_store: Option<PathBuf>,
    /// What is compiled before it is stored
    #[arg(
        long,
        value_name = "WHAT",
        global = true,
        default_value = "hot",
        help_heading = "Compilation",
        hide_short_help = true
    )]
    engine_cache_compile: StoredCode,
    /// When the file is written again
    #[arg(
        long,
        value_name = "WHEN",
        global = true,
        default_value = "newcode",
        help_heading = "Compilation",
        hide_short_help = true
    )]
    engine_cache_update: StoringTime,
    /// The largest file to write: `64MiB`; in MiB without a unit
    #[arg(long, value_name = "SIZE", global = true, default_value = "1GiB", allow_hyphen_values = true,
          value_parser = quantity::size, help_heading = "Compilation", hide_short_help = true)]
    engine_cache_most: u64,
    /// Whether all code is kept, to be saved with a session.
    #[arg(skip)]
    keeps_code: bool,
    /// Whether what programs print goes to standard error.
    #[arg(skip)]
    prints_to_stderr: bool,
    /// When to use colours; `auto` decides for each stream by itself
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto")]
    color: Color,
}

/// Why no program can be run.
pub(super) enum StartError {
    /// The file for the trace cannot be written.
    Trace(String, io::Error),
    /// An image cannot be used, for people.
    Image(String),
    /// There is no engine or no context.
    Engine(crate::Error),
}

impl From<crate::Error> for StartError {
    fn from(error: crate::Error) -> Self {
        Self::Engine(error)
    }
}

#[derive(ValueEnum, Debug, Clone, Copy)]
enum LevelArgument {
    #[value(name = "0")]
    O0,
    #[value(name = "1")]
    O1,
    #[value(name = "2")]
    O2,
    #[value(name = "3")]
    O3,
}

#[derive(ValueEnum, Debug, Clone, Copy)]
enum StoredCode {
    /// Texts alone
    None,
    /// What has been compiled
    Compiled,
    /// The same, after what is being compiled is finished
    Hot,
    /// All that the texts define, optimised
    Aot,
    /// What was called, and what that calls, optimised
    Executed,
}

#[derive(ValueEnum, Debug, Clone, Copy)]
enum StoringTime {
    /// At every end
    Always,
    /// If something was compiled that was not in it
    #[value(name = "newcode")]
    NewCode,
    /// If a text was read that was not in it
    #[value(name = "newsource")]
    NewSource,
    /// If a text was read that was not in it and defines functions
    #[value(name = "newroot")]
    NewRoot,
    /// Never
    Never,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Color {
    /// On a terminal that is not dumb, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl CommonOptions {
    /// Returns the message for options that conflict, also if they are on
    /// different sides of the command's name.
    pub(super) fn conflict(&self) -> Option<String> {
        let modes = [
            ("--lazy", self.lazy),
            ("--eager", self.eager),
            ("--interpret", self.interpret),
            ("--tiered", self.tiered),
        ];
        let given: Vec<&str> = modes.iter().filter(|mode| mode.1).map(|mode| mode.0).collect();
        match given[..] {
            [one, other, ..] => Some(format!("{one} cannot be used with {other}")),
            ["--interpret"] if self.tier_up_waits => {
                Some("--tier-up-waits cannot be used with --interpret".into())
            }
            _ if self.no_tier_up && self.tier_up_waits => {
                Some("--tier-up-waits cannot be used with --no-tier-up".into())
            }
            _ if self.no_tier_up && self.tier_up_after.is_some() => {
                Some("--tier-up-after cannot be used with --no-tier-up".into())
            }
            _ => None,
        }
    }

    #[allow(unsafe_code)]
    pub(super) fn config(&self, externs: &[String]) -> Config {
        let allowed = externs.iter().fold(Config::new(), |config, allowed| {
            let (name, path) = match allowed.split_once('=') {
                Some((name, path)) => (name, Some(PathBuf::from(path))),
                None => (allowed.as_str(), None),
            };
            // SAFETY: the user who gives the option vouches for it.
            unsafe { config.allow_extern(name, path) }
        });
        let tier_up = match self.tier_up_after {
            _ if self.no_tier_up => TierUp::Never,
            Some(count) => TierUp::After(count),
            None => TierUp::default(),
        };
        let folders = crate::library::folders_of_user().into_iter();
        let config = folders.fold(allowed, Config::library_path);
        let cached = self.cache().into_iter().fold(config, Config::cache);
        let errors = || -> Box<dyn Output> { Box::new(LineOutput::new(io::stderr()).flush_lines(true)) };
        let printing = if self.prints_to_stderr { cached.output(errors) } else { cached };
        printing
            .program_folder("")
            .mode(self.mode())
            .level(self.level())
            .tier_up(tier_up)
            .wait_for_code(self.tier_up_waits)
            .keep_texts(false)
            .keep_code(self.keeps_code)
            .perf_map(self.perf)
            .debug_objects(self.gdb)
            .limits(Limits {
                stack: self.stack_size,
                max_nesting: self.max_nesting,
                fuel: self.fuel,
                ..Limits::default()
            })
    }

    /// Returns the engine cache; `None` for none, or if there is no place for the key.
    fn engine_cache(&self) -> Option<EngineCache> {
        let both = &self.engine_cache;
        let load = self.engine_cache_load.as_ref().or(both.as_ref()).cloned();
        let store = self.engine_cache_store.as_ref().or(both.as_ref()).cloned();
        let file = load.as_ref().or(store.as_ref())?;
        let compile = match self.engine_cache_compile {
            StoredCode::None => CompilePolicy::None,
            StoredCode::Compiled => CompilePolicy::Compiled,
            StoredCode::Hot => CompilePolicy::Hot,
            StoredCode::Aot => CompilePolicy::Aot,
            StoredCode::Executed => CompilePolicy::Executed,
        };
        let update = match self.engine_cache_update {
            StoringTime::Always => UpdatePolicy::Always,
            StoringTime::NewCode => UpdatePolicy::NewCode,
            StoringTime::NewSource => UpdatePolicy::NewSource,
            StoringTime::NewRoot => UpdatePolicy::NewRoot,
            StoringTime::Never => UpdatePolicy::Never,
        };
        let key = CacheOptions::of_user(Some("ro"))?.key;
        let cache = EngineCache::new(file, key);
        Some(EngineCache { load, store, compile, update, most_bytes: self.engine_cache_most, ..cache })
    }

    /// Returns where the cache is; `None` for none.
    pub(super) fn cache(&self) -> Option<CacheOptions> {
        let chosen = self.cache.clone().or_else(|| std::env::var("KAL_CACHE").ok());
        CacheOptions::of_user(chosen.as_deref())
    }

    /// Returns the end of the command's time; `None` if there is no limit, or
    /// it is beyond what the clock can represent.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.timeout.and_then(|timeout| Instant::now().checked_add(timeout))
    }

    /// Returns an engine for these options that allows these C functions.
    pub(super) fn engine(&self, externs: &[String]) -> Result<Engine, crate::Error> {
        Engine::with_config(self.config(externs))
    }

    /// Returns the same, which traces what is compiled if that is asked for.
    ///
    /// # Errors
    /// What cannot be set up, for people, or the error of the engine.
    pub(super) fn traced_engine(&self, externs: &[String]) -> Result<Engine, StartError> {
        let config = self.config(externs).leave_writing(process::may_leave_child());
        let mut config = config.require_images(self.image_required);
        for path in &self.image {
            match load_image(path, self.cache().map(FileMarks::of).as_ref()) {
                Ok(image) => config = config.image(image),
                Err(problem) => return Err(StartError::Image(problem)),
            }
        }
        config = self.engine_cache().into_iter().fold(config, Config::engine_cache);
        if let Some(path) = &self.trace_compile {
            let failed = |error| StartError::Trace(path.display().to_string(), error);
            config = config.on_compile(compile_trace::observer(path).map_err(failed)?);
        }
        Ok(Engine::with_config(config)?)
    }

    /// Returns the options for debugging: interpreting unless a mode was
    /// chosen, so that every frame can be inspected. Calls of foreign functions
    /// need the compiler.
    pub(super) fn for_debugging(&self, has_foreign: bool) -> Self {
        let is_chosen = self.lazy || self.eager || self.interpret || self.tiered;
        match (is_chosen, has_foreign) {
            (true, _) => self.clone(),
            (false, false) => Self { interpret: true, ..self.clone() },
            (false, true) => Self { tiered: true, no_tier_up: true, tier_up_after: None, ..self.clone() },
        }
    }

    /// Returns the options for a table, which what programs print is not to be among.
    pub(super) fn for_table(&self, is_on_stdout: bool) -> Self {
        Self { prints_to_stderr: is_on_stdout, ..self.clone() }
    }

    /// Returns the options for a prompt, whose session can be saved with its code.
    pub(super) fn for_prompt(&self) -> Self {
        Self { keeps_code: true, ..self.clone() }
    }

    /// Returns the options for compiling libraries ahead, or for checking them alone.
    pub(super) fn for_libraries(&self, with_code: bool) -> Self {
        // What is written is authenticated, also where nothing is kept for later runs.
        let cache = if self.cache().is_some() { self.cache.clone() } else { Some("ro".to_owned()) };
        let (eager, lazy) = (with_code, !with_code);
        Self { eager, lazy, interpret: false, tiered: false, cache, ..self.clone() }
    }

    fn mode(&self) -> Mode {
        if self.eager {
            Mode::Eager
        } else if self.interpret {
            Mode::Interpret
        } else if self.tiered {
            Mode::Tiered
        } else if self.lazy {
            Mode::Lazy
        } else {
            Mode::default()
        }
    }

    pub(super) fn level(&self) -> Level {
        match self.level {
            LevelArgument::O0 => Level::O0,
            LevelArgument::O1 => Level::O1,
            LevelArgument::O2 => Level::O2,
            LevelArgument::O3 => Level::O3,
        }
    }

    pub(super) fn colors(&self) -> Colors {
        let both = |color| Colors { stdout: color, stderr: color };
        match self.color {
            Color::Always => both(true),
            Color::Never => both(false),
            Color::Auto => Colors::of_terminal(),
        }
    }
}

/// Loads the image in a file.
///
/// # Errors
/// Why it cannot be used, for people.
#[allow(unsafe_code)]
pub(super) fn load_image(file: &Path, marks: Option<&FileMarks>) -> Result<Image, String> {
    // SAFETY: the user who names the file vouches for it.
    unsafe { Image::load_marked(file, marks) }.map_err(|error| error.to_string())
}
