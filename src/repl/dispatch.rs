//! From a command to the function that executes it.

use super::command::{self, ArgumentKind, CommandError, PromptAction};
use super::session::{ReplSession, SessionFlow};
use super::{bench, debug, edit, help, inspect, plot, saved, session, trace, watch};

impl ReplSession<'_> {
    /// Executes the command of this name, and reports what is wrong with it.
    pub(super) fn command(&mut self, name: &str, arguments: &str) -> SessionFlow {
        match self.execute(name, arguments) {
            Ok(flow) => flow,
            Err(CommandError::Program(error)) => {
                self.error(&error);
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
            PromptAction::Help => help::help(self, text).map(SessionFlow::from),
            PromptAction::Quit => session::quit(self, text).map(SessionFlow::from),
            PromptAction::Load => session::load(self, text).map(SessionFlow::from),
            PromptAction::Reload => session::reload(self, text).map(SessionFlow::from),
            PromptAction::Watch => watch::watch(self, text).map(SessionFlow::from),
            PromptAction::Save => saved::save(self, text).map(SessionFlow::from),
            PromptAction::SaveOver => saved::save_over(self, text).map(SessionFlow::from),
            PromptAction::Edit => edit::edit(self, text).map(SessionFlow::from),
            PromptAction::Undo => session::undo(self, text).map(SessionFlow::from),
            PromptAction::Redo => session::redo(self, text).map(SessionFlow::from),
            PromptAction::Drop => session::drop(self, text).map(SessionFlow::from),
            PromptAction::List => inspect::list(self, text).map(SessionFlow::from),
            PromptAction::State => inspect::state(self, text).map(SessionFlow::from),
            PromptAction::Tokens => inspect::tokens(self, text).map(SessionFlow::from),
            PromptAction::Ast => inspect::ast(self, text).map(SessionFlow::from),
            PromptAction::Tape => inspect::tape(self, text).map(SessionFlow::from),
            PromptAction::Ir => inspect::ir(self, text).map(SessionFlow::from),
            PromptAction::Asm => inspect::asm(self, text).map(SessionFlow::from),
            PromptAction::Debug => debug::debug(self, text).map(SessionFlow::from),
            PromptAction::Breakpoints => debug::breakpoints(self, text).map(SessionFlow::from),
            PromptAction::Time => bench::time(self, text).map(SessionFlow::from),
            PromptAction::Bench => bench::bench(self, text).map(SessionFlow::from),
            PromptAction::Plot => plot::plot(self, text).map(SessionFlow::from),
            PromptAction::Trace => trace::trace(self, text).map(SessionFlow::from),
            PromptAction::Stats => inspect::stats(self, text).map(SessionFlow::from),
            PromptAction::Reset => session::reset(self, text).map(SessionFlow::from),
        }
    }
}
