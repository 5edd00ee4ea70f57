//! Where a program's output goes, and why a function of the host fails.

/// A sink for a program's output: printed values and single bytes, in order.
pub trait Output: Send {
    /// Prints a number as a top-level value is printed, on its own line.
    ///
    /// # Errors
    /// If the sink cannot take more.
    fn value(&mut self, value: f64) -> std::io::Result<()>;

    /// Writes one byte.
    ///
    /// # Errors
    /// If the sink cannot take more.
    fn byte(&mut self, byte: u8) -> std::io::Result<()>;

    /// Ends an unfinished line of bytes, so that what others write next begins
    /// a new line.
    ///
    /// # Errors
    /// If the sink cannot take more.
    fn end_line(&mut self) -> std::io::Result<()> {
        Ok(())
    }

    /// Passes everything written so far to the system.
    ///
    /// # Errors
    /// If the sink cannot take it.
    fn flush(&mut self) -> std::io::Result<()>;
}

/// Why a host function failed; shown to the user verbatim.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HostError(pub String);

impl From<std::io::Error> for HostError {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}
