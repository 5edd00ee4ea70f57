//! Where answers go: one stream for values, program output and messages, so
//! that they keep their order.

use crate::error::Error;
use crate::host::Output;
use crate::output::LineOutput;
use parking_lot::Mutex;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

/// The stream; cheap to clone.
#[derive(Clone)]
pub(crate) struct Screen {
    lines: Arc<Mutex<LineOutput<OutputTarget>>>,
    /// Whether it is a terminal: every line is then shown when it ends.
    is_watched: bool,
}

/// The destination of the stream.
enum OutputTarget {
    Stdout(io::Stdout),
    Captured(Captured),
    Discarded,
}

impl Screen {
    pub(crate) fn stdout() -> Self {
        let is_watched = io::stdout().is_terminal();
        let lines = LineOutput::new(OutputTarget::Stdout(io::stdout())).flush_lines(is_watched);
        Self { lines: Arc::new(Mutex::new(lines)), is_watched }
    }

    /// Writes a line of its own.
    pub(crate) fn line(&self, text: &str) {
        let mut lines = self.lines.lock();
        // A closed stream is noticed at the next flush.
        let _ = lines.text(text);
        if !text.ends_with('\n') {
            let _ = lines.byte(b'\n');
        }
    }

    /// Ends an unfinished line and flushes.
    pub(crate) fn settle(&self) -> io::Result<()> {
        let mut lines = self.lines.lock();
        lines.end_line()?;
        lines.flush()
    }

    /// Flushes what was printed before an error, and makes the error begin a
    /// line.
    pub(crate) fn make_way(&self, error: &Error) {
        let mut lines = self.lines.lock();
        let is_shown = self.is_watched && matches!(lines.stream_mut(), OutputTarget::Stdout(_));
        if is_shown && error.is_interrupt() {
            // The terminal has shown `^C`.
            let _ = lines.byte(b'\n');
        }
        drop(lines);
        let _ = self.settle();
    }

    /// Captures what is written from now on, until [`release`](Self::release).
    pub(crate) fn capture(&self) {
        self.replace(OutputTarget::Captured(Captured::default()));
    }

    /// Discards what is written from now on, until [`release`](Self::release).
    pub(crate) fn discard(&self) {
        self.replace(OutputTarget::Discarded);
    }

    /// Writes to standard output again; returns what was captured, without the
    /// middle of very much.
    pub(crate) fn release(&self) -> String {
        match self.replace(OutputTarget::Stdout(io::stdout())) {
            OutputTarget::Captured(captured) => captured.text(),
            OutputTarget::Stdout(_) | OutputTarget::Discarded => String::new(),
        }
    }

    fn replace(&self, target: OutputTarget) -> OutputTarget {
        let mut lines = self.lines.lock();
        let _ = lines.end_line().and_then(|()| lines.flush());
        std::mem::replace(lines.stream_mut(), target)
    }
}

/// What was written; of more than [`MOST`](Self::MOST) bytes the beginning and
/// the end.
#[derive(Default)]
struct Captured {
    bytes: Vec<u8>,
    /// The bytes that were left out after the first half.
    omitted: usize,
}

impl Captured {
    const MOST: usize = 1 << 16;

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // Not for every line.
        if self.bytes.len() > 4 * Self::MOST {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        let middle = Self::MOST / 2..self.bytes.len().saturating_sub(Self::MOST / 2);
        self.omitted += middle.len();
        if !middle.is_empty() {
            self.bytes.drain(middle);
        }
    }

    fn text(mut self) -> String {
        self.shorten();
        if self.omitted == 0 {
            return String::from_utf8_lossy(&self.bytes).into_owned();
        }
        // Only whole lines are shown, if they are not too long.
        let (start, end) = self.bytes.split_at(Self::MOST / 2);
        let is_feed = |byte: &u8| *byte == b'\n';
        let start = &start[..start.iter().rposition(is_feed).map_or(start.len(), |feed| feed + 1)];
        let end = &end[end.iter().position(is_feed).map_or(0, |feed| feed + 1)..];
        let omitted = self.omitted + self.bytes.len() - start.len() - end.len();
        let shown = |bytes| String::from_utf8_lossy(bytes);
        format!("{}… {omitted} bytes of output are not shown …\n{}", shown(start), shown(end))
    }
}

impl Output for Screen {
    fn value(&mut self, value: f64) -> io::Result<()> {
        self.lines.lock().value(value)
    }

    fn byte(&mut self, byte: u8) -> io::Result<()> {
        self.lines.lock().byte(byte)
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.lines.lock().end_line()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lines.lock().flush()
    }
}

impl Write for OutputTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::Captured(captured) => {
                captured.push(bytes);
                Ok(bytes.len())
            }
            Self::Discarded => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::Captured(_) | Self::Discarded => Ok(()),
        }
    }
}
