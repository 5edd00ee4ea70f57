//! The disassembler: for each instruction its offset, what it does, and the
//! source it was made for.

use super::Tape;
use super::op::{Instruction, OperandKind, Raw};
use crate::name::Names;
use crate::sema::checked::CheckedFunction;
use crate::sema::instance::shown;
use std::fmt::Write;

/// The width of the column of instructions, in characters.
const COLUMN: usize = 36;

impl Tape {
    /// Returns the listing of the tape of `function`, under the heading
    /// `title`.
    pub fn disassemble(&self, title: &str, function: &CheckedFunction, names: &Names) -> String {
        let plural = |count: usize, noun: &str| {
            if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
        };
        let mut text = format!(
            "{title}: {}, {}, {}\n",
            plural(self.locals as usize, "local"),
            plural(self.frame as usize, "slot"),
            plural(self.words.len(), "word"),
        );
        let spans: Vec<_> = function.spans.iter().collect();
        for (index, (at, instruction)) in self.instructions().enumerate() {
            let Some(instruction) = instruction else {
                let _ = writeln!(text, "{at:>6}  ?");
                break;
            };
            let instruction = self.instruction(&instruction, at, function, names);
            let span = self.origins.get(index).and_then(|node| spans.get(*node as usize));
            match span {
                Some(span) => {
                    let (line, column) = function.source.position(span.start);
                    let source = function.source.slice(*span).lines().next().unwrap_or("");
                    let _ = writeln!(text, "{at:>6}  {instruction:COLUMN$} ; {line}:{column} {source}");
                }
                None => {
                    let _ = writeln!(text, "{at:>6}  {instruction}");
                }
            }
        }
        text
    }

    /// Returns the instruction at an offset as text.
    pub fn instruction_at(&self, offset: usize, function: &CheckedFunction, names: &Names) -> String {
        let instruction = self.words.get(offset..).and_then(Instruction::decode);
        instruction.map_or_else(
            || "?".to_owned(),
            |instruction| self.instruction(&instruction, offset, function, names),
        )
    }

    fn instruction(
        &self,
        instruction: &Instruction,
        at: usize,
        function: &CheckedFunction,
        names: &Names,
    ) -> String {
        let mut text = instruction.op.template().to_owned();
        for (place, (kind, raw)) in instruction.operands().enumerate() {
            let operand = match kind {
                OperandKind::Target => {
                    let target = at.saturating_add_signed((raw as u32).cast_signed() as isize);
                    target.to_string()
                }
                OperandKind::Number => number(f64::from_bits(raw)),
                OperandKind::Site if raw == 0 => "calls".to_owned(),
                OperandKind::Site => format!("rounds of loop {raw}"),
                OperandKind::Counter => raw.to_string(),
                OperandKind::Slot | OperandKind::Link | OperandKind::Frame => self.slot(raw, function, names),
                OperandKind::Callee => named(self.callees.get(raw as usize).map(|callee| callee.name), names),
                OperandKind::Host => named(self.hosts.get(raw as usize).map(|host| host.name), names),
                OperandKind::Variable => named(self.variables.get(raw as usize).copied(), names),
            };
            text = text.replace(&format!("{{{place}}}"), &operand);
        }
        text
    }

    /// Returns a slot as text: a parameter's name, another local as `v1`, a
    /// temporary as `t0`.
    fn slot(&self, raw: Raw, function: &CheckedFunction, names: &Names) -> String {
        let slot = raw as u32;
        match function.parameters.get(slot as usize) {
            Some(name) => names.text(*name).to_string(),
            None if slot < self.locals => format!("v{slot}"),
            None if slot == self.locals => "link".to_owned(),
            None => format!("t{}", slot - self.locals - 1),
        }
    }
}

/// Returns the fewest digits that read back as the same number.
fn number(value: f64) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

fn named(name: Option<crate::name::Name>, names: &Names) -> String {
    name.map_or_else(|| "?".to_owned(), |name| shown(&names.text(name)))
}
