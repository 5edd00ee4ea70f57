//! Entering code that computes rows of columns.
#![allow(unsafe_code)]

use std::mem;
use std::sync::atomic::AtomicU64;

/// The signature of such code: see `ColumnEntry` of the code generator.
type ColumnBody =
    unsafe extern "C" fn(*const AtomicU64, *const *const f64, *const f64, *mut f64, u64, *mut i64) -> u64;

/// The number of parameters up to which their addresses are gathered on the stack.
const FEW: usize = 16;

/// Runs code over columns, on the stack of the thread. Returns how many rows of `output`
/// are complete.
///
/// # Safety
/// `body` is the address of code with that signature, which stays while it runs. The
/// columns have as many rows as `output`, unless the code does not read them, and there
/// are as many columns and values as it reads.
pub unsafe fn run_columns(
    body: usize,
    stop: &AtomicU64,
    columns: &[&[f64]],
    values: &[f64],
    output: &mut [f64],
    fuel: &mut i64,
) -> usize {
    let mut few = [std::ptr::null(); FEW];
    let many: Vec<*const f64>;
    let addresses = if let Some(few) = few.get_mut(..columns.len()) {
        few.iter_mut().zip(columns).for_each(|(place, column)| *place = column.as_ptr());
        few.as_ptr()
    } else {
        many = columns.iter().map(|column| column.as_ptr()).collect();
        many.as_ptr()
    };
    // SAFETY: the address is that of code with this signature, by this function's contract.
    let run: ColumnBody = unsafe { mem::transmute(body) };
    // SAFETY: it reads and writes what the arguments lead to, by the same contract.
    let done =
        unsafe { run(stop, addresses, values.as_ptr(), output.as_mut_ptr(), output.len() as u64, fuel) };
    done as usize
}
