//! Contexts of one engine share what they have read and compiled, and nothing
//! that one of them changes reaches another.

use crate::choices::Random;
use crate::modes::{MODES, engine, observe_texts};
use crate::program::program;
use crate::{binary, scale};
use kal::{Config, Context, Engine, Limits, Mode, Stats, TierUp};
use std::fmt::Write;
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
fn contexts_that_start_at_once_compile_everything_once() {
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
    assert_eq!(after.stats().ir_generated, COUNT as u64 + 1);
    after.eval(&text).expect("it is right");
    assert_eq!(after.call(&last, &[1.5]).expect("it ends"), expected);
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
    let count = scale("KAL_PROGRAMS", 2_000) / 10;
    let numbers: Vec<u64> = (0..count).collect();
    let complaints = binary::in_parallel(&numbers, |number| {
        let mode = *number as usize % MODES.len();
        // Programs use the same names, so the second one redefines what is in
        // the first, and operators are read in another way.
        let [one, other] = [2 * number, 2 * number + 1].map(|seed| program(&mut Random::new(seed)).text());
        let orders: [&[&str]; 5] =
            [&[&one], &[&one, &other], &[&other, &one], &[&one, &one], &[&one, &other, &one]];
        let shared = engine(mode, Limits::default());
        for texts in orders.iter().chain(&orders) {
            let alone = observe_texts(&engine(mode, Limits::default()), texts);
            let found = observe_texts(&shared, texts);
            if found != alone {
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
