//! What may follow `kal` on the command line: commands, their options, and
//! their help.

use super::build::BuildArguments;
use super::cache::CacheCommand;
use super::check::CheckArguments;
use super::compile::CompileArguments;
use super::debug::DebugArguments;
use super::emit::EmitArguments;
use super::given::{Given, MISSING, RunArguments};
use super::image::ImageCommand;
use super::map::MapArguments;
use super::options::CommonOptions;
use crate::diagnostic::suggest::nearest;
use crate::repl::ReplArguments;
use crate::source::Source;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What both the short and the long help end with.
macro_rules! examples {
    () => {
        "Options may come before or after the command.

Examples:
  kal                          the prompt
  kal program.kal              run a file
  kal -i program.kal           run a file, then the prompt
  echo '1+1' | kal             run standard input
  kal -e 'def f(x) x*x' -e 'f(3)'
  kal -e 'var n = 5' program.kal
  kal emit asm --fn f program.kal"
    };
}

/// Kaleidoscope, live: run a file, standard input, or a prompt.
#[derive(Parser, Debug)]
#[command(name = "kal", about, disable_version_flag = true, args_override_self = true)]
#[command(override_usage = "kal [OPTIONS] [FILE | -] [NUMBER]...\n       kal [OPTIONS] <COMMAND>")]
#[command(after_help = examples!())]
#[command(after_long_help = concat!(examples!(), "

Files:
  $XDG_CONFIG_HOME/kal/init.kal  a program that runs before the first prompt
                                 (~/.config if the variable is not set)
  $XDG_CACHE_HOME/kal            compiled code, for the next start
                                 (~/.cache if the variable is not set)
  $XDG_STATE_HOME/kal/history    what was typed at the prompt
                                 (~/.local/state if the variable is not set)

Exit codes:
  0 fine, 1 the program failed, 2 wrong usage, 70 a bug in Kal,
  124 out of time, 130 interrupted, 141 broken pipe"))]
pub(super) struct CommandLine {
    #[command(subcommand)]
    pub(super) command: Option<CliCommand>,
    #[command(flatten)]
    pub(super) plain: Plain,
}

/// The arguments without a command.
#[derive(Args, Debug)]
pub(super) struct Plain {
    #[command(flatten)]
    pub(super) run: RunArguments,
    #[command(flatten)]
    pub(super) repl: ReplArguments,
    #[command(flatten)]
    pub(super) options: CommonOptions,
    /// Print the version
    #[arg(short = 'V', long)]
    pub(super) version: bool,
    /// With --version, say how this `kal` was built
    #[arg(long, requires = "version")]
    pub(super) verbose: bool,
}

#[derive(Subcommand, Debug)]
pub(super) enum CliCommand {
    /// Start the prompt; with input from a pipe, a prompt without editing
    Repl(PromptArguments),
    /// Run a program (the same as without `run`)
    Run(RunArguments),
    /// Run a program that stops at breakpoints, step by step
    Debug(DebugArguments),
    /// Print a stage of the compiler for a program, without running it
    Emit(EmitArguments),
    /// Print everything wrong with programs, without running them
    Check(CheckArguments),
    /// Compute a formula in every row of a table
    Map(MapArguments),
    /// Check and compile libraries ahead, into their folders
    Compile(CompileArguments),
    /// Make an executable of a program, which needs neither Kal nor its compiler
    Build(BuildArguments),
    /// Programs and modules compiled ahead, for `--image`
    Image {
        /// What to do with them
        #[command(subcommand)]
        command: ImageCommand,
    },
    /// The folder of compiled code
    Cache {
        /// What to do with it
        #[command(subcommand)]
        command: CacheCommand,
    },
    /// Print a script that completes the command line in a shell
    Completions {
        /// The shell
        #[arg(value_parser = clap::builder::EnumValueParser::<Shell>::new())]
        shell: Shell,
    },
    /// Print the manual page, for `man -l`
    Man,
    /// Print the version
    Version {
        /// Say how this `kal` was built
        #[arg(long)]
        verbose: bool,
    },
}

