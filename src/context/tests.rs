//! A session with a function that the compiler refuses.

use crate::diagnostic::ErrorCode;
use crate::{Config, Engine, Level, Mode, State};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The code generator spoils functions of this name, in tests, so that LLVM's
/// verifier refuses them.
const REFUSED: &str = "def refused(x) x + 1";

#[test]
fn a_function_that_cannot_be_compiled_stays_pending() {
    for level in Level::ALL {
        let engine = Engine::with_config(Config::new().level(level)).expect("an engine starts");
        let mut context = engine.context().expect("a context starts");
        context.eval(&format!("{REFUSED}; def caller(x) refused(x) * 2")).expect("nothing is compiled yet");
        for text in ["caller(1)", "refused(1)", "1 + caller(2)"] {
            let error = context.eval(text).expect_err("LLVM refuses it");
            assert_eq!(error.diagnostics()[0].code, ErrorCode::CompileFailure);
            assert!(error.to_string().starts_with("`refused` cannot be compiled: "), "{error}");
            assert_eq!(context.state("refused"), Some(State::Pending));
        }
        assert_eq!(context.eval("2 + 3").expect("the session goes on"), Some(5.0));
        context.eval("def refused(x) x").expect("it is defined anew");
        assert!(context.eval("caller(1)").is_err(), "refused again");
        context.drop_function("refused").expect("it is defined");
        context.eval("def caller(x) x * 2").expect("it is defined");
        assert_eq!(context.eval("caller(4)").expect("it runs"), Some(8.0));
    }
}

#[test]
fn a_refused_function_is_told_of_when_it_is_compiled_ahead() {
    let engine = Engine::with_config(Config::new().mode(Mode::Eager)).expect("an engine starts");
    let mut context = engine.context().expect("a context starts");
    context.eval(REFUSED).expect("it is compiled later");
    let error = context.prepare_all().expect_err("LLVM refuses it");
    assert!(error.to_string().starts_with("`refused` cannot be compiled: "), "{error}");
    assert_eq!(context.eval("1 + 1").expect("the session goes on"), Some(2.0));
}

#[test]
fn a_check_that_stops_nothing_changes_nothing() {
    // More numbers than there are registers, all of them used in every
    // iteration.
    let names: Vec<String> = (0..20).map(|index| format!("v{index}")).collect();
    let start: Vec<String> = (0..20).map(|index| format!("v{index} = {index}")).collect();
    let mix = |index: usize| format!("(v{index} = v{index} * 0.75 + v{} * 0.25)", (index + 7) % 20);
    let mixed: Vec<String> = (0..20).map(mix).collect();
    let work = format!(
        "def work(n) var {} in (for i = 1, i < n in {}) + {}",
        start.join(", "),
        mixed.join(" + "),
        names.iter().enumerate().map(|(at, name)| format!("{name} * {at}")).collect::<Vec<_>>().join(" + "),
    );
    let run = |level: Level, is_woken: bool| {
        let engine = Engine::with_config(Config::new().level(level)).expect("an engine starts");
        let mut context = engine.context().expect("a context starts");
        context.eval(&work).expect("it is defined");
        let (stopper, is_over) = (context.backend.stopper(), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                while is_woken && !is_over.load(Ordering::Relaxed) {
                    stopper.wake();
                }
            });
            let value = context.eval("work(300000)").expect("nobody asks it to stop");
            is_over.store(true, Ordering::Relaxed);
            value.map(f64::to_bits)
        })
    };
    for level in Level::ALL {
        assert_eq!(run(level, true), run(level, false), "{level:?}");
    }
}
