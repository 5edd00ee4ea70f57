//! The function that is computed in every row, and the columns that it takes.

use super::csv::NumberColumn;
use super::header::{ColumnMeaning, TableHeader};
use crate::context::Context;
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::source::{Source, Span};
use crate::syntax::is_name_in;

/// What is computed in every row.
pub(super) struct RowFormula {
    pub(super) kernel: Kernel,
    /// The column of each of its parameters.
    pub(super) columns: Vec<NumberColumn>,
}

impl RowFormula {
    /// Returns the function of that name with the columns of its parameters' names, or else an
    /// expression of columns.
    ///
    /// # Errors
    /// What is wrong with the text, with its place in it.
    pub(super) fn new(text: &str, header: &TableHeader, context: &mut Context) -> Result<Self, Error> {
        let source = Source::new("<formula>", text);
        let named = text.trim();
        if is_name_in(named, context.engine().names()) {
            let start = text.len() - text.trim_start().len();
            let span = Span::new(start, start + named.len());
            match context.kernel(named) {
                Ok(kernel) => return Self::of_function(kernel, &source, span, header),
                Err(Error::NoFunction(_)) => {}
                Err(Error::TakesFunctions(name)) => {
                    let message = format!("`{name}` takes functions, which are no columns");
                    let error = Diagnostic::error(ErrorCode::FunctionWanted, &source, span, message);
                    let help = format!("call it, with functions and columns: `{name}(…)`");
                    return Err(Error::Invalid(vec![error.with_help(help)]));
                }
                Err(error) => return Err(error),
            }
        }
        Self::of_expression(&source, header, context)
    }

    fn of_function(kernel: Kernel, source: &Source, span: Span, header: &TableHeader) -> Result<Self, Error> {
        let column = |parameter: &String| {
            let missing = || {
                let message = format!("no column is called `{parameter}`");
                Diagnostic::error(ErrorCode::UnknownVariable, source, span, message)
                    .with_note(format!("it is a parameter of this function: `{}`", signature(&kernel)))
                    .with_help(header.list(Some(parameter)))
            };
            column(parameter, header, source, span)?.ok_or_else(missing)
        };
        let columns: Vec<_> = kernel.parameters().iter().map(column).collect();
        Self::with(kernel, columns)
    }

    fn of_expression(source: &Source, header: &TableHeader, context: &mut Context) -> Result<Self, Error> {
        let all = header.identifiers();
        let kernel = context.formula_kernel(source.text(), &all);
        let kernel = kernel.map_err(|error| naming_columns(error, header, source))?;
        let (mut used, mut columns) = (Vec::new(), Vec::new());
        for (name, place) in all.iter().zip(kernel.uses()) {
            let Some(span) = place else { continue };
            used.push(*name);
            columns.extend(column(name, header, source, span).transpose());
        }
        // The others are no parameters: their fields may be anything.
        let kernel = context.formula_kernel(source.text(), &used)?;
        match kernel.unknown_call(context) {
            Some(error) => Err(error),
            None => Self::with(kernel, columns),
        }
    }

    fn with(kernel: Kernel, columns: Vec<Result<NumberColumn, Diagnostic>>) -> Result<Self, Error> {
        let (mut found, mut mistakes) = (Vec::new(), Vec::new());
        for column in columns {
            match column {
                Ok(column) => found.push(column),
                Err(mistake) => mistakes.push(mistake),
            }
        }
        if mistakes.is_empty() { Ok(Self { kernel, columns: found }) } else { Err(Error::Invalid(mistakes)) }
    }
}

/// Returns the column that a name stands for, if it stands for one.
fn column(
    name: &str,
    header: &TableHeader,
    source: &Source,
    span: Span,
) -> Result<Option<NumberColumn>, Diagnostic> {
    match header.meaning(name) {
        ColumnMeaning::Column(position) => {
            Ok(Some(NumberColumn { position, name: header.name(position).to_owned() }))
        }
        ColumnMeaning::Unknown => Ok(None),
        ColumnMeaning::Ambiguous(one, other) => {
            let message = format!("two columns are called `{name}`");
            let called = |column| format!("\"{}\", column {}", header.name(column), column + 1);
            let note = format!("this is {}, and {}", called(one), called(other));
            let error = Diagnostic::error(ErrorCode::AmbiguousName, source, span, message);
            let help = "rename one in the header: what cannot be in a name is `_` in formulas";
            Err(error.with_note(note).with_help(help))
        }
    }
}

/// Returns a function's name with its parameters.
fn signature(kernel: &Kernel) -> String {
    format!("{}({})", kernel.name(), kernel.parameters().join(" "))
}

/// Adds the list of columns to the errors about unknown names, and to others what a formula
/// calls a column that it has by another name.
fn naming_columns(error: Error, header: &TableHeader, source: &Source) -> Error {
    let Error::Invalid(mut diagnostics) = error else { return error };
    for diagnostic in &mut diagnostics {
        if diagnostic.code == ErrorCode::UnknownVariable {
            let columns = header.list(None);
            diagnostic.help = Some(match diagnostic.help.take() {
                Some(help) if help.ends_with('?') => format!("{help} {columns}"),
                Some(help) => format!("{help}; {columns}"),
                None => columns,
            });
        } else {
            diagnostic.help = header.renamed_in(source.text()).or(diagnostic.help.take());
        }
    }
    Error::Invalid(diagnostics)
}
