//! From a command to the function that executes it.

use super::command::{self, ArgumentKind, CommandError, PromptAction};
use super::session::{ReplSession, SessionFlow};
use super::{bench, debug, edit, help, inspect, map, plot, saved, session, trace, watch};

impl ReplSession<'_> {
    /// Executes the command of this name, and reports what is wrong with it.
    pub(super) fn command(&mut self, name: &str, arguments: &str) -> SessionFlow {
        match self.execute(name, arguments) {
            Ok(flow) => flow,
            Err(CommandError::Program(error)) => {
                self.error(&error);
                SessionFlow::Continue
            }
            Err(CommandError::Row { error, place }) => {
                self.error(&error);
                self.reporter.line(&place);
                SessionFlow::Continue
            }
            Err(other) => {
                self.problem(&other.to_string());
                SessionFlow::Continue
            }
        }
    }

    fn execute(&mut self, name: &str, arguments: &str) -> Result<SessionFlow, CommandError> {
        if name.is_empty() {
            help::names(self);
            return Ok(SessionFlow::Continue);
        }
        let command = command::find(name)?;
        if command.needs_arguments() && arguments.is_empty() && command.action != PromptAction::Debug {
            return Err(CommandError::usage(command.name));
        }
        if command.arguments == ArgumentKind::Nothing && !arguments.is_empty() {
            return Err(CommandError::Text(format!(":{} takes no arguments", command.name)));
        }
        self.act(command.action, arguments)
    }

    fn act(&mut self, action: PromptAction, text: &str) -> Result<SessionFlow, CommandError> {
        match action {
            PromptAction::Help => help::help(self, text)?,
            PromptAction::Quit => return session::quit(self, text),
            PromptAction::Load => session::load(self, text)?,
            PromptAction::Reload => session::reload(self, text)?,
            PromptAction::Watch => watch::watch(self, text)?,
            PromptAction::Save => saved::save(self, text)?,
            PromptAction::SaveOver => saved::save_over(self, text)?,
            PromptAction::Autosave => saved::autosave(self, text)?,
            PromptAction::Edit => edit::edit(self, text)?,
            PromptAction::Undo => session::undo(self, text)?,
            PromptAction::Redo => session::redo(self, text)?,
            PromptAction::Drop => session::drop(self, text)?,
            PromptAction::List => inspect::list(self, text)?,
            PromptAction::State => inspect::state(self, text)?,
            PromptAction::Tokens => inspect::tokens(self, text)?,
            PromptAction::Ast => inspect::ast(self, text)?,
            PromptAction::Tape => inspect::tape(self, text)?,
            PromptAction::Ir => inspect::ir(self, text)?,
            PromptAction::Asm => inspect::asm(self, text)?,
            PromptAction::Debug => debug::debug(self, text)?,
            PromptAction::Breakpoints => debug::breakpoints(self, text)?,
            PromptAction::Time => bench::time(self, text)?,
            PromptAction::Bench => bench::bench(self, text)?,
            PromptAction::Plot => plot::plot(self, text)?,
            PromptAction::Map => map::map(self, text)?,
            PromptAction::Trace => trace::trace(self, text)?,
            PromptAction::Stats => inspect::stats(self, text)?,
            PromptAction::Reset => session::reset(self, text)?,
        }
        Ok(SessionFlow::Continue)
    }
}
