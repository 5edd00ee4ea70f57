//! Texts that are written for later runs while they are read.
//!
//! The items of a long text are written on a thread of their own, so that the program does not
//! wait for it.

use super::CachedItem;
use crate::process::{self, Activity, OfProcess};
use crate::sema::CheckedItem;
use crate::source::Source;
use crate::world::{StoredEnvironment, TextWriter, WrittenText};
use std::mem;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::thread::Builder;
use std::time::Duration;

/// How many items are handed over together. A text with fewer is written where it is read.
const BATCH: usize = 256;

/// The same before something is run that may take longer than the thread needs for it.
const FEW: usize = 32;

/// How many batches may wait.
const WAITING: usize = 16;

/// How long a text is waited for before the process may be ending.
const PAUSE: Duration = Duration::from_millis(20);

/// Items that are handed over together.
type ItemBatch = Vec<Arc<CachedItem>>;

/// A text that is being read, to be kept for later runs.
pub(crate) struct KeptText {
    /// What has been read and not handed over.
    items: ItemBatch,
    /// What writes it, unless a thread does.
    writer: Option<Box<TextWriter>>,
    thread: Option<OfProcess<TextThread>>,
}

/// A thread that writes a text.
struct TextThread {
    items: SyncSender<ItemBatch>,
    written: Receiver<Option<WrittenText>>,
}

/// A text of which all has been read, and that a thread may still be writing.
pub(crate) enum FinishedText {
    Here(WrittenText),
    There(OfProcess<Receiver<Option<WrittenText>>>),
}

impl KeptText {
    /// Begins the text of a program, which is read in that environment.
    pub(crate) fn new(environment: &Arc<StoredEnvironment>, source: &Source) -> Self {
        Self { items: Vec::new(), writer: Some(Box::new(TextWriter::new(environment, source))), thread: None }
    }

    /// Adds the next item, which is about to be run.
    pub(crate) fn add(&mut self, item: Arc<CachedItem>) {
        let may_take_time = !matches!(item.item, CheckedItem::Definition(..)) && self.thread.is_some();
        self.items.push(item);
        if self.items.len() >= if may_take_time { FEW } else { BATCH } {
            self.hand_over();
        }
    }

    /// Hands over what has been read to the thread that writes it, or writes it here if the
    /// system has no thread for it.
    fn hand_over(&mut self) {
        if let Some(writer) = self.writer.take() {
            match TextThread::start(writer) {
                Ok(thread) => self.thread = Some(OfProcess::new(thread)),
                Err(writer) => self.writer = Some(writer),
            }
        }
        let items = mem::replace(&mut self.items, Vec::with_capacity(BATCH));
        match (&mut self.writer, self.thread.as_ref().and_then(OfProcess::get)) {
            (Some(writer), _) => write_items(writer, &items),
            (None, Some(thread)) => _ = thread.items.send(items),
            (None, None) => {}
        }
    }

    /// Ends the text; `None` if it has no items, or they are 4 GiB.
    pub(crate) fn finish(mut self) -> Option<FinishedText> {
        if self.thread.is_some() {
            self.hand_over();
        }
        if let Some(thread) = self.thread {
            let TextThread { written, .. } = thread.into_inner()?;
            return Some(FinishedText::There(OfProcess::new(written)));
        }
        let mut writer = self.writer?;
        write_items(&mut writer, &self.items);
        writer.finish().map(FinishedText::Here)
    }
}

fn write_items(writer: &mut TextWriter, items: &[Arc<CachedItem>]) {
    items.iter().for_each(|item| writer.item(&item.stored()));
}

impl TextThread {
    /// Starts a thread that goes on with a text.
    ///
    /// # Errors
    /// What is to go on with it instead, if the system has no thread.
    fn start(writer: Box<TextWriter>) -> Result<Self, Box<TextWriter>> {
        let ((items, next), (done, written)) = (sync_channel::<ItemBatch>(WAITING), channel());
        let (begin, begun) = sync_channel::<Box<TextWriter>>(1);
        let work = move || {
            let Ok(mut writer) = begun.recv() else { return };
            next.iter().for_each(|items| write_items(&mut writer, &items));
            let _ = done.send(writer.finish());
        };
        match process::spawn(Builder::new().name("kal text".into()), work) {
            Ok(_) => {
                let _ = begin.send(writer);
                Ok(Self { items, written })
            }
            Err(_) => Err(writer),
        }
    }
}

impl FinishedText {
    /// Waits until it is written, and returns it; `None` if there was nothing to write, or the
    /// thread that wrote it is one of a process that this one was forked from.
    pub(crate) fn wait(self) -> Option<WrittenText> {
        match self {
            Self::Here(text) => Some(text),
            Self::There(written) => process::within(Activity::Elsewhere, || {
                let written = written.into_inner()?;
                loop {
                    match written.recv_timeout(PAUSE) {
                        Ok(text) => return text,
                        // Then the thread may never go on.
                        Err(RecvTimeoutError::Timeout) if process::is_exiting() => return None,
                        Err(RecvTimeoutError::Timeout) => {}
                        Err(RecvTimeoutError::Disconnected) => return None,
                    }
                }
            }),
        }
    }
}

impl From<WrittenText> for FinishedText {
    fn from(text: WrittenText) -> Self {
        Self::Here(text)
    }
}
