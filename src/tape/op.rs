//! The instruction set, defined in one table.
//!
//! Bytecode is a sequence of 32-bit words. An instruction is its operation in
//! the low byte of a word, its first operand in the rest of that word if the
//! operand is an index, and the other operands in the words that follow: an
//! index or a distance takes one, a number takes two, low half first.
//!
//! Instructions work on one accumulator, written `_`, and on the *slots* of the
//! frame: parameters, locals and temporaries, numbered from its start. Those
//! whose name ends in `To` also store their result in a slot. The letters in a
//! name say where operands come from, in the order of the source: `A` the
//! accumulator, `S` a slot, `K` a constant in the instruction.

/// The kind of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperandKind {
    /// A slot of the frame.
    Slot,
    /// The slot of the return address: always that of the tape.
    Link,
    /// The first slot of a callee's frame, where its arguments are.
    Frame,
    /// A constant.
    Number,
    /// A jump target, as the distance in words from this instruction.
    Target,
    /// An index into the tape's table of callees.
    Callee,
    /// An index into the tape's table of host functions.
    Host,
    /// An index into the tape's table of variables.
    Variable,
    /// What is counted: 0 for calls, else the iterations of a loop, by its
    /// index in the tape's table plus 1.
    Site,
    /// The remaining count, set when the tape is linked; 0 until then.
    Counter,
}

impl OperandKind {
    /// Returns the number of words it takes, outside of the first word.
    const fn words(self) -> usize {
        match self {
            Self::Number => 2,
            Self::Slot
            | Self::Link
            | Self::Frame
            | Self::Target
            | Self::Callee
            | Self::Host
            | Self::Variable
            | Self::Site
            | Self::Counter => 1,
        }
    }

    /// Returns whether it fits the rest of the first word.
    const fn is_index(self) -> bool {
        !matches!(self, Self::Number | Self::Target | Self::Counter)
    }
}

/// One more than the largest index that fits the first word.
pub const INDEX_END: u32 = 1 << 24;

macro_rules! ops {
    ($($name:ident = $template:literal $($kind:ident)*;)+) => {
        /// An operation. In the templates `{0}` is the first operand and `_`
        /// the accumulator.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum Op {
            $(#[doc = concat!("`", $template, "`")] $name),+
        }

        /// The number of each operation.
        #[allow(non_upper_case_globals)]
        pub mod number {
            use super::Op;
            $(#[doc = concat!("`", $template, "`")] pub const $name: u8 = Op::$name as u8;)+
        }

        impl Op {
            /// Every operation, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Returns the template that disassemblies show.
            pub const fn template(self) -> &'static str {
                match self { $(Self::$name => $template),+ }
            }

            /// Returns the kinds of its operands.
            pub const fn operands(self) -> &'static [OperandKind] {
                match self { $(Self::$name => &[$(OperandKind::$kind),*]),+ }
            }
        }
    };
}

