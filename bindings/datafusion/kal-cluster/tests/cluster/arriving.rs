//! Functions that are created after the cluster has started.

use crate::harness::{Cluster, Process, rows, run, until, write_parquet};
use crate::script;
use std::path::Path;

#[tokio::test(flavor = "multi_thread")]
async fn files_of_sql_give_on_a_cluster_what_they_give_in_one_process() {
    let mut cluster = Cluster::start(2).await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/sql");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        script::check(&cluster.session().await, &path).await;
    }
    let logs: Vec<String> = cluster.executors.iter().map(Process::log).collect();
    let count = |what: &str| logs.iter().map(|log| log.matches(what).count()).sum::<usize>();
    assert!(count("has arrived and is read") > 5, "{logs:?}");
    assert!(count("compiled `area`") + count("compiled `fused[") >= 1, "{logs:?}");
    cluster.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn each_executor_compiles_a_function_once_and_the_next_query_has_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    write_parquet(folder.path(), 8, 1000).await;
    let mut cluster = Cluster::start(2).await;
    let context = cluster.session().await;
    let table = format!("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{}/'", folder.path().display());
    run(&context, &[&table]).await;
    let query = "SELECT sum(g(n)) AS total, count(*) AS rows FROM t WHERE n > 0";
    for (body, total) in [("n * 2", "64008000.0"), ("n * 3", "96012000.0")] {
        let create = |name: &str, body: &str| {
            format!(
                "CREATE OR REPLACE FUNCTION {name}(n DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def {name}(n) {body}'"
            )
        };
        // `g` is the same text each time; what it calls is not.
        run(&context, &[&create("inner", body), &create("g", "inner(n)")]).await;
        for _ in 0..3 {
            let given = rows(&context, query).await;
            assert!(given.contains(&format!("| {total} | 8000 |")), "{given}");
        }
    }
    let compiled: Vec<usize> =
        cluster.executors.iter().map(|executor| executor.log().matches("compiled `").count()).collect();
    assert!(compiled.iter().all(|times| *times <= 2) && compiled.iter().sum::<usize>() >= 2, "{compiled:?}");
    cluster.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_in_flight_keeps_the_old_definition() {
    let folder = tempfile::tempdir().unwrap();
    write_parquet(folder.path(), 4, 2000).await;
    let cluster = Cluster::start(2).await;
    let context = cluster.session().await;
    let table = format!("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{}/'", folder.path().display());
    let slow = |factor: &str| {
        format!(
            "CREATE OR REPLACE FUNCTION slow(n DOUBLE) RETURNS DOUBLE LANGUAGE kal
             AS 'def slow(n) var s = 0 in (for i = 1, i <= 20000 + n - n in (s = s + sqrt(i) / i)) : (if s < 0 then s else n * {factor})'"
        )
    };
    run(&context, &[&table, &slow("1")]).await;
    let query = "SELECT sum(slow(n)) AS total FROM t WHERE n > 0";
    let running = tokio::spawn({
        let context = context.clone();
        async move { rows(&context, query).await }
    });
    until("an executor has the function", || {
        cluster.executors.iter().any(|executor| executor.log().contains("compiled `slow`"))
    })
    .await;
    assert!(!running.is_finished());
    run(&context, &[&slow("2")]).await;
    assert!(!running.is_finished(), "the query was over before the redefinition");
    let (old, new) = (running.await.unwrap(), rows(&context, query).await);
    assert!(old.contains("| 32004000.0 |"), "{old}");
    assert!(new.contains("| 64008000.0 |"), "{new}");
}
