//! Branches and loops, safepoint polls, and what happens rarely.

use super::{ACCUMULATOR, OTHER, Walk, WalkResult, missing};
use crate::abi::{self, REGISTERS, Symbol};
use crate::baseline::assembler::{ADDSD, JumpCondition, MachineOperand, Place, Register};
use crate::baseline::constructs::{CodeConstruct, Loop, Rare, RareEvent};
use crate::baseline::values::WaitingValue;
use crate::sema::checked::CheckedNode;
use crate::syntax::operator::BinaryOp;
use rustc_hash::FxHashSet;

/// After how many iterations a loop that calls functions reports at first, where others do after
/// [`MANY_ITERATIONS`] or more: one of its iterations may take as long as all of theirs.
const FIRST_ITERATIONS: u32 = 8;
const MANY_ITERATIONS: u32 = 1000;

impl Walk<'_> {
    /// Compiles a safepoint poll: compares the stack pointer with the limit of the
    /// context.
    pub(super) fn poll(&mut self) {
        if cfg!(feature = "unchecked") {
            return;
        }
        let mut enter = Vec::new();
        if self.options.counts_fuel {
            self.code.decrement(Register::Rbx, abi::FUEL as i32);
            enter.push(self.code.jump_if(JumpCondition::Sign));
        }
        self.code.compare_word(Register::Rsp, Register::Rbx, 0);
        enter.push(self.code.jump_if(JumpCondition::Below));
        let back = self.code.here();
        self.rare.push(Rare { enter, back, what: RareEvent::Stop });
    }

    /// Compiles the count of calls.
    pub(super) fn count_call(&mut self, most: u32) {
        let names = self.names;
        let name = names.text(self.function.name);
        self.code.count_in_context(Symbol::Counter(&name, self.function.arity()), most);
        let enter = vec![self.code.jump_if(JumpCondition::Equal)];
        let back = self.code.here();
        self.rare.push(Rare { enter, back, what: RareEvent::Hot });
    }

    // --- branches -------------------------------------------------------------

    pub(super) fn begin_short_circuit(&mut self, op: BinaryOp) -> WalkResult<()> {
        let left = self.pop_truth()?;
        self.settle();
        let decided = left.branch(&mut self.code, op == BinaryOp::Or);
        self.open.push(CodeConstruct::ShortCircuit { op, decided });
        self.values.push(WaitingValue::Undecided);
        Ok(())
    }

    pub(super) fn end_short_circuit(&mut self) -> WalkResult<()> {
        let mut truth = self.pop_truth()?;
        let (Some(CodeConstruct::ShortCircuit { op, decided }), WaitingValue::Undecided) =
            (self.open.pop(), self.pop()?)
        else {
            return Err(missing());
        };
        if op == BinaryOp::Or { &mut truth.when_true } else { &mut truth.when_false }.extend(decided);
        self.push_truth(truth);
        Ok(())
    }

    pub(super) fn then(&mut self) -> WalkResult<()> {
        let truth = self.pop_truth()?;
        self.settle();
        let otherwise = truth.branch(&mut self.code, false);
        self.open.push(CodeConstruct::Then(otherwise));
        Ok(())
    }

    pub(super) fn otherwise(&mut self) -> WalkResult<()> {
        let Some(CodeConstruct::Then(otherwise)) = self.open.pop() else { return Err(missing()) };
        let value = self.pop()?;
        self.load(ACCUMULATOR, value)?;
        let end = self.code.jump();
        self.code.bind(otherwise);
        self.open.push(CodeConstruct::Else(end));
        Ok(())
    }

    pub(super) fn end_if(&mut self) -> WalkResult<()> {
        let Some(CodeConstruct::Else(end)) = self.open.pop() else { return Err(missing()) };
        let value = self.pop()?;
        self.load(ACCUMULATOR, value)?;
        self.code.bind([end]);
        self.push_accumulator();
        Ok(())
    }

    // --- loops ----------------------------------------------------------------

    pub(super) fn begin_loop(&mut self, variable: u32) -> WalkResult<()> {
        let start = self.pop()?;
        self.store_local(variable, start)?;
        self.settle();
        if let Some(most) = self.hot_after.filter(|most| *most >= MANY_ITERATIONS)
            && self.with_calls.contains(&self.at)
        {
            let iterations = self.frame.iterations();
            self.code.set_memory(Register::Rbp, iterations, most - FIRST_ITERATIONS);
        }
        let height = self.values.len();
        self.values.push(WaitingValue::Step);
        let enter = self.code.jump();
        let here = self.code.here();
        self.open.push(CodeConstruct::Loop(Loop {
            node: self.at,
            variable,
            height,
            enter,
            condition: here,
            decision: None,
            step: here,
            body: here,
        }));
        Ok(())
    }

    /// Returns the loops, by their [`CheckedNode::ForVariable`], that call functions, which may take
    /// long.
    pub(super) fn loops_with_calls(&self) -> FxHashSet<usize> {
        let (mut found, mut open) = (FxHashSet::default(), Vec::new());
        for (at, node) in self.function.nodes.iter().enumerate() {
            match node {
                CheckedNode::ForVariable(_) => open.push((at, false)),
                CheckedNode::Call(index) if self.is_call(*index) => {
                    if let Some((_, calls)) = open.last_mut() {
                        *calls = true;
                    }
                }
                CheckedNode::For => {
                    if let Some((begin, true)) = open.pop() {
                        found.insert(begin);
                        if let Some((_, calls)) = open.last_mut() {
                            *calls = true;
                        }
                    }
                }
                _ => {}
            }
        }
        found
    }

    fn innermost_loop(&mut self) -> WalkResult<&mut Loop> {
        match self.open.last_mut() {
            Some(CodeConstruct::Loop(innermost)) => Ok(innermost),
            _ => Err(missing()),
        }
    }

    pub(super) fn loop_condition(&mut self) -> WalkResult<()> {
        let truth = self.pop_truth()?;
        let leave = truth.branch(&mut self.code, false);
        let go_on = self.code.jump();
        let here = self.code.here();
        let innermost = self.innermost_loop()?;
        innermost.decision = Some((leave, go_on));
        innermost.step = here;
        Ok(())
    }

    pub(super) fn loop_step(&mut self) -> WalkResult<()> {
        let step = self.pop()?;
        let operand = self.operand(&step, self.values.len())?;
        let &mut Loop { height, condition, .. } = self.innermost_loop()?;
        let place = self.frame.value(height);
        self.copy(operand, Register::Rbp, place);
        self.code.jump_to(condition);
        let here = self.code.here();
        self.innermost_loop()?.body = here;
        Ok(())
    }

    pub(super) fn end_loop(&mut self) -> WalkResult<()> {
        self.pop()?;
        self.poll();
        let Some(CodeConstruct::Loop(innermost)) = self.open.pop() else { return Err(missing()) };
        let Loop { node, variable, height, enter, decision, step, body, .. } = innermost;
        let (leave, go_on) = decision.ok_or_else(missing)?;
        self.code.jump_to(step);
        self.code.bind([go_on]);
        let (variable, step) = (self.frame.local(variable), self.frame.value(height));
        self.code.load(OTHER, MachineOperand::At(Register::Rbp, variable));
        self.code.vector(ADDSD, OTHER, MachineOperand::At(Register::Rbp, step));
        self.code.store(Register::Rbp, variable, OTHER);
        self.pop()?;
        self.count_iteration(node);
        self.code.jump_to(body);
        self.code.bind_to(enter, body);
        self.code.bind(leave);
        self.code.zero(ACCUMULATOR);
        self.push_accumulator();
        Ok(())
    }

    /// Compiles the count of an iteration of the loop of a node, which leaves the loop once
    /// there is OSR code to go on in. The code for that grows with the number of values
    /// that are passed on: with hundreds of loops and locals, some loops stay here.
    fn count_iteration(&mut self, node: usize) {
        let passed = self.function.locals as usize + self.values.len();
        let Some(room) = self.room.as_mut().filter(|room| passed <= **room) else { return };
        *room -= passed;
        let Some(most) = self.hot_after else { return };
        let iterations = self.frame.iterations();
        self.code.count(Register::Rbp, iterations, most.max(1));
        let enter = vec![self.code.jump_if(JumpCondition::Equal)];
        let back = self.code.here();
        let known = |(height, value): (usize, &WaitingValue)| Some((value.again()?, height));
        let step = |open: &CodeConstruct| match open {
            CodeConstruct::Loop(Loop { decision: None, height, .. }) => Some((WaitingValue::Step, *height)),
            _ => None,
        };
        let live = self.values.iter().enumerate().filter_map(known);
        let live = live.chain(self.open.iter().filter_map(step)).collect();
        self.rare.push(Rare { enter, back, what: RareEvent::HotLoop { node, live } });
    }

    // --- what happens rarely ----------------------------------------------------

    /// Appends the code for what happens rarely.
    pub(super) fn append_rare(&mut self) -> WalkResult<()> {
        for Rare { enter, back, what } in std::mem::take(&mut self.rare) {
            self.code.bind(enter);
            match what {
                RareEvent::Stop => {
                    self.call_runtime(abi::STOP);
                    self.code.jump_to(back);
                }
                RareEvent::Hot => {
                    let names = self.names;
                    let name = names.text(self.function.name);
                    self.code.clear_in_context(Symbol::Counter(&name, self.function.arity()));
                    self.call_runtime(abi::HOT);
                    self.code.jump_to(back);
                }
                RareEvent::HotLoop { node, live } => self.leave_loop(back, node, live)?,
            }
        }
        Ok(())
    }

    /// Calls a routine of the runtime, given by its offset in the header.
    fn call_runtime(&mut self, routine: usize) {
        self.code.copy_word(Register::Rdi, Register::Rbx);
        self.code.call_at(Register::Rbx, routine as i32);
    }

    /// Asks for OSR code, and calls it if it is ready, with the locals and the values that
    /// are live: its result is that of the function. Else it asks again when it is told to.
    fn leave_loop(&mut self, back: Place, node: usize, live: Vec<(WaitingValue, usize)>) -> WalkResult<()> {
        self.code.set(Register::Rsi, node as u32);
        self.code.set(Register::Rdx, live.len() as u32);
        self.call_runtime(abi::HOT_LOOP);
        self.code.test_word(Register::Rax);
        let ready = self.code.jump_if(JumpCondition::NotEqual);
        let most = self.hot_after.unwrap_or(0).max(1);
        self.code.subtract_from(most, Register::Rdx);
        self.code.store_half(Register::Rbp, self.frame.iterations(), Register::Rdx);
        self.code.jump_to(back);
        self.code.bind([ready]);
        self.code.copy_word(Register::Rsi, Register::Rax);
        let locals = (0..self.function.locals).map(|local| (WaitingValue::Local(local), 0));
        for (index, (value, height)) in locals.chain(live).enumerate() {
            let operand = self.operand(&value, height)?;
            if let Some(index) = index.checked_sub(REGISTERS) {
                let place = self.frame.outgoing(index);
                self.copy(operand, Register::Rsp, place);
            } else {
                self.code.load(index as u8, operand);
            }
        }
        self.code.copy_word(Register::Rdi, Register::Rbx);
        self.code.call_register(Register::Rsi);
        self.epilogue();
        Ok(())
    }
}
