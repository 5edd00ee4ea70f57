//! What refused items of a line were to define.
//!
//! One mistake, one error: in `x = 3; x + 1`, where the first item declares nothing, the second
//! is no other mistake. On a later line it is: there, it may have been written afterwards.

use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::error::Error;
use crate::name::{HeldName, Names};
use crate::source::{Source, Span};
use crate::syntax::ast::Spanned;

/// More names are not remembered.
const MOST: usize = 64;

/// The names that refused items of a source were to define or declare.
#[derive(Default)]
pub(super) struct RefusedNames {
    source: Option<Source>,
    names: Vec<(HeldName, Span)>,
}

impl RefusedNames {
    /// Adds what a refused item was to define; forgets those on earlier lines.
    pub(super) fn extend(&mut self, source: &Source, intended: Vec<Spanned>, names: &Names) {
        let Some(first) = intended.first() else { return };
        self.names.retain(|(_, span)| is_on_one_line(source, *span, first.span));
        let room = MOST - self.names.len();
        let intended = intended.into_iter().take(room);
        self.names.extend(intended.map(|each| (names.text(each.name), each.span)));
        self.source = Some(source.clone());
    }

    /// Returns an outcome without the mistakes that follow from an earlier one; `None` if no
    /// other is left.
    pub(super) fn without_consequences<T>(&self, outcome: Result<T, Error>) -> Option<Result<T, Error>> {
        if self.names.is_empty() {
            return Some(outcome);
        }
        match outcome {
            Err(Error::Invalid(mut mistakes)) => {
                mistakes.retain(|mistake| !self.is_consequence(mistake));
                (!mistakes.is_empty()).then_some(Err(Error::Invalid(mistakes)))
            }
            Err(Error::Failed(failure)) if self.is_consequence(&failure) => None,
            other => Some(other),
        }
    }

    /// Returns whether all that is wrong is that such a name is unknown, on its line.
    fn is_consequence(&self, mistake: &Diagnostic) -> bool {
        let is_unknown = matches!(mistake.code, ErrorCode::UnknownVariable | ErrorCode::UndefinedFunction);
        let Some(place) = mistake.labels.first().filter(|_| is_unknown) else { return false };
        let name = place.source.slice(place.span);
        let is_refused = |(refused, span): &(HeldName, Span)| {
            **refused == *name && is_on_one_line(&place.source, *span, place.span)
        };
        self.source.as_ref() == Some(&place.source) && self.names.iter().any(is_refused)
    }
}

/// Returns whether one place is on the line of an earlier one.
fn is_on_one_line(source: &Source, earlier: Span, later: Span) -> bool {
    /// Longer lines are not looked at.
    const LONGEST: usize = 4096;
    let between = source.text().as_bytes().get(earlier.end as usize..later.start as usize);
    between.is_some_and(|between| between.len() <= LONGEST && !between.contains(&b'\n'))
}
