//! Limits: what a program may use before it is stopped.

use std::time::Duration;

/// What a program may use. Reaching a limit is an error with a code of its
/// own; the context can be used afterwards.
///
/// ```
/// use kal::{Config, Engine, Limits};
/// use std::time::Duration;
///
/// let limits = Limits { deadline: Some(Duration::from_millis(50)), ..Limits::default() };
/// let mut context = Engine::with_config(Config::new().limits(limits))?.context()?;
/// let error = context.eval("for i = 0, 1 in i").unwrap_err();
/// assert_eq!(error.to_string(), "the run took longer than allowed");
/// assert_eq!(context.eval("1 + 1")?, Some(2.0));
/// # Ok::<(), kal::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The time limit of each evaluation or call from Rust, with all that is
    /// evaluated or called in the same context meanwhile. It is stopped at most
    /// a sixteenth of that later, within 0.5 to 10 milliseconds (longer with
    /// more than 10,000 contexts: a microsecond for each), and never sooner.
    pub deadline: Option<Duration>,
    /// How many function entries and loop iterations each item of a source, and
    /// each call from Rust, may execute. The same fuel stops a program at the
    /// same point every time. Code that counts is slower; without a limit
    /// nothing is counted.
    pub fuel: Option<u64>,
    /// The stack of programs, in bytes; at least 1 MiB. Host functions have 2
    /// MiB beyond it. Memory is taken from the system only when it is used, so
    /// endless recursion takes all of this for a moment.
    pub stack: usize,
    /// The largest function, or top-level expression, that is compiled, in
    /// operations: the nodes of its tree (`x * 2 + f(x)` has six); 1,048,576 at
    /// most. A larger one is interpreted, in every mode.
    ///
    /// This bounds the memory and the processor time of one compilation: with
    /// the default of 50,000 about 300 MB and 3 seconds, whatever the function
    /// is like; beyond it, 3 KB and 15 µs for each further operation. Functions
    /// whose optimisation would take longer are compiled without it: those of
    /// more than 30,000 operations, where in loops an operation counts as two, a
    /// branch as at least 20, a loop as 46, an assignment to a variable of the
    /// context as 40, an argument as 3, and each branch and loop as one more for
    /// each local that the function assigns. Many small functions are compiled
    /// together up to such a size.
    pub max_compiled_operations: usize,
    /// The most names of a context that may be bound to definitions.
    pub max_definitions: usize,
    /// The most variables of a context that are declared at a time. The variables
    /// of an engine have numbers, 1,048,576 in all, one for each name that is
    /// declared in any of its contexts.
    pub max_variables: usize,
    /// The most names that the programs of an engine may use at a time. A name
    /// takes some 70 bytes and its text.
    pub max_names: usize,
    /// The most bytes that linked code and tapes may take together, in all
    /// contexts of an engine; code 1 GiB at most.
    pub max_code_bytes: u64,
    /// The most bytes that the code of one context may take, and the most that its
    /// tapes may take. Code counts for the context that it was compiled for, until
    /// it is freed; another context that runs the same code gets it for nothing.
    /// What would exceed the limit is not compiled, error `E0310`; a tiered program
    /// goes on interpreted.
    pub max_context_code_bytes: u64,
    /// How long compilers may work for one context, in all; what is compiled when
    /// the time is over is finished, which `max_compiled_operations` bounds. Then
    /// nothing is compiled for it any more, error `E0310`, until
    /// [`reset`](crate::Context::reset); a tiered program goes on interpreted, and
    /// code that is there runs in every mode.
    pub max_compile_time: Option<Duration>,
    /// The longest source, in bytes.
    pub max_source_bytes: u32,
    /// The deepest nesting of expressions.
    pub max_nesting: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: None,
            fuel: None,
            stack: crate::runtime::DEFAULT_STACK,
            max_compiled_operations: 50_000,
            max_definitions: usize::MAX,
            max_variables: 65_536,
            max_names: 1 << 24,
            max_code_bytes: 1 << 30,
            max_context_code_bytes: u64::MAX,
            max_compile_time: None,
            max_source_bytes: crate::syntax::lexer::LONGEST_SOURCE,
            max_nesting: crate::syntax::parser::ParseLimits::default().max_nesting,
        }
    }
}
