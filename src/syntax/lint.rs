//! Lints: valid items that probably mean something else.
//!
//! Pure: an item in, warnings out. Parentheses show that an expression is meant
//! as it is.

use super::ast::{Ast, Item, ItemKind, Node, Prototype};
use super::foreign;
use super::operator::{BinaryOp, UnaryOp};
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::name::{Name, Names};
use crate::source::Span;
use std::cell::LazyCell;
use std::ops::{Deref, Range};

/// Returns the warnings for an item; `runs_on` if it begins on the line on
/// which the one before it ended.
pub fn lints(item: &Item, runs_on: bool, names: &Names) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if runs_on {
        found.push(run_on(item));
    }
    match &item.kind {
        ItemKind::Definition(prototype, body) => {
            found.extend(swallowed_line(item, prototype, body, names));
            found.extend(body_lints(item, body, names));
        }
        ItemKind::Variables(body) | ItemKind::Expression(body) | ItemKind::Effect(body) => {
            found.extend(body_lints(item, body, names));
        }
        ItemKind::Extern(_) | ItemKind::Import(_) => {}
    }
    found
}

/// Returns the warnings for parameters that a definition does not use. An
/// operator cannot choose its operands, a body that is just a number is a
/// placeholder, and a name that begins with `_` shows that this is intended.
pub fn unused_parameters(item: &Item, names: &Names) -> Vec<Diagnostic> {
    let ItemKind::Definition(prototype, body) = &item.kind else { return Vec::new() };
    if prototype.fixity.is_some() || matches!(*body.nodes, [Node::Number(_)]) {
        return Vec::new();
    }
    let unused = prototype.parameters.iter().filter(|parameter| !is_used(parameter.name, body));
    unused
        .filter(|parameter| !names.text(parameter.name).starts_with('_'))
        .map(|parameter| {
            let text = names.text(parameter.name);
            let message = format!("parameter `{text}` is never used");
            warning(ErrorCode::UnusedParameter, item, parameter.span, message, "not used in the body")
                .with_help(match foreign::is_type(&text) {
                    true => foreign::NO_TYPES.to_owned(),
                    false => format!("if that is intended, call it `_{text}`"),
                })
        })
        .collect()
}

fn is_used(name: Name, body: &Ast) -> bool {
    // A `(` on the next line makes a call of a parameter.
    let uses = |node: &Node| matches!(node, Node::Variable(used) | Node::Assign(used) | Node::Call { callee: used, .. } if *used == name);
    body.nodes.iter().any(uses)
}

fn warning(code: ErrorCode, item: &Item, span: Span, message: impl Into<String>, note: &str) -> Diagnostic {
    Diagnostic::error(code, &item.source, span, message).with_note(note).as_warning()
}

fn run_on(item: &Item) -> Diagnostic {
    let line = item.source.slice(item.span).lines().next().map_or(0, str::len);
    let start = item.span.start;
    let span = Span { start, end: start + line as u32 };
    warning(
        ErrorCode::RunOnItem,
        item,
        span,
        "a second item on the line, with no `;` before it",
        "a new item",
    )
    .with_help("if one item is meant, an operator is missing; if two are, put `;` between them")
}

/// Adds the possible cause to the mistakes of an item that begins on the line
/// of another.
pub fn explain_run_on(mut mistakes: Vec<Diagnostic>) -> Vec<Diagnostic> {
    if let Some(first) = mistakes.first_mut() {
        let help = "this is a second item on the line; if one is meant, an operator is missing before it";
        first.help.get_or_insert_with(|| help.to_owned());
    }
    mistakes
}

