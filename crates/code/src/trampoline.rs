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
use super::views::SealedCode;

/// The bytes of a page of trampolines. They start at a multiple of it.
const PAGE: usize = 4096;
/// The bytes of a trampoline: an instruction of [`CALL`] bytes, and padding.
const SIZE: usize = 8;
const CALL: usize = 6;
/// Where a page holds the address of the resolver, and that of the pool's closure.
const RESOLVER: usize = PAGE - 16;
const LANDING: usize = PAGE - 8;
/// How many trampolines a page has.
const IN_PAGE: usize = RESOLVER / SIZE;
/// The pages that are added together, at least, for a program with more functions than the
/// first one has room for: the system takes as long for a few as for one.
const MORE_PAGES: usize = 8;
/// The pages that are added together, at most, unless more are needed at once: trampolines for
/// 30,000 functions.
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
    /// In the order of the numbers.
    stretches: Mutex<Vec<Stretch>>,
    /// Boxed, because the pages hold its address; last, because they call it.
    landing: Box<Landing>,
}

/// Pages of trampolines in a row.
struct Stretch {
    code: SealedCode,
    /// The number of its first trampoline, and how many it has.
    first: usize,
    count: usize,
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
        let pool = Self { stretches: Mutex::default(), landing };
        pool.reserve(1)?;
        Ok(pool)
    }

    /// Makes sure that there are `count` trampolines. They are numbered from 0 on.
    ///
    /// # Errors
    /// [`CodeError::System`] if there is no memory for them.
    pub fn reserve(&self, count: usize) -> Result<(), CodeError> {
        let mut stretches = self.stretches.lock();
        loop {
            let present = stretches.last().map_or(0, |last| last.first + last.count);
            if present >= count {
                return Ok(());
            }
            let least = if present == 0 { 1 } else { (present / IN_PAGE).clamp(MORE_PAGES, MOST_PAGES) };
            // More will be needed than many that are needed at once.
            let pages = (count - present + IN_PAGE / 2).div_ceil(IN_PAGE).max(least);
            let code = self.pages(pages)?;
            stretches.push(Stretch { code, first: present, count: pages * IN_PAGE });
        }
    }

    /// Returns the trampoline of a number; `None` if there is none.
    pub fn address(&self, number: usize) -> Option<Address> {
        let stretches = self.stretches.lock();
        let after = stretches.partition_point(|stretch| stretch.first <= number);
        let stretch = &stretches[after.checked_sub(1)?];
        let at = Some(number - stretch.first).filter(|at| *at < stretch.count)?;
        let offset = at / IN_PAGE * PAGE + at % IN_PAGE * SIZE;
        Some(Address::new(stretch.code.address().get() + offset as u64))
    }

    /// Returns the number of a trampoline; `None` if it is none of these.
    pub fn number(&self, trampoline: Address) -> Option<usize> {
        let stretches = self.stretches.lock();
        stretches.iter().find_map(|Stretch { code, first, count }| {
            let offset = trampoline.get().checked_sub(code.address().get())?;
            let offset = usize::try_from(offset).ok()?;
            let (page, within) = (offset / PAGE, offset % PAGE);
            let is_one = page < count / IN_PAGE && within < RESOLVER && within.is_multiple_of(SIZE);
            is_one.then(|| first + page * IN_PAGE + within / SIZE)
        })
    }

    /// Makes pages of trampolines.
    fn pages(&self, pages: usize) -> Result<SealedCode, CodeError> {
        let landing = Address::of(&raw const *self.landing);
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
        SealedCode::repeated(&page, pages)
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
                        let number = 1000 * thread + index as usize % 1000;
                        pool.reserve(number + 1).unwrap();
                        let value = call(pool.address(number).unwrap(), thread as f64, 2.0, index);
                        assert!((value - f64::from(2 * thread as i32 + index)).abs() < 1e-9);
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
        assert!(call(pool.address(0).unwrap(), 1.0, 2.0, 3).is_nan());
    }

    #[test]
    fn trampolines_differ_and_have_numbers() {
        let pool = TrampolinePool::new(|_| Address::of(product as *const ()), Address::new(0)).unwrap();
        let mut all = std::collections::HashSet::new();
        for count in [1, IN_PAGE, IN_PAGE + 1, 5000, 200_000] {
            pool.reserve(count).unwrap();
            all.extend((0..count).map(|number| pool.address(number).unwrap()));
            assert_eq!(all.len(), count);
            for number in [0, count / 2, count - 1] {
                assert_eq!(pool.number(pool.address(number).unwrap()), Some(number));
            }
        }
        let first = pool.address(0).unwrap().get();
        let others = [first + 1, first + RESOLVER as u64, first + LANDING as u64, 0];
        assert_eq!(others.map(|address| pool.number(Address::new(address))), [None; 4]);
        assert_eq!(pool.address(usize::MAX), None);
    }
}
