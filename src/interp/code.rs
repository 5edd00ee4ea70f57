//! The instructions of a program in one row, so that a place in it is a number.

use super::native::Spot;
use crate::sema::checked::Function;
use crate::tape::op::{Op, encode};
use crate::tape::{Loop, Tape};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where the outermost frame returns to.
pub(super) const LEAVE: u32 = 0;

/// A linked function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// Where its instructions begin.
    pub(super) code: u32,
    /// The slot of its frame that holds the link.
    pub(super) link: u32,
    /// How many slots its frame has.
    pub(super) frame: u32,
}

/// All instructions that can be run.
pub(super) struct Code {
    words: Vec<u32>,
    regions: BTreeMap<u32, Region>,
    /// Regions that are not in use, by their length.
    free: BTreeMap<u32, Vec<u32>>,
    /// The instructions whose count is over and that wait for compiled code.
    waiting: Vec<u32>,
    /// What stood where a break stands, by its place.
    breaks: BTreeMap<u32, u32>,
}

struct Region {
    length: u32,
    /// The slot of its frames that holds the link.
    link: u32,
    /// How many slots they have.
    frame: u32,
    function: Arc<Function>,
    loops: Box<[Loop]>,
}

impl Code {
    pub(super) fn new() -> Self {
        let mut words = Vec::new();
        encode(&mut words, Op::Leave, &[]);
        Self {
            words,
            regions: BTreeMap::new(),
            free: BTreeMap::new(),
            waiting: Vec::new(),
            breaks: BTreeMap::new(),
        }
    }

    pub(super) fn words(&self) -> &[u32] {
        &self.words
    }

    /// The instructions, to be run: they count.
    pub(super) fn running(&mut self) -> &mut [u32] {
        &mut self.words
    }

    /// How many bytes the instructions take.
    pub(super) fn bytes(&self) -> u64 {
        size_of_val(&*self.words) as u64
    }

    /// By how many words the row must grow for a function of so many.
    pub(super) fn lacks(&self, length: usize) -> usize {
        if self.free.range(length as u32..).next().is_some() { 0 } else { length }
    }

    /// Adds the instruction that stands for a callee that is not linked.
    pub(super) fn add_stub(&mut self, callee: u32) -> u32 {
        let code = self.words.len() as u32;
        encode(&mut self.words, Op::FirstCall, &[callee.into()]);
        code
    }

    /// Puts the instructions of a function in.
    pub(super) fn add(&mut self, words: &[u32], function: &Arc<Function>, tape: &Tape) -> u32 {
        let length = words.len() as u32;
        let code = self.place(length);
        let start = code as usize;
        self.words[start..start + words.len()].copy_from_slice(words);
        let region = Region {
            length,
            link: tape.locals,
            frame: tape.frame,
            function: function.clone(),
            loops: tape.loops.clone(),
        };
        self.regions.insert(code, region);
        code
    }

    /// Takes a function out. None of its frames may be left.
    pub(super) fn remove(&mut self, code: u32) {
        if let Some(region) = self.regions.remove(&code) {
            self.free.entry(region.length).or_default().push(code);
            let gone = code..code + region.length;
            self.waiting.retain(|at| !gone.contains(at));
            self.breaks.retain(|at, _| !gone.contains(at));
        }
    }

    /// Puts a break in the place of the first word of an instruction.
    pub(super) fn add_break(&mut self, at: u32) {
        let word = &mut self.words[at as usize];
        if *word != Op::Break as u32 {
            self.breaks.insert(at, std::mem::replace(word, Op::Break as u32));
        }
    }

    /// Puts the instruction back that stood there. Whether there was a break.
    pub(super) fn remove_break(&mut self, at: u32) -> bool {
        let word = self.breaks.remove(&at);
        if let Some(word) = word {
            self.words[at as usize] = word;
        }
        word.is_some()
    }

    /// Puts all instructions back.
    pub(super) fn remove_breaks(&mut self) {
        for (at, word) in std::mem::take(&mut self.breaks) {
            self.words[at as usize] = word;
        }
    }

    /// Whether runs stop before that instruction.
    pub(super) fn has_break(&self, at: u32) -> bool {
        self.breaks.contains_key(&at)
    }

    /// How the function is called that begins there.
    pub(super) fn entry(&self, code: u32) -> Option<Entry> {
        self.regions.get(&code).map(|region| Entry { code, link: region.link, frame: region.frame })
    }

    /// Where each function begins.
    pub(super) fn functions(&self) -> impl Iterator<Item = (u32, &Arc<Function>)> {
        self.regions.iter().map(|(start, region)| (*start, &region.function))
    }

    /// Where the function begins that an instruction belongs to.
    pub(super) fn start(&self, at: u32) -> Option<u32> {
        let (start, region) = self.regions.range(..=at).next_back()?;
        (at - start < region.length).then_some(*start)
    }

    /// What is counted by the instruction there.
    pub(super) fn spot(&self, at: u32) -> Option<Spot> {
        let (_, region) = self.regions.range(..=at).next_back()?;
        let site = self.words[at as usize] >> 8;
        let counted = site.checked_sub(1).and_then(|index| region.loops.get(index as usize));
        Some(Spot { function: region.function.clone(), counted: counted.cloned() })
    }

    /// The count of that instruction is over; it waits for compiled code.
    pub(super) fn wait(&mut self, at: u32) {
        self.waiting.push(at);
    }

    /// The instructions that wait for compiled code; they no longer do.
    pub(super) fn take_waiting(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.waiting)
    }

    /// Begins the count of that instruction again.
    pub(super) fn count_again(&mut self, at: u32, count: u32) {
        self.words[at as usize + 1] = count;
    }

    /// Has the count of that instruction end when it is executed next.
    pub(super) fn end_count(&mut self, at: u32) {
        self.words[at as usize + 1] = 1;
    }

    /// Takes a function out, if there is one.
    pub(super) fn remove_if(&mut self, code: Option<u32>) {
        if let Some(code) = code {
            self.remove(code);
        }
    }

    /// The function that an instruction belongs to.
    pub(super) fn function(&self, at: u32) -> Option<&Arc<Function>> {
        self.frame(at).map(|(function, _)| function)
    }

    /// The function that an instruction belongs to, and the slot of its
    /// frames that holds the link.
    pub(super) fn frame(&self, at: u32) -> Option<(&Arc<Function>, u32)> {
        let (start, region) = self.regions.range(..=at).next_back()?;
        (at - start < region.length).then_some((&region.function, region.link))
    }

    /// Room for so many words.
    fn place(&mut self, length: u32) -> u32 {
        let fitting = self.free.range_mut(length..).next();
        if let Some((&found, places)) = fitting {
            let code = places.pop();
            if places.is_empty() {
                self.free.remove(&found);
            }
            if let Some(code) = code {
                if found > length {
                    self.free.entry(found - length).or_default().push(code + length);
                }
                return code;
            }
        }
        let code = self.words.len() as u32;
        self.words.resize(self.words.len() + length as usize, Op::Leave as u32);
        code
    }
}
