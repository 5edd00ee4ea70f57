//! Fused or not, the results are the same to the last bit, and what can be fused is.

use datafusion::arrow::array::{AsArray, Float64Array, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::Float64Type;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::prelude::SessionContext;
use kal_datafusion::{KalEngine, enable};
use std::sync::Arc;

/// Returns a session with a table of numbers, some of them NULL, and functions.
async fn session() -> SessionContext {
    let context = SessionContext::new();
    enable(&context, &KalEngine::new().unwrap()).unwrap();
    let special = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, 1e308, -1e308];
    let mut state = 88_172_645_463_325_252_u64;
    let mut column = || -> Float64Array {
        let mut number = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let value = (state >> 11) as f64 / (1_u64 << 40) as f64 - 4000.0;
            match state % 16 {
                0 => None,
                1 => Some(special[(state >> 20) as usize % special.len()]),
                _ => Some(value),
            }
        };
        (0..20_000).map(|_| number()).collect()
    };
    let batch = RecordBatch::try_from_iter([
        ("n", Arc::new(Int64Array::from_iter_values(0..20_000)) as _),
        ("a", Arc::new(column()) as _),
        ("b", Arc::new(column()) as _),
    ]);
    context.register_batch("t", batch.unwrap()).unwrap();
    for function in [
        "CREATE FUNCTION clip(x DOUBLE, most DOUBLE) RETURNS DOUBLE LANGUAGE kal
         AS 'def clip(x most) if x < most then x else most'",
        "CREATE FUNCTION wave(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def wave(x) sin(x) * exp(-x * x / 1e6)'",
    ] {
        context.sql(function).await.unwrap();
    }
    context
}

/// Returns the bits of the first column; all NaNs are alike, for DataFusion's may have a sign.
async fn bits(context: &SessionContext, query: &str) -> Vec<Option<u64>> {
    let batches = context.sql(query).await.unwrap().collect().await.unwrap();
    let bits = |value: f64| if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
    let column = |batch: &RecordBatch| {
        let column = batch.column(0).as_primitive::<Float64Type>();
        column.iter().map(|value| value.map(bits)).collect::<Vec<_>>()
    };
    batches.iter().flat_map(column).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn fused_arithmetic_has_the_same_bits() {
    let context = session().await;
    for expression in [
        "clip(a, b) * 2 - wave(a / b) % 0.3",
        "-clip(a + b, 3.5) / (a - b)",
        "wave(clip(-a, n)) * 1e-300 * 1e-20 + b / 0.0",
        "wave(a) + wave(a) * wave(b) - -0.5",
        "CASE WHEN wave(a) * 2 > b THEN clip(a, 1) + b ELSE abs(wave(b) - 1) END",
        "clip(a, NULL) + wave(b)",
    ] {
        let query = format!("SELECT {expression} AS x FROM t ORDER BY n");
        context.sql("SET kal.fuse = true").await.unwrap();
        let plan = context.sql(&query).await.unwrap().create_physical_plan().await.unwrap();
        let shown = datafusion::physical_plan::displayable(plan.as_ref()).indent(false).to_string();
        assert!(shown.contains("fused[") || expression.contains("NULL"), "{shown}");
        let fused = bits(&context, &query).await;
        context.sql("SET kal.fuse = false").await.unwrap();
        let apart = bits(&context, &query).await;
        assert_eq!(fused.len(), 20_000);
        let different = fused.iter().zip(&apart).position(|(fused, apart)| fused != apart);
        assert_eq!(different, None, "{expression}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_of_aggregates_are_fused() {
    let context = session().await;
    let plan = context.sql("SELECT n % 3, sum(clip(a, 1) * 2 + b) AS x FROM t GROUP BY n % 3").await.unwrap();
    let plan = plan.create_physical_plan().await.unwrap();
    let mut arguments = Vec::new();
    plan.apply(|node| {
        if let Some(aggregate) = node.downcast_ref::<AggregateExec>() {
            arguments.push(aggregate.aggr_expr()[0].expressions()[0].to_string());
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .unwrap();
    assert!(!arguments.is_empty());
    assert!(
        arguments.iter().all(|argument| argument.starts_with("fused[(clip(a, 1) * 2) + b](")),
        "{arguments:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_and_long_expressions_are_computed() {
    let context = session().await;
    let long = vec!["wave(a)"; 300].join(" + ");
    let deep = format!("{}wave(a){}", "clip(".repeat(40), ", 2)".repeat(40));
    for expression in [long, deep] {
        let query = format!("SELECT {expression} AS x FROM t WHERE n < 500 ORDER BY n");
        context.sql("SET kal.fuse = true").await.unwrap();
        let fused = bits(&context, &query).await;
        context.sql("SET kal.fuse = false").await.unwrap();
        assert_eq!(fused, bits(&context, &query).await);
    }
}
