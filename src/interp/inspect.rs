//! Stopping runs, inspecting their frames, and resuming.
//!
//! A *breakpoint* is an instruction put in the place of another one, so a
//! program with breakpoints runs as fast as one without. When a run reaches
//! one, or has executed the single instruction it was allowed to, an
//! [`Inspector`] is asked how to go on; meanwhile it can read the frames,
//! change their values and run expressions.

use super::execute::{InterpState, Pause};
use super::kept::KeptFunction;
use super::{CallSite, CompiledTier, Crossing, Interpreter};
use crate::failure::{CallGroup, Failure, RunFailure};
use crate::host::Outside;
use crate::host::{self, HostFunctions};
use crate::name::Name;
use crate::process;
use crate::sema::checked::CheckedFunction;
use crate::stop::StopRequest;
use crate::tape::Tape;
use crate::tape::op::Op;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Decides how to go on when a run stops.
pub trait Inspector: Send {
    /// Returns the breakpoints of a function, as offsets in its tape.
    fn breaks(&self, function: &Arc<CheckedFunction>, tape: &Tape) -> Vec<u32>;

    /// Returns whether calls of a function must be interpreted, although there
    /// is compiled code.
    fn holds(&self, name: Name) -> bool;

    /// Returns the functions for which [`holds`](Self::holds) is true.
    fn held(&self) -> Vec<Name>;

    /// Returns whether a function without a name must be interpreted.
    fn wants(&self, function: &CheckedFunction) -> bool;

    /// Returns whether runs stop before their first instruction.
    fn stops_at_first(&self) -> bool;

    /// Called when a run has stopped before an instruction. Returns how it goes
    /// on.
    fn stopped(&mut self, stop: &mut PausedRun<'_>) -> Go;

    /// Returns whether every function must be interpreted.
    fn wants_all(&self) -> bool;

    /// Returns whether runs stop where a NaN or an infinity appears.
    fn watches_numbers(&self) -> bool;

    /// Returns whether an interrupt stops a run here instead of ending it.
    fn breaks_in(&self) -> bool;

    /// Called when a run that compiled code has begun, at `base`, and that was
    /// stepped through, ends with `value`. Returns whether to stop at the next
    /// interpreted instruction. The position in the compiled caller is unknown.
    fn left(&mut self, base: usize, value: f64, caller: Option<&Arc<CheckedFunction>>) -> bool;

    /// Called when a run has failed, here or in code that it has called. Its
    /// interpreted frames are still there, the compiled ones are gone. Only
    /// [`Go::Again`] makes the run go on.
    fn failed(&mut self, stop: &mut PausedRun<'_>, stopped: &RunFailure) -> Go;

    /// Returns whether the breakpoints have changed; asked after each stop.
    fn has_changed(&mut self) -> bool;
}

/// How a run goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Go {
    /// To the next breakpoint.
    On,
    /// By one instruction, if the innermost frame then begins before `below`;
    /// else by as many as it takes to return to such a frame. With `into`,
    /// called functions are interpreted.
    Step {
        /// Frames from this slot on are run through.
        below: usize,
        /// Whether calls are stepped into.
        into: bool,
    },
    /// Back to the last call of the frame of that number, which is repeated.
    Again(usize),
    /// The run ends.
    Quit,
}

/// Why a run has stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// At a breakpoint, or after a step.
    Place,
    /// It was interrupted.
    Interrupt,
    /// The instruction at that index has produced a NaN or an infinity from
    /// finite operands.
    Nonfinite(usize),
    /// It has failed.
    Failure,
}

/// A call in progress.
#[derive(Clone, Debug)]
pub struct CallFrame {
    pub function: Arc<CheckedFunction>,
    /// The tape that is running; `None` for compiled code.
    pub tape: Option<Arc<Tape>>,
    /// The offset of the next instruction in its tape; in a frame that waits
    /// for a call, of the call; `None` for compiled code.
    pub offset: Option<u32>,
    /// The slot where the frame begins.
    pub base: usize,
    /// The index of its function's first instruction.
    start: u32,
}

