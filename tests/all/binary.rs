//! Running the `kal` binary, and reading what it says.
//!
//! Diagnostics are drawn for people. Tests compare their first line, their
//! place and their advice, so that the drawing can change without touching
//! every expectation; the drawing itself has tests next to it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The results of a run of the binary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ran {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub code: Option<i32>,
}

impl Ran {
    pub fn out(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("standard output is text")
    }

    pub fn err(&self) -> &str {
        std::str::from_utf8(&self.stderr).expect("standard error is text")
    }

    /// Returns what standard error says, without the drawings.
    pub fn said(&self) -> Vec<String> {
        said(self.err())
    }
}

/// Returns the binary, ready for arguments, without a cache.
pub fn kal() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kal"));
    command.env_remove("NO_COLOR").env("KAL_CACHE", "off").stdin(Stdio::null());
    command
}

/// Runs the binary.
pub fn run(arguments: &[&str]) -> Ran {
    finish(kal().args(arguments))
}

/// Runs the binary with a text as its standard input.
pub fn run_with(arguments: &[&str], input: &[u8]) -> Ran {
    feed(kal().args(arguments), input)
}

/// Runs a prepared command.
pub fn finish(command: &mut Command) -> Ran {
    let output = command.output().expect("the binary starts");
    Ran { stdout: output.stdout, stderr: output.stderr, code: output.status.code() }
}

/// Runs a prepared command with a text as its standard input.
pub fn feed(command: &mut Command, input: &[u8]) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let output = std::thread::scope(|scope| {
        // A program that ends early does not read all of it.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().expect("the binary ends")
    });
    Ran { stdout: output.stdout, stderr: output.stderr, code: output.status.code() }
}

/// Returns one line for each diagnostic, `error[E0201] 3:5 unknown variable`,
/// one for its advice, and every other line as it is.
pub fn said(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let (mut drawing, mut after_head) = (false, false);
    for line in text.lines() {
        let is_head = line.starts_with("error[") || line.starts_with("warning[");
        let first_place = place(line).filter(|_| after_head);
        after_head = is_head;
        if is_head {
            drawing = true;
            lines.push(line.replacen("]:", "]", 1));
        } else if let Some(place) = first_place {
            let head = lines.last_mut().expect("a place follows a head");
            if let Some((code, message)) = head.clone().split_once("] ") {
                *head = format!("{code}] {place} {message}");
            }
        } else if let (true, Some((_, help))) = (drawing, line.split_once(" = help: ")) {
            lines.push(format!("  help: {help}"));
        } else {
            drawing = drawing && is_drawn(line);
            if !drawing {
                lines.push(line.to_owned());
            }
        }
    }
    lines
}

/// Returns the line and column in ` --> name:2:7`.
fn place(line: &str) -> Option<String> {
    let mut parts = line.trim_start().strip_prefix("--> ")?.rsplitn(3, ':');
    let (column, line) = (parts.next()?, parts.next()?);
    Some(format!("{line}:{column}"))
}

fn is_drawn(line: &str) -> bool {
    let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    rest.starts_with('|') || rest.starts_with("--> ")
}

/// Returns a directory of the repository.
pub fn directory(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns the files with an extension below a directory, in order.
pub fn files(directory: &Path, extension: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(directory);
    for entry in entries.unwrap_or_else(|error| panic!("{}: {error}", directory.display())) {
        let path = entry.expect("the directory can be read").path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns whether expectations are to be rewritten instead of compared.
pub fn update() -> bool {
    std::env::var_os("UPDATE").is_some_and(|value| value == "1")
}

/// Calls `check` for every case, on two threads; returns its complaints, in the
/// order of the cases.
pub fn in_parallel<T: Sync>(cases: &[T], check: impl Fn(&T) -> Result<(), String> + Sync) -> Vec<String> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let complaints = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(case) = cases.get(index) else { return };
                    if let Err(complaint) = check(case) {
                        complaints.lock().expect("no check panics").push((index, complaint));
                    }
                }
            });
        }
    });
    let mut complaints = complaints.into_inner().expect("no check panics");
    complaints.sort();
    complaints.into_iter().map(|(_, complaint)| complaint).collect()
}
