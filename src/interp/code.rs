//! The linked instructions of a program in one contiguous array, so that a
//! position is an index.

use super::gaps::Gaps;
use crate::abi::HeldVariables;
use crate::budget::{ContextBudget, ReachedLimit};
use crate::sema::checked::CheckedFunction;
use crate::tape::op::{LONGEST, Op, encode};
use crate::tape::{CountedLoop, Tape};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A hot function, or a hot loop of one.
#[derive(Clone, Debug)]
pub struct HotSpot {
    pub function: Arc<CheckedFunction>,
    /// The loop; `None` for the function.
    pub counted: Option<CountedLoop>,
}

/// The instruction that the outermost frame returns to.
pub(super) const LEAVE: u32 = 0;

/// The smallest number of words to keep allocated.
const LEAST: usize = 1 << 12;

/// Where a linked function is entered, and the shape of its frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct EntryPoint {
    /// The index of its first instruction.
    pub(super) code: u32,
    /// The slot of its frame that holds the link.
    pub(super) link: u32,
    /// The number of slots of its frame.
    pub(super) frame: u32,
}

/// The words after the last instruction: wherever one begins, the longest one could.
const PADDING: usize = LONGEST - 1;

/// All linked instructions. Their memory is charged to the budget.
pub(super) struct CodeMemory {
    /// The instructions, and the padding after them.
    words: Vec<u32>,
    regions: BTreeMap<u32, Region>,
    gaps: Gaps,
    budget: Arc<ContextBudget>,
    /// The counting instructions that are hot and wait for compiled code.
    waiting: Vec<u32>,
    /// The words replaced by breakpoints, by index.
    breaks: BTreeMap<u32, u32>,
}

struct Region {
    length: u32,
    function: Arc<CheckedFunction>,
    /// The tape that was linked.
    tape: Arc<Tape>,
    /// The variables in it, if there are some.
    _held: Option<Box<HeldVariables>>,
}

impl CodeMemory {
    pub(super) fn new(budget: &Arc<ContextBudget>) -> Self {
        let mut words = Vec::new();
        encode(&mut words, Op::Leave, &[]);
        words.extend([0; PADDING]);
        budget.charge(bytes(words.len()));
        Self {
            words,
            regions: BTreeMap::new(),
            gaps: Gaps::default(),
            budget: budget.clone(),
            waiting: Vec::new(),
            breaks: BTreeMap::new(),
        }
    }

    pub(super) fn words(&self) -> &[u32] {
        &self.words
    }

    /// Returns the instructions for a run, which updates the counters in them.
    pub(super) fn running(&mut self) -> &mut [u32] {
        &mut self.words
    }

    /// Returns the size of the instructions in bytes.
    pub(super) fn bytes(&self) -> u64 {
        bytes(self.words.len())
    }

    /// Adds the instruction that links a callee at its first call.
    pub(super) fn add_stub(&mut self, callee: u32) -> u32 {
        let mut stub = Vec::new();
        encode(&mut stub, Op::FirstCall, &[callee.into()]);
        self.place(&stub)
    }

    /// Adds the instructions of a function, which refer to variables that are
    /// `held`.
    ///
    /// # Errors
    /// The limit of the context that they exceed; `None` if it is that of the engine.
    pub(super) fn add(
        &mut self,
        words: &[u32],
        function: &Arc<CheckedFunction>,
        tape: &Arc<Tape>,
        held: HeldVariables,
    ) -> Result<u32, Option<ReachedLimit>> {
        let length = words.len() as u32;
        if !self.gaps.fits(length) {
            self.budget.check_tape(bytes(words.len()))?;
        }
        let code = self.place(words);
        let held = (held.len() > 0).then(|| Box::new(held));
        let region = Region { length, function: function.clone(), tape: tape.clone(), _held: held };
        self.regions.insert(code, region);
        Ok(code)
    }

    /// Removes a function. None of its frames may be left.
    pub(super) fn remove(&mut self, code: u32) {
        if let Some(region) = self.regions.remove(&code) {
            let gone = code..code + region.length;
            self.waiting.retain(|at| !gone.contains(at));
            self.breaks.retain(|at, _| !gone.contains(at));
            if let Some(end) = self.gaps.give(code, region.length, self.end()) {
                self.cut(end as usize);
            }
        }
    }

    /// Replaces the first word of an instruction by a breakpoint.
    pub(super) fn add_break(&mut self, at: u32) {
        let word = &mut self.words[at as usize];
        if *word != Op::Break as u32 {
            self.breaks.insert(at, std::mem::replace(word, Op::Break as u32));
        }
    }

    /// Restores the instruction under a breakpoint; returns whether there was
    /// one.
    pub(super) fn remove_break(&mut self, at: u32) -> bool {
        let word = self.breaks.remove(&at);
        if let Some(word) = word {
            self.words[at as usize] = word;
        }
        word.is_some()
    }