impl CallFrame {
    /// Creates the frame of compiled code, of which only the function is known.
    fn of_code(function: Arc<CheckedFunction>) -> Self {
        Self { function, tape: None, offset: None, base: 0, start: 0 }
    }
}

/// A run that waits for a nested one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outer {
    /// An interpreted run, stopped at that call.
    Interpreted(InterpState),
    /// A run of compiled code.
    Compiled(CallSite),
}

/// A run that has stopped.
pub struct PausedRun<'a> {
    interpreter: &'a mut Interpreter,
    state: InterpState,
    compiled: Crossing<'a>,
    outside: &'a mut Outside,
    /// The calls in progress, innermost first.
    pub frames: Vec<CallFrame>,
    /// Why it has stopped.
    pub reason: Reason,
    /// The number of frames that belong to the innermost run, all interpreted.
    own: usize,
}

impl PausedRun<'_> {
    /// Returns the host functions that the program may call.
    pub fn hosts(&self) -> &HostFunctions {
        &self.interpreter.hosts
    }

    /// Returns the value of a local; NaN if the frame has none of that number.
    pub fn local(&self, frame: &CallFrame, local: u32) -> f64 {
        let slot = self.interpreter.stack.get(frame.base + local as usize);
        slot.copied().unwrap_or(f64::NAN)
    }

    /// Sets the value of a local.
    pub fn set_local(&mut self, frame: &CallFrame, local: u32, value: f64) {
        if let Some(slot) = self.interpreter.stack.get_mut(frame.base + local as usize) {
            *slot = value;
        }
    }

    /// Returns whether the last call of a frame can be repeated.
    pub fn can_call_again(&self, number: usize) -> bool {
        let frame = self.frames.get(number).filter(|_| number < self.own);
        let op = frame.and_then(|frame| self.interpreter.code.op(frame.start + frame.offset?));
        op.is_some_and(|op| matches!(op, Op::Call | Op::CallA | Op::CallS | Op::Host | Op::HostA))
    }

    /// Binds a function's name to it. Calls in progress continue with the old
    /// definition.
    pub fn define(&mut self, function: &Arc<CheckedFunction>) {
        self.interpreter.define(function);
        if let Some(compiled) = self.compiled {
            compiled.define(function);
        }
    }

    /// Returns the value computed last: after a call, its result.
    pub fn accumulator(&self) -> f64 {
        self.state.accumulator
    }

    /// Runs a function without a name. Returns its value and the final values
    /// of its parameters.
    ///
    /// # Errors
    /// If the run fails or is stopped.
    pub fn evaluate(
        &mut self,
        function: &Arc<KeptFunction>,
        arguments: &[f64],
    ) -> Result<(f64, Vec<f64>), RunFailure> {
        let Self { interpreter, state, compiled, outside, .. } = self;
        let end = interpreter.end_of(*state);
        let top = std::mem::replace(&mut interpreter.top, end);
        let result = interpreter.run_kept(function, arguments, *compiled, outside);
        interpreter.top = top;
        interpreter.set_limit();
        let value = result?;
        Ok((value, interpreter.stack[end..end + arguments.len()].to_vec()))
    }
}

/// How the current run is stepped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StepMode {
    /// To the next breakpoint.
    Run,
    /// The next instruction is executed even if it has a breakpoint.
    Past,
    /// One instruction at a time, see [`Go::Step`].
    Step { below: usize, into: bool },
}

impl Interpreter {
    /// Sets the inspector that is asked when a run stops.
    pub fn set_inspector(&mut self, inspector: Option<Box<dyn Inspector>>) {
        self.inspector = inspector;
        self.place_breaks();
    }

