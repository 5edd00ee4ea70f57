//! Functions of more operations than are compiled: they are interpreted, in
//! every mode, and call code and are called by it.

use crate::modes::MODES;
use kal::diagnostic::ErrorCode;
use kal::{Config, Context, Engine, Limits, Mode};

fn context(config: Config) -> Context {
    Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts")
}

/// Compiles next to nothing.
fn small() -> Limits {
    Limits { max_compiled_operations: 50, stack: 4 << 20, ..Limits::default() }
}

/// Returns a sum of the terms `of(0)`, `of(1)` and so on.
fn sum(terms: u32, of: &str) -> String {
    (0..terms).map(|i| format!("{of}({i})")).collect::<Vec<_>>().join(" + ")
}

const SMALL: &str = "def f(x) x + 1; def up(n) if n < 1 then big(n) else up(n - 1) + 1; def again(n) up(n);";

#[test]
fn what_is_too_large_is_interpreted_beside_code() {
    for (mode, configure) in MODES {
        let mut context = context(configure(Config::new()).limits(small()));
        let all = format!("{SMALL} def big(x) x + {}; big(1)", sum(100, "f"));
        assert_eq!(context.eval(&all).expect("it runs"), Some(5051.0), "{mode}");
        // From Rust, from code, from an expression that is too large, again.
        let big = context.function::<fn(f64) -> f64>("big").expect("it is defined");
        for _ in 0..3 {
            assert_eq!(big.call(&mut context, (2.0,)).expect("it runs"), 5052.0, "{mode}");
            assert_eq!(context.eval("again(10)").expect("it runs"), Some(5060.0), "{mode}");
            assert_eq!(context.call("again", &[1.0]).expect("it runs"), 5051.0, "{mode}");
            let expression = format!("again(0) + {}", sum(100, "f"));
            assert_eq!(context.eval(&expression).expect("it runs"), Some(10100.0), "{mode}");
        }
        // Redefined, small and large again; what is prepared is what can be.
        context.eval("def big(x) x").expect("it is defined");
        assert_eq!(context.eval("again(3)").expect("it runs"), Some(3.0), "{mode}");
        context.eval(&format!("def big(x) x * 2 + {}", sum(60, "f"))).expect("it is defined");
        context.prepare_all().expect("what can be compiled is");
        context.prepare("big").expect("it is there");
        assert_eq!(context.eval("again(3)").expect("it runs"), Some(1833.0), "{mode}");
        context.eval("def f(x) x").expect("it is defined");
        assert_eq!(context.eval("again(3)").expect("it runs"), Some(1773.0), "{mode}");
    }
}

#[test]
fn errors_in_it_name_the_calls() {
    for (mode, configure) in MODES {
        let mut context = context(configure(Config::new()).limits(small()));
        let text = format!("{SMALL} def big(x) missing(x) + {}; again(0)", sum(60, "f"));
        let error = context.eval(&text).expect_err("it is not defined");
        assert_eq!(error.diagnostics()[0].code, ErrorCode::UndefinedFunction, "{mode}");
        assert!(error.to_string().starts_with("`big` calls `missing`"), "{mode}: {error}");
        context.eval("def missing(x) 1").expect("it is defined");
        assert_eq!(context.eval("again(0)").expect("it runs"), Some(1831.0), "{mode}");
        context.interrupt_handle().interrupt();
        assert!(context.eval("again(0)").expect_err("it is stopped").is_interrupt(), "{mode}");
        let endless = format!("def big(x) big(x) + {}; again(0)", sum(60, "f"));
        let error = context.eval(&endless).expect_err("it does not end");
        assert_eq!(error.diagnostics()[0].code, ErrorCode::StackOverflow, "{mode}");
    }
}

#[test]
fn a_large_formula_runs_in_every_context() {
    for (mode, configure) in MODES {
        let engine = Engine::with_config(configure(Config::new()).limits(small())).expect("it starts");
        let mut contexts = [engine.context().expect("it starts"), engine.context().expect("it starts")];
        for context in &mut contexts {
            context.eval("def f(x) x").expect("it is defined");
        }
        let formula = contexts[0].formula(&format!("y + {}", sum(60, "f")), &["y"]).expect("it is right");
        for context in &mut contexts {
            assert_eq!(formula.call(context, &[1.0]).expect("it runs"), 1771.0, "{mode}");
            assert_eq!(context.eval("f(7)").expect("it runs"), Some(7.0), "{mode}");
        }
    }
}

#[test]
fn what_is_undone_may_be_too_large() {
    let mut context = context(Config::new().limits(small()));
    context.keep_history(10);
    context.eval(&format!("def f(x) x; def big(x) x + {}", sum(60, "f"))).expect("it is defined");
    assert_eq!(context.eval("big(0)").expect("it runs"), Some(1770.0));
    context.eval("def big(x) x").expect("it is defined");
    assert_eq!(context.eval("big(0)").expect("it runs"), Some(0.0));
    context.undo();
    assert_eq!(context.eval("big(0)").expect("it runs"), Some(1770.0));
}

#[test]
fn the_default_bounds_what_the_compiler_takes() {
    // Both were compiled once, in many seconds and some gigabytes.
    let mut context = context(Config::new().mode(Mode::Lazy));
    context.eval("def unary~(x) x").expect("it is defined");
    assert_eq!(context.eval(&format!("{}1", "~".repeat(200_000))).expect("it runs"), Some(1.0));
    let generated = context.stats().ir_generated;
    assert!(generated <= 1, "{generated}");
    assert_eq!(context.stats().expressions, 1);
    // Many functions in a batch are no more at once than one large one.
    let text: String = (0..40).map(|i| format!("def g{i}(x) x{};", " * x + 1".repeat(1_000))).collect();
    context.eval(&text).expect("they are defined");
    context.prepare_all().expect("they are compiled");
    assert!(context.stats().objects_linked >= 4, "{:?}", context.stats());
}
