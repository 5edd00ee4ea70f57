//! The memory budget of an engine: the limit of its code and tapes, in bytes.
//!
//! There is one limit for both. Tapes are charged here as they grow; linked
//! code is counted by the linker, which is asked. Each side considers the other
//! before it takes more, but not atomically: what is linked while a tape grows
//! may exceed the limit by its own size.
//!
//! Each context has a budget of its own within it, which also counts the time
//! that the compiler works for it.

use crate::process::SteadyCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The memory budget of one engine, in bytes.
pub struct MemoryBudget {
    limit: u64,
    tapes: AtomicU64,
    code: SteadyCell<Box<dyn Fn() -> u64 + Send + Sync>>,
}

impl MemoryBudget {
    /// Creates a budget of `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self { limit, tapes: AtomicU64::new(0), code: SteadyCell::new() }
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

/// The limits of one context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ContextLimits {
    /// The most bytes of code, and the most of tapes.
    pub bytes: u64,
    /// The longest time that compilers work for it, if that is limited.
    pub compiling: Option<Duration>,
}

/// The limit of a context that is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReachedLimit {
    /// That of its code, in bytes.
    Code(u64),
    /// That of its tapes, in bytes.
    Tapes(u64),
    /// That of the time that compilers work for it.
    Compiling(Duration),
}

impl fmt::Display for ReachedLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(most) => write!(f, "a context may have no more than {most} bytes of code"),
            Self::Tapes(most) => write!(f, "a context may have no more than {most} bytes of tapes"),
            Self::Compiling(most) => write!(f, "compiling for a context may take no longer than {most:?}"),
        }
    }
}

/// What a context has been given: bytes of code and tapes, and compile time. The
/// tapes count in the budget of the engine as well, whose linker counts the code.
pub struct ContextBudget {
    engine: Arc<MemoryBudget>,
    limits: ContextLimits,
    tapes: AtomicU64,
    code: AtomicU64,
    /// Nanoseconds.
    compiling: AtomicU64,
}

impl ContextBudget {
    /// Creates the budget of a new context.
    pub fn new(engine: &Arc<MemoryBudget>, limits: ContextLimits) -> Arc<Self> {
        Arc::new(Self {
            engine: engine.clone(),
            limits,
            tapes: AtomicU64::new(0),
            code: AtomicU64::new(0),
            compiling: AtomicU64::new(0),
        })
    }

    /// Returns the bytes of the code that was made for it.
    pub fn code_bytes(&self) -> u64 {
        self.code.load(Ordering::Relaxed)
    }

    /// Returns the bytes of its tapes.
    pub fn tape_bytes(&self) -> u64 {
        self.tapes.load(Ordering::Relaxed)
    }

    /// Returns the nanoseconds that compilers have worked for it.
    pub fn compile_nanoseconds(&self) -> u64 {
        self.compiling.load(Ordering::Relaxed)
    }

    /// Counts the compile time from 0 again.
    pub fn restart(&self) {
        self.compiling.store(0, Ordering::Relaxed);
    }

    /// Checks that its tapes may take `more` bytes.
    ///
    /// # Errors
    /// The limit that does not allow it; `None` if it is that of the engine.
    pub fn check_tape(&self, more: u64) -> Result<(), Option<ReachedLimit>> {
        let most = self.limits.bytes;
        match self.tape_bytes().saturating_add(more) <= most {
            true if self.engine.fits(more) => Ok(()),
            true => Err(None),
            false => Err(Some(ReachedLimit::Tapes(most))),
        }
    }

    /// Charges `more` bytes to its tapes.
    pub fn charge(&self, more: u64) {
        self.tapes.fetch_add(more, Ordering::Relaxed);
        self.engine.charge(more);
    }

    /// Releases `bytes` bytes of its tapes.
    pub fn release(&self, bytes: u64) {
        self.tapes.fetch_sub(bytes, Ordering::Relaxed);
        self.engine.release(bytes);
    }
}

