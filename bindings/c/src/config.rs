//! How an engine is set up.

use crate::error::KalError;
use crate::host::{KalHostFunction, User, with_function};
use crate::raw;
use kal::{CacheOptions, Config, DefaultEnvironment, Level, Limits, Mode};
use std::ffi::c_char;
use std::mem::offset_of;
use std::sync::Arc;
use std::time::Duration;

/// Functions are compiled at their first call: the default.
pub const KAL_MODE_LAZY: u32 = 0;
/// Functions are compiled when they are defined.
pub const KAL_MODE_EAGER: u32 = 1;
/// Functions are interpreted, and the compiler is not started.
pub const KAL_MODE_INTERPRET: u32 = 2;
/// Functions are interpreted until they are hot.
pub const KAL_MODE_TIERED: u32 = 3;

/// Code is optimised as by default.
pub const KAL_LEVEL_DEFAULT: u32 = 0;
/// Code is not optimised.
pub const KAL_LEVEL_O0: u32 = 1;
/// Code is optimised by cheap passes.
pub const KAL_LEVEL_O1: u32 = 2;
/// Code is optimised as by `clang -O2`.
pub const KAL_LEVEL_O2: u32 = 3;
/// Code is optimised as by `clang -O3`.
pub const KAL_LEVEL_O3: u32 = 4;

/// How an engine is set up. It begins with its size and is zero otherwise, and so are the parts
/// that a later version adds: `kal_config config = {.size = sizeof config};`. What is 0 or NULL
/// is as by default.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct KalConfig {
    /// `sizeof(kal_config)`.
    pub size: usize,
    /// When functions are compiled: `KAL_MODE_…`.
    pub mode: u32,
    /// How well: `KAL_LEVEL_…`.
    pub level: u32,
    /// How many threads may compile at the same time; by default one for each core.
    pub workers: u32,
    /// How many rows kernels compute at once; by default as many as are fastest.
    pub lanes: u32,
    /// How long an evaluation, or a call, may take, in seconds; by default any time. A call takes
    /// longer then, see `kal_context_set_deadline`.
    pub timeout: f64,
    /// How many function entries and loop iterations an evaluation or a call may execute; by
    /// default they are not counted.
    pub fuel: u64,
    /// The stack of programs, in bytes; by default 256 MiB, which are taken only as they are used.
    pub stack: u64,
    /// The most bytes that code may take, in all contexts; by default 1 GiB.
    pub max_code_bytes: u64,
    /// The most bytes that the code of one context may take; by default any.
    pub max_context_code_bytes: u64,
    /// How long compilers may work for one context, in seconds; by default any time.
    pub max_compile_time: f64,
    /// The most definitions of a context; by default any.
    pub max_definitions: u64,
    /// The longest text, in bytes; by default 4 GiB.
    pub max_source_bytes: u32,
    /// The deepest nesting of expressions; by default 10,000.
    pub max_nesting: u32,
    /// The functions of the host.
    pub functions: *const KalHostFunction,
    /// How many there are.
    pub function_count: usize,
    /// The folders in which modules are looked for that programs import.
    pub library_paths: *const *const c_char,
    /// How many there are.
    pub library_path_count: usize,
    /// The folder in which code is kept for later runs of the same files; none by default.
    pub cache: *const c_char,
    /// The file of the secret that the folder is protected with, which only this user can read;
    /// both are created.
    pub cache_key: *const c_char,
}

/// The size of the configuration in the first version of this interface.
const FIRST: usize = offset_of!(KalConfig, cache_key) + size_of::<*const c_char>();

