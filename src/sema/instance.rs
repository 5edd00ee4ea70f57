//! Instances: functions that take functions, with the functions they are given.
//!
//! `def twice(f(x) x) f(f(x))` is a pattern. A call `twice(sin, 1)` is one of
//! `twice[sin,](1)`: the instance is the same function with `sin` where the pattern has
//! `f`, a definition like all others but for its name, which no program can write. So
//! whatever is done with functions is done with it: it is compiled when it is called,
//! inlined, redefined with its pattern, and calls the present `sin`. In the pattern, a
//! function that it takes is called `(f)`.
//!
//! A pattern that is given very many functions has instances up to a bound: the others
//! are calls of its [shared instance](shared), `twice[*,]`.

pub mod shared;

use super::checked::{Callee, CheckedFunction, CheckedNode, EXPRESSION, FORMULA, KnownIdentity, Made};
use super::spans::SpanPacker;
use crate::host::written_name;
use crate::name::{HeldName, Names};
use rustc_hash::FxHashMap;

/// The arguments of a call: the function given, or `None` for a number.
pub type GivenFunctions<'t> = Vec<Option<&'t str>>;

impl CheckedFunction {
    /// Returns whether it is a pattern, or calls an instance.
    pub fn takes_or_gives(&self, names: &Names) -> bool {
        !self.functions.is_empty()
            || self.callees.iter().any(|callee| instance_parts(&names.text(callee.name)).is_some())
    }

    /// Returns whether it is the pattern of an instance of that name: it takes what that gives.
    pub fn is_pattern_of(&self, instance: &str) -> bool {
        !self.functions.is_empty() && given_to(self, instance).is_some()
    }
}

/// What the name of a shared instance has in place of a function.
const BY_NUMBER: &str = "*";

/// Returns the name of an instance.
pub fn instance_name(pattern: &str, given: &[Option<&str>]) -> String {
    let given: Vec<&str> = given.iter().map(|function| function.unwrap_or_default()).collect();
    format!("{pattern}[{}]", given.join(","))
}

/// Returns the pattern of an instance, and what it is given; `None` if the name is that of
/// something else.
pub fn instance_parts(name: &str) -> Option<(&str, GivenFunctions<'_>)> {
    let (pattern, given) = name.strip_suffix(']')?.split_once('[')?;
    let given = given.split(',').map(|text| Some(text).filter(|text| !text.is_empty()));
    (!pattern.is_empty()).then(|| (pattern, given.collect()))
}

/// Returns the name of a function as a message shows it: `twice(sin, …)` for an instance.
pub fn shown(name: &str) -> String {
    let shown = |given: Option<&str>| given.map_or_else(|| "…".to_owned(), given_text);
    match instance_parts(name) {
        Some((pattern, given)) => {
            format!("{pattern}({})", given.into_iter().map(shown).collect::<Vec<_>>().join(", "))
        }
        None => written_name(name).to_owned(),
    }
}

/// Returns what a message calls a function that the program gives no name.
pub fn shown_nameless(name: &str) -> Option<&'static str> {
    match name {
        EXPRESSION => Some("this expression"),
        FORMULA => Some("this formula"),
        _ => None,
    }
}

/// Returns a function with its parameters, up to a number of them, as a message shows it:
/// `fib(n)`, `twice(sin x)` for an instance, `this expression`.
pub fn shown_call(function: &CheckedFunction, most: usize, names: &Names) -> String {
    let name = names.text(function.name);
    if let Some(nameless) = shown_nameless(&name) {
        return nameless.to_owned();
    }
    let mut parameters = function.parameters.iter().map(|name| names.text(*name).to_string());
    let (called, all): (&str, Vec<String>) = match instance_parts(&name) {
        Some((pattern, given)) => {
            let mut part =
                |given: Option<&str>| given.map_or_else(|| parameters.next().unwrap_or_default(), given_text);
            (pattern, given.into_iter().map(&mut part).collect())
        }
        None => (&name, parameters.collect()),
    };
    let more = if all.len() > most { " …" } else { "" };
    format!("{called}({}{more})", all[..all.len().min(most)].join(" "))
}

