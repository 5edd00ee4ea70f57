//! Shared instances: what is called in place of instances that would be too many.
//!
//! The shared instance of `twice(f(x) x)`, `twice[*,](x, k)`, gets the number of a function
//! in place of the function. It calls the dispatcher of its number of arguments, `[1](x, k)`,
//! which calls the function that has the number: a tree of comparisons, of many
//! definitions, so that only a small one changes with every function that gets a number.
//! An instance beyond the bound, `twice[g,](x)`, just hands over: `twice[*,](x, 300)`.

use super::{BY_NUMBER, built_in, dispatcher_name, given_to, instance_name, instance_parts};
use crate::name::{HeldName, Names};
use crate::sema::checked::{Callee, CheckedFunction, CheckedNode, KnownIdentity, Made};
use crate::sema::spans::Spans;
use crate::syntax::operator::BinaryOp;

/// How many functions or dispatchers a dispatcher calls.
const WIDTH: usize = 8;

/// Returns the functions that an instance of a pattern is given, each with its number of
/// arguments; `None` if it does not fit, or is given a function by number.
pub fn functions_given<'t>(pattern: &CheckedFunction, name: &'t str) -> Option<Vec<(&'t str, u32)>> {
    let given = given_to(pattern, name)?.into_iter();
    let given = given.zip(&pattern.functions).map(|(given, function)| (given, function.arity));
    given.map(|given| (given.0 != BY_NUMBER).then_some(given)).collect()
}

/// Returns an instance of a pattern that hands over to the shared one the numbers of the
/// functions it is given; `None` if it does not fit.
pub fn hand_over(
    pattern: &CheckedFunction,
    name: &HeldName,
    numbers: &[u32],
    names: &Names,
) -> Option<CheckedFunction> {
    let text = names.text(name.name());
    let (called, given) = instance_parts(&text)?;
    let shared: Vec<Option<&str>> = given.iter().map(|given| given.map(|_| BY_NUMBER)).collect();
    let shared = names.try_hold(&instance_name(called, &shared)).ok()?;
    let (arity, span) = (pattern.arity() + numbers.len() as u32, pattern.name_span);
    let mut held = vec![name.clone(), shared.clone()];
    let mut callees = vec![Callee { name: shared.name(), arity, span }];
    // It does not call them itself; what is asked about their callers counts it.
    for (given, arity) in functions_given(pattern, &text)? {
        if built_in(given, arity).is_none() {
            let given = names.try_hold(given).ok()?;
            callees.push(Callee { name: given.name(), arity, span });
            held.push(given);
        }
    }
    let mut nodes: Vec<CheckedNode> = (0..pattern.arity()).map(CheckedNode::Local).collect();
    nodes.extend((0..numbers.len() as u32).map(CheckedNode::Number));
    nodes.push(CheckedNode::Call(0));
    Some(CheckedFunction {
        name: name.name(),
        functions: Box::default(),
        made: Made::HandOver(pattern.name),
        locals: pattern.arity(),
        spans: places(pattern, nodes.len()),
        nodes: nodes.into(),
        scope_ends: Box::default(),
        numbers: numbers.iter().map(|number| f64::from(*number)).collect(),
        callees: callees.into(),
        names: pattern.names.iter().cloned().chain(held).collect(),
        identity: KnownIdentity::default(),
        ..pattern.clone()
    })
}

