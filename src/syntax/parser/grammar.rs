//! The grammar: one parser per production of `grammar/kaleidoscope.ebnf`, of
//! the same name.
//!
//! Every choice is made by looking at one token, so no alternative is tried
//! twice and a mistake is found at its place. Parsers change the
//! [`ParserState`] only inside `custom`: chumsky skips other closures when it
//! needs no output.

use super::builder::{ItemShape, ParserState};
use super::failure::{Expected, SyntaxFailure};
use crate::syntax::ast::{Node, Prototype, Spanned};
use crate::syntax::operator::{DEFAULT_PRECEDENCE, Fixity};
use crate::syntax::token::Terminal;
use chumsky::input::InputRef;
use chumsky::prelude::*;

type TokenInput<'t, 'p, 's> = InputRef<'t, 'p, &'t [Terminal], Extra<'s>>;
type Extra<'s> = extra::Full<SyntaxFailure, ParserState<'s>, ()>;
type Parsed<T = ()> = Result<T, SyntaxFailure>;

const CLOSING: Expected = Expected::terminal(Terminal::RightParenthesis);

/// A parser that changes the state and has no output.
pub(super) trait Rule<'t, 's: 't>: Parser<'t, &'t [Terminal], (), Extra<'s>> {}

impl<'t, 's: 't, P: Parser<'t, &'t [Terminal], (), Extra<'s>>> Rule<'t, 's> for P {}

/// Parses one item of `{ item | ";" }`; the parser's loop does the rest.
pub(super) fn program<'t, 's: 't>() -> impl Rule<'t, 's> {
    item().ignore_then(custom(|input: &mut TokenInput<'t, '_, 's>| {
        let end = position(input);
        input.state().end = Some(end);
        Ok(())
    }))
}

fn item<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|input: &mut TokenInput<'t, '_, 's>| match input.peek() {
        Some(Terminal::Def) => input.parse(definition()),
        Some(Terminal::Extern) => input.parse(external()),
        Some(Terminal::Import) => input.parse(import()),
        Some(Terminal::Var) => input.parse(variables()),
        Some(terminal) if begins_expression(terminal) => input.parse(expr()),
        _ => unexpected(input, Expected::ITEM),
    })
}

fn definition<'t, 's: 't>() -> impl Rule<'t, 's> {
    token(Terminal::Def).ignore_then(shape(ItemShape::Definition)).ignore_then(proto()).ignore_then(expr())
}

fn external<'t, 's: 't>() -> impl Rule<'t, 's> {
    token(Terminal::Extern).ignore_then(shape(ItemShape::Extern)).ignore_then(proto())
}

fn import<'t, 's: 't>() -> impl Rule<'t, 's> {
    let refuse = custom(|input: &mut TokenInput<'t, '_, 's>| {
        let start = input.state().start;
        input.state().refuse_import(start);
        Ok(())
    });
    token(Terminal::Import).ignore_then(token(Terminal::Identifier)).ignore_then(refuse)
}

/// Parses the declaration of variables; if `in` follows, it was the beginning
/// of an expression.
fn variables<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|input: &mut TokenInput<'t, '_, 's>| {
        let start = take(input, Terminal::Var)?;
        let count = bindings(input)?;
        if input.peek() == Some(Terminal::In) {
            input.skip();
            return body(input, Node::Var(count), start);
        }
        input.state().builder.shape = ItemShape::Variables;
        Ok(())
    })
}

fn proto<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|input: &mut TokenInput<'t, '_, 's>| {
        let prototype = match input.peek() {
            Some(Terminal::Identifier) => function_proto(input)?,
            Some(Terminal::Unary) => unary_proto(input)?,
            Some(Terminal::Binary) => binary_proto(input)?,
            _ => {
                let names = Expected::terminal(Terminal::Identifier);
                let operators = Expected::terminal(Terminal::Unary).or(Expected::terminal(Terminal::Binary));
                return unexpected(input, names.or(operators));
            }
        };
        input.state().builder.prototype = Some(prototype);
        Ok(())
    })
}

fn function_proto(input: &mut TokenInput<'_, '_, '_>) -> Parsed<Prototype> {
    let name = identifier(input)?;
    open_parenthesis(input)?;
    let parameters = match input.peek() {
        Some(Terminal::RightParenthesis) => Vec::new(),
        Some(Terminal::Identifier) => parameters(input)?,
        _ => return unexpected(input, Expected::terminal(Terminal::Identifier).or(CLOSING)),
    };
    close_parenthesis(input)?;
    Ok(Prototype { name, parameters, fixity: None })
}

