//! What is to be reached.

use crate::peers::Other;
use crate::{Measured, of};

/// How many times as long as Kal the C that clang has compiled is to take at least.
const COMPILED: &[(&str, f64)] = &[
    ("line", 0.9),
    ("polynomial", 0.9),
    ("tax", 0.9),
    ("nested", 0.9),
    // Where it has no vectors.
    ("mandelbrot", 3.0),
    ("kepler", 3.0),
];

/// How many times as long as Kal peers are to take at least, where they can say the function.
const PEERS: &[(&[&str], &[&str], f64)] = &[
    (&["option", "haversine", "interest"], &["numba"], 2.0),
    // What it computes is not always the nearest double.
    (&["haversine", "interest"], &["NumPy"], 0.8),
    (&["tax", "haversine", "nested"], &["NumPy", "numexpr", "Polars", "DuckDB"], 3.0),
];

/// The milliseconds that the first use of a function may take: of the first one, which starts LLVM,
/// and of one that comes later.
const FIRST: (f64, (&str, f64)) = (12.0, ("tax", 4.0));

/// The peers that use one thread, whatever is asked for, as C does.
const ONE_THREAD: &[&str] = &["NumPy", "numba"];

/// Prints which targets are reached with a number of threads.
pub(super) fn print(measured: &[Measured], others: &[Other], threads: usize) {
    println!("\n{:<40} {:>7} {:>7}", "targets", "is", "of");
    let show = |what: String, is: f64, target: f64, is_reached: bool| {
        let is_reached = if is_reached { "reached" } else { "MISSED" };
        println!("{what:<40} {is:>7.2} {target:>7.2}  {is_reached}");
    };
    for (name, target) in COMPILED.iter().filter(|_| threads == 1) {
        if let Some(one) = of(measured, name) {
            let is = one.compiled / one.ours;
            show(format!("{name}: C over Kal"), is, *target, is >= *target);
        }
    }
    for (names, peers, target) in PEERS {
        for other in others.iter().filter(|other| {
            let is_alike = threads == 1 || !ONE_THREAD.contains(&&*other.peer);
            // Some cannot say some functions.
            let is_meant = names.contains(&&*other.function) && peers.contains(&&*other.peer);
            is_alike && is_meant && !other.nanoseconds.is_nan()
        }) {
            let is = other.nanoseconds / of(measured, &other.function).map_or(f64::NAN, |one| one.ours);
            show(format!("{}: {} over Kal", other.function, other.peer), is, *target, is >= *target);
        }
    }
    let (cold, (later, warm)) = FIRST;
    for (what, one, target) in
        [("a first function", measured.first(), cold), (later, of(measured, later), warm)]
    {
        let is = one.map_or(f64::NAN, |one| one.first);
        show(format!("{what}: first use, ms"), is, target, is <= target);
    }
}
