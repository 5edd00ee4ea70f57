//! The call of one of NumPy's functions that a thread makes: how rows are to be computed, and how
//! far it is. NumPy passes neither on to the loops.

use crate::apply::OnError;
use std::cell::Cell;

/// How rows are to be computed.
#[derive(Clone, Copy, Default)]
pub struct CallSettings {
    pub threads: usize,
    pub on_error: OnError,
}

/// How far a call is. NumPy computes it in one loop or in many.
#[derive(Clone, Copy, Default)]
pub struct CallProgress {
    /// How many rows were computed.
    pub rows: usize,
    /// How many of them since signals were looked at.
    pub unheard: usize,
    /// How often the session had been interrupted when it began.
    pub since: u64,
    /// Whether a row has failed. NumPy may go on with the next loop.
    pub has_failed: bool,
}

thread_local! {
    static SETTINGS: Cell<CallSettings> = const { Cell::new(CallSettings { threads: 0, on_error: OnError::Raise }) };
    /// `None` for what does not begin with a call, such as `reduce`.
    static PROGRESS: Cell<Option<CallProgress>> = const { Cell::new(None) };
}

/// Returns the settings in force on this thread.
pub fn settings() -> CallSettings {
    SETTINGS.get()
}

/// Puts settings in force for calls on this thread.
pub fn with_settings<T>(settings: CallSettings, call: impl FnOnce() -> T) -> T {
    struct Restore(CallSettings);
    impl Drop for Restore {
        fn drop(&mut self) {
            SETTINGS.set(self.0);
        }
    }
    let _restore = Restore(SETTINGS.replace(settings));
    call()
}

/// Runs something that is no part of the call on this thread, such as a Python function that a
/// row calls.
pub fn apart<T>(work: impl FnOnce() -> T) -> T {
    with_settings(CallSettings::default(), || in_progress(None, work))
}

/// Returns how far the call on this thread is.
pub fn progress() -> Option<CallProgress> {
    PROGRESS.get()
}

/// Changes what is known of the call on this thread.
pub fn update(change: impl FnOnce(&mut CallProgress)) {
    let mut progress = PROGRESS.get();
    progress.as_mut().map(change);
    PROGRESS.set(progress);
}

/// Makes a call, inside of another one or not. Returns its result, and how far it came.
pub fn counted<T>(since: u64, call: impl FnOnce() -> T) -> (T, CallProgress) {
    let begun = CallProgress { since, ..CallProgress::default() };
    in_progress(Some(begun), || (call(), PROGRESS.get().unwrap_or(begun)))
}

fn in_progress<T>(progress: Option<CallProgress>, work: impl FnOnce() -> T) -> T {
    struct Restore(Option<CallProgress>);
    impl Drop for Restore {
        fn drop(&mut self) {
            PROGRESS.set(self.0);
        }
    }
    let _restore = Restore(PROGRESS.replace(progress));
    work()
}
