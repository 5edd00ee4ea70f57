//! Checked functions: the input of both back ends.
//!
//! A [`CheckedFunction`] is immutable. Its body is the post-order array of
//! [`crate::syntax::ast`], with every name resolved: variables to numbered
//! locals or to variables of the context, callees to entries of a table.
//! Nothing in it depends on the process it was made in, apart from the
//! numbering of [`Name`]s.

use super::spans::Spans;
use crate::bytes::{Writer, checksum};
use crate::fingerprint::Fingerprint;
use crate::name::{HeldName, HeldNames, Name, Names};
use crate::process::SteadyCell;
use crate::source::{Source, Span};
use crate::syntax::operator::{BinaryOp, UnaryOp};

/// The name of the function that a top-level expression becomes.
pub const EXPRESSION: &str = "";

/// The name of the function that a formula over columns becomes.
pub const FORMULA: &str = "(formula)";

/// One entry of a checked body; see [`crate::syntax::ast::Node`] for the order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CheckedNode {
    /// Leaves a number, given by its index in [`CheckedFunction::numbers`].
    Number(u32),
    /// Leaves the value of a local; parameters are the first locals.
    Local(u32),
    /// Leaves the value of a variable of the context.
    Variable(Name),
    /// Takes a value, assigns it to a local, leaves it.
    SetLocal(u32),
    /// Takes a value, assigns it to a variable of the context, leaves it.
    SetVariable(Name),
    /// Takes one value, leaves the result.
    Unary(UnaryOp),
    /// Takes two values, leaves the result.
    Binary(BinaryOp),
    /// Mark after the left operand of `And` or `Or`.
    ShortCircuit(BinaryOp),
    /// Takes the arguments, leaves the result; the callee is given by its index
    /// in [`CheckedFunction::callees`].
    Call(u32),
    /// Mark after the condition of an `if`: takes it.
    Then,
    /// Mark between the branches.
    Else,
    /// End of an `if`: leaves the value of the branch taken.
    If,
    /// Mark after the start of a `for`: takes it into the local.
    ForVariable(u32),
    /// Mark after the condition of a `for`.
    ForCondition,
    /// Mark after the step of a `for`.
    ForStep,
    /// End of a `for`: takes the value of the body, leaves 0.
    For,
    /// Takes a value into a local.
    Bind(u32),
}

/// A function that a body calls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Callee {
    /// Its name.
    pub name: Name,
    /// The number of arguments passed.
    pub arity: u32,
    /// The place of the first call.
    pub span: Span,
}

impl CheckedNode {
    /// Returns the local that it declares, if it declares one.
    pub fn declared(&self) -> Option<u32> {
        if let Self::Bind(local) | Self::ForVariable(local) = self { Some(*local) } else { None }
    }
}

/// The checked form of one `def` or top-level expression.
#[derive(Clone, Debug)]
pub struct CheckedFunction {
    /// The name; [`EXPRESSION`] for a top-level expression.
    pub name: Name,
    /// The place of the name.
    pub name_span: Span,
    /// The names of the parameters.
    pub parameters: Box<[Name]>,
    /// The functions that it takes besides: it is a [pattern](super::instance) then.
    pub functions: Box<[TakenFunction]>,
    /// What it is made of.
    pub made: Made,
    /// The number of locals, parameters included.
    pub locals: u32,
    /// The body in post-order.
    pub nodes: Box<[CheckedNode]>,
    /// The place of each node: an operator's token, a callee's name.
    pub spans: Spans,
    /// For each node that declares a local, [`CheckedNode::Bind`] and
    /// [`CheckedNode::ForVariable`], in their order: the first node after it that
    /// is outside of the local's scope.
    pub scope_ends: Box<[u32]>,
    /// The constants of the body.
    pub numbers: Box<[f64]>,
    /// The functions that the body calls, each with each arity once.
    pub callees: Box<[Callee]>,
    /// The source it was read from.
    pub source: Source,
    /// Its place there, from the first to the last token.
    pub span: Span,
    /// The names in it, and others of the item it was read from.
    pub names: HeldNames,
    /// Its identity, once it has been asked for.
    pub identity: KnownIdentity,
}

