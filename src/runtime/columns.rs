//! Entering code that computes rows of columns.
#![allow(unsafe_code)]

use std::mem;
use std::sync::atomic::AtomicU64;

/// The signature of such code: see `ColumnEntry` of the code generator.
type ColumnBody =
    unsafe extern "C" fn(*const AtomicU64, *const *const f64, *const f64, *mut f64, u64, *mut i64) -> u64;

/// Runs code over columns, on the stack of the thread. Returns how many rows of `output`
/// are complete.
///
/// # Safety
/// `body` is the address of code with that signature, which stays while it runs. The
/// columns have as many rows as `output`, unless the code does not read them, and there
/// are as many columns and values as it reads. `flag` is 0, or what the code takes with the number of
/// rows, and the output is as it needs it then.
pub unsafe fn run_columns(
    body: usize,
    stop: &AtomicU64,
    columns: &[*const f64],
    values: &[f64],
    output: &mut [f64],
    flag: u64,
    fuel: &mut i64,
) -> usize {
    // SAFETY: the address is that of code with this signature, by this function's contract.
    let run: ColumnBody = unsafe { mem::transmute(body) };
    // SAFETY: it reads and writes what the arguments lead to, by the same contract.
    let done = unsafe {
        let rows = output.len() as u64 | flag;
        run(stop, columns.as_ptr(), values.as_ptr(), output.as_mut_ptr(), rows, fuel)
    };
    done as usize
}
