//! Loops that run in strips: see [`strips`](crate::codegen::compiler::strips).
//!
//! In place of entering its first iteration, such a loop comes to a *guard*. While as many
//! iterations are left as the wide code has lanes, the guard enters a strip: the values of the
//! counter are stored, the parts are computed, the iterations run with the results, and the loop
//! polls and comes to the guard again. What is left runs as loops do, and so does everything from
//! where a part was asked to stop: there the run ends at the right place, with all that was done
//! before done.

#![allow(unsafe_code)]

use super::{ComputedAhead, IrLoop, IrLowering};
use crate::abi;
use crate::codegen::body::{Body, ColumnEntry, Entry};
use crate::codegen::compiler::library::predicate;
use crate::codegen::compiler::refusal::{Result, missing};
use crate::codegen::compiler::strips::{PartArgument, StripPart, Strips};
use crate::codegen::compiler::wide;
use crate::codegen::cost::calls_library;
use crate::host::counting::{COUNTERS, CounterComparison, STRIP as STRIP_ROWS};
use crate::syntax::operator::BinaryOp;
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::types::BasicType;
use inkwell::values::{FloatValue, FunctionValue, InstructionValue, IntValue, PointerValue};
use std::ops::Range;

/// The number of iterations of a strip.
const STRIP: u32 = STRIP_ROWS as u32;

/// Memory for a strip.
struct StripMemory<'c> {
    /// The counter in each iteration.
    counters: PointerValue<'c>,
    parts: Vec<PartCode<'c>>,
}

/// The code of a part, and memory for what it is given and for its results.
struct PartCode<'c> {
    code: FunctionValue<'c>,
    columns: PointerValue<'c>,
    values: PointerValue<'c>,
    results: PointerValue<'c>,
}