/// The arguments of `repl`.
#[derive(Args, Debug)]
pub(super) struct PromptArguments {
    #[command(flatten)]
    pub(super) given: Given,
}

impl CliCommand {
    fn given(&mut self) -> Option<&mut Given> {
        match self {
            Self::Repl(arguments) => Some(&mut arguments.given),
            Self::Run(arguments) => Some(&mut arguments.given),
            Self::Debug(arguments) => Some(&mut arguments.given),
            Self::Emit(arguments) => Some(&mut arguments.given),
            Self::Check(arguments) => Some(&mut arguments.given),
            Self::Map(arguments) => Some(&mut arguments.given),
            Self::Compile(_)
            | Self::Build(_)
            | Self::Image { .. }
            | Self::Cache { .. }
            | Self::Completions { .. }
            | Self::Man
            | Self::Version { .. } => None,
        }
    }
}

impl Given {
    /// Returns the sources of `-e`.
    pub(super) fn sources(&self) -> Vec<Source> {
        let name = |index: usize| match self.eval.len() {
            1 => "<eval>".into(),
            _ => format!("<eval {}>", index + 1),
        };
        self.eval.iter().enumerate().map(|(index, text)| Source::new(name(index), text)).collect()
    }

    /// Appends what was given after the command's name.
    fn extend(&mut self, later: &mut Self) {
        self.eval.append(&mut later.eval);
        self.allow_extern.append(&mut later.allow_extern);
    }
}

/// The options that apply to a command that does not run programs; its help
/// omits the others.
const MEANINGFUL: &[(&str, &[&str])] = &[
    ("check", &["timeout", "max_nesting", "color"]),
    ("emit", &["level", "timeout", "fuel", "max_nesting", "color"]),
    ("compile", &["level", "timeout", "fuel", "max_nesting", "cache", "trace_cache", "color"]),
    ("cache", &["cache", "color"]),
    ("completions", &["color"]),
    ("man", &[]),
    ("version", &[]),
];

/// The options of the prompt alone.
const PROMPT: &[&str] = &["quiet", "no_init", "transcript", "no_preview", "resume"];

impl CommandLine {
    /// Parses the arguments of this process.
    ///
    /// # Errors
    /// What is wrong with them, or the help that they request.
    pub(super) fn read() -> Result<Self, clap::Error> {
        let words: Vec<OsString> = std::env::args_os().collect();
        let mut arguments = match Plain::read(&words) {
            Some(plain) => Self { command: None, plain },
            None => Self::read_all(words)?,
        };
        arguments.gather();
        match arguments.mistake() {
            Some(message) => Err(Self::command().error(ErrorKind::ArgumentConflict, message)),
            None => Ok(arguments),
        }
    }

    fn read_all(words: Vec<OsString>) -> Result<Self, clap::Error> {
        let mut command = Self::command();
        let matches = command.try_get_matches_from_mut(words).map_err(trimmed_help)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }

    /// Moves the options given before the command to those given after it.
    fn gather(&mut self) {
        if let Some(later) = self.command.as_mut().and_then(CliCommand::given) {
            self.plain.run.given.extend(later);
            *later = std::mem::take(&mut self.plain.run.given);
        }
        if let Some(CliCommand::Run(run)) = &mut self.command {
            run.interactive |= std::mem::take(&mut self.plain.run.interactive);
        }
    }

    /// Returns what is wrong with the combination of arguments that are valid
    /// by themselves.
    fn mistake(&self) -> Option<String> {
        let nothing = |file: &Option<PathBuf>, given: &Given| file.is_none() && given.eval.is_empty();
        let found = match &self.command {
            None => self.plain.run.mistyped(),
            Some(_) if self.plain.run.file.is_some() => Some("a command comes before FILE".to_owned()),
            Some(_) if self.plain.run.interactive => Some("-i can only be used to run a program".to_owned()),
            Some(CliCommand::Run(run)) => run.superfluous(),
            Some(CliCommand::Debug(debug)) if nothing(&debug.file, &debug.given) => Some(MISSING.to_owned()),
            Some(CliCommand::Emit(emit)) if nothing(&emit.file, &emit.given) => Some(MISSING.to_owned()),
            Some(CliCommand::Check(check)) if check.files.is_empty() && check.given.eval.is_empty() => {
                Some(MISSING.to_owned())
            }
            Some(_) => None,
        };
        found.or_else(|| self.plain.options.conflict())
    }
}

