//! Functions that call themselves last, in every lane: such a call is a round of a loop, in which
//! a lane stays until it makes none.

use super::construct::Round;
use super::value::{Mask, Wide, WideLocal};
use super::{WideFrame, WideLowering};
use crate::codegen::compiler::refusal::{Result, missing};
use crate::codegen::uniform::Uniform;
use crate::sema::checked::CheckedFunction;
use crate::syntax::operator::BinaryOp;
use inkwell::FloatPredicate;
use inkwell::types::BasicType;
use inkwell::values::{FloatValue, VectorValue};

/// The most rounds. A call that recurs more deeply is given up, as one that is asked to stop:
/// it may have no room on a stack.
const MOST_ROUNDS: f64 = 1000.0;

impl<'m, 'c> WideLowering<'m, 'c> {
    /// Lowers a function that calls itself last, for the lanes of the mask.
    pub(super) fn recursion(
        &mut self,
        source: &'m CheckedFunction,
        arguments: &[Wide<'c>],
        mask: Mask<'c>,
    ) -> Result<Wide<'c>> {
        let is_same = arguments.iter().all(|argument| matches!(argument, Wide::Every(_)));
        let is_refilled = self.is_refilled() && !is_same;
        let uniform = Uniform::of(source, &vec![false; arguments.len()], false);
        let outer = std::mem::replace(&mut self.frame, WideFrame::new(source, uniform));
        let outer_mask = std::mem::replace(&mut self.mask, mask);
        let doubles = self.doubles.as_basic_type_enum();
        let (mut next, mut changed) = (Vec::with_capacity(arguments.len()), Vec::new());
        for argument in arguments {
            let place = self.allocate(doubles)?;
            self.store(place, *argument)?;
            self.frame.locals.push(WideLocal::Place(place));
            changed.push(place);
            next.push(self.allocate(doubles)?);
        }
        self.locals(source, arguments.len())?;
        let (result, again) = (self.allocate(doubles)?, self.allocate(self.truths.as_basic_type_enum())?);
        self.store(result, Wide::Every(self.types.double.const_zero()))?;
        let double = self.types.double;
        // The rounds that lanes have made before the loop is entered again.
        let rounds = self.allocate(doubles)?;
        self.store(rounds, Wide::Every(double.const_zero()))?;
        changed.push(rounds);
        let (mut refilled, mut most) = (None, double.const_float(MOST_ROUNDS));
        if is_refilled {
            refilled = Some(self.enter_refilled(changed)?);
            let greatest = self.declare("llvm.vector.reduce.fmax", &[doubles])?;
            let greatest = self.builder.build_call(greatest, &[self.load(rounds)?.into()], "")?;
            let greatest = greatest.try_as_basic_value().basic().ok_or_else(missing)?.into_float_value();
            most = self.builder.build_float_sub(most, greatest, "")?;
        }
        self.loops += 1;
        let alive = self.entering(refilled.as_ref())?;
        let (head, end) = (self.block("round"), self.block("end"));
        let from = self.here()?;
        self.builder.build_unconditional_branch(head)?;
        self.builder.position_at_end(head);
        let live = self.builder.build_phi(self.truths, "live")?;
        live.add_incoming(&[(&alive, from)]);
        let round = self.builder.build_phi(double, "round")?;
        round.add_incoming(&[(&double.const_zero(), from)]);
        let live_lanes = live.as_basic_value().into_vector_value();
        self.mask = Some(live_lanes);
        self.burn(self.mask)?;
        self.builder.build_store(again, self.truths.const_zero())?;
        self.frame.round = Some(Round { next, again });
        let value = self.nodes(source)?;
        let Some(Round { next, .. }) = self.frame.round.take() else { return Err(missing()) };
        let calls = self.builder.build_load(self.truths, again, "")?.into_vector_value();
        let returns = self.builder.build_and(live_lanes, self.builder.build_not(calls, "")?, "")?;
        let known = self.load(result)?;
        let value = self.each(value)?;
        self.store(result, Wide::Each(self.choose(returns, value, known)?))?;
        for (place, local) in next.into_iter().zip(self.frame.locals.clone()) {
            let WideLocal::Place(parameter) = local else { return Err(missing()) };
            self.store(parameter, Wide::Each(self.load(place)?))?;
        }
        let number = round.as_basic_value().into_float_value();
        let number = self.builder.build_float_add(number, double.const_float(1.0), "")?;
        let are_many = self.builder.build_float_compare(FloatPredicate::OGE, number, most, "")?;
        self.loops -= 1;
        let go_on = self.block("go_on");
        // A lane that a loop inside has given up may seem to have returned. Where lanes have their own
        // rows, all that were in the round are given up.
        let given_up = if is_refilled { live_lanes } else { calls };
        self.stop_check(given_up, Some(are_many), is_refilled, go_on, end)?;
        self.builder.position_at_end(go_on);
        let goes_on = self.goes_on(refilled.as_ref(), calls)?;
        let here = self.here()?;
        live.add_incoming(&[(&calls, here)]);
        round.add_incoming(&[(&number, here)]);
        self.builder.build_conditional_branch(goes_on, head, end)?;
        self.builder.position_at_end(end);
        if let Some(refilled) = &refilled {
            let (before, made) = (Wide::Each(self.load(rounds)?), Wide::Every(number));
            let made = self.arithmetic(BinaryOp::Add, before, made)?;
            self.store(rounds, made)?;
            self.leave_loop(refilled)?;
        }
        let value = self.load(result)?;
        self.frame = outer;
        self.mask = outer_mask;
        if is_same { self.of_a_lane(value, alive).map(Wide::Every) } else { Ok(Wide::Each(value)) }
    }

    /// Returns the value of the lowest of some lanes; of any, if there are none.
    fn of_a_lane(&self, value: VectorValue<'c>, lanes: VectorValue<'c>) -> Result<FloatValue<'c>> {
        let i64 = self.types.context.i64_type();
        let lane = self.lowest_of(lanes)?;
        let lane = self.builder.build_and(lane, i64.const_int(u64::from(self.lanes - 1), false), "")?;
        Ok(self.builder.build_extract_element(value, lane, "")?.into_float_value())
    }

    /// Emits a call of the function itself, which is the last that it does in the lanes that are alive.
    pub(super) fn call_again(&mut self, arguments: &[Wide<'c>]) -> Result<()> {
        let Some(Round { next, again }) = &self.frame.round else { return Err(missing()) };
        let (next, again) = (next.clone(), *again);
        let alive = self.alive()?;
        for (place, argument) in next.into_iter().zip(arguments) {
            let (value, before) = (self.each(*argument)?, self.load(place)?);
            self.store(place, Wide::Each(self.choose(alive, value, before)?))?;
        }
        let before = self.builder.build_load(self.truths, again, "")?.into_vector_value();
        let calls = self.builder.build_or(before, alive, "")?;
        self.builder.build_store(again, calls)?;
        self.push(Wide::Every(self.types.double.const_zero()));
        Ok(())
    }
}
