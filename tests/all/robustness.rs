//! Nothing a program does takes the process down: what the limits promise, at
//! sizes that a suite can afford. `make robustness` has the same tests at the
//! sizes that `docs/robustness.md` reports, by environment variables.

use crate::binary::{self, kal, run, run_with};
use crate::scale;
use kal::diagnostic::ErrorCode;
use kal::source::Source;
use kal::{Config, Context, Declaration, Engine, Error, Level, Limits, Mode, Outcome, State};
use std::io::Read;
use std::ops::ControlFlow;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Runs a test in a process of its own, where nothing else uses memory.
pub fn alone(test: &str, work: impl FnOnce()) {
    const VARIABLE: &str = "KAL_TEST_ALONE";
    if std::env::var_os(VARIABLE).is_some_and(|alone| alone == test) {
        return work();
    }
    let output = std::process::Command::new(std::env::current_exe().expect("it has a path"))
        .args(["--exact", test, "--nocapture"])
        .env(VARIABLE, test)
        .output()
        .expect("it starts");
    let told =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    print!("{told}");
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}

/// Returns the memory in use by this process, in bytes.
pub fn resident() -> i64 {
    let status = std::fs::read_to_string("/proc/self/statm").expect("Linux has it");
    let pages: i64 = status.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("it is a number");
    pages * 4096
}

fn context(config: Config) -> Context {
    Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts")
}

fn small_stack() -> Config {
    Config::new().limits(Limits { stack: 1 << 20, ..Limits::default() })
}

fn code(result: &Result<Option<f64>, Error>) -> Option<ErrorCode> {
    result.as_ref().err().and_then(|error| error.diagnostics().first()).map(|diagnostic| diagnostic.code)
}

fn overflows(context: &mut Context, text: &str) {
    let result = context.eval(text);
    assert_eq!(code(&result), Some(ErrorCode::StackOverflow), "{text}: {result:?}");
}

// --- the stack ----------------------------------------------------------------

/// Kinds of endless recursion; each redefines what it needs.
const ENDLESS: [&str; 8] = [
    "def f(x) 1 + f(x + 1); f(0)",
    "def f(x) g(x) + 1; def g(x) f(x) * 2; f(0)",
    // The first call of `h` comes deep in the recursion, where it is pending.
    "def h(x) k(x) + 1; def k(x) if x < 5000 then k(x + 1) + 1 else h(x); h(0)",
    "def v(x) var a = x, b = a in 1 + v(a + b); v(0)",
    "def w(a b c d e f g h i j) 1 + w(b, c, d, e, f, g, h, i, j, a); w(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)",
    "def l(x) for i = 0, 1 in l(i); l(0)",
    "def c(x) if x < 0 then 0 else if x < 1e9 then 1 + c(x + 1) else 2 + c(x); c(0)",
    "def t(x) if x >= 0 then 1 + t(x + 1) else x; t(0)",
];

fn recur(context: &mut Context, times: u64) {
    for time in 0..times {
        overflows(context, ENDLESS[time as usize % ENDLESS.len()]);
    }
    assert_eq!(context.eval("1 + 1").expect("it goes on"), Some(2.0));
}

#[test]
fn endless_recursions_leave_nothing_behind() {
    alone("robustness::endless_recursions_leave_nothing_behind", || {
        let mut context = context(small_stack());
        recur(&mut context, 600);
        let (before, start, times) = (resident(), Instant::now(), scale("KAL_RECURSIONS", 600));
        recur(&mut context, times);
        let grown = resident() - before;
        println!("{times} overflows took {:?} and {grown} bytes", start.elapsed());
        assert!(grown < 1 << 20, "{grown} bytes more");
    });
}

#[test]
fn endless_recursions_on_four_threads() {
    alone("robustness::endless_recursions_on_four_threads", || {
        let engine = Engine::with_config(small_stack()).expect("it starts");
        let each = scale("KAL_RECURSIONS", 600) / 4;
        let round = |each: u64| {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    let engine = engine.clone();
                    scope.spawn(move || recur(&mut engine.context().expect("it starts"), each));
                }
            });
            resident()
        };
        let before = round(600);
        let start = Instant::now();
        let grown = round(each) - before;
        println!("4 × {each} overflows took {:?} and {grown} bytes", start.elapsed());
        assert!(grown < 1 << 20, "{grown} bytes more");
        // Better code that was asked for and never made would keep the code it
        // was to replace.
        let code = engine.context().expect("it starts").stats().code_bytes;
        assert!(code < 64 << 10, "{code} bytes of code");
    });
}

