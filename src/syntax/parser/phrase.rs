//! What the grammar is made of: leaves, which read one token or none, and
//! [`Phrase`]s put together from them.
//!
//! A phrase knows what it can begin with, so that one token decides every
//! choice and nothing is read twice: chumsky's own `or`, `or_not` and
//! `repeated` find that out by trying, and would go back behind a mistake.
//!
//! Only leaves change the [`ParserState`], and all of them are `custom`: chumsky
//! skips other closures when it needs no output. For the same reason its errors
//! are empty: the state keeps the [failure](SyntaxFailure).

use super::builder::{Construct, ItemShape, ParserState};
use super::failure::{Expected, SyntaxFailure};
use crate::syntax::ast::Node;
use crate::syntax::token::Terminal;
use chumsky::error::EmptyErr;
use chumsky::input::InputRef;
use chumsky::prelude::{Parser, custom, extra};

pub(super) type TokenInput<'s, 'p> = InputRef<'s, 'p, &'s [Terminal], Extra<'s>>;
type Extra<'s> = extra::Full<EmptyErr, ParserState<'s>, ()>;
pub(super) type Parsed = Result<(), EmptyErr>;

/// A parser that changes the state and has no output.
pub(super) trait Rule<'s>: Parser<'s, &'s [Terminal], (), Extra<'s>> {}

impl<'s, P: Parser<'s, &'s [Terminal], (), Extra<'s>>> Rule<'s> for P {}

/// A parser with what it can begin with.
pub(super) struct Phrase<P> {
    /// The terminals that it can begin with.
    first: Expected,
    /// What a mistake says if it begins with something else.
    name: Expected,
    /// Whether it can be empty.
    is_optional: bool,
    parser: P,
}

impl<'s, P: Rule<'s>> Phrase<P> {
    /// Returns the phrase that is this one and then `next`.
    pub(super) fn then<Q: Rule<'s>>(self, next: Phrase<Q>) -> Phrase<impl Rule<'s>> {
        let (mut first, mut name) = (self.first, self.name);
        if self.is_optional {
            (first, name) = (first.or(next.first), name.or(next.name));
        }
        let is_optional = self.is_optional && next.is_optional;
        Phrase { first, name, is_optional, parser: self.parser.ignore_then(next.parser) }
    }

    /// Returns the phrase that is this one, or empty and does what `default`
    /// does instead.
    pub(super) fn or_else<Q: Rule<'s>>(self, default: Phrase<Q>) -> Phrase<impl Rule<'s>> {
        let (first, name) = (self.first, self.name);
        let parser = custom(move |input: &mut TokenInput<'s, '_>| {
            if first.has(input.peek()) {
                return input.check(&self.parser);
            }
            pass(input, name);
            input.check(&default.parser)
        });
        Phrase { first, name, is_optional: true, parser }
    }

    /// Returns the phrase that is this one or empty.
    pub(super) fn or_not(self) -> Phrase<impl Rule<'s>> {
        self.or_else(act(|_, _| {}))
    }

    /// Returns the phrase that is this one any number of times.
    pub(super) fn repeated(self) -> Phrase<impl Rule<'s>> {
        let (first, name) = (self.first, self.name);
        let parser = custom(move |input: &mut TokenInput<'s, '_>| {
            while first.has(input.peek()) {
                input.check(&self.parser)?;
            }
            pass(input, name);
            Ok(())
        });
        Phrase { first, name, is_optional: true, parser }
    }

    /// Returns the phrase that mistakes do not mention: it may be left out, and
    /// seldom is what is missing.
    pub(super) fn hidden(self) -> Phrase<P> {
        Phrase { name: Expected::default(), ..self }
    }

    /// Parses the beginning of `terminals`; returns the end that was reached.
    ///
    /// chumsky expects its input to end where a parser ends, which an item does
    /// not: so success is read from the state, not from chumsky's result.
    pub(super) fn run(
        &self,
        terminals: &'s [Terminal],
        state: &mut ParserState<'s>,
    ) -> Result<usize, SyntaxFailure> {
        let _ = self.parser.check_with_state(terminals, state);
        state.end.ok_or(state.failure)
    }

    /// Parses it from within a parser that is written by hand.
    #[inline(always)]
    pub(super) fn check(&self, input: &mut TokenInput<'s, '_>) -> Parsed {
        input.check(&self.parser)
    }
}

