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

/// The number of rows between two looks for a request to stop.
pub(super) const BLOCK: usize = 4096;

/// The stack of a thread whose code may have a large frame, in bytes.
const STACK: usize = 8 << 20;

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

    fn work(&self, worker: &mut dyn BlockWorker) {
        while let Some(block) = self.next() {
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
    let before = plan.before.min(output.len());
    let (first, output) = output.split_at_mut(before);
    if !first.is_empty() {
        worker().block(Block { start: 0, output: first }, fuel)?;
    }
    let blocks = output.len().div_ceil(BLOCK);
    let threads = plan.threads.clamp(1, blocks.max(1));
    if threads == 1 && !plan.has_large_frames {
        let mut worker = worker();
        let mut numbered = (before..).step_by(BLOCK).zip(output.chunks_mut(BLOCK));
        return numbered.try_for_each(|(start, output)| worker.block(Block { start, output }, fuel));
    }
    let queue = BlockQueue {
        chunks: Mutex::new((before, output.chunks_mut(BLOCK))),
        lowest: AtomicUsize::new(usize::MAX),
        meter: fuel.map(FuelMeter::new).map(Mutex::new),
        end: Mutex::new(None),
    };
    start(plan, threads, &queue, &|| queue.work(&mut worker()));
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
        start(plan, 1, &queue, &again);
        *fuel = Some(left.into_inner());
        end = queue.end.into_inner();
    }
    end.map_or(Ok(()), Err)
}

/// Does the same work on some threads, which ends the queue if there is none.
fn start(plan: &Plan, threads: usize, queue: &BlockQueue<'_>, work: &(dyn Fn() + Sync)) {
    let work = || {
        let _environment = DefaultEnvironment::enter();
        work();
    };
    thread::scope(|scope| {
        let start = |_| {
            let named = thread::Builder::new().name("kal columns".into());
            named.stack_size(STACK).spawn_scoped(scope, work).is_ok()
        };
        // The caller works, too, if its stack is large enough.
        let others = if plan.has_large_frames { threads } else { threads - 1 };
        let started = (0..others).map(start).filter(|is_started| *is_started).count();
        if !plan.has_large_frames {
            work();
        } else if started == 0 {
            let message = "no thread can be started for a function with a large frame";
            queue.ended(0, BlockEnd::Failed(Error::NoMemory(message.into())));
        }
    });
}
