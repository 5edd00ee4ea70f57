//! Tapes: the lowered form of functions that is interpreted.
//!
//! A [`Tape`] is one flat row of instructions ([`op`]) and the tables they
//! refer to by index: callees, host functions, variables. There is no address
//! and no pointer in it, so it can be moved, compared and stored. It says what
//! a function does, not where: what stands behind the tables is found when the
//! tape is linked into a program.
//!
//! The frame of a call is a range of one long stack of values:
//!
//! ```text
//!   parameters  other locals  link  temporaries …
//!   ▲ 0                       ▲ locals           ▲ frame
//! ```
//!
//! The link holds where the caller goes on. Arguments are put into the
//! caller's temporaries, one after the other, and the callee's frame begins
//! right there, so nothing is copied to make them its parameters.

pub mod disassembly;
mod condition;
mod flow;
mod lower;
mod numbering;
pub mod op;
mod stored;
mod validate;

use crate::name::Name;
use crate::sema::checked::CheckedFunction;

/// A function called from a tape.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TapeCallee {
    /// Its name.
    pub name: Name,
    /// How many arguments are passed.
    pub arity: u32,
}

/// A function as instructions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tape {
    /// How many locals there are, parameters included; the slot of that
    /// number is the link.
    pub locals: u32,
    /// How many slots the frame has.
    pub frame: u32,
    /// The instructions.
    pub words: Box<[u32]>,
    /// What is called through the bindings of the program.
    pub callees: Box<[TapeCallee]>,
    /// What is called of the host.
    pub hosts: Box<[TapeCallee]>,
    /// The variables of the context that are used.
    pub variables: Box<[Name]>,
    /// For each instruction the node of the checked body it was made for.
    pub origins: Box<[u32]>,
    /// The loops whose rounds are counted.
    pub loops: Box<[CountedLoop]>,
}

/// A loop that can be left for compiled code at the beginning of a round: what
/// its code must know beside the locals.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CountedLoop {
    /// The node of the checked body that sets its variable first.
    pub node: u32,
    /// The values that wait for the loop to end, in the order they were left.
    pub values: Box<[LiveValue]>,
}

/// Where a value is that waits for a loop to end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LiveValue {
    /// In a slot of the frame.
    Slot(u32),
    /// Nowhere: it is a number, of which these are the bits.
    Number(u64),
}

/// What a tape counts, so that what is hot is noticed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Counts {
    /// Nothing.
    #[default]
    Nothing,
    /// The rounds of loops.
    Iterations,
    /// The rounds of loops, and calls.
    IterationsAndCalls,
}

/// What lowering depends on beside the function.
#[derive(Clone, Copy)]
pub struct LoweringContext<'a> {
    /// Whether a call is of a host function. All others go through the
    /// bindings of the program.
    pub is_host: &'a dyn Fn(TapeCallee) -> bool,
    /// Whether function entries and loop rounds take fuel.
    pub counts_fuel: bool,
    /// What is counted.
    pub counts: Counts,
}

/// A function needs more of something than a tape can number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("too many {0}")]
pub struct TooMany(pub &'static str);

impl Tape {
    /// Lowers a function.
    ///
    /// # Errors
    /// [`TooMany`] for a function whose frame, tables or instructions do not
    /// fit the encoding.
    pub fn lower(function: &CheckedFunction, environment: LoweringContext<'_>) -> Result<Self, TooMany> {
        lower::lower(function, environment)
    }
}
