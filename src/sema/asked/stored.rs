//! Records of questions as bytes, and back.

use super::{Asked, ReadingRecord};
use crate::bytes::{Damage, Reader, Writer};
use crate::module::MemberKind;
use crate::name::Name;
use crate::sema::stored::{StoredTables, TableIndices};
use crate::syntax::operator::{BinaryAction, BinaryMeaning, BinaryOp, Infix, UnaryMeaning, UnaryOp};

/// What an operator does that a function defines; a built-in one is written as one
/// more than its number.
const FUNCTION: u8 = u8::MAX;

/// What `=` does.
const ASSIGN: u8 = FUNCTION - 1;

/// What `:` does.
const SEQUENCE: u8 = ASSIGN - 1;

/// What `+=` does, and others like it.
const UPDATE: u8 = SEQUENCE - 1;

impl ReadingRecord {
    /// Writes the record.
    pub fn write(&self, writer: &mut Writer, tables: &mut dyn TableIndices) {
        writer.byte(self.has_aliases.into());
        writer.count(self.asked.len());
        let mut number = |writer: &mut Writer, name: Name| writer.number(tables.name(name));
        let optional = |writer: &mut Writer, arity: Option<u32>| {
            writer.byte(arity.is_some().into());
            arity.into_iter().for_each(|arity| writer.number(arity));
        };
        for asked in &self.asked {
            match *asked {
                Asked::Function(name, arity) => {
                    writer.byte(0);
                    number(writer, name);
                    optional(writer, arity);
                }
                Asked::Declared(name, arity) => {
                    writer.byte(1);
                    number(writer, name);
                    optional(writer, arity);
                }
                Asked::Variable(name, is_declared) => {
                    writer.byte(2);
                    number(writer, name);
                    writer.byte(is_declared.into());
                }
                Asked::Global(name, kind, stands_for) => {
                    writer.byte(match kind {
                        MemberKind::Function => 3,
                        MemberKind::Variable => 4,
                    });
                    number(writer, name);
                    writer.byte(stands_for.is_some().into());
                    stands_for.into_iter().for_each(|name| number(writer, name));
                }
                Asked::Operator(name, unary, binary) => {
                    writer.byte(5);
                    number(writer, name);
                    match unary {
                        None => writer.byte(0),
                        Some(UnaryMeaning::BuiltIn(op)) => writer.byte(1 + op as u8),
                        Some(UnaryMeaning::Function(name)) => {
                            writer.byte(FUNCTION);
                            number(writer, name);
                        }
                    }
                    let Some(BinaryMeaning { infix, action }) = binary else {
                        writer.byte(0);
                        continue;
                    };
                    match action {
                        BinaryAction::Assign => writer.byte(ASSIGN),
                        BinaryAction::Sequence => writer.byte(SEQUENCE),
                        BinaryAction::Update { operator } => {
                            writer.byte(UPDATE);
                            number(writer, operator);
                        }
                        BinaryAction::BuiltIn(op) => writer.byte(1 + op as u8),
                        BinaryAction::Function(name) => {
                            writer.byte(FUNCTION);
                            number(writer, name);
                        }
                    }
                    writer.byte(infix.precedence);
                    writer.byte(infix.right_associative.into());
                    writer.byte(infix.binds_over_unary.into());
                }
            }
        }
    }

    /// Reads a record.
    ///
    /// # Errors
    /// When it is malformed.
    pub fn read(reader: &mut Reader<'_>, tables: &StoredTables<'_>) -> Result<Self, Damage> {
        let has_aliases = reader.byte()? != 0;
        let asked = reader.many(|reader| Asked::read(reader, tables))?;
        Ok(Self { asked, has_aliases, names: tables.take_held() })
    }
}

impl Asked {
    fn read(reader: &mut Reader<'_>, tables: &StoredTables<'_>) -> Result<Self, Damage> {
        let kind = reader.byte()?;
        let name = tables.name(reader)?;
        let arity = |reader: &mut Reader<'_>| match reader.byte()? {
            0 => Ok(None),
            _ => reader.number().map(Some),
        };
        Ok(match kind {
            0 => Self::Function(name, arity(reader)?),
            1 => Self::Declared(name, arity(reader)?),
            2 => Self::Variable(name, reader.byte()? != 0),
            3 | 4 => {
                let kind = if kind == 3 { MemberKind::Function } else { MemberKind::Variable };
                let stands_for = if reader.byte()? == 0 { None } else { Some(tables.name(reader)?) };
                Self::Global(name, kind, stands_for)
            }
            5 => {
                let built_in = |op: Option<u8>| op.map(usize::from);
                let unary = match reader.byte()? {
                    0 => None,
                    FUNCTION => Some(UnaryMeaning::Function(tables.name(reader)?)),
                    op => {
                        let op = built_in(op.checked_sub(1)).and_then(|op| UnaryOp::ALL.get(op));
                        Some(UnaryMeaning::BuiltIn(*op.ok_or(reader.damage("no such operator"))?))
                    }
                };
                let action = match reader.byte()? {
                    0 => return Ok(Self::Operator(name, unary, None)),
                    FUNCTION => BinaryAction::Function(tables.name(reader)?),
                    ASSIGN => BinaryAction::Assign,
                    SEQUENCE => BinaryAction::Sequence,
                    UPDATE => BinaryAction::Update { operator: tables.name(reader)? },
                    op => {
                        let op = built_in(op.checked_sub(1)).and_then(|op| BinaryOp::ALL.get(op));
                        BinaryAction::BuiltIn(*op.ok_or(reader.damage("no such operator"))?)
                    }
                };
                let precedence = reader.byte()?;
                let (right_associative, binds_over_unary) = (reader.byte()? != 0, reader.byte()? != 0);
                let infix = Infix { precedence, right_associative, binds_over_unary };
                Self::Operator(name, unary, Some(BinaryMeaning { infix, action }))
            }
            _ => return Err(reader.damage("unknown kind of question")),
        })
    }
}
