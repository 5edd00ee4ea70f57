//! What a tenant takes of an engine comes back, and no tenant takes more than
//! its part: slots, variables, names, code and compile time.

use crate::scale;
use kal::{Config, Context, Engine, Error, Function, Limits, Mode, TierUp};
use std::fmt::Write;
use std::time::Duration;

/// Idle slots are collected when at least this many functions have one.
const LEAST_SLOTS: usize = 4096;

fn context(engine: &Engine) -> Context {
    engine.context().expect("a context starts")
}

fn engine(mode: Mode) -> Engine {
    Engine::with_config(Config::new().mode(mode)).expect("an engine starts")
}

fn value(context: &mut Context, text: &str) -> f64 {
    context.eval(text).unwrap_or_else(|error| panic!("{text}: {error}")).expect("it has a value")
}

/// A function whose code calls `count` others, which are not defined.
fn caller(of: &str, count: usize) -> String {
    let calls: String = (0..count).fold(String::new(), |mut calls, callee| {
        let _ = write!(calls, " + {of}_{callee}(x)");
        calls
    });
    format!("def caller_of_{of}(x) if x then 0{calls} else 7")
}

/// Runs code that calls functions which no other program calls.
fn call_others(context: &mut Context, of: &str, count: usize) {
    context.eval(&caller(of, count)).expect("it is right");
    assert_eq!(context.call(&format!("caller_of_{of}"), &[0.0]).expect("it compiles"), 7.0);
}

fn code(error: &Error) -> String {
    error.diagnostics().first().map_or_else(String::new, |diagnostic| diagnostic.code.to_string())
}

#[test]
fn slots_of_programs_that_are_gone_are_used_again() {
    const AT_A_TIME: usize = 2_000;
    let engine = engine(Mode::Lazy);
    let mut lasting = context(&engine);
    lasting.eval("def fib(n) if n < 2 then n else fib(n - 1) + fib(n - 2)").expect("it is right");
    let rounds = scale("KAL_CALLEES", 60_000) as usize / AT_A_TIME;
    let mut most = 0;
    for round in 0..rounds {
        call_others(&mut context(&engine), &format!("f{round}"), AT_A_TIME);
        most = most.max(engine.usage().slots);
        assert_eq!(lasting.call("fib", &[15.0]).expect("it runs"), 610.0);
    }
    assert!(most <= LEAST_SLOTS + AT_A_TIME, "{most} slots of {} callees", rounds * AT_A_TIME);
}

/// Defines functions with loops, which are not inlined, and calls them through slots.
/// Returns the sum.
fn call_own(context: &mut Context, of: &str, count: u32, terms: &str) -> f64 {
    let mut text = String::new();
    for number in 0..count {
        let _ = writeln!(text, "def {of}_{number}(x) (for i = 0, i < 2 in x) + {terms} {number}");
    }
    let calls: Vec<String> = (0..count).map(|number| format!("{of}_{number}(x)")).collect();
    let _ = writeln!(text, "def all(x) {} + hosted(x)", calls.join(" + "));
    context.eval(&text).expect("it is right");
    let sum = context.call("all", &[2.0]).expect("it runs");
    // What it called stays bound and compiled, but nothing calls it any more.
    context.drop_function("all").expect("it is there");
    sum
}

#[test]
fn a_slot_that_is_used_again_leads_nowhere_in_contexts_that_used_it_before() {
    const COUNT: u32 = 200;
    let config = Config::new()
        .mode(Mode::Lazy)
        .tier_up(TierUp::Never)
        .host_function("hosted", 1, |call| Ok(call.arguments[0] + 1000.0));
    let engine = Engine::with_config(config).expect("an engine starts");
    let mut contexts = [context(&engine), context(&engine), context(&engine)];
    let (mut collected, mut before) = (0, 0);
    let numbers = f64::from(COUNT * (COUNT - 1) / 2);
    for round in 0..12 {
        call_others(&mut context(&engine), &format!("other{round}"), 1_500);
        for (number, context) in contexts.iter_mut().enumerate() {
            let of = format!("f{round}_{number}");
            let (terms, sum) = match round % 2 {
                0 => ("x +", numbers + 2.0 * f64::from(COUNT)),
                _ => ("x *", numbers * 2.0),
            };
            assert_eq!(call_own(context, &of, COUNT, terms), sum + 1002.0, "{round}, {number}");
            // Those from before, which calls reach by new slots.
            context.eval(&format!("def again(x) {of}_7(x)")).expect("it is right");
            let seventh = if round % 2 == 0 { 9.0 } else { 14.0 };
            assert_eq!(context.call("again", &[2.0]).expect("it runs"), seventh);
            context.eval(&format!("def {of}_7(x) 1234")).expect("it is right");
            assert_eq!(context.call("again", &[2.0]).expect("it runs"), 1234.0);
        }
        let now = engine.usage().slots;
        collected += usize::from(now < before);
        before = now;
    }
    assert!(collected > 2, "{collected}");
}

