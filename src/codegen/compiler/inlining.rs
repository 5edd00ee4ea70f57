//! Inlining: private copies of the functions that are inlined into a body, and of the body
//! itself if it recurs.
//!
//! LLVM inlines no recursion, but it does inline a chain of copies, each of which calls the
//! next, and the last of which calls the function itself.

use super::lower::{DirectCall, LoweringJob};
use super::refusal::Result;
use super::strips::DirectCalls;
use super::types::{CopyKind, Types};
use crate::codegen::body::Body;
use crate::codegen::options::{CompileOptions, Level};
use crate::codegen::polls;
use crate::host::Builtin;
use crate::name::{Name, Names};
use crate::sema::checked::{CheckedFunction, CheckedNode, EXPRESSION};
use inkwell::module::Module;
use inkwell::values::FunctionValue;
use rustc_hash::{FxHashMap, FxHashSet};

/// Adds a body to the module, and private copies of the functions inlined into
/// it.
pub(super) fn body(
    module: &Module<'_>,
    body: Body<'_>,
    names: &Names,
    options: CompileOptions,
) -> Result<()> {
    let types = Types::new(module);
    let root = body.function;
    let arity = body.entry.osr().map_or(root.arity(), |osr| root.locals + osr.values);
    let main = types.define(module, body.symbol, arity);
    let builtin = |(name, of): &(Name, Builtin)| ((*name, of.arity()), DirectCall::Builtin(*of));
    // What counts fuel counts it in turn. Baseline code is never at these levels.
    let has_strips = options.level >= Level::O2
        && !options.counts_fuel
        && body.inline.iter().map(|inlined| &**inlined).chain([root]).any(CheckedFunction::has_loop)
        && ["avx2", "fma"].iter().all(|feature| options.processor.features().has(feature));
    let calls = has_strips.then(|| DirectCalls::of(body.inline, body.builtins));
    let direct = body.builtins.iter().map(builtin).collect();
    let calls = calls.as_ref();
    let pure = &if options.counts_fuel { FxHashSet::default() } else { pure_functions(&body) };
    let mut copies = Copies { module, types, direct, pure, calls, symbol: body.symbol, names, options };
    // OSR code is not a callee, and baseline code may be replaced while it recurs.
    let is_replaced = body.entry.osr().is_some() || body.hot_after.is_some();
    let itself = (root.name, root.arity());
    // Whether calls remain other than of the inlined functions: they may recurse.
    let calls_others = |copies: &Copies<'_, '_>, function: &CheckedFunction| {
        function.callees.iter().any(|call| !copies.direct.contains_key(&(call.name, call.arity)))
    };
    let mut others = false;
    let mut inlined = Inlined::default();
    for callee in body.inline {
        others |= calls_others(&copies, callee);
        if !is_replaced {
            copies.direct.insert(itself, DirectCall::Copy(main));
        }
        let copy = copies.add(callee, CopyKind::Callee, options.counts_fuel, false)?;
        copies.direct.remove(&itself);
        copies.direct.insert((callee.name, callee.arity()), DirectCall::Copy(copy));
        inlined.add(callee, root);
    }
    let calls = calls_others(&copies, root);
    if !is_replaced {
        copies.direct.insert(itself, DirectCall::Copy(main));
    }
    others |= calls_others(&copies, root);
    // A function that calls nothing cannot recurse. A top-level expression is
    // entered at the top of the stack. An OSR entry needs no check: the
    // interpreter has counted and checked the iteration.
    let is_expression = names.text(root.name) == EXPRESSION;
    let may_recur = (calls || others) && !is_expression;
    let checks = polls::checks_entry(root, may_recur, options.counts_fuel) && body.entry.osr().is_none();
    // If nothing else is called, every recursion passes the last copy, and none is entered
    // more rarely.
    let levels = inlined.levels(root, options.level);
    let checks_last_copy = checks && levels > 0 && !others && !options.counts_fuel;
    for level in 0..levels {
        let checks = options.counts_fuel || (checks_last_copy && level == 0);
        let copy = copies.add(root, CopyKind::Level, checks, body.loads_numbers)?;
        copies.direct.insert(itself, DirectCall::Copy(copy));
        let recurring = || body.inline.iter().filter(|callee| inlined.recurs(callee.name));
        // As at first, each calls those before it, and others, or itself, through slots.
        for callee in recurring() {
            copies.direct.remove(&(callee.name, callee.arity()));
        }
        for callee in recurring() {
            let copy = copies.add(callee, CopyKind::Callee, options.counts_fuel, false)?;
            copies.direct.insert((callee.name, callee.arity()), DirectCall::Copy(copy));
        }
    }
    let checks = checks && !checks_last_copy;
    LoweringJob { osr: body.entry.osr(), ..copies.job(root, main, body.loads_numbers) }
        .lower(checks, body.hot_after)
}