    /// Returns whether an inspector is asked when a run stops.
    pub fn is_inspected(&self) -> bool {
        self.inspector.is_some()
    }

    /// Returns whether calls of a function must be interpreted, although there
    /// is compiled code.
    pub fn holds(&self, name: Name) -> bool {
        let into = matches!(self.step_mode, StepMode::Step { into: true, .. });
        let inspector = self.inspector.as_ref();
        inspector.is_some_and(|inspector| into || inspector.wants_all() || inspector.holds(name))
    }

    /// Returns whether a function without a name must be interpreted.
    pub fn wants(&self, function: &Arc<CheckedFunction>) -> bool {
        let inspector = self.inspector.as_ref();
        inspector.is_some_and(|inspector| inspector.wants_all() || inspector.wants(function))
    }

    /// Returns the functions that must be interpreted.
    pub fn held(&self) -> Vec<Name> {
        match &self.inspector {
            None => Vec::new(),
            Some(inspector) if inspector.wants_all() => self.bindings.keys().copied().collect(),
            Some(inspector) => inspector.held(),
        }
    }

    /// Returns whether a function must stay in the interpreter, however hot it
    /// is.
    pub(super) fn must_interpret(&self, function: &Arc<CheckedFunction>) -> bool {
        self.step_mode != StepMode::Run || self.holds(function.name) || self.wants(function)
    }

    /// Sets the inspector's breakpoints in all linked functions.
    pub fn place_breaks(&mut self) {
        self.code.remove_breaks();
        let Some(inspector) = &self.inspector else { return };
        let mut places = Vec::new();
        for (start, function, tape) in self.code.functions() {
            if (inspector.holds(function.name) || inspector.wants(function)) && !self.is_retired(start) {
                places.extend(inspector.breaks(function, tape).iter().map(|offset| start + offset));
            }
        }
        places.into_iter().for_each(|at| self.code.add_break(at));
    }

    /// Sets the inspector's breakpoints in a function that has just been
    /// linked.
    pub(super) fn place_breaks_of(&mut self, function: &Arc<CheckedFunction>, tape: &Tape, code: u32) {
        let Some(inspector) = &self.inspector else { return };
        for offset in inspector.breaks(function, tape) {
            self.code.add_break(code + offset);
        }
    }

    /// Begins a run that is inside no other, interpreted or compiled.
    pub fn begin_outermost(&mut self) {
        self.step_mode = StepMode::Run;
        self.has_shown = false;
    }

    /// Begins an interpreted run: stops at once if the inspector wants that of
    /// the outermost run, or if a step has led here.
    pub(super) fn begin_stepping(
        &mut self,
        state: &mut InterpState,
        compiled: Crossing<'_>,
        outside: &mut Outside,
    ) -> Result<(), RunFailure> {
        let Some(inspector) = &self.inspector else { return Ok(()) };
        let stops = inspector.stops_at_first();
        if !self.outer.is_empty() {
            return self.arrive(state, compiled, outside);
        }
        self.begin_outermost();
        if stops {
            self.inspect(state, Reason::Place, compiled, outside)?;
        }
        Ok(())
    }

    /// Stops if a step ends here.
    pub(super) fn arrive(
        &mut self,
        state: &mut InterpState,
        compiled: Crossing<'_>,
        outside: &mut Outside,
    ) -> Result<(), RunFailure> {
        let StepMode::Step { below, .. } = self.step_mode else { return Ok(()) };
        // The instruction that ends a run belongs to no function.
        let is_inside = self.code.start(state.at as u32).is_some();
        if is_inside && (state.base < below || self.code.has_break(state.at as u32)) {
            self.inspect(state, Reason::Place, compiled, outside)?;
        }
        Ok(())
    }

