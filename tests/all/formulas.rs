//! Many formulas in one context.

use kal::{Config, Context, Engine, Formula, Mode};
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
fn a_first_call_does_not_look_at_all_other_formulas() {
    let mut context = context();
    let few = make(&mut context, 2_000);
    let early = first_calls(&mut context, &few);
    let many = make(&mut context, 40_000);
    first_calls(&mut context, &many);
    let more = make(&mut context, 2_000);
    let late = first_calls(&mut context, &more);
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
