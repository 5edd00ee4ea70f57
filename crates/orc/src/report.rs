//! Failure reports: ORC reports a cause to the session, and returns to the
//! lookup only which symbols failed. This module joins the two.

#![allow(unsafe_code)]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::thread::{self, ThreadId};

use llvm_sys::error::LLVMErrorRef;
use parking_lot::Mutex;

use super::error::take_message;
use super::symbol::Interned;

/// The number of unclaimed reports to keep.
const KEPT: usize = 64;

/// The latest reports of one session.
#[derive(Default)]
pub(super) struct Reports {
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    /// The number of reports ever made.
    count: u64,
    latest: VecDeque<Report>,
}

struct Report {
    index: u64,
    thread: ThreadId,
    /// The symbols that failed because of it, as far as known.
    symbols: Vec<String>,
    text: String,
}

/// A point in the sequence of reports.
#[derive(Clone, Copy)]
pub(super) struct ReportMark(u64);

impl Reports {
    pub(super) fn mark(&self) -> ReportMark {
        ReportMark(self.log.lock().count)
    }

    /// Adds a report about `symbols`.
    pub(super) fn add(&self, text: String, symbols: Vec<String>) {
        let mut log = self.log.lock();
        let report = Report { index: log.count, thread: thread::current().id(), symbols, text };
        log.count += 1;
        if log.latest.len() == KEPT {
            log.latest.pop_front();
        }
        log.latest.push_back(report);
    }

    /// Returns the reports since `mark` about `symbol` or by this thread.
    pub(super) fn about(&self, mark: ReportMark, symbol: &str) -> Vec<String> {
        let thread = thread::current().id();
        let log = self.log.lock();
        let since = log.latest.iter().filter(|report| report.index >= mark.0);
        since
            .filter(|report| report.thread == thread || report.symbols.iter().any(|name| name == symbol))
            .map(|report| report.text.clone())
            .collect()
    }

    /// Removes and returns all kept reports.
    pub(super) fn drain(&self) -> Vec<String> {
        self.log.lock().latest.drain(..).map(|report| report.text).collect()
    }
}

thread_local! {
    /// The symbols that this thread is linking: the innermost last, since
    /// linking one object may materialize others that it refers to.
    static LINKING: RefCell<Vec<Vec<Interned>>> = const { RefCell::new(Vec::new()) };
}

/// Runs `link`; reports on this thread meanwhile are about `symbols`. `link`
/// calls into LLVM and so does not unwind.
pub(super) fn linking(symbols: Vec<Interned>, link: impl FnOnce()) {
    LINKING.with_borrow_mut(|stack| stack.push(symbols));
    link();
    LINKING.with_borrow_mut(Vec::pop);
}

fn being_linked() -> Vec<String> {
    LINKING.with_borrow(|stack| stack.iter().flatten().map(Interned::text).collect())
}

/// The session's error reporter; `reports` is its [`Reports`].
pub(super) extern "C" fn report_to(reports: *mut c_void, error: LLVMErrorRef) {
    // SAFETY: the session registers this function with a pointer to reports
    // that it owns and frees after LLVM's session has been destroyed.
    let reports = unsafe { &*reports.cast::<Reports>() };
    if !error.is_null() {
        reports.add(take_message(error), being_linked());
    }
}
