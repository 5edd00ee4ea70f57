//! Functions of the host that behave badly, or wait: the engine copes.

use crate::modes::MODES;
use kal::diagnostic::ErrorCode;
use kal::host::{Call, HostError};
use kal::source::Source;
use kal::{Config, Context, Engine, Error, Outcome};
use std::ops::ControlFlow;
use std::panic::panic_any;
use std::sync::{Arc, Barrier};

fn context(config: Config) -> Context {
    Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts")
}

/// What panics when it is dropped, with another of its kind.
struct Bomb(u32);

impl Drop for Bomb {
    fn drop(&mut self) {
        if let Some(more) = self.0.checked_sub(1) {
            panic_any(Self(more));
        }
    }
}

#[test]
fn a_panic_may_leave_something_that_panics() {
    for (mode, configure) in MODES {
        let config = configure(Config::new()).host_function("bomb", 1, |_| panic_any(Bomb(2)));
        let mut context = context(config);
        let error = context.eval("def f(x) bomb(x) + 1; f(1)").expect_err("it panics");
        assert_eq!(error.diagnostics()[0].code, ErrorCode::HostFailure, "{mode}");
        assert_eq!(context.eval("1 + 1").expect("it goes on"), Some(2.0), "{mode}");
        context.set_trace(Some(Box::new(|_| panic_any(Bomb(2)))));
        assert_eq!(context.eval("def g(x) x * 2; g(2)").expect("it goes on"), Some(4.0), "{mode}");
    }
}

#[test]
fn too_many_arguments_are_refused() {
    let config = |arity| Config::new().host_function("wide", arity, |call| Ok(call.arguments.len() as f64));
    let error = Engine::with_config(config(50_001)).expect_err("there are too many");
    assert_eq!(error.to_string(), "the host function `wide` takes more than 50,000 arguments");
    let mut context = context(config(50_000));
    let arguments = vec!["1"; 50_000].join(",");
    assert_eq!(context.eval(&format!("wide({arguments})")).expect("it runs"), Some(50_000.0));
}

#[test]
fn a_function_of_the_host_hears_that_its_run_is_to_stop() {
    for (mode, configure) in MODES {
        let started = Arc::new(Barrier::new(2));
        let in_host = started.clone();
        let config = configure(Config::new()).host_function("wait", 0, move |call| {
            assert!(!call.is_stopped());
            in_host.wait();
            while !call.is_stopped() {
                std::thread::yield_now();
            }
            Ok(1.0)
        });
        let mut context = context(config);
        context.eval("def f() wait() + 1").expect("it is defined");
        let handle = context.interrupt_handle();
        for way in ["f()", "wait()"] {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    started.wait();
                    handle.interrupt();
                });
                let error = context.eval(way).expect_err("it is stopped");
                assert_eq!(error.diagnostics()[0].code, ErrorCode::Interrupted, "{mode}: {way}");
            });
            assert!(!handle.is_pending(), "{mode}: {way}");
            assert_eq!(context.eval("2 + 2").expect("it was for the other"), Some(4.0), "{mode}: {way}");
        }
    }
}

#[test]
fn a_context_of_another_engine_does_not_go_on_with_a_source() {
    let (mut one, mut other) = (context(Config::new()), context(Config::new()));
    other.eval("def aa(x) 1; def bb(x) 2").expect("they are defined");
    let mut told = Vec::new();
    let _ = one.run(&Source::new("test", "def yy(x) 3; yy(1); bb(1)"), &mut |context, outcome| {
        told.push(match outcome {
            Ok(Outcome::Value(value)) => value.to_string(),
            Ok(_) => "done".to_owned(),
            Err(Error::OtherEngine) => "another engine".to_owned(),
            Err(error) => error.to_string(),
        });
        if told.len() == 1 {
            std::mem::swap(context, &mut other);
        }
        ControlFlow::Continue(())
    });
    assert_eq!(told, ["done", "another engine"]);
    assert_eq!(one.eval("bb(1)").expect("it is whole"), Some(2.0));
    assert_eq!(other.eval("yy(1)").expect("it is whole"), Some(3.0));
}

/// Returns the warnings of the last definition of a source.
fn warnings(context: &mut Context, text: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    let _ = context.run(&Source::new("test", text), &mut |_, outcome| {
        if let Ok(Outcome::Defined { warnings: told, .. }) = outcome {
            warnings = told.into_iter().map(|warning| warning.message).collect();
        }
        ControlFlow::Continue(())
    });
    warnings
}

#[test]
fn callers_that_do_not_fit_are_told_of_once_and_counted() {
    for (mode, configure) in MODES {
        let mut context = context(configure(Config::new()));
        let callers: String = (0..30).map(|i| format!("def c{i}(x) f(x);")).collect();
        context.eval(&format!("def f(x) x; {callers}")).expect("they are defined");
        let told = warnings(&mut context, "def f(x y) x");
        assert_eq!(told.len(), 11, "{mode}: {told:?}");
        assert!(told[10].starts_with("20 more definitions call `f`"), "{mode}: {told:?}");
        assert_eq!(warnings(&mut context, "def f(x y) y"), [""; 0], "{mode}");
        assert_eq!(warnings(&mut context, "def f(x y z) y").len(), 11, "{mode}");
        assert_eq!(warnings(&mut context, "def f(x) x"), [""; 0], "{mode}");
    }
}

/// How far from a frame of the test its closures may be, on the same stack.
const NEAR: usize = 1 << 20;

/// Calls it from the depth of a recursion.
const DEEP: &str = "def deep(n) if n == 0 then place() else deep(n - 1) + 0; deep(1000)";

#[test]
fn functions_of_the_host_run_on_the_stack_of_the_thread_if_they_are_to() {
    for (mode, configure) in MODES {
        let on_thread = |text: &str, on| {
            let config = configure(Config::new()).host_functions_on_thread_stack(on);
            let config = config.host_function("place", 0, place_of).host_function("nested", 0, move |_| {
                let config = Config::new().host_functions_on_thread_stack(on);
                let mut inner = context(config.host_function("place", 0, place_of));
                let found = inner.eval(DEEP);
                found.map(Option::unwrap_or_default).map_err(|error| HostError(error.to_string()))
            });
            let here = 0_u8;
            let found = context(config).eval(text).expect("it runs").expect("it has a value");
            (found as usize).abs_diff((&raw const here).addr()) < NEAR
        };
        for text in ["place()", DEEP, "nested()"] {
            assert!(on_thread(text, true), "{mode}: {text}");
        }
        assert!(!on_thread("nested()", false), "{mode}");
    }
}

/// Returns where the stack is.
fn place_of(_: &mut Call<'_>) -> Result<f64, HostError> {
    let here = 0_u8;
    Ok(std::hint::black_box(&raw const here).addr() as f64)
}
