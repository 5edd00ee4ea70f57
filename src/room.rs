//! Room: how many bytes the code and the tapes of an engine may take.
//!
//! There is one limit for both. Tapes are charged here as they grow; linked
//! code is counted by the linker, which is asked. Each side looks at the other
//! before it takes more, but not both at the same moment: what is linked while
//! a tape grows may exceed the limit by its own size.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The room of one engine, in bytes.
pub struct Room {
    most: u64,
    tapes: AtomicU64,
    code: OnceLock<Box<dyn Fn() -> u64 + Send + Sync>>,
}

impl Room {
    /// Room for so many bytes.
    pub fn new(most: u64) -> Self {
        Self { most, tapes: AtomicU64::new(0), code: OnceLock::new() }
    }

    /// How many bytes code and tapes may take together.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Says who knows how many bytes linked code takes.
    pub fn ask_for_code(&self, bytes: impl Fn() -> u64 + Send + Sync + 'static) {
        // An engine has one compiler; the first that is set up stays.
        let _ = self.code.set(Box::new(bytes));
    }

    /// Whether tapes can take so many bytes more.
    pub fn fits(&self, more: u64) -> bool {
        let code = self.code.get().map_or(0, |bytes| bytes());
        self.tapes.load(Ordering::Relaxed).saturating_add(code).saturating_add(more) <= self.most
    }

    /// Tapes take so many bytes more.
    pub fn take(&self, more: u64) {
        self.tapes.fetch_add(more, Ordering::Relaxed);
    }

    /// Tapes give so many bytes back.
    pub fn give(&self, bytes: u64) {
        self.tapes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// How many bytes the tapes leave to code.
    pub fn for_code(&self) -> u64 {
        self.most.saturating_sub(self.tapes.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_tapes_share_it() {
        let room = Room::new(100);
        room.take(30);
        assert_eq!((room.fits(70), room.fits(71), room.for_code()), (true, false, 70));
        room.ask_for_code(|| 50);
        assert_eq!((room.fits(20), room.fits(21), room.for_code()), (true, false, 70));
        room.give(30);
        assert_eq!((room.fits(50), room.fits(u64::MAX), room.for_code()), (true, false, 100));
    }
}
