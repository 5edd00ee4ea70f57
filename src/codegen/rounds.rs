//! Loops whose rounds differ from row to row, in functions over columns.

use super::uniform::Uniform;
use crate::name::Name;
use crate::sema::checked::{CheckedFunction, CheckedNode};
use crate::syntax::operator::BinaryOp;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What it costs to give other rows to lanes, besides computing what is outside of the loop: in
/// operations of all lanes.
const FILLING: usize = 200;

/// The most rounds that lanes wait for others.
const LONGEST_WAIT: usize = 16;

/// The weights of a division, of a remainder, and of a call of the library.
const WEIGHTS: (usize, usize, usize) = (4, 10, 30);

/// How many rounds a loop inside of another one is taken to make.
const INNER_ROUNDS: usize = 8;

/// That a function, with what it calls, has one loop outside of all others, and that rows make
/// different rounds of it.
#[derive(Clone, Copy, Debug)]
pub struct DifferentRounds {
    /// How many rounds all lanes may wait for others, until it costs as much as giving them other
    /// rows.
    pub worth_waiting: usize,
}

impl DifferentRounds {
    /// Returns whether there is such a loop in a function, where callees come before their callers and
    /// it is known of the arguments whether they are the same in every row.
    pub fn of(
        function: &CheckedFunction,
        inlined: &[Arc<CheckedFunction>],
        is_every: impl Fn(usize) -> bool,
    ) -> Option<Self> {
        let mut known = FxHashMap::default();
        for callee in inlined {
            known.insert((callee.name, callee.arity()), LoopShape::of(callee, &known));
        }
        let shape = LoopShape::of(function, &known);
        if shape.outermost != 1 {
            return None;
        }
        let begins = |node: &CheckedNode| matches!(node, CheckedNode::ForVariable(_));
        if let Some(at) = function.nodes.iter().position(begins) {
            let is_same: Vec<bool> = (0..function.arity() as usize).map(is_every).collect();
            if Uniform::of(function, &is_same, true).is_loop(at) {
                return None;
            }
        }
        let rounds = (FILLING + shape.outside).div_ceil(shape.inside.max(1));
        Some(Self { worth_waiting: rounds.clamp(1, LONGEST_WAIT) })
    }
}

/// Returns whether rows may make different rounds of the one loop that a function has outside of all
/// others, with what it calls: then they need not wait for each other. Callees come before their callers.
pub fn has_different_rounds(function: &CheckedFunction, inlined: &[Arc<CheckedFunction>]) -> bool {
    DifferentRounds::of(function, inlined, |_| false).is_some()
}

/// The loops of a function, with what it calls.
#[derive(Clone, Copy, Default)]
struct LoopShape {
    /// How many loops there are outside of all others.
    outermost: usize,
    /// What it costs to compute what is outside of them, and a round.
    outside: usize,
    inside: usize,
}

impl LoopShape {
    fn of(function: &CheckedFunction, known: &FxHashMap<(Name, u32), Self>) -> Self {
        let mut shape = Self::default();
        let (mut depth, mut rounds) = (0_usize, 1_usize);
        let (division, remainder, library) = WEIGHTS;
        for node in &function.nodes {
            let weight = match node {
                CheckedNode::ForVariable(_) => {
                    shape.outermost += usize::from(depth == 0);
                    rounds = if depth == 0 { 1 } else { rounds.saturating_mul(INNER_ROUNDS) };
                    depth += 1;
                    1
                }
                CheckedNode::For => {
                    depth = depth.saturating_sub(1);
                    rounds = (rounds / INNER_ROUNDS).max(1);
                    1
                }
                CheckedNode::Binary(BinaryOp::Divide) => division,
                CheckedNode::Binary(BinaryOp::Remainder) => remainder,
                CheckedNode::Binary(BinaryOp::Power) => library,
                CheckedNode::Call(index) => {
                    let callee = function.callees.get(*index as usize);
                    match callee.and_then(|callee| known.get(&(callee.name, callee.arity))) {
                        Some(callee) if depth == 0 => {
                            shape.outermost += callee.outermost;
                            shape.inside = shape.inside.saturating_add(callee.inside);
                            callee.outside
                        }
                        Some(callee) => {
                            let inside = callee.inside.saturating_mul(INNER_ROUNDS);
                            callee.outside.saturating_add(inside)
                        }
                        None if callee.is_some_and(|callee| callee.name == function.name) => 1,
                        None => library,
                    }
                }
                _ => 1,
            };
            let place = if depth == 0 { &mut shape.outside } else { &mut shape.inside };
            *place = place.saturating_add(weight.saturating_mul(rounds));
        }
        if recurs_last(function) {
            // All of it is in a loop.
            let inside = shape.inside.saturating_mul(INNER_ROUNDS).saturating_add(shape.outside);
            shape = Self { outermost: 1, outside: 0, inside };
        }
        shape
    }
}

/// Returns whether a function calls itself, and never to go on after that.
pub(super) fn recurs_last(function: &CheckedFunction) -> bool {
    let nodes = &function.nodes;
    let is_own = |node: &CheckedNode| match node {
        CheckedNode::Call(index) => {
            let callee = function.callees.get(*index as usize);
            callee.is_some_and(|callee| callee.name == function.name)
        }
        _ => false,
    };
    if !function.calls_itself()
        || function
            .callees
            .iter()
            .any(|callee| callee.name == function.name && callee.arity != function.arity())
    {
        return false;
    }
    // From the end on: whether a value is the result, at the end of each branch that is open.
    let mut open: Vec<bool> = Vec::new();
    let mut is_last = true;
    for node in nodes.iter().rev() {
        match node {
            CheckedNode::If => open.push(is_last),
            CheckedNode::Else => is_last = open.last().copied().unwrap_or(false),
            CheckedNode::Then => {
                open.pop();
                is_last = false;
            }
            own if is_own(own) => {
                if !is_last {
                    return false;
                }
                is_last = false;
            }
            _ => is_last = false,
        }
    }
    true
}
