//! `:plot`: functions of one variable as curves.

use super::command::CommandError;
use super::curve::{self, Curve};
use super::denotation::Denotation;
use super::session::ReplSession;
use super::svg;
use crate::context::Context;
use crate::diagnostic::ErrorCode;
use crate::error::Error;
use crate::host::decimal::counted;
use crate::source::Source;
use crate::terminal::file::{self, write_atomically};
use std::path::Path;

/// The variable and its limits if none are given.
const VARIABLE: &str = "x";
const LIMITS: (&str, &str) = ("-10", "10");

/// What to plot.
#[derive(Clone, PartialEq, Eq, Debug)]
struct PlotRequest<'a> {
    expressions: Vec<&'a str>,
    variable: Option<&'a str>,
    limits: (&'a str, &'a str),
    svg: Option<&'a str>,
}

pub(super) fn plot(session: &mut ReplSession<'_>, text: &str) -> Result<(), CommandError> {
    let request = PlotRequest::parse(text, &|name| takes_one(session.context, name));
    let request = request.ok_or_else(|| misread(session.context, text))?;
    for expression in &request.expressions {
        let is_variable = [request.variable, Some(VARIABLE)].contains(&Some(expression));
        // Where the variable is said, an unknown name is one of an expression.
        let is_meant = request.variable.is_none() || session.context.signature(expression).is_some();
        if crate::syntax::is_identifier(expression) && !is_variable && is_meant {
            is_curve(session.context, expression)?;
        }
    }
    let domain = (number(session, request.limits.0)?, number(session, request.limits.1)?);
    let width = domain.1 - domain.0;
    if width.is_infinite() && domain.0.is_finite() && domain.1.is_finite() {
        return Err(CommandError::Text("the plot's limits are too far apart".into()));
    }
    if !(width.is_finite() && width > 0.0) {
        return Err(CommandError::Text("the plot's limits must be two numbers, the lower one first".into()));
    }
    let variable = variable(session, &request)?;
    let samples = if request.svg.is_some() { 2000 } else { session.width * 8 };
    let mut curves = Vec::new();
    for expression in &request.expressions {
        let is_function = takes_one(session.context, expression);
        let label = if is_function { format!("{expression}({variable})") } else { (*expression).to_owned() };
        let mut curve = Curve { label, domain, values: vec![0.0; samples] };
        sample(session, &mut curve, &variable)?;
        curves.push(curve);
    }
    let nothing = || format!("{} has no finite value there", curve::labels(&curves));
    match request.svg {
        Some(argument) => {
            let path = file::path(argument);
            let picture = svg::picture(&curves, &variable).ok_or_else(nothing)?;
            write(&path, &picture)?;
            session.screen.line(&format!("{}: drawn", file::shown(&path)));
        }
        None => {
            let has_color = session.reporter.colors().stdout;
            let picture = curve::draw(&curves, session.width, has_color).ok_or_else(nothing)?;
            session.screen.line(&picture);
        }
    }
    Ok(())
}

/// Checks that a name alone is a curve: a function of one argument, or a variable.
fn is_curve(context: &Context, name: &str) -> Result<(), CommandError> {
    if takes_one(context, name) || context.variable(name).is_ok() {
        return Ok(());
    }
    let Some(signature) = context.signature(name) else { return Denotation::of(context, name).map(|_| ()) };
    let count = parameters(&signature).count();
    let arguments: Vec<&str> = (0..count).map(|at| if at == 0 { VARIABLE } else { "1" }).collect();
    let (taken, call) = (counted(count, "argument"), arguments.join(", "));
    let example =
        if count == 0 { String::new() } else { format!("; `:plot {name}({call})` has one variable") };
    Err(CommandError::Text(format!("`{signature}` takes {taken}, and a curve has one{example}")))
}

/// Returns the parameters in a signature.
fn parameters(signature: &str) -> impl Iterator<Item = &str> {
    let parameters = signature.split_once('(').map_or("", |(_, parameters)| parameters);
    parameters.trim_end_matches(')').split_whitespace()
}

/// Returns why a request cannot be read: for `NAME A..B`, that nothing is called so.
fn misread(context: &Context, text: &str) -> CommandError {
    let mut words = text.split_whitespace();
    let name = words.next().filter(|name| crate::syntax::is_identifier(name));
    let name = name.filter(|_| words.next().is_some_and(|range| range.contains("..")));
    let undefined = name.and_then(|name| is_curve(context, name).err());
    let first = text.split_whitespace().next().unwrap_or_default();
    if !text.contains("..") || first.contains("..") {
        return CommandError::usage("plot");
    }
    match undefined {
        Some(undefined) => undefined,
        None if text.contains(['=', ',']) || text.contains("--") => CommandError::usage("plot"),
        None => CommandError::Text(
            "between an expression and its range is a comma: `:plot sin(x) / x, x = -10..10`".to_owned(),
        ),
    }
}

/// Returns whether a text is the name of a function of one argument.
fn takes_one(context: &Context, text: &str) -> bool {
    let count = context.signature(text).map(|signature| parameters(&signature).count());
    count == Some(1) && crate::syntax::is_identifier(text)
}

/// Returns the variable of the request, or else the only undeclared name in it.
fn variable(session: &mut ReplSession<'_>, request: &PlotRequest<'_>) -> Result<String, CommandError> {
    if let Some(variable) = request.variable {
        return Ok(variable.to_owned());
    }
    let mut unknown = Vec::new();
    for expression in &request.expressions {
        if !takes_one(session.context, expression) {
            unknown.extend(unknown_names(session.context, expression));
        }
    }
    unknown.sort();
    unknown.dedup();
    match unknown.as_slice() {
        [] => Ok(VARIABLE.into()),
        [only] => Ok(only.clone()),
        [first, ..] => {
            let names: Vec<String> = unknown.iter().map(|name| format!("`{name}`")).collect();
            let names = names.join(", ");
            Err(CommandError::Text(format!(
                "several unknown variables: {names}; choose one, as in `{first} = 0..1`"
            )))
        }
    }
}

