//! Functions of more operations than are compiled: they are interpreted, in
//! every mode, and call code and are called by it.

use crate::modes::MODES;
use crate::robustness::alone;
use kal::diagnostic::ErrorCode;
use kal::{Config, Context, Engine, Limits, Mode, TierUp};

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

/// `of(0)`, `of(1)` and so on, one after the other.
fn repeated(count: usize, of: impl Fn(usize) -> String) -> String {
    (0..count).map(of).collect()
}

/// The processor time this process has used, in seconds.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux has it");
    let (_, fields) = stat.rsplit_once(") ").expect("the name is in parentheses");
    let ticks = fields.split(' ').skip(11).take(2).map(|field| field.parse::<f64>().expect("it is a number"));
    ticks.sum::<f64>() / 100.0
}

/// The most memory that this process ever had, in megabytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("it is there");
    line.split_whitespace().nth(1).and_then(|field| field.parse::<u64>().ok()).expect("it is a number") / 1024
}

/// Functions of nearly 30,000 operations that each once took the optimiser from
/// six seconds to several minutes, or six gigabytes.
fn costly() -> [(&'static str, String); 7] {
    let nests = |count, depth| {
        let nest = repeated(depth, |level| format!("for i{level} = 1, i{level} < 1 in "));
        format!("def f(x) x{}", format!(" + ({nest} x)").repeat(count))
    };
    let merges = |locals, branches| {
        let all = (0..locals).map(|local| format!("v{local} = x")).collect::<Vec<_>>().join(", ");
        let chain = repeated(branches, |branch| {
            let (to, from) = (branch % locals, branch * 7 % locals);
            format!("if x == {branch} then v{to} = v{from} + 1 else ")
        });
        format!("def f(x) var {all} in ({chain} 0) + v0")
    };
    let branches = repeated(5_500, |i| format!(" || x == {}", i + 2));
    let writes = repeated(4_500, |i| format!(" + (c{} = c{} + x)", i % 100, i * 7 % 100));
    let parameters = repeated(20, |index| format!("p{index} "));
    let sums = format!(" + g({})", ["x"; 20].join(", ")).repeat(1_250);
    let callees = format!("def g({parameters}) p0 + h(p1); def h(x) if x < 0 then h(x) else 1;");
    [
        ("branches", format!("def f(x) x < 0{branches}")),
        ("merges of many", merges(500, 2_600)),
        ("merges of fewer", merges(100, 2_800)),
        ("writes", format!("def f(x) x{writes}")),
        ("arguments", format!("{callees} def f(x) x{sums}")),
        ("loops", nests(2_500, 1)),
        ("nested loops", nests(14, 190)),
    ]
}

#[test]
fn no_shape_of_a_function_takes_the_optimiser_long() {
    alone("large::no_shape_of_a_function_takes_the_optimiser_long", || {
        for (shape, text) in costly() {
            let values = [Mode::Interpret, Mode::Lazy].map(|mode| {
                let mut context = context(Config::new().mode(mode).tier_up(TierUp::Never));
                for variable in 0..100 {
                    context.declare(&format!("c{variable}"), 0.5).expect("there is room");
                }
                context.eval(&text).expect("it is defined");
                let before = processor_time();
                let value = context.call("f", &[1.0]).expect("it runs");
                let taken = processor_time() - before;
                assert!(taken < 5.0, "{shape}: {taken} s");
                value
            });
            assert_eq!(values[0].to_bits(), values[1].to_bits(), "{shape}: {values:?}");
        }
        assert!(peak_memory() < 700, "{} MB", peak_memory());
    });
}
