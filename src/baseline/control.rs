//! Branches and loops, safepoint polls, and what happens rarely.

use super::assembler::{Condition, Jump, Operand, Place, Register};
use super::frame::REGISTERS;
use super::missing;
use super::values::Value;
use super::walk::{ACCUMULATOR, OTHER, Result, Walk};
use crate::abi::{self, Symbol};
use crate::syntax::operator::BinaryOp;

/// A construct whose end has not been reached yet.
pub(super) enum Construct {
    /// `&&`, `||`: the jumps taken where the left side decided.
    ShortCircuit { op: BinaryOp, decided: Vec<Jump> },
    /// `if`, before its `else`: the jumps to there.
    Then(Vec<Jump>),
    /// `if`, after its `else`: the jump to the end.
    Else(Jump),
    Loop(Loop),
}

/// The parts of a `for`, in the order of the code: condition, step, body, increment. They
/// run in the order body, step, condition, increment.
pub(super) struct Loop {
    /// The node that first sets the variable.
    node: usize,
    variable: u32,
    /// The height of the step.
    height: usize,
    /// The jump to the body, from before the loop.
    enter: Jump,
    condition: Place,
    /// Known after the condition: the jumps out of the loop, and to the increment.
    decision: Option<(Vec<Jump>, Jump)>,
    step: Place,
    body: Place,
}

/// What happens rarely: it is entered by jumps, and goes back.
pub(super) struct Rare {
    enter: Vec<Jump>,
    back: Place,
    what: RareEvent,
}

