//! How a kernel runs, for people.

use crate::sema::call_graph::{Obstacle, ObstacleKind};
use crate::sema::instance::shown;
use crate::sema::{Environment, SourcePlace};
use crate::source::{Source, Span};
use std::fmt;

/// Something about how a kernel runs.
#[derive(Clone, Debug)]
pub struct Remark {
    /// What it is.
    pub message: String,
    /// The place that it is about: a source and a span of it.
    pub place: Option<(Source, Span)>,
}

impl Remark {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), place: None }
    }

    pub(super) fn at(message: String, place: &SourcePlace) -> Self {
        Self { message, place: Some((place.source.clone(), place.span)) }
    }

    /// Returns why rows have to be computed one by one.
    pub(super) fn of_obstacle(obstacle: &Obstacle, environment: &dyn Environment) -> Self {
        let text = |name| shown(&environment.names().text(name));
        let message = match obstacle.kind {
            ObstacleKind::Recursion(name) => format!("`{}` is called while it runs", text(name)),
            ObstacleKind::HostCall(name) => format!("`{}` is a function of the host", text(name)),
            ObstacleKind::ForeignCall(name) => format!("`{}` is a foreign function", text(name)),
            ObstacleKind::Assignment(name) => {
                format!("`{}`, a variable of the context, is assigned", text(name))
            }
            ObstacleKind::FailingCall(name) => format!("the call of `{}` fails", text(name)),
        };
        Self::at(message, &obstacle.place)
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.place {
            Some((source, span)) => {
                let (line, column) = source.position(span.start);
                write!(f, " ({}:{line}:{column})", source.name())
            }
            None => Ok(()),
        }
    }
}
