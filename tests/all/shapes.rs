//! Top-level expressions that differ only in their numbers share code, and
//! nobody can tell but by the time.

use kal::{Config, Context, Engine, Mode, TierUp};

fn engine(mode: Mode) -> Engine {
    Engine::with_config(Config::new().mode(mode)).expect("an engine starts")
}

fn context(mode: Mode) -> Context {
    engine(mode).context().expect("a context starts")
}

fn value(context: &mut Context, text: &str) -> f64 {
    context.eval(text).unwrap_or_else(|error| panic!("{text}: {error}")).expect("it has a value")
}

/// Returns the message of the error, and the text that it is about.
fn message(context: &mut Context, text: &str) -> (String, String) {
    let error = context.eval(text).expect_err(text);
    let label = error.diagnostics().first().and_then(|diagnostic| diagnostic.labels.first());
    let place =
        label.map_or_else(String::new, |label| label.source.text()[label.span.start as usize..].to_owned());
    (error.to_string(), place)
}

#[test]
fn three_shapes_are_compiled_three_times() {
    for mode in [Mode::Lazy, Mode::Eager] {
        let engine = engine(mode);
        let (mut context, mut other) =
            (engine.context().expect("it starts"), engine.context().expect("it starts"));
        for number in 1..200 {
            let n = f64::from(number);
            assert_eq!(value(&mut context, &format!("{number} * 3 + 0.5")), n * 3.0 + 0.5);
            assert_eq!(
                value(&mut context, &format!("if {number} < 100 then 1 else -{number}")),
                if n < 100.0 { 1.0 } else { -n }
            );
            assert_eq!(value(&mut other, &format!("sqrt({number}) + fmod({number}, 7)")), n.sqrt() + n % 7.0);
        }
        assert_eq!(context.stats().expressions, 3, "{mode:?}");
        // What looks alike but is another program is not the same shape.
        assert_eq!(value(&mut context, "2 + 3 * 0.5"), 3.5);
        assert_eq!(value(&mut context, "var x = 2 in x * 3 + x"), 8.0);
        assert_eq!(value(&mut context, "var x = 2, y = 5 in x * 3 + y"), 11.0);
        assert_eq!(value(&mut context, "var x = 3, y = 7 in x * 4 + x"), 15.0);
        assert_eq!(context.stats().expressions, 7, "{mode:?}");
    }
}

#[test]
fn the_result_of_one_is_not_that_of_another() {
    let mut context = context(Mode::Lazy);
    context.eval("var total = 0\ndef f(a b) a * 10 + b").expect("it is right");
    for number in 1..50 {
        let n = f64::from(number);
        assert_eq!(value(&mut context, &format!("f({number}, {})", number + 1)), n * 10.0 + n + 1.0);
        assert_eq!(value(&mut context, &format!("f({}, {number})", number + 1)), (n + 1.0) * 10.0 + n);
        context.eval(&format!("total = total + {number}")).expect("it is right");
        // A negated number, a zero, a very large one, what is not a number.
        assert_eq!(value(&mut context, &format!("-{number} + 0")), -n);
        assert!(value(&mut context, &format!("0 / 0 * {number}")).is_nan());
    }
    assert_eq!(value(&mut context, "total"), 49.0 * 50.0 / 2.0);
    assert_eq!(value(&mut context, "1e308 * 10"), f64::INFINITY);
    assert_eq!((1.0 / value(&mut context, "0 * (0 - 1)")).to_bits(), f64::NEG_INFINITY.to_bits());
}

#[test]
fn more_numbers_than_registers_are_passed() {
    let mut context = context(Mode::Lazy);
    for count in [7, 8, 9, 30, 64, 65, 200] {
        let text = |first: u32| (first..first + count).map(|n| n.to_string()).collect::<Vec<_>>().join(" - ");
        let expected =
            |first: u32| (first + 1..first + count).fold(f64::from(first), |left, n| left - f64::from(n));
        for first in [1, 5, 1000] {
            assert_eq!(value(&mut context, &text(first)), expected(first), "{count}");
        }
    }
}

