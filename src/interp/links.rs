//! Links: what the numbers in linked instructions stand for.
//!
//! The tables of all tapes of a program become one table each, so that an
//! instruction finds a callee, a host function or a variable by its number.
//! A callee is a name *and* a number of arguments: a call that was lowered
//! when a function took one argument never reaches a body that takes two.

use super::code::{Code, Entry};
use crate::abi::Variables;
use crate::failure::Failure;
use crate::host::{Callable, HostFunctions, Native};
use crate::name::Name;
use crate::tape::op::{INDEX_END, Kind, Raw};
use crate::tape::{Callee, Tape};
use rustc_hash::FxHashMap;

/// The tables of a program.
#[derive(Default)]
pub(super) struct Links {
    callees: Vec<Callee>,
    entries: Vec<Entry>,
    /// Where the entries lead at first.
    stubs: Vec<u32>,
    by_name: FxHashMap<Name, Vec<u32>>,
    hosts: Vec<Callee>,
    natives: Vec<Option<Native>>,
    host_numbers: FxHashMap<Name, u32>,
}

impl Links {
    /// The instructions of a valid tape, with the numbers of the program and
    /// with so much left to count.
    pub(super) fn relocate(
        &mut self,
        tape: &Tape,
        code: &mut Code,
        surroundings: (&HostFunctions, &Variables),
        counter: u32,
    ) -> Result<Vec<u32>, Failure> {
        let (hosts, variables) = surroundings;
        let callees = each(&tape.callees, |callee| self.callee(code, callee))?;
        let host_numbers = each(&tape.hosts, |host| self.host(hosts, host))?;
        let variables = each(&tape.variables, |variable| {
            variables.number(variable).ok_or(Failure::TooMany("variables"))
        })?;
        let mut words = tape.words.to_vec();
        for (at, instruction) in tape.instructions() {
            let Some(instruction) = instruction else { break };
            for (place, (kind, raw)) in instruction.operands().enumerate() {
                let table = match kind {
                    Kind::Callee => &callees,
                    Kind::Host => &host_numbers,
                    Kind::Variable => &variables,
                    Kind::Counter => {
                        words[at + place] = counter;
                        continue;
                    }
                    Kind::Slot | Kind::Link | Kind::Frame | Kind::Number | Kind::Target | Kind::Site => {
                        continue;
                    }
                };
                set_index(&mut words[at..], place, table[raw as usize].into());
            }
        }
        Ok(words)
    }

    /// The number of a callee.
    pub(super) fn callee(&mut self, code: &mut Code, callee: Callee) -> Result<u32, Failure> {
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

    fn host(&mut self, hosts: &HostFunctions, host: Callee) -> Result<u32, Failure> {
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

    /// What a callee stands for.
    pub(super) fn target(&self, number: u32) -> Callee {
        self.callees[number as usize]
    }

    /// What a host function's number stands for.
    pub(super) fn host_target(&self, number: u32) -> Callee {
        self.hosts[number as usize]
    }

    /// Where calls go.
    pub(super) fn entry(&self, number: u32) -> Entry {
        self.entries[number as usize]
    }

    /// Where calls go, for every callee.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The host functions; nothing for closures.
    pub(super) fn natives(&self) -> &[Option<Native>] {
        &self.natives
    }

    /// Lets calls go to a linked function.
    pub(super) fn lead(&mut self, number: u32, entry: Entry) {
        self.entries[number as usize] = entry;
    }

    /// Lets all calls of a name begin with linking it.
    pub(super) fn reset(&mut self, name: Name) {
        for &number in self.by_name.get(&name).into_iter().flatten() {
            let index = number as usize;
            self.entries[index] = unlinked(self.stubs[index], self.callees[index]);
        }
    }
}

fn unlinked(stub: u32, callee: Callee) -> Entry {
    Entry { code: stub, link: callee.arity, frame: callee.arity + 1 }
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

/// Replaces an index of the instruction that `words` begin with.
fn set_index(words: &mut [u32], place: usize, raw: Raw) {
    if place == 0 {
        words[0] = words[0] & 0xff | (raw as u32) << 8;
    } else {
        words[place] = raw as u32;
    }
}
