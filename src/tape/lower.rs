//! Lowering to bytecode: one walk over a checked body that appends
//! instructions.
//!
//! A stack of [`Value`]s holds the expressions under construction. Reading a
//! local or writing a number emits no instruction: such values stay symbolic
//! until they are consumed, and become operands. At most one value is
//! *unsettled*: it is in the accumulator, or is an undecided condition. Before
//! anything else is emitted it is settled into the slot of its height on the
//! stack.

mod exact;
mod loops;

use super::condition::{Condition, Jump, Operand, Test};
use super::flow::ValueFlow;
use super::numbering::IndexTable;
use super::op::{INDEX_END, Op, Raw, encode};
use super::{Counts, Linkage, LoweringContext, Tape, TapeCallee, TooMany};
use crate::host::Intrinsic;
use crate::name::Name;
use crate::sema::checked::{CheckedFunction, CheckedNode};
use crate::syntax::operator::{BinaryOp, UnaryOp};

impl Tape {
    /// Lowers a function to a tape.
    ///
    /// # Errors
    /// [`TooMany`] for a function whose frame, tables or instructions do not
    /// fit the encoding.
    pub fn lower(function: &CheckedFunction, environment: LoweringContext<'_>) -> Result<Self, TooMany> {
        let mut lowering = TapeLowering::new(function, environment);
        // What continues in compiled code takes its fuel there.
        if environment.counts == Counts::IterationsAndCalls {
            lowering.emit(Op::Count, &[0, 0]);
        }
        lowering.burn();
        for (at, node) in function.nodes.iter().enumerate() {
            lowering.node = at;
            lowering.lower(*node);
        }
        let value = lowering.pop();
        lowering.return_value(value);
        lowering.finish()
    }
}

/// An expression whose instructions have been emitted as far as needed.
#[derive(Debug)]
enum Value {
    Plain(Operand),
    /// A comparison that has not been emitted.
    Condition(Condition),
    /// False if one of the jumps at these places is taken; true after the last
    /// instruction.
    True(Vec<usize>),
    /// The function has returned.
    Returned,
}

/// Emitted instructions, with the nodes they were made for.
#[derive(Default)]
struct Assembler {
    words: Vec<u32>,
    origins: Vec<u32>,
    /// Where the last instruction begins, unless a jump may target the place
    /// after it.
    last: Option<usize>,
}

/// A construct whose end has not been reached yet.
enum TapeConstruct {
    /// `&&`: the jumps taken if the left side is false.
    And(Vec<usize>),
    /// `||`: the jumps taken if the left side is true.
    Or(Vec<usize>),
    /// `if`, before its `else`: the jumps to there.
    Then(Vec<usize>),
    /// `if`, after its `else`: the jump to the end.
    Else(Option<usize>),
    Loop(TapeLoop),
}

/// The parts of a `for`.
struct TapeLoop {
    /// The node of the loop variable.
    node: usize,
    variable: u32,
    /// The height of the step's slot on the stack.
    height: usize,
    part: LoopPart,
    /// Where the current part begins, in words and origins.
    start: (usize, usize),
    condition: Assembler,
    exit: LoopExit,
    step: Assembler,
    increment: Operand,
    /// Whether the step is passed on from its slot where a loop in the condition is left.
    is_passed: bool,
}

/// The part of a `for` that is being emitted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LoopPart {
    Condition,
    Step,
    Body,
}

/// How a loop ends.
enum LoopExit {
    /// With the jumps at these places of the condition.
    Jumps(Vec<usize>),
    /// With a condition that needs no instructions of its own.
    Condition(Condition),
}

struct TapeLowering<'a> {
    function: &'a CheckedFunction,
    environment: LoweringContext<'a>,
    flow: ValueFlow,
    node: usize,
    code: Assembler,
    frame: u32,
    values: Vec<Value>,
    /// The height of the unsettled value on the stack.
    unsettled: Option<usize>,
    open: Vec<TapeConstruct>,
    callees: IndexTable<TapeCallee>,
    hosts: IndexTable<TapeCallee>,
    instructions: IndexTable<TapeCallee>,
    variables: IndexTable<Name>,
    counted: Vec<super::CountedLoop>,
}