fn parameters(input: &mut TokenInput<'_, '_, '_>) -> Parsed<Vec<Spanned>> {
    let mut parameters = vec![identifier(input)?];
    loop {
        match input.peek() {
            Some(Terminal::RightParenthesis) => return Ok(parameters),
            Some(Terminal::Comma) => input.skip(),
            Some(Terminal::Identifier) => {}
            _ => {
                let more = Expected::terminal(Terminal::Identifier).or(Expected::terminal(Terminal::Comma));
                return unexpected(input, more.or(CLOSING));
            }
        }
        parameters.push(identifier(input)?);
    }
}

fn unary_proto(input: &mut TokenInput<'_, '_, '_>) -> Parsed<Prototype> {
    let keyword = take(input, Terminal::Unary)?;
    let token = operator(input)?;
    input.state().refuse_reserved(token);
    open_parenthesis(input)?;
    let parameters = vec![identifier(input)?];
    close_parenthesis(input)?;
    let operator = input.state().tokens.name(token);
    let name = operator_function(input, "unary", keyword, token);
    Ok(Prototype { name, parameters, fixity: Some(Fixity::Unary { operator }) })
}

fn binary_proto(input: &mut TokenInput<'_, '_, '_>) -> Parsed<Prototype> {
    let keyword = take(input, Terminal::Binary)?;
    let token = operator(input)?;
    let precedence = precedence(input);
    open_parenthesis(input)?;
    let left = identifier(input)?;
    if input.peek() == Some(Terminal::Comma) {
        input.skip();
    }
    let parameters = vec![left, identifier(input)?];
    close_parenthesis(input)?;
    let operator = input.state().tokens.name(token);
    let name = operator_function(input, "binary", keyword, token);
    Ok(Prototype { name, parameters, fixity: Some(Fixity::Binary { operator, precedence }) })
}

fn precedence(input: &mut TokenInput<'_, '_, '_>) -> u8 {
    if input.peek() != Some(Terminal::Number) {
        return DEFAULT_PRECEDENCE;
    }
    let token = advance(input);
    input.state().precedence(token)
}

/// Parses an expression: the builder folds the operators, so one loop reads all
/// its operands and operators.
fn expr<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|input: &mut TokenInput<'t, '_, 's>| {
        stacker::maybe_grow(RED_ZONE, STACK_SEGMENT, || expression(input))
    })
}

/// The most stack that one level of nesting may use, in bytes.
const RED_ZONE: usize = 128 << 10;
/// The size of the stack segment that is added when less than that is left.
const STACK_SEGMENT: usize = 4 << 20;

fn expression<'t, 's: 't>(input: &mut TokenInput<'t, '_, 's>) -> Parsed {
    let Some(outer) = input.state().enter() else { return Err(SyntaxFailure::too_deep(relative(input))) };
    input.parse(operand())?;
    while input.peek().is_some_and(Terminal::is_operator) {
        let token = position(input);
        if !input.state().binary(token) {
            break;
        }
        input.skip();
        input.parse(operand())?;
    }
    input.state().leave(outer);
    Ok(())
}

fn operand<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|input: &mut TokenInput<'t, '_, 's>| {
        while input.peek().is_some_and(Terminal::is_operator) {
            poll(input)?;
            let token = advance(input);
            input.state().unary(token);
        }
        poll(input)?;
        input.parse(primary())
    })
}

fn primary<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|input: &mut TokenInput<'t, '_, 's>| match input.peek() {
        Some(Terminal::Number) => {
            let token = advance(input);
            let value = input.state().tokens.number(token);
            input.state().push(Node::Number(value), token);
            Ok(())
        }
        Some(Terminal::Identifier) => input.parse(reference()),
        Some(Terminal::LeftParenthesis) => input.parse(group()),
        Some(Terminal::If) => input.parse(conditional()),
        Some(Terminal::For) => input.parse(repetition()),
        Some(Terminal::Var) => input.parse(scope()),
        _ => unexpected(input, Expected::EXPRESSION),
    })
}

