//! Deadlines, interrupts and limits while a source is read, checked or searched
//! for what was meant: every entry of the API keeps to them.

use crate::binary::run_with;
use kal::diagnostic::ErrorCode;
use kal::source::Source;
use kal::{CacheOptions, Config, Context, Engine, Error, Limits, Mode, Outcome, Program, TierUp};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

fn engine(limits: Limits) -> Engine {
    Engine::with_config(Config::new().mode(Mode::Interpret).limits(limits)).expect("it starts")
}

fn context(limits: Limits) -> Context {
    engine(limits).context().expect("it starts")
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorCode {
    result.expect_err("it is stopped").diagnostics()[0].code
}

/// Returns an item that takes far longer to read than the deadline of these
/// tests.
fn huge() -> String {
    format!("1{}", " + 1".repeat(500_000))
}

fn short() -> Limits {
    Limits { deadline: Some(Duration::from_millis(5)), ..Limits::default() }
}

/// Returns how long reading takes without a limit, and with one: it must be far
/// less.
fn is_stopped(read: impl Fn(Limits) -> Option<ErrorCode>) {
    let start = Instant::now();
    assert_eq!(read(Limits::default()), None);
    let whole = start.elapsed();
    let start = Instant::now();
    assert_eq!(read(short()), Some(ErrorCode::DeadlineExceeded));
    let part = start.elapsed();
    assert!(part < whole / 2, "{part:?} of {whole:?}");
}

fn code_of<T>(result: Result<T, Error>) -> Option<ErrorCode> {
    result.err().map(|error| error.diagnostics()[0].code)
}

#[test]
fn a_deadline_stops_reading_inside_an_item() {
    let text = huge();
    is_stopped(|limits| code_of(context(limits).eval(&format!("def f() {text}"))));
}

#[test]
fn a_deadline_stops_making_a_formula() {
    let text = huge();
    is_stopped(|limits| code_of(context(limits).formula(&text, &[])));
}

#[test]
fn a_deadline_stops_making_a_program() {
    let text = huge();
    is_stopped(|limits| code_of(Program::new(&engine(limits), &Source::new("test", text.clone()))));
}

#[test]
fn a_deadline_stops_a_formula_that_compiles() {
    let text = format!("x{}", " * x + sin(x)".repeat(7_000));
    let engine = Engine::with_config(Config::new().tier_up(TierUp::Never)).expect("it starts");
    let mut context = engine.context().expect("it starts");
    context.eval(&format!("def f(x) {text}")).expect("it is read");
    let soon = || Some(Instant::now() + Duration::from_millis(30));
    context.set_deadline(soon());
    assert_eq!(code(context.formula(&text, &["x"])), ErrorCode::DeadlineExceeded);
    context.set_deadline(soon());
    assert_eq!(code(context.prepare_all()), ErrorCode::DeadlineExceeded);
}

#[test]
fn an_interrupt_that_came_before_stops_reading() {
    let mut context = context(Limits::default());
    let handle = context.interrupt_handle();
    let text = huge();
    type Read = fn(&mut Context, &str) -> ErrorCode;
    let ways: [Read; 2] =
        [|context, text| code(context.eval(text)), |context, text| code(context.formula(text, &[]))];
    for read in ways {
        handle.interrupt();
        let start = Instant::now();
        assert_eq!(read(&mut context, &text), ErrorCode::Interrupted);
        println!("stopped after {:?}", start.elapsed());
        assert!(!handle.is_pending());
        assert_eq!(context.eval("1 + 1").expect("it goes on"), Some(2.0));
    }
}

#[test]
fn the_length_of_formulas_and_programs_is_limited() {
    let limits = Limits { max_source_bytes: 100, ..Limits::default() };
    let long = format!("1{}", " + 1".repeat(100));
    let source = Source::new("test", &*long);
    let (engine, free) = (engine(limits), engine(Limits::default()));
    let mut context = engine.context().expect("it starts");
    assert_eq!(code(context.eval(&long)), ErrorCode::SourceTooLong);
    assert_eq!(code(context.formula(&long, &[])), ErrorCode::SourceTooLong);
    assert_eq!(code(Program::new(&engine, &source)), ErrorCode::SourceTooLong);
    let stored = Program::new(&free, &source).expect("it is right").to_bytes();
    assert_eq!(code(Program::from_bytes(&engine, &stored)), ErrorCode::SourceTooLong);
    assert!(Program::from_bytes(&free, &stored).is_ok());
    assert_eq!(context.formula("x + 1", &["x"]).expect("short").call(&mut context, &[1.0]).ok(), Some(2.0));
}

#[test]
fn a_text_that_another_engine_has_checked_is_as_long() {
    let folder = tempfile::tempdir().expect("there is room");
    let options = CacheOptions::new(folder.path().join("cache"), folder.path().join("secret"));
    let (file, long) = (folder.path().join("long.kal"), format!("1{}\n", " + 1".repeat(100)));
    std::fs::write(&file, &long).expect("it is written");
    let source = Source::in_folder(file.display().to_string(), long, folder.path());
    let run = |limits: Limits| {
        let config = Config::new().cache(options.clone()).keep_texts(false).limits(limits);
        let mut context = Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts");
        let mut outcomes = Vec::new();
        let _ = context.run(&source, &mut |_, outcome| {
            outcomes.push(outcome);
            ControlFlow::Continue(())
        });
        assert_eq!(outcomes.len(), 1);
        (context.stats().parsed_units, outcomes.remove(0))
    };
    for parsed in [1, 0] {
        let (units, outcome) = run(Limits::default());
        assert_eq!(units, parsed);
        assert!(matches!(outcome, Ok(Outcome::Value(101.0))), "{outcome:?}");
    }
    let (_, refused) = run(Limits { max_source_bytes: 100, ..Limits::default() });
    assert_eq!(code(refused), ErrorCode::SourceTooLong);
}

#[test]
fn long_names_get_no_suggestion() {
    let name = "a".repeat(300_000);
    let mut context = context(Limits::default());
    let error = context.eval(&format!("var q{name}; q{name}b")).expect_err("it is unknown");
    assert_eq!(error.diagnostics()[0].code, ErrorCode::UnknownVariable);
    assert_eq!(error.diagnostics()[0].help, None);
    let error = context.eval(&format!("def f{name}() 1; f{name}b()")).expect_err("it is not defined");
    assert_eq!(error.diagnostics()[0].help, None);
}

#[test]
fn many_mistakes_beside_many_names_take_little_time() {
    let mut context = context(Limits::default());
    let variables: String = (0..50_000).map(|i| format!("var name{i};")).collect();
    context.eval(&variables).expect("they are declared");
    let start = Instant::now();
    let uses: String = (1..20_000).map(|i| format!(" + nam{i}")).collect();
    let error = context.eval(&format!("nam0{uses}")).expect_err("they are unknown");
    let help: Vec<_> = error.diagnostics().iter().map(|found| found.help.as_deref()).collect();
    assert_eq!(help.len(), 20_000);
    assert_eq!(help[1], Some("did you mean `name1`?"));
    assert_eq!(help[19_999], None);
    // The next source has suggestions again.
    let error = context.eval("nam7 + nam7").expect_err("it is unknown");
    assert!(error.diagnostics().iter().all(|found| found.help.as_deref() == Some("did you mean `name7`?")));
    let took = start.elapsed();
    println!("{took:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn a_timeout_ends_checks_and_emitting() {
    let text = format!("def f(x) {}", huge());
    for arguments in
        [["check", "--timeout", "10ms", "-"].as_slice(), &["emit", "ast", "--timeout", "10ms", "-"]]
    {
        let ran = run_with(arguments, text.as_bytes());
        assert_eq!(ran.code, Some(124), "{arguments:?}: {}", ran.err());
        assert_eq!(ran.err(), "error: timed out\n");
    }
}
