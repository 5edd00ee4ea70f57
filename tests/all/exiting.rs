//! Processes that end while engines are at work.
//!
//! `KAL_EXITS` is how many processes end.

use crate::scale;
use crate::waiting::hold_a_worker;
use kal::{Config, Engine, Level, Mode};
use std::process::Command;
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

const VARIABLE: &str = "KAL_TEST_EXITS_AFTER";

/// Ends after this many microseconds, while threads that are never joined
/// define and call functions in an engine that is never dropped.
fn exit_at_work(microseconds: u64) -> ! {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    let config = Config::new().mode(Mode::Lazy).level(Level::ALL[microseconds as usize % 4]);
    ENGINE.set(Engine::with_config(config).expect("it starts")).expect("it is set once");
    for thread in 0..4 {
        std::thread::spawn(move || {
            let mut context = ENGINE.get().expect("it is there").context().expect("it starts");
            for number in 0u64.. {
                let text = format!("def f{thread}(x) x + sin({number} * x); f{thread}(0)");
                assert_eq!(context.eval(&text).expect("it runs"), Some(0.0));
            }
        });
    }
    std::thread::sleep(Duration::from_micros(microseconds));
    std::process::exit(7);
}

#[test]
fn a_process_may_exit_while_workers_compile() {
    const TEST: &str = "exiting::a_process_may_exit_while_workers_compile";
    if let Ok(after) = std::env::var(VARIABLE) {
        exit_at_work(after.parse().expect("it is a number"));
    }
    let exits = scale("KAL_EXITS", 50);
    for exit in 0..exits {
        // Every second process ends while LLVM is starting.
        let after = if exit % 2 == 0 { exit * 7919 % 60_000 } else { 200 + exit * 7919 % 1_800 };
        let output = Command::new(std::env::current_exe().expect("it has a path"))
            .args(["--exact", TEST, "--nocapture"])
            .env(VARIABLE, after.to_string())
            .output()
            .expect("it starts");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(7), "exit {exit}: {}: {told}", output.status);
    }
    println!("{exits} processes ended with the code that they asked for");
}

/// Has one worker end an engine, and wait for the other one, which never ends:
/// a trace closure owns the last context. Returns when that is being dropped. A
/// process that then hangs is aborted.
pub fn end_an_engine_on_a_worker() {
    struct Tells(mpsc::Sender<()>);
    impl Drop for Tells {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_secs(30));
        std::process::abort();
    });
    let engine = Engine::with_config(Config::new().mode(Mode::Lazy).workers(2)).expect("it starts");
    let (other, never) = hold_a_worker(&engine);
    std::mem::forget(never);
    let (mut context, last) = (engine.context().expect("it starts"), engine.context().expect("it starts"));
    context.eval("def f(x) x + 1").expect("it is right");
    let ((begun, told), (go_on, wait), (dropped, end)) = (mpsc::channel(), mpsc::channel(), mpsc::channel());
    let (me, owned) = (std::thread::current().id(), (Tells(dropped), last));
    context.set_trace(Some(Box::new(move |_| {
        let _ = &owned;
        if std::thread::current().id() != me {
            let _ = begun.send(());
            let _ = wait.recv();
        }
    })));
    context.prepare("f").expect("a worker starts");
    told.recv().expect("a worker tells of the code");
    drop((context, other, engine));
    go_on.send(()).expect("the worker waits");
    end.recv().expect("the worker drops the closure");
}

#[test]
fn a_process_may_exit_while_a_worker_ends_an_engine() {
    const TEST: &str = "exiting::a_process_may_exit_while_a_worker_ends_an_engine";
    const VARIABLE: &str = "KAL_TEST_ENDS_ON_A_WORKER";
    if std::env::var_os(VARIABLE).is_some() {
        end_an_engine_on_a_worker();
        std::process::exit(7);
    }
    let output = Command::new(std::env::current_exe().expect("it has a path"))
        .args(["--exact", TEST, "--nocapture"])
        .env(VARIABLE, "1")
        .output()
        .expect("it starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(7), "{}: {told}", output.status);
}
