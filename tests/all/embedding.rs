//! The library as a program uses it.

use kal::diagnostic::ErrorCode;
use kal::host::{HostError, Output};
use kal::{Config, Context, Engine, Error, Level, Limits, Mode, Outcome, State, TierUp};
use std::io;
use std::ops::ControlFlow;
use std::sync::{Arc, Barrier, Mutex};

fn context() -> Context {
    context_with(Config::new())
}

fn context_with(config: Config) -> Context {
    Engine::with_config(config).unwrap().context().unwrap()
}

fn code(result: Result<Option<f64>, Error>) -> ErrorCode {
    result.unwrap_err().diagnostics()[0].code
}

/// Output that can be read while a context owns it.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Output for Written {
    fn value(&mut self, value: f64) -> io::Result<()> {
        self.0.lock().unwrap().extend(format!("[{}]", kal::format_number(value)).bytes());
        Ok(())
    }

    fn byte(&mut self, byte: u8) -> io::Result<()> {
        self.0.lock().unwrap().push(byte);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn eval_gives_the_last_value() {
    let mut context = context();
    assert_eq!(context.eval("").unwrap(), None);
    assert_eq!(context.eval("def f(x) x * 2").unwrap(), None);
    assert_eq!(context.eval("1 f(4) var a = 3").unwrap(), Some(8.0));
    assert_eq!(context.eval("a; extern sin(x)").unwrap(), Some(3.0));
}

#[test]
fn eval_stops_at_the_first_error_and_keeps_what_came_before() {
    let mut context = context();
    assert_eq!(code(context.eval("var a = 1; a = 2; missing(); a = 3")), ErrorCode::UndefinedFunction);
    assert_eq!(context.variable("a").unwrap(), 2.0);
    assert_eq!(code(context.eval("a = 4; a +; a = 5")), ErrorCode::UnexpectedToken);
    assert_eq!(context.variable("a").unwrap(), 4.0);
}

#[test]
fn run_tells_what_became_of_every_item() {
    let mut told = Vec::new();
    let source = kal::source::Source::new(
        "test",
        "def f(x) x; def g(x) f(x); var a, b; 1 +; extern sin(x); def f() 0; 7; h()",
    );
    let _ = context().run(&source, &mut |_, outcome| {
        told.push(match outcome {
            Ok(Outcome::Defined { name, redefined, warnings }) => {
                format!("{name} {redefined} {}", warnings.len())
            }
            Ok(Outcome::Extern { name, declares }) => format!("{name} {declares:?}"),
            Ok(Outcome::Declared { names }) => names.join(" "),
            Ok(Outcome::Value(value)) => value.to_string(),
            Ok(_) => "something new".to_owned(),
            Err(error) => error.diagnostics()[0].code.to_string(),
        });
        ControlFlow::Continue(())
    });
    assert_eq!(told, ["f false 0", "g false 0", "a b", "E0103", "sin Host", "f true 1", "7", "E0301"]);
}

#[test]
fn run_ends_when_it_is_told_to() {
    let mut context = context();
    let mut count = 0;
    let source = kal::source::Source::new("test", "var a = 1 a = 2 a = 3 a = 4");
    let end = context.run(&source, &mut |_, _| {
        count += 1;
        if count == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((end, count), (ControlFlow::Break(()), 2));
    assert_eq!(context.variable("a").unwrap(), 2.0);
}

#[test]
fn handles_follow_redefinition() {
    let mut context = context();
    context.eval("def f(x) x + 1").unwrap();
    let f = context.function::<fn(f64) -> f64>("f").unwrap();
    assert_eq!((f.name(), f.call(&mut context, (1.0,)).unwrap()), ("f", 2.0));
    for step in 2..50_i32 {
        context.eval(&format!("def f(x) x + {step}")).unwrap();
        assert_eq!(f.call(&mut context, (1.0,)).unwrap(), 1.0 + f64::from(step));
        assert_eq!(f.clone().call(&mut context, (2.0,)).unwrap(), 2.0 + f64::from(step));
    }
}

#[test]
fn a_handle_that_no_longer_fits_says_so_and_works_again_later() {
    let mut context = context();
    context.eval("def f(x) x").unwrap();
    let f = context.function::<fn(f64) -> f64>("f").unwrap();
    assert_eq!(f.call(&mut context, (5.0,)).unwrap(), 5.0);
    context.eval("def f(x y) x * y").unwrap();
    let error = f.call(&mut context, (5.0,)).unwrap_err();
    assert_eq!(error.diagnostics()[0].code, ErrorCode::StaleCall);
    assert_eq!(error.to_string(), "a call of `f` with 1 argument, but `f` takes 2");
    assert_eq!(
        context.function::<fn(f64, f64) -> f64>("f").unwrap().call(&mut context, (5.0, 3.0)).unwrap(),
        15.0
    );
    context.eval("def f(x) -x").unwrap();
    assert_eq!(f.call(&mut context, (5.0,)).unwrap(), -5.0);
}

#[test]
fn a_handle_works_in_every_context_of_its_engine() {
    let engine = Engine::new().unwrap();
    let (mut one, mut other) = (engine.context().unwrap(), engine.context().unwrap());
    one.eval("def f(x) x + 1").unwrap();
    let f = one.function::<fn(f64) -> f64>("f").unwrap();
    let error = f.call(&mut other, (1.0,)).unwrap_err();
    assert_eq!(error.diagnostics()[0].code, ErrorCode::UndefinedFunction);
    other.eval("def f(x) x * 100").unwrap();
    assert_eq!((f.call(&mut one, (2.0,)).unwrap(), f.call(&mut other, (2.0,)).unwrap()), (3.0, 200.0));
    let mut foreign = context();
    foreign.eval("def f(x) x").unwrap();
    assert!(matches!(f.call(&mut foreign, (2.0,)), Err(Error::OtherEngine)));
}

#[test]
fn calls_with_every_number_of_arguments() {
    let mut context = context();
    // The digits of the result are the arguments, so their order is tested.
    context
        .eval(
            "def f0() 7
             def f1(a) a
             def f2(a b) a*10 + b
             def f3(a b c) f2(a, b)*10 + c
             def f4(a b c d) f3(a, b, c)*10 + d
             def f5(a b c d e) f4(a, b, c, d)*10 + e
             def f6(a b c d e f) f5(a, b, c, d, e)*10 + f
             def f7(a b c d e f g) f6(a, b, c, d, e, f)*10 + g
             def f8(a b c d e f g h) f7(a, b, c, d, e, f, g)*10 + h
             def f9(a b c d e f g h i) f8(a, b, c, d, e, f, g, h)*10 + i
             def f10(a b c d e f g h i j) f9(a, b, c, d, e, f, g, h, i)*10 + j",
        )
        .unwrap();
    macro_rules! check {
        ($($name:literal: $signature:ty, $arguments:expr, $result:expr;)+) => {
            $(assert_eq!(context.function::<$signature>($name).unwrap().call(&mut context, $arguments).unwrap(), $result);)+
        };
    }
    check! {
        "f0": fn() -> f64, (), 7.0;
        "f1": fn(f64) -> f64, (1.0,), 1.0;
        "f2": fn(f64, f64) -> f64, (1.0, 2.0), 12.0;
        "f3": fn(f64, f64, f64) -> f64, (1.0, 2.0, 3.0), 123.0;
        "f4": fn(f64, f64, f64, f64) -> f64, (1.0, 2.0, 3.0, 4.0), 1234.0;
        "f5": fn(f64, f64, f64, f64, f64) -> f64, (1.0, 2.0, 3.0, 4.0, 5.0), 12345.0;
        "f6": fn(f64, f64, f64, f64, f64, f64) -> f64, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), 123_456.0;
        "f7": fn(f64, f64, f64, f64, f64, f64, f64) -> f64, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0), 1_234_567.0;
        "f8": fn(f64, f64, f64, f64, f64, f64, f64, f64) -> f64,
            (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0), 12_345_678.0;
    }
    assert_eq!(context.call("f0", &[]).unwrap(), 7.0);
    assert_eq!(context.call("f9", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]).unwrap(), 123_456_789.0);
    assert_eq!(
        context.call("f10", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 0.0]).unwrap(),
        1_234_567_890.0
    );
}

