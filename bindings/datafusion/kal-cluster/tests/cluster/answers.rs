//! One process, two executors, `kal map` and `kal`: the same answers, to the last bit.

use crate::harness::{Cluster, ENGINE, run};
use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::Float64Type;
use datafusion::prelude::SessionContext;
use kal_cluster::session;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const DEFINITIONS: &str = "
def normal(x) erfc(-x / sqrt(2)) / 2
def d1(s k t r v) (log(s / k) + (r + v * v / 2) * t) / (v * sqrt(t))
def option(s k t r v) s * normal(d1(s, k, t, r, v)) - k * exp(-r * t) * normal(d1(s, k, t, r, v) - v * sqrt(t))
def fact(n) if n < 2 then 1 else n * fact(n - 1)
def mixed(s k t) option(s, k, t, 0.02, 0.3) + sin(s) * fact(t * 10) % 7 - s ^ 1.5 / k";

/// Returns the path of `kal`, which the Makefile builds.
fn kal() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/release/kal");
    let path = std::env::var_os("KAL").map_or(built, PathBuf::from);
    assert!(path.exists(), "{} is missing: `make build` makes it, or say where by KAL", path.display());
    path
}

/// Returns what a command writes when it is given a text.
fn output(command: &mut Command, input: &str) -> String {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the bits of a column of numbers in order.
async fn bits(context: &SessionContext, table: &Path) -> Vec<u64> {
    let create = format!(
        "CREATE FUNCTION mixed(s DOUBLE, k DOUBLE, t DOUBLE) RETURNS DOUBLE LANGUAGE kal AS '{DEFINITIONS}'"
    );
    let external = format!("CREATE EXTERNAL TABLE options STORED AS CSV LOCATION '{}'", table.display());
    run(context, &[&create, &external]).await;
    let query = "SELECT mixed(s, k, t) AS x FROM options ORDER BY n";
    let batches = context.sql(query).await.unwrap().collect().await.unwrap();
    let column = |batch: &datafusion::arrow::array::RecordBatch| {
        batch
            .column(0)
            .as_primitive::<Float64Type>()
            .values()
            .iter()
            .map(|value| value.to_bits())
            .collect::<Vec<_>>()
    };
    batches.iter().flat_map(column).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn all_ways_give_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("options.csv");
    let mut text = "n,s,k,t\n".to_owned();
    let mut program = DEFINITIONS.to_owned() + "\n";
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    for n in 0..5000 {
        let (s, k, t) = (50.0 + 100.0 * random(), 50.0 + 100.0 * random(), 0.1 + 2.0 * random());
        writeln!(text, "{n},{s},{k},{t}").unwrap();
        writeln!(program, "mixed({s}, {k}, {t})").unwrap();
    }
    std::fs::write(&table, &text).unwrap();
    let numbers =
        |text: &str| text.lines().map(|line| line.parse::<f64>().unwrap().to_bits()).collect::<Vec<_>>();

    let one = bits(&session::local(&ENGINE).unwrap(), &table).await;
    assert_eq!(one.len(), 5000);
    let mut cluster = Cluster::start(2).await;
    assert!(one == bits(&cluster.session().await, &table).await, "two executors differ from one process");
    cluster.check();

    let definitions = folder.path().join("mixed.kal");
    std::fs::write(&definitions, DEFINITIONS).unwrap();
    let mut map = Command::new(kal());
    map.args(["map", "mixed", "--alone", "--load"]).arg(&definitions);
    let mapped = output(&mut map, &text);
    assert!(one == numbers(mapped.split_once('\n').unwrap().1), "`kal map` differs");
    let run = output(Command::new(kal()).arg("-"), &program);
    assert!(one == numbers(&run), "`kal` differs");
}
