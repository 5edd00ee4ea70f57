//! Contexts: programs in progress.

use crate::config::seconds;
use crate::engine::KalEngine;
use crate::error::KalError;
use crate::guard::{made, quiet, succeeds};
use crate::host::{KalRelease, User};
use crate::interrupt::KalInterrupt;
use crate::output::{HostStream, KalWrite};
use crate::{KAL_TO_ZERO, raw};
use kal::source::Source;
use kal::{Context, Error, InterruptHandle, LineOutput, Outcome, UseLock, Using};
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_void};
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

/// A program in progress: its definitions and variables. One thread at a time may use it; a
/// function that is given a context in use fails, and changes nothing.
pub struct KalContext {
    context: UnsafeCell<Context>,
    interrupt: InterruptHandle,
    lock: UseLock,
}

// SAFETY: the context is only reached through `KalContext::enter`, by one thread at a time, and
// may move between threads. The handle is for all threads.
unsafe impl Sync for KalContext {}

/// A context that this thread uses, until it is dropped.
pub struct Entered<'a> {
    context: &'a KalContext,
    _using: Using<'a>,
}

impl KalContext {
    /// Creates one, whose output is written at the end of each line.
    fn new(engine: &KalEngine) -> Result<Self, Box<KalError>> {
        let mut context = engine.engine().context()?;
        context.set_output(Box::new(LineOutput::stdout().flush_lines(true)));
        let interrupt = context.interrupt_handle();
        Ok(Self { context: UnsafeCell::new(context), interrupt, lock: UseLock::new() })
    }

    /// Enters the context.
    ///
    /// # Errors
    /// If it is in use.
    #[inline]
    pub fn enter(&self) -> Result<Entered<'_>, Box<KalError>> {
        match self.lock.enter() {
            Some(using) => Ok(Entered { context: self, _using: using }),
            None => Err(KalError::in_use("context")),
        }
    }
}

impl Entered<'_> {
    #[inline]
    pub fn context(&mut self) -> &mut Context {
        // SAFETY: whoever has entered it is the only one who uses it, and this borrows from that.
        unsafe { &mut *self.context.context.get() }
    }

    /// Runs a source up to its first error, and returns the value of its last expression.
    fn run(&mut self, source: &Source) -> Result<Option<f64>, Error> {
        let mut result = Ok(None);
        let _ = self.context().run_for_values(source, &mut |_, outcome| match outcome {
            Ok(Outcome::Value(value)) => {
                result = Ok(Some(value));
                ControlFlow::Continue(())
            }
            Ok(_) => ControlFlow::Continue(()),
            Err(error) => {
                result = Err(error);
                ControlFlow::Break(())
            }
        });
        result
    }

    /// Writes out what was printed. What the host refuses is lost.
    ///
    /// # Errors
    /// If it does.
    pub fn flush(&mut self) -> io::Result<()> {
        let output = self.context().output();
        output.flush().inspect_err(|_| _ = output.flush())
    }

    /// Runs a source, and writes out what it has printed.
    fn run_and_flush(&mut self, source: &Source) -> Result<Option<f64>, Box<KalError>> {
        let result = self.run(source);
        let written = self.flush();
        let value = result?;
        written.map_err(|error| KalError::of_system(format!("the output cannot be written: {error}")))?;
        Ok(value)
    }
}

/// Enters a context that C has given.
///
/// # Errors
/// If it is null or in use.
#[inline]
pub fn enter(context: Option<&KalContext>) -> Result<Entered<'_>, Box<KalError>> {
    match context {
        Some(context) => context.enter(),
        None => Err(KalError::of_null("context")),
    }
}

/// Creates a context in which nothing is defined; NULL after an error. It prints to standard
/// output.
///
/// # Safety
/// There is a place for an error, or none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_context_new(
    engine: Option<&KalEngine>,
    error: *mut *mut KalError,
) -> Option<Box<KalContext>> {
    // SAFETY: as the caller says.
    unsafe { made(error, || KalContext::new(engine.ok_or_else(|| KalError::of_null("engine"))?)) }
}

/// Frees a context that is not in use; nothing for NULL. Functions, formulas and kernels that were
/// made in it stay.
#[unsafe(no_mangle)]
pub extern "C" fn kal_context_free(context: Option<Box<KalContext>>) {
    quiet((), || {
        let Some(context) = context else { return };
        if context.lock.enter().is_none() {
            // Whoever uses it still does, against the rule: memory is lost, and nothing else.
            std::mem::forget(context);
        }
    });
}

/// Sets where a context prints. `release`, which may be NULL, is called with `user` when the
/// context is freed, or prints elsewhere; not if this fails.
///
/// # Safety
/// The functions do what their descriptions say; there is a place for an error, or none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_context_set_output(
    context: Option<&KalContext>,
    write: KalWrite,
    user: *mut c_void,
    release: KalRelease,
    error: *mut *mut KalError,
) -> bool {
    let set = || {
        let mut entered = enter(context)?;
        let write = write.ok_or_else(|| KalError::of_null("function that writes"))?;
        let user = User::new(user, release);
        user.accept();
        let output = LineOutput::new(HostStream::new(write, user)).flush_lines(true);
        entered.context().set_output(Box::new(output));
        Ok(())
    };
    // SAFETY: as the caller says.
    unsafe { succeeds(error, set) }
}