#[test]
fn a_call_with_a_hundred_arguments() {
    for level in [Level::O0, Level::O2] {
        let mut context = context_with(Config::new().level(level));
        let parameters: String = (0..100).map(|i| format!("p{i} ")).collect();
        let sum: Vec<String> = (0..100).map(|i| format!("p{i} * {}", i + 1)).collect();
        context.eval(&format!("def f({parameters}) {}", sum.join(" + "))).unwrap();
        let arguments: Vec<f64> = (0..100_i32).map(|i| f64::from(i * i)).collect();
        let expected: f64 = (0..100_i32).map(|i| f64::from(i * i * (i + 1))).sum();
        assert_eq!(context.call("f", &arguments).unwrap(), expected);
        let error = context.call("f", &arguments[..99]).unwrap_err();
        assert_eq!(error.to_string(), "`f` takes 100 arguments, not 99");
    }
}

#[test]
fn host_functions_can_be_called_from_rust_too() {
    for mode in [Mode::Lazy, Mode::Eager, Mode::Interpret, Mode::Tiered] {
        let config = Config::new().mode(mode).host_function("twice", 1, |call| Ok(2.0 * call.arguments[0]));
        let mut context = context_with(config);
        assert_eq!(context.call("hypot", &[3.0, 4.0]).unwrap(), 5.0, "{mode:?}");
        assert_eq!(context.call("fma", &[3.0, 4.0, 5.0]).unwrap(), 17.0, "{mode:?}");
        assert_eq!(context.call("twice", &[3.0]).unwrap(), 6.0, "{mode:?}");
        let sqrt = context.function::<fn(f64) -> f64>("sqrt").unwrap();
        assert_eq!(sqrt.call(&mut context, (9.0,)).unwrap(), 3.0, "{mode:?}");
        context.eval("def sqrt(x) x").unwrap();
        assert_eq!(sqrt.call(&mut context, (9.0,)).unwrap(), 9.0, "{mode:?}");
    }
}

