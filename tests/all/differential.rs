//! The same answers in every mode: random programs must give the same bits,
//! output and errors however they are run.
//!
//! Each program of [`crate::program`] runs on tapes and in some of the other
//! modes, in turn, so that a run of the suite runs hundreds in each mode. What
//! differs is made smaller before it is shown. Environment variables choose
//! more: `KAL_PROGRAMS` how many, `KAL_SEED` from which number on,
//! `KAL_ALL_MODES=1` every program in every mode.

use crate::choices::Random;
use crate::modes::{MODES, engine, observe};
use crate::program::{Program, program};
use crate::shrink::shrink;
use crate::{binary, scale};
use kal::{Engine, Limits};
use std::sync::atomic::{AtomicU64, Ordering};

/// How many compiled modes each program runs in, unless all are asked for.
const COMPILED: usize = 2;

/// Returns the modes that a program of this number is compared in.
fn modes(number: u64, all: bool) -> Vec<usize> {
    let compiled = MODES.len() - 1;
    let chosen = |step: usize| 1 + (number as usize * COMPILED + step) % compiled;
    if all { (1..MODES.len()).collect() } else { (0..COMPILED).map(chosen).collect() }
}

/// Returns the complaint about a program that does not agree with itself.
fn complaint(engines: &[Engine], number: u64, mode: usize, program: &Program) -> String {
    let mut fails =
        |candidate: &Program| observe(&engines[0], candidate) != observe(&engines[mode], candidate);
    let small = shrink(program, &mut fails);
    let (expected, found) = (observe(&engines[0], &small), observe(&engines[mode], &small));
    let (first, other, text) = (MODES[0].0, MODES[mode].0, small.text());
    format!("program {number}, {other}:\n{text}{first} {expected:?}\n{other} {found:?}")
}

/// Runs a program in every mode; returns how many numbers it printed.
fn agrees(engines: &[Engine], number: u64, all: bool) -> Result<usize, String> {
    let program = program(&mut Random::new(number));
    let expected = observe(&engines[0], &program);
    for mode in modes(number, all) {
        if observe(&engines[mode], &program) != expected {
            return Err(complaint(engines, number, mode, &program));
        }
    }
    Ok(expected.iter().filter(|seen| seen.contains('[') && !seen.contains("nan")).count())
}

#[test]
fn random_programs_agree_in_every_mode() {
    const CHUNK: u64 = 1_000;
    let (count, from) = (scale("KAL_PROGRAMS", 2_000), scale("KAL_SEED", 0));
    let all = scale("KAL_ALL_MODES", 0) == 1;
    let numbers = AtomicU64::new(0);
    // Engines start once in a while only, and none grows without end.
    let chunks: Vec<u64> = (from..from + count).step_by(CHUNK as usize).collect();
    let complaints = binary::in_parallel(&chunks, |chunk| {
        let engines: Vec<Engine> = (0..MODES.len()).map(|mode| engine(mode, Limits::default())).collect();
        for number in *chunk..(chunk + CHUNK).min(from + count) {
            let found = agrees(&engines, number, all)?;
            numbers.fetch_add(found as u64, Ordering::Relaxed);
        }
        Ok(())
    });
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
    let numbers = numbers.into_inner();
    println!("{count} programs gave {numbers} numbers");
    assert!(numbers > 2 * count, "programs that compute nothing: {numbers} numbers of {count} programs");
}

#[test]
fn shrinking_finds_the_one_thing_that_matters() {
    let mut programs = (0..).map(|seed| program(&mut Random::new(seed)));
    let found = programs.find(|program| program.text().contains("fma(")).expect("programs never end");
    let small = shrink(&found, &mut |program| program.text().contains("fma("));
    assert_eq!(small.text().lines().count(), 1, "{}", small.text());
    assert!(small.text().len() < 40, "{}", small.text());
}
