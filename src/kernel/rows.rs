//! Rows one by one, in contexts that a kernel has for itself.

use super::blocks::{self, Block, BlockEnd, BlockWorker, Plan};
use super::column::{Column, RowError};
use super::pinned::PinnedFunction;
use super::run::{Failing, RunInProgress, RunState, Validity};
use crate::backend::CallHandle;
use crate::context::Context;
use crate::error::Error;
use crate::float_environment::PresentEnvironment;
use crate::host::RandomNumbers;
use crate::host::lanes::same_nan;
use crate::runtime::CallArguments;
use crate::sema::Extern;
use parking_lot::Mutex;

/// What computes rows one by one.
pub(super) struct RowCode {
    declared: Vec<Extern>,
    /// What the random numbers of the next context are of, if it draws any.
    random: Option<Mutex<RandomNumbers>>,
    /// Those that no run uses now: that do not count fuel, and that do.
    contexts: [Mutex<Vec<RowContext>>; 2],
}

/// A context with the functions of a kernel, and nothing else.
struct RowContext {
    context: Context,
    handle: CallHandle,
}

impl RowCode {
    pub(super) fn new(declared: Vec<Extern>, random: Option<RandomNumbers>) -> Self {
        Self { declared, random: random.map(Mutex::new), contexts: Default::default() }
    }

    /// Returns the contexts that no run uses now.
    fn free(&self, counts: bool) -> &Mutex<Vec<RowContext>> {
        let [plain, counting] = &self.contexts;
        if counts { counting } else { plain }
    }

    /// Returns a context whose variables have these values.
    fn context(&self, kernel: &PinnedFunction, variables: &[f64], counts: bool) -> Result<RowContext, Error> {
        let free = self.free(counts).lock().pop();
        let mut context = match free {
            Some(context) => context,
            None => {
                let PinnedFunction { graph, engine, .. } = kernel;
                let (functions, variables) = (&graph.functions, &graph.variables);
                let mut context =
                    Context::of_functions(engine, counts, functions, &self.declared, variables)?;
                self.random.iter().for_each(|random| context.set_random(random.lock().part()));
                let (_, handle) = context.handle(&kernel.name, kernel.root.arity())?;
                RowContext { context, handle }
            }
        };
        let names = kernel.engine.names();
        for (name, value) in kernel.graph.variables.iter().zip(variables) {
            context.context.set_variable(&names.text(*name), *value)?;
        }
        Ok(context)
    }

    /// Passes everything that rows have printed to the system, unless a run goes on.
    #[cfg(feature = "cli")]
    pub(super) fn flush(&self) -> std::io::Result<()> {
        let flush = |row: &mut RowContext| row.context.output().flush();
        self.contexts.iter().try_for_each(|free| free.lock().iter_mut().try_for_each(flush))
    }

    /// Computes all rows, where variables of the context have these values at first; in their
    /// order and on one thread if that may make a difference.
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
        let threads = if kernel.effects.is_empty() { run.threads.max(1) } else { 1 };
        let threads = threads.min(output.len().div_ceil(blocks::BLOCK));
        let counts = run.fuel.is_some();
        let made =
            (0..threads).map(|_| self.context(kernel, variables, counts)).collect::<Result<Vec<_>, _>>()?;
        let state = run.state();
        made.iter().for_each(|row| state.add(&row.context.stopper()));
        let free = Mutex::new(made);
        let goes_on = !matches!(run.failing, Failing::Stop);
        let failed = Mutex::new(Vec::new());
        let valid = run.valid;
        let worker = || RowWorker {
            context: free.lock().pop(),
            state,
            inputs,
            arguments: vec![0.0; inputs.len()],
            valid,
            goes_on,
            failed: &failed,
            row_fuel: kernel.engine.config().limits.fuel.unwrap_or(u64::MAX),
            free: &free,
        };
        let plan = Plan { threads, has_large_frames: false, before: 0 };
        let computed = blocks::compute(output, &plan, run.fuel, worker);
        state.clear();
        self.free(counts).lock().extend(std::mem::take(&mut *free.lock()));
        if let Failing::Mark(marks) = run.failing {
            for row in failed.into_inner() {
                marks[row / 8] |= 1 << (row % 8);
            }
        }
        computed.map_err(|(row, end)| kernel.error(row, end))
    }
}

/// Computes blocks on one thread.
struct RowWorker<'k, 'i> {
    context: Option<RowContext>,
    state: &'k RunState,
    inputs: &'k [Column<'i>],
    arguments: Vec<f64>,
    valid: Option<Validity<'k>>,
    goes_on: bool,
    /// The rows that have failed, in no particular order.
    failed: &'k Mutex<Vec<usize>>,
    /// What a row may take at most, if it is counted.
    row_fuel: u64,
    /// Where the context goes when the worker is done.
    free: &'k Mutex<Vec<RowContext>>,
}

impl BlockWorker for RowWorker<'_, '_> {
    fn block(&mut self, block: Block<'_>, fuel: &mut Option<u64>) -> Result<(), (usize, BlockEnd)> {
        let Some(RowContext { context, handle }) = &mut self.context else {
            let error = Error::NoMemory("a thread has no context".into());
            return Err((block.start, BlockEnd::Failed(error)));
        };
        for (row, result) in (block.start..).zip(block.output) {
            if let Some(request) = self.state.requested() {
                return Err((row, BlockEnd::Stopped(request)));
            }
            if self.valid.is_some_and(|valid| !valid.is_valid(row)) {
                *result = f64::NAN;
                continue;
            }
            for (argument, input) in self.arguments.iter_mut().zip(self.inputs) {
                *argument = match input {
                    Column::Values(values) => values[row],
                    Column::Every(value) => *value,
                };
            }
            let arguments = CallArguments::new(&self.arguments);
            if let Some(fuel) = fuel {
                context.set_fuel(self.row_fuel.min(*fuel));
            }
            let called = context.call_handle(handle, arguments, PresentEnvironment::read());
            if let Some(fuel) = fuel {
                let most = self.row_fuel.min(*fuel);
                // The fuel of the run ends before that of the row.
                let is_out = most == *fuel && called.as_ref().is_err_and(Error::is_out_of_fuel);
                *fuel -= most.saturating_sub(context.fuel().unwrap_or(0));
                if is_out && self.state.requested().is_none() {
                    return Err((row, BlockEnd::OutOfFuel));
                }
            }
            match called {
                Ok(value) => *result = same_nan(value),
                Err(error) => {
                    if let Some(request) = self.state.requested() {
                        return Err((row, BlockEnd::Stopped(request)));
                    }
                    if !self.goes_on {
                        return Err((row, BlockEnd::Failed(error)));
                    }
                    *result = f64::NAN;
                    self.failed.lock().push(row);
                }
            }
        }
        Ok(())
    }
}

impl Drop for RowWorker<'_, '_> {
    fn drop(&mut self) {
        self.free.lock().extend(self.context.take());
    }
}