/// Productions of which one is chosen.
pub(super) trait Alternatives<'s> {
    /// Returns the terminals that any of them can begin with.
    fn first(&self) -> Expected;

    /// Parses the one that begins with `next`; `None` if none does.
    fn check(&self, next: Option<Terminal>, input: &mut TokenInput<'s, '_>) -> Option<Parsed>;
}

macro_rules! alternatives {
    ($($production:ident $rule:ident)+) => {
        impl<'s, $($production: Fn() -> Phrase<$rule>, $rule: Rule<'s>),+> Alternatives<'s> for ($($production,)+) {
            fn first(&self) -> Expected {
                #[expect(non_snake_case, reason = "called after their types")]
                let ($($production,)+) = self;
                Expected::default()$(.or($production().first))+
            }

            #[inline(always)]
            fn check(&self, next: Option<Terminal>, input: &mut TokenInput<'s, '_>) -> Option<Parsed> {
                #[expect(non_snake_case, reason = "called after their types")]
                let ($($production,)+) = self;
                $(if $production().first.has(next) {
                    return Some($production().check(input));
                })+
                None
            }
        }
    };
}

alternatives!(A P B Q C R D S);
alternatives!(A P B Q C R);
alternatives!(A P B Q C R D S E T);
alternatives!(A P B Q C R D S E T F U);
alternatives!(A P B Q C R D S E T F U G V);

/// Parses the one of some productions that begins with the next token; a
/// mistake says that `name` was expected. Only the parser of the one that is
/// chosen takes room on the stack.
pub(super) fn choice<'s>(name: Expected, alternatives: impl Alternatives<'s>) -> Phrase<impl Rule<'s>> {
    phrase(alternatives.first(), name, move |input: &mut TokenInput<'s, '_>| {
        let next = input.peek();
        alternatives.check(next, input).unwrap_or_else(|| refuse(input, name))
    })
}

/// Returns a phrase that is parsed only if `is_wanted` says so of the token it
/// begins with, and is empty otherwise.
pub(super) fn only_if<'s, P: Rule<'s>>(
    is_wanted: impl Fn(&ParserState<'s>, usize) -> bool,
    phrase: Phrase<P>,
) -> Phrase<impl Rule<'s>> {
    let Phrase { first, name, parser, .. } = phrase;
    let parser = custom(move |input: &mut TokenInput<'s, '_>| {
        let token = position(input);
        if !first.has(input.peek()) || !is_wanted(input.state(), token) {
            return Ok(());
        }
        input.check(&parser)
    });
    Phrase { first, name, is_optional: true, parser }
}

/// Creates a phrase that is parsed by hand.
pub(super) fn phrase<'s>(
    first: Expected,
    name: Expected,
    parse: impl Fn(&mut TokenInput<'s, '_>) -> Parsed,
) -> Phrase<impl Rule<'s>> {
    Phrase { first, name, is_optional: false, parser: custom(parse) }
}

/// Parses one of some terminals, and does `action` with the position of its
/// token.
fn leaf<'s>(
    first: Expected,
    name: Expected,
    action: impl Fn(&mut ParserState<'s>, usize),
) -> Phrase<impl Rule<'s>> {
    phrase(first, name, move |input: &mut TokenInput<'s, '_>| {
        if !first.has(input.peek()) {
            return refuse(input, name);
        }
        let token = position(input);
        let state = input.state();
        if let Some(request) = state.poll.step() {
            return give_up(input, SyntaxFailure::stopped(token, request));
        }
        action(state, token);
        input.skip();
        Ok(())
    })
}

/// Does `action` between two tokens, with the position of the second.
pub(super) fn act<'s>(action: impl Fn(&mut ParserState<'s>, usize)) -> Phrase<impl Rule<'s>> {
    let parser = custom(move |input: &mut TokenInput<'s, '_>| {
        let token = position(input);
        action(input.state(), token);
        Ok(())
    });
    Phrase { first: Expected::default(), name: Expected::default(), is_optional: true, parser }
}

