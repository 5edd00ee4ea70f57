//! What programs print, on its way to `sys.stdout`.
//!
//! Programs run without Python's lock, and on other threads. So what they print is kept, and
//! written while the caller waits, before a Python function is called, and at the end.

use kal::format_number;
use kal::host::Output;
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::Arc;

/// While no other thread waits, this many bytes are kept at most.
const KEPT: usize = 1 << 16;

/// What has been printed and not been written yet.
#[derive(Clone, Default)]
pub struct Printed(Arc<Mutex<Text>>);

#[derive(Default)]
struct Text {
    bytes: Vec<u8>,
    /// Whether the last line has not ended.
    is_in_line: bool,
}

thread_local! {
    /// Where the programs that run on this thread print to.
    static CURRENT: RefCell<Option<Printed>> = const { RefCell::new(None) };
}

impl Printed {
    /// Runs something that prints to it.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        struct Restore(Option<Printed>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let _restore = Restore(CURRENT.replace(Some(self.clone())));
        work()
    }

    /// Writes what has been printed to `sys.stdout`. The bytes of a character that is not
    /// complete stay for the next time.
    pub fn write_out(&self, py: Python<'_>) -> PyResult<()> {
        let mut text = self.0.lock();
        let complete = match std::str::from_utf8(&text.bytes) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Ok(_) | Err(_) => text.bytes.len(),
        };
        let rest = text.bytes.split_off(complete);
        let bytes = std::mem::replace(&mut text.bytes, rest);
        drop(text);
        write(py, &bytes)
    }

    /// Writes all that has been printed to `sys.stdout`, when the program is over.
    pub fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let bytes = std::mem::take(&mut self.0.lock().bytes);
        write(py, &bytes)
    }

    /// Returns whether nothing waits to be written.
    pub fn is_empty(&self) -> bool {
        self.0.lock().bytes.is_empty()
    }

    fn add(&self, print: impl FnOnce(&mut Text)) -> io::Result<()> {
        let mut text = self.0.lock();
        print(&mut text);
        let is_full = text.bytes.len() > KEPT;
        drop(text);
        if is_full {
            let written = Python::attach(|py| self.write_out(py));
            written.map_err(|error| io::Error::other(error.to_string()))?;
        }
        Ok(())
    }
}

impl Text {
    fn end_line(&mut self) {
        if std::mem::take(&mut self.is_in_line) {
            self.bytes.push(b'\n');
        }
    }
}

fn write(py: Python<'_>, bytes: &[u8]) -> PyResult<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let stdout = py.import("sys")?.getattr("stdout")?;
    // It is `None` where there is no console.
    if stdout.is_none() {
        return Ok(());
    }
    stdout.call_method1("write", (String::from_utf8_lossy(bytes),)).map(drop)
}

/// Writes what the program of this thread has printed, so that it comes before what a Python
/// function prints.
pub fn write_current(py: Python<'_>) -> PyResult<()> {
    let current = CURRENT.with_borrow(Clone::clone);
    current.map_or(Ok(()), |printed| printed.write_out(py))
}

/// Prints to where the programs of a thread [print](Printed::during).
pub struct ThreadOutput;

impl ThreadOutput {
    fn print(print: impl FnOnce(&mut Text)) -> io::Result<()> {
        match CURRENT.with_borrow(Clone::clone) {
            Some(printed) => printed.add(print),
            // Nothing that prints runs outside of a session.
            None => Ok(()),
        }
    }
}

impl Output for ThreadOutput {
    fn value(&mut self, value: f64) -> io::Result<()> {
        Self::print(|text| {
            text.end_line();
            // Writing to a vector succeeds.
            let _ = writeln!(text.bytes, "{}", format_number(value));
        })
    }

    fn byte(&mut self, byte: u8) -> io::Result<()> {
        Self::print(|text| {
            text.is_in_line = byte != b'\n';
            text.bytes.push(byte);
        })
    }

    fn end_line(&mut self) -> io::Result<()> {
        Self::print(Text::end_line)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
