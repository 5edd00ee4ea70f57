//! `kal emit`: a stage of the compiler, as text or as an object file.

mod stage;

use super::check::sources;
use super::given::Given;
use super::options::CommonOptions;
use crate::diagnostic::Severity;
use crate::draft::Draft;
use crate::draft::symbols::symbols;
use crate::engine::Engine;
use crate::listing::{self, Listing};
use crate::name::Names;
use crate::program::Program;
use crate::sema::checked::CheckedFunction;
use crate::source::{Source, Span};
use crate::syntax::operator::Operators;
use crate::syntax::parser::parse_all;
use crate::syntax::{ast, lexer, printer};
use crate::tape::Tape;
use crate::terminal::exit::Exit;
use crate::terminal::file::{is_same_file, write_atomically};
use crate::terminal::read::{ReadError, load, text};
use crate::terminal::report::Reporter;
use clap::{Args, ValueHint};
use stage::{EmitStage, Problem};
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Args, Debug)]
pub(super) struct EmitArguments {
    #[command(flatten)]
    pub(super) given: Given,
    /// What to print
    stage: EmitStage,
    /// Only this function; an operator is called `unary!` or `binary|`
    #[arg(long = "fn", value_name = "NAME")]
    function: Option<String>,
    /// Write to OUT instead of standard output, which is `-`
    #[arg(short, value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// The program; `-` is standard input. For `tape`, also a stored program
    #[arg(value_hint = ValueHint::FilePath)]
    pub(super) file: Option<PathBuf>,
}

impl EmitArguments {
    /// Returns the name of the program in messages.
    fn program(&self) -> String {
        self.file.as_ref().map_or("<eval>".into(), |file| match file.as_os_str() {
            input if input == "-" => "<stdin>".into(),
            _ => file.display().to_string(),
        })
    }
}

/// Emits a stage of a program.
pub(super) fn emit(arguments: &EmitArguments, options: &CommonOptions, reporter: &mut Reporter) -> Exit {
    match bytes(arguments, options, reporter).and_then(|bytes| write(arguments, &bytes)) {
        Ok(()) => Exit::Fine,
        Err(Problem::Reported) => Exit::Failed,
        Err(Problem::Message(message)) => {
            reporter.problem(&message);
            Exit::Failed
        }
        Err(Problem::BrokenPipe) => Exit::BrokenPipe,
    }
}

fn bytes(
    arguments: &EmitArguments,
    options: &CommonOptions,
    reporter: &mut Reporter,
) -> Result<Vec<u8>, Problem> {
    if overwrites_its_input(arguments) {
        return Err(format!("-o would overwrite the program, {}", arguments.program()).into());
    }
    if arguments.stage == EmitStage::Tape && arguments.output.is_some() && arguments.function.is_some() {
        return Err("-o stores a whole program; omit --fn".to_owned().into());
    }
    let engine = options.engine(&arguments.given.allow_extern)?;
    let sources = match input(arguments, &engine)? {
        EmitInput::Texts(sources) => sources,
        EmitInput::Stored(program) if arguments.output.is_some() => return Ok(program.to_bytes()),
        EmitInput::Stored(program) => return disassembled(&program, arguments, engine.names()),
    };
    match arguments.stage {
        EmitStage::Tokens => tokens(arguments, &sources, &engine, reporter),
        EmitStage::Ast => trees(arguments, &sources, &engine, reporter),
        EmitStage::Tape if arguments.output.is_some() => stored(&sources, &engine, reporter),
        EmitStage::Tape | EmitStage::Ir | EmitStage::Asm | EmitStage::Obj => {
            code(arguments, &sources, &engine, reporter)
        }
    }
}

/// Returns whether the output is the file that the program is read from, by
/// whatever name.
fn overwrites_its_input(arguments: &EmitArguments) -> bool {
    fn file_of<'a>(path: &'a Path, standard: &'a str) -> &'a Path {
        if path.as_os_str() == "-" { Path::new(standard) } else { path }
    }
    let input = arguments.file.as_deref().map(|file| file_of(file, "/dev/stdin"));
    let output = arguments.output.as_deref().map(|output| file_of(output, "/dev/stdout"));
    input.zip(output).is_some_and(|(input, output)| is_same_file(input, output))
}

