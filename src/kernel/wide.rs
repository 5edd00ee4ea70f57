//! Many rows at once.

use super::blocks::{self, Block, BlockEnd, BlockWorker, Plan};
use super::column::{Column, RowError};
use super::pinned::PinnedFunction;
use super::remark::Remark;
use super::run::{Run, RunInProgress, RunState, Validity};
use crate::budget::ContextBudget;
use crate::codegen::{CACHE_LINE, has_different_rounds};
use crate::engine::Engine;
use crate::error::Error;
use crate::failure::Failure;
use crate::float_environment::{DefaultEnvironment, PresentEnvironment};
use crate::host::nesting;
use crate::jit::{ColumnCode, ColumnKind};
use crate::process::SteadyCell;
use crate::sema::call_graph::CallGraph;
use crate::sema::checked::CheckedNode;
use crate::stop::StopRequest;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicU64, Ordering};

/// Code for each set of parameters that are the same in every row. Made when it is met.
pub(super) struct WideCode {
    budget: Arc<ContextBudget>,
    /// Filled from the first one on, the last ones only with general ones.
    variants: [SteadyCell<Arc<ColumnCode>>; SPECIAL + GENERAL],
    lanes: Option<u32>,
    /// Whether the engine has a deadline for each run.
    has_deadline: bool,
}

/// The number of variants that are kept for parameters that are the same in every row: what is asked for
/// beyond has a column of equal values in place of a single one.
const SPECIAL: usize = 7;

/// The number of variants that take all parameters as columns: one for small outputs, one for large ones,
/// one that counts fuel.
const GENERAL: usize = 3;

/// The number of parameters and variables up to which one block needs no memory of the heap.
const FEW: usize = 8;

/// The doubles of inputs and results up to which fewer rows than lanes need no memory of the heap.
const FEW_DOUBLES: usize = 128;

/// The bytes of columns and output from which on the output is written past the caches, if rows take less
/// time than their memory does: about half of what the last cache of a server's processor holds. A cache
/// reads a line before it is overwritten, and when such an output is read, its first lines have left.
const STREAMED: usize = 16 << 20;

impl WideCode {
    pub(super) fn new(engine: &Engine) -> Self {
        let (lanes, has_deadline) = (engine.config().lanes, engine.config().limits.deadline.is_some());
        Self { budget: engine.context_budget(), variants: Default::default(), lanes, has_deadline }
    }

    /// Returns the code of a kind, if it has been made.
    #[inline]
    fn made(&self, kind: ColumnKind) -> Option<&Arc<ColumnCode>> {
        self.variants.iter().map_while(SteadyCell::get).find(|code| code.serves(kind))
    }

    /// Returns the code of a kind; if there are too many variants, that which takes all parameters as
    /// columns.
    fn variant(
        &self,
        kernel: &PinnedFunction,
        mut kind: ColumnKind,
        run: &RunInProgress<'_, '_>,
    ) -> Result<Arc<ColumnCode>, Failure> {
        if let Some(made) = self.made(kind) {
            return Ok(made.clone());
        }
        if self.variants[SPECIAL - 1].get().is_some() {
            kind.every = 0;
            if let Some(made) = self.made(kind) {
                return Ok(made.clone());
            }
        }
        let jit = kernel.engine.jit().map_err(|error| Failure::System(error.to_string()))?;
        let code = ColumnCode::of(jit, &kernel.graph, kind, self.lanes, &self.budget, &run.stopper())?;
        let code = Arc::new(code);
        // Another thread may have filled any of them, also with the same.
        let room = if kind.every == 0 { &self.variants[..] } else { &self.variants[..SPECIAL] };
        let keeps = |variant: &SteadyCell<Arc<ColumnCode>>| {
            variant.set(code.clone()).is_ok() || variant.get().is_some_and(|made| made.serves(kind))
        };
        let _ = room.iter().any(keeps);
        Ok(code)
    }