#[test]
fn the_whole_stack_overflows_and_is_given_back() {
    alone("robustness::the_whole_stack_overflows_and_is_given_back", || {
        let mut context = context(Config::new());
        recur(&mut context, 8);
        let before = resident();
        recur(&mut context, 8);
        // A stack that was kept would be 256 MiB.
        let grown = resident() - before;
        assert!(grown < 8 << 20, "{grown} bytes more");
    });
}

#[test]
fn frames_larger_than_the_reserve_are_not_made() {
    for level in Level::ALL {
        let limits = Limits { stack: 8 << 20, ..Limits::default() };
        let mut context = context(Config::new().level(level).limits(limits));
        for count in [300, 3_000, 40_000] {
            if count > 3_000 && level > Level::O0 {
                continue; // Compiled as if at O0 anyway.
            }
            let locals: Vec<String> = (0..count).map(|index| format!("v{index} = x + {index}")).collect();
            let sum = format!("v0 + v{} * v{}", count / 2, count - 1);
            context
                .eval(&format!(
                    "def wide(x) var {} in if x < 1 then {sum} else {sum} + wide(x - 1)",
                    locals.join(", ")
                ))
                .expect("it is defined");
            let expected = (count / 2) as f64 * (count - 1) as f64;
            assert_eq!(context.eval("wide(0)").expect("it fits"), Some(expected));
            overflows(&mut context, "wide(1e9)");
            let parameters: String = (0..count).map(|index| format!("p{index} ")).collect();
            let passed: String = (1..count).map(|index| format!(", p{index}")).collect();
            let given: String = (1..count).map(|index| format!(", {index}")).collect();
            context
                .eval(&format!(
                    "def many({parameters}) if p0 < 1 then p{} else 1 + many(p0 - 1{passed})",
                    count - 1
                ))
                .expect("it is defined");
            assert_eq!(context.eval(&format!("many(3{given})")).expect("it fits"), Some((count + 2) as f64));
            overflows(&mut context, &format!("many(1e9{given})"));
            let arguments: Vec<f64> = (0..count).map(f64::from).collect();
            assert_eq!(context.call("many", &arguments).expect("it fits"), f64::from(count - 1));
        }
    }
}

#[test]
fn more_arguments_than_the_stack_holds() {
    let mut context = context(small_stack());
    let parameters: String = (0..100_000).map(|index| format!("p{index} ")).collect();
    context.eval(&format!("def many({parameters}) p99999")).expect("it is defined");
    let result = context.call("many", &vec![7.0; 100_000]).map(Some);
    assert_eq!(code(&result), Some(ErrorCode::StackOverflow));
    let given = vec!["7"; 100_000].join(", ");
    overflows(&mut context, &format!("many({given})"));
    assert_eq!(context.eval("1 + 1").expect("it goes on"), Some(2.0));
}

#[test]
fn host_functions_of_many_arguments() {
    let sum = |call: &mut kal::host::Call<'_>| Ok(call.arguments.iter().sum());
    let mut context =
        context(small_stack().host_function("sum", 1_000, sum).host_function("total", 20_000, sum));
    let numbers: Vec<String> = (0..1_000).map(|index| index.to_string()).collect();
    assert_eq!(context.eval(&format!("sum({})", numbers.join(", "))).expect("it fits"), Some(499_500.0));
    context.eval(&format!("def f(x) total({}) + f(x)", vec!["x"; 20_000].join(", "))).expect("it is defined");
    overflows(&mut context, "f(1)");
}

// --- compile failures ---------------------------------------------------------

