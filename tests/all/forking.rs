//! Forks in every state of an engine: parent and child both continue, and
//! neither affects the other.
//!
//! `KAL_FORKS` is how often the process forks while compilers are at work.
#![allow(unsafe_code)]

use crate::exiting::end_an_engine_on_a_worker;
use crate::robustness::alone;
use crate::scale;
use crate::waiting::hold_a_worker;
use kal::source::Source;
use kal::{CacheOptions, Config, Context, Engine, Limits, Mode, Outcome, State, TierUp};
use std::ops::{ControlFlow, Range};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const MODES: [Mode; 4] = [Mode::Lazy, Mode::Eager, Mode::Tiered, Mode::Interpret];

/// A child that is to end well within a minute.
struct Child(libc::pid_t);

/// Forks, and has the child do something.
fn fork(work: impl FnOnce()) -> Child {
    // SAFETY: the child is this thread alone; that its locks and memory are in
    // order is what is tested.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: a signal ends a child that hangs, and `_exit` one that is done.
        unsafe { libc::alarm(60) };
        let is_well = catch_unwind(AssertUnwindSafe(work)).is_ok();
        // SAFETY: as above.
        unsafe { libc::_exit(i32::from(!is_well)) };
    }
    assert!(pid > 0, "it forks");
    Child(pid)
}

impl Child {
    fn ends_well(self) {
        assert_eq!(self.status(), 0, "how the child ended");
    }

    fn status(self) -> i32 {
        let mut status = 0;
        // SAFETY: the status is written before the call returns.
        assert_eq!(unsafe { libc::waitpid(self.0, &raw mut status, 0) }, self.0);
        status
    }
}

fn context(config: Config) -> Context {
    Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts")
}

fn value(context: &mut Context, text: &str) -> f64 {
    context.eval(text).unwrap_or_else(|error| panic!("{text}: {error}")).expect("a value")
}

fn define(context: &mut Context, text: &str) {
    assert_eq!(context.eval(text).expect("it is right"), None);
}

fn long(name: &str, terms: usize) -> String {
    let terms: Vec<String> = (0..terms).map(|index| format!("sin(x + {index})")).collect();
    format!("def {name}(x) {}", terms.join(" + "))
}

/// Defines, redefines and calls functions that are called after `who`, with
/// values of its own.
fn work_as(context: &mut Context, who: usize, functions: usize) {
    for index in 0..functions {
        let expected = (who * 1_000_000 + index) as f64;
        assert_eq!(value(context, &format!("def own{index}(x) x + {expected}; own{index}(0)")), expected);
    }
    for index in 0..functions {
        let expected = (who * 1_000_000 + index) as f64;
        assert_eq!(context.call(&format!("own{index}"), &[1.0]).expect("it runs"), expected + 1.0);
    }
    context.prepare_all().expect("all compiles");
    assert_eq!(value(context, "def once(x) x * 2; once(21)"), 42.0);
    assert_eq!(value(context, "def once(x) x * 3; once(21)"), 63.0);
}

/// Forks; both continue in the same context, then drop it.
fn both(mut context: Context, functions: usize) {
    let child = fork(|| {
        work_as(&mut context, 2, functions);
        // What the process would do that returns from `main`.
        drop(std::mem::replace(&mut context, self::context(Config::new())));
        work_as(&mut context, 3, functions);
    });
    work_as(&mut context, 1, functions);
    child.ends_well();
    work_as(&mut context, 4, functions);
    let child = fork(|| drop(context));
    child.ends_well();
}

#[test]
fn before_anything_is_compiled() {
    alone("forking::before_anything_is_compiled", || {
        for mode in MODES {
            both(context(Config::new().mode(mode)), 20);
        }
    });
}

