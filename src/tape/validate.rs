//! The bytecode verifier.
//!
//! The interpreter does not check operands at run time. Whatever may have
//! changed a tape since it was lowered, it relies on this: every index is
//! inside its table or frame, every jump targets an instruction, only loop
//! operations, which poll, jump backwards, execution never runs past the end,
//! and nothing but a call writes a link.

use super::op::{Instruction, Op, OperandKind, Raw};
use super::{Tape, TapeCallee};

/// What is wrong with a tape, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the tape is damaged at word {at}: {what}")]
pub struct TapeFault {
    pub what: &'static str,
    /// The offset of the instruction, in words.
    pub at: usize,
}

impl Tape {
    /// Checks everything that the interpreter relies on.
    ///
    /// # Errors
    /// The first [`TapeFault`] found.
    pub fn validate(&self) -> Result<(), TapeFault> {
        if self.locals >= self.frame {
            return Err(TapeFault { what: "the frame has no room for the link", at: 0 });
        }
        let mut starts = vec![false; self.words.len()];
        let mut last = None;
        for (at, instruction) in self.instructions() {
            let instruction = instruction.ok_or(TapeFault { what: "no instruction", at })?;
            self.operands(&instruction).map_err(|what| TapeFault { what, at })?;
            starts[at] = true;
            last = Some((at, instruction.op));
        }
        for (at, instruction) in self.instructions() {
            let Some((distance, op)) =
                instruction.and_then(|instruction| Some((instruction.distance()?, instruction.op)))
            else {
                continue;
            };
            let target = at.checked_add_signed(distance as isize);
            if target.and_then(|target| starts.get(target)) != Some(&true) {
                return Err(TapeFault { what: "a jump to no instruction", at });
            }
            if distance <= 0 && !op.is_loop() {
                return Err(TapeFault { what: "a jump back without a check", at });
            }
        }
        match last {
            Some((_, Op::Return | Op::ReturnS | Op::ReturnK | Op::Jump)) => Ok(()),
            Some((at, _)) => Err(TapeFault { what: "the end is not a return", at }),
            None => Err(TapeFault { what: "there are no instructions", at: 0 }),
        }
    }

    /// Iterates over the instructions with their offsets; ends with `None` at
    /// an invalid one.
    pub fn instructions(&self) -> impl Iterator<Item = (usize, Option<Instruction>)> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let words = self.words.get(at..).filter(|words| !words.is_empty())?;
            let (start, instruction) = (at, Instruction::decode(words));
            at = instruction.map_or(self.words.len(), |instruction| at + instruction.op.length());
            Some((start, instruction))
        })
    }

    fn operands(&self, instruction: &Instruction) -> Result<(), &'static str> {
        if matches!(instruction.op, Op::Leave | Op::FirstCall | Op::Break) {
            return Err("an instruction of the interpreter's own");
        }
        let (locals, slots) = (Raw::from(self.locals), Raw::from(self.frame));
        let mut frame = 0;
        for (kind, raw) in instruction.operands() {
            match kind {
                OperandKind::Slot if raw >= slots || raw == locals => {
                    return Err("a slot outside the frame");
                }
                OperandKind::Link if raw != locals => return Err("a return through another slot"),
                OperandKind::Frame if raw <= locals || raw > slots => {
                    return Err("a call that overwrites the frame");
                }
                OperandKind::Frame => frame = raw,
                OperandKind::Callee => self.arguments(&self.callees, raw, frame)?,
                OperandKind::Host => {
                    self.arguments(&self.hosts, raw, frame)?;
                    let takes_accumulator = instruction.op == Op::HostA;
                    if takes_accumulator && self.hosts[raw as usize].arity != 1 {
                        return Err("a host function that does not take one argument");
                    }
                }
                OperandKind::Variable if raw >= self.variables.len() as Raw => {
                    return Err("no such variable");
                }
                OperandKind::Site if raw > self.loops.len() as Raw => return Err("no such loop"),
                OperandKind::Counter if raw != 0 => return Err("a counter that has begun"),
                OperandKind::Slot
                | OperandKind::Link
                | OperandKind::Variable
                | OperandKind::Number
                | OperandKind::Target
                | OperandKind::Site
                | OperandKind::Counter => {}
            }
        }
        Ok(())
    }

    /// Checks that the arguments of a call lie in the frame, from slot `frame`
    /// on.
    fn arguments(&self, table: &[TapeCallee], index: Raw, frame: Raw) -> Result<(), &'static str> {
        let Some(callee) = table.get(index as usize) else { return Err("no such callee") };
        let end = frame + Raw::from(callee.arity);
        if frame > 0 && end > self.frame.into() { Err("arguments outside the frame") } else { Ok(()) }
    }
}
