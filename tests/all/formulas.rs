//! Many formulas in one context.

use crate::rows::applied;
use kal::{Column, Config, Context, Engine, Formula, Mode};
use std::time::{Duration, Instant};

fn context() -> Context {
    let config = Config::new().mode(Mode::Interpret);
    Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts")
}

fn make(context: &mut Context, count: u32) -> Vec<Formula> {
    let one = |i| context.formula(&format!("x + {i}"), &["x"]).expect("it is right");
    (0..count).map(one).collect()
}

/// Returns how long the first calls of formulas take.
fn first_calls(context: &mut Context, formulas: &[Formula]) -> Duration {
    let start = Instant::now();
    for (number, formula) in formulas.iter().enumerate() {
        assert_eq!(formula.call(context, &[1.0]).expect("it runs"), number as f64 + 1.0);
    }
    start.elapsed()
}

#[test]
fn a_formula_gives_functions_in_every_context() {
    for mode in [Mode::Lazy, Mode::Eager, Mode::Interpret, Mode::Tiered] {
        let engine = Engine::with_config(Config::new().mode(mode)).expect("an engine starts");
        let mut contexts = [(); 2].map(|()| engine.context().expect("a context starts"));
        for (number, context) in contexts.iter_mut().enumerate() {
            let text = format!("import series(sum) def apply(f(x) x) f(x) + {number}; def t(i) i");
            context.eval(&text).expect("it is right");
        }
        let [first, second] = &mut contexts;
        let formula = first.formula("apply(sqrt, x) + sum(t, 1, x)", &["x"]).expect("it is right");
        assert_eq!(formula.call(first, &[4.0]).expect("it runs"), 12.0, "{mode:?}");
        assert_eq!(formula.call(second, &[4.0]).expect("it runs"), 13.0, "{mode:?}");
        first.eval("def apply(f(x) x) f(x) * 100").expect("it is right");
        assert_eq!(formula.call(first, &[4.0]).expect("it runs"), 210.0, "{mode:?}");
        let kernel = first.formula_kernel("apply(cbrt, x)", &["x"]).expect("it is right");
        assert_eq!(applied(&kernel, &[Column::Values(&[27.0])], 1, 1), [300.0], "{mode:?}");
    }
}

#[test]
fn a_first_call_does_not_look_at_all_other_formulas() {
    let mut context = context();
    let mut kept = Vec::new();
    // The least of several times: a thread may have to wait for a processor.
    let mut least = |context: &mut Context| {
        let mut batch = || {
            let few = make(context, 1_000);
            let time = first_calls(context, &few);
            kept.push(few);
            time
        };
        (0..5).map(|_| batch()).min()
    };
    let early = least(&mut context).expect("there are some");
    let many = make(&mut context, 40_000);
    first_calls(&mut context, &many);
    let late = least(&mut context).expect("there are some");
    assert!(late < early * 10, "{early:?}, {late:?}");
}

#[test]
fn formulas_that_nobody_has_any_more_give_their_room_back() {
    let mut context = context();
    let held = make(&mut context, 10);
    first_calls(&mut context, &held);
    let mut most = 0;
    for _ in 0..1_000 {
        let dropped = make(&mut context, 10);
        first_calls(&mut context, &dropped);
        most = most.max(context.stats().code_bytes);
    }
    assert!(most < 10_000, "{most}");
    first_calls(&mut context, &held);
}

#[test]
fn clones_run_in_several_threads_at_once_each_with_its_own_meanings() {
    for mode in [Mode::Lazy, Mode::Interpret, Mode::Tiered] {
        let engine = Engine::with_config(Config::new().mode(mode)).expect("it starts");
        let mut first = engine.context().expect("it starts");
        let formula = first.formula("sqrt(x) + floor(y) + own(1)", &["x", "y"]).expect("it is right");
        let run = |number: usize| {
            let (engine, formula) = (&engine, formula.clone());
            move || {
                let mut context = engine.context().expect("it starts");
                let own = if number.is_multiple_of(2) { "def sqrt(x) 100" } else { "" };
                let floor = if number.is_multiple_of(3) { "def floor(x) 1000" } else { "" };
                context.eval(&format!("{own} def own(x) x * {number} {floor}")).expect("it is right");
                let expected = if own.is_empty() { 3.0 } else { 100.0 }
                    + if floor.is_empty() { 2.0 } else { 1000.0 }
                    + number as f64;
                for _ in 0..2_000 {
                    assert_eq!(
                        formula.call(&mut context, &[9.0, 2.5]).expect("it runs"),
                        expected,
                        "{mode:?}"
                    );
                }
            }
        };
        std::thread::scope(|scope| (0..12).for_each(|number| _ = scope.spawn(run(number))));
        // The context that it was made in does not define `own`.
        let error = formula.call(&mut first, &[9.0, 2.5]).expect_err("it calls nothing");
        assert!(error.to_string().contains("`own`"), "{error}");
    }
}

#[test]
fn a_formula_that_contexts_have_run_gives_its_room_back_in_each() {
    let engine = Engine::with_config(Config::new().mode(Mode::Interpret)).expect("it starts");
    let mut contexts = [engine.context().expect("it starts"), engine.context().expect("it starts")];
    let mut most = 0;
    for _ in 0..1_000 {
        for formula in make(&mut contexts[0], 10) {
            contexts.iter_mut().for_each(|context| _ = formula.call(context, &[1.0]).expect("it runs"));
        }
        most = contexts.iter().map(|context| context.stats().code_bytes).fold(most, u64::max);
    }
    assert!(most < 10_000, "{most}");
}
