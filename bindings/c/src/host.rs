//! Functions of the host, which programs may call.

use crate::error::KalError;
use crate::guard::quiet;
use crate::raw;
use kal::Config;
use kal::host::{Call, HostError};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A function of the host. It gets its `user` pointer and `count` arguments, and returns true
/// and writes `*result`, or false, and may write a text that ends with a zero byte to
/// `*message`, which is copied at once: the run ends with it as its error.
///
/// It may be called by several threads at the same time, on the stack of the thread that runs the
/// program, and returns: no C++ exception and no `longjmp` leaves it. It must not use the context that has called it, which
/// answers that it is in use; any other it may.
pub type KalHost = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        arguments: *const f64,
        count: usize,
        result: *mut f64,
        message: *mut *const c_char,
    ) -> bool,
>;

/// Frees a user pointer. It is called once, on whatever thread is the last to need it.
pub type KalRelease = Option<unsafe extern "C" fn(user: *mut c_void)>;

/// A function of the host, and what programs call it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct KalHostFunction {
    /// Its name in programs.
    pub name: *const c_char,
    /// How many arguments it takes.
    pub arity: u32,
    /// What it does.
    pub call: KalHost,
    /// What it is called with.
    pub user: *mut c_void,
    /// What is called with `user` when nothing can call the function any more: when the engine,
    /// and all that was made of it, is freed. May be NULL.
    pub release: KalRelease,
}

/// A pointer of the host, which is released when it is dropped, once it was accepted.
pub struct User {
    pointer: *mut c_void,
    release: KalRelease,
    is_accepted: AtomicBool,
}

// SAFETY: the header says that functions of the host are called, and pointers released, on any
// thread.
unsafe impl Send for User {}
// SAFETY: and that several threads may call them at the same time.
unsafe impl Sync for User {}

impl User {
    /// Takes a pointer, which remains the caller's until it is [accepted](Self::accept).
    pub fn new(pointer: *mut c_void, release: KalRelease) -> Self {
        Self { pointer, release, is_accepted: AtomicBool::new(false) }
    }

    pub fn pointer(&self) -> *mut c_void {
        self.pointer
    }

    /// Makes it be released some day.
    pub fn accept(&self) {
        self.is_accepted.store(true, Ordering::Relaxed);
    }
}

impl Drop for User {
    fn drop(&mut self) {
        if let (Some(release), true) = (self.release, *self.is_accepted.get_mut()) {
            // SAFETY: the host has given both together, and it is called this once.
            unsafe { release(self.pointer) };
        }
    }
}

thread_local! {
    /// The call of a function of the host that is in progress on this thread.
    static CALL: Cell<*const Call<'static>> = const { Cell::new(ptr::null()) };
}

/// Returns a configuration with a function of the host, and the pointer that it is called with.
///
/// # Errors
/// If it has no name or no function.
///
/// # Safety
/// The function is as [`KalHostFunction`] says.
pub unsafe fn with_function(
    config: Config,
    function: &KalHostFunction,
) -> Result<(Config, Arc<User>), Box<KalError>> {
    // SAFETY: as the caller says.
    let name = unsafe { raw::text(function.name, crate::KAL_TO_ZERO, "name of a host function") }?;
    let Some(call) = function.call else {
        return Err(KalError::of_caller(format!("the host function `{name}` has no `call`")));
    };
    let user = Arc::new(User::new(function.user, function.release));
    let given = user.clone();
    let closure = move |host: &mut Call<'_>| {
        let (mut result, mut message) = (f64::NAN, ptr::null());
        let outer = CALL.replace((&raw const *host).cast());
        // SAFETY: the arguments are there, results have their places, and the rest is as the
        // host says.
        let is_fine = unsafe {
            call(given.pointer, host.arguments.as_ptr(), host.arguments.len(), &mut result, &mut message)
        };
        CALL.set(outer);
        if is_fine {
            return Ok(result);
        }
        if message.is_null() {
            return Err(HostError("it failed".to_owned()));
        }
        // SAFETY: it is not null, so it is a text that the host has written.
        Err(HostError(unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()))
    };
    Ok((config.host_function(name, function.arity, closure), user))
}

/// Returns whether the run is to stop that has called the function of the host which calls this:
/// a function that takes long asks now and then, and returns anything. False elsewhere.
#[unsafe(no_mangle)]
pub extern "C" fn kal_host_stopped() -> bool {
    quiet(false, || {
        let call = CALL.get();
        // SAFETY: if it is not null, this thread is inside of that call.
        !call.is_null() && unsafe { &*call }.is_stopped()
    })
}