/// Returns the names in an expression that are not variables of the context.
fn unknown_names(context: &mut Context, expression: &str) -> Vec<String> {
    let Err(error) = context.formula_of(&Source::new("<input>", expression), &[]) else { return Vec::new() };
    let diagnostics = error.diagnostics().iter();
    let unknown = diagnostics.filter(|diagnostic| diagnostic.code == ErrorCode::UnknownVariable);
    unknown
        .filter_map(|diagnostic| Some(expression.get(diagnostic.labels.first()?.span.range())?.to_owned()))
        .collect()
}

/// Returns the value of a limit.
fn number(session: &mut ReplSession<'_>, text: &str) -> Result<f64, Error> {
    session.context.formula_of(&Source::new("<input>", text), &[])?.call(session.context, &[])
}

fn sample(session: &mut ReplSession<'_>, curve: &mut Curve, variable: &str) -> Result<(), Error> {
    let source = Source::new("<input>", curve.label.as_str());
    let formula = session.context.formula_of(&source, &[variable])?;
    let places: Vec<f64> = curve.places().collect();
    for (value, place) in curve.values.iter_mut().zip(places) {
        *value = formula.call(session.context, &[place])?;
    }
    Ok(())
}

/// Writes a picture; only overwrites pictures.
fn write(path: &Path, picture: &str) -> Result<(), CommandError> {
    let held = if path.is_file() { std::fs::read(path).unwrap_or_default() } else { Vec::new() };
    if !(held.is_empty() || held.starts_with(b"<svg")) {
        return Err(CommandError::Text(format!(
            "{} is not a picture, so it was not overwritten",
            file::shown(path)
        )));
    }
    write_atomically(path, picture.as_bytes())
        .map_err(|error| CommandError::File { path: path.to_owned(), error })
}

impl<'a> PlotRequest<'a> {
    /// Parses `EXPR, …, VAR = A..B`, where the variable may be missing, and so
    /// may everything after the expressions; `NAME A..B`; and `--svg FILE`
    /// after or before it. `is_function` tells which names are functions of one
    /// argument.
    fn parse(text: &'a str, is_function: &dyn Fn(&str) -> bool) -> Option<Self> {
        let (text, svg) = match text.split_once("--svg") {
            Some((before, after)) if before.trim().is_empty() => {
                let (file, rest) = after.trim().split_once(char::is_whitespace)?;
                (rest, Some(file))
            }
            Some((before, file)) => (before, Some(file.trim())),
            None => (text, None),
        };
        let mut expressions = separated(text);
        let (mut variable, mut limits) = (None, LIMITS);
        if let Some((before, to)) = expressions.last()?.rsplit_once("..") {
            expressions.pop();
            let from = match (before.split_once('='), before.trim().split_once(char::is_whitespace)) {
                (Some((name, from)), _) if crate::syntax::is_identifier(name.trim()) => {
                    variable = Some(name.trim());
                    from
                }
                (Some((name, _)), _) if name.trim().is_empty() => return None,
                (_, Some((name, from))) if is_function(name) => {
                    expressions.push(name);
                    from
                }
                _ => before,
            };
            limits = (from.trim(), to.trim());
        }
        let is_missing = |text: &str| text.is_empty();
        if expressions.is_empty()
            || expressions.iter().copied().any(is_missing)
            || svg.is_some_and(is_missing)
        {
            return None;
        }
        if is_missing(limits.0) || is_missing(limits.1) {
            return None;
        }
        Some(Self { expressions, variable, limits, svg })
    }
}

/// Splits a text at the commas outside of parentheses.
fn separated(text: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let is_comma = |character: char| {
        depth += i32::from(character == '(') - i32::from(character == ')');
        character == ',' && depth == 0
    };
    text.split(is_comma).map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<PlotRequest<'_>> {
        PlotRequest::parse(text, &|name| name == "sin" || name == "cos")
    }

    #[test]
    fn requests_are_read() {
        let some = |expressions: &[&'static str], variable, limits, svg| {
            Some(PlotRequest { expressions: expressions.to_vec(), variable, limits, svg })
        };
        assert_eq!(parse("sin"), some(&["sin"], None, LIMITS, None));
        assert_eq!(parse("sin 0..6.28"), some(&["sin"], None, ("0", "6.28"), None));
        assert_eq!(parse("sin, cos"), some(&["sin", "cos"], None, LIMITS, None));
        assert_eq!(parse("sin, cos 0..1"), some(&["sin", "cos"], None, ("0", "1"), None));
        assert_eq!(parse("sin(x), 0..6"), some(&["sin(x)"], None, ("0", "6"), None));
        assert_eq!(parse("sin(x), a + 1..6"), some(&["sin(x)"], None, ("a + 1", "6"), None));
        assert_eq!(parse("f(t, 2), t = -1 .. 2*3"), some(&["f(t, 2)"], Some("t"), ("-1", "2*3"), None));
        assert_eq!(parse("sin 0..1 --svg a b.svg"), some(&["sin"], None, ("0", "1"), Some("a b.svg")));
        assert_eq!(parse("--svg a.svg sin 0..1"), some(&["sin"], None, ("0", "1"), Some("a.svg")));
        for wrong in ["", "sin,", "sin ..1", "0..1", "sin 0..", "x, = ..1", "sin 0..1 --svg", "--svg a.svg"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
