//! Tiers: a program may switch from tapes to compiled code, and from baseline to
//! optimised code, at any point without any effect on its answers.
//!
//! Each program is interpreted once, and then run with each switch forced after
//! every number of calls and iterations up to [`LATEST`], waiting for the code,
//! so that it happens at every call and every iteration of its loops.

use crate::waiting::hold_a_worker;
use kal::{Config, Context, Engine, Error, Event, Level, Limits, Mode, Outcome, State, Tier, TierUp};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The last call or iteration at which the switch is forced.
const LATEST: u32 = 12;

const PROGRAMS: &[(&str, &str)] = &[
    ("recursion", "def fib(n) if n < 2 then n else fib(n-1) + fib(n-2); fib(9); fib(3)"),
    (
        "functions that call each other, and themselves: each level has copies of some",
        "var t = 0
         def f0(n x) if n < 1 then 1 else (if 0.5 > (f2(n - 3, 1) + (if f0(n - 1, 0.5) > 1 then x * 0.25 else 2))
           then f0(n - 1, (if x > n then 0.5 else 2)) else f0(n - 1, n * x)) % 1000
         def f1(n x) if n < 1 then t else f2(n - 3, x * 0.25 - f0(n - 1, x)) % 1000
         def f2(n x) if n < 1 then 3 else (if sin(f1(n - 2, x * 0.25)) > f2(n - 1, 2) - x * 0.25
           then (t = t + x * 0.25) - f2(n - 3, 0.5) else f0(n - 1, 2) - f1(n - 1, 0.5) * f1(n - 1, 1)) % 100;
         f0(5, 0.75); f1(5, 0.75); f2(5, 0.25); t
         def even(n) if n == 0 then 1 else odd(n - 1)
         def odd(n) if n == 0 then 0 else even(n - 1);
         even(21); odd(21); even(8)",
    ),
    (
        "nested loops, which use parameters, locals and values that wait",
        "def f(n) var s = n in 1000 + (for i = 1, i < n in for j = i, j < n, 1 in s = s * 3 % 101 + i - j) + s * 2;
         f(6); f(1); 1 + f(3) * f(4)",
    ),
    (
        "values that wait for a loop: numbers, locals, results, conditions",
        "def g(x) x * 2
         def f(x y) g(x) + x * ((y < 3) + (for i = 0, i < y in x = x + i) + x + 7 * (5 + (for j = 0, j < 4 in y = y - j))) + y;
         f(2, 8); f(1, 9)",
    ),
    (
        "loops inside conditions, branches and steps",
        "var t = 0
         def f(n) (if n > 2 && (for i = 1, i < n in t = t + i) + 1 then (for i = 1, i < n in t = t * 2 % 97) + t else 0 - n)
           + (for i = 0, (for k = 0, k < 2 in t = t + 1) + i < 3, (for k = 0, k < 2 in t = t + 5) + 1 in t = t + i);
         f(6); t; f(2); t; 0 || (for i = 0, i < 5 in t = t + 1) || f(4); t",
    ),
    (
        "loops inside conditions of loops whose steps change",
        "var t = 0
         def f(n) (for i = 1, (for j = 1, (for k = 1, k < n in t = t + k) + j < 3, t % 2 + 1 in t = t * 3 % 101) + i < n,
                     (t = t + 1) % 3 + 0.5 in t = t + i / 2) + n * (for i = n, (for k = 1, k < i in t = t - k) + i < 4, n - 1 in t = t + 1) + t;
         f(4); t; f(9); t; f(2); t",
    ),
    (
        "values that wait for loops inside loops, where branches meet as well",
        "var t = 0
         def g(x) t = t + x
         def f(n) (if n > 1 then 7 else 5) + g(n) * (for i = 1, i < n in for j = i, j < n in t = t + j) + n / (1 + g(n) % 3);
         f(4); t; f(1); t
         def h(n) var s = 0 in
           (for i = 1, i < n in s = s + i * n + (if i % 2 then (for j = 0, j < n in s += j) + i else n) * i + s % 5) : s;
         h(6); h(3)
         def k(n) g(n) - (n > 2 && (for i = 0, i < 3 in n / 2 + (for j = 0, j < n in t = t * 2 % 89)) + n > 2) * g(1);
         k(4); k(2); t
         def m(n) hypot(g(n), (while t > 3 in t -= 1 + 0 * (g(1) + (for j = 0, j < 3 in g(-0.25)))) + g(4)); m(5); t
         g(1) + (for i = 0, i < 4 in g(2) + (for j = 0, j < 3 in t = t * 3 % 101)) - g(3)",
    ),
    (
        "loops at the top",
        "var s = 0; for i = 1, i < 14 in s = s + i / 3; s; 5 + (for i = 1, i < 9 in for j = 1, j < 3 in s = s - j) + s",
    ),
    (
        "output keeps its order",
        "def say(x) printd(x) + putchard(42); def lines(n) for i = 1, i < n in say(i) + printd(0 - i); lines(7); say(3)",
    ),
    (
        "redefinition, also with another number of arguments",
        "def f(x) x + 1; def g(n) var s = 0 in (for i = 1, i < n in s = s + f(i)) + s; g(9); def f(x) x * 10; g(9);
         def f(x y) x - y; g(9); def f(x) f2(x); def f2(x) x / 8; g(9); g(2); def g(n) f(n); g(5)",
    ),
    (
        "intrinsics that the program defines later",
        "def r(n) var s = 0 in (for i = 1, i < n in s = s + sqrt(i)) + s; r(8); def sqrt(x) x * x; r(8); r(9)",
    ),
    (
        "many arguments, mutual calls",
        "def even(n) if n < 1 then 1 else odd(n - 1); def odd(n) if n < 1 then 0 else even(n - 1);
         def many(a b c d e f g h i j) if a < 1 then b + c*d - e/f + g*h - i*j else many(a-1, j, b, c, d, e, f, g, h, i);
         even(20); odd(7); many(15, 2, 3, 4, 5, 6, 7, 8, 9, 10)",
    ),
    (
        "failures inside both",
        "def f(n) if n < 1 then nope(n) else f(n - 1) + 1; f(6); def g(n) for i = 1, i < n in if i > 5 then f(i); g(4); g(9);
         def nope(x y) x; f(3); f(8)",
    ),
];

