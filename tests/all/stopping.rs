//! Stops that come before what they stop has begun: they are answered at once,
//! and no trace is made of what an earlier run has left on the stack.

use crate::modes::MODES;
use kal::diagnostic::ErrorCode;
use kal::source::Source;
use kal::{Config, Context, Engine, Error, Limits, Mode, Stage, TierUp};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

fn context(config: Config) -> Context {
    Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts")
}

/// Returns the code of an error, and the calls that it says were in progress.
fn stop<T: std::fmt::Debug>(result: Result<T, Error>) -> (ErrorCode, Vec<String>) {
    let error = result.expect_err("it is stopped");
    let diagnostic = &error.diagnostics()[0];
    (diagnostic.code, diagnostic.trace.clone())
}

#[test]
fn a_stop_before_a_formula_finds_no_trace_of_an_earlier_run() {
    for (mode, configure) in MODES {
        let mut context = context(configure(Config::new()));
        // The frame of `g` leaves a link where the formula would have its own.
        assert_eq!(context.eval("def g() 1; g()").expect("it runs"), Some(1.0), "{mode}");
        let formula = context.formula("x", &["x"]).expect("it is right");
        context.interrupt_handle().interrupt();
        assert_eq!(stop(formula.call(&mut context, &[1.0])), (ErrorCode::Interrupted, vec![]), "{mode}");
        context.set_deadline(Some(Instant::now()));
        assert_eq!(stop(formula.call(&mut context, &[1.0])), (ErrorCode::DeadlineExceeded, vec![]), "{mode}");
        context.set_deadline(None);
        assert_eq!(formula.call(&mut context, &[1.0]).expect("it goes on"), 1.0, "{mode}");
    }
}

/// A formula that has become hot is compiled by a worker that may be busy: what
/// stops the run meanwhile is not lost.
#[test]
fn a_stop_while_a_formula_is_compiled_stops_its_run() {
    let config = Config::new().mode(Mode::Tiered).tier_up(TierUp::After(1)).workers(1);
    for _ in 0..20 {
        let mut context = context(config.clone());
        let formula = context.formula("sin(x)", &["x"]).expect("it is right");
        assert_eq!(formula.call(&mut context, &[0.0]).expect("it runs"), 0.0);
        let terms: Vec<String> = (0..300).map(|index| format!("sin(x + {index})")).collect();
        context.eval(&format!("def big(x) {}", terms.join(" + "))).expect("it is right");
        context.prepare("big").expect("the worker compiles it");
        context.interrupt_handle().interrupt();
        assert_eq!(stop(formula.call(&mut context, &[0.0])), (ErrorCode::Interrupted, vec![]));
        assert_eq!(formula.call(&mut context, &[0.0]).expect("it goes on"), 0.0);
    }
}

/// Two loops that assign variables in each iteration, some of them only now and then.
const ASSIGNING: &str = "var a = 0, b = 0, c = 0, d = 0
    def also() b = b + 1
    def run(x) while x > 0 in
      (a = a + 1) : also() : (if a % 3 == 0 then c = c + 1) : (for i = 1, i < 3 in d = d + 1)";

/// Optimised code keeps variables in registers during a loop, and stores them when it stops.
#[test]
fn a_loop_that_is_stopped_leaves_the_variables_of_its_last_iteration() {
    for (mode, configure) in MODES {
        let mut context = context(configure(Config::new()));
        context.eval(ASSIGNING).expect("it is right");
        let mut before = 0.0;
        for milliseconds in [1, 3, 30, 60, 1, 10] {
            context.set_deadline(Some(Instant::now() + Duration::from_millis(milliseconds)));
            // It may be exceeded before the run begins.
            assert_eq!(stop(context.call("run", &[1.0])).0, ErrorCode::DeadlineExceeded, "{mode}");
            let value = |name: &str| context.variable(name).expect("it is declared");
            let [a, b, c, d] = ["a", "b", "c", "d"].map(value);
            assert!(a >= before, "{mode}: {a} after {before}");
            // Each stop may have come in the middle of an iteration.
            let stops = 6.0;
            assert!((a - stops..=a).contains(&b), "{mode}: {b} for {a}");
            assert!((a / 3.0 - stops..=a / 3.0).contains(&c), "{mode}: {c} for {a}");
            assert!((3.0 * (a - stops)..=3.0 * a).contains(&d), "{mode}: {d} for {a}");
            before = a;
        }
        assert!(before > 1000.0, "{mode}: {before} iterations in 100 ms");
    }
}

