//! What there is to compile: bodies of functions, and thunks.

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
    /// The loop header where the code is entered; `None` for the function's own
    /// entry.
    pub osr: Option<LoopEntry>,
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
