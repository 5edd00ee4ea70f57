//! An assembler for the instructions of x86-64 that baseline code consists of.
//!
//! Encodings are those of Intel's manual, volume 2. All jumps have distances of four
//! bytes, so that no instruction changes its size once its target is known. Constants
//! and the addresses of routines are in a pool behind the code.

use crate::abi::Symbol;
use crate::codegen::CodegenError;
use crate::distinct::Distinct;
use crate::pack::portable::{Field, FieldKind, PortableCode};

/// A general register, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Register {
    Rax = 0,
    Rcx = 1,
    Rdx = 2,
    Rbx = 3,
    Rsp = 4,
    Rbp = 5,
    Rsi = 6,
    Rdi = 7,
}

/// A vector register, by its number: 0 to 15.
pub(super) type Vector = u8;

/// An operand that is not the register operand of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MachineOperand {
    Vector(Vector),
    /// Memory at a distance from a register.
    At(Register, i32),
    /// A number of the pool, by its bits.
    Constant(u64),
}

/// An operation on the low double of two vector registers, or of one and memory: its
/// prefix and its opcode after `0f`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct VectorOp {
    prefix: Option<u8>,
    opcode: u8,
}

const fn scalar(opcode: u8) -> VectorOp {
    VectorOp { prefix: Some(0xf2), opcode }
}

const fn packed(opcode: u8) -> VectorOp {
    VectorOp { prefix: Some(0x66), opcode }
}

const MOVSD_LOAD: VectorOp = scalar(0x10);
const MOVSD_STORE: VectorOp = scalar(0x11);
const MOVAPS: VectorOp = VectorOp { prefix: None, opcode: 0x28 };
const XORPS: VectorOp = VectorOp { prefix: None, opcode: 0x57 };
pub(super) const SQRTSD: VectorOp = scalar(0x51);
pub(super) const ANDPD: VectorOp = packed(0x54);
pub(super) const ANDNPD: VectorOp = packed(0x55);
pub(super) const ORPD: VectorOp = packed(0x56);
pub(super) const XORPD: VectorOp = packed(0x57);
pub(super) const ADDSD: VectorOp = scalar(0x58);
pub(super) const MULSD: VectorOp = scalar(0x59);
pub(super) const SUBSD: VectorOp = scalar(0x5c);
pub(super) const DIVSD: VectorOp = scalar(0x5e);
pub(super) const UCOMISD: VectorOp = packed(0x2e);
const CMPSD: VectorOp = scalar(0xc2);

/// How `cmpsd` compares: its immediate operand. All but the last are false for NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Predicate {
    Equal = 0,
    Less = 1,
    LessEqual = 2,
    NotEqual = 4,
}

/// A condition of a jump: the low half of its opcode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum JumpCondition {
    Below = 0x2,
    AboveEqual = 0x3,
    Equal = 0x4,
    NotEqual = 0x5,
    BelowEqual = 0x6,
    Above = 0x7,
    Sign = 0x8,
    Parity = 0xa,
    NoParity = 0xb,
}

/// How `roundsd` rounds: its immediate operand, which raises no exception for
/// what is inexact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rounding {
    Down = 0x9,
    Up = 0xa,
    Zero = 0xb,
}

/// A jump whose target is not known yet: the place of its distance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PendingJump(usize);

/// A place in the code that jumps may lead to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place(usize);

/// Code under construction.
#[derive(Default)]
pub(super) struct MachineCode {
    bytes: Vec<u8>,
    fields: Vec<Field<Box<str>>>,
    /// The numbers of the pool, in their order.
    pool: Distinct<u64>,
    /// The places of distances to numbers of the pool, with their indices.
    references: Vec<(usize, usize)>,
    /// Routines, each with the places of distances to its address.
    routines: Vec<(Box<str>, Vec<usize>)>,
}