/// The input of a stage.
enum EmitInput {
    Texts(Vec<Source>),
    /// A stored program, which has tapes.
    Stored(Program),
}

fn input(arguments: &EmitArguments, engine: &Engine) -> Result<EmitInput, Problem> {
    let file = arguments.file.as_deref();
    let stored = file.filter(|file| arguments.stage == EmitStage::Tape && file.as_os_str() != "-");
    let Some(path) = stored else {
        return Ok(EmitInput::Texts(sources(&arguments.given, file)?));
    };
    let bytes = load(path)?;
    if !Program::is_stored(bytes.get()) {
        let mut sources = arguments.given.sources();
        sources.push(text(path, bytes)?);
        return Ok(EmitInput::Texts(sources));
    }
    if !arguments.given.eval.is_empty() {
        return Err(format!("{} is a stored program; omit -e", path.display()).into());
    }
    let program = Program::from_bytes(engine, bytes.get());
    let program = program.map_err(|error| ReadError::Stored(path.display().to_string(), error))?;
    Ok(EmitInput::Stored(program))
}

fn missing(name: &str, program: impl Display) -> Problem {
    let is_operator = crate::syntax::is_operator_in(name, &Names::new());
    let help =
        if is_operator { format!("; operators are `unary{name}` and `binary{name}`") } else { String::new() };
    format!("{program} defines no function `{name}`{help}").into()
}

fn tokens(
    arguments: &EmitArguments,
    sources: &[Source],
    engine: &Engine,
    reporter: &mut Reporter,
) -> Result<Vec<u8>, Problem> {
    let (mut text, mut operators) = (String::new(), Operators::new(engine.names()));
    for source in sources {
        let tokens = lexer::lex(source, engine.names()).map_err(|diagnostic| {
            reporter.diagnostic(&diagnostic);
            Problem::Reported
        })?;
        // Only a program that parses has definitions to select.
        let wanted: Option<Vec<Span>> = arguments.function.as_ref().map(|name| {
            let (items, _) = parse_all(source, engine.names(), &mut operators);
            items.iter().filter(|item| defines(item, name, engine)).map(|item| item.span).collect()
        });
        let is_wanted = |token: Span| {
            let holds = |item: &Span| item.start <= token.start && token.end <= item.end;
            wanted.as_ref().is_none_or(|wanted| wanted.iter().any(holds))
        };
        text += &printer::token_list(&tokens, is_wanted);
    }
    found(arguments, text)
}

/// Returns the output for the requested function; an error if there is no such
/// function.
fn found(arguments: &EmitArguments, text: String) -> Result<Vec<u8>, Problem> {
    match &arguments.function {
        Some(name) if text.is_empty() => Err(missing(name, arguments.program())),
        Some(_) | None => Ok(text.into_bytes()),
    }
}

/// Returns whether an item is a definition of a function.
fn defines(item: &ast::Item, name: &str, engine: &Engine) -> bool {
    match &item.kind {
        ast::ItemKind::Definition(prototype, _) => engine.names().text(prototype.name.name) == name,
        ast::ItemKind::Extern(_)
        | ast::ItemKind::Import(_)
        | ast::ItemKind::Variables(_)
        | ast::ItemKind::Expression(_)
        | ast::ItemKind::Effect(_) => false,
    }
}

fn trees(
    arguments: &EmitArguments,
    sources: &[Source],
    engine: &Engine,
    reporter: &mut Reporter,
) -> Result<Vec<u8>, Problem> {
    let (mut text, mut operators) = (String::new(), Operators::new(engine.names()));
    for source in sources {
        let (items, diagnostics) = parse_all(source, engine.names(), &mut operators);
        if !diagnostics.is_empty() {
            reporter.diagnostics(&diagnostics);
            return Err(Problem::Reported);
        }
        let is_wanted =
            |item: &&ast::Item| arguments.function.as_ref().is_none_or(|name| defines(item, name, engine));
        text.extend(items.iter().filter(is_wanted).map(|item| printer::symbolic(item, engine.names())));
    }
    found(arguments, text)
}

