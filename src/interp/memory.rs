//! The memory of an interpreter that no compiled code shares.

use crate::abi::Memory;
use crate::stop::{InnerRun, Stoppable};
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

/// What an interpreter works on, over variables that may be of others.
pub struct InterpMemory<V> {
    variables: V,
    requests: AtomicU64,
    fuel: AtomicI64,
    interp_limit: AtomicUsize,
    code_ready: AtomicUsize,
    inner: InnerRun,
}

impl<V> InterpMemory<V> {
    /// Creates memory over these variables, with that many function entries and
    /// iterations left, if they are counted.
    pub fn over(variables: V, fuel: i64) -> Self {
        Self {
            variables,
            requests: AtomicU64::default(),
            fuel: AtomicI64::new(fuel),
            interp_limit: AtomicUsize::default(),
            code_ready: AtomicUsize::default(),
            inner: InnerRun::default(),
        }
    }
}

impl<V: Send + Sync> Stoppable for InterpMemory<V> {
    fn requests(&self) -> &AtomicU64 {
        &self.requests
    }

    fn wake(&self) {
        self.interp_limit.swap(0, Ordering::SeqCst);
    }

    fn inner(&self) -> Option<&InnerRun> {
        Some(&self.inner)
    }
}

impl<V: AsRef<[AtomicU64]> + Send + Sync> Memory for InterpMemory<V> {
    fn variables(&self) -> &[AtomicU64] {
        self.variables.as_ref()
    }

    fn fuel(&self) -> &AtomicI64 {
        &self.fuel
    }

    fn interp_limit(&self) -> &AtomicUsize {
        &self.interp_limit
    }

    fn code_ready(&self) -> &AtomicUsize {
        &self.code_ready
    }
}