#[test]
fn full_code_memory_is_an_error_and_passes() {
    let limits = Limits { max_code_bytes: 1 << 20, max_compiled_operations: 100_000, ..Limits::default() };
    for mode in [Mode::Lazy, Mode::Eager] {
        let mut context = context(Config::new().mode(mode).limits(limits));
        let long = |name: &str, terms: usize| {
            let terms: Vec<String> = (0..terms).map(|index| format!("sin(x + {index})")).collect();
            format!("def {name}(x) {}", terms.join(" + "))
        };
        context.eval(&long("first", 12_000)).expect("it is defined");
        context.call("first", &[1.0]).expect("there is room for it");
        context.eval(&long("second", 12_000)).expect("it is defined");
        for _ in 0..2 {
            let result = context.call("second", &[1.0]).map(Some);
            assert_eq!(code(&result), Some(ErrorCode::CompileFailure), "{result:?}");
            let error = result.expect_err("just seen");
            assert!(error.to_string().starts_with("`second` cannot be compiled"), "{error}");
            assert!(error.to_string().contains("code memory is full"), "{error}");
            assert_eq!(context.state("second"), Some(State::Pending));
        }
        assert_eq!(context.eval("def small(x) x + 1; small(1)").expect("it goes on"), Some(2.0));
        context.eval("def first(x) x").expect("the old code goes");
        context.call("second", &[1.0]).expect("now there is room, and it is tried again");
    }
}

// --- the world outside --------------------------------------------------------

/// Each calls the one before twice: inlined all the way, a million copies.
#[test]
fn calls_that_double_with_every_level_are_not_all_inlined() {
    alone("robustness::calls_that_double_with_every_level_are_not_all_inlined", || {
        let mut context = context(Config::new());
        let mut text = "var c = 1; def f0(x) x * c + 1;".to_owned();
        for level in 1..=20 {
            text += &format!("def f{level}(x) f{0}(x) + f{0}(x + 1);", level - 1);
        }
        let before = resident();
        // In a loop, and in what recurs.
        let in_loop = "def g(n) var s in (for i = 0, i < n in s = s + f20(i)) + s; g(0)";
        assert_eq!(context.eval(&(text + in_loop)).expect("it runs"), Some(11_534_336.0));
        let recurs = "def r(n) if n < 1 then f20(0) else r(n - 1); r(1)";
        assert_eq!(context.eval(recurs).expect("it runs"), Some(11_534_336.0));
        let (code, grown) = (context.stats().code_bytes, resident() - before);
        assert!(code < 1 << 20, "{code} bytes of code");
        assert!(grown < 200 << 20, "{grown} bytes more");
    });
}

#[test]
fn whoever_is_told_of_what_happens_cannot_break_it() {
    for workers in [1, 3] {
        let token = Arc::new(());
        let held = token.clone();
        let config = Config::new()
            .workers(workers)
            .host_function("token", 0, move |_| Ok(Arc::strong_count(&held) as f64));
        let engine = Engine::with_config(config).expect("it starts");
        let mut context = engine.context().expect("a context starts");
        let mut told = 0;
        context.set_trace(Some(Box::new(move |_| {
            told += 1;
            assert!(told < 4, "as it should");
        })));
        let text = "def f(x) x + 1; def g(x) f(x) * 2; def h(x) for i = 0, i < x in g(i); h(3) + g(4)";
        assert_eq!(context.eval(text).expect("it runs"), Some(10.0));
        assert_eq!(context.eval("token()").expect("it runs"), Some(2.0));
        // The engine ends with its last handle, not with its last job.
        context.set_trace(Some(Box::new(|_| ())));
        for index in 0..20 {
            context.eval(&format!("def p{index}(x) for i = 0, i < x in i * x")).expect("it is defined");
            context.prepare(&format!("p{index}")).expect("it is there");
        }
        drop((context, engine));
        assert_eq!(Arc::strong_count(&token), 1);
    }
}