impl<'c> IrLowering<'_, 'c> {
    /// Emits the strips of a loop, from the guard on, where its counter has the value of its first
    /// iteration. Code elsewhere goes on in the blocks of `begun`.
    pub(super) fn strips(&mut self, strips: &Strips, begun: &IrLoop<'c>) -> Result<()> {
        let (Some(guard), Some(end)) = (begun.guard, begun.end) else { return Err(missing()) };
        let lanes = strips.parts.iter().map(|part| self.lanes(part)).max().ok_or_else(missing)?;
        let memory = self.strip_memory(strips)?;
        self.builder.position_at_end(guard);
        self.latest_truth = None;
        let counter = self.place(begun.variable)?;
        let first = self.load_double(counter)?;
        let (step, bound) = (self.value_of(&strips.step)?, self.value_of(&strips.bound)?);
        let comparison = predicate(strips.comparison).ok_or_else(missing)?;
        // Roughly, whether there are as many iterations as lanes, or as are worth it.
        let least = f64::from(strips.least.max(lanes) - 1);
        let far = self.builder.build_float_mul(step, self.types.double.const_float(least), "")?;
        let far = self.builder.build_float_add(first, far, "")?;
        let are_many = self.builder.build_float_compare(comparison, far, bound, "")?;
        let (begin, begun_strip) = (self.block("strip"), self.block("strip"));
        let (gave_up, stopped) = self.give_up(begun)?;
        let enters = match gave_up {
            None => are_many,
            Some(place) => {
                let gave_up = self.builder.build_load(self.types.context.bool_type(), place, "")?;
                let goes_on = self.builder.build_not(gave_up.into_int_value(), "")?;
                self.builder.build_and(are_many, goes_on, "")?
            }
        };
        self.builder.build_conditional_branch(enters, begin, begun.body)?;
        self.builder.position_at_end(begin);
        let count = self.fill(strips, memory.counters, [first, step, bound])?;
        let i64 = self.types.context.i64_type();
        let is_some = self.builder.build_int_compare(IntPredicate::NE, count, i64.const_zero(), "")?;
        self.builder.build_conditional_branch(is_some, begun_strip, begun.body)?;
        self.builder.position_at_end(begun_strip);
        // As many rows as lanes, or a multiple of that.
        let rest = i64.const_int(u64::from(lanes - 1), false);
        let rows = self.builder.build_int_add(count, rest, "")?;
        let rows = self.builder.build_and(rows, rest.const_not(), "rows")?;
        for (part, code) in strips.parts.iter().zip(&memory.parts) {
            self.run_part(part, code, &memory, rows, stopped)?;
        }
        let last = self.run_strip(strips, counter, &memory, count)?;
        let next = self.builder.build_float_add(last, step, "")?;
        self.builder.build_store(counter, next)?;
        let again = self.block("next");
        let goes_on = self.builder.build_float_compare(comparison, last, bound, "")?;
        self.builder.build_conditional_branch(goes_on, again, end)?;
        self.builder.position_at_end(again);
        self.iteration_check()?;
        self.jump(guard)?;
        self.latest_truth = None;
        Ok(())
    }

    /// Returns where the code goes on if a part is not complete; and, if the loop comes to its guard
    /// from there, where it is noted for the guard that it was not.
    fn give_up(&mut self, begun: &IrLoop<'c>) -> Result<(Option<PointerValue<'c>>, BasicBlock<'c>)> {
        if !begun.is_entered_later {
            return Ok((None, begun.body));
        }
        let bool = self.types.context.bool_type();
        let place = self.place_at_entry(bool)?;
        let here = self.here()?;
        let after = place.as_instruction().and_then(InstructionValue::get_next_instruction);
        self.builder.position_before(&after.ok_or_else(missing)?);
        self.builder.build_store(place, bool.const_zero())?;
        let stopped = self.block("stopped");
        self.builder.position_at_end(stopped);
        self.builder.build_store(place, bool.const_all_ones())?;
        self.jump(begun.body)?;
        self.builder.position_at_end(here);
        Ok((Some(place), stopped))
    }

    /// Returns how many rows the code of a part computes at once.
    fn lanes(&self, part: &StripPart) -> u32 {
        // Few, so that few are computed for nothing at the end of a loop.
        self.options.processor.lanes(false, calls_library(&part.function, &part.inline, &part.builtins))
    }

    /// Adds the code of the parts to the module. Returns memory for a strip: loops in strips are not
    /// inside each other, so all of a function use the same.
    fn strip_memory(&mut self, strips: &Strips) -> Result<StripMemory<'c>> {
        let (double, pointer) = (self.types.double, self.types.pointer);
        let rows = double.array_type(STRIP);
        while self.strip_rows.len() <= strips.parts.len() {
            let place = self.place_at_entry(rows)?;
            self.strip_rows.push(place);
        }
        let mut parts = Vec::with_capacity(strips.parts.len());
        for (part, results) in strips.parts.iter().zip(self.strip_rows[1..].to_vec()) {
            let arguments = part.arguments.len();
            let values = (arguments + part.variables().len()) as u32;
            parts.push(PartCode {
                code: self.part_code(part)?,
                columns: self.place_at_entry(pointer.array_type(arguments as u32))?,
                values: self.place_at_entry(double.array_type(values))?,
                results,
            });
        }
        Ok(StripMemory { counters: self.strip_rows[0], parts })
    }

    /// Adds the code of a part to the module.
    fn part_code(&self, part: &StripPart) -> Result<FunctionValue<'c>> {
        let is_every = |(_, argument): &(usize, &PartArgument)| matches!(argument, PartArgument::Local(_));
        let every = part.arguments.iter().enumerate().filter(is_every).fold(0, |set, (at, _)| set | 1 << at);
        let symbol = (0_u32..).map(|number| format!("{}$strip{number}", self.symbol));
        let is_free = |symbol: &String| self.module.get_function(symbol).is_none();
        let symbol = { symbol }.find(is_free).ok_or_else(missing)?;
        let entry = ColumnEntry { lanes: self.lanes(part), every, streams: false };
        let body = Body {
            function: &part.function,
            symbol: &symbol,
            inline: &part.inline,
            builtins: &part.builtins,
            hot_after: None,
            loads_numbers: false,
            entry: Entry::Columns(entry),
        };
        wide::body(self.module, body, entry, self.options)?;
        self.module.get_function(&symbol).ok_or_else(missing)
    }

    /// Stores the values of the counter of a strip; returns how many there are, 0 if a strip is not
    /// worth it.
    fn fill(
        &self,
        strips: &Strips,
        counters: PointerValue<'c>,
        [first, step, bound]: [FloatValue<'c>; 3],
    ) -> Result<IntValue<'c>> {
        let (double, i64) = (self.types.double, self.types.context.i64_type());
        let comparison = match strips.comparison {
            BinaryOp::Less => CounterComparison::Less,
            BinaryOp::LessEqual => CounterComparison::LessEqual,
            BinaryOp::Greater => CounterComparison::Greater,
            _ => CounterComparison::GreaterEqual,
        };
        let parameters = [
            self.types.pointer.into(),
            i64.into(),
            i64.into(),
            double.into(),
            double.into(),
            double.into(),
            double.into(),
        ];
        let declared = self.module.get_function(COUNTERS);
        let routine = declared
            .unwrap_or_else(|| self.module.add_function(COUNTERS, i64.fn_type(&parameters, false), None));
        let passed = [
            counters.into(),
            i64.const_int(comparison as u64, false).into(),
            i64.const_int(strips.is_light.into(), false).into(),
            first.into(),
            step.into(),
            bound.into(),
            double.const_float(strips.scale).into(),
        ];
        let count = self.builder.build_call(routine, &passed, "count")?;
        Ok(count.try_as_basic_value().basic().ok_or_else(missing)?.into_int_value())
    }

    // --- running ------------------------------------------------------------

    /// Computes a part for as many rows. Where it is asked to stop, the code goes on in `stopped`.
    fn run_part(
        &mut self,
        part: &StripPart,
        PartCode { code, columns, values, results }: &PartCode<'c>,
        memory: &StripMemory<'c>,
        rows: IntValue<'c>,
        stopped: BasicBlock<'c>,
    ) -> Result<()> {
        let (double, pointer) = (self.types.double, self.types.pointer);
        for (at, argument) in (0_u64..).zip(&part.arguments) {
            let column = match argument {
                PartArgument::Counter => memory.counters,
                PartArgument::Part(other) => memory.parts.get(*other).ok_or_else(missing)?.results,
                PartArgument::Local(local) => {
                    self.load_local(*local)?;
                    let value = self.pop()?;
                    self.builder.build_store(self.element(double, *values, at)?, value)?;
                    continue;
                }
            };
            self.builder.build_store(self.element(pointer, *columns, at)?, column)?;
        }
        for (at, name) in (part.arguments.len() as u64..).zip(part.variables()) {
            self.load_variable(name)?;
            let value = self.pop()?;
            self.builder.build_store(self.element(double, *values, at)?, value)?;
        }
        let requests = self.types.word(&self.builder, self.context, abi::REQUESTS)?;
        let fuel = pointer.const_null();
        let passed = [
            requests.into(),
            (*columns).into(),
            (*values).into(),
            (*results).into(),
            rows.into(),
            fuel.into(),
        ];
        let complete = self.builder.build_call(*code, &passed, "")?;
        let complete = complete.try_as_basic_value().basic().ok_or_else(missing)?.into_int_value();
        let is_complete = self.builder.build_int_compare(IntPredicate::EQ, complete, rows, "")?;
        let go_on = self.block("computed");
        self.builder.build_conditional_branch(is_complete, go_on, stopped)?;
        self.builder.position_at_end(go_on);
        Ok(())
    }

    /// Runs the iterations of a strip, with what was computed. Returns the value of the counter in the
    /// last.
    fn run_strip(
        &mut self,
        strips: &Strips,
        counter: PointerValue<'c>,
        memory: &StripMemory<'c>,
        count: IntValue<'c>,
    ) -> Result<FloatValue<'c>> {
        let (head, end) = (self.block("iteration"), self.block("strip_end"));
        let from = self.here()?;
        self.jump(head)?;
        self.builder.position_at_end(head);
        let i64 = self.types.context.i64_type();
        let iterations = self.builder.build_phi(i64, "number")?;
        iterations.add_incoming(&[(&i64.const_zero(), from)]);
        let number = iterations.as_basic_value().into_int_value();
        let value = self.load_double(self.in_strip(memory.counters, number)?)?;
        self.builder.build_store(counter, value)?;
        let mut ahead = Vec::with_capacity(strips.parts.len());
        for (part, code) in strips.parts.iter().zip(&memory.parts) {
            let value = self.load_double(self.in_strip(code.results, number)?)?;
            ahead.push(ComputedAhead { nodes: part.nodes.clone(), value });
        }
        self.nodes(strips.body.clone(), &ahead)?;
        self.pop()?;
        let done = self.builder.build_int_add(number, i64.const_int(1, false), "")?;
        let more = self.builder.build_int_compare(IntPredicate::ULT, done, count, "")?;
        iterations.add_incoming(&[(&done, self.here()?)]);
        self.builder.build_conditional_branch(more, head, end)?;
        self.builder.position_at_end(end);
        Ok(value)
    }

    /// Returns the value of an expression.
    fn value_of(&mut self, nodes: &Range<usize>) -> Result<FloatValue<'c>> {
        self.nodes(nodes.clone(), &[])?;
        self.pop()
    }

    fn load_double(&self, place: PointerValue<'c>) -> Result<FloatValue<'c>> {
        Ok(self.builder.build_load(self.types.double, place, "")?.into_float_value())
    }

    /// Returns where memory for a strip has the value of an iteration.
    fn in_strip(&self, memory: PointerValue<'c>, number: IntValue<'c>) -> Result<PointerValue<'c>> {
        // SAFETY: a strip has no more iterations than the memory has room for.
        Ok(unsafe { self.builder.build_in_bounds_gep(self.types.double, memory, &[number], "")? })
    }

    /// Returns the address of an element of an array.
    fn element(
        &self,
        kind: impl BasicType<'c>,
        array: PointerValue<'c>,
        at: u64,
    ) -> Result<PointerValue<'c>> {
        let at = self.types.context.i64_type().const_int(at, false);
        // SAFETY: the arrays have an element for each argument, and for each variable that is passed.
        Ok(unsafe { self.builder.build_in_bounds_gep(kind.as_basic_type_enum(), array, &[at], "")? })
    }
}
