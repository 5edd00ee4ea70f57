//! Runs files of SQL. After each statement, comments say what it gives: a table or an error.
//! `UPDATE=1` writes what it gives now.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::error::{DataFusionError, Result};
use datafusion::prelude::SessionContext;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// Runs a file in a session, and compares what it gives with what its comments say.
pub async fn check(context: &SessionContext, path: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    let given = run(context, &text).await;
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, given).unwrap();
        return;
    }
    assert!(text == given, "{}:\n--- expected\n{text}\n--- given\n{given}", path.display());
}

/// Returns the text with what its statements give now.
async fn run(context: &SessionContext, text: &str) -> String {
    let mut given = String::new();
    let mut statement = String::new();
    for line in text.lines() {
        // Comments within a statement are its own.
        if statement.is_empty() && line.starts_with("-->") {
            continue;
        }
        writeln!(given, "{line}").unwrap();
        if statement.is_empty() && (line.trim().is_empty() || line.starts_with("--")) {
            continue;
        }
        writeln!(statement, "{line}").unwrap();
        if line.trim_end().ends_with(';') {
            let shown = match outcome(context, &statement).await {
                Ok(table) => table,
                Err(error) => error.strip_backtrace().replace(" \n", "\n"),
            };
            // DataFusion's suggestions are other ones each time.
            let lines = shown.trim_end().lines().filter(|line| !line.starts_with("Did you mean"));
            lines.for_each(|line| writeln!(given, "--> {line}").unwrap());
            statement.clear();
        }
    }
    assert!(statement.trim().is_empty(), "a statement has no end: {statement}");
    given
}

/// Returns the table that a statement gives; empty if it has no columns.
pub async fn outcome(context: &SessionContext, statement: &str) -> Result<String> {
    let table = context.sql(statement).await?;
    let has_columns = !table.schema().fields().is_empty();
    let schema = Arc::new(table.schema().as_arrow().clone());
    let mut batches = table.collect().await?;
    if !has_columns {
        return Ok(String::new());
    }
    // Without rows there may be no batches.
    batches.push(RecordBatch::new_empty(schema));
    let table = pretty_format_batches(&batches)
        .map_err(|error| DataFusionError::ArrowError(Box::new(error), None))?;
    Ok(table.to_string())
}
