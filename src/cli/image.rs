//! `kal image`: programs and their modules, compiled ahead into a shared object.

use super::linking::{LinkArguments, Linked, link};
use super::options::{CommonOptions, load_image};
use crate::diagnostic::Diagnostic;
use crate::image::{Image, VersionInfo};
use crate::image_builder::{BuiltImage, ImageBuilder, Wanted};
use crate::image_target::ImageTarget;
use crate::source::Source;
use crate::terminal::exit::Exit;
use crate::terminal::file::is_same_file;
use crate::terminal::read::read;
use crate::terminal::report::{self, Reporter};
use clap::{Args, Subcommand, ValueHint};
use std::fmt::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is compiled for if nothing is said.
const TARGETS: &str = "x86-64;x86-64-v3;x86-64-v4";

#[derive(Subcommand, Debug)]
pub(super) enum ImageCommand {
    /// Compile programs and the modules that they import into a shared object
    Build(ImageArguments),
    /// Print what is in an image
    Info {
        /// The image
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
}

/// What is compiled, and for which processors.
#[derive(Args, Debug)]
pub(super) struct AheadArguments {
    /// Compile the functions that a trace names, and what they call
    #[arg(long, value_name = "FILE", conflicts_with = "all", value_hint = ValueHint::FilePath)]
    trace: Option<PathBuf>,
    /// Compile all that is defined, also what no expression leads to
    #[arg(long)]
    all: bool,
    /// The processors, with `;` between them: `native`, or a level with features more or
    /// less, as in `x86-64-v3,-bmi2`. Code for the best that fits is used. All functions are compiled for the
    /// first; for others those that gain from it, and the rest are of the best before it, or of
    /// `base(N)`, counted from 0; with `clone_all`, all
    #[arg(long, value_name = "LIST", default_value = TARGETS)]
    target: String,
    /// Run a program now, so that those that use what is built begin with its definitions and
    /// the values of its variables
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    preinit: Option<PathBuf>,
    /// How many threads compile; half of the cores if not given
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// In how many parts, at least, the threads compile; one for each if not given
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    shards: Option<u16>,
}

impl AheadArguments {
    /// Returns the program that is to be run now, if there is one.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn prelude(&self) -> Result<Option<Source>, BuildError> {
        self.preinit.as_deref().map(read).transpose().map_err(BuildError::of)
    }

    /// Checks that no output is one of the files that something is built from.
    ///
    /// # Errors
    /// Which one would be overwritten.
    pub(super) fn keep_inputs(&self, built: &BuiltImage, outputs: &[&Path]) -> Result<(), BuildError> {
        let read = built.texts.iter().map(Path::new);
        let inputs = read.chain(self.trace.as_deref()).chain(self.preinit.as_deref());
        for input in inputs {
            if outputs.iter().any(|output| is_same_file(input, output)) {
                let message =
                    format!("the output would overwrite {}, which it is built from", input.display());
                return Err(BuildError::Problem(message));
            }
        }
        Ok(())
    }
}

#[derive(Args, Debug)]
pub(super) struct ImageArguments {
    #[command(flatten)]
    ahead: AheadArguments,
    #[command(flatten)]
    linking: LinkArguments,
    /// Compile in this process, for a debugger, and not in one of its own
    #[arg(long)]
    in_process: bool,
    /// The shared object to write
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// The programs
    #[arg(value_name = "SOURCE", required = true, value_hint = ValueHint::FilePath)]
    sources: Vec<PathBuf>,
}

/// Set for the process that compiles.
const IN_PROCESS: &str = "KAL_IN_PROCESS";

impl ImageArguments {
    fn is_in_process(&self) -> bool {
        self.in_process || std::env::var_os(IN_PROCESS).is_some()
    }
}

/// Why something is not built.
pub(super) enum BuildError {
    /// For people.
    Problem(String),
    /// The program is refused.
    Program(crate::Error),
    /// The program has mistakes.
    Mistakes(Vec<Diagnostic>),
}

impl BuildError {
    /// Returns the error that says that.
    pub(super) fn of(error: impl std::fmt::Display) -> Self {
        Self::Problem(error.to_string())
    }

    /// Reports it. Returns how the command ends.
    pub(super) fn report(self, reporter: &mut Reporter) -> Exit {
        match self {
            Self::Problem(problem) => reporter.problem(&problem),
            Self::Program(error) => reporter.error(&error),
            Self::Mistakes(mistakes) => reporter.diagnostics(&mistakes),
        }
        Exit::Failed
    }
}

impl ImageCommand {
    /// Returns whether it is executed in a process of its own.
    pub(super) fn is_apart(&self) -> bool {
        matches!(self, Self::Build(arguments) if !arguments.is_in_process())
    }
}

/// Executes `kal image`.
pub(super) fn image(command: &ImageCommand, options: &CommonOptions, reporter: &mut Reporter) -> Exit {
    match command {
        command if command.is_apart() => apart(reporter),
        ImageCommand::Build(arguments) => match build(arguments, options, reporter) {
            Ok(()) => Exit::Fine,
            Err(error) => error.report(reporter),
        },
        ImageCommand::Info { file } => match load_image(file, None) {
            Ok(image) => reporter.printed(report::print(described(&image).as_bytes()), Exit::Fine),
            Err(problem) => BuildError::Problem(problem).report(reporter),
        },
    }
}

