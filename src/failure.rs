//! What comes of defining and running, as data that both back ends give.

use crate::name::Name;
use crate::sema::checked::Function;
use std::sync::Arc;

/// Why a run was left, or could not begin.
#[derive(Clone, Debug)]
pub enum Failure {
    /// A function was called that is not defined.
    Undefined {
        /// Its name.
        callee: Name,
        /// How many arguments were passed.
        passed: u32,
        /// Who called it; `None` for a call from Rust.
        caller: Option<Arc<Function>>,
    },
    /// A function was called that takes another number of arguments by now.
    Stale {
        /// Its present definition.
        callee: Arc<Function>,
        /// How many arguments were passed.
        passed: u32,
        /// Who called it; `None` for a call from Rust.
        caller: Option<Arc<Function>>,
    },
    /// A host function was called with a number of arguments it does not take.
    HostArity {
        /// Its name.
        callee: Name,
        /// How many arguments it takes.
        wanted: u32,
        /// How many arguments were passed.
        passed: u32,
        /// Who called it; `None` for a call from Rust.
        caller: Option<Arc<Function>>,
    },
    /// The stack is used up.
    StackOverflow,
    /// Another thread asked the run to stop.
    Interrupted,
    /// A host function failed.
    Host {
        /// Its name.
        callee: Name,
        /// What it said.
        message: String,
    },
    /// A definition could not be compiled.
    Compile {
        /// The definition.
        function: Arc<Function>,
        /// What the compiler said.
        message: String,
    },
    /// More of something than there can be.
    TooMany(&'static str),
    /// The system refused memory or a thread.
    System(String),
}

impl Failure {
    /// Fills in who made the call that failed.
    #[must_use]
    pub(crate) fn called_by(mut self, function: Option<Arc<Function>>) -> Self {
        match &mut self {
            Self::Undefined { caller, .. } | Self::Stale { caller, .. } | Self::HostArity { caller, .. } => {
                *caller = function;
            }
            Self::StackOverflow
            | Self::Interrupted
            | Self::Host { .. }
            | Self::Compile { .. }
            | Self::TooMany(_)
            | Self::System(_) => {}
        }
        self
    }
}

/// What became of a definition.
#[derive(Clone, Debug)]
pub struct Defined {
    /// What the name was bound to before.
    pub before: Option<Arc<Function>>,
    /// The definitions that call the name with another number of arguments
    /// than it takes now.
    pub stale: Vec<Arc<Function>>,
}
