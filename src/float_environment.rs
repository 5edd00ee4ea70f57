//! The floating-point environment of a thread: how results are rounded, whether subnormal
//! numbers are flushed to zero, which exceptions trap, and which have been raised.
//!
//! On x86-64 that is one register, MXCSR. What this library computes is computed in the
//! default environment, whatever the host has set, and the host finds its own again: after
//! each call, and inside its functions that a program calls. A thread inherits the
//! environment of the one that starts it, so the library's own threads set it, too.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    /// The register as the host has it, while the library computes on this thread; [`OUTSIDE`]
    /// while the host does.
    static HOST: Cell<u32> = const { Cell::new(OUTSIDE) };
}

/// No value of the register, most of whose bits are 0.
const OUTSIDE: u32 = u32::MAX;

/// The default environment, in force on this thread until it is dropped; then that of the
/// host is, with the flags that were raised in it. To enter it again inside changes nothing.
pub struct DefaultEnvironment {
    is_outermost: bool,
    /// It is of this thread.
    thread: PhantomData<*const ()>,
}

impl DefaultEnvironment {
    /// Enters the default environment. On AMD's processors, reading the register takes 5 ns
    /// and writing it half of one, so it is read once, and written without another look.
    #[inline]
    pub fn enter() -> Self {
        let is_outermost = HOST.get() == OUTSIDE;
        if is_outermost {
            let host = register::read();
            HOST.set(host);
            set_default(host);
        }
        Self { is_outermost, thread: PhantomData }
    }
}

impl Drop for DefaultEnvironment {
    #[inline]
    fn drop(&mut self) {
        if self.is_outermost {
            register::write(HOST.replace(OUTSIDE));
        }
    }
}

/// Computes something in the default environment, in which nothing of the host is called. A
/// little quicker than a [`DefaultEnvironment`].
#[inline]
pub fn in_default<T>(work: impl FnOnce() -> T) -> T {
    let host = register::read();
    set_default(host);
    let result = work();
    register::write(host);
    result
}

/// Calls a function of the host in the host's environment; what it changes there stays. The
/// function may unwind.
pub fn as_host<T>(function: impl FnOnce() -> T) -> T {
    /// The way back into the default environment.
    struct Return;

    impl Drop for Return {
        fn drop(&mut self) {
            let host = register::read();
            HOST.set(host);
            set_default(host);
        }
    }

    let host = HOST.replace(OUTSIDE);
    if host == OUTSIDE {
        return function();
    }
    register::write(host);
    let _return = Return;
    function()
}

/// Sets what is not as by default in a register that holds `present`.
#[inline]
fn set_default(present: u32) {
    if present & register::CONTROL != register::DEFAULT {
        register::write(register::DEFAULT | present & !register::CONTROL);
    }
}

#[cfg(target_arch = "x86_64")]
mod register {
    use std::arch::asm;

    /// All exceptions masked, rounding to the nearest, nothing flushed, no flags.
    pub(super) const DEFAULT: u32 = 0x1f80;

    /// All bits but the flags.
    pub(super) const CONTROL: u32 = !0x3f;

    #[inline]
    pub(super) fn read() -> u32 {
        let mut value = 0_u32;
        // SAFETY: stores four bytes to the variable.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags)) };
        value
    }

    #[inline]
    pub(super) fn write(value: u32) {
        // SAFETY: the value was read from the register, but for bits that every processor
        // has. It is the default, or what the host has set and computes with itself; no
        // floating-point operation of this library comes between that and the host's code.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, preserves_flags)) };
    }
}

/// Other processors keep the environment of the host.
#[cfg(not(target_arch = "x86_64"))]
mod register {
    pub(super) const DEFAULT: u32 = 0;
    pub(super) const CONTROL: u32 = 0;

    pub(super) fn read() -> u32 {
        DEFAULT
    }

    pub(super) fn write(_: u32) {}
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Towards zero, flushing, with exceptions masked and one flag raised.
    const OTHER: u32 = 0xffc2;

    #[test]
    fn the_host_has_its_own_environment_inside_and_after() {
        let before = register::read();
        register::write(OTHER);
        let seen = {
            let _environment = DefaultEnvironment::enter();
            let again = DefaultEnvironment::enter();
            let entered = register::read();
            // Raises a flag.
            assert!(std::hint::black_box(1.0) / std::hint::black_box(3.0) < 1.0);
            let nested = as_host(|| {
                let outside = register::read();
                let inside = {
                    let _environment = DefaultEnvironment::enter();
                    register::read()
                };
                register::write(register::read() ^ 0x2000);
                (outside, inside)
            });
            drop(again);
            (entered, nested, register::read())
        };
        let panicked = std::panic::catch_unwind(|| {
            let _environment = DefaultEnvironment::enter();
            as_host(|| std::panic::resume_unwind(Box::new(())));
        });
        let after = register::read();
        register::write(before);
        assert!(panicked.is_err());
        let (entered, (outside, inside), again) = seen;
        assert_eq!(entered & register::CONTROL, register::DEFAULT);
        assert_eq!(outside, OTHER);
        assert_eq!(inside & register::CONTROL, register::DEFAULT);
        assert_eq!(again & register::CONTROL, register::DEFAULT);
        assert_eq!(after, OTHER ^ 0x2000);
    }
}
