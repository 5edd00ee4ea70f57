//! Figures about a session.

/// What a context and its engine have done; times in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
pub struct Stats {
    /// Names bound to a definition.
    pub defined: u64,
    /// Definitions that replaced another.
    pub redefined: u64,
    /// Bound names without code.
    pub pending: u64,
    /// Bound names whose only code is a part of that of their callers.
    pub inlined: u64,
    /// Bound names with code of their own.
    pub materialized: u64,
    /// Functions whose IR was built; top-level expressions are not counted.
    pub ir_generated: u64,
    /// Top-level expressions compiled.
    pub expressions: u64,
    /// Object files linked.
    pub objects_linked: u64,
    /// Bytes that linked code, and the tapes of the context, take at present.
    pub code_bytes: u64,
    /// Time to read and check text.
    pub parse_ms: f64,
    /// Time that compile workers were busy, all together.
    pub compile_ms: f64,
    /// Time that programs have waited for compile workers. Threads that start
    /// and jobs in a queue are waited for, too, so this may exceed `compile_ms`.
    pub wait_ms: f64,
    /// Time in top-level expressions, without waiting for compilers. Calls from
    /// Rust are not timed.
    pub run_ms: f64,
}