    /// Restores the instructions under all breakpoints.
    pub(super) fn remove_breaks(&mut self) {
        for (at, word) in std::mem::take(&mut self.breaks) {
            self.words[at as usize] = word;
        }
    }

    /// Returns whether there is a breakpoint before that instruction.
    pub(super) fn has_break(&self, at: u32) -> bool {
        self.breaks.contains_key(&at)
    }

    /// Returns the operation of an instruction, under a breakpoint or not.
    pub(super) fn op(&self, at: u32) -> Option<Op> {
        Op::of(self.breaks.get(&at).copied().or_else(|| self.words.get(at as usize).copied())?)
    }

    /// Returns where the instruction begins that ends at or contains `end`, in
    /// the function that begins at `start`.
    pub(super) fn instruction_before(&self, start: u32, end: u32) -> u32 {
        let mut at = start;
        while let Some(op) = self.op(at) {
            let next = at + op.length() as u32;
            if next >= end {
                break;
            }
            at = next;
        }
        at
    }

    /// Returns the entry point of the function that begins at `code`.
    pub(super) fn entry(&self, code: u32) -> Option<EntryPoint> {
        let entry = |tape: &Tape| EntryPoint { code, link: tape.locals, frame: tape.frame };
        self.regions.get(&code).map(|region| entry(&region.tape))
    }

    /// Returns each function with its tape and the index of its first
    /// instruction.
    pub(super) fn functions(&self) -> impl Iterator<Item = (u32, &Arc<CheckedFunction>, &Arc<Tape>)> {
        self.regions.iter().map(|(start, region)| (*start, &region.function, &region.tape))
    }

    /// Returns the index of the first instruction of the function that contains
    /// `at`.
    pub(super) fn start(&self, at: u32) -> Option<u32> {
        let (start, region) = self.regions.range(..=at).next_back()?;
        (at - start < region.length).then_some(*start)
    }

    /// Returns what the counting instruction at `at` counts.
    pub(super) fn spot(&self, at: u32) -> Option<HotSpot> {
        let (_, region) = self.regions.range(..=at).next_back()?;
        let site = self.words[at as usize] >> 8;
        let counted = site.checked_sub(1).and_then(|index| region.tape.loops.get(index as usize));
        Some(HotSpot { function: region.function.clone(), counted: counted.cloned() })
    }

    /// Marks a hot counting instruction as waiting for compiled code.
    pub(super) fn await_code(&mut self, at: u32) {
        self.waiting.push(at);
    }

    /// Takes the instructions that wait for compiled code.
    pub(super) fn take_waiting(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.waiting)
    }

    /// Restarts the counter of an instruction.
    pub(super) fn count_again(&mut self, at: u32, count: u32) {
        self.words[at as usize + 1] = count;
    }

    /// Makes the counter of an instruction expire at its next execution.
    pub(super) fn end_count(&mut self, at: u32) {
        self.words[at as usize + 1] = 1;
    }

    /// Removes a function, if there is one.
    pub(super) fn remove_if(&mut self, code: Option<u32>) {
        if let Some(code) = code {
            self.remove(code);
        }
    }

    /// Returns the function that an instruction belongs to.
    pub(super) fn function(&self, at: u32) -> Option<&Arc<CheckedFunction>> {
        self.frame(at).map(|(function, _)| function)
    }

    /// Returns the function that an instruction belongs to, and its tape.
    pub(super) fn frame(&self, at: u32) -> Option<(&Arc<CheckedFunction>, &Arc<Tape>)> {
        let (start, region) = self.regions.range(..=at).next_back()?;
        (at - start < region.length).then_some((&region.function, &region.tape))
    }

    /// Puts words into a gap, or at the end.
    fn place(&mut self, words: &[u32]) -> u32 {
        if let Some(code) = self.gaps.take(words.len() as u32) {
            let start = code as usize;
            self.words[start..start + words.len()].copy_from_slice(words);
            return code;
        }
        let code = self.end();
        self.words.truncate(code as usize);
        self.words.extend_from_slice(words);
        self.words.extend([0; PADDING]);
        self.budget.charge(bytes(words.len()));
        code
    }

    /// Returns the index of the first word after the last instruction.
    fn end(&self) -> u32 {
        (self.words.len() - PADDING) as u32
    }

    /// Truncates the array.
    fn cut(&mut self, end: usize) {
        self.budget.release(bytes(self.end() as usize - end));
        self.words.truncate(end);
        self.words.extend([0; PADDING]);
        // Keeps room for as much again, so that not every cut reallocates.
        if self.words.capacity() / 4 > end.max(LEAST) {
            self.words.shrink_to(2 * end.max(LEAST));
        }
    }
}

impl Drop for CodeMemory {
    fn drop(&mut self) {
        self.budget.release(self.bytes());
    }
}

fn bytes(words: usize) -> u64 {
    (words * size_of::<u32>()) as u64
}
