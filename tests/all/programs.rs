//! Programs and what they print, in every mode.
//!
//! Every `*.kal` below `tests/programs` and in `examples` is run by the binary,
//! lazily, eagerly, interpreted and tiered, at every optimisation level, as a
//! file and from standard input. All runs must print the same bytes and end
//! with the same code. What they print is at the end of the program, in
//! comments:
//!
//! ```text
//! #> a line of standard output
//! #~ the output before does not end its line
//! #! error[E0201] 3:5 a diagnostic: its place and message
//! #!   help: its advice
//! #? 1   the exit code, if it is not 0
//! ```
//!
//! `UPDATE=1 cargo test --test all programs` rewrites these lines; read the
//! difference before you commit it. Exceptions are at the program's start:
//!
//! ```text
//! #: stdin goes on          after the first error, which ends a file: runs
//!                           from standard input are compared with each other
//! #: options --stack-size 1 more arguments
//! #: calls differ           the optimiser may leave out calls in progress, and
//!                           a stack holds more of smaller frames: the calls
//!                           that an error lists are not compared
//! #: places differ          nor is where the stack of a mutual recursion ends
//! ```

use crate::binary::{self, Ran};
use kal::diagnostic::ErrorCode;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Modes that must agree.
const MODES: [&[&str]; 16] = [
    &["--lazy", "-O0"],
    &["--lazy", "-O1"],
    &["--lazy", "-O2"],
    &["--lazy", "-O3"],
    &["--eager", "-O0"],
    &["--eager", "-O1"],
    &["--eager", "-O2"],
    &["--eager", "-O3"],
    &["--eager", "-O2", "--tier-up-after=1", "--tier-up-waits"],
    &["--no-tier-up", "-O2"],
    &["--no-tier-up", "-O3"],
    &["--interpret", "-O2"],
    &["--tiered", "-O2"],
    &["-O2", "--tier-up-after=2", "--tier-up-waits"],
    &["--tiered", "-O2", "--tier-up-after=1", "--tier-up-waits"],
    &["--tiered", "-O1", "--tier-up-after=4", "--tier-up-waits"],
];

/// Modes that must agree when the code is in the cache, too.
const CACHED: [&[&str]; 4] = [
    &["-O2"],
    &["--eager", "-O2"],
    &["-O2", "--tier-up-after=2", "--tier-up-waits"],
    &["--tiered", "-O2", "--tier-up-after=1", "--tier-up-waits"],
];

/// Codes that no program file can bring about, and why.
const UNREACHABLE: &[(ErrorCode, &str)] = &[
    (ErrorCode::SourceTooLong, "needs gigabytes of text; tested in the lexer"),
    (ErrorCode::TooMany, "needs a million variables; tested with the limits"),
    (ErrorCode::Interrupted, "needs someone who interrupts"),
    (ErrorCode::CompileFailure, "needs a failing system"),
    (ErrorCode::ContextLimit, "needs a limit of an engine; tested with tenants"),
    (ErrorCode::Internal, "needs a bug; tested in the crate, with functions that no check would make"),
];

struct Program {
    path: PathBuf,
    text: String,
    options: Vec<String>,
    stdin_goes_on: bool,
    calls_differ: bool,
    places_differ: bool,
}

impl Program {
    fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).expect("programs are text");
        let mut program = Self {
            path: path.to_owned(),
            text,
            options: Vec::new(),
            stdin_goes_on: false,
            calls_differ: false,
            places_differ: false,
        };
        for line in program.text.clone().lines() {
            let Some(exception) = line.strip_prefix("#:").map(str::trim) else { continue };
            if exception == "stdin goes on" {
                program.stdin_goes_on = true;
            } else if exception == "calls differ" {
                program.calls_differ = true;
            } else if exception == "places differ" {
                program.places_differ = true;
            } else if let Some(options) = exception.strip_prefix("options ") {
                program.options.extend(options.split_whitespace().map(str::to_owned));
            } else {
                panic!("{}: nobody knows `#: {exception}`", path.display());
            }
        }
        program
    }

    fn name(&self) -> String {
        let root = binary::directory("");
        self.path.strip_prefix(root).unwrap_or(&self.path).display().to_string()
    }

    /// Splits the file into the program and the expectation.
    fn parts(&self) -> (String, String) {
        let is_expectation = |line: &&str| ["#>", "#~", "#!", "#?"].iter().any(|mark| line.starts_with(mark));
        let join = |lines: Vec<&str>| lines.iter().fold(String::new(), |text, line| text + line);
        let lines: Vec<&str> = self.text.split_inclusive('\n').collect();
        let (expectation, text) = lines.into_iter().partition::<Vec<&str>, _>(is_expectation);
        (join(text), join(expectation))
    }

    fn run(&self, mode: &[&str], through_stdin: bool) -> Ran {
        let mut command = binary::kal();
        command.args(mode).args(&self.options);
        command.current_dir(self.path.parent().expect("a file has a directory"));
        if through_stdin {
            return binary::feed(command.arg("-"), self.text.as_bytes());
        }
        binary::finish(command.arg(self.path.file_name().expect("a file has a name")))
    }
}

/// Returns every program that is run.
pub fn paths() -> Vec<PathBuf> {
    let mut paths = binary::files(&binary::directory("tests/programs"), "kal");
    paths.extend(binary::files(&binary::directory("examples"), "kal"));
    paths
}

fn programs() -> Vec<Program> {
    paths().iter().map(|path| Program::read(path)).collect()
}

