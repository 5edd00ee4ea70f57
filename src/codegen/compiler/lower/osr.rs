//! On-stack replacement (OSR): where optimised code is entered at a loop header,
//! and where baseline code leaves a hot loop for it.
//!
//! OSR code takes the function's locals as arguments, then the operand-stack
//! values that are live across the loop, then the steps of the loops whose
//! conditions it is part of. Baseline code calls it and returns its result.

use super::{IrConstruct, IrLoop, IrLowering, OsrEntrance, OsrExit};
use crate::abi;
use crate::codegen::compiler::refusal::{Result, missing};
use crate::codegen::compiler::types::{WideSignature, result};
use crate::codegen::polls;
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::types::BasicType;
use inkwell::values::{FloatValue, PointerValue};

impl<'c> IrLowering<'_, 'c> {
    /// Keeps the operand-stack values in memory from here on, in OSR code that is not yet at its
    /// loop header: where loops around that go on, or branches meet, the values are also those
    /// with which the code was entered. To be called before code branches.
    pub(super) fn spill_before_entrance(&mut self) -> Result<()> {
        if self.osr.is_none() {
            return Ok(());
        }
        for at in self.spilled.len()..self.values.len() {
            let mut place = None;
            if !self.is_decided(at) {
                let memory = self.place_at_entry(self.types.double)?;
                self.builder.build_store(memory, self.values[at])?;
                place = Some(memory);
            }
            self.spilled.push(place);
        }
        Ok(())
    }

    /// Returns an operand-stack value, loaded if it is in memory.
    pub(super) fn value(&self, at: usize) -> Result<FloatValue<'c>> {
        match self.spilled.get(at) {
            Some(Some(place)) => {
                Ok(self.builder.build_load(self.types.double, *place, "")?.into_float_value())
            }
            Some(None) | None => self.values.get(at).copied().ok_or_else(missing),
        }
    }

    /// Emits the loop header where OSR code is entered as well: there the live
    /// values are those passed. They are followed by the steps of the
    /// loops whose conditions the loop is part of, which come later in the
    /// source.
    pub(super) fn enter_loop(&mut self, body: BasicBlock<'c>) -> Result<()> {
        let Some(OsrEntrance { block, live, .. }) = self.osr.take() else { return Err(missing()) };
        let head = self.block("osr");
        self.jump(head)?;
        self.builder.position_at_end(block);
        let mut live = live.into_iter();
        for place in self.spilled.iter().flatten() {
            let passed = live.next().ok_or_else(missing)?;
            let value = self.builder.build_load(self.types.double, passed, "")?;
            self.builder.build_store(*place, value)?;
        }
        for open in &mut self.open {
            if let IrConstruct::Loop(IrLoop { decision: None, kept, .. }) = open {
                *kept = Some(live.next().ok_or_else(missing)?);
            }
        }
        if self.spilled.len() != self.values.len() || live.next().is_some() {
            return Err(missing());
        }
        self.jump(head)?;
        self.builder.position_at_end(head);
        self.jump(body)?;
        Ok(())
    }

    /// Emits the count of iterations, for a function that leaves hot loops.
    pub(super) fn osr_exit(&self, after: u32) -> Result<OsrExit<'c>> {
        let i32 = self.types.context.i32_type();
        let count = self.builder.build_alloca(i32, "iterations")?;
        self.builder.build_store(count, i32.const_zero())?;
        let room = polls::room(self.source);
        Ok(OsrExit { count, after: after.max(1), room })
    }

    /// Returns whether the innermost loop is to be left when it is hot.
    pub(super) fn may_leave(&mut self) -> bool {
        let passed = self.locals.len() + self.values.len();
        let Some(exit) = &mut self.exit else { return false };
        let has_room = passed <= exit.room;
        exit.room -= if has_room { passed } else { 0 };
        has_room
    }

    /// Finds places for the steps of the loops whose conditions are being lowered,
    /// since a loop inside of them may be left.
    pub(super) fn keep_steps(&mut self) -> Result<()> {
        for at in 0..self.open.len() {
            if let IrConstruct::Loop(IrLoop { decision: None, kept: None, .. }) = &self.open[at] {
                let place = self.place_at_entry(self.types.double)?;
                if let IrConstruct::Loop(IrLoop { kept, .. }) = &mut self.open[at] {
                    *kept = Some(place);
                }
            }
        }
        Ok(())
    }

    /// Allocates memory at the entry of the function.
    pub(super) fn place_at_entry(&self, of: impl BasicType<'c>) -> Result<PointerValue<'c>> {
        let entry = self.function.get_first_basic_block().ok_or_else(missing)?;
        let builder = self.types.context.create_builder();
        builder.position_before(&entry.get_first_instruction().ok_or_else(missing)?);
        Ok(builder.build_alloca(of, "")?)
    }

    /// Emits what baseline code does at a back-edge of the loop of a node: it
    /// counts the iteration, and when the loop is hot asks the runtime for OSR code,
    /// in which the function continues if that is ready.
    pub(super) fn leave_loop(&mut self, node: u32) -> Result<()> {
        let Some(&OsrExit { count, after, .. }) = self.exit.as_ref() else { return Err(missing()) };
        let (i32, pointer) = (self.types.context.i32_type(), self.types.pointer);
        let before = self.builder.build_load(i32, count, "")?.into_int_value();
        let next = self.builder.build_int_add(before, i32.const_int(1, false), "")?;
        self.builder.build_store(count, next)?;
        let most = i32.const_int(u64::from(after), false);
        let is_hot = self.builder.build_int_compare(IntPredicate::EQ, next, most, "")?;
        let (hot, leave, go_on) = (self.block("hot"), self.block("leave"), self.block("go_on"));
        self.builder.build_conditional_branch(is_hot, hot, go_on)?;

        self.builder.position_at_end(hot);
        self.builder.build_store(count, i32.const_zero())?;
        let height = self.values.len();
        let live: Vec<_> = (0..height).filter(|place| !self.is_decided(*place)).collect();
        let steps: Vec<_> = self.open.iter().filter_map(IrConstruct::kept_step).collect();
        let values = (live.len() + steps.len()) as u32;
        let routine = self.types.routine(&self.builder, self.context, abi::HOT_LOOP)?;
        let signature = pointer.fn_type(&[pointer.into(), i32.into(), i32.into()], false);
        let number = |number: u32| i32.const_int(u64::from(number), false).into();
        let arguments = [self.context.into(), number(node), number(values)];
        let asked = self.builder.build_indirect_call(signature, routine, &arguments, "")?;
        let code = asked.try_as_basic_value().basic().ok_or_else(missing)?.into_pointer_value();
        let is_ready = self.builder.build_is_not_null(code, "")?;
        self.builder.build_conditional_branch(is_ready, leave, go_on)?;

        self.builder.position_at_end(leave);
        for local in 0..self.locals.len() {
            self.load_local(local as u32)?;
        }
        for place in live {
            let value = self.value(place)?;
            self.values.push(value);
        }
        for step in steps {
            self.load(step)?;
        }
        let arity = (self.values.len() - height) as u32;
        let outer = self.tail;
        if let Some(WideSignature { tail }) = WideSignature::of(arity) {
            self.tail = Some(self.place_at_entry(self.types.double.array_type(tail))?);
        }
        let arguments = self.arguments(arity)?;
        self.tail = outer;
        let call = self.call_body(code, arity, &arguments)?;
        if let Some((place, tail)) = self.types.tail(arity) {
            call.add_attribute(place, tail);
        }
        self.builder.build_return(Some(&result(call)?))?;
        self.builder.position_at_end(go_on);
        Ok(())
    }

    /// Returns whether an operand-stack value is that of a `&&` or `||` whose left
    /// side did not decide: a constant.
    fn is_decided(&self, place: usize) -> bool {
        let is_of = |open: &IrConstruct<'_>| matches!(open, IrConstruct::ShortCircuit { height, .. } if *height == place);
        self.open.iter().any(is_of)
    }
}

impl<'c> IrConstruct<'c> {
    /// Returns where the step of a loop is kept whose condition is being lowered.
    fn kept_step(&self) -> Option<PointerValue<'c>> {
        match self {
            Self::Loop(IrLoop { decision: None, kept, .. }) => *kept,
            Self::Loop(_) | Self::ShortCircuit { .. } | Self::Then { .. } | Self::Else { .. } => None,
        }
    }
}
