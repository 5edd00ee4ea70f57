//! Contexts of one engine share what they have read and compiled, and nothing
//! that one of them changes reaches another.

use crate::choices::Random;
use crate::modes::{MODES, engine, evaluate_texts, observe_texts};
use crate::program::program;
use crate::{binary, scale};
use kal::source::Source;
use kal::{Config, Context, Engine, Limits, Mode, Outcome, Stats, TierUp};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::Barrier;

fn engine_in(mode: Mode) -> Engine {
    Engine::with_config(Config::new().mode(mode).tier_up(TierUp::After(10)).wait_for_code(true))
        .expect("an engine starts")
}

fn context(engine: &Engine) -> Context {
    engine.context().expect("a context starts")
}

fn value(context: &mut Context, text: &str) -> f64 {
    context.eval(text).unwrap_or_else(|error| panic!("{text}: {error}")).expect("it has a value")
}

/// A program of functions that call each other, with operators and variables,
/// and an expression that calls them all.
fn library(count: usize) -> String {
    let mut text =
        String::from("var scale = 2\ndef binary | 5 (a b) if a then 1 else b != 0\ndef f0(x) x + scale\n");
    for index in 1..count {
        let _ = writeln!(text, "def f{index}(x) if x | 0 then f{}(x) + {index} else {index}", index - 1);
    }
    text
}

fn made(stats: &Stats) -> (u64, u64) {
    (stats.ir_generated, stats.objects_linked)
}

#[test]
fn a_second_context_reads_and_compiles_nothing() {
    const COUNT: usize = 100;
    for mode in [Mode::Lazy, Mode::Eager, Mode::Interpret] {
        let engine = engine_in(mode);
        let (mut first, mut second) = (context(&engine), context(&engine));
        let last = format!("f{}", COUNT - 1);
        first.eval(&library(COUNT)).expect("it is right");
        assert_eq!((first.stats().items_read, first.stats().items_known), (COUNT as u64 + 2, 0), "{mode:?}");
        let expected = first.call(&last, &[1.5]).expect("it ends");
        first.prepare_all().expect("they compile");
        let before = first.stats();
        second.eval(&library(COUNT)).expect("it is right");
        assert_eq!(
            (second.stats().items_read, second.stats().items_known),
            (0, COUNT as u64 + 2),
            "{mode:?}"
        );
        assert_eq!(second.call(&last, &[1.5]).expect("it ends"), expected, "{mode:?}");
        second.prepare_all().expect("they compile");
        assert_eq!(made(&second.stats()), made(&before), "{mode:?}");
        // Variables are of each context.
        second.eval("scale = 100").expect("it is right");
        assert_eq!(first.call("f0", &[1.0]).expect("it ends"), 3.0);
        assert_eq!(second.call("f0", &[1.0]).expect("it ends"), 101.0);
    }
}

#[test]
fn what_means_something_else_is_read_again() {
    let text = "def twice(x) x @ x\ndef root(x) sqrt(x)\ndef uses(x) other(x) + 1\ntwice(3) + root(16)";
    let engine = engine_in(Mode::Lazy);
    let mut contexts: Vec<Context> = (0..5).map(|_| context(&engine)).collect();
    let preludes = [
        "def binary @ 10 (a b) a * b; def other(x) x",
        "def binary @ 10 (a b) a + b; def other(x) x",
        "def binary @ 10 (a b) a * b; def sqrt(x) x; def other(x) x",
        "def binary @ 10 (a b) a * b; def other(x) x; def unrelated(x) x; def binary $ 7 (a b) a",
    ];
    let read: Vec<u64> = contexts
        .iter_mut()
        .zip(preludes)
        .zip([13.0, 10.0, 25.0, 13.0])
        .map(|((context, prelude), expected)| {
            context.eval(prelude).expect("it is right");
            let before = context.stats().items_read;
            assert_eq!(value(context, text), expected, "{prelude}");
            context.stats().items_read - before
        })
        .collect();
    // The second one answers all questions alike: the operator is the same,
    // whatever its definition computes.
    assert_eq!(read, [4, 0, 1, 0]);
    let refused = contexts[4].eval(text).expect_err("there is no operator");
    assert!(refused.to_string().contains('@'), "{refused}");
}