fn body_lints(item: &Item, body: &Ast, names: &Names) -> Vec<Diagnostic> {
    // Where operands begin is found once.
    let starts = LazyCell::new(|| body.starts());
    let nan = constant_nan(item, body, names);
    let found = body.nodes.iter().enumerate().filter_map(|(at, node)| match node {
        Node::Then | Node::ForCondition | Node::WhileBody => assigned_condition(item, body, at, names),
        Node::ForStep => assigned_step(item, body, at, names)
            .or_else(|| constant_end(item, body, at, names))
            .or_else(|| past_the_end(item, body, at, names)),
        Node::Binary(BinaryOp::Subtract) => continued_line(item, body.spans[at]),
        Node::Binary(op @ (BinaryOp::Equal | BinaryOp::NotEqual)) => {
            compared_with_nan((item, body, names), at, *op == BinaryOp::Equal, nan?, &starts)
        }
        Node::Text(_) => format_in_text(item, body.spans[at]),
        Node::For | Node::While => dropped_value(item, body, at, &starts),
        _ => None,
    });
    found.collect()
}

/// Warns of `for i = 1, 10 in`, and of `for i = 1, n in` if nothing changes `n`: what is meant
/// as the last number is a condition. A condition of 1 alone shows that the loop is endless.
fn constant_end(item: &Item, body: &Ast, step: usize, names: &Names) -> Option<Diagnostic> {
    let nodes = &body.nodes;
    let (variable, Range { start: first, end: condition }) = head_of_for(nodes, step)?;
    let is_constant = |node: &Node| is_part_of_constant(node, variable, item, body, names);
    let is_stepped = !body.spans[step - 1].range().is_empty();
    let is_endless = nodes[first..condition] == [Node::Number(1.0)] && !is_stepped;
    if is_endless || first == condition || !nodes[first..condition].iter().all(is_constant) {
        return None;
    }
    let spans = &body.spans[first..condition];
    let start = spans.iter().map(|span| span.start).min()?;
    let span = Span { start, end: spans.iter().map(|span| span.end).max()? };
    let is_downwards = match (nodes[..first - 1].last(), nodes[first]) {
        _ if is_stepped => nodes[step - 1] == Node::Unary(UnaryOp::Negate),
        (Some(Node::Number(from)), Node::Number(to)) => *from > to,
        _ => false,
    };
    let (sign, direction) = if is_downwards { ('>', "down") } else { ('<', "up") };
    let (variable, end) = (names.text(variable), item.source.slice(span));
    let message = format!("`{end}` is the condition of this `for`, and does not change");
    let found = warning(ErrorCode::ConstantCondition, item, span, message, "no last number");
    Some(found.with_help(format!("to count {direction} to {end}, write `{variable} {sign} {end}`")))
}

/// Returns the variable of the `for` whose step ends at a mark, and the nodes of its condition.
fn head_of_for(nodes: &[Node], step: usize) -> Option<(Name, Range<usize>)> {
    let condition = nodes[..step].iter().rposition(|node| *node == Node::ForCondition)?;
    let variable = nodes[..condition].iter().rposition(|node| matches!(node, Node::ForVariable(_)))?;
    let Node::ForVariable(name) = nodes[variable] else { return None };
    Some((name, variable + 1..condition))
}

/// Returns whether a node can be part of what does not change while a loop with that variable
/// runs.
fn is_part_of_constant(node: &Node, variable: Name, item: &Item, body: &Ast, names: &Names) -> bool {
    match *node {
        Node::Number(_) | Node::Unary(_) => true,
        Node::Binary(op) => op.comparison().is_none(),
        Node::Variable(name) => name != variable && is_unchanged(name, item, body, names),
        _ => false,
    }
}

/// Warns of `for i = 1, i <= n in`, whose body runs for `n + 1` as well, and of
/// `for i = n, i >= 1, -1 in`. Parentheses around the condition show that this is meant.
fn past_the_end(item: &Item, body: &Ast, step: usize, names: &Names) -> Option<Diagnostic> {
    let nodes = &body.nodes;
    let (variable, condition) = head_of_for(nodes, step)?;
    let (counter, comparison) = (condition.start, condition.end.checked_sub(1)?);
    let strict = match (nodes[comparison], &nodes[condition.end + 1..step]) {
        (Node::Binary(BinaryOp::LessEqual), [Node::Number(1.0)]) => '<',
        (Node::Binary(BinaryOp::GreaterEqual), [Node::Number(1.0), Node::Unary(UnaryOp::Negate)]) => '>',
        _ => return None,
    };
    let end = nodes.get(counter + 1..comparison)?;
    let is_end = |node: &Node| is_part_of_constant(node, variable, item, body, names);
    if nodes[counter] != Node::Variable(variable) || !end.iter().all(is_end) {
        return None;
    }
    if is_tested(&nodes[step + 1..], variable, end) {
        return None;
    }
    let first = body.spans[counter];
    if item.source.text()[..first.start as usize].trim_end().ends_with('(') {
        return None;
    }
    let end = body.spans[counter + 1..comparison].iter().copied().reduce(Span::to)?;
    let written = item.source.slice(first.to(end));
    let (variable, end, span) = (names.text(variable), item.source.slice(end), body.spans[comparison]);
    let message = format!("the body of this `for` also runs with `{variable}` one step past {end}");
    let found = warning(ErrorCode::PastTheEnd, item, span, message, "tested after the body");
    let help = format!("to end with {end}, write `{variable} {strict} {end}`; if it is meant, `({written})`");
    Some(found.with_help(help))
}

