//! What slabs and sessions of ORC are told of forks and exits of the process.

use crate::process::{self, Activity};
use kal_code::{ForkCallbacks, Host};

/// This process, whose threads declare their activities.
#[derive(Debug)]
pub(super) struct WatchedProcess;

impl Host for WatchedProcess {
    fn at_fork(&self, callbacks: ForkCallbacks) {
        let ForkCallbacks { before, in_parent, in_child } = callbacks;
        process::at_fork(process::AtFork { before, in_parent, in_child });
    }

    fn steady(&self, work: &mut dyn FnMut()) {
        process::within(Activity::Steady, work);
    }

    fn waiting(&self, work: &mut dyn FnMut()) {
        process::within(Activity::Elsewhere, work);
    }
}
