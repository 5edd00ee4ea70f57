//! A function with all that it calls, as names meant it at one moment.

use super::blocks::BlockEnd;
use super::column::{Column, RowError};
use super::remark::Remark;
use super::run::Run;
use crate::context::UsedModules;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::suggest::Budget;
use crate::engine::Engine;
use crate::error::Error;
use crate::failure::Failure;
use crate::failure::report::FailureReport;
use crate::name::HeldName;
use crate::sema::call_graph::CallGraph;
use crate::sema::checked::CheckedFunction;
use crate::stop::StopRequest;
use crate::world::World;
use std::sync::Arc;

/// A function with all that it calls, and the values of the variables that they use.
pub(super) struct PinnedFunction {
    pub(super) graph: CallGraph,
    /// What it is called in errors.
    pub(super) name: HeldName,
    pub(super) root: Arc<CheckedFunction>,
    /// The values of the variables of the graph.
    pub(super) variables: Vec<f64>,
    pub(super) modules: UsedModules,
    /// What keeps it from being pure.
    pub(super) effects: Vec<Remark>,
    pub(super) failing_calls: Vec<Remark>,
    pub(super) engine: Engine,
}

impl PinnedFunction {
    /// Checks that columns fit the function and one another.
    pub(super) fn check(&self, inputs: &[Column<'_>], rows: usize, run: &Run<'_>) -> Result<(), Error> {
        let takes = self.root.arity();
        let asked = inputs.len() as u32;
        if takes as usize != inputs.len() {
            return Err(Error::Arity { name: self.name.to_string(), takes, asked });
        }
        for (column, input) in inputs.iter().enumerate() {
            if let Column::Values(values) = input
                && values.len() != rows
            {
                return Err(Error::ColumnLength { column, rows: values.len(), wanted: rows });
            }
        }
        run.check(rows)
    }

    /// Returns the error of a run that ended early.
    pub(super) fn error(&self, row: usize, end: BlockEnd) -> RowError {
        let error = match end {
            BlockEnd::Failed(error) => error,
            BlockEnd::Stopped(request) => self.stopped(request),
            BlockEnd::OutOfFuel => self.everywhere(&Failure::OutOfFuel),
        };
        RowError { row: Some(row), error }
    }

    /// Returns the error of a run that was stopped.
    pub(super) fn stopped(&self, request: StopRequest) -> Error {
        self.everywhere(&request.into())
    }

    /// Returns the error of a failure that has no place in the function.
    fn everywhere(&self, failure: &Failure) -> Error {
        let Diagnostic { code, message, .. } = self.diagnose(failure);
        let diagnostic = Diagnostic::error(code, &self.root.source, self.root.name_span, message);
        Error::of_run(diagnostic.with_note("it was computed in every row"))
    }

    /// Returns the diagnostic for a failure that has to do with no name of a program.
    pub(super) fn diagnose(&self, failure: &Failure) -> Diagnostic {
        let (world, suggestions) = (World::new(self.engine.operators().clone()), Budget::default());
        let (names, hosts) = (self.engine.names(), self.engine.hosts());
        FailureReport { names, hosts, world: &world, suggestions: &suggestions }.diagnose(failure)
    }
}
