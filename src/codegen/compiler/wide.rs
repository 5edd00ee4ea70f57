//! Wide lowering: code that computes many rows of columns at once.
//!
//! The same walk over a checked body as in [`lower`](super::lower), but a value is a
//! vector with a *lane* for each row. Where rows go different ways, both ways are taken,
//! each under a *mask* of the rows that go it: an `if` whose condition differs becomes a
//! selection, and a loop goes on while any lane does. It is the model of execution of ISPC
//! (Pharr and Mark, "ispc: A SPMD compiler for high-performance CPU programming", 2012).
//!
//! What is the same in every row, since it depends only on numbers, on variables of the
//! context and on arguments that are given once, stays one double, and its branches and loops
//! stay branches and loops ([`uniform`](crate::codegen::uniform)). All callees are part of the code, and nothing is called but functions that
//! compute a double and do nothing else. So in a lane that is masked anything may be
//! computed, and nothing happens.
#![allow(unsafe_code)]

mod arithmetic;
mod construct;
mod control;
mod mathematics;
mod recursion;
mod refill;
mod truth;
mod value;

use super::library::intrinsic;
use super::refusal::{Result, missing};
use super::types::Types;
use crate::codegen::body::{Body, CACHE_LINE, ColumnEntry};
use crate::codegen::cost::{calls_library, waits_for_caches};
use crate::codegen::options::CompileOptions;
use crate::codegen::rounds::{DifferentRounds, recurs_last};
use crate::codegen::uniform::Uniform;
use crate::host::Builtin;
use crate::host::lanes::SAME_NAN;
use crate::name::Name;
use crate::processor::FeatureSet;
use crate::sema::checked::{CheckedFunction, CheckedNode, variables_of};
use construct::{Marks, Refill, Round, WideConstruct, is_heavy};
use inkwell::attributes::AttributeLoc;
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::module::Module;
use inkwell::types::{BasicTypeEnum, VectorType};
use inkwell::values::{
    BasicValueEnum, FloatValue, FunctionValue, InstructionValue, IntValue, PointerValue, VectorValue,
};
use inkwell::{FloatPredicate, IntPredicate};
use rustc_hash::FxHashMap;
use value::{Mask, Wide, WideLocal, has_wide_truths};

/// The attribute of functions over columns, which have passes of their own.
const ROWS: &str = "kal-rows";

/// The number of rounds from which on an output is aligned.
const ALIGNED_ROUNDS: u64 = 8;

/// Adds code of a function over columns to the module.
pub(super) fn body(
    module: &Module<'_>,
    body: Body<'_>,
    entry: ColumnEntry,
    options: CompileOptions,
) -> Result<()> {
    let mut lowering = WideLowering::new(module, body, entry, options)?;
    let mut rows = lowering.begin(body, entry)?;
    // Two lanes have not long to wait for each other, and there is a bit for each of 64.
    let may_refill = (4..=64).contains(&entry.lanes) && !options.counts_fuel;
    let rounds = DifferentRounds::of(body.function, body.inline, |index| entry.is_every(index));
    lowering.refill = match rounds.filter(|_| may_refill) {
        Some(rounds) => Some(lowering.begin_refilled(rounds, entry, &mut rows)?),
        None => lowering.begin_round(&mut rows).map(|()| None)?,
    };
    let value = lowering.function(body.function, rows.arguments.clone(), None)?;
    match lowering.refill.take() {
        Some(refill) => lowering.end_refilled(&refill, &rows, value),
        None => lowering.end(&rows, value),
    }
}

/// The loop over the rows.
struct RowLoop<'c> {
    head: BasicBlock<'c>,
    /// Where it ends, complete or not.
    done: BasicBlock<'c>,
    /// How many rows there are.
    number: IntValue<'c>,
    /// Whether results are written past the caches, if that is a question.
    streams: Option<IntValue<'c>>,
    /// Where the number of the row is kept that is begun next.
    next: PointerValue<'c>,
    /// Where the number of rows from a round to the next one is kept.
    step: PointerValue<'c>,
    /// Where NaN is kept in lanes that had a NaN or an infinity as result.
    seen: PointerValue<'c>,
    /// Where the number of rows is kept that are complete at the end.
    complete: PointerValue<'c>,
    output: PointerValue<'c>,
    sources: Vec<ArgumentSource<'c>>,
    arguments: Vec<Wide<'c>>,
}

