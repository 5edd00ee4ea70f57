//! What a loop calls: which functions compute a value and do nothing else, and what they weigh.

use crate::codegen::rounds::recurs_last;
use crate::host::power::ExactPower;
use crate::host::{Builtin, Intrinsic};
use crate::name::Name;
use crate::sema::checked::{CheckedFunction, CheckedNode};
use crate::syntax::operator::BinaryOp;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use std::sync::Arc;

/// What a call weighs that a function makes of itself.
const ROUND: usize = 20;

/// What is known of the functions that code may call without a slot.
pub(crate) struct DirectCalls<'a> {
    pub(super) inlined: &'a [Arc<CheckedFunction>],
    pub(super) builtins: &'a [(Name, Builtin)],
    /// The inlined functions that compute a value and do nothing else.
    pure: FxHashMap<(Name, u32), Summary>,
    /// The variables that inlined functions assign.
    pub(super) assigned: FxHashSet<Name>,
    /// The inlined functions from which others are called, through slots.
    leading_out: FxHashSet<(Name, u32)>,
}

/// What is known of nodes that compute a value and do nothing else.
#[derive(Clone, Default)]
pub(super) struct Summary {
    pub(super) weight: usize,
    pub(super) size: usize,
    pub(super) has_loop: bool,
    /// The variables that they read.
    pub(super) variables: FxHashSet<Name>,
}

impl Summary {
    pub(super) fn add(&mut self, other: Self) {
        self.weight = self.weight.saturating_add(other.weight);
        self.size = self.size.saturating_add(other.size);
        self.has_loop |= other.has_loop;
        self.variables.extend(other.variables);
    }
}

impl<'a> DirectCalls<'a> {
    /// Returns what is known where these are inlined, each after those it calls itself.
    pub(crate) fn of(inlined: &'a [Arc<CheckedFunction>], builtins: &'a [(Name, Builtin)]) -> Self {
        let (pure, assigned, leading_out) = Default::default();
        let mut calls = Self { inlined, builtins, pure, assigned, leading_out };
        for function in inlined {
            let assigned = function.nodes.iter().filter_map(|node| match node {
                CheckedNode::SetVariable(name) => Some(*name),
                _ => None,
            });
            calls.assigned.extend(assigned);
            let key = (function.name, function.arity());
            if recurs_last(function) {
                let round = Summary { weight: ROUND, has_loop: true, ..Summary::default() };
                calls.pure.insert(key, round);
            }
            match calls.summary(function, 0..function.nodes.len()) {
                Some(pure) => _ = calls.pure.insert(key, pure),
                None => _ = calls.pure.remove(&key),
            }
        }
        // They may call each other.
        let mut known = usize::MAX;
        while known != calls.leading_out.len() {
            known = calls.leading_out.len();
            for function in inlined {
                if function.callees.iter().any(|callee| calls.leads_out((callee.name, callee.arity))) {
                    calls.leading_out.insert((function.name, function.arity()));
                }
            }
        }
        calls
    }

    /// Returns what some nodes of a function weigh and read; `None` if they may do more than compute
    /// a value.
    pub(super) fn summary(&self, function: &CheckedFunction, nodes: Range<usize>) -> Option<Summary> {
        let mut found = Summary::default();
        for at in nodes {
            let node = function.nodes[at];
            found.size = found.size.saturating_add(1);
            let weight = match node {
                CheckedNode::SetVariable(_) => return None,
                CheckedNode::Variable(name) => {
                    found.variables.insert(name);
                    0
                }
                CheckedNode::Call(index) => {
                    let callee = function.callees.get(index as usize)?;
                    let key = (callee.name, callee.arity);
                    if let Some(pure) = self.pure.get(&key) {
                        found.add(pure.clone());
                        0
                    } else {
                        match self.builtin(key)? {
                            Builtin::Instruction(Intrinsic::Sqrt) => 10,
                            Builtin::Instruction(Intrinsic::Fmod) => 10,
                            Builtin::Instruction(_) => 2,
                            Builtin::Call(_) => 20,
                        }
                    }
                }
                CheckedNode::Binary(BinaryOp::Divide) => 5,
                CheckedNode::Binary(BinaryOp::Remainder) => 10,
                CheckedNode::Binary(BinaryOp::Power) => {
                    match at.checked_sub(1).map(|at| function.nodes[at]) {
                        Some(CheckedNode::Number(index))
                            if ExactPower::of(function.numbers[index as usize]).is_some() =>
                        {
                            1
                        }
                        _ => 40,
                    }
                }
                CheckedNode::Unary(_) | CheckedNode::Binary(_) => 1,
                CheckedNode::If => 2,
                CheckedNode::For => {
                    found.has_loop = true;
                    10
                }
                CheckedNode::Number(_)
                | CheckedNode::Local(_)
                | CheckedNode::SetLocal(_)
                | CheckedNode::ShortCircuit(_)
                | CheckedNode::Then
                | CheckedNode::Else
                | CheckedNode::ForVariable(_)
                | CheckedNode::ForCondition
                | CheckedNode::ForStep
                | CheckedNode::Bind(_) => 0,
            };
            found.weight = found.weight.saturating_add(weight);
        }
        Some(found)
    }

    /// Returns whether a function calls itself, also through what is inlined.
    pub(super) fn recurs(&self, function: &CheckedFunction) -> bool {
        let mut reached = FxHashSet::default();
        let mut waiting = vec![function];
        while let Some(caller) = waiting.pop() {
            for callee in &caller.callees {
                if callee.name == function.name {
                    return true;
                }
                let key = (callee.name, callee.arity);
                if reached.insert(key) {
                    waiting.extend(self.inlined(key));
                }
            }
        }
        false
    }

    /// Returns the function that is inlined for a call, if one is.
    fn inlined(&self, key: (Name, u32)) -> Option<&'a CheckedFunction> {
        let is_it = |function: &&Arc<CheckedFunction>| (function.name, function.arity()) == key;
        self.inlined.iter().find(is_it).map(|inlined| &**inlined)
    }

    /// Returns the function of the library that a call is of, if it is.
    fn builtin(&self, (name, arity): (Name, u32)) -> Option<Builtin> {
        let found = self.builtins.iter().find(|(other, of)| *other == name && of.arity() == arity);
        found.map(|(_, builtin)| *builtin)
    }

    /// Returns whether a call may lead to code that is not being made, which may do anything.
    pub(super) fn leads_out(&self, key: (Name, u32)) -> bool {
        let is_known = self.builtin(key).is_some() || self.inlined(key).is_some();
        !is_known || self.leading_out.contains(&key)
    }
}
