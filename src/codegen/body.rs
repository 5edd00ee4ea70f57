//! What there is to compile: bodies of functions.

use crate::host::Builtin;
use crate::name::Name;
use crate::sema::checked::CheckedFunction;
use std::sync::Arc;

/// A function to compile into an object.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    pub function: &'a CheckedFunction,
    /// The symbol of its body.
    pub symbol: &'a str,
    /// Functions to inline, each after those it calls itself.
    pub inline: &'a [Arc<CheckedFunction>],
    /// The functions of the library that the program does not define itself. Calls
    /// of others that are not inlined go through slots.
    pub builtins: &'a [(Name, Builtin)],
    /// The call after which the code reports that it is hot, through
    /// [`crate::abi::Header::hot`]; never if `None`.
    pub hot_after: Option<u32>,
    /// Whether the code loads the numbers of the function from where
    /// [`crate::abi::Symbol::Numbers`] says, so that it serves all functions that
    /// differ in nothing else.
    pub loads_numbers: bool,
    /// Where the code is entered.
    pub entry: Entry,
}

/// Where the code of a function is entered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Entry {
    /// At its beginning, by a call.
    Call,
    /// At a loop header, by on-stack replacement.
    Loop(LoopEntry),
    /// At its beginning, for many rows of columns at once.
    Columns(ColumnEntry),
}

impl Entry {
    /// Returns the loop header, if it is one.
    pub fn osr(self) -> Option<LoopEntry> {
        match self {
            Self::Loop(entry) => Some(entry),
            Self::Call | Self::Columns(_) => None,
        }
    }

    /// Returns how it takes columns, if it does.
    pub fn columns(self) -> Option<ColumnEntry> {
        match self {
            Self::Columns(entry) => Some(entry),
            Self::Call | Self::Loop(_) => None,
        }
    }
}

/// How code takes columns:
/// `i64 (ptr stop, ptr columns, ptr values, ptr output, i64 rows, ptr fuel)`.
///
/// `columns` has the address of the first row of each parameter; `values` the value of
/// each parameter, and then of each variable of the context that is read, in the order
/// of [`variables_of`](crate::sema::checked::variables_of). `rows` is a multiple of
/// the number of lanes, or, unless rows make [different rounds](crate::codegen::has_different_rounds),
/// any number above it. Without such rounds, the second round and the last one may compute some rows of
/// the one before again. Between the rounds of loops it looks at the word at `stop`, and stops if that is
/// not 0. Returns the number of rows that are complete: if it has stopped, the next one was in a loop.
///
/// Code that can write past the caches does so if the highest bit of `rows` is set too; then `output`
/// is at a multiple of [`CACHE_LINE`], `rows` without that bit a multiple of the number of lanes, and who
/// reads the output on another thread needs a fence.
///
/// Code that counts fuel subtracts each function entry and each iteration of each row from
/// the word at `fuel`, and stops soon after that is below 0. Other code does not read it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ColumnEntry {
    /// How many rows are computed at once: a power of two.
    pub lanes: u32,
    /// The parameters that have the same value in every row, by bit.
    pub every: u64,
    /// Whether the code can write past the caches.
    pub streams: bool,
}

/// What the address of an output is a multiple of that is written past the caches, in bytes.
pub const CACHE_LINE: usize = 64;

impl ColumnEntry {
    /// The bit of the number of rows that asks for an output past the caches.
    pub const STREAMED: u64 = 1 << 63;

    /// Returns whether a parameter has the same value in every row. Those without a bit
    /// have columns.
    pub fn is_every(self, parameter: usize) -> bool {
        parameter < u64::BITS as usize && self.every >> parameter & 1 == 1
    }
}

/// An OSR entry: the loop header, and how many operand-stack values are live
/// across it. The code is called with the function's locals, then these values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LoopEntry {
    /// The node that first sets the loop variable.
    pub node: u32,
    /// The number of live operand-stack values.
    pub values: u32,
}
