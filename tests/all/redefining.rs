//! Redefining, undo and redo: everything made before follows, in every mode.

use crate::modes::{MODES, engine};
use kal::source::Source;
use kal::{Context, Engine, Limits};
use std::ops::ControlFlow;

fn context() -> Context {
    Engine::new().unwrap().context().unwrap()
}

#[test]
fn formulas_see_definitions_in_place_of_instructions() {
    for (mode, (name, _)) in MODES.iter().enumerate() {
        let engine = engine(mode, Limits::default());
        let (mut one, mut other) = (engine.context().unwrap(), engine.context().unwrap());
        one.keep_history(9);
        let formula = one.formula("sqrt(x) + fabs(x) * 100 + sin(0)", &["x"]).unwrap();
        // Often enough that it is compiled where tapes come first.
        let value = |context: &mut Context, of: f64| {
            let all: Vec<f64> = (0..6).map(|_| formula.call(context, &[of]).unwrap()).collect();
            assert!(all.iter().all(|value| *value == all[0]), "{name}: {all:?}");
            all[0]
        };
        assert_eq!([value(&mut one, 4.0), value(&mut other, 9.0)], [402.0, 903.0], "{name}");
        one.eval("def sqrt(x) x + 73").unwrap();
        assert_eq!([value(&mut one, 4.0), value(&mut other, 9.0)], [477.0, 903.0], "{name}");
        other.eval("def fabs(x) 1").unwrap();
        assert_eq!([value(&mut one, 4.0), value(&mut other, 9.0)], [477.0, 103.0], "{name}");
        one.eval("def fabs(x) 2; def sqrt(x) x; def sin(x) 5").unwrap();
        assert_eq!([value(&mut one, 4.0), value(&mut other, 9.0)], [209.0, 103.0], "{name}");
        one.undo();
        assert_eq!(value(&mut one, 4.0), 477.0, "{name}");
        one.undo();
        assert_eq!(value(&mut one, 4.0), 402.0, "{name}");
        one.eval("def sqrt(x y) x").unwrap();
        assert!(formula.call(&mut one, &[4.0]).is_err(), "{name}");
        one.drop_function("sqrt").unwrap();
        other.drop_function("fabs").unwrap();
        assert_eq!([value(&mut one, 4.0), value(&mut other, 9.0)], [402.0, 903.0], "{name}");
        // One that is read where the name is defined is right elsewhere too.
        one.eval("def floor(x) 7").unwrap();
        let formula = one.formula("floor(x)", &["x"]).unwrap();
        let mut both = || [&mut one, &mut other].map(|context| formula.call(context, &[2.5]).unwrap());
        assert_eq!([both(), both(), both()], [[7.0, 2.0]; 3], "{name}");
    }
}

#[test]
fn no_step_outlives_the_history() {
    let mut context = context();
    context.keep_history(5);
    context.eval("def f(x) 1").unwrap();
    context.eval("def f(x) 2").unwrap();
    assert_eq!(context.undo().len(), 1);
    context.keep_history(0);
    context.eval("def f(x) 3").unwrap();
    assert!(context.redo().is_empty());
    assert_eq!(context.eval("f(0)").unwrap(), Some(3.0));
    context.keep_history(5);
    assert!(context.redo().is_empty() && context.undo().is_empty());
}

#[test]
fn a_shorter_history_keeps_the_nearest_steps() {
    let mut context = context();
    context.keep_history(9);
    for round in 0..6 {
        context.eval(&format!("def f(x) {round}")).unwrap();
    }
    for _ in 0..4 {
        context.undo();
    }
    context.keep_history(2);
    let value = |context: &mut Context| context.eval("f(0)").unwrap();
    assert_eq!([context.redo().len(), context.redo().len(), context.redo().len()], [1, 1, 0]);
    assert_eq!(value(&mut context), Some(3.0));
    assert_eq!([context.undo().len(), context.undo().len(), context.undo().len()], [1, 1, 0]);
    assert_eq!(value(&mut context), Some(1.0));
    assert_eq!([context.redo().len(), context.redo().len(), context.redo().len()], [1, 1, 0]);
    assert_eq!(value(&mut context), Some(3.0));
}

#[test]
fn a_text_run_inside_another_belongs_to_its_step() {
    let mut context = context();
    context.keep_history(9);
    context.eval("def a(x) 0; def b(x) 0; def c(x) 0; def d(x) 0").unwrap();
    let text = Source::new("outer", "def a(x) 1; def b(x) 2; def c(x) 3");
    let mut items = 0;
    let _ = context.run(&text, &mut |context, _| {
        items += 1;
        if items == 2 {
            context.eval("def d(x) 4").unwrap();
            context.declare("v", 1.0).unwrap();
            context.drop_variable("v").unwrap();
        }
        ControlFlow::Continue(())
    });
    let sum = |context: &mut Context| context.eval("a(0) + b(0) * 10 + c(0) * 100 + d(0) * 1000").unwrap();
    assert_eq!(sum(&mut context), Some(4321.0));
    assert_eq!(context.undo().len(), 5);
    assert_eq!(sum(&mut context), Some(0.0));
    context.redo();
    assert_eq!(sum(&mut context), Some(4321.0));
    // The next text is again a step of its own.
    context.eval("def a(x) 9").unwrap();
    context.undo();
    assert_eq!(sum(&mut context), Some(4321.0));
}

#[test]
fn an_undo_inside_a_text_ends_its_step() {
    let mut context = context();
    context.keep_history(9);
    context.eval("def a(x) 0; def b(x) 0").unwrap();
    let mut items = 0;
    let _ = context.run(&Source::new("outer", "def a(x) 1; def b(x) 2"), &mut |context, _| {
        items += 1;
        if items == 1 {
            assert_eq!(context.undo().len(), 1);
        }
        ControlFlow::Continue(())
    });
    let sum = |context: &mut Context| context.eval("a(0) + b(0) * 10").unwrap();
    assert_eq!(sum(&mut context), Some(20.0));
    assert_eq!(context.undo().len(), 1);
    assert_eq!(sum(&mut context), Some(0.0));
    assert_eq!(context.undo().len(), 2, "the text before the two");
}
