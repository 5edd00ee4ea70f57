//! Program output: numbers and bytes, in order.

use crate::host::decimal::format_number;
use crate::host::sink::Output;
use std::io::{self, IsTerminal, Write};

/// Returns the source of an expression with exactly this value.
pub(crate) fn literal(value: f64) -> String {
    if value.is_nan() {
        "0/0".into()
    } else if value.is_infinite() {
        if value > 0.0 { "1e999".into() } else { "-1e999".into() }
    } else {
        format_number(value)
    }
}

/// Buffered output to a stream: flush it before anything else writes there.
pub struct LineOutput<W: Write> {
    stream: io::BufWriter<W>,
    in_line: bool,
    flushes_lines: bool,
}

impl LineOutput<io::Stdout> {
    /// Creates output to standard output; on a terminal, each line is shown
    /// when it ends.
    pub fn stdout() -> Self {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        Self::new(stdout).flush_lines(is_terminal)
    }
}

impl<W: Write + Send> LineOutput<W> {
    /// Creates output to `stream`.
    pub fn new(stream: W) -> Self {
        Self { stream: io::BufWriter::new(stream), in_line: false, flushes_lines: false }
    }

    /// Sets whether to flush at the end of every line.
    #[must_use]
    pub fn flush_lines(mut self, on: bool) -> Self {
        self.flushes_lines = on;
        self
    }

    fn line_ended(&mut self) -> io::Result<()> {
        if self.flushes_lines { self.stream.flush() } else { Ok(()) }
    }
}

/// For the screen of the prompt.
#[cfg(feature = "cli")]
impl<W: Write + Send> LineOutput<W> {
    /// Writes a text on a line of its own, which it need not end.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.end_line()?;
        self.in_line = !text.is_empty() && !text.ends_with('\n');
        self.stream.write_all(text.as_bytes())
    }

    /// Returns the stream; buffered output may not have reached it yet.
    pub(crate) fn stream_mut(&mut self) -> &mut W {
        self.stream.get_mut()
    }
}

impl<W: Write + Send> Output for LineOutput<W> {
    fn value(&mut self, value: f64) -> io::Result<()> {
        self.end_line()?;
        writeln!(self.stream, "{}", format_number(value))?;
        self.line_ended()
    }

    fn byte(&mut self, byte: u8) -> io::Result<()> {
        self.in_line = byte != b'\n';
        self.stream.write_all(&[byte])?;
        if byte == b'\n' { self.line_ended() } else { Ok(()) }
    }

    fn end_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.in_line) {
            self.stream.write_all(b"\n")?;
            self.line_ended()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_and_are_short() {
        let cases = [
            (1.0, "1"),
            (-0.0, "-0"),
            (0.0001, "0.0001"),
            (0.000_099, "9.9e-5"),
            (9_999_999_999_999_998.0, "9999999999999998"),
            (1e16, "1e16"),
            (1.5e300, "1.5e300"),
            (1e-7, "1e-7"),
            (5e-324, "5e-324"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
            (-f64::NAN, "nan"),
        ];
        for (value, text) in cases {
            assert_eq!(format_number(value), text);
        }
    }

    #[test]
    fn lines_are_flushed_where_that_is_asked_for() {
        for (flushes, shown) in [(false, ""), (true, "1\na\n")] {
            let mut output = LineOutput::new(Vec::new()).flush_lines(flushes);
            output.value(1.0).unwrap();
            b"a\nb".iter().for_each(|&byte| output.byte(byte).unwrap());
            assert_eq!(output.stream.get_mut(), shown.as_bytes());
            output.end_line().unwrap();
            assert_eq!(output.stream.get_mut().len(), if flushes { 6 } else { 0 });
        }
    }

    #[test]
    fn a_value_after_unfinished_output_starts_a_line() {
        let mut bytes = Vec::new();
        let mut output = LineOutput::new(&mut bytes);
        output.byte(b'a').unwrap();
        output.value(1.0).unwrap();
        output.byte(b'\n').unwrap();
        output.value(2.0).unwrap();
        drop(output);
        assert_eq!(bytes, b"a\n1\n\n2\n");
    }
}
