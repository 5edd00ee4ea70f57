//! Waiting for compilers: what has to wait, for what, and what need not.

use kal::{Config, Context, Engine, Event, Mode};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Fails if `work` takes a minute: it waits for itself.
fn in_time(work: impl FnOnce() + Send + 'static) {
    let (done, wait) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        work();
        let _ = done.send(());
    });
    if wait.recv_timeout(Duration::from_secs(60)) == Err(mpsc::RecvTimeoutError::Timeout) {
        panic!("it waits for ever");
    }
    thread.join().expect("it ends well");
}

fn long(name: &str, terms: usize) -> String {
    let terms: Vec<String> = (0..terms).map(|index| format!("sin(x + {index})")).collect();
    format!("def {name}(x) {}", terms.join(" + "))
}

/// What is stopped while it waits for its code can be asked for again.
#[test]
fn abandoned_compiles_delay_nobody_for_ever() {
    const ABANDONED: usize = 24;
    let engine = Engine::with_config(Config::new().workers(1)).expect("it starts");
    let contexts: Vec<Context> = (0..ABANDONED)
        .map(|_| {
            let mut context = engine.context().expect("it starts");
            context.eval(&long("big", 1500)).expect("it is right");
            context.set_deadline(Some(Instant::now() + Duration::from_millis(2)));
            context.eval("big(1)").expect_err("there is no time to compile it");
            context
        })
        .collect();
    let mut context = engine.context().expect("it starts");
    assert_eq!(context.eval("def small(x) x + 1; small(1)").expect("it runs"), Some(2.0));
    let expected: f64 = (0..1500).map(|index| f64::from(index).sin()).sum();
    let mut last = contexts.into_iter().next_back().expect("there are many");
    last.set_deadline(None);
    assert!((last.call("big", &[0.0]).expect("it runs") - expected).abs() < 1e-9);
}

/// Evaluates in another context whenever something happens to a name.
fn traced(config: Config) {
    let engine = Engine::with_config(config).expect("it starts");
    let (mut context, mut other) =
        (engine.context().expect("it starts"), engine.context().expect("it starts"));
    let (told, events) = mpsc::channel();
    let mut count = 0;
    context.set_trace(Some(Box::new(move |_| {
        count += 1;
        let value = other.eval(&format!("def g(x) x + {count}; g(1)")).expect("it runs");
        told.send(value).expect("somebody listens");
    })));
    assert_eq!(context.eval("def f(x) x * 2; def h(x) f(x) + 1; h(3)").expect("it runs"), Some(7.0));
    context.prepare_all().expect("all compiles");
    drop(context);
    let values: Vec<_> = events.iter().collect();
    assert!(values.len() >= 2, "{values:?}");
    for (index, value) in values.iter().enumerate() {
        assert_eq!(*value, Some(index as f64 + 2.0));
    }
}

#[test]
fn a_trace_closure_may_evaluate_in_another_context() {
    for workers in [1, 2] {
        for mode in [Mode::Lazy, Mode::Eager, Mode::Tiered] {
            in_time(move || traced(Config::new().mode(mode).workers(workers)));
        }
    }
}

/// Occupies one worker of an engine, which is in the trace closure of the
/// returned context, until something is sent, or the sender is dropped.
pub fn hold_a_worker(engine: &Engine) -> (Context, mpsc::Sender<()>) {
    let mut context = engine.context().expect("it starts");
    context.eval("def held(x) x + 1").expect("it is right");
    let me = std::thread::current().id();
    let (begun, told) = mpsc::channel();
    let (go_on, wait) = mpsc::channel();
    context.set_trace(Some(Box::new(move |_| {
        if std::thread::current().id() != me {
            let _ = begun.send(());
            let _ = wait.recv();
        }
    })));
    context.prepare("held").expect("a worker starts");
    told.recv_timeout(Duration::from_secs(60)).expect("a worker tells of the code");
    (context, go_on)
}
