//! The errors of the embedding API.

use crate::bytes::Damage;
use crate::debugger::BreakpointError;
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::host::ForeignError;
use crate::image_target::ImageTargetError;
use crate::sema::arguments;

/// An error of an engine or a context. The context can still be used.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A source was refused; nothing of the item with the mistake was done.
    #[error("{}", first(.0))]
    Invalid(Vec<Diagnostic>),
    /// A program did not run to its end.
    #[error("{}", .0.message)]
    Failed(Box<Diagnostic>),
    /// A bug in Kal, not in the program. The diagnostic says what to report.
    #[error("{}", .0.message)]
    Internal(Box<Diagnostic>),
    /// No function of that name is defined.
    #[error("no function `{0}` is defined")]
    NoFunction(String),
    /// A function takes another number of arguments.
    #[error("`{name}` takes {}, not {asked}", arguments(*.takes as usize))]
    Arity {
        /// The function's name.
        name: String,
        /// How many arguments it takes.
        takes: u32,
        /// How many were asked for.
        asked: u32,
    },
    /// A function takes functions, so no columns can be its arguments.
    #[error("`{0}` takes functions, which are in no column; define one that calls it with some")]
    TakesFunctions(String),
    /// A column has another number of rows than the output.
    #[error("column {column} has {rows} rows, not {wanted}")]
    ColumnLength {
        /// The position of the column among the arguments, from 0.
        column: usize,
        /// How many rows it has.
        rows: usize,
        /// How many rows the output has.
        wanted: usize,
    },
    /// A bitmap has fewer bits than there are rows.
    #[error("a bitmap has {bits} bits for {wanted} rows")]
    BitmapLength {
        /// How many bits there are from that of the first row on.
        bits: usize,
        /// How many rows there are.
        wanted: usize,
    },
    /// No variable of that name is declared.
    #[error("no variable `{0}` is declared")]
    NoVariable(String),
    /// The variable is of a module that is part of Kal, and keeps its value.
    #[error("`{name}` is a constant of `{module}`")]
    Constant {
        /// The variable's name, without that of the module.
        name: String,
        /// The module's name.
        module: String,
    },
    /// A variable cannot be dropped, since definitions use it.
    #[error("`{name}` is used by {}", .users.join(", "))]
    VariableInUse {
        /// The variable's name.
        name: String,
        /// The definitions that read or assign it.
        users: Vec<String>,
    },
    /// A handle or source was used with a context of another engine.
    #[error("this function belongs to another engine")]
    OtherEngine,
    /// The bytes are no stored program, or a damaged one.
    #[error("not a valid stored program: {0}")]
    Damaged(#[from] Damage),
    /// The bytes are no saved session, or a damaged one.
    #[error("not a saved session: {0}")]
    DamagedSession(Damage),
    /// An engine was not stored; why, for people.
    #[error("the engine was not stored: {0}")]
    NotStored(String),
    /// A host function or a variable has a name that no program can use.
    #[error("`{0}` is not a name that a program can use")]
    BadName(String),
    /// A host function takes more arguments than any function may have.
    #[error("the host function `{0}` takes more than 50,000 arguments")]
    TooManyArguments(String),
    /// A function that programs are to call cannot be found.
    #[error(transparent)]
    Foreign(#[from] ForeignError),
    /// The compiler cannot be started: the system refuses memory or a thread, or
    /// Kal was built without the feature `compiler`.
    #[error("{0}; `--interpret` (`Mode::Interpret`) needs none")]
    NoCompiler(String),
    /// The system refuses the memory that a context needs.
    #[error("no memory for a context: {0}")]
    NoMemory(String),
    /// An image cannot be used, and [has to be](crate::Config::require_images).
    #[error("{0}")]
    ImageRequired(String),
    /// The targets of an image are none.
    #[error(transparent)]
    ImageTarget(#[from] ImageTargetError),
    /// A program exceeds a limit of stored programs; this names it.
    #[error("too many {0}")]
    TooMany(&'static str),
    /// The context has no debugger; see [`Context::debug`](crate::Context::debug).
    #[error("no debugger is attached")]
    NoDebugger,
    /// A breakpoint cannot be set or changed.
    #[error(transparent)]
    Breakpoint(#[from] BreakpointError),
}

impl Error {
    /// Returns the error for a run that ended with a diagnostic.
    pub(crate) fn of_run(diagnostic: Diagnostic) -> Self {
        let is_bug = diagnostic.code == ErrorCode::Internal;
        if is_bug { Self::Internal(Box::new(diagnostic)) } else { Self::Failed(Box::new(diagnostic)) }
    }

    /// Returns what is wrong, with codes and places in the program; empty for
    /// errors that have none.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Self::Invalid(diagnostics) => diagnostics,
            Self::Failed(diagnostic) | Self::Internal(diagnostic) => std::slice::from_ref(diagnostic),
            Self::NoFunction(_)
            | Self::Arity { .. }
            | Self::TakesFunctions(_)
            | Self::ColumnLength { .. }
            | Self::BitmapLength { .. }
            | Self::NoVariable(_)
            | Self::Constant { .. }
            | Self::VariableInUse { .. }
            | Self::OtherEngine
            | Self::NotStored(_)
            | Self::Damaged(_)
            | Self::DamagedSession(_)
            | Self::BadName(_)
            | Self::TooManyArguments(_)
            | Self::Foreign(_)
            | Self::NoCompiler(_)
            | Self::NoMemory(_)
            | Self::ImageRequired(_)
            | Self::ImageTarget(_)
            | Self::TooMany(_)
            | Self::NoDebugger
            | Self::Breakpoint(_) => &[],
        }
    }

    /// Returns whether a run has used up its fuel.
    pub(crate) fn is_out_of_fuel(&self) -> bool {
        self.begins_with(ErrorCode::OutOfFuel)
    }

    /// Returns whether the program was interrupted.
    pub fn is_interrupt(&self) -> bool {
        self.begins_with(ErrorCode::Interrupted)
    }

    fn begins_with(&self, code: ErrorCode) -> bool {
        self.diagnostics().first().is_some_and(|diagnostic| diagnostic.code == code)
    }
}

fn first(diagnostics: &[Diagnostic]) -> &str {
    diagnostics.first().map_or("the source was refused", |diagnostic| &diagnostic.message)
}
