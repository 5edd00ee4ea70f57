//! Operators: the built-in ones and the table that programs extend.
//!
//! [`Operators`] tells the parser how to read the source that follows. A
//! program's `def binary`/`def unary` adds to it once the definition is
//! accepted; source that was read before is not affected.

use crate::name::{HeldName, Name, Names};
use rustc_hash::FxHashMap;

/// The operators that change a variable.
pub const UPDATES: [&str; 4] = ["+=", "-=", "*=", "/="];

/// Precedence of a user-defined binary operator that does not specify one.
pub const DEFAULT_PRECEDENCE: u8 = 30;

/// Precedence and associativity of a binary operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Infix {
    /// 1 (loosest) to 100.
    pub precedence: u8,
    /// Whether `a ∘ b ∘ c` is `a ∘ (b ∘ c)`.
    pub right_associative: bool,
    /// Whether `-a ∘ b` is `-(a ∘ b)`: only the built-in `^` binds tighter than
    /// an operator before an operand.
    pub binds_over_unary: bool,
}

impl Infix {
    /// `=`
    pub const ASSIGNMENT: Self = Self { precedence: 2, right_associative: true, binds_over_unary: false };

    /// The built-in `:`
    pub const SEQUENCE: Self = Self { precedence: 1, right_associative: false, binds_over_unary: false };

    /// Creates a built-in operator.
    pub fn built_in(op: BinaryOp) -> Self {
        let is_power = op == BinaryOp::Power;
        Self { precedence: op.precedence(), right_associative: is_power, binds_over_unary: is_power }
    }

    /// Creates an operator that a program defines.
    pub fn defined(precedence: u8) -> Self {
        Self { precedence, right_associative: false, binds_over_unary: false }
    }
}

/// An operator whose last operand may continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenOperator {
    /// Before its operand.
    Prefix,
    /// Between its operands.
    Infix(Infix),
}

impl OpenOperator {
    /// Returns whether its last operand ends before `next`. Operators fold by
    /// this rule alone. Of two operators with the same precedence, a
    /// left-associative one groups first.
    pub fn ends_before(self, next: Infix) -> bool {
        match self {
            Self::Prefix => !next.binds_over_unary,
            Self::Infix(open) if open.precedence == next.precedence => {
                !(open.right_associative && next.right_associative)
            }
            Self::Infix(open) => open.precedence > next.precedence,
        }
    }
}

/// Built-in unary operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    /// `-x`
    Negate,
    /// `!x`
    Not,
}

/// Built-in binary operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    /// `||`
    Or,
    /// `&&`
    And,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `<=`
    LessEqual,
    /// `>=`
    GreaterEqual,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
    /// `^`
    Power,
}

impl UnaryOp {
    /// Every built-in unary operator.
    pub const ALL: [Self; 2] = [Self::Negate, Self::Not];

    /// Returns its token.
    pub fn text(self) -> &'static str {
        match self {
            Self::Negate => "-",
            Self::Not => "!",
        }
    }
}

impl BinaryOp {
    /// Every built-in binary operator, loosest first.
    pub const ALL: [Self; 14] = [
        Self::Or,
        Self::And,
        Self::Equal,
        Self::NotEqual,
        Self::Less,
        Self::Greater,
        Self::LessEqual,
        Self::GreaterEqual,
        Self::Add,
        Self::Subtract,
        Self::Multiply,
        Self::Divide,
        Self::Remainder,
        Self::Power,
    ];