impl<'a> TapeLowering<'a> {
    fn new(function: &'a CheckedFunction, environment: LoweringContext<'a>) -> Self {
        Self {
            function,
            environment,
            flow: ValueFlow::of(function),
            node: 0,
            code: Assembler::default(),
            frame: function.locals + 1,
            values: Vec::new(),
            unsettled: None,
            open: Vec::new(),
            callees: IndexTable::default(),
            hosts: IndexTable::default(),
            instructions: IndexTable::default(),
            variables: IndexTable::default(),
            counted: Vec::new(),
        }
    }

    fn finish(self) -> Result<Tape, TooMany> {
        let fits = |count: usize, what| if count < INDEX_END as usize { Ok(()) } else { Err(TooMany(what)) };
        fits(self.frame as usize, "values in a function")?;
        fits(self.callees.entries.len(), "callees in a function")?;
        fits(self.hosts.entries.len(), "host functions in a function")?;
        fits(self.variables.entries.len(), "variables in a function")?;
        fits(self.counted.len() + 1, "loops in a function")?;
        if self.code.words.len() > i32::MAX as usize {
            return Err(TooMany("instructions in a function"));
        }
        Ok(Tape {
            locals: self.function.locals,
            frame: self.frame,
            words: self.code.words.into(),
            callees: self.callees.entries.into(),
            hosts: self.hosts.entries.into(),
            instructions: self.instructions.entries.into(),
            variables: self.variables.entries.into(),
            origins: self.code.origins.into(),
            loops: self.counted.into(),
        })
    }

    fn lower(&mut self, node: CheckedNode) {
        match node {
            CheckedNode::Number(index) => {
                let number = self.function.numbers[index as usize];
                self.push(Value::Plain(Operand::Number(number)));
            }
            CheckedNode::Local(local) => self.local(local),
            CheckedNode::Variable(name) => {
                let variable = self.variables.index(name);
                self.settle(0);
                self.emit(Op::GetVariable, &[variable]);
                self.push(ACCUMULATOR);
            }
            CheckedNode::SetLocal(local) => self.set_local(local),
            CheckedNode::SetVariable(name) => {
                let variable = self.variables.index(name);
                self.load_top();
                self.emit(Op::SetVariable, &[variable]);
                self.push(ACCUMULATOR);
            }
            CheckedNode::Unary(UnaryOp::Negate) => self.negate(),
            CheckedNode::Unary(UnaryOp::Not) => self.not(),
            CheckedNode::Binary(op) => self.binary(op),
            CheckedNode::ShortCircuit(op) => self.short_circuit(op),
            CheckedNode::Call(callee) => self.call(callee),
            CheckedNode::Then => {
                let condition = self.take();
                let jumps = self.unless(condition);
                self.open.push(TapeConstruct::Then(jumps));
            }
            CheckedNode::Else => self.otherwise(),
            CheckedNode::If => self.end_if(),
            CheckedNode::ForVariable(local) => self.begin_loop(local),
            CheckedNode::ForCondition => self.loop_condition(),
            CheckedNode::ForStep => self.loop_step(),
            CheckedNode::For => self.end_loop(),
            CheckedNode::Bind(local) => {
                let value = self.take();
                self.store(value, local);
            }
        }
    }

    // --- instructions -----------------------------------------------------

    fn emit(&mut self, op: Op, operands: &[Raw]) {
        self.code.last = Some(self.code.words.len());
        encode(&mut self.code.words, op, operands);
        self.code.origins.push(self.node as u32);
    }

    /// Emits a jump to be patched later; returns the place of its target.
    fn emit_jump(&mut self, op: Op, operands: &[Raw]) -> usize {
        let start = self.code.words.len();
        let mut all = [0; 5];
        all[..operands.len()].copy_from_slice(operands);
        self.emit(op, &all[..=operands.len()]);
        let place = self.code.words.len() - 1;
        self.code.words[place] = (place - start) as u32;
        place
    }

    /// Emits the fuel instruction, if fuel is counted.
    fn burn(&mut self) {
        if self.environment.counts_fuel {
            self.emit(Op::Burn, &[]);
        }
    }

