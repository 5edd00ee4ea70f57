//! Lanes that have left a loop are filled again while others are still in it.
//!
//! Rows make different numbers of rounds: of points in a square some are in Mandelbrot's set and
//! most are not. Lanes that have left the loop would wait for the last one. So where there is one
//! loop outside of all others, it is also left when the waiting has cost as much as it costs
//! to begin new rows: what lanes have as a result is stored, those that have left the loop get
//! the next rows, and all come to the loop again. What is before the loop is computed again in the
//! lanes that go on, from the same arguments: it comes to the same, as it depends on nothing
//! else. The variables that the loop assigns are put back for them.
//!
//! It is what Lang and others call refilling: "Make the most out of your SIMD investments:
//! counter control flow divergence in compiled query pipelines", The VLDB Journal 29, 2020. That
//! the cost of waiting decides is the rule of the ski rental problem: what is lost is at most
//! twice what one who knew the rounds would lose.

use super::construct::{Refill, RefilledLoop};
use super::value::Wide;
use super::{ArgumentSource, RowLoop, WideLowering};
use crate::codegen::body::ColumnEntry;
use crate::codegen::compiler::refusal::{Result, missing};
use crate::codegen::rounds::DifferentRounds;
use crate::host::refilling::{APART, FIELDS, REFILL, RefilledField};
use inkwell::IntPredicate;
use inkwell::values::{BasicValue, BasicValueEnum, IntValue, PointerValue, VectorValue};
use std::num::NonZero;