/// What a program prints and answers.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().push_str(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn context(config: Config) -> Context {
    Engine::with_config(config).and_then(|engine| engine.context()).expect("a context")
}

fn tiered(calls: u32) -> Config {
    let tier_up = TierUp::After(calls);
    Config::new().mode(Mode::Tiered).level(Level::O1).tier_up(tier_up).wait_for_code(true)
}

/// Returns a configuration that begins with baseline code.
fn baseline(calls: u32) -> Config {
    tiered(calls).mode(Mode::Lazy)
}

/// The tiers that a program may begin in.
const FIRST: [fn(u32) -> Config; 2] = [tiered, baseline];

/// Returns everything that can be seen of a run of a text.
fn observed(config: Config, text: &str) -> String {
    let (mut context, log) = (context(config), Log::default());
    context.set_output(Box::new(kal::LineOutput::new(log.clone())));
    let told = log.clone();
    let _ = context.run(&kal::source::Source::new("test", text), &mut |context, outcome| {
        context.output().flush().expect("memory");
        let mut log = told.0.lock().unwrap();
        let _ = match outcome {
            Ok(Outcome::Value(value)) => writeln!(log, "= {value:?}"),
            Ok(_) => Ok(()),
            Err(error) => writeln!(log, "! {error}"),
        };
        ControlFlow::Continue(())
    });
    let log = log.0.lock().unwrap();
    log.clone()
}

#[test]
fn programs_answer_the_same_wherever_they_change_over() {
    for (what, text) in PROGRAMS {
        let interpreted = observed(Config::new().mode(Mode::Interpret), text);
        assert!(interpreted.lines().count() > 1, "{what}: {interpreted}");
        for calls in 1..=LATEST {
            for (first, config) in FIRST.iter().enumerate() {
                assert_eq!(observed(config(calls), text), interpreted, "{what}, after {calls} from {first}");
            }
        }
    }
}