/// Parses a variable, or a call if a parenthesis follows.
fn reference<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|input: &mut TokenInput<'t, '_, 's>| {
        let token = advance(input);
        let name = input.state().tokens.name(token);
        if input.peek() != Some(Terminal::LeftParenthesis) {
            input.state().push(Node::Variable(name), token);
            return Ok(());
        }
        open_parenthesis(input)?;
        let arguments = match input.peek() {
            Some(Terminal::RightParenthesis) => 0,
            Some(terminal) if begins_expression(terminal) => arguments(input)?,
            _ => return unexpected(input, Expected::EXPRESSION.or(CLOSING)),
        };
        close_parenthesis(input)?;
        input.state().push(Node::Call { callee: name, arguments }, token);
        Ok(())
    })
}

fn arguments<'t, 's: 't>(input: &mut TokenInput<'t, '_, 's>) -> Parsed<u32> {
    let mut count = 0;
    loop {
        input.parse(enclosed(expr()))?;
        count += 1;
        match input.peek() {
            Some(Terminal::Comma) => input.skip(),
            Some(Terminal::RightParenthesis) => return Ok(count),
            _ => return unexpected(input, CLOSING.or(Expected::terminal(Terminal::Comma))),
        }
    }
}

fn group<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|input: &mut TokenInput<'t, '_, 's>| {
        open_parenthesis(input)?;
        input.parse(enclosed(expr()))?;
        close_parenthesis(input)
    })
}

fn conditional<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|input: &mut TokenInput<'t, '_, 's>| {
        let start = take(input, Terminal::If)?;
        let condition = enclosed(expr()).ignore_then(mark(Terminal::Then, Node::Then));
        let choice = enclosed(expr()).ignore_then(mark(Terminal::Else, Node::Else));
        input.parse(condition.ignore_then(choice))?;
        body(input, Node::If, start)
    })
}

fn repetition<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|input: &mut TokenInput<'t, '_, 's>| {
        let start = take(input, Terminal::For)?;
        let variable = identifier(input)?;
        take(input, Terminal::Equals)?;
        input.parse(enclosed(expr()))?;
        input.state().builder.push(Node::ForVariable(variable.name), variable.span);
        take(input, Terminal::Comma)?;
        input.parse(enclosed(expr()))?;
        step(input)?;
        take(input, Terminal::In)?;
        body(input, Node::For, start)
    })
}

/// Parses the rest of a `for` up to `in`: a step, or the mark in its place.
fn step<'t, 's: 't>(input: &mut TokenInput<'t, '_, 's>) -> Parsed {
    let token = position(input);
    let gap = input.state().gap_before(token);
    input.state().builder.push(Node::ForCondition, gap);
    match input.peek() {
        Some(Terminal::Comma) => {
            input.skip();
            input.parse(enclosed(expr()))?;
        }
        Some(Terminal::In) => input.state().builder.push(Node::Number(1.0), gap),
        _ => {
            let step = Expected::terminal(Terminal::Comma);
            return unexpected(input, step.or(Expected::terminal(Terminal::In)));
        }
    }
    let token = position(input);
    let gap = input.state().gap_before(token);
    input.state().builder.push(Node::ForStep, gap);
    Ok(())
}

fn scope<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|input: &mut TokenInput<'t, '_, 's>| {
        let start = take(input, Terminal::Var)?;
        let count = bindings(input)?;
        if input.peek() != Some(Terminal::In) {
            let more = Expected::terminal(Terminal::In);
            return unexpected(input, more.or(Expected::terminal(Terminal::Comma)));
        }
        input.skip();
        body(input, Node::Var(count), start)
    })
}

fn bindings<'t, 's: 't>(input: &mut TokenInput<'t, '_, 's>) -> Parsed<u32> {
    let mut count = 1;
    input.parse(binding())?;
    while input.peek() == Some(Terminal::Comma) {
        input.skip();
        input.parse(binding())?;
        count += 1;
    }
    Ok(count)
}

fn binding<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|input: &mut TokenInput<'t, '_, 's>| {
        let variable = identifier(input)?;
        if input.peek() == Some(Terminal::Equals) {
            input.skip();
            input.parse(enclosed(expr()))?;
        } else {
            let token = position(input);
            let gap = input.state().gap_before(token);
            input.state().builder.push(Node::Number(0.0), gap);
        }
        input.state().builder.push(Node::Bind(variable.name), variable.span);
        Ok(())
    })
}

fn operator(input: &mut TokenInput<'_, '_, '_>) -> Parsed<usize> {
    if !input.peek().is_some_and(Terminal::is_operator) {
        return unexpected(input, Expected::terminal(Terminal::Operator));
    }
    Ok(advance(input))
}