#[test]
fn a_child_that_lets_go_of_code_does_not_take_it_from_its_parent() {
    alone("forking::a_child_that_lets_go_of_code_does_not_take_it_from_its_parent", || {
        for mode in MODES {
            let mut context = context(Config::new().mode(mode).tier_up(TierUp::Never));
            let names: Vec<String> = (0..60).map(|index| format!("f{index}")).collect();
            names.iter().for_each(|name| define(&mut context, &long(name, 300)));
            let sum = |context: &mut Context| -> f64 {
                names.iter().map(|name| context.call(name, &[0.5]).expect("it runs")).sum()
            };
            let expected = sum(&mut context);
            let engine = context.engine().clone();
            let mut context = Some(context);
            let child = fork(|| drop((context.take(), engine)));
            child.ends_well();
            let mut context = context.expect("the parent's");
            assert_eq!(sum(&mut context), expected);
            // And vice versa.
            let (release, wait) = pipe();
            let mut context = Some(context);
            let child = fork(|| {
                wait();
                assert_eq!(context.as_mut().map(sum), Some(expected));
            });
            let mut own = context.take().expect("the parent's");
            names.iter().for_each(|name| define(&mut own, &format!("def {name}(x) 1")));
            assert_eq!(sum(&mut own), 60.0);
            work_as(&mut own, 1, 200);
            drop(own);
            release();
            child.ends_well();
        }
    });
}

/// Returns a function that releases the other process, and one that waits for
/// that.
fn pipe() -> (impl FnOnce(), impl FnOnce()) {
    use std::io::{Read, Write};
    let (mut reader, mut writer) = std::io::pipe().expect("a pipe");
    let write = move || writer.write_all(b"x").expect("somebody reads");
    let read = move || reader.read_exact(&mut [0]).expect("somebody writes");
    (write, read)
}

#[test]
fn while_workers_are_idle() {
    alone("forking::while_workers_are_idle", || {
        for mode in MODES {
            let mut context = context(Config::new().mode(mode).workers(3));
            work_as(&mut context, 0, 30);
            both(context, 100);
        }
    });
}

#[test]
fn while_workers_compile() {
    alone("forking::while_workers_compile", || {
        for mode in [Mode::Lazy, Mode::Tiered] {
            for pause in 0..scale("KAL_FORKS", 12) {
                let mut context = context(Config::new().mode(mode).workers(2));
                work_as(&mut context, 0, 3);
                for name in ["a", "b", "c"] {
                    define(&mut context, &long(name, 500));
                    context.prepare(name).expect("a worker starts");
                }
                let expected: f64 = (0..500).map(|index| f64::from(index).sin()).sum();
                std::thread::sleep(Duration::from_micros(pause % 40 * 250));
                let child = fork(|| {
                    assert_eq!(context.call("own2", &[1.0]).expect("it runs"), 3.0);
                    for name in ["c", "b", "a"] {
                        assert!((value(&mut context, &format!("{name}(0)")) - expected).abs() < 1e-9);
                    }
                    work_as(&mut context, 2, 60);
                });
                work_as(&mut context, 1, 60);
                assert!((value(&mut context, "a(0) + b(0) + c(0)") - 3.0 * expected).abs() < 1e-9);
                child.ends_well();
            }
        }
    });
}

/// The standard library keeps a table of threads, under a lock that a fork copies as
/// it is.
#[test]
fn while_threads_begin_and_end() {
    alone("forking::while_threads_begin_and_end", || {
        for pause in 0..scale("KAL_FORKS", 12) * 10 {
            let mut context = context(Config::new().mode(Mode::Lazy).workers(2));
            define(&mut context, "def f(x) x + 1");
            context.prepare("f").expect("a worker starts");
            std::thread::sleep(Duration::from_micros(pause * 7 % 300));
            let child = fork(|| assert_eq!(value(&mut context, "f(1)"), 2.0));
            drop(context);
            fork(|| _ = value(&mut self::context(Config::new()), "def f(x) x; f(1)")).ends_well();
            child.ends_well();
        }
    });
}

/// Whether forks are to find static variables of LLVM half made.
static DELAYS: AtomicBool = AtomicBool::new(false);
/// The number of variables that have begun to be made since then.
static BEGUN: AtomicI32 = AtomicI32::new(0);

