//! The memory budget of an engine: the limit of its code and tapes, in bytes.
//!
//! There is one limit for both. Tapes are charged here as they grow; linked
//! code is counted by the linker, which is asked. Each side considers the other
//! before it takes more, but not atomically: what is linked while a tape grows
//! may exceed the limit by its own size.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The memory budget of one engine, in bytes.
pub struct MemoryBudget {
    limit: u64,
    tapes: AtomicU64,
    code: OnceLock<Box<dyn Fn() -> u64 + Send + Sync>>,
}

impl MemoryBudget {
    /// Creates a budget of `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self { limit, tapes: AtomicU64::new(0), code: OnceLock::new() }
    }

    /// Returns the limit of code and tapes together, in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the bytes that code and tapes take together.
    pub fn used(&self) -> u64 {
        let code = self.code.get().map_or(0, |bytes| bytes());
        self.tapes.load(Ordering::Relaxed).saturating_add(code)
    }

    /// Returns whether tapes may take `more` bytes.
    pub fn fits(&self, more: u64) -> bool {
        self.used().saturating_add(more) <= self.limit
    }

    /// Charges `more` bytes to tapes.
    pub fn charge(&self, more: u64) {
        self.tapes.fetch_add(more, Ordering::Relaxed);
    }

    /// Releases `bytes` bytes of tapes.
    pub fn release(&self, bytes: u64) {
        self.tapes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// For the linker of compiled code.
#[cfg(any(test, feature = "compiler"))]
impl MemoryBudget {
    /// Sets the function that returns the size of linked code, in bytes.
    pub fn set_code_counter(&self, bytes: impl Fn() -> u64 + Send + Sync + 'static) {
        // An engine has one compiler; the first one registered stays.
        let _ = self.code.set(Box::new(bytes));
    }

    /// Returns the bytes that tapes leave to code.
    pub fn left_for_code(&self) -> u64 {
        self.limit.saturating_sub(self.tapes.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_tapes_share_it() {
        let budget = MemoryBudget::new(100);
        budget.charge(30);
        assert_eq!((budget.fits(70), budget.fits(71), budget.left_for_code()), (true, false, 70));
        budget.set_code_counter(|| 50);
        assert_eq!((budget.fits(20), budget.fits(21), budget.left_for_code()), (true, false, 70));
        budget.release(30);
        assert_eq!((budget.fits(50), budget.fits(u64::MAX), budget.left_for_code()), (true, false, 100));
    }
}
