//! The floating-point environment of the host: programs compute as by default, whatever
//! the host has set, and the host finds what it has set, and its flags.
#![allow(unsafe_code)]

use crate::modes::MODES;
use kal::host::{HostError, Output};
use kal::source::Source;
use kal::{Column, Config, Context, Engine, Run};
use std::arch::asm;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// The default, without flags.
const DEFAULT: u32 = 0x1f80;

/// Upwards, subnormal numbers flushed to zero as operands and as results; one flag.
const OTHER: u32 = 0xdfc2;

fn read() -> u32 {
    let mut value = 0_u32;
    // SAFETY: stores four bytes to the variable.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack)) };
    value
}

/// Runs `work` in an environment; returns the environment after it, too. What the work
/// computes itself must not depend on it.
fn within<T>(environment: u32, work: impl FnOnce() -> T) -> (T, u32) {
    let set = |value: u32| {
        // SAFETY: only `work` runs with another environment than the default.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack)) };
    };
    let before = read();
    set(environment);
    let result = work();
    let after = read();
    set(before);
    (result, after)
}

const DEFINITIONS: &str = "
    def third(x) x / 3
    def half(x) x * 0.5
    def harmonic(n) if n < 1 then 0 else 1 / n + harmonic(n - 1)
    def powers(x) x ^ 2 + x ^ -1 + x ^ 0.5 + x ^ 3.7
    def constant(x) x * 0 + 1e-310 / 3 + exp(-740) + 0.1 / 3
    def functions(x) sin(x) + exp(x) * lgamma(x) - log(x) / atan2(x, 3) + tgamma(x)
    def deep(x) 1 + deep(x)
";

const CALLS: [(&str, f64); 8] = [
    ("third", 1.0),
    ("third", 1e-310),
    ("half", 2.5e-308),
    ("harmonic", 100.0),
    ("powers", 1.7),
    ("constant", 1.0),
    ("functions", 1e5),
    ("functions", 1.3),
];

const EXPRESSIONS: [&str; 5] = [
    "0.1 + 0.2",
    "1e-310 / 7",
    "0.30000000000000004 - 0.1",
    "exp(-720) * 0.7",
    "third(2e-308) + harmonic(7)",
];

/// Returns the bits of what a context computes.
fn results(context: &mut Context) -> Vec<u64> {
    context.eval(DEFINITIONS).expect("it is defined");
    let mut results = Vec::new();
    // Again, when the functions may be at another tier.
    for _ in 0..4 {
        for (name, argument) in CALLS {
            let function = context.function::<fn(f64) -> f64>(name).expect("it is there");
            results.push(function.call(context, (argument,)).expect("it returns").to_bits());
            results.push(context.call(name, &[argument]).expect("it returns").to_bits());
        }
    }
    for expression in EXPRESSIONS {
        results.push(context.eval(expression).expect("it is valid").expect("a value").to_bits());
        results.push(context.preview(expression).unwrap_or_default().to_bits());
        let formula = context.formula(expression, &[]).expect("it is valid");
        results.push(formula.call(context, &[]).expect("it returns").to_bits());
        let (kernel, mut row) = (context.formula_kernel(expression, &[]).expect("it is valid"), [0.0]);
        kernel.apply(&[], &mut row, &mut Run::new()).expect("it returns");
        results.push(row[0].to_bits());
    }
    let (mut live, mut row) = (context.columns("constant").expect("it is there"), [0.0]);
    live.apply(context, &[Column::Every(1.0)], &mut row, &mut Run::new()).expect("it returns");
    results.push(row[0].to_bits());
    results
}

#[test]
fn programs_compute_as_by_default() {
    for (mode, configure) in MODES {
        // An engine of its own for each, with threads that it starts there.
        let fresh = || {
            let engine = Engine::with_config(configure(Config::new().workers(1))).expect("an engine starts");
            results(&mut engine.context().expect("a context"))
        };
        let (expected, _) = within(DEFAULT, fresh);
        let (found, after) = within(OTHER, fresh);
        assert_eq!(found, expected, "{mode}");
        assert_eq!(after, OTHER, "{mode}: {after:x}");
    }
}