/// Takes the place of the function that C++ code calls before it makes a static
/// variable; there is time for a fork in between.
#[unsafe(no_mangle)]
extern "C" fn __cxa_guard_acquire(guard: *mut u64) -> libc::c_int {
    static NEXT: AtomicPtr<libc::c_void> = AtomicPtr::new(std::ptr::null_mut());
    if NEXT.load(Ordering::Relaxed).is_null() {
        // SAFETY: the name is a C string. Every program with C++ in it has the function.
        NEXT.store(
            unsafe { libc::dlsym(libc::RTLD_NEXT, c"__cxa_guard_acquire".as_ptr()) },
            Ordering::Relaxed,
        );
    }
    // SAFETY: this is its type, in the C++ ABI for Itanium, section 3.3.3.
    let next: extern "C" fn(*mut u64) -> libc::c_int =
        unsafe { std::mem::transmute(NEXT.load(Ordering::Relaxed)) };
    let is_to_be_made = next(guard);
    if is_to_be_made != 0 && DELAYS.load(Ordering::Relaxed) {
        BEGUN.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(50));
    }
    is_to_be_made
}

/// A child would wait for ever for a variable that a worker of its parent is making.
#[test]
fn while_llvm_makes_static_variables() {
    alone("forking::while_llvm_makes_static_variables", || {
        let definitions = [
            ("short", "def short(x) x + 1", 1.5),
            ("call", "def call(x) sin(x + 1) * sqrt(x)", 1.5_f64.sin() * 0.5_f64.sqrt()),
            ("sum", "def sum(n) var s = 0 in (for i = 0, i < 9 in s = s + n) : s", 5.0),
            ("choice", "def choice(x) if x < 1 then -x else short(x) + abs(x)", -0.5),
        ];
        let mut children = Vec::new();
        for mode in [Mode::Lazy, Mode::Eager] {
            let engine = Engine::with_config(Config::new().mode(mode).workers(1)).expect("it starts");
            let mut context = engine.context().expect("it starts");
            let mut other = engine.context().expect("it starts");
            DELAYS.store(true, Ordering::Relaxed);
            let worker = std::thread::spawn(move || {
                for (name, text, _) in definitions {
                    define(&mut other, text);
                    other.prepare(name).expect("a worker starts");
                    other.call(name, &[0.5]).expect("it runs");
                }
            });
            while !worker.is_finished() {
                let begun = BEGUN.load(Ordering::Relaxed) as usize;
                if begun > children.len() {
                    children.resize_with(begun, || {
                        fork(|| {
                            DELAYS.store(false, Ordering::Relaxed);
                            for (name, text, expected) in definitions {
                                define(&mut context, text);
                                let value = context.call(name, &[0.5]).expect("it runs");
                                assert!((value - expected).abs() < 1e-12, "{name}: {value}");
                            }
                        })
                    });
                }
            }
            worker.join().expect("it ends well");
            DELAYS.store(false, Ordering::Relaxed);
        }
        assert!(children.len() > 5, "variables were made");
        children.into_iter().for_each(Child::ends_well);
    });
}

#[test]
fn while_hot_code_is_compiled_in_the_background() {
    alone("forking::while_hot_code_is_compiled_in_the_background", || {
        let sum = "def sum(n) var s = 0 in (for i = 0, i < n in s = s + i) : s";
        for mode in [Mode::Lazy, Mode::Tiered] {
            let mut context = context(Config::new().mode(mode).tier_up(TierUp::After(10)));
            value(&mut context, &format!("def binary : 1 (a b) b; {sum}; def f(x) x + sum(100); f(1)"));
            for round in 0..scale("KAL_FORKS", 12) {
                let expected = value(&mut context, &format!("def g(x) f(x) + {round}; f(2)"));
                let go_on = |context: &mut Context| {
                    for _ in 0..50 {
                        assert_eq!(value(context, "g(2)"), expected + round as f64);
                        assert_eq!(value(context, "sum(20000)"), 200_010_000.0);
                    }
                };
                value(&mut context, "for i = 1, i < 20 in g(i)");
                let child = fork(|| go_on(&mut context));
                go_on(&mut context);
                child.ends_well();
            }
        }
    });
}

