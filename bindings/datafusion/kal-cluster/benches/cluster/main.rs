//! What functions cost in SQL: beside DataFusion's own expressions, functions in Rust and
//! DuckDB, in one process and on a cluster. `make cluster-bench` writes `RESULTS.md`.
//!
//! All of the first part run on one thread, over files of Parquet. Each time is the shortest of
//! several runs, which take turns, less that of the same query with a function that returns
//! its first argument: what is left is what computing takes.

#[path = "../../tests/cluster/harness.rs"]
#[expect(dead_code, reason = "the tests use all of it")]
mod harness;
#[path = "../../../tests/script.rs"]
#[expect(dead_code, reason = "the tests use all of it")]
mod script;
mod formulas;
mod native;

use datafusion::arrow::array::{ArrayRef, Float64Array};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};
use datafusion::prelude::{SessionConfig, SessionContext};
use formulas::{FORMULAS, Formula};
use harness::{Cluster, ENGINE, amount, rows};
use kal::{Column, Run};
use kal_datafusion::{KalSettings, KalUdf, enable};
use native::Native;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The rows of a batch.
const BATCH: usize = 8192;

#[tokio::main]
async fn main() {
    let rows = amount("KAL_ROWS", 10_000_000);
    let folder = std::env::var_os("KAL_DATA").map_or_else(std::env::temp_dir, Into::into);
    let folder = folder.join(format!("kal-bench-{rows}"));
    if !folder.exists() {
        write(&folder, rows).await;
    }
    println!("# SQL\n");
    println!("{rows} rows of Parquet, one thread; nanoseconds a row, without reading the columns.\n");
    one_process(&folder, rows).await;
    overhead();
    println!("\n## On a cluster\n");
    println!("Seconds for the query `SELECT sum(floor(option(s, k, t))) FROM t`.\n");
    println!("| rows | in this process, 1 thread | 1 executor | 2 executors |\n|---|---|---|---|");
    let mut log = String::new();
    for size in [rows / 100, rows / 10, rows] {
        let folder = match size == rows {
            true => folder.clone(),
            false => folder.with_file_name(format!("kal-bench-{size}")),
        };
        if !folder.exists() {
            write(&folder, size).await;
        }
        log += &cluster_row(&folder, size).await;
    }
    println!();
    let mut seen: Vec<&str> =
        log.lines().filter_map(|line| line.split_once("] ").map(|(_, what)| what)).collect();
    seen.retain(|what| what.starts_with("compiled") || what.contains("has arrived"));
    seen.sort_unstable();
    seen.dedup();
    seen.iter().for_each(|what| println!("- {what}"));
}

/// Writes a table whose columns look random and are the same each time.
async fn write(folder: &Path, rows: usize) {
    let part = folder.with_extension("part");
    let _ = std::fs::remove_dir_all(&part);
    std::fs::create_dir_all(&part).unwrap();
    let context = SessionContext::new();
    for file in 0..8 {
        let (first, last) = (rows / 8 * file, rows / 8 * (file + 1) - 1);
        let part = part.join(format!("{file}.parquet"));
        let unit = |factor: u64| format!("((value * {factor}) % 1000003) / 1000003.0");
        let query = format!(
            "COPY (SELECT {} * 400000 AS income, 50 + 100 * {} AS s, 50 + 100 * {} AS k, 0.1 + 2 * {} AS t
             FROM generate_series({first}, {last}))
             TO '{}' STORED AS PARQUET OPTIONS (compression 'uncompressed', dictionary_enabled 'false')",
            unit(7919),
            unit(104_729),
            unit(1_299_709),
            unit(15_485_863),
            part.display(),
        );
        context.sql(&query).await.unwrap().collect().await.unwrap();
    }
    std::fs::rename(part, folder).unwrap();
}

fn session() -> SessionContext {
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(1));
    enable(&context, &ENGINE).unwrap();
    for native in Native::all() {
        context.register_udf(ScalarUDF::from(native));
    }
    context
}

