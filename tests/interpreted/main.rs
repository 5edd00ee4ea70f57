//! The library alone, without a compiler: every program of the suite, with what it
//! prints and how it ends, in the modes that need none.
//!
//! Needs neither the command nor the compiler, so it is what a build without
//! default features is tested with. With the compiler, `tests/all` runs the same
//! programs in this mode and all others, and compares all they say; then nothing
//! is left to do here.

#![cfg(not(feature = "compiler"))]

use kal::diagnostic::Diagnostic;
use kal::source::Source;
use kal::{Config, Engine, Error, Limits, LineOutput, Mode, Outcome};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a program has written.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no write panics").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// How a program ran.
struct Ran {
    lines: Vec<String>,
    error: Option<Error>,
}

fn programs() -> Vec<PathBuf> {
    fn collect(folder: &Path, programs: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("the folder is readable") {
            let path = entry.expect("the folder is readable").path();
            match path.extension() {
                _ if path.is_dir() => collect(&path, programs),
                Some(extension) if extension == "kal" => programs.push(path),
                _ => {}
            }
        }
    }
    let mut programs = Vec::new();
    for folder in ["tests/programs", "examples"] {
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut programs);
    }
    programs
}

/// Returns the limits that a program's head asks for: `#: options --fuel 1000`.
fn limits(text: &str) -> Limits {
    let mut limits = Limits::default();
    for options in text.lines().filter_map(|line| line.strip_prefix("#: options ")) {
        match options.split_whitespace().collect::<Vec<_>>()[..] {
            ["--fuel", count] => limits.fuel = Some(count.parse().expect("a count")),
            ["--max-nesting", depth] => limits.max_nesting = depth.parse().expect("a depth"),
            ["--stack-size", size] => limits.stack = size.parse::<usize>().expect("a size") << 20,
            ["--timeout", "100ms"] => limits.deadline = Some(Duration::from_millis(100)),
            _ => panic!("unknown options: {options}"),
        }
    }
    limits
}

/// Runs a program up to its first error, as the command runs a file.
fn run(text: &str, path: &Path, mode: Mode) -> Ran {
    let folder = path.parent().expect("it is in a folder");
    let config = Config::new().mode(mode).limits(limits(text)).program_folder(folder);
    let mut context = Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts");
    let written = Written::default();
    context.set_output(Box::new(LineOutput::new(written.clone())));
    let mut error = None;
    let text = text.trim_start_matches('\u{feff}');
    let _ = context.run(&Source::new(path.to_string_lossy(), text), &mut |context, outcome| {
        match outcome {
            Ok(Outcome::Value(value)) => context.output().value(value).expect("memory takes it"),
            Ok(_) => {}
            Err(failed) => {
                error = Some(failed);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    });
    context.output().flush().expect("memory takes it");
    let written = String::from_utf8(written.0.lock().expect("no write panics").clone());
    Ran {
        lines: written.expect("it is text").lines().map(|line| line.trim_end().to_owned()).collect(),
        error,
    }
}

/// Returns the first line of a drawn diagnostic: `error[E0201] 3:5 message`.
fn headline(diagnostic: &Diagnostic, has_place: bool) -> String {
    let Diagnostic { code, message, labels, .. } = diagnostic;
    let place = labels.first().filter(|_| has_place).map(|label| {
        let (line, column) = label.source.position(label.span.start);
        format!("{line}:{column} ")
    });
    format!("error[{code}] {}{message}", place.unwrap_or_default())
}

fn expected<'t>(text: &'t str, mark: &str) -> Vec<&'t str> {
    text.lines().filter_map(|line| line.strip_prefix(mark)).map(str::trim).collect()
}

/// Returns what is wrong with a run of a program, if anything.
fn complaint(path: &Path, mode: Mode) -> Option<String> {
    let text = std::fs::read_to_string(path).expect("programs are text");
    // Which C functions a program may call is not for the program to say.
    if text.contains("#: options --allow-extern") {
        return None;
    }
    let has_places = !text.contains("#: places differ");
    let ran = run(&text, path, mode);
    let lines: Vec<&str> = ran.lines.iter().map(|line| line.trim()).collect();
    if lines != expected(&text, "#>") {
        return Some(format!("{}, {mode:?}: it prints {lines:?}", path.display()));
    }
    let errors: Vec<&str> =
        expected(&text, "#!").into_iter().filter(|line| line.starts_with("error[")).collect();
    let found = match ran.error {
        None => None,
        Some(Error::Invalid(mistakes)) => mistakes.first().map(|first| headline(first, true)),
        Some(Error::Failed(failure)) => Some(headline(&failure, has_places)),
        Some(other) => Some(other.to_string()),
    };
    let is_expected = match &found {
        None => errors.is_empty(),
        Some(error) => errors.contains(&error.as_str()),
    };
    (!is_expected).then(|| format!("{}, {mode:?}: it ends with {found:?}", path.display()))
}

#[test]
fn programs_print_what_they_should() {
    let programs = programs();
    assert!(programs.len() > 100, "only {} programs were found", programs.len());
    let modes = [Mode::Interpret, Mode::Lazy, Mode::Tiered];
    let all = programs.iter().flat_map(|path| modes.map(|mode| complaint(path, mode)));
    let complaints: Vec<String> = all.flatten().collect();
    assert!(complaints.is_empty(), "{} runs are wrong:\n{}", complaints.len(), complaints.join("\n"));
}

#[test]
fn only_eager_mode_needs_a_compiler() {
    let eager = Engine::with_config(Config::new().mode(Mode::Eager)).expect_err("there is no compiler");
    let expected = "the mode Eager needs the compiler, but this build of Kal has none (feature `compiler`); \
                    `--interpret` (`Mode::Interpret`) needs none";
    assert_eq!(eager.to_string(), expected);
    let context = Engine::new().and_then(|engine| engine.context()).expect("it starts");
    let error = context.listing(kal::Stage::Ir, "1 + 1").expect_err("there is no compiler");
    assert!(error.to_string().contains("this build of Kal has no compiler"), "{error}");
    assert_eq!(Engine::llvm_version(), None);
}

#[test]
fn what_has_no_code_is_compiled_by_the_baseline_compiler() {
    let mut context = Engine::new().and_then(|engine| engine.context()).expect("it starts");
    context.eval("def f(x) x * 7").expect("it is right");
    assert_eq!(context.stats().context_code_bytes, 0, "nothing is called yet");
    assert_eq!(context.eval("f(6)").expect("it is right"), Some(42.0));
    let stats = context.stats();
    assert!(stats.context_code_bytes > 0 && stats.context_tape_bytes == 0, "{stats:?}");
    context.eval("def f(x) x + 1").expect("it is right");
    assert_eq!(context.eval("f(6)").expect("it is right"), Some(7.0));
    let never = Engine::with_config(Config::new().tier_up(kal::TierUp::Never).level(kal::Level::O0));
    let mut context = never.and_then(|engine| engine.context()).expect("it starts");
    assert_eq!(context.eval("def g(x) x * 3; g(5)").expect("it is right"), Some(15.0));
    let formula = context.formula("a * 2 + g(a)", &["a"]).expect("it is right");
    assert_eq!(formula.call(&mut context, &[4.0]).expect("it runs"), 20.0);
}
