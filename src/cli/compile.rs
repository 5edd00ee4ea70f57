//! `kal compile`: packs of a library, in its own folder.

use super::options::CommonOptions;
use crate::Context;
use crate::draft::Draft;
use crate::host::decimal::counted;
use crate::library::{LibraryModule, modules_of};
use crate::sema::CheckedItem;
use crate::source::Source;
use crate::terminal::exit::Exit;
use crate::terminal::read::read;
use crate::terminal::report::{self, Reporter};
use clap::{Args, ValueHint};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub(super) struct CompileArguments {
    /// Write only what was checked, without code
    #[arg(long)]
    no_code: bool,
    /// The folders, or single modules
    #[arg(value_name = "LIBRARY", required = true, value_hint = ValueHint::AnyPath)]
    libraries: Vec<PathBuf>,
}

/// Executes `kal compile`.
pub(super) fn compile(
    arguments: &CompileArguments,
    options: &CommonOptions,
    reporter: &mut Reporter,
) -> Exit {
    let options = options.for_libraries(!arguments.no_code);
    let (mut exit, mut said) = (Exit::Fine, String::new());
    for library in &arguments.libraries {
        match modules_of(library) {
            Ok(folders) => {
                for (folder, modules) in folders {
                    match write(&folder, &modules, arguments, &options, reporter) {
                        Ok((line, is_whole)) => {
                            said += &line;
                            exit = if is_whole { exit } else { Exit::Failed };
                        }
                        Err(problem) => {
                            reporter.problem(&problem);
                            exit = Exit::Failed;
                        }
                    }
                }
            }
            Err(error) => {
                reporter.problem(&format!("{}: {error}", library.display()));
                exit = Exit::Failed;
            }
        }
    }
    reporter.printed(report::print(said.as_bytes()), exit)
}

/// Checks and compiles modules, and writes their packs. Returns what is said of it, and
/// whether there was nothing wrong with them.
///
/// # Errors
/// What cannot be done at all, for people.
fn write(
    folder: &Path,
    modules: &[LibraryModule],
    arguments: &CompileArguments,
    options: &CommonOptions,
    reporter: &mut Reporter,
) -> Result<(String, bool), String> {
    let engine = options.engine(&[]).map_err(|error| error.to_string())?;
    let mut context = engine.context().map_err(|error| error.to_string())?;
    let (mut said, mut is_whole) = (String::new(), true);
    for (number, module) in modules.iter().enumerate() {
        let source = read(&module.file).map_err(|error| error.to_string())?;
        let items = Draft::new(&[source], &engine).items;
        if items.iter().any(|item| matches!(item, CheckedItem::Expression(_) | CheckedItem::Effect(_))) {
            let _ = writeln!(said, "{}: a program, which is not compiled ahead", module.file.display());
            continue;
        }
        // Without its operators and aliases: those of two modules may have the same names.
        let import = format!("import {} as m{number}", module.name);
        is_whole &= imports(&mut context, &import, folder, reporter);
    }
    if !arguments.no_code {
        context.prepare_all().map_err(|error| error.to_string())?;
    }
    let (modules, functions) = engine.write_library(folder, !arguments.no_code)?;
    let code = if arguments.no_code {
        String::new()
    } else {
        format!(", code of {}", counted(functions, "function"))
    };
    let _ = writeln!(said, "{}: {}{code}", folder.display(), counted(modules, "module"));
    if options.trace_cache {
        engine.take_cache_events().iter().for_each(|event| reporter.line(&event.to_string()));
    }
    Ok((said, is_whole))
}

/// Imports a module into a context. Returns whether nothing is wrong with it; what is, is
/// reported.
fn imports(context: &mut Context, import: &str, folder: &Path, reporter: &mut Reporter) -> bool {
    let mut is_fine = true;
    let source = Source::in_folder("<compile>", import.to_owned(), folder);
    let _ = context.run(&source, &mut |_, outcome| {
        if let Err(error) = outcome {
            reporter.error(&error);
            is_fine = false;
        }
        ControlFlow::Continue(())
    });
    is_fine
}