/// Where an argument comes from.
#[derive(Clone, Copy)]
enum ArgumentSource<'c> {
    Every(FloatValue<'c>),
    Column(PointerValue<'c>),
}

/// A function that is being lowered.
struct WideFrame<'m, 'c> {
    source: &'m CheckedFunction,
    marks: Marks,
    uniform: Uniform,
    locals: Vec<WideLocal<'c>>,
    values: Vec<Wide<'c>>,
    open: Vec<WideConstruct<'c>>,
    /// What calls of the function itself change.
    round: Option<Round<'c>>,
    /// The index of the node that is being lowered.
    at: usize,
}

struct WideLowering<'m, 'c> {
    module: &'m Module<'c>,
    types: Types<'c>,
    builder: Builder<'c>,
    function: FunctionValue<'c>,
    /// The first block, which allocates memory and ends with a jump.
    entry: BasicBlock<'c>,
    lanes: u32,
    doubles: VectorType<'c>,
    /// What truths are kept in.
    truths: VectorType<'c>,
    /// The latest vector that was made of truths, and these.
    latest_truth: Option<(VectorValue<'c>, VectorValue<'c>)>,
    features: FeatureSet,
    /// The functions that may be called, each with whether it is worth a branch.
    callees: FxHashMap<(Name, u32), (&'m CheckedFunction, bool)>,
    builtins: FxHashMap<(Name, u32), Builtin>,
    variables: FxHashMap<Name, FloatValue<'c>>,
    /// The word that asks to stop.
    stop: PointerValue<'c>,
    /// The fuel that is left, if it is counted.
    fuel: Option<PointerValue<'c>>,
    /// Where the lowest lane is kept that was in a loop when the code was asked to stop; it
    /// is the number of lanes while none was. There is none without a loop.
    lowest: Option<PointerValue<'c>>,
    /// Whether lanes may be given up though nothing asks to stop.
    gives_up: bool,
    /// If lanes that have left the loop are filled again.
    refill: Option<Refill<'c>>,
    /// How many loops the present place is in, with those of callers.
    loops: usize,
    mask: Mask<'c>,
    /// Where arguments of functions of the library are passed.
    passed: Vec<PointerValue<'c>>,
    frame: WideFrame<'m, 'c>,
}

impl<'m, 'c> WideLowering<'m, 'c> {
    fn new(
        module: &'m Module<'c>,
        body: Body<'m>,
        entry: ColumnEntry,
        options: CompileOptions,
    ) -> Result<Self> {
        let (types, features) = (Types::new(module), options.processor.features());
        let context = types.context;
        let (pointer, i64) = (types.pointer, context.i64_type());
        let truth = if has_wide_truths(features, entry.lanes) { i64 } else { context.bool_type() };
        let parameters =
            [pointer.into(), pointer.into(), pointer.into(), pointer.into(), i64.into(), pointer.into()];
        let function = module.add_function(body.symbol, i64.fn_type(&parameters, false), None);
        function.add_attribute(AttributeLoc::Function, types.attribute("nounwind"));
        // A register, or half of the lanes if they are two registers of less.
        let width = (entry.lanes * 64 / 2).min(features.rank().0).max(128).to_string();
        for (name, value) in [
            ("prefer-vector-width", width.as_str()),
            ("min-legal-vector-width", width.as_str()),
            // A frame may be larger than the page that guards a stack.
            ("probe-stack", "inline-asm"),
            ("frame-pointer", "non-leaf"),
            (ROWS, ""),
        ] {
            function.add_attribute(AttributeLoc::Function, context.create_string_attribute(name, value));
        }
        let builder = context.create_builder();
        let first = context.append_basic_block(function, "entry");
        builder.position_at_end(first);
        let builtins: FxHashMap<_, _> =
            body.builtins.iter().map(|(name, of)| ((*name, of.arity()), *of)).collect();
        let mut callees = FxHashMap::default();
        for callee in body.inline {
            let is_heavy = is_heavy(callee, 0..callee.nodes.len(), &callees, &builtins);
            callees.insert((callee.name, callee.arity()), (&**callee, is_heavy));
        }
        Ok(Self {
            module,
            builder,
            function,
            entry: first,
            lanes: entry.lanes,
            doubles: types.double.vec_type(entry.lanes),
            truths: truth.vec_type(entry.lanes),
            latest_truth: None,
            features,
            callees,
            builtins,
            variables: FxHashMap::default(),
            stop: pointer.const_null(),
            fuel: options.counts_fuel.then(|| pointer.const_null()),
            lowest: None,
            gives_up: body.inline.iter().any(|callee| recurs_last(callee)),
            refill: None,
            loops: 0,
            mask: None,
            passed: Vec::new(),
            frame: WideFrame::new(body.function, Uniform::default()),
            types,
        })
    }

    /// Emits the beginning of the function, up to the head of the loop over the rows.
    fn begin(&mut self, body: Body<'m>, entry: ColumnEntry) -> Result<RowLoop<'c>> {
        let i64 = self.types.context.i64_type();
        let pointer = |index| match self.function.get_nth_param(index) {
            Some(BasicValueEnum::PointerValue(value)) => Ok(value),
            _ => Err(missing()),
        };
        let (columns, values, output) = (pointer(1)?, pointer(2)?, pointer(3)?);
        self.stop = pointer(0)?;
        if let Some(place) = &mut self.fuel {
            *place = pointer(5)?;
        }
        let Some(BasicValueEnum::IntValue(number)) = self.function.get_nth_param(4) else {
            return Err(missing());
        };
        let (number, streams) = if entry.streams {
            let flag = i64.const_int(ColumnEntry::STREAMED, false);
            let rows = self.builder.build_and(number, i64.const_int(!ColumnEntry::STREAMED, false), "")?;
            let asked = self.builder.build_and(number, flag, "")?;
            (rows, Some(self.builder.build_int_compare(IntPredicate::NE, asked, i64.const_zero(), "")?))
        } else {
            (number, None)
        };
        let arity = body.function.arity();
        // What is the same in every row is loaded once.
        let value_at = |lowering: &Self, index: u64| -> Result<FloatValue<'c>> {
            let place =
                lowering.element(lowering.types.double.into(), values, i64.const_int(index, false))?;
            Ok(lowering.builder.build_load(lowering.types.double, place, "")?.into_float_value())
        };
        let mut sources = Vec::with_capacity(arity as usize);
        for index in 0..arity {
            sources.push(if entry.is_every(index as usize) {
                ArgumentSource::Every(value_at(self, u64::from(index))?)
            } else {
                let index = i64.const_int(u64::from(index), false);
                let place = self.element(self.types.pointer.into(), columns, index)?;
                let column = self.builder.build_load(self.types.pointer, place, "")?;
                ArgumentSource::Column(column.into_pointer_value())
            });
        }
        let functions = body.inline.iter().map(|inlined| &**inlined).chain([body.function]);
        for (index, name) in (u64::from(arity)..).zip(variables_of(functions)) {
            let value = value_at(self, index)?;
            self.variables.insert(name, value);
        }
        let (head, done) = (self.block("rows"), self.block("done"));
        let doubles = self.doubles.into();
        // Memory is allocated in the first block later, so it ends with a jump by itself.
        let before = self.block("begin");
        self.builder.build_unconditional_branch(before)?;
        self.builder.position_at_end(before);
        let (next, complete, seen) =
            (self.allocate(i64.into())?, self.allocate(i64.into())?, self.allocate(doubles)?);
        self.builder.build_store(next, i64.const_zero())?;
        self.builder.build_store(complete, number)?;
        self.builder.build_store(seen, self.doubles.const_zero())?;
        let step = self.allocate(i64.into())?;
        self.builder.build_store(step, self.first_step(body, output, number)?)?;
        self.builder.build_unconditional_branch(head)?;
        self.builder.position_at_end(head);
        let arguments = Vec::new();
        Ok(RowLoop { head, done, number, streams, next, step, seen, complete, output, sources, arguments })
    }

    /// Returns how many rows the second round is behind the first one: as many as there are lanes, or fewer,
    /// so that all rounds from then on write whole lines of a cache, if that is worth computing some rows
    /// twice.
    fn first_step(
        &self,
        body: Body<'m>,
        output: PointerValue<'c>,
        number: IntValue<'c>,
    ) -> Result<IntValue<'c>> {
        let i64 = self.types.context.i64_type();
        let lanes = i64.const_int(self.lanes.into(), false);
        let calls = calls_library(body.function, body.inline, body.builtins);
        if self.fuel.is_some() || calls || !waits_for_caches(body.function, body.inline) {
            return Ok(lanes);
        }
        let line = (CACHE_LINE / size_of::<f64>()).min(self.lanes as usize) as u64;
        let size = i64.const_int(size_of::<f64>().trailing_zeros().into(), false);
        let address = self.builder.build_ptr_to_int(output, i64, "")?;
        let element = self.builder.build_right_shift(address, size, false, "")?;
        let behind = self.builder.build_and(element, i64.const_int(line - 1, false), "")?;
        let fewer = self.builder.build_int_sub(lanes, behind, "")?;
        let many = i64.const_int(u64::from(self.lanes) * ALIGNED_ROUNDS, false);
        let are_many = self.builder.build_int_compare(IntPredicate::UGE, number, many, "")?;
        Ok(self.builder.build_select(are_many, fewer, lanes, "")?.into_int_value())
    }

    /// Emits the beginning of one round of the loop, up to its arguments. Where there are fewer rows
    /// left than lanes, it computes some of those before them again.
    fn begin_round(&self, rows: &mut RowLoop<'c>) -> Result<()> {
        let next = self.load_number(rows.next)?;
        let is_left = self.builder.build_int_compare(IntPredicate::ULT, next, rows.number, "")?;
        let round = self.block("row");
        self.builder.build_conditional_branch(is_left, round, rows.done)?;
        self.builder.position_at_end(round);
        let lanes = self.types.context.i64_type().const_int(self.lanes.into(), false);
        let last = self.builder.build_int_sub(rows.number, lanes, "")?;
        let is_last = self.builder.build_int_compare(IntPredicate::UGT, next, last, "")?;
        let row = self.builder.build_select(is_last, last, next, "")?.into_int_value();
        self.builder.build_store(rows.next, row)?;
        rows.arguments = self.arguments(&rows.sources, row)?;
        Ok(())
    }

    /// Returns the arguments in as many rows as there are lanes, from that one on.
    fn arguments(&self, sources: &[ArgumentSource<'c>], row: IntValue<'c>) -> Result<Vec<Wide<'c>>> {
        let argument = |source: &ArgumentSource<'c>| match *source {
            ArgumentSource::Every(value) => Ok(Wide::Every(value)),
            ArgumentSource::Column(column) => {
                let place = self.element(self.types.double.into(), column, row)?;
                self.load(place).map(Wide::Each)
            }
        };
        sources.iter().map(argument).collect()
    }

    /// Emits the end of the loop, which stores the results, and of the function.
    fn end(&mut self, rows: &RowLoop<'c>, value: Wide<'c>) -> Result<()> {
        let row = self.load_number(rows.next)?;
        let place = self.element(self.types.double.into(), rows.output, row)?;
        if let Some(streams) = rows.streams {
            let (streamed, kept, stored) = (self.block("streamed"), self.block("kept"), self.block("stored"));
            let branch = self.builder.build_conditional_branch(streams, streamed, kept)?;
            self.expect_second(branch)?;
            self.builder.position_at_end(streamed);
            self.store_past_caches(place, value)?;
            self.builder.build_unconditional_branch(stored)?;
            self.builder.position_at_end(kept);
            self.store(place, value)?;
            self.note_nan(rows, value)?;
            self.builder.build_unconditional_branch(stored)?;
            self.builder.position_at_end(stored);
        } else {
            self.store(place, value)?;
            self.note_nan(rows, value)?;
        }
        let leave = |lowering: &Self, leaves, complete, go_on| -> Result<()> {
            let left = lowering.block("stopped");
            lowering.builder.build_conditional_branch(leaves, left, go_on)?;
            lowering.builder.position_at_end(left);
            lowering.builder.build_store(rows.complete, complete)?;
            lowering.builder.build_unconditional_branch(rows.done)?;
            lowering.builder.position_at_end(go_on);
            Ok(())
        };
        let lanes = self.types.context.i64_type().const_int(self.lanes.into(), false);
        if let Some(is_out) = self.is_out_of_fuel()? {
            leave(self, is_out, row, self.block("fuelled"))?;
        }
        if let Some(place) = self.lowest {
            // What was below the lane is complete.
            let lowest = self.load_number(place)?;
            let has_stopped = self.builder.build_int_compare(IntPredicate::ULT, lowest, lanes, "")?;
            let done = self.builder.build_int_add(row, lowest, "")?;
            leave(self, has_stopped, done, self.block("go_on"))?;
        }
        let next = self.builder.build_int_add(row, self.load_number(rows.step)?, "")?;
        self.builder.build_store(rows.next, next)?;
        self.builder.build_store(rows.step, lanes)?;
        self.builder.build_unconditional_branch(rows.head)?;
        self.finish(rows)
    }

    /// Stores results where no cache keeps them, each NaN as the same pattern: to look at them again
    /// would take long.
    fn store_past_caches(&self, place: PointerValue<'c>, value: Wide<'c>) -> Result<()> {
        let is_nan = self.each_truth(self.compare(FloatPredicate::UNO, value, value)?)?;
        let nan = self.splat(self.types.double.const_float(f64::NAN))?;
        let value = self.choose(is_nan, nan, self.each(value)?)?;
        let store = self.builder.build_store(place, value)?;
        let alignment = CACHE_LINE.min(self.lanes as usize * size_of::<f64>());
        store.set_alignment(alignment as u32).map_err(|_| missing())?;
        let context = self.types.context;
        let tag = context.metadata_node(&[context.i32_type().const_int(1, false).into()]);
        store.set_metadata(tag, context.get_kind_id("nontemporal")).map_err(|_| missing())
    }

    /// Marks a branch as one that mostly goes the second way, which then follows without a jump.
    fn expect_second(&self, branch: InstructionValue<'c>) -> Result<()> {
        let context = self.types.context;
        let [first, second] = [1, 1000].map(|weight| context.i32_type().const_int(weight, false).into());
        let weights = [context.metadata_string("branch_weights").into(), first, second];
        branch
            .set_metadata(context.metadata_node(&weights), context.get_kind_id("prof"))
            .map_err(|_| missing())
    }

    /// Takes note of whether a result is a NaN or an infinity. 0 times a result is 0, or NaN if
    /// that is one or an infinity. Mostly no unit of the processor that multiplies is in use then.
    fn note_nan(&self, rows: &RowLoop<'c>, value: Wide<'c>) -> Result<()> {
        let zero = Wide::Each(self.doubles.const_zero());
        let arguments = [value, zero, Wide::Each(self.load(rows.seen)?)];
        self.store(rows.seen, self.same_in_all("llvm.fmuladd", &arguments)?)
    }

    /// Emits the end of the function: makes every NaN the same pattern, so that columns are
    /// equal to the bit, if any result was a NaN. To look at once for all rows takes less
    /// than to choose in each.
    fn finish(&mut self, rows: &RowLoop<'c>) -> Result<()> {
        let (nans, end) = (self.block("nans"), self.block("end"));
        self.builder.position_at_end(rows.done);
        let (complete, seen) = (self.load_number(rows.complete)?, Wide::Each(self.load(rows.seen)?));
        let any = self.any(self.each_truth(self.compare(FloatPredicate::UNO, seen, seen)?)?)?;
        self.builder.build_conditional_branch(any, nans, end)?;
        self.builder.position_at_end(nans);
        let parameters = [self.types.pointer.into(), complete.get_type().into()];
        let kind = self.types.context.void_type().fn_type(&parameters, false);
        let declared = self.module.get_function(SAME_NAN);
        let same_nan = declared.unwrap_or_else(|| self.module.add_function(SAME_NAN, kind, None));
        self.builder.build_call(same_nan, &[rows.output.into(), complete.into()], "")?;
        self.builder.build_unconditional_branch(end)?;
        self.builder.position_at_end(end);
        self.builder.build_return(Some(&complete))?;
        Ok(())
    }

    /// Lowers a function with these arguments, for the lanes of the mask.
    fn function(
        &mut self,
        source: &'m CheckedFunction,
        arguments: Vec<Wide<'c>>,
        mask: Mask<'c>,
    ) -> Result<Wide<'c>> {
        if recurs_last(source) {
            return self.recursion(source, &arguments, mask);
        }
        let is_same: Vec<bool> =
            arguments.iter().map(|argument| matches!(argument, Wide::Every(_))).collect();
        let is_refilled = self.refill.is_some() && self.loops == 0;
        let uniform = Uniform::of(source, &is_same, is_refilled);
        let outer = std::mem::replace(&mut self.frame, WideFrame::new(source, uniform));
        let outer_mask = std::mem::replace(&mut self.mask, mask);
        self.burn(mask)?;
        let is_assigned = assigned(source);
        for (local, argument) in arguments.iter().enumerate() {
            let bound = match is_assigned.get(local) {
                Some(true) => self.assigned_local(local as u32)?,
                Some(false) | None => WideLocal::Value(*argument),
            };
            self.frame.locals.push(bound);
            if is_assigned.get(local) == Some(&true) {
                self.bind(local as u32, *argument)?;
            }
        }
        self.locals(source, arguments.len())?;
        let value = self.nodes(source)?;
        self.frame = outer;
        self.mask = outer_mask;
        Ok(value)
    }

    /// Lowers the body of the function of the frame; returns its value.
    fn nodes(&mut self, source: &CheckedFunction) -> Result<Wide<'c>> {
        for (at, node) in source.nodes.iter().enumerate() {
            self.frame.at = at;
            self.node(*node)?;
        }
        self.pop()
    }

    /// Adds the locals of a function that are no parameters.
    fn locals(&mut self, source: &CheckedFunction, parameters: usize) -> Result<()> {
        for (local, is_assigned) in assigned(source).into_iter().enumerate().skip(parameters) {
            let local = if is_assigned { self.assigned_local(local as u32)? } else { WideLocal::Unbound };
            self.frame.locals.push(local);
        }
        Ok(())
    }

    /// Returns a local whose value changes after it is bound.
    fn assigned_local(&self, local: u32) -> Result<WideLocal<'c>> {
        Ok(if self.frame.uniform.is_local(local) {
            WideLocal::Single(self.allocate(self.types.double.into())?)
        } else {
            WideLocal::Place(self.allocate(self.doubles.into())?)
        })
    }

    fn node(&mut self, node: CheckedNode) -> Result<()> {
        match node {
            CheckedNode::Number(index) => {
                let number = self.frame.source.numbers.get(index as usize).ok_or_else(missing)?;
                self.push(Wide::Every(self.types.double.const_float(*number)));
            }
            CheckedNode::Local(local) => {
                let value = self.read(local)?;
                self.push(value);
            }
            CheckedNode::Variable(name) => {
                let value = self.variables.get(&name).ok_or_else(missing)?;
                self.push(Wide::Every(*value));
            }
            CheckedNode::SetLocal(local) => {
                let value = self.frame.values.last().copied().ok_or_else(missing)?;
                self.assign(local, value)?;
            }
            // An obstacle to this code.
            CheckedNode::SetVariable(_) => return Err(missing()),
            CheckedNode::Unary(op) => self.unary(op)?,
            CheckedNode::Binary(op) if op.short_circuits() => self.end_short_circuit(op)?,
            CheckedNode::Binary(op) => self.binary(op)?,
            CheckedNode::ShortCircuit(op) => self.begin_short_circuit(op)?,
            CheckedNode::Call(callee) => self.call(callee)?,
            CheckedNode::Then => self.then()?,
            CheckedNode::Else => self.otherwise()?,
            CheckedNode::If => self.end_if()?,
            CheckedNode::ForVariable(local) => self.begin_loop(local)?,
            CheckedNode::ForCondition => self.loop_condition()?,
            CheckedNode::ForStep => self.loop_step()?,
            CheckedNode::For => self.end_loop()?,
            CheckedNode::Bind(local) => {
                let value = self.pop()?;
                self.bind(local, value)?;
            }
        }
        Ok(())
    }

    fn call(&mut self, index: u32) -> Result<()> {
        let callee = *self.frame.source.callees.get(index as usize).ok_or_else(missing)?;
        let key = (callee.name, callee.arity);
        let first = self.frame.values.len().checked_sub(callee.arity as usize).ok_or_else(missing)?;
        if self.frame.round.is_some() && callee.name == self.frame.source.name {
            let arguments = self.frame.values.split_off(first);
            return self.call_again(&arguments);
        }
        if let Some((function, _)) = self.callees.get(&key).copied() {
            let arguments = self.frame.values.split_off(first);
            let value = self.function(function, arguments, self.mask)?;
            self.push(value);
            return Ok(());
        }
        let builtin = *self.builtins.get(&key).ok_or_else(missing)?;
        let arguments = self.frame.values.split_off(first);
        let value = self.builtin(builtin, &arguments)?;
        self.push(value);
        Ok(())
    }

    // --- fuel -------------------------------------------------------------

    /// Emits a decrement of the fuel, by one for each lane of a mask, if it is counted.
    fn burn(&self, mask: Mask<'c>) -> Result<()> {
        let Some(place) = self.fuel else { return Ok(()) };
        let i64 = self.types.context.i64_type();
        let count = match mask {
            None => i64.const_int(self.lanes.into(), false),
            Some(mask) => {
                let bits = self.bits(mask)?;
                let count = self.declare("llvm.ctpop", &[bits.get_type().into()])?;
                let count = self.builder.build_call(count, &[bits.into()], "")?;
                let count = count.try_as_basic_value().basic().ok_or_else(missing)?.into_int_value();
                self.builder.build_int_z_extend_or_bit_cast(count, i64, "")?
            }
        };
        let left = self.builder.build_load(i64, place, "")?.into_int_value();
        let left = self.builder.build_int_sub(left, count, "")?;
        self.builder.build_store(place, left)?;
        Ok(())
    }

    /// Emits a look at the fuel, if it is counted; returns whether more was taken than there
    /// was.
    fn is_out_of_fuel(&self) -> Result<Option<IntValue<'c>>> {
        let Some(place) = self.fuel else { return Ok(None) };
        let i64 = self.types.context.i64_type();
        let left = self.builder.build_load(i64, place, "")?.into_int_value();
        Ok(Some(self.builder.build_int_compare(IntPredicate::SLT, left, i64.const_zero(), "")?))
    }

    // --- values -----------------------------------------------------------

    fn push(&mut self, value: Wide<'c>) {
        self.frame.values.push(value);
    }

    fn pop(&mut self) -> Result<Wide<'c>> {
        self.frame.values.pop().ok_or_else(missing)
    }

    fn local(&self, local: u32) -> Result<WideLocal<'c>> {
        self.frame.locals.get(local as usize).copied().ok_or_else(missing)
    }

    /// Returns the value of a local.
    fn read(&self, local: u32) -> Result<Wide<'c>> {
        match self.local(local)? {
            WideLocal::Value(value) => Ok(value),
            WideLocal::Place(place) => self.load(place).map(Wide::Each),
            WideLocal::Single(place) => {
                Ok(Wide::Every(self.builder.build_load(self.types.double, place, "")?.into_float_value()))
            }
            WideLocal::Unbound => Err(missing()),
        }
    }

    /// Sets the first value of a local, in masked lanes as well: there it is never read, as
    /// the scope of the local is inside that of the mask.
    fn bind(&mut self, local: u32, value: Wide<'c>) -> Result<()> {
        match self.local(local)? {
            WideLocal::Place(place) => self.store(place, value),
            WideLocal::Single(place) => self.store_single(place, value),
            WideLocal::Value(_) | WideLocal::Unbound => {
                self.frame.locals[local as usize] = WideLocal::Value(value);
                Ok(())
            }
        }
    }

    /// Assigns a local in the lanes that are alive.
    fn assign(&mut self, local: u32, value: Wide<'c>) -> Result<()> {
        let place = match self.local(local)? {
            WideLocal::Place(place) => place,
            WideLocal::Single(place) => return self.store_single(place, value),
            WideLocal::Value(_) | WideLocal::Unbound => return Err(missing()),
        };
        let value = match self.mask {
            None => value,
            Some(mask) => {
                let before = self.load(place)?;
                let value = self.each(value)?;
                Wide::Each(self.choose(mask, value, before)?)
            }
        };
        self.store(place, value)
    }

    fn load(&self, place: PointerValue<'c>) -> Result<VectorValue<'c>> {
        let value = self.builder.build_load(self.doubles, place, "")?.into_vector_value();
        // A column is aligned as a double is.
        value.as_instruction().ok_or_else(missing)?.set_alignment(8).map_err(|_| missing())?;
        Ok(value)
    }

    fn load_number(&self, place: PointerValue<'c>) -> Result<IntValue<'c>> {
        Ok(self.builder.build_load(self.types.context.i64_type(), place, "")?.into_int_value())
    }

    fn store(&self, place: PointerValue<'c>, value: Wide<'c>) -> Result<()> {
        let value = self.each(value)?;
        self.builder.build_store(place, value)?.set_alignment(8).map_err(|_| missing())
    }

    fn store_single(&self, place: PointerValue<'c>, value: Wide<'c>) -> Result<()> {
        let Wide::Every(value) = value else { return Err(missing()) };
        self.builder.build_store(place, value)?;
        Ok(())
    }

    /// Allocates memory of the frame.
    fn allocate(&self, kind: BasicTypeEnum<'c>) -> Result<PointerValue<'c>> {
        Ok(self.at_entry()?.build_alloca(kind, "")?)
    }

    /// Returns a builder of what comes first in the function.
    fn at_entry(&self) -> Result<Builder<'c>> {
        let builder = self.types.context.create_builder();
        builder.position_before(&self.entry.get_terminator().ok_or_else(missing)?);
        Ok(builder)
    }

    /// Returns where the lowest lane is kept that was in a loop when the code was asked to
    /// stop.
    fn lowest(&mut self) -> Result<PointerValue<'c>> {
        if let Some(place) = self.lowest {
            return Ok(place);
        }
        let i64 = self.types.context.i64_type();
        let builder = self.at_entry()?;
        let place = builder.build_alloca(i64, "lowest")?;
        builder.build_store(place, i64.const_int(self.lanes.into(), false))?;
        self.lowest = Some(place);
        Ok(place)
    }

    /// Returns a value as a vector.
    fn each(&self, value: Wide<'c>) -> Result<VectorValue<'c>> {
        match value {
            Wide::Each(value) => Ok(value),
            Wide::Every(value) => self.splat(value),
        }
    }

    /// Returns a vector with the same value in every lane.
    fn splat(&self, value: FloatValue<'c>) -> Result<VectorValue<'c>> {
        if value.is_const() {
            return Ok(VectorType::const_vector(&vec![value; self.lanes as usize]));
        }
        let first = self.types.context.i32_type().const_zero();
        let one = self.builder.build_insert_element(self.doubles.get_poison(), value, first, "")?;
        self.spread(one, self.doubles)
    }

    /// Returns a vector with the first element of another in every lane.
    fn spread(&self, vector: VectorValue<'c>, kind: VectorType<'c>) -> Result<VectorValue<'c>> {
        let zeros = self.types.context.i32_type().vec_type(self.lanes).const_zero();
        Ok(self.builder.build_shuffle_vector(vector, kind.get_poison(), zeros, "")?)
    }

    /// Returns the address of an element of an array.
    fn element(
        &self,
        kind: BasicTypeEnum<'c>,
        array: PointerValue<'c>,
        index: IntValue<'c>,
    ) -> Result<PointerValue<'c>> {
        // SAFETY: the arrays have an element for each parameter, variable and row, by the
        // contract of `ColumnEntry`; the code reaches no others.
        Ok(unsafe { self.builder.build_in_bounds_gep(kind, array, &[index], "")? })
    }

    /// Returns an intrinsic of LLVM.
    fn declare(&self, name: &str, overloads: &[BasicTypeEnum<'c>]) -> Result<FunctionValue<'c>> {
        intrinsic(self.module, name, overloads)
    }

    fn block(&self, name: &str) -> BasicBlock<'c> {
        self.types.context.append_basic_block(self.function, name)
    }

    fn here(&self) -> Result<BasicBlock<'c>> {
        self.builder.get_insert_block().ok_or_else(missing)
    }
}

impl<'m> WideFrame<'m, '_> {
    fn new(source: &'m CheckedFunction, uniform: Uniform) -> Self {
        let locals = Vec::with_capacity(source.locals as usize);
        let (values, open) = (Vec::new(), Vec::new());
        Self { source, marks: Marks::of(source), uniform, locals, values, open, round: None, at: 0 }
    }
}

/// Returns, for each local, whether its value changes after it is bound.
fn assigned(source: &CheckedFunction) -> Vec<bool> {
    let mut is_assigned = vec![false; source.locals as usize];
    for node in &source.nodes {
        if let CheckedNode::SetLocal(local) | CheckedNode::ForVariable(local) = node
            && let Some(is_assigned) = is_assigned.get_mut(*local as usize)
        {
            *is_assigned = true;
        }
    }
    is_assigned
}