/// Returns the shortest of several runs of each query, in turn.
async fn best(context: &SessionContext, queries: &[String]) -> Vec<f64> {
    let mut times = vec![Vec::new(); queries.len()];
    for _ in 0..amount("KAL_TURNS", 5) {
        for (query, times) in queries.iter().zip(&mut times) {
            let start = Instant::now();
            black_box(context.sql(query).await.unwrap().collect().await.unwrap());
            times.push(start.elapsed().as_secs_f64());
        }
    }
    times.into_iter().map(shortest).collect()
}

fn shortest(times: impl IntoIterator<Item = f64>) -> f64 {
    times.into_iter().fold(f64::INFINITY, f64::min)
}

async fn one_process(folder: &Path, rows: usize) {
    let context = session();
    let table = format!("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{}/'", folder.display());
    context.sql(&table).await.unwrap();
    let duckdb = duckdb(folder, rows);
    println!(
        "| | kernel on slices | Kal in SQL | slices / SQL | Rust function | own expression | own / Kal | DuckDB | reading |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (formula, duckdb) in FORMULAS.iter().zip(duckdb) {
        context.sql(&formula.create()).await.unwrap();
        let columns = formula.columns.join(", ");
        let queries = [
            format!("SELECT max(first{}({columns})) FROM t", formula.columns.len()),
            format!("SELECT max({}({columns})) FROM t", formula.name),
            format!("SELECT max(native_{}({columns})) FROM t", formula.name),
            format!("SELECT max({}) FROM t", formula.expression()),
        ];
        let mut answers = Vec::new();
        for query in &queries[1..] {
            let batches = context.sql(query).await.unwrap().collect().await.unwrap();
            answers.push(datafusion::common::ScalarValue::try_from_array(batches[0].column(0), 0).unwrap());
        }
        let number = |value: &datafusion::common::ScalarValue| value.to_string().parse::<f64>().unwrap();
        let first = number(&answers[0]);
        for answer in &answers {
            assert!((number(answer) / first - 1.0).abs() < 1e-9, "{}: {answers:?}", formula.name);
        }
        let times = best(&context, &queries).await;
        let each = |seconds: f64| seconds / rows as f64 * 1e9;
        let (reading, [kal, native, own]) = (times[0], [1, 2, 3].map(|query| each(times[query] - times[0])));
        let slices = slices(formula);
        println!(
            "| {} | {slices:.2} | {kal:.2} | {:.2} | {native:.2} | {own:.2} | {:.1} | {duckdb} | {:.2} |",
            formula.title,
            slices / kal,
            own / kal,
            each(reading)
        );
    }
}

/// Returns the nanoseconds a row of the kernel over slices, a batch at a time.
fn slices(formula: &Formula) -> f64 {
    let mut context = kal::Engine::new().unwrap().context().unwrap();
    context.eval(formula.body).unwrap();
    let kernel = context.kernel(formula.name).unwrap();
    let rows = 256 * BATCH;
    let column = |index: usize| -> Vec<f64> {
        let unit = |row: usize| ((row * [7919, 104_729, 1_299_709][index]) % 1_000_003) as f64 / 1_000_003.0;
        let (low, high) = match formula.columns[index] {
            "income" => (0.0, 400_000.0),
            "t" => (0.1, 2.1),
            _ => (50.0, 150.0),
        };
        (0..rows).map(|row| low + (high - low) * unit(row)).collect()
    };
    let columns: Vec<Vec<f64>> = (0..formula.columns.len()).map(column).collect();
    let mut output = vec![0.0; BATCH];
    let mut pass = || {
        let start = Instant::now();
        for first in (0..rows).step_by(BATCH) {
            let inputs: Vec<_> =
                columns.iter().map(|column| Column::Values(&column[first..first + BATCH])).collect();
            kernel.apply(&inputs, &mut output, &mut Run::new()).unwrap();
            black_box(&output);
        }
        start.elapsed().as_secs_f64() / rows as f64 * 1e9
    };
    pass();
    shortest((0..9).map(|_| pass()))
}

