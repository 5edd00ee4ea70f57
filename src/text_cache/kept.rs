//! Texts that are kept for later runs: written as bytes beside the program that reads
//! them.
//!
//! What has been read goes to a thread in batches. A short text has none: it is written
//! when its bytes are asked for.

use super::item::CachedItem;
use crate::process::Generation;
use crate::sema::CheckedItem;
use crate::sema::asked::ReadingRecord;
use crate::world::{self, StoredEnvironment, TextWriter};
use std::mem;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

/// How many items a batch has.
const BATCH: usize = 512;

/// A text that is being kept while it is read.
pub(crate) struct KeptText {
    environment: Arc<StoredEnvironment>,
    batch: Vec<Arc<CachedItem>>,
    thread: Option<(Sender<Vec<Arc<CachedItem>>>, BytesInProgress)>,
}

/// The bytes of a text that has been read, as soon as they are written.
pub(crate) enum KeptBytes {
    /// A thread writes them.
    InProgress(BytesInProgress),
    /// They are written when they are asked for.
    Short(Arc<StoredEnvironment>, Vec<Arc<CachedItem>>),
    Module(Arc<StoredEnvironment>, Vec<CheckedItem>, ReadingRecord),
}

/// A thread that writes a text.
pub(crate) struct BytesInProgress {
    thread: JoinHandle<Option<Vec<u8>>>,
    /// A forked process does not have the thread.
    generation: Generation,
}

impl BytesInProgress {
    /// Starts a thread; `None` if there can be none.
    fn start(write: impl FnOnce() -> Option<Vec<u8>> + Send + 'static) -> Option<Self> {
        let thread = thread::Builder::new().name("kal texts".into()).spawn(write).ok()?;
        Some(Self { thread, generation: Generation::current() })
    }

    fn wait(self) -> Option<Vec<u8>> {
        if !self.generation.is_current() {
            // There is nothing to be detached from.
            mem::forget(self.thread);
            return None;
        }
        self.thread.join().ok()?
    }
}

impl KeptText {
    pub(crate) fn new(environment: Arc<StoredEnvironment>) -> Self {
        Self { environment, batch: Vec::new(), thread: None }
    }

    /// Adds the item that was read next.
    pub(crate) fn add(&mut self, item: Arc<CachedItem>) {
        self.batch.push(item);
        if self.batch.len() < BATCH {
            return;
        }
        if self.thread.is_none() {
            self.start();
        }
        if let Some((sender, _)) = &self.thread {
            let _ = sender.send(mem::take(&mut self.batch));
        }
    }

    /// Starts the thread that writes the text.
    fn start(&mut self) {
        let (sender, receiver) = mpsc::channel::<Vec<Arc<CachedItem>>>();
        let environment = self.environment.clone();
        let write = move || {
            let mut writer = TextWriter::new(&environment);
            receiver.iter().flatten().for_each(|item| writer.item(&item.stored()));
            writer.finish()
        };
        self.thread = BytesInProgress::start(write).map(|bytes| (sender, bytes));
    }

    /// Ends the text. Returns its bytes, as soon as they are written.
    pub(crate) fn finish(self) -> KeptBytes {
        let Self { environment, batch, thread } = self;
        match thread {
            None => KeptBytes::Short(environment, batch),
            Some((sender, bytes)) => {
                let _ = sender.send(batch);
                KeptBytes::InProgress(bytes)
            }
        }
    }
}

impl KeptBytes {
    /// Returns the bytes of a module that was read in that environment, as soon as they
    /// are written.
    pub(crate) fn of_module(
        environment: &Arc<StoredEnvironment>,
        items: Vec<CheckedItem>,
        record: ReadingRecord,
    ) -> Self {
        if items.len() < BATCH {
            return Self::Module(environment.clone(), items, record);
        }
        let (cloned, of_thread) = ((items.clone(), record.clone()), environment.clone());
        match BytesInProgress::start(move || world::encode_module(&items, &record, &of_thread)) {
            Some(bytes) => Self::InProgress(bytes),
            None => Self::Module(environment.clone(), cloned.0, cloned.1),
        }
    }

    /// Returns the bytes; `None` if the text is too long.
    pub(crate) fn wait(self) -> Option<Vec<u8>> {
        match self {
            Self::InProgress(bytes) => bytes.wait(),
            Self::Short(environment, items) => {
                let mut writer = TextWriter::new(&environment);
                items.iter().for_each(|item| writer.item(&item.stored()));
                (!items.is_empty()).then(|| writer.finish())?
            }
            Self::Module(environment, items, record) => world::encode_module(&items, &record, &environment),
        }
    }
}
