//! Serialisation of tapes.
//!
//! Only tapes without counters are stored: what is counted depends on the
//! program that runs them. What is read is validated first.

use super::op::{INDEX_END, Op};
use super::{Tape, TapeCallee};
use crate::bytes::{Damage, Reader, Writer};
use crate::sema::checked::CheckedFunction;
use crate::sema::stored::{StoredTables, TableIndices};

impl Tape {
    /// Writes the tape.
    pub fn write(&self, writer: &mut Writer, places: &mut dyn TableIndices) {
        writer.number(self.locals);
        writer.number(self.frame);
        for table in [&self.callees, &self.hosts, &self.instructions] {
            writer.count(table.len());
            for callee in table {
                writer.number(places.name(callee.name));
                writer.number(callee.arity);
            }
        }
        writer.count(self.variables.len());
        self.variables.iter().for_each(|name| writer.number(places.name(*name)));
        writer.count(self.words.len());
        self.words.iter().for_each(|word| writer.word(*word));
        writer.count(self.origins.len());
        self.origins.iter().for_each(|node| writer.number(*node));
    }

    /// Reads and validates a tape of `function`.
    ///
    /// # Errors
    /// If the bytes are not a valid tape of that function.
    pub fn read(
        reader: &mut Reader<'_>,
        tables: &StoredTables<'_>,
        function: &CheckedFunction,
    ) -> Result<Self, Damage> {
        let (locals, frame) = (reader.number()?, reader.number()?);
        let mut callees =
            || reader.many(|reader| Ok(TapeCallee { name: tables.name(reader)?, arity: reader.number()? }));
        let (callees, hosts, instructions) = (callees()?, callees()?, callees()?);
        let variables = reader.many(|reader| tables.name(reader))?;
        let words = reader.many(Reader::word)?;
        let origins = reader.many(Reader::number)?;
        let loops = Box::default();
        let tape = Self { locals, frame, words, callees, hosts, instructions, variables, origins, loops };
        reader.expect(locals == function.locals, "a tape with other locals than its function")?;
        let callees = tape.callees.iter().chain(&tape.hosts).chain(&tape.instructions);
        let all_fit = callees.clone().all(|callee| callee.arity < INDEX_END);
        reader.expect(all_fit, "a call with too many arguments")?;
        tape.validate().map_err(|fault| reader.damage(fault.what))?;
        let counts = |op: Op| matches!(op, Op::Count | Op::Burn);
        let counts = tape.instructions().filter_map(|(_, instruction)| instruction).any(|one| counts(one.op));
        reader.expect(!counts, "a tape that counts")?;
        let instructions = tape.instructions().count();
        reader.expect(tape.origins.len() == instructions, "instructions without a place")?;
        let nodes = function.nodes.len() as u32;
        reader.expect(tape.origins.iter().all(|node| *node <= nodes), "a place without a node")?;
        Ok(tape)
    }
}
