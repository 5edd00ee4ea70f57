//! The same functions in packages of Python, by `peers.py`.

use crate::{Measured, Outcome, of};
use std::path::Path;
use std::process::Command;

/// What a peer takes for a function, in nanoseconds a row; not a number if it cannot say it.
pub(super) struct Other {
    pub(super) function: String,
    pub(super) peer: String,
    pub(super) nanoseconds: f64,
}

/// Measures the peers, and prints how many times as long as Kal each takes.
pub(super) fn measure(
    python: &str,
    rows: usize,
    threads: usize,
    measured: &[Measured],
) -> Outcome<Vec<Other>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/columns/peers.py");
    let run =
        Command::new(python).arg(script).args([rows, threads].map(|number| number.to_string())).output()?;
    if !run.status.success() {
        return Err(String::from_utf8_lossy(&run.stderr).into_owned().into());
    }
    eprint!("{}", String::from_utf8_lossy(&run.stderr));
    let text = String::from_utf8(run.stdout)?;
    println!("\n{text}");
    let mut lines = text.lines().skip(1);
    let peers: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    let mut others = Vec::new();
    println!("{:<12} {}", "× Kal", peers.iter().map(|peer| format!(" {peer:>8}")).collect::<String>());
    for line in lines {
        let mut words = line.split_whitespace();
        let function = words.next().unwrap_or_default();
        let ours = of(measured, function).map_or(f64::NAN, |one| one.ours);
        print!("{function:<12} ");
        for (peer, word) in peers.iter().zip(words) {
            let nanoseconds: f64 = word.parse()?;
            print!(" {:>8.2}", nanoseconds / ours);
            others.push(Other { function: function.to_owned(), peer: (*peer).to_owned(), nanoseconds });
        }
        println!();
    }
    Ok(others)
}
