//! Making sentences of a grammar, and mistakes in them.

use super::ebnf::{Expression, Grammar};
use super::recogniser::{class, fixed};
use crate::choices::{Choices, Random};
use kal::syntax::operator::UPDATES;
use kal::syntax::token::{COMPOUND_OPERATORS, Terminal};

pub(super) struct Generator<'g> {
    grammar: &'g Grammar,
    pub(super) random: Random,
    /// Makes `=` rare among operators: a random left side is rarely a variable,
    /// and is refused otherwise.
    pub(super) few_assignments: bool,
}

/// Beyond this depth the shortest way out is taken.
const DEPTH: usize = 12;
/// No more parts are added to a longer sentence where they can be left out.
const LENGTH: usize = 60;

impl<'g> Generator<'g> {
    pub(super) fn new(grammar: &'g Grammar, random: Random) -> Self {
        Self { grammar, random, few_assignments: false }
    }

    pub(super) fn sentence(&mut self, production: &str) -> Vec<Terminal> {
        let mut sentence = Vec::new();
        self.expand(self.grammar.production(production), 0, &mut sentence);
        sentence
    }

    fn expand(&mut self, expression: &Expression, depth: usize, sentence: &mut Vec<Terminal>) {
        let tight = depth > DEPTH || sentence.len() > LENGTH;
        match expression {
            Expression::Name(name) => match class(name) {
                Some(terminal) => sentence.push(terminal),
                None if name == "operator" && self.few_assignments && self.random.below(40) > 0 => {
                    sentence.push(Terminal::Operator);
                }
                None => self.expand(self.grammar.production(name), depth + 1, sentence),
            },
            Expression::Text(text) => sentence.push(fixed(text)),
            Expression::Words => panic!("words stand for characters, not for tokens"),
            // The grammar lists the simplest alternative first or last.
            Expression::Choice(alternatives) if tight => {
                let simplest = alternatives.iter().min_by_key(|part| self.cost(part, 8));
                self.expand(simplest.unwrap(), depth, sentence);
            }
            Expression::Choice(alternatives) => {
                let choice = self.random.below(alternatives.len());
                self.expand(&alternatives[choice], depth, sentence);
            }
            Expression::Sequence(parts) => parts.iter().for_each(|part| self.expand(part, depth, sentence)),
            Expression::Optional(part) => {
                if !tight && self.random.below(2) == 0 {
                    self.expand(part, depth, sentence);
                }
            }
            Expression::Repeated(part) => {
                while sentence.len() <= LENGTH && depth <= DEPTH && self.random.below(3) > 0 {
                    self.expand(part, depth, sentence);
                }
            }
        }
    }

    /// Returns the fewest tokens of an expression, looking `levels` productions
    /// deep.
    fn cost(&self, expression: &Expression, levels: usize) -> usize {
        const FAR: usize = 1_000;
        match expression {
            Expression::Name(name) if class(name).is_some() => 1,
            Expression::Name(_) if levels == 0 => FAR,
            Expression::Name(name) => self.cost(self.grammar.production(name), levels - 1),
            Expression::Text(_) | Expression::Words => 1,
            Expression::Choice(parts) => {
                parts.iter().map(|part| self.cost(part, levels)).min().unwrap_or(FAR)
            }
            Expression::Sequence(parts) => parts.iter().map(|part| self.cost(part, levels)).sum(),
            Expression::Optional(_) | Expression::Repeated(_) => 0,
        }
    }
}

/// Deletes, doubles or swaps a token, or puts another in its place.
pub(super) fn mutate(sentence: &mut Vec<Terminal>, random: &mut Random) {
    if sentence.is_empty() {
        return;
    }
    let at = random.below(sentence.len());
    match random.below(4) {
        0 => drop(sentence.remove(at)),
        1 => sentence.insert(at, sentence[at]),
        2 => {
            let other = random.below(sentence.len());
            sentence.swap(at, other);
        }
        _ => sentence[at] = sentence[random.below(sentence.len())],
    }
}

/// Returns a text that reads as the sentence.
pub(super) fn text(sentence: &[Terminal], random: &mut Random) -> String {
    let mut text = String::new();
    for &terminal in sentence {
        text.push_str(&sample(terminal, random));
        text.push_str(random.pick(&[
            " ",
            " ",
            " ",
            "  ",
            "\t",
            "\n",
            " # comment (\n",
            " # comment (\r",
            "\r\n",
        ]));
    }
    text
}

/// Returns a text that reads as the terminal.
pub(super) fn sample(terminal: Terminal, random: &mut Random) -> String {
    const NAMES: [&str; 10] = ["a", "b", "x", "foo", "_", "_1", "été", "definition", "f2", "ℵ"];
    const NUMBERS: [&str; 12] =
        ["0", "1", "2", "5", "10", "1.5", ".5", "5.", "1e-3", "0x1F", "1_000", "2.5E+7"];
    const OPERATORS: [&str; 24] = [
        "+", "-", "*", "/", "<", ">", "^", "%", "!", "|", "&", ":", "@", "~", "$", "?", "'", "¤", "\\", "[",
        "{", ".", "∑", "×",
    ];
    match terminal {
        Terminal::Identifier => random.pick(&NAMES).to_owned(),
        Terminal::Qualified => random.pick(&["a.b", "stats.mean", "_a.b._c", "é.x1"]).to_owned(),
        Terminal::Number => random.pick(&NUMBERS).to_owned(),
        // Those that assign are rare: the left side of most would be no variable.
        Terminal::Operator if random.below(3) == 0 => match random.pick(COMPOUND_OPERATORS) {
            operator if UPDATES.contains(&operator) && random.below(10) > 0 => "<=".to_owned(),
            operator => operator.to_owned(),
        },
        Terminal::Text => random.pick(&["\"\"", "\"a # b; c\"", r#""\n\t\"\\\u{b5}""#, "\"é “\""]).to_owned(),
        Terminal::Operator => random.pick(&OPERATORS).to_owned(),
        fixed => fixed.fixed_text().unwrap().to_owned(),
    }
}
