//! Plans: how far a run goes after a command. Every plan is a loop over single
//! steps that tells after each whether it has arrived.

use crate::interp::inspect::Go;

/// The position of a stopped run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct StepPosition {
    /// The stack offset of the innermost frame: callees have greater ones.
    pub(super) base: usize,
    /// The offset of the next instruction.
    pub(super) offset: u32,
    /// The node of the body that it was made for.
    pub(super) node: usize,
    pub(super) line: usize,
    /// Whether the next instruction calls a function of the program.
    pub(super) is_call: bool,
}

/// How far a run goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StepPlan {
    /// By one instruction.
    Token,
    /// To the next call or line, entering functions that are called.
    Step,
    /// To the next call or line of this function or its caller.
    Next,
    /// To the next line of this function or its caller.
    NextLine,
    /// To the next call in this function, or to its caller.
    NextCall,
    /// Until this function has returned.
    Finish,
    /// To a later place, or a line, of this function.
    Until(Option<usize>),
    /// To the next interpreted instruction.
    Anywhere,
    /// To the next breakpoint.
    Continue,
}

impl StepPlan {
    /// Returns how the run resumes from `start`.
    pub(super) fn go(self, start: StepPosition) -> Go {
        let within = |below| Go::Step { below, into: false };
        match self {
            Self::Token | Self::Step | Self::Anywhere => Go::Step { below: usize::MAX, into: true },
            Self::Next | Self::NextLine | Self::NextCall | Self::Until(_) => within(start.base + 1),
            Self::Finish => within(start.base),
            Self::Continue => Go::On,
        }
    }

    /// Returns whether it has arrived.
    pub(super) fn has_arrived(self, start: StepPosition, now: StepPosition) -> bool {
        let is_elsewhere = now.base != start.base;
        let has_returned = now.base < start.base;
        // Instructions that prepare a call are at the place of the call.
        let is_same = now.node == start.node && now.offset > start.offset && !start.is_call;
        let is_new = now.line != start.line || (now.is_call && !is_same);
        match self {
            Self::Token | Self::Anywhere => true,
            Self::Step => is_elsewhere || is_new,
            // What is called is left only for a breakpoint in it, which decides by itself.
            Self::Next => has_returned || (!is_elsewhere && is_new),
            Self::NextLine => has_returned || (!is_elsewhere && now.line != start.line),
            Self::NextCall => has_returned || (!is_elsewhere && now.is_call && !is_same),
            Self::Finish => has_returned,
            Self::Until(None) => has_returned || (!is_elsewhere && now.offset > start.offset && is_new),
            Self::Until(Some(line)) => has_returned || (!is_elsewhere && now.line >= line),
            Self::Continue => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: StepPosition = StepPosition { base: 10, offset: 5, node: 3, line: 2, is_call: false };

    #[test]
    fn plans_arrive_where_they_should() {
        let call = StepPosition { offset: 9, node: 6, is_call: true, ..START };
        let line = StepPosition { offset: 9, line: 3, ..START };
        let back = StepPosition { offset: 1, line: 1, ..START };
        let inner = StepPosition { base: 20, offset: 0, ..START };
        let outer = StepPosition { base: 4, offset: 7, ..START };
        let same = StepPosition { offset: 6, is_call: true, ..START };
        let cases = [
            (StepPlan::Token, [true; 6]),
            (StepPlan::Step, [true, true, true, true, true, false]),
            (StepPlan::Next, [true, true, true, false, true, false]),
            (StepPlan::NextLine, [false, true, true, false, true, false]),
            (StepPlan::NextCall, [true, false, false, false, true, false]),
            (StepPlan::Finish, [false, false, false, false, true, false]),
            (StepPlan::Until(None), [true, true, false, false, true, false]),
            (StepPlan::Until(Some(3)), [false, true, false, false, true, false]),
            (StepPlan::Anywhere, [true; 6]),
            (StepPlan::Continue, [false; 6]),
        ];
        for (plan, expected) in cases {
            let found = [call, line, back, inner, outer, same].map(|now| plan.has_arrived(START, now));
            assert_eq!(found, expected, "{plan:?}");
        }
        assert_eq!(StepPlan::Finish.go(START), Go::Step { below: 10, into: false });
        assert_eq!(StepPlan::Next.go(START), Go::Step { below: 11, into: false });
    }
}