#[test]
fn with_deadlines() {
    alone("forking::with_deadlines", || {
        let limits = Limits { deadline: Some(Duration::from_millis(100)), ..Limits::default() };
        let stops = |context: &mut Context| {
            let start = Instant::now();
            let error = context.eval("for i = 0, 1 in i").expect_err("it has no end").to_string();
            assert_eq!(error, "the run took longer than allowed");
            assert!(start.elapsed() < Duration::from_secs(5));
            assert_eq!(value(context, "1 + 1"), 2.0);
        };
        for mode in MODES {
            let mut context = context(Config::new().mode(mode).limits(limits));
            for _ in 0..2 {
                let child = fork(|| {
                    stops(&mut context);
                    // A child of a child.
                    fork(|| stops(&mut context)).ends_well();
                });
                stops(&mut context);
                child.ends_well();
            }
        }
    });
}

#[test]
fn inside_of_a_run() {
    alone("forking::inside_of_a_run", || {
        for mode in MODES {
            // Each process continues the run, and compiles what it has not
            // compiled.
            let config = Config::new().mode(mode).host_function("fork", 0, |_| {
                // SAFETY: as above.
                Ok(f64::from(i32::from(unsafe { libc::fork() } != 0)))
            });
            let mut context = context(config);
            let text = "def later(x) x * 7; def f(x) var p = fork() in later(x) + p; f(6)";
            let result = catch_unwind(AssertUnwindSafe(|| {
                let result = value(&mut context, text);
                work_as(&mut context, result as usize, 100);
                result
            }));
            match result {
                Ok(43.0) => {}
                // SAFETY: it ends the child.
                other => unsafe { libc::_exit(i32::from(!matches!(other, Ok(42.0)))) },
            }
            let mut status = 0;
            // SAFETY: the status is written before the call returns.
            assert!(unsafe { libc::wait(&raw mut status) } > 0);
            assert_eq!(status, 0, "how the child ended");
        }
    });
}

#[test]
fn while_a_worker_ends_an_engine() {
    alone("forking::while_a_worker_ends_an_engine", || {
        end_an_engine_on_a_worker();
        fork(|| _ = value(&mut context(Config::new()), "def f(x) x; f(1)")).ends_well();
    });
}

#[test]
fn while_a_worker_is_in_the_trace_closure() {
    alone("forking::while_a_worker_is_in_the_trace_closure", || {
        let engine = Engine::with_config(Config::new().mode(Mode::Lazy).workers(1)).expect("it starts");
        let (mut context, go_on) = hold_a_worker(&engine);
        let child = fork(|| {
            work_as(&mut context, 2, 10);
            // The closure stayed with the parent's worker.
            let (told, events) = mpsc::channel();
            context.set_trace(Some(Box::new(move |it| _ = told.send(it.name.to_owned()))));
            define(&mut context, "def traced(x) x");
            assert_eq!(events.try_iter().collect::<Vec<_>>(), ["traced"]);
        });
        child.ends_well();
        drop(go_on);
        work_as(&mut context, 1, 10);
    });
}

/// A trace closure that forks goes on in both processes.
#[test]
fn in_the_trace_closure() {
    alone("forking::in_the_trace_closure", || {
        let mut context = context(Config::new().mode(Mode::Lazy));
        let (told, events) = mpsc::channel();
        let mut pid = None;
        context.set_trace(Some(Box::new(move |it| {
            // SAFETY: as above.
            let pid = *pid.get_or_insert_with(|| unsafe { libc::fork() });
            let _ = told.send((pid, it.name.to_owned()));
        })));
        define(&mut context, "def f(x) x");
        define(&mut context, "def g(x) x");
        let events: Vec<_> = events.try_iter().collect();
        let pid = events.first().expect("it was called").0;
        let all = [(pid, "f".to_owned()), (pid, "g".to_owned())];
        if pid == 0 {
            // SAFETY: it ends the child.
            unsafe { libc::_exit(i32::from(events != all)) };
        }
        assert_eq!(events, all);
        Child(pid).ends_well();
    });
}

