//! `kal cache`: the folder of compiled code.

use super::options::CommonOptions;
use crate::cache::{Cache, CacheOptions};
use crate::terminal::exit::Exit;
use crate::terminal::report::{self, Reporter};
use clap::Subcommand;

#[derive(Subcommand, Debug)]
pub(super) enum CacheCommand {
    /// Print the folder
    Dir,
    /// Print how much is in it
    Stats,
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
    let (text, exit) = match execute(command, &cache) {
        Ok(done) => done,
        Err(error) => {
            reporter.problem(&format!("{}: {error}", cache.folder.display()));
            return Exit::Failed;
        }
    };
    reporter.printed(report::print(text.as_bytes()), exit)
}

/// Returns what is printed, and how the command ends.
fn execute(command: &CacheCommand, cache: &CacheOptions) -> std::io::Result<(String, Exit)> {
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
            let (good, bad) = Cache::new(cache.clone()).verify();
            let lines: String = bad.iter().map(|event| format!("{event}\n")).collect();
            let exit = if bad.is_empty() { Exit::Fine } else { Exit::Failed };
            return Ok((format!("{lines}{good} packs are good, {} are not\n", bad.len()), exit));
        }
        CacheCommand::Clear => {
            cache.clear()?;
            String::new()
        }
        CacheCommand::Gc => {
            let freed = cache.collect();
            format!("{:.1} MiB are free now\n", freed as f64 / f64::from(1 << 20))
        }
    };
    Ok((text, Exit::Fine))
}