#[test]
fn contexts_that_run_while_slots_are_collected_call_what_they_mean() {
    let text = "def even(n) if n < 1 then 1 else odd(n - 1)
                def odd(n) if n < 1 then 0 else even(n - 1)
                def step(x) (for i = 0, i < 3 in x) + x + 1
                def work(n) var s = 0 in (for i = 0, i < n in s = step(s)) + s";
    for mode in [Mode::Lazy, Mode::Tiered] {
        let config = Config::new().mode(mode).tier_up(TierUp::After(20)).wait_for_code(true);
        let engine = Engine::with_config(config).expect("an engine starts");
        std::thread::scope(|scope| {
            for tenant in 0..3 {
                let engine = &engine;
                scope.spawn(move || {
                    let mut context = context(engine);
                    context.eval(text).expect("it is right");
                    let handle: Function<fn(f64) -> f64> = context.function("work").expect("it is there");
                    for round in 1..=60 {
                        let round = f64::from(round);
                        context
                            .eval(&format!("def step(x) (for i = 0, i < 3 in x) + x + {round}"))
                            .expect("it is right");
                        let again = handle.clone();
                        assert_eq!(
                            again.call(&mut context, (40.0,)).expect("it runs"),
                            41.0 * round,
                            "{tenant}"
                        );
                        assert_eq!(value(&mut context, "even(101) * 10 + odd(101)"), 1.0);
                        let own = format!("own{tenant}_{round}");
                        context.eval(&format!("def {own}(x) step(x) * 2")).expect("it is right");
                        assert_eq!(context.call(&own, &[1.0]).expect("it runs"), 2.0 + 2.0 * round);
                        context.drop_function(&own).expect("it is there");
                    }
                });
            }
            for round in 0..12 {
                let mut context = context(&engine);
                let of = format!("gone{round}");
                context.eval(&caller(&of, 1_000)).expect("it is right");
                for _ in 0..50 {
                    assert_eq!(context.call(&format!("caller_of_{of}"), &[0.0]).expect("it runs"), 7.0);
                }
                context.prepare_all().expect("it compiles");
            }
        });
        assert!(engine.usage().slots <= 2 * LEAST_SLOTS, "{mode:?}: {:?}", engine.usage());
    }
}

#[test]
fn a_handle_keeps_its_slot() {
    let engine = engine(Mode::Lazy);
    let mut context = context(&engine);
    context.eval("def f(x) x + 1").expect("it is right");
    let handle: Function<fn(f64) -> f64> = context.function("f").expect("it is there");
    assert_eq!(handle.call(&mut context, (1.0,)).expect("it runs"), 2.0);
    let last = handle.clone();
    drop(handle);
    context.eval("def f(x) x + 2").expect("it is right");
    for round in 0..5 {
        call_others(&mut engine.context().expect("it starts"), &format!("o{round}"), 2_000);
    }
    assert_eq!(last.call(&mut context, (1.0,)).expect("it runs"), 3.0);
    let mut other = engine.context().expect("a context starts");
    other.eval("def f(x) x * 10").expect("it is right");
    assert_eq!(last.call(&mut other, (4.0,)).expect("it runs"), 40.0);
}

#[test]
fn variables_are_given_back() {
    const AT_A_TIME: usize = 50_000;
    let engine = engine(Mode::Interpret);
    let mut lasting = context(&engine);
    lasting.eval("var kept = 5; def get() kept").expect("it is right");
    let rounds = scale("KAL_VARIABLES", 300_000) as usize / AT_A_TIME;
    for round in 0..rounds {
        let mut text = String::new();
        for number in 0..AT_A_TIME {
            let _ = writeln!(text, "var v{round}_{number} = {number}");
        }
        let mut context = context(&engine);
        context.eval(&text).expect("there is room");
        assert_eq!(engine.usage().variables, AT_A_TIME + 1);
        assert_eq!(context.variable(&format!("v{round}_77")).expect("it is declared"), 77.0);
        if round % 2 == 0 {
            context.reset();
            assert_eq!(engine.usage().variables, 1);
        }
        drop(context);
        assert_eq!(value(&mut lasting, "get()"), 5.0);
    }
    assert_eq!(engine.usage().variables, 1);
}

