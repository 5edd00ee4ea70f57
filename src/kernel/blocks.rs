//! Blocks of rows, handed to threads in their order.
//!
//! Which row is the lowest that failed does not depend on the threads: blocks are begun in
//! order, so when one fails, those before it have been begun and come to their ends.

use super::fuel::FuelMeter;
use crate::error::Error;
use crate::float_environment::DefaultEnvironment;
use crate::stop::StopRequest;
use parking_lot::Mutex;
use std::slice::ChunksMut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The number of rows between two looks for a request to stop.
pub(super) const BLOCK: usize = 4096;

/// The stack of a thread whose code may have a large frame, in bytes.
const STACK: usize = 8 << 20;

/// The number of rows that the caller computes first, to know what rows take.
const TRIED: usize = 64;

/// How long the caller works alone before it looks whether other threads are worth it.
const ALONE: Duration = Duration::from_micros(100);

/// How much work must be left for other threads to be worth it: a thread takes some 50 microseconds to
/// start, and finds nothing in its caches.
const SHARED: Duration = Duration::from_micros(500);

/// Some rows of an output.
pub(super) struct Block<'o> {
    /// The number of the first one.
    pub(super) start: usize,
    pub(super) output: &'o mut [f64],
}

/// Why a block is not complete.
#[derive(Clone, Debug)]
pub(super) enum BlockEnd {
    Failed(Error),
    Stopped(StopRequest),
    /// The row would take more than the fuel that is left.
    OutOfFuel,
}

/// What computes blocks, on one thread. Returns the row at which it has ended early.
pub(super) trait BlockWorker {
    /// Takes what the rows take of the fuel, if it is counted.
    fn block(&mut self, block: Block<'_>, fuel: &mut Option<u64>) -> Result<(), (usize, BlockEnd)>;
}

/// How blocks are computed.
pub(super) struct Plan {
    pub(super) threads: usize,
    /// Whether frames may be too large for the stack of the caller.
    pub(super) has_large_frames: bool,
    /// How many rows come before the first block; none where fuel is counted or frames are large.
    pub(super) before: usize,
}

struct BlockQueue<'o> {
    chunks: Mutex<(usize, ChunksMut<'o, f64>)>,
    /// The lowest row that has ended early.
    lowest: AtomicUsize,
    /// If fuel is counted.
    meter: Option<Mutex<FuelMeter>>,
    end: Mutex<Option<(usize, BlockEnd)>>,
}

impl<'o> BlockQueue<'o> {
    /// Returns the next block, unless an earlier one has ended early.
    fn next(&self) -> Option<Block<'o>> {
        let mut chunks = self.chunks.lock();
        let (next, rest) = &mut *chunks;
        if self.lowest.load(Ordering::Relaxed) < *next {
            return None;
        }
        let output = rest.next()?;
        let start = *next;
        *next += output.len();
        Some(Block { start, output })
    }

    fn ended(&self, row: usize, end: BlockEnd) {
        let mut lowest = self.end.lock();
        if lowest.as_ref().is_none_or(|(before, _)| row < *before) {
            *lowest = Some((row, end));
            self.lowest.store(row, Ordering::Relaxed);
        }
    }

    /// Returns how many blocks are left.
    fn left(&self) -> usize {
        let (next, rest) = &*self.chunks.lock();
        if self.lowest.load(Ordering::Relaxed) < *next { 0 } else { rest.len() }
    }

    /// Computes blocks until none is left, or enough are that other threads are worth it, if each takes
    /// as long as the last ones.
    fn work_alone(&self, worker: &mut dyn BlockWorker) {
        let mut left = self.left();
        while left > 0 {
            let (before, begin) = (left, Instant::now());
            self.work(worker, Some(begin + ALONE));
            left = self.left();
            if are_worth_threads(left, begin.elapsed(), before - left) {
                return;
            }
        }
    }