#[test]
fn errors_and_traces_name_the_expression_that_was_typed() {
    for mode in [Mode::Lazy, Mode::Eager] {
        let mut context = context(mode);
        context.eval("def f(x) x + 1\ndef g(x) f(x) * 2\ndef deep(x) 1 + deep(x + 1)").expect("it is right");
        assert_eq!(value(&mut context, "f(1) + g(2)"), 8.0);
        context.eval("def f(x y) x").expect("it is right");
        let (stale, _) = message(&mut context, "3 + g(41)");
        assert!(stale.contains("`g` calls `f`"), "{stale}");
        // Nothing of this name is defined when it runs.
        let mut interpreted = self::context(Mode::Interpret);
        for text in ["extern later(x)\n100 + later(1)", "200000 + later(2)", "3 + later(37)"] {
            let (found, wanted) = (message(&mut context, text), message(&mut interpreted, text));
            assert_eq!(found, wanted, "{text}");
            assert!(text.ends_with(&found.1) && found.1.starts_with("later("), "{found:?}");
        }
        interpreted.eval("def deep(x) 1 + deep(x + 1)").expect("it is right");
        for text in ["deep(1)", "deep(22)", "deep(333) + 1", "deep(4) + 55"] {
            let (found, wanted) = (message(&mut context, text), message(&mut interpreted, text));
            assert_eq!((&found.0, &found.1), (&wanted.0, &wanted.1), "{text}");
        }
    }
}

#[test]
fn a_function_that_the_program_defines_itself_is_called() {
    let engine = engine(Mode::Lazy);
    let (mut one, mut other) = (engine.context().expect("it starts"), engine.context().expect("it starts"));
    for context in [&mut one, &mut other] {
        assert_eq!(value(context, "sqrt(16) + fabs(0 - 3)"), 7.0);
    }
    one.keep_history(10);
    one.eval("def sqrt(x) x * 100").expect("it is right");
    for _ in 0..2 {
        assert_eq!(value(&mut one, "sqrt(4) + fabs(0 - 5)"), 405.0);
        assert_eq!(value(&mut other, "sqrt(4) + fabs(0 - 5)"), 7.0);
    }
    one.undo();
    assert_eq!(value(&mut one, "sqrt(9) + fabs(0 - 1)"), 4.0);
    assert_eq!(value(&mut other, "sqrt(9) + fabs(0 - 1)"), 4.0);
}

#[test]
fn a_redefinition_reaches_expressions_of_a_known_shape() {
    let engine =
        Engine::with_config(Config::new().mode(Mode::Eager).tier_up(TierUp::Never)).expect("it starts");
    let mut context = engine.context().expect("it starts");
    for number in 1..20 {
        context.eval(&format!("def f(x) x * {number}\ndef binary | 5 (a b) f(a) + b")).expect("it is right");
        let n = f64::from(number);
        assert_eq!(value(&mut context, &format!("f({number})")), n * n);
        assert_eq!(value(&mut context, &format!("f(2) | {number}")), 2.0 * n * n + n);
    }
}

#[test]
fn a_bounded_number_of_shapes_is_kept() {
    let mut context = context(Mode::Lazy);
    let shape = |number: usize| vec!["7"; number].join(" + ");
    // Twice as many shapes as numbers fit: by a function each.
    let run = |context: &mut Context, index: usize| {
        context.eval(&format!("def f{index}(x) x")).expect("it is right");
        assert_eq!(value(context, &format!("f{index}({index}) + {}", shape(3))), index as f64 + 21.0);
    };
    (0..300).for_each(|index| run(&mut context, index));
    let compiled = context.stats().expressions;
    assert_eq!(compiled, 300);
    // The last ones are known, the first ones are not.
    run(&mut context, 299);
    assert_eq!(context.stats().expressions, compiled);
    run(&mut context, 0);
    assert_eq!(context.stats().expressions, compiled + 1);
    let kept = context.stats().code_bytes;
    (300..900).for_each(|index| run(&mut context, index));
    // Each definition has its code; of the expressions, only the last ones.
    let grown = context.stats().code_bytes - kept;
    assert!(grown < 600 * 2048, "{grown}");
}