#[test]
fn a_redefinition_stays_in_its_context() {
    // `f` has `g` inlined into its code, at the first call and when it is hot.
    let text =
        "def g(x) x + 1\ndef f(n) var s = 0 in (for i = 0, i < n in s = s + g(i)) + s\ndef h(x) g(x) * 2";
    let calls = "var t = 0\nfor i = 0, i < 100 in t = t + h(i)\nt";
    for mode in [Mode::Lazy, Mode::Eager, Mode::Interpret, Mode::Tiered] {
        let engine = engine_in(mode);
        let (mut first, mut second, mut third) = (context(&engine), context(&engine), context(&engine));
        for context in [&mut first, &mut second, &mut third] {
            context.eval(text).expect("it is right");
        }
        assert_eq!((value(&mut first, "f(100)"), value(&mut first, calls)), (5151.0, 10302.0), "{mode:?}");
        // Before its first call of what the other context has compiled.
        second.eval("def g(x) x * 2").expect("it is right");
        assert_eq!((value(&mut second, "f(100)"), value(&mut second, calls)), (10100.0, 20200.0), "{mode:?}");
        assert_eq!((value(&mut third, "f(100)"), value(&mut third, calls)), (5151.0, 10302.0), "{mode:?}");
        third.eval("def g(x) 1").expect("it is right");
        assert_eq!(
            (value(&mut third, "f(100)"), value(&mut third, "t = 0;".to_owned().as_str())),
            (101.0, 0.0)
        );
        assert_eq!(value(&mut first, "f(100) + h(1)"), 5155.0, "{mode:?}");
        assert_eq!(value(&mut second, "f(100) + h(1)"), 10104.0, "{mode:?}");
        // Going back means the shared definition again.
        second.keep_history(3);
        second.eval("def g(x) x - 1").expect("it is right");
        assert_eq!(value(&mut second, "h(1)"), 0.0, "{mode:?}");
        second.undo();
        second.undo();
        assert_eq!(value(&mut second, "h(1)"), 4.0, "{mode:?}");
        drop(first);
        assert_eq!(value(&mut third, "h(5)"), 2.0, "{mode:?}");
    }
}

#[test]
fn an_inlined_call_that_fails_elsewhere_is_named_there() {
    let text = "def g(x) other(x) + 1\ndef f(n) var s = 0 in (for i = 0, i < n in s = s + g(i)) + s";
    let engine = engine_in(Mode::Lazy);
    let (mut first, mut second) = (context(&engine), context(&engine));
    first.eval("def other(x) x").expect("it is right");
    for context in [&mut first, &mut second] {
        context.eval(text).expect("it is right");
    }
    assert_eq!(value(&mut first, "f(10)"), 66.0);
    let error = second.eval("f(10)").expect_err("nothing is called other").to_string();
    let mut alone = context(&engine_in(Mode::Lazy));
    alone.eval(text).expect("it is right");
    assert_eq!(error, alone.eval("f(10)").expect_err("nothing is called other").to_string());
}

#[test]
fn code_that_is_hot_in_one_context_becomes_better_in_the_others_too() {
    let text = "def g(x) x + 1\ndef h(x) g(x) * 2";
    let engine = Engine::with_config(Config::new().tier_up(TierUp::After(50))).expect("an engine starts");
    let mut contexts: Vec<Context> = (0..3).map(|_| context(&engine)).collect();
    for context in &mut contexts {
        context.eval(text).expect("it is right");
        assert_eq!(context.call("h", &[1.0]).expect("it ends"), 4.0);
    }
    let quick = contexts[0].stats().objects_linked;
    for (index, context) in contexts.iter_mut().enumerate() {
        // The better code is made in the background, once.
        while context.describe("h").expect("it is defined").tier != Some(kal::Tier::Full) {
            for _ in 0..100 {
                assert_eq!(context.call("h", &[1.0]).expect("it ends"), 4.0, "{index}");
            }
        }
    }
    let better = contexts[0].stats().objects_linked - quick;
    assert!((1..=2).contains(&better), "{better} objects for h and g");
    contexts[1].eval("def g(x) x").expect("it is right");
    let values: Vec<_> =
        contexts.iter_mut().map(|context| context.call("h", &[1.0]).expect("it ends")).collect();
    assert_eq!(values, [4.0, 2.0, 4.0]);
}