enum RareEvent {
    /// A poll has found something.
    Stop,
    /// There have been many calls.
    Hot,
    /// The loop of a node has had many iterations. The values that are live across it, with
    /// their heights, and the steps of the loops whose conditions it is part of.
    HotLoop { node: usize, live: Vec<(Value, usize)> },
}

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
            enter.push(self.code.jump_if(Condition::Sign));
        }
        self.code.compare_word(Register::Rsp, Register::Rbx, 0);
        enter.push(self.code.jump_if(Condition::Below));
        let back = self.code.here();
        self.rare.push(Rare { enter, back, what: RareEvent::Stop });
    }

    /// Compiles the count of calls.
    pub(super) fn count_call(&mut self, most: u32) {
        let names = self.names;
        let name = names.text(self.function.name);
        self.code.count_in_context(Symbol::Counter(&name, self.function.arity()), most);
        let enter = vec![self.code.jump_if(Condition::Equal)];
        let back = self.code.here();
        self.rare.push(Rare { enter, back, what: RareEvent::Hot });
    }

    // --- branches -------------------------------------------------------------

    pub(super) fn begin_short_circuit(&mut self, op: BinaryOp) -> Result<()> {
        let left = self.pop_truth()?;
        self.settle();
        let decided = left.branch(&mut self.code, op == BinaryOp::Or);
        self.open.push(Construct::ShortCircuit { op, decided });
        self.values.push(Value::Undecided);
        Ok(())
    }

    pub(super) fn end_short_circuit(&mut self) -> Result<()> {
        let mut truth = self.pop_truth()?;
        let (Some(Construct::ShortCircuit { op, decided }), Value::Undecided) = (self.open.pop(), self.pop()?)
        else {
            return Err(missing());
        };
        if op == BinaryOp::Or { &mut truth.when_true } else { &mut truth.when_false }.extend(decided);
        self.push_truth(truth);
        Ok(())
    }

    pub(super) fn then(&mut self) -> Result<()> {
        let truth = self.pop_truth()?;
        self.settle();
        let otherwise = truth.branch(&mut self.code, false);
        self.open.push(Construct::Then(otherwise));
        Ok(())
    }

    pub(super) fn otherwise(&mut self) -> Result<()> {
        let Some(Construct::Then(otherwise)) = self.open.pop() else { return Err(missing()) };
        let value = self.pop()?;
        self.load(ACCUMULATOR, value)?;
        let end = self.code.jump();
        self.code.bind(otherwise);
        self.open.push(Construct::Else(end));
        Ok(())
    }

    pub(super) fn end_if(&mut self) -> Result<()> {
        let Some(Construct::Else(end)) = self.open.pop() else { return Err(missing()) };
        let value = self.pop()?;
        self.load(ACCUMULATOR, value)?;
        self.code.bind([end]);
        self.push_accumulator();
        Ok(())
    }

    // --- loops ----------------------------------------------------------------

    pub(super) fn begin_loop(&mut self, variable: u32) -> Result<()> {
        let start = self.pop()?;
        self.store_local(variable, start)?;
        self.settle();
        let height = self.values.len();
        self.values.push(Value::Step);
        let enter = self.code.jump();
        let here = self.code.here();
        self.open.push(Construct::Loop(Loop {
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

    fn innermost_loop(&mut self) -> Result<&mut Loop> {
        match self.open.last_mut() {
            Some(Construct::Loop(innermost)) => Ok(innermost),
            _ => Err(missing()),
        }
    }

    pub(super) fn loop_condition(&mut self) -> Result<()> {
        let truth = self.pop_truth()?;
        let leave = truth.branch(&mut self.code, false);
        let go_on = self.code.jump();
        let here = self.code.here();
        let innermost = self.innermost_loop()?;
        innermost.decision = Some((leave, go_on));
        innermost.step = here;
        Ok(())
    }

    pub(super) fn loop_step(&mut self) -> Result<()> {
        let height = self.innermost_loop()?.height;
        let place = self.frame.value(height);
        let step = self.values.len().checked_sub(1).ok_or_else(missing)?;
        self.pass_in_memory(step, Operand::At(Register::Rbp, place))?;
        self.pop()?;
        let innermost = self.innermost_loop()?;
        let condition = innermost.condition;
        self.code.jump_to(condition);
        let here = self.code.here();
        self.innermost_loop()?.body = here;
        Ok(())
    }

    pub(super) fn end_loop(&mut self) -> Result<()> {
        self.pop()?;
        self.poll();
        let Some(Construct::Loop(innermost)) = self.open.pop() else { return Err(missing()) };
        let Loop { node, variable, height, enter, decision, step, body, .. } = innermost;
        let (leave, go_on) = decision.ok_or_else(missing)?;
        self.code.jump_to(step);
        self.code.bind([go_on]);
        let (variable, step) = (self.frame.local(variable), self.frame.value(height));
        self.code.load(OTHER, Operand::At(Register::Rbp, variable));
        self.code.vector(super::assembler::ADDSD, OTHER, Operand::At(Register::Rbp, step));
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
        let enter = vec![self.code.jump_if(Condition::Equal)];
        let back = self.code.here();
        let known = |(height, value): (usize, &Value)| {
            let value = match value {
                Value::Number(index) => Value::Number(*index),
                Value::Local(local) => Value::Local(*local),
                Value::Settled => Value::Settled,
                Value::Accumulator | Value::Truth(_) | Value::Undecided | Value::Step => return None,
            };
            Some((value, height))
        };
        let step = |open: &Construct| match open {
            Construct::Loop(Loop { decision: None, height, .. }) => Some((Value::Step, *height)),
            _ => None,
        };
        let live = self.values.iter().enumerate().filter_map(known);
        let live = live.chain(self.open.iter().filter_map(step)).collect();
        self.rare.push(Rare { enter, back, what: RareEvent::HotLoop { node, live } });
    }

    // --- what happens rarely ----------------------------------------------------

    /// Appends the code for what happens rarely.
    pub(super) fn append_rare(&mut self) -> Result<()> {
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
    /// are live: its result is that of the function.
    fn leave_loop(&mut self, back: Place, node: usize, live: Vec<(Value, usize)>) -> Result<()> {
        let iterations = self.frame.iterations();
        self.code.set_memory(Register::Rbp, iterations, 0);
        self.code.set(Register::Rsi, node as u32);
        self.code.set(Register::Rdx, live.len() as u32);
        self.call_runtime(abi::HOT_LOOP);
        self.code.test_word(Register::Rax);
        let ready = self.code.jump_if(Condition::NotEqual);
        self.code.jump_to(back);
        self.code.bind([ready]);
        self.code.copy_word(Register::Rsi, Register::Rax);
        let locals = (0..self.function.locals).map(|local| (Value::Local(local), 0));
        for (index, (value, height)) in locals.chain(live).enumerate() {
            let operand = self.operand(&value, height)?;
            if index < REGISTERS {
                self.code.load(index as u8, operand);
                continue;
            }
            let Operand::At(base, distance) = self.frame.outgoing(index - REGISTERS) else {
                return Err(missing());
            };
            self.code.load_word(Register::Rax, operand);
            self.code.store_word(base, distance, Register::Rax);
        }
        self.code.copy_word(Register::Rdi, Register::Rbx);
        self.code.call_register(Register::Rsi);
        self.epilogue();
        Ok(())
    }
}
