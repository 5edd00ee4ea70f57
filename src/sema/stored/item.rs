//! Checked items as bytes, and back.

use super::{StoredTables, TableIndices, read_span, write_span};
use crate::bytes::{Damage, Reader, Writer};
use crate::sema::checked::CheckedFunction;
use crate::sema::{CheckedItem, Extern, Import, SourcePlace};
use crate::syntax::operator::Fixity;
use std::sync::Arc;

impl CheckedItem {
    /// Returns its function, if it has one.
    pub fn function(&self) -> Option<&Arc<CheckedFunction>> {
        match self {
            Self::Definition(function, _)
            | Self::Variables(function, _)
            | Self::Expression(function)
            | Self::Effect(function) => Some(function),
            Self::Extern(_) | Self::Import(_) => None,
        }
    }

    /// Writes the item.
    pub fn write(&self, writer: &mut Writer, tables: &mut dyn TableIndices) {
        match self {
            Self::Definition(_, None) => writer.byte(0),
            Self::Definition(_, Some(Fixity::Unary { operator })) => {
                writer.byte(1);
                writer.number(tables.name(*operator));
            }
            Self::Definition(_, Some(Fixity::Binary { operator, precedence })) => {
                writer.byte(2);
                writer.number(tables.name(*operator));
                writer.byte(*precedence);
            }
            Self::Variables(_, names) => {
                writer.byte(3);
                writer.count(names.len());
                names.iter().for_each(|name| writer.number(tables.name(*name)));
            }
            Self::Expression(_) => writer.byte(4),
            Self::Effect(_) => writer.byte(7),
            Self::Extern(Extern { name, parameters, place, .. }) => {
                writer.byte(5);
                writer.number(tables.name(*name));
                writer.count(parameters.len());
                parameters.iter().for_each(|name| writer.number(tables.name(*name)));
                write_place(writer, place, tables);
            }
            Self::Import(Import { module, alias, names, place }) => {
                writer.byte(6);
                writer.number(tables.name(module.name()));
                write_place(writer, place, tables);
                writer.count(alias.iter().len());
                alias.iter().for_each(|alias| writer.number(tables.name(alias.name())));
                // None is something else than no name.
                writer.count(names.iter().len());
                if let Some(names) = names {
                    writer.count(names.len());
                    for (name, span) in names {
                        writer.number(tables.name(name.name()));
                        write_span(writer, *span, tables.base());
                    }
                }
            }
        }
        self.function().into_iter().for_each(|function| function.write(writer, tables));
    }

    /// Reads an item.
    ///
    /// # Errors
    /// When the bytes are not an item that the check could have made, but for the
    /// texts of its names.
    pub fn read(reader: &mut Reader<'_>, tables: &StoredTables<'_>) -> Result<Self, Damage> {
        let kind = reader.byte()?;
        let fixity = match kind {
            1 => Some(Fixity::Unary { operator: tables.name(reader)? }),
            2 => Some(Fixity::Binary { operator: tables.name(reader)?, precedence: reader.byte()? }),
            _ => None,
        };
        let function = |reader: &mut Reader<'_>| CheckedFunction::read(reader, tables).map(Arc::new);
        let parameterless = |reader: &mut Reader<'_>| {
            let function = function(reader)?;
            reader.expect(function.arity() == 0, "an expression with parameters")?;
            Ok::<_, Damage>(function)
        };
        Ok(match kind {
            0..=2 => Self::Definition(function(reader)?, fixity),
            3 => {
                let declared = reader.many(|reader| tables.name(reader))?;
                Self::Variables(parameterless(reader)?, declared.into_vec())
            }
            4 => Self::Expression(parameterless(reader)?),
            7 => Self::Effect(parameterless(reader)?),
            5 => {
                let name = tables.name(reader)?;
                let parameters = reader.many(|reader| tables.name(reader))?;
                let place = read_place(reader, tables)?;
                Self::Extern(Extern {
                    name,
                    parameters,
                    functions: Box::default(),
                    place,
                    names: tables.take_held(),
                })
            }
            6 => {
                let module = tables.held(reader)?;
                let place = read_place(reader, tables)?;
                let alias = reader.many(|reader| tables.held(reader))?.into_iter().next();
                let name = |reader: &mut Reader<'_>| {
                    Ok((tables.held(reader)?, read_span(reader, &place.source, tables.base)?))
                };
                let names = reader.many(|reader| reader.many(name).map(<[_]>::into_vec))?;
                let names = names.into_iter().next();
                Self::Import(Import { module, alias, names, place })
            }
            _ => return Err(reader.damage("unknown kind of item")),
        })
    }
}

fn write_place(writer: &mut Writer, place: &SourcePlace, tables: &mut dyn TableIndices) {
    writer.number(tables.source(&place.source));
    write_span(writer, place.span, tables.base());
}

fn read_place(reader: &mut Reader<'_>, tables: &StoredTables<'_>) -> Result<SourcePlace, Damage> {
    let source = tables.source(reader)?;
    let span = read_span(reader, &source, tables.base)?;
    Ok(SourcePlace { source, span })
}