/// For the compiler.
impl ContextBudget {
    /// Checks that a compile may begin.
    ///
    /// # Errors
    /// The limit that does not allow it.
    pub fn check_compile(&self) -> Result<(), ReachedLimit> {
        let spent = Duration::from_nanos(self.compile_nanoseconds());
        match self.limits.compiling {
            Some(most) if spent >= most => Err(ReachedLimit::Compiling(most)),
            Some(_) | None => self.check_code(1),
        }
    }

    fn check_code(&self, more: u64) -> Result<(), ReachedLimit> {
        let most = self.limits.bytes;
        if self.code_bytes().saturating_add(more) <= most { Ok(()) } else { Err(ReachedLimit::Code(most)) }
    }

    /// Adds to its compile time.
    pub fn spend(&self, nanoseconds: u64) {
        self.compiling.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// Charges the bytes of code that is made for it.
    ///
    /// # Errors
    /// The limit that does not allow it.
    pub fn charge_code(self: &Arc<Self>, bytes: u64) -> Result<CodeCharge, ReachedLimit> {
        self.check_code(bytes)?;
        self.code.fetch_add(bytes, Ordering::Relaxed);
        Ok(CodeCharge { budget: self.clone(), bytes })
    }

    /// Charges the bytes of code that is made for it before it is called; `None` if it
    /// would take more than a quarter of what the limits leave.
    pub fn charge_code_ahead(self: &Arc<Self>, bytes: u64) -> Option<CodeCharge> {
        let most = bytes.saturating_mul(4);
        let fits = self.engine.fits(most) && self.check_code(most).is_ok();
        fits.then(|| self.charge_code(bytes).ok()).flatten()
    }
}

/// Bytes of code that count for the context that they were made for, until it is
/// dropped.
pub struct CodeCharge {
    budget: Arc<ContextBudget>,
    bytes: u64,
}

impl Drop for CodeCharge {
    fn drop(&mut self) {
        self.budget.code.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_has_its_part_of_it() {
        let engine = Arc::new(MemoryBudget::new(100));
        let limits = ContextLimits { bytes: 60, compiling: Some(Duration::from_nanos(10)) };
        let (one, other) = (ContextBudget::new(&engine, limits), ContextBudget::new(&engine, limits));
        one.charge(40);
        assert_eq!((one.tape_bytes(), engine.used(), one.check_tape(20)), (40, 40, Ok(())));
        assert_eq!(one.check_tape(21), Err(Some(ReachedLimit::Tapes(60))));
        let code = one.charge_code(60).expect("there is room");
        assert_eq!((one.code_bytes(), engine.used()), (60, 40), "the linker counts code");
        assert!(one.charge_code_ahead(1).is_none() && other.charge_code_ahead(16).is_none());
        assert!(other.charge_code_ahead(15).is_some_and(|code| code.bytes == 15));
        assert_eq!(one.charge_code(1).err(), Some(ReachedLimit::Code(60)));
        assert_eq!((one.check_compile(), one.check_tape(20)), (Err(ReachedLimit::Code(60)), Ok(())));
        assert_eq!(
            (other.check_tape(60), other.check_tape(61)),
            (Ok(()), Err(Some(ReachedLimit::Tapes(60))))
        );
        other.charge(50);
        assert_eq!((one.check_tape(10), one.check_tape(11)), (Ok(()), Err(None)));
        drop(code);
        one.spend(9);
        assert_eq!((one.code_bytes(), one.check_compile()), (0, Ok(())));
        one.spend(1);
        assert_eq!(one.check_compile(), Err(ReachedLimit::Compiling(Duration::from_nanos(10))));
        assert_eq!((other.check_compile(), one.compile_nanoseconds()), (Ok(()), 10));
        one.restart();
        assert_eq!(one.check_compile(), Ok(()));
    }

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