/// Returns a function in the name of an instance as a call gives it: `binary+` for `2+`.
pub fn given_text(given: &str) -> String {
    if given == BY_NUMBER {
        return "…".to_owned();
    }
    match (given.strip_prefix('1'), given.strip_prefix('2')) {
        (Some(operator), _) => format!("unary{operator}"),
        (None, Some(operator)) => format!("binary{operator}"),
        (None, None) => written_name(given).to_owned(),
    }
}

/// Returns the help for a call that gives functions to one that does not take them there;
/// `is_function` says which names are those of functions.
pub fn misgiven(pattern: &str, given: &GivenFunctions<'_>, is_function: impl Fn(&str) -> bool) -> String {
    let unknown = given.iter().flatten().find(|name| operands_of(name).is_none() && !is_function(name));
    match unknown {
        Some(name) => {
            format!("`{pattern}` takes no function there, and no variable `{name}` is declared before")
        }
        None => format!("`{pattern}` takes no functions, or takes them elsewhere"),
    }
}

/// Returns what a function that a pattern takes is called in it.
pub fn taken_name(parameter: &str) -> String {
    format!("({parameter})")
}

/// Returns whether a name is that of a function that a pattern takes.
pub fn is_taken(name: &str) -> bool {
    name.starts_with('(') && name.ends_with(')')
}

/// Returns whether a name is one that no program can write: of an instance, of a dispatcher,
/// or of a function that a pattern takes.
pub fn is_made(name: &str) -> bool {
    is_taken(name) || name.contains('[') && name.ends_with(']')
}

/// Returns the name of the dispatcher of functions of that number of arguments.
fn dispatcher_name(arity: u32) -> String {
    format!("[{arity}]")
}

/// Returns a built-in operator as a function that can be given: `2+`, `1-`.
pub fn operator_name(operands: u32, operator: &str) -> String {
    format!("{operands}{operator}")
}

/// Returns the number of operands of a built-in operator that is given as a function.
pub fn operands_of(name: &str) -> Option<u32> {
    name.chars().next().filter(|first| matches!(first, '1' | '2')).and_then(|first| first.to_digit(10))
}