/// Parses the last expression of a construct, which reaches as far right as
/// possible, and adds the node that ends the construct.
fn body<'t, 's: 't>(input: &mut TokenInput<'t, '_, 's>, end: Node, start: usize) -> Parsed {
    input.parse(expr())?;
    input.state().push(end, start);
    Ok(())
}

/// Parses an expression that something of the same item must follow.
fn enclosed<'t, 's: 't>(rule: impl Rule<'t, 's>) -> impl Rule<'t, 's> {
    custom(move |input: &mut TokenInput<'t, '_, 's>| {
        input.state().enclosed_begin();
        input.parse(&rule)?;
        input.state().enclosed_end();
        Ok(())
    })
}

/// Parses a terminal that leaves a mark between the parts of a construct.
fn mark<'t, 's: 't>(terminal: Terminal, node: Node) -> impl Rule<'t, 's> {
    custom(move |input: &mut TokenInput<'t, '_, 's>| {
        let token = take(input, terminal)?;
        input.state().push(node, token);
        Ok(())
    })
}

fn shape<'t, 's: 't>(shape: ItemShape) -> impl Rule<'t, 's> {
    custom(move |input: &mut TokenInput<'t, '_, 's>| {
        input.state().builder.shape = shape;
        Ok(())
    })
}

/// Parses one terminal.
fn token<'t, 's: 't>(terminal: Terminal) -> impl Rule<'t, 's> {
    just(terminal).ignored()
}

/// Parses one terminal; returns the token's position.
fn take(input: &mut TokenInput<'_, '_, '_>, terminal: Terminal) -> Parsed<usize> {
    if input.peek() == Some(terminal) {
        Ok(advance(input))
    } else {
        unexpected(input, Expected::terminal(terminal))
    }
}

fn identifier(input: &mut TokenInput<'_, '_, '_>) -> Parsed<Spanned> {
    poll(input)?;
    let token = take(input, Terminal::Identifier)?;
    Ok(input.state().identifier(token))
}

fn open_parenthesis(input: &mut TokenInput<'_, '_, '_>) -> Parsed {
    let token = take(input, Terminal::LeftParenthesis)?;
    input.state().builder.open_parentheses.push(token as u32);
    Ok(())
}

fn close_parenthesis(input: &mut TokenInput<'_, '_, '_>) -> Parsed {
    take(input, Terminal::RightParenthesis)?;
    input.state().builder.open_parentheses.pop();
    Ok(())
}

/// Returns the name of an operator's function; its place covers the keyword and
/// the operator.
fn operator_function(
    input: &mut TokenInput<'_, '_, '_>,
    arity: &str,
    keyword: usize,
    token: usize,
) -> Spanned {
    let state = input.state();
    let name = state.function(arity, state.tokens.name(token));
    Spanned { name, span: state.span(keyword).to(state.span(token)) }
}

fn begins_expression(terminal: Terminal) -> bool {
    match terminal {
        Terminal::Number
        | Terminal::Identifier
        | Terminal::LeftParenthesis
        | Terminal::If
        | Terminal::For
        | Terminal::Var
        | Terminal::Operator
        | Terminal::Equals => true,
        Terminal::Def
        | Terminal::Extern
        | Terminal::Import
        | Terminal::Then
        | Terminal::Else
        | Terminal::In
        | Terminal::Unary
        | Terminal::Binary
        | Terminal::RightParenthesis
        | Terminal::Comma
        | Terminal::Semicolon
        | Terminal::Unknown => false,
    }
}

/// Fails if reading has to stop.
fn poll(input: &mut TokenInput<'_, '_, '_>) -> Parsed {
    match input.state().poll.step() {
        None => Ok(()),
        Some(request) => Err(SyntaxFailure::stopped(relative(input), request)),
    }
}

fn unexpected<T>(input: &mut TokenInput<'_, '_, '_>, expected: Expected) -> Parsed<T> {
    Err(SyntaxFailure::expected(relative(input), expected))
}

/// Returns the index of the token at the cursor, counted from the item's first.
fn relative(input: &mut TokenInput<'_, '_, '_>) -> usize {
    *input.cursor().inner()
}

/// Returns the index of the token at the cursor, counted from the source's
/// first.
fn position(input: &mut TokenInput<'_, '_, '_>) -> usize {
    relative(input) + input.state().start
}

/// Skips a token; returns its position.
fn advance(input: &mut TokenInput<'_, '_, '_>) -> usize {
    let token = position(input);
    input.skip();
    token
}
