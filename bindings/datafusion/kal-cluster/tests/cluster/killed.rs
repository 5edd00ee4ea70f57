//! An executor that is killed in the middle of a query.

use crate::harness::{Cluster, ENGINE, amount, rows, run, until, write_parquet};
use kal_cluster::session;

/// `KAL_ROWS=100000000` for the full size.
#[tokio::test(flavor = "multi_thread")]
async fn an_executor_is_killed_in_a_query_and_the_answer_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let (files, all) = (16, amount("KAL_ROWS", 4_000_000));
    write_parquet(folder.path(), files, all / files).await;
    let mut cluster = Cluster::start(2).await;
    let context = cluster.session().await;
    let table =
        format!("CREATE EXTERNAL TABLE loans STORED AS PARQUET LOCATION '{}/'", folder.path().display());
    let payment = "CREATE FUNCTION payment(sum DOUBLE, rate DOUBLE, n DOUBLE) RETURNS DOUBLE LANGUAGE kal
         AS 'def payment(sum rate n) if rate == 0 then sum / n else sum * rate / (1 - (1 + rate) ^ -n)'";
    // Whole numbers, so that the order of additions does not matter.
    let query =
        "SELECT n % 7 AS day, count(*) AS loans, sum(floor(payment(amount, rate / 12, 12 * years))) AS total,
         max(payment(amount, rate, years)) AS most
         FROM loans GROUP BY n % 7 ORDER BY day";
    run(&context, &[&table, payment]).await;
    let local = session::local(&ENGINE).unwrap();
    run(&local, &[&table, payment]).await;
    let expected = rows(&local, query).await;
    assert_eq!(expected.lines().count(), 11, "{expected}");

    let running = tokio::spawn({
        let context = context.clone();
        async move { rows(&context, query).await }
    });
    until("the second executor computes", || cluster.executors[1].log().contains("compiled `")).await;
    assert!(!running.is_finished());
    cluster.executors[1].kill();
    assert_eq!(running.await.unwrap(), expected);
    until("the scheduler has noticed", || cluster.executors_known() == 1).await;
    // The other one goes on.
    assert!(cluster.executors[0].is_alive());
    assert_eq!(rows(&context, query).await, expected);
}
