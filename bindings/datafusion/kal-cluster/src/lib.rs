//! Kal's functions on a Ballista cluster.
//!
//! A cluster is a [scheduler] and any number of [executors](executor). A [session] of either a
//! cluster or this process runs SQL, with `CREATE FUNCTION … LANGUAGE kal`; [`shell`] runs files
//! of it. The functions of a session go to the executors with each query that calls them, as
//! text, so they need not be known when the cluster starts.

pub mod executor;
pub mod scheduler;
pub mod session;
pub mod shell;

mod health;
mod progress;
