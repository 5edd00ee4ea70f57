//! Variables of a thread that every call looks at, and where its block of memory is.
//!
//! `thread_local!` in a shared library asks the dynamic linker where a variable is, a call of ten
//! instructions each time. The variables here are in the block of memory that a thread begins
//! with, at a distance that the dynamic linker stores once ("initial exec", U. Drepper, "ELF
//! handling for thread-local storage", section 4.3), so one is found with two instructions. That
//! block has little room for libraries that are loaded later, so they are few and small.
#![allow(unsafe_code)]

use std::cell::Cell;

/// What is 0 in memory that is 0, and needs no destructor.
///
/// # Safety
/// It is.
pub unsafe trait Zero: Copy {}

// SAFETY: it is 0.
unsafe impl Zero for u32 {}
// SAFETY: it is null.
unsafe impl<T> Zero for *const T {}

/// Declares a function that returns a variable of the thread, a `Cell` of at most eight bytes,
/// which is 0 at first.
macro_rules! thread_word {
    ($(#[$doc:meta])* fn $name:ident() -> Cell<$type:ty>;) => {
        $(#[$doc])*
        #[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
        #[inline]
        #[allow(unsafe_code)]
        fn $name() -> &'static std::cell::Cell<$type> {
            mod variable {
                /// Its symbol, which no other crate has, with a suffix is that of the variable.
                pub(super) static NAME: u8 = 0;

                std::arch::global_asm!(
                    ".pushsection .tbss.kal_thread_word,\"awT\",@nobits",
                    ".p2align 3",
                    ".hidden {0}.word",
                    ".globl {0}.word",
                    ".type {0}.word,@object",
                    ".size {0}.word,8",
                    "{0}.word:",
                    ".zero 8",
                    ".popsection",
                    sym NAME,
                );
            }

            const { $crate::thread_word::check::<$type>() };
            let address: usize;
            // SAFETY: reads the distance of the variable, which the linker stores, and the address
            // of the thread's block, which is its own first word.
            unsafe {
                std::arch::asm!(
                    "mov {1}, qword ptr [rip + {0}.word@GOTTPOFF]",
                    "add {1}, qword ptr fs:[0]",
                    sym variable::NAME,
                    out(reg) address,
                    options(pure, readonly, nostack),
                );
            }
            // SAFETY: the variable is there as long as the thread is, which this reference cannot
            // leave, and aligned for what has eight bytes; zeros are a value of it.
            unsafe { &*std::ptr::with_exposed_provenance(address) }
        }

        $(#[$doc])*
        #[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
        #[inline]
        #[allow(unsafe_code)]
        fn $name() -> &'static std::cell::Cell<$type> {
            thread_local! {
                // SAFETY: zeros are a value of it.
                static WORD: std::cell::Cell<$type> =
                    const { $crate::thread_word::check::<$type>(); unsafe { std::mem::zeroed() } };
            }
            // SAFETY: it needs no destructor, so it is there as long as the thread is, which this
            // reference cannot leave.
            WORD.with(|word| unsafe { &*std::ptr::from_ref(word) })
        }
    };
}

pub(crate) use thread_word;

/// Checks that a variable of the thread fits.
pub const fn check<T: Zero>() {
    assert!(size_of::<Cell<T>>() <= 8 && align_of::<Cell<T>>() <= 8);
}

/// Returns the address of what the system keeps about this thread.
#[inline]
#[cfg(target_arch = "x86_64")]
pub fn address() -> usize {
    let address;
    // SAFETY: the first word of what FS points to is its own address, as the System V ABI for
    // threads has it.
    unsafe {
        std::arch::asm!("mov {}, fs:0", out(reg) address, options(pure, readonly, nostack, preserves_flags));
    }
    address
}

/// Returns the address of a variable of this thread.
#[cfg(not(target_arch = "x86_64"))]
pub fn address() -> usize {
    thread_local! {
        static HERE: u8 = const { 0 };
    }
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

#[cfg(test)]
mod tests {
    thread_word! {
        /// One.
        fn one() -> Cell<u32>;
    }
    thread_word! {
        /// Another.
        fn another() -> Cell<*const u8>;
    }

    #[test]
    fn each_thread_has_variables_of_its_own() {
        assert_eq!((one().get(), another().get()), (0, std::ptr::null()));
        one().set(7);
        let text = b"text";
        another().set(text.as_ptr());
        let of_other = std::thread::spawn(|| {
            let before = one().replace(8);
            (before, one().get(), another().get().is_null())
        });
        assert_eq!(of_other.join().expect("it is well"), (0, 8, true));
        assert_eq!((one().get(), another().get()), (7, text.as_ptr()));
    }
}
