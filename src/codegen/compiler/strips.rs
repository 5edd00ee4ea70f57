//! Strip mining: which loops compute what in strips.
//!
//! What an iteration computes from the loop's counter and from what no iteration changes, it can
//! compute before its turn. So a loop is cut into *strips* of iterations: first the *parts* of all
//! of them are computed, many at once, by the wide lowering; then they run one after the other, in
//! the order of the program, with what was computed. A sum is added up in the same order as ever,
//! so the results are equal to the bit, and a part may have branches, calls and loops of its own.
//! It is loop distribution followed by vectorisation (Allen and Kennedy, "Optimizing Compilers for
//! Modern Architectures", 2001), for what LLVM's vectoriser leaves alone: sums of doubles in order,
//! counters that are doubles, calls, and loops that end by data.

mod calls;
mod expressions;

use crate::host::Builtin;
use crate::name::Name;
use crate::sema::checked::{CheckedFunction, CheckedNode, variables_of};
use crate::syntax::operator::BinaryOp;
use calls::Summary;
use expressions::{Expression, Expressions, LoopNodes};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use std::sync::Arc;

pub(super) use calls::DirectCalls;

/// A loop that runs in strips.
pub(super) struct Strips {
    /// The node that first sets the counter.
    pub(super) node: usize,
    /// How the counter is compared with the bound, up to which the loop goes on.
    pub(super) comparison: BinaryOp,
    pub(super) bound: Range<usize>,
    pub(super) step: Range<usize>,
    pub(super) body: Range<usize>,
    /// What the step is to be multiplied by to be a whole number, as that of the first iteration may
    /// be, too: then sums are exact, and all values of the counter are computed at once. 0 if it is
    /// never one.
    pub(super) scale: f64,
    /// Whether strips are worth it only if they are.
    pub(super) is_light: bool,
    /// How many iterations must be left.
    pub(super) least: u32,
    /// What is computed ahead, in the order of the source.
    pub(super) parts: Vec<StripPart>,
}

/// An expression that is computed for a strip at once.
pub(super) struct StripPart {
    /// The nodes of it in the body.
    pub(super) nodes: Range<usize>,
    /// A function of the arguments that computes it.
    pub(super) function: Arc<CheckedFunction>,
    pub(super) arguments: Vec<PartArgument>,
    /// The functions that it calls, each after those it calls itself, and those of the library.
    pub(super) inline: Vec<Arc<CheckedFunction>>,
    pub(super) builtins: Vec<(Name, Builtin)>,
    /// Whether it may run for long.
    has_loop: bool,
    weight: usize,
}

impl StripPart {
    /// Returns the variables of the context whose values its code is given.
    pub(super) fn variables(&self) -> Vec<Name> {
        variables_of(self.inline.iter().map(|inlined| &**inlined).chain([&*self.function]))
    }
}

/// What a part is computed from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum PartArgument {
    /// The counter of the loop, in each iteration.
    Counter,
    /// What an earlier part has computed, in each iteration.
    Part(usize),
    /// A local of the function that no iteration changes.
    Local(u32),
}

/// The most parameters of a part: each has a bit.
const MOST_ARGUMENTS: usize = 60;

/// The most loops of a function that run in strips.
const MOST_LOOPS: usize = 8;

/// The most parts of a loop.
const MOST_PARTS: usize = 4;

/// The largest part, in nodes with a copy of a function for each of its calls: its frame fits the
/// stack that is left below the limit.
const LARGEST: usize = 1000;

/// The longest loop that is looked at, in nodes: the search takes the square of it.
const LONGEST: usize = 500;

/// What an expression must weigh to be computed ahead: to store and load the counter and the result
/// takes about as long as this many additions.
const WORTH: usize = 8;

/// What a part must weigh, unless it has a loop, in a function that may recur through slots: the
/// memory for a strip is in its frame, of which a recursion needs many.
const WORTH_A_FRAME: usize = 60;

/// The least iterations of a strip: to enter it takes about as long as they do.
const LEAST_ITERATIONS: u32 = 64;

/// A strip whose parts weigh more, or have loops, may be as short as there are lanes.
const HEAVY: usize = 100;

