//! The command line: arguments, exit codes, and what each command does.
//!
//! It needs the feature `cli`. Everything here uses the embedding API, except
//! that `emit` uses the stages of the compiler.

mod settings;
mod arguments;
mod build;
mod c_library;
mod cache;
mod check;
mod compile;
mod compile_trace;
mod completion;
mod debug;
mod emit;
mod given;
mod image;
mod linking;
mod manual;
mod map;
mod options;
mod quantity;
mod run;
mod seams;
mod stdin;
mod version;

use crate::diagnostic::visible::visible_lines;
use crate::failure::report::REPORT;
use crate::prelude::Beginning;
use crate::repl::{self, First, ReplArguments};
use crate::terminal::exit::{self, Exit};
use crate::terminal::interrupt::{self, Idle};
use crate::terminal::report::{Colors, Reporter};
use arguments::{CliCommand, CommandLine};
use given::{Given, RunArguments};
use options::{CommonOptions, StartError};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    settings::make();
    match completion::answer() {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(error) => return ExitCode::from(unparsed(&error).code()),
    }
    let arguments = match CommandLine::read() {
        Ok(arguments) => arguments,
        Err(error) => {
            return ExitCode::from(unparsed(&error).code());
        }
    };
    match std::panic::catch_unwind(|| execute(arguments)) {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(_) => {
            let _ = writeln!(std::io::stderr(), "This is a bug in Kal; {REPORT} and what is above.");
            ExitCode::from(Exit::Bug.code())
        }
    }
}

/// Prints what is wrong with the arguments, or the help that they request.
fn unparsed(answer: &clap::Error) -> Exit {
    if answer.use_stderr() {
        // It quotes the user's input.
        let text = visible_lines(&answer.render().to_string());
        let _ = std::io::stderr().write_all(text.as_bytes());
        return Exit::Usage;
    }
    let printed = answer.print().and_then(|()| std::io::stdout().flush());
    Reporter::new(Colors::default()).printed(printed, Exit::Fine)
}

fn execute(arguments: CommandLine) -> Exit {
    let CommandLine { command, plain } = arguments;
    let (options, repl) = (&plain.options, &plain.repl);
    let mut reporter = Reporter::new(options.colors());
    let exit = match command {
        None if plain.version => reporter.printed(version::print(plain.verbose), Exit::Fine),
        None => run(&plain.run, repl, options, &mut reporter),
        Some(CliCommand::Run(run)) => self::run(&run, repl, options, &mut reporter),
        Some(CliCommand::Repl(prompt)) => {
            let run = RunArguments { given: prompt.given, ..RunArguments::default() };
            self::prompt(&run, repl, options, &mut reporter)
        }
        Some(CliCommand::Debug(debug)) => {
            let options = options.for_debugging(!debug.given.allow_extern.is_empty());
            start(&options, &debug.given, &mut reporter, |context, reporter, idle| {
                debug::debug(&debug, repl.edit_mode(), context, reporter, idle)
            })
        }
        Some(CliCommand::Emit(emit)) => {
            timed(options, &mut reporter, |reporter| emit::emit(&emit, options, reporter))
        }
        Some(CliCommand::Check(check)) => {
            timed(options, &mut reporter, |reporter| check::check(&check, options, reporter))
        }
        Some(CliCommand::Map(map)) => {
            let deadline = options.deadline();
            let options = options.for_table(map.writes_stdout());
            start(&options, &map.given, &mut reporter, |context, reporter, idle| {
                map::map(&map, deadline, context, reporter, idle)
            })
        }
        Some(CliCommand::Compile(compile)) => {
            timed(options, &mut reporter, |reporter| compile::compile(&compile, options, reporter))
        }
        Some(CliCommand::Build(build)) => {
            timed(options, &mut reporter, |reporter| build::build(&build, options, reporter))
        }
        // The process that it starts has the time limit.
        Some(CliCommand::Image { command }) if command.is_apart() => {
            image::image(&command, options, &mut reporter)
        }
        Some(CliCommand::Image { command }) => {
            timed(options, &mut reporter, |reporter| image::image(&command, options, reporter))
        }
        Some(CliCommand::Cache { command }) => cache::cache(&command, options, &mut reporter),
        Some(CliCommand::Completions { shell }) => reporter.printed(completion::script(shell), Exit::Fine),
        Some(CliCommand::Man) => reporter.printed(manual::page(), Exit::Fine),
        Some(CliCommand::Version { verbose }) => reporter.printed(version::print(verbose), Exit::Fine),
    };
    reporter.ended(exit)
}

