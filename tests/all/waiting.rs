//! Waiting for compilers: what has to wait, for what, and what need not.

use kal::{Config, Context, Engine, Event, Mode, State, TierUp};
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
    let engine = Engine::with_config(Config::new().workers(1).tier_up(TierUp::Never)).expect("it starts");
    let contexts: Vec<Context> = (0..ABANDONED)
        .map(|index| {
            let mut context = engine.context().expect("it starts");
            // Each text is another, so that no context gets the code of the one before.
            context.eval(&format!("{} + {index}", long("big", 1500))).expect("it is right");
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
    let expected = expected + (ABANDONED - 1) as f64;
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

/// The closure that is replaced takes its time: what happens meanwhile is told to
/// the next one at once.
#[test]
fn what_happens_while_a_trace_closure_is_replaced_is_told() {
    struct Slow(Context, Option<mpsc::Sender<()>>);
    impl Drop for Slow {
        fn drop(&mut self) {
            drop(self.1.take());
            // Behind everything else that the worker has to do.
            self.0.eval("def behind(x) x").expect("it is right");
            self.0.prepare("behind").expect("it is queued");
            while self.0.state("behind") != Some(State::Materialized) {
                std::thread::yield_now();
            }
        }
    }
    let engine = Engine::with_config(Config::new().mode(Mode::Lazy).workers(1)).expect("it starts");
    let (_held, go_on) = hold_a_worker(&engine);
    let (mut context, other) = (engine.context().expect("it starts"), engine.context().expect("it starts"));
    context.eval("def f(x) x + 1").expect("it is right");
    let slow = Slow(other, Some(go_on));
    context.set_trace(Some(Box::new(move |_| _ = &slow)));
    context.prepare("f").expect("it is queued");
    let (told, events) = mpsc::channel();
    context.set_trace(Some(Box::new(move |it| _ = told.send((it.name.to_owned(), it.event)))));
    let events: Vec<_> = events.try_iter().collect();
    assert_eq!(events, [("f".to_owned(), Event::Materialized)]);
}