/// What all parts of a loop must weigh if each value of the counter waits for the one before.
const WORTH_WAITING: usize = 16;

/// The most binary digits after the point of a step whose multiples are computed at once.
const MOST_DIGITS: i32 = 20;

/// Returns the loops of a function that run in strips. A function that recurs has none: it would
/// recur less deeply with the frame that they need.
pub(super) fn strips_of(function: &CheckedFunction, calls: &DirectCalls<'_>) -> Vec<Strips> {
    if !function.has_loop() || calls.recurs(function) {
        return Vec::new();
    }
    let Some(shape) = Expressions::of(function) else { return Vec::new() };
    let search = |lasting| LoopSearch::new(calls, function, &shape, lasting)?.find();
    shape.loops.iter().filter_map(search).take(MOST_LOOPS).collect()
}

/// A search for what a loop can compute ahead.
struct LoopSearch<'a> {
    calls: &'a DirectCalls<'a>,
    function: &'a CheckedFunction,
    shape: &'a Expressions,
    lasting: &'a LoopNodes,
    /// How the condition compares the counter, and with what.
    comparison: BinaryOp,
    bound: Range<usize>,
    /// The locals that the loop assigns.
    locals: FxHashSet<u32>,
    /// The variables that it may assign; all if `None`.
    variables: Option<FxHashSet<Name>>,
    /// Whether the function may recur through slots.
    may_recur: bool,
    parts: Vec<StripPart>,
    /// The parts that are bound to locals, by their [`CheckedNode::Bind`].
    columns: FxHashMap<usize, usize>,
}

impl<'a> LoopSearch<'a> {
    /// Returns a search, unless the loop is too long, or its body changes the counter or what the
    /// condition and the step depend on.
    fn new(
        calls: &'a DirectCalls<'a>,
        function: &'a CheckedFunction,
        shape: &'a Expressions,
        lasting: &'a LoopNodes,
    ) -> Option<Self> {
        let LoopNodes { node, condition, step, end, .. } = *lasting;
        if end - node > LONGEST || shape.assigned.contains(&node) {
            return None;
        }
        let (comparison, bound) = bound(function, shape, lasting)?;
        let may_recur = function.callees.iter().any(|callee| calls.leads_out((callee.name, callee.arity)));
        let mut search = Self {
            calls,
            function,
            shape,
            lasting,
            comparison,
            bound,
            locals: FxHashSet::default(),
            variables: Some(calls.assigned.clone()),
            may_recur,
            parts: Vec::new(),
            columns: FxHashMap::default(),
        };
        for node in &function.nodes[node..end] {
            match *node {
                CheckedNode::SetLocal(local) => _ = search.locals.insert(local),
                CheckedNode::SetVariable(name) => {
                    search.variables.iter_mut().for_each(|variables| _ = variables.insert(name));
                }
                CheckedNode::Call(index) => {
                    let callee = function.callees[index as usize];
                    if calls.leads_out((callee.name, callee.arity)) {
                        search.variables = None;
                    }
                }
                _ => {}
            }
        }
        let is_plain = |at: usize| match function.nodes[at] {
            CheckedNode::Number(_) | CheckedNode::Unary(_) => true,
            CheckedNode::Binary(op) => !op.short_circuits(),
            CheckedNode::Local(local) => search.is_unchanged(at, local),
            CheckedNode::Variable(name) => search.is_kept(name),
            _ => false,
        };
        search.bound.clone().chain(condition + 1..step).all(is_plain).then_some(search)
    }

    /// Returns whether no iteration changes a variable of the context.
    fn is_kept(&self, name: Name) -> bool {
        self.variables.as_ref().is_some_and(|assigned| !assigned.contains(&name))
    }

    /// Returns whether the local that a node reads is from outside of the loop, and no iteration
    /// assigns it.
    fn is_unchanged(&self, at: usize, local: u32) -> bool {
        let declared = self.shape.declared_at[at];
        let is_outside = declared < self.lasting.node || declared == self.function.nodes.len();
        // A local has no other meaning inside while it is visible.
        is_outside && !self.locals.contains(&local)
    }