#[test]
fn every_item_has_all_of_the_fuel() {
    for mode in [Mode::Lazy, Mode::Interpret] {
        let limits = Limits { fuel: Some(10), ..Limits::default() };
        let mut context = context_with(Config::new().mode(mode).limits(limits));
        let items = "for i = 1, i < 5 in i;".repeat(20);
        assert_eq!(context.eval(&items).unwrap(), Some(0.0), "{mode:?}");
        assert_eq!(code(context.eval("for i = 1, i < 50 in i")), ErrorCode::OutOfFuel, "{mode:?}");
    }
}

#[test]
fn errors_are_types() {
    let mut context = context();
    context.eval("def f(x) x def g(x) missing(x)").unwrap();
    assert!(
        matches!(context.eval("1 +"), Err(Error::Invalid(diagnostics)) if diagnostics[0].code == ErrorCode::UnexpectedEnd)
    );
    assert!(
        matches!(context.eval("g(1)"), Err(Error::Failed(diagnostic)) if diagnostic.code == ErrorCode::UndefinedFunction)
    );
    assert!(
        matches!(context.function::<fn() -> f64>("nobody"), Err(Error::NoFunction(name)) if name == "nobody")
    );
    assert!(matches!(
        context.function::<fn() -> f64>("f"),
        Err(Error::Arity { name, takes: 1, asked: 0 }) if name == "f"
    ));
    assert!(matches!(context.call("f", &[1.0, 2.0]), Err(Error::Arity { takes: 1, asked: 2, .. })));
    assert!(matches!(context.call("nobody", &[]), Err(Error::NoFunction(_))));
    assert!(matches!(context.variable("f"), Err(Error::NoVariable(_))));
    assert!(matches!(context.set_variable("x", 1.0), Err(Error::NoVariable(_))));
    assert!(matches!(context.prepare("nobody"), Err(Error::NoFunction(_))));
    let setup = Engine::with_config(Config::new().host_function("not a name", 0, |_| Ok(0.0)));
    assert!(matches!(setup, Err(Error::BadName(name)) if name == "not a name"));
    assert!(matches!(context.declare("not a name", 1.0), Err(Error::BadName(_))));
    assert!(matches!(context.breakpoints("f"), Err(Error::NoDebugger)));
    assert_eq!(context.eval("f(3)").unwrap(), Some(3.0), "it can be used as before");
}