    /// Returns its token.
    pub fn text(self) -> &'static str {
        match self {
            Self::Or => "||",
            Self::And => "&&",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::Greater => ">",
            Self::LessEqual => "<=",
            Self::GreaterEqual => ">=",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::Power => "^",
        }
    }

    /// Returns its built-in precedence.
    pub fn precedence(self) -> u8 {
        match self {
            Self::Or => 4,
            Self::And => 6,
            Self::Equal | Self::NotEqual => 9,
            Self::Less | Self::Greater | Self::LessEqual | Self::GreaterEqual => 10,
            Self::Add | Self::Subtract => 20,
            Self::Multiply | Self::Divide | Self::Remainder => 40,
            Self::Power => 50,
        }
    }

    /// Returns the group of a comparison: 1 for an order, 2 for equality; those of a
    /// group form chains.
    pub fn comparison(self) -> Option<u8> {
        match self {
            Self::Less | Self::Greater | Self::LessEqual | Self::GreaterEqual => Some(1),
            Self::Equal | Self::NotEqual => Some(2),
            Self::Or
            | Self::And
            | Self::Add
            | Self::Subtract
            | Self::Multiply
            | Self::Divide
            | Self::Remainder
            | Self::Power => None,
        }
    }

    /// Returns whether its right operand is evaluated only if the left one does
    /// not decide the result.
    pub fn short_circuits(self) -> bool {
        matches!(self, Self::Or | Self::And)
    }
}

/// How a user-defined operator is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fixity {
    /// Before its operand.
    Unary {
        /// The operator's text.
        operator: Name,
    },
    /// Between its operands, left-associative.
    Binary {
        /// The operator's text.
        operator: Name,
        /// 1 (loosest) to 100.
        precedence: u8,
    },
}

impl Fixity {
    /// Returns the operator's text.
    pub fn operator(self) -> Name {
        let (Self::Unary { operator } | Self::Binary { operator, .. }) = self;
        operator
    }
}

/// The meaning of an operator token before an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum UnaryMeaning {
    /// A built-in operator.
    BuiltIn(UnaryOp),
    /// The function that defines it, `unary!`.
    Function(Name),
}

impl UnaryMeaning {
    /// Returns what an operator means if no program has defined it.
    pub(super) fn built_in(text: &str) -> Option<Self> {
        UnaryOp::ALL.into_iter().find(|op| op.text() == text).map(Self::BuiltIn)
    }

    fn function(self) -> Option<Name> {
        if let Self::Function(function) = self { Some(function) } else { None }
    }
}

/// The meaning of an operator token between operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct BinaryMeaning {
    /// Its precedence and associativity.
    pub infix: Infix,
    /// What it does.
    pub action: BinaryAction,
}

/// What a binary operator does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum BinaryAction {
    /// `=`
    Assign,
    /// The built-in `:`
    Sequence,
    /// `+=`, `-=`, `*=`, `/=`: assigns what the operator before the `=` makes of the
    /// variable and the right side.
    Update {
        /// That operator, which may be one of the program.
        operator: Name,
    },
    /// A built-in operator.
    BuiltIn(BinaryOp),
    /// The function that defines it, `binary|`.
    Function(Name),
}

impl BinaryMeaning {
    /// Returns what an operator means that a program may define, if none has.
    pub(super) fn built_in(text: &str) -> Option<Self> {
        if text == ":" {
            return Some(Self { infix: Infix::SEQUENCE, action: BinaryAction::Sequence });
        }
        BinaryOp::ALL.into_iter().find(|op| op.text() == text).map(Self::of)
    }

    fn of(op: BinaryOp) -> Self {
        Self { infix: Infix::built_in(op), action: BinaryAction::BuiltIn(op) }
    }
}

impl BinaryAction {
    fn function(self) -> Option<Name> {
        if let Self::Function(function) = self { Some(function) } else { None }
    }
}

/// The operators in force at one place of a program, by name.
#[derive(Clone, Debug)]
pub struct Operators {
    unary: FxHashMap<Name, UnaryMeaning>,
    binary: FxHashMap<Name, BinaryMeaning>,
    /// Those that a program has defined, and their functions.
    held: Vec<HeldName>,
}

