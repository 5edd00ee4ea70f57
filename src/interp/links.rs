//! Links: what the numbers in linked instructions refer to.
//!
//! The tables of all tapes of a program are merged into one table each, so that
//! an instruction finds a callee, a host function or a variable by its number.
//! A callee is a name *and* an arity: a call that was lowered when a function
//! took one argument never reaches a body that takes two.

use super::code::{CodeMemory, EntryPoint};
use crate::abi::HeldVariables;
use crate::failure::Failure;
use crate::host::{Callable, HostFunctions, NativeFunction};
use crate::name::Name;
use crate::tape::op::{INDEX_END, OperandKind, Raw};
use crate::tape::{Tape, TapeCallee};
use rustc_hash::FxHashMap;

/// The tables of a program.
#[derive(Default)]
pub(super) struct Links {
    callees: Vec<TapeCallee>,
    entries: Vec<EntryPoint>,
    /// The entry points of callees that are not linked.
    stubs: Vec<u32>,
    by_name: FxHashMap<Name, Vec<u32>>,
    hosts: Vec<TapeCallee>,
    natives: Vec<Option<NativeFunction>>,
    host_numbers: FxHashMap<Name, u32>,
}

impl Links {
    /// Returns the instructions of a valid tape with the numbers of the
    /// program, and with counters set to `counter`. Holds its variables.
    pub(super) fn relocate(
        &mut self,
        tape: &Tape,
        code: &mut CodeMemory,
        hosts: &HostFunctions,
        held: &mut HeldVariables,
        counter: u32,
    ) -> Result<Vec<u32>, Failure> {
        let callees = each(&tape.callees, |callee| self.callee(code, callee))?;
        let host_numbers = each(&tape.hosts, |host| self.host(hosts, host))?;
        let variables =
            each(&tape.variables, |variable| held.hold(variable).ok_or(Failure::TooMany("variables")))?;
        let mut words = tape.words.to_vec();
        for (at, instruction) in tape.instructions() {
            let Some(instruction) = instruction else { break };
            for (place, (kind, raw)) in instruction.operands().enumerate() {
                let table = match kind {
                    OperandKind::Callee => &callees,
                    OperandKind::Host => &host_numbers,
                    OperandKind::Variable => &variables,
                    OperandKind::Counter => {
                        words[at + place] = counter;
                        continue;
                    }
                    OperandKind::Slot
                    | OperandKind::Link
                    | OperandKind::Frame
                    | OperandKind::Number
                    | OperandKind::Target
                    | OperandKind::Site => {
                        continue;
                    }
                };
                set_index(&mut words[at..], place, table[raw as usize].into());
            }
        }
        Ok(words)
    }

    /// Returns the number of a callee.
    pub(super) fn callee(&mut self, code: &mut CodeMemory, callee: TapeCallee) -> Result<u32, Failure> {
        let numbers = self.by_name.entry(callee.name).or_default();
        if let Some(number) = numbers.iter().find(|number| self.callees[**number as usize] == callee) {
            return Ok(*number);
        }
        let number = number(self.callees.len(), "called functions")?;
        numbers.push(number);
        let stub = code.add_stub(number);
        self.callees.push(callee);
        self.stubs.push(stub);
        self.entries.push(unlinked(stub, callee));
        Ok(number)
    }

    fn host(&mut self, hosts: &HostFunctions, host: TapeCallee) -> Result<u32, Failure> {
        if let Some(number) = self.host_numbers.get(&host.name) {
            return Ok(*number);
        }
        let number = number(self.hosts.len(), "host functions")?;
        self.host_numbers.insert(host.name, number);
        self.hosts.push(host);
        self.natives.push(match hosts.get(host.name).map(|host| &host.callable) {
            Some(Callable::Native(function)) => Some(*function),
            Some(Callable::Closure(_)) | None => None,
        });
        Ok(number)
    }

    /// Returns the callee of a number.
    pub(super) fn target(&self, number: u32) -> TapeCallee {
        self.callees[number as usize]
    }

    /// Returns the host function of a number.
    pub(super) fn host_target(&self, number: u32) -> TapeCallee {
        self.hosts[number as usize]
    }

    /// Returns the entry point of a callee.
    pub(super) fn entry(&self, number: u32) -> EntryPoint {
        self.entries[number as usize]
    }

    /// Returns the entry points of all callees.
    pub(super) fn entries(&self) -> &[EntryPoint] {
        &self.entries
    }

    /// Returns the host functions by number; `None` for closures.
    pub(super) fn natives(&self) -> &[Option<NativeFunction>] {
        &self.natives
    }

    /// Makes calls of a callee enter a linked function.
    pub(super) fn link_to(&mut self, number: u32, entry: EntryPoint) {
        self.entries[number as usize] = entry;
    }

    /// Makes the next calls of a name link it again.
    pub(super) fn reset(&mut self, name: Name) {
        for &number in self.by_name.get(&name).into_iter().flatten() {
            let index = number as usize;
            self.entries[index] = unlinked(self.stubs[index], self.callees[index]);
        }
    }
}

fn unlinked(stub: u32, callee: TapeCallee) -> EntryPoint {
    EntryPoint { code: stub, link: callee.arity, frame: callee.arity + 1 }
}

fn number(count: usize, what: &'static str) -> Result<u32, Failure> {
    let number = u32::try_from(count).ok().filter(|number| *number < INDEX_END);
    number.ok_or(Failure::TooMany(what))
}

fn each<T: Copy>(
    table: &[T],
    mut number: impl FnMut(T) -> Result<u32, Failure>,
) -> Result<Vec<u32>, Failure> {
    table.iter().map(|entry| number(*entry)).collect()
}

/// Replaces an index in the instruction at the start of `words`.
fn set_index(words: &mut [u32], place: usize, raw: Raw) {
    if place == 0 {
        words[0] = words[0] & 0xff | (raw as u32) << 8;
    } else {
        words[place] = raw as u32;
    }
}
