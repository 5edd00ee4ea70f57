//! Reading the notation of `grammar/kaleidoscope.ebnf`.

use std::collections::BTreeMap;

/// The right side of a production, or a part of it.
#[derive(Clone, Debug)]
pub(super) enum Expression {
    /// A production.
    Name(String),
    /// A token in quotes.
    Text(String),
    /// Something said in words.
    Words,
    Sequence(Vec<Expression>),
    Choice(Vec<Expression>),
    /// `[ x ]`
    Optional(Box<Expression>),
    /// `{ x }`
    Repeated(Box<Expression>),
}

impl Expression {
    /// Calls `see` for this and every part of it.
    pub(super) fn visit(&self, see: &mut impl FnMut(&Expression)) {
        see(self);
        match self {
            Self::Sequence(parts) | Self::Choice(parts) => parts.iter().for_each(|part| part.visit(see)),
            Self::Optional(part) | Self::Repeated(part) => part.visit(see),
            Self::Name(_) | Self::Text(_) | Self::Words => {}
        }
    }
}

/// The productions of a grammar file.
#[derive(Debug)]
pub(super) struct Grammar(BTreeMap<String, Expression>);

impl Grammar {
    pub(super) fn read(text: &str) -> Self {
        let mut reader = Reader { symbols: symbols(text), at: 0 };
        let mut productions = BTreeMap::new();
        while let Some(symbol) = reader.next() {
            assert!(symbol.starts_with(char::is_alphabetic), "a production cannot be called {symbol}");
            reader.take("=");
            let expression = reader.choice();
            reader.take(";");
            assert!(productions.insert(symbol.clone(), expression).is_none(), "{symbol} is defined twice");
        }
        Self(productions)
    }

    pub(super) fn productions(&self) -> impl Iterator<Item = (&str, &Expression)> {
        self.0.iter().map(|(name, expression)| (name.as_str(), expression))
    }

    pub(super) fn production(&self, name: &str) -> &Expression {
        self.0.get(name).unwrap_or_else(|| panic!("no production {name}"))
    }
}

/// Returns the symbols of the notation, without comments; `"x"` and `? x ?` are
/// one each.
fn symbols(text: &str) -> Vec<String> {
    let mut symbols = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("(*") {
            rest.find("*)").expect("an unclosed comment") + 2
        } else if first == '"' || first == '?' {
            rest[1..].find(first).expect("an unclosed text") + 2
        } else if first.is_alphabetic() {
            rest.find(|character: char| !character.is_alphanumeric() && character != '_')
                .unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        if !rest.starts_with("(*") {
            symbols.push(rest[..length].to_owned());
        }
        rest = rest[length..].trim_start();
    }
    symbols
}

struct Reader {
    symbols: Vec<String>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> &str {
        self.symbols.get(self.at).map_or("", String::as_str)
    }

    fn next(&mut self) -> Option<String> {
        let symbol = self.symbols.get(self.at).cloned();
        self.at += 1;
        symbol
    }

    fn take(&mut self, symbol: &str) {
        assert_eq!(self.next().as_deref(), Some(symbol), "near symbol {}", self.at);
    }

    fn choice(&mut self) -> Expression {
        let mut alternatives = vec![self.sequence()];
        while self.peek() == "|" {
            self.at += 1;
            alternatives.push(self.sequence());
        }
        if alternatives.len() == 1 { alternatives.remove(0) } else { Expression::Choice(alternatives) }
    }

    fn sequence(&mut self) -> Expression {
        let mut parts = Vec::new();
        while !matches!(self.peek(), "" | "|" | ";" | ")" | "]" | "}") {
            parts.push(self.part());
        }
        if parts.len() == 1 { parts.remove(0) } else { Expression::Sequence(parts) }
    }

    fn part(&mut self) -> Expression {
        let symbol = self.next().unwrap_or_default();
        match symbol.as_str() {
            "(" => self.bracketed(")"),
            "[" => Expression::Optional(Box::new(self.bracketed("]"))),
            "{" => Expression::Repeated(Box::new(self.bracketed("}"))),
            _ if symbol.starts_with('?') => Expression::Words,
            _ => match symbol.strip_prefix('"') {
                Some(text) => Expression::Text(text.trim_end_matches('"').to_owned()),
                None => Expression::Name(symbol),
            },
        }
    }

    fn bracketed(&mut self, close: &str) -> Expression {
        let inner = self.choice();
        self.take(close);
        inner
    }
}