/// Forks; a child that hangs is ended by a signal.
fn split() -> libc::pid_t {
    // SAFETY: as above.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: as above.
        unsafe { libc::alarm(60) };
    }
    pid
}

/// Adds a function that forks, for programs.
fn forks(config: Config) -> Config {
    config.host_function("fork", 0, |_| Ok(f64::from(split())))
}

/// Runs a program that forks, stores the result in `p`, and has no end. Parent
/// and child must each be stopped in time.
fn stops_in_both(context: &mut Context, text: &str) {
    let start = Instant::now();
    let error = context.eval(text).expect_err("it has no end").to_string();
    let is_well = error == "the run took longer than allowed" && start.elapsed() < Duration::from_secs(10);
    let pid = context.variable("p").expect("it is declared") as i32;
    if pid == 0 {
        // SAFETY: it ends the child.
        unsafe { libc::_exit(i32::from(!is_well)) };
    }
    assert!(is_well, "{error}, after {:?}", start.elapsed());
    Child(pid).ends_well();
}

#[test]
fn inside_of_a_run_with_a_deadline() {
    alone("forking::inside_of_a_run_with_a_deadline", || {
        let limits = Limits { deadline: Some(Duration::from_millis(500)), ..Limits::default() };
        let definitions = "def binary : 1 (a b) b; var p = 1; def f() (p = fork()) : (for i = 0, 1 in i) : 0";
        for mode in [Mode::Lazy, Mode::Tiered, Mode::Interpret] {
            let mut limited = context(forks(Config::new().mode(mode).limits(limits)));
            define(&mut limited, definitions);
            stops_in_both(&mut limited, "f()");
            let mut due = context(forks(Config::new().mode(mode)));
            define(&mut due, definitions);
            due.set_deadline(Some(Instant::now() + Duration::from_millis(500)));
            stops_in_both(&mut due, "(p = fork()) : for i = 0, 1 in i");
        }
    });
}

/// A program that forks while its text is kept for later runs, and lexed on another thread: the
/// child reads on without that thread, and the parent keeps all of it.
#[test]
fn while_a_text_is_kept_for_later_runs() {
    alone("forking::while_a_text_is_kept_for_later_runs", || {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let definitions = |numbers: Range<usize>| numbers.map(|n| format!("def f{n}(x) x * {n} + 1\n"));
        let text: String = definitions(0..900)
            .chain(["var p = fork()\n".to_owned()])
            .chain(definitions(900..16000))
            .chain((0..200).map(|n| format!("f{}(2)\n", n * 9)))
            .collect();
        let file = folder.path().join("p.kal");
        std::fs::write(&file, &text).expect("it can be written");
        let source = Source::in_folder(file.display().to_string(), text, folder.path());
        let options = CacheOptions::new(folder.path().join("cache"), folder.path().join("secret"));
        for is_second in [false, true] {
            let mut context = context(forks(Config::new().keep_texts(false).cache(options.clone())));
            let mut values = Vec::new();
            let _ = context.run(&source, &mut |_, outcome| {
                if let Outcome::Value(value) = outcome.expect("it is right") {
                    values.push(value);
                }
                ControlFlow::Continue(())
            });
            let expected: Vec<f64> = (0..200).map(|n| f64::from(n * 18 + 1)).collect();
            let pid = context.variable("p").expect("it is declared") as i32;
            let parsed = context.stats().parsed_units;
            if pid == 0 {
                // SAFETY: it ends the child, which writes no cache.
                unsafe { libc::_exit(i32::from(values != expected)) };
            }
            drop(context);
            Child(pid).ends_well();
            assert_eq!((values, parsed), (expected, u64::from(!is_second)));
        }
    });
}

