//! Processes of a cluster, which end with the test.

use datafusion::prelude::SessionContext;
use kal_cluster::session;
use kal_datafusion::KalEngine;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The engine of the clients, which the executors know nothing of.
pub static ENGINE: LazyLock<KalEngine> = LazyLock::new(|| KalEngine::new().unwrap());

/// How long anything may take to happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the number that a variable of the environment has, or a smaller one.
pub fn amount(variable: &str, default: usize) -> usize {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

/// Waits until something is so, and fails if it takes too long.
pub async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "it takes too long until {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A process that is killed when it is dropped, with its log in a file.
pub struct Process {
    child: Child,
    log: tempfile::NamedTempFile,
}

impl Process {
    fn start(arguments: &[&str]) -> Self {
        let log = tempfile::NamedTempFile::new().unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_kal-cluster"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log.reopen().unwrap())
            .spawn()
            .unwrap();
        Self { child, log }
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log.path()).unwrap()
    }

    /// Returns whether it is still there.
    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Ends it at once, by SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Returns the memory that it has, in bytes.
    pub fn memory(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A scheduler, in a process of its own or in this one, and executors.
pub struct Cluster {
    pub port: u16,
    pub executors: Vec<Process>,
    _scheduler: Option<Process>,
}

impl Cluster {
    /// Starts a scheduler and executors, and waits until these have reported to it.
    pub async fn start(executors: usize) -> Self {
        let mut scheduler =
            Process::start(&["scheduler", "--bind-port", "0", "--executor-timeout-seconds", "5"]);
        let mut address = String::new();
        BufReader::new(scheduler.child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let port = address.trim().rsplit(':').next().unwrap().parse().unwrap();
        Self::of(port, Some(scheduler), executors).await
    }

    /// Starts executors for a scheduler.
    pub async fn of(port: u16, scheduler: Option<Process>, executors: usize) -> Self {
        let start = |_| {
            let (port, zero) = (port.to_string(), "0");
            let ports = ["--scheduler-port", &port, "--bind-port", zero, "--bind-grpc-port", zero];
            Process::start(
                &[&["executor"], ports.as_slice(), &["--heartbeat-seconds", "1", "--vcores", "1"]].concat(),
            )
        };
        let cluster = Self { port, executors: (0..executors).map(start).collect(), _scheduler: scheduler };
        until("the executors have reported", || cluster.executors_known() == executors).await;
        cluster
    }

    /// Returns how many executors the scheduler knows.
    pub fn executors_known(&self) -> usize {
        let answer = get(self.port, "/api/executors");
        serde_json::from_str::<serde_json::Value>(&answer)
            .ok()
            .and_then(|list| Some(list.as_array()?.len()))
            .unwrap_or(0)
    }

    pub fn url(&self) -> String {
        format!("df://127.0.0.1:{}", self.port)
    }

    /// Returns a new session.
    pub async fn session(&self) -> SessionContext {
        session::remote(&ENGINE, &self.url()).await.unwrap()
    }

    /// Checks that no executor is lost.
    pub fn check(&mut self) {
        for executor in &mut self.executors {
            assert!(executor.is_alive(), "an executor is lost:\n{}", executor.log());
        }
        assert_eq!(self.executors_known(), self.executors.len());
    }
}

/// Returns what an HTTP server of this machine answers; empty if it does not.
pub fn get(port: u16, path: &str) -> String {
    let answer = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer.split_once("\r\n\r\n").map_or_else(String::new, |(_, body)| body.to_owned()))
    };
    answer().unwrap_or_default()
}

/// Returns the rows of a query as text.
pub async fn rows(context: &SessionContext, query: &str) -> String {
    crate::script::outcome(context, query).await.unwrap_or_else(|error| error.strip_backtrace())
}

/// Runs statements that return nothing.
pub async fn run(context: &SessionContext, statements: &[&str]) {
    for statement in statements {
        let outcome = crate::script::outcome(context, statement).await;
        assert_eq!(outcome.unwrap_or_else(|error| panic!("{statement}: {error}")), "");
    }
}

/// Writes a table of numbers as files of Parquet, `n` from 1 on in each; the same each time.
pub async fn write_parquet(folder: &Path, files: usize, rows_each: usize) {
    let context = session::local(&ENGINE).unwrap();
    for file in 0..files {
        let (first, last) = (file * rows_each + 1, (file + 1) * rows_each);
        let path = folder.join(format!("part-{file}.parquet"));
        // Numbers that look like amounts of money, rates and years.
        let query = format!(
            "COPY (SELECT value AS n, (value % 9973) * 10.25 AS amount, (value % 89) / 1000.0 AS rate,
               (value % 30 + 1) * 1.0 AS years FROM generate_series({first}, {last}))
             TO '{}' STORED AS PARQUET",
            path.display()
        );
        context.sql(&query).await.unwrap().collect().await.unwrap();
    }
}