#[test]
fn fuel_runs_out_at_the_same_point() {
    let text = "def f(n) var s = 0 in (for i = 1, i < n in s = s + g(i)) + s; def g(n) if n < 2 then 1 else g(n - 2); f(9)";
    let left = |config: Config, fuel: u64| {
        let mut context = context(config.limits(Limits { fuel: Some(fuel), ..Limits::default() }));
        let answer = context.eval(text).map_err(|error| error.to_string());
        (answer, context.fuel())
    };
    for fuel in [3, 10, 20, 33, 1000] {
        let expected = left(Config::new().mode(Mode::Interpret), fuel);
        for calls in 1..=LATEST {
            assert_eq!(left(tiered(calls), fuel), expected, "{fuel} after {calls}");
            assert_eq!(left(baseline(calls), fuel), expected, "{fuel} after {calls} from baseline code");
        }
    }
}

#[test]
fn nothing_is_compiled_before_something_is_hot() {
    let mut context = context(tiered(100));
    context.eval("def f(x) x + 1; def g(x) f(x) * 2").unwrap();
    for _ in 0..99 {
        assert_eq!(context.eval("g(1)").unwrap(), Some(4.0));
    }
    assert_eq!((context.stats().ir_generated, context.state("f")), (0, Some(kal::State::Pending)));
    assert_eq!(context.eval("g(1)").unwrap(), Some(4.0));
    assert_eq!((context.stats().ir_generated, context.state("f")), (2, Some(kal::State::Materialized)));
}

#[test]
fn a_loop_goes_over_wherever_it_stands() {
    let inner = "(for k = 1, k < 500 in t = t + 1)";
    let whole = [
        inner.to_owned(),
        format!("for i = 0, i < 0 in {inner}"),
        format!("for i = 0, {inner} + i < 0, t in i"),
        format!("for i = 0, i < 0, {inner} in i"),
        format!("if {inner} then 1 else t"),
    ];
    for text in whole {
        for (config, objects) in FIRST.iter().zip([1, 2]) {
            let mut context = context(config(400));
            context.declare("t", 0.0).unwrap();
            context.eval(&text).unwrap();
            assert_eq!(context.stats().objects_linked, objects, "{text}");
            assert_eq!(context.eval("t").unwrap(), Some(500.0), "{text}");
        }
    }
}

#[test]
fn a_program_is_improved_while_it_runs() {
    // The code comes while a loop is running; longer and longer ones are tried.
    let mut context = context(Config::new().mode(Mode::Tiered));
    let text = "def f(x) x * 3 % 7; def run(n) var s = 0 in (for i = 1, i < n in s = s + f(i)) + s";
    context.eval(text).unwrap();
    let mut rounds = 1e6;
    while context.state("f") != Some(kal::State::Materialized) {
        rounds *= 2.0;
        assert!(rounds < 1e10, "code never came");
        context.call("run", &[rounds]).unwrap();
    }
    assert_eq!(context.call("run", &[10.0]).unwrap(), 32.0);
}

#[test]
fn a_trace_shows_calls_of_both_kinds() {
    let text =
        "def inner(n) if n < 5 then 0 else nope(n); def middle(n) inner(n) + 1; def outer(n) middle(n) + 2";
    // `middle` is on its tape when `inner` is compiled, and vice versa.
    for hot in ["inner(1)", "middle(1)"] {
        let mut context = context(tiered(6).level(Level::O0));
        context.eval(text).unwrap();
        for _ in 0..8 {
            context.eval(hot).unwrap();
        }
        let error = context.eval("outer(9)").unwrap_err();
        let Error::Failed(diagnostic) = &error else { panic!("{error}") };
        let calls = format!("{diagnostic:?}");
        let at = |name: &str| calls.find(name).unwrap_or_else(|| panic!("{name} in {calls}"));
        assert!(at("inner(n)") < at("middle(n)") && at("middle(n)") < at("outer(n)"), "{calls}");
    }
}

