//! How a kernel is run.

use crate::config::seconds;
use crate::error::KalError;
use crate::interrupt::KalInterrupt;
use crate::raw;
use kal::{Failing, Run, Validity};
use std::mem::offset_of;
use std::time::Instant;

/// The run ends with the first row that fails, which is its error: the default.
pub const KAL_FAILING_STOP: u32 = 0;
/// The result of a row that fails is nan.
pub const KAL_FAILING_NAN: u32 = 1;
/// The result of a row that fails is nan, and the row is marked in `failed`; of an Arrow array, it
/// is null.
pub const KAL_FAILING_MARK: u32 = 2;

/// How a kernel is run. It begins with its size and is zero otherwise: `kal_run run = {.size =
/// sizeof run};`. What is 0 or NULL is as by default.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct KalRun {
    /// `sizeof(kal_run)`.
    pub size: usize,
    /// How many threads compute rows; by default the caller's alone. Results do not depend on it.
    pub threads: u32,
    /// What becomes of rows that fail: `KAL_FAILING_…`.
    pub failing: u32,
    /// After how many seconds the run is stopped; by default never.
    pub timeout: f64,
    /// The rows that have values, as a bitmap of Arrow: a bit for each, the lowest of a byte first.
    /// Others are not computed: their results are nan. By default all rows have.
    pub valid: *const u8,
    /// The bit of row 0.
    pub valid_offset: usize,
    /// What stops the run from another thread; made by `kal_interrupt_new`.
    pub interrupt: *const KalInterrupt,
}

const FIRST: usize = offset_of!(KalRun, interrupt) + size_of::<*const KalInterrupt>();

/// How a kernel is run, as Rust has it.
#[derive(Default)]
pub struct RunSettings<'a> {
    threads: usize,
    pub failing: u32,
    deadline: Option<Instant>,
    pub valid: Option<Validity<'a>>,
    interrupt: Option<&'a KalInterrupt>,
}

impl<'a> RunSettings<'a> {
    /// Returns what C has given, for that many rows.
    ///
    /// # Errors
    /// What is wrong with it.
    ///
    /// # Safety
    /// It is null, or as its description says, and so is what it points to, during `'a`.
    pub unsafe fn read(given: *const KalRun, rows: usize) -> Result<Self, Box<KalError>> {
        // SAFETY: as the caller says; all parts may be zero.
        let Some(given) = (unsafe { raw::sized(given, FIRST, "run") })? else {
            return Ok(Self::default());
        };
        if given.failing > KAL_FAILING_MARK {
            return Err(KalError::of_caller(format!("no way to fail has the number {}", given.failing)));
        }
        let valid = if given.valid.is_null() {
            None
        } else {
            let bytes = given.valid_offset.saturating_add(rows).div_ceil(8);
            // SAFETY: there is a bit for each row, as the caller says.
            let bitmap = unsafe { raw::items(given.valid, bytes, "bitmap of rows") }?;
            Some(Validity { bitmap, offset: given.valid_offset })
        };
        // A time beyond the range of the clock never comes.
        let deadline = seconds(given.timeout, "timeout")?.and_then(|time| Instant::now().checked_add(time));
        // SAFETY: it is null or there, as the caller says.
        let interrupt = unsafe { given.interrupt.as_ref() };
        Ok(Self { threads: given.threads as usize, failing: given.failing, deadline, valid, interrupt })
    }

    /// Calls `work` with a run of these settings, in which rows that fail are marked in `failed`.
    ///
    /// # Errors
    /// What `work` returns; or if another run has the interrupt.
    pub fn run<T>(
        &self,
        failed: &mut [u8],
        work: impl FnOnce(&mut Run<'_>) -> Result<T, Box<KalError>>,
    ) -> Result<T, Box<KalError>> {
        match self.interrupt {
            Some(interrupt) => interrupt.stopping(|run| work(&mut self.set(run, failed))),
            None => work(&mut self.set(Run::new(), failed)),
        }
    }

    fn set<'b>(&'b self, run: Run<'b>, failed: &'b mut [u8]) -> Run<'b> {
        let failing = match self.failing {
            KAL_FAILING_STOP => Failing::Stop,
            KAL_FAILING_NAN => Failing::Nan,
            _ => Failing::Mark(failed),
        };
        let mut run = run;
        (run.threads, run.deadline, run.failing, run.valid) =
            (self.threads, self.deadline, failing, self.valid);
        run
    }
}
