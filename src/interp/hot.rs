//! Hot code: leaving the interpreter for compiled code when a counter expires,
//! and switching to code that has become ready.

use super::execute::InterpState;
use super::{CodeStatus, CompiledTier, Crossing, HotSpot, Interpreter};
use crate::failure::RunFailure;
use crate::host::Outside;
use crate::tape::op::Op;
use crate::tape::{LiveValue, TapeCallee};
use std::sync::atomic::Ordering;

impl Interpreter {
    /// Handles an expired counter: continues in compiled code if it is ready,
    /// else requests it.
    pub(super) fn hot(
        &mut self,
        state: &mut InterpState,
        compiled: Crossing<'_>,
        outside: &mut Outside,
    ) -> Result<(), RunFailure> {
        let at = state.at as u32;
        let (spot, link) = (self.code.spot(at), self.code.frame(at).map(|(_, tape)| tape.locals));
        let (Some(spot), Some(link)) = (spot, link) else {
            state.at += Op::Count.length();
            return Ok(());
        };
        let Some(compiled) = compiled.filter(|_| !self.must_interpret(&spot.function)) else {
            self.count_again(at);
            state.at += Op::Count.length();
            return Ok(());
        };
        match compiled.promote(self, &spot) {
            CodeStatus::Ready => {
                self.call_compiled(&spot, compiled);
                self.code_is_ready(at, &spot);
                let arguments = self.state_of(&spot, state.base);
                self.leave_for(state, link, |interpreter| match spot.counted {
                    Some(_) => compiled.enter_osr(interpreter, &spot, &arguments, outside),
                    None => {
                        let callee = TapeCallee { name: spot.function.name, arity: spot.function.arity() };
                        compiled.call(interpreter, callee, &arguments, outside)
                    }
                })
            }
            code_status => {
                match code_status {
                    CodeStatus::Busy => self.code.await_code(at),
                    CodeStatus::Lost => self.count_again(at),
                    CodeStatus::Ready | CodeStatus::Never => {}
                }
                state.at += Op::Count.length();
                Ok(())
            }
        }
    }

    /// Returns the arguments with which compiled code continues at a hot spot
    /// of the frame at `base`.
    fn state_of(&self, spot: &HotSpot, base: usize) -> Vec<f64> {
        let function = &spot.function;
        let Some(counted) = &spot.counted else {
            return self.stack[base..base + function.arity() as usize].to_vec();
        };
        let mut state = self.stack[base..base + function.locals as usize].to_vec();
        state.extend(counted.values.iter().map(|value| match value {
            LiveValue::Slot(slot) => self.stack[base + *slot as usize],
            LiveValue::Number(bits) => f64::from_bits(*bits),
        }));
        state
    }

    /// Called where the process may have forked. In the child, what was being
    /// compiled is lost.
    #[inline]
    pub(super) fn note_fork(&self) {
        if !self.generation.is_current() {
            self.generation.renew();
            self.memory.code_ready().swap(1, Ordering::SeqCst);
            self.memory.interp_limit().swap(0, Ordering::SeqCst);
        }
    }

    /// Polls for compiled code that has become ready, and switches calls and
    /// loops to it.
    pub(super) fn poll_ready_code(&mut self, compiled: Crossing<'_>) {
        let Some(compiled) = compiled else { return };
        if self.memory.code_ready().swap(0, Ordering::SeqCst) == 0 {
            return;
        }
        for at in self.code.take_waiting() {
            let Some(spot) = self.code.spot(at) else { continue };
            self.call_compiled(&spot, compiled);
            match (compiled.code_status(&spot), &spot.counted) {
                (CodeStatus::Busy, _) => self.code.await_code(at),
                (CodeStatus::Ready, _) => self.code_is_ready(at, &spot),
                (CodeStatus::Never, None) | (CodeStatus::Lost, _) => self.count_again(at),
                (CodeStatus::Never, Some(_)) => {}
            }
        }
    }

    /// Restarts the counter of an instruction.
    fn count_again(&mut self, at: u32) {
        self.code.count_again(at, self.hot_after.unwrap_or(0).max(1));
    }

    /// Makes calls of a function go to its code, if it has some.
    fn call_compiled(&mut self, spot: &HotSpot, compiled: &dyn CompiledTier) {
        let callee = TapeCallee { name: spot.function.name, arity: spot.function.arity() };
        if compiled.has_code(callee) {
            self.links.reset(callee.name);
        }
    }

    /// Prepares a hot spot for code that is ready: loops enter it at their next iteration. Calls
    /// go to it until it is retired, after which the interpreter counts again.
    fn code_is_ready(&mut self, at: u32, spot: &HotSpot) {
        match spot.counted {
            Some(_) => self.code.end_count(at),
            None => self.count_again(at),
        }
    }
}
