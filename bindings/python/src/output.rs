//! What programs print, on its way to `sys.stdout`.
//!
//! Programs run without Python's lock, and on other threads. So what they print is kept, and
//! written while the caller waits and at the end.

use kal::LineOutput;
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::io::{self, Write};
use std::sync::Arc;

/// Where there is nobody who waits, this many bytes are kept at most.
const KEPT: usize = 1 << 16;

/// What has been printed and not been written yet.
#[derive(Clone, Default)]
pub struct Printed(Arc<Mutex<Vec<u8>>>);

impl Printed {
    /// Returns an output that prints to it.
    pub fn output(&self) -> Box<LineOutput<Self>> {
        Box::new(LineOutput::new(self.clone()).flush_lines(true))
    }

    /// Writes what has been printed to `sys.stdout`.
    pub fn write_out(&self, py: Python<'_>) -> PyResult<()> {
        let bytes = std::mem::take(&mut *self.0.lock());
        if bytes.is_empty() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&bytes);
        let stdout = py.import("sys")?.getattr("stdout")?;
        // It is `None` where there is no console.
        if stdout.is_none() { Ok(()) } else { stdout.call_method1("write", (text,)).map(drop) }
    }
}

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut printed = self.0.lock();
        printed.extend_from_slice(bytes);
        let is_full = printed.len() > KEPT;
        drop(printed);
        if is_full {
            Python::attach(|py| self.write_out(py)).map_err(|error| io::Error::other(error.to_string()))?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