    /// Computes blocks until none is left, or that moment has come.
    fn work(&self, worker: &mut dyn BlockWorker, end: Option<Instant>) {
        while end.is_none_or(|end| Instant::now() < end)
            && let Some(block) = self.next()
        {
            let number = block.start / BLOCK;
            let lent = self.meter.as_ref().map(|meter| meter.lock().lent());
            let mut left = lent;
            let result = worker.block(block, &mut left);
            if let (Some(meter), Some(lent), Some(left)) = (&self.meter, lent, left) {
                let is_out = matches!(result, Err((_, BlockEnd::OutOfFuel)));
                meter.lock().note(number, (!is_out).then(|| lent - left));
            }
            if let Err((row, end)) = result {
                self.ended(row, end);
            }
        }
    }
}

/// Returns whether other threads are worth it for blocks, or rows, that are left, after some have taken
/// some time.
fn are_worth_threads(left: usize, elapsed: Duration, done: usize) -> bool {
    left > 1 && elapsed.as_secs_f64() * left as f64 >= SHARED.as_secs_f64() * done as f64
}

/// Computes all rows of an output with workers, one for each thread. Takes what they take of
/// the fuel, if it is counted.
///
/// # Errors
/// The lowest row that has ended early, and why.
pub(super) fn compute<W: BlockWorker>(
    output: &mut [f64],
    plan: &Plan,
    fuel: &mut Option<u64>,
    worker: impl Fn() -> W + Sync,
) -> Result<(), (usize, BlockEnd)> {
    // The caller works, too, if its stack is large enough.
    let mut own = (!plan.has_large_frames).then(&worker);
    let may_share = plan.threads > 1 && fuel.is_none() && output.len() > BLOCK;
    let tried = if may_share && own.is_some() { TRIED } else { 0 };
    let before = (plan.before + tried).min(output.len());
    let (first, output) = output.split_at_mut(before);
    let begin = (tried > 0).then(Instant::now);
    if !first.is_empty() {
        own.get_or_insert_with(&worker).block(Block { start: 0, output: first }, fuel)?;
    }
    let elapsed = begin.map(|begin| begin.elapsed());
    let blocks = output.len().div_ceil(BLOCK);
    let threads = plan.threads.clamp(1, blocks.max(1));
    if let Some(worker) = own.as_mut().filter(|_| threads == 1) {
        let mut numbered = (before..).step_by(BLOCK).zip(output.chunks_mut(BLOCK));
        return numbered.try_for_each(|(start, output)| worker.block(Block { start, output }, fuel));
    }
    let rows = output.len();
    let queue = BlockQueue {
        chunks: Mutex::new((before, output.chunks_mut(BLOCK))),
        lowest: AtomicUsize::new(usize::MAX),
        meter: fuel.map(FuelMeter::new).map(Mutex::new),
        end: Mutex::new(None),
    };
    if let Some((own, elapsed)) = own.as_mut().zip(elapsed) {
        // What a block takes is known better, if it takes little, when one has been computed.
        let takes_little = elapsed * (BLOCK as u32) < ALONE * (before as u32);
        if takes_little || !are_worth_threads(rows, elapsed, before) {
            queue.work_alone(own);
        }
    }
    let others = queue.left().min(threads).saturating_sub(usize::from(own.is_some()));
    let own = own.as_mut().map(|own| || queue.work(own, None));
    start(others, &queue, &|| queue.work(&mut worker(), None), own);
    let (meter, mut end) = (queue.meter, queue.end.into_inner());
    let Some(meter) = meter.map(Mutex::into_inner) else { return end.map_or(Ok(()), Err) };
    let counted = end.as_ref().map_or(blocks, |(row, _)| row / BLOCK + 1);
    let (last, left) = meter.end(counted);
    *fuel = Some(left);
    if let Some((last, output)) = last.zip(last.and_then(|last| output.chunks_mut(BLOCK).nth(last))) {
        // The fuel ends here, if nothing else ends the run.
        let queue = BlockQueue {
            chunks: Mutex::new((last * BLOCK, output.chunks_mut(BLOCK))),
            lowest: AtomicUsize::new(usize::MAX),
            meter: None,
            end: Mutex::new(None),
        };
        let left = Mutex::new(left);
        let again = || {
            let Some(block) = queue.next() else { return };
            let mut fuel = Some(*left.lock());
            if let Err((row, end)) = worker().block(block, &mut fuel) {
                queue.ended(row, end);
            }
            *left.lock() = fuel.unwrap_or(0);
        };
        if plan.has_large_frames {
            start(1, &queue, &again, None::<fn()>);
        } else {
            again();
        }
        *fuel = Some(left.into_inner());
        end = queue.end.into_inner();
    }
    end.map_or(Ok(()), Err)
}

