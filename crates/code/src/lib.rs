//! Memory for machine code: a [`Slab`] to place it in, and a [`TrampolinePool`] of
//! addresses that lead elsewhere later. Nothing here knows where code comes from: a
//! compiler at run time, or a file.
//!
//! # Memory
//!
//! A slab is one file in memory, mapped twice side by side: a view to execute and read,
//! and a view to write. Code and constants are made for the first view and written
//! through the second; data that code writes is in the second. So nothing is ever
//! writable and executable at one address, to add a function needs no system call, and
//! all of it is in reach of 32-bit offsets. The file has its full size from the start, but
//! takes memory only where it was written. Freed ranges are used again, and large free
//! stretches are returned to the system. Large code is in private memory in the place of a part
//! of the first view, and code of a [file that does not change](CodeFile) is mapped there.
//!
//! # Forks
//!
//! A forked child would share the file with its parent. So a fork copies what is in use to
//! another file, which the child maps instead, at the same addresses; it takes as long as
//! copying does. If the copy fails, neither process can place anything more, and freed memory
//! is not used again. No other thread may use a slab at that moment: a program that cannot
//! promise that knows what its threads do, and says so by a [`Host`].

#![deny(unsafe_code)]

mod address;
mod error;
mod host;
mod perf_map;
mod slab;
mod trampoline;
mod views;

pub use address::Address;
pub use error::CodeError;
pub use host::{ForkCallbacks, Host, Unwatched, through};
pub use slab::{CodeFile, CodePart, PlacedCode, Slab, SlabOptions};
pub use trampoline::TrampolinePool;

/// The example in the README is tested with the others.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
