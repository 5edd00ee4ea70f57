//! `:map`: a formula over the columns of a table.

use super::command::CommandError;
use super::session::ReplSession;
use crate::table::{MapError, TableOutput, TableRequest, compute};
use crate::terminal::file;
use crate::terminal::screen::Screen;
use std::io::{self, Write};

/// The rows that are shown of a table that is written nowhere.
const SHOWN: usize = 10;

/// What to compute.
#[derive(Clone, PartialEq, Eq, Debug)]
struct MapRequest<'a> {
    formula: &'a str,
    input: &'a str,
    output: Option<&'a str>,
    name: Option<&'a str>,
    is_alone: bool,
    threads: usize,
    delimiter: u8,
    skips_failures: bool,
    explains: bool,
}

/// The options, which are those of `kal map`.
const OPTIONS: [&str; 8] =
    ["--in", "--out", "--name", "--alone", "--threads", "--delimiter", "--on-error", "--explain"];

pub(super) fn map(session: &mut ReplSession<'_>, text: &str) -> Result<(), CommandError> {
    let request = MapRequest::parse(text)?;
    let (input, output) = (file::path(request.input), request.output.map(file::path));
    let table = TableRequest {
        formula: request.formula,
        input: Some(&input),
        output: match &output {
            Some(path) => TableOutput::File(path),
            None => TableOutput::Stream(Box::new(ScreenStream(session.screen.clone()))),
        },
        name: request.name,
        is_alone: request.is_alone,
        threads: request.threads,
        delimiter: request.delimiter,
        skips_failures: request.skips_failures,
        explains: request.explains,
        rows: output.is_none().then_some(SHOWN),
        deadline: session.context.deadline(),
    };
    let screen = session.screen.clone();
    let (rows, has_more) = compute(table, session.context, &mut |line| screen.line(line), None)?;
    let rows = if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
    match output {
        Some(path) => session.screen.line(&format!("{}: {rows}", file::shown(&path))),
        None if has_more => session.screen.line("…: more rows; --out FILE writes all of them"),
        None => {}
    }
    Ok(())
}

impl<'a> MapRequest<'a> {
    /// Parses `EXPR --in FILE` with other options after it. What an option has may be between
    /// quotation marks.
    ///
    /// # Errors
    /// The usage, or what is wrong with an option.
    fn parse(text: &'a str) -> Result<Self, CommandError> {
        let usage = || CommandError::usage("map");
        let (formula, mut rest) = text.split_at(Self::option(text, true).ok_or_else(usage)?);
        let mut request = Self {
            formula: formula.trim(),
            input: "",
            output: None,
            name: None,
            is_alone: false,
            threads: 1,
            delimiter: b',',
            skips_failures: false,
            explains: false,
        };
        while !rest.is_empty() {
            let (name, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let (value, next) = after.split_at(Self::option(after, false).unwrap_or(after.len()));
            let value = value.trim();
            let between = |mark| value.strip_prefix(mark)?.strip_suffix(mark);
            // What is in double ones is read with a path.
            let file = between('\'').unwrap_or(value);
            let value = between('"').unwrap_or(file);
            let wrong = |says: &str| CommandError::Text(format!("{name} {value}: {says}"));
            match (name, value) {
                ("--alone", "") => request.is_alone = true,
                ("--explain", "") => request.explains = true,
                ("--alone" | "--explain", _) | (_, "") => return Err(usage()),
                ("--in", _) if request.input.is_empty() => request.input = file,
                ("--out", _) => request.output = Some(file),
                ("--name", column) => request.name = Some(column),
                ("--threads", count) => {
                    request.threads = TableRequest::read_threads(count).map_err(wrong)?;
                }
                ("--delimiter", sign) => {
                    request.delimiter = TableRequest::read_delimiter(sign).map_err(wrong)?;
                }
                ("--on-error", "stop") => request.skips_failures = false,
                ("--on-error", "empty") => request.skips_failures = true,
                _ => return Err(usage()),
            }
            rest = next;
        }
        let is_whole = !request.formula.is_empty() && !request.input.is_empty();
        is_whole.then_some(request).ok_or_else(usage)
    }

    /// Returns where the next option begins: a word after a blank; after a formula, in which `--`
    /// may be two operators, one that is `known`.
    fn option(text: &str, known: bool) -> Option<usize> {
        let is_option = |at: &usize| {
            let word = text[*at..].split_whitespace().next().unwrap_or_default();
            let is_after_blank = text[..*at].chars().next_back().is_none_or(char::is_whitespace);
            let looks_so = word.as_bytes().get(2).is_some_and(u8::is_ascii_alphabetic);
            is_after_blank && if known { OPTIONS.contains(&word) } else { looks_so }
        };
        text.match_indices("--").map(|(at, _)| at).find(is_option)
    }
}

impl From<MapError> for CommandError {
    fn from(error: MapError) -> Self {
        match error {
            MapError::Kal(error, None) => Self::Program(error),
            MapError::Kal(error, Some(place)) => Self::Row { error, place },
            other => Self::Text(other.to_string()),
        }
    }
}

/// The screen, as a stream of whole lines.
struct ScreenStream(Screen);

impl Write for ScreenStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !bytes.is_empty() {
            self.0.line(&String::from_utf8_lossy(bytes));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_after_the_formula() {
        let found = MapRequest::parse(
            "a - -b * c --d --in my file.csv --alone --out x.csv --name \"the sum\" --threads 2 --delimiter ; \
             --on-error empty --explain",
        );
        let request = MapRequest {
            formula: "a - -b * c --d",
            input: "my file.csv",
            output: Some("x.csv"),
            name: Some("the sum"),
            is_alone: true,
            threads: 2,
            delimiter: b';',
            skips_failures: true,
            explains: true,
        };
        assert_eq!(found.ok(), Some(request));
        let quoted = MapRequest::parse("a --in \"b\\c.csv\" --out 'd e.csv'").expect("it is right");
        assert_eq!((file::path(quoted.input), quoted.output), ("b\\c.csv".into(), Some("d e.csv")));
        let usage = CommandError::usage("map").to_string();
        for wrong in [
            "",
            "a",
            "--in x.csv",
            "a --in",
            "a --in x --in y",
            "a --in x --out",
            "a --in x --alone y",
            "a --in x --bogus",
            "a --in x --on-error later",
        ] {
            let error = MapRequest::parse(wrong).expect_err(wrong);
            assert_eq!(error.to_string(), usage, "{wrong}");
        }
        let error = MapRequest::parse("a --in x --threads 0").expect_err("there must be one");
        assert_eq!(error.to_string(), "--threads 0: a number of threads is between 1 and 1024");
    }
}
