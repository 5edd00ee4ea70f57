//! The index of a pack: an entry for each body, in the order of the identities with which they
//! begin.

use crate::fingerprint::Fingerprint;

/// How often a place is guessed before the index is searched around it.
const GUESSES: usize = 2;

/// Returns the number of the entry of an identity, if there is one.
///
/// Identities are hashes, spread evenly: a place can be guessed, and from what is found there,
/// a better one. Around it, distances are doubled until the entry is passed, and halved from
/// there. So a few entries next to each other are read, and in an index that is not in order, no
/// more than twice as many as by halving alone.
pub(super) fn number_of<const SIZE: usize>(index: &[[u8; SIZE]], identity: &Fingerprint) -> Option<usize> {
    let last = index.len().checked_sub(1)?;
    let entries_in = |distance: u64| ((u128::from(distance) * index.len() as u128) >> 64) as usize;
    let wanted = leading(identity.as_bytes());
    let mut at = entries_in(wanted);
    for _ in 0..GUESSES {
        let there = leading(index.get(at)?);
        at = match there.checked_sub(wanted) {
            Some(past) => at.saturating_sub(entries_in(past)),
            None => last.min(at + entries_in(wanted - there)),
        };
    }
    let is_before =
        |number: usize| index.get(number).is_some_and(|entry| entry[..32] < identity.as_bytes()[..]);
    let (mut from, mut to, mut step) = (at, at, 1);
    if is_before(at) {
        while is_before(to) {
            (from, to, step) = (to + 1, to + step, step * 2);
        }
    } else {
        while from > 0 && !is_before(from - 1) {
            (from, to, step) = (from.saturating_sub(step), from, step * 2);
        }
    }
    let around = index.get(from..index.len().min(to + 1))?;
    let found = around.binary_search_by(|entry| entry[..32].cmp(identity.as_bytes())).ok()?;
    Some(from + found)
}

/// Returns the number in the first bytes of an identity.
fn leading(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(bytes: [u8; 32], value: u32) -> [u8; 36] {
        let mut entry = [0; 36];
        entry[..32].copy_from_slice(&bytes);
        entry[32..].copy_from_slice(&value.to_le_bytes());
        entry
    }

    fn hash(number: u32) -> [u8; 32] {
        *Fingerprint::of_bytes("test", &number.to_le_bytes()).as_bytes()
    }

    /// Asserts that each of these is found where it is, and that others are not.
    fn finds_each(mut identities: Vec<[u8; 32]>) {
        identities.sort_unstable();
        identities.dedup();
        let index: Vec<_> = identities.iter().zip(0..).map(|(bytes, number)| entry(*bytes, number)).collect();
        for (number, bytes) in identities.iter().enumerate() {
            assert_eq!(number_of(&index, &Fingerprint::from_bytes(*bytes)), Some(number));
        }
        let others = (0..1000).map(|number| hash(number + 1_000_000)).chain([[0; 32], [255; 32]]);
        for other in others.filter(|other| !identities.contains(other)) {
            assert_eq!(number_of(&index, &Fingerprint::from_bytes(other)), None);
        }
    }

    #[test]
    fn identities_are_found_however_they_are_spread() {
        for count in [0, 1, 2, 3, 10, 1000, 5000] {
            finds_each((0..count).map(hash).collect());
        }
        // All in one place, at either end, and in two.
        let begins_with = |first: u8, number: u32| {
            let mut bytes = hash(number);
            bytes[..12].fill(first);
            bytes
        };
        for first in [0, 7, 255] {
            finds_each((0..500).map(|number| begins_with(first, number)).collect());
        }
        finds_each(
            (0..500).map(|number| begins_with(if number % 2 == 0 { 1 } else { 254 }, number)).collect(),
        );
    }

    #[test]
    fn an_index_out_of_order_is_searched_to_an_end() {
        let mut index: Vec<_> = (0..1000).map(|number| entry(hash(number), number)).collect();
        index.reverse();
        for number in 0..1000 {
            let identity = Fingerprint::from_bytes(hash(number));
            let found = number_of(&index, &identity);
            assert!(found.is_none_or(|found| index[found][..32] == *identity.as_bytes()));
        }
    }
}
