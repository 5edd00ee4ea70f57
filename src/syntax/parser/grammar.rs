//! The grammar: one parser per production of `grammar/kaleidoscope.ebnf`, of
//! the same name and in the same order, to be read beside it.
//!
//! `x y` is `x.then(y)`, `x | y` is `choice`, `{ x }` is `x.repeated()`, and
//! `[ x ]` is `x.or_not()`, or `x.or_else(y)` if `y` stands for what is left
//! out. What a parser has besides is what it builds: `begins` and `ends` of a
//! construct, the marks between its parts, the head of a function.
//!
//! Only [`expr`] is written by hand, for depth and for speed. There the grammar
//! recurs: it watches the stack and the depth, and creates the parser of the
//! next level only when that is reached, so that none is kept on the heap. And
//! whether an operator continues the expression is decided by the operators in
//! force, which the builder knows. It also folds them, so that a chain of
//! operators needs no recursion.

use super::builder::{ItemShape, ParserState};
use super::failure::{Expected, SyntaxFailure};
use super::phrase::{
    Parsed, Phrase, Rule, TokenInput, act, add, begins, behind, choice, close, count, ends, give_up, mark,
    only_if, open, phrase, position, read, read_name, read_operator, shape, token,
};
use crate::syntax::ast::Node;
use crate::syntax::token::Terminal::{
    self, As, Binary, Comma, Def, Do, Else, Equals, Extern, For, Identifier, If, Import, In, Number, Text,
    Then, Unary, Var, While,
};

/// Parses one item of `{ item | ";" }`; the parser's loop does the rest.
pub(super) fn program<'s>() -> Phrase<impl Rule<'s>> {
    item().then(act(|state, token| state.end = Some(token)))
}

fn item<'s>() -> Phrase<impl Rule<'s>> {
    choice(Expected::ITEM, (definition, external, import, variables, effect, expr))
}

fn definition<'s>() -> Phrase<impl Rule<'s>> {
    token(Def).then(shape(ItemShape::Definition)).then(proto()).then(expr())
}

fn external<'s>() -> Phrase<impl Rule<'s>> {
    token(Extern).then(shape(ItemShape::Extern)).then(proto())
}

fn import<'s>() -> Phrase<impl Rule<'s>> {
    token(Import)
        .then(shape(ItemShape::Import))
        .then(name(ParserState::imported_module))
        .then(token(As).then(read(Identifier, ParserState::module_alias)).hidden().or_not())
        .then(imported_names().or_not())
}

/// Parses the list behind a module. What stands in these parentheses are names
/// and nothing else: otherwise they begin the next item.
fn imported_names<'s>() -> Phrase<impl Rule<'s>> {
    let next = token(Comma).hidden().or_not().then(imported());
    only_if(ParserState::is_list_of_names, open().then(imported()).then(next.repeated()).then(close()))
}

fn imported<'s>() -> Phrase<impl Rule<'s>> {
    choice(Expected::PROTOTYPE, (imported_name, imported_unary, imported_binary))
}

fn imported_name<'s>() -> Phrase<impl Rule<'s>> {
    read(Identifier, ParserState::imported_name)
}

fn imported_unary<'s>() -> Phrase<impl Rule<'s>> {
    token(Unary).then(operator(|state, token| state.imported_operator("unary", token)))
}

fn imported_binary<'s>() -> Phrase<impl Rule<'s>> {
    token(Binary).then(operator(|state, token| state.imported_operator("binary", token)))
}

/// Parses the declaration of variables; if `in` follows, it was the beginning
/// of an expression.
fn variables<'s>() -> Phrase<impl Rule<'s>> {
    begins(Var).then(bindings()).then(scope_body().or_else(shape(ItemShape::Variables)))
}

fn effect<'s>() -> Phrase<impl Rule<'s>> {
    token(Do).then(shape(ItemShape::Effect)).then(expr())
}