/// The words that are commands.
const COMMANDS: &[&str] = &[
    "repl",
    "run",
    "debug",
    "emit",
    "check",
    "map",
    "compile",
    "build",
    "image",
    "cache",
    "completions",
    "man",
    "version",
    "help",
];

impl Plain {
    /// Parses arguments without a command and without mistakes: building clap's
    /// description of the commands, which most runs do not need, takes longer
    /// than the rest.
    fn read(words: &[OsString]) -> Option<Self> {
        if words.iter().skip(1).any(|word| COMMANDS.iter().any(|command| word == command)) {
            return None;
        }
        let command = clap::Command::new("kal").disable_version_flag(true).args_override_self(true);
        let matches = Self::augment_args(command).try_get_matches_from(words).ok()?;
        Self::from_arg_matches(&matches).ok()
    }
}

impl RunArguments {
    /// Returns the message if FILE is probably a misspelt command.
    fn mistyped(&self) -> Option<String> {
        let word = self.file.as_deref().filter(|file| is_bare(file) && !file.exists());
        let Some(word) = word.and_then(Path::to_str) else { return self.superfluous() };
        let tip = nearest(word, COMMANDS.iter().copied()).map(|near| format!("; did you mean `kal {near}`?"));
        Some(format!("there is no file `{word}`, and no such command{}", tip.unwrap_or_default()))
    }

    fn superfluous(&self) -> Option<String> {
        let is_input = self.file.as_deref().is_some_and(|file| file.as_os_str() == "-");
        (self.interactive && is_input)
            .then(|| "with -i, standard input is for the prompt: name a FILE".to_owned())
    }
}

/// Returns whether a path is a single word, as commands are.
fn is_bare(path: &Path) -> bool {
    path.as_os_str() != "-"
        && path.extension().is_none()
        && path.components().count() == 1
        && path.file_name() == Some(path.as_os_str())
}

/// Removes the options that do not apply to a command from its help.
fn trimmed_help(answer: clap::Error) -> clap::Error {
    let is_help = [ErrorKind::DisplayHelp, ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand];
    if !is_help.contains(&answer.kind()) {
        return answer;
    }
    trimmed().try_get_matches_from(std::env::args_os()).err().unwrap_or(answer)
}

/// Returns clap's description of the command line, where the help of each
/// command has only the options that apply to it.
pub(super) fn trimmed() -> clap::Command {
    let mut command = CommandLine::command();
    let shared: Vec<clap::Arg> = command.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in names {
        let means_nothing = |arg: &&clap::Arg| match MEANINGFUL.iter().find(|(command, _)| *command == name) {
            Some((_, meaningful)) => !meaningful.contains(&arg.get_id().as_str()),
            None => {
                ["debug", "map", "build", "image"].contains(&name.as_str())
                    && PROMPT.contains(&arg.get_id().as_str())
            }
        };
        let hidden = shared.iter().filter(means_nothing).cloned().map(|arg| arg.hide(true));
        let hidden: Vec<clap::Arg> = hidden.collect();
        command = command.mut_subcommand(name, |sub| sub.args(hidden));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clap_is_told_makes_sense() {
        CommandLine::command().debug_assert();
        trimmed().debug_assert();
        let mut command = CommandLine::command();
        command.build();
        let commands: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(commands, COMMANDS);
        let all: Vec<_> =
            CommandLine::command().get_arguments().map(|arg| arg.get_id().to_string()).collect();
        for name in MEANINGFUL.iter().flat_map(|(_, names)| *names).chain(PROMPT) {
            assert!(all.iter().any(|known| known == name), "{name}");
        }
    }

    #[test]
    fn words_may_be_commands_and_paths_are_not() {
        for (path, bare) in [("check", true), ("a.kal", false), ("./a", false), ("a/b", false), ("-", false)]
        {
            assert_eq!(is_bare(Path::new(path)), bare, "{path}");
        }
    }
}