#[test]
fn contexts_that_start_at_once_share_their_code() {
    const THREADS: usize = 32;
    const COUNT: usize = 40;
    let engine = Engine::new().expect("an engine starts");
    let (text, barrier) = (library(COUNT), Barrier::new(THREADS));
    let (last, expected) = (format!("f{}", COUNT - 1), 3.5 + (1..COUNT).sum::<usize>() as f64);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut context = context(&engine);
                barrier.wait();
                context.eval(&text).expect("it is right");
                assert_eq!(context.call(&last, &[1.5]).expect("it ends"), expected);
            });
        }
    });
    let mut after = context(&engine);
    // Threads that need the same code at the same moment may each make it.
    let compiled = after.stats().ir_generated;
    assert!((COUNT as u64 + 1..=(THREADS * (COUNT + 1) / 2) as u64).contains(&compiled), "{compiled}");
    after.eval(&text).expect("it is right");
    assert_eq!(after.call(&last, &[1.5]).expect("it ends"), expected);
    assert_eq!(after.stats().ir_generated, compiled);
}

/// Runs a text for its values; returns how many outcomes there were, and the warnings.
fn shown(context: &mut Context, source: &Source) -> (usize, Vec<String>) {
    let (mut outcomes, mut shown) = (0, Vec::new());
    let flow = context.run_for_values(source, &mut |_, outcome| {
        outcomes += 1;
        if let Outcome::Defined { warnings, .. } = outcome.expect("it is right") {
            shown.extend(warnings.iter().map(|warning| warning.message.clone()));
        }
        ControlFlow::Continue(())
    });
    assert!(flow.is_continue());
    (outcomes, shown)
}

#[test]
fn definitions_are_taken_over_at_once_unless_there_is_a_warning() {
    let quiet = Source::new("quiet", "def one(x) x + 1\ndef two(x) one(x) + 1\ntwo(40)");
    let loud = Source::new("loud", "def one(x) x + 1\ndef two(x) one(x) + 1\ndef one(x y) x + y\n40");
    for mode in [Mode::Lazy, Mode::Eager, Mode::Interpret] {
        let engine = engine_in(mode);
        let run = |source: &Source| {
            let mut context = context(&engine);
            let outcomes = shown(&mut context, source);
            (outcomes, context.stats().items_read)
        };
        let ((all, warnings), read) = run(&quiet);
        assert_eq!((all, warnings.len(), read), (3, 0, 3), "{mode:?}");
        let ((left, warnings), read) = run(&quiet);
        assert_eq!((left, warnings.len(), read), (1, 0, 0), "only the value, in {mode:?}");
        let ((all, warnings), _) = run(&loud);
        assert_eq!((all, warnings.len()), (4, 1), "{mode:?}");
        assert_eq!(run(&loud), ((all, warnings), 0), "the warning is for each context, in {mode:?}");
    }
}

#[test]
fn a_text_with_a_mistake_leaves_nothing() {
    let engine = engine_in(Mode::Lazy);
    let (mut first, mut second) = (context(&engine), context(&engine));
    let text = "def f(x) x + 1\ndef g(x) x +\ndef h(x) x";
    for context in [&mut first, &mut second] {
        context.eval(text).expect_err("an operand is missing");
        assert_eq!((context.stats().items_read, context.stats().items_known), (2, 0));
    }
}

