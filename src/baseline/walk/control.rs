//! Branches and loops, safepoint polls, and what happens rarely.

use super::{ACCUMULATOR, OTHER, Walk, WalkResult, missing};
use crate::abi::{self, REGISTERS, Symbol};
use crate::baseline::assembler::{ADDSD, JumpCondition, MachineOperand, Place, Register};
use crate::baseline::constructs::{CodeConstruct, Loop, LoopDecision, Rare, RareEvent};
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
            self.set_iterations(most - FIRST_ITERATIONS);
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
            is_around_loops: false,
            decision: None,
            next: here,
            body: here,
        }));
        Ok(())
    }

    /// Returns the loops, by their [`CheckedNode::ForVariable`], in which a node is a call of such
    /// a kind.
    pub(super) fn loops_with(&self, is_call: impl Fn(usize) -> bool) -> FxHashSet<usize> {
        let (mut found, mut open) = (FxHashSet::default(), Vec::new());
        for (at, node) in self.function.nodes.iter().enumerate() {
            match node {
                CheckedNode::ForVariable(_) => open.push((at, false)),
                CheckedNode::For => {
                    if let Some((begin, true)) = open.pop() {
                        found.insert(begin);
                        if let Some((_, calls)) = open.last_mut() {
                            *calls = true;
                        }
                    }
                }
                _ if is_call(at) => {
                    if let Some((_, calls)) = open.last_mut() {
                        *calls = true;
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// Returns how much the loops that call nothing use each local: each node counts eight times as
    /// much for each such loop around it.
    pub(super) fn uses_in_loops(&self) -> Vec<u32> {
        let with_calls = self.loops_with(|at| self.calls_out(at));
        let (mut uses, mut open, mut depth) = (vec![0_u32; self.function.locals as usize], Vec::new(), 0_u32);
        for (at, node) in self.function.nodes.iter().enumerate() {
            match node {
                CheckedNode::ForVariable(_) => {
                    let calls_nothing = !with_calls.contains(&at);
                    depth += u32::from(calls_nothing);
                    open.push(calls_nothing);
                }
                CheckedNode::For => depth -= u32::from(open.pop() == Some(true)),
                _ => {}
            }
            let (CheckedNode::Local(local)
            | CheckedNode::SetLocal(local)
            | CheckedNode::Bind(local)
            | CheckedNode::ForVariable(local)) = *node
            else {
                continue;
            };
            if let Some(uses) = uses.get_mut(local as usize).filter(|_| depth > 0) {
                *uses = uses.saturating_add(8_u32.saturating_pow(depth));
            }
        }
        uses
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
        let is_around_loops = self.innermost_loop()?.is_around_loops;
        let step = self.simple_step().filter(|_| !is_around_loops);
        let increment = if step.is_some() { None } else { Some(self.code.jump()) };
        let here = self.code.here();
        let innermost = self.innermost_loop()?;
        innermost.decision = Some(LoopDecision { leave, increment });
        let &mut Loop { node, variable, height, condition, .. } = innermost;
        innermost.next = if step.is_some() { condition } else { here };
        if let Some(step) = step {
            let step = self.operand(&step, height)?;
            self.increment(node, variable, height, step);
        }
        Ok(())
    }

    /// Returns the step of the loop whose condition this node ends, if that is a number or a local
    /// that never changes.
    fn simple_step(&self) -> Option<WaitingValue> {
        let [CheckedNode::ForCondition, step, CheckedNode::ForStep] =
            self.function.nodes.get(self.at..self.at + 3)?
        else {
            return None;
        };
        match *step {
            CheckedNode::Number(index) => Some(WaitingValue::Number(index)),
            CheckedNode::Local(local) if self.frame.is_fixed(local) => Some(WaitingValue::Local(local)),
            _ => None,
        }
    }

    /// Compiles adding the step of a loop to its variable, and counting an iteration.
    fn increment(&mut self, node: usize, variable: u32, height: usize, step: MachineOperand) {
        if let Some(register) = self.frame.register(variable) {
            self.code.vector(ADDSD, register, step);
        } else {
            let variable = self.frame.local(variable);
            self.code.load(OTHER, MachineOperand::At(Register::Rbp, variable));
            self.code.vector(ADDSD, OTHER, step);
            self.code.store(Register::Rbp, variable, OTHER);
        }
        self.count_iteration(node, height);
    }

    pub(super) fn loop_step(&mut self) -> WalkResult<()> {
        let step = self.pop()?;
        let innermost = self.innermost_loop()?;
        let (height, condition) = (innermost.height, innermost.condition);
        if innermost.next != condition {
            let operand = self.operand(&step, self.values.len())?;
            let place = self.frame.value(height);
            self.copy(operand, Register::Rbp, place);
            self.code.jump_to(condition);
        }
        let here = self.code.here();
        self.innermost_loop()?.body = here;
        Ok(())
    }

    pub(super) fn end_loop(&mut self) -> WalkResult<()> {
        self.pop()?;
        self.poll();
        let Some(CodeConstruct::Loop(innermost)) = self.open.pop() else { return Err(missing()) };
        for open in &mut self.open {
            if let CodeConstruct::Loop(Loop { decision: None, is_around_loops, .. }) = open {
                *is_around_loops = true;
            }
        }
        let Loop { node, variable, height, enter, decision, next, body, .. } = innermost;
        let LoopDecision { leave, increment } = decision.ok_or_else(missing)?;
        self.code.jump_to(next);
        if let Some(increment) = increment {
            self.code.bind([increment]);
            let step = MachineOperand::At(Register::Rbp, self.frame.value(height));
            self.increment(node, variable, height, step);
            self.code.jump_to(body);
        }
        self.pop()?;
        self.code.bind_to(enter, body);
        self.code.bind(leave);
        self.code.zero(ACCUMULATOR);
        self.push_accumulator();
        Ok(())
    }

    /// Compiles setting the count of iterations.
    pub(super) fn set_iterations(&mut self, count: u32) {
        match self.frame.iterations_register() {
            Some(register) => self.code.set(register, count),
            None => self.code.set_memory(Register::Rbp, self.frame.iterations(), count),
        }
    }

    /// Compiles the count of an iteration of the loop of a node, which leaves the loop once
    /// there is OSR code to go on in; the values below a height are live across it. The code for that grows with the number of values
    /// that are passed on: with hundreds of loops and locals, some loops stay here.
    fn count_iteration(&mut self, node: usize, height: usize) {
        let passed = self.function.locals as usize + height;
        let Some(room) = self.room.as_mut().filter(|room| passed <= **room) else { return };
        *room -= passed;
        let Some(most) = self.hot_after else { return };
        match self.frame.iterations_register() {
            Some(register) => self.code.count_in_register(register, most.max(1)),
            None => self.code.count(Register::Rbp, self.frame.iterations(), most.max(1)),
        }
        let enter = vec![self.code.jump_if(JumpCondition::Equal)];
        let back = self.code.here();
        let known = |(height, value): (usize, &WaitingValue)| Some((value.again()?, height));
        let step = |open: &CodeConstruct| match open {
            CodeConstruct::Loop(Loop { decision: None, height, .. }) => Some((WaitingValue::Step, *height)),
            _ => None,
        };
        let live = self.values[..height].iter().enumerate().filter_map(known);
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
        self.save_locals();
        self.code.call_at(Register::Rbx, routine as i32);
        self.restore_locals();
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
        match self.frame.iterations_register() {
            Some(register) => self.code.copy_word(register, Register::Rdx),
            None => self.code.store_half(Register::Rbp, self.frame.iterations(), Register::Rdx),
        }
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