#[test]
fn host_functions_of_the_program() {
    let config = Config::new()
        .host_function("mean", 3, |call| Ok(call.arguments.iter().sum::<f64>() / 3.0))
        .host_function("answer", 0, |_| Ok(42.0))
        .host_function("positive", 1, |call| {
            if call.arguments[0] > 0.0 {
                Ok(call.arguments[0])
            } else {
                Err(HostError("it is not positive".into()))
            }
        })
        .host_function("boom", 1, |call| panic!("boom at {}", call.arguments[0]))
        .host_function("say", 2, |call| {
            call.output.byte(call.arguments[0] as u8)?;
            call.output.value(call.arguments[1])?;
            Ok(1.0)
        })
        .host_function("sin", 1, |_| Ok(1000.0));
    let mut context = context_with(config);
    let written = Written::default();
    context.set_output(Box::new(written.clone()));
    assert_eq!(context.eval("mean(1, 2, 6) + answer()").unwrap(), Some(45.0));
    assert_eq!(context.eval("def f(x) positive(x) + sin(0) f(5)").unwrap(), Some(1005.0));
    assert_eq!(context.eval("say(65, 1.5) + say(66, -0.0)").unwrap(), Some(2.0));
    assert_eq!(written.0.lock().unwrap().as_slice(), b"A[1.5]B[-0]");
    let error = context.eval("f(-5)").unwrap_err();
    assert_eq!(error.to_string(), "`positive` failed: it is not positive");
    assert_eq!(error.diagnostics()[0].code, ErrorCode::HostFailure);
    let error = context.eval("1 + boom(7)").unwrap_err();
    assert!(error.to_string().ends_with("boom at 7"), "{error}");
    assert_eq!(code(context.eval("mean(1)")), ErrorCode::WrongArity);
    assert_eq!(code(context.eval("extern mean(x)")), ErrorCode::ExternArity);
    assert_eq!(context.eval("extern mean(x y z) f(1)").unwrap(), Some(1001.0), "it can be used as before");
    assert_eq!(context.call("mean", &[3.0, 3.0, 3.0]).unwrap(), 3.0);
    assert!(context.call("boom", &[1.0]).is_err());
}

/// Where the host refuses an argument, all modes show the same calls.
#[test]
fn what_the_host_refuses_has_all_its_calls() {
    let text = "def root(x) positive(x) + 1; def half(x) root(x) / 2; def twice(x) half(x) * 2
                def run(n) for i = n, 0 < i + 2, 0 - 1 in twice(i)";
    let shown = |config: Config| {
        let config = config.host_function("positive", 1, |call| match call.arguments[0] {
            x if x > 0.0 => Ok(x),
            x => Err(HostError(format!("{x} is not positive"))),
        });
        let mut context = context_with(config);
        context.eval(text).unwrap();
        let fails = |context: &mut Context, text: &str| format!("{:?}", context.eval(text).unwrap_err());
        [fails(&mut context, "twice(0 - 1)"), fails(&mut context, "run(5000)")]
    };
    let expected = shown(Config::new().mode(Mode::Interpret));
    assert!(expected.iter().all(|error| error.contains("root") && error.contains("half")), "{expected:?}");
    for mode in [Mode::Lazy, Mode::Eager, Mode::Tiered] {
        for tier_up in [TierUp::Never, TierUp::After(1), TierUp::After(100)] {
            assert_eq!(shown(Config::new().mode(mode).tier_up(tier_up)), expected, "{mode:?} {tier_up:?}");
        }
    }
}