#[test]
fn random_programs_agree_when_contexts_share() {
    let count = scale("KAL_PROGRAMS", 2_000) / 20;
    let numbers: Vec<u64> = (0..count).collect();
    let complaints = binary::in_parallel(&numbers, |number| {
        let mode = *number as usize % MODES.len();
        // Programs use the same names, so the second one redefines what is in
        // the first, and operators are read in another way.
        let [one, other] = [2 * number, 2 * number + 1].map(|seed| program(&mut Random::new(seed)).text());
        let orders: [&[&str]; 5] =
            [&[&one], &[&one, &other], &[&other, &one], &[&one, &one], &[&one, &other, &one]];
        let shared = engine(mode, Limits::default());
        let alone = |texts: &&[&str]| {
            [observe_texts, evaluate_texts].map(|observe| observe(&engine(mode, Limits::default()), texts))
        };
        let expected = orders.each_ref().map(alone);
        for (texts, alone) in orders.iter().zip(&expected).chain(orders.iter().zip(&expected)) {
            let found = [observe_texts, evaluate_texts].map(|observe| observe(&shared, texts));
            if found != *alone {
                let texts = texts.join("\n---\n");
                return Err(format!(
                    "{number}, {}:\n{texts}\nalone  {alone:?}\nshared {found:?}",
                    MODES[mode].0
                ));
            }
        }
        Ok(())
    });
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

/// Returns a text whose functions are all called by one of them.
fn called_by_one(count: usize) -> String {
    let mut text = String::new();
    for index in 0..count {
        let _ = writeln!(text, "def g{index}(x) if x < 0 then g{index}(x + 1) else x * {index}");
    }
    let calls: Vec<String> = (0..count).map(|index| format!("g{index}(x)")).collect();
    let _ = writeln!(text, "def all(x) {}", calls.join(" + "));
    text
}

#[test]
fn what_a_text_defines_first_is_adopted_as_a_whole_and_changed_alone() {
    const COUNT: usize = 60;
    let sum = (COUNT * (COUNT - 1) / 2) as f64;
    // What comes before must be the same, too.
    for before in ["", "1 + 1\n", "var scale = 3\n", "extern other(x)\nvar scale = 3\n"] {
        for mode in [Mode::Lazy, Mode::Eager, Mode::Interpret, Mode::Tiered] {
            let text = format!("{before}{}", called_by_one(COUNT));
            let engine = engine_in(mode);
            let mut contexts: Vec<Context> = (0..4).map(|_| context(&engine)).collect();
            for context in &mut contexts[..3] {
                context.eval(&text).expect("it is right");
                assert_eq!(context.call("all", &[2.0]).expect("it runs"), 2.0 * sum, "{mode:?}");
                assert_eq!(context.stats().defined, COUNT as u64 + 1);
            }
            let made = made(&contexts[0].stats());
            let [one, two, three, different] = &mut contexts[..] else { panic!("there are four") };
            assert_eq!((one.stats().items_known, two.stats().items_read), (0, 0), "{mode:?}");
            // Each redefinition is of one context, and reaches all callers there.
            two.eval("def g1(x) 1000").expect("it is right");
            three.drop_function("g2").expect("it is defined");
            assert_eq!(one.call("all", &[2.0]).expect("it runs"), 2.0 * sum, "{mode:?}");
            assert_eq!(two.call("all", &[2.0]).expect("it runs"), 2.0 * sum + 998.0, "{mode:?}");
            let error = three.call("all", &[2.0]).expect_err("one function is missing");
            assert!(error.to_string().contains("`g2`"), "{mode:?}: {error}");
            three.eval("def g2(x) 0").expect("it is right");
            assert_eq!(three.call("all", &[2.0]).expect("it runs"), 2.0 * sum - 4.0, "{mode:?}");
            // In a context where something is declared already, the text is run
            // item by item, and means the same.
            different.eval("var unrelated = 1").expect("it is right");
            different.eval(&text).expect("it is right");
            assert_eq!(different.call("all", &[2.0]).expect("it runs"), 2.0 * sum, "{mode:?}");
            assert!(self::made(&different.stats()).0 <= made.0 + 4, "{mode:?}");
            // What is left of the first context's bindings goes with it.
            contexts.remove(0);
            assert_eq!(contexts[0].call("all", &[2.0]).expect("it runs"), 2.0 * sum + 998.0, "{mode:?}");
        }
    }
}

#[test]
fn a_function_of_the_host_that_was_called_before_gives_way_to_what_is_adopted() {
    let text = "def sin(x) x * 100\ndef tan(x) sin(x) + 1\n";
    for mode in [Mode::Lazy, Mode::Interpret] {
        let engine = engine_in(mode);
        for _ in 0..3 {
            let mut context = context(&engine);
            assert_eq!(value(&mut context, "sin(0) + tan(0)"), 0.0, "{mode:?}");
            context.eval(text).expect("it is right");
            assert_eq!(value(&mut context, "sin(1) + tan(1)"), 201.0, "{mode:?}");
        }
    }
}

#[test]
fn a_deadline_that_is_over_stops_what_would_be_adopted() {
    let engine = engine_in(Mode::Lazy);
    let text = library(20);
    for _ in 0..3 {
        let mut context = context(&engine);
        context.set_deadline(Some(std::time::Instant::now()));
        assert!(context.eval(&text).is_err());
        assert_eq!(context.stats().defined, 0);
        context.set_deadline(None);
        context.eval(&text).expect("it is right");
        assert_eq!(context.call("f3", &[0.0]).expect("it runs"), 3.0);
    }
}

#[test]
fn hot_code_replaces_the_baseline_in_contexts_that_share_their_bindings() {
    let engine = engine_in(Mode::Lazy);
    let text = "def f(x) x + 1\ndef g(x) f(x) * 2\ndef h(x) x - 1\n";
    let mut contexts: Vec<Context> = (0..3).map(|_| context(&engine)).collect();
    contexts.iter_mut().for_each(|context| _ = context.eval(text).expect("it is right"));
    for round in 0..300 {
        for context in &mut contexts {
            assert_eq!(context.call("g", &[f64::from(round)]).expect("it runs"), f64::from(round + 1) * 2.0);
        }
    }
    // The baseline code that some slots lead to lives on until they do not.
    contexts[1].eval("def h(x) 0").expect("it is right");
    contexts.remove(0);
    for context in &mut contexts {
        assert_eq!(context.call("g", &[1.0]).expect("it runs"), 4.0);
        context.eval("def f(x) x").expect("it is right");
        assert_eq!(context.call("g", &[1.0]).expect("it runs"), 2.0);
    }
}

#[test]
fn a_context_that_was_reset_is_as_good_as_a_new_one() {
    for mode in [Mode::Lazy, Mode::Eager, Mode::Interpret, Mode::Tiered] {
        let engine = engine_in(mode);
        let mut context = context(&engine);
        for round in 0..4 {
            context.eval(&library(30)).expect("it is right");
            assert_eq!(context.call("f0", &[1.0]).expect("it runs"), 3.0, "{mode:?}");
            context.eval("scale = 7; def sin(x) 5; extern later(x); sin(1)").expect("it is right");
            assert_eq!(context.call("f0", &[1.0]).expect("it runs"), 8.0, "{mode:?}");
            context.reset();
            let stats = context.stats();
            assert_eq!((stats.defined, stats.redefined), (0, 0), "{mode:?}, {round}");
            assert!(context.call("f0", &[1.0]).is_err() && context.variable("scale").is_err());
            assert_eq!(value(&mut context, "sin(0)"), 0.0, "{mode:?}");
            assert!(context.undefined_declarations().is_empty());
            assert_eq!(value(&mut context, "var scale; scale"), 0.0, "{mode:?}");
            context.reset();
        }
    }
}

#[test]
fn figures_tell_how_full_an_engine_is() {
    let engine = engine_in(Mode::Lazy);
    let empty = engine.usage();
    assert_eq!((empty.variables, empty.slots, empty.garbage, empty.queued), (0, 0, 0, 0));
    let mut context = context(&engine);
    context.eval("var one, two; def f(x) g(x) + one; def g(x) x; f(1)").expect("it is right");
    let used = engine.usage();
    assert!(used.names > empty.names && used.code_bytes > 0, "{used:?}");
    assert_eq!((used.variables, used.slots, used.garbage, used.queued), (2, 2, 0, 0));
}

#[test]
fn one_context_may_not_take_all_variables() {
    let limits = Limits { max_variables: 3, ..Limits::default() };
    for mode in [Mode::Lazy, Mode::Interpret] {
        let engine = Engine::with_config(Config::new().mode(mode).limits(limits)).expect("it starts");
        let mut context = context(&engine);
        context.eval("var a, b").expect("there is room");
        let error = context.eval("var c, d").expect_err("that is one too many").to_string();
        assert_eq!(error, "no more than 3 variables are allowed");
        context.eval("var a = 5, c = 6").expect("one is new");
        assert!(context.declare("d", 1.0).is_err());
        context.declare("c", 7.0).expect("it is not new");
        context.drop_variable("b").expect("nothing uses it");
        context.declare("d", 1.0).expect("there is room again");
    }
}

#[test]
fn the_same_functions_in_other_texts_share_code_and_have_places_of_their_own() {
    let texts = [
        "def f(x) g(x) + 1\ndef g(x) if x < 10 then x * 2 else missing(x)\n",
        "# Another layout.\n\ndef   f(input)\n  g(input) + 1   # one more\ndef g(y)\n  if y < 10 then y * 2\n  else missing(y)\n",
    ];
    for mode in [Mode::Lazy, Mode::Eager] {
        // Nothing is compiled while figures are compared.
        let config = Config::new().mode(mode).tier_up(TierUp::Never);
        let engine = Engine::with_config(config).expect("an engine starts");
        let [mut one, mut other] = [context(&engine), context(&engine)];
        let both = [&mut one, &mut other];
        let mut seen = Vec::new();
        for (context, text) in both.into_iter().zip(texts) {
            context.eval(text).expect("it is right");
            assert_eq!(context.call("f", &[4.0]).expect("it runs"), 9.0, "{mode:?}");
            let error = context.call("f", &[20.0]).expect_err("a function is missing");
            let [diagnostic] = error.diagnostics() else { panic!("{mode:?}: {error}") };
            let label = &diagnostic.labels[0];
            assert_eq!(label.source.text(), text, "{mode:?}");
            assert_eq!(label.source.slice(label.span), "missing", "{mode:?}");
            assert!(!diagnostic.trace.is_empty(), "{mode:?}: {diagnostic:?}");
            seen.push((made(&context.stats()), diagnostic.trace.clone()));
        }
        assert_eq!(seen[0].0, seen[1].0, "{mode:?}: the second compiles nothing");
        assert_eq!(seen[1].1, ["g(y)", "f(input)"], "{mode:?}");
        // One of them changes what the other keeps.
        other.eval("def g(x) 100").expect("it is right");
        assert_eq!(other.call("f", &[4.0]).expect("it runs"), 101.0, "{mode:?}");
        assert_eq!(one.call("f", &[4.0]).expect("it runs"), 9.0, "{mode:?}");
        // And back: what was compiled is still there.
        let before = made(&other.stats());
        other.eval("def g(z) if z < 10 then z * 2 else missing(z)").expect("it is right");
        assert_eq!(other.call("g", &[4.0]).expect("it runs"), 8.0, "{mode:?}");
        assert_eq!(made(&other.stats()), before, "{mode:?}");
        assert_eq!(other.call("f", &[4.0]).expect("it runs"), 9.0, "{mode:?}");
    }
}

#[test]
fn what_is_too_large_to_be_compiled_is_interpreted_in_every_context() {
    let limits = Limits { max_compiled_operations: 40, ..Limits::default() };
    let engine = Engine::with_config(Config::new().mode(Mode::Lazy).limits(limits)).expect("it starts");
    let large = format!("def small(x) x + 1\ndef large(x) small({}x)\n", "x * 0 + ".repeat(30));
    for _ in 0..3 {
        let mut context = context(&engine);
        context.eval(&large).expect("it is right");
        assert_eq!(context.call("large", &[4.0]).expect("it runs"), 5.0);
    }
}

#[test]
fn more_contexts_than_stacks_are_kept_for_run_fail_and_stop_as_one_does() {
    let engine = engine_in(Mode::Lazy);
    let text = "def f(x) x + 1\ndef deep(n) 1 + deep(n + 1)\ndef g(x) missing(x)\n";
    let mut contexts: Vec<Context> = (0..1_300).map(|_| context(&engine)).collect();
    for context in &mut contexts {
        context.eval(text).expect("it is right");
        assert_eq!(context.call("f", &[1.0]).expect("it runs"), 2.0);
    }
    for context in contexts.iter_mut().rev().take(6) {
        let error = context.call("deep", &[0.0]).expect_err("the stack overflows");
        assert_eq!(error.to_string(), "stack overflow");
        let error = context.call("g", &[0.0]).expect_err("it calls nothing");
        assert_eq!(error.diagnostics()[0].trace.len(), 0, "{error:?}");
        context.interrupt_handle().interrupt();
        assert_eq!(context.call("f", &[1.0]).expect_err("it is stopped").to_string(), "interrupted");
        assert_eq!(context.call("f", &[2.0]).expect("it runs"), 3.0);
        context.set_deadline(Some(std::time::Instant::now() + std::time::Duration::from_millis(20)));
        let error = context.eval("for i = 0, 1 in f(i)").expect_err("it takes too long");
        assert_eq!(error.to_string(), "the run took longer than allowed");
        context.set_deadline(None);
        assert_eq!(value(context, "f(5)"), 6.0);
    }
}

#[test]
fn hot_code_of_another_text_is_that_of_this_context() {
    let texts = ["def f(x) x + 1\ndef g(x) f(x) * 2\n", "def f(a) a + 1 # more\ndef g(b) f(b) * 2\n"];
    let engine = engine_in(Mode::Lazy);
    let mut contexts: Vec<Context> = texts.iter().map(|_| context(&engine)).collect();
    for (context, text) in contexts.iter_mut().zip(texts) {
        context.eval(text).expect("it is right");
    }
    for round in 0..400 {
        for context in &mut contexts {
            let expected = f64::from(round + 1) * 2.0;
            assert_eq!(context.call("g", &[f64::from(round)]).expect("it runs"), expected);
        }
    }
    for context in &mut contexts {
        // In the background.
        while context.describe("f").expect("it is defined").tier != Some(kal::Tier::Full) {
            assert_eq!(context.call("f", &[1.0]).expect("it runs"), 2.0);
        }
        assert_eq!(context.call("g", &[1.0]).expect("it runs"), 4.0);
    }
}
