//! `:plot`: a function of one variable as a curve.

use super::command::Trouble;
use super::curve::{self, Curve};
use super::file::{self, write_atomically};
use super::session::Session;
use super::svg;
use crate::error::Error;

/// What is to be plotted.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Request<'a> {
    expression: String,
    variable: &'a str,
    from: &'a str,
    to: &'a str,
    svg: Option<&'a str>,
}

pub(super) fn plot(session: &mut Session<'_>, text: &str) -> Result<(), Trouble> {
    let request = Request::parse(text).ok_or_else(|| Trouble::usage("plot"))?;
    let domain = (number(session, request.from)?, number(session, request.to)?);
    let width = domain.1 - domain.0;
    if !(width.is_finite() && width > 0.0) {
        return Err(Trouble::Text("the plot's limits must be two numbers, the lower one first".into()));
    }
    let samples = if request.svg.is_some() { 2000 } else { session.width * 8 };
    let curve = sample(session, &request, domain, samples)?;
    let nothing = || format!("{} has no finite value there", request.expression);
    match request.svg {
        Some(argument) => {
            let path = file::path(argument);
            let picture = svg::picture(&curve, &request.expression, request.variable).ok_or_else(nothing)?;
            write_atomically(&path, picture.as_bytes())
                .map_err(|error| Trouble::File { path: path.clone(), error })?;
            session.screen.line(&format!("{}: drawn", file::shown(&path)));
        }
        None => session.screen.line(&curve::draw(&curve, session.width).ok_or_else(nothing)?),
    }
    Ok(())
}

/// The value of a limit.
fn number(session: &mut Session<'_>, text: &str) -> Result<f64, Error> {
    session.context.formula(text, &[])?.call(session.context, &[])
}

fn sample(
    session: &mut Session<'_>,
    request: &Request<'_>,
    domain: (f64, f64),
    count: usize,
) -> Result<Curve, Error> {
    let formula = session.context.formula(&request.expression, &[request.variable])?;
    let mut curve = Curve { domain, values: vec![0.0; count] };
    let places: Vec<f64> = curve.places().collect();
    for (value, place) in curve.values.iter_mut().zip(places) {
        *value = formula.call(session.context, &[place])?;
    }
    Ok(curve)
}

impl<'a> Request<'a> {
    /// Reads `EXPR, VAR = A..B` or `NAME A..B`, and `--svg FILE` behind or
    /// before it.
    fn parse(text: &'a str) -> Option<Self> {
        let (text, svg) = match text.split_once("--svg") {
            Some((before, after)) if before.trim().is_empty() => {
                let (file, rest) = after.trim().split_once(char::is_whitespace)?;
                (rest, Some(file))
            }
            Some((before, file)) => (before, Some(file.trim())),
            None => (text, None),
        };
        if svg.is_some_and(str::is_empty) {
            return None;
        }
        let (before, to) = text.rsplit_once("..")?;
        let request = Self::with_variable(before).or_else(|| Self::with_name(before));
        let (expression, variable, from) = request?;
        let (from, to) = (from.trim(), to.trim());
        let is_complete = !from.is_empty() && !to.is_empty() && !expression.trim().is_empty();
        is_complete.then_some(Self { expression, variable, from, to, svg })
    }

    /// `EXPR, VAR = A`
    fn with_variable(text: &'a str) -> Option<(String, &'a str, &'a str)> {
        let (expression, assignment) = text.rsplit_once(',')?;
        let (variable, from) = assignment.split_once('=')?;
        let variable = variable.trim();
        crate::syntax::is_identifier(variable).then(|| (expression.trim().to_owned(), variable, from))
    }

    /// `NAME A`
    fn with_name(text: &'a str) -> Option<(String, &'a str, &'a str)> {
        let (name, from) = text.trim().split_once(char::is_whitespace)?;
        crate::syntax::is_identifier(name).then(|| (format!("{name}(x)"), "x", from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Option<(String, String, String, String, Option<String>)> {
        let request = Request::parse(text)?;
        let text = |part: &str| part.to_owned();
        let Request { expression, variable, from, to, svg } = request;
        Some((expression, text(variable), text(from), text(to), svg.map(text)))
    }

    #[test]
    fn requests_are_read() {
        let some = |expression: &str, variable: &str, from: &str, to: &str, svg: Option<&str>| {
            let text = |part: &str| part.to_owned();
            Some((text(expression), text(variable), text(from), text(to), svg.map(text)))
        };
        assert_eq!(parts("sin 0..6.28"), some("sin(x)", "x", "0", "6.28", None));
        assert_eq!(parts("f(t, 2), t = -1 .. 2*3"), some("f(t, 2)", "t", "-1", "2*3", None));
        assert_eq!(parts("sin 0..1 --svg a b.svg"), some("sin(x)", "x", "0", "1", Some("a b.svg")));
        assert_eq!(parts("--svg a.svg sin 0..1"), some("sin(x)", "x", "0", "1", Some("a.svg")));
        for wrong in ["", "sin", "sin 0", "sin ..1", "0..1", "sin 0..", "x, = 0..1", "sin 0..1 --svg"] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }
}