    /// Ends a nested run that was stepped through. Its compiled caller cannot
    /// be stepped, but what that calls from now on can.
    ///
    /// # Errors
    /// If the inspector panics.
    pub(super) fn leave_to(
        &mut self,
        site: CallSite,
        value: f64,
        compiled: &dyn CompiledTier,
    ) -> Result<(), Failure> {
        let (StepMode::Step { .. }, Some(inspector)) = (self.step_mode, &mut self.inspector) else {
            return Ok(());
        };
        let callers = compiled.callers(site);
        if !ask(&mut **inspector, |inspector| inspector.left(self.top, value, callers.first()))? {
            return Ok(());
        }
        self.step_mode = StepMode::Step { below: usize::MAX, into: true };
        let callees = callers.iter().flat_map(|caller| caller.callees.iter());
        callees.for_each(|callee| compiled.deoptimize(callee.name));
        Ok(())
    }

    /// Executes one instruction and stops if the step ends there. Returns the
    /// value of the run if that was its last instruction.
    pub(super) fn step(
        &mut self,
        state: &mut InterpState,
        compiled: Crossing<'_>,
        outside: &mut Outside,
    ) -> Result<Option<f64>, RunFailure> {
        let (at, step_mode) = (state.at as u32, self.step_mode);
        let had_break = self.code.remove_break(at);
        let pause = match self.is_watching() {
            true => self.execute::<true, true>(state),
            false => self.execute::<true, false>(state),
        };
        let stops = self.stops;
        let broke = self.step_rest(pause, state, compiled, outside);
        if had_break && !self.code.has_break(at) {
            self.code.add_break(at);
        }
        if broke? {
            return Ok(None);
        }
        let is_done = !matches!(pause, Pause::Limit(_));
        match (pause, step_mode) {
            (Pause::Left, _) => return Ok(Some(state.accumulator)),
            (_, StepMode::Past) if is_done && self.stops == stops => self.step_mode = StepMode::Run,
            (_, StepMode::Step { .. }) if is_done => self.arrive(state, compiled, outside)?,
            (_, StepMode::Run | StepMode::Past | StepMode::Step { .. }) => {}
        }
        Ok(None)
    }

    /// Handles what an instruction paused for. Returns whether the inspector
    /// was asked how to go on.
    fn step_rest(
        &mut self,
        pause: Pause,
        state: &mut InterpState,
        compiled: Crossing<'_>,
        outside: &mut Outside,
    ) -> Result<bool, RunFailure> {
        if let Pause::Nonfinite(operation) = pause {
            return Ok(self.stop_if_nonfinite(operation, state, compiled, outside)?);
        }
        if self.breaks_in(pause, state, compiled, outside)? {
            return Ok(true);
        }
        self.handle_pause(pause, state, compiled, outside)?;
        Ok(self.stop_if_host_nonfinite(state, compiled, outside)?)
    }

    /// Stops an interrupted run if the inspector handles interrupts.
    pub(super) fn breaks_in(
        &mut self,
        pause: Pause,
        state: &mut InterpState,
        compiled: Crossing<'_>,
        outside: &mut Outside,
    ) -> Result<bool, Failure> {
        if !matches!(pause, Pause::Limit(_) | Pause::Stop) || !self.is_broken_in() {
            return Ok(false);
        }
        self.memory.requests().fetch_and(!StopRequest::Interrupt.bits(), Ordering::SeqCst);
        self.inspect(state, Reason::Interrupt, compiled, outside)?;
        Ok(true)
    }

    /// Returns whether the most urgent request is an interrupt that the
    /// inspector handles.
    fn is_broken_in(&self) -> bool {
        let request = StopRequest::first(self.memory.requests().load(Ordering::SeqCst));
        let breaks_in = || self.inspector.as_ref().is_some_and(|inspector| inspector.breaks_in());
        request == Some(StopRequest::Interrupt) && breaks_in()
    }

    /// Takes the request that the run ends for. An interrupt that the inspector
    /// handles is left to the next safepoint poll.
    pub(super) fn take_request(&self) -> Option<StopRequest> {
        if self.is_broken_in() { None } else { self.memory.take_request() }
    }

