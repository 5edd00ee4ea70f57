//! The memory that programs work on: the interface of the interpreter and of
//! compiled code to it. How compiled code finds its parts is in `abi::layout`.

mod layout;

use crate::name::Name;
use crate::process::{self, Activity};
use crate::stop::Stoppable;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize};

pub use layout::*;

/// The memory that the program of a context works on, shared by compiled code
/// and the interpreter.
pub trait Memory: Stoppable {
    /// Returns the variables, by their numbers.
    fn variables(&self) -> &[AtomicU64];

    /// Returns the remaining function entries and loop iterations, where they
    /// are counted.
    fn fuel(&self) -> &AtomicI64;

    /// Returns the stack limit of the interpreter, in slots. Zero forces the
    /// next safepoint poll to take its slow path.
    fn interp_limit(&self) -> &AtomicUsize;

    /// Returns a word that is not 0 once code has become ready that the
    /// interpreter may wait for.
    fn code_ready(&self) -> &AtomicUsize;
}

/// The numbers of variables: the same in every context of an engine. A number
/// belongs to a name as long as it is [held](HeldVariables).
#[derive(Debug, Default)]
pub struct Variables(Mutex<VariableTable>);

#[derive(Debug, Default)]
struct VariableTable {
    numbers: FxHashMap<Name, u32>,
    /// By number, how often it is held.
    holders: Vec<u32>,
    free: Vec<u32>,
}

/// Variables of an engine that are held: by the context that declares them, or by
/// code or a tape that refers to them. Dropping it releases them.
#[derive(Debug)]
pub struct HeldVariables {
    variables: Arc<Variables>,
    numbers: FxHashMap<Name, u32>,
}

impl Variables {
    /// Calls `work` with the table. No fork comes in between, so that a child
    /// never finds it locked by a thread that it does not have.
    fn table<T>(&self, work: impl FnOnce(&mut VariableTable) -> T) -> T {
        process::within(Activity::Steady, || work(&mut self.0.lock()))
    }

    /// Returns the number of a variable; `None` if it has none.
    pub fn find(&self, name: Name) -> Option<u32> {
        self.table(|table| table.numbers.get(&name).copied())
    }

    /// Returns how many variables have a number.
    pub fn count(&self) -> usize {
        self.table(|table| table.numbers.len())
    }
}

impl VariableTable {
    fn hold(&mut self, name: Name) -> Option<u32> {
        let number = match self.numbers.get(&name) {
            Some(number) => *number,
            None => {
                let number = self.free.pop().or_else(|| self.new_number())?;
                *self.numbers.entry(name).or_insert(number)
            }
        };
        self.holders[number as usize] += 1;
        Some(number)
    }

    fn new_number(&mut self) -> Option<u32> {
        let number = self.holders.len();
        (number < VARIABLE_COUNT).then(|| {
            self.holders.push(0);
            number as u32
        })
    }

    fn release(&mut self, name: Name, number: u32) {
        let holders = &mut self.holders[number as usize];
        *holders -= 1;
        if *holders == 0 {
            self.numbers.remove(&name);
            self.free.push(number);
        }
    }
}

impl HeldVariables {
    /// Creates a set of variables of an engine that is empty.
    pub fn of(variables: &Arc<Variables>) -> Self {
        Self { variables: variables.clone(), numbers: FxHashMap::default() }
    }

    /// Holds a variable. Returns its number; `None` if there are too many.
    pub fn hold(&mut self, name: Name) -> Option<u32> {
        if let Some(number) = self.find(name) {
            return Some(number);
        }
        let number = self.variables.table(|table| table.hold(name))?;
        self.numbers.insert(name, number);
        Some(number)
    }

    /// Returns the number of a variable; `None` if it is not held here.
    pub fn find(&self, name: Name) -> Option<u32> {
        self.numbers.get(&name).copied()
    }

    /// Returns the number of variables.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the names of the variables, in no particular order.
    pub fn names(&self) -> impl Iterator<Item = Name> {
        self.numbers.keys().copied()
    }

    /// Releases all variables but those that `keeps` chooses. Passes their numbers
    /// to `released` before they can be given to others.
    pub fn retain(&mut self, keeps: impl Fn(Name) -> bool, released: impl Fn(u32)) {
        let Self { variables, numbers } = self;
        let gone = numbers.extract_if(|name, _| !keeps(*name));
        let gone: Vec<_> = gone.inspect(|(_, number)| released(*number)).collect();
        variables.table(|table| gone.into_iter().for_each(|(name, number)| table.release(name, number)));
    }
}

impl Drop for HeldVariables {
    fn drop(&mut self) {
        let Self { variables, numbers } = self;
        if !numbers.is_empty() {
            variables.table(|table| numbers.drain().for_each(|(name, number)| table.release(name, number)));
        }
    }
}

/// The number of variables.
pub const VARIABLE_COUNT: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: usize) -> Name {
        Name::from_index(number).expect("it is small")
    }

    #[test]
    fn a_number_belongs_to_a_name_while_it_is_held() {
        let variables = Arc::new(Variables::default());
        let (mut one, mut other) = (HeldVariables::of(&variables), HeldVariables::of(&variables));
        assert_eq!((one.hold(name(5)), one.hold(name(6)), other.hold(name(6))), (Some(0), Some(1), Some(1)));
        assert_eq!((one.hold(name(5)), one.len(), variables.count()), (Some(0), 2, 2));
        let released = std::cell::RefCell::new(Vec::new());
        one.retain(|_| false, |number| released.borrow_mut().push(number));
        released.borrow_mut().sort_unstable();
        assert_eq!(*released.borrow(), [0, 1]);
        assert_eq!((variables.find(name(5)), variables.find(name(6)), variables.count()), (None, Some(1), 1));
        assert_eq!((one.find(name(6)), one.hold(name(7)), one.hold(name(5))), (None, Some(0), Some(2)));
        drop((one, other));
        assert_eq!(variables.count(), 0);
    }

    #[test]
    fn there_are_as_many_as_have_a_place() {
        let variables = Arc::new(Variables::default());
        let mut all = HeldVariables::of(&variables);
        assert!((0..VARIABLE_COUNT).all(|number| all.hold(name(number)) == Some(number as u32)));
        let mut more = HeldVariables::of(&variables);
        assert_eq!((more.hold(name(VARIABLE_COUNT)), more.len()), (None, 0));
        drop(all);
        assert!(more.hold(name(VARIABLE_COUNT)).is_some_and(|number| (number as usize) < VARIABLE_COUNT));
    }
}
