//! Runs at the end of their stacks, inside other runs, and stopped before they
//! begin: with the same results in every mode.

use crate::modes::MODES;
use kal::diagnostic::ErrorCode;
use kal::host::HostError;
use kal::source::Source;
use kal::{Config, Context, Engine, Error, Limits, Mode};
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak, mpsc};
use std::time::{Duration, Instant};

fn small_stack() -> Limits {
    Limits { stack: 1 << 20, ..Limits::default() }
}

fn context(config: Config) -> Context {
    Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts")
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorCode {
    result.expect_err("it is stopped").diagnostics()[0].code
}

#[test]
fn a_closure_has_a_stack_of_its_own_where_the_program_has_none_left() {
    for (mode, configure) in MODES {
        let config = configure(Config::new()).limits(small_stack()).host_function("deep", 1, |call| {
            // Every page of it is touched, as of all large frames.
            let mut frame = MaybeUninit::<[u8; 1 << 20]>::uninit();
            black_box(&mut frame);
            Ok(call.arguments[0] + 1.0)
        });
        let mut context = context(config);
        context.eval("def f(n) deep(n) + f(n + 1)").expect("it is defined");
        assert_eq!(code(context.eval("f(0)")), ErrorCode::StackOverflow, "{mode}");
        assert_eq!(context.eval("deep(2)").expect("it goes on"), Some(3.0), "{mode}");
    }
}

/// Returns an engine whose `again(n)` evaluates `again(n - 1)` in a context of
/// its own, with a function in between, until `n` is 0. The first failure is
/// kept.
fn endless(config: Config) -> (Arc<Engine>, Arc<Mutex<Option<ErrorCode>>>) {
    let first = Arc::new(Mutex::new(None));
    let engine = Arc::new_cyclic(|engine: &Weak<Engine>| {
        let (engine, first) = (engine.clone(), first.clone());
        let config = config.host_function("again", 1, move |call| {
            let depth = call.arguments[0];
            let Some(engine) = engine.upgrade().filter(|_| depth > 0.0) else { return Ok(0.0) };
            let text = format!("def f(n) 1 + again(n); f({})", depth - 1.0);
            let result = engine.context().and_then(|mut context| context.eval(&text));
            let value = result.map_err(|error| {
                let code = error.diagnostics().first().map(|diagnostic| diagnostic.code);
                let mut first = first.lock().expect("nobody panics");
                *first = first.or(code);
                HostError(error.to_string())
            })?;
            value.ok_or_else(|| HostError("no value".into()))
        });
        Engine::with_config(config).expect("an engine starts")
    });
    (engine, first)
}

#[test]
fn runs_inside_runs_have_an_end() {
    for (mode, configure) in MODES {
        // A small stack, the default of threads.
        let work = move || {
            let (engine, first) = endless(configure(Config::new().workers(1)).limits(small_stack()));
            let mut context = engine.context().expect("it starts");
            assert_eq!(context.eval("again(32)").expect("not too deep"), Some(32.0), "{mode}");
            let error = context.eval("again(33)").expect_err("too deep");
            assert_eq!(error.diagnostics()[0].code, ErrorCode::HostFailure, "{mode}");
            assert!(error.to_string().contains("stack overflow"), "{mode}: {error}");
            assert_eq!(*first.lock().expect("nobody panics"), Some(ErrorCode::StackOverflow), "{mode}");
            assert_eq!(context.eval("again(32)").expect("it goes on"), Some(32.0), "{mode}");
            assert!(context.eval("again(5000)").is_err(), "{mode}");
        };
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(work).expect("it starts");
        thread.join().expect("it ends well");
    }
}

const LOOP: &str = "for i = 0, 1 in i";

#[test]
fn a_deadline_outlives_the_runs_inside() {
    for mode in [Mode::Lazy, Mode::Interpret, Mode::Tiered] {
        let limits = Limits { deadline: Some(Duration::from_millis(500)), ..Limits::default() };
        let mut context = context(Config::new().mode(mode).limits(limits));
        context.eval("def f() for i = 0, 1 in i").expect("it is defined");
        let mut codes = Vec::new();
        let source = Source::new("test", format!("1\n{LOOP}\n2\n{LOOP}"));
        let _ = context.run(&source, &mut |context, outcome| {
            codes.push(outcome.err().map(|error| error.diagnostics()[0].code));
            if codes.len() == 1 {
                for _ in 0..2 {
                    assert_eq!(code(context.eval(LOOP)), ErrorCode::DeadlineExceeded, "{mode:?}");
                    assert_eq!(code(context.call("f", &[])), ErrorCode::DeadlineExceeded, "{mode:?}");
                }
            }
            ControlFlow::Continue(())
        });
        let late = Some(ErrorCode::DeadlineExceeded);
        assert_eq!(codes, [None, late, late, late], "{mode:?}");
        assert_eq!(context.eval("1 + 1").expect("it is over"), Some(2.0), "{mode:?}");
    }
}

#[test]
fn a_run_inside_may_have_an_earlier_deadline() {
    for mode in [Mode::Lazy, Mode::Interpret] {
        let limits = Limits { deadline: Some(Duration::from_secs(3600)), ..Limits::default() };
        let mut context = context(Config::new().mode(mode).limits(limits));
        let mut values = Vec::new();
        let _ = context.run(&Source::new("test", "1; 2"), &mut |context, outcome| {
            values.push(format!("{:?}", outcome.expect("it has time")));
            context.set_deadline(Some(Instant::now()));
            assert_eq!(code(context.eval(LOOP)), ErrorCode::DeadlineExceeded, "{mode:?}");
            context.set_deadline(None);
            ControlFlow::Continue(())
        });
        assert_eq!(values, ["Value(1.0)", "Value(2.0)"], "{mode:?}");
    }
}

#[test]
fn a_request_that_came_before_stops_what_has_no_check() {
    for (mode, configure) in MODES {
        let config = configure(Config::new()).host_function("host", 1, |call| Ok(call.arguments[0]));
        let mut context = context(config);
        context.eval("def leaf(x) x + 1").expect("it is defined");
        let formula = context.formula("sin(a)", &["a"]).expect("it is right");
        let leaf = context.function::<fn(f64) -> f64>("leaf").expect("it is defined");
        let handle = context.interrupt_handle();
        type Way<'a> = (&'a str, &'a dyn Fn(&mut Context) -> Result<f64, Error>);
        let ways: [Way<'_>; 5] = [
            ("a typed call", &|context| leaf.call(context, (0.0,))),
            ("a call by name", &|context| context.call("leaf", &[0.0])),
            ("a formula", &|context| formula.call(context, &[0.0])),
            ("a function of the library", &|context| context.call("sin", &[0.0])),
            ("a closure", &|context| context.call("host", &[0.0])),
        ];
        for (what, call) in ways {
            // The first call may link; later ones have nothing to wait for.
            for _ in 0..3 {
                handle.interrupt();
                assert_eq!(code(call(&mut context)), ErrorCode::Interrupted, "{mode}: {what}");
                assert!(!handle.is_pending(), "{mode}: {what}");
                context.set_deadline(Some(Instant::now()));
                assert_eq!(code(call(&mut context)), ErrorCode::DeadlineExceeded, "{mode}: {what}");
                context.set_deadline(None);
                handle.interrupt();
                handle.clear();
                assert!(call(&mut context).is_ok(), "{mode}: {what}");
            }
        }
        assert_eq!(context.eval("leaf(1)").expect("nothing is left"), Some(2.0), "{mode}");
    }
}

#[test]
fn a_deadline_outside_reaches_runs_in_other_contexts() {
    for (mode, configure) in MODES {
        let first = Arc::new(Mutex::new(None));
        let seen = first.clone();
        let config = configure(Config::new()).host_function("inner", 0, move |_| {
            // Of an engine that knows no deadlines.
            let mut context = context(configure(Config::new()));
            *seen.lock().expect("nobody panics") = Some(code(context.eval(LOOP)));
            assert_eq!(code(context.eval(LOOP)), ErrorCode::DeadlineExceeded, "{mode}");
            Ok(1.0)
        });
        let mut context = context(config);
        let outer = format!("def outer() inner() + ({LOOP}); outer()");
        context.set_deadline(Some(Instant::now() + Duration::from_millis(100)));
        assert_eq!(code(context.eval(&outer)), ErrorCode::DeadlineExceeded, "{mode}");
        assert_eq!(*first.lock().expect("nobody panics"), Some(ErrorCode::DeadlineExceeded), "{mode}");
        context.set_deadline(None);
        assert_eq!(context.eval("1 + 1").expect("it goes on"), Some(2.0), "{mode}");
    }
}

/// A closure that calls small functions, none of which takes long, is over when its run is.
#[test]
fn a_deadline_outside_reaches_calls_that_need_no_run() {
    for (mode, configure) in MODES {
        for text in ["def f(x) x + 1", "var v = 1; def f(x) x + v"] {
            let mut inner = context(configure(Config::new()));
            inner.eval(text).expect("it is defined");
            let f = inner.function::<fn(f64) -> f64>("f").expect("it is there");
            let inner = Mutex::new(inner);
            let mut outer = context(configure(Config::new().host_function("solve", 0, move |_| {
                let (mut inner, mut x) = (inner.lock().expect("no closure panics"), 0.0);
                loop {
                    x = f.call(&mut inner, (x,)).map_err(|error| HostError(error.to_string()))?;
                }
            })));
            outer.set_deadline(Some(Instant::now() + Duration::from_millis(100)));
            assert_eq!(code(outer.eval("solve()")), ErrorCode::DeadlineExceeded, "{mode}: {text}");
        }
    }
}

#[test]
fn an_interrupt_outside_reaches_runs_in_other_contexts() {
    for (mode, configure) in MODES {
        for running in [false, true] {
            let (ready, begun) = mpsc::channel();
            let first = Arc::new(Mutex::new(None));
            let seen = first.clone();
            let config = configure(Config::new()).host_function("inner", 0, move |call| {
                let mut context = context(configure(Config::new()));
                let mut between = context.engine().clone().context().expect("it starts");
                let own = context.interrupt_handle();
                own.clear();
                ready.send(()).expect("somebody waits");
                *seen.lock().expect("nobody panics") = Some(code(context.eval(LOOP)));
                // Until the function returns, whatever it runs is stopped.
                assert!(call.is_stopped(), "{mode}");
                assert_eq!(code(between.eval(LOOP)), ErrorCode::Interrupted, "{mode}");
                assert_eq!(code(context.eval(LOOP)), ErrorCode::Interrupted, "{mode}");
                // None of it is a request to the context itself.
                assert!(!own.is_pending(), "{mode}");
                Ok(1.0)
            });
            let mut context = context(config);
            let handle = context.interrupt_handle();
            let interrupts = std::thread::spawn(move || {
                begun.recv().expect("it begins");
                if running { handle.interrupt_running() } else { handle.interrupt() }
            });
            let outer = format!("def outer() inner() + ({LOOP}); outer()");
            assert_eq!(code(context.eval(&outer)), ErrorCode::Interrupted, "{mode}");
            interrupts.join().expect("it ends well");
            assert_eq!(*first.lock().expect("nobody panics"), Some(ErrorCode::Interrupted), "{mode}");
            assert_eq!(context.eval("1 + 1").expect("it goes on"), Some(2.0), "{mode}");
        }
    }
}

#[test]
fn a_link_inside_a_link_lets_the_outer_one_be() {
    for (mode, configure) in MODES {
        let (ready, begun) = mpsc::channel();
        let config = configure(Config::new()).host_function("inner", 0, move |_| {
            let mut context = context(configure(Config::new()));
            let mut beside = context.engine().clone().context().expect("it starts");
            let mut codes = Vec::new();
            // Between the items another context runs, and this one again.
            let _ = context.run(&Source::new("test", format!("1\n{LOOP}\n2")), &mut |context, outcome| {
                codes.push(outcome.err().map(|error| error.diagnostics()[0].code));
                if codes.len() == 1 {
                    assert_eq!(beside.eval("1").expect("it runs"), Some(1.0));
                    assert_eq!(context.eval("1").expect("it runs"), Some(1.0));
                    ready.send(()).expect("somebody waits");
                }
                ControlFlow::Continue(())
            });
            let stopped = Some(ErrorCode::Interrupted);
            assert_eq!(codes, [None, stopped, stopped], "{mode}");
            Ok(1.0)
        });
        let mut context = context(config);
        let handle = context.interrupt_handle();
        let interrupts = std::thread::spawn(move || {
            begun.recv().expect("it begins");
            handle.interrupt();
        });
        assert_eq!(code(context.eval("inner()")), ErrorCode::Interrupted, "{mode}");
        interrupts.join().expect("it ends well");
    }
}

#[test]
fn what_interrupts_only_what_runs_stops_nothing_later() {
    for (mode, configure) in MODES {
        let mut context = context(configure(Config::new()));
        context.eval("def leaf(x) x + 1; def f(x) leaf(x) + leaf(x)").expect("it is defined");
        let f = context.function::<fn(f64) -> f64>("f").expect("it is defined");
        let handle = context.interrupt_handle();
        for _ in 0..3 {
            handle.interrupt_running();
            assert_eq!(context.eval("f(1)").expect("nothing ran"), Some(4.0), "{mode}");
            handle.interrupt_running();
            assert_eq!(f.call(&mut context, (2.0,)).expect("nothing ran"), 6.0, "{mode}");
            // It takes nothing back that is for the next run.
            handle.interrupt();
            handle.interrupt_running();
            assert_eq!(code(f.call(&mut context, (2.0,))), ErrorCode::Interrupted, "{mode}");
        }
        let stops = handle.clone();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let stopping = std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                stops.interrupt_running();
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        assert_eq!(code(context.eval(LOOP)), ErrorCode::Interrupted, "{mode}");
        is_over.store(true, Ordering::Relaxed);
        stopping.join().expect("it ends well");
        assert_eq!(context.eval("f(1)").expect("it goes on"), Some(4.0), "{mode}");
    }
}
