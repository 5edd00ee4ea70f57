//! The two tiers of native code, baseline and optimising: which code gets
//! which.
//!
//! Most code runs only once or a few times, so the first call gets baseline code,
//! which counts its calls and, in each call, the iterations of its loops. A hot
//! function is recompiled in the background at the optimising tier, and its next
//! call goes there, also one that it makes itself; a hot loop goes on in
//! [OSR code](super::osr). The optimising tier inlines
//! small callees, by what they are and not by what has been called: the same
//! program gets the same code in every run.

use super::worker::Urgency;
use crate::codegen::{CompileOptions, HAS_COMPILER, Level};
use crate::fingerprint::Fingerprint;
use crate::host::Builtin;
use crate::name::Name;
use crate::process::SteadyCell;
use crate::sema::checked::{Callee, CheckedFunction, Made};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

pub use crate::tier::{Tier, TierUp};

/// How to compile a function.
#[derive(Clone, Debug)]
pub(super) struct CompilePlan {
    pub(super) tier: Tier,
    /// How code is generated.
    pub(super) options: CompileOptions,
    /// What the code will assume.
    pub(super) assumptions: Assumptions,
    /// The number of calls after which the code reports that it is hot; never
    /// if `None`.
    pub(super) hot_after: Option<u32>,
    /// Whether the code loads the numbers of its definition, so that others of
    /// the same shape share it.
    pub(super) loads_numbers: bool,
    /// The identity of the code where it is called, once that is known.
    pub(super) identity: SteadyCell<Fingerprint>,
}

/// What code was compiled from besides its function. It may run where this
/// holds.
#[derive(Clone, Default, Debug)]
pub(super) struct Assumptions {
    /// The definitions of names that are inlined, each after those it calls.
    pub(super) inlined: Vec<Arc<CheckedFunction>>,
    /// The host functions whose calls are builtins: the program does not
    /// define their names.
    pub(super) builtins: Vec<(Name, Builtin)>,
}

/// Returns the function that a name is bound to in a program, or in the opening of a text.
pub type Defined<'a> = &'a dyn Fn(Name) -> Option<Arc<CheckedFunction>>;

/// What is known of the callees of the function to compile.
pub(super) struct Callees<'a> {
    /// Returns the definition of a name that may be inlined.
    pub(super) bound: &'a dyn Fn(Name) -> Option<Arc<CheckedFunction>>,
    /// Returns the number of nodes of that definition.
    pub(super) node_count: &'a dyn Fn(Name) -> Option<usize>,
    /// Returns whether a call finds a function of its arity that does not fail by
    /// itself.
    pub(super) succeeds: &'a dyn Fn(&Callee) -> bool,
    /// Returns the builtin that a call is.
    pub(super) builtin: &'a dyn Fn(&Callee) -> Option<Builtin>,
}

impl CompilePlan {
    /// Plans code into which nothing is inlined, of the best tier that there is.
    pub(super) fn alone(options: CompileOptions, builtins: Vec<(Name, Builtin)>) -> Self {
        let assumptions = Assumptions { inlined: Vec::new(), builtins };
        Self {
            tier: if HAS_COMPILER { Tier::Full } else { Tier::Quick },
            options,
            assumptions,
            hot_after: None,
            loads_numbers: false,
            identity: SteadyCell::new(),
        }
    }
}

impl TierUp {
    /// Returns the tier of a function's first code. Without a compiler there is the baseline only.
    pub(super) fn first(self, level: Level) -> Tier {
        match self {
            Self::After(_) | Self::Never if !HAS_COMPILER => Tier::Quick,
            Self::After(_) if level > Level::O0 => Tier::Quick,
            Self::After(_) | Self::Never => Tier::Full,
        }
    }

    /// Plans the code of a function at a tier.
    pub(super) fn plan(
        self,
        tier: Tier,
        function: &Arc<CheckedFunction>,
        options: CompileOptions,
        known: &Callees<'_>,
    ) -> CompilePlan {
        let (options, inlined, hot_after) = match (tier, self) {
            (Tier::Quick, _) => {
                let hot_after = match self {
                    Self::After(calls) => Some(calls).filter(|_| HAS_COMPILER),
                    Self::Never => None,
                };
                (CompileOptions { level: Level::O0, ..options }, Vec::new(), hot_after)
            }
            (Tier::Full, _) if options.level >= Level::O2 => (options, inlinable(function, known), None),
            (Tier::Full, _) => (options, Vec::new(), None),
        };
        let builtins = builtins(inlined.iter().chain([function]), known.builtin);
        CompilePlan {
            tier,
            options,
            assumptions: Assumptions { inlined, builtins },
            hot_after,
            loads_numbers: false,
            identity: SteadyCell::new(),
        }
    }
}

/// Returns the calls of functions that are builtins, each once.
pub(super) fn builtins<'a>(
    functions: impl IntoIterator<Item = &'a Arc<CheckedFunction>>,
    builtin: &dyn Fn(&Callee) -> Option<Builtin>,
) -> Vec<(Name, Builtin)> {
    let mut builtins = Vec::new();
    for callee in functions.into_iter().flat_map(|function| &function.callees) {
        let builtin = builtin(callee).map(|builtin| (callee.name, builtin));
        builtins.extend(builtin.filter(|builtin| !builtins.contains(builtin)));
    }
    builtins
}

