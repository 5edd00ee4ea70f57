//! What refused items of a source were to define.
//!
//! One mistake, one error: after `x = 3`, which declares nothing, `x + 1` is no other mistake.

use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::error::Error;
use crate::name::HeldName;
use rustc_hash::FxHashSet;

/// The names that refused items of a source were to define or declare.
#[derive(Default)]
pub(super) struct RefusedNames(FxHashSet<HeldName>);

impl RefusedNames {
    /// Adds what a refused item was to define.
    pub(super) fn extend(&mut self, names: impl Iterator<Item = HeldName>) {
        self.0.extend(names);
    }

    /// Returns an outcome without the mistakes that follow from an earlier one; `None` if no
    /// other is left.
    pub(super) fn without_consequences<T>(&self, outcome: Result<T, Error>) -> Option<Result<T, Error>> {
        if self.0.is_empty() {
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

    /// Returns whether all that is wrong is that such a name is unknown.
    fn is_consequence(&self, mistake: &Diagnostic) -> bool {
        let is_unknown = matches!(mistake.code, ErrorCode::UnknownVariable | ErrorCode::UndefinedFunction);
        let place = mistake.labels.first().map(|label| label.source.slice(label.span));
        is_unknown && place.is_some_and(|name| self.0.iter().any(|refused| **refused == *name))
    }
}