#[test]
fn a_variable_at_a_place_that_was_used_starts_as_every_other() {
    for mode in [Mode::Lazy, Mode::Eager, Mode::Interpret, Mode::Tiered] {
        let engine = engine(mode);
        let mut context = context(&engine);
        for round in 0..100 {
            let (old, new) = (format!("old{round}"), format!("new{round}"));
            context.eval(&format!("var {old} = 7 + {round}")).expect("it is right");
            assert_eq!(context.variable(&old).expect("it is declared"), f64::from(7 + round), "{mode:?}");
            context.drop_variable(&old).expect("nothing uses it");
            assert_eq!(value(&mut context, &format!("var {new}; {new}")), 0.0, "{mode:?}");
            assert_eq!(value(&mut context, &format!("{new} = 9; {new}")), 9.0, "{mode:?}");
            // A declaration that fails leaves nothing.
            context.eval(&format!("var {old} = 3, other{round} = missing()")).expect_err("it fails");
            assert!(context.variable(&old).is_err());
            context.drop_variable(&new).expect("nothing uses it");
        }
        // The shapes of expressions are kept, with what they refer to.
        assert!(engine.usage().variables <= 129 * 2, "{mode:?}: {:?}", engine.usage());
        // What the history can bring back keeps its value.
        context.keep_history(2);
        context.eval("var x = 5").expect("it is right");
        context.drop_variable("x").expect("nothing uses it");
        context.eval("var y = 6; var z = 7").expect("it is right");
        context.undo();
        assert!(context.variable("y").is_err() && context.variable("x").is_err(), "{mode:?}");
        context.undo();
        assert_eq!(context.variable("x").expect("it is back"), 5.0, "{mode:?}");
        context.redo();
        context.redo();
        assert_eq!(value(&mut context, "y * 10 + z"), 67.0, "{mode:?}");
        context.keep_history(0);
        assert_eq!(value(&mut context, "var w; w"), 0.0, "{mode:?}");
    }
}

/// Starts an engine that may know so many names.
fn engine_of_names(mode: Mode, max_names: usize) -> Engine {
    let limits = Limits { max_names, ..Limits::default() };
    Engine::with_config(Config::new().mode(mode).limits(limits)).expect("an engine starts")
}

#[test]
fn a_refused_text_leaves_no_names() {
    for mode in [Mode::Lazy, Mode::Interpret] {
        let engine = engine_of_names(mode, 300);
        let mut tenant = context(&engine);
        tenant.eval("def f(x) x + 1").expect("it is right");
        let before = engine.usage().names;
        for number in 0..1_000 {
            let new = [
                format!("def g{number}(y{number}) z{number}"),
                format!("def g{number}(y{number}) (y{number}"),
                format!("extern e{number}(x y{number} y{number})"),
                format!("def binary⊕ 7 (l{number} r{number}) l{number} ⊗ r{number}"),
                format!("var v{number} = w{number}"),
            ];
            for text in new {
                tenant.eval(&text).expect_err(&text);
            }
            let parameter = format!("p{number}");
            tenant.formula(&format!("f({parameter}"), &[&parameter]).expect_err("it is wrong");
        }
        assert_eq!(engine.usage().names, before, "{mode:?}");
        assert_eq!(value(&mut tenant, "f(1)"), 2.0);
    }
}

#[test]
fn names_are_limited_and_given_back() {
    for mode in [Mode::Lazy, Mode::Interpret] {
        let engine = engine_of_names(mode, 300);
        let mut tenant = context(&engine);
        tenant.eval("def f(x) x + 1").expect("there is room");
        let refused = (0..400).find_map(|number| tenant.eval(&format!("def a{number}(x) x")).err());
        let refused = refused.expect("there is no room for so many");
        assert_eq!(code(&refused), "E0208");
        assert_eq!(refused.to_string(), "an engine may know no more than 300 names");
        assert_eq!(engine.usage().names, 300);
        // Nothing else is refused.
        assert_eq!(value(&mut tenant, "f(1)"), 2.0);
        let mut other = context(&engine);
        assert_eq!(value(&mut other, "def f(x) x * 10; f(4)"), 40.0);
        assert_eq!(code(&other.eval("def f(unheard_of) 1; f(1)").expect_err("no room")), "E0208");
        assert_eq!(value(&mut other, "f(5)"), 50.0);
        let declared = other.declare("unheard_of", 1.0).expect_err("no room");
        assert_eq!(declared.to_string(), "there are too many names");
        assert_eq!(code(&other.formula("f(1)", &["unheard_of"]).expect_err("no room")), "E0208");
        other.declare("a7", 1.0).expect("the name is in use");
        drop(tenant);
        other.declare("unheard_of", 2.0).expect("there is room again");
        assert_eq!(value(&mut other, "def g(unheard) unheard + unheard_of + a7; g(3)"), 6.0);
        // The compiler has a word of its own.
        assert!(engine.usage().names <= 301, "{mode:?}: {:?}", engine.usage());
    }
}

