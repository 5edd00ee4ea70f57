//! Branches and loops in every lane: which lanes are alive where.

use super::WideLowering;
use super::construct::{Side, WideConstruct, WideLoop, is_heavy};
use super::value::{Mask, Wide, WideLocal, WideTruth};
use crate::codegen::compiler::refusal::{Result, missing};
use crate::sema::checked::CheckedNode;
use crate::syntax::operator::BinaryOp;
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::{IntValue, PointerValue, VectorValue};
use rustc_hash::FxHashSet;

impl<'c> WideLowering<'_, 'c> {
    /// Returns the lanes of the mask that have a truth.
    fn among(&self, mask: Mask<'c>, truth: WideTruth<'c>) -> Result<VectorValue<'c>> {
        let truth = self.each_truth(truth)?;
        mask.map_or(Ok(truth), |mask| Ok(self.builder.build_and(mask, truth, "")?))
    }

    /// Returns the lanes that are alive.
    pub(super) fn alive(&self) -> Result<VectorValue<'c>> {
        let all = self.types.context.bool_type().const_all_ones();
        self.mask.map_or_else(|| self.splat_truth(all), Ok)
    }

    fn opposite(&self, truth: WideTruth<'c>) -> Result<WideTruth<'c>> {
        Ok(match truth {
            WideTruth::Every(truth) => WideTruth::Every(self.builder.build_not(truth, "")?),
            WideTruth::Each(truth) => WideTruth::Each(self.builder.build_not(truth, "")?),
        })
    }

    /// Begins what is needed where `truth` holds. If that is the same in every row it is a
    /// branch; else a mask, and a branch if it may save time.
    fn begin_side(&mut self, truth: WideTruth<'c>) -> Result<Side<'c>> {
        let begin = self.frame.at;
        let end = self.frame.marks.end(begin).ok_or_else(missing)?;
        let outer = self.mask;
        let needed = match truth {
            WideTruth::Every(truth) => Some(truth),
            WideTruth::Each(_) => {
                let mask = self.among(outer, truth)?;
                self.mask = Some(mask);
                let is_heavy = is_heavy(self.frame.source, begin..end, &self.callees, &self.builtins);
                is_heavy.then(|| self.any(mask)).transpose()?
            }
        };
        let Some(needed) = needed else { return Ok(Side { outer, skip: None }) };
        let (side, after) = (self.block("side"), self.block("end"));
        let before = self.here()?;
        self.builder.build_conditional_branch(needed, side, after)?;
        self.builder.position_at_end(side);
        Ok(Side { outer, skip: Some((before, after)) })
    }

    /// Ends such a part; returns its value, which is 0 where it was skipped.
    fn end_side(&mut self, side: &Side<'c>, value: Wide<'c>) -> Result<Wide<'c>> {
        self.mask = side.outer;
        let Some((before, after)) = side.skip else { return Ok(value) };
        // Before the jump, where it may become a vector.
        let from = self.here()?;
        self.builder.build_unconditional_branch(after)?;
        self.builder.position_at_end(after);
        let zero = Wide::Every(self.types.double.const_zero());
        self.merge([(zero, before), (value, from)])
    }

    /// Merges two values that come from these blocks, in the present block.
    pub(super) fn merge(&mut self, values: [(Wide<'c>, BasicBlock<'c>); 2]) -> Result<Wide<'c>> {
        let meet = self.here()?;
        if let [(Wide::Every(one), from_one), (Wide::Every(other), from_other)] = values {
            let phi = self.builder.build_phi(self.types.double, "")?;
            phi.add_incoming(&[(&one, from_one), (&other, from_other)]);
            return Ok(Wide::Every(phi.as_basic_value().into_float_value()));
        }
        let mut vectors = Vec::with_capacity(values.len());
        for (value, from) in values {
            let end = from.get_terminator().ok_or_else(missing)?;
            self.builder.position_before(&end);
            vectors.push((self.each(value)?, from));
        }
        self.builder.position_at_end(meet);
        let phi = self.builder.build_phi(self.doubles, "")?;
        for (value, from) in &vectors {
            phi.add_incoming(&[(value, *from)]);
        }
        Ok(Wide::Each(phi.as_basic_value().into_vector_value()))
    }

    pub(super) fn begin_short_circuit(&mut self, op: BinaryOp) -> Result<()> {
        let left = self.pop()?;
        let left = self.truth(left)?;
        let asks = if op == BinaryOp::And { left } else { self.opposite(left)? };
        let right = self.begin_side(asks)?;
        self.frame.open.push(WideConstruct::ShortCircuit { left, right });
        Ok(())
    }

    pub(super) fn end_short_circuit(&mut self, op: BinaryOp) -> Result<()> {
        let Some(WideConstruct::ShortCircuit { left, right: side }) = self.frame.open.pop() else {
            return Err(missing());
        };
        let right = self.pop()?;
        let right = self.number(self.truth(right)?)?;
        let right = self.end_side(&side, right)?;
        let right = self.truth(right)?;
        let truth = match (op, left, right) {
            (BinaryOp::And, WideTruth::Every(left), WideTruth::Every(right)) => {
                WideTruth::Every(self.builder.build_and(left, right, "")?)
            }
            (_, WideTruth::Every(left), WideTruth::Every(right)) => {
                WideTruth::Every(self.builder.build_or(left, right, "")?)
            }
            (op, left, right) => {
                let (left, right) = (self.each_truth(left)?, self.each_truth(right)?);
                WideTruth::Each(match op {
                    BinaryOp::And => self.builder.build_and(left, right, "")?,
                    _ => self.builder.build_or(left, right, "")?,
                })
            }
        };
        let value = self.number(truth)?;
        self.push(value);
        Ok(())
    }

    pub(super) fn then(&mut self) -> Result<()> {
        let condition = self.pop()?;
        let truth = self.truth(condition)?;
        let then = self.begin_side(truth)?;
        self.frame.open.push(WideConstruct::Then { truth, then });
        Ok(())
    }

    pub(super) fn otherwise(&mut self) -> Result<()> {
        let Some(WideConstruct::Then { truth, then }) = self.frame.open.pop() else {
            return Err(missing());
        };
        let value = self.pop()?;
        let value = self.end_side(&then, value)?;
        let opposite = self.opposite(truth)?;
        let otherwise = self.begin_side(opposite)?;
        self.frame.open.push(WideConstruct::Else { truth, value, otherwise });
        Ok(())
    }

    pub(super) fn end_if(&mut self) -> Result<()> {
        let Some(WideConstruct::Else { truth, value, otherwise }) = self.frame.open.pop() else {
            return Err(missing());
        };
        let other = self.pop()?;
        let other = self.end_side(&otherwise, other)?;
        let value = self.select(truth, value, other)?;
        self.push(value);
        Ok(())
    }

    pub(super) fn begin_loop(&mut self, variable: u32) -> Result<()> {
        let start = self.pop()?;
        self.bind(variable, start)?;
        let outer = self.mask;
        let (body, condition, step) = (self.block("body"), self.block("condition"), self.block("step"));
        let is_uniform = self.frame.uniform.is_loop(self.frame.at);
        let refilled = match self.is_refilled() && !is_uniform {
            true => Some(self.enter_refilled(self.changed_places(self.frame.at))?),
            false => None,
        };
        self.loops += 1;
        let alive = self.entering(refilled.as_ref())?;
        let from = self.here()?;
        self.builder.build_unconditional_branch(body)?;
        self.builder.position_at_end(body);
        let live = if is_uniform {
            None
        } else {
            let live = self.builder.build_phi(self.truths, "live")?;
            live.add_incoming(&[(&alive, from)]);
            self.mask = Some(live.as_basic_value().into_vector_value());
            Some(live)
        };
        self.builder.position_at_end(condition);
        let (decision, increment) = (None, None);
        let begun = WideLoop { variable, outer, live, refilled, body, condition, step, decision, increment };
        self.frame.open.push(WideConstruct::Loop(begun));
        Ok(())
    }

    /// Returns where the locals are kept that the loop which begins at a node assigns, and that were
    /// bound before.
    fn changed_places(&self, begin: usize) -> Vec<PointerValue<'c>> {
        let (mut depth, mut changed, mut bound) = (0_usize, FxHashSet::default(), FxHashSet::default());
        for (at, node) in self.frame.source.nodes.iter().enumerate().skip(begin) {
            match node {
                CheckedNode::ForVariable(local) => {
                    depth += 1;
                    if at == begin {
                        changed.insert(*local)
                    } else {
                        bound.insert(*local)
                    };
                }
                CheckedNode::SetLocal(local) => _ = changed.insert(*local),
                CheckedNode::Bind(local) => _ = bound.insert(*local),
                CheckedNode::For => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                _ => {}
            }
        }
        let place = |(index, local): (usize, &WideLocal<'c>)| match local {
            WideLocal::Place(place) => {
                let index = index as u32;
                (changed.contains(&index) && !bound.contains(&index)).then_some(*place)
            }
            WideLocal::Unbound | WideLocal::Value(_) | WideLocal::Single(_) => None,
        };
        self.frame.locals.iter().enumerate().filter_map(place).collect()
    }

    fn innermost_loop(&mut self) -> Result<&mut WideLoop<'c>> {
        match self.frame.open.last_mut() {
            Some(WideConstruct::Loop(innermost)) => Ok(innermost),
            _ => Err(missing()),
        }
    }

    pub(super) fn loop_condition(&mut self) -> Result<()> {
        let condition = self.pop()?;
        let decision = (self.truth(condition)?, self.here()?);
        let innermost = self.innermost_loop()?;
        innermost.decision = Some(decision);
        let step = innermost.step;
        self.builder.position_at_end(step);
        Ok(())
    }

    pub(super) fn loop_step(&mut self) -> Result<()> {
        let increment = self.pop()?;
        let innermost = self.innermost_loop()?;
        innermost.increment = Some(increment);
        let (condition, body) = (innermost.condition, innermost.body);
        self.builder.build_unconditional_branch(condition)?;
        self.builder.position_at_end(body);
        Ok(())
    }

    pub(super) fn end_loop(&mut self) -> Result<()> {
        let Some(WideConstruct::Loop(WideLoop {
            variable,
            outer,
            live,
            refilled,
            body,
            step,
            decision,
            increment,
            ..
        })) = self.frame.open.pop()
        else {
            return Err(missing());
        };
        let (Some((truth, decided)), Some(increment)) = (decision, increment) else { return Err(missing()) };
        self.pop()?;
        let end = self.block("end");
        self.burn(self.mask)?;
        let alive = self.alive()?;
        self.loops -= 1;
        self.stop_check(alive, None, refilled.is_some(), step, end)?;
        self.builder.position_at_end(decided);
        let next = self.arithmetic(BinaryOp::Add, self.read(variable)?, increment)?;
        // In lanes that have left the loop as well: they do not see it.
        self.bind(variable, next)?;
        let again = match (live, truth) {
            (None, WideTruth::Every(again)) => again,
            (None, WideTruth::Each(_)) => return Err(missing()),
            (Some(live), truth) => {
                let again = self.among(self.mask, truth)?;
                let goes_on = self.goes_on(refilled.as_ref(), again)?;
                live.add_incoming(&[(&again, self.here()?)]);
                goes_on
            }
        };
        self.builder.build_conditional_branch(again, body, end)?;
        self.builder.position_at_end(end);
        refilled.iter().try_for_each(|refilled| self.leave_loop(refilled))?;
        self.mask = outer;
        self.push(Wide::Every(self.types.double.const_zero()));
        Ok(())
    }

    /// Emits a poll of the word that asks to stop, and of the fuel, at the end of a round.
    /// The lowest lane that is in the loop, and those after it, are then given up, and the
    /// loop ends. What is below goes on: it has left the loop before. The same happens where
    /// `gives_up` is true. Of a loop whose lanes are filled again, those that are in it are noted.
    pub(super) fn stop_check(
        &mut self,
        alive: VectorValue<'c>,
        gives_up: Option<IntValue<'c>>,
        is_refilled: bool,
        go_on: BasicBlock<'c>,
        end: BasicBlock<'c>,
    ) -> Result<()> {
        let i64 = self.types.context.i64_type();
        // Lanes that a loop inside has given up are in this one.
        let may_have_given_up = self.gives_up || (is_refilled && self.lowest.is_some());
        let lowest = self.lowest()?;
        let word = self.builder.build_load(i64, self.stop, "")?.into_int_value();
        let load = word.as_instruction().ok_or_else(missing)?;
        load.set_volatile(true).map_err(|_| missing())?;
        let mut asked = self.builder.build_int_compare(IntPredicate::NE, word, i64.const_zero(), "")?;
        if let Some(is_out) = self.is_out_of_fuel()? {
            asked = self.builder.build_or(asked, is_out, "")?;
        }
        if let Some(gives_up) = gives_up {
            asked = self.builder.build_or(asked, gives_up, "")?;
        }
        if may_have_given_up {
            // A lane that is given up has any values, with which a loop may not end.
            let lanes = i64.const_int(self.lanes.into(), false);
            let before = self.builder.build_load(i64, lowest, "")?.into_int_value();
            let has_given_up = self.builder.build_int_compare(IntPredicate::ULT, before, lanes, "")?;
            asked = self.builder.build_or(asked, has_given_up, "")?;
        }
        let stops = self.block("stops");
        self.builder.build_conditional_branch(asked, stops, go_on)?;
        self.builder.position_at_end(stops);
        if is_refilled {
            self.note_left(alive)?;
        }
        let lane = self.lowest_of(alive)?;
        let before = self.builder.build_load(i64, lowest, "")?.into_int_value();
        let is_lower = self.builder.build_int_compare(IntPredicate::ULT, lane, before, "")?;
        let lane = self.builder.build_select(is_lower, lane, before, "")?.into_int_value();
        self.builder.build_store(lowest, lane)?;
        self.builder.build_unconditional_branch(end)?;
        Ok(())
    }

    /// Returns the number of the lowest of some lanes; the number of all lanes if there are none.
    pub(super) fn lowest_of(&self, lanes: VectorValue<'c>) -> Result<IntValue<'c>> {
        let bits = self.bits(lanes)?;
        let count = self.declare("llvm.cttz", &[bits.get_type().into()])?;
        let is_poison = self.types.context.bool_type().const_zero();
        let lane = self.builder.build_call(count, &[bits.into(), is_poison.into()], "")?;
        let lane = lane.try_as_basic_value().basic().ok_or_else(missing)?.into_int_value();
        Ok(self.builder.build_int_z_extend_or_bit_cast(lane, self.types.context.i64_type(), "")?)
    }
}
