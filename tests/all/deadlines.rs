//! Deadlines: what they cost, and that they stop what they are for only.

use crate::robustness::alone;
use kal::{Config, Context, Engine, Limits, Mode};
use std::time::{Duration, Instant};

const LATE: &str = "the run took longer than allowed";

fn context(mode: Mode, deadline: Option<Duration>) -> Context {
    let config = Config::new().mode(mode).limits(Limits { deadline, ..Limits::default() });
    Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts")
}

/// Returns how often threads of a name have waited, and been woken.
fn waits_of(name: &str) -> u64 {
    let waits = |task: std::io::Result<std::fs::DirEntry>| -> Option<u64> {
        let status = std::fs::read_to_string(task.ok()?.path().join("status")).ok()?;
        let field = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        (field("Name:")? == name).then(|| field("voluntary_ctxt_switches:")?.parse().ok()).flatten()
    };
    std::fs::read_dir("/proc/self/task").expect("Linux has it").filter_map(waits).sum()
}

#[test]
fn calls_do_not_wake_the_thread() {
    alone("deadlines::calls_do_not_wake_the_thread", || {
        // The threads of all engines are counted.
        let mut contexts =
            [Mode::Lazy, Mode::Interpret].map(|mode| context(mode, Some(Duration::from_secs(3600))));
        for context in &mut contexts {
            context.eval("def one(x) x + 1; one(1)").expect("it runs");
            let one = context.function::<fn(f64) -> f64>("one").expect("it is defined");
            context.set_deadline(Some(Instant::now() + Duration::from_secs(1800)));
            one.call(context, (1.0,)).expect("there is time");
            let (before, start) = (waits_of("kal deadlines"), Instant::now());
            for _ in 0..100_000 {
                assert_eq!(one.call(context, (1.0,)).expect("there is time"), 2.0);
            }
            let waits = waits_of("kal deadlines") - before;
            // It looks every ten milliseconds, whatever the number of calls.
            let most = 1000 + start.elapsed().as_millis() as u64;
            assert!(waits < most, "the thread that watches waited {waits} times");
            // Then it sleeps.
            while waits_of("kal deadlines") != {
                let waits = waits_of("kal deadlines");
                std::thread::sleep(Duration::from_millis(100));
                waits
            } {}
        }
    });
}

#[test]
fn earlier_deadlines_are_met_after_later_ones() {
    for mode in [Mode::Lazy, Mode::Tiered, Mode::Interpret] {
        let mut context = context(mode, Some(Duration::from_secs(3600)));
        for milliseconds in [0, 1, 5, 20, 100] {
            for _ in 0..5 {
                let (start, time) = (Instant::now(), Duration::from_millis(milliseconds));
                context.set_deadline(start.checked_add(time));
                let error = context.eval("for i = 0, 1 in i").expect_err("it has no end");
                assert_eq!(error.to_string(), LATE);
                assert!(start.elapsed() >= time, "{:?} instead of {time:?}", start.elapsed());
                context.set_deadline(None);
                assert_eq!(context.eval("1 + 1").expect("there is time"), Some(2.0));
            }
        }
    }
}

#[test]
fn limits_are_never_short() {
    for milliseconds in [1, 3, 15, 17, 40] {
        let time = Duration::from_millis(milliseconds);
        let mut context = context(Mode::Interpret, Some(time));
        for _ in 0..10 {
            let start = Instant::now();
            let error = context.eval("for i = 0, 1 in i").expect_err("it has no end");
            assert_eq!(error.to_string(), LATE);
            assert!(start.elapsed() >= time, "{:?} instead of {time:?}", start.elapsed());
        }
    }
}

/// Calls that end just when their deadline comes: the next call has no part in it.
#[test]
fn a_deadline_that_was_lifted_stops_nothing() {
    let mut context = context(Mode::Lazy, None);
    context.eval("def spin(n) for i = 0, i < n in i; spin(1)").expect("it runs");
    let spin = context.function::<fn(f64) -> f64>("spin").expect("it is defined");
    let (mut met, mut late) = (0, 0);
    for round in 0..3000 {
        context.set_deadline(Some(Instant::now() + Duration::from_micros(60)));
        match spin.call(&mut context, (f64::from(round % 60) * 4000.0,)) {
            Ok(_) => met += 1,
            Err(error) if error.to_string() == LATE => late += 1,
            Err(error) => panic!("{error}"),
        }
        context.set_deadline(None);
        spin.call(&mut context, (100.0,)).expect("it has no deadline");
    }
    assert!(met > 0 && late > 0, "{met} in time, {late} late");
}

/// Many evaluations that each have time, but would not have it together, with
/// the thread that watches asleep and awake.
#[test]
fn each_evaluation_has_all_of_its_time() {
    for mode in [Mode::Lazy, Mode::Interpret] {
        let mut context = context(mode, Some(Duration::from_millis(200)));
        context.eval("def spin(n) for i = 0, i < n in i; spin(1)").expect("it runs");
        let spin = context.function::<fn(f64) -> f64>("spin").expect("it is defined");
        let start = Instant::now();
        let mut calls = 0;
        while start.elapsed() < Duration::from_secs(1) {
            spin.call(&mut context, (1000.0,)).expect("it has time");
            calls += 1;
        }
        assert!(calls > 100, "{calls}");
        let start = Instant::now();
        let error = spin.call(&mut context, (f64::INFINITY,)).expect_err("it has no end");
        assert_eq!(error.to_string(), LATE);
        assert!(start.elapsed() >= Duration::from_millis(200), "{:?}", start.elapsed());
        spin.call(&mut context, (1000.0,)).expect("it has time again");
    }
}
