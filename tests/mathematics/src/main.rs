//! Compares the functions of `kal-math` with MPFR, which computes them to any precision.
//!
//! `make mathematics` tries a million arguments of each function in each build and says how
//! many results are not the double nearest to the exact value. `-- --write FILE` writes some
//! of the arguments with their results as well, for the tests that have no MPFR: a part of
//! them is such that the C library of this machine returns another double. `-- --cost`
//! measures what calls cost instead. `-- --worst FOLDER` tries the worst cases that CORE-MATH's
//! authors have collected, FOLDER being a copy of their repository. A name limits all this to
//! one function.

mod arguments;
mod bounds;
mod cost;
mod exact;
mod lanes;
mod libm;
mod tables;

use arguments::Arguments;
use exact::{Exact, FUNCTIONS};
use kal_math::{BinaryFunction, Build, UnaryFunction};
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Instant;
use std::{env, fs};

/// How many arguments of a function are written whose results the C library has wrong, and
/// how many others.
const WRITTEN: (usize, usize) = (60, 60);

/// How many arguments the lanes forms get for each one that is compared with MPFR.
const LANES: usize = 2;

/// How many arguments the lanes forms get for each one whose sum is compared with MPFR.
const BOUNDS: usize = 20;

fn main() -> ExitCode {
    let mut count = 1_000_000;
    let (mut file, mut worst, mut only) = (None, None, None);
    let (mut measures, mut only_lanes) = (false, false);
    let mut given = env::args().skip(1);
    while let Some(argument) = given.next() {
        match argument.as_str() {
            "--cost" => measures = true,
            "--lanes" => only_lanes = true,
            "--write" => file = given.next(),
            "--worst" => worst = Some(given.next().expect("a folder")),
            "--count" => count = given.next().and_then(|text| text.parse().ok()).expect("a number"),
            name => only = Some(name.to_owned()),
        }
    }
    let builds: Vec<Build> = Build::ALL.into_iter().filter(|build| build.is_supported()).collect();
    if measures {
        cost::print(&builds, only.as_deref());
        lanes::print(only.as_deref());
        return ExitCode::SUCCESS;
    }
    let chosen = FUNCTIONS.iter().filter(|exact| only.as_deref().is_none_or(|name| name == exact.name));
    if let Some(folder) = worst {
        return if check_worst(chosen, &builds, &folder) == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
    }
    let wrong_lanes = check_lanes(chosen.clone(), count * LANES);
    if only_lanes {
        return if wrong_lanes == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    println!("{count} arguments each, builds {builds:?}");
    println!("{:8} {:>5} {:>12} {:>10}", "", "wrong", "C library", "seconds");
    let (mut wrong, mut written) = (wrong_lanes, String::new());
    for exact in chosen {
        let begin = Instant::now();
        let found = check(exact, &builds, Arguments::of(exact.name).take(count), count);
        let percent = found.wrong_of_c as f64 * 100.0 / count as f64;
        let seconds = begin.elapsed().as_secs_f64();
        println!("{:8} {:>5} {percent:>10.4} % {seconds:>10.1}", exact.name, found.wrong);
        wrong += found.wrong;
        written += &found.lines;
    }
    if let Some(file) = file {
        fs::write(file, written).expect("the file is writable");
    }
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Compares every form of functions with MPFR for CORE-MATH's worst cases; returns how many results
/// are wrong.
fn check_worst<'a>(functions: impl Iterator<Item = &'a Exact>, builds: &[Build], folder: &str) -> usize {
    println!("the worst cases in {folder}, builds {builds:?}, lanes {:?}", lanes::builds());
    println!("{:8} {:>7} {:>8} {:>5} {:>9} {:>7}", "", "cases", "left out", "wrong", "C library", "seconds");
    let each = |exact: &Exact| {
        let begin = Instant::now();
        let Some((cases, left_out)) = arguments::worst(folder, exact.name, exact.is_binary()) else {
            println!("{:8} no file", exact.name);
            return 0;
        };
        let found = check(exact, builds, cases.iter().copied(), cases.len());
        let wrong = found.wrong + lanes::check(exact, cases.iter().copied());
        let (count, seconds) = (cases.len(), begin.elapsed().as_secs_f64());
        let percent = found.wrong_of_c as f64 * 100.0 / count as f64;
        println!("{:8} {count:>7} {left_out:>8} {wrong:>5} {percent:>7.1} % {seconds:>7.1}", exact.name);
        wrong
    };
    functions.map(each).sum()
}

/// Compares the lanes forms with the functions of one double; returns how many results are
/// not the same.
fn check_lanes<'a>(functions: impl Iterator<Item = &'a Exact>, count: usize) -> usize {
    println!("lanes: {} arguments each, builds {:?}", 2 * count, lanes::builds());
    let (wrong_entries, entries) = tables::check();
    println!("{wrong_entries} of {entries} entries of their tables are wrong");
    println!("{:8} {:>5} {:>7} largest error of a sum", "", "wrong", "seconds");
    functions
        .map(|exact| {
            let begin = Instant::now();
            let (all, usual) = (Arguments::of(exact.name), Arguments::usual(exact.name));
            let mut wrong = lanes::check(exact, all.take(count).chain(usual.take(count)));
            let bound = if Build::Fma.is_supported() { bounds::check(exact, count / BOUNDS) } else { None };
            let bound = bound.map_or(String::new(), |bound| {
                wrong += usize::from(bound.worst > 1.0);
                let (percent, open) = (bound.worst * 100.0, bound.open as f64 * 100.0 / bound.count as f64);
                format!(
                    "{percent:>6.1} % of the bound, {open:.3} % of {} sums open, at {:?}",
                    bound.count, bound.at
                )
            });
            println!("{:8} {wrong:>5} {:>7.1} {bound}", exact.name, begin.elapsed().as_secs_f64());
            wrong
        })
        .sum::<usize>()
        + wrong_entries
}