/// Returns whether the body of a `for`, which these nodes begin with, compares its variable with
/// its end: it knows that it runs for that as well. Not if it binds a name itself.
fn is_tested(nodes: &[Node], variable: Name, end: &[Node]) -> bool {
    let mut depth = 1;
    let body = nodes.iter().take_while(|node| {
        depth += i32::from(matches!(node, Node::ForVariable(_))) - i32::from(**node == Node::For);
        depth > 0
    });
    let body = &nodes[..body.count()];
    if body.iter().any(|node| matches!(node, Node::Bind(_) | Node::ForVariable(_))) {
        return false;
    }
    let variable = [Node::Variable(variable)];
    let tests = [[&variable, end].concat(), [end, &variable].concat()];
    body.windows(end.len() + 2).any(|window| {
        let Some((Node::Binary(op), operands)) = window.split_last() else { return false };
        op.comparison().is_some() && tests.iter().any(|test| test == operands)
    })
}

/// Returns the name `nan`, if an item uses it and does not bind it itself.
fn constant_nan(item: &Item, body: &Ast, names: &Names) -> Option<Name> {
    let nan = names.get("nan").filter(|nan| body.nodes.contains(&Node::Variable(*nan)))?;
    let binds = |node: &Node| matches!(node, Node::Bind(name) | Node::ForVariable(name) if *name == nan);
    (!is_parameter(nan, item) && !body.nodes.iter().any(binds)).then_some(nan)
}

/// Warns of `x == nan`, which is 0 for every `x`, and of `x != nan`.
fn compared_with_nan(
    (item, body, names): (&Item, &Ast, &Names),
    at: usize,
    is_equal: bool,
    nan: Name,
    starts: &[usize],
) -> Option<Diagnostic> {
    let right = at.checked_sub(1)?;
    let left = starts[right].checked_sub(1)?;
    let (left, right) = (&body.nodes[starts[left]..=left], &body.nodes[starts[right]..=right]);
    let nan = [Node::Variable(nan)];
    let other = match (left == nan, right == nan) {
        (true, _) => right,
        (false, true) => left,
        (false, false) => return None,
    };
    let message = if is_equal { "nothing is equal to `nan`" } else { "everything is different from `nan`" };
    let found = warning(ErrorCode::ComparedWithNan, item, body.spans[at], message, "not even `nan` itself");
    let (test, answer) = if is_equal { ("!=", 1) } else { ("==", 0) };
    let help = match *other {
        [Node::Variable(name)] if other != nan => {
            let name = names.text(name);
            format!("write `{name} {test} {name}`, which is {answer} for `nan` only")
        }
        _ => format!("`var x = … in x {test} x` is {answer} for `nan` only"),
    };
    Some(found.with_help(help))
}

/// Returns whether some `for` in a text may have a condition that does not change: it is worth
/// looking for [`ErrorCode::ConstantCondition`]. Takes one pass over the text.
pub fn may_have_constant_condition(text: &str) -> bool {
    let compares = |condition: &str| condition.contains(['<', '>', '=', '!']);
    memchr::memmem::find_iter(text.as_bytes(), "for ").any(|at| {
        let head = text[at..].lines().next().unwrap_or_default();
        let head = head.split_once(" in").map_or(head, |(head, _)| head);
        head.contains('=') && head.split(',').nth(1).is_some_and(|condition| !compares(condition))
    })
}

