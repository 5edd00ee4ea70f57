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
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct MapRequest<'a> {
    formula: &'a str,
    input: &'a str,
    output: Option<&'a str>,
    name: Option<&'a str>,
    is_alone: bool,
}

pub(super) fn map(session: &mut ReplSession<'_>, text: &str) -> Result<(), CommandError> {
    let MapRequest { formula, input, output, name, is_alone } =
        MapRequest::parse(text).ok_or_else(|| CommandError::usage("map"))?;
    let (input, output) = (file::path(input), output.map(file::path));
    let request = TableRequest {
        formula,
        input: Some(&input),
        output: match &output {
            Some(path) => TableOutput::File(path),
            None => TableOutput::Stream(Box::new(ScreenStream(session.screen.clone()))),
        },
        name,
        is_alone,
        threads: 1,
        delimiter: b',',
        skips_failures: false,
        explains: false,
        rows: output.is_none().then_some(SHOWN),
        deadline: session.context.deadline(),
    };
    let screen = session.screen.clone();
    let (rows, has_more) = compute(request, session.context, &mut |line| screen.line(line), None)?;
    let rows = if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
    match output {
        Some(path) => session.screen.line(&format!("{}: {rows}", file::shown(&path))),
        None if has_more => session.screen.line("…: more rows; --out FILE writes all of them"),
        None => {}
    }
    Ok(())
}

impl<'a> MapRequest<'a> {
    /// Parses `EXPR --in FILE` with other options after it.
    fn parse(text: &'a str) -> Option<Self> {
        let (formula, mut rest) = text.split_at(Self::option(text)?);
        let mut request = Self { formula: formula.trim(), ..Self::default() };
        while !rest.is_empty() {
            let (name, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let (value, next) = after.split_at(Self::option(after).unwrap_or(after.len()));
            let value = value.trim();
            match name {
                "--alone" if value.is_empty() => request.is_alone = true,
                "--in" if request.input.is_empty() => request.input = value,
                "--out" if !value.is_empty() => request.output = Some(value),
                "--name" if !value.is_empty() => request.name = Some(value),
                _ => return None,
            }
            rest = next;
        }
        (!request.formula.is_empty() && !request.input.is_empty()).then_some(request)
    }

    /// Returns where the next option begins: a word after a blank.
    fn option(text: &str) -> Option<usize> {
        let is_option = |at: &usize| {
            let word = text[*at..].split_whitespace().next().unwrap_or_default();
            let is_after_blank = text[..*at].chars().next_back().is_none_or(char::is_whitespace);
            is_after_blank && ["--in", "--out", "--name", "--alone"].contains(&word)
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
        let found = MapRequest::parse("a - -b * c--d --in my file.csv --alone --out x.csv --name the sum");
        let request = MapRequest {
            formula: "a - -b * c--d",
            input: "my file.csv",
            output: Some("x.csv"),
            name: Some("the sum"),
            is_alone: true,
        };
        assert_eq!(found, Some(request));
        for wrong in
            ["", "a", "--in x.csv", "a --in", "a --in x --in y", "a --in x --out", "a --in x --alone y"]
        {
            assert_eq!(MapRequest::parse(wrong), None, "{wrong}");
        }
    }
}