/// Does the same work on some other threads, and meanwhile the caller's own, if it has some. Ends the
/// queue if neither is done.
fn start(others: usize, queue: &BlockQueue<'_>, work: &(dyn Fn() + Sync), own: Option<impl FnOnce()>) {
    let work = || {
        let _environment = DefaultEnvironment::enter();
        work();
    };
    thread::scope(|scope| {
        let start = |_| {
            let named = thread::Builder::new().name("kal columns".into());
            named.stack_size(STACK).spawn_scoped(scope, work).is_ok()
        };
        let started = (0..others).map(start).filter(|is_started| *is_started).count();
        if let Some(work) = own {
            work();
        } else if started == 0 {
            let message = "no thread can be started for a function with a large frame";
            queue.ended(0, BlockEnd::Failed(Error::NoMemory(message.into())));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::thread::ThreadId;

    /// Notes which threads compute blocks, which wait for one another.
    struct ThreadNoter<'t> {
        threads: &'t Mutex<HashSet<ThreadId>>,
        /// The number of threads for which each block but the first waits.
        wanted: usize,
    }

    impl BlockWorker for ThreadNoter<'_> {
        fn block(&mut self, block: Block<'_>, _: &mut Option<u64>) -> Result<(), (usize, BlockEnd)> {
            self.threads.lock().insert(thread::current().id());
            while block.start > 0 && self.threads.lock().len() < self.wanted {
                thread::yield_now();
            }
            // Rows take long.
            let begin = Instant::now();
            while begin.elapsed() < 2 * SHARED {}
            let rows = (block.start..).zip(block.output);
            rows.for_each(|(row, value)| *value = row as f64);
            Ok(())
        }
    }

    /// Computes rows that take long; returns how many threads have.
    fn threads_of(rows: usize, has_large_frames: bool, wanted: usize) -> usize {
        let mut output = vec![-1.0; rows];
        let noted = Mutex::default();
        let plan = Plan { threads: 3, has_large_frames, before: 0 };
        let worker = || ThreadNoter { threads: &noted, wanted };
        assert!(compute(&mut output, &plan, &mut None, worker).is_ok());
        assert!(output.iter().enumerate().all(|(row, value)| *value == row as f64));
        assert_eq!(noted.lock().contains(&thread::current().id()), !has_large_frames);
        noted.into_inner().len()
    }

    #[test]
    fn what_takes_long_is_shared_by_threads() {
        assert_eq!(threads_of(10 * BLOCK, false, 3), 3);
        assert_eq!(threads_of(10 * BLOCK, true, 3), 3);
        // Two blocks are for two threads.
        assert_eq!(threads_of(2 * BLOCK, false, 2), 2);
        assert_eq!(threads_of(BLOCK, false, 1), 1);
    }

    #[test]
    fn what_takes_less_than_a_thread_to_start_is_done_by_the_caller() {
        assert!(!are_worth_threads(40, ALONE, 10));
        assert!(are_worth_threads(60, ALONE, 10));
        assert!(are_worth_threads(2, SHARED, 1));
        // There is nothing to share.
        assert!(!are_worth_threads(1, SHARED, 1));
    }
}
