//! Whether tokens are a sentence of a grammar, found without the parser.
//!
//! For each production and place it works out, once, every place where a
//! sentence of the production that begins there can end. No choice is ever
//! committed to, so it accepts exactly what the grammar describes.

use super::ebnf::{Expression, Grammar};
use kal::syntax::token::{KEYWORDS, PUNCTUATION, Terminal};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

pub(super) struct Recogniser<'g>(&'g Grammar);

/// Places where a sentence can end.
type Ends = Rc<BTreeSet<usize>>;

impl<'g> Recogniser<'g> {
    pub(super) fn new(grammar: &'g Grammar) -> Self {
        Self(grammar)
    }

    pub(super) fn accepts(&self, production: &str, tokens: &[Terminal]) -> bool {
        let run = Run { grammar: self.0, tokens, known: RefCell::default() };
        run.production(production, 0).contains(&tokens.len())
    }
}

struct Run<'g, 't> {
    grammar: &'g Grammar,
    tokens: &'t [Terminal],
    known: RefCell<HashMap<(String, usize), Ends>>,
}

impl Run<'_, '_> {
    fn production(&self, name: &str, start: usize) -> Ends {
        let key = (name.to_owned(), start);
        if let Some(ends) = self.known.borrow().get(&key) {
            return ends.clone();
        }
        let ends = stacker::maybe_grow(64 << 10, 4 << 20, || {
            let mut ends = BTreeSet::new();
            self.expression(self.grammar.production(name), start, &mut ends);
            Rc::new(ends)
        });
        self.known.borrow_mut().insert(key, ends.clone());
        ends
    }

    fn expression(&self, expression: &Expression, start: usize, ends: &mut BTreeSet<usize>) {
        match expression {
            Expression::Name(name) => match class(name) {
                Some(terminal) => self.terminal(terminal, start, ends),
                None => ends.extend(self.production(name, start).iter()),
            },
            Expression::Text(text) => self.terminal(fixed(text), start, ends),
            Expression::Words => panic!("words stand for characters, not for tokens"),
            Expression::Choice(alternatives) => {
                for alternative in alternatives {
                    self.expression(alternative, start, ends);
                }
            }
            Expression::Sequence(parts) => {
                let mut places = BTreeSet::from([start]);
                for part in parts {
                    let mut next = BTreeSet::new();
                    for &place in &places {
                        self.expression(part, place, &mut next);
                    }
                    places = next;
                }
                ends.extend(places);
            }
            Expression::Optional(part) => {
                ends.insert(start);
                self.expression(part, start, ends);
            }
            Expression::Repeated(part) => {
                let (mut done, mut open) = (BTreeSet::new(), BTreeSet::from([start]));
                while let Some(place) = open.pop_first() {
                    if done.insert(place) {
                        self.expression(part, place, &mut open);
                    }
                }
                ends.extend(done);
            }
        }
    }

    fn terminal(&self, terminal: Terminal, start: usize, ends: &mut BTreeSet<usize>) {
        if self.tokens.get(start) == Some(&terminal) {
            ends.insert(start + 1);
        }
    }
}

/// Returns the terminal of a production of the lexical part.
pub(super) fn class(name: &str) -> Option<Terminal> {
    match name {
        "IDENTIFIER" => Some(Terminal::Identifier),
        "QUALIFIED" => Some(Terminal::Qualified),
        "NUMBER" => Some(Terminal::Number),
        "TEXT" => Some(Terminal::Text),
        "OPERATOR" => Some(Terminal::Operator),
        _ => None,
    }
}

/// Returns the terminal that is always written as `text`.
pub(super) fn fixed(text: &str) -> Terminal {
    let entry = KEYWORDS.iter().chain(PUNCTUATION).find(|entry| entry.1 == text);
    entry.unwrap_or_else(|| panic!("the lexer has no token {text}")).0
}