#[test]
fn variables() {
    let mut context = context();
    context.eval("var rate = 0.5, n def f(x) x * rate + (n = n + 1)").unwrap();
    assert_eq!((context.variable("rate").unwrap(), context.variable("n").unwrap()), (0.5, 0.0));
    context.set_variable("rate", 10.0).unwrap();
    assert_eq!(context.eval("f(3)").unwrap(), Some(31.0));
    assert_eq!(context.variable("n").unwrap(), 1.0);
    context.eval("def f(x) 0 rate = -1").unwrap();
    assert_eq!(context.variable("rate").unwrap(), -1.0);
}

#[test]
fn contexts_have_their_own_everything() {
    let engine = Engine::new().unwrap();
    let (mut one, mut other) = (engine.context().unwrap(), engine.context().unwrap());
    one.eval("var a = 1 def f(x) x + a def binary@ 30 (x y) x * y").unwrap();
    assert_eq!(code(other.eval("a")), ErrorCode::UnknownVariable);
    assert_eq!(code(other.eval("f(1)")), ErrorCode::UndefinedFunction);
    assert_eq!(code(other.eval("1 @ 2")), ErrorCode::UnknownOperator);
    other.eval("var a = 100 def f(x y) x * y + a").unwrap();
    assert_eq!((one.eval("f(1)").unwrap(), other.eval("f(2, 3)").unwrap()), (Some(2.0), Some(106.0)));
    drop(one);
    assert_eq!(other.eval("f(2, 3)").unwrap(), Some(106.0));
}

#[test]
fn two_contexts_on_two_threads() {
    let engine = Engine::new().unwrap();
    let start = Barrier::new(2);
    std::thread::scope(|scope| {
        for factor in [3, 1000] {
            let (engine, start) = (engine.clone(), &start);
            scope.spawn(move || {
                let mut context = engine.context().unwrap();
                context.eval("def g(x) f(x) + f(x + 1)").unwrap();
                start.wait();
                for round in 0..300_i32 {
                    context.eval(&format!("def f(x) x * {factor} + {round}")).unwrap();
                    let expected = f64::from(3 * factor + 2 * round);
                    assert_eq!(context.eval("g(1)").unwrap(), Some(expected), "round {round}");
                    assert_eq!(context.call("g", &[1.0]).unwrap(), expected);
                }
            });
        }
    });
}

#[test]
fn a_context_moves_between_threads() {
    let mut context = context();
    for round in 0..20_i32 {
        context = std::thread::spawn(move || {
            context.eval(&format!("def f(x) x + {round}")).unwrap();
            assert_eq!(context.eval("f(1)").unwrap(), Some(f64::from(round + 1)));
            context
        })
        .join()
        .unwrap();
    }
    assert_eq!(context.eval("f(1)").unwrap(), Some(20.0));
}

#[test]
fn states() {
    let mut context = context();
    assert_eq!(context.state("f"), None);
    context.eval("def g(x) f(x)").unwrap();
    assert_eq!((context.state("f"), context.state("g")), (None, Some(State::Pending)));
    context.eval("def f(x) x").unwrap();
    assert_eq!(context.state("f"), Some(State::Pending));
    context.eval("g(1)").unwrap();
    assert_eq!(
        (context.state("f"), context.state("g")),
        (Some(State::Materialized), Some(State::Materialized))
    );
    context.eval("def f(x) 2 * x").unwrap();
    assert_eq!((context.state("f"), context.state("g")), (Some(State::Pending), Some(State::Materialized)));
    context.prepare("f").unwrap();
    assert_ne!(context.state("f"), Some(State::Pending));
    context.prepare_all().unwrap();
    assert_eq!(context.state("f"), Some(State::Materialized));
    assert_eq!(context.state("sin"), None, "a host function is nothing the program defined");
    assert_eq!(context.eval("g(21)").unwrap(), Some(42.0));
}

#[test]
fn eager_engines_compile_at_once() {
    let mut context = context_with(Config::new().mode(Mode::Eager).workers(2));
    context.eval("def f(x) x + 1 def g(x) f(x) * 2").unwrap();
    context.prepare_all().unwrap();
    assert_eq!(
        (context.state("f"), context.state("g")),
        (Some(State::Materialized), Some(State::Materialized))
    );
    assert_eq!(context.eval("g(1) def f(x) x + 2 g(1)").unwrap(), Some(6.0));
}