#[test]
fn foreign_functions_are_declared_and_called() {
    let j0 = ["--allow-extern", "j0=libm.so.6"];
    let kal = |lines: &[&str]| {
        let texts = lines.iter().flat_map(|line| ["-e", *line]);
        run(&j0.into_iter().chain(texts).collect::<Vec<_>>())
    };
    let said = |lines: &[&str]| kal(lines).said().first().cloned().unwrap_or_default();
    let declared = kal(&["extern j0(x)", "def f(x) j0(x) + 1", "f(0)", "extern j0(x)"]);
    assert_eq!((declared.out(), declared.err()), ("2\n", ""));
    assert_eq!(
        said(&["extern j0(x)", "extern j0(x y)"]),
        "error[E0207] 1:8 `j0` is already declared to take 1 argument, not 2"
    );
    assert_eq!(said(&["extern j0(x)", "j0(1, 2)"]), "error[E0205] 1:1 `j0` takes 1 argument, not 2");
    let undeclared = kal(&["def f(x) j0(x)", "f(0)"]);
    assert_eq!(undeclared.said()[0], "error[E0301] 1:10 `f` calls `j0`, which is not declared");
    assert!(undeclared.err().contains("`extern j0(x)`"), "{}", undeclared.err());
    assert_eq!(said(&["def f(x) j0(x, x)", "extern j0(x)", "f(0)"]).split(' ').next(), Some("error[E0205]"));
    assert_eq!(said(&["def j0(x) 5", "j0(1)"]), "");
    let missing = run(&["--allow-extern", "no_such_function", "-e", "1"]);
    assert_eq!((missing.code, missing.out()), (Some(1), ""));
    let missing = run(&["--allow-extern", "f=/no/such/library.so", "-e", "1"]);
    assert!(missing.code == Some(1) && missing.err().contains("cannot be loaded"), "{}", missing.err());
}

/// Returns the names that a shared library exports, by its dynamic symbol
/// table.
fn exported(library: &str) -> Vec<String> {
    let output = std::process::Command::new("nm").args(["-D", "--defined-only", library]).output();
    let output = output.expect("binutils are installed, as rustc needs a linker");
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    let name = |line: &str| {
        line.split_whitespace().last().map(|name| name.split('@').next().unwrap_or(name).to_owned())
    };
    // What is no identifier is the name of a version.
    let is_identifier = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    names.lines().filter_map(name).filter(is_identifier).collect()
}

#[test]
fn no_export_of_the_c_library_can_be_reached() {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux has it");
    let path = |name: &str| {
        maps.lines().filter_map(|map| map.split_whitespace().last()).find(|path| path.contains(name))
    };
    let mut names: Vec<String> =
        ["/libc.so", "/libm.so"].iter().filter_map(|name| path(name)).flat_map(exported).collect();
    names.sort();
    names.dedup();
    assert!(names.len() > 2_000, "only {} names", names.len());
    let mut context = context(Config::new());
    let mut accepted = Vec::new();
    for name in &names {
        for parameters in ["", "x", "x y", "x y z"] {
            let mut outcomes = Vec::new();
            let source = Source::new("extern", format!("extern {name}({parameters})"));
            let _ = context.run(&source, &mut |_, outcome| {
                outcomes.push(outcome);
                ControlFlow::Continue(())
            });
            for outcome in outcomes {
                match outcome {
                    Ok(Outcome::Extern { declares: Declaration::Host, .. }) => accepted.push(name.as_str()),
                    // Declared ahead of a definition, which nothing of the process is.
                    Ok(_) => {}
                    Err(error) => {
                        let code = error.diagnostics()[0].code;
                        assert!(
                            [ErrorCode::ExternArity, ErrorCode::UnexpectedToken].contains(&code),
                            "{name}: {error}"
                        );
                    }
                }
            }
        }
        // Neither by a declaration and a call nor by a call alone.
        if !accepted.contains(&name.as_str()) && name.starts_with(char::is_alphabetic) {
            for arguments in ["", "1", "1, 2", "1, 2, 3"] {
                let result = context.eval(&format!("{name}({arguments})"));
                assert!(result.is_err(), "{name} was called: {result:?}");
            }
        }
    }
    println!("{} names tried, {} on the list: {}", names.len(), accepted.len(), accepted.join(" "));
    assert!(accepted.len() < 50 && accepted.contains(&"sin"), "{accepted:?}");
    assert!(!accepted.iter().any(|name| ["system", "exit", "abort", "malloc", "free"].contains(name)));
}