/// What a function is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Made {
    /// Its own text.
    Written,
    /// The pattern of this name: it is an instance.
    Instance(Name),
    /// The pattern of this name: it calls a shared instance.
    HandOver(Name),
    /// Numbers and calls: it is a dispatcher.
    Dispatcher,
}

impl Made {
    /// Returns the pattern that it is made of.
    pub fn pattern(self) -> Option<Name> {
        match self {
            Self::Instance(pattern) | Self::HandOver(pattern) => Some(pattern),
            Self::Written | Self::Dispatcher => None,
        }
    }

    /// Returns whether no part of a program is a call of it.
    pub fn is_between(self) -> bool {
        matches!(self, Self::HandOver(_) | Self::Dispatcher)
    }
}

/// A function that a pattern takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TakenFunction {
    /// The name of the parameter.
    pub name: Name,
    /// Its place among all parameters.
    pub position: u32,
    /// The number of its arguments.
    pub arity: u32,
}

/// Returns the signature of what has that number of parameters and takes these functions.
pub(super) fn signature(arity: u32, functions: &[TakenFunction]) -> u32 {
    if functions.is_empty() {
        return arity;
    }
    let mut writer = Writer::default();
    writer.number(arity);
    for function in functions {
        writer.number(function.position);
        writer.number(function.arity);
    }
    checksum(&writer.finish()) as u32 | 1 << 31
}

/// The identity of a function, once it has been asked for.
#[derive(Debug, Default)]
pub struct KnownIdentity(pub(super) SteadyCell<Box<Fingerprint>>);

impl Clone for KnownIdentity {
    /// Returns one that is not known: a copy of a function may be changed.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl CheckedFunction {
    /// Returns what the head would be if its parameters that are called were functions, as
    /// `parameter` is: `integrate(f(x) a b)`; `None` if that is not called.
    pub fn head_taking(&self, parameter: Name, names: &Names) -> Option<String> {
        const ARGUMENTS: [&str; 4] = ["x", "y", "z", "t"];
        let calls = |name: Name| self.callees.iter().find(|callee| callee.name == name);
        if !self.parameters.contains(&parameter) || calls(parameter).is_none() {
            return None;
        }
        let written = |name: &Name| match calls(*name) {
            Some(call) => {
                let arguments: Vec<&str> = ARGUMENTS.into_iter().take(call.arity as usize).collect();
                format!("{}({})", names.text(*name), arguments.join(" "))
            }
            None => names.text(*name).to_string(),
        };
        let parameters: Vec<String> = self.parameters.iter().map(written).collect();
        Some(format!("{}({})", names.text(self.name), parameters.join(" ")))
    }

    /// Returns the indices of the nodes that declare locals, each with the local
    /// and where its scope ends.
    pub fn scopes(&self) -> impl Iterator<Item = (usize, u32, usize)> {
        let nodes = self.nodes.iter().enumerate();
        let declaring = nodes.filter_map(|(at, node)| Some((at, node.declared()?)));
        declaring.zip(&self.scope_ends).map(|((at, local), end)| (at, local, *end as usize))
    }

    /// Returns the function under another name.
    #[must_use]
    pub fn under(&self, name: HeldName) -> Self {
        let names = self.names.iter().cloned().chain([name.clone()]).collect();
        Self { name: name.name(), names, ..self.clone() }
    }

    /// Returns whether it is another function under its own name.
    pub fn is_alias_of(&self, other: &Self) -> bool {
        self.source == other.source && self.span == other.span
    }

    /// Returns what a call of it has to fit: the number of parameters, and of a pattern
    /// another number for each that calls differently.
    pub fn signature(&self) -> u32 {
        signature(self.arity(), &self.functions)
    }