/// Returns a function that takes a worker a while.
fn slow(name: &str) -> String {
    let terms: Vec<String> = (0..1500).map(|i| format!("sin(x + {i})")).collect();
    format!("def {name}(x) {}", terms.join(" + "))
}

#[test]
fn redefined_while_another_thread_materializes() {
    let mut seen_materializing = 0;
    for round in 0..20_i32 {
        let mut context = context_with(Config::new().workers(1));
        // The only worker is busy with `slow`, so `f` waits for it.
        context.eval(&slow("slow")).unwrap();
        context.eval(&format!("def f(x) x + {round} def g(x) f(x)")).unwrap();
        context.prepare("slow").unwrap();
        context.prepare("f").unwrap();
        seen_materializing += i32::from(context.state("f") == Some(State::Materializing));
        context.eval(&format!("def f(x) x * {round}")).unwrap();
        assert_eq!(context.state("f"), Some(State::Pending));
        if round % 2 == 0 {
            context.prepare_all().unwrap();
            assert_eq!(context.state("f"), Some(State::Materialized));
        }
        assert_eq!(context.eval("g(10)").unwrap(), Some(f64::from(10 * round)));
        context.prepare_all().unwrap();
        assert_eq!(context.eval("g(10)").unwrap(), Some(f64::from(10 * round)), "old code changes nothing");
        if seen_materializing >= 3 {
            return;
        }
    }
    panic!("the worker was never seen at work");
}

#[test]
fn a_call_waits_for_code_that_is_being_made() {
    let mut context = context_with(Config::new().workers(1));
    context.eval(&slow("slow")).unwrap();
    context.prepare("slow").unwrap();
    let expected: f64 = (0..1500_i32).map(|i| f64::from(i).sin()).reduce(|a, b| a + b).unwrap();
    let value = context.eval("slow(0)").unwrap().unwrap();
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
    assert_eq!(context.state("slow"), Some(State::Materialized));
    assert_eq!(context.stats().ir_generated, 1);
}

#[test]
fn preparing_races_with_redefinition() {
    for workers in [1, 4] {
        let mut context = context_with(Config::new().workers(workers));
        context.eval("def g(x) f(x) + 1").unwrap();
        for round in 0..200_i32 {
            context.eval(&format!("def f(x) x + {round}")).unwrap();
            context.prepare("f").unwrap();
            if round % 3 == 0 {
                context.eval(&format!("def f(x y) x * y + {round}")).unwrap();
                context.prepare("f").unwrap();
                assert_eq!(code(context.eval("g(1)")), ErrorCode::StaleCall);
            }
            context.eval(&format!("def f(x) x - {round}")).unwrap();
            assert_eq!(
                context.eval("g(1)").unwrap(),
                Some(f64::from(2 - round)),
                "{workers} workers, round {round}"
            );
        }
    }
}

#[test]
fn redefinition_in_every_state_reaches_compiled_callers() {
    let mut context = context();
    context.eval("def caller(x) f(x) * 10").unwrap();
    assert_eq!(code(context.eval("caller(1)")), ErrorCode::UndefinedFunction);
    context.eval("def f(x) x").unwrap(); // not defined before
    context.eval("def f(x) x + 1").unwrap(); // pending before
    assert_eq!(context.eval("caller(1)").unwrap(), Some(20.0));
    context.eval("def f(x) x + 2").unwrap(); // materialized before
    assert_eq!(context.eval("caller(1)").unwrap(), Some(30.0));
    let generated = context.stats().ir_generated;
    assert_eq!(generated, 3, "`caller` was compiled once");
}

#[test]
fn limits_are_errors_and_the_context_goes_on() {
    let limits = Limits {
        stack: 1 << 20,
        max_nesting: 100,
        fuel: Some(10_000),
        max_definitions: 2,
        ..Limits::default()
    };
    let mut context = context_with(Config::new().limits(limits));
    context.eval("def f(n) if n < 1 then 0 else 1 + f(n - 1) def g(n) 1 + g(n)").unwrap();
    assert_eq!(code(context.eval("def h(x) x")), ErrorCode::TooMany);
    assert_eq!(code(context.eval("for i = 0, 1 in i")), ErrorCode::OutOfFuel);
    assert_eq!(code(context.eval(&format!("{}1{}", "(".repeat(200), ")".repeat(200)))), ErrorCode::TooDeep);
    assert_eq!(context.eval("f(100)").unwrap(), Some(100.0));
    assert_eq!(context.eval("def g(n) n g(2)").unwrap(), Some(2.0), "redefining is not one more");
}

