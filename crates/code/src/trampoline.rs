//! Trampolines: addresses that code can call before their destination is known.
//!
//! A page of trampolines is `call [rip + to its end]` again and again, and at its end the
//! address of the resolver and that of the pool's closure. The resolver finds the trampoline, and
//! so the page, by the address that the call has pushed, which it replaces by the destination.

#![allow(unsafe_code)]

use std::arch::naked_asm;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parking_lot::Mutex;

use super::address::Address;
use super::error::CodeError;
use super::views::{SealedCode, Views};

/// The bytes of a page of trampolines. They start at a multiple of it.
const PAGE: usize = 4096;
/// The bytes of a trampoline: an instruction of [`CALL`] bytes, and padding.
const SIZE: usize = 8;
const CALL: usize = 6;
/// Where a page holds the address of the resolver, and that of the pool's closure.
const RESOLVER: usize = PAGE - 16;
const LANDING: usize = PAGE - 8;
/// The pages that are added together, at least, for a program with more functions than the
/// first one has room for: the system takes as long for a few as for one.
const MORE_PAGES: usize = 8;
/// The pages that are added together, at most: trampolines for 30,000 functions.
const MOST_PAGES: usize = 64;

/// A pool of re-entry trampolines.
///
/// Calling one saves the argument registers, asks the pool's closure for the
/// destination of that trampoline, restores the registers and jumps there, on
/// the caller's thread and stack. Of vector registers only the lower 128 bits
/// are preserved: wider arguments must not go through a trampoline.
///
/// Dropping the pool frees the trampolines. The owner of the code must
/// ensure that none is called any more.
pub struct TrampolinePool {
    trampolines: Mutex<Trampolines>,
    /// Boxed, because the pages hold its address; last, because they call it.
    landing: Box<Landing>,
}

#[derive(Default)]
struct Trampolines {
    free: Vec<Address>,
    /// The pages, a few at a time.
    stretches: Vec<SealedCode>,
    /// How many pages there are.
    pages: usize,
}

impl TrampolinePool {
    /// Creates a pool whose trampolines jump to what `landing` returns, given
    /// the trampoline that was called; or to `on_panic` if it panics. It is
    /// called for every call of a trampoline, on any thread; two threads may
    /// ask about the same trampoline at once.
    ///
    /// # Errors
    /// [`CodeError::System`] if there is no memory for it.
    pub fn new(
        landing: impl Fn(Address) -> Address + Send + Sync + 'static,
        on_panic: Address,
    ) -> Result<Self, CodeError> {
        let landing = Box::new(Landing { find: Box::new(landing), on_panic });
        let pool = Self { trampolines: Mutex::default(), landing };
        pool.grow(&mut pool.trampolines.lock())?;
        Ok(pool)
    }

    /// Allocates a trampoline.
    ///
    /// # Errors
    /// [`CodeError::System`] if there is no memory for more.
    pub fn get(&self) -> Result<Address, CodeError> {
        let mut trampolines = self.trampolines.lock();
        loop {
            match trampolines.free.pop() {
                Some(trampoline) => return Ok(trampoline),
                None => self.grow(&mut trampolines)?,
            }
        }
    }

    /// Allocates several trampolines.
    ///
    /// # Errors
    /// [`CodeError::System`] if there is no memory for more.
    pub fn get_many(&self, count: usize) -> Result<Vec<Address>, CodeError> {
        let mut trampolines = self.trampolines.lock();
        while trampolines.free.len() < count {
            self.grow(&mut trampolines)?;
        }
        let rest = trampolines.free.len() - count;
        Ok(trampolines.free.split_off(rest))
    }

    /// Frees trampolines, as [`release`](Self::release) does one.
    pub fn release_all(&self, released: Vec<Address>) {
        self.trampolines.lock().free.extend(released);
    }

    /// Frees a trampoline, so that [`get`](Self::get) may return it again for
    /// another purpose: no code may call it for the old one any more.
    pub fn release(&self, trampoline: Address) {
        self.trampolines.lock().free.push(trampoline);
    }

