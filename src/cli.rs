//! The command line: arguments, exit codes, and what each command does.
//!
//! Everything here goes through the embedding API, except that `emit` looks
//! into the stages of the compiler.

mod allocation;
mod check;
mod debug;
mod emit;
mod exit;
pub(crate) mod interrupt;
pub(crate) mod report;
pub(crate) mod run;
mod stdin;

use crate::config::{Config, Mode};
use crate::diagnostic::visible::visible_lines;
use crate::engine::Engine;
use crate::repl::ReplArguments;
use crate::{Level, Limits, TierUp, repl};
use clap::{Args, Parser, Subcommand, ValueEnum};
pub(crate) use exit::Exit;
use interrupt::Idle;
use report::{Colors, Reporter};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Kaleidoscope, live: run a file, standard input, or a prompt.
#[derive(Parser, Debug)]
#[command(name = "kal", version, about, args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  kal                          the prompt
  kal program.kal              run a file
  echo '1+1;' | kal            run standard input
  kal -e 'def f(x) x*x' -e 'f(3)'
  kal emit asm --fn f program.kal")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: RunArguments,
    #[command(flatten)]
    repl: ReplArguments,
    #[command(flatten)]
    options: Options,
}

#[derive(Args, Debug)]
struct RunArguments {
    /// Evaluate TEXT before FILE; may be given several times
    #[arg(short, long = "eval", value_name = "TEXT")]
    eval: Vec<String>,
    /// The program; `-` is standard input
    file: Option<PathBuf>,
}

/// What goes with every command.
#[derive(Args, Debug, Clone)]
struct Options {
    /// Compile functions on their first call (the default)
    #[arg(long, global = true, conflicts_with = "eager")]
    lazy: bool,
    /// Compile functions when they are defined, on all cores
    #[arg(long, global = true, conflicts_with = "interpret")]
    eager: bool,
    /// Compile nothing: interpret
    #[arg(long, global = true, conflicts_with_all = ["lazy", "tiered"])]
    interpret: bool,
    /// Interpret first, and compile what is hot in the background
    #[arg(long, global = true, conflicts_with_all = ["lazy", "eager"])]
    tiered: bool,
    /// Optimisation level
    #[arg(short = 'O', value_name = "LEVEL", global = true, default_value = "2")]
    level: LevelArgument,
    /// Compile everything at the full level at once
    #[arg(long, global = true)]
    no_tier_up: bool,
    /// Compile a function at the full level when it has been called so often;
    /// with --tiered, also loops that have gone round so often
    #[arg(long, value_name = "CALLS", global = true, default_value_t = 1000, conflicts_with = "no_tier_up")]
    tier_up_after: u32,
    /// With --tiered, wait for the code of what is hot: for repeatable runs
    #[arg(long, global = true, requires = "tiered")]
    tier_up_waits: bool,
    /// At the end, print figures as one JSON object on standard error
    #[arg(long, global = true)]
    stats: bool,
    /// Size of the program's stack, in MiB
    #[arg(long, value_name = "MIB", global = true, default_value_t = 256,
          value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    stack_size: u32,
    /// How deep expressions may be nested
    #[arg(long, value_name = "DEPTH", global = true, default_value_t = 10_000)]
    max_nesting: u32,
    /// Stop after this time: `2s`, `500ms`, `1.5m`
    #[arg(long, value_name = "TIME", global = true, value_parser = duration)]
    timeout: Option<Duration>,
    /// Stop each item after so many function entries and loop rounds
    #[arg(long, value_name = "COUNT", global = true)]
    fuel: Option<u64>,
    /// Let `perf report` know compiled functions by name
    #[arg(long, global = true)]
    perf: bool,
    /// Let gdb know compiled functions by name
    #[arg(long, global = true)]
    gdb: bool,
    /// Let the program declare and call this C function, of the process or of
    /// the shared library at PATH; it can do anything, a crash included
    #[arg(long, value_name = "NAME[=PATH]", global = true)]
    allow_extern: Vec<String>,
    /// Colour in what is printed; `auto` looks at each stream by itself
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto")]
    color: Color,
}

#[derive(ValueEnum, Debug, Clone, Copy)]
enum LevelArgument {
    #[value(name = "0")]
    O0,
    #[value(name = "1")]
    O1,
    #[value(name = "2")]
    O2,
    #[value(name = "3")]
    O3,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Color {
    /// On a terminal that is not dumb, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Start the prompt; with input from a pipe, a prompt without editing
    Repl(ReplArguments),
    /// Run a program (the same as without `run`)
    Run(RunArguments),
    /// Run a program that stops at breakpoints, step by step
    Debug(debug::DebugArguments),
    /// Print a stage of the compiler for a program, without running it
    Emit(emit::EmitArguments),
    /// Print everything wrong with a program, without running it
    Check(check::CheckArguments),
}

/// The exit code for a bug in Kal.
const BUG: u8 = 70;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    allocation::tune();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            return ExitCode::from(unparsed(&error).code());
        }
    };
    match std::panic::catch_unwind(|| execute(arguments)) {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(_) => {
            let _ = writeln!(std::io::stderr(), "This is a bug in Kal; what it printed above says where.");
            ExitCode::from(BUG)
        }
    }
}

/// Tells what is wrong with the arguments, or the help that they ask for.
fn unparsed(answer: &clap::Error) -> Exit {
    if answer.use_stderr() {
        // What was typed stands in it.
        let text = visible_lines(&answer.render().to_string());
        let _ = std::io::stderr().write_all(text.as_bytes());
        return Exit::Usage;
    }
    let printed = answer.print().and_then(|()| std::io::stdout().flush());
    Reporter::new(Colors::default()).printed(printed, Exit::Fine)
}