ops! {
    Leave = "leave";
    FirstCall = "first call of {0}" Callee;
    Break = "break";

    Number = "_ = {0}" Number;
    Get = "_ = {0}" Slot;
    Set = "{0} = _" Slot;
    Put = "{0} = {1}" Slot Number;
    Copy = "{0} = {1}" Slot Slot;
    GetVariable = "_ = {0}" Variable;
    SetVariable = "{0} = _" Variable;

    AddAS = "_ = _ + {0}" Slot;
    AddSA = "_ = {0} + _" Slot;
    AddAK = "_ = _ + {0}" Number;
    AddKA = "_ = {0} + _" Number;
    AddSS = "_ = {0} + {1}" Slot Slot;
    AddSK = "_ = {0} + {1}" Slot Number;
    AddKS = "_ = {1} + {0}" Slot Number;
    SubtractAS = "_ = _ - {0}" Slot;
    SubtractSA = "_ = {0} - _" Slot;
    SubtractAK = "_ = _ - {0}" Number;
    SubtractKA = "_ = {0} - _" Number;
    SubtractSS = "_ = {0} - {1}" Slot Slot;
    SubtractSK = "_ = {0} - {1}" Slot Number;
    SubtractKS = "_ = {1} - {0}" Slot Number;
    MultiplyAS = "_ = _ * {0}" Slot;
    MultiplySA = "_ = {0} * _" Slot;
    MultiplyAK = "_ = _ * {0}" Number;
    MultiplyKA = "_ = {0} * _" Number;
    MultiplySS = "_ = {0} * {1}" Slot Slot;
    MultiplySK = "_ = {0} * {1}" Slot Number;
    MultiplyKS = "_ = {1} * {0}" Slot Number;
    DivideAS = "_ = _ / {0}" Slot;
    DivideSA = "_ = {0} / _" Slot;
    DivideAK = "_ = _ / {0}" Number;
    DivideKA = "_ = {0} / _" Number;
    DivideSS = "_ = {0} / {1}" Slot Slot;
    DivideSK = "_ = {0} / {1}" Slot Number;
    DivideKS = "_ = {1} / {0}" Slot Number;

    AddASTo = "{1} = _ + {0}" Slot Slot;
    AddSATo = "{1} = {0} + _" Slot Slot;
    AddAKTo = "{1} = _ + {0}" Number Slot;
    AddKATo = "{1} = {0} + _" Number Slot;
    AddSSTo = "{2} = {0} + {1}" Slot Slot Slot;
    AddSKTo = "{2} = {0} + {1}" Slot Number Slot;
    AddKSTo = "{2} = {1} + {0}" Slot Number Slot;
    SubtractASTo = "{1} = _ - {0}" Slot Slot;
    SubtractSATo = "{1} = {0} - _" Slot Slot;
    SubtractAKTo = "{1} = _ - {0}" Number Slot;
    SubtractKATo = "{1} = {0} - _" Number Slot;
    SubtractSSTo = "{2} = {0} - {1}" Slot Slot Slot;
    SubtractSKTo = "{2} = {0} - {1}" Slot Number Slot;
    SubtractKSTo = "{2} = {1} - {0}" Slot Number Slot;
    MultiplyASTo = "{1} = _ * {0}" Slot Slot;
    MultiplySATo = "{1} = {0} * _" Slot Slot;
    MultiplyAKTo = "{1} = _ * {0}" Number Slot;
    MultiplyKATo = "{1} = {0} * _" Number Slot;
    MultiplySSTo = "{2} = {0} * {1}" Slot Slot Slot;
    MultiplySKTo = "{2} = {0} * {1}" Slot Number Slot;
    MultiplyKSTo = "{2} = {1} * {0}" Slot Number Slot;
    DivideASTo = "{1} = _ / {0}" Slot Slot;
    DivideSATo = "{1} = {0} / _" Slot Slot;
    DivideAKTo = "{1} = _ / {0}" Number Slot;
    DivideKATo = "{1} = {0} / _" Number Slot;
    DivideSSTo = "{2} = {0} / {1}" Slot Slot Slot;
    DivideSKTo = "{2} = {0} / {1}" Slot Number Slot;
    DivideKSTo = "{2} = {1} / {0}" Slot Number Slot;

    RemainderSA = "_ = {0} % _" Slot;
    PowerSA = "_ = {0} ^ _" Slot;
    Square = "_ = _ * _";
    Root = "_ = _ ^ 0.5";
    Negate = "_ = -_";
    Not = "_ = !_";
    Sqrt = "_ = sqrt(_)";
    Fabs = "_ = fabs(_)";
    Floor = "_ = floor(_)";
    Ceil = "_ = ceil(_)";
    Trunc = "_ = trunc(_)";
    CopysignSA = "_ = copysign({0}, _)" Slot;

    LessAS = "_ = _ < {0}" Slot;
    LessSA = "_ = {0} < _" Slot;
    LessAK = "_ = _ < {0}" Number;
    LessKA = "_ = {0} < _" Number;
    LessSS = "_ = {0} < {1}" Slot Slot;
    LessSK = "_ = {0} < {1}" Slot Number;
    LessKS = "_ = {1} < {0}" Slot Number;
    LessEqualAS = "_ = _ <= {0}" Slot;
    LessEqualSA = "_ = {0} <= _" Slot;
    LessEqualAK = "_ = _ <= {0}" Number;
    LessEqualKA = "_ = {0} <= _" Number;
    LessEqualSS = "_ = {0} <= {1}" Slot Slot;
    LessEqualSK = "_ = {0} <= {1}" Slot Number;
    LessEqualKS = "_ = {1} <= {0}" Slot Number;
    EqualAS = "_ = _ == {0}" Slot;
    EqualSA = "_ = {0} == _" Slot;
    EqualAK = "_ = _ == {0}" Number;
    EqualKA = "_ = {0} == _" Number;
    EqualSS = "_ = {0} == {1}" Slot Slot;
    EqualSK = "_ = {0} == {1}" Slot Number;
    EqualKS = "_ = {1} == {0}" Slot Number;

    Jump = "goto {0}" Target;
    If = "if _ goto {0}" Target;
    Unless = "unless _ goto {0}" Target;
    IfLessAS = "if _ < {0} goto {1}" Slot Target;
    IfLessSA = "if {0} < _ goto {1}" Slot Target;
    IfLessAK = "if _ < {0} goto {1}" Number Target;
    IfLessKA = "if {0} < _ goto {1}" Number Target;
    IfLessSS = "if {0} < {1} goto {2}" Slot Slot Target;
    IfLessSK = "if {0} < {1} goto {2}" Slot Number Target;
    IfLessKS = "if {1} < {0} goto {2}" Slot Number Target;
    IfLessEqualAS = "if _ <= {0} goto {1}" Slot Target;
    IfLessEqualSA = "if {0} <= _ goto {1}" Slot Target;
    IfLessEqualAK = "if _ <= {0} goto {1}" Number Target;
    IfLessEqualKA = "if {0} <= _ goto {1}" Number Target;
    IfLessEqualSS = "if {0} <= {1} goto {2}" Slot Slot Target;
    IfLessEqualSK = "if {0} <= {1} goto {2}" Slot Number Target;
    IfLessEqualKS = "if {1} <= {0} goto {2}" Slot Number Target;
    IfEqualAS = "if _ == {0} goto {1}" Slot Target;
    IfEqualSA = "if {0} == _ goto {1}" Slot Target;
    IfEqualAK = "if _ == {0} goto {1}" Number Target;
    IfEqualKA = "if {0} == _ goto {1}" Number Target;
    IfEqualSS = "if {0} == {1} goto {2}" Slot Slot Target;
    IfEqualSK = "if {0} == {1} goto {2}" Slot Number Target;
    IfEqualKS = "if {1} == {0} goto {2}" Slot Number Target;
    UnlessLessAS = "unless _ < {0} goto {1}" Slot Target;
    UnlessLessSA = "unless {0} < _ goto {1}" Slot Target;
    UnlessLessAK = "unless _ < {0} goto {1}" Number Target;
    UnlessLessKA = "unless {0} < _ goto {1}" Number Target;
    UnlessLessSS = "unless {0} < {1} goto {2}" Slot Slot Target;
    UnlessLessSK = "unless {0} < {1} goto {2}" Slot Number Target;
    UnlessLessKS = "unless {1} < {0} goto {2}" Slot Number Target;
    UnlessLessEqualAS = "unless _ <= {0} goto {1}" Slot Target;
    UnlessLessEqualSA = "unless {0} <= _ goto {1}" Slot Target;
    UnlessLessEqualAK = "unless _ <= {0} goto {1}" Number Target;
    UnlessLessEqualKA = "unless {0} <= _ goto {1}" Number Target;
    UnlessLessEqualSS = "unless {0} <= {1} goto {2}" Slot Slot Target;
    UnlessLessEqualSK = "unless {0} <= {1} goto {2}" Slot Number Target;
    UnlessLessEqualKS = "unless {1} <= {0} goto {2}" Slot Number Target;
    UnlessEqualAS = "unless _ == {0} goto {1}" Slot Target;
    UnlessEqualSA = "unless {0} == _ goto {1}" Slot Target;
    UnlessEqualAK = "unless _ == {0} goto {1}" Number Target;
    UnlessEqualKA = "unless {0} == _ goto {1}" Number Target;
    UnlessEqualSS = "unless {0} == {1} goto {2}" Slot Slot Target;
    UnlessEqualSK = "unless {0} == {1} goto {2}" Slot Number Target;
    UnlessEqualKS = "unless {1} == {0} goto {2}" Slot Number Target;

    NextS = "{0} = {0} + {1}, goto {2}" Slot Slot Target;
    NextK = "{0} = {0} + {1}, goto {2}" Slot Number Target;
    LoopLessSS = "if {0} < {1}: {2} = {2} + {3}, goto {4}" Slot Slot Slot Number Target;
    LoopLessSK = "if {0} < {1}: {2} = {2} + {3}, goto {4}" Slot Number Slot Number Target;
    LoopLessKS = "if {1} < {0}: {2} = {2} + {3}, goto {4}" Slot Number Slot Number Target;
    LoopLessEqualSS = "if {0} <= {1}: {2} = {2} + {3}, goto {4}" Slot Slot Slot Number Target;
    LoopLessEqualSK = "if {0} <= {1}: {2} = {2} + {3}, goto {4}" Slot Number Slot Number Target;
    LoopLessEqualKS = "if {1} <= {0}: {2} = {2} + {3}, goto {4}" Slot Number Slot Number Target;

    Call = "_ = call {1} at {0}" Frame Callee;
    CallA = "{2} = _, _ = call {1} at {0}" Frame Callee Slot;
    CallS = "{2} = {3}, _ = call {1} at {0}" Frame Callee Slot Slot;
    Host = "_ = host {1} at {0}" Frame Host;
    HostA = "_ = host {0}(_)" Host;
    Burn = "burn";
    Count = "count {0}" Site Counter;
    Return = "return _" Link;
    ReturnS = "return {1}" Link Slot;
    ReturnK = "return {1}" Link Number;
}

