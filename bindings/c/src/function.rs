//! Functions and formulas, one call at a time.

use crate::context::{KalContext, enter};
use crate::error::KalError;
use crate::guard::{free, made, succeeds};
use crate::{KAL_TO_ZERO, raw};
use kal::{Formula, PresentEnvironment, UntypedFunction};
use std::ffi::c_char;

/// A function by its name, or a formula. Any thread may use it, in every context of its engine
/// that knows the name; a redefinition is seen by the next call.
pub enum KalFunction {
    Named(UntypedFunction),
    Formula(Formula),
}

/// Returns a function that takes `arity` numbers; NULL after an error, also if it takes another
/// number.
///
/// # Safety
/// The name ends with a zero byte; there is a place for an error, or none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_function_get(
    context: Option<&KalContext>,
    name: *const c_char,
    arity: u32,
    error: *mut *mut KalError,
) -> Option<Box<KalFunction>> {
    let get = || {
        // SAFETY: as the caller says.
        let name = unsafe { raw::text(name, KAL_TO_ZERO, "name") }?;
        Ok(KalFunction::Named(enter(context)?.context().untyped_function(name, arity)?))
    };
    // SAFETY: as the caller says.
    unsafe { made(error, get) }
}

/// Compiles a formula: an expression of `length` bytes, or `KAL_TO_ZERO`, whose free names are
/// `parameters`, in the order of the arguments; NULL after an error. It may use what is defined in
/// the context.
///
/// # Safety
/// The text is that long, there are `count` parameters, which end with zero bytes, and there is a
/// place for an error, or none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_formula_new(
    context: Option<&KalContext>,
    text: *const c_char,
    length: usize,
    parameters: *const *const c_char,
    count: usize,
    error: *mut *mut KalError,
) -> Option<Box<KalFunction>> {
    let compile = || {
        // SAFETY: as the caller says.
        let (text, parameters) = unsafe { (raw::text(text, length, "text")?, names(parameters, count)?) };
        Ok(KalFunction::Formula(enter(context)?.context().formula(text, &parameters)?))
    };
    // SAFETY: as the caller says.
    unsafe { made(error, compile) }
}

/// Returns the names of parameters.
///
/// # Errors
/// If one is null, or not UTF-8.
///
/// # Safety
/// There are so many, and each is null or ends with a zero byte.
pub unsafe fn names<'a>(
    parameters: *const *const c_char,
    count: usize,
) -> Result<Vec<&'a str>, Box<KalError>> {
    // SAFETY: as the caller says.
    let parameters = unsafe { raw::items(parameters, count, "list of parameters") }?;
    // SAFETY: as the caller says.
    parameters.iter().map(|name| unsafe { raw::text(*name, KAL_TO_ZERO, "name of a parameter") }).collect()
}

/// Calls a function or a formula with `count` arguments in a context. `*result` becomes its value.
///
/// # Safety
/// There are so many arguments; the places can be written or are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_call(
    context: Option<&KalContext>,
    function: Option<&KalFunction>,
    arguments: *const f64,
    count: usize,
    result: *mut f64,
    error: *mut *mut KalError,
) -> bool {
    // First of all: what is done between this and the call takes no time.
    let present = PresentEnvironment::read();
    let call = || {
        let mut entered = enter(context)?;
        // SAFETY: as the caller says.
        let arguments = unsafe { raw::items(arguments, count, "list of arguments") }?;
        let value = match function {
            Some(KalFunction::Named(function)) => function.call_from(present, entered.context(), arguments),
            Some(KalFunction::Formula(formula)) => formula.call_from(present, entered.context(), arguments),
            None => return Err(KalError::of_null("function")),
        };
        let value = value.inspect_err(|_| _ = entered.flush())?;
        // SAFETY: as the caller says.
        unsafe { raw::write(result, value) };
        Ok(())
    };
    // SAFETY: as the caller says.
    unsafe { succeeds(error, call) }
}

/// Frees a function or a formula; nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kal_function_free(function: Option<Box<KalFunction>>) {
    free(function);
}
