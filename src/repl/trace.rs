//! `:trace`: what happens to definitions, as it happens.

use super::command::CommandError;
use super::session::ReplSession;
use crate::context::{Trace, Transition};
use crate::terminal::screen::Screen;
use crate::{Event, State};
use std::time::Instant;

pub(super) fn trace(session: &mut ReplSession<'_>, argument: &str) -> Result<(), CommandError> {
    match argument {
        "on" => session.context.set_trace(Some(tracer(session.screen.clone()))),
        "off" => session.context.set_trace(None),
        _ => return Err(CommandError::usage("trace")),
    }
    Ok(())
}

/// Returns a trace that writes a line for every transition, with the time since
/// now.
fn tracer(screen: Screen) -> Trace {
    let start = Instant::now();
    Box::new(move |transition: Transition<'_>| {
        let time = start.elapsed().as_secs_f64() * 1e3;
        screen.line(&format!("[{time:>10.3} ms] {} {}", transition.name, what(&transition)));
    })
}

fn what(transition: &Transition<'_>) -> String {
    let after = transition.after.text();
    match transition.event {
        Event::Define if transition.before != State::NotDefined => format!("redefined, {after}"),
        Event::Restore => format!("restored, {after}"),
        Event::Define | Event::Call | Event::Inlined => after.into(),
        Event::Materialized => match transition.took {
            Some(took) => format!("{after} in {:.3} ms", took.as_secs_f64() * 1e3),
            None => format!("already {after}"),
        },
        Event::Improved => "optimised".into(),
        Event::Outdated => "earlier definition finished".into(),
        Event::Failed => format!("failed, {after}"),
        Event::CalleeChanged => format!("callee changed, {after}"),
        Event::Drop => "dropped".into(),
    }
}