impl Op {
    /// Returns the operation of an instruction's first word; `None` if the
    /// number is unused.
    pub fn of(word: u32) -> Option<Self> {
        Self::ALL.get(word as usize & 0xff).copied()
    }

    /// Returns whether it takes the back-edge of a loop, which is a safepoint.
    pub fn is_loop(self) -> bool {
        (Self::NextS as u8..=Self::LoopLessEqualKS as u8).contains(&(self as u8))
    }

    /// Returns whether it computes a new number, which may not be finite.
    pub fn computes(self) -> bool {
        let is_host = matches!(self, Self::Host | Self::HostA);
        is_host || (Self::AddAS as u8..=Self::CopysignSA as u8).contains(&(self as u8))
    }

    /// Returns whether it also stores its result in a slot, its last operand.
    pub fn stores(self) -> bool {
        (Self::AddASTo as u8..=Self::DivideKSTo as u8).contains(&(self as u8))
    }

    /// Returns whether the accumulator is one of its operands.
    pub fn takes_accumulator(self) -> bool {
        let template = self.template();
        template.split_once(" = ").is_some_and(|(_, value)| value.contains('_'))
    }

    /// Returns the number of words of an instruction.
    pub const fn length(self) -> usize {
        let kinds = self.operands();
        let (mut length, mut index) = (1, 0);
        while index < kinds.len() {
            if index > 0 || !kinds[0].is_index() {
                length += kinds[index].words();
            }
            index += 1;
        }
        length
    }
}