#[test]
fn functions_of_the_host_run_in_its_environment() {
    for (mode, configure) in MODES {
        let inner = Engine::new().and_then(|engine| engine.context()).expect("a context");
        let inner = Mutex::new(inner);
        let config = Config::new()
            .workers(1)
            .host_function("seen", 0, |_| Ok(f64::from(read())))
            .host_function("refuse", 0, |_| Err(HostError("it refuses".into())))
            .host_function("panic", 0, |_| panic!("it panics"))
            .host_function("nested", 0, move |_| {
                let value = inner.lock().unwrap().eval("1e-310 / 3").ok().flatten();
                let is_right = value.map(f64::to_bits) == Some(3.333333333333e-311_f64.to_bits());
                Ok(if is_right { f64::from(read()) } else { 0.0 })
            });
        let engine = Engine::with_config(configure(config)).expect("an engine starts");
        let mut context = engine.context().expect("a context");
        context.eval(DEFINITIONS).expect("it is defined");
        context.eval("def look(x) seen() + 0 * third(x); def inside(x) nested()").expect("it is defined");
        let number = u64::from(OTHER);
        for (expression, expected) in [
            ("look(1)", true),
            ("inside(1)", true),
            ("refuse() + third(1)", false),
            ("panic()", false),
            ("third(1) + deep(1)", false),
            ("undefined(1)", false),
        ] {
            let (result, after) = within(OTHER, || context.eval(expression));
            assert_eq!(result.is_ok(), expected, "{mode}: {expression}: {result:?}");
            if let Ok(value) = result {
                assert_eq!(value.map(|value| value as u64), Some(number), "{mode}: {expression}");
            }
            assert_eq!(after, OTHER, "{mode}: {expression}: {after:x}");
        }
    }
}

#[test]
fn what_is_told_of_outcomes_is_told_in_the_environment_of_the_host() {
    let mut context = Engine::new().and_then(|engine| engine.context()).expect("a context");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let source = Source::new("<test>", "def third(x) x / 3; third(1e-310); third(");
    let ((), after) = within(OTHER, || {
        let _ = context.run(&source, &mut |_, _| {
            seen.lock().unwrap().push(read());
            ControlFlow::Continue(())
        });
    });
    assert_eq!(*seen.lock().unwrap(), [OTHER; 3]);
    assert_eq!(after, OTHER);
}

/// What is told of outcomes may panic.
#[test]
fn a_panic_of_the_host_leaves_it_its_environment() {
    let mut context = Engine::new().and_then(|engine| engine.context()).expect("a context");
    let source = Source::new("<test>", "def third(x) x / 3; third(1e-310)");
    let (panicked, after) = within(OTHER, || {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = context.run(&source, &mut |_, _| panic!("it is not what was expected"));
        }))
    });
    assert!(panicked.is_err());
    assert_eq!(after, OTHER);
    let (value, after) = within(OTHER, || context.eval("1e-310 / 3"));
    assert_eq!(value.expect("it runs").map(f64::to_bits), Some(3.333333333333e-311_f64.to_bits()));
    assert_eq!(after, OTHER);
}

/// Where a program writes to and reads from is the host's.
#[test]
fn outputs_and_inputs_have_the_environment_of_the_host() {
    #[derive(Clone, Default)]
    struct Seen(Arc<Mutex<Vec<u32>>>);

    impl Seen {
        fn look(&self) {
            self.0.lock().unwrap().push(read());
        }
    }

    impl Output for Seen {
        fn value(&mut self, _: f64) -> std::io::Result<()> {
            self.look();
            Ok(())
        }

        fn byte(&mut self, _: u8) -> std::io::Result<()> {
            self.look();
            Ok(())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            self.look();
            Ok(())
        }
    }

    impl std::io::Read for Seen {
        fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
            self.look();
            bytes[..4].copy_from_slice(b"0.1 ");
            Ok(4)
        }
    }

    for (mode, configure) in MODES {
        let seen = Seen::default();
        let output = seen.clone();
        let config = Config::new().output(move || Box::new(output.clone()));
        let engine = Engine::with_config(configure(config)).expect("an engine starts");
        let mut context = engine.context().expect("a context");
        context.set_input(Box::new(seen.clone()));
        let program = "printd(1); print(\"text\", 2); write(3); putchard(10); read() * 1";
        let (value, _) = within(OTHER, || context.eval(program));
        assert_eq!(value.expect("it runs"), Some(0.1), "{mode}");
        let seen = seen.0.lock().unwrap();
        assert!(seen.len() > 8 && seen.iter().all(|value| value | 0x3f == OTHER | 0x3f), "{mode}: {seen:x?}");
    }
}

/// A host without other settings has no flags that a program has raised.
#[test]
fn flags_of_a_program_are_not_those_of_the_host() {
    let mut context = Engine::new().and_then(|engine| engine.context()).expect("a context");
    let (result, after) = within(DEFAULT, || context.eval("0 / 0 + 1 / 3 + exp(1000)"));
    assert!(result.expect("it is valid").is_some());
    assert_eq!(after, DEFAULT, "{after:x}");
}
