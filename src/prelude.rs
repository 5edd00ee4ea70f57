//! Preludes: programs that have run before a context begins, and what they have left.
//!
//! A prelude runs when an image is built, once. A context of an engine with that image
//! takes its definitions from the image, and the values of its variables from the
//! *snapshot*: nothing of it runs. Where that would not mean the same, it runs.

use crate::bytes::{Damage, Reader, Writer};
use crate::fingerprint::Fingerprint;
use crate::source::Source;

/// A program that runs before a context begins.
#[derive(Clone)]
pub(crate) struct Prelude {
    pub(crate) source: Source,
    pub(crate) snapshot: Snapshot,
}

/// What a prelude has left. Nothing in it is of a host: a prelude that writes, asks or calls
/// closures is refused.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Snapshot {
    /// What reading it depended on besides its text: host functions and limits.
    pub(crate) environment: Fingerprint,
    /// The modules that it has read, with the identities of their texts.
    pub(crate) modules: Vec<(String, Fingerprint)>,
    /// The variables with the bits of their values.
    pub(crate) variables: Vec<(String, u64)>,
}

/// What a context began with.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Beginning {
    /// Nothing: no image of the engine has a prelude.
    #[default]
    Empty,
    /// The definitions of a prelude and the values of its variables, from an image. Nothing of
    /// it has run.
    Snapshot,
    /// The same, by running the prelude.
    Run {
        /// Why the snapshot was not used, for people.
        reason: String,
    },
}

impl Snapshot {
    /// Writes it.
    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.bytes(self.environment.as_bytes());
        writer.count(self.modules.len());
        for (name, text) in &self.modules {
            writer.text(name);
            writer.bytes(text.as_bytes());
        }
        writer.count(self.variables.len());
        for (name, bits) in &self.variables {
            writer.text(name);
            writer.long(*bits);
        }
    }

    /// Reads one.
    ///
    /// # Errors
    /// What is damaged.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let fingerprint = |reader: &mut Reader<'_>| {
            let bytes = reader.bytes(32)?.try_into().map_err(|_| reader.damage("no identity"))?;
            Ok(Fingerprint::from_bytes(bytes))
        };
        let environment = fingerprint(reader)?;
        let modules = reader.many(|reader| Ok((reader.text()?.to_owned(), fingerprint(reader)?)))?.into();
        let variables = reader.many(|reader| Ok((reader.text()?.to_owned(), reader.long()?)))?.into();
        Ok(Self { environment, modules, variables })
    }
}
