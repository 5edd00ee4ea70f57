//! Values, each once.

use rustc_hash::FxHashMap;
use std::hash::Hash;

/// The number of values that are compared one by one, which takes less time than a table.
const FEW: usize = 16;

/// Values, each once, in the order in which they came.
#[derive(Debug)]
pub struct Distinct<T> {
    values: Vec<T>,
    /// The place of each, once there are many.
    places: FxHashMap<T, usize>,
}

impl<T> Default for Distinct<T> {
    fn default() -> Self {
        Self { values: Vec::new(), places: FxHashMap::default() }
    }
}

impl<T: Copy + Eq + Hash> Distinct<T> {
    /// Adds a value unless it is there. Returns its place, and whether it is new.
    #[inline]
    pub fn add(&mut self, value: T) -> (usize, bool) {
        if self.values.len() < FEW {
            if let Some(place) = self.values.iter().position(|known| *known == value) {
                return (place, false);
            }
            self.values.push(value);
            return (self.values.len() - 1, true);
        }
        self.add_to_many(value)
    }

    fn add_to_many(&mut self, value: T) -> (usize, bool) {
        if self.places.is_empty() {
            self.places.extend(self.values.iter().enumerate().map(|(place, known)| (*known, place)));
        }
        let new = self.values.len();
        let place = *self.places.entry(value).or_insert(new);
        if place == new {
            self.values.push(value);
        }
        (place, place == new)
    }

    /// Returns the values.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns the values.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_values_come_once_and_in_order() {
        for count in [0, 1, FEW - 1, FEW, FEW + 1, 10 * FEW] {
            let mut distinct = Distinct::default();
            for round in 0..3 {
                assert!((0..count).all(|value| distinct.add(value) == (value, round == 0)), "{count}");
            }
            assert_eq!(distinct.values(), (0..count).collect::<Vec<_>>());
            assert_eq!(distinct.into_values(), (0..count).collect::<Vec<_>>());
        }
    }
}
