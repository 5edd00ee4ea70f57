//! The program that a command is given.

use clap::{Args, ValueHint};
use std::path::PathBuf;

pub(super) const MISSING: &str = "the program is missing: name a FILE, or give it with -e TEXT";

/// Options that may be repeated, before and after the command's name.
#[derive(Args, Debug, Clone, Default)]
pub(super) struct Given {
    /// Evaluate TEXT before FILE; may be given several times
    #[arg(short, long = "eval", value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) eval: Vec<String>,
    /// Allow the program to declare and call this C function, which must take
    /// doubles and return a double: one of the process, or of the shared
    /// library at PATH. It can do anything, and may crash. May be given several
    /// times
    #[arg(long, value_name = "NAME[=PATH]", help_heading = "Host")]
    pub(super) allow_extern: Vec<String>,
}

#[derive(Args, Debug, Default)]
pub(super) struct RunArguments {
    #[command(flatten)]
    pub(super) given: Given,
    /// Continue at the prompt after the program
    #[arg(short, long)]
    pub(super) interactive: bool,
    /// The program; `-` is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(super) file: Option<PathBuf>,
    /// What `arg(1)`, `arg(2)`, … of the program return
    #[arg(value_name = "NUMBER", allow_negative_numbers = true)]
    pub(super) numbers: Vec<String>,
}