/// Returns whether a variable keeps its value while an item runs: a parameter, or a local,
/// or one of the program if nothing is called that could change it.
fn is_unchanged(name: Name, item: &Item, body: &Ast, names: &Names) -> bool {
    let is_local =
        |node: &Node| matches!(node, Node::Bind(bound) | Node::ForVariable(bound) if *bound == name);
    let may_change = |node: &Node| match node {
        Node::Call { callee, .. } => !matches!(
            &*names.text(*callee),
            "print" | "write" | "printd" | "putchard" | "fixed" | "sci" | "pad"
        ),
        Node::Operator { .. } => true,
        _ => false,
    };
    !body.nodes.contains(&Node::Assign(name))
        && (is_parameter(name, item) || body.nodes.iter().any(is_local) || !body.nodes.iter().any(may_change))
}

fn is_parameter(name: Name, item: &Item) -> bool {
    match &item.kind {
        ItemKind::Definition(prototype, _) => prototype.parameters.iter().any(|each| each.name == name),
        ItemKind::Variables(_)
        | ItemKind::Expression(_)
        | ItemKind::Effect(_)
        | ItemKind::Extern(_)
        | ItemKind::Import(_) => false,
    }
}

/// Warns of the first `%d` in a text.
fn format_in_text(item: &Item, text: Span) -> Option<Diagnostic> {
    let token = item.source.slice(text);
    let (at, length) =
        token.match_indices('%').find_map(|(at, _)| Some((at, length_of_format(&token[at..])?)))?;
    let start = text.start + at as u32;
    let span = Span { start, end: start + length as u32 };
    let message = format!("`print` writes `{}` as it is", item.source.slice(span));
    let found = warning(ErrorCode::FormatInText, item, span, message, "not a format");
    Some(found.with_help("numbers stand between texts: `print(\"x = \", x)`, `print(fixed(x, 2), \" m\")`"))
}

/// Returns the length of the format, such as `%d` or `%-8.3lf`, with which a text begins.
fn length_of_format(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('%')?;
    let rest = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || "-+#.".contains(letter));
    let rest = rest.trim_start_matches(['l', 'h']);
    let after = rest.strip_prefix(['d', 'i', 'u', 'f', 'e', 'E', 'g', 'G', 'x', 's', 'c'])?;
    (!after.starts_with(char::is_alphanumeric)).then(|| text.len() - after.len())
}

/// Warns of `if x = 0 then`, but not of `if ((x = 0)) then`.
fn assigned_condition(item: &Item, body: &Ast, mark: usize, names: &Names) -> Option<Diagnostic> {
    let last = mark.checked_sub(1)?;
    let Node::Assign(name) = body.nodes[last] else { return None };
    let before = item.source.text()[..body.spans[last].start as usize].trim_end();
    if before.strip_suffix('(').is_some_and(|outer| outer.trim_end().ends_with('(')) {
        return None;
    }
    let message = "an assignment as a condition";
    let note = format!("assigns to `{}`", names.text(name));
    let found = warning(ErrorCode::AssignedCondition, item, body.spans[last], message, &note);
    Some(found.with_help("to compare, write `==`; if it is meant, write `((…))`"))
}

/// Warns of `for i = 1, i < 10, i = i + 1 in`.
fn assigned_step(item: &Item, body: &Ast, mark: usize, names: &Names) -> Option<Diagnostic> {
    let last = mark.checked_sub(1)?;
    let Node::Assign(name) = body.nodes[last] else { return None };
    let note = format!("assigns to `{}`", names.text(name));
    let found = warning(ErrorCode::AssignedStep, item, body.spans[last], "an assignment as a step", &note);
    Some(found.with_help("the step is what is added each time: `for i = 1, i < 10, 2 in …`"))
}