#[test]
fn an_interrupt_stops_what_runs() {
    let started = Arc::new(Barrier::new(2));
    let in_host = started.clone();
    let mut context = context_with(Config::new().host_function("started", 0, move |_| {
        in_host.wait();
        Ok(0.0)
    }));
    let handle = context.interrupt_handle();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            started.wait();
            handle.interrupt();
        });
        assert_eq!(code(context.eval("started() for i = 0, 1 in i")), ErrorCode::Interrupted);
    });
    assert_eq!(context.eval("1 + 1").unwrap(), Some(2.0));
}

/// Runs a test in a process of its own, where nothing else uses memory.
fn alone(name: &str, work: impl FnOnce()) {
    const VARIABLE: &str = "KAL_TEST_ALONE";
    if std::env::var_os(VARIABLE).is_some_and(|alone| alone == name) {
        return work();
    }
    let test = format!("embedding::{name}");
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &test, "--nocapture"])
        .env(VARIABLE, name)
        .output()
        .unwrap();
    let told =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}

/// Returns the memory in use by this process, in bytes.
fn resident() -> i64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split(' ').nth(1).unwrap().parse::<i64>().unwrap() * 4096
}

#[test]
fn a_million_redefinitions_leave_memory_flat() {
    alone("a_million_redefinitions_leave_memory_flat", || {
        let mut context = context();
        let mut redefine = |rounds: u32| {
            for round in 0..rounds {
                context.eval(&format!("def f(x) x + {round}")).unwrap();
            }
        };
        redefine(100_000);
        let before = resident();
        redefine(1_000_000);
        let each = (resident() - before) / 1_000_000;
        assert!(each < 64, "{each} bytes for each");
        assert_eq!(context.eval("f(1)").unwrap(), Some(1_000_000.0));
        assert_eq!(context.stats().ir_generated, 1);
    });
}

#[test]
fn redefining_and_calling_leaves_memory_flat() {
    alone("redefining_and_calling_leaves_memory_flat", || {
        let mut context = context_with(Config::new().level(Level::O0));
        context.eval("def g(x) f(x) * 2").unwrap();
        let mut rounds = |from: i32, to: i32| {
            for round in from..to {
                let value = context.eval(&format!("def f(x) x + {round} g(1)")).unwrap();
                assert_eq!(value, Some(f64::from(2 * (round + 1))));
            }
            (resident(), context.stats().code_bytes)
        };
        let (before, code) = rounds(0, 4_000);
        let (after, code_after) = rounds(4_000, 24_000);
        let each = (after - before) / 20_000;
        assert!(each < 64, "{each} bytes for each");
        assert_eq!(code_after, code, "bytes of code");
    });
}

#[test]
fn code_that_is_replaced_while_it_runs_is_named_when_it_fails() {
    let fresh: String = (0..40).map(|i| format!("def fresh{i}(x) x + {i}\n")).collect();
    let calls: String = (0..40).map(|i| format!("(x && fresh{i}(x)) + ")).collect();
    for round in 0..20 {
        let mut context = context_with(Config::new().workers(1).tier_up(TierUp::After(1)));
        // Between the code of two fresh functions, the only worker makes
        // better code for `hot`.
        context.eval(&format!("{fresh} def hot(x) {calls} missing(x)")).unwrap();
        let error = context.eval("hot(1)").unwrap_err();
        assert!(error.to_string().contains("missing"), "{error}");
        assert_eq!(error.diagnostics()[0].trace, ["hot(x)", "this expression"], "round {round}");
    }
}