/// The closure forks, and runs something else before it returns: what the outer
/// run has left of its time is all that this has.
#[test]
fn inside_of_a_run_that_waits_for_another() {
    alone("forking::inside_of_a_run_that_waits_for_another", || {
        let limits = Limits { deadline: Some(Duration::from_millis(500)), ..Limits::default() };
        for mode in [Mode::Lazy, Mode::Interpret] {
            let config = forks(Config::new().mode(mode)).host_function("inner", 1, move |call| {
                let mut inner = context(forks(Config::new().mode(mode)));
                inner.eval("def binary : 1 (a b) b; var p = 1").expect("it is right");
                if call.arguments[0] == 0.0 {
                    inner.set_variable("p", f64::from(split())).expect("it is declared");
                    stops_in_both(&mut inner, "for i = 0, 1 in i");
                } else {
                    stops_in_both(&mut inner, "(p = fork()) : for i = 0, 1 in i");
                }
                Ok(0.0)
            });
            for way in 0..2 {
                let mut context = context(config.clone().limits(limits));
                let error = context.eval(&format!("inner({way})")).expect_err("its time is over").to_string();
                assert_eq!(error, "the run took longer than allowed");
            }
        }
    });
}

/// Forks while the thread that watches looks at many contexts.
#[test]
fn while_deadlines_are_looked_at() {
    alone("forking::while_deadlines_are_looked_at", || {
        let limits = Limits { deadline: Some(Duration::from_millis(8)), ..Limits::default() };
        let config = Config::new().mode(Mode::Interpret).limits(limits);
        let engine = Engine::with_config(config).expect("it starts");
        let mut contexts: Vec<Context> = (0..2000).map(|_| engine.context().expect("it starts")).collect();
        // Whether there is time is not the question.
        contexts.iter_mut().for_each(|context| _ = context.eval("1"));
        for fork in 0..scale("KAL_FORKS", 12) * 8 {
            let _ = contexts[1].eval("1 + 1");
            std::thread::sleep(Duration::from_micros(fork * 7919 % 1500));
            self::fork(|| contexts[0].set_deadline(Some(Instant::now() + Duration::from_millis(1))))
                .ends_well();
        }
    });
}

/// Forks while another thread asks the outermost of many runs to stop, which it
/// does through all of them.
#[test]
fn while_runs_are_interrupted() {
    alone("forking::while_runs_are_interrupted", || {
        static ILL: AtomicI32 = AtomicI32::new(0);
        static DONE: AtomicBool = AtomicBool::new(false);
        fn nested() -> Config {
            Config::new().mode(Mode::Interpret).host_function("nested", 1, |call| {
                let depth = call.arguments[0];
                if depth > 0.0 {
                    let _ = context(nested()).eval(&format!("nested({})", depth - 1.0));
                    return Ok(0.0);
                }
                for _ in 0..scale("KAL_FORKS", 12) {
                    // The child leaves all runs and ends.
                    match split() {
                        0 => return Ok(0.0),
                        pid => ILL.fetch_or(Child(pid).status(), Ordering::Relaxed),
                    };
                }
                Ok(0.0)
            })
        }
        let mut context = context(nested());
        let handle = context.interrupt_handle();
        let parent = std::process::id();
        let interrupter = std::thread::spawn(move || {
            while !DONE.load(Ordering::Relaxed) {
                handle.interrupt_running();
            }
        });
        let _ = context.eval("nested(25)");
        if std::process::id() != parent {
            // SAFETY: it ends the child.
            unsafe { libc::_exit(0) };
        }
        DONE.store(true, Ordering::Relaxed);
        interrupter.join().expect("it ends well");
        assert_eq!(ILL.load(Ordering::Relaxed), 0, "how children ended");
    });
}

