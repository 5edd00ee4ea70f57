//! A thin, safe wrapper of LLVM's ORC v2: what a lazy JIT needs and nothing of
//! the language it is for.
//!
//! A [`Session`] owns the machinery. A [`Dylib`] is a table of symbols in it. A
//! [`Tracker`] is a removable part of a dylib: symbols are defined under it,
//! either as a finished object ([`Tracker::add_object`]) or as a promise
//! ([`Tracker::define`]) that a [`MaterializationUnit`] keeps when one of its
//! symbols is first looked up. The unit receives a [`Responsibility`], which it
//! discharges exactly once: with the bytes of an object, or by failing. What is linked
//! lives in a [`Slab`](kal_code::Slab).
//!
//! Objects, not LLVM modules, enter a session: how they are compiled is outside
//! of its scope, so compiling is parallel and needs no lock of ORC's.
//!
//! # Own, borrow, move
//!
//! [`Session`] and [`Dylib`] are shared handles: clone them freely, the session
//! ends when the last one is gone. A [`Tracker`] is owned. A
//! [`Responsibility`], a boxed unit and a tracker to be removed move; a unit
//! that cannot be defined comes back in the [`DefineError`].
//!
//! # Threads
//!
//! Everything is `Send`, all but [`Responsibility`] are `Sync`. A lookup that
//! needs a unit materialized runs it *on the calling thread*, and on the way may
//! run units that other threads are waiting for; so a unit must not wait for a
//! lock that its thread could hold during a lookup. Give lookups to threads with
//! large stacks: LLVM may recurse deeply.
//!
//! # Forks and exits
//!
//! A child of fork(2) gets a copy of all code, if no other thread used a session
//! at that moment. A program that cannot promise that knows what its threads do,
//! and says so by a [`Host`](kal_code::Host).
//!
//! # Cycles
//!
//! A session is kept alive by its handles. A unit or a generator that
//! holds one keeps it alive for as long as it is defined: give them a
//! [`std::sync::Weak`] of your own instead.
//!
//! # Memory
//!
//! The code and data of all objects are packed into one slab, which can exist before a session
//! that links into it, and be given code that needs no linking. A small function takes a
//! cache line or two of it, and some 400 bytes of ORC's tables; neither a memory map nor a
//! system call. No address is ever writable and executable.
//!
//! # What is not here
//!
//! No symbol resolves that was not defined, and that no generator or source of
//! constants finds: there is no fallback to the host process. Nothing here calls native code.

#![deny(unsafe_code)]

mod constants;
mod dylib;
mod error;
mod ffi;
mod memory;
mod report;
mod responsibility;
mod session;
mod symbol;
#[cfg(test)]
mod testing;
mod tracker;
mod unit;

pub use dylib::Dylib;
pub use error::{DefineError, OrcError};
pub use responsibility::Responsibility;
pub use session::{Session, SessionOptions};
pub use symbol::SymbolFlags;
pub use tracker::Tracker;
pub use unit::MaterializationUnit;

/// The example in the README is tested with the others.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
