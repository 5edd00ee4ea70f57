//! Clusters of real processes on ports of their own: a scheduler and two executors.

#[path = "../../../tests/script.rs"]
mod script;
mod harness;

mod answers;
mod arriving;
mod bad;
mod killed;
mod page;
