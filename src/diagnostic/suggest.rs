//! "Did you mean": the name nearest to a misspelt one.
//!
//! The cost of suggestions is bounded, however many mistakes a source has and
//! however long its names are: long names get none, and all mistakes of one
//! source share a [`Budget`].

use std::cell::Cell;

/// The longest name, in characters, that is suggested or gets a suggestion.
const LONGEST: usize = 64;

/// How many candidates may be examined for the mistakes of one source: some ten
/// milliseconds.
const CANDIDATES: usize = 1 << 18;

/// How many cells of the distance matrix cost as much as examining one
/// candidate.
const CELLS: usize = 16;

/// The remaining budget for suggestions in one source, in candidates.
#[derive(Debug)]
pub struct Budget(Cell<usize>);

impl Budget {
    /// Restores the full budget, for the next source.
    pub fn refill(&self) {
        self.0.set(CANDIDATES);
    }

    /// Returns whether the budget is used up, so that candidates need not even
    /// be listed.
    pub fn is_empty(&self) -> bool {
        self.0.get() == 0
    }

    fn spend(&self, cost: usize) {
        self.0.set(self.0.get().saturating_sub(cost));
    }

    /// Returns the candidate nearest to `wanted`, if one is near enough to be
    /// meant: one slip (a letter missing, added, changed, or two swapped) for
    /// every three letters, at least one. Of equally near ones, one that begins
    /// with `wanted`, otherwise the first in alphabetical order. Only as many are examined as the
    /// budget allows.
    pub fn nearest<C: AsRef<str>>(&self, wanted: &str, candidates: impl IntoIterator<Item = C>) -> Option<C> {
        let length = length(wanted)?;
        let most = (length / 3).max(1);
        let mut best = None;
        for candidate in candidates {
            if self.is_empty() {
                break;
            }
            self.spend(1);
            let text = candidate.as_ref();
            let Some(other) = self::length(text) else { continue };
            if other.abs_diff(length) > most || text == wanted {
                continue;
            }
            self.spend(length * other / CELLS);
            let is_same = text.eq_ignore_ascii_case(wanted);
            let distance = if is_same { 0 } else { strsim::osa_distance(wanted, text) };
            let rank = (distance, !text.starts_with(wanted));
            let is_better = |(least, known): &((usize, bool), C)| (rank, text) < (*least, known.as_ref());
            if distance <= most && distance < other && best.as_ref().is_none_or(is_better) {
                best = Some((rank, candidate));
            }
        }
        best.map(|(_, candidate)| candidate)
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self(Cell::new(CANDIDATES))
    }
}

/// Returns the nearest of a few candidates; see [`Budget::nearest`].
pub fn nearest<C: AsRef<str>>(wanted: &str, candidates: impl IntoIterator<Item = C>) -> Option<C> {
    Budget::default().nearest(wanted, candidates)
}

/// Returns the characters of a name; `None` if there are too many.
fn length(name: &str) -> Option<usize> {
    let most_bytes = LONGEST * char::MAX_LEN_UTF8;
    (name.len() <= most_bytes).then(|| name.chars().count()).filter(|length| *length <= LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let keywords = ["def", "extern", "then", "else", "unary"];
        assert_eq!(nearest("dfe", keywords), Some("def"));
        assert_eq!(nearest("els", keywords), Some("else"));
        assert_eq!(nearest("the", keywords), Some("then"));
        assert_eq!(nearest("exten", keywords), Some("extern"));
        assert_eq!(nearest("foo", keywords), None);
        assert_eq!(nearest("x", ["y"]), None, "one letter for another is another name");
        assert_eq!(nearest("fibonaci", ["fibs", "fibonacci"]), Some("fibonacci"));
        assert_eq!(nearest("print", ["rint", "printd"]), Some("printd"));
        assert_eq!(nearest("same", ["same"]), None);
        assert_eq!(nearest("Sin", ["min", "sin"]), Some("sin"));
        assert_eq!(nearest("ABS", ["abs", "as"]), Some("abs"));
        assert_eq!(nearest("", ["a"]), None);
    }

    #[test]
    fn long_names_are_not_compared() {
        let name = "a".repeat(LONGEST - 1);
        let (longest, longer) = (name.clone() + "b", name.clone() + "bb");
        assert_eq!(nearest(&name, [&*longest]), Some(&*longest));
        assert_eq!(nearest(&name, [&*longer]), None);
        assert_eq!(nearest(&longer, [&*longest]), None);
        assert_eq!(nearest(&"é".repeat(LONGEST), [&*"é".repeat(LONGEST - 1)]).map(str::len), Some(126));
    }

    #[test]
    fn a_budget_ends_and_is_filled_again() {
        let budget = Budget::default();
        let candidates: Vec<String> = (0..1000).map(|i| format!("name{i}")).collect();
        let ask = || budget.nearest("nam1", candidates.iter().map(String::as_str));
        let answered = (0..CANDIDATES).take_while(|_| ask() == Some("name1")).count();
        assert!(answered > 10 && answered < CANDIDATES / 1000, "{answered}");
        assert!(budget.is_empty());
        assert_eq!(ask(), None);
        budget.refill();
        assert_eq!(ask(), Some("name1"));
    }
}
