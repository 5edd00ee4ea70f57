//! `kal FILE`, `kal -e TEXT`, and programs from standard input.

use super::given::RunArguments;
use super::stdin::{self, Items, StdinError};
use crate::context::{Context, Each};
use crate::diagnostic::ErrorCode;
use crate::program::Program;
use crate::source::Source;
use crate::syntax::lint::may_have_constant_condition;
use crate::terminal::exit::Exit;
use crate::terminal::interrupt::Idle;
use crate::terminal::mistakes::{other_mistakes, syntax_errors};
use crate::terminal::outcome::printed;
use crate::terminal::read::{ReadError, load_unless_known, text};
use crate::terminal::report::Reporter;
use std::io::{self, ErrorKind, IsTerminal};
use std::ops::ControlFlow;
use std::path::Path;

/// What to do after an item that fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AfterError {
    /// Continue with the next one.
    Continue,
    /// Run nothing more; only report what else is wrong with the syntax.
    Stop,
}

/// Runs what the arguments name.
pub(super) fn run(
    arguments: &RunArguments,
    context: &mut Context,
    reporter: &mut Reporter,
    idle: &Idle,
) -> Exit {
    context.heed_earlier_interrupts();
    context.set_arguments(arguments.numbers.clone());
    let exit = sources(arguments, context, reporter, idle);
    let exit = if exit == Exit::Fine { settle(context, reporter) } else { exit };
    reporter.printed(context.output().flush(), exit)
}

fn sources(arguments: &RunArguments, context: &mut Context, reporter: &mut Reporter, idle: &Idle) -> Exit {
    let exit = texts(arguments.given.sources(), context, reporter);
    match &arguments.file {
        _ if exit != Exit::Fine => exit,
        Some(path) if path.as_os_str() != "-" => file(path, context, reporter, idle),
        None if !arguments.given.eval.is_empty() => Exit::Fine,
        Some(_) | None => standard_input(context, reporter, idle),
    }
}

/// Runs the sources of `-e`, up to the first that fails.
pub(super) fn texts(texts: Vec<Source>, context: &mut Context, reporter: &mut Reporter) -> Exit {
    let failed = texts.into_iter().find_map(|source| {
        let exit = evaluate(context, &source, AfterError::Stop, reporter);
        (exit != Exit::Fine).then_some(exit)
    });
    failed.unwrap_or(Exit::Fine)
}

/// Runs what the arguments name before the prompt. The prompt starts even after
/// a program that fails; the result says whether it starts.
pub(super) fn before_prompt(
    arguments: &RunArguments,
    context: &mut Context,
    reporter: &mut Reporter,
    idle: &Idle,
) -> Exit {
    context.set_arguments(arguments.numbers.clone());
    let exit = texts(arguments.given.sources(), context, reporter);
    match &arguments.file {
        Some(path) if exit == Exit::Fine => file(path, context, reporter, idle),
        Some(_) | None => exit,
    }
}

/// Waits for code that is being compiled ahead of its use.
fn settle(context: &Context, reporter: &mut Reporter) -> Exit {
    if context.engine().mode() != crate::Mode::Eager {
        return Exit::Fine;
    }
    match context.prepare_all() {
        Ok(()) => Exit::Fine,
        Err(error) => {
            reporter.error(&error);
            Exit::Failed
        }
    }
}

fn file(path: &Path, context: &mut Context, reporter: &mut Reporter, idle: &Idle) -> Exit {
    // It may be a slow pipe, so what was printed is shown first.
    let _ = context.output().flush();
    // To compare it with the text of an image takes less than to keep it.
    let known = context.engine().text_in_images(&path.display().to_string());
    let result = idle.during(|| load_unless_known(path, known)).and_then(|bytes| {
        if Program::is_stored(bytes.get()) {
            let program = Program::from_bytes(context.engine(), bytes.get());
            let program = program.map_err(|error| ReadError::Stored(path.display().to_string(), error))?;
            return Ok(evaluate_stored(context, &program, reporter));
        }
        let source = text(path, bytes)?;
        Ok(evaluate(context, &source, AfterError::Stop, reporter))
    });
    result.unwrap_or_else(|error| {
        reporter.problem(&error.to_string());
        Exit::Failed
    })
}

/// Warns of loops that might not end, before they run.
fn warn_of_endless(context: &Context, source: &Source, reporter: &mut Reporter) {
    if !may_have_constant_condition(source.text()) {
        return;
    }
    // One of 0 ends the loop.
    let is_true = |condition: &str| {
        condition.contains(|each: char| each.is_alphabetic() || ('1'..='9').contains(&each))
    };
    let mut lints = context.lints(source);
    lints.retain(|lint| {
        lint.code == ErrorCode::ConstantCondition && is_true(source.slice(lint.labels[0].span))
    });
    reporter.diagnostics(&lints);
}