/// Runs of threads that do not exist in the child keep no code there.
#[test]
fn while_another_thread_runs() {
    alone("forking::while_another_thread_runs", || {
        let (begun, told) = mpsc::channel();
        let config = Config::new().mode(Mode::Lazy).workers(1).host_function("begun", 0, move |_| {
            let _ = begun.send(());
            Ok(0.0)
        });
        let engine = Engine::with_config(config).expect("it starts");
        let (mut context, mut other) =
            (engine.context().expect("it starts"), engine.context().expect("it starts"));
        let redefine = |context: &mut Context, first: u64| {
            let before = context.stats().code_bytes;
            for number in first..first + 100 {
                value(context, &format!("def f(x) x + {number}; f(1)"));
            }
            context.stats().code_bytes.saturating_sub(before)
        };
        redefine(&mut context, 0);
        let handle = other.interrupt_handle();
        let runs = std::thread::spawn(move || {
            other.eval("begun() + for i = 0, 1 in i").map_err(|error| error.to_string())
        });
        told.recv().expect("it runs");
        let child = fork(|| {
            assert!(redefine(&mut context, 100) < 4096);
            // A child of a child.
            fork(|| assert!(redefine(&mut context, 200) < 4096)).ends_well();
        });
        child.ends_well();
        handle.interrupt();
        assert_eq!(runs.join().expect("it ends well"), Err("interrupted".into()));
    });
}

/// A hot function whose compile was queued in the parent is compiled in the
/// child, too.
#[test]
fn while_a_hot_function_waits_for_a_worker() {
    alone("forking::while_a_hot_function_waits_for_a_worker", || {
        let config = Config::new().mode(Mode::Tiered).tier_up(TierUp::After(10)).workers(1);
        let engine = Engine::with_config(config).expect("it starts");
        let (_held, go_on) = hold_a_worker(&engine);
        let mut context = engine.context().expect("it starts");
        let loops = "def sum(n) var s = 0 in (for i = 0, i < n in s = s + i) : s";
        define(&mut context, &format!("def binary : 1 (a b) b; def f(x) x * 2 + 1; {loops}"));
        let heat = |context: &mut Context| {
            (0..1000).for_each(|_| assert_eq!(context.call("f", &[1.0]).expect("it runs"), 3.0));
            context.stats().objects_linked
        };
        let at_first = heat(&mut context);
        // It runs in code of the baseline compiler.
        assert_eq!(context.state("f"), Some(State::Materialized));
        assert_ne!(engine.usage().queued, 0);
        let becomes_code = |context: &mut Context| {
            let start = Instant::now();
            while heat(context) == at_first {
                assert!(start.elapsed() < Duration::from_secs(30), "it is never compiled");
            }
        };
        fork(|| becomes_code(&mut context)).ends_well();
        drop(go_on);
        becomes_code(&mut context);
    });
}

/// A loop that is still running, and whose compile was queued in the parent.
#[test]
fn inside_of_a_hot_loop_that_waits_for_a_worker() {
    alone("forking::inside_of_a_hot_loop_that_waits_for_a_worker", || {
        let config = forks(Config::new().mode(Mode::Tiered).tier_up(TierUp::After(10)).workers(1));
        let engine = Engine::with_config(config).expect("it starts");
        let (_held, _go_on) = hold_a_worker(&engine);
        let mut context = engine.context().expect("it starts");
        let turn = "(if i == 500 then p = fork() else 0) : s = s + 1";
        let sum = format!("def sum(n) var s = 0 in (for i = 0, i < n in {turn}) : s");
        context.declare("p", 1.0).expect("it is a name");
        define(&mut context, &format!("def binary : 1 (a b) b; {sum}"));
        // Long enough for a compile.
        let result = context.call("sum", &[2e7]).expect("it runs");
        assert_eq!(result, 20_000_001.0);
        match context.variable("p").expect("it is declared") as i32 {
            // Its worker has made the code that the parent's has not.
            // SAFETY: it ends the child.
            0 => unsafe { libc::_exit(i32::from(context.stats().objects_linked < 2)) },
            pid => Child(pid).ends_well(),
        }
    });
}