    /// Compiles what computes such columns.
    pub(super) fn prepare(&self, kernel: &PinnedFunction, inputs: &[Column<'_>]) -> Result<(), Error> {
        let rows = |input: &Column<'_>| match input {
            Column::Values(values) => values.len(),
            Column::Every(_) => 0,
        };
        let is_large = are_large(inputs, inputs.iter().map(rows).max().unwrap_or(0));
        let wanted = ColumnKind { every: same_in_every_row(inputs), counts_fuel: false, is_large };
        let code = self.variant(kernel, wanted, &Run::new().in_progress());
        code.map(|_| ()).map_err(|failure| not_compiled(kernel, &failure).error)
    }

    /// Computes a block of rows with one call of the code, if there is code for such columns, nothing but
    /// their values is asked for, and they are in order.
    #[inline]
    pub(super) fn at_once(
        &self,
        kernel: &PinnedFunction,
        variables: &[f64],
        inputs: &[Column<'_>],
        output: &mut [f64],
        run: &Run<'_>,
        present: PresentEnvironment,
    ) -> Option<Result<(), RowError>> {
        let rows = output.len();
        let is_one_block = (1..=blocks::BLOCK).contains(&rows);
        if !is_one_block || !run.is_plain() || self.has_deadline || nesting::is_inside() {
            return None;
        }
        let (mut values, mut every) = ([0.0; FEW], 0);
        let number = inputs.len() + variables.len();
        let (given, read) = values.get_mut(..number)?.split_at_mut(inputs.len());
        for (index, (input, given)) in inputs.iter().zip(given).enumerate() {
            match *input {
                Column::Every(value) => {
                    *given = value;
                    every |= 1 << index;
                }
                Column::Values(values) if values.len() == rows => {}
                Column::Values(_) => return None,
            }
        }
        if !variables.is_empty() {
            read.copy_from_slice(variables);
        }
        let code = self.made(ColumnKind { every, counts_fuel: false, is_large: false })?;
        let takes = rows < code.lanes() || code.takes(rows);
        if !takes || inputs.len() != code.parameters() || code.has_large_frames() {
            return None;
        }
        let columns = inputs.iter().map(|input| match *input {
            Column::Values(values) => values,
            Column::Every(_) => &[],
        });
        let environment = DefaultEnvironment::enter_from(present);
        let (stop, values) = (run.state().word(), &values[..number]);
        let done = if rows < code.lanes() {
            few(code, stop, columns, values, output)
        } else {
            code.run(stop, columns, values, output, false, &mut 0)
        };
        drop(environment);
        let request = run.state().take_requests();
        if done < rows {
            let end = BlockEnd::Stopped(request.unwrap_or(StopRequest::Interrupt));
            return Some(Err(kernel.error(done, end)));
        }
        Some(Ok(()))
    }

    /// Computes all rows, where variables of the context have these values.
    pub(super) fn apply(
        &self,
        kernel: &PinnedFunction,
        variables: &[f64],
        inputs: &[Column<'_>],
        output: &mut [f64],
        run: &mut RunInProgress<'_, '_>,
    ) -> Result<(), RowError> {
        if output.is_empty() {
            return Ok(());
        }
        let every = same_in_every_row(inputs);
        let is_large = are_large(inputs, output.len());
        let wanted = ColumnKind { every, counts_fuel: run.fuel.is_some(), is_large };
        let code = &*self.variant(kernel, wanted, run).map_err(|failure| not_compiled(kernel, &failure))?;
        let value = |input: &Column<'_>| match input {
            Column::Every(value) => *value,
            Column::Values(_) => 0.0,
        };
        let values: Vec<f64> = inputs.iter().map(value).chain(variables.iter().copied()).collect();
        let has_large_frames = code.has_large_frames();
        let rows = output.len().min(blocks::BLOCK).next_multiple_of(code.lanes());
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
        let streamed = code.entry().streams && wanted.is_large && !has_large_frames;
        // A block begins where results can be written past the caches.
        let before = if streamed { output.as_ptr().align_offset(CACHE_LINE) } else { 0 };
        let plan = Plan { threads: run.threads, has_large_frames, before };
        let (state, valid) = (run.state(), run.valid);
        let worker = || WideWorker { code, state, valid, inputs, values: &values, filled: &filled, streamed };
        let computed = blocks::compute(output, &plan, run.fuel, worker);
        if let Some(valid) = run.valid {
            let rows = output.iter_mut().enumerate().filter(|(row, _)| !valid.is_valid(*row));
            rows.for_each(|(_, value)| *value = f64::NAN);
        }
        computed.map_err(|(row, end)| kernel.error(row, end))
    }

    /// Returns how it is run.
    pub(super) fn explain(&self, graph: &CallGraph) -> Vec<Remark> {
        let made = self.variants[0].get().map(|code| code.lanes());
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
        let root = graph.root();
        if root.is_some_and(|root| has_different_rounds(root, graph.callees())) {
            remarks.push(Remark::new("of a loop, rows make as many rounds as they need"));
        } else if loops > 0 {
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

/// Computes fewer rows than there are lanes: the other lanes compute the last row again. Returns how many
/// are complete.
#[inline(never)]
fn few<'c>(
    code: &ColumnCode,
    stop: &AtomicU64,
    columns: impl Iterator<Item = &'c [f64]>,
    values: &[f64],
    output: &mut [f64],
) -> usize {
    let (lanes, rows) = (code.lanes(), output.len());
    let mut memory = SmallVec::<[f64; FEW_DOUBLES]>::from_elem(0.0, (code.parameters() + 1) * lanes);
    let (computed, padded) = memory.split_at_mut(lanes);
    for (column, values) in padded.chunks_mut(lanes).zip(columns) {
        if let (Some(last), Some(given)) = (values.last(), column.get_mut(..values.len())) {
            given.copy_from_slice(values);
            column[values.len()..].fill(*last);
        }
    }
    let done = code.run(stop, padded.chunks(lanes), values, computed, false, &mut 0);
    output.copy_from_slice(&computed[..rows]);
    // Lanes of the last row are all alike, so they stop at the first of them at the latest.
    if done < lanes { done.min(rows - 1) } else { rows }
}

/// Returns the end of a block at which a run was asked to stop.
fn stopped(state: &RunState) -> BlockEnd {
    BlockEnd::Stopped(state.requested().unwrap_or(StopRequest::Interrupt))
}

/// Returns whether columns with that many rows and their output are larger than caches.
#[inline]
fn are_large(inputs: &[Column<'_>], rows: usize) -> bool {
    let columns = inputs.iter().filter(|input| matches!(input, Column::Values(_))).count();
    rows.saturating_mul((columns + 1) * size_of::<f64>()) >= STREAMED
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
    valid: Option<Validity<'k>>,
    inputs: &'k [Column<'i>],
    values: &'k [f64],
    filled: &'k [Vec<f64>],
    /// Whether results are written past the caches, as far as blocks begin where that is possible.
    streamed: bool,
}

impl Drop for WideWorker<'_, '_> {
    fn drop(&mut self) {
        if self.streamed {
            // What was written past the caches is seen by who sees that the worker has ended.
            atomic::fence(Ordering::SeqCst);
        }
    }
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
        (row, stopped(self.state))
    }

    /// Computes a part of a block, which the code takes.
    fn part(&self, start: usize, output: &mut [f64], part: Range<usize>) -> Result<(), (usize, BlockEnd)> {
        let (first, rows) = (start + part.start, part.len());
        let output = &mut output[part];
        let streamed = self.streamed && output.as_ptr().addr().is_multiple_of(CACHE_LINE);
        match self.rows_of(first, output, streamed, &mut 0) {
            Some(done) if done < rows => Err(self.stopped(first + done)),
            Some(_) | None => Ok(()),
        }
    }

    /// Computes fewer rows than there are lanes.
    fn few(&self, start: usize, output: &mut [f64]) -> Result<(), (usize, BlockEnd)> {
        let rows = output.len();
        let columns = (0..self.inputs.len()).map(|index| self.rows(index, start, rows));
        let done = few(self.code, self.state.word(), columns, self.values, output);
        if done < rows { Err(self.stopped(start + done)) } else { Ok(()) }
    }
}

/// The most fuel that is counted in lanes: nothing takes as much in a year.
const MOST_FUEL: u64 = 1 << 56;

// Where fuel is counted.
impl<'k, 'i: 'k> WideWorker<'k, 'i> {
    /// Computes rows, a multiple of the number of lanes. Returns how many are complete; with
    /// fewer, it was asked to stop. `None`, and takes nothing, if they take more than the fuel.
    fn whole(&self, start: usize, output: &mut [f64], fuel: &mut i64) -> Option<usize> {
        self.rows_of(start, output, false, fuel)
    }

    /// Does the same, and writes past the caches if that is `streamed`.
    #[inline(never)]
    fn rows_of(&self, start: usize, output: &mut [f64], streamed: bool, fuel: &mut i64) -> Option<usize> {
        let rows = output.len();
        let columns = (0..self.inputs.len()).map(|index| self.rows(index, start, rows));
        let mut left = *fuel;
        let done = self.code.run(self.state.word(), columns, self.values, output, streamed, &mut left);
        if left < 0 {
            return None;
        }
        *fuel = left;
        Some(done)
    }

    /// Computes the rows of a block, all with values, as far as the fuel lasts.
    fn counted(&self, start: usize, output: &mut [f64], fuel: &mut i64) -> Result<(), (usize, BlockEnd)> {
        let lanes = self.code.lanes();
        let whole = output.len() - output.len() % lanes;
        let are_valid = self.valid.is_none_or(|valid| (start..start + whole).all(|row| valid.is_valid(row)));
        let at_once = if are_valid { self.whole(start, &mut output[..whole], fuel) } else { None };
        match at_once {
            Some(done) if done < whole => return Err(self.stopped(start + done)),
            Some(_) => return self.one_by_one(start + whole, &mut output[whole..], fuel),
            None => {}
        }
        for (start, output) in (start..).step_by(lanes).zip(output.chunks_mut(lanes)) {
            let are_valid = |valid: Validity<'_>| (start..start + lanes).all(|row| valid.is_valid(row));
            let is_whole = output.len() == lanes && self.valid.is_none_or(are_valid);
            match if is_whole { self.whole(start, output, fuel) } else { None } {
                Some(done) if done < lanes => return Err(self.stopped(start + done)),
                Some(_) => {}
                None => self.one_by_one(start, output, fuel)?,
            }
        }
        Ok(())
    }

    /// Computes rows one by one, each in all lanes: so each takes of the fuel what it takes
    /// alone, times the number of lanes.
    fn one_by_one(&self, start: usize, output: &mut [f64], fuel: &mut i64) -> Result<(), (usize, BlockEnd)> {
        let lanes = self.code.lanes();
        let mut memory = vec![0.0; (self.inputs.len() + 1) * lanes];
        for (row, result) in (start..).zip(output) {
            if self.valid.is_some_and(|valid| !valid.is_valid(row)) {
                continue;
            }
            let (computed, repeated) = memory.split_at_mut(lanes);
            for (index, column) in repeated.chunks_mut(lanes).enumerate() {
                column.fill(self.rows(index, row, 1).first().copied().unwrap_or(0.0));
            }
            let mut left = *fuel * lanes as i64;
            let columns = repeated.chunks(lanes);
            let done = self.code.run(self.state.word(), columns, self.values, computed, false, &mut left);
            if left < 0 {
                *fuel = 0;
                return Err((row, BlockEnd::OutOfFuel));
            }
            *fuel = left / lanes as i64;
            if done < lanes {
                return Err(self.stopped(row));
            }
            *result = computed[0];
        }
        Ok(())
    }
}

impl<'k, 'i: 'k> BlockWorker for WideWorker<'k, 'i> {
    fn block(&mut self, block: Block<'_>, fuel: &mut Option<u64>) -> Result<(), (usize, BlockEnd)> {
        let Block { start, output } = block;
        if self.state.requested().is_some() {
            return Err(self.stopped(start));
        }
        if let Some(fuel) = fuel {
            let lent = (*fuel).min(MOST_FUEL) as i64;
            let mut left = lent;
            let result = self.counted(start, output, &mut left);
            *fuel -= (lent - left) as u64;
            return result;
        }
        let (rows, lanes) = (output.len(), self.code.lanes());
        if rows < lanes {
            return self.few(start, output);
        }
        let whole = rows - rows % lanes;
        if whole == rows || !self.streamed && self.code.takes(rows) {
            return self.part(start, output, 0..rows);
        }
        self.part(start, output, 0..whole)?;
        // The last ones with some of those before them, again.
        self.part(start, output, rows - lanes..rows)
    }
}