/// Returns the dispatchers that are new or other ones when the last of these functions has
/// got its number: those that lead to it. They are placed where a pattern is.
pub fn dispatchers(
    arity: u32,
    functions: &[HeldName],
    pattern: &CheckedFunction,
    names: &Names,
) -> Option<Vec<CheckedFunction>> {
    let Some(last) = functions.len().checked_sub(1) else { return Some(Vec::new()) };
    let mut changed = Vec::new();
    // What one below the dispatcher covers.
    let mut part = 1;
    loop {
        let covered = part * WIDTH;
        let is_root = covered > last;
        // Below, only those that get another part are other ones. One that was the root
        // gets a name of its own when there is a second beside it.
        let mut add = |index: usize, is_root: bool| {
            let name = if is_root { dispatcher_name(arity) } else { name_below(arity, part, index) };
            let first = index * covered;
            let parts = functions[first..].len().min(covered).div_ceil(part);
            let part_of = |place: usize| {
                let first = first + place * part;
                if part == 1 {
                    functions[first].to_string()
                } else {
                    name_below(arity, part / WIDTH, first / part)
                }
            };
            let parts: Vec<String> = (0..parts).map(part_of).collect();
            let passed = arity + u32::from(part > 1);
            let bounds = Bounds { first: first as f64, part: part as f64 };
            changed.push(dispatcher(&name, arity, &parts, passed, bounds, pattern, names)?);
            Some(())
        };
        if is_root || last % part == 0 {
            add(last / covered, is_root)?;
        }
        if last == covered {
            add(0, false)?;
        }
        if is_root {
            return Some(changed);
        }
        part = covered;
    }
}

/// Returns the name of a dispatcher below the root.
fn name_below(arity: u32, part: usize, index: usize) -> String {
    format!("[{arity}:{part}:{index}]")
}

/// The numbers that a dispatcher tells apart: a part for each of what it calls.
#[derive(Clone, Copy)]
struct Bounds {
    first: f64,
    part: f64,
}

/// Returns a dispatcher that passes on its first arguments: `passed` of them.
fn dispatcher(
    name: &str,
    arity: u32,
    parts: &[String],
    passed: u32,
    bounds: Bounds,
    pattern: &CheckedFunction,
    names: &Names,
) -> Option<CheckedFunction> {
    let name = names.try_hold(name).ok()?;
    let number = names.try_hold("(number)").ok()?;
    let (mut callees, mut calls) = (Vec::new(), Vec::new());
    let mut held = vec![name.clone(), number.clone()];
    for part in parts {
        let operator = if passed == arity { built_in(part, arity) } else { None };
        calls.push(operator.unwrap_or(CheckedNode::Call(callees.len() as u32)));
        if operator.is_none() {
            let part = names.try_hold(part).ok()?;
            callees.push(Callee { name: part.name(), arity: passed, span: pattern.name_span });
            held.push(part);
        }
    }
    let mut tree = DispatchTree { calls, arity, passed, bounds, nodes: Vec::new(), numbers: Vec::new() };
    tree.choose(0, parts.len());
    Some(CheckedFunction {
        name: name.name(),
        parameters: vec![number.name(); arity as usize + 1].into(),
        functions: Box::default(),
        made: Made::Dispatcher,
        locals: arity + 1,
        spans: places(pattern, tree.nodes.len()),
        nodes: tree.nodes.into(),
        scope_ends: Box::default(),
        numbers: tree.numbers.into(),
        callees: callees.into(),
        names: held.into(),
        identity: KnownIdentity::default(),
        ..pattern.clone()
    })
}

/// The body of a dispatcher in the making.
struct DispatchTree {
    calls: Vec<CheckedNode>,
    arity: u32,
    passed: u32,
    bounds: Bounds,
    nodes: Vec<CheckedNode>,
    numbers: Vec<f64>,
}

impl DispatchTree {
    /// Appends the choice among the calls of a range.
    fn choose(&mut self, first: usize, end: usize) {
        if end - first == 1 {
            self.nodes.extend((0..self.passed).map(CheckedNode::Local));
            self.nodes.push(self.calls[first]);
            return;
        }
        let middle = usize::midpoint(first, end);
        self.nodes.push(CheckedNode::Local(self.arity));
        self.nodes.push(CheckedNode::Number(self.numbers.len() as u32));
        self.numbers.push(self.bounds.first + middle as f64 * self.bounds.part);
        self.nodes.extend([CheckedNode::Binary(BinaryOp::Less), CheckedNode::Then]);
        self.choose(first, middle);
        self.nodes.push(CheckedNode::Else);
        self.choose(middle, end);
        self.nodes.push(CheckedNode::If);
    }
}

/// Returns the place of a pattern's name for each node.
fn places(pattern: &CheckedFunction, nodes: usize) -> Spans {
    std::iter::repeat_n(pattern.name_span, nodes).collect()
}
