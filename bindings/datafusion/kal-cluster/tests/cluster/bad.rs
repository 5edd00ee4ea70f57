//! Formulas and payloads that are bad in every way: an error each, and no executor lost.

use crate::harness::{Cluster, ENGINE, Process, amount, rows, run};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::TableReference;
use datafusion::datasource::file_format::FileFormatFactory;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{Extension, LogicalPlan, ScalarUDF};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use kal_cluster::{scheduler, session};
use kal_datafusion::{KalLogicalCodec, KalPhysicalCodec};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpListener;

/// A way to damage a payload: what is done to the bytes, and what the error says.
type Damage = (fn(&mut Vec<u8>, usize), &'static str);

const DAMAGES: &[Damage] = &[
    (|bytes, _| bytes[6] = 2, "format 2"),
    (|bytes, number| bytes[7 + number % 32] ^= 1 << (number % 8), "another id"),
    (|bytes, number| bytes.truncate(7 + number % 32), "it is cut off"),
    (|bytes, _| bytes.truncate(39), "nothing is defined"),
    (|bytes, number| bytes.extend(format!("\ndef more(x) x + {number}").bytes()), "another id"),
    (|bytes, _| bytes.push(0xFF), "not UTF-8"),
    (|bytes, _| bytes.extend(b" + "), "error[E0104]"),
    (|bytes, _| bytes.extend(b"\nfor i = 0, 1 in i"), "this is no definition"),
    (|bytes, _| bytes.extend(b"\nvar x = (for i = 0, 1 in i)"), "error[E0305]"),
    (|bytes, _| bytes.extend(b"\ndef last(x) printd(x)"), "more than compute a value"),
    (|bytes, _| bytes.resize(2 << 20, b' '), "of 1048576 at most"),
    // Deeper than anything may be nested.
    (|bytes, _| bytes.extend(format!("\ndef deep(x) {}x", "(".repeat(100_000)).bytes()), "error[E0106]"),
];

/// What damages the payloads of functions, each in the next way.
#[derive(Debug)]
struct Damaging<C> {
    inner: C,
    count: AtomicUsize,
}

impl<C> Damaging<C> {
    fn new(inner: C) -> Arc<Self> {
        Arc::new(Self { inner, count: AtomicUsize::new(0) })
    }

    fn damage(&self, bytes: &mut Vec<u8>) {
        if bytes.starts_with(b"KALUDF") {
            let count = self.count.fetch_add(1, Ordering::SeqCst);
            (DAMAGES[count % DAMAGES.len()].0)(bytes, count / DAMAGES.len());
        }
    }
}

impl LogicalExtensionCodec for Damaging<Arc<KalLogicalCodec>> {
    fn try_encode_udf(&self, node: &ScalarUDF, buffer: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode_udf(node, buffer)?;
        self.damage(buffer);
        Ok(())
    }
    fn try_decode_udf(&self, name: &str, buffer: &[u8]) -> Result<Arc<ScalarUDF>> {
        self.inner.try_decode_udf(name, buffer)
    }
    fn try_decode(&self, buffer: &[u8], inputs: &[LogicalPlan], context: &TaskContext) -> Result<Extension> {
        self.inner.try_decode(buffer, inputs, context)
    }
    fn try_encode(&self, node: &Extension, buffer: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode(node, buffer)
    }
    fn try_decode_table_provider(
        &self,
        buffer: &[u8],
        table: &TableReference,
        schema: SchemaRef,
        context: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        self.inner.try_decode_table_provider(buffer, table, schema, context)
    }
    fn try_encode_table_provider(
        &self,
        table: &TableReference,
        node: Arc<dyn TableProvider>,
        buffer: &mut Vec<u8>,
    ) -> Result<()> {
        self.inner.try_encode_table_provider(table, node, buffer)
    }
    fn try_decode_file_format(
        &self,
        buffer: &[u8],
        context: &TaskContext,
    ) -> Result<Arc<dyn FileFormatFactory>> {
        self.inner.try_decode_file_format(buffer, context)
    }
    fn try_encode_file_format(&self, buffer: &mut Vec<u8>, node: Arc<dyn FileFormatFactory>) -> Result<()> {
        self.inner.try_encode_file_format(buffer, node)
    }
}

impl PhysicalExtensionCodec for Damaging<Arc<KalPhysicalCodec>> {
    fn try_encode_udf(&self, node: &ScalarUDF, buffer: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode_udf(node, buffer)?;
        self.damage(buffer);
        Ok(())
    }
    fn try_decode_udf(&self, name: &str, buffer: &[u8]) -> Result<Arc<ScalarUDF>> {
        self.inner.try_decode_udf(name, buffer)
    }
    fn try_decode(
        &self,
        buffer: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.inner.try_decode(buffer, inputs, context, converter)
    }
    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buffer: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        self.inner.try_encode(node, buffer, converter)
    }
}