    /// Adds pages of trampolines: as many as there are, but at least [`MORE_PAGES`] after the
    /// first, and up to [`MOST_PAGES`].
    fn grow(&self, trampolines: &mut Trampolines) -> Result<(), CodeError> {
        let landing = Address::of(&raw const *self.landing);
        let pages = if trampolines.pages == 0 { 1 } else { trampolines.pages.clamp(MORE_PAGES, MOST_PAGES) };
        let mut page = [0xcc; PAGE];
        for at in (0..RESOLVER).step_by(SIZE) {
            // call [rip + distance], counted from the next instruction. Nothing comes back to
            // what is behind it.
            let distance = (RESOLVER - at - CALL) as u32;
            page[at..at + 2].copy_from_slice(&[0xff, 0x15]);
            page[at + 2..at + CALL].copy_from_slice(&distance.to_le_bytes());
        }
        let resolver = Address::of(resolve as *const ());
        page[RESOLVER..LANDING].copy_from_slice(&resolver.get().to_le_bytes());
        page[LANDING..].copy_from_slice(&landing.get().to_le_bytes());
        let (views, _) = Views::new(pages * PAGE, pages * PAGE, false)?;
        let stretch = views
            .seal(|_, memory| memory.chunks_exact_mut(PAGE).for_each(|place| place.copy_from_slice(&page)));
        let first = stretch.address().get();
        // The lowest address is taken first.
        let offsets = (0..pages * PAGE).step_by(SIZE).rev().filter(|offset| offset % PAGE < RESOLVER);
        trampolines.free.extend(offsets.map(|offset| Address::new(first + offset as u64)));
        trampolines.stretches.push(stretch);
        trampolines.pages += pages;
        Ok(())
    }
}

/// The closure that the trampolines call, at a stable address.
struct Landing {
    find: Box<dyn Fn(Address) -> Address + Send + Sync>,
    on_panic: Address,
}

/// Returns where a trampoline leads.
unsafe extern "C" fn land(landing: *const Landing, trampoline: u64) -> u64 {
    // SAFETY: pages hold the address of the landing of their pool, which lives until
    // they are gone.
    let landing = unsafe { &*landing };
    let find = AssertUnwindSafe(|| (landing.find)(Address::new(trampoline)));
    catch_unwind(find).unwrap_or(landing.on_panic).get()
}

/// What all trampolines call. It may use every register that a function may be given
/// arguments in, and all that its callee may change.
///
/// # Safety
/// Called by a trampoline alone, as a function is: with the address behind its instruction at the
/// top of the stack, and that in its caller above.
#[unsafe(naked)]
unsafe extern "C" fn resolve() {
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "push rax",
        "push rcx",
        "push rdx",
        "push rsi",
        "push rdi",
        "push r8",
        "push r9",
        "push r10",
        "push r11",
        // The caller's stack may be aligned in any way.
        "and rsp, -16",
        "sub rsp, 256",
        "movups [rsp], xmm0",
        "movups [rsp + 16], xmm1",
        "movups [rsp + 32], xmm2",
        "movups [rsp + 48], xmm3",
        "movups [rsp + 64], xmm4",
        "movups [rsp + 80], xmm5",
        "movups [rsp + 96], xmm6",
        "movups [rsp + 112], xmm7",
        "movups [rsp + 128], xmm8",
        "movups [rsp + 144], xmm9",
        "movups [rsp + 160], xmm10",
        "movups [rsp + 176], xmm11",
        "movups [rsp + 192], xmm12",
        "movups [rsp + 208], xmm13",
        "movups [rsp + 224], xmm14",
        "movups [rsp + 240], xmm15",
        "mov rsi, [rbp + 8]",
        "sub rsi, {call}",
        "mov rdi, rsi",
        "and rdi, -{page}",
        "mov rdi, [rdi + {landing}]",
        "call {land}",
        "mov [rbp + 8], rax",
        "movups xmm0, [rsp]",
        "movups xmm1, [rsp + 16]",
        "movups xmm2, [rsp + 32]",
        "movups xmm3, [rsp + 48]",
        "movups xmm4, [rsp + 64]",
        "movups xmm5, [rsp + 80]",
        "movups xmm6, [rsp + 96]",
        "movups xmm7, [rsp + 112]",
        "movups xmm8, [rsp + 128]",
        "movups xmm9, [rsp + 144]",
        "movups xmm10, [rsp + 160]",
        "movups xmm11, [rsp + 176]",
        "movups xmm12, [rsp + 192]",
        "movups xmm13, [rsp + 208]",
        "movups xmm14, [rsp + 224]",
        "movups xmm15, [rsp + 240]",
        "lea rsp, [rbp - 72]",
        "pop r11",
        "pop r10",
        "pop r9",
        "pop r8",
        "pop rdi",
        "pop rsi",
        "pop rdx",
        "pop rcx",
        "pop rax",
        "pop rbp",
        // To the destination, with the stack as the caller has left it.
        "ret",
        call = const CALL,
        page = const PAGE,
        landing = const LANDING,
        land = sym land,
    )
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
        assert_eq!(pool.get().unwrap(), one);
        let more = pool.get_many(3000).unwrap();
        assert!(more.len() == 3000 && more.iter().all(|trampoline| !many.contains(trampoline)));
        let last = *more.last().unwrap();
        pool.release_all(more);
        assert_eq!(pool.get().unwrap(), last);
    }
}
