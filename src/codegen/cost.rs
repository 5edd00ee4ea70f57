//! What it costs to optimise a function.
//!
//! Most of LLVM's passes take a time in proportion to a function's length. Some
//! compare branches, writes to memory or loops with one another: their time, and
//! sometimes their memory, grows with the square of the count. So such operations
//! weigh more, in proportion to what a thousand of them take.

use super::rounds::has_different_rounds;
use crate::host::power::ExactPower;
use crate::host::{Builtin, Intrinsic};
use crate::name::Name;
use crate::processor::Processor;
use crate::sema::checked::{CheckedFunction, CheckedNode};
use crate::syntax::operator::BinaryOp;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Functions that cost more, in operations of straight-line code, are not
/// optimised. What is just below takes about two seconds and 250 MB at most.
const BUDGET: usize = 30_000;

/// The same for functions that take or pass more arguments at once.
const MANY_ARGUMENTS: u32 = 1024;

/// What a branch weighs.
const BRANCH: usize = 20;

/// What a loop weighs, and for each loop that it is inside of.
const LOOP: (usize, usize) = (40, 6);

/// What an assignment to a variable of the context weighs.
const WRITE: usize = 40;

/// What a value weighs that is passed to a function or comes back.
const PASSED: usize = 3;

/// What any other operation weighs in a loop.
const REPEATED: usize = 2;

/// Up to this number of operations, a function over columns is short, if it has no more than the
/// second number with a copy of what it calls for each of its calls.
const SHORT: (usize, usize) = (100, 1000);

/// Up to this number of operations, a function over columns takes no more time than its rows take to come
/// from the nearest cache and to get there.
const FEW: usize = 24;

/// Returns whether the values of a function over columns, with what is inlined, mostly find room in
/// registers: then several vectors are computed together, in LLVM's order. What is longer is left
/// in its own order: LLVM would compare first, as far as it can, and keep the masks in memory,
/// which takes up to three times as long, also to compile. Callees come before their callers.
pub fn is_short(function: &CheckedFunction, inlined: &[Arc<CheckedFunction>]) -> bool {
    let (once, all) = operations(function, inlined);
    once <= SHORT.0 && all <= SHORT.1
}

/// Returns whether a function over columns has so few operations, none of them repeated, that it waits for the
/// caches to read and write its rows. Callees come before their callers.
pub(super) fn waits_for_caches(function: &CheckedFunction, inlined: &[Arc<CheckedFunction>]) -> bool {
    operations(function, inlined).1 <= FEW && !may_loop(function, inlined)
}

/// Returns how many operations a function has with those of all functions that are inlined, and how many
/// with a copy of a function for each of its calls. Callees come before their callers.
fn operations(function: &CheckedFunction, inlined: &[Arc<CheckedFunction>]) -> (usize, usize) {
    let mut copied = FxHashMap::default();
    let (mut once, mut all) = (0_usize, 0);
    for function in inlined.iter().map(|inlined| &**inlined).chain([function]) {
        once = once.saturating_add(function.nodes.len());
        all = function.size_with_copies(|name| copied.get(&name).copied());
        copied.insert(function.name, all);
    }
    (once, all)
}

/// Returns how many rows code over columns of a function computes at once on a processor. If lanes wait
/// for others in a loop, there are fewer. Callees come before their callers.
pub fn lanes(
    function: &CheckedFunction,
    inlined: &[Arc<CheckedFunction>],
    builtins: &[(Name, Builtin)],
    processor: Processor,
) -> u32 {
    let may_be_many = is_short(function, inlined) && !has_different_rounds(function, inlined);
    processor.lanes(may_be_many, calls_library(function, inlined, builtins))
}

/// Returns whether a function over columns calls the library, where no instructions do what is called.
pub(super) fn calls_library(
    function: &CheckedFunction,
    inlined: &[Arc<CheckedFunction>],
    builtins: &[(Name, Builtin)],
) -> bool {
    let has_power = |function: &CheckedFunction| {
        let is_power = |pair: &&[CheckedNode]| pair[1] == CheckedNode::Binary(BinaryOp::Power);
        function.nodes.windows(2).filter(is_power).any(|pair| {
            let CheckedNode::Number(index) = pair[0] else { return true };
            let exponent = function.numbers.get(index as usize).copied();
            exponent.and_then(ExactPower::of).is_none()
        })
    };
    let is_call = |builtin: &Builtin| match builtin {
        Builtin::Instruction(_) => false,
        Builtin::Call(function) => !BY_INSTRUCTIONS.contains(&function.text()),
    };
    let mut functions = inlined.iter().map(|inlined| &**inlined).chain([function]);
    builtins.iter().any(|(_, builtin)| is_call(builtin)) || functions.any(has_power)
}

/// The functions of the library for which code over columns has instructions.
const BY_INSTRUCTIONS: &[&str] =
    &["fma", "rint", "nearbyint", "sign", "fmax", "max", "fmin", "min", "fdim", "mod"];