    /// Returns how the loop runs in strips, if it can compute enough ahead.
    fn find(mut self) -> Option<Strips> {
        self.look_at(self.lasting.body, true, &[]);
        let Self { function, comparison, bound, parts, variables, .. } = self;
        let LoopNodes { node, condition, step, end, .. } = *self.lasting;
        let is_in_part = |at: usize| parts.iter().any(|part| part.nodes.contains(&at));
        let is_loop = |at: usize| function.nodes[at] == CheckedNode::For;
        let has_other_loop = (step + 1..end).any(|at| is_loop(at) && !is_in_part(at));
        // Calls may print: what runs for long waits for its turn, so that it can be stopped then.
        let may_wait = variables.is_none() && parts.iter().any(|part| part.has_loop);
        if parts.is_empty() || has_other_loop || may_wait {
            return None;
        }
        let scale = match function.nodes[condition + 1..step] {
            [CheckedNode::Number(index)] => scale(function.numbers[index as usize]),
            _ => 1.0,
        };
        let weight = parts.iter().map(|part| part.weight).sum::<usize>();
        let is_light = weight < WORTH_WAITING;
        let is_heavy = weight >= HEAVY || parts.iter().any(|part| part.has_loop);
        let least = if is_heavy { 0 } else { LEAST_ITERATIONS };
        let (step, body) = (condition + 1..step, step + 1..end);
        (scale > 0.0 || !is_light).then_some(Strips {
            node,
            comparison,
            bound,
            step,
            body,
            scale,
            is_light,
            least,
            parts,
        })
    }

    /// Adds the largest parts in an expression of the body, with or without what is bound before
    /// its first operand. It recurs as deeply as a loop of [`LONGEST`] nodes is nested.
    fn look_at(&mut self, expression: usize, with_before: bool, guards: &[Guard]) {
        let shape = self.shape;
        let Expression { start, core, end, before, operands } = &shape.expressions[expression];
        if with_before && start < core {
            if self.add(*start..*end, guards) {
                return;
            }
            before.iter().for_each(|bound| self.look_at(*bound, true, guards));
        }
        if self.add(*core..*end, guards) {
            return;
        }
        for (place, operand) in operands.iter().enumerate() {
            let needed_if = match (self.function.nodes[*end - 1], place) {
                (CheckedNode::If | CheckedNode::Binary(BinaryOp::And), 1) => Some(true),
                (CheckedNode::If, 2) | (CheckedNode::Binary(BinaryOp::Or), 1) => Some(false),
                _ => None,
            };
            let guard = needed_if.map(|needed_if| Guard { condition: operands[0], needed_if });
            let guards: Vec<Guard> = guards.iter().copied().chain(guard).collect();
            self.look_at(*operand, place > 0, &guards);
        }
    }

    /// Adds some nodes as a part, if they can be computed ahead and are worth it.
    fn add(&mut self, nodes: Range<usize>, guards: &[Guard]) -> bool {
        let most = if self.may_recur { 1 } else { MOST_PARTS };
        if self.parts.len() >= most {
            return false;
        }
        let part = PartBuilder::new(self).part(nodes, guards);
        let is_worth = |part: &StripPart| !self.may_recur || part.has_loop || part.weight >= WORTH_A_FRAME;
        let Some(part) = part.filter(is_worth) else { return false };
        let end = part.nodes.end;
        if let CheckedNode::Bind(_) = self.function.nodes[end]
            && !self.shape.assigned.contains(&end)
        {
            self.columns.insert(end, self.parts.len());
        }
        self.parts.push(part);
        true
    }
}

/// Returns how the condition compares the counter with what; `None` if it does anything else.
fn bound(
    function: &CheckedFunction,
    shape: &Expressions,
    lasting: &LoopNodes,
) -> Option<(BinaryOp, Range<usize>)> {
    let LoopNodes { node, condition, decision, .. } = *lasting;
    let CheckedNode::Binary(op) = function.nodes[condition - 1] else { return None };
    let expressions = &shape.expressions;
    let whole = &expressions[decision];
    let [left, right] = whole.operands[..] else { return None };
    let (left, right) = (&expressions[left], &expressions[right]);
    let is_counter =
        |operand: &Expression| operand.end - operand.start == 1 && shape.declared_at[operand.start] == node;
    let (op, bound) = if is_counter(left) {
        (op, right)
    } else if is_counter(right) {
        (mirrored(op), left)
    } else {
        return None;
    };
    let compares =
        matches!(op, BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual);
    compares.then_some((op, bound.start..bound.end))
}