/// Runs what the arguments name, if anything, then starts the prompt.
fn prompt(
    arguments: &RunArguments,
    repl: &ReplArguments,
    options: &CommonOptions,
    reporter: &mut Reporter,
) -> Exit {
    start(&options.for_prompt(), &arguments.given, reporter, |context, reporter, idle| {
        let run = |context: &mut _, reporter: &mut _| run::before_prompt(arguments, context, reporter, idle);
        let file = arguments.file.as_deref();
        repl::start(repl, context, reporter, idle, First { run: &run, file, timeout: options.timeout })
    })
}

fn run(
    arguments: &RunArguments,
    repl: &ReplArguments,
    options: &CommonOptions,
    reporter: &mut Reporter,
) -> Exit {
    let has_program = arguments.file.is_some() || !arguments.given.eval.is_empty();
    if arguments.interactive || repl.resumes() || (!has_program && std::io::stdin().is_terminal()) {
        return prompt(arguments, repl, options, reporter);
    }
    start(options, &arguments.given, reporter, |session, reporter, idle| {
        run::run(arguments, session, reporter, idle)
    })
}

/// Executes a command that runs no program, within its time limit.
fn timed(
    options: &CommonOptions,
    reporter: &mut Reporter,
    command: impl FnOnce(&mut Reporter) -> Exit,
) -> Exit {
    match options.deadline().map_or(Ok(()), interrupt::end_at) {
        Ok(()) => command(reporter),
        Err(error) => {
            reporter.problem(&format!("cannot start a thread for the time limit: {error}"));
            Exit::Failed
        }
    }
}

/// Creates a context, runs `command` with it, and prints the statistics if
/// requested.
fn start(
    options: &CommonOptions,
    given: &Given,
    reporter: &mut Reporter,
    command: impl FnOnce(&mut crate::Context, &mut Reporter, &Idle) -> Exit,
) -> Exit {
    let engine = options.traced_engine(&given.allow_extern);
    let mut context = match engine.and_then(|engine| Ok(engine.context()?)) {
        Ok(context) => context,
        Err(error) => {
            match error {
                StartError::Engine(error) => reporter.error(&error),
                StartError::Trace(path, error) => reporter.problem(&format!("{path}: {error}")),
                StartError::Image(problem) => reporter.problem(&problem),
            }
            return Exit::Failed;
        }
    };
    for failure in context.engine().image_failures() {
        reporter.line(&format!("note: {failure}; its functions are compiled"));
    }
    if let Ok(Some(failure)) = context.engine().perf_map_failure() {
        reporter.line(&format!("warning: perf will not know the names of functions: {failure}"));
    }
    let deadline = options.deadline();
    context.set_deadline(deadline);
    let idle = interrupt::install(context.interrupt_handle(), deadline);
    let exit = command(&mut context, reporter, &idle);
    if options.stats
        && let Ok(stats) = serde_json::to_string(&context.stats())
    {
        reporter.line(&stats);
    }
    // To write the one takes away what the other has.
    context.engine().update_engine_cache();
    if options.trace_cache {
        context.engine().write_cache_at_exit();
        match context.beginning() {
            Beginning::Empty => {}
            Beginning::Snapshot => reporter.line("image: begun with what its prelude has left"),
            Beginning::Run { reason } => reporter.line(&format!("image: its prelude was run: {reason}")),
        }
        context.engine().take_cache_events().iter().for_each(|event| reporter.line(&event.to_string()));
    }
    let exit = reporter.ended(exit);
    // With a trace it has been written; what a worker has compiled since is left out.
    if !options.trace_cache {
        context.engine().write_cache_beyond_exit();
    }
    exit::leave(exit)
}
