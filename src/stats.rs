//! Statistics about a session, and how full an engine is.

/// Counters of a context and its engine; times are in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
pub struct Stats {
    /// Items of sources that this context has parsed and checked.
    pub items_read: u64,
    /// Items that it took from what other contexts of the engine, or earlier runs, had
    /// read.
    pub items_known: u64,
    /// Texts, of programs and modules, of which it has parsed something.
    pub parsed_units: u64,
    /// Functions and expressions that an earlier run had checked and that were decoded,
    /// since they were needed, from the [cache](crate::Config::cache).
    pub loaded_functions: u64,
    /// Names bound to a definition.
    pub defined: u64,
    /// Definitions that replaced another.
    pub redefined: u64,
    /// Bound names without code.
    pub pending: u64,
    /// Bound names whose only code is inlined into their callers.
    pub inlined: u64,
    /// Bound names with code of their own.
    pub materialized: u64,
    /// Functions that were compiled, each time; top-level expressions are not counted, and
    /// neither is compiling hot functions again.
    pub ir_generated: u64,
    /// Top-level expressions that were compiled.
    pub expressions: u64,
    /// Object files that were linked; what the baseline compiler makes at once counts as one.
    pub objects_linked: u64,
    /// Functions and expressions whose code an earlier run had left in the
    /// [cache](crate::Config::cache).
    pub cache_hits: u64,
    /// Functions and expressions whose code was not there, and is kept.
    pub cache_misses: u64,
    /// Bytes that linked code and the context's tapes occupy at present.
    pub code_bytes: u64,
    /// Bytes that the code that was compiled for the context occupies at present,
    /// roughly, of
    /// [`max_context_code_bytes`](crate::Limits::max_context_code_bytes) at most.
    pub context_code_bytes: u64,
    /// Bytes that the context's tapes occupy at present, of as many at most.
    pub context_tape_bytes: u64,
    /// Time that compilers have worked for the context since it began or was
    /// reset, limited by [`max_compile_time`](crate::Limits::max_compile_time).
    pub context_compile_ms: f64,
    /// Time spent parsing and checking.
    pub parse_ms: f64,
    /// Time spent reading the cache's files and checking that they are whole.
    pub load_ms: f64,
    /// Time that compile workers were busy, summed over all workers.
    pub compile_ms: f64,
    /// Time that programs have waited for compile workers, including thread
    /// starts and queueing, so it may exceed `compile_ms`.
    pub wait_ms: f64,
    /// Time spent in top-level expressions, without waiting for compilers.
    /// Calls from Rust are not timed.
    pub run_ms: f64,
}

/// How full an engine is, and what waits in it; see
/// [`Engine::usage`](crate::Engine::usage). All of it comes back when nothing
/// refers to it any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
#[non_exhaustive]
pub struct Usage {
    /// The names that programs and kept texts use, and those of the engine and its
    /// host functions, of [`max_names`](crate::Limits::max_names) at most. With more
    /// than 65,536, those that are used no more count until they are collected.
    pub names: usize,
    /// The variables that contexts, code and tapes refer to, each name once, of
    /// 1,048,576 at most.
    pub variables: usize,
    /// The functions that compiled code and handles call, each with each number
    /// of arguments, of 4,194,304 at most. Those that are called no more count
    /// until they are collected, when there are 4,096 and twice as many as after
    /// the last time.
    pub slots: usize,
    /// Bytes that linked code and tapes occupy, of
    /// [`max_code_bytes`](crate::Limits::max_code_bytes) at most.
    pub code_bytes: u64,
    /// Pieces of code that are freed when the runs in progress end.
    pub garbage: usize,
    /// Compiles that are waiting for a worker.
    pub queued: usize,
}