/// A condition under which an expression is needed.
#[derive(Clone, Copy)]
struct Guard {
    /// Its expression.
    condition: usize,
    needed_if: bool,
}

/// Returns the power of 2 by which a step is to be multiplied to be a whole number; 0 if that is a
/// large one.
fn scale(step: f64) -> f64 {
    let mut scales = (0..=MOST_DIGITS).map(|digits| f64::powi(2.0, digits));
    scales.find(|scale| (step * scale).fract() == 0.0).unwrap_or(0.0)
}

/// Returns the operator that compares so with its operands exchanged.
fn mirrored(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessEqual => BinaryOp::GreaterEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterEqual => BinaryOp::LessEqual,
        op => op,
    }
}

/// A part in progress.
struct PartBuilder<'s, 'a> {
    search: &'s LoopSearch<'a>,
    arguments: Vec<PartArgument>,
    /// The nodes that bind what is computed again, from the body.
    copied: Vec<usize>,
    summary: Summary,
}

impl<'s, 'a> PartBuilder<'s, 'a> {
    fn new(search: &'s LoopSearch<'a>) -> Self {
        Self { search, arguments: Vec::new(), copied: Vec::new(), summary: Summary::default() }
    }

    /// Returns a part that computes some nodes, if they can be computed ahead and are worth it.
    fn part(mut self, nodes: Range<usize>, guards: &[Guard]) -> Option<StripPart> {
        self.collect(nodes.clone())?;
        let depends = self.arguments.iter().any(|argument| !matches!(argument, PartArgument::Local(_)));
        let weight = self.summary.weight;
        // What waits for a condition that waits for its turn would often be computed for nothing.
        for guard in guards {
            let condition = &self.search.shape.expressions[guard.condition];
            self.collect(condition.core..condition.end)?;
        }
        let Summary { size, has_loop, ref variables, .. } = self.summary;
        let is_kept = variables.iter().all(|name| self.search.is_kept(*name));
        if !depends || weight < WORTH || size > LARGEST || !is_kept || self.arguments.len() > MOST_ARGUMENTS {
            return None;
        }
        let (function, calls) = (self.function(nodes.clone(), guards), self.search.calls);
        let called = |function: &CheckedFunction| {
            let calls = function.nodes.iter().filter_map(|node| match node {
                CheckedNode::Call(index) => function.callees.get(*index as usize),
                _ => None,
            });
            calls.map(|callee| (callee.name, callee.arity)).collect::<Vec<_>>()
        };
        let mut reached: FxHashSet<(Name, u32)> = called(&function).into_iter().collect();
        let mut inline = Vec::new();
        // Callers come after their callees.
        for callee in calls.inlined.iter().rev() {
            if reached.contains(&(callee.name, callee.arity())) {
                reached.extend(called(callee));
                inline.push(callee.clone());
            }
        }
        inline.reverse();
        let builtins = calls.builtins.iter().filter(|(name, of)| reached.contains(&(*name, of.arity())));
        let (function, arguments, builtins) =
            (Arc::new(function), self.arguments, builtins.copied().collect());
        Some(StripPart { nodes, function, arguments, inline, builtins, has_loop, weight })
    }

    /// Takes note of what some nodes need; returns `None` if they cannot be computed ahead.
    fn collect(&mut self, nodes: Range<usize>) -> Option<()> {
        let LoopSearch { calls, function, shape, lasting, columns, .. } = self.search;
        self.summary.add(calls.summary(function, nodes.clone())?);
        for at in nodes.clone() {
            match function.nodes[at] {
                CheckedNode::Local(local) => {
                    let declared = shape.declared_at[at];
                    if nodes.contains(&declared) {
                        continue;
                    }
                    let argument = if declared == lasting.node {
                        PartArgument::Counter
                    } else if let Some(part) = columns.get(&declared) {
                        PartArgument::Part(*part)
                    } else if self.search.is_unchanged(at, local) {
                        PartArgument::Local(local)
                    } else {
                        self.copy(declared)?;
                        continue;
                    };
                    if !self.arguments.contains(&argument) {
                        self.arguments.push(argument);
                    }
                }
                CheckedNode::SetLocal(_) if !nodes.contains(&shape.declared_at[at]) => return None,
                // What is declared inside, but read after it, must be there.
                CheckedNode::Bind(_) | CheckedNode::ForVariable(_)
                    if shape.last_use.get(&at).is_some_and(|last| *last >= nodes.end) =>
                {
                    return None;
                }
                _ => {}
            }
        }
        Some(())
    }