    /// Asks the inspector how to go on.
    pub(super) fn inspect(
        &mut self,
        state: &mut InterpState,
        reason: Reason,
        compiled: Crossing<'_>,
        outside: &mut Outside,
    ) -> Result<(), Failure> {
        let Some(mut inspector) = self.inspector.take() else {
            self.step_mode = StepMode::Past;
            return Ok(());
        };
        self.stops += 1;
        self.step_mode = StepMode::Run;
        let (frames, own) = match reason {
            Reason::Nonfinite(at) => self.frames(InterpState { at: at + 1, ..*state }, false, compiled),
            Reason::Place | Reason::Interrupt | Reason::Failure => self.frames(*state, true, compiled),
        };
        let calls = frames.clone();
        let mut stop = PausedRun { interpreter: self, state: *state, compiled, outside, frames, reason, own };
        let go = ask(&mut *inspector, |inspector| inspector.stopped(&mut stop));
        let has_changed = inspector.has_changed();
        self.inspector = Some(inspector);
        self.change_breaks(has_changed, compiled);
        self.step_mode = match go? {
            Go::On => StepMode::Past,
            // No frame begins before the outermost one.
            Go::Step { below: 0, .. } if self.outer.is_empty() => StepMode::Past,
            Go::Step { below, into } => StepMode::Step { below, into },
            Go::Again(number) => {
                self.go_back(state, &calls, number);
                StepMode::Past
            }
            Go::Quit => return Err(Failure::Interrupted),
        };
        if self.step_mode == StepMode::Past {
            self.release();
        }
        Ok(())
    }

    /// Goes back to the last call of a frame of this run.
    fn go_back(&mut self, state: &mut InterpState, frames: &[CallFrame], number: usize) {
        let (Some(frame), Some(callee)) = (frames.get(number), frames.get(number.saturating_sub(1))) else {
            return;
        };
        let at = (frame.start + frame.offset.unwrap_or(0)) as usize;
        // The arguments are where they were: they have become parameters.
        let last = callee.function.parameters.len().checked_sub(1).filter(|_| number > 0);
        let accumulator = last.map_or(state.accumulator, |last| self.stack[callee.base + last]);
        *state = InterpState { at, base: frame.base, accumulator };
    }

    /// Shows a failed run to the inspector. Returns whether it goes on.
    pub(super) fn show_failure(
        &mut self,
        state: &mut InterpState,
        stopped: &RunFailure,
        compiled: Crossing<'_>,
        outside: &mut Outside,
    ) -> bool {
        // The outer runs of a failed one fail, too.
        if self.has_shown {
            return false;
        }
        let Some(mut inspector) = self.inspector.take() else { return false };
        self.has_shown = true;
        self.step_mode = StepMode::Run;
        let (frames, own) = self.frames(InterpState { at: state.at + 1, ..*state }, false, compiled);
        let (calls, reason) = (frames.clone(), Reason::Failure);
        let mut stop = PausedRun { interpreter: self, state: *state, compiled, outside, frames, reason, own };
        let go = ask(&mut *inspector, |inspector| inspector.failed(&mut stop, stopped));
        let has_changed = inspector.has_changed();
        self.inspector = Some(inspector);
        self.change_breaks(has_changed, compiled);
        let Ok(Go::Again(number)) = go else { return false };
        self.go_back(state, &calls, number);
        self.step_mode = StepMode::Past;
        self.has_shown = false;
        true
    }