    /// Patches the jumps at these places to target the next instruction.
    fn patch_here(&mut self, jumps: &[usize]) {
        self.code.last = None;
        let here = self.code.words.len();
        for &place in jumps {
            // Until then, a jump holds the distance from its start to its
            // target word.
            let start = place - self.code.words[place] as usize;
            self.code.words[place] = (here - start) as u32;
        }
    }

    // --- values -----------------------------------------------------------

    fn push(&mut self, value: Value) {
        match value {
            Value::Plain(Operand::Accumulator) | Value::Condition(_) | Value::True(_) => {
                self.unsettled = Some(self.values.len());
            }
            Value::Plain(Operand::Slot(_) | Operand::Number(_)) | Value::Returned => {}
        }
        self.values.push(value);
    }

    fn pop(&mut self) -> Value {
        let value = self.values.pop().unwrap_or(Value::Returned);
        if self.unsettled == Some(self.values.len()) {
            self.unsettled = None;
        }
        value
    }

    /// Pops a value after settling everything below it.
    fn take(&mut self) -> Value {
        self.settle(1);
        self.pop()
    }

    /// Returns the slot of the value at a height of the stack.
    fn home(&mut self, height: usize) -> u32 {
        let slot = self.function.locals.saturating_add(1).saturating_add(height as u32);
        self.frame = self.frame.max(slot.saturating_add(1));
        slot
    }

    /// Stores the unsettled value into its slot, unless it is one of the top
    /// `operands` values.
    fn settle(&mut self, operands: usize) {
        let Some(height) = self.unsettled.filter(|height| height + operands < self.values.len()) else {
            return;
        };
        self.unsettled = None;
        let home = self.home(height);
        let value = std::mem::replace(&mut self.values[height], Value::Plain(Operand::Slot(home)));
        self.store(value, home);
    }

    /// Turns a value into an operand; only a condition needs instructions for
    /// that.
    fn operand(&mut self, value: Value) -> Operand {
        match value {
            Value::Plain(operand) => return operand,
            Value::Condition(condition) => self.decide(condition),
            Value::True(falses) => {
                self.emit(Op::Number, &[1f64.to_bits()]);
                let end = self.emit_jump(Op::Jump, &[]);
                self.patch_here(&falses);
                self.emit(Op::Number, &[0f64.to_bits()]);
                self.patch_here(&[end]);
            }
            Value::Returned => {}
        }
        Operand::Accumulator
    }

    fn load(&mut self, value: Value) {
        match self.operand(value) {
            Operand::Accumulator => {}
            Operand::Slot(slot) => self.emit(Op::Get, &[slot.into()]),
            Operand::Number(number) => self.emit(Op::Number, &[number.to_bits()]),
        }
    }

    /// Pops the top value into the accumulator.
    fn load_top(&mut self) {
        let value = self.take();
        self.load(value);
    }

    /// Stores a value into a slot. The accumulator keeps its content if the
    /// value is a constant or in a slot.
    fn store(&mut self, value: Value, slot: u32) {
        match self.operand(value) {
            Operand::Accumulator => self.store_accumulator(slot),
            Operand::Slot(from) if from == slot => {}
            Operand::Slot(from) => self.emit(Op::Copy, &[slot.into(), from.into()]),
            Operand::Number(number) => self.emit(Op::Put, &[slot.into(), number.to_bits()]),
        }
    }

    /// Stores the accumulator: as part of the operation that has just computed
    /// it, if that has such a form.
    fn store_accumulator(&mut self, slot: u32) {
        if let Some((start, with_store)) = self.code.last.and_then(|start| {
            let op = Op::of(self.code.words[start])?;
            Some((start, storing(op)?))
        }) {
            self.code.words[start] = self.code.words[start] & !0xff | with_store as u32;
            self.code.words.push(slot);
            self.code.last = None;
        } else {
            self.emit(Op::Set, &[slot.into()]);
        }
    }

    fn apply(&mut self, op: Op) {
        self.load_top();
        self.emit(op, &[]);
        self.push(ACCUMULATOR);
    }

    fn local(&mut self, local: u32) {
        if self.flow.keeps(self.node) {
            self.push(Value::Plain(Operand::Slot(local)));
        } else {
            self.settle(0);
            self.emit(Op::Get, &[local.into()]);
            self.push(ACCUMULATOR);
        }
    }