fn proto<'s>() -> Phrase<impl Rule<'s>> {
    choice(Expected::PROTOTYPE, (function_proto, unary_proto, binary_proto))
}

fn function_proto<'s>() -> Phrase<impl Rule<'s>> {
    name(ParserState::function_head).then(open()).then(parameters().or_not()).then(close())
}

fn parameters<'s>() -> Phrase<impl Rule<'s>> {
    formal().then(token(Comma).or_not().then(formal()).repeated())
}

fn formal<'s>() -> Phrase<impl Rule<'s>> {
    parameter().then(function_parameter().hidden().or_not())
}

/// Parses the parameters of a parameter that is a function.
fn function_parameter<'s>() -> Phrase<impl Rule<'s>> {
    open().then(act(|state, _| state.takes_function())).then(inner_parameters().or_not()).then(close())
}

fn inner_parameters<'s>() -> Phrase<impl Rule<'s>> {
    inner_parameter().then(token(Comma).or_not().then(inner_parameter()).repeated())
}

fn inner_parameter<'s>() -> Phrase<impl Rule<'s>> {
    read(Identifier, ParserState::inner_parameter)
}

fn parameter<'s>() -> Phrase<impl Rule<'s>> {
    read(Identifier, ParserState::parameter)
}

fn unary_proto<'s>() -> Phrase<impl Rule<'s>> {
    token(Unary).then(operator(ParserState::unary_head)).then(open()).then(parameter()).then(close())
}

fn binary_proto<'s>() -> Phrase<impl Rule<'s>> {
    token(Binary)
        .then(operator(ParserState::binary_head))
        .then(precedence().hidden().or_not())
        .then(open())
        .then(parameter())
        .then(token(Comma).hidden().or_not())
        .then(parameter())
        .then(close())
}

fn precedence<'s>() -> Phrase<impl Rule<'s>> {
    read(Number, ParserState::precedence)
}

/// What an expression can begin with.
const FIRST_OF_EXPRESSION: Expected = Expected::OPERATORS
    .or(Expected::terminal(Number))
    .or(Expected::NAMES)
    .or(Expected::terminal(Terminal::LeftParenthesis))
    .or(Expected::terminal(If))
    .or(Expected::terminal(For))
    .or(Expected::terminal(While))
    .or(Expected::terminal(Var));

/// Parses an expression, one level deeper.
fn expr<'s>() -> Phrase<impl Rule<'s>> {
    /// The most stack that one level of nesting may use, in bytes.
    const RED_ZONE: usize = 128 << 10;
    /// The size of the stack segment that is added when less than that is left.
    const STACK_SEGMENT: usize = 4 << 20;
    phrase(FIRST_OF_EXPRESSION, Expected::EXPRESSION, |input: &mut TokenInput<'s, '_>| {
        stacker::maybe_grow(RED_ZONE, STACK_SEGMENT, || operands(input))
    })
}

/// Parses `operand { operator operand }`.
fn operands(input: &mut TokenInput<'_, '_>) -> Parsed {
    let Some(outer) = input.state().enter() else {
        let token = position(input);
        return give_up(input, SyntaxFailure::too_deep(token));
    };
    loop {
        operand().check(input)?;
        let token = position(input);
        if !input.peek().is_some_and(Terminal::is_operator) || !input.state().binary(token) {
            break;
        }
        input.skip();
    }
    input.state().leave(outer);
    Ok(())
}

fn operand<'s>() -> Phrase<impl Rule<'s>> {
    operator(ParserState::unary).hidden().repeated().then(primary())
}

fn primary<'s>() -> Phrase<impl Rule<'s>> {
    choice(Expected::EXPRESSION, (number, reference, group, conditional, counting, repetition, scope))
}

fn number<'s>() -> Phrase<impl Rule<'s>> {
    read(Number, ParserState::number)
}

fn reference<'s>() -> Phrase<impl Rule<'s>> {
    name(|_, _| {}).then(call().hidden().or_else(behind(ParserState::variable)))
}

