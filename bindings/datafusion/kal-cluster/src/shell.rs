//! The SQL shell: statements from a file, a text or standard input, and their tables.

use crate::progress::Progress;
use crate::session::{local, remote};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv::WriterBuilder;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::error::DataFusionError;
use datafusion::physical_plan::{displayable, execute_stream};
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::{DFParserBuilder, Statement};
use futures::StreamExt;
use kal_datafusion::KalEngine;
use std::collections::VecDeque;
use std::error::Error;
use std::io::{self, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// Run SQL: over files of Parquet and CSV, in this process or on a cluster.
///
/// A table is what CREATE EXTERNAL TABLE names; in this process also a file by its name, FROM
/// 'sales.parquet'.
#[derive(clap::Args)]
pub struct Options {
    /// The file; standard input without one.
    pub file: Option<PathBuf>,
    /// SQL in place of a file.
    #[arg(short = 'e', long, conflicts_with = "file")]
    pub execute: Option<String>,
    /// The scheduler of the cluster, such as `df://localhost:50050`; without one, queries run in
    /// this process.
    #[arg(long, env = "KAL_SCHEDULER")]
    pub scheduler: Option<String>,
    /// How many seconds to try to reach the scheduler at the start.
    #[arg(long, default_value_t = 30)]
    pub scheduler_connect_timeout_seconds: u16,
    /// How tables are written.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// How tables are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub enum Format {
    /// Drawn with lines.
    #[default]
    Table,
    /// CSV with a header.
    Csv,
}

/// Runs what the options say, up to the first error.
///
/// # Errors
/// What is wrong with a statement, or with the files that it reads.
pub async fn run(options: Options) -> Result<(), Box<dyn Error>> {
    let engine = KalEngine::new()?;
    let context = match &options.scheduler {
        None => local(&engine)?,
        Some(url) => {
            let seconds = options.scheduler_connect_timeout_seconds;
            wait_for(url, Duration::from_secs(seconds.into())).await;
            remote(&engine, url).await?
        }
    };
    let is_prompt = options.file.is_none() && options.execute.is_none() && io::stdin().is_terminal();
    if is_prompt {
        return prompt(&context, options.format).await;
    }
    let text = match (options.execute, options.file) {
        (Some(text), _) => text,
        (None, Some(file)) => {
            std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?
        }
        (None, None) => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text)?;
            text
        }
    };
    for statement in parse(&text)? {
        statement_of(&context, statement, options.format).await?;
    }
    Ok(())
}

/// Waits until something listens at the address of a scheduler: one that has just been started
/// does not yet. If nothing does in time, connecting to it says why.
async fn wait_for(url: &str, patience: Duration) {
    let Some((_, address)) = url.split_once("://") else { return };
    let address = address.trim_end_matches('/');
    let start = Instant::now();
    let mut is_told = false;
    while let Err(error) = TcpStream::connect(address).await {
        if error.kind() != io::ErrorKind::ConnectionRefused || start.elapsed() >= patience {
            return;
        }
        if !is_told && start.elapsed() > Duration::from_secs(1) && io::stderr().is_terminal() {
            eprintln!("waiting for the scheduler at {url}");
            is_told = true;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Runs what is typed; an error ends a statement only.
async fn prompt(context: &SessionContext, format: Format) -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    loop {
        print!("{}", if text.is_empty() { "sql> " } else { "...> " });
        io::stdout().flush()?;
        if io::stdin().read_line(&mut text)? == 0 {
            println!();
            return Ok(());
        }
        if text.trim().is_empty() {
            text.clear();
        }
        if !text.trim_end().ends_with(';') {
            continue;
        }
        let result = async {
            for statement in parse(&text)? {
                statement_of(context, statement, format).await?;
            }
            Ok::<(), Box<dyn Error>>(())
        };
        if let Err(error) = result.await {
            eprintln!("error: {error}");
        }
        text.clear();
    }
}

fn parse(text: &str) -> Result<VecDeque<Statement>, DataFusionError> {
    DFParserBuilder::new(text).build()?.parse_statements()
}

/// Runs a statement, and writes its table.
async fn statement_of(
    context: &SessionContext,
    statement: Statement,
    format: Format,
) -> Result<(), Box<dyn Error>> {
    let plan = context.state().statement_to_plan(statement).await?;
    let table = context.execute_logical_plan(plan).await?;
    let has_columns = !table.schema().fields().is_empty();
    let task = std::sync::Arc::new(table.task_ctx());
    let plan = table.create_physical_plan().await?;
    log::debug!("{}", displayable(plan.as_ref()).indent(false));
    let progress = Progress::of(&plan);
    let mut batches = execute_stream(plan, task)?;
    let schema = batches.schema();
    let mut output = io::stdout().lock();
    match format {
        Format::Table => {
            let mut all = vec![RecordBatch::new_empty(schema)];
            while let Some(batch) = batches.next().await {
                all.push(batch?);
            }
            drop(progress);
            if has_columns {
                writeln!(output, "{}", pretty_format_batches(&all)?)?;
            }
        }
        Format::Csv => {
            let mut progress = Some(progress);
            let mut writer = WriterBuilder::new().with_header(true).build(&mut output);
            if has_columns {
                writer.write(&RecordBatch::new_empty(schema))?;
            }
            while let Some(batch) = batches.next().await {
                let batch = batch?;
                progress = None;
                if has_columns {
                    writer.write(&batch)?;
                }
            }
            drop(progress);
        }
    }
    Ok(())
}
