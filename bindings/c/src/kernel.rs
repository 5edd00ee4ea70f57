//! Kernels: functions over columns.

use crate::context::{KalContext, enter};
use crate::error::KalError;
use crate::function::names;
use crate::guard::{free, made, quiet, succeeds};
use crate::run::{KAL_FAILING_MARK, KalRun, RunSettings};
use crate::{KAL_TO_ZERO, raw};
use kal::{Column, Kernel};
use std::borrow::Cow;
use std::ffi::c_char;
use std::ptr;

/// A function over columns, with all that it calls, as names and variables were when it was made.
/// It never changes. Any thread may use it at any time, and it outlives its context and engine.
pub struct KalKernel(Kernel);

impl KalKernel {
    pub fn kernel(&self) -> &Kernel {
        &self.0
    }
}

/// The values of an argument.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct KalColumn {
    /// One for each row; NULL if all rows have the same.
    pub values: *const f64,
    /// That of every row, if `values` is NULL.
    pub every: f64,
}

/// Returns the kernel of a function, as its name is bound now; NULL after an error.
///
/// # Safety
/// The name ends with a zero byte; there is a place for an error, or none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_kernel_get(
    context: Option<&KalContext>,
    name: *const c_char,
    error: *mut *mut KalError,
) -> Option<Box<KalKernel>> {
    let get = || {
        // SAFETY: as the caller says.
        let name = unsafe { raw::text(name, KAL_TO_ZERO, "name") }?;
        Ok(KalKernel(enter(context)?.context().kernel(name)?))
    };
    // SAFETY: as the caller says.
    unsafe { made(error, get) }
}

/// Returns the kernel of a formula: an expression of `length` bytes, or `KAL_TO_ZERO`, whose free
/// names are `parameters`, in the order of the columns; NULL after an error.
///
/// # Safety
/// As of `kal_formula_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_kernel_of_formula(
    context: Option<&KalContext>,
    text: *const c_char,
    length: usize,
    parameters: *const *const c_char,
    count: usize,
    error: *mut *mut KalError,
) -> Option<Box<KalKernel>> {
    let compile = || {
        // SAFETY: as the caller says.
        let (text, parameters) = unsafe { (raw::text(text, length, "text")?, names(parameters, count)?) };
        Ok(KalKernel(enter(context)?.context().formula_kernel(text, &parameters)?))
    };
    // SAFETY: as the caller says.
    unsafe { made(error, compile) }
}

/// Computes a kernel in `rows` rows: `output[i]` becomes its value for the i-th values of the
/// `count` columns, one for each parameter. The output may be one of the columns, which is copied
/// then. If `run` is NULL, the first row that fails ends it.
///
/// `failed` is for `KAL_FAILING_MARK`, and else NULL: (rows + 7) / 8 bytes, in which the bits of the
/// rows that fail are set, the lowest of a byte first, and all others cleared.
///
/// After an error, `kal_error_row` is the lowest row that failed or is not complete: all rows
/// before it are right.
///
/// # Safety
/// Columns and output have that many rows, there are that many columns, and the rest is as its
/// description says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_apply(
    kernel: Option<&KalKernel>,
    columns: *const KalColumn,
    count: usize,
    output: *mut f64,
    failed: *mut u8,
    rows: usize,
    run: *const KalRun,
    error: *mut *mut KalError,
) -> bool {
    let apply = || {
        let KalKernel(kernel) = kernel.ok_or_else(|| KalError::of_null("kernel"))?;
        // SAFETY: as the caller says.
        let settings = unsafe { RunSettings::read(run, rows) }?;
        // SAFETY: as the caller says.
        let columns = unsafe { raw::items(columns, count, "list of columns") }?;
        // SAFETY: as the caller says.
        let lent = columns.iter().map(|column| unsafe { lend(column, output, rows) });
        let lent = lent.collect::<Result<Vec<_>, _>>()?;
        let columns: Vec<Column<'_>> = lent.iter().map(LentColumn::column).collect();
        // SAFETY: as the caller says; no column is a slice of it.
        let output = unsafe { raw::items_mut(output, rows, "output") }?;
        let bytes = if settings.failing == KAL_FAILING_MARK { rows.div_ceil(8) } else { 0 };
        // SAFETY: as the caller says.
        let failed = unsafe { raw::items_mut(failed, bytes, "bitmap of failed rows") }?;
        failed.fill(0);
        settings.run(failed, |run| kernel.apply(&columns, output, run).map_err(Box::from))
    };
    // SAFETY: as the caller says.
    unsafe { succeeds(error, apply) }
}