/// Parses a call from its parenthesis on.
fn call<'s>() -> Phrase<impl Rule<'s>> {
    behind(ParserState::begin)
        .then(open())
        .then(arguments().or_not())
        .then(close())
        .then(ends(|it| Node::Call { callee: it.name(), arguments: it.parts }))
}

fn arguments<'s>() -> Phrase<impl Rule<'s>> {
    argument().then(token(Comma).then(argument()).repeated())
}

fn argument<'s>() -> Phrase<impl Rule<'s>> {
    choice(Expected::EXPRESSION, (text, unary_given, binary_given, enclosed)).then(count())
}

/// Parses an operator that is given as a function.
fn unary_given<'s>() -> Phrase<impl Rule<'s>> {
    token(Unary).then(operator(|state, token| state.operator_given("unary", token)))
}

fn binary_given<'s>() -> Phrase<impl Rule<'s>> {
    token(Binary).then(operator(|state, token| state.operator_given("binary", token)))
}

fn text<'s>() -> Phrase<impl Rule<'s>> {
    read(Text, ParserState::text)
}

fn group<'s>() -> Phrase<impl Rule<'s>> {
    open()
        .then(enclosed())
        .then(close())
        .then(act(|state, _| state.builder.grouped = state.builder.ast.nodes.len()))
}

fn conditional<'s>() -> Phrase<impl Rule<'s>> {
    begins(If)
        .then(enclosed())
        .then(mark(Then, Node::Then))
        .then(enclosed())
        .then(alternative().or_else(act(ParserState::no_alternative)))
        .then(ends(|_| Node::If))
}

fn alternative<'s>() -> Phrase<impl Rule<'s>> {
    mark(Else, Node::Else).then(expr())
}

fn repetition<'s>() -> Phrase<impl Rule<'s>> {
    begins(While)
        .then(add(Node::WhileCondition))
        .then(enclosed())
        .then(mark(In, Node::WhileBody))
        .then(expr())
        .then(ends(|_| Node::While))
}

fn counting<'s>() -> Phrase<impl Rule<'s>> {
    begins(For)
        .then(begins(Identifier))
        .then(token(Equals))
        .then(enclosed())
        .then(ends(|it| Node::ForVariable(it.name())))
        .then(token(Comma))
        .then(enclosed())
        .then(add(Node::ForCondition))
        .then(step().or_else(add(Node::Number(1.0))))
        .then(add(Node::ForStep))
        .then(token(In))
        .then(expr())
        .then(ends(|_| Node::For))
}

fn step<'s>() -> Phrase<impl Rule<'s>> {
    token(Comma).then(enclosed())
}

fn scope<'s>() -> Phrase<impl Rule<'s>> {
    begins(Var).then(bindings()).then(scope_body())
}

fn scope_body<'s>() -> Phrase<impl Rule<'s>> {
    token(In).then(expr()).then(ends(|it| Node::Var(it.parts)))
}

fn bindings<'s>() -> Phrase<impl Rule<'s>> {
    binding().then(token(Comma).then(binding()).repeated())
}

fn binding<'s>() -> Phrase<impl Rule<'s>> {
    begins(Identifier)
        .then(token(Equals).then(enclosed()).hidden().or_else(add(Node::Number(0.0))))
        .then(ends(|it| Node::Bind(it.name())))
        .then(count())
}

fn name<'s>(action: impl Fn(&mut ParserState<'s>, usize)) -> Phrase<impl Rule<'s>> {
    read_name(action)
}

fn operator<'s>(action: impl Fn(&mut ParserState<'s>, usize)) -> Phrase<impl Rule<'s>> {
    read_operator(action)
}

/// Parses an [`expr`] that something of the same item follows, or may follow.
fn enclosed<'s>() -> Phrase<impl Rule<'s>> {
    act(|state, _| state.enclosed_begin()).then(expr()).then(act(|state, _| state.enclosed_end()))
}
