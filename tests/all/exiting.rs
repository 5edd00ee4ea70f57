//! Processes that end while engines are at work.
//!
//! `KAL_EXITS` is how many processes end.

use crate::scale;
use kal::{Config, Engine, Level, Mode};
use std::process::Command;
use std::sync::OnceLock;
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
        let output = Command::new(std::env::current_exe().expect("it has a path"))
            .args(["--exact", TEST, "--nocapture"])
            .env(VARIABLE, (exit * 7919 % 60_000).to_string())
            .output()
            .expect("it starts");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(7), "exit {exit}: {}: {told}", output.status);
    }
    println!("{exits} processes ended with the code that they asked for");
}
