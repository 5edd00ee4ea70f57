//! Kal compared with its peers: `make bench`, or `cargo bench --bench peers --
//! [--rounds N] [FILTER …]`.
//!
//! Every row is one workload, run by Kal and by every peer that is installed.
//! The runs are interleaved, so that a slow spell of the machine meets all of
//! them; medians and ratios go to `benches/RESULTS.md`. The programs are in
//! `benches/workloads/`, or generated (`generated.rs`); a peer with another
//! answer is not compared, and fails the whole run.

mod contestant;
mod generated;
mod missed;
mod prompt;
mod report;
mod rows;

use contestant::Contestant;
use std::path::PathBuf;

fn main() {
    contestant::measure_if_asked();
    let (mut rounds, mut filters) = (5, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // Cargo says so to every benchmark.
            "--bench" => {}
            "--rounds" => rounds = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(rounds),
            _ => filters.push(argument),
        }
    }
    let folder = std::env::temp_dir().join(format!("kal-peers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for programs");
    let asked = |row: &rows::Row| filters.is_empty() || filters.iter().any(|text| row.name.contains(text));
    let mut report = report::Report::new(rounds);
    let mut dissenters = Vec::new();
    for mut row in rows::all(&folder).into_iter().filter(asked) {
        run(&mut row, rounds);
        report.add(&row);
        dissenters.extend(report::dissenters(&row));
    }
    if asked(&rows::Row::calling()) {
        report.add_call(rows::call_nanoseconds());
    }
    let _ = std::fs::remove_dir_all(&folder);
    print!("{}", report.text());
    if filters.is_empty() {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/RESULTS.md");
        std::fs::write(&path, report.text()).expect("the results can be written");
    }
    dissenters.iter().for_each(|dissenter| eprintln!("another answer: {dissenter}"));
    if !dissenters.is_empty() {
        std::process::exit(1);
    }
}

fn run(row: &mut rows::Row, rounds: usize) {
    eprintln!("{}", row.name);
    for _ in 0..rounds * row.rounds_factor {
        row.contestants.iter_mut().for_each(Contestant::run);
    }
}