#[test]
fn a_trace_shows_a_call_once_that_has_gone_over() {
    let text = "def inner(n) for i = 1, i < n in if i > 50 then nope(i) else 0
        def outer(n) var s = 1 in (for i = 1, i < n in s = s + (if i > 40 then inner(60) else i)) + s";
    for config in FIRST {
        let mut context = context(config(7));
        context.eval(text).unwrap();
        let error = context.eval("1 + outer(100)").unwrap_err();
        let diagnostic = &error.diagnostics()[0];
        assert_eq!(diagnostic.trace, ["inner(n)", "outer(n)", "this expression"]);
        let label = &diagnostic.labels[0];
        assert!(label.source.text()[label.span.start as usize..].starts_with("nope(i)"));
    }
}

#[test]
fn loops_with_many_locals_go_over() {
    let names: Vec<String> = (0..300).map(|i| format!("v{i}")).collect();
    let bound: Vec<String> = names.iter().map(|name| format!("{name} = n")).collect();
    let changed: Vec<String> = names.iter().map(|name| format!("({name} = {name} + i)")).collect();
    let (bound, changed, sum) = (bound.join(", "), changed.join(" + "), names.join(" + "));
    let text = format!("def f(n) var {bound} in 1 + (for i = 1, i < n in {changed}) + {sum}; f(20)");
    let expected = observed(Config::new().mode(Mode::Interpret), &text);
    for config in FIRST {
        assert_eq!(observed(config(5), &text), expected);
    }
}

#[test]
fn runs_stop_on_both_sides() {
    use std::time::Duration;
    let texts = [("for i = 0, 1 in i", 5), ("for i = 0, 1 in i", 4_000_000), ("f(1)", 5)];
    for ((text, calls), config) in texts.into_iter().flat_map(|text| FIRST.map(|config| (text, config))) {
        let limits = Limits { deadline: Some(Duration::from_millis(30)), ..Limits::default() };
        let mut context = context(config(calls).limits(limits));
        context.eval("def f(n) for i = 0, 1 in g(i); def g(n) n").unwrap();
        let error = context.eval(text).unwrap_err();
        assert_eq!(error.to_string(), "the run took longer than allowed", "{text}");
        assert_eq!(context.eval("1 + 1").unwrap(), Some(2.0));
    }
    let limits = Limits { stack: 1 << 20, ..Limits::default() };
    for calls in [1, 50, 5000, 1_000_000] {
        let mut context = context(tiered(calls).limits(limits));
        let error = context.eval("def f(n) 1 + g(n + 1); def g(n) f(n) - 1; f(1)").unwrap_err();
        assert!(error.to_string().contains("stack"), "{error}");
        assert_eq!(context.eval("1 + 1").unwrap(), Some(2.0));
    }
}

#[test]
fn formulas_and_handles_go_over_too() {
    for calls in 1..=LATEST {
        let mut context = context(tiered(calls));
        context.eval("def f(x) x + 1").unwrap();
        let formula = context.formula("f(a) * b + (for i = 1, i < a in i)", &["a", "b"]).unwrap();
        let f = context.function::<fn(f64) -> f64>("f").unwrap();
        for round in 0..2 * LATEST {
            let x = f64::from(round);
            assert_eq!(formula.call(&mut context, &[x, 2.0]).unwrap(), (x + 1.0) * 2.0);
            assert_eq!(f.call(&mut context, (x,)).unwrap(), x + 1.0);
        }
        context.eval("def f(x) x - 1").unwrap();
        assert_eq!(formula.call(&mut context, &[9.0, 2.0]).unwrap(), 16.0);
        assert_eq!(f.call(&mut context, (9.0,)).unwrap(), 8.0);
    }
}

#[test]
fn undo_brings_compiled_definitions_back() {
    let mut context = context(tiered(2));
    context.keep_history(9);
    context.eval("def f(x) x + 1").unwrap();
    for _ in 0..5 {
        context.eval("f(1)").unwrap();
    }
    context.eval("def f(x) x + 2").unwrap();
    assert_eq!(context.eval("f(1)").unwrap(), Some(3.0));
    let made = context.stats().ir_generated;
    context.undo();
    assert_eq!(context.eval("f(1) + f(2) + f(3)").unwrap(), Some(9.0));
    assert_eq!(context.stats().ir_generated, made, "its code is still there");
    context.redo();
    assert_eq!(context.eval("f(1)").unwrap(), Some(3.0));
    context.drop_function("f").unwrap();
    assert!(context.eval("f(1)").is_err());
}

