//! Room: how many bytes the code and the tapes of an engine may take.
//!
//! There is one limit for both. Tapes are charged here as they grow; linked
//! code is counted by the linker, which is asked. Each side looks at the other
//! before it takes more, but not both at the same moment: what is linked while
//! a tape grows may exceed the limit by its own size.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The room of one engine, in bytes.
pub struct MemoryBudget {
    limit: u64,
    tapes: AtomicU64,
    code: OnceLock<Box<dyn Fn() -> u64 + Send + Sync>>,
}

impl MemoryBudget {
    /// Room for so many bytes.
    pub fn new(limit: u64) -> Self {
        Self { limit, tapes: AtomicU64::new(0), code: OnceLock::new() }
    }

    /// How many bytes code and tapes may take together.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Says who knows how many bytes linked code takes.
    pub fn set_code_counter(&self, bytes: impl Fn() -> u64 + Send + Sync + 'static) {
        // An engine has one compiler; the first that is set up stays.
        let _ = self.code.set(Box::new(bytes));
    }

    /// Whether tapes can take so many bytes more.
    pub fn fits(&self, more: u64) -> bool {
        let code = self.code.get().map_or(0, |bytes| bytes());
        self.tapes.load(Ordering::Relaxed).saturating_add(code).saturating_add(more) <= self.limit
    }

    /// Tapes take so many bytes more.
    pub fn charge(&self, more: u64) {
        self.tapes.fetch_add(more, Ordering::Relaxed);
    }

    /// Tapes give so many bytes back.
    pub fn release(&self, bytes: u64) {
        self.tapes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// How many bytes the tapes leave to code.
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
