//! How operators group, found without the parser.
//!
//! Chains of operators with random precedences are grouped here by a recursive
//! descent over a table of its own, as the grammar file says in words, and by
//! the parser. Trees in parentheses are printed and read back.

use crate::choices::{Choices, Random};
use crate::reading;
use kal::name::Names;
use kal::source::Source;
use kal::syntax::operator::Operators;
use kal::syntax::parser::parse_all;
use kal::syntax::printer::symbolic;
use std::fmt::Write;

const CHAINS: usize = 20_000;
const DEFINED: [&str; 6] = ["@", "$", "?", ":", "∘", "^"];
const BUILT_IN: [(&str, u8); 7] =
    [("||", 4), ("==", 9), ("<", 10), ("-", 20), ("*", 40), ("%", 40), ("^", 50)];
const PRECEDENCES: [u8; 14] = [1, 4, 10, 20, 30, 39, 40, 41, 45, 46, 49, 50, 51, 100];

/// The operators of one program: the text, the precedence, and whether it is
/// the built-in `^`, the only right-associative one.
struct Table(Vec<(&'static str, u8, bool)>);

impl Table {
    /// Creates a table of three operators, sometimes with `^` among them.
    fn new(random: &mut Random) -> Self {
        let mut table: Vec<_> =
            BUILT_IN.iter().map(|&(text, precedence)| (text, precedence, text == "^")).collect();
        for _ in 0..3 {
            let with_power = usize::from(random.below(8) == 0);
            let text = random.pick(&DEFINED[..5 + with_power]);
            table.retain(|(known, ..)| *known != text);
            table.push((text, random.pick(&PRECEDENCES), false));
        }
        Self(table)
    }

    fn is_defined(&self, text: &str) -> bool {
        text == "^" && !self.get(text).1 || BUILT_IN.iter().all(|built_in| built_in.0 != text)
    }

    fn definitions(&self) -> String {
        let defined = self.0.iter().filter(|(text, ..)| self.is_defined(text));
        defined.fold("def unary ~ (a) a;\n".to_owned(), |program, (text, precedence, _)| {
            program + &format!("def binary {text} {precedence} (a b) a;\n")
        })
    }

    fn pick(&self, random: &mut Random) -> &'static str {
        random.pick(&self.0).0
    }

    fn get(&self, text: &str) -> (u8, bool) {
        let found = self.0.iter().find(|(known, ..)| *known == text).unwrap();
        (found.1, found.2)
    }

    /// Returns which comparisons form chains with this one.
    fn comparison(&self, text: &str) -> Option<u8> {
        match text {
            _ if self.is_defined(text) => None,
            "==" => Some(2),
            "<" => Some(1),
            _ => None,
        }
    }

    /// Returns the name of an operator in a tree.
    fn symbol(&self, text: &str) -> String {
        if self.is_defined(text) { format!("binary{text}") } else { text.to_owned() }
    }
}

/// The rest of a chain, operands being `x`.
struct Chain<'t> {
    table: &'t Table,
    tokens: Vec<&'static str>,
    at: usize,
}

impl Chain<'_> {
    /// Writes an operand and what binds to it before the operator `open` ends,
    /// which is `~` or `-` with a missing precedence if it is unary.
    fn operand(&mut self, open: Option<Option<(u8, bool)>>) -> String {
        let token = self.tokens[self.at];
        self.at += 1;
        let mut left = match token {
            "x" => "x".to_owned(),
            "~" => format!("(unary~ {})", self.operand(Some(None))),
            unary => format!("({unary} {})", self.operand(Some(None))),
        };
        let mut before = None;
        while let Some(&text) = self.tokens.get(self.at) {
            let (precedence, is_power) = self.table.get(text);
            let is_ours = match open {
                None => true,
                Some(None) => is_power,
                Some(Some((outer, outer_is_power))) => {
                    precedence > outer || precedence == outer && is_power && outer_is_power
                }
            };
            if !is_ours {
                break;
            }
            self.at += 1;
            let right = self.operand(Some(Some((precedence, is_power))));
            let group = self.table.comparison(text);
            let link = if group.is_some() && group == before { "…" } else { "" };
            left = format!("({link}{} {left} {right})", self.table.symbol(text));
            before = group;
        }
        left
    }
}

#[test]
fn chains_group_as_the_grammar_says() {
    let mut random = Random::new(6);
    for _ in 0..CHAINS {
        let table = Table::new(&mut random);
        let mut tokens = Vec::new();
        for operand in 0..2 + random.below(6) {
            if operand > 0 {
                tokens.push(table.pick(&mut random));
            }
            (0..random.below(5).saturating_sub(2)).for_each(|_| tokens.push(random.pick(&["-", "!", "~"])));
            tokens.push("x");
        }
        let text = format!("{}{}", table.definitions(), tokens.join(" "));
        let expected = Chain { table: &table, tokens, at: 0 }.operand(None);
        assert_eq!(last_tree(&text), expected, "{text}");
        reading::round_trips(&text);
    }
}

/// Returns the last item as an S-expression on one line.
fn last_tree(text: &str) -> String {
    let names = Names::new();
    let (items, diagnostics) = parse_all(&Source::new("test", text), &names, &mut Operators::new(&names));
    assert_eq!(diagnostics, [], "{text}");
    symbolic(items.last().unwrap(), &names).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn trees_of_any_operators_print_as_what_they_are() {
    let mut random = Random::new(7);
    for _ in 0..CHAINS {
        let table = Table::new(&mut random);
        let mut text = table.definitions();
        tree(&table, 4, &mut random, &mut text);
        assert_eq!(reading::round_trips(&text), text.lines().count(), "{text}");
    }
}

/// Writes a tree with parentheses around every operator.
fn tree(table: &Table, depth: usize, random: &mut Random, text: &mut String) {
    match random.below(if depth == 0 { 1 } else { 6 }) {
        0 | 1 => text.push('x'),
        2 => {
            let _ = write!(text, "({} ", random.pick(&["-", "!", "~"]));
            tree(table, depth - 1, random, text);
            text.push(')');
        }
        _ => {
            text.push('(');
            tree(table, depth - 1, random, text);
            let _ = write!(text, " {} ", table.pick(random));
            tree(table, depth - 1, random, text);
            text.push(')');
        }
    }
}
