//! `kal build`: executables, and libraries for C.

use super::c_library::{CLibrary, CLibraryError};
use super::image::{AheadArguments, BuildError, ahead};
use super::linking::{LinkArguments, Linked, link};
use super::options::CommonOptions;
use crate::image_builder::Wanted;
use crate::terminal::exit::Exit;
use crate::terminal::file::{is_same_file, write_atomically};
use crate::terminal::read::read;
use crate::terminal::replacement::Replacement;
use crate::terminal::report::Reporter;
use clap::{Args, ValueHint};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(super) struct BuildArguments {
    #[command(flatten)]
    ahead: AheadArguments,
    #[command(flatten)]
    linking: LinkArguments,
    /// Make a shared library for C
    #[arg(long)]
    lib: bool,
    /// The functions of the library, with `,` between them; as `NAME=C_NAME` if C cannot spell
    /// the name. All that C can spell, if not given
    #[arg(long, value_name = "LIST", requires = "lib", value_delimiter = ',')]
    export: Vec<String>,
    /// The header to write for the library; beside it, with the ending `.h`, if not given
    #[arg(long, value_name = "FILE", requires = "lib", value_hint = ValueHint::FilePath)]
    header: Option<PathBuf>,
    /// The file to write
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// The program, or the definitions of the library
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,
}

/// Executes `kal build`.
pub(super) fn build(arguments: &BuildArguments, options: &CommonOptions, reporter: &mut Reporter) -> Exit {
    let built = if arguments.lib {
        library(arguments, options, reporter)
    } else {
        executable(arguments, options, reporter)
    };
    match built {
        Ok(()) => Exit::Fine,
        Err(error) => error.report(reporter),
    }
}

fn executable(
    arguments: &BuildArguments,
    options: &CommonOptions,
    reporter: &mut Reporter,
) -> Result<(), BuildError> {
    let source = read(&arguments.file).map_err(BuildError::of)?;
    let built = ahead(&arguments.ahead, &[source], true, None, options, reporter)?;
    arguments.ahead.keep_inputs(&built, &[&arguments.output])?;
    let linked = Linked::Executable { mathematics: &built.mathematics() };
    link(&built.bytes, linked, &arguments.output, &arguments.linking).map_err(BuildError::of)
}

fn library(
    arguments: &BuildArguments,
    options: &CommonOptions,
    reporter: &mut Reporter,
) -> Result<(), BuildError> {
    let source = read(&arguments.file).map_err(BuildError::of)?;
    let engine = options.engine(&[]).map_err(BuildError::of)?;
    let header = arguments.header.clone().unwrap_or_else(|| arguments.output.with_extension("h"));
    let prelude = arguments.ahead.prelude()?;
    let files = (arguments.output.as_path(), header.as_path());
    let library = CLibrary::new(&source, prelude.as_ref(), &engine, &arguments.export, files);
    let library = library.map_err(|error| match error {
        CLibraryError::Mistakes(mistakes) => BuildError::Mistakes(mistakes),
        error => BuildError::of(error),
    })?;
    reporter.diagnostics(&library.warnings);
    library.left_out.iter().for_each(|note| reporter.line(&format!("note: {note}")));
    let wanted = Wanted::Named(&library.functions);
    let built = ahead(&arguments.ahead, &[source], true, Some(wanted), options, reporter)?;
    arguments.ahead.keep_inputs(&built, &[&arguments.output, &header])?;
    if header == arguments.output || is_same_file(&header, &arguments.output) {
        return Err(BuildError::Problem("the library and its header would be one file".to_owned()));
    }
    // It is written last, and must not be what fails then.
    let begun = Replacement::of(&header);
    let begun = begun.map_err(|error| BuildError::Problem(format!("{}: {error}", header.display())))?;
    drop(begun);
    let header_name = header.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let linked = Linked::Library {
        source: &library.source,
        header: (&header_name, &library.header),
        exports: &library.symbols,
    };
    link(&built.bytes, linked, &arguments.output, &arguments.linking).map_err(BuildError::of)?;
    write_atomically(&header, library.header.as_bytes())
        .map_err(|error| BuildError::Problem(format!("{}: {error}", header.display())))
}