fn execute(arguments: Arguments) -> Exit {
    let options = &arguments.options;
    let mut reporter = Reporter::new(options.colors());
    let exit = match arguments.command {
        Some(Command::Repl(repl)) => prompt(&repl, options, &mut reporter),
        Some(Command::Run(run)) => self::run(&run, &ReplArguments::default(), options, &mut reporter),
        Some(Command::Debug(debug)) => start(options, &mut reporter, |context, reporter, idle| {
            debug::debug(&debug, context, reporter, idle)
        }),
        Some(Command::Emit(emit)) => {
            timed(options, &mut reporter, |reporter| emit::emit(&emit, options, reporter))
        }
        Some(Command::Check(check)) => {
            timed(options, &mut reporter, |reporter| check::check(&check, options, reporter))
        }
        None => self::run(&arguments.run, &arguments.repl, options, &mut reporter),
    };
    reporter.ended(exit)
}

fn prompt(arguments: &ReplArguments, options: &Options, reporter: &mut Reporter) -> Exit {
    start(options, reporter, |context, reporter, idle| repl::start(arguments, context, reporter, idle))
}

fn run(arguments: &RunArguments, repl: &ReplArguments, options: &Options, reporter: &mut Reporter) -> Exit {
    let at_prompt = arguments.file.is_none() && arguments.eval.is_empty() && std::io::stdin().is_terminal();
    if at_prompt {
        return prompt(repl, options, reporter);
    }
    start(options, reporter, |session, reporter, idle| run::run(arguments, session, reporter, idle))
}

/// Does the work of a command that runs no program, within its time.
fn timed(options: &Options, reporter: &mut Reporter, command: impl FnOnce(&mut Reporter) -> Exit) -> Exit {
    match options.deadline().map_or(Ok(()), interrupt::end_at) {
        Ok(()) => command(reporter),
        Err(error) => {
            reporter.problem(&format!("no thread can watch the time: {error}"));
            Exit::Failed
        }
    }
}

/// Makes a context, gives it to `command`, prints the figures.
fn start(
    options: &Options,
    reporter: &mut Reporter,
    command: impl FnOnce(&mut crate::Context, &mut Reporter, &Idle) -> Exit,
) -> Exit {
    let context = options.engine().and_then(|engine| engine.context());
    let mut context = match context {
        Ok(context) => context,
        Err(error) => {
            reporter.error(&error);
            return Exit::Failed;
        }
    };
    if let Ok(Some(failure)) = context.engine().perf_map_failure() {
        reporter.line(&format!("warning: perf is not told the names of functions: {failure}"));
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
    exit::leave(reporter.ended(exit))
}

/// Reads a duration: a number with `ms`, `s` or `m`; seconds without a unit.
fn duration(text: &str) -> Result<Duration, String> {
    let number = text.trim_end_matches(char::is_alphabetic);
    let seconds = match &text[number.len()..] {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" => 60.0,
        unit => return Err(format!("`{unit}` is no unit of time; use ms, s or m")),
    };
    let number: f64 = number.parse().map_err(|_| "a time looks like 2s, 500ms or 1.5m".to_owned())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| "that is no length of time".to_owned())
}

impl Options {
    #[allow(unsafe_code)]
    fn config(&self) -> Config {
        let allowed = self.allow_extern.iter().fold(Config::new(), |config, allowed| {
            let (name, path) = match allowed.split_once('=') {
                Some((name, path)) => (name, Some(PathBuf::from(path))),
                None => (allowed.as_str(), None),
            };
            // SAFETY: not ours to ensure: who gives the option vouches for it.
            unsafe { config.allow_extern(name, path) }
        });
        let tier_up = if self.no_tier_up { TierUp::Never } else { TierUp::After(self.tier_up_after) };
        allowed
            .mode(self.mode())
            .level(self.level())
            .tier_up(tier_up)
            .wait_for_code(self.tier_up_waits)
            .perf_map(self.perf)
            .debug_objects(self.gdb)
            .limits(Limits {
                stack: (self.stack_size as usize) << 20,
                max_nesting: self.max_nesting,
                fuel: self.fuel,
                ..Limits::default()
            })
    }

    /// When the time of the command is over; a time that no clock can tell never
    /// comes.
    fn deadline(&self) -> Option<Instant> {
        self.timeout.and_then(|timeout| Instant::now().checked_add(timeout))
    }

    fn engine(&self) -> Result<Engine, crate::Error> {
        Engine::with_config(self.config())
    }

    fn mode(&self) -> Mode {
        if self.eager {
            Mode::Eager
        } else if self.interpret {
            Mode::Interpret
        } else if self.tiered {
            Mode::Tiered
        } else {
            Mode::Lazy
        }
    }

    fn level(&self) -> Level {
        match self.level {
            LevelArgument::O0 => Level::O0,
            LevelArgument::O1 => Level::O1,
            LevelArgument::O2 => Level::O2,
            LevelArgument::O3 => Level::O3,
        }
    }

    fn colors(&self) -> Colors {
        let both = |color| Colors { stdout: color, stderr: color };
        let refused = || {
            std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
                || std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb")
        };
        match self.color {
            Color::Always => both(true),
            Color::Never => both(false),
            Color::Auto if refused() => both(false),
            Color::Auto => {
                Colors { stdout: std::io::stdout().is_terminal(), stderr: std::io::stderr().is_terminal() }
            }
        }
    }
}
