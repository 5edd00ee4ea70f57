//! Requests to stop: a request sets a bit and then the limit word; the check
//! that fails resets the limit word and then reads the bits (`on_stop` in
//! `src/runtime/callbacks.rs`). No request may be missed.

use loom::sync::atomic::{AtomicU64, AtomicUsize};
use loom::thread;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The words of an execution context that this is about.
struct Header {
    requests: AtomicU64,
    limit: AtomicUsize,
}

const STACK_LIMIT: usize = 1;

/// Makes a request, like `StopHandle::request`.
fn request(header: &Header, bit: u64) {
    header.requests.fetch_or(bit, Ordering::SeqCst);
    header.limit.swap(usize::MAX, Ordering::SeqCst);
}

/// Returns a check in compiled code; the request that it stops for, if any.
fn check(header: &Header) -> Option<u64> {
    if header.limit.load(Ordering::Relaxed) == STACK_LIMIT {
        return None;
    }
    header.limit.swap(STACK_LIMIT, Ordering::SeqCst);
    let requests = header.requests.load(Ordering::SeqCst);
    let bit = [1, 2].into_iter().find(|bit| requests & bit != 0)?;
    if header.requests.fetch_and(!bit, Ordering::SeqCst) != bit {
        header.limit.swap(usize::MAX, Ordering::SeqCst);
    }
    Some(bit)
}

#[test]
fn no_request_is_missed() {
    loom::model(|| {
        let header = Arc::new(Header { requests: AtomicU64::new(0), limit: AtomicUsize::new(STACK_LIMIT) });
        let askers = [1, 2].map(|bit| {
            let header = header.clone();
            thread::spawn(move || request(&header, bit))
        });
        let mut seen: Vec<u64> = (0..2).filter_map(|_| check(&header)).collect();
        askers.into_iter().for_each(|asker| asker.join().expect("it only asks"));
        // A run checks repeatedly.
        seen.extend((0..3).filter_map(|_| check(&header)));
        seen.sort_unstable();
        assert_eq!(seen, [1, 2]);
    });
}
