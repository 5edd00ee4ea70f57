//! What is generated from the description of the command line: completions for
//! shells, the manual page.

use super::arguments::trimmed;
use clap_complete::Shell;
use std::io::{self, Write};

/// Prints the script that completes `kal` in a shell.
pub(super) fn completions(shell: Shell) -> io::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut trimmed(), "kal", &mut script);
    print(&script)
}

/// Prints the manual page, with a section for each command.
pub(super) fn page() -> io::Result<()> {
    let mut command = trimmed();
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let title = format!("kal {}", sub.get_name());
        writeln!(page, ".SH \"{}\"", title.to_uppercase())?;
        let man = clap_mangen::Man::new(sub.clone());
        man.render_synopsis_section(&mut page)?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
    }
    print(&page)
}

fn print(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}
