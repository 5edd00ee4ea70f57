//! The manual page, generated from the description of the command line.

use super::arguments::trimmed;
use crate::terminal::report;
use clap_mangen::Man;
use std::io::{self, Write};

/// Prints the manual page, with a section for each command.
pub(super) fn page() -> io::Result<()> {
    // What only the long help explains belongs here, too.
    let in_full = |arg: clap::Arg| arg.hide_short_help(false);
    let mut command = trimmed().mut_args(in_full).mut_subcommands(|sub| sub.mut_args(in_full));
    command.build();
    let mut page = Vec::new();
    let man = Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let title = format!("kal {}", sub.get_name());
        writeln!(page, ".SH \"{}\"", title.to_uppercase())?;
        let man = Man::new(sub.clone());
        man.render_synopsis_section(&mut page)?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
    }
    man.render_extra_section(&mut page)?;
    report::print(&page)
}