/// The largest function to inline, in nodes.
const SMALL: usize = 100;

/// The largest size after inlining into it; the second one is for functions with loops, beside which
/// a call takes less.
const GROWN: (usize, usize) = (400, 200);

/// The total size of all functions chosen for inlining into one, in nodes.
const BUDGET: usize = 1500;

/// The largest size of a function after inlining, with a copy for every call,
/// in nodes.
const LARGEST: usize = 6000;

/// The largest number of functions that an inlined function may reach by calls.
const MOST_REACHED: usize = 100;

/// Returns how urgent the optimised code of a hot function is: where it is small, and does not
/// call itself, the code of its callers contains it.
pub(super) fn urgency(function: &CheckedFunction) -> Urgency {
    if function.nodes.len() <= SMALL && !function.calls_itself() { Urgency::Last } else { Urgency::Hot }
}

/// Chooses the functions to inline into `function`, each after those it calls
/// itself. Leaves out a callee from which a call that would fail can be reached,
/// so that the trace of the failure has it.
fn inlinable(function: &Arc<CheckedFunction>, known: &Callees<'_>) -> Vec<Arc<CheckedFunction>> {
    let (chosen, sizes) = (Vec::new(), FxHashMap::default());
    let visited = FxHashSet::from_iter([function.name]);
    let safe = FxHashSet::default();
    let with_loops = FxHashSet::default();
    let mut selection = Selection { known, chosen, sizes, with_loops, visited, safe, size: 0 };
    selection.callees(function);
    while function.size_with(&selection.sizes) > LARGEST
        && let Some(last) = selection.chosen.pop()
    {
        selection.sizes.remove(&last.name);
    }
    selection.reached(function)
}

struct Selection<'a> {
    known: &'a Callees<'a>,
    chosen: Vec<Arc<CheckedFunction>>,
    /// The sizes of the chosen functions after inlining into them.
    sizes: FxHashMap<Name, usize>,
    /// Those with loops, also of what is inlined into them.
    with_loops: FxHashSet<Name>,
    visited: FxHashSet<Name>,
    /// Functions from which no call fails, however deep.
    safe: FxHashSet<Name>,
    size: usize,
}

