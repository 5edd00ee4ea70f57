//! What the C source of a library calls, which `kal build --lib` writes. Every function
//! catches panics, and records errors for the thread that called it.

use kal::executable::{Library, LibraryContext, described};
use kal::{InterruptHandle, PresentEnvironment, UseLock};
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What a library consists of; the C source has the same structure.
#[repr(C)]
pub struct KalLibrary {
    image: *const u8,
    size: *const u64,
    /// The names of the functions, and how many arguments each takes.
    names: *const *const c_char,
    arities: *const u32,
    count: u32,
    /// The addresses of the code of functions that can be called without more ado; null for the
    /// others, and before they are known.
    codes: *const AtomicUsize,
    /// Of those whose instructions say how they round.
    environment_free_codes: *const AtomicUsize,
}

/// A context, for one thread at a time.
pub struct KalContext {
    context: LibraryContext,
    interrupt: InterruptHandle,
    lock: UseLock,
}

thread_local! {
    /// What went wrong last on this thread.
    static ERROR: RefCell<CString> = RefCell::default();
    /// The same, when it was asked for.
    static SHOWN: RefCell<CString> = RefCell::default();
    /// The context of calls that name none; null before the first.
    static DEFAULT: Cell<*mut KalContext> = const { Cell::new(std::ptr::null_mut()) };
    static OWNER: DefaultContext = const { DefaultContext };
}

/// Frees a thread's context when the thread ends.
struct DefaultContext;

impl Drop for DefaultContext {
    fn drop(&mut self) {
        let context = DEFAULT.replace(std::ptr::null_mut());
        if !context.is_null() {
            // SAFETY: it is from `Box::into_raw`, and nothing else refers to it.
            drop(unsafe { Box::from_raw(context) });
        }
    }
}

/// Records an error of this thread.
fn fail(message: &str) {
    let text = CString::new(message.replace('\0', " ")).unwrap_or_default();
    // The thread may be ending.
    let _ = ERROR.try_with(|error| error.replace(text));
}

/// Returns what `work` returns; `otherwise` after an error or a panic, which is recorded.
fn guarded<T>(otherwise: T, work: impl FnOnce() -> Result<T, String>) -> T {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => value,
        Ok(Err(message)) => {
            fail(&message);
            otherwise
        }
        Err(_) => {
            fail("this is a bug in Kal");
            otherwise
        }
    }
}

/// A library that has been opened.
struct OpenedLibrary {
    library: Library,
    /// For each function, whether its code has been looked for.
    looked_for: Vec<AtomicBool>,
}

/// # Safety
/// `library` is what the C source of a library defines.
unsafe fn opened(library: &KalLibrary) -> Result<&'static OpenedLibrary, String> {
    static LIBRARY: OnceLock<Result<OpenedLibrary, String>> = OnceLock::new();
    let open = || {
        // SAFETY: these are the bytes of the image, which are a part of this file.
        let image = unsafe { slice::from_raw_parts(library.image, *library.size as usize) };
        // SAFETY: `kal build` has made the image.
        let opened = unsafe { Library::open(image) }.map_err(|error| described(&error))?;
        let looked_for = (0..library.count).map(|_| AtomicBool::new(false)).collect();
        Ok(OpenedLibrary { library: opened, looked_for })
    };
    LIBRARY.get_or_init(open).as_ref().map_err(String::clone)
}

/// Makes later calls of a function that a thread's own context has called go to its code, if that
/// needs no context. Such contexts are all alike and stay as they are, so what the name means in
/// one holds in all.
///
/// # Safety
/// `library` is what the C source of a library defines, and the context is one of it.
unsafe fn publish(library: &KalLibrary, context: &LibraryContext, function: u32) -> Result<(), String> {
    // SAFETY: as the caller says.
    let opened = unsafe { opened(library) }?;
    let is_new = |looked_for: &AtomicBool| !looked_for.load(Ordering::Relaxed);
    let Some(looked_for) = opened.looked_for.get(function as usize).filter(|looked_for| is_new(looked_for))
    else {
        return Ok(());
    };
    looked_for.store(true, Ordering::Relaxed);
    if let Some(code) = context.context_free_code(function as usize) {
        // SAFETY: the C source has that many.
        let codes = unsafe { slice::from_raw_parts(library.codes, library.count as usize) };
        codes[function as usize].store(code.address(), Ordering::Release);
        if code.is_environment_free() {
            // SAFETY: as above.
            let codes =
                unsafe { slice::from_raw_parts(library.environment_free_codes, library.count as usize) };
            codes[function as usize].store(code.address(), Ordering::Release);
        }
        // It stays as long as the process does.
        std::mem::forget(code);
    }
    Ok(())
}

/// # Safety
/// `library` is what the C source of a library defines.
unsafe fn create(library: &KalLibrary) -> Result<Box<KalContext>, String> {
    // SAFETY: as the caller says.
    let opened = unsafe { opened(library) }?;
    let count = library.count as usize;
    // SAFETY: the C source has that many of both.
    let (names, arities) = unsafe {
        (slice::from_raw_parts(library.names, count), slice::from_raw_parts(library.arities, count))
    };
    let functions = names.iter().zip(arities).map(|(name, arity)| {
        // SAFETY: names are literals of the C source.
        let name = unsafe { CStr::from_ptr(*name) };
        (name.to_str().unwrap_or(""), *arity)
    });
    let context = opened.library.context(functions).map_err(|error| described(&error))?;
    let interrupt = context.interrupt_handle();
    Ok(Box::new(KalContext { context, interrupt, lock: UseLock::new() }))
}

