//! Running compiled code: execution contexts, entering code and leaving it.
//!
//! An [`Execution`] owns what code runs on: the memory that the hidden context
//! pointer points to (header, dispatch slots, variables) and a separate stack.
//! Entering code saves the stack pointer; an error inside jumps back to it,
//! over frames of compiled code only, which own nothing. Frames of Rust are
//! never jumped over: what code calls (see [`RuntimeCallbacks`]) returns first,
//! and decides whether to leave.
//!
//! How code is generated is unknown here.

mod arguments;
mod callbacks;
mod columns;
mod entry;
mod execution;
mod fence;
mod memory;
mod slot;
mod use_lock;
mod x86_64;

pub use arguments::CallArguments;
pub use callbacks::{Destination, HotLoopAnswer, RuntimeCallbacks, StopReason};
pub use columns::run_columns;
#[cfg(feature = "executable")]
pub use entry::is_context_free;
#[cfg(feature = "executable")]
pub use entry::is_environment_free;
pub use entry::{enter_trampoline, on_thread_stack};
pub use execution::{DEFAULT_STACK, Execution, ExecutionMemory, Left};
pub use fence::Fence;
pub use slot::{Slot, Variable};
pub use use_lock::{UseLock, Using};
pub use x86_64::{is_entry, refuse, support, thunk};