/// Does `action` with the position of the token read last.
pub(super) fn behind<'s>(action: impl Fn(&mut ParserState<'s>, usize)) -> Phrase<impl Rule<'s>> {
    act(move |state, token| action(state, token.saturating_sub(1)))
}

/// Parses a terminal, and does `action` with the position of its token.
pub(super) fn read<'s>(
    terminal: Terminal,
    action: impl Fn(&mut ParserState<'s>, usize),
) -> Phrase<impl Rule<'s>> {
    leaf(Expected::terminal(terminal), Expected::terminal(terminal), action)
}

/// Parses a name of any module, and does `action` with the position of its
/// token.
pub(super) fn read_name<'s>(action: impl Fn(&mut ParserState<'s>, usize)) -> Phrase<impl Rule<'s>> {
    leaf(Expected::NAMES, Expected::terminal(Terminal::Identifier), action)
}

/// Parses an operator, and does `action` with the position of its token.
pub(super) fn read_operator<'s>(action: impl Fn(&mut ParserState<'s>, usize)) -> Phrase<impl Rule<'s>> {
    leaf(Expected::OPERATORS, Expected::terminal(Terminal::Operator), action)
}

/// Parses a terminal.
pub(super) fn token<'s>(terminal: Terminal) -> Phrase<impl Rule<'s>> {
    read(terminal, |_, _| {})
}

/// Parses `(`, which is open until [`close`].
pub(super) fn open<'s>() -> Phrase<impl Rule<'s>> {
    read(Terminal::LeftParenthesis, |state, token| state.builder.open_parentheses.push(token as u32))
}

/// Parses `)`.
pub(super) fn close<'s>() -> Phrase<impl Rule<'s>> {
    read(Terminal::RightParenthesis, |state, _| {
        state.builder.open_parentheses.pop();
    })
}

/// Parses the terminal that begins a construct, which lasts until [`ends`].
pub(super) fn begins<'s>(terminal: Terminal) -> Phrase<impl Rule<'s>> {
    read(terminal, ParserState::begin)
}

/// Counts a part of the innermost construct.
pub(super) fn count<'s>() -> Phrase<impl Rule<'s>> {
    act(|state, _| state.count())
}

/// Ends the innermost construct with a node.
pub(super) fn ends<'s>(node: impl Fn(Construct<'s>) -> Node) -> Phrase<impl Rule<'s>> {
    act(move |state, _| state.end_construct(&node))
}

/// Parses a terminal that leaves a mark between the parts of a construct.
pub(super) fn mark<'s>(terminal: Terminal, node: Node) -> Phrase<impl Rule<'s>> {
    read(terminal, move |state, token| state.push(node, token))
}

/// Adds a node for which there is no token.
pub(super) fn add<'s>(node: Node) -> Phrase<impl Rule<'s>> {
    act(move |state, token| state.push_gap(node, token))
}

/// Says what kind of item it is.
pub(super) fn shape<'s>(shape: ItemShape) -> Phrase<impl Rule<'s>> {
    act(move |state, _| state.builder.shape = shape)
}

/// Fails because none of `expected` follows.
#[cold]
fn refuse(input: &mut TokenInput<'_, '_>, expected: Expected) -> Parsed {
    pass(input, expected);
    Err(EmptyErr::default())
}

/// Notes that `expected` could follow but does not.
fn pass(input: &mut TokenInput<'_, '_>, expected: Expected) {
    if expected != Expected::default() {
        let token = position(input);
        input.state().failure.add(token, expected);
    }
}

/// Fails for another reason than a wrong token.
#[cold]
pub(super) fn give_up(input: &mut TokenInput<'_, '_>, failure: SyntaxFailure) -> Parsed {
    input.state().failure = failure;
    Err(EmptyErr::default())
}

/// Returns the index of the token at the cursor.
pub(super) fn position(input: &mut TokenInput<'_, '_>) -> usize {
    *input.cursor().inner() + input.state().start
}
