//! The grammar: one parser per production of `grammar/kaleidoscope.ebnf`, of
//! the same name.
//!
//! Every choice is made by looking at one token, so no alternative is tried
//! twice and a mistake is found where it is. Parsers change the [`State`] only
//! inside `custom`: chumsky skips other closures when it needs no output.

use super::builder::{Shape, State};
use super::failure::{Expected, Failure};
use crate::syntax::ast::{Node, Prototype, Spanned};
use crate::syntax::operator::{DEFAULT_PRECEDENCE, Fixity};
use crate::syntax::token::Terminal;
use chumsky::input::InputRef;
use chumsky::prelude::*;

type Tape<'t, 'p, 's> = InputRef<'t, 'p, &'t [Terminal], Extra<'s>>;
type Extra<'s> = extra::Full<Failure, State<'s>, ()>;
type Parsed<T = ()> = Result<T, Failure>;

const CLOSING: Expected = Expected::terminal(Terminal::RightParenthesis);

/// A parser that changes the state and gives nothing.
pub(super) trait Rule<'t, 's: 't>: Parser<'t, &'t [Terminal], (), Extra<'s>> {}

impl<'t, 's: 't, P: Parser<'t, &'t [Terminal], (), Extra<'s>>> Rule<'t, 's> for P {}

/// One item of `{ item | ";" }`; the parser's loop makes the rest.
pub(super) fn program<'t, 's: 't>() -> impl Rule<'t, 's> {
    item().ignore_then(custom(|tape: &mut Tape<'t, '_, 's>| {
        let end = position(tape);
        tape.state().end = Some(end);
        Ok(())
    }))
}

fn item<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|tape: &mut Tape<'t, '_, 's>| match tape.peek() {
        Some(Terminal::Def) => tape.parse(definition()),
        Some(Terminal::Extern) => tape.parse(external()),
        Some(Terminal::Import) => tape.parse(import()),
        Some(Terminal::Var) => tape.parse(variables()),
        Some(terminal) if begins_expression(terminal) => tape.parse(expr()),
        _ => unexpected(tape, Expected::ITEM),
    })
}

fn definition<'t, 's: 't>() -> impl Rule<'t, 's> {
    token(Terminal::Def).ignore_then(shape(Shape::Definition)).ignore_then(proto()).ignore_then(expr())
}

fn external<'t, 's: 't>() -> impl Rule<'t, 's> {
    token(Terminal::Extern).ignore_then(shape(Shape::Extern)).ignore_then(proto())
}

fn import<'t, 's: 't>() -> impl Rule<'t, 's> {
    let refuse = custom(|tape: &mut Tape<'t, '_, 's>| {
        let start = tape.state().start;
        tape.state().refuse_import(start);
        Ok(())
    });
    token(Terminal::Import).ignore_then(token(Terminal::Identifier)).ignore_then(refuse)
}

/// A declaration; with `in` behind it, it was the beginning of an expression.
fn variables<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|tape: &mut Tape<'t, '_, 's>| {
        let start = take(tape, Terminal::Var)?;
        let count = bindings(tape)?;
        if tape.peek() == Some(Terminal::In) {
            tape.skip();
            return body(tape, Node::Var(count), start);
        }
        tape.state().builder.shape = Shape::Variables;
        Ok(())
    })
}

fn proto<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|tape: &mut Tape<'t, '_, 's>| {
        let prototype = match tape.peek() {
            Some(Terminal::Identifier) => function_proto(tape)?,
            Some(Terminal::Unary) => unary_proto(tape)?,
            Some(Terminal::Binary) => binary_proto(tape)?,
            _ => {
                let names = Expected::terminal(Terminal::Identifier);
                let operators = Expected::terminal(Terminal::Unary).or(Expected::terminal(Terminal::Binary));
                return unexpected(tape, names.or(operators));
            }
        };
        tape.state().builder.prototype = Some(prototype);
        Ok(())
    })
}

fn function_proto(tape: &mut Tape<'_, '_, '_>) -> Parsed<Prototype> {
    let name = identifier(tape)?;
    open_parenthesis(tape)?;
    let parameters = match tape.peek() {
        Some(Terminal::RightParenthesis) => Vec::new(),
        Some(Terminal::Identifier) => parameters(tape)?,
        _ => return unexpected(tape, Expected::terminal(Terminal::Identifier).or(CLOSING)),
    };
    close_parenthesis(tape)?;
    Ok(Prototype { name, parameters, fixity: None })
}