/// Calls `work` with a context, unless another thread uses it, or the caller itself does.
///
/// # Safety
/// `context` is null, or was created and not freed.
unsafe fn with<T>(
    context: *mut KalContext,
    work: impl FnOnce(&mut LibraryContext) -> Result<T, kal::Error>,
) -> Result<T, String> {
    if context.is_null() {
        return Err("the context is null".to_owned());
    }
    // SAFETY: it is there, as the caller says; it is only read through this.
    let lock = unsafe { &(*context).lock };
    let _using = lock.enter().ok_or_else(|| "the context is in use".to_owned())?;
    // SAFETY: nothing else uses it, as was found out above.
    work(unsafe { &mut (*context).context }).map_err(|error| described(&error))
}

/// Creates a context of a library; null if that fails.
///
/// # Safety
/// `library` is what the C source of a library defines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_library_context_new(library: &KalLibrary) -> *mut KalContext {
    // SAFETY: as the caller says.
    guarded(std::ptr::null_mut(), || unsafe { create(library) }.map(Box::into_raw))
}

/// Frees a context; nothing for null.
///
/// # Safety
/// `context` is null, or was created, not freed, and is not in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_library_context_free(context: *mut KalContext) {
    guarded((), || {
        if !context.is_null() {
            // SAFETY: it is from `Box::into_raw`, as the caller says.
            drop(unsafe { Box::from_raw(context) });
        }
        Ok(())
    });
}

/// Calls a function in a context. Returns 0 and sets the result, or 1.
///
/// # Safety
/// `context` is null, or was created and not freed; `arguments` points to `count` doubles, and
/// `result` to one or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_library_call(
    context: *mut KalContext,
    function: u32,
    arguments: *const f64,
    count: u32,
    result: *mut f64,
) -> c_int {
    let present = PresentEnvironment::read();
    guarded(1, || {
        // SAFETY: as the caller says.
        let arguments = unsafe { slice::from_raw_parts(arguments, count as usize) };
        // SAFETY: as the caller says.
        let value = unsafe { with(context, |context| context.call(function as usize, arguments, present)) }?;
        if !result.is_null() {
            // SAFETY: as the caller says.
            unsafe { result.write(value) };
        }
        Ok(0)
    })
}

/// Calls a function in this thread's context, which the first call creates. Returns nan if it
/// fails.
///
/// # Safety
/// `library` is what the C source of a library defines, and `arguments` points to `count`
/// doubles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_library_call_here(
    library: &KalLibrary,
    function: u32,
    arguments: *const f64,
    count: u32,
) -> f64 {
    let present = PresentEnvironment::read();
    guarded(f64::NAN, || {
        let mut context = DEFAULT.get();
        if context.is_null() {
            // From now on, the end of the thread frees it. Others that end with the thread may call.
            OWNER.try_with(|_| ()).map_err(|_| "the thread is ending")?;
            // SAFETY: as the caller says.
            context = Box::into_raw(unsafe { create(library) }?);
            DEFAULT.set(context);
        }
        // SAFETY: as the caller says.
        let arguments = unsafe { slice::from_raw_parts(arguments, count as usize) };
        // SAFETY: only this thread knows it, frees it at its end, and a call does not lead back here.
        let context = unsafe { &mut (*context).context };
        let value = context.call(function as usize, arguments, present).map_err(|error| described(&error))?;
        // SAFETY: as the caller says.
        unsafe { publish(library, context, function) }?;
        Ok(value)
    })
}

/// Runs a text in a context. Returns 0 and sets the value of its last expression, nan if it
/// has none, or 1.
///
/// # Safety
/// `context` is null, or was created and not freed; `text` is a string, and `result` points to
/// a double or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_library_eval(
    context: *mut KalContext,
    text: *const c_char,
    result: *mut f64,
) -> c_int {
    guarded(1, || {
        if text.is_null() {
            return Err("there is no text".into());
        }
        // SAFETY: as the caller says.
        let text = unsafe { CStr::from_ptr(text) };
        let text = text.to_str().map_err(|error| format!("the text is not UTF-8: {error}"))?;
        // SAFETY: as the caller says.
        let value = unsafe { with(context, |context| context.evaluate(text)) }?;
        if !result.is_null() {
            // SAFETY: as the caller says.
            unsafe { result.write(value) };
        }
        Ok(0)
    })
}

/// Stops what runs in a context, from any thread; nothing if nothing does.
///
/// # Safety
/// `context` is null, or was created and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_library_interrupt(context: *const KalContext) {
    guarded((), || {
        if !context.is_null() {
            // SAFETY: it is there, as the caller says, and handles are for all threads.
            unsafe { &(*context).interrupt }.interrupt_running();
        }
        Ok(())
    });
}

/// Makes everything fail that runs in a context that number of seconds from now or later;
/// removes that if it is negative or nan. Returns 0, or 1.
///
/// # Safety
/// `context` is null, or was created and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_library_set_deadline(context: *mut KalContext, seconds: f64) -> c_int {
    guarded(1, || {
        // A time beyond the range of the clock never comes.
        let time = Duration::try_from_secs_f64(seconds).ok();
        let deadline = time.and_then(|time| Instant::now().checked_add(time));
        let set = |context: &mut LibraryContext| {
            context.set_deadline(deadline);
            Ok(0)
        };
        // SAFETY: as the caller says.
        unsafe { with(context, set) }
    })
}

/// Returns what went wrong last on this thread; empty if nothing has. It is there until this
/// is called again on the thread.
#[unsafe(no_mangle)]
pub extern "C" fn kal_library_last_error() -> *const c_char {
    let last = ERROR.try_with(|error| error.borrow().clone()).unwrap_or_default();
    let shown = SHOWN.try_with(|shown| {
        *shown.borrow_mut() = last;
        shown.borrow().as_ptr()
    });
    shown.unwrap_or(c"".as_ptr())
}