/// Warns of `for i = 1, i < n in s = s + i : s`, whose body ends with `: s`, so that the loop leaves 0
/// and not `s`. Parentheses around the body show that this is meant.
fn dropped_value(
    item: &Item,
    body: &Ast,
    end: usize,
    starts: &impl Deref<Target = Vec<usize>>,
) -> Option<Diagnostic> {
    let nodes = &body.nodes[..end];
    let [.., Node::Next, Node::Variable(_) | Node::Number(_), Node::Sequence] = nodes else { return None };
    let (value, sequence) = (body.spans[end - 2], body.spans[end - 1]);
    // The mark before the body.
    let begin = body.spans[starts[end - 1].checked_sub(1)?].end;
    let before = Span { start: begin.min(sequence.start), end: sequence.start };
    let (opens, _) = unmatched_parentheses(item.source.slice(before));
    if opens {
        return None;
    }
    let written = item.source.slice(value);
    let message = format!("`{written}` belongs to the body of the loop, which leaves 0");
    let found = warning(ErrorCode::DroppedValue, item, value, message, "dropped in each iteration");
    let keyword = if body.nodes[end] == Node::For { "for" } else { "while" };
    let help =
        format!("to leave {written} after the loop, put that into parentheses: `({keyword} …) : {written}`");
    Some(found.with_help(help))
}

/// Warns of a `-` at the margin, after a line that could have been an item.
fn continued_line(item: &Item, operator: Span) -> Option<Diagnostic> {
    let text = item.source.text();
    let is_at_margin = text[..operator.start as usize].ends_with('\n');
    if !is_at_margin {
        return None;
    }
    let (_, closes) = unmatched_parentheses(&text[operator.end as usize..item.span.end as usize]);
    if closes {
        return None;
    }
    let message = "this line continues the one before it";
    let found = warning(ErrorCode::ContinuedLine, item, operator, message, "subtracts from the line before");
    Some(found.with_help("if it is meant, indent it; if not, put `;` between them"))
}

/// Returns whether a piece of the source has a `(` without its `)`, and a `)` without its `(`.
fn unmatched_parentheses(text: &str) -> (bool, bool) {
    let (mut open, mut closes) = (0_u32, false);
    for line in text.lines() {
        for character in line.split('#').next().unwrap_or("").chars() {
            match character {
                '(' => open += 1,
                ')' if open == 0 => closes = true,
                ')' => open -= 1,
                _ => {}
            }
        }
    }
    (open > 0, closes)
}

/// Warns of `def f(x)` whose body is the next, unindented line, if nothing
/// suggests that it belongs to `f`: it is not a number, and uses none of the
/// parameters.
fn swallowed_line(item: &Item, prototype: &Prototype, body: &Ast, names: &Names) -> Option<Diagnostic> {
    let is_meant = matches!(*body.nodes, [Node::Number(_)])
        || prototype.parameters.is_empty()
        || prototype.parameters.iter().any(|parameter| is_used(parameter.name, body));
    if is_meant {
        return None;
    }
    let text = item.source.text();
    let last = prototype.parameters.last().map_or(prototype.name.span, |parameter| parameter.span);
    let head = blank_comments(&text[last.end as usize..item.span.end as usize]);
    let end = head.find(')')? + 1;
    let gap = head[end..].len() - head[end..].trim_start().len();
    let start = end + gap;
    let is_at_margin = head[end..start].ends_with('\n');
    if !is_at_margin {
        return None;
    }
    let line = head[start..].lines().next().map_or(0, |line| line.trim_end().len());
    let span = Span::new(last.end as usize + start, last.end as usize + start + line);
    let name = names.text(prototype.name.name);
    let message = format!("`{name}` takes the next line as its body");
    let found = warning(ErrorCode::SwallowedLine, item, span, message, "the body");
    Some(found.with_help("it uses no parameter; if it is intended, indent it; if not, the body is missing"))
}

/// Replaces comments by blanks, byte by byte.
fn blank_comments(text: &str) -> String {
    let blank = |line: &str| match line.find('#') {
        Some(at) => {
            let end = line.trim_end_matches('\n').len();
            format!("{}{}{}", &line[..at], " ".repeat(end - at), &line[end..])
        }
        None => line.to_owned(),
    };
    text.split_inclusive('\n').map(blank).collect()
}