#[test]
fn fuel_runs_out_with_the_same_variables_in_every_mode() {
    for fuel in [10, 1_003, 100_004, 3_000_005] {
        let left = MODES.iter().map(|(mode, configure)| {
            let limits = Limits { fuel: Some(fuel), ..Limits::default() };
            let mut context = context(configure(Config::new().limits(limits)));
            context.eval(ASSIGNING).expect("it is right");
            assert_eq!(stop(context.call("run", &[1.0])).0, ErrorCode::OutOfFuel, "{mode}");
            ["a", "b", "c", "d"].map(|name| context.variable(name).expect("it is declared"))
        });
        let left: Vec<_> = left.collect();
        assert!(left.windows(2).all(|pair| pair[0] == pair[1]), "{left:?}");
    }
}

#[test]
fn arguments_of_earlier_calls_are_no_links() {
    for (mode, configure) in MODES {
        let mut context = context(configure(Config::new()));
        context.eval("def f(x) x; def g(a b c d) a; f(1)").expect("it runs");
        // Every place that instructions may be at, as a link has it.
        for at in 0..200_u64 {
            let link = f64::from_bits(at << 32);
            context.call("g", &[link; 4]).expect("it runs");
            context.interrupt_handle().interrupt();
            assert_eq!(stop(context.call("f", &[1.0])), (ErrorCode::Interrupted, vec![]), "{mode}");
        }
    }
}

#[test]
fn a_frame_that_the_stack_has_no_place_for_is_an_error() {
    let parameters: String = (0..20_000).map(|i| format!("p{i} ")).collect();
    let sum: String = (0..20_000).map(|i| format!("(p{i} + ")).collect();
    let text = format!("def f({parameters}) {sum} 0{}", ")".repeat(20_000));
    for (mode, configure) in MODES {
        if !mode.contains("interpret") {
            continue;
        }
        let limits = Limits { stack: 1, max_nesting: 30_000, ..Limits::default() };
        let mut context = context(configure(Config::new()).limits(limits));
        context.eval(&text).expect("it is defined");
        let arguments = vec![1.0; 20_000];
        assert_eq!(stop(context.call("f", &arguments)).0, ErrorCode::StackOverflow, "{mode}");
    }
}

fn long(name: &str, terms: usize) -> String {
    let terms: Vec<String> = (0..terms).map(|index| format!("sin(x + {index})")).collect();
    format!("def {name}(x) {}", terms.join(" + "))
}

#[test]
fn what_was_to_stop_an_earlier_evaluation_stops_no_compile() {
    for mode in [Mode::Lazy, Mode::Tiered] {
        let mut context = context(Config::new().mode(mode).workers(1));
        context.eval(&long("big", 400)).expect("it is right");
        let handle = context.interrupt_handle();
        handle.interrupt_running();
        context.prepare_all().expect("nothing stops it");
        handle.interrupt_running();
        context.listing(Stage::Assembly, "big").expect("nothing stops it");
        // One that stays does.
        handle.interrupt();
        assert_eq!(stop(context.listing(Stage::Assembly, "big")).0, ErrorCode::Interrupted, "{mode:?}");
    }
}

#[test]
fn listings_end_in_time() {
    // Long enough for the text to be read on a busy machine, and a small part of
    // what its compile takes: many functions that are small enough for -O2.
    let limits = Limits { deadline: Some(Duration::from_millis(250)), ..Limits::default() };
    let limited = context(Config::new().limits(limits));
    let text: String = (0..100).map(|number| long(&format!("big{number}"), 300)).collect();
    assert_eq!(stop(limited.listing(Stage::Assembly, &text)).0, ErrorCode::DeadlineExceeded);
    let mut due = context(Config::new());
    due.eval(&long("big", 1500)).expect("it is right");
    due.set_deadline(Some(Instant::now()));
    assert_eq!(stop(due.listing(Stage::Ir, "big")).0, ErrorCode::DeadlineExceeded);
    due.set_deadline(None);
    due.listing(Stage::Tokens, "big").expect("there is time");
}

#[test]
fn an_evaluation_between_the_items_of_a_source_forgets_no_interrupt() {
    for (mode, configure) in MODES {
        let mut context = context(configure(Config::new()));
        let handle = context.interrupt_handle();
        let mut outcomes = Vec::new();
        let _ = context.run(&Source::new("test", "1\n2\n3"), &mut |context, outcome| {
            outcomes.push(outcome.is_ok());
            if outcomes.len() == 1 {
                handle.interrupt_running();
                assert_eq!(stop(context.eval("5")).0, ErrorCode::Interrupted, "{mode}");
            }
            ControlFlow::Continue(())
        });
        assert_eq!(outcomes, [true, false, true], "{mode}");
        // After the source it is forgotten.
        handle.interrupt_running();
        assert_eq!(context.eval("5").expect("nothing stops it"), Some(5.0), "{mode}");
    }
}