fn parameters(tape: &mut Tape<'_, '_, '_>) -> Parsed<Vec<Spanned>> {
    let mut parameters = vec![identifier(tape)?];
    loop {
        match tape.peek() {
            Some(Terminal::RightParenthesis) => return Ok(parameters),
            Some(Terminal::Comma) => tape.skip(),
            Some(Terminal::Identifier) => {}
            _ => {
                let more = Expected::terminal(Terminal::Identifier).or(Expected::terminal(Terminal::Comma));
                return unexpected(tape, more.or(CLOSING));
            }
        }
        parameters.push(identifier(tape)?);
    }
}

fn unary_proto(tape: &mut Tape<'_, '_, '_>) -> Parsed<Prototype> {
    let keyword = take(tape, Terminal::Unary)?;
    let token = operator(tape)?;
    tape.state().refuse_reserved(token);
    open_parenthesis(tape)?;
    let parameters = vec![identifier(tape)?];
    close_parenthesis(tape)?;
    let operator = tape.state().tokens.name(token);
    let name = operator_function(tape, "unary", keyword, token);
    Ok(Prototype { name, parameters, fixity: Some(Fixity::Unary { operator }) })
}

fn binary_proto(tape: &mut Tape<'_, '_, '_>) -> Parsed<Prototype> {
    let keyword = take(tape, Terminal::Binary)?;
    let token = operator(tape)?;
    let precedence = precedence(tape);
    open_parenthesis(tape)?;
    let left = identifier(tape)?;
    if tape.peek() == Some(Terminal::Comma) {
        tape.skip();
    }
    let parameters = vec![left, identifier(tape)?];
    close_parenthesis(tape)?;
    let operator = tape.state().tokens.name(token);
    let name = operator_function(tape, "binary", keyword, token);
    Ok(Prototype { name, parameters, fixity: Some(Fixity::Binary { operator, precedence }) })
}

fn precedence(tape: &mut Tape<'_, '_, '_>) -> u8 {
    if tape.peek() != Some(Terminal::Number) {
        return DEFAULT_PRECEDENCE;
    }
    let token = advance(tape);
    tape.state().precedence(token)
}

/// Operators are folded by the builder, so all operands and operators of one
/// expression are read in one loop.
fn expr<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|tape: &mut Tape<'t, '_, 's>| stacker::maybe_grow(RED_ZONE, STACK_SEGMENT, || expression(tape)))
}

/// The most stack that one level of nesting may use, in bytes.
const RED_ZONE: usize = 128 << 10;
/// How much stack is added when less than that is left.
const STACK_SEGMENT: usize = 4 << 20;

fn expression<'t, 's: 't>(tape: &mut Tape<'t, '_, 's>) -> Parsed {
    let Some(outer) = tape.state().enter() else { return Err(Failure::too_deep(relative(tape))) };
    tape.parse(operand())?;
    while tape.peek().is_some_and(Terminal::is_operator) {
        let token = position(tape);
        if !tape.state().binary(token) {
            break;
        }
        tape.skip();
        tape.parse(operand())?;
    }
    tape.state().leave(outer);
    Ok(())
}

fn operand<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|tape: &mut Tape<'t, '_, 's>| {
        while tape.peek().is_some_and(Terminal::is_operator) {
            poll(tape)?;
            let token = advance(tape);
            tape.state().unary(token);
        }
        poll(tape)?;
        tape.parse(primary())
    })
}

fn primary<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|tape: &mut Tape<'t, '_, 's>| match tape.peek() {
        Some(Terminal::Number) => {
            let token = advance(tape);
            let value = tape.state().tokens.number(token);
            tape.state().push(Node::Number(value), token);
            Ok(())
        }
        Some(Terminal::Identifier) => tape.parse(reference()),
        Some(Terminal::LeftParenthesis) => tape.parse(group()),
        Some(Terminal::If) => tape.parse(conditional()),
        Some(Terminal::For) => tape.parse(repetition()),
        Some(Terminal::Var) => tape.parse(scope()),
        _ => unexpected(tape, Expected::EXPRESSION),
    })
}

