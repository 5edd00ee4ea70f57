//! Trampolines: addresses that native code can call before their destination is
//! known.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};

use super::address::Address;
use super::error::{OrcError, check};
use super::ffi;

/// A pool of re-entry trampolines for the host.
///
/// Calling one saves the argument registers, asks the pool's closure for the
/// destination of that trampoline, restores the registers and jumps there, on
/// the caller's thread and stack. Of vector registers only the lower 128 bits
/// are preserved on `x86_64`: wider arguments must not go through a trampoline.
///
/// Dropping the pool frees the trampolines. The owner of the native code must
/// ensure that none is called any more.
pub struct TrampolinePool {
    raw: NonNull<ffi::OrcShimTrampolines>,
    landing: NonNull<Landing>,
}

// SAFETY: the pool's free list is behind a mutex of LLVM's, and the closure is
// `Send + Sync`.
unsafe impl Send for TrampolinePool {}
// SAFETY: as above.
unsafe impl Sync for TrampolinePool {}

impl TrampolinePool {
    /// Creates a pool whose trampolines jump to what `landing` returns, given
    /// the trampoline that was called; or to `on_panic` if it panics. It is
    /// called for every call of a trampoline, on any thread; two threads may
    /// ask about the same trampoline at once.
    ///
    /// # Errors
    /// [`OrcError::Trampoline`] if there is no memory for it.
    pub fn new(
        landing: impl Fn(Address) -> Address + Send + Sync + 'static,
        on_panic: Address,
    ) -> Result<Self, OrcError> {
        let landing = Box::new(Landing { find: Box::new(landing), on_panic });
        let context = ptr::from_ref(&*landing).cast::<c_void>().cast_mut();
        let mut raw = ptr::null_mut();
        // SAFETY: the context stays where it is until after the pool is freed.
        let error = unsafe { ffi::orc_shim_trampolines_create(land, context, &raw mut raw) };
        check(error, OrcError::Trampoline)?;
        let raw = NonNull::new(raw).expect("success means a pool");
        Ok(Self { raw, landing: NonNull::from(Box::leak(landing)) })
    }

    /// Allocates a trampoline.
    ///
    /// # Errors
    /// [`OrcError::Trampoline`] if there is no memory for more.
    pub fn get(&self) -> Result<Address, OrcError> {
        let mut address = 0;
        // SAFETY: the pool is alive and locks itself.
        let error = unsafe { ffi::orc_shim_trampolines_get(self.raw.as_ptr(), &raw mut address) };
        check(error, OrcError::Trampoline).map(|()| Address::new(address))
    }

    /// Frees a trampoline, so that [`get`](Self::get) may return it again for
    /// another purpose: no code may call it for the old one any more.
    pub fn release(&self, trampoline: Address) {
        // SAFETY: the pool is alive and locks itself, and does not look at what
        // is behind the address.
        unsafe { ffi::orc_shim_trampolines_release(self.raw.as_ptr(), trampoline.get()) };
    }
}

impl Drop for TrampolinePool {
    fn drop(&mut self) {
        // SAFETY: pool and landing are ours, and not used after; the landing was
        // a box in `new`, and goes after the pool that calls it.
        unsafe {
            ffi::orc_shim_trampolines_destroy(self.raw.as_ptr());
            drop(Box::from_raw(self.landing.as_ptr()));
        }
    }
}

/// The closure that the trampolines call, at a stable address.
struct Landing {
    find: Box<dyn Fn(Address) -> Address + Send + Sync>,
    on_panic: Address,
}

/// Called by native code through LLVM's resolver.
extern "C" fn land(context: *mut c_void, trampoline: u64) -> u64 {
    // SAFETY: the context is the landing of `TrampolinePool::new`, which lives
    // until the pool and its trampolines are gone.
    let landing = unsafe { &*context.cast::<Landing>() };
    let find = AssertUnwindSafe(|| (landing.find)(Address::new(trampoline)));
    catch_unwind(find).unwrap_or(landing.on_panic).get()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    extern "C" fn product(a: f64, b: f64, c: i32) -> f64 {
        a * b + f64::from(c)
    }

    extern "C" fn lost(_: f64, _: f64, _: i32) -> f64 {
        f64::NAN
    }

    fn call(trampoline: Address, a: f64, b: f64, c: i32) -> f64 {
        // SAFETY: the tests make trampolines that lead to functions of this type.
        let function = unsafe {
            std::mem::transmute::<*const (), extern "C" fn(f64, f64, i32) -> f64>(trampoline.as_ptr())
        };
        function(a, b, c)
    }

    #[test]
    fn arguments_arrive_on_every_thread() {
        static LANDINGS: AtomicUsize = AtomicUsize::new(0);
        let land = |_| {
            LANDINGS.fetch_add(1, Ordering::SeqCst);
            Address::of(product as *const ())
        };
        let pool = TrampolinePool::new(land, Address::of(lost as *const ())).unwrap();
        thread::scope(|scope| {
            for thread in 0..4 {
                let pool = &pool;
                scope.spawn(move || {
                    for index in 0..2000 {
                        let trampoline = pool.get().unwrap();
                        let value = call(trampoline, f64::from(thread), 2.0, index);
                        assert!((value - f64::from(2 * thread + index)).abs() < 1e-9);
                        pool.release(trampoline);
                    }
                });
            }
        });
        assert_eq!(LANDINGS.load(Ordering::SeqCst), 8000);
    }

    #[test]
    fn panic_leads_to_its_own_landing() {
        let land = |_| panic!("landing panics in a test");
        let pool = TrampolinePool::new(land, Address::of(lost as *const ())).unwrap();
        assert!(call(pool.get().unwrap(), 1.0, 2.0, 3).is_nan());
    }

    #[test]
    fn trampolines_differ_and_come_back() {
        let pool = TrampolinePool::new(|_| Address::of(product as *const ()), Address::new(0)).unwrap();
        let many: std::collections::HashSet<_> = (0..5000).map(|_| pool.get().unwrap()).collect();
        assert_eq!(many.len(), 5000);
        let one = *many.iter().next().unwrap();
        pool.release(one);
        assert_eq!(pool.get(), Ok(one));
    }
}