/// What tenants with names of their own take is given back with them, while one
/// that stays uses, forgets and takes up names of its own.
#[test]
fn names_of_programs_that_are_gone_are_given_back() {
    for mode in [Mode::Lazy, Mode::Interpret] {
        let engine = engine_of_names(mode, 2_000);
        let mut lasting = context(&engine);
        lasting.keep_history(8);
        let text = "var total; extern later(n); def binary⊕ 30 (a b) a * 10 + b
                    def add(n) total = total + later(n) ⊕ 1";
        lasting.eval(text).expect("it is right");
        for number in 0..scale("KAL_TENANTS", 4_000) {
            let mut tenant = context(&engine);
            let text = format!(
                "var v{number} = {number}; def binary⊗ 30 (l{number} r{number}) l{number} - r{number}
                 def f{number}(p{number}) p{number} ⊗ v{number}; f{number}(7)"
            );
            assert_eq!(value(&mut tenant, &text), 7.0 - number as f64, "{mode:?}");
            if number % 500 == 0 {
                assert!(lasting.call("add", &[1.0]).is_err(), "it is not defined");
                lasting.eval("def later(n) n").expect("it is right");
                lasting.set_variable("total", 0.0).expect("it is declared");
                assert_eq!(lasting.call("add", &[2.0]).expect("it runs"), 21.0);
                assert_eq!(value(&mut lasting, "total ⊕ 2"), 212.0);
                assert_eq!(lasting.undo().len(), 1);
            }
        }
        assert!(engine.usage().names < 1_200, "{mode:?}: {:?}", engine.usage());
    }
}

/// A function of some size.
fn large(name: &str) -> String {
    let terms: Vec<String> = (0..300).map(|index| format!("sin(x * {index})")).collect();
    format!("def {name}(x) {}", terms.join(" + "))
}

#[test]
fn a_tenant_at_the_limit_of_its_code_leaves_the_others_untouched() {
    let limits = Limits { max_context_code_bytes: 40_000, ..Limits::default() };
    for mode in [Mode::Lazy, Mode::Eager] {
        let engine = Engine::with_config(Config::new().mode(mode).limits(limits)).expect("an engine starts");
        let (mut greedy, mut modest) = (context(&engine), context(&engine));
        let mut refused = None;
        for number in 0..100 {
            greedy.eval(&large(&format!("f{number}"))).expect("it is right");
            if let Err(error) = greedy.call(&format!("f{number}"), &[1.0]) {
                refused = Some((number, error));
                break;
            }
        }
        let (number, error) = refused.expect("it comes to an end");
        assert!(number > 0, "{mode:?}");
        assert_eq!(code(&error), "E0310", "{mode:?}: {error}");
        let message = "a context may have no more than 40000 bytes of code";
        assert!(error.to_string().ends_with(message), "{mode:?}: {error}");
        let used = greedy.stats().context_code_bytes;
        assert!(used > 20_000 && used <= 40_000, "{mode:?}: {used}");
        // What is there runs, and others compile.
        greedy.call("f0", &[1.0]).expect("it is compiled");
        assert_eq!(modest.stats().context_code_bytes, 0);
        modest.eval(&large("g")).expect("it is right");
        modest.call("g", &[1.0]).expect("it compiles");
        let of_modest = modest.stats().context_code_bytes;
        assert!(of_modest > 0 && of_modest < used, "{mode:?}: {of_modest}");
        // The same code costs the second one nothing.
        modest.eval(&large("f0")).expect("it is right");
        modest.call("f0", &[1.0]).expect("it is there");
        assert_eq!(modest.stats().context_code_bytes, of_modest, "{mode:?}");
        // What is given up is given back.
        greedy.drop_function("f1").expect("it is there");
        assert!(greedy.stats().context_code_bytes < used, "{mode:?}");
        greedy.call(&format!("f{number}"), &[1.0]).expect("there is room now");
    }
}