#[cfg(feature = "compiler")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::{Config, Processor};

    /// Returns how often each text is in the IR of a kernel of 8 lanes for AVX2.
    fn counts<const N: usize>(definitions: &str, texts: [&str; N]) -> [usize; N] {
        counts_for(definitions, false, texts)
    }

    /// Returns the same, for columns that `are_large` or not.
    fn counts_for<const N: usize>(definitions: &str, are_large: bool, texts: [&str; N]) -> [usize; N] {
        let processor: Processor = "x86-64-v3".parse().expect("it is known");
        let engine = Engine::with_config(Config::new().processor(processor)).expect("an engine starts");
        let mut context = engine.context().expect("a context starts");
        context.eval(definitions).expect("it is right");
        let kernel = context.kernel("f").expect("it is defined");
        assert!(kernel.is_wide(), "{definitions}");
        let jit = engine.jit().expect("there is a compiler");
        let ir = ColumnCode::ir(jit, &kernel.0.function.graph, 8, are_large);
        let body = ir.split_once("define").expect("it is a function").1;
        texts.map(|text| body.matches(text).count())
    }

    #[test]
    fn the_code_of_a_formula_is_vectors_in_one_loop() {
        let texts = ["fmul <8 x double>", "fadd <8 x double>", "call void", "br i1"];
        // The branches are those of the loop over the rows, before it and at its end, and the one
        // after it to the call that makes every NaN the same.
        assert_eq!(counts("def f(a x b) a * x + b", texts), [1, 1, 1, 3]);
    }

    #[test]
    fn large_results_that_wait_for_memory_are_written_past_the_caches() {
        let streamed = |definitions| counts_for(definitions, true, ["!nontemporal"]);
        assert_eq!(streamed("def f(a x b) a * x + b"), [1]);
        for waits_for_the_processor in ["def f(x) exp(x)", "def f(x) while x > 1 in x = x / 2"] {
            assert_eq!(streamed(waits_for_the_processor), [0], "{waits_for_the_processor}");
        }
    }

    #[test]
    fn short_branches_are_selections() {
        let brackets = "def f(x) if x < 1 then 0 else if x < 2 then x * 3 else x * 4 + 5";
        // Two selections, of two registers each.
        assert_eq!(counts(brackets, ["call <4 x double> @llvm.x86.avx.blendv", "br i1"]), [4, 3]);
    }

    #[test]
    fn a_loop_that_ends_by_data_asks_whether_any_lane_is_alive() {
        let text = "def f(x) var n = 0 in (while x > 1 in (x = x / 2) : (n = n + 1)) : n";
        let [alive, polls, masked] =
            counts(text, ["bitcast <8 x i1>", "load volatile", "@llvm.x86.avx.blendv"]);
        assert!(alive >= 1 && polls >= 1 && masked >= 4, "{alive} {polls} {masked}");
    }

    #[test]
    fn a_loop_with_the_same_rounds_in_every_row_has_no_mask() {
        let text = "def f(x) var s = 0 in (for i = 1, i < 1000 in s = s * x + i) : s";
        let [alive, masked, products, counter] =
            counts(text, ["bitcast <8 x i1>", "@llvm.x86.avx.blendv", "fmul <8 x double>", "fadd double"]);
        // That one asks whether any result was a NaN.
        assert_eq!((alive, masked, products), (1, 0, 1));
        assert!(counter >= 1);
    }

    #[test]
    fn functions_of_the_library_are_called_for_all_lanes() {
        let texts = ["call void @\"kal$lanes$exp\"", "call void @\"kal$lanes$log\"", "call double"];
        assert_eq!(counts("def f(x) exp(x) + log(x)", texts), [1, 1, 0]);
    }
}