    fn set_local(&mut self, local: u32) {
        let value = self.take();
        match self.operand(value) {
            Operand::Accumulator => {
                self.store_accumulator(local);
                self.push(ACCUMULATOR);
            }
            Operand::Number(number) => {
                self.store(Value::Plain(Operand::Number(number)), local);
                self.push(Value::Plain(Operand::Number(number)));
            }
            Operand::Slot(from) => {
                self.store(Value::Plain(Operand::Slot(from)), local);
                self.local(local);
            }
        }
    }

    /// Pops the top two values as operands; at most one is the accumulator.
    fn operands(&mut self) -> (Operand, Operand) {
        self.settle(2);
        let (right, left) = (self.pop(), self.pop());
        let right = self.operand(right);
        let left = self.operand(left);
        (left, right)
    }

    fn binary(&mut self, op: BinaryOp) {
        match op {
            BinaryOp::And | BinaryOp::Or => self.end_short_circuit(),
            BinaryOp::Add => self.arithmetic(Op::AddAS),
            BinaryOp::Subtract => self.arithmetic(Op::SubtractAS),
            BinaryOp::Multiply => self.arithmetic(Op::MultiplyAS),
            BinaryOp::Divide => self.arithmetic(Op::DivideAS),
            BinaryOp::Remainder => self.slot_first(Op::RemainderSA),
            BinaryOp::Power => self.power(),
            BinaryOp::Less => self.compare(Test::Less, false, false),
            BinaryOp::Greater => self.compare(Test::Less, true, false),
            BinaryOp::LessEqual => self.compare(Test::LessEqual, false, false),
            BinaryOp::GreaterEqual => self.compare(Test::LessEqual, true, false),
            BinaryOp::Equal => self.compare(Test::Equal, false, false),
            BinaryOp::NotEqual => self.compare(Test::Equal, false, true),
        }
    }

    /// Emits an arithmetic operation; `family` is the first of its seven forms.
    fn arithmetic(&mut self, family: Op) {
        let (left, right) = self.operands();
        let (form, operands, count) = self.form(left, right);
        self.emit(member(family, form), &operands[..count]);
        self.push(ACCUMULATOR);
    }

    fn compare(&mut self, test: Test, swapped: bool, negated: bool) {
        let (mut left, mut right) = self.operands();
        if swapped {
            (left, right) = (right, left);
        }
        self.push(Value::Condition(Condition { test, left, right, negated }));
    }

    /// Emits an operation that takes its left operand from a slot and its right
    /// one from the accumulator.
    fn slot_first(&mut self, op: Op) {
        let height = self.values.len().saturating_sub(2);
        let (left, right) = self.operands();
        let slot = match left {
            Operand::Slot(slot) => slot,
            Operand::Accumulator | Operand::Number(_) => {
                let home = self.home(height);
                self.store(Value::Plain(left), home);
                home
            }
        };
        self.load(Value::Plain(right));
        self.emit(op, &[slot.into()]);
        self.push(ACCUMULATOR);
    }

    /// Returns which of the seven forms fits the operands, and their encoding.
    fn form(&mut self, left: Operand, right: Operand) -> (u8, [Raw; 2], usize) {
        use Operand::{Accumulator, Number, Slot};
        match (left, right) {
            (Accumulator, Slot(slot)) => (0, [slot.into(), 0], 1),
            (Slot(slot), Accumulator) => (1, [slot.into(), 0], 1),
            (Accumulator, Number(number)) => (2, [number.to_bits(), 0], 1),
            (Number(number), Accumulator) => (3, [number.to_bits(), 0], 1),
            (Slot(left), Slot(right)) => (4, [left.into(), right.into()], 2),
            (Slot(slot), Number(number)) => (5, [slot.into(), number.to_bits()], 2),
            (Number(number), Slot(slot)) => (6, [slot.into(), number.to_bits()], 2),
            (Number(_) | Accumulator, Number(_) | Accumulator) => {
                // The accumulator is free: at most one value is in it.
                self.load(Value::Plain(left));
                self.form(Accumulator, right)
            }
        }
    }

