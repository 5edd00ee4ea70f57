//! What code was made of, for people who ask why something is compiled again.

use crate::bytes::{Damage, Reader, Writer};
use crate::fingerprint::Fingerprint;

/// What the code of a function was made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeOrigin {
    /// The name of the function.
    pub name: Box<str>,
    /// Its identity.
    pub function: Fingerprint,
    /// The functions that are inlined into it.
    pub inlined: Vec<(Box<str>, Fingerprint)>,
    /// The functions of the library that it calls.
    pub builtins: Vec<Box<str>>,
}

impl CodeOrigin {
    pub(super) fn write(&self, writer: &mut Writer) {
        writer.text(&self.name);
        writer.bytes(self.function.as_bytes());
        writer.count(self.inlined.len());
        for (name, function) in &self.inlined {
            writer.text(name);
            writer.bytes(function.as_bytes());
        }
        writer.count(self.builtins.len());
        self.builtins.iter().for_each(|name| writer.text(name));
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        Ok(Self {
            name: text(reader)?,
            function: fingerprint(reader)?,
            inlined: reader.many(|reader| Ok((text(reader)?, fingerprint(reader)?)))?.into(),
            builtins: reader.many(text)?.into(),
        })
    }
}

fn text(reader: &mut Reader<'_>) -> Result<Box<str>, Damage> {
    Ok(reader.text()?.into())
}

fn fingerprint(reader: &mut Reader<'_>) -> Result<Fingerprint, Damage> {
    let bytes = reader.bytes(32)?.try_into().map_err(|_| reader.damage("unexpected end"))?;
    Ok(Fingerprint::from_bytes(bytes))
}
