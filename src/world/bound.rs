//! What a name is bound to.

use crate::name::Name;
use crate::sema::checked::CheckedFunction;
use crate::syntax::operator::{Fixity, Operators};
use std::sync::Arc;

/// A function, and how its source was read.
#[derive(Clone)]
pub struct BoundFunction {
    /// The checked function.
    pub function: Arc<CheckedFunction>,
    /// The operators in force before it.
    pub operators: Arc<Operators>,
    /// The operator that it defines.
    pub fixity: Option<Fixity>,
    /// Where it is from.
    pub origin: Origin,
}

/// Where a definition is from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The program itself.
    Program,
    /// A module.
    Module,
    /// It is an instance of the pattern of this name.
    Instance(Name),
    /// It leads shared instances to the functions that have numbers.
    Dispatcher,
    /// It is that of a module, of this name, under the name that an import gives
    /// it.
    Alias(Name),
}
