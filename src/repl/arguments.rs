//! The options of the prompt.

use rustyline::EditMode;
use std::path::PathBuf;

/// How the prompt behaves.
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct ReplArguments {
    /// No banner at the prompt
    #[arg(long, short, global = true, help_heading = "Prompt")]
    pub(super) quiet: bool,
    /// Do not run init.kal before the prompt
    #[arg(long, global = true, help_heading = "Prompt", hide_short_help = true)]
    pub(super) no_init: bool,
    /// With input from a pipe: print prompts, the input and the answers, as a
    /// terminal would show them
    #[arg(long, global = true, help_heading = "Prompt", hide_short_help = true)]
    pub(super) transcript: bool,
    /// Do not show values of expressions while they are typed
    #[arg(long, global = true, help_heading = "Prompt", hide_short_help = true)]
    pub(super) no_preview: bool,
    /// Go on with a session that `:save FILE.kses` has written, at the prompt; begin one if
    /// there is no such file
    #[arg(long, global = true, value_name = "FILE", help_heading = "Prompt")]
    pub(super) resume: Option<PathBuf>,
    /// Edit with the keys of vi; also with `KAL_EDIT_MODE=vi`
    #[arg(long, global = true, help_heading = "Prompt", hide_short_help = true)]
    pub(super) vi: bool,
}

impl ReplArguments {
    /// Returns whether the prompt goes on with a session.
    pub(crate) fn resumes(&self) -> bool {
        self.resume.is_some()
    }

    /// Returns the keys for editing, here and at the debugger's prompt.
    pub(crate) fn edit_mode(&self) -> EditMode {
        let is_vi = |mode: String| mode.eq_ignore_ascii_case("vi");
        if self.vi || std::env::var("KAL_EDIT_MODE").is_ok_and(is_vi) {
            EditMode::Vi
        } else {
            EditMode::Emacs
        }
    }
}
