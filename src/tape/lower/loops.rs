//! Lowering of loops to bytecode.
//!
//! A `for` is written as condition, step, body and runs as body, step,
//! condition; so the first two are cut out and put back after the body.

use super::{Assembler, FORM_SS, LoopExit, LoopPart, TapeConstruct, TapeLoop, TapeLowering, Value, member};
use crate::tape;
use crate::tape::condition::{Condition, Operand, Test};
use crate::tape::op::{Op, Raw};
use crate::tape::{Counts, LiveValue};

impl TapeLowering<'_> {
    fn here(&mut self) -> (usize, usize) {
        self.code.last = None;
        (self.code.words.len(), self.code.origins.len())
    }

    /// Cuts out everything emitted since `start`.
    fn lift(&mut self, start: (usize, usize)) -> Assembler {
        self.code.last = None;
        let words = self.code.words.split_off(start.0);
        Assembler { words, origins: self.code.origins.split_off(start.1), last: None }
    }

    fn put_back(&mut self, mut code: Assembler) {
        self.code.last = None;
        self.code.words.append(&mut code.words);
        self.code.origins.append(&mut code.origins);
    }

    pub(super) fn begin_loop(&mut self, variable: u32) {
        let start = self.take();
        self.store(start, variable);
        // The slot of the step while the condition is evaluated.
        let height = self.values.len();
        let step = self.home(height);
        self.push(Value::Plain(Operand::Slot(step)));
        let start = self.here();
        self.open.push(TapeConstruct::Loop(TapeLoop {
            node: self.node,
            variable,
            height,
            part: LoopPart::Condition,
            start,
            condition: Assembler::default(),
            exit: LoopExit::Jumps(Vec::new()),
            step: Assembler::default(),
            increment: Operand::Slot(step),
            is_passed: false,
        }));
    }

    fn innermost_loop(&mut self) -> Option<&mut TapeLoop> {
        match self.open.last_mut() {
            Some(TapeConstruct::Loop(innermost)) => Some(innermost),
            Some(
                TapeConstruct::And(_)
                | TapeConstruct::Or(_)
                | TapeConstruct::Then(_)
                | TapeConstruct::Else(_),
            )
            | None => None,
        }
    }

    pub(super) fn loop_condition(&mut self) {
        let condition = self.take();
        let Some(start) = self.innermost_loop().map(|innermost| innermost.start) else { return };
        let exit = match condition {
            Value::Condition(condition) if start.0 == self.code.words.len() && condition.fits_loop() => {
                LoopExit::Condition(condition)
            }
            condition => {
                let jumps = self.unless(condition);
                LoopExit::Jumps(jumps.iter().map(|place| place - start.0).collect())
            }
        };
        let code = self.lift(start);
        if let Some(innermost) = self.innermost_loop() {
            innermost.part = LoopPart::Step;
            innermost.condition = code;
            innermost.exit = exit;
        }
    }

    pub(super) fn loop_step(&mut self) {
        let step = self.take();
        let Some(&mut TapeLoop { start, is_passed, increment: Operand::Slot(home), .. }) =
            self.innermost_loop()
        else {
            return;
        };
        let increment = match step {
            Value::Plain(Operand::Number(number)) if !is_passed => Operand::Number(number),
            step => {
                self.store(step, home);
                Operand::Slot(home)
            }
        };
        let code = self.lift(start);
        if let Some(innermost) = self.innermost_loop() {
            innermost.part = LoopPart::Body;
            innermost.step = code;
            innermost.increment = increment;
        }
        self.count_iteration();
    }

    /// Emits the counter of a loop's iterations. The values that are live
    /// across the loop are those of the expressions around it, then the steps
    /// of the loops whose conditions it is part of.
    fn count_iteration(&mut self) {
        if self.environment.counts == Counts::Nothing {
            return;
        }
        let loops = || {
            self.open
                .iter()
                .filter_map(|open| if let TapeConstruct::Loop(open) = open { Some(open) } else { None })
        };
        let Some(node) = loops().next_back().map(|innermost| innermost.node) else { return };
        let is_step = |height: usize| loops().any(|open| open.height == height);
        let waiting = |value: &Value| match value {
            Value::Plain(Operand::Slot(slot)) => Some(LiveValue::Slot(*slot)),
            Value::Plain(Operand::Number(number)) => Some(LiveValue::Number(number.to_bits())),
            Value::Plain(Operand::Accumulator) | Value::Condition(_) | Value::True(_) | Value::Returned => {
                None
            }
        };
        let values = self.values.iter().enumerate().filter(|(height, _)| !is_step(*height));
        let steps =
            loops().filter(|open| open.part == LoopPart::Condition).map(|open| match open.increment {
                Operand::Slot(slot) => Some(LiveValue::Slot(slot)),
                Operand::Number(_) | Operand::Accumulator => None,
            });
        let values = values.map(|(_, value)| waiting(value)).chain(steps);
        let Some(values) = values.collect::<Option<Box<[_]>>>() else { return };
        for open in &mut self.open {
            if let TapeConstruct::Loop(open) = open {
                open.is_passed |= open.part == LoopPart::Condition;
            }
        }
        self.counted.push(tape::CountedLoop { node: node as u32, values });
        let site = self.counted.len() as Raw;
        self.emit(Op::Count, &[site, 0]);
    }

    pub(super) fn end_loop(&mut self) {
        let body = self.take();
        if let Value::True(falses) = body {
            self.patch_here(&falses);
        }
        let Some(TapeConstruct::Loop(TapeLoop { variable, start, condition, exit, step, increment, .. })) =
            self.open.pop()
        else {
            return;
        };
        self.burn();
        self.put_back(step);
        let base = self.code.words.len();
        self.put_back(condition);
        match (exit, increment) {
            (LoopExit::Condition(condition), Operand::Number(number)) => {
                self.fused_loop(condition, variable, number, start.0);
            }
            (LoopExit::Condition(condition), increment) => {
                let exit = self.jump_if(condition, false);
                self.next(variable, increment, start.0);
                self.patch_here(&[exit]);
            }
            (LoopExit::Jumps(jumps), increment) => {
                self.next(variable, increment, start.0);
                let jumps: Vec<usize> = jumps.iter().map(|place| place + base).collect();
                self.patch_here(&jumps);
            }
        }
        self.pop();
        self.push(Value::Plain(Operand::Number(0.0)));
    }

    /// Emits the increment and the back-edge to the body.
    fn next(&mut self, variable: u32, increment: Operand, body: usize) {
        let back = self.back(body);
        match increment {
            Operand::Number(number) => self.emit(Op::NextK, &[variable.into(), number.to_bits(), back]),
            Operand::Slot(slot) => self.emit(Op::NextS, &[variable.into(), slot.into(), back]),
            Operand::Accumulator => {}
        }
    }

    fn fused_loop(&mut self, condition: Condition, variable: u32, increment: f64, body: usize) {
        let (form, operands, _) = self.form(condition.left, condition.right);
        let back = self.back(body);
        let family = if condition.test == Test::Less { Op::LoopLessSS } else { Op::LoopLessEqualSS };
        let operands = [operands[0], operands[1], variable.into(), increment.to_bits(), back];
        self.emit(member(family, form - FORM_SS), &operands);
    }

    /// Returns the distance from the next instruction back to `body`.
    fn back(&self, body: usize) -> Raw {
        Raw::from((self.code.words.len() - body).wrapping_neg() as u32)
    }
}
