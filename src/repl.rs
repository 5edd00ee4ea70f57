//! The prompt.

use crate::cli::Exit;
use crate::cli::report::Reporter;
use crate::cli::run::{AfterError, evaluate};
use crate::context::Context;
use crate::source::Source;
use crate::syntax::parser::is_incomplete;
use rustyline::error::ReadlineError;
use rustyline::{Config, DefaultEditor};

const PROMPT: &str = "kal> ";
const CONTINUATION: &str = "...> ";

/// Reads items from the terminal and runs them until Ctrl-D.
pub(crate) fn start(context: &mut Context, reporter: &mut Reporter) -> Exit {
    let mut editor = match DefaultEditor::with_config(Config::builder().auto_add_history(true).build()) {
        Ok(editor) => editor,
        Err(error) => {
            reporter.problem(&format!("the terminal cannot be used: {error}"));
            return Exit::Failed;
        }
    };
    let mut text = String::new();
    loop {
        match editor.readline(if text.is_empty() { PROMPT } else { CONTINUATION }) {
            Ok(line) => {
                text.push_str(&line);
                text.push('\n');
                let source = Source::new("<input>", text.clone());
                if is_incomplete(&source, context.engine().names(), context.operators()) {
                    continue;
                }
                text.clear();
                if evaluate(context, &source, AfterError::Continue, reporter) == Exit::BrokenPipe {
                    return Exit::BrokenPipe;
                }
                let _ = context.output().flush();
            }
            Err(ReadlineError::Interrupted) => text.clear(),
            Err(ReadlineError::Eof) => return Exit::Fine,
            Err(error) => {
                reporter.problem(&format!("the terminal cannot be read: {error}"));
                return Exit::Failed;
            }
        }
    }
}