/// An encoded operand: an index, a distance as two's complement, or the bits of
/// a number.
pub type Raw = u64;

/// Appends an instruction. Indices must be below [`INDEX_END`].
pub fn encode(words: &mut Vec<u32>, op: Op, operands: &[Raw]) {
    debug_assert_eq!(operands.len(), op.operands().len(), "{op:?}");
    let start = words.len();
    words.push(op as u32);
    for (place, (kind, raw)) in op.operands().iter().zip(operands).enumerate() {
        if place == 0 && kind.is_index() {
            words[start] |= (*raw as u32) << 8;
        } else {
            words.push(*raw as u32);
            if kind.words() == 2 {
                words.push((*raw >> 32) as u32);
            }
        }
    }
}

/// The number of words of the longest instruction.
pub const LONGEST: usize = {
    let (mut longest, mut index) = (0, 0);
    while index < Op::ALL.len() {
        let length = Op::ALL[index].length();
        if length > longest {
            longest = length;
        }
        index += 1;
    }
    longest
};

/// A decoded instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction {
    pub op: Op,
    operands: [Raw; 5],
}

impl Instruction {
    /// Decodes the instruction at the start of `words`; `None` if there is no
    /// valid one.
    pub fn decode(words: &[u32]) -> Option<Self> {
        let first = *words.first()?;
        let op = Op::of(first)?;
        let words = words.get(..op.length())?;
        let (mut operands, mut at) = ([0; 5], 1);
        for (place, kind) in op.operands().iter().enumerate() {
            if place == 0 && kind.is_index() {
                operands[0] = Raw::from(first >> 8);
                continue;
            }
            operands[place] = match kind.words() {
                2 => Raw::from(words[at]) | Raw::from(words[at + 1]) << 32,
                _ => Raw::from(words[at]),
            };
            at += kind.words();
        }
        // The bits of the first word that no operand uses are 0.
        let is_plain = op.operands().first().is_none_or(|kind| !kind.is_index());
        (!is_plain || first >> 8 == 0).then_some(Self { op, operands })
    }