#[test]
fn a_tiered_tenant_at_its_limits_goes_on_interpreted() {
    let by_code = Limits { max_context_code_bytes: 72 << 10, ..Limits::default() };
    let by_time = Limits { max_compile_time: Some(Duration::from_nanos(1)), ..Limits::default() };
    for limits in [by_code, by_time] {
        let config =
            Config::new().mode(Mode::Tiered).tier_up(TierUp::After(2)).wait_for_code(true).limits(limits);
        let engine = Engine::with_config(config).expect("an engine starts");
        let mut tenant = context(&engine);
        for number in 0..8 {
            let name = format!("f{number}");
            tenant.eval(&large(&name)).expect("it is right");
            let first = tenant.call(&name, &[1.0]).expect("it is interpreted");
            for _ in 0..10 {
                assert_eq!(tenant.call(&name, &[1.0]).expect("it goes on"), first, "{limits:?}");
            }
        }
        let stats = tenant.stats();
        assert!(stats.materialized < 8, "{stats:?}");
        assert!(stats.context_code_bytes <= 72 << 10, "{stats:?}");
    }
}

#[test]
fn tapes_count_in_the_part_of_a_tenant() {
    let limits = Limits { max_context_code_bytes: 20_000, ..Limits::default() };
    let engine = Engine::with_config(Config::new().mode(Mode::Interpret).limits(limits)).expect("it starts");
    let (mut greedy, mut modest) = (context(&engine), context(&engine));
    let refused = (0..100).find_map(|number| {
        greedy.eval(&large(&format!("f{number}"))).expect("it is right");
        greedy.call(&format!("f{number}"), &[1.0]).err()
    });
    assert_eq!(code(&refused.expect("it comes to an end")), "E0310");
    let stats = greedy.stats();
    assert!(stats.context_tape_bytes > 10_000 && stats.context_tape_bytes <= 20_000, "{stats:?}");
    assert_eq!(stats.context_code_bytes, 0);
    modest.eval(&large("g")).expect("it is right");
    modest.call("g", &[1.0]).expect("there is room");
    greedy.reset();
    greedy.eval(&large("f99")).expect("it is right");
    greedy.call("f99", &[1.0]).expect("there is room again");
}

#[test]
fn a_tenant_whose_compile_time_is_over_compiles_no_more() {
    let limits = Limits { max_compile_time: Some(Duration::from_nanos(1)), ..Limits::default() };
    for mode in [Mode::Lazy, Mode::Eager] {
        let engine = Engine::with_config(Config::new().mode(mode).limits(limits)).expect("an engine starts");
        let (mut greedy, mut modest) = (context(&engine), context(&engine));
        greedy.eval("def f(x) x + 1").expect("it is right");
        assert_eq!(greedy.call("f", &[1.0]).expect("the first one is finished"), 2.0);
        assert!(greedy.stats().context_compile_ms > 0.0);
        greedy.eval("def g(x) f(x) * 2").expect("it is right");
        let error = greedy.call("g", &[1.0]).expect_err("the time is over");
        assert_eq!(code(&error), "E0310", "{mode:?}: {error}");
        assert_eq!(
            error.to_string(),
            "`g` is not compiled: compiling for a context may take no longer than 1ns",
            "{mode:?}"
        );
        assert_eq!(greedy.call("f", &[5.0]).expect("it is compiled"), 6.0, "{mode:?}");
        assert_eq!(modest.stats().context_compile_ms, 0.0, "{mode:?}");
        modest.eval("def g(x) x * 3").expect("it is right");
        assert_eq!(modest.call("g", &[2.0]).expect("it compiles"), 6.0, "{mode:?}");
        // What the other has compiled takes no time.
        greedy.eval("def g(x) x * 3").expect("it is right");
        assert_eq!(greedy.call("g", &[2.0]).expect("it is compiled"), 6.0, "{mode:?}");
        greedy.reset();
        assert_eq!(greedy.stats().context_compile_ms, 0.0, "{mode:?}");
        greedy.eval("def h(x) x - 1").expect("it is right");
        assert_eq!(greedy.call("h", &[1.0]).expect("it compiles"), 0.0, "{mode:?}");
    }
}