/// Executes this command in a process of its own, so that whatever happens to the compiler is
/// told, and ends this one as that ends.
fn apart(reporter: &mut Reporter) -> Exit {
    let started = std::env::current_exe().and_then(|program| {
        Command::new(program).args(std::env::args_os().skip(1)).env(IN_PROCESS, "1").status()
    });
    match started {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => Exit::of_code(code),
            (None, signal) => {
                let signal = signal.unwrap_or_default();
                BuildError::Problem(format!("the process that compiles was ended by signal {signal}"))
                    .report(reporter)
            }
        },
        Err(error) => {
            BuildError::Problem(format!("no process can be started that compiles: {error}")).report(reporter)
        }
    }
}

fn build(
    arguments: &ImageArguments,
    options: &CommonOptions,
    reporter: &mut Reporter,
) -> Result<(), BuildError> {
    let sources: Result<Vec<Source>, _> = arguments.sources.iter().map(|path| read(path)).collect();
    let sources = sources.map_err(BuildError::of)?;
    let built = ahead(&arguments.ahead, &sources, false, None, options, reporter)?;
    arguments.ahead.keep_inputs(&built, &[&arguments.output])?;
    link(&built.bytes, Linked::Image, &arguments.output, &arguments.linking).map_err(BuildError::of)
}

/// Compiles sources ahead: what the arguments say, or else what is `wanted`. Names that are wanted
/// are those of exports.
///
/// # Errors
/// Why they are not.
pub(super) fn ahead(
    arguments: &AheadArguments,
    sources: &[Source],
    is_program: bool,
    wanted: Option<Wanted<'_>>,
    options: &CommonOptions,
    reporter: &mut Reporter,
) -> Result<BuiltImage, BuildError> {
    let threads = arguments.threads.map_or_else(usual_threads, usize::from);
    let config = options.config(&[]).workers(threads);
    let mut builder = ImageBuilder::new(config).is_program(is_program);
    for target in arguments.target.split(';').map(str::trim).filter(|target| !target.is_empty()) {
        let target: ImageTarget =
            target.parse().map_err(|error| BuildError::Problem(format!("--target: {error}")))?;
        builder = builder.target(target);
    }
    if let Some(shards) = arguments.shards {
        builder = builder.shards(shards.into());
    }
    if let Some(prelude) = arguments.prelude()? {
        builder = builder.prelude(prelude);
    }
    if let Some(Wanted::Named(exports)) = wanted {
        builder = builder.exports(exports);
    }
    let traced = arguments.trace.as_deref().map(|path| traced(path, reporter)).transpose();
    let traced = traced.map_err(BuildError::Problem)?;
    let wanted = match (&traced, wanted) {
        (Some(names), _) => Wanted::Named(names),
        (None, _) if arguments.all => Wanted::All,
        (None, wanted) => wanted.unwrap_or(Wanted::Reached),
    };
    let built = builder.build(sources, wanted).map_err(BuildError::Program)?;
    for name in &built.unknown {
        reporter.line(&format!("warning: the trace names `{name}`, which no program defines"));
    }
    Ok(built)
}

/// Returns how many threads compile: half of the cores, so that the others can be used.
fn usual_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2))
}

/// Reads the names in a trace. Lines that are none of a trace are warned about.
///
/// # Errors
/// If it cannot be read, for people.
fn traced(path: &Path, reporter: &mut Reporter) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut names = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split(" # ").next().unwrap_or(line).trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let named = line.strip_prefix("precompile(").and_then(|rest| rest.strip_suffix(')'));
        let named = named.and_then(|named| named.rsplit_once('/'));
        match named.filter(|(_, arity)| arity.parse::<u32>().is_ok()) {
            Some((name, _)) if names.iter().any(|known| known == name) => {}
            Some((name, _)) => names.push(name.to_owned()),
            None => {
                let place = format!("{}:{}", path.display(), number + 1);
                reporter.line(&format!("warning: {place} is no line of a trace: {line}"));
            }
        }
    }
    Ok(names)
}

/// Returns what is in an image.
fn described(image: &Image) -> String {
    let info = image.info();
    let fuel = if info.fuel.is_some() { ", counts fuel" } else { "" };
    let mut text = format!("made by: kal {}\nlevel: {}{fuel}\n", info.kal, info.level);
    for version in image.versions() {
        let VersionInfo { features, functions, bytes, .. } = version;
        let what = if functions == 1 { "function" } else { "functions" };
        let others = version.base.map_or_else(String::new, |base| format!(", the others of {base}"));
        let _ = writeln!(text, "target: {features}, {functions} {what}, {bytes} bytes{others}");
    }
    for (name, module) in image.texts() {
        let is_prelude = module.is_none() && image.prelude_name() == Some(name);
        let what = match module {
            Some(module) => format!("module {module}"),
            None if is_prelude => "prelude".to_owned(),
            None => "program".to_owned(),
        };
        let _ = writeln!(text, "text: {name} ({what})");
    }
    text
}