#[test]
fn a_closed_pipe_ends_quietly() {
    for text in
        ["for i = 0, 1 in printd(i)", "for i = 0, 1 in putchard(65)", "def f(x) printd(x) + f(x + 1); f(0)"]
    {
        let mut child = kal()
            .args(["-e", text])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut few = [0; 16];
        child.stdout.take().expect("it is piped").read_exact(&mut few).expect("it writes");
        let ended = child.wait_with_output().expect("it ends");
        assert_eq!(
            (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned()),
            (Some(141), String::new())
        );
    }
    let many = "1;\n".repeat(100_000);
    let mut child =
        kal().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    drop(child.stdout.take());
    let ended = std::thread::scope(|scope| {
        scope.spawn(move || drop(std::io::Write::write_all(&mut stdin, many.as_bytes())));
        child.wait_with_output().expect("it ends")
    });
    assert_eq!((ended.status.code(), ended.stderr.len()), (Some(141), 0));
}

#[test]
fn control_characters_are_passed_on_but_not_told() {
    let written = run(&["-e", "putchard(27); putchard(7); putchard(10)"]);
    assert_eq!(written.stdout, b"\x1b\n0\n\x07\n0\n\n0\n", "as they are, values on lines of their own");
    let folder = std::env::temp_dir().join(format!("kal-robustness-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("it can be made");
    let path = folder.join("na\x1b[2Jme.kal");
    std::fs::write(&path, "1 + \x1b[31m\u{202e} ;").expect("it can be written");
    let told = binary::finish(kal().arg(&path));
    std::fs::remove_dir_all(&folder).expect("it is ours");
    assert_eq!(told.code, Some(1));
    assert!(!told.err().contains(['\x1b', '\u{202e}']), "{:?}", told.err());
    let piped = run_with(&["-"], b"nothing(1) + \x1b[2J\x07;");
    assert!(!piped.err().contains(['\x1b', '\x07']), "{:?}", piped.err());
}

// --- many threads -------------------------------------------------------------

/// Eight threads call what a ninth redefines, each in its own context, since a
/// context has one user at a time; code, slots and workers are shared.
#[test]
fn calling_while_another_thread_redefines() {
    alone("robustness::calling_while_another_thread_redefines", || {
        const THREADS: u64 = 8;
        let engine = Engine::with_config(small_stack().level(Level::O1)).expect("it starts");
        let rounds = scale("KAL_REDEFINITIONS", 2_000);
        let texts: Vec<AtomicU64> = (0..THREADS).map(|_| AtomicU64::new(0)).collect();
        let (ended, calls) = (AtomicBool::new(false), AtomicU64::new(0));
        let first = "def f(x) x + 0; def g(x) f(x) + 1";
        // The code of what several contexts have read is kept.
        let baseline = {
            let mut contexts: Vec<Context> = (0..2).map(|_| engine.context().expect("it starts")).collect();
            for context in &mut contexts {
                context.eval(first).expect("it is defined");
                context.call("g", &[1.0]).expect("it runs");
            }
            contexts[0].stats().code_bytes
        };
        let start = Instant::now();
        std::thread::scope(|scope| {
            for wanted in &texts {
                let (engine, ended, calls) = (engine.clone(), &ended, &calls);
                scope.spawn(move || {
                    let mut context = engine.context().expect("it starts");
                    context.eval(first).expect("it is defined");
                    let g = context.function::<fn(f64) -> f64>("g").expect("it is defined");
                    let mut current = 0;
                    while !ended.load(Ordering::Relaxed) {
                        let next = wanted.load(Ordering::Acquire);
                        if next != current {
                            context.eval(&format!("def f(x) x + {next}")).expect("it is defined");
                            if next % 3 == 0 {
                                context.prepare("f").expect("it is defined");
                            }
                            current = next;
                        }
                        assert_eq!(g.call(&mut context, (1.0,)).expect("it runs"), 2.0 + current as f64);
                        calls.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            let mut context = engine.context().expect("it starts");
            for round in 1..=rounds {
                context.eval(&format!("def f(x) x * {round}")).expect("it is defined");
                if round % 5 == 0 {
                    context.prepare("f").expect("it is defined");
                }
                if round % 50 == 0 {
                    assert_eq!(context.call("f", &[2.0]).expect("it runs"), 2.0 * round as f64);
                }
                texts[(round % THREADS) as usize].store(round, Ordering::Release);
            }
            ended.store(true, Ordering::Relaxed);
        });
        let mut context = engine.context().expect("it starts");
        context.eval("1").expect("it runs");
        // Workers may still be busy with jobs that are no longer needed.
        let patience = Instant::now() + Duration::from_secs(60);
        while context.stats().code_bytes > baseline && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(10));
            context.eval("1").expect("it runs");
        }
        let left = context.stats().code_bytes;
        println!(
            "{rounds} redefinitions and {} calls took {:?}; {baseline} bytes of code before, {left} after",
            calls.load(Ordering::Relaxed),
            start.elapsed()
        );
        // What is kept may be optimised by now.
        assert!(left <= baseline + 256, "{left} bytes of code, {baseline} before");
    });
}

// --- size ---------------------------------------------------------------------

/// Runs a text in a process; returns its exit code, its time and its peak
/// memory in MiB.
fn measured(what: &str, text: &str) -> (Option<i32>, Duration, u64) {
    let path = std::env::temp_dir().join(format!("kal-size-{}-{}.kal", std::process::id(), text.len()));
    std::fs::write(&path, text).expect("it can be written");
    let start = Instant::now();
    let mut child = kal().arg(&path).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut most = 0;
    let code = loop {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        most =
            line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(most).max(most);
        match child.try_wait().expect("it is our child") {
            Some(status) => break status.code(),
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let took = start.elapsed();
    std::fs::remove_file(&path).expect("it is ours");
    println!("{what}: {} bytes, code {code:?}, {:.2} s, {} MiB", text.len(), took.as_secs_f64(), most / 1024);
    (code, took, most / 1024)
}

#[test]
fn huge_programs_give_a_result_or_a_diagnostic() {
    // A suite that runs on a busy machine can promise no time; `make
    // robustness` does.
    let size = scale("KAL_HUGE", 20_000) as usize;
    let limit = Duration::from_secs(scale("KAL_HUGE_SECONDS", 120));
    let parentheses = size * 10;
    let mut functions = String::new();
    (0..size).for_each(|index| functions.push_str(&format!("def f{index}(x) x + {index};\n")));
    functions.push_str("f0(1); f7(1);");
    let parameters: Vec<String> = (0..size).map(|index| format!("p{index}")).collect();
    let numbers: Vec<String> = (0..size).map(|index| index.to_string()).collect();
    let arguments = format!("def f({}) p0 + p{}; f({});", parameters.join(" "), size - 1, numbers.join(", "));
    let locals: Vec<String> = (0..size).map(|index| format!("v{index} = x + {index}")).collect();
    let line = format!("{}1;", "1 + ".repeat(size * 250));
    let loops: String = (0..(size / 10).min(9000)).map(|index| format!("for i{index} = 0, 0 in ")).collect();
    let cases: Vec<(&str, Option<i32>, String)> = vec![
        ("nested parentheses", Some(1), format!("{}1{};", "(".repeat(parentheses), ")".repeat(parentheses))),
        ("a long line of blanks", Some(0), format!("{}1;", " ".repeat(size * 1000))),
        ("a long comment", Some(0), format!("# {}\n1;", "x".repeat(size * 1000))),
        ("a long sum on a line", Some(1), line),
        ("a long line of items", Some(0), format!("{}1;", "def f(x) x + 1; ".repeat(size * 60))),
        ("functions", Some(0), functions),
        ("loops inside of loops", Some(0), format!("def f(x) {loops}x; f(1);")),
        ("arguments", Some(0), arguments),
        (
            "local variables",
            Some(0),
            format!("def f(x) var {} in v0 + v{}; f(1);", locals.join(", "), size - 1),
        ),
    ];
    for (what, expected, text) in &cases {
        let (code, took, most) = measured(what, text);
        assert!(code == Some(0) || code == Some(1), "{what} ended with {code:?}");
        assert!(expected.is_none() || code == *expected, "{what} ended with {code:?}");
        assert!(took < limit, "{what} took {took:?}");
        assert!(most < 2048, "{what} took {most} MiB");
    }
}
