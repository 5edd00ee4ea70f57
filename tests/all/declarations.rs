//! Declarations ahead of definitions: in every mode, taken back, stored.

use crate::binary;
use kal::diagnostic::ErrorCode;
use kal::source::Source;
use kal::{Config, Context, Engine, Error, Mode, Program};
use std::ops::ControlFlow;

const MODES: [Mode; 4] = [Mode::Lazy, Mode::Eager, Mode::Interpret, Mode::Tiered];

fn context(mode: Mode) -> Context {
    let mut context = Engine::with_config(Config::new().mode(mode)).unwrap().context().unwrap();
    context.keep_history(16);
    context
}

fn code(result: Result<Option<f64>, Error>) -> ErrorCode {
    result.unwrap_err().diagnostics()[0].code
}

#[test]
fn a_declaration_is_undone_dropped_and_forgotten() {
    for mode in MODES {
        let mut context = context(mode);
        context.eval("extern f(x)").unwrap();
        assert_eq!(context.undefined_declarations(), ["f(x)"]);
        assert_eq!(code(context.eval("f(1, 2)")), ErrorCode::WrongArity);
        assert_eq!(code(context.eval("f(1)")), ErrorCode::UndefinedFunction);
        let undone = context.undo();
        assert_eq!(
            (undone.len(), undone[0].name.as_str(), undone[0].is_declaration, undone[0].is_defined),
            (1, "f", true, false)
        );
        assert_eq!(code(context.eval("f(1, 2)")), ErrorCode::UndefinedFunction);
        assert!(context.redo()[0].is_defined);
        assert_eq!(code(context.eval("f(1, 2)")), ErrorCode::WrongArity);
        assert_eq!(code(context.eval("def f(x y) x")), ErrorCode::ExternArity);
        assert_eq!(context.eval("def f(x) x * 2; f(4)").unwrap(), Some(8.0));
        assert!(context.undefined_declarations().is_empty());
        // Defined, it may take other arguments; undone, it is declared as before.
        assert_eq!(context.eval("def f(x y) x + y; f(1, 2)").unwrap(), Some(3.0));
        assert_eq!(code(context.eval("extern f(x)")), ErrorCode::ExternArity);
        context.undo();
        context.undo();
        assert_eq!(context.undefined_declarations(), ["f(x)"], "{mode:?}");
        context.drop_function("f").unwrap();
        assert_eq!(context.eval("def f(x y z) x; f(1, 2, 3)").unwrap(), Some(1.0));
        context.eval("extern g()").unwrap();
        context.reset();
        assert_eq!(code(context.eval("g(1)")), ErrorCode::UndefinedFunction);
        assert!(matches!(context.drop_function("g"), Err(Error::NoFunction(_))));
    }
}

#[test]
fn a_function_and_its_declaration_are_undone_together() {
    for mode in MODES {
        let mut context = context(mode);
        context.eval("extern f(x)").unwrap();
        context.eval("def f(x) x * 2").unwrap();
        context.drop_function("f").unwrap();
        assert_eq!(code(context.eval("f(4)")), ErrorCode::UndefinedFunction);
        for _ in 0..2 {
            let undone = context.undo();
            assert_eq!(
                (undone.len(), undone[0].name.as_str(), undone[0].is_declaration, undone[0].is_defined),
                (1, "f", false, true)
            );
            assert_eq!(context.eval("f(4)").unwrap(), Some(8.0), "{mode:?}");
            let redone = context.redo();
            assert_eq!((redone.len(), redone[0].is_declaration, redone[0].is_defined), (1, false, false));
            assert_eq!(code(context.eval("f(4)")), ErrorCode::UndefinedFunction);
            assert_eq!(context.eval("def f(x y) x + y; f(1, 2)").unwrap(), Some(3.0), "nothing is declared");
            context.undo();
            context.undo();
            context.redo();
        }
        context.undo();
        context.undo();
        assert_eq!(context.undefined_declarations(), ["f(x)"], "{mode:?}");
    }
}

#[test]
fn a_formula_may_call_what_is_declared() {
    for mode in MODES {
        let mut context = context(mode);
        context.eval("extern even(n); def odd(n) if n < 1 then 0 else even(n - 1)").unwrap();
        let formula = context.formula("even(a) + 10 * odd(a)", &["a"]).unwrap();
        assert!(context.formula("even(a, a)", &["a"]).is_err());
        let error = formula.call(&mut context, &[3.0]).unwrap_err();
        assert!(error.to_string().ends_with("calls `even`, which is declared but not defined"), "{error}");
        context.eval("def even(n) if n < 1 then 1 else odd(n - 1)").unwrap();
        assert_eq!(formula.call(&mut context, &[3.0]).unwrap(), 10.0);
        assert_eq!(formula.call(&mut context, &[4.0]).unwrap(), 1.0);
    }
}

