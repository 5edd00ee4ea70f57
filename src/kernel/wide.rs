//! Many rows at once.

use super::blocks::{self, Block, BlockEnd, BlockWorker, Plan};
use super::column::{Column, RowError};
use super::pinned::PinnedFunction;
use super::remark::Remark;
use super::run::{Run, RunState};
use crate::budget::ContextBudget;
use crate::engine::Engine;
use crate::error::Error;
use crate::failure::Failure;
use crate::jit::ColumnCode;
use crate::process::SteadyCell;
use crate::sema::call_graph::CallGraph;
use crate::sema::checked::CheckedNode;
use crate::stop::StopRequest;
use parking_lot::Mutex;
use std::sync::Arc;

/// Code for each set of parameters that are the same in every row. Made when it is met.
pub(super) struct WideCode {
    budget: Arc<ContextBudget>,
    first: SteadyCell<Arc<ColumnCode>>,
    /// All but the first.
    others: Mutex<Vec<Arc<ColumnCode>>>,
    lanes: Option<u32>,
}

/// The number of variants that are kept: what is asked for beyond has a column of equal
/// values in place of a single one.
const VARIANTS: usize = 8;

/// Functions of more operations may have frames that are too large for any stack.
const LARGE_FRAME: usize = 1000;

impl WideCode {
    pub(super) fn new(engine: &Engine) -> Self {
        let lanes = engine.config().lanes;
        let (first, others) = (SteadyCell::new(), Mutex::default());
        Self { budget: engine.context_budget(), first, others, lanes }
    }

    /// Returns the code for these parameters that are the same in every row, or of them all
    /// as columns if there are too many variants.
    fn variant(
        &self,
        kernel: &PinnedFunction,
        every: u64,
        run: &Run<'_>,
    ) -> Result<Arc<ColumnCode>, Failure> {
        let is_for = |code: &&Arc<ColumnCode>, set| code.entry().every == set;
        let mut wanted = every;
        if let Some(first) = self.first.get() {
            if is_for(&first, every) {
                return Ok(first.clone());
            }
            let others = self.others.lock();
            if others.len() + 1 >= VARIANTS {
                wanted = 0;
            }
            let mut all = others.iter().chain([first]);
            let found = all.clone().find(|code| is_for(code, every));
            if let Some(found) = found.or_else(|| all.find(|code| is_for(code, wanted))) {
                return Ok(found.clone());
            }
        }
        let jit = kernel.engine.jit().map_err(|error| Failure::System(error.to_string()))?;
        let code = ColumnCode::of(jit, &kernel.graph, wanted, self.lanes, &self.budget, &run.stopper())?;
        let code = Arc::new(code);
        if !is_for(&self.first.get_or_make(|| code.clone()), wanted) {
            self.others.lock().push(code.clone());
        }
        Ok(code)
    }