impl Program {
    /// Returns a run as expectation lines.
    fn expectation(&self, ran: &Ran) -> String {
        let mut text = String::new();
        let out = ran.out();
        for line in out.lines() {
            let _ = writeln!(text, "{}", format!("#> {line}").trim_end());
        }
        if !out.is_empty() && !out.ends_with('\n') {
            text.push_str("#~\n");
        }
        for line in self.said(ran) {
            let _ = writeln!(text, "#! {line}");
        }
        match ran.code {
            Some(0) => {}
            Some(code) => {
                let _ = writeln!(text, "#? {code}");
            }
            None => text.push_str("#? killed by a signal\n"),
        }
        text
    }

    /// Returns what standard error says, without what the program's head
    /// excepts.
    fn said(&self, ran: &Ran) -> Vec<String> {
        let mut lines = ran.said();
        if self.calls_differ || self.places_differ {
            lines.retain(|line| !line.starts_with("  Calls: ") && !line.starts_with("         "));
        }
        if self.places_differ {
            for line in &mut lines {
                if let Some((code, rest)) = line.split_once("] ") {
                    let message = match rest.split_once(' ') {
                        Some((place, message)) if is_place(place) => message,
                        Some(_) | None => rest,
                    };
                    *line = format!("{code}] {message}");
                }
            }
        }
        lines
    }

    /// Returns all that must be the same in every mode.
    fn observed(&self, ran: &Ran) -> String {
        let drawn = if self.calls_differ || self.places_differ { "" } else { ran.err() };
        self.expectation(ran) + drawn
    }
}

/// Returns whether a word is a line and a column: `3:14`.
fn is_place(word: &str) -> bool {
    word.split_once(':')
        .is_some_and(|(line, column)| line.parse::<u32>().is_ok() && column.parse::<u32>().is_ok())
}

/// Returns the first lines in which two texts differ.
fn difference(expected: &str, found: &str) -> String {
    let (mut expected, mut found, mut line) = (expected.lines(), found.lines(), 0);
    loop {
        line += 1;
        match (expected.next(), found.next()) {
            (None, None) => return "nothing but line ends".to_owned(),
            (left, right) if left == right => {}
            (left, right) => {
                let show =
                    |line: Option<&str>| line.map_or("(the end)".to_owned(), |line| format!("`{line}`"));
                return format!("line {line}: expected {}\n              found {}", show(left), show(right));
            }
        }
    }
}

fn check(program: &Program) -> Result<(), String> {
    let name = program.name();
    let files = MODES.map(|mode| (mode, program.run(mode, false)));
    let pipes = MODES.map(|mode| (mode, program.run(mode, true)));
    for runs in [&files, &pipes] {
        let (first_mode, first) = &runs[0];
        for (mode, ran) in &runs[1..] {
            let (left, right) = (program.observed(first), program.observed(ran));
            if left != right || ran.stdout != first.stdout {
                let difference = difference(&left, &right);
                return Err(format!(
                    "{name}: {first_mode:?} and {mode:?} differ
  {difference}"
                ));
            }
        }
    }
    for mode in CACHED {
        let folder = tempfile::tempdir().map_err(|error| format!("{name}: {error}"))?;
        let cache = folder.path().to_str().ok_or("a folder with a strange name")?;
        for (time, temperature) in ["cold", "warm", "warm again"].iter().enumerate() {
            let ran = program.run(&[mode, &["--cache", cache]].concat(), false);
            let (left, right) = (program.observed(&files[0].1), program.observed(&ran));
            if left != right || ran.stdout != files[0].1.stdout {
                let difference = difference(&left, &right);
                return Err(format!(
                    "{name}: {mode:?} with a {temperature} cache ({time}) differs\n  {difference}"
                ));
            }
        }
    }
    let (file, pipe) = (program.expectation(&files[0].1), program.expectation(&pipes[0].1));
    let (text, expected) = program.parts();
    if binary::update() && file != expected {
        let line_end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
        std::fs::write(&program.path, format!("{text}{line_end}{file}"))
            .map_err(|error| format!("{name}: {error}"))?;
    } else if file != expected {
        return Err(format!("{name}: as a file\n  {}", difference(&expected, &file)));
    }
    if !program.stdin_goes_on && pipe != file {
        return Err(format!("{name}: from standard input\n  {}", difference(&file, &pipe)));
    }
    if program.stdin_goes_on && pipes[0].1.code != Some(1) {
        return Err(format!("{name}: from standard input it ends with {:?}", pipes[0].1.code));
    }
    Ok(())
}

#[test]
fn programs_print_the_same_in_every_mode() {
    let programs = programs();
    assert!(programs.len() > 100, "only {} programs were found", programs.len());
    let complaints = binary::in_parallel(&programs, check);
    assert!(complaints.is_empty(), "{} programs are wrong:\n{}", complaints.len(), complaints.join("\n"));
}

#[test]
fn every_code_is_reached_by_a_program() {
    let texts: String = programs().iter().map(|program| program.parts().1).collect();
    let reached = |code: &ErrorCode| texts.contains(&format!("[{code}]"));
    let unreachable: BTreeSet<ErrorCode> = UNREACHABLE.iter().map(|(code, _)| *code).collect();
    for code in ErrorCode::ALL.iter().filter(|code| !code.is_lint()) {
        assert_eq!(reached(code), !unreachable.contains(code), "{code} ({})", code.meaning());
    }
}

#[test]
fn examples_end_well() {
    let examples = binary::files(&binary::directory("examples"), "kal");
    assert!(examples.len() >= 10);
    for example in examples {
        let program = Program::read(&example);
        assert!(!program.parts().1.contains("#?"), "{} fails", program.name());
        assert!(program.text.starts_with("# "), "{} does not say what it shows", program.name());
    }
}
