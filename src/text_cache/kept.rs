//! Texts that are kept for later runs, until they are written.

use super::CachedItem;
use crate::sema::CheckedItem;
use crate::sema::asked::ReadingRecord;
use crate::source::Source;
use crate::world::{StoredEnvironment, TextWriter, WrittenText, encode_module};
use std::sync::Arc;

/// How many expressions are kept before they are written: unlike definitions, nothing else
/// needs them once they have run.
const MOST_EXPRESSIONS: usize = 1 << 14;

/// A text that has been read, to be written for later runs.
pub(crate) enum KeptText {
    Program(KeptProgram),
    Module(KeptModule),
}

/// A program.
pub(crate) enum KeptProgram {
    /// What it has been checked to be.
    Recorded(RecordedProgram),
    /// It is read again before it is written.
    Unrecorded,
}

/// A program, item by item.
pub(crate) struct RecordedProgram {
    writer: Box<TextWriter>,
    /// What has been read and not written.
    items: Vec<Arc<CachedItem>>,
    /// How many of these are no definitions.
    expressions: usize,
}

/// A module as a whole.
pub(crate) struct KeptModule {
    /// Its items.
    pub(crate) items: Vec<CheckedItem>,
    /// What reading them asked.
    pub(crate) record: ReadingRecord,
    /// Where it was read.
    pub(crate) environment: Arc<StoredEnvironment>,
}

impl KeptProgram {
    /// Begins the text of a program, which is read in that environment.
    pub(crate) fn new(environment: &Arc<StoredEnvironment>, source: &Source) -> Self {
        let writer = Box::new(TextWriter::new(environment, source));
        Self::Recorded(RecordedProgram { writer, items: Vec::new(), expressions: 0 })
    }

    /// Returns whether what reading an item asks is kept with it.
    pub(crate) fn is_recorded(&self) -> bool {
        matches!(self, Self::Recorded(_))
    }

    /// Adds the next item.
    pub(crate) fn add(&mut self, item: &Arc<CachedItem>) {
        match self {
            Self::Recorded(program) => program.add(item.clone()),
            Self::Unrecorded => {}
        }
    }

    /// Writes the items that are there.
    pub(crate) fn write_items(&mut self) {
        match self {
            Self::Recorded(program) => program.write_items(),
            Self::Unrecorded => {}
        }
    }
}

impl RecordedProgram {
    fn add(&mut self, item: Arc<CachedItem>) {
        self.expressions += usize::from(!matches!(item.item, CheckedItem::Definition(..)));
        self.items.push(item);
        if self.expressions >= MOST_EXPRESSIONS {
            self.write_items();
        }
    }

    fn write_items(&mut self) {
        self.items.drain(..).for_each(|item| self.writer.item(&item.stored()));
        self.expressions = 0;
    }
}

impl KeptText {
    /// Returns how many items are to be written, of those that were recorded.
    #[cfg(feature = "cli")]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Program(KeptProgram::Recorded(program)) => program.items.len(),
            Self::Program(KeptProgram::Unrecorded) => 0,
            Self::Module(module) => module.items.len(),
        }
    }

    /// Returns whether it has to be read again before it is written.
    pub(crate) fn is_unrecorded(&self) -> bool {
        matches!(self, Self::Program(KeptProgram::Unrecorded))
    }

    /// Returns it as it is written; `None` if its items take 4 GiB, or were not recorded.
    pub(crate) fn write(self) -> Option<WrittenText> {
        match self {
            Self::Program(KeptProgram::Unrecorded) => None,
            Self::Program(KeptProgram::Recorded(mut program)) => {
                program.write_items();
                program.writer.finish()
            }
            Self::Module(KeptModule { items, record, environment }) => {
                encode_module(&items, record, &environment)
            }
        }
    }
}