/// Returns whether a function is compiled at the lowest level, whatever is asked
/// for.
pub fn is_large(function: &CheckedFunction) -> bool {
    let passed = function.callees.iter().map(|callee| callee.arity);
    cost(function) > BUDGET || passed.chain([function.arity()]).any(|arity| arity > MANY_ARGUMENTS)
}

/// Returns what it costs to optimise a function, in operations of straight-line
/// code.
pub fn cost(function: &CheckedFunction) -> usize {
    // Each branch and loop may have to merge the values of all of them.
    let merged = assigned(function);
    let mut depth = 0_usize;
    let mut weight = |node: &CheckedNode| match node {
        CheckedNode::Then | CheckedNode::ShortCircuit(_) => BRANCH + merged,
        CheckedNode::ForVariable(_) => {
            depth += 1;
            LOOP.0 + LOOP.1 * depth + merged
        }
        CheckedNode::For => {
            depth = depth.saturating_sub(1);
            REPEATED
        }
        CheckedNode::SetVariable(_) => WRITE,
        CheckedNode::Call(index) => {
            PASSED * (1 + function.callees.get(*index as usize).map_or(0, |callee| callee.arity as usize))
        }
        CheckedNode::Binary(BinaryOp::Remainder | BinaryOp::Power) => PASSED * 3,
        CheckedNode::Number(_)
        | CheckedNode::Local(_)
        | CheckedNode::Variable(_)
        | CheckedNode::SetLocal(_)
        | CheckedNode::Unary(_)
        | CheckedNode::Binary(_)
        | CheckedNode::Else
        | CheckedNode::If
        | CheckedNode::ForCondition
        | CheckedNode::ForStep
        | CheckedNode::Bind(_) => 1 + usize::from(depth > 0) * (REPEATED - 1),
    };
    function.nodes.iter().map(&mut weight).sum()
}

/// Returns whether the code of a function may have loops: its own, those of what
/// is inlined into it, or those that recursion is turned into.
pub fn may_loop(function: &CheckedFunction, inlined: &[Arc<CheckedFunction>]) -> bool {
    let is_loop = |node: &CheckedNode| matches!(node, CheckedNode::For);
    let mut parts = inlined.iter().map(|inlined| &**inlined).chain([function]);
    parts.any(|part| {
        part.callees.iter().any(|callee| callee.name == function.name) || part.nodes.iter().any(is_loop)
    })
}

/// Returns whether a function may run faster on processors with more features, by more than a few
/// shorter instructions: its code may have loops, or rounds numbers, which a call does where
/// no instruction does.
pub fn gains_from_features(
    function: &CheckedFunction,
    inlined: &[Arc<CheckedFunction>],
    builtins: &[(Name, Builtin)],
) -> bool {
    let rounds = |(_, builtin): &(Name, Builtin)| match builtin {
        Builtin::Instruction(intrinsic) => {
            matches!(intrinsic, Intrinsic::Floor | Intrinsic::Ceil | Intrinsic::Trunc | Intrinsic::Fmod)
        }
        Builtin::Call(function) => ["fma", "mod", "rint", "nearbyint"].contains(&function.text()),
    };
    let is_remainder = |node: &CheckedNode| matches!(node, CheckedNode::Binary(BinaryOp::Remainder));
    let mut parts = inlined.iter().map(|inlined| &**inlined).chain([function]);
    may_loop(function, inlined)
        || builtins.iter().any(rounds)
        || parts.any(|part| part.nodes.iter().any(is_remainder))
}

/// Returns whether the code of a function may use nothing of its context, and consist of instructions
/// that can say how they round: it has no loops, variables or calls, but for what is inlined or is
/// an instruction.
pub fn may_round_statically(
    function: &CheckedFunction,
    inlined: &[Arc<CheckedFunction>],
    builtins: &[(Name, Builtin)],
) -> bool {
    let is_instruction = |name: Name| {
        let builtin = builtins.iter().find(|(known, _)| *known == name).map(|(_, builtin)| *builtin);
        matches!(builtin, Some(Builtin::Instruction(instruction)) if instruction != Intrinsic::Fmod)
    };
    let is_there = |name: Name| inlined.iter().any(|part| part.name == name) || is_instruction(name);
    let mut parts = inlined.iter().map(|inlined| &**inlined).chain([function]);
    !may_loop(function, inlined)
        && parts.all(|part| {
            let uses_context = |node: &CheckedNode| {
                matches!(
                    node,
                    CheckedNode::Variable(_)
                        | CheckedNode::SetVariable(_)
                        | CheckedNode::Binary(BinaryOp::Remainder)
                )
            };
            part.callees.iter().all(|callee| is_there(callee.name)) && !part.nodes.iter().any(uses_context)
        })
}

/// Returns how many locals are assigned after they are bound.
fn assigned(function: &CheckedFunction) -> usize {
    let locals = function.nodes.iter().filter_map(|node| match node {
        CheckedNode::SetLocal(local) => Some(*local),
        _ => None,
    });
    locals.collect::<FxHashSet<u32>>().len()
}
