//! Statistics about a session.

/// Counters of a context and its engine; times are in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
pub struct Stats {
    /// Items of sources that this context has parsed and checked.
    pub items_read: u64,
    /// Items that it took from what other contexts of the engine had read.
    pub items_known: u64,
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
    /// Functions whose IR was built; top-level expressions are not counted.
    pub ir_generated: u64,
    /// Top-level expressions that were compiled.
    pub expressions: u64,
    /// Object files that were linked.
    pub objects_linked: u64,
    /// Bytes that linked code and the context's tapes occupy at present.
    pub code_bytes: u64,
    /// Time spent parsing and checking.
    pub parse_ms: f64,
    /// Time that compile workers were busy, summed over all workers.
    pub compile_ms: f64,
    /// Time that programs have waited for compile workers, including thread
    /// starts and queueing, so it may exceed `compile_ms`.
    pub wait_ms: f64,
    /// Time spent in top-level expressions, without waiting for compilers.
    /// Calls from Rust are not timed.
    pub run_ms: f64,
}