    /// Returns its operands with their kinds.
    pub fn operands(&self) -> impl Iterator<Item = (OperandKind, Raw)> + '_ {
        self.op.operands().iter().copied().zip(self.operands)
    }

    /// Returns the distance of its jump in words, from its own start; `None` if
    /// it does not jump.
    pub fn distance(&self) -> Option<i32> {
        let (_, raw) = self.operands().find(|(kind, _)| *kind == OperandKind::Target)?;
        Some((raw as u32).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_survive_encoding() {
        for &op in Op::ALL {
            let raw = |(place, kind): (usize, &OperandKind)| match kind {
                OperandKind::Number => (0.1 + place as f64).to_bits(),
                OperandKind::Target => Raw::from((7 + place as u32).wrapping_neg()),
                _ => 0xAB_CDE0 + place as Raw,
            };
            let operands: Vec<Raw> = op.operands().iter().enumerate().map(raw).collect();
            let mut words = Vec::new();
            encode(&mut words, op, &operands);
            assert_eq!(words.len(), op.length(), "{op:?}");
            let instruction = Instruction::decode(&words).expect("it was just encoded");
            assert_eq!(instruction.op, op);
            assert_eq!(instruction.operands().map(|(_, raw)| raw).collect::<Vec<_>>(), operands);
            assert_eq!(Instruction::decode(&words[..words.len() - 1]), None, "{op:?} cut short");
        }
    }

    #[test]
    fn numbers_follow_the_table() {
        for (number, &op) in Op::ALL.iter().enumerate() {
            assert_eq!(op as usize, number);
        }
        assert!(Op::ALL.len() <= 256);
        assert_eq!(Op::of(255), None);
    }
}
