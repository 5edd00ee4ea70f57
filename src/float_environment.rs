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

/// The environment in force at some moment of a thread, to which it goes back.
///
/// On AMD's processors, reading the register takes 5 ns and writing it half of one. So it is read
/// once, and written without another look; and it is read at the beginning of a call, since all
/// that is done between reading and the first use of what was read takes no time.
#[derive(Clone, Copy, Debug)]
pub struct PresentEnvironment(u32);

impl PresentEnvironment {
    /// Returns the environment in force.
    #[inline]
    pub fn read() -> Self {
        Self(register::read())
    }

    /// Computes something in the default environment, in which nothing of the host is called, and
    /// goes back. Quicker than a [`DefaultEnvironment`], if the environment is mostly the same:
    /// then the way back waits for the prediction that it is, and not for the register.
    #[inline]
    pub fn in_default<T>(self, usual: &UsualEnvironment, work: impl FnOnce() -> T) -> T {
        set_default(self.0);
        let result = work();
        let (expected, written) = register::twice(usual.0.get());
        if expected == self.0 {
            register::write(written);
        } else {
            usual.0.set(self.0);
            register::write(self.0);
        }
        result
    }
}

/// The environment of the host at an earlier call.
#[derive(Debug)]
pub struct UsualEnvironment(Cell<u32>);

impl Default for UsualEnvironment {
    /// The default environment, in which some result was rounded: most programs have had one.
    fn default() -> Self {
        Self(Cell::new(register::DEFAULT | register::INEXACT))
    }
}

impl DefaultEnvironment {
    /// Enters the default environment.
    #[inline]
    pub fn enter() -> Self {
        match HOST.get() {
            OUTSIDE => Self::enter_from(PresentEnvironment::read()),
            _ => Self { is_outermost: false, thread: PhantomData },
        }
    }

    /// Enters the default environment from the one in force.
    #[inline]
    pub fn enter_from(present: PresentEnvironment) -> Self {
        let is_outermost = HOST.get() == OUTSIDE;
        if is_outermost {
            HOST.set(present.0);
            set_default(present.0);
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

/// Calls a function of the host in the host's environment; what it changes there stays. The
/// function may unwind.
pub fn as_host<T>(function: impl FnOnce() -> T) -> T {
    /// The way back into the default environment.
    struct Return;

    impl Drop for Return {
        fn drop(&mut self) {
            let present = register::read();
            HOST.set(present);
            set_default(present);
        }
    }

    let kept = HOST.replace(OUTSIDE);
    if kept == OUTSIDE {
        return function();
    }
    register::write(kept);
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

    /// The flag that says that a result was rounded.
    pub(super) const INEXACT: u32 = 0x20;

    /// Returns a value twice; the compiler does not know that both are the same.
    #[inline]
    pub(super) fn twice(value: u32) -> (u32, u32) {
        let mut second = value;
        // SAFETY: does nothing. It is not pure, or it could be moved to where both are known.
        unsafe { asm!("/* {0:e} */", inout(reg) second, options(nomem, nostack, preserves_flags)) };
        (value, second)
    }

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
    pub(super) const INEXACT: u32 = 0;

    pub(super) fn twice(value: u32) -> (u32, u32) {
        (value, value)
    }

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

    #[test]
    fn the_host_finds_its_environment_again_be_it_the_usual_one_or_not() {
        let before = register::read();
        let usual = UsualEnvironment::default();
        // Each twice, so that it is not what was usual, and then is.
        for host in [register::DEFAULT, register::DEFAULT | register::INEXACT, OTHER, OTHER ^ 0x2000] {
            for _ in 0..2 {
                register::write(host);
                let inside = PresentEnvironment::read().in_default(&usual, || {
                    let entered = register::read();
                    // Raises a flag.
                    assert!(std::hint::black_box(1.0) / std::hint::black_box(3.0) < 1.0);
                    entered
                });
                let after = register::read();
                register::write(before);
                assert_eq!((inside & register::CONTROL, after), (register::DEFAULT, host));
            }
        }
    }
}
