//! `kal cache`: the folder of compiled code.

use super::options::CommonOptions;
use crate::cache::{Cache, CacheOptions, Explanation};
use crate::draft::Draft;
use crate::terminal::exit::Exit;
use crate::terminal::read::read;
use crate::terminal::report::{self, Reporter};
use clap::{Subcommand, ValueHint};
use std::path::{Path, PathBuf};

#[derive(Subcommand, Debug)]
pub(super) enum CacheCommand {
    /// Print the folder
    Dir,
    /// Print how much is in it
    Stats,
    /// Print for each function of a program whether its code is there, and why not
    Explain {
        /// The program
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Print which of its files are damaged or not trusted
    Verify,
    /// Remove everything
    Clear,
    /// Remove what is not likely to be used again
    Gc,
}

/// Executes `kal cache`.
pub(super) fn cache(command: &CacheCommand, options: &CommonOptions, reporter: &mut Reporter) -> Exit {
    let Some(cache) = options.cache() else {
        reporter.problem("there is no cache: it is off, or there is no HOME");
        return Exit::Failed;
    };
    match execute(command, &cache, options, reporter) {
        Ok((text, exit)) => reporter.printed(report::print(text.as_bytes()), exit),
        Err(problem) => {
            problem.iter().for_each(|problem| reporter.problem(problem));
            Exit::Failed
        }
    }
}

/// Returns a line for each function of a program.
///
/// # Errors
/// What is wrong with the program, unless that has been reported.
fn explain(file: &Path, options: &CommonOptions, reporter: &mut Reporter) -> Result<String, Option<String>> {
    let source = read(file).map_err(|error| Some(error.to_string()))?;
    let engine = options.engine(&[]).map_err(|error| Some(error.to_string()))?;
    let draft = Draft::new(&[source], &engine);
    if !draft.diagnostics.is_empty() {
        reporter.diagnostics(&draft.diagnostics);
        return Err(None);
    }
    let explained = engine.explain_cache(&draft.definitions());
    let cached = explained.iter().filter(|(_, found)| *found == Explanation::Cached).count();
    let widest = explained.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let line = |(name, found): &(String, Explanation)| format!("  {name:widest$}  {found}\n");
    let lines: String = explained.iter().map(line).collect();
    let file = file.display();
    Ok(format!("{file}: code of {cached} of {} functions is in the cache\n{lines}", explained.len()))
}

/// Returns what is printed, and how the command ends.
///
/// # Errors
/// What has failed, unless that has been reported.
fn execute(
    command: &CacheCommand,
    cache: &CacheOptions,
    options: &CommonOptions,
    reporter: &mut Reporter,
) -> Result<(String, Exit), Option<String>> {
    let text = match command {
        CacheCommand::Dir => format!("{}\n", cache.folder.display()),
        CacheCommand::Stats => {
            let usage = cache.usage();
            let size = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
            format!(
                "this build: {} packs, {}\nother builds: {} packs, {}\nlimit: {}\n",
                usage.packs,
                size(usage.bytes),
                usage.other_packs,
                size(usage.other_bytes),
                size(cache.most_bytes)
            )
        }
        CacheCommand::Verify => {
            let (good, bad) = Cache::new(Some(cache.clone()), Vec::new(), false).verify();
            let lines: String = bad.iter().map(|event| format!("{event}\n")).collect();
            let exit = if bad.is_empty() { Exit::Fine } else { Exit::Failed };
            return Ok((format!("{lines}{good} packs are good, {} are not\n", bad.len()), exit));
        }
        CacheCommand::Explain { file } => explain(file, options, reporter)?,
        CacheCommand::Clear => {
            let failed = |error| Some(format!("{}: {error}", cache.folder.display()));
            cache.clear().map_err(failed)?;
            String::new()
        }
        CacheCommand::Gc => {
            let freed = cache.collect();
            format!("{:.1} MiB are free now\n", freed as f64 / f64::from(1 << 20))
        }
    };
    Ok((text, Exit::Fine))
}