fn standard_input(context: &mut Context, reporter: &mut Reporter, idle: &Idle) -> Exit {
    let mut exit = Exit::Fine;
    let mut items = Items::new(io::stdin().lock(), io::stdin().is_terminal());
    stdin::announce_terminal();
    loop {
        while let Some(source) = items.ready(context) {
            match evaluate(context, &source, AfterError::Continue, reporter) {
                Exit::Fine => {}
                failed @ (Exit::Failed | Exit::Bug) => exit = failed,
                ended => return ended,
            }
        }
        if items.is_at_end() {
            return exit;
        }
        // The process that writes the items may be waiting for the answers.
        match context.output().flush() {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Exit::BrokenPipe,
            Ok(()) | Err(_) => {}
        }
        if let Err(trouble) = idle.during(|| items.fill()) {
            match trouble {
                StdinError::Io(error) => reporter.problem(&format!("standard input: {error}")),
                StdinError::TooLong(diagnostic) => reporter.diagnostic(&diagnostic),
            }
            return Exit::Failed;
        }
    }
}

/// Runs a source and prints the values of its expressions.
pub(crate) fn evaluate(
    context: &mut Context,
    source: &Source,
    after_error: AfterError,
    reporter: &mut Reporter,
) -> Exit {
    warn_of_endless(context, source, reporter);
    each_item(context, Some(source), after_error, reporter, |context, each| {
        context.run_for_values(source, each)
    })
}

/// Runs a stored program and prints the values of its expressions.
pub(super) fn evaluate_stored(context: &mut Context, program: &Program, reporter: &mut Reporter) -> Exit {
    each_item(context, None, AfterError::Stop, reporter, |context, each| context.run_program(program, each))
}

/// Runs items, and prints the values of expressions; after a failure, also the
/// remaining syntax errors of a source.
fn each_item(
    context: &mut Context,
    text: Option<&Source>,
    after_error: AfterError,
    reporter: &mut Reporter,
    run: impl FnOnce(&mut Context, &mut Each<'_>) -> ControlFlow<()>,
) -> Exit {
    let mut exit = Exit::Fine;
    let mut misread = Vec::new();
    let _ = run(context, &mut |context, outcome| {
        // Quitting at the debugger's prompt is not an error.
        if outcome.is_err() && context.ending().is_some() {
            return ControlFlow::Break(());
        }
        if after_error == AfterError::Stop {
            misread = outcome.as_ref().err().map(syntax_errors).unwrap_or_default();
        }
        let next = printed(context, outcome, reporter);
        if next != Exit::Fine {
            exit = next;
        }
        let go_on = match next {
            Exit::Fine => true,
            Exit::Failed | Exit::Bug => after_error == AfterError::Continue,
            Exit::Usage | Exit::Deadline | Exit::Interrupted | Exit::BrokenPipe => false,
        };
        if go_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    if let Some(source) = text {
        reporter.diagnostics(&other_mistakes(context, source, &misread));
    }
    exit
}

#[cfg(all(test, feature = "compiler"))]
mod tests {
    use super::*;
    use crate::context::tests::define_refused;
    use crate::terminal::report::Colors;
    use crate::{Config, Engine};
    use std::sync::{Arc, Mutex};

    /// A bug met on the way decides how the command ends, whatever comes after.
    #[test]
    fn a_bug_in_kal_ends_a_command_with_70() {
        let engine = Engine::with_config(Config::new()).expect("an engine starts");
        for (after_error, expected) in [(AfterError::Continue, Some(7.0)), (AfterError::Stop, Some(0.0))] {
            let mut context = engine.context().expect("a context starts");
            context.eval("var a = 0").expect("it is declared");
            define_refused(&mut context);
            let (written, mut reporter) =
                (Arc::new(Mutex::new(String::new())), Reporter::new(Colors::default()));
            let sink = written.clone();
            reporter.redirect(Some(Box::new(move |line| sink.lock().expect("it is free").push_str(line))));
            let source = Source::new("test", "refused(1); var a = 7; nowhere()");
            let exit = evaluate(&mut context, &source, after_error, &mut reporter);
            assert_eq!(context.variable("a").ok(), expected);
            assert_eq!(reporter.ended(exit).code(), 70);
            let written = written.lock().expect("it is free");
            assert!(written.contains("error[E0309]: this is a bug in Kal: "), "{written}");
            assert!(written.contains("please report it, with "), "{written}");
        }
    }
}