/// A variable, or a call if a parenthesis follows.
fn reference<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|tape: &mut Tape<'t, '_, 's>| {
        let token = advance(tape);
        let name = tape.state().tokens.name(token);
        if tape.peek() != Some(Terminal::LeftParenthesis) {
            tape.state().push(Node::Variable(name), token);
            return Ok(());
        }
        open_parenthesis(tape)?;
        let arguments = match tape.peek() {
            Some(Terminal::RightParenthesis) => 0,
            Some(terminal) if begins_expression(terminal) => arguments(tape)?,
            _ => return unexpected(tape, Expected::EXPRESSION.or(CLOSING)),
        };
        close_parenthesis(tape)?;
        tape.state().push(Node::Call { callee: name, arguments }, token);
        Ok(())
    })
}

fn arguments<'t, 's: 't>(tape: &mut Tape<'t, '_, 's>) -> Parsed<u32> {
    let mut count = 0;
    loop {
        tape.parse(enclosed(expr()))?;
        count += 1;
        match tape.peek() {
            Some(Terminal::Comma) => tape.skip(),
            Some(Terminal::RightParenthesis) => return Ok(count),
            _ => return unexpected(tape, CLOSING.or(Expected::terminal(Terminal::Comma))),
        }
    }
}

fn group<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|tape: &mut Tape<'t, '_, 's>| {
        open_parenthesis(tape)?;
        tape.parse(enclosed(expr()))?;
        close_parenthesis(tape)
    })
}

fn conditional<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|tape: &mut Tape<'t, '_, 's>| {
        let start = take(tape, Terminal::If)?;
        let condition = enclosed(expr()).ignore_then(mark(Terminal::Then, Node::Then));
        let choice = enclosed(expr()).ignore_then(mark(Terminal::Else, Node::Else));
        tape.parse(condition.ignore_then(choice))?;
        body(tape, Node::If, start)
    })
}

fn repetition<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|tape: &mut Tape<'t, '_, 's>| {
        let start = take(tape, Terminal::For)?;
        let variable = identifier(tape)?;
        take(tape, Terminal::Equals)?;
        tape.parse(enclosed(expr()))?;
        tape.state().builder.push(Node::ForVariable(variable.name), variable.span);
        take(tape, Terminal::Comma)?;
        tape.parse(enclosed(expr()))?;
        step(tape)?;
        take(tape, Terminal::In)?;
        body(tape, Node::For, start)
    })
}

/// The rest of a `for` up to `in`: a step, or the mark where it would stand.
fn step<'t, 's: 't>(tape: &mut Tape<'t, '_, 's>) -> Parsed {
    let token = position(tape);
    let gap = tape.state().gap_before(token);
    tape.state().builder.push(Node::ForCondition, gap);
    match tape.peek() {
        Some(Terminal::Comma) => {
            tape.skip();
            tape.parse(enclosed(expr()))?;
        }
        Some(Terminal::In) => tape.state().builder.push(Node::Number(1.0), gap),
        _ => {
            let step = Expected::terminal(Terminal::Comma);
            return unexpected(tape, step.or(Expected::terminal(Terminal::In)));
        }
    }
    let token = position(tape);
    let gap = tape.state().gap_before(token);
    tape.state().builder.push(Node::ForStep, gap);
    Ok(())
}

fn scope<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|tape: &mut Tape<'t, '_, 's>| {
        let start = take(tape, Terminal::Var)?;
        let count = bindings(tape)?;
        if tape.peek() != Some(Terminal::In) {
            let more = Expected::terminal(Terminal::In);
            return unexpected(tape, more.or(Expected::terminal(Terminal::Comma)));
        }
        tape.skip();
        body(tape, Node::Var(count), start)
    })
}

fn bindings<'t, 's: 't>(tape: &mut Tape<'t, '_, 's>) -> Parsed<u32> {
    let mut count = 1;
    tape.parse(binding())?;
    while tape.peek() == Some(Terminal::Comma) {
        tape.skip();
        tape.parse(binding())?;
        count += 1;
    }
    Ok(count)
}

