//! Tapes: the bytecode of the interpreter.
//!
//! A [`Tape`] is a flat sequence of instructions ([`op`]) and the tables they
//! refer to by index: callees, host functions, variables. It contains no
//! address and no pointer, so it can be moved, compared and stored. The table
//! entries are resolved when the tape is linked into a program.
//!
//! The frame of a call is a range of one contiguous stack of values:
//!
//! ```text
//!   parameters  other locals  link  temporaries …
//!   ▲ 0                       ▲ locals           ▲ frame
//! ```
//!
//! The link holds the return address. Arguments are put into the caller's
//! temporaries, one after the other, and the callee's frame begins at the first
//! of them, so nothing is copied to make them its parameters.

pub mod disassembly;
mod condition;
mod flow;
mod lower;
mod numbering;
pub mod op;
mod stored;
mod validate;

use crate::host::{Builtin, HostFunction, HostFunctions, Intrinsic};
use crate::name::Name;

/// A function called from a tape: a name and an arity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TapeCallee {
    pub name: Name,
    /// The number of arguments passed.
    pub arity: u32,
}

/// The bytecode of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tape {
    /// The number of locals, parameters included; the slot of that index is the
    /// link.
    pub locals: u32,
    /// The number of slots of the frame.
    pub frame: u32,
    /// The encoded instructions.
    pub words: Box<[u32]>,
    /// The functions called through the bindings of the program.
    pub callees: Box<[TapeCallee]>,
    /// The host functions called directly.
    pub hosts: Box<[TapeCallee]>,
    /// The host functions that are instructions or constants here.
    pub instructions: Box<[TapeCallee]>,
    /// The variables of the context that are read or set.
    pub variables: Box<[Name]>,
    /// For each instruction, the index of the checked node it was made for.
    pub origins: Box<[u32]>,
    /// The loops whose iterations are counted.
    pub loops: Box<[CountedLoop]>,
}

/// A loop that can be left for OSR code at its header, and what that code needs
/// besides the locals.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CountedLoop {
    /// The checked node that first sets the loop variable.
    pub node: u32,
    /// The values that are live across the loop, in the order they were pushed.
    pub values: Box<[LiveValue]>,
}

/// Where a value that is live across a loop is found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LiveValue {
    /// In a slot of the frame.
    Slot(u32),
    /// A constant, given by its bits.
    Number(u64),
}

/// What a tape counts to find hot code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Counts {
    #[default]
    Nothing,
    /// Loop iterations.
    Iterations,
    /// Loop iterations and calls.
    IterationsAndCalls,
}

/// How a call reaches its function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linkage {
    /// Through the bindings of the program.
    Bound,
    /// Directly: it is the host's.
    Host,
    /// Directly, or not at all if its arguments are known: it is the library's.
    Pure(Builtin),
    /// It is the host's, and one instruction.
    Instruction(Intrinsic),
}

impl Linkage {
    /// Returns how a call reaches its function where the program defines the
    /// name itself or not.
    pub fn of(callee: TapeCallee, hosts: &HostFunctions, is_bound: bool) -> Self {
        match hosts.get(callee.name).filter(|host| !is_bound && host.arity == callee.arity) {
            Some(HostFunction { builtin: Some(Builtin::Instruction(intrinsic)), .. }) => {
                Self::Instruction(*intrinsic)
            }
            Some(HostFunction { builtin: Some(builtin), .. }) => Self::Pure(*builtin),
            Some(HostFunction { builtin: None, .. }) => Self::Host,
            None => Self::Bound,
        }
    }

    /// Returns what the function is known as.
    fn builtin(self) -> Option<Builtin> {
        match self {
            Self::Bound | Self::Host => None,
            Self::Pure(builtin) => Some(builtin),
            Self::Instruction(intrinsic) => Some(Builtin::Instruction(intrinsic)),
        }
    }

    /// Returns whether the function may be called directly.
    pub fn is_direct(self) -> bool {
        matches!(self, Self::Host | Self::Pure(_))
    }

    /// Returns whether the function may be no call at all.
    pub fn is_instruction(self) -> bool {
        matches!(self, Self::Pure(_) | Self::Instruction(_))
    }
}

/// What lowering depends on besides the function.
#[derive(Clone, Copy)]
pub struct LoweringContext<'a> {
    /// Returns how a call reaches its function.
    pub linkage: &'a dyn Fn(TapeCallee) -> Linkage,
    /// Whether function entries and loop iterations take fuel.
    pub counts_fuel: bool,
    pub counts: Counts,
}

/// A function exceeds a limit of the encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("too many {0}")]
pub struct TooMany(pub &'static str);