    /// Returns whether it can be called with that number of arguments: a pattern cannot,
    /// but for its instances.
    pub fn fits(&self, arguments: u32) -> bool {
        self.signature() == arguments
    }

    /// Returns the number of parameters.
    pub fn arity(&self) -> u32 {
        self.parameters.len() as u32
    }

    /// Returns the number of its nodes, where a call counts as many as the callee has, as far as
    /// `size_of` knows that; saturates.
    pub fn size_with_copies(&self, size_of: impl Fn(Name) -> Option<usize>) -> usize {
        let size = |node: &CheckedNode| match node {
            CheckedNode::Call(index) => {
                let callee = self.callees.get(*index as usize);
                callee.and_then(|callee| size_of(callee.name)).unwrap_or(1)
            }
            _ => 1,
        };
        self.nodes.iter().map(size).fold(0, usize::saturating_add)
    }

    /// Returns whether it has a loop.
    pub fn has_loop(&self) -> bool {
        self.nodes.contains(&CheckedNode::For)
    }

    /// Returns whether it calls itself directly.
    pub fn calls_itself(&self) -> bool {
        self.callees.iter().any(|callee| callee.name == self.name)
    }

    /// Returns the calls that happen whenever the body runs: those outside of
    /// branches. A loop evaluates its parts at least once.
    pub fn certain_calls(&self) -> impl Iterator<Item = &Callee> {
        let mut branches = 0_u32;
        self.nodes.iter().filter_map(move |node| {
            match node {
                CheckedNode::Then | CheckedNode::ShortCircuit(_) => branches += 1,
                CheckedNode::If => branches = branches.saturating_sub(1),
                CheckedNode::Binary(op) if op.short_circuits() => branches = branches.saturating_sub(1),
                CheckedNode::Call(index) if branches == 0 => return self.callees.get(*index as usize),
                _ => {}
            }
            None
        })
    }

    /// Returns its source text.
    pub fn text(&self) -> &str {
        self.source.slice(self.span)
    }

    /// Returns the number of nodes after inlining functions of these sizes into
    /// it.
    pub fn size_with(&self, inlined: &rustc_hash::FxHashMap<Name, usize>) -> usize {
        let size = |node: &CheckedNode| match node {
            CheckedNode::Call(index) => 1 + inlined.get(&self.callees[*index as usize].name).unwrap_or(&0),
            _ => 1,
        };
        self.nodes.iter().map(size).sum()
    }

    /// Returns whether it reads or assigns a variable of the context.
    pub fn uses_variable(&self, name: Name) -> bool {
        self.nodes.contains(&CheckedNode::Variable(name))
            || self.nodes.contains(&CheckedNode::SetVariable(name))
    }
}

/// Returns the variables of the context that functions read or assign, each once, in the
/// order in which they are met.
pub fn variables_of<'a>(functions: impl IntoIterator<Item = &'a CheckedFunction>) -> Vec<Name> {
    let mut variables = Vec::new();
    for node in functions.into_iter().flat_map(|function| &function.nodes) {
        if let CheckedNode::Variable(name) | CheckedNode::SetVariable(name) = node
            && !variables.contains(name)
        {
            variables.push(*name);
        }
    }
    variables
}

/// For tests of what takes functions apart.
#[cfg(test)]
impl CheckedFunction {
    /// Returns a function without parameters, with these nodes as its body and no source.
    pub fn of_nodes(name: Name, locals: u32, nodes: Vec<CheckedNode>) -> Self {
        Self {
            name,
            name_span: Span::default(),
            parameters: Box::default(),
            functions: Box::default(),
            made: Made::Written,
            locals,
            nodes: nodes.into(),
            spans: Spans::default(),
            scope_ends: Box::default(),
            numbers: Box::default(),
            callees: Box::default(),
            source: Source::new("", ""),
            span: Span::default(),
            names: HeldNames::default(),
            identity: KnownIdentity::default(),
        }
    }
}