#[test]
fn tapes_take_no_more_room_than_code_may() {
    let limits = Limits { max_code_bytes: 64 << 10, ..Limits::default() };
    let mut context = context(Config::new().mode(Mode::Interpret).limits(limits));
    let mut called = 0;
    let error = loop {
        let text =
            format!("def f{called}(x) x * {called} + x / 3 - sin(x) * cos(x + {called}); f{called}(1)");
        match context.eval(&text) {
            Ok(_) => called += 1,
            Err(error) => break error,
        }
        assert!(called < 10_000, "the tapes of {called} functions have found room");
    };
    assert!(error.to_string().contains("there is no room for its tape"), "{error}");
    assert!((100..2000).contains(&called), "{called} functions");
    // Beside the tapes there is a word for each function called.
    assert!(context.stats().code_bytes <= (64 << 10) + 4 * (called + 2));
    // Another definition takes the place of the old one, and makes room.
    assert_eq!(context.eval("def f7(x) x; f7(2)").unwrap(), Some(2.0));
    assert_eq!(context.eval("1 + 1").unwrap(), Some(2.0));
}

#[test]
fn tapes_give_their_room_back() {
    let limits = Limits { max_code_bytes: 1 << 20, ..Limits::default() };
    let engine = Engine::with_config(Config::new().mode(Mode::Interpret).limits(limits)).unwrap();
    let mut one = engine.context().unwrap();
    let sum = |terms: usize| format!("1{}", " + sin(1)".repeat(terms));
    let bytes = one.stats().code_bytes;
    for terms in 0..700 {
        one.eval(&sum(terms)).unwrap();
        assert_eq!(one.stats().code_bytes, bytes, "after {terms} terms");
    }
    // One takes more than half of all, then the other, again and again.
    let text = |terms: usize| format!("def f(x) x + {}; f(0 - 1)", sum(terms));
    one.eval(&text(1000)).unwrap();
    let text = text((700 << 10) * 1000 / (one.stats().code_bytes - bytes) as usize);
    let mut other = engine.context().unwrap();
    for _ in 0..3 {
        assert!(one.eval(&text).is_ok());
        assert!(one.stats().code_bytes > 600 << 10, "{} bytes", one.stats().code_bytes);
        let error = other.eval(&text).unwrap_err();
        assert!(error.to_string().contains("there is no room for its tape"), "{error}");
        one.drop_function("f").unwrap();
        assert!(other.eval(&text).is_ok());
        other = engine.context().unwrap();
    }
}

#[test]
fn code_and_tapes_share_one_limit() {
    // What finds no room first, a tape or code, is for their sizes to decide.
    let has_code_without_room = [30, 37, 44, 51].map(|terms| {
        let (called, compiled) = fill(terms);
        assert!((100..=called).contains(&compiled), "{compiled} of {called} have code");
        compiled < called
    });
    assert!(has_code_without_room.contains(&true), "{has_code_without_room:?}");
}

/// Fills the memory of an engine with functions, of which every other one has so many terms, so
/// that its code is large beside any tape. Returns how many there are, and how many have code.
fn fill(terms: usize) -> (u64, u64) {
    let most = 256 << 10;
    let limits = Limits { max_code_bytes: most, ..Limits::default() };
    let mut context = context(tiered(2).level(Level::O0).limits(limits));
    let mut called = 0;
    let (error, taken) = loop {
        let before = context.stats().code_bytes;
        let terms = if called % 2 == 0 { 1 } else { terms };
        let body = format!("x * {called}{}", format!(" - cos(x + {called})").repeat(terms));
        let text = format!("def f{called}(x) {body}; f{called}(1); f{called}(2)");
        match context.eval(&text) {
            Ok(_) => called += 1,
            Err(error) => break (error, before),
        }
        // Beside the tapes there is a word for each function called.
        let taken = context.stats().code_bytes;
        assert!(taken <= most + 4 * (called + 2), "{taken} bytes after {called} functions");
        assert!(called < 10_000, "{called} functions have found room");
    };
    assert!(error.to_string().contains("there is no room for its tape"), "{error}");
    assert!(taken > most * 9 / 10, "{taken} bytes are not all");
    (called, context.stats().materialized)
}