/// Bodies of `bad`, each in a way of its own, and what the error says.
fn body(number: usize) -> (String, &'static str) {
    match number % 7 {
        // No end: wide, row by row, and in a function that is called.
        0 => (format!("def bad(x) for i = {number}, i < x + 1 / 0 in i"), "error[E0305]"),
        1 => (
            format!(
                "def spin(n) if n < 1 then (for i = 0, i < {number} / 0 in i) else spin(n - 1) def bad(x) spin(3) + x"
            ),
            "error[E0305]",
        ),
        // The stack is used up, or the time.
        2 => (format!("def bad(x) {number} + bad(x + 1)"), "error[E030"),
        3 => (
            format!("def odd(x) even(x + 1) + {number} def even(x) odd(x + 1) * 2 def bad(x) odd(x)"),
            "error[E030",
        ),
        // Large: more operations than are compiled, and no end.
        4 => {
            let terms: Vec<String> = (0..3000).map(|term| format!("x * {term}.{number}")).collect();
            (format!("def bad(x) (for i = 0, i < x + 1 / 0 in {}) + x", terms.join(" + ")), "error[E0305]")
        }
        // Wrong: refused before anything is sent.
        5 => (format!("def bad(x) x + {number} +"), "error[E0104]"),
        _ => (format!("def bad(x) missing{number}(x)"), "error[E0301]"),
    }
}

/// `KAL_BAD=1000` for the full size.
#[tokio::test(flavor = "multi_thread")]
async fn bad_formulas_are_errors_and_no_executor_is_lost() {
    let mut cluster = Cluster::start(2).await;
    let context = cluster.session().await;
    run(&context, &["SET kal.timeout_ms = 20"]).await;
    let count = amount("KAL_BAD", 70);
    let mut memory = Vec::new();
    for number in 0..count {
        let (body, wanted) = body(number);
        let create =
            format!("CREATE OR REPLACE FUNCTION bad(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS '{body}'");
        let mut given = rows(&context, &create).await;
        if given.is_empty() {
            given =
                rows(&context, "SELECT sum(bad(column1)) FROM (VALUES (1.5), (2.5)) WHERE column1 > 1").await;
        }
        assert!(given.contains(wanted), "{number}: {given}\n{}", &body[..body.len().min(200)]);
        if number == count / 2 {
            memory = cluster.executors.iter().map(Process::memory).collect();
        }
    }
    cluster.check();
    for (executor, before) in cluster.executors.iter().zip(memory) {
        let after = executor.memory();
        println!("memory of an executor: {} MB, then {} MB", before >> 20, after >> 20);
        assert!(after < before + (48 << 20), "{before} bytes, then {after}");
    }
    let good = "CREATE OR REPLACE FUNCTION bad(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def bad(x) x * 2'";
    run(&context, &[good]).await;
    let given =
        rows(&context, "SELECT sum(bad(column1)) AS good FROM (VALUES (1.5), (2.5)) WHERE column1 > 1").await;
    assert!(given.contains("| 8.0  |"), "{given}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduler_refuses_damaged_payloads() {
    let mut cluster = Cluster::start(1).await;
    let codec = Damaging::new(session::logical_codec(&ENGINE));
    let context = session::remote_with_codec(&ENGINE, &cluster.url(), codec.clone()).await.unwrap();
    let create = "CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def f(x) x * 2'";
    run(&context, &[create]).await;
    for _ in 0..3 * DAMAGES.len() {
        let before = codec.count.load(Ordering::SeqCst);
        let given = rows(&context, "SELECT f(column1) FROM (VALUES (1.5))").await;
        assert_eq!(codec.count.load(Ordering::SeqCst), before + 1);
        let wanted = DAMAGES[before % DAMAGES.len()].1;
        assert!(given.contains("is refused: ") && given.contains(wanted), "{wanted}: {given}");
    }
    cluster.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn executors_refuse_damaged_payloads() {
    // A scheduler that damages what it sends.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let options = scheduler::Options {
        bind_host: "127.0.0.1".into(),
        bind_port: port,
        external_host: "127.0.0.1".into(),
        executor_timeout_seconds: 5,
    };
    let codec = Damaging::new(session::physical_codec(&ENGINE));
    let mut settings = scheduler::settings(&options, port, &ENGINE);
    settings.override_physical_codec = Some(codec.clone());
    tokio::spawn(
        async move { scheduler::serve(listener, settings).await.map_err(|error| error.to_string()) },
    );
    let mut cluster = Cluster::of(port, None, 1).await;
    let context = cluster.session().await;
    let create = "CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def f(x) x * 2'";
    run(&context, &[create]).await;
    for _ in 0..3 * DAMAGES.len() {
        let before = codec.count.load(Ordering::SeqCst);
        let given = rows(&context, "SELECT f(column1) FROM (VALUES (1.5))").await;
        let after = codec.count.load(Ordering::SeqCst);
        assert!(after > before, "nothing was sent: {given}");
        // Ballista tells the client only that; why is in the executor's log.
        assert!(given.contains("rejected by executor"), "{given}");
        let log = cluster.executors[0].log();
        for count in before..after {
            let wanted = DAMAGES[count % DAMAGES.len()].1;
            assert!(log.contains("is refused: ") && log.contains(wanted), "{wanted}: {log}");
        }
    }
    cluster.check();
}