impl<'c> WideLowering<'_, 'c> {
    /// Emits the beginning of one round of the loop over the rows, up to its arguments.
    pub(super) fn begin_refilled(
        &mut self,
        rounds: DifferentRounds,
        entry: ColumnEntry,
        rows: &mut RowLoop<'c>,
    ) -> Result<Refill<'c>> {
        let i64 = self.types.context.i64_type();
        let lanes = NonZero::new(self.lanes).ok_or_else(missing)?;
        let bits = self.types.context.custom_width_int_type(lanes).map_err(|_| missing())?;
        let (carried, active) = (self.allocate(bits.into())?, self.allocate(bits.into())?);
        let (left, filled) = (self.allocate(bits.into())?, self.allocate(bits.into())?);
        let limit = self.allocate(i64.into())?;
        let columns =
            rows.sources.iter().filter(|source| matches!(source, ArgumentSource::Column(_))).count();
        let in_lanes = self.allocate(self.doubles.array_type(columns as u32).into())?;
        let row_numbers = self.allocate(i64.vec_type(self.lanes).into())?;
        let results = self.allocate(self.doubles.into())?;
        let fields = self.allocate(i64.array_type(FIELDS).into())?;
        self.store_fields(fields, entry, rows, [in_lanes, row_numbers, results])?;
        let at_entry = self.at_entry()?;
        at_entry.build_store(carried, bits.const_zero())?;
        at_entry.build_store(filled, bits.const_zero())?;
        let [again, fresh, whole, ending, rest, start] =
            ["again", "fresh", "whole", "ending", "rest", "start"].map(|name| self.block(name));
        let active_lanes = self.builder.build_load(bits, filled, "")?.into_int_value();
        let was_filled =
            self.builder.build_int_compare(IntPredicate::NE, active_lanes, bits.const_zero(), "")?;
        self.builder.build_conditional_branch(was_filled, again, fresh)?;
        self.builder.position_at_end(fresh);
        let row = self.load_number(rows.next)?;
        let next = self.builder.build_int_add(row, i64.const_int(self.lanes.into(), false), "")?;
        let fits = self.builder.build_int_compare(IntPredicate::ULE, next, rows.number, "")?;
        self.builder.build_conditional_branch(fits, whole, ending)?;
        self.builder.position_at_end(ending);
        let is_left = self.builder.build_int_compare(IntPredicate::ULT, row, rows.number, "")?;
        self.builder.build_conditional_branch(is_left, rest, rows.done)?;
        self.builder.position_at_end(whole);
        let successive = self.arguments(&rows.sources, row)?;
        self.builder.build_store(rows.next, next)?;
        self.builder.build_store(active, bits.const_all_ones())?;
        self.builder.build_unconditional_branch(start)?;
        self.builder.position_at_end(again);
        self.builder.build_store(active, active_lanes)?;
        self.builder.build_store(filled, bits.const_zero())?;
        let load = |index| {
            self.load(self.element(self.doubles.into(), in_lanes, i64.const_int(index as u64, false))?)
        };
        let loaded = (0..columns).map(load).collect::<Result<Vec<_>>>()?;
        self.builder.build_unconditional_branch(start)?;
        self.builder.position_at_end(start);
        let first = self.builder.build_phi(i64, "first")?;
        first.add_incoming(&[(&row, whole), (&i64.const_int(APART, false), again)]);
        let mut loaded = loaded.into_iter();
        for argument in successive {
            rows.arguments.push(match argument {
                Wide::Every(value) => Wide::Every(value),
                Wide::Each(value) => {
                    let phi = self.builder.build_phi(self.doubles, "")?;
                    phi.add_incoming(&[(&value, whole), (&loaded.next().ok_or_else(missing)?, again)]);
                    Wide::Each(phi.as_basic_value().into_vector_value())
                }
            });
        }
        self.builder.build_store(left, bits.const_zero())?;
        // There is nothing to fill lanes with after the last row.
        let next = self.load_number(rows.next)?;
        let is_left = self.builder.build_int_compare(IntPredicate::ULT, next, rows.number, "")?;
        let most = i64.const_int(rounds.worth_waiting as u64 * u64::from(self.lanes), false);
        let most = self.builder.build_select(is_left, most, i64.const_all_ones(), "")?;
        self.builder.build_store(limit, most)?;
        let first = first.as_basic_value().into_int_value();
        Ok(Refill { bits, carried, active, left, limit, filled, lanes: fields, results, first, rest })
    }

    /// Stores what the library gets of the lanes; sets where it finds the row that is begun next.
    fn store_fields(
        &self,
        fields: PointerValue<'c>,
        entry: ColumnEntry,
        rows: &mut RowLoop<'c>,
        [arguments, row_numbers, results]: [PointerValue<'c>; 3],
    ) -> Result<()> {
        let i64 = self.types.context.i64_type();
        let Some(BasicValueEnum::PointerValue(columns)) = self.function.get_nth_param(1) else {
            return Err(missing());
        };
        let number = |value: u64| i64.const_int(value, false).as_basic_value_enum();
        for (field, value) in [
            (RefilledField::Columns, columns.as_basic_value_enum()),
            (RefilledField::Every, number(entry.every)),
            (RefilledField::Parameters, number(rows.sources.len() as u64)),
            (RefilledField::Output, rows.output.as_basic_value_enum()),
            (RefilledField::Number, rows.number.as_basic_value_enum()),
            (RefilledField::Lanes, number(self.lanes.into())),
            (RefilledField::Arguments, arguments.as_basic_value_enum()),
            (RefilledField::Rows, row_numbers.as_basic_value_enum()),
            (RefilledField::Results, results.as_basic_value_enum()),
            (RefilledField::Next, number(0)),
        ] {
            self.store_field(fields, field, value)?;
        }
        rows.next = self.field(fields, RefilledField::Next)?;
        Ok(())
    }

    /// Returns the place of a field of what the library gets.
    fn field(&self, fields: PointerValue<'c>, field: RefilledField) -> Result<PointerValue<'c>> {
        let i64 = self.types.context.i64_type();
        let index = i64.const_int(field as u64, false);
        // SAFETY: there are as many fields.
        Ok(unsafe { self.at_entry()?.build_in_bounds_gep(i64, fields, &[index], "")? })
    }

    /// Stores a field at the beginning of the function.
    fn store_field(
        &self,
        fields: PointerValue<'c>,
        field: RefilledField,
        value: BasicValueEnum<'c>,
    ) -> Result<()> {
        let place = self.field(fields, field)?;
        self.at_entry()?.build_store(place, value)?;
        Ok(())
    }

    /// Emits the end of the loop over the rows, which stores the results and fills lanes again, and
    /// of the function.
    pub(super) fn end_refilled(
        &mut self,
        refill: &Refill<'c>,
        rows: &RowLoop<'c>,
        value: Wide<'c>,
    ) -> Result<()> {
        let (bits, i64) = (refill.bits, self.types.context.i64_type());
        let (left, active) = (self.load_bits(refill, refill.left)?, self.load_bits(refill, refill.active)?);
        let complete = self.builder.build_and(active, self.builder.build_not(left, "")?, "")?;
        let none_left = self.builder.build_int_compare(IntPredicate::EQ, left, bits.const_zero(), "")?;
        let zero = self.each(Wide::Every(self.types.double.const_zero()))?;
        let of_complete = self.choose(self.truths_of(complete)?, self.each(value)?, zero)?;
        self.note_nan(rows, Wide::Each(of_complete))?;
        let [successive, apart, call] = ["successive", "apart", "refill"].map(|name| self.block(name));
        let no_row = i64.const_int(APART, false);
        let are_successive = self.builder.build_int_compare(IntPredicate::NE, refill.first, no_row, "")?;
        let are_whole = self.builder.build_and(are_successive, none_left, "")?;
        self.builder.build_conditional_branch(are_whole, successive, apart)?;
        self.builder.position_at_end(successive);
        self.store(self.element(self.types.double.into(), rows.output, refill.first)?, value)?;
        self.builder.build_unconditional_branch(rows.head)?;

        self.builder.position_at_end(apart);
        self.store(refill.results, value)?;
        self.builder.build_unconditional_branch(call)?;
        self.builder.position_at_end(refill.rest);
        self.builder.build_unconditional_branch(call)?;
        self.builder.position_at_end(call);
        let none = bits.const_zero();
        let mut merged = Vec::with_capacity(3);
        for (known, at_rest) in [(complete, none), (left, none), (refill.first, no_row)] {
            let phi = self.builder.build_phi(known.get_type(), "")?;
            phi.add_incoming(&[(&known, apart), (&at_rest, refill.rest)]);
            merged.push(phi.as_basic_value().into_int_value());
        }
        let [complete, left, first] = merged[..] else { return Err(missing()) };
        let mut is_stopped = i64.const_zero();
        let none_stopped = i64.const_int(self.lanes.into(), false);
        let lowest = self.lowest.map(|place| self.load_number(place)).transpose()?;
        if let Some(lowest) = lowest {
            let stopped = self.builder.build_int_compare(IntPredicate::ULT, lowest, none_stopped, "")?;
            is_stopped = self.builder.build_int_z_extend(stopped, i64, "")?;
        }
        let known = self.module.get_function(REFILL);
        let parameters = [self.types.pointer.into(), i64.into(), i64.into(), i64.into(), i64.into()];
        let function =
            known.unwrap_or_else(|| self.module.add_function(REFILL, i64.fn_type(&parameters, false), None));
        let complete = self.builder.build_int_z_extend_or_bit_cast(complete, i64, "")?;
        let left_lanes = self.builder.build_int_z_extend_or_bit_cast(left, i64, "")?;
        let passed =
            [refill.lanes.into(), complete.into(), left_lanes.into(), first.into(), is_stopped.into()];
        let given = self.builder.build_call(function, &passed, "")?;
        let given = given.try_as_basic_value().basic().ok_or_else(missing)?.into_int_value();
        if lowest.is_some() {
            let (stopped, go_on) = (self.block("stopped"), self.block("go_on"));
            let has_stopped =
                self.builder.build_int_compare(IntPredicate::NE, is_stopped, i64.const_zero(), "")?;
            self.builder.build_conditional_branch(has_stopped, stopped, go_on)?;
            self.builder.position_at_end(stopped);
            self.builder.build_store(rows.complete, given)?;
            self.builder.build_unconditional_branch(rows.done)?;
            self.builder.position_at_end(go_on);
        }
        let filled = self.builder.build_int_truncate_or_bit_cast(given, bits, "")?;
        self.builder.build_store(refill.filled, filled)?;
        self.builder.build_store(refill.carried, left)?;
        self.builder.build_unconditional_branch(rows.head)?;
        self.finish(rows)
    }

    fn load_bits(&self, refill: &Refill<'c>, place: PointerValue<'c>) -> Result<IntValue<'c>> {
        Ok(self.builder.build_load(refill.bits, place, "")?.into_int_value())
    }

    // --- the loop ---------------------------------------------------------

    /// Returns whether what begins here is the loop whose lanes are filled again.
    pub(super) fn is_refilled(&self) -> bool {
        self.refill.is_some() && self.loops == 0
    }

    /// Emits the beginning of that loop, which changes variables at these places: for lanes that go
    /// on, their values are put back.
    pub(super) fn enter_refilled(&mut self, places: Vec<PointerValue<'c>>) -> Result<RefilledLoop<'c>> {
        let refill = self.refill.as_ref().ok_or_else(missing)?;
        let carried = self.truths_of(self.load_bits(refill, refill.carried)?)?;
        let i64 = self.types.context.i64_type();
        // The library gets its address, so that it stays in memory: registers are for the loop.
        let memory = self.allocate(self.doubles.array_type(places.len() as u32).into())?;
        self.store_field(refill.lanes, RefilledField::Kept, memory.into())?;
        let mut kept = Vec::with_capacity(places.len());
        for (index, place) in places.into_iter().enumerate() {
            let keeps = self.element(self.doubles.into(), memory, i64.const_int(index as u64, false))?;
            let value = self.choose(carried, self.load(keeps)?, self.load(place)?)?;
            self.store(place, Wide::Each(value))?;
            kept.push((place, keeps));
        }
        let waited = self.allocate(i64.into())?;
        self.builder.build_store(waited, i64.const_zero())?;
        Ok(RefilledLoop { kept, waited })
    }

    /// Returns the lanes that enter a loop: those that are alive, and have rows if its lanes are filled
    /// again.
    pub(super) fn entering(&self, refilled: Option<&RefilledLoop<'c>>) -> Result<VectorValue<'c>> {
        if refilled.is_none() {
            return self.alive();
        }
        let refill = self.refill.as_ref().ok_or_else(missing)?;
        let with_rows = self.truths_of(self.load_bits(refill, refill.active)?)?;
        Ok(self.builder.build_and(self.alive()?, with_rows, "")?)
    }

    /// Returns whether a loop goes on with these lanes, of which it takes note if lanes are filled again.
    pub(super) fn goes_on(
        &self,
        refilled: Option<&RefilledLoop<'c>>,
        lanes: VectorValue<'c>,
    ) -> Result<IntValue<'c>> {
        let Some(looping) = refilled else { return self.any(lanes) };
        let refill = self.refill.as_ref().ok_or_else(missing)?;
        let i64 = self.types.context.i64_type();
        let bits = self.note_left(lanes)?;
        let count = self.declare("llvm.ctpop", &[bits.get_type().into()])?;
        let count = self.builder.build_call(count, &[bits.into()], "")?;
        let count = count.try_as_basic_value().basic().ok_or_else(missing)?.into_int_value();
        let count = self.builder.build_int_z_extend_or_bit_cast(count, i64, "")?;
        let idle = self.builder.build_int_sub(i64.const_int(self.lanes.into(), false), count, "")?;
        let waited = self.builder.build_int_add(self.load_number(looping.waited)?, idle, "")?;
        self.builder.build_store(looping.waited, waited)?;
        let limit = self.load_number(refill.limit)?;
        let may_wait = self.builder.build_int_compare(IntPredicate::ULT, waited, limit, "")?;
        let any = self.builder.build_int_compare(IntPredicate::NE, bits, bits.get_type().const_zero(), "")?;
        Ok(self.builder.build_and(any, may_wait, "")?)
    }

    /// Takes note of the lanes that are in the loop, and returns them by bit.
    pub(super) fn note_left(&self, lanes: VectorValue<'c>) -> Result<IntValue<'c>> {
        let refill = self.refill.as_ref().ok_or_else(missing)?;
        let bits = self.bits(lanes)?;
        self.builder.build_store(refill.left, bits)?;
        Ok(bits)
    }

    /// Emits the end of that loop.
    pub(super) fn leave_loop(&self, looping: &RefilledLoop<'c>) -> Result<()> {
        for (place, keeps) in &looping.kept {
            self.store(*keeps, Wide::Each(self.load(*place)?))?;
        }
        Ok(())
    }
}