/// Returns those functions of a body whose results depend on their arguments alone, and which change
/// nothing: they work on no variable, and call only each other and builtins.
fn pure_functions(body: &Body<'_>) -> FxHashSet<(Name, u32)> {
    let itself = |function: &CheckedFunction| (function.name, function.arity());
    let builtins = || body.builtins.iter().map(|(name, of)| (*name, of.arity()));
    let is_pure = |function: &CheckedFunction, pure: &FxHashSet<(Name, u32)>| {
        let is_allowed =
            |node: &CheckedNode| !matches!(node, CheckedNode::Variable(_) | CheckedNode::SetVariable(_));
        let mut callees = function.callees.iter();
        callees.all(|callee| pure.contains(&(callee.name, callee.arity)))
            && function.nodes.iter().all(is_allowed)
    };
    // That of the body, if it is pure when it is taken for pure where it recurs.
    let with = |root: Option<&CheckedFunction>| {
        let mut pure: FxHashSet<_> = builtins().chain(root.map(itself)).collect();
        for callee in body.inline {
            if is_pure(callee, &pure) {
                pure.insert(itself(callee));
            }
        }
        pure
    };
    let pure = with(Some(body.function));
    if is_pure(body.function, &pure) { pure } else { with(None) }
}

/// What private copies of functions call directly.
struct Copies<'m, 'c> {
    module: &'m Module<'c>,
    types: Types<'c>,
    direct: FxHashMap<(Name, u32), DirectCall<'c>>,
    /// Those of which equal calls may be made once.
    pure: &'m FxHashSet<(Name, u32)>,
    /// What is known of that, where loops may run in strips.
    calls: Option<&'m DirectCalls<'m>>,
    symbol: &'m str,
    names: &'m Names,
    options: CompileOptions,
}

impl<'c> Copies<'_, 'c> {
    /// Adds a private copy of a function, which calls what is called directly now.
    fn add(
        &self,
        source: &CheckedFunction,
        kind: CopyKind,
        checks: bool,
        loads_numbers: bool,
    ) -> Result<FunctionValue<'c>> {
        let copy = self.types.define_copy(self.module, kind, source.arity());
        self.job(source, copy, loads_numbers).lower(checks, None)?;
        Ok(copy)
    }

    fn job<'j>(
        &'j self,
        source: &'j CheckedFunction,
        function: FunctionValue<'c>,
        loads_numbers: bool,
    ) -> LoweringJob<'j, 'c> {
        let Self { module, direct, pure, calls, symbol, names, options, .. } = self;
        let (options, calls) = (*options, *calls);
        LoweringJob {
            module,
            source,
            function,
            osr: None,
            direct,
            pure,
            calls,
            symbol,
            names,
            options,
            loads_numbers,
        }
    }
}

/// What is known of functions that are inlined into another, the root.
#[derive(Default)]
struct Inlined {
    /// Their sizes after inlining into them, in nodes.
    sizes: FxHashMap<Name, usize>,
    /// How often they call the root, also through others.
    recursions: FxHashMap<Name, usize>,
}

impl Inlined {
    /// Adds a function, after those that it calls. The recursion of one that calls itself as well,
    /// through its slot, gains nothing from copies.
    fn add(&mut self, function: &CheckedFunction, root: &CheckedFunction) {
        let recursions = if function.calls_itself() { 0 } else { self.recursions(function, root) };
        let size = function.size_with(&self.sizes);
        self.sizes.insert(function.name, size);
        self.recursions.insert(function.name, recursions);
    }

    /// Returns whether an inlined function calls the root.
    fn recurs(&self, name: Name) -> bool {
        self.recursions.get(&name).is_some_and(|calls| *calls > 0)
    }

    /// Returns how often a function calls the root after inlining into it.
    fn recursions(&self, function: &CheckedFunction, root: &CheckedFunction) -> usize {
        let calls = |node: &CheckedNode| {
            let CheckedNode::Call(index) = node else { return 0 };
            let callee = function.callees[*index as usize];
            if callee.name == root.name {
                usize::from(callee.arity == root.arity())
            } else {
                self.recursions.get(&callee.name).copied().unwrap_or(0)
            }
        };
        function.nodes.iter().map(calls).sum()
    }

    /// Returns how many levels of the root's recursion to inline: as many as fit a budget of
    /// nodes, four at most. (Measured on the doubly recursive Fibonacci function: 1 level takes
    /// 0.59, 2 take 0.48, 3 take 0.45 and 4 take 0.38 of the time.) Of a function that calls
    /// itself in one place, eight: processors predict the returns of thirty calls or so.
    fn levels(&self, root: &CheckedFunction, level: Level) -> u32 {
        const BUDGET: usize = 800;
        const MOST: u32 = 4;
        const MOST_OF_ONE_CALL: u32 = 8;
        if level < Level::O2 {
            return 0;
        }
        let (calls, size) = (self.recursions(root, root), root.size_with(&self.sizes));
        let (mut levels, mut copies, mut total) = (0, 1_usize, 0_usize);
        let most = if calls == 1 { MOST_OF_ONE_CALL } else { MOST };
        while calls > 0 && levels < most {
            copies = copies.saturating_mul(calls);
            total = total.saturating_add(copies.saturating_mul(size));
            if total > BUDGET {
                break;
            }
            levels += 1;
        }
        levels
    }
}