    // --- conditions -------------------------------------------------------

    /// Computes a condition into the accumulator as 0 or 1.
    fn decide(&mut self, condition: Condition) {
        let Condition { test, left, right, negated } = condition;
        let negations = match test.value() {
            None => {
                self.load(Value::Plain(left));
                2 - usize::from(negated)
            }
            Some(family) => {
                let (form, operands, count) = self.form(left, right);
                self.emit(member(family, form), &operands[..count]);
                usize::from(negated)
            }
        };
        for _ in 0..negations {
            self.emit(Op::Not, &[]);
        }
    }

    /// Emits a jump taken if the condition is `wanted`; returns its place.
    fn jump_if(&mut self, condition: Condition, wanted: bool) -> usize {
        let Condition { test, left, right, negated } = condition;
        match test.jump(wanted != negated) {
            Jump::Accumulator(op) => {
                self.load(Value::Plain(left));
                self.emit_jump(op, &[])
            }
            Jump::Family(family) => {
                let (form, operands, count) = self.form(left, right);
                self.emit_jump(member(family, form), &operands[..count])
            }
        }
    }

    /// Emits the jumps taken if the value is false; returns their places.
    fn unless(&mut self, value: Value) -> Vec<usize> {
        match value {
            Value::True(falses) => falses,
            Value::Condition(condition) => vec![self.jump_if(condition, false)],
            Value::Plain(operand) => vec![self.jump_if(truth(operand), false)],
            Value::Returned => Vec::new(),
        }
    }

    /// Emits the jumps taken if the value is true; returns their places.
    fn when(&mut self, value: Value) -> Vec<usize> {
        match value {
            Value::True(falses) => {
                let jump = self.emit_jump(Op::Jump, &[]);
                self.patch_here(&falses);
                vec![jump]
            }
            Value::Condition(condition) => vec![self.jump_if(condition, true)],
            Value::Plain(operand) => vec![self.jump_if(truth(operand), true)],
            Value::Returned => Vec::new(),
        }
    }

    fn not(&mut self) {
        let value = match self.take() {
            Value::Plain(operand) => Value::Condition(Condition { negated: true, ..truth(operand) }),
            Value::Condition(condition) => {
                Value::Condition(Condition { negated: !condition.negated, ..condition })
            }
            value @ Value::True(_) => Value::True(self.when(value)),
            Value::Returned => Value::Returned,
        };
        self.push(value);
    }

    fn short_circuit(&mut self, op: BinaryOp) {
        let left = self.take();
        let open = if op == BinaryOp::And {
            TapeConstruct::And(self.unless(left))
        } else {
            TapeConstruct::Or(self.when(left))
        };
        self.open.push(open);
    }

    fn end_short_circuit(&mut self) {
        let right = self.take();
        let right = self.unless(right);
        let falses = match self.open.pop() {
            Some(TapeConstruct::And(mut falses)) => {
                falses.extend(right);
                falses
            }
            Some(TapeConstruct::Or(trues)) => {
                self.patch_here(&trues);
                right
            }
            Some(TapeConstruct::Then(_) | TapeConstruct::Else(_) | TapeConstruct::Loop(_)) | None => right,
        };
        self.push(Value::True(falses));
    }

    // --- if ---------------------------------------------------------------

    fn otherwise(&mut self) {
        let value = self.take();
        let end = if self.flow.returns(self.node) {
            self.return_value(value);
            None
        } else {
            self.load(value);
            Some(self.emit_jump(Op::Jump, &[]))
        };
        if let Some(TapeConstruct::Then(jumps)) = self.open.pop() {
            self.patch_here(&jumps);
        }
        self.open.push(TapeConstruct::Else(end));
    }

    fn end_if(&mut self) {
        let value = self.take();
        let Some(TapeConstruct::Else(Some(end))) = self.open.pop() else {
            self.return_value(value);
            return self.push(Value::Returned);
        };
        self.load(value);
        self.patch_here(&[end]);
        self.push(ACCUMULATOR);
    }