/// Makes everything fail that runs in a context that number of seconds from now or later; removes
/// that if it is negative or nan. While there is one, each call takes some ten nanoseconds more.
///
/// # Safety
/// There is a place for an error, or none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_context_set_deadline(
    context: Option<&KalContext>,
    time: f64,
    error: *mut *mut KalError,
) -> bool {
    let set = || {
        let mut entered = enter(context)?;
        let time = match time {
            0.0 => Some(std::time::Duration::ZERO),
            time if time > 0.0 => seconds(time, "time")?,
            _ => None,
        };
        // A time beyond the range of the clock never comes.
        let deadline = time.and_then(|time| Instant::now().checked_add(time));
        entered.context().set_deadline(deadline);
        Ok(())
    };
    // SAFETY: as the caller says.
    unsafe { succeeds(error, set) }
}

/// Creates an interrupt for what runs in a context. The context may be in use.
#[unsafe(no_mangle)]
pub extern "C" fn kal_context_interrupt(context: Option<&KalContext>) -> Option<Box<KalInterrupt>> {
    quiet(None, || context.map(|context| Box::new(KalInterrupt::of_context(context.interrupt.clone()))))
}

/// Runs a text of `length` bytes, or `KAL_TO_ZERO`: definitions and expressions, up to the first
/// mistake. What was defined before it stays. `*value` becomes the value of the last expression, if
/// there is one, and `*has_value` whether there is; both may be NULL.
///
/// # Safety
/// The text is that long; the places can be written or are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_eval(
    context: Option<&KalContext>,
    text: *const c_char,
    length: usize,
    value: *mut f64,
    has_value: *mut bool,
    error: *mut *mut KalError,
) -> bool {
    let run = || {
        // SAFETY: as the caller says.
        let text = unsafe { raw::text(text, length, "text") }?;
        let result = enter(context)?.run_and_flush(&Source::new("<eval>", text))?;
        // SAFETY: as the caller says.
        unsafe { give(result, value, has_value) };
        Ok(())
    };
    // SAFETY: as the caller says.
    unsafe { succeeds(error, run) }
}

/// Runs a file as `kal_eval` runs a text. The modules that it imports are looked for in its folder
/// first.
///
/// # Safety
/// The path ends with a zero byte; the places can be written or are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_eval_file(
    context: Option<&KalContext>,
    path: *const c_char,
    value: *mut f64,
    has_value: *mut bool,
    error: *mut *mut KalError,
) -> bool {
    let run = || {
        // SAFETY: as the caller says.
        let path = unsafe { raw::text(path, KAL_TO_ZERO, "path") }?;
        let mut entered = enter(context)?;
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| KalError::of_system(format!("{path}: {error}")))?;
        let folder = Path::new(path).parent().unwrap_or(Path::new(""));
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let result = entered.run_and_flush(&Source::in_folder(path, text, folder))?;
        // SAFETY: as the caller says.
        unsafe { give(result, value, has_value) };
        Ok(())
    };
    // SAFETY: as the caller says.
    unsafe { succeeds(error, run) }
}

/// Writes a value, if there is one, and whether there is.
///
/// # Safety
/// The places can be written or are null.
unsafe fn give(result: Option<f64>, value: *mut f64, has_value: *mut bool) {
    if let Some(result) = result {
        // SAFETY: as the caller says.
        unsafe { raw::write(value, result) };
    }
    // SAFETY: as the caller says.
    unsafe { raw::write(has_value, result.is_some()) };
}

/// Reads a variable of a context.
///
/// # Safety
/// The name ends with a zero byte; the places can be written or are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_variable(
    context: Option<&KalContext>,
    name: *const c_char,
    value: *mut f64,
    error: *mut *mut KalError,
) -> bool {
    let read = || {
        // SAFETY: as the caller says.
        let name = unsafe { raw::text(name, KAL_TO_ZERO, "name") }?;
        let read = enter(context)?.context().variable(name)?;
        // SAFETY: as the caller says.
        unsafe { raw::write(value, read) };
        Ok(())
    };
    // SAFETY: as the caller says.
    unsafe { succeeds(error, read) }
}

/// Sets a variable of a context, which is declared if it is not.
///
/// # Safety
/// The name ends with a zero byte; the place can be written or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_set_variable(
    context: Option<&KalContext>,
    name: *const c_char,
    value: f64,
    error: *mut *mut KalError,
) -> bool {
    let set = || {
        // SAFETY: as the caller says.
        let name = unsafe { raw::text(name, KAL_TO_ZERO, "name") }?;
        let mut entered = enter(context)?;
        match entered.context().set_variable(name, value) {
            Err(Error::NoVariable(_)) => entered.context().declare(name, value)?,
            result => result?,
        }
        Ok(())
    };
    // SAFETY: as the caller says.
    unsafe { succeeds(error, set) }
}