fn binding<'t, 's: 't>() -> impl Rule<'t, 's> {
    custom(|tape: &mut Tape<'t, '_, 's>| {
        let variable = identifier(tape)?;
        if tape.peek() == Some(Terminal::Equals) {
            tape.skip();
            tape.parse(enclosed(expr()))?;
        } else {
            let token = position(tape);
            let gap = tape.state().gap_before(token);
            tape.state().builder.push(Node::Number(0.0), gap);
        }
        tape.state().builder.push(Node::Bind(variable.name), variable.span);
        Ok(())
    })
}

fn operator(tape: &mut Tape<'_, '_, '_>) -> Parsed<usize> {
    if !tape.peek().is_some_and(Terminal::is_operator) {
        return unexpected(tape, Expected::terminal(Terminal::Operator));
    }
    Ok(advance(tape))
}

/// The last expression of a construct, which reaches as far right as
/// possible, and the node that ends the construct.
fn body<'t, 's: 't>(tape: &mut Tape<'t, '_, 's>, end: Node, start: usize) -> Parsed {
    tape.parse(expr())?;
    tape.state().push(end, start);
    Ok(())
}

/// An expression that something of the same item must follow.
fn enclosed<'t, 's: 't>(rule: impl Rule<'t, 's>) -> impl Rule<'t, 's> {
    custom(move |tape: &mut Tape<'t, '_, 's>| {
        tape.state().enclosed_begin();
        tape.parse(&rule)?;
        tape.state().enclosed_end();
        Ok(())
    })
}

/// A terminal that leaves a mark between the parts of a construct.
fn mark<'t, 's: 't>(terminal: Terminal, node: Node) -> impl Rule<'t, 's> {
    custom(move |tape: &mut Tape<'t, '_, 's>| {
        let token = take(tape, terminal)?;
        tape.state().push(node, token);
        Ok(())
    })
}

fn shape<'t, 's: 't>(shape: Shape) -> impl Rule<'t, 's> {
    custom(move |tape: &mut Tape<'t, '_, 's>| {
        tape.state().builder.shape = shape;
        Ok(())
    })
}

/// One terminal.
fn token<'t, 's: 't>(terminal: Terminal) -> impl Rule<'t, 's> {
    just(terminal).ignored()
}

/// The same, giving the token's position.
fn take(tape: &mut Tape<'_, '_, '_>, terminal: Terminal) -> Parsed<usize> {
    if tape.peek() == Some(terminal) {
        Ok(advance(tape))
    } else {
        unexpected(tape, Expected::terminal(terminal))
    }
}

fn identifier(tape: &mut Tape<'_, '_, '_>) -> Parsed<Spanned> {
    poll(tape)?;
    let token = take(tape, Terminal::Identifier)?;
    Ok(tape.state().identifier(token))
}

fn open_parenthesis(tape: &mut Tape<'_, '_, '_>) -> Parsed {
    let token = take(tape, Terminal::LeftParenthesis)?;
    tape.state().builder.open_parentheses.push(token as u32);
    Ok(())
}

fn close_parenthesis(tape: &mut Tape<'_, '_, '_>) -> Parsed {
    take(tape, Terminal::RightParenthesis)?;
    tape.state().builder.open_parentheses.pop();
    Ok(())
}

/// The function of an operator, placed on its keyword and its text.
fn operator_function(tape: &mut Tape<'_, '_, '_>, arity: &str, keyword: usize, token: usize) -> Spanned {
    let state = tape.state();
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

/// Gives up if reading is to stop.
fn poll(tape: &mut Tape<'_, '_, '_>) -> Parsed {
    match tape.state().poll.step() {
        None => Ok(()),
        Some(request) => Err(Failure::stopped(relative(tape), request)),
    }
}

fn unexpected<T>(tape: &mut Tape<'_, '_, '_>, expected: Expected) -> Parsed<T> {
    Err(Failure::expected(relative(tape), expected))
}

/// The token at the cursor, counted from the item's first.
fn relative(tape: &mut Tape<'_, '_, '_>) -> usize {
    *tape.cursor().inner()
}

/// The token at the cursor, counted from the text's first.
fn position(tape: &mut Tape<'_, '_, '_>) -> usize {
    relative(tape) + tape.state().start
}

/// Steps over a token; gives its position.
fn advance(tape: &mut Tape<'_, '_, '_>) -> usize {
    let token = position(tape);
    tape.skip();
    token
}