/// A column of C.
enum LentColumn<'a> {
    Values(Cow<'a, [f64]>),
    Every(f64),
}

impl LentColumn<'_> {
    fn column(&self) -> Column<'_> {
        match self {
            Self::Values(values) => Column::Values(values),
            Self::Every(value) => Column::Every(*value),
        }
    }
}

/// Returns a column, which is copied if it lies where the output will be.
///
/// # Safety
/// It has that many rows, and so has the output.
unsafe fn lend<'a>(
    column: &KalColumn,
    output: *const f64,
    rows: usize,
) -> Result<LentColumn<'a>, Box<KalError>> {
    if column.values.is_null() {
        return Ok(LentColumn::Every(column.every));
    }
    // SAFETY: as the caller says.
    let values = unsafe { raw::items(column.values, rows, "column") }?;
    let (values_at, output_at, bytes) = (column.values.addr(), output.addr(), size_of_val(values));
    let overlaps = values_at < output_at.saturating_add(bytes) && output_at < values_at.saturating_add(bytes);
    Ok(LentColumn::Values(if overlaps { Cow::Owned(values.to_vec()) } else { Cow::Borrowed(values) }))
}

/// Returns how many columns a kernel takes; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kal_kernel_arity(kernel: Option<&KalKernel>) -> usize {
    quiet(0, || kernel.map_or(0, |KalKernel(kernel)| kernel.parameters().len()))
}

/// Returns whether a kernel computes many rows at once.
#[unsafe(no_mangle)]
pub extern "C" fn kal_kernel_is_wide(kernel: Option<&KalKernel>) -> bool {
    kernel.is_some_and(|KalKernel(kernel)| kernel.is_wide())
}

/// Returns how a kernel is run, one remark on each line: if row by row, also why. `kal_text_free`
/// frees it; NULL for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kal_kernel_explain(kernel: Option<&KalKernel>) -> *mut c_char {
    let explain =
        |kernel: &Kernel| kernel.explain().iter().map(|remark| format!("{remark}\n")).collect::<String>();
    text(kernel, explain)
}

/// Returns the definitions of a kernel as a text that can be run anywhere, function and all that it
/// calls. `kal_text_free` frees it; NULL for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kal_kernel_source(kernel: Option<&KalKernel>) -> *mut c_char {
    text(kernel, Kernel::source)
}

fn text(kernel: Option<&KalKernel>, write: impl FnOnce(&Kernel) -> String) -> *mut c_char {
    quiet(ptr::null_mut(), || {
        kernel.map_or(ptr::null_mut(), |KalKernel(kernel)| raw::c_text(write(kernel)).into_raw())
    })
}

/// Writes the identity of what a kernel computes, 32 bytes: it is the same wherever the same is
/// defined.
///
/// # Safety
/// There is a place for 32 bytes, or none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_kernel_id(kernel: Option<&KalKernel>, id: *mut u8) {
    quiet((), || {
        if let Some(KalKernel(kernel)) = kernel {
            // SAFETY: as the caller says.
            unsafe { raw::write(id.cast::<[u8; 32]>(), *kernel.id().as_bytes()) };
        }
    });
}

/// Frees a kernel that nothing runs; nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kal_kernel_free(kernel: Option<Box<KalKernel>>) {
    free(kernel);
}