#[test]
fn nothing_of_the_process_is_reached_by_declaring_it() {
    for mode in MODES {
        let mut context = context(mode);
        for name in ["system", "getpid", "exit", "malloc", "abort", "j0"] {
            context.eval(&format!("extern {name}(x)")).unwrap();
            let error = context.eval(&format!("{name}(0)")).unwrap_err();
            assert_eq!(error.diagnostics()[0].code, ErrorCode::UndefinedFunction);
            assert_eq!(error.diagnostics()[0].labels[1].message, "the declaration");
            assert!(error.diagnostics()[0].help.is_some(), "{name}");
            assert!(matches!(context.function::<fn(f64) -> f64>(name), Err(Error::NoFunction(_))));
            assert!(matches!(context.call(name, &[0.0]), Err(Error::NoFunction(_))));
        }
    }
}

#[test]
fn a_script_declares_again_what_is_not_defined() {
    let mut context = context(Mode::Interpret);
    context.eval("extern later(x y); extern now(); def now() 1; def f(x) later(x, x)").unwrap();
    let script = context.script(&[]);
    assert!(script.ends_with("extern later(x y)\n") && !script.contains("extern now"), "{script}");
    let mut other = self::context(Mode::Interpret);
    other.eval(&script).unwrap();
    assert_eq!(other.script(&[]), script);
    assert_eq!(code(other.eval("later(1)")), ErrorCode::WrongArity);
    assert_eq!(other.eval("def later(x y) x - y; f(3)").unwrap(), Some(0.0));
}

#[test]
fn a_stored_program_declares_what_its_source_declares() {
    let text = "extern even(n); def odd(n) if n < 1 then 0 else even(n - 1);
                def even(n) if n < 1 then 1 else odd(n - 1); even(10); extern later(a b)";
    for mode in MODES {
        let engine = Engine::with_config(Config::new().mode(mode)).unwrap();
        let stored = Program::new(&engine, &Source::new("test", text)).unwrap().to_bytes();
        let program = Program::from_bytes(&engine, &stored).unwrap();
        let mut context = engine.context().unwrap();
        assert_eq!(run(&mut context, &program), (1.0, Vec::new()));
        assert_eq!(context.undefined_declarations(), ["later(a b)"]);
        assert_eq!(code(context.eval("later(1)")), ErrorCode::WrongArity);
        // Where something else was declared before, the definition does not fit.
        let mut other = engine.context().unwrap();
        other.eval("extern odd(a b); extern later(a)").unwrap();
        assert_eq!(
            run(&mut other, &program).1,
            [ErrorCode::ExternArity, ErrorCode::UndefinedFunction, ErrorCode::ExternArity]
        );
    }
}

/// Returns the last value, and the codes of what failed.
fn run(context: &mut Context, program: &Program) -> (f64, Vec<ErrorCode>) {
    let (mut last, mut codes) = (f64::NAN, Vec::new());
    let _ = context.run_program(program, &mut |_, outcome| {
        match outcome {
            Ok(kal::Outcome::Value(value)) => last = value,
            Ok(_) => {}
            Err(error) => codes.push(error.diagnostics()[0].code),
        }
        ControlFlow::Continue(())
    });
    (last, codes)
}

#[test]
fn declarations_are_limited_like_definitions() {
    let limits = kal::Limits { max_definitions: 3, ..kal::Limits::default() };
    let engine = Engine::with_config(Config::new().mode(Mode::Interpret).limits(limits)).unwrap();
    let mut context = engine.context().unwrap();
    context.eval("extern a() extern b() extern c() extern c() extern sin(x)").unwrap();
    assert_eq!(code(context.eval("extern d()")), ErrorCode::TooMany);
}

#[test]
fn a_check_says_what_is_declared_and_never_defined() {
    let check = |text: &str| {
        let ran = binary::feed(binary::kal().args(["check", "-"]), text.as_bytes());
        (ran.code, ran.said())
    };
    let fine = "extern even(n); def odd(n) even(n); def even(n) n; extern sin(x); odd(1)";
    assert_eq!(check(fine), (Some(0), vec![]));
    // A definition wins over a host function, with any number of parameters.
    assert_eq!(check("extern sin(x); def sin(x y) x + y; sin(1, 2)"), (Some(0), vec![]));
    let (status, said) = check("extern foo(a b)\ndef g(x) foo(x, 2)\nextern tann(x)");
    assert_eq!(status, Some(0));
    assert_eq!(
        said,
        [
            "warning[E0206] 1:8 `foo` is declared but never defined",
            "  help: it is not a host function; define it: `def foo(a b) …`; or, if it is a C function that takes and returns doubles, allow it: `--allow-extern foo`",
            "warning[E0206] 3:8 `tann` is declared but never defined",
            "  help: did you mean `tan`?",
        ]
    );
    let (status, said) = check("extern f(a)\nf(1, 2)\ndef f(a b) a");
    assert_eq!(status, Some(1));
    let expected = [
        "error[E0205] 2:1 `f` takes 1 argument, not 2",
        "error[E0207] 3:5 `f` is declared to take 1 argument, not 2",
    ];
    assert_eq!(said, expected);
}
