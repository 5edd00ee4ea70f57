//! One program on one workload: how it is run, and what that took.
#![allow(unsafe_code)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// A program that does a workload, and its runs so far.
pub struct Contestant {
    pub name: &'static str,
    command: Result<Vec<String>, String>,
    input: Option<PathBuf>,
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
    /// A contestant, or why it cannot take part.
    pub fn new(name: &'static str, command: Result<Vec<String>, String>) -> Self {
        Self { name, command, input: None, runs: Vec::new(), answer: String::new() }
    }

    /// Reads standard input from a file.
    pub fn with_input(mut self, path: &Path) -> Self {
        self.input = Some(path.to_owned());
        self
    }

    pub fn command(&self) -> Result<String, &str> {
        self.command.as_ref().map(|words| words.join(" ")).map_err(String::as_str)
    }

    /// Runs it once; a failure puts it out of the contest.
    pub fn run(&mut self) {
        let Ok(words) = &self.command else { return };
        let input = self.input.as_ref().and_then(|path| File::open(path).ok());
        let start = Instant::now();
        let child = Command::new(&words[0])
            .args(&words[1..])
            .stdin(input.map_or_else(Stdio::null, Stdio::from))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = child else {
            self.command = Err("it does not start".into());
            return;
        };
        let mut output = String::new();
        if let Some(mut stdout) = child.stdout.take() {
            let _ = std::io::Read::read_to_string(&mut stdout, &mut output);
        }
        let (status, usage) = wait(child.id());
        let wall = start.elapsed().as_secs_f64();
        if status != 0 {
            self.command = Err(format!("it ended with status {status}"));
            return;
        }
        self.answer = output.lines().last().unwrap_or_default().to_owned();
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        let cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
        self.runs.push(Run { wall, cpu, megabytes: usage.ru_maxrss as f64 / 1024.0 });
    }

    /// Seconds from start to end; the median.
    pub fn wall(&self) -> Option<f64> {
        self.median(|run| run.wall)
    }

    /// The quickest run.
    pub fn best(&self) -> Option<f64> {
        self.runs.iter().map(|run| run.wall).min_by(f64::total_cmp)
    }

    /// Seconds of processor time; the median.
    pub fn cpu(&self) -> Option<f64> {
        self.median(|run| run.cpu)
    }

    /// Peak resident memory; the median.
    pub fn megabytes(&self) -> Option<f64> {
        self.median(|run| run.megabytes)
    }

    fn median(&self, of: impl Fn(&Run) -> f64) -> Option<f64> {
        let mut values: Vec<f64> = self.runs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    }
}

/// Waits for a child; its exit status and what it used.
fn wait(child: u32) -> (i32, libc::rusage) {
    let mut status = 0;
    // SAFETY: all zeros is a value of this plain structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both results are written to before the call returns; nobody
    // else waits for this child.
    unsafe { libc::wait4(child as i32, &raw mut status, 0, &raw mut usage) };
    (status, usage)
}