    fn return_value(&mut self, value: Value) {
        let link = Raw::from(self.function.locals);
        if matches!(value, Value::Returned) {
            return;
        }
        match self.operand(value) {
            Operand::Accumulator => self.emit(Op::Return, &[link]),
            Operand::Slot(slot) => self.emit(Op::ReturnS, &[link, slot.into()]),
            Operand::Number(number) => self.emit(Op::ReturnK, &[link, number.to_bits()]),
        }
    }

    // --- calls ------------------------------------------------------------

    fn call(&mut self, callee: u32) {
        let callee = self.function.callees[callee as usize];
        let callee = TapeCallee { name: callee.name, arity: callee.arity };
        let arity = callee.arity as usize;
        let linkage = (self.environment.linkage)(callee);
        if let Some(builtin) = linkage.builtin()
            && self.is_constant(builtin, arity)
        {
            self.instructions.index(callee);
            return;
        }
        let is_host = match linkage {
            Linkage::Bound => false,
            Linkage::Pure(builtin) if builtin.is_pow() => {
                self.instructions.index(callee);
                return self.power();
            }
            Linkage::Host | Linkage::Pure(_) => true,
            Linkage::Instruction(intrinsic) => {
                self.instructions.index(callee);
                return self.intrinsic(intrinsic);
            }
        };
        if is_host && arity == 1 {
            let host = self.hosts.index(callee);
            self.load_top();
            self.emit(Op::HostA, &[host]);
            return self.push(ACCUMULATOR);
        }
        self.settle(if is_host { 0 } else { arity.min(1) });
        let first = self.values.len().saturating_sub(arity);
        let at = self.home(first);
        let last = (!is_host && arity > 0).then(|| self.pop());
        let last = last.map(|last| self.operand(last));
        while self.values.len() > first {
            let height = self.values.len() - 1;
            let value = self.pop();
            let home = self.home(height);
            self.store(value, home);
        }
        if is_host {
            let host = self.hosts.index(callee);
            self.emit(Op::Host, &[at.into(), host]);
        } else {
            let callee = self.callees.index(callee);
            self.call_with(last, at, callee, (first + arity).saturating_sub(1));
        }
        self.push(ACCUMULATOR);
    }

    /// Emits a call with its last argument, whose slot is the one of `height`.
    fn call_with(&mut self, last: Option<Operand>, at: u32, callee: Raw, height: usize) {
        let Some(last) = last else { return self.emit(Op::Call, &[at.into(), callee]) };
        let home = self.home(height);
        match last {
            Operand::Accumulator => self.emit(Op::CallA, &[at.into(), callee, home.into()]),
            Operand::Slot(slot) if slot == home => self.emit(Op::Call, &[at.into(), callee]),
            Operand::Slot(slot) => self.emit(Op::CallS, &[at.into(), callee, home.into(), slot.into()]),
            Operand::Number(number) => {
                self.emit(Op::Put, &[home.into(), number.to_bits()]);
                self.emit(Op::Call, &[at.into(), callee]);
            }
        }
    }

    fn intrinsic(&mut self, intrinsic: Intrinsic) {
        match intrinsic {
            Intrinsic::Sqrt => self.apply(Op::Sqrt),
            Intrinsic::Fabs => self.apply(Op::Fabs),
            Intrinsic::Floor => self.apply(Op::Floor),
            Intrinsic::Ceil => self.apply(Op::Ceil),
            Intrinsic::Trunc => self.apply(Op::Trunc),
            Intrinsic::Copysign => self.slot_first(Op::CopysignSA),
            Intrinsic::Fmod => self.slot_first(Op::RemainderSA),
        }
    }
}

const ACCUMULATOR: Value = Value::Plain(Operand::Accumulator);

/// The offset of the form with two slots in a family of seven.
const FORM_SS: u8 = 4;

fn truth(operand: Operand) -> Condition {
    Condition { test: Test::Truth, left: operand, right: operand, negated: false }
}

/// Returns the operation at an offset from `first` in the table.
fn member(first: Op, place: u8) -> Op {
    Op::ALL[first as usize + place as usize]
}

/// Returns the form of an operation that also stores its result.
fn storing(op: Op) -> Option<Op> {
    let place = (op as u8).checked_sub(Op::AddAS as u8)?;
    (op as u8 <= Op::DivideKS as u8).then(|| member(Op::AddASTo, place))
}