    /// Shows a failed run of compiled code to the inspector: only its calls are
    /// known.
    pub fn show_code(&mut self, stopped: &RunFailure, compiled: Crossing<'_>, outside: &mut Outside) {
        if std::mem::replace(&mut self.has_shown, true) {
            return;
        }
        let Some(mut inspector) = self.inspector.take() else { return };
        let (inner, ..) = stopped.trace.shown();
        let functions = inner.iter().flat_map(CallGroup::functions);
        let frames = functions.cloned().map(CallFrame::of_code).collect();
        let state = InterpState { at: 0, base: self.top, accumulator: 0.0 };
        let reason = Reason::Failure;
        let mut stop = PausedRun { interpreter: self, state, compiled, outside, frames, reason, own: 0 };
        // The run has failed anyway.
        let _ = ask(&mut *inspector, |inspector| inspector.failed(&mut stop, stopped));
        self.inspector = Some(inspector);
    }

    /// Updates the breakpoints after a stop.
    fn change_breaks(&mut self, has_changed: bool, compiled: Crossing<'_>) {
        if has_changed {
            self.place_breaks();
            if let Some(compiled) = compiled {
                self.held().into_iter().for_each(|name| compiled.deoptimize(name));
            }
        }
    }

    /// Switches functions that were only stepped through back to compiled code.
    fn release(&mut self) {
        for name in std::mem::take(&mut self.stepped) {
            if !self.holds(name) {
                self.links.reset(name);
            }
        }
    }

    /// Returns the calls in progress, innermost first, and the number of them
    /// that belong to the innermost run. With `is_before`, the run has stopped
    /// before the instruction at its position; else inside the one that ends
    /// there.
    fn frames(&self, state: InterpState, is_before: bool, compiled: Crossing<'_>) -> (Vec<CallFrame>, usize) {
        let mut frames = Vec::new();
        self.frames_of_run(state, is_before, &mut frames);
        let own = frames.len();
        for outer in self.outer.iter().rev() {
            match outer {
                Outer::Interpreted(state) => self.frames_of_run(*state, false, &mut frames),
                Outer::Compiled(site) => {
                    let callers = compiled.map_or_else(Vec::new, |compiled| compiled.callers(*site));
                    frames.extend(callers.into_iter().map(CallFrame::of_code));
                }
            }
        }
        (frames, own)
    }

    /// Appends the frames of one run.
    fn frames_of_run(&self, mut state: InterpState, is_innermost: bool, frames: &mut Vec<CallFrame>) {
        let mut is_first = is_innermost;
        loop {
            let at = state.at as u32;
            let (Some((function, tape)), Some(start)) = (self.code.frame(at), self.code.start(at)) else {
                return;
            };
            let offset = if is_first { at - start } else { self.code.instruction_before(start, at) - start };
            let (function, tape) = (function.clone(), tape.clone());
            let caller = self.caller(state.base, tape.locals);
            frames.push(CallFrame {
                function,
                tape: Some(tape),
                offset: Some(offset),
                base: state.base,
                start,
            });
            let Some((at, base)) = caller else { return };
            state = InterpState { at, base, accumulator: 0.0 };
            is_first = false;
        }
    }

    /// Returns the first slot after the innermost frame.
    fn end_of(&self, state: InterpState) -> usize {
        let frame = self.code.frame(state.at as u32);
        state.base + frame.map_or(0, |(_, tape)| tape.frame as usize)
    }
}

/// Asks the inspector something. Its console is the user's: a panic there must
/// not cross frames of compiled code, and it may fork the process.
///
/// # Errors
/// If it panics.
fn ask<T>(
    inspector: &mut dyn Inspector,
    question: impl FnOnce(&mut dyn Inspector) -> T,
) -> Result<T, Failure> {
    let answer = catch_unwind(AssertUnwindSafe(|| question(inspector)));
    process::settle();
    answer.map_err(|panic| Failure::Console(host::message(panic)))
}

/// Returns whether the instruction at an offset calls a function of the
/// program.
pub fn calls(tape: &Tape, offset: u32) -> bool {
    let op = tape.words.get(offset as usize).and_then(|word| Op::of(*word));
    matches!(op, Some(Op::Call | Op::CallA | Op::CallS))
}
