//! What a fork does with slabs: the child gets a copy of all code.

#![allow(unsafe_code)]

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::fs::ftruncate;
use rustix::io::pwrite;

use super::super::host::ForkCallbacks;
use super::super::views::{Views, create_file};
use super::ranges::{Occupancy, Range};
use super::{SlabMemory, in_bytes};

/// The callbacks that handle slabs at a fork. They run on the thread that forks. From the
/// first to one of the other two, in each of the two processes, no other thread is inside of what
/// is declared to the host: slabs are neither created nor dropped, and no code is placed or
/// freed, so no lock is held when the process is copied.
pub(super) const CALLBACKS: ForkCallbacks =
    ForkCallbacks { before: before_fork, in_parent: after_fork_in_parent, in_child: after_fork_in_child };

/// Whether a thread forks: it does so alone, from the first callback to the last.
static FORKS: AtomicBool = AtomicBool::new(false);

/// How long a thread that waits for another fork sleeps between two looks.
const PAUSE: Duration = Duration::from_micros(50);

/// All slabs of the process.
static SLABS: Mutex<Vec<Arc<SlabMemory>>> = Mutex::new(Vec::new());

/// What a fork has to do with a slab.
#[derive(Default)]
pub(super) struct ForkState {
    /// During a fork, the file for the child.
    copy: Option<OwnedFd>,
    /// Whether another process may use the same memory, which must not change then.
    is_shared: bool,
}

impl ForkState {
    /// Returns whether another process may use the same memory, which must not change then.
    pub(super) fn is_shared(&self) -> bool {
        self.is_shared
    }
}

pub(super) fn register(memory: &Arc<SlabMemory>) {
    SLABS.lock().push(memory.clone());
}

pub(super) fn unregister(memory: &Arc<SlabMemory>) {
    let mut slabs = SLABS.lock();
    let ours = slabs.iter().position(|other| Arc::ptr_eq(other, memory));
    let ours = ours.map(|index| slabs.swap_remove(index));
    // It may be the last owner, who unmaps the memory.
    drop(slabs);
    drop(ours);
}

extern "C" fn before_fork() {
    while FORKS.swap(true, Ordering::Acquire) {
        std::thread::sleep(PAUSE);
    }
    each(|slab| {
        let mut ranges = slab.ranges.lock();
        let copy = copy(&slab.views, &ranges.occupancy);
        ranges.fork.is_shared |= copy.is_none();
        ranges.fork.copy = copy;
    });
}

extern "C" fn after_fork_in_parent() {
    each(|slab| slab.ranges.lock().fork.copy = None);
    FORKS.store(false, Ordering::Release);
}

extern "C" fn after_fork_in_child() {
    each(|slab| {
        let ranges = &mut *slab.ranges.lock();
        if let Some(copy) = ranges.fork.copy.take() {
            // SAFETY: the file holds all that is in use.
            ranges.fork.is_shared |= unsafe { slab.views.map(copy.as_fd()) }.is_err();
            ranges.private.replace(copy);
        }
    });
    FORKS.store(false, Ordering::Release);
}

fn each(work: impl Fn(&SlabMemory)) {
    SLABS.lock().iter().for_each(|slab| work(slab));
}

/// Returns a file with a copy of what is in use; `None` if the system refuses.
fn copy(views: &Views, occupancy: &Occupancy) -> Option<OwnedFd> {
    let file = create_file().ok()?;
    ftruncate(&file, views.size() as u64).ok()?;
    let mut is_copied = true;
    occupancy.for_each_used(|range| is_copied = is_copied && copy_range(views, &file, range));
    is_copied.then_some(file)
}

fn copy_range(views: &Views, file: &OwnedFd, range: Range) -> bool {
    let (mut offset, mut size) = in_bytes(range);
    while size > 0 {
        // SAFETY: no thread writes code now, and what code writes itself is its own to
        // lose: it does not run, either.
        let bytes = unsafe { views.bytes(offset, size) };
        match pwrite(file, bytes, offset as u64) {
            Ok(written) if written > 0 => (offset, size) = (offset + written, size - written),
            _ => return false,
        }
    }
    true
}
