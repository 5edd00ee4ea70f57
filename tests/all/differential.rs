//! The same answers in every mode: random programs must give the same bits,
//! output and errors however they are run.
//!
//! Each program of [`crate::program`] runs on tapes and in some of the other
//! modes, in turn, so that a run of the suite has each mode run hundreds. What
//! differs is made smaller before it is shown. Environment variables choose
//! more: `KAL_PROGRAMS` how many, `KAL_SEED` from which number on,
//! `KAL_ALL_MODES=1` every program in every mode.

use crate::program::{Program, Random, program, shrink};
use crate::scale;
use kal::host::Output;
use kal::source::Source;
use kal::{Config, Engine, Level, Mode, Outcome, TierUp};
use std::io;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// Every way to run a program. The first is what the others are compared with.
const MODES: &[(&str, fn(Config) -> Config)] = &[
    ("interpreted", |config| config.mode(Mode::Interpret)),
    ("lazy -O0", |config| config.level(Level::O0)),
    ("lazy -O1", |config| config.level(Level::O1).tier_up(TierUp::Never)),
    ("lazy -O2", |config| config.level(Level::O2).tier_up(TierUp::Never)),
    ("lazy -O3", |config| config.level(Level::O3).tier_up(TierUp::Never)),
    ("lazy -O2 after 2 calls", |config| config.level(Level::O2).tier_up(TierUp::After(2))),
    ("eager -O0", |config| config.mode(Mode::Eager).level(Level::O0)),
    ("eager -O1", |config| config.mode(Mode::Eager).level(Level::O1).tier_up(TierUp::Never)),
    ("eager -O2", |config| config.mode(Mode::Eager).level(Level::O2).tier_up(TierUp::Never)),
    ("eager -O3", |config| config.mode(Mode::Eager).level(Level::O3).tier_up(TierUp::Never)),
];

/// How many compiled modes each program runs in, unless all are asked for.
const COMPILED: usize = 2;

fn engine(mode: usize) -> Engine {
    let config = Config::new().workers(1).host_function("mix", 3, |call| {
        let [x, y, z] = call.arguments else { return Ok(f64::NAN) };
        call.output.byte(b'#')?;
        Ok(x.mul_add(0.25, *y) - z)
    });
    Engine::with_config(MODES[mode].1(config)).expect("an engine starts")
}

/// What a program writes, in order.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<String>>);

impl Output for Written {
    fn value(&mut self, value: f64) -> io::Result<()> {
        self.0.lock().expect("nobody panics").push_str(&bits(value));
        Ok(())
    }

    fn byte(&mut self, byte: u8) -> io::Result<()> {
        self.0.lock().expect("nobody panics").push(char::from(byte));
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Which NaN it is cannot be seen by a program.
fn bits(value: f64) -> String {
    if value.is_nan() { "[nan]".into() } else { format!("[{value:?} {:x}]", value.to_bits()) }
}

/// Everything that can be observed of a run, item by item.
fn observe(engine: &Engine, program: &Program) -> Vec<String> {
    let mut context = engine.context().expect("a context starts");
    let written = Written::default();
    context.set_output(Box::new(written.clone()));
    let mut seen = Vec::new();
    let _ = context.run(&Source::new("random", program.text()), &mut |_, outcome| {
        let outcome = match outcome {
            Ok(Outcome::Value(value)) => bits(value),
            Ok(_) => "done".to_owned(),
            Err(error) => error.to_string(),
        };
        let printed = std::mem::take(&mut *written.0.lock().expect("nobody panics"));
        seen.push(format!("{printed} {outcome}"));
        ControlFlow::Continue(())
    });
    seen
}

/// The modes that a program of this number is compared in.
fn modes(number: u64, all: bool) -> Vec<usize> {
    let compiled = MODES.len() - 1;
    let chosen = |step: usize| 1 + (number as usize * COMPILED + step) % compiled;
    if all { (1..MODES.len()).collect() } else { (0..COMPILED).map(chosen).collect() }
}

/// The complaint about a program that does not agree with itself.
fn complaint(engines: &[Engine], number: u64, mode: usize, program: &Program) -> String {
    let mut fails =
        |candidate: &Program| observe(&engines[0], candidate) != observe(&engines[mode], candidate);
    let small = shrink(program, &mut fails);
    let (expected, found) = (observe(&engines[0], &small), observe(&engines[mode], &small));
    let (name, text) = (MODES[mode].0, small.text());
    format!("program {number}, {name}:\n{text}interpreted {expected:?}\n{name} {found:?}")
}

#[test]
fn random_programs_agree_in_every_mode() {
    let (count, from) = (scale("KAL_PROGRAMS", 2_000), scale("KAL_SEED", 0));
    let all = scale("KAL_ALL_MODES", 0) == 1;
    let complaints = Mutex::new(Vec::new());
    let next = std::sync::atomic::AtomicU64::new(from);
    let values = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let engines: Vec<Engine> = (0..MODES.len()).map(engine).collect();
                loop {
                    let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if number >= from + count {
                        return;
                    }
                    let program = program(&mut Random::new(number));
                    let expected = observe(&engines[0], &program);
                    let finite =
                        expected.iter().filter(|seen| seen.contains('[') && !seen.contains("nan")).count();
                    values.fetch_add(finite as u64, std::sync::atomic::Ordering::Relaxed);
                    for mode in modes(number, all) {
                        if observe(&engines[mode], &program) != expected {
                            let complaint = complaint(&engines, number, mode, &program);
                            complaints.lock().expect("nobody panics").push(complaint);
                        }
                    }
                }
            });
        }
    });
    let complaints = complaints.into_inner().expect("nobody panics");
    assert!(complaints.is_empty(), "{} differ:\n{}", complaints.len(), complaints.join("\n\n"));
    let values = values.into_inner();
    println!("{count} programs gave {values} numbers");
    assert!(values > 2 * count, "programs that compute nothing: {values} numbers of {count} programs");
}
