//! The results as a page of Markdown.

use crate::contestant::Contestant;
use crate::rows::{Limit, Row, Target};
use std::fmt::Write as _;
use std::process::Command;

/// What is written to `benches/RESULTS.md`.
pub struct Report {
    text: String,
    verdicts: String,
    /// Which targets are missed, and why.
    missed: String,
}

impl Report {
    pub fn new(rounds: usize) -> Self {
        let mut text = String::from(
            "# Kal beside its peers\n\nWritten by `make bench`; one run on one machine. Times are seconds from \
             start to end of the\nprocess, compilation included for Kal, node and luajit, not included for gcc \
             and clang unless\nthe row says so. The ratio is to Kal. Memory is the peak resident size.\n\n",
        );
        let _ = writeln!(text, "{rounds} interleaved runs of each (more of the short ones); medians.\n");
        for (what, line) in machine() {
            let _ = writeln!(text, "- {what}: {line}");
        }
        Self { text, verdicts: String::new(), missed: String::new() }
    }

    pub fn add(&mut self, row: &Row) {
        let _ = writeln!(self.text, "\n## {}\n", row.name);
        let _ =
            writeln!(self.text, "| | median | best | CPU | ratio | MB | |\n|---|---|---|---|---|---|---|");
        let kal = row.contestants[0].wall();
        for contestant in &row.contestants {
            let line = line(contestant, kal, &row.contestants[0].answer);
            let _ = writeln!(self.text, "| {} | {line} |", contestant.name);
        }
        for target in &row.targets {
            let verdict = verdict(row, target);
            if verdict.ends_with(MISSED) {
                let reason = crate::missed::reason(row.name, target.contestant);
                let _ = writeln!(self.missed, "- *{}*, {}: {reason}", row.name, target.contestant);
            }
            let _ = writeln!(self.verdicts, "| {} | {verdict} |", row.name);
        }
    }

    pub fn add_call(&mut self, nanoseconds: Option<f64>) {
        let Some(nanoseconds) = nanoseconds else { return };
        let verdict = if nanoseconds <= 10.0 { "reached" } else { MISSED };
        let _ = writeln!(
            self.verdicts,
            "| a call of a compiled function from Rust | 10 ns | {nanoseconds:.1} ns | {verdict} |"
        );
    }

    pub fn text(&self) -> String {
        let targets = "## Targets\n\n| | target | is | |\n|---|---|---|---|";
        let mut text = format!("{}\n{targets}\n{}", self.text, self.verdicts);
        if !self.missed.is_empty() {
            let _ = write!(text, "\n## Why targets are missed\n\n{}", self.missed);
        }
        text
    }
}

const MISSED: &str = "**missed**";

fn line(contestant: &Contestant, kal: Option<f64>, answer: &str) -> String {
    if let Err(reason) = contestant.command() {
        return format!("– | – | – | – | – | {reason}");
    }
    let number = |value: Option<f64>, digits| {
        value.filter(|value| value.is_finite()).map_or("–".into(), |value| format!("{value:.digits$}"))
    };
    let agrees = agree(&contestant.answer, answer);
    let ratio = contestant.wall().zip(kal).filter(|_| agrees).map(|(wall, kal)| wall / kal);
    let note = if agrees { "" } else { "another answer: not compared" };
    let times =
        [contestant.wall(), contestant.best(), contestant.cpu()].map(|time| number(time, 4)).join(" | ");
    format!("{times} | {} | {} | {note}", number(ratio, 2), number(contestant.megabytes(), 1))
}

/// Returns the contestants of a row that give another answer than its first.
pub fn dissenters(row: &Row) -> Vec<String> {
    let first = &row.contestants[0].answer;
    let others = row.contestants.iter().filter(|contestant| !agree(&contestant.answer, first));
    others.map(|other| format!("{}: {} gives {}, not {first}", row.name, other.name, other.answer)).collect()
}

/// Returns whether two answers are the same number, or one is not a number.
fn agree(one: &str, other: &str) -> bool {
    match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => one == other || (one - other).abs() <= other.abs() * 1e-9,
        _ => true,
    }
}

fn verdict(row: &Row, target: &Target) -> String {
    let find = |name| row.contestants.iter().find(|contestant| contestant.name == name);
    let subject = find(target.contestant);
    let (aim, is, limit) = match target.limit {
        Limit::Ratio(limit, peer) => {
            let peer_agrees = |other: &&Contestant| agree(&other.answer, &row.contestants[0].answer);
            let peer_wall = find(peer).filter(peer_agrees).and_then(Contestant::wall);
            let is = subject.and_then(Contestant::wall).zip(peer_wall);
            (format!("{limit} × {peer}"), is.map(|(is, peer)| is / peer), limit)
        }
        Limit::Seconds(limit) => (format!("{limit} s"), subject.and_then(Contestant::wall), limit),
        Limit::MoreSeconds(limit, peer) => {
            let is = subject.and_then(Contestant::wall).zip(find(peer).and_then(Contestant::wall));
            (format!("{limit} s more than {peer}"), is.map(|(is, peer)| is - peer), limit)
        }
        Limit::Megabytes(limit) => (format!("{limit} MB"), subject.and_then(Contestant::megabytes), limit),
    };
    // Differences of milliseconds have to be seen.
    let digits = if limit < 0.1 { 3 } else { 2 };
    let who = if target.contestant == "kal" { String::new() } else { format!("{}: ", target.contestant) };
    match is {
        None => format!("{who}{aim} | – | not measured"),
        Some(is) if is <= limit => format!("{who}{aim} | {is:.digits$} | reached"),
        Some(is) => format!("{who}{aim} | {is:.digits$} | {MISSED}"),
    }
}

/// Returns what the results were measured on and with.
fn machine() -> Vec<(&'static str, String)> {
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processor.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let version = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).output();
        let output = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        output
            .ok()
            .and_then(|text| text.lines().next().map(str::to_owned))
            .unwrap_or_else(|| "missing".into())
    };
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    vec![
        ("processor", format!("{}, {cores} cores", model.trim_start_matches(['\t', ' ', ':']))),
        ("load when it began", load.split(' ').next().unwrap_or_default().to_owned()),
        ("kal", version(env!("CARGO_BIN_EXE_kal"), "--version")),
        ("gcc (`-O2`)", version("gcc", "--version")),
        ("clang (`-O3`; no fast-math, no `-march`)", version("clang-22", "--version")),
        ("luajit", version("luajit", "-v")),
        ("node", version("node", "--version")),
    ]
}