impl MachineCode {
    /// Creates it without code, with room for that many bytes.
    pub(super) fn with_room(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), ..Self::default() }
    }

    pub(super) fn here(&self) -> Place {
        Place(self.bytes.len())
    }

    fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    fn number(&mut self, number: u32) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    /// Appends the bytes that name a register, but for whether it is beyond the
    /// first eight, and another operand. The distance to
    /// the pool is from the end of the instruction, which has `after` bytes more.
    fn operands(&mut self, register: u8, operand: MachineOperand, after: i32) {
        let register = (register & 7) << 3;
        match operand {
            MachineOperand::Vector(other) => self.byte(0xc0 | register | other & 7),
            MachineOperand::At(base, distance) => {
                let (mode, short) = match i8::try_from(distance) {
                    Ok(0) if base != Register::Rbp => (0x00, None),
                    Ok(short) => (0x40, Some(short)),
                    Err(_) => (0x80, None),
                };
                self.byte(mode | register | base as u8);
                if base == Register::Rsp {
                    self.byte(0x24);
                }
                match (mode, short) {
                    (_, Some(short)) => self.byte(short.cast_unsigned()),
                    (0x80, None) => self.number(distance.cast_unsigned()),
                    _ => {}
                }
            }
            MachineOperand::Constant(bits) => {
                self.byte(0x05 | register);
                let (index, _) = self.pool.add(bits);
                self.references.push((self.bytes.len(), index));
                self.number((-4 - after).cast_unsigned());
            }
        }
    }

    /// Appends an operand in the execution context, whose offset is known when the code
    /// is placed.
    fn context_operand(&mut self, register: u8, symbol: Symbol<'_>) {
        self.byte(0x80 | register << 3 | Register::Rbx as u8);
        let at = self.bytes.len() as u32;
        let symbol = symbol.mangle().into();
        self.fields.push(Field { at, kind: FieldKind::Offset, addend: 0, symbol });
        self.number(0);
    }

    /// Appends the opcode of an operation, after the prefix `REX` if one of its registers is
    /// beyond the first eight.
    fn vector_opcode(&mut self, op: VectorOp, register: Vector, operand: MachineOperand) {
        op.prefix.into_iter().for_each(|prefix| self.byte(prefix));
        let other = if let MachineOperand::Vector(other) = operand { other } else { 0 };
        if register | other > 7 {
            self.byte(0x40 | register >> 3 << 2 | other >> 3);
        }
        self.byte(0x0f);
        self.byte(op.opcode);
    }

    /// Appends an operation whose first operand and result are in a register.
    pub(super) fn vector(&mut self, op: VectorOp, to: Vector, from: MachineOperand) {
        self.vector_opcode(op, to, from);
        self.operands(to, from, 0);
    }

    /// Appends a comparison whose result is a mask in place of its first operand.
    pub(super) fn compare(&mut self, predicate: Predicate, to: Vector, from: MachineOperand) {
        self.vector_opcode(CMPSD, to, from);
        self.operands(to, from, 1);
        self.byte(predicate as u8);
    }

    /// Appends a rounding to an integer of one of the first eight registers: SSE4.1.
    pub(super) fn round(&mut self, rounding: Rounding, register: Vector) {
        self.bytes.extend_from_slice(&[0x66, 0x0f, 0x3a, 0x0b]);
        self.operands(register, MachineOperand::Vector(register), 1);
        self.byte(rounding as u8);
    }

    /// Appends a load of a double.
    pub(super) fn load(&mut self, to: Vector, from: MachineOperand) {
        match from {
            MachineOperand::Vector(from) if from == to => {}
            MachineOperand::Vector(_) => self.vector(MOVAPS, to, from),
            MachineOperand::Constant(0) => self.zero(to),
            MachineOperand::At(..) | MachineOperand::Constant(_) => self.vector(MOVSD_LOAD, to, from),
        }
    }

    /// Appends a store of a double.
    pub(super) fn store(&mut self, base: Register, distance: i32, from: Vector) {
        self.vector(MOVSD_STORE, from, MachineOperand::At(base, distance));
    }

    pub(super) fn zero(&mut self, to: Vector) {
        self.vector(XORPS, to, MachineOperand::Vector(to));
    }

    /// Appends a load of a variable into one of the first eight registers.
    pub(super) fn load_variable(&mut self, to: Vector, symbol: Symbol<'_>) {
        self.vector_of_variable(MOVSD_LOAD, to, symbol);
    }

    /// Appends a store of one of the first eight registers in a variable.
    pub(super) fn store_variable(&mut self, symbol: Symbol<'_>, from: Vector) {
        self.vector_of_variable(MOVSD_STORE, from, symbol);
    }

    fn vector_of_variable(&mut self, op: VectorOp, register: Vector, symbol: Symbol<'_>) {
        self.vector_opcode(op, register, MachineOperand::At(Register::Rbx, 0));
        self.context_operand(register, symbol);
    }

    /// Appends a load of eight bytes.
    pub(super) fn load_word(&mut self, to: Register, from: MachineOperand) {
        self.bytes.extend_from_slice(&[0x48, 0x8b]);
        self.operands(to as u8, from, 0);
    }

    /// Appends a store of eight bytes.
    pub(super) fn store_word(&mut self, base: Register, distance: i32, from: Register) {
        self.bytes.extend_from_slice(&[0x48, 0x89]);
        self.operands(from as u8, MachineOperand::At(base, distance), 0);
    }

    /// Appends a load of four bytes.
    pub(super) fn load_half(&mut self, to: Register, base: Register, distance: i32) {
        self.byte(0x8b);
        self.operands(to as u8, MachineOperand::At(base, distance), 0);
    }

    /// Appends a store of four bytes.
    pub(super) fn store_half(&mut self, base: Register, distance: i32, from: Register) {
        self.byte(0x89);
        self.operands(from as u8, MachineOperand::At(base, distance), 0);
    }

    /// Appends a subtraction of a register from a constant, in four bytes: negates, and adds.
    pub(super) fn subtract_from(&mut self, value: u32, register: Register) {
        self.bytes.extend_from_slice(&[0xf7, 0xd8 | register as u8]);
        self.bytes.extend_from_slice(&[0x81, 0xc0 | register as u8]);
        self.number(value);
    }

    /// Appends a copy of one register to another.
    pub(super) fn copy_word(&mut self, to: Register, from: Register) {
        self.bytes.extend_from_slice(&[0x48, 0x89, 0xc0 | (from as u8) << 3 | to as u8]);
    }

    /// Appends a load of eight bytes of the execution context.
    pub(super) fn load_context_word(&mut self, to: Register, symbol: Symbol<'_>) {
        self.bytes.extend_from_slice(&[0x48, 0x8b]);
        self.context_operand(to as u8, symbol);
    }

    /// Appends a load of a constant of four bytes.
    pub(super) fn set(&mut self, to: Register, value: u32) {
        self.byte(0xb8 | to as u8);
        self.number(value);
    }

    /// Returns where the constant is that the last instruction ends with.
    pub(super) fn last_constant(&self) -> Place {
        Place(self.bytes.len() - 4)
    }

    /// Appends a store of a constant of four bytes.
    pub(super) fn set_memory(&mut self, base: Register, distance: i32, value: u32) {
        self.byte(0xc7);
        self.operands(0, MachineOperand::At(base, distance), 4);
        self.number(value);
    }

    /// Appends an increment of a count of four bytes in the frame, and its comparison.
    pub(super) fn count(&mut self, base: Register, distance: i32, most: u32) {
        self.byte(0xff);
        self.operands(0, MachineOperand::At(base, distance), 0);
        self.byte(0x81);
        self.operands(7, MachineOperand::At(base, distance), 4);
        self.number(most);
    }

    /// Appends an increment of a count of four bytes in a register, and its comparison.
    pub(super) fn count_in_register(&mut self, register: Register, most: u32) {
        self.bytes.extend_from_slice(&[0xff, 0xc0 | register as u8]);
        self.bytes.extend_from_slice(&[0x81, 0xf8 | register as u8]);
        self.number(most);
    }

    /// Appends an increment of a count of four bytes in the execution context, and its
    /// comparison.
    pub(super) fn count_in_context(&mut self, symbol: Symbol<'_>, most: u32) {
        self.byte(0xff);
        self.context_operand(0, symbol);
        self.byte(0x81);
        self.context_operand(7, symbol);
        self.number(most);
    }

    /// Appends a store of 0 to a count of the execution context.
    pub(super) fn clear_in_context(&mut self, symbol: Symbol<'_>) {
        self.byte(0xc7);
        self.context_operand(0, symbol);
        self.number(0);
    }

    /// Appends a decrement of eight bytes.
    pub(super) fn decrement(&mut self, base: Register, distance: i32) {
        self.bytes.extend_from_slice(&[0x48, 0xff]);
        self.operands(1, MachineOperand::At(base, distance), 0);
    }

    /// Appends a comparison of a register with memory.
    pub(super) fn compare_word(&mut self, register: Register, base: Register, distance: i32) {
        self.bytes.extend_from_slice(&[0x48, 0x3b]);
        self.operands(register as u8, MachineOperand::At(base, distance), 0);
    }

    /// Appends a test of whether a register is 0.
    pub(super) fn test_word(&mut self, register: Register) {
        self.bytes.extend_from_slice(&[0x48, 0x85, 0xc0 | (register as u8) << 3 | register as u8]);
    }

    pub(super) fn push(&mut self, register: Register) {
        self.byte(0x50 | register as u8);
    }

    /// Appends a subtraction of a constant from the stack pointer.
    pub(super) fn lower_stack(&mut self) {
        self.bytes.extend_from_slice(&[0x48, 0x81, 0xec]);
        self.number(0);
    }

    /// Appends a subtraction of `rax` from the stack pointer.
    pub(super) fn lower_stack_by_rax(&mut self) {
        self.bytes.extend_from_slice(&[0x48, 0x29, 0xc4]);
    }

    /// Sets a constant of four bytes that was appended before.
    pub(super) fn patch(&mut self, place: Place, value: u32) {
        if let Some(field) = self.bytes.get_mut(place.0..place.0 + 4) {
            field.copy_from_slice(&value.to_le_bytes());
        }
    }

    /// Appends `leave` and `ret`.
    pub(super) fn leave(&mut self) {
        self.bytes.extend_from_slice(&[0xc9, 0xc3]);
    }

    /// Appends a call of what a word of memory leads to.
    pub(super) fn call_at(&mut self, base: Register, distance: i32) {
        self.byte(0xff);
        self.operands(2, MachineOperand::At(base, distance), 0);
    }

    /// Appends a call of what a register leads to.
    pub(super) fn call_register(&mut self, register: Register) {
        self.bytes.extend_from_slice(&[0xff, 0xd0 | register as u8]);
    }

    /// Appends a call of what a slot leads to.
    pub(super) fn call_slot(&mut self, symbol: Symbol<'_>) {
        self.byte(0xff);
        self.context_operand(2, symbol);
    }

    /// Appends a call of a routine of the process.
    pub(super) fn call_routine(&mut self, name: &str) {
        self.bytes.extend_from_slice(&[0xff, 0x15]);
        let at = self.bytes.len();
        match self.routines.iter_mut().find(|(known, _)| **known == *name) {
            Some((_, places)) => places.push(at),
            None => self.routines.push((name.into(), vec![at])),
        }
        self.number(0);
    }

    /// Appends a jump.
    pub(super) fn jump(&mut self) -> PendingJump {
        self.byte(0xe9);
        self.number(0);
        PendingJump(self.bytes.len() - 4)
    }

    /// Appends a jump that is taken under a condition.
    pub(super) fn jump_if(&mut self, condition: JumpCondition) -> PendingJump {
        self.byte(0x0f);
        self.byte(0x80 | condition as u8);
        self.number(0);
        PendingJump(self.bytes.len() - 4)
    }

    /// Appends a jump to a place before it.
    pub(super) fn jump_to(&mut self, place: Place) {
        let jump = self.jump();
        self.bind_to(jump, place);
    }

    /// Makes jumps lead here.
    pub(super) fn bind(&mut self, jumps: impl IntoIterator<Item = PendingJump>) {
        let here = self.here();
        jumps.into_iter().for_each(|jump| self.bind_to(jump, here));
    }

    /// Makes a jump lead to a place.
    pub(super) fn bind_to(&mut self, jump: PendingJump, place: Place) {
        let distance = (place.0 as i64 - (jump.0 as i64 + 4)) as i32;
        self.patch(Place(jump.0), distance.cast_unsigned());
    }

    /// Appends the pool. Returns the code.
    ///
    /// # Errors
    /// If it is larger than a jump can reach.
    pub(super) fn finish(mut self) -> Result<PortableCode, CodegenError> {
        let size = self.bytes.len();
        let pool = size.next_multiple_of(8);
        let words = self.pool.values().len() + self.routines.len();
        if i32::try_from(pool + 8 * words).is_err() {
            return Err(CodegenError::Internal("code that no jump can cross".to_owned()));
        }
        for (at, index) in std::mem::take(&mut self.references) {
            // What is there already is the distance to the end of the instruction.
            let distance = (pool + 8 * index) as i32 - at as i32;
            let after = self.bytes.get(at..at + 4).and_then(|field| <[u8; 4]>::try_from(field).ok());
            let after = after.map_or(0, i32::from_le_bytes);
            self.patch(Place(at), (distance + after).cast_unsigned());
        }
        self.bytes.resize(pool, 0);
        for number in self.pool.values() {
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
        for (name, places) in std::mem::take(&mut self.routines) {
            let cell = self.bytes.len();
            for place in places {
                self.patch(Place(place), (cell as i32 - (place as i32 + 4)).cast_unsigned());
            }
            self.fields.push(Field { at: cell as u32, kind: FieldKind::Cell, addend: 0, symbol: name });
            self.bytes.extend_from_slice(&[0; 8]);
        }
        Ok(PortableCode { bytes: self.bytes, size: size as u32, fields: self.fields })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(write: impl FnOnce(&mut MachineCode)) -> Vec<u8> {
        let mut code = MachineCode::default();
        write(&mut code);
        code.bytes
    }

    /// The bytes are those of another assembler, LLVM's.
    #[test]
    fn instructions_have_the_encodings_of_the_manual() {
        use MachineOperand::{At, Vector};
        use Register::{Rax, Rbp, Rbx, Rcx, Rdi, Rsi, Rsp};
        let cases: [(Vec<u8>, &[u8]); 29] = [
            (encoded(|code| code.load(0, At(Rbp, -16))), &[0xf2, 0x0f, 0x10, 0x45, 0xf0]),
            (encoded(|code| code.load(3, At(Rbp, -1024))), &[0xf2, 0x0f, 0x10, 0x9d, 0x00, 0xfc, 0xff, 0xff]),
            (encoded(|code| code.store(Rsp, 8, 2)), &[0xf2, 0x0f, 0x11, 0x54, 0x24, 0x08]),
            (encoded(|code| code.load(1, Vector(0))), &[0x0f, 0x28, 0xc8]),
            (encoded(|code| code.vector(MULSD, 0, At(Rax, 24))), &[0xf2, 0x0f, 0x59, 0x40, 0x18]),
            (encoded(|code| code.compare(Predicate::Less, 0, Vector(1))), &[0xf2, 0x0f, 0xc2, 0xc1, 0x01]),
            (encoded(|code| code.round(Rounding::Down, 0)), &[0x66, 0x0f, 0x3a, 0x0b, 0xc0, 0x09]),
            (encoded(|code| code.load(8, Vector(0))), &[0x44, 0x0f, 0x28, 0xc0]),
            (encoded(|code| code.load(1, Vector(15))), &[0x41, 0x0f, 0x28, 0xcf]),
            (encoded(|code| code.load(9, Vector(12))), &[0x45, 0x0f, 0x28, 0xcc]),
            (encoded(|code| code.store(Rbp, -16, 9)), &[0xf2, 0x44, 0x0f, 0x11, 0x4d, 0xf0]),
            (encoded(|code| code.vector(MULSD, 10, At(Rax, 24))), &[0xf2, 0x44, 0x0f, 0x59, 0x50, 0x18]),
            (encoded(|code| code.vector(UCOMISD, 1, Vector(8))), &[0x66, 0x41, 0x0f, 0x2e, 0xc8]),
            (encoded(|code| code.zero(11)), &[0x45, 0x0f, 0x57, 0xdb]),
            (
                encoded(|code| code.compare(Predicate::Less, 8, Vector(1))),
                &[0xf2, 0x44, 0x0f, 0xc2, 0xc1, 0x01],
            ),
            (encoded(|code| code.vector(UCOMISD, 1, Vector(0))), &[0x66, 0x0f, 0x2e, 0xc8]),
            (encoded(|code| code.load_word(Rax, At(Rbp, 16))), &[0x48, 0x8b, 0x45, 0x10]),
            (encoded(|code| code.store_word(Rsp, 0, Rax)), &[0x48, 0x89, 0x04, 0x24]),
            (encoded(|code| code.set_memory(Rbp, -24, 7)), &[0xc7, 0x45, 0xe8, 7, 0, 0, 0]),
            (
                encoded(|code| code.count(Rbp, -24, 1000)),
                &[0xff, 0x45, 0xe8, 0x81, 0x7d, 0xe8, 0xe8, 0x03, 0, 0],
            ),
            (encoded(|code| code.count_in_register(Rcx, 1000)), &[0xff, 0xc1, 0x81, 0xf9, 0xe8, 0x03, 0, 0]),
            (encoded(|code| code.load_half(Rcx, Rbp, -24)), &[0x8b, 0x4d, 0xe8]),
            (encoded(|code| code.compare_word(Rsp, Rbx, 0)), &[0x48, 0x3b, 0x23]),
            (encoded(|code| code.decrement(Rbx, 16)), &[0x48, 0xff, 0x4b, 0x10]),
            (encoded(|code| code.test_word(Rax)), &[0x48, 0x85, 0xc0]),
            (encoded(|code| code.call_at(Rbx, 96)), &[0xff, 0x53, 0x60]),
            (encoded(|code| code.call_register(Rsi)), &[0xff, 0xd6]),
            (encoded(|code| code.copy_word(Rdi, Rbx)), &[0x48, 0x89, 0xdf]),
            (encoded(|code| code.push(Rbx)), &[0x53]),
        ];
        for (index, (found, expected)) in cases.iter().enumerate() {
            assert_eq!(found, expected, "instruction {index}");
        }
    }

    #[test]
    fn jumps_and_the_pool_are_reached_by_distance() {
        let mut code = MachineCode::default();
        let jump = code.jump();
        code.load(0, MachineOperand::Constant(1_f64.to_bits()));
        code.bind([jump]);
        let back = code.here();
        code.vector(ADDSD, 0, MachineOperand::Constant(1_f64.to_bits()));
        code.jump_to(back);
        code.call_routine("fmod");
        let made = code.finish().expect("it is small");
        let word = |at: usize| i32::from_le_bytes(made.bytes[at..at + 4].try_into().expect("four bytes"));
        // Over the load, back over the addition and the jump, to the number and the address.
        assert_eq!((word(1), word(22), made.size), (8, -13, 32));
        assert_eq!((word(9) + 13, word(17) + 21, word(28) + 32), (32, 32, 40));
        assert_eq!(made.bytes[32..40], 1_f64.to_le_bytes());
        assert_eq!((made.fields[0].at, &*made.fields[0].symbol), (40, "fmod"));
    }
}