impl Selection<'_> {
    fn callees(&mut self, function: &CheckedFunction) {
        for callee in &function.callees {
            let node_count = || (self.known.node_count)(callee.name);
            if self.visited.contains(&callee.name) || node_count().is_none_or(|count| count > SMALL) {
                continue;
            }
            let found = (self.known.bound)(callee.name);
            let Some(found) = found.filter(|found| found.fits(callee.arity)) else { continue };
            let size = self.size + found.nodes.len();
            // A dispatcher changes with each function that gets a number.
            if size > BUDGET || found.made == Made::Dispatcher || !self.is_safe(&found) {
                continue;
            }
            self.size = size;
            self.visited.insert(callee.name);
            self.callees(&found);
            let size = found.size_with(&self.sizes);
            let is_loop = |callee: &Callee| self.with_loops.contains(&callee.name);
            let has_loops = found.has_loop() || found.callees.iter().any(is_loop);
            if size > (if has_loops { GROWN.1 } else { GROWN.0 }) {
                continue;
            }
            if has_loops {
                self.with_loops.insert(found.name);
            }
            self.sizes.insert(found.name, size);
            self.chosen.push(found);
        }
    }

    /// Returns the chosen functions that are inlined into `function`, also
    /// through others.
    fn reached(self, function: &CheckedFunction) -> Vec<Arc<CheckedFunction>> {
        let mut reached = FxHashSet::from_iter(function.callees.iter().map(|callee| callee.name));
        let mut kept: Vec<_> = Vec::new();
        // Callers come after their callees.
        for candidate in self.chosen.into_iter().rev() {
            if reached.contains(&candidate.name) {
                reached.extend(candidate.callees.iter().map(|callee| callee.name));
                kept.push(candidate);
            }
        }
        kept.reverse();
        kept
    }

    /// Returns whether no call that can be reached from a function fails. Returns
    /// `false` if there are too many to look at.
    fn is_safe(&mut self, function: &Arc<CheckedFunction>) -> bool {
        let mut reached = FxHashSet::from_iter([function.name]);
        let mut waiting = vec![function.clone()];
        while let Some(function) = waiting.pop() {
            for callee in &function.callees {
                if !(self.known.succeeds)(callee) || reached.len() > MOST_REACHED {
                    return false;
                }
                if !self.safe.contains(&callee.name) && reached.insert(callee.name) {
                    waiting.extend((self.known.bound)(callee.name));
                }
            }
        }
        self.safe.extend(reached);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Names;
    use crate::sema::checked::CheckedNode;
    use crate::source::Span;

    fn function(names: &Names, name: &str, callees: &[&str]) -> Arc<CheckedFunction> {
        let callee = |name: &&str| Callee { name: names.intern(name), arity: 0, span: Span::default() };
        let calls = (0..callees.len() as u32).map(CheckedNode::Call).collect();
        let function = CheckedFunction::of_nodes(names.intern(name), 0, calls);
        Arc::new(CheckedFunction { callees: callees.iter().map(callee).collect(), ..function })
    }

    #[test]
    fn callees_come_before_callers_cycles_end_and_failures_stay_outside() {
        let names = Names::new();
        let all = [
            function(&names, "f", &["g", "h", "unknown", "j", "k"]),
            function(&names, "g", &["h"]),
            function(&names, "h", &["g", "i"]),
            function(&names, "i", &[]),
            function(&names, "j", &["unknown"]),
            function(&names, "k", &["i", "j"]),
        ];
        let called = |name| all.iter().find(|function| function.name == name).cloned();
        let succeeds = |callee: &Callee| called(callee.name).is_some();
        let node_count = |name| called(name).map(|function| function.nodes.len());
        let chosen = inlinable(
            &all[0],
            &Callees { bound: &called, node_count: &node_count, succeeds: &succeeds, builtin: &|_| None },
        );
        let order: Vec<_> = chosen.iter().map(|function| names.text(function.name)).collect();
        assert_eq!(order, ["i", "h", "g"]);
    }

    #[test]
    fn what_doubles_with_every_call_is_inlined_up_to_a_size() {
        let names = Names::new();
        // f0 calls nothing, and each of the others calls the one before twice.
        let name = |index: usize| format!("f{index}");
        let all: Vec<_> = (0..30)
            .map(|index: usize| {
                let before = index.checked_sub(1).map(name);
                let callees: Vec<&str> = before.iter().chain(&before).map(String::as_str).collect();
                function(&names, &name(index), &callees)
            })
            .collect();
        let called = |name| all.iter().find(|function| function.name == name).cloned();
        let succeeds = |callee: &Callee| called(callee.name).is_some();
        let node_count = |name| called(name).map(|function| function.nodes.len());
        let chosen = |function| {
            let chosen = inlinable(
                function,
                &Callees { bound: &called, node_count: &node_count, succeeds: &succeeds, builtin: &|_| None },
            );
            chosen.iter().map(|function| names.text(function.name).to_string()).collect::<Vec<_>>()
        };
        // 2 nodes and two of the size before: 0, 2, 6, 14, 30, 62, 126, 254; f8 would be
        // too large and is called, so that f9 is small again.
        assert_eq!(chosen(&all[8]), ["f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7"]);
        assert_eq!(chosen(&all[9]), [""; 0]);
        // Only what is reached through inlined calls is kept.
        assert_eq!(chosen(&all[29]), ["f25", "f26", "f27", "f28"]);
        // What is chosen for one callee is inlined wherever else it is called.
        assert_eq!(chosen(&function(&names, "wide", &["f10"; 4])), ["f9", "f10"]);
    }

    #[test]
    fn functions_with_loops_are_inlined_if_they_grow_less() {
        let names = Names::new();
        let of_size = |name, calls: &[&str], count: usize, has_loop: bool| {
            let mut function = CheckedFunction::clone(&function(&names, name, calls));
            let rest = count - calls.len() - usize::from(has_loop);
            let calls = (0..calls.len() as u32).map(CheckedNode::Call);
            let end = has_loop.then_some(CheckedNode::For);
            function.nodes = calls.chain(vec![CheckedNode::Local(0); rest]).chain(end).collect();
            Arc::new(function)
        };
        // Returns whether g, of that many nodes, which calls an h of 50 so often, is inlined.
        let is_inlined = |count: usize, calls: usize, has_loop: bool| {
            let g = of_size("g", &vec!["h"; calls], count, has_loop);
            let h = of_size("h", &[], 50, false);
            let of = |name| if name == h.name { h.clone() } else { g.clone() };
            let (called, node_count) = (|name| Some(of(name)), |name| Some(of(name).nodes.len()));
            let known =
                Callees { bound: &called, node_count: &node_count, succeeds: &|_| true, builtin: &|_| None };
            let chosen = inlinable(&function(&names, "f", &["g"]), &known);
            chosen.iter().any(|function| function.name == g.name)
        };
        for has_loop in [false, true] {
            assert_eq!([100, 101].map(|count| is_inlined(count, 0, has_loop)), [true, false]);
        }
        assert_eq!([3, 5, 9].map(|calls| is_inlined(10, calls, false)), [true, true, false]);
        assert_eq!([3, 5, 9].map(|calls| is_inlined(10, calls, true)), [true, false, false]);
    }

    #[test]
    fn first_code_is_baseline_code_if_there_is_better() {
        let best = if HAS_COMPILER { Tier::Full } else { Tier::Quick };
        let tiers = TierUp::After(10);
        assert_eq!((tiers.first(Level::O2), tiers.first(Level::O0)), (Tier::Quick, best));
        assert_eq!(TierUp::Never.first(Level::O2), best);
    }
}
