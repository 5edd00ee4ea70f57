//! Where and why the grammar refused a token.
//!
//! A [`SyntaxFailure`] is kept while the grammar runs, and grows with every
//! alternative that does not fit, so it allocates nothing; only the last one is
//! turned into words.

use crate::stop::StopRequest;
use crate::syntax::token::{KEYWORDS, Terminal};

/// A set of what could follow: terminals by their number, and two classes that
/// are too large to be listed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Expected(u32);

impl Expected {
    pub(super) const ITEM: Self = Self(1 << 30);
    pub(super) const EXPRESSION: Self = Self(1 << 31);
    /// The terminals that are names.
    pub(super) const NAMES: Self =
        Self::terminal(Terminal::Identifier).or(Self::terminal(Terminal::Qualified));
    /// What begins a prototype.
    pub(super) const PROTOTYPE: Self = Self::terminal(Terminal::Identifier)
        .or(Self::terminal(Terminal::Unary))
        .or(Self::terminal(Terminal::Binary));
    /// The terminals that are operators.
    pub(super) const OPERATORS: Self =
        Self::terminal(Terminal::Operator).or(Self::terminal(Terminal::Equals));

    pub(super) const fn terminal(terminal: Terminal) -> Self {
        Self(1 << terminal as u32)
    }

    #[must_use]
    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether `next` is one of the terminals.
    pub(super) fn has(self, next: Option<Terminal>) -> bool {
        next.is_some_and(|terminal| self.0 & Self::terminal(terminal).0 != 0)
    }

    pub(super) fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) fn keywords(self) -> impl Iterator<Item = &'static str> {
        let wanted = move |entry: &&(Terminal, &str)| self.contains(Self::terminal(entry.0));
        KEYWORDS.iter().filter(wanted).map(|entry| entry.1)
    }

    /// Returns the set in words: `` `)` or `,` ``.
    pub(super) fn words(self) -> String {
        const CLASSES: [(Expected, &str); 5] = [
            (Expected::ITEM, "a definition or an expression"),
            (Expected::EXPRESSION, "an expression"),
            (Expected::terminal(Terminal::Identifier), "a name"),
            (Expected::terminal(Terminal::Number), "a number"),
            (Expected::terminal(Terminal::Operator), "an operator"),
        ];
        let mut words: Vec<String> = Vec::new();
        words.extend(CLASSES.iter().filter(|class| self.contains(class.0)).map(|class| class.1.to_owned()));
        words.extend(self.keywords().map(|text| format!("`{text}`")));
        let marks =
            [Terminal::LeftParenthesis, Terminal::RightParenthesis, Terminal::Comma, Terminal::Equals];
        let marks = marks.into_iter().filter(|mark| self.contains(Self::terminal(*mark)));
        words.extend(marks.filter_map(Terminal::fixed_text).map(|text| format!("`{text}`")));
        match words.as_slice() {
            [] => "something else".to_owned(),
            [only] => only.clone(),
            [first @ .., last] => format!("{} or {last}", first.join(", ")),
        }
    }
}

/// Where and why the grammar does not fit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct SyntaxFailure {
    /// The token.
    pub(super) at: usize,
    pub(super) expected: Expected,
    pub(super) given_up: Option<GivenUp>,
}

/// Why an item was given up although it may be valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GivenUp {
    TooDeep,
    Stopped(StopRequest),
}

impl SyntaxFailure {
    fn expected(at: usize, expected: Expected) -> Self {
        Self { at, expected, given_up: None }
    }

    pub(super) fn too_deep(at: usize) -> Self {
        Self { at, expected: Expected::default(), given_up: Some(GivenUp::TooDeep) }
    }

    pub(super) fn stopped(at: usize, request: StopRequest) -> Self {
        Self { at, expected: Expected::default(), given_up: Some(GivenUp::Stopped(request)) }
    }

    /// Adds that `expected` was expected at `token`, which is no earlier than
    /// the failure before.
    pub(super) fn add(&mut self, token: usize, expected: Expected) {
        let before = if self.at == token { self.expected } else { Expected::default() };
        *self = Self::expected(token, before.or(expected));
    }
}