impl KalConfig {
    /// Returns the configuration, and the pointers of the host in it.
    ///
    /// # Errors
    /// What is wrong with it.
    ///
    /// # Safety
    /// It is null, or as its description says, and so is what it points to.
    pub unsafe fn read(given: *const Self) -> Result<(Config, Vec<Arc<User>>), Box<KalError>> {
        // SAFETY: as the caller says; all parts may be zero.
        let Some(given) = (unsafe { raw::sized(given, FIRST, "configuration") })? else {
            return Ok((Config::new().host_functions_on_thread_stack(true), Vec::new()));
        };
        let config = Config::new().host_functions_on_thread_stack(true);
        let config = config.mode(given.mode()?).level(given.level()?).limits(given.limits()?);
        let config = if given.workers == 0 { config } else { config.workers(given.workers as usize) };
        let mut config = if given.lanes == 0 { config } else { config.lanes(given.lanes) };
        // SAFETY: as the caller says.
        let paths = unsafe { raw::items(given.library_paths, given.library_path_count, "library paths") }?;
        for path in paths {
            // SAFETY: as the caller says.
            config = config.library_path(unsafe { raw::text(*path, crate::KAL_TO_ZERO, "library path") }?);
        }
        if !given.cache.is_null() || !given.cache_key.is_null() {
            // SAFETY: as the caller says.
            let folder = unsafe { raw::text(given.cache, crate::KAL_TO_ZERO, "folder of the cache") }?;
            // SAFETY: as the caller says.
            let key = unsafe { raw::text(given.cache_key, crate::KAL_TO_ZERO, "key of the cache") }?;
            config = config.cache(CacheOptions::new(folder, key));
        }
        let mut users = Vec::new();
        // SAFETY: as the caller says.
        let functions = unsafe { raw::items(given.functions, given.function_count, "host functions") }?;
        for function in functions {
            let user;
            // SAFETY: as the caller says.
            (config, user) = unsafe { with_function(config, function) }?;
            users.push(user);
        }
        Ok((config, users))
    }

    fn mode(&self) -> Result<Mode, Box<KalError>> {
        Ok(match self.mode {
            KAL_MODE_LAZY => Mode::Lazy,
            KAL_MODE_EAGER => Mode::Eager,
            KAL_MODE_INTERPRET => Mode::Interpret,
            KAL_MODE_TIERED => Mode::Tiered,
            other => return Err(KalError::of_caller(format!("there is no mode {other}"))),
        })
    }

    fn level(&self) -> Result<Level, Box<KalError>> {
        Ok(match self.level {
            KAL_LEVEL_DEFAULT => Level::default(),
            KAL_LEVEL_O0 => Level::O0,
            KAL_LEVEL_O1 => Level::O1,
            KAL_LEVEL_O2 => Level::O2,
            KAL_LEVEL_O3 => Level::O3,
            other => return Err(KalError::of_caller(format!("there is no level {other}"))),
        })
    }

    fn limits(&self) -> Result<Limits, Box<KalError>> {
        let default = Limits::default();
        let size = |given: u64, default: usize| if given == 0 { default } else { given as usize };
        let bytes = |given: u64, default: u64| if given == 0 { default } else { given };
        let few = |given: u32, default: u32| if given == 0 { default } else { given };
        Ok(Limits {
            deadline: seconds(self.timeout, "timeout")?,
            fuel: Some(self.fuel).filter(|fuel| *fuel != 0),
            stack: size(self.stack, default.stack),
            max_definitions: size(self.max_definitions, default.max_definitions),
            max_code_bytes: bytes(self.max_code_bytes, default.max_code_bytes),
            max_context_code_bytes: bytes(self.max_context_code_bytes, default.max_context_code_bytes),
            max_compile_time: seconds(self.max_compile_time, "compile time")?,
            max_source_bytes: few(self.max_source_bytes, default.max_source_bytes),
            max_nesting: few(self.max_nesting, default.max_nesting),
            ..default
        })
    }
}

/// Returns a time; `None` for 0, and for one that is longer than any.
///
/// # Errors
/// If it is negative or no number.
pub fn seconds(given: f64, what: &str) -> Result<Option<Duration>, Box<KalError>> {
    let _environment = DefaultEnvironment::enter();
    if given.is_nan() || given < 0.0 {
        return Err(KalError::of_caller(format!("the {what} is {given} seconds")));
    }
    let time = Duration::try_from_secs_f64(given).ok().filter(|_| given > 0.0);
    // What is shorter than the clock can tell is not for ever.
    Ok(time.map(|time| time.max(Duration::from_nanos(1))))
}