#[test]
fn a_redefined_callee_that_was_inlined_takes_its_code_along() {
    let mut context = context(Config::new().mode(Mode::Tiered).wait_for_code(true));
    context
        .eval("def f(x) x * 3 % 7; def run(n) var s = 0 in (for i = 1, i < n in s = s + f(i)) + s")
        .unwrap();
    // Called often and briefly, so that it is the calls that are counted: first on the tape,
    // then in code of the baseline compiler, which inlines nothing.
    let heat = |context: &mut Context, value: f64| {
        let before = context.stats().objects_linked;
        for _ in 0..5000 {
            assert_eq!(context.call("run", &[10.0]).unwrap(), value);
        }
        context.stats().objects_linked - before
    };
    assert!(heat(&mut context, 32.0) >= 4);
    assert_eq!(heat(&mut context, 32.0), 0);
    context.eval("def f(x) x * 2 % 7").unwrap();
    assert_eq!(context.call("run", &[10.0]).unwrap(), 33.0);
    assert!(heat(&mut context, 33.0) >= 2, "the code of `run` has the old `f` in it");
    assert_eq!(heat(&mut context, 33.0), 0);
}

/// What an interrupted compile of everything has left is compiled when it is hot.
#[test]
fn what_was_not_compiled_ahead_is_compiled_when_it_is_hot() {
    let config = Config::new().mode(Mode::Tiered).tier_up(TierUp::After(10)).workers(1);
    let engine = Engine::with_config(config).expect("it starts");
    let (_held, go_on) = hold_a_worker(&engine);
    let mut context = engine.context().expect("it starts");
    let names: Vec<String> = (0..20).map(|index| format!("f{index}")).collect();
    for name in &names {
        context.eval(&format!("def {name}(x) x + 1")).expect("it is right");
    }
    context.interrupt_handle().interrupt();
    context.prepare_all().expect_err("it is interrupted");
    drop(go_on);
    let start = Instant::now();
    for name in &names {
        while context.state(name) != Some(State::Materialized) {
            assert!(start.elapsed() < Duration::from_secs(30), "{name} is {:?}", context.state(name));
            (0..100).for_each(|_| assert_eq!(context.call(name, &[1.0]).expect("it runs"), 2.0));
        }
    }
}

#[test]
fn a_recursion_is_improved_while_it_runs() {
    let improved = Arc::new(AtomicBool::new(false));
    let is_improved = improved.clone();
    let config = Config::new().mode(Mode::Lazy).tier_up(TierUp::After(100)).host_function("improved", 0, {
        move |_| Ok(f64::from(u8::from(is_improved.load(Ordering::Relaxed))))
    });
    let mut context = Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts");
    context.set_trace(Some(Box::new(move |it| {
        if it.name == "f" && it.event == Event::Improved {
            improved.store(true, Ordering::Relaxed);
        }
    })));
    context.set_deadline(Some(Instant::now() + Duration::from_secs(120)));
    // Without better code, it makes 2⁶⁰ calls.
    let text = "def f(n) if improved() then 1 else if n < 1 then 0 else f(n - 1) + f(n - 1); f(60)";
    let value = context.eval(text).expect("it ends").expect("it has a value");
    assert!((1.0..=60.0).contains(&value), "{value}");
}