    /// Takes note that what a node of the body binds is to be computed again.
    fn copy(&mut self, declared: usize) -> Option<()> {
        let shape = self.search.shape;
        if self.copied.contains(&declared) {
            return Some(());
        }
        let bound = &shape.expressions[*shape.bound.get(&declared)?];
        if shape.assigned.contains(&declared) {
            return None;
        }
        self.collect(bound.core..bound.end)?;
        self.copied.push(declared);
        Some(())
    }

    /// Returns the place of the argument that a node reads, which declares nothing inside of the part.
    fn place(&self, local: u32, declared: usize) -> Option<u32> {
        let LoopSearch { lasting, columns, .. } = self.search;
        let is_it = |argument: &PartArgument| match argument {
            PartArgument::Counter => declared == lasting.node,
            PartArgument::Part(part) => columns.get(&declared) == Some(part),
            PartArgument::Local(other) => *other == local && !(lasting.node..lasting.end).contains(&declared),
        };
        self.arguments.iter().position(is_it).map(|place| place as u32)
    }

    /// Returns the function of the arguments that computes some nodes where all guards need them,
    /// and 0 elsewhere.
    fn function(&self, nodes: Range<usize>, guards: &[Guard]) -> CheckedFunction {
        let LoopSearch { function, shape, .. } = self.search;
        let arity = self.arguments.len() as u32;
        let (mut locals, mut count) = (FxHashMap::<usize, u32>::default(), arity);
        let mut copied = self.copied.clone();
        copied.sort_unstable();
        let copied = copied.into_iter().flat_map(|binding| {
            let bound = &shape.expressions[shape.bound[&binding]];
            (bound.core..bound.end).chain([binding])
        });
        let zero = CheckedNode::Number(function.numbers.len() as u32);
        let mut all: Vec<(usize, CheckedNode)> = copied.map(|at| (at, function.nodes[at])).collect();
        // What a guard has put there does not depend on the place.
        let added = |node| (nodes.start, node);
        for guard in guards {
            let condition = &shape.expressions[guard.condition];
            all.extend((condition.core..condition.end).map(|at| (at, function.nodes[at])));
            all.push(added(CheckedNode::Then));
            if !guard.needed_if {
                all.extend([added(zero), added(CheckedNode::Else)]);
            }
        }
        all.extend(nodes.clone().map(|at| (at, function.nodes[at])));
        for guard in guards.iter().rev() {
            if guard.needed_if {
                all.extend([added(CheckedNode::Else), added(zero)]);
            }
            all.push(added(CheckedNode::If));
        }
        let mut made = Vec::with_capacity(all.len());
        for (at, node) in all {
            let declared = shape.declared_at[at];
            let known = |locals: &FxHashMap<usize, u32>| locals.get(&declared).copied();
            let mut declare = || {
                locals.insert(at, count);
                count += 1;
                count - 1
            };
            made.push(match node {
                CheckedNode::Local(local) => {
                    CheckedNode::Local(known(&locals).or_else(|| self.place(local, declared)).unwrap_or(0))
                }
                CheckedNode::SetLocal(_) => CheckedNode::SetLocal(known(&locals).unwrap_or(0)),
                CheckedNode::Bind(_) => CheckedNode::Bind(declare()),
                CheckedNode::ForVariable(_) => CheckedNode::ForVariable(declare()),
                node => node,
            });
        }
        CheckedFunction {
            parameters: vec![function.name; arity as usize].into(),
            locals: count,
            nodes: made.into(),
            scope_ends: Box::default(),
            numbers: function.numbers.iter().copied().chain([0.0]).collect(),
            ..CheckedFunction::clone(function)
        }
    }
}
