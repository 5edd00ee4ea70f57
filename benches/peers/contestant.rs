//! One program on one workload: how it is run, and what that took.
//!
//! A new process inherits the peak memory of its parent, even if it never uses
//! as much itself. So commands are started by a small process: this program
//! again, which does nothing else, and reports what the command took.
#![allow(unsafe_code)]

use crate::prompt::{self, Typed};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The first argument of a process that measures the command after it.
const MEASURE: &str = "--measure";

/// A program that does a workload, and its runs so far.
pub struct Contestant {
    pub name: &'static str,
    command: Result<Vec<String>, String>,
    input: Option<PathBuf>,
    typed: Option<Typed>,
    /// Whether what it leaves running when it ends belongs to its time.
    with_rest: bool,
    /// What is done before each run, which is given by its number.
    before: Option<Box<dyn FnMut(usize)>>,
    runs: Vec<Run>,
    /// The last line it printed.
    pub answer: String,
}

#[derive(Clone, Copy)]
struct Run {
    wall: f64,
    cpu: f64,
    megabytes: f64,
}

impl Contestant {
    /// Creates a contestant, or why it cannot take part.
    pub fn new(name: &'static str, command: Result<Vec<String>, String>) -> Self {
        let (runs, answer) = (Vec::new(), String::new());
        Self { name, command, input: None, typed: None, with_rest: false, before: None, runs, answer }
    }

    /// Reads standard input from a file.
    pub fn with_input(mut self, path: &Path) -> Self {
        self.input = Some(path.to_owned());
        self
    }

    /// Measures the answer to what is typed at its prompt instead of the whole
    /// process.
    pub fn with_typed(mut self, typed: Typed) -> Self {
        self.typed = Some(typed);
        self
    }

    /// Measures until the processes that it leaves have ended as well.
    #[allow(dead_code, reason = "one of the benchmarks uses it")]
    pub fn with_rest(mut self) -> Self {
        self.with_rest = true;
        self
    }

    /// Does something before each run, which is given by its number, and is not measured.
    #[allow(dead_code, reason = "one of the benchmarks uses it")]
    pub fn with_before(mut self, before: impl FnMut(usize) + 'static) -> Self {
        self.before = Some(Box::new(before));
        self
    }

    pub fn command(&self) -> Result<String, &str> {
        self.command.as_ref().map(|words| words.join(" ")).map_err(String::as_str)
    }

    /// Runs it once; a failure puts it out of the contest.
    pub fn run(&mut self) {
        if let Ok(words) = &self.command {
            self.before.iter_mut().for_each(|before| before(self.runs.len()));
            let input = self.input.as_ref().and_then(|path| File::open(path).ok());
            let ran = match self.typed {
                Some(typed) => prompt::seconds(words, typed)
                    .map(|wall| (Run { wall, cpu: f64::NAN, megabytes: f64::NAN }, typed.answer.to_owned())),
                None => run(words, input.map_or_else(Stdio::null, Stdio::from), self.with_rest),
            };
            match ran {
                Ok((run, answer)) => {
                    self.answer = answer;
                    self.runs.push(run);
                }
                Err(reason) => self.command = Err(reason),
            }
        }
    }

    /// Returns the seconds from start to end; the median.
    pub fn wall(&self) -> Option<f64> {
        self.median(|run| run.wall)
    }

    /// Returns the quickest run.
    pub fn best(&self) -> Option<f64> {
        self.runs.iter().map(|run| run.wall).min_by(f64::total_cmp)
    }

    /// Returns the seconds of processor time; the median.
    pub fn cpu(&self) -> Option<f64> {
        self.median(|run| run.cpu)
    }

    /// Returns the seconds of processor time; the least.
    #[allow(dead_code, reason = "one of the benchmarks uses it")]
    pub fn least_cpu(&self) -> Option<f64> {
        self.runs.iter().map(|run| run.cpu).min_by(f64::total_cmp)
    }

    /// Returns the peak resident memory in megabytes; the median.
    pub fn megabytes(&self) -> Option<f64> {
        self.median(|run| run.megabytes)
    }

    fn median(&self, of: impl Fn(&Run) -> f64) -> Option<f64> {
        let mut values: Vec<f64> = self.runs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    }
}

/// Returns what a run of a command takes, with what it leaves running if that is to be measured,
/// and the last line it prints.
fn run(words: &[String], input: Stdio, with_rest: bool) -> Result<(Run, String), String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    // Each start is the first, unless a row says where the cache is.
    let output = Command::new(this).arg(MEASURE).args(words).env("KAL_CACHE", "off").stdin(input).output();
    let output = output.map_err(|error| error.to_string())?;
    let told = String::from_utf8_lossy(&output.stderr);
    let numbers: Vec<f64> = told.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [status, wall, rest, cpu, megabytes] = numbers[..] else { return Err("it does not start".into()) };
    let wall = if with_rest { rest } else { wall };
    if status != 0.0 {
        return Err(format!("it ended with status {status}"));
    }
    let answer = String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default().to_owned();
    Ok((Run { wall, cpu, megabytes }, answer))
}

/// Measures a command if this process was started for that: runs it, reports on
/// standard error what it took, and ends. To be called first in `main`.
pub fn measure_if_asked() {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_none_or(|first| first != MEASURE) {
        return;
    }
    let program = words.next().expect("a command to measure");
    // What it leaves running becomes a child of this process, so that it does not run beside the
    // next command that is measured.
    // SAFETY: it has no preconditions.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    let start = Instant::now();
    // The command inherits standard input and output.
    let child = Command::new(program).args(words).stderr(Stdio::null()).spawn().expect("it starts");
    let (status, usage) = wait(child.id() as i32).expect("it ends");
    let wall = start.elapsed().as_secs_f64();
    let rest: Vec<_> = std::iter::from_fn(|| wait(-1)).collect();
    let with_rest = start.elapsed().as_secs_f64();
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let all = rest.iter().map(|(_, usage)| usage).chain([&usage]);
    let cpu: f64 = all.map(|usage| seconds(usage.ru_utime) + seconds(usage.ru_stime)).sum();
    eprintln!("{status} {wall} {with_rest} {cpu} {}", usage.ru_maxrss as f64 / 1024.0);
    std::process::exit(0);
}

/// Waits for a child, or for any if it is -1; its exit status and what it used. `None` if there
/// is none.
fn wait(child: i32) -> Option<(i32, libc::rusage)> {
    let mut status = 0;
    // SAFETY: all zeros is a value of this plain structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both results are written before the call returns; nothing else
    // waits for this child.
    let ended = unsafe { libc::wait4(child, &raw mut status, 0, &raw mut usage) };
    (ended > 0).then_some((status, usage))
}