#[test]
fn an_expression_with_a_loop_has_code_of_its_own() {
    let mut context = context(Mode::Lazy);
    for number in 1..4 {
        let text = format!("var s = 0 in (for i = 1, i < {number} in s = s + i) + s");
        assert_eq!(value(&mut context, &text), f64::from(number * (number + 1)) / 2.0);
    }
    assert_eq!(context.stats().expressions, 3);
}

#[test]
fn a_definition_with_other_numbers_is_not_compiled_again() {
    for after in [1_000_000, 50, 1] {
        let config = Config::new().mode(Mode::Lazy).tier_up(TierUp::After(after));
        let engine = Engine::with_config(config).expect("an engine starts");
        let (mut one, mut other) =
            (engine.context().expect("it starts"), engine.context().expect("it starts"));
        let define = |context: &mut Context, n: i32| {
            let helper =
                format!("def half(x) x / {} def f(x) if x < {n} then half({n}) - x * {n}.5 else {n}", n + 1);
            context.eval(&helper).expect("it is right");
        };
        let expected = |n: f64, x: f64| if x < n { n / (n + 1.0) - x * (n + 0.5) } else { n };
        for n in 1..300 {
            define(&mut one, n);
            define(&mut other, 2 * n);
            let n = f64::from(n);
            // More calls than are counted before the first improvement.
            for x in 0..if n < 5.0 { 200 } else { 3 } {
                let x = f64::from(x);
                assert_eq!(value(&mut one, &format!("f({x})")), expected(n, x), "{n}");
                assert_eq!(value(&mut other, &format!("f({x})")), expected(2.0 * n, x), "{n}");
            }
        }
        if after == 1_000_000 {
            // Each function with its first numbers, and once for all others.
            let compiled = one.stats().ir_generated;
            assert!(compiled <= 8, "{compiled} bodies");
        }
    }
}

#[test]
fn undo_brings_the_numbers_back_that_a_definition_had() {
    let mut context = context(Mode::Lazy);
    context.keep_history(50);
    for n in 1..20 {
        context.eval(&format!("def f(x) x * {n} - {}", 3 * n)).expect("it is right");
        let n = f64::from(n);
        assert_eq!(value(&mut context, "f(10)"), 10.0 * n - 3.0 * n);
    }
    for n in (1..19).rev().map(f64::from) {
        context.undo();
        assert_eq!(value(&mut context, "f(10)"), 7.0 * n);
    }
    for n in (2..20).map(f64::from) {
        context.redo();
        assert_eq!(value(&mut context, "f(10)"), 7.0 * n);
    }
    // Another shape in between, and one without numbers.
    context.eval("def f(x) x").expect("it is right");
    assert_eq!(value(&mut context, "f(10)"), 10.0);
    for n in 1..4 {
        context.eval(&format!("def f(x) x - {n}")).expect("it is right");
        assert_eq!(value(&mut context, "f(10)"), 10.0 - f64::from(n));
    }
    context.drop_function("f").expect("it is there");
    context.eval("def f(x) x - 5").expect("it is right");
    assert_eq!(value(&mut context, "f(10)"), 5.0);
}

#[test]
fn errors_are_about_the_definition_with_those_numbers() {
    let mut context = context(Mode::Lazy);
    for n in 1..9 {
        let layout = " ".repeat(n);
        context.eval(&format!("def f(x) {n} +{layout}missing(x, {n})")).expect("it is right");
        let error = context.eval("f(1)").expect_err("nothing is defined");
        assert_eq!(error.diagnostics()[0].trace, ["f(x)", "this expression"], "{n}");
        let label = &error.diagnostics()[0].labels[0];
        let place = &label.source.text()[label.span.start as usize..];
        assert_eq!(place, format!("missing(x, {n})"));
    }
}

#[test]
fn improved_code_has_the_numbers_of_its_definition() {
    let config = Config::new().mode(Mode::Lazy).tier_up(TierUp::After(20));
    let mut context = Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts");
    for n in 1..40_u32 {
        context.eval(&format!("def f(x) x * {n} + {n}")).expect("it is right");
        let n = f64::from(n);
        for x in (0..60).map(f64::from) {
            assert_eq!(context.call("f", &[x]).expect("it runs"), x * n + n);
        }
    }
}
