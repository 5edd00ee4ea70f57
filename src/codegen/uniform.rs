//! What is the same in every lane, found before a function is lowered: the locals whose values
//! depend on nothing that differs, and the loops in which all lanes make the same rounds. Such a
//! local is one double, and such a loop needs no mask.
//!
//! This is divergence analysis (Coutinho and others, "Divergence analysis and optimizations",
//! PACT 2011): all is taken to be the same, until a walk over the body finds nothing more that
//! is not.

use crate::sema::checked::{CheckedFunction, CheckedNode};
use rustc_hash::FxHashSet;

/// What of a function is the same in every lane.
#[derive(Default)]
pub(super) struct Uniform {
    locals: Vec<bool>,
    /// The loops, by their [`CheckedNode::ForVariable`], in which lanes make different rounds.
    varying_loops: FxHashSet<usize>,
}

/// A construct that has not ended.
enum UniformConstruct {
    /// Whether the condition is the same in every lane, and the value of the first part.
    Choice {
        condition: bool,
        value: bool,
    },
    Loop {
        at: usize,
        variable: u32,
        is_varying: bool,
    },
}

/// A walk over a body.
struct UniformWalk<'a> {
    found: &'a mut Uniform,
    /// Whether each value is the same in every lane.
    values: Vec<bool>,
    open: Vec<UniformConstruct>,
    /// How many open constructs are such that lanes go different ways.
    varying: usize,
    /// How many there were where each local was bound: in its scope, lanes that have left them
    /// do not see it.
    bound_in: Vec<usize>,
    /// Whether lanes that have left a loop outside of all others may begin it again.
    refills: bool,
    has_changed: bool,
}

impl Uniform {
    /// Returns what is the same in every lane of a function, of whose arguments it is known. A
    /// function whose arguments all are has a result that is: nothing else differs. If lanes that
    /// have left a loop outside of all others may begin it again, as `refills` says, its counter
    /// differs.
    pub(super) fn of(function: &CheckedFunction, arguments: &[bool], refills: bool) -> Self {
        let mut locals = vec![true; function.locals as usize];
        locals.iter_mut().zip(arguments).for_each(|(local, argument)| *local = *argument);
        let mut found = Self { locals, varying_loops: FxHashSet::default() };
        loop {
            let bound_in = vec![0; function.locals as usize];
            let mut walk = UniformWalk {
                found: &mut found,
                values: Vec::new(),
                open: Vec::new(),
                varying: 0,
                bound_in,
                refills,
                has_changed: false,
            };
            for (at, node) in function.nodes.iter().enumerate() {
                walk.node(at, *node, function);
            }
            if !walk.has_changed {
                return found;
            }
        }
    }

    /// Returns whether a local is the same in every lane.
    pub(super) fn is_local(&self, local: u32) -> bool {
        self.locals.get(local as usize).copied().unwrap_or(false)
    }

    /// Returns whether all lanes make the same rounds of the loop that begins at a node.
    pub(super) fn is_loop(&self, at: usize) -> bool {
        !self.varying_loops.contains(&at)
    }
}

