//! Variables of the program, which LLVM may keep in registers during a loop.

use super::IrLowering;
use crate::abi::Symbol;
use crate::codegen::compiler::refusal::Result;
use crate::name::Name;
use inkwell::values::InstructionValue;

impl<'c> IrLowering<'_, 'c> {
    pub(super) fn load_variable(&mut self, name: Name) -> Result<()> {
        let text = self.names.text(name);
        let place = self.offset(Symbol::Variable(&text))?;
        let value = self.builder.build_load(self.types.double, place, "")?.into_float_value();
        self.tag_variable(value.as_instruction(), &text)?;
        self.values.push(value);
        Ok(())
    }

    /// Stores the top of the operand stack, which stays there.
    pub(super) fn store_variable(&mut self, name: Name) -> Result<()> {
        let text = self.names.text(name);
        let place = self.offset(Symbol::Variable(&text))?;
        let store = self.builder.build_store(place, self.top()?)?;
        self.tag_variable(Some(store), &text)
    }

    /// Marks the access of a variable: those of other variables are somewhere else.
    fn tag_variable(&self, access: Option<InstructionValue<'c>>, name: &str) -> Result<()> {
        access.map_or(Ok(()), |access| self.types.tag(access, &format!("{name} ")))
    }
}