#[test]
fn the_observer_of_compiles_is_told_of_each() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = seen.clone();
    let config = Config::new().tier_up(TierUp::After(2)).wait_for_code(true).on_compile(move |compiled| {
        assert!(compiled.took > Duration::ZERO && compiled.took < Duration::from_secs(60));
        let name = format!("{}/{}", compiled.name, compiled.arity);
        told.lock().expect("nobody panics under it").push((name, compiled.tier, compiled.is_osr));
        // That is no concern of the program.
        panic!("as it should");
    });
    let mut context = Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts");
    let program = "def twice(f(x) x) f(f(x)); def inc(x) x + 1; twice(inc, 1); twice(inc, 2); twice(inc, 3)";
    assert_eq!(context.eval(program).expect("it runs"), Some(5.0));
    assert_eq!(context.eval("def inc(x) x + 2 * x; twice(inc, 1)").expect("it runs"), Some(9.0));
    let loops = "def sum(n) var s = 0 in (for i = 1, i < n in s += i) : s; sum(9)";
    assert_eq!(context.eval(loops).expect("it runs"), Some(45.0));
    let seen = seen.lock().expect("nobody panics under it");
    let count = |name: &str, tier: Tier, is_osr: bool| {
        seen.iter().filter(|(known, at, osr)| (&**known, *at, *osr) == (name, tier, is_osr)).count()
    };
    assert!(count("twice[inc,]/1", Tier::Quick, false) >= 1, "{seen:?}");
    assert!(count("twice[inc,]/1", Tier::Full, false) >= 1, "{seen:?}");
    assert_eq!(count("inc/1", Tier::Quick, false), 2, "{seen:?}");
    assert_eq!(count("sum/1", Tier::Full, true), 1, "{seen:?}");
    assert!(seen.iter().all(|(name, ..)| !name.contains('<')), "no expression: {seen:?}");
}

/// One iteration may take as long as a thousand others, if it calls functions.
#[test]
fn a_loop_that_calls_functions_goes_over_after_few_iterations() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = seen.clone();
    let config = Config::new().wait_for_code(true).on_compile(move |compiled| {
        told.lock().expect("nobody panics under it").push((compiled.name.to_owned(), compiled.is_osr));
    });
    let mut context = Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts");
    let program = "def work(x) var s = 0 in (for i = 1, i < 50 in s = s + x*i) : s
        def few(n) var s = 0 in (for k = 1, k < n in s = s + work(k)) : s
        def alone(n) var s = 0 in (for k = 1, k < n in s = s + k) : s
        few(40) + alone(40)";
    assert_eq!(context.eval(program).expect("it runs"), Some(1_045_500.0 + 820.0));
    let seen = seen.lock().expect("nobody panics under it");
    let went_over = |name: &str| seen.iter().any(|(known, is_osr)| known == name && *is_osr);
    assert!(went_over("few") && !went_over("alone"), "{seen:?}");
}

/// Each of its runs is too short to wait for better code.
#[test]
fn a_loop_is_improved_that_takes_long_in_many_runs() {
    let improved = Arc::new(AtomicBool::new(false));
    let is_improved = improved.clone();
    let mut context = context(Config::new().mode(Mode::Lazy));
    context.set_trace(Some(Box::new(move |it| {
        if it.name == "sum" && it.event == Event::Improved {
            improved.store(true, Ordering::Relaxed);
        }
    })));
    context.eval("def sum(n) var s = 0 in (for i = 1, i < n in s = s + i) : s").expect("it is right");
    let start = Instant::now();
    // After a thousand calls, it would be better anyway.
    for _ in 0..900 {
        assert_eq!(context.call("sum", &[20_000.0]).expect("it runs"), 200_010_000.0);
    }
    while !is_improved.load(Ordering::Relaxed) {
        assert!(start.elapsed() < Duration::from_secs(60), "it stays in baseline code");
        context.eval("1").expect("it runs");
    }
}

/// In code that makes both calls, it would take longer than anybody waits.
#[test]
fn equal_calls_of_a_pure_recursion_are_made_once() {
    let text = "def step(n) n - 1
        def hanoi(n) if n < 1 then 0 else hanoi(step(n)) + 1 + hanoi(n - 1)
        hanoi(200)";
    for mode in [Mode::Lazy, Mode::Eager] {
        let mut context = context(Config::new().mode(mode));
        context.set_deadline(Some(Instant::now() + Duration::from_secs(120)));
        assert_eq!(context.eval(text).expect("it ends"), Some(2_f64.powi(200)), "{mode:?}");
    }
}