#[test]
fn eager_definitions_are_compiled_in_batches_and_given_up_one_by_one() {
    let mut context = context_with(Config::new().mode(Mode::Eager).level(Level::O0));
    let define =
        |add: i32| -> String { (0..200).map(|i| format!("def f{i}(x) x + {}\n", i + add)).collect() };
    context.eval(&define(0)).unwrap();
    context.prepare_all().unwrap();
    let first = context.stats();
    assert_eq!((first.ir_generated, first.materialized), (200, 200));
    assert!(first.objects_linked < 20, "{first:?}");
    assert!(context.describe("f150").unwrap().code_bytes > 0);
    for round in 1..5 {
        context.eval(&define(round)).unwrap();
        assert_eq!(context.eval("f0(1) + f199(1)").unwrap(), Some(f64::from(201 + 2 * round)));
    }
    context.prepare_all().unwrap();
    let last = context.stats();
    assert_eq!(last.materialized, 200);
    assert!(last.code_bytes <= first.code_bytes * 2, "{first:?}, {last:?}");
}

#[test]
fn what_is_small_is_inlined_into_loops_and_not_compiled_by_itself() {
    let mut context = context_with(Config::new().tier_up(TierUp::Never));
    let define = "def a(x) x * 2 def b(x) if x > 5 then a(x) else x def c(x) a(x) + 1 def d(x) x";
    context.eval(define).unwrap();
    let states = |context: &Context| ["a", "b", "c", "d"].map(|name| context.state(name).unwrap());
    assert_eq!(context.eval("for i = 0, i < 3 in b(i)").unwrap(), Some(0.0));
    let (pending, inlined) = (State::Pending, State::Inlined);
    assert_eq!(states(&context), [inlined, inlined, pending, pending], "both are parts of the loop's code");
    let stats = context.stats();
    assert_eq!((stats.ir_generated, stats.pending, stats.inlined, stats.materialized), (0, 2, 2, 0));
    assert_eq!(code(context.eval("for i = 0, i < 3 in missing(i) + d(i)")), ErrorCode::UndefinedFunction);
    assert_eq!(context.state("d"), Some(inlined), "it is a part of the code, called or not");
    assert_eq!(context.eval("for i = 0, i < 3 in (i && d(i)) + c(i)").unwrap(), Some(0.0));
    assert_eq!(states(&context), [inlined; 4]);
    assert_eq!(context.stats().ir_generated, 0);
    // What was inlined into a loop is replaced, too.
    context.eval("def sum(n) var s = 0 in (for i = 1, i < n in s = s + c(i)) + s").unwrap();
    assert_eq!(context.eval("sum(3)").unwrap(), Some(15.0));
    context.eval("def a(x) x * 3").unwrap();
    assert_eq!((context.state("a"), context.state("c")), (Some(pending), Some(inlined)));
    assert_eq!(context.eval("sum(3)").unwrap(), Some(21.0));
    assert_eq!(context.describe("a").unwrap().state, inlined);
    assert_eq!(context.eval("a(1) + c(1)").unwrap(), Some(7.0));
    assert_eq!(
        (context.state("a"), context.state("c")),
        (Some(State::Materialized), Some(State::Materialized))
    );
}

#[test]
fn code_is_improved_as_soon_as_it_is_bound() {
    // What is prepared in the background is hot at once.
    let mut context = context_with(Config::new().workers(2).tier_up(TierUp::After(2)));
    for round in 0..100 {
        let expected = f64::from(round + 1) * 2.0;
        context.eval(&format!("def f(x) x + {round}; def g(x) f(x) * 2;")).unwrap();
        let g = context.function::<fn(f64) -> f64>("g").unwrap();
        context.eval("f(1)").unwrap();
        context.prepare("g").unwrap();
        while context.state("g") != Some(State::Materialized) {
            std::thread::yield_now();
        }
        for _ in 0..200 {
            assert_eq!(g.call(&mut context, (1.0,)).unwrap(), expected);
        }
        // Other code comes where code has been given up.
        for other in 0..5 {
            assert_eq!(
                context.eval(&format!("def h(x) x * {other}; h(3)")).unwrap(),
                Some(f64::from(other * 3))
            );
        }
        assert_eq!(g.call(&mut context, (1.0,)).unwrap(), expected);
    }
}