fn code(
    arguments: &EmitArguments,
    sources: &[Source],
    engine: &Engine,
    reporter: &mut Reporter,
) -> Result<Vec<u8>, Problem> {
    let draft = Draft::new(sources, engine);
    let mut errors = draft.diagnostics.iter().filter(|found| found.severity == Severity::Error).peekable();
    if errors.peek().is_some() {
        reporter.diagnostics(errors);
        return Err(Problem::Reported);
    }
    let mut functions = draft.symbols();
    if let Some(name) = &arguments.function {
        let wanted = draft.definition(name).ok_or_else(|| missing(name, arguments.program()))?;
        functions.retain(|(function, _)| Arc::ptr_eq(function, wanted));
        if functions.is_empty() {
            // It is imported: what the program compiles of modules is in their functions.
            functions.push((wanted, format!("{}$impl", engine.names().text(wanted.name))));
        }
    }
    let defined = |name| draft.definition(&engine.names().text(name)).cloned();
    match arguments.stage {
        // As they are at the end of the program.
        EmitStage::Tape => {
            let functions = functions.iter().map(|(function, symbol)| (*function, symbol.as_str()));
            let text = listing::tapes(functions, engine, |name| defined(name).is_some());
            Ok(text.map_err(|error| error.to_string())?.into_bytes())
        }
        stage => {
            let listing = match stage {
                EmitStage::Asm => Listing::Assembly,
                EmitStage::Obj => Listing::Object,
                EmitStage::Ir | EmitStage::Tokens | EmitStage::Ast | EmitStage::Tape => Listing::Ir,
            };
            let functions =
                functions.into_iter().map(|(function, symbol)| (function.clone(), symbol)).collect();
            engine.context()?.list_code(listing, functions, &defined).map_err(|error| {
                reporter.error(&error);
                Problem::Reported
            })
        }
    }
}

/// Returns the program as stored bytes.
fn stored(sources: &[Source], engine: &Engine, reporter: &mut Reporter) -> Result<Vec<u8>, Problem> {
    Program::of(engine, sources).map(|program| program.to_bytes()).map_err(|error| {
        reporter.error(&error);
        Problem::Reported
    })
}

/// Returns the functions of a stored program with their tapes, in source order.
fn stored_tapes(program: &Program) -> impl Iterator<Item = (&Arc<CheckedFunction>, &Tape)> + Clone {
    program.parts.iter().filter_map(|part| Some((part.function()?, part.tape.as_deref()?)))
}

/// Disassembles the tapes of a stored program.
fn disassembled(program: &Program, arguments: &EmitArguments, names: &Names) -> Result<Vec<u8>, Problem> {
    let symbols = symbols(stored_tapes(program).map(|(function, _)| &**function), names);
    let all = stored_tapes(program).zip(symbols);
    let Some(name) = &arguments.function else {
        let text = all.map(|((function, tape), symbol)| tape.disassemble(&symbol, function, names));
        return Ok(text.collect::<String>().into_bytes());
    };
    // The last definition is in force.
    let wanted = all.filter(|((function, _), _)| *names.text(function.name) == **name).last();
    let ((function, tape), symbol) = wanted.ok_or_else(|| missing(name, arguments.program()))?;
    Ok(tape.disassemble(&symbol, function, names).into_bytes())
}

fn write(arguments: &EmitArguments, bytes: &[u8]) -> Result<(), Problem> {
    if let Some(path) = arguments.output.as_ref().filter(|path| path.as_os_str() != "-") {
        return write_atomically(path, bytes).map_err(|error| format!("{}: {error}", path.display()).into());
    }
    let mut stdout = io::stdout().lock();
    if arguments.stage == EmitStage::Obj && stdout.is_terminal() {
        return Err("an object file cannot be written to a terminal; name a file with -o".to_owned().into());
    }
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Problem::BrokenPipe,
        _ => Problem::Message(format!("cannot write to standard output: {error}")),
    })
}