/// What the check of a function has found.
#[derive(Default)]
struct Found {
    /// Results of any build that are not the nearest double.
    wrong: usize,
    /// Results of the C library that are not.
    wrong_of_c: usize,
    /// Lines of the file for other tests.
    lines: String,
}

fn check(exact: &Exact, builds: &[Build], arguments: impl Iterator<Item = [f64; 2]>, count: usize) -> Found {
    let functions: Vec<Function> = builds.iter().map(|build| Function::named(exact.name, *build)).collect();
    let of_c = libm::named(exact.name, exact.is_binary());
    let (mut found, mut left) = (Found::default(), WRITTEN);
    // Every so many of the others is written.
    let distance = (count / WRITTEN.1).max(1);
    for (index, [x, y]) in arguments.enumerate() {
        let nearest = exact.nearest(x, y);
        for (function, build) in functions.iter().zip(builds) {
            let result = function.call(x, y);
            if !is_same(result, nearest) {
                found.wrong += 1;
                if found.wrong <= 10 {
                    println!("{}({x:e}, {y:e}) is {nearest:e}, not {result:e} ({build:?})", exact.name);
                }
            }
        }
        let is_wrong_of_c = !is_same(of_c.call(x, y), nearest);
        found.wrong_of_c += usize::from(is_wrong_of_c);
        let place = if is_wrong_of_c { &mut left.0 } else { &mut left.1 };
        if *place > 0 && (is_wrong_of_c || index % distance == distance / 2) {
            *place -= 1;
            let _ = write!(found.lines, "{} {:016x}", exact.name, x.to_bits());
            if exact.is_binary() {
                let _ = write!(found.lines, " {:016x}", y.to_bits());
            }
            let _ = writeln!(found.lines, " {:016x}", nearest.to_bits());
        }
    }
    found
}

/// Returns whether two results are the same: all NaNs are.
fn is_same(left: f64, right: f64) -> bool {
    left.to_bits() == right.to_bits() || (left.is_nan() && right.is_nan())
}

/// A function of doubles. One of one double does not look at the second.
enum Function {
    One(extern "C" fn(f64) -> f64),
    Two(extern "C" fn(f64, f64) -> f64),
}

impl Function {
    fn named(name: &str, build: Build) -> Self {
        let one = UnaryFunction::ALL.iter().find(|function| function.name() == name);
        let two = BinaryFunction::ALL.iter().find(|function| function.name() == name);
        one.and_then(|one| Some(Self::One(one.of(build)?)))
            .or_else(|| Some(Self::Two(two?.of(build)?)))
            .unwrap_or_else(|| panic!("`kal-math` has no {name}"))
    }

    fn call(&self, x: f64, y: f64) -> f64 {
        match self {
            Self::One(function) => function(x),
            Self::Two(function) => function(x, y),
        }
    }
}
