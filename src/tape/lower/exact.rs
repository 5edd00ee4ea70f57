//! Constants, and powers that are exact: what needs no call.
//!
//! A result that is not finite is not computed ahead, so that a debugger finds the
//! instruction that made it.

use super::{ACCUMULATOR, Operand, TapeLowering, Value};
use crate::host::power::ExactPower;
use crate::host::{Builtin, PureFunction};
use crate::tape::op::Op;

impl TapeLowering<'_> {
    /// Replaces the arguments of a function on the stack by its result, if they are all
    /// constants; returns whether they are.
    pub(super) fn is_constant(&mut self, builtin: Builtin, arity: usize) -> bool {
        let first = self.values.len().saturating_sub(arity);
        let number = |value: &Value| match value {
            Value::Plain(Operand::Number(number)) => Some(*number),
            Value::Plain(_) | Value::Condition(_) | Value::True(_) | Value::Returned => None,
        };
        let arguments: Option<Vec<f64>> = self.values[first..].iter().map(number).collect();
        let result = arguments.and_then(|arguments| builtin.call(&arguments));
        let Some(result) = result.filter(|result| result.is_finite()) else { return false };
        // No constant is unsettled.
        self.values.truncate(first);
        self.push(Value::Plain(Operand::Number(result)));
        true
    }

    /// Negates the top value.
    pub(super) fn negate(&mut self) {
        if let Some(Value::Plain(Operand::Number(number))) = self.values.last_mut() {
            *number = -*number;
        } else {
            self.apply(Op::Negate);
        }
    }

    /// Lowers `^`, and calls of `pow`.
    pub(super) fn power(&mut self) {
        if PureFunction::pow().is_some_and(|pow| self.is_constant(Builtin::Call(pow), 2)) {
            return;
        }
        let exact = match self.values.last() {
            Some(Value::Plain(Operand::Number(exponent))) => ExactPower::of(*exponent),
            _ => None,
        };
        let Some(exact) = exact else { return self.slot_first(Op::PowerSA) };
        let (base, _) = self.operands();
        match exact {
            // The local of a slot may change before the value is used.
            ExactPower::Same => self.load(Value::Plain(base)),
            ExactPower::Square => match base {
                Operand::Slot(slot) => self.emit(Op::MultiplySS, &[slot.into(), slot.into()]),
                Operand::Accumulator | Operand::Number(_) => {
                    self.load(Value::Plain(base));
                    self.emit(Op::Square, &[]);
                }
            },
            ExactPower::Reciprocal => {
                // Either there is one form for it, or the accumulator is free.
                let (form, operands, count) = self.form(Operand::Number(1.0), base);
                self.emit(super::member(Op::DivideAS, form), &operands[..count]);
            }
            ExactPower::Root => {
                self.load(Value::Plain(base));
                self.emit(Op::Root, &[]);
            }
        }
        self.push(ACCUMULATOR);
    }
}
