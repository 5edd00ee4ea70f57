//! Systems that refuse something: files in `/tmp`, addresses, a thread's stack.

use crate::binary::{Ran, finish, kal};
use crate::robustness::alone;
use kal::{Config, Engine, TierUp};
use std::process::Command;

/// Returns what a shell says that runs a script; `$KAL` is the command.
fn shell(script: &str) -> Ran {
    finish(Command::new("sh").args(["-c", script]).env("KAL", kal().get_program()))
}

#[test]
fn the_map_for_perf_follows_no_link_and_its_lack_stops_nothing() {
    let folder = std::env::temp_dir().join(format!("kal-systems-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("it can be made");
    let target = folder.join("target");
    let ran = shell(&format!(
        "ln -sf {} /tmp/perf-$$.map; echo $$; exec $KAL --perf -e 'def f(x) x + 1; f(1)'",
        target.display()
    ));
    let (process, value) = ran.out().split_once('\n').expect("two lines");
    let map = format!("/tmp/perf-{process}.map");
    std::fs::remove_file(&map).expect("the link is there");
    assert_eq!((value, ran.code), ("2\n", Some(0)), "{}", ran.err());
    assert!(ran.err().contains(&map) && ran.err().starts_with("warning: "), "{}", ran.err());
    assert!(!target.exists());
    std::fs::remove_dir_all(&folder).expect("it was made");
}

#[test]
fn the_map_for_perf_begins_anew_for_each_process() {
    // That of a process of the same number that is gone, and that of another compiler of this one.
    for (age, stays) in [("yesterday", false), ("tomorrow", true)] {
        let ran = shell(&format!(
            "echo '1 1 before' >/tmp/perf-$$.map; touch -d {age} /tmp/perf-$$.map; echo $$; \
             exec $KAL --perf -e 'def f(x) x + 1; f(1)'"
        ));
        let (process, value) = ran.out().split_once('\n').expect("two lines");
        assert_eq!((value, ran.err(), ran.code), ("2\n", "", Some(0)));
        let map = format!("/tmp/perf-{process}.map");
        let names = std::fs::read_to_string(&map).expect("it was written");
        std::fs::remove_file(&map).expect("it is there");
        assert_eq!(names.contains("before"), stays, "{names}");
        assert!(names.contains(" f$impl$"), "{names}");
    }
}

#[test]
fn few_addresses_are_enough() {
    let limits =
        [800_000, 1_000_000, 1_200_000, 1_500_000, 2_000_000, 2_500_000, 3_000_000, 3_600_000, 4_000_000];
    let modes = ["--lazy", "--eager", "--tiered", "--interpret"];
    for (kilobytes, mode) in limits.into_iter().flat_map(|limit| modes.map(|mode| (limit, mode))) {
        let ran = shell(&format!("ulimit -v {kilobytes}; exec $KAL {mode} -e 'def f(x) x + 1; f(41)'"));
        assert_eq!((ran.out(), ran.err(), ran.code), ("42\n", "", Some(0)), "{kilobytes} {mode}");
    }
}

#[test]
fn a_small_stack_compiles_small_functions() {
    let mut context = Engine::with_config(Config::new().worker_stack(0).tier_up(TierUp::Never))
        .and_then(|engine| engine.context())
        .expect("it starts");
    assert_eq!(context.eval("def f(x) x + 1; f(41)").expect("it compiles"), Some(42.0));
    let text = |terms: usize| format!("def g(x) x{}; g(1)", " + 1".repeat(terms));
    assert_eq!(context.eval(&text(7_000)).expect("it compiles"), Some(7001.0));
    let error = context.eval(&text(10_000)).expect_err("it is too large").to_string();
    assert!(error.contains("it is too large, with 20001 operations of 16384 at most"), "{error}");
}

/// Returns the address space in use by this process, in bytes.
fn addresses() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").expect("Linux has it");
    status.split(' ').next().and_then(|pages| pages.parse::<u64>().ok()).expect("it is a number") * 4096
}

#[test]
fn a_handle_keeps_no_context() {
    alone("systems::a_handle_keeps_no_context", || {
        let engine = Engine::new().expect("it starts");
        let handle = || {
            let mut context = engine.context().expect("it starts");
            assert_eq!(context.eval("1 + 1").expect("it runs"), Some(2.0));
            context.interrupt_handle()
        };
        let first = handle();
        let before = addresses();
        let handles: Vec<_> = (0..20).map(|_| handle()).collect();
        let more = addresses() - before;
        assert!(more < 100 << 20, "{more} bytes more");
        for handle in handles.iter().chain([&first]) {
            handle.interrupt();
            assert!(!handle.is_pending());
            handle.clear();
        }
    });
}