impl UniformWalk<'_> {
    fn node(&mut self, at: usize, node: CheckedNode, function: &CheckedFunction) {
        match node {
            CheckedNode::Number(_) | CheckedNode::Variable(_) => self.values.push(true),
            CheckedNode::Local(local) => self.values.push(self.found.is_local(local)),
            CheckedNode::SetLocal(local) => {
                let value = self.values.last().copied().unwrap_or(false);
                let is_by_all = self.bound_in.get(local as usize) == Some(&self.varying);
                self.assign(local, value && is_by_all);
            }
            CheckedNode::SetVariable(_) | CheckedNode::Unary(_) => {}
            CheckedNode::Bind(local) => {
                let value = self.pop();
                self.bind(local, value);
            }
            CheckedNode::ShortCircuit(_) | CheckedNode::Then => {
                let condition = self.pop();
                self.varying += usize::from(!condition);
                self.open.push(UniformConstruct::Choice { condition, value: true });
            }
            CheckedNode::Else => {
                let first = self.pop();
                if let Some(UniformConstruct::Choice { value, .. }) = self.open.last_mut() {
                    *value = first;
                }
            }
            CheckedNode::Binary(op) if op.short_circuits() => self.end_choice(),
            CheckedNode::If => self.end_choice(),
            CheckedNode::Binary(_) => {
                let (right, left) = (self.pop(), self.pop());
                self.values.push(left && right);
            }
            CheckedNode::Call(callee) => {
                let Some(callee) = function.callees.get(callee as usize) else { return };
                let arguments = (0..callee.arity).fold(true, |all, _| self.pop() && all);
                self.values.push(arguments);
            }
            CheckedNode::ForVariable(variable) => {
                let start = self.pop();
                let is_varying = !self.found.is_loop(at);
                self.varying += usize::from(is_varying);
                let is_inside = self.open.iter().any(|outer| matches!(outer, UniformConstruct::Loop { .. }));
                let begins_again = self.refills && is_varying && !is_inside;
                // Lanes that have left the loop do not see it.
                self.bind(variable, start && !begins_again);
                self.open.push(UniformConstruct::Loop { at, variable, is_varying });
            }
            CheckedNode::ForCondition => {
                let condition = self.pop();
                if let (false, Some(UniformConstruct::Loop { at, .. })) = (condition, self.open.last()) {
                    self.has_changed |= self.found.varying_loops.insert(*at);
                }
            }
            CheckedNode::ForStep => {
                let step = self.pop();
                if let Some(UniformConstruct::Loop { variable, .. }) = self.open.last() {
                    self.assign(*variable, step);
                }
            }
            CheckedNode::For => {
                self.pop();
                if let Some(UniformConstruct::Loop { is_varying, .. }) = self.open.pop() {
                    self.varying -= usize::from(is_varying);
                }
                self.values.push(true);
            }
        }
    }

    fn pop(&mut self) -> bool {
        self.values.pop().unwrap_or(false)
    }

    fn end_choice(&mut self) {
        let last = self.pop();
        let Some(UniformConstruct::Choice { condition, value }) = self.open.pop() else { return };
        self.varying -= usize::from(!condition);
        self.values.push(condition && value && last);
    }

    fn bind(&mut self, local: u32, value: bool) {
        if let Some(bound_in) = self.bound_in.get_mut(local as usize) {
            *bound_in = self.varying;
        }
        self.assign(local, value);
    }

    /// Takes note of a value that a local gets.
    fn assign(&mut self, local: u32, value: bool) {
        if let Some(known) = self.found.locals.get_mut(local as usize).filter(|known| **known && !value) {
            *known = false;
            self.has_changed = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Names;
    use crate::syntax::operator::BinaryOp;
    use CheckedNode::{Binary, Bind, For, ForCondition, ForStep, ForVariable, If, Local, Number, SetLocal};

    fn function(locals: u32, nodes: Vec<CheckedNode>) -> CheckedFunction {
        CheckedFunction::of_nodes(Names::new().intern("f"), locals, nodes)
    }

    fn found(function: &CheckedFunction, arguments: &[bool]) -> (Vec<bool>, Vec<usize>) {
        let Uniform { locals, varying_loops } = Uniform::of(function, arguments, false);
        (locals, varying_loops.into_iter().collect())
    }

    /// The nodes of `for l = 0, limit in body`, where `limit` leaves what is compared with `l`.
    fn counting(local: u32, limit: CheckedNode, body: &[CheckedNode]) -> Vec<CheckedNode> {
        let head = [Number(0), ForVariable(local), Local(local), limit, Binary(BinaryOp::Less), ForCondition];
        head.into_iter().chain([Number(1), ForStep]).chain(body.iter().copied()).chain([For]).collect()
    }

    #[test]
    fn a_loop_with_the_same_rounds_in_every_row_is_uniform_whatever_it_computes() {
        // The parameter 0 is added up in the local 2, which is bound before.
        let sum = [Local(2), Local(0), Binary(BinaryOp::Add), SetLocal(2)];
        let nodes = [vec![Number(0), Bind(2)], counting(1, Number(3), &sum)].concat();
        let function = function(3, nodes);
        assert_eq!(found(&function, &[true]), (vec![true; 3], vec![]));
        assert_eq!(found(&function, &[false]), (vec![false, true, false], vec![]));
    }

    #[test]
    fn what_is_bound_outside_of_a_loop_with_different_rounds_differs_if_it_is_assigned_inside() {
        // Inside of the loop up to the parameter 0, the local 2 is bound there, and 3 was before.
        let body = [Number(1), Bind(2), Local(2), Local(1), Binary(BinaryOp::Add), SetLocal(2), SetLocal(3)];
        let nodes = [vec![Number(0), Bind(3)], counting(1, Local(0), &body)].concat();
        let function = function(4, nodes);
        assert_eq!(found(&function, &[true]), (vec![true; 4], vec![]));
        // The counter is the same in all lanes that are in the loop.
        assert_eq!(found(&function, &[false]), (vec![false, true, true, false], vec![3]));
    }

    #[test]
    fn a_loop_that_ends_by_what_differs_from_a_later_round_on_is_none() {
        // for 1 = 0, 1 < 2 in 2 = (if 0 then 1 else 0)
        let choice = [Local(0), CheckedNode::Then, Number(1), CheckedNode::Else, Number(0), If, SetLocal(2)];
        let nodes = [vec![Number(0), Bind(2)], counting(1, Local(2), &choice)].concat();
        let function = function(3, nodes);
        assert_eq!(found(&function, &[false]), (vec![false, true, false], vec![3]));
        assert_eq!(found(&function, &[true]), (vec![true; 3], vec![]));
    }
}