impl Operators {
    /// Creates a table of the built-in operators.
    pub fn new(names: &Names) -> Self {
        let unary = UnaryOp::ALL.map(|op| (names.intern(op.text()), UnaryMeaning::BuiltIn(op)));
        let mut binary: FxHashMap<_, _> =
            BinaryOp::ALL.iter().map(|&op| (names.intern(op.text()), BinaryMeaning::of(op))).collect();
        let assign = BinaryMeaning { infix: Infix::ASSIGNMENT, action: BinaryAction::Assign };
        binary.insert(names.intern("="), assign);
        let sequence = BinaryMeaning { infix: Infix::SEQUENCE, action: BinaryAction::Sequence };
        binary.insert(names.intern(":"), sequence);
        for text in UPDATES {
            let action = BinaryAction::Update { operator: names.intern(&text[..1]) };
            binary.insert(names.intern(text), BinaryMeaning { infix: Infix::ASSIGNMENT, action });
        }
        Self { unary: unary.into_iter().collect(), binary, held: Vec::new() }
    }

    /// Returns what `operator` means before an operand, if anything.
    pub fn unary(&self, operator: Name) -> Option<UnaryMeaning> {
        self.unary.get(&operator).copied()
    }

    /// Returns what `operator` means between operands, if anything.
    pub fn binary(&self, operator: Name) -> Option<BinaryMeaning> {
        self.binary.get(&operator).copied()
    }

    /// Returns whether all operators mean the same in both tables.
    pub fn agree_with(&self, other: &Self) -> bool {
        self.unary == other.unary && self.binary == other.binary
    }

    /// Returns whether `operator` is the one that assigns, whatever a program
    /// defines.
    pub fn assigns(&self, operator: Name) -> bool {
        self.binary(operator).is_some_and(|meaning| meaning.action == BinaryAction::Assign)
    }

    /// Restores the built-in meaning of the operator described by `fixity`;
    /// removes it if it has none.
    pub fn forget(&mut self, fixity: Fixity, names: &Names) {
        let built_in = Self::new(names);
        match fixity {
            Fixity::Unary { operator } => restore(&mut self.unary, operator, built_in.unary(operator)),
            Fixity::Binary { operator, .. } => restore(&mut self.binary, operator, built_in.binary(operator)),
        }
        let Self { unary, binary, held } = self;
        let functions = unary.values().filter_map(|meaning| meaning.function());
        let functions: Vec<Name> =
            functions.chain(binary.values().filter_map(|meaning| meaning.action.function())).collect();
        held.retain(|held| {
            let name = held.name();
            unary.contains_key(&name) || binary.contains_key(&name) || functions.contains(&name)
        });
    }

    /// Makes `function` the meaning of the operator described by `fixity`, for
    /// the source read from now on. `=` always assigns. Both names are among
    /// those that are held.
    pub fn define(&mut self, fixity: Fixity, function: Name, held: &[HeldName]) {
        let operator = fixity.operator();
        for held in held.iter().filter(|held| [operator, function].contains(&held.name())) {
            if !self.held.contains(held) {
                self.held.push(held.clone());
            }
        }
        match fixity {
            Fixity::Unary { operator } => {
                self.unary.insert(operator, UnaryMeaning::Function(function));
            }
            Fixity::Binary { operator, precedence } => {
                let action = BinaryAction::Function(function);
                let meaning = BinaryMeaning { infix: Infix::defined(precedence), action };
                if !self.assigns(operator) {
                    self.binary.insert(operator, meaning);
                }
            }
        }
    }
}

fn restore<M>(table: &mut FxHashMap<Name, M>, operator: Name, meaning: Option<M>) {
    match meaning {
        Some(meaning) => table.insert(operator, meaning),
        None => table.remove(&operator),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_an_operator_are_held_once_and_as_long_as_it_is_defined() {
        let names = Names::new();
        let mut operators = Operators::new(&names);
        let held = [names.hold("⊕"), names.hold("binary⊕"), names.hold("x")];
        let fixity = Fixity::Binary { operator: held[0].name(), precedence: 30 };
        for _ in 0..100 {
            operators.define(fixity, held[1].name(), &held);
        }
        assert_eq!(operators.held, held[..2]);
        operators.forget(fixity, &names);
        assert!(operators.held.is_empty() && operators.binary(held[0].name()).is_none());
    }
}