    /// Compiles what computes such columns.
    pub(super) fn prepare(&self, kernel: &PinnedFunction, inputs: &[Column<'_>]) -> Result<(), Error> {
        let code = self.variant(kernel, same_in_every_row(inputs), &Run::new());
        code.map(|_| ()).map_err(|failure| not_compiled(kernel, &failure).error)
    }

    /// Computes all rows, where variables of the context have these values.
    pub(super) fn apply(
        &self,
        kernel: &PinnedFunction,
        variables: &[f64],
        inputs: &[Column<'_>],
        output: &mut [f64],
        run: &Run<'_>,
    ) -> Result<(), RowError> {
        if output.is_empty() {
            return Ok(());
        }
        let code = self.variant(kernel, same_in_every_row(inputs), run);
        let code = code.map_err(|failure| not_compiled(kernel, &failure))?;
        let rows = output.len().min(blocks::BLOCK).next_multiple_of(code.lanes());
        let value = |input: &Column<'_>| match input {
            Column::Every(value) => *value,
            Column::Values(_) => 0.0,
        };
        let mut values: Vec<f64> = inputs.iter().map(value).collect();
        values.extend(variables);
        // What the code reads as a column, though it is the same in every row.
        let filling = |(index, input): (usize, &Column<'_>)| match input {
            Column::Every(value) if !code.entry().is_every(index) => Some(*value),
            Column::Every(_) | Column::Values(_) => None,
        };
        let mut fillings = inputs.iter().enumerate().map(filling);
        let filled: Vec<Vec<f64>> = if fillings.clone().any(|value| value.is_some()) {
            fillings.by_ref().map(|value| value.map_or_else(Vec::new, |value| vec![value; rows])).collect()
        } else {
            Vec::new()
        };
        let plan = Plan { threads: run.threads, has_large_frames: kernel.graph.size > LARGE_FRAME };
        let worker = || WideWorker {
            code: &code,
            state: run.state(),
            inputs,
            values: &values,
            filled: &filled,
            columns: Vec::with_capacity(inputs.len()),
        };
        let computed = blocks::compute(output, &plan, worker);
        computed.map_err(|(row, end)| kernel.error(row, end))?;
        if let Some(valid) = run.valid {
            let rows = output.iter_mut().enumerate().filter(|(row, _)| !valid.is_valid(*row));
            rows.for_each(|(_, value)| *value = f64::NAN);
        }
        Ok(())
    }

    /// Returns how it is run.
    pub(super) fn explain(&self, graph: &CallGraph) -> Vec<Remark> {
        let made = self.first.get().map(|code| code.lanes());
        let how = match made {
            Some(lanes) => format!("{lanes} rows at once"),
            None => "many rows at once".to_owned(),
        };
        let nodes = || graph.functions.iter().flat_map(|function| &function.nodes);
        let branches = nodes().filter(|node| matches!(node, CheckedNode::Then)).count();
        let loops = nodes().filter(|node| matches!(node, CheckedNode::For)).count();
        let mut remarks = vec![Remark::new(how)];
        if branches > 0 {
            let message = "of an `if` whose condition differs among them, both branches are computed";
            remarks.push(Remark::new(message));
        }
        if loops > 0 {
            remarks.push(Remark::new("a loop goes on until all of them have left it"));
        }
        remarks
    }
}

/// Returns the error of a run for which nothing could be compiled.
fn not_compiled(kernel: &PinnedFunction, failure: &Failure) -> RowError {
    match failure {
        Failure::Interrupted => kernel.error(0, BlockEnd::Stopped(StopRequest::Interrupt)),
        Failure::DeadlineExceeded => kernel.error(0, BlockEnd::Stopped(StopRequest::Deadline)),
        failure => RowError::from(Error::of_run(kernel.diagnose(failure))),
    }
}

/// Returns the inputs that are the same in every row, by bit, of those that have one.
fn same_in_every_row(inputs: &[Column<'_>]) -> u64 {
    inputs.iter().take(u64::BITS as usize).enumerate().fold(0, |set, (index, input)| match input {
        Column::Every(_) => set | 1 << index,
        Column::Values(_) => set,
    })
}

/// Computes blocks on one thread.
struct WideWorker<'k, 'i> {
    code: &'k ColumnCode,
    state: &'k RunState,
    inputs: &'k [Column<'i>],
    values: &'k [f64],
    filled: &'k [Vec<f64>],
    /// Those of one block; kept for the next.
    columns: Vec<&'k [f64]>,
}

impl<'k, 'i: 'k> WideWorker<'k, 'i> {
    /// Returns some rows of an input.
    fn rows(&self, index: usize, start: usize, count: usize) -> &'k [f64] {
        match self.inputs.get(index) {
            Some(Column::Values(values)) => values.get(start..start + count).unwrap_or(&[]),
            Some(Column::Every(_)) | None => {
                self.filled.get(index).and_then(|filled| filled.get(..count)).unwrap_or(&[])
            }
        }
    }

    fn stopped(&self, row: usize) -> (usize, BlockEnd) {
        (row, BlockEnd::Stopped(self.state.requested().unwrap_or(StopRequest::Interrupt)))
    }

    /// Computes the last rows, fewer than there are lanes. The other lanes compute the last
    /// row again.
    fn rest(&self, start: usize, output: &mut [f64]) -> Result<(), (usize, BlockEnd)> {
        let (lanes, rows) = (self.code.lanes(), output.len());
        let mut memory = vec![0.0; (self.inputs.len() + 1) * lanes];
        let (computed, padded) = memory.split_at_mut(lanes);
        for (index, column) in padded.chunks_mut(lanes).enumerate() {
            let values = self.rows(index, start, rows);
            if let (Some(last), Some(given)) = (values.last(), column.get_mut(..values.len())) {
                given.copy_from_slice(values);
                column[values.len()..].fill(*last);
            }
        }
        let columns: Vec<&[f64]> = padded.chunks(lanes).collect();
        let done = self.code.run(self.state.word(), &columns, self.values, computed);
        output.copy_from_slice(&computed[..rows]);
        if done < lanes { Err(self.stopped(start + done.min(rows - 1))) } else { Ok(()) }
    }
}

impl<'k, 'i: 'k> BlockWorker for WideWorker<'k, 'i> {
    fn block(&mut self, block: Block<'_>) -> Result<(), (usize, BlockEnd)> {
        let Block { start, output } = block;
        if self.state.requested().is_some() {
            return Err(self.stopped(start));
        }
        let whole = output.len() - output.len() % self.code.lanes();
        let (output, rest) = output.split_at_mut(whole);
        if whole > 0 {
            self.columns.clear();
            for index in 0..self.inputs.len() {
                let rows = self.rows(index, start, whole);
                self.columns.push(rows);
            }
            let done = self.code.run(self.state.word(), &self.columns, self.values, output);
            if done < whole {
                return Err(self.stopped(start + done));
            }
        }
        if rest.is_empty() { Ok(()) } else { self.rest(start + whole, rest) }
    }
}