/// Returns an instance of a pattern under its name; `None` if it does not fit.
pub fn instance(pattern: &CheckedFunction, name: &HeldName, names: &Names) -> Option<CheckedFunction> {
    let text = names.text(name.name());
    let given = given_to(pattern, &text)?;
    let taken: FxHashMap<String, &str> = pattern
        .functions
        .iter()
        .zip(&given)
        .map(|(function, given)| (taken_name(&names.text(function.name)), *given))
        .collect();
    // The numbers of functions follow the other arguments.
    let by_number = pattern.functions.iter().zip(&given).filter(|(_, given)| **given == BY_NUMBER);
    let numbers = by_number.map(|(function, _)| taken_name(&names.text(function.name)));
    let numbers = numbers.map(|text| names.try_hold(&text).ok()).collect::<Option<Vec<_>>>()?;
    let number_of = |taken: &str| {
        let place = numbers.iter().position(|number| *number == *taken)?;
        Some(pattern.arity() + place as u32)
    };
    let (mut held, mut callees) = (vec![name.clone()], Vec::<Callee>::new());
    let mut calls = Vec::new();
    for callee in &pattern.callees {
        let text = names.text(callee.name);
        let mut passed = Vec::new();
        let called = match (taken.get(&*text), instance_parts(&text)) {
            (Some(&BY_NUMBER), _) => {
                passed.extend(number_of(&text));
                dispatcher_name(callee.arity)
            }
            (Some(given), _) => (*given).to_owned(),
            (None, Some((pattern, given))) => {
                passed.extend(given.iter().flatten().filter_map(|given| number_of(given)));
                let passed_on = |given: Option<&'_ str>| {
                    let given = given?;
                    Some(taken.get(given).copied().unwrap_or(given).to_owned())
                };
                let given: Vec<Option<String>> = given.into_iter().map(passed_on).collect();
                let given: Vec<Option<&str>> = given.iter().map(Option::as_deref).collect();
                instance_name(pattern, &given)
            }
            (None, None) => text.to_string(),
        };
        if let Some(operator) = built_in(&called, callee.arity) {
            calls.push((operator, passed));
            continue;
        }
        let name = names.try_hold(&called).ok()?;
        let callee = Callee { name: name.name(), arity: callee.arity + passed.len() as u32, ..*callee };
        held.push(name);
        let known = callees.iter().position(|known| (known.name, known.arity) == (callee.name, callee.arity));
        let index = known.unwrap_or(callees.len());
        if known.is_none() {
            callees.push(callee);
        }
        calls.push((CheckedNode::Call(index as u32), passed));
    }
    let local = |local: u32| if local < pattern.arity() { local } else { local + numbers.len() as u32 };
    let (mut nodes, mut spans, mut moved) = (Vec::new(), SpanPacker::default(), Vec::new());
    for (node, span) in pattern.nodes.iter().zip(pattern.spans.iter()) {
        moved.push(nodes.len() as u32);
        let node = match *node {
            CheckedNode::Call(index) => {
                let (node, passed) = calls.get(index as usize)?;
                nodes.extend(passed.iter().map(|number| CheckedNode::Local(*number)));
                passed.iter().for_each(|_| spans.push(span));
                *node
            }
            CheckedNode::Local(read) => CheckedNode::Local(local(read)),
            CheckedNode::SetLocal(set) => CheckedNode::SetLocal(local(set)),
            CheckedNode::Bind(bound) => CheckedNode::Bind(local(bound)),
            CheckedNode::ForVariable(bound) => CheckedNode::ForVariable(local(bound)),
            node => node,
        };
        nodes.push(node);
        spans.push(span);
    }
    moved.push(nodes.len() as u32);
    let scope_ends = pattern.scope_ends.iter().map(|end| moved.get(*end as usize).copied());
    Some(CheckedFunction {
        name: name.name(),
        parameters: pattern.parameters.iter().copied().chain(numbers.iter().map(HeldName::name)).collect(),
        functions: Box::default(),
        made: Made::Instance(pattern.name),
        locals: pattern.locals + numbers.len() as u32,
        nodes: nodes.into(),
        spans: spans.finish(),
        scope_ends: scope_ends.collect::<Option<_>>()?,
        callees: callees.into(),
        names: pattern.names.iter().cloned().chain(held).chain(numbers.iter().cloned()).collect(),
        identity: KnownIdentity::default(),
        ..pattern.clone()
    })
}

/// Returns the functions that the name of an instance gives a pattern, one for each that it
/// takes; `None` if it gives other arguments.
fn given_to<'t>(pattern: &CheckedFunction, name: &'t str) -> Option<Vec<&'t str>> {
    let (_, given) = instance_parts(name)?;
    let count = pattern.parameters.len() + pattern.functions.len();
    if given.len() != count || given.iter().flatten().count() != pattern.functions.len() {
        return None;
    }
    pattern.functions.iter().map(|function| *given.get(function.position as usize)?).collect()
}

/// Returns whether a name is that of a built-in operator that can be given.
pub fn is_built_in(given: &str) -> bool {
    [1, 2].iter().any(|arity| built_in(given, *arity).is_some())
}

/// Returns the node of a built-in operator that is given as a function.
fn built_in(given: &str, arity: u32) -> Option<CheckedNode> {
    use crate::syntax::operator::{BinaryOp, UnaryOp};
    let (operands, operator) = given.split_at_checked(1)?;
    match (operands, arity) {
        ("1", 1) => UnaryOp::ALL.into_iter().find(|op| op.text() == operator).map(CheckedNode::Unary),
        ("2", 2) => BinaryOp::ALL
            .into_iter()
            .find(|op| op.text() == operator && !op.short_circuits())
            .map(CheckedNode::Binary),
        _ => None,
    }
}