/// Prints what a batch costs besides its rows.
fn overhead() {
    let context = session();
    let formula = &FORMULAS[0];
    futures::executor::block_on(context.sql(&formula.create())).unwrap();
    let state = context.state();
    let udf = state.scalar_functions()[formula.name].clone();
    assert!(udf.inner().downcast_ref::<KalUdf>().is_some());
    let mut options = ConfigOptions::new();
    options.extensions.insert(KalSettings::default());
    let options = Arc::new(options);
    let field = Arc::new(Field::new("x", DataType::Float64, true));
    let time = |rows: usize| {
        let columns: Vec<ArrayRef> = formula
            .columns
            .iter()
            .map(|_| Arc::new(Float64Array::from_iter_values((0..rows).map(|row| row as f64))) as ArrayRef)
            .collect();
        let once = || {
            black_box(udf.invoke_with_args(ScalarFunctionArgs {
                args: columns.iter().cloned().map(ColumnarValue::Array).collect(),
                arg_fields: columns.iter().map(|_| field.clone()).collect(),
                number_rows: rows,
                return_field: field.clone(),
                config_options: options.clone(),
            }))
            .unwrap();
        };
        once();
        let times = (0..2000).map(|_| {
            let start = Instant::now();
            once();
            start.elapsed().as_secs_f64() * 1e9
        });
        shortest(times)
    };
    let (one, batch) = (time(1), time(BATCH));
    println!(
        "\nA call for one row takes {:.2} µs, for a batch of {BATCH} rows {:.2} µs: {:.2} ns a row of `{}`.",
        one / 1e3,
        batch / 1e3,
        batch / BATCH as f64,
        formula.title
    );
}

/// Returns DuckDB's nanoseconds a row for each formula, or why there are none.
fn duckdb(folder: &Path, rows: usize) -> Vec<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/cluster/duckdb_peer.py");
    let python = std::env::var_os("KAL_PYTHON").unwrap_or_else(|| "python3".into());
    let mut command = Command::new(python);
    command.arg(script).arg(format!("{}/*.parquet", folder.display())).arg(rows.to_string());
    for formula in FORMULAS {
        command.arg(formula.columns.join(",")).arg(formula.expression());
    }
    match command.output() {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
        }
        Ok(output) => {
            eprintln!("{}", String::from_utf8_lossy(&output.stderr));
            vec!["missing".to_owned(); FORMULAS.len()]
        }
        Err(error) => vec![error.to_string(); FORMULAS.len()],
    }
}

/// Measures one size of the table on clusters. Returns the executors' logs.
async fn cluster_row(folder: &Path, size: usize) -> String {
    let option = &FORMULAS[2];
    let query = "SELECT sum(floor(option(s, k, t))) AS total FROM t";
    let table = format!("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{}/'", folder.display());
    let mut cells = Vec::new();
    let mut answers = Vec::new();
    let mut log = String::new();
    for executors in 0..3 {
        let cluster = match executors {
            0 => None,
            executors => Some(Cluster::start(executors).await),
        };
        let context = match &cluster {
            None => session(),
            Some(cluster) => cluster.session().await,
        };
        for statement in [&table, &option.create()] {
            context.sql(statement).await.unwrap();
        }
        let mut times = Vec::new();
        for _ in 0..amount("KAL_TURNS", 5) {
            let start = Instant::now();
            answers.push(rows(&context, query).await);
            times.push(start.elapsed());
        }
        let first = times.first().map_or(Duration::ZERO, |time| *time);
        let usual = shortest(times.iter().map(Duration::as_secs_f64));
        cells.push(format!("{usual:.2} (first {:.2})", first.as_secs_f64()));
        if let Some(cluster) = cluster {
            cluster.executors.iter().for_each(|executor| log += &executor.log());
        }
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    println!("| {size} | {} |", cells.join(" | "));
    log
}
