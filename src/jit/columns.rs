//! Code of a function with all that it calls, over columns.
//!
//! It knows no execution context: variables are passed to it, and it calls nothing of the
//! program. So it is made once for an engine, and any thread runs it on its own stack.

use super::Jit;
use super::body_request::BodyRequest;
use super::code::SharedBody;
use super::definition::{find_body, shared};
use super::make::make;
use super::tier::{Assumptions, CompilePlan, Tier};
use crate::budget::ContextBudget;
use crate::codegen::{CACHE_LINE, ColumnEntry, CompileOptions, Entry, Level, has_different_rounds, lanes};
use crate::failure::Failure;
use crate::process::SteadyCell;
use crate::processor::Processor;
use crate::runtime::run_columns;
use crate::sema::call_graph::CallGraph;
use crate::sema::checked::CheckedNode;
use crate::stop::StopHandle;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Functions whose values would take more bytes in all lanes, if all were kept, may have frames that
/// are too large for the caller's stack.
const LARGE_FRAME: usize = 256 << 10;

/// The number of parameters up to which a call of the code needs no memory of the heap.
const FEW: usize = 8;

/// Code that computes a function in many rows at once.
pub struct ColumnCode {
    /// Keeps the code, which begins at `address`.
    _body: Arc<SharedBody>,
    address: usize,
    entry: ColumnEntry,
    counts_fuel: bool,
    /// Whether no other code is better for large outputs.
    is_for_large: bool,
    /// Whether some rounds may compute rows of other ones again.
    overlaps: bool,
    /// The bytes that the values of a function take in all lanes, if all are kept.
    frame: usize,
    parameters: usize,
    values: usize,
}

/// What code over columns is asked for.
#[derive(Clone, Copy)]
pub struct ColumnKind {
    /// The parameters that are the same in every row, by bit.
    pub every: u64,
    /// Whether function entries and iterations are counted.
    pub counts_fuel: bool,
    /// Whether outputs are larger than caches: then code can write past them where rows wait for memory,
    /// but takes longer to compile.
    pub is_large: bool,
}

/// Plans the code of the function that a graph is of.
fn plan(jit: &Jit, graph: &CallGraph, counts_fuel: bool) -> CompilePlan {
    let options = jit.options.code;
    let level = options.level.max(Level::O2);
    CompilePlan {
        tier: Tier::Full,
        options: CompileOptions { level, counts_fuel, ..options },
        assumptions: Assumptions { inlined: graph.callees().to_vec(), builtins: graph.builtins.clone() },
        hot_after: None,
        loads_numbers: false,
        identity: SteadyCell::new(),
    }
}

/// Returns how many rows of the function of a graph are computed at once.
fn lanes_of(graph: &CallGraph, processor: Processor) -> u32 {
    let root = graph.root();
    root.map_or(1, |function| lanes(function, graph.callees(), &graph.builtins, processor))
}

/// The nodes up to which a row takes less time than to read and write it, as long as nothing is
/// repeated and no function of the library is called.
const FEW_NODES: usize = 1024;

/// Returns whether rows of the function of a graph take less time than their memory does.
fn waits_for_memory(graph: &CallGraph) -> bool {
    let nodes = || graph.functions.iter().flat_map(|function| &function.nodes);
    graph.size <= FEW_NODES
        && graph.builtins.is_empty()
        && !nodes().any(|node| matches!(node, CheckedNode::For))
}

impl ColumnCode {
    /// Returns the code of the function that a graph is of, found or compiled. `lanes` is how many rows it
    /// computes at once; as many as are fastest on the processor if `None`.
    ///
    /// # Errors
    /// Why there is no code, or the request to stop that came first.
    pub fn of(
        jit: &Arc<Jit>,
        graph: &CallGraph,
        kind: ColumnKind,
        lanes: Option<u32>,
        budget: &Arc<ContextBudget>,
        stopper: &StopHandle,
    ) -> Result<Self, Failure> {
        let Some(function) = graph.root() else { return Err(Failure::internal("no function is asked for")) };
        let lanes = lanes.unwrap_or_else(|| lanes_of(graph, jit.options.code.processor));
        let ColumnKind { every, counts_fuel, is_large } = kind;
        let gains = !counts_fuel && waits_for_memory(graph);
        let (entry, is_for_large) =
            (ColumnEntry { lanes, every, streams: is_large && gains }, is_large || !gains);
        let plan = plan(jit, graph, counts_fuel);
        let request = BodyRequest { function, plan: &plan, entry: Entry::Columns(entry) };
        let (parameters, values) = (function.arity() as usize, graph.variables.len());
        let overlaps = !counts_fuel && !has_different_rounds(function, graph.callees());
        let values = parameters + values;
        let frame = graph.size.saturating_mul(lanes as usize * size_of::<f64>());
        let code = |body: Arc<SharedBody>| {
            let (address, _body) = (body.address(), body);
            Self { _body, address, entry, counts_fuel, is_for_large, overlaps, frame, parameters, values }
        };
        if let Some(body) = find_body(jit, &request, budget) {
            return Ok(code(body));
        }
        let (jit_of_worker, function, budget) = (jit.clone(), function.clone(), budget.clone());
        let made = jit.wait_for(Some(stopper), move || {
            let request = BodyRequest { function: &function, plan: &plan, entry: Entry::Columns(entry) };
            let (linked, size) = make(&jit_of_worker, &[request], &budget)?
                .pop()
                .ok_or_else(|| Failure::internal("the compiler made nothing"))?;
            Ok(shared(&jit_of_worker, &request, request.identity(&jit_of_worker), linked, size))
        })?;
        made.map(code)
    }

    /// Returns how it takes columns.
    pub fn entry(&self) -> ColumnEntry {
        self.entry
    }

    /// Returns whether it does what is asked for, as well as any code.
    #[inline]
    pub fn serves(&self, kind: ColumnKind) -> bool {
        let ColumnKind { every, counts_fuel, is_large } = kind;
        self.entry.every == every && self.counts_fuel == counts_fuel && (self.is_for_large || !is_large)
    }

    /// Returns whether its frames may be too large for the caller's stack.
    #[inline]
    pub fn has_large_frames(&self) -> bool {
        self.frame > LARGE_FRAME
    }

    /// Returns how many parameters it has.
    #[inline]
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// Returns how many rows are computed at once.
    pub fn lanes(&self) -> usize {
        self.entry.lanes as usize
    }

    /// Returns whether one call of the code can compute that number of rows: a multiple of the number of
    /// lanes, or, of most functions, any number above it.
    #[inline]
    pub fn takes(&self, rows: usize) -> bool {
        rows & (self.lanes() - 1) == 0 || self.overlaps && rows > self.lanes()
    }

    /// Computes the rows of `output`, as many as it has, which the code [takes](Self::takes).
    /// `columns` has at least as many of each parameter, or none if it is the same in
    /// every row; `values` has those, and then the variables. Stops in a loop when the
    /// word `stop` is not 0. Returns how many rows are complete; the next one was in the
    /// loop, then. Computes nothing if something has another size.
    ///
    /// If it counts fuel, each function entry and iteration takes one of `fuel`; when that
    /// is below 0 the rows are not complete, whatever is returned.
    ///
    /// What is written past the caches, if that is `streamed`, which the entry must allow, is there
    /// for other threads after a fence. Computes nothing if its output is at no multiple of
    /// [`CACHE_LINE`], or its rows are no multiple of the number of lanes.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub fn run<'c>(
        &self,
        stop: &AtomicU64,
        columns: impl Iterator<Item = &'c [f64]>,
        values: &[f64],
        output: &mut [f64],
        streamed: bool,
        fuel: &mut i64,
    ) -> usize {
        let rows = output.len();
        let is_aligned = || {
            let is_whole = rows.is_multiple_of(self.lanes());
            self.entry.streams && is_whole && output.as_ptr().addr().is_multiple_of(CACHE_LINE)
        };
        if streamed && !is_aligned() {
            return 0;
        }
        let flag = if streamed { ColumnEntry::STREAMED } else { 0 };
        let mut fits = values.len() == self.values && self.takes(rows);
        let (mut few, mut many) = ([ptr::null(); FEW], Vec::new());
        let addresses = match few.get_mut(..self.parameters) {
            Some(few) => few,
            None => {
                many.resize(self.parameters, ptr::null());
                &mut many[..]
            }
        };
        let mut places = addresses.iter_mut();
        for (index, column) in columns.enumerate() {
            fits &= self.entry.is_every(index) || column.len() >= rows;
            match places.next() {
                Some(place) => *place = column.as_ptr(),
                None => fits = false,
            }
        }
        if !fits || places.next().is_some() {
            return 0;
        }
        // SAFETY: the code is of this entry, is kept by `self`, and finds what its contract
        // asks for: `ColumnEntry`.
        unsafe { run_columns(self.address, stop, addresses, values, output, flag, fuel) }
    }
}

/// For tests of what the code is.
#[cfg(test)]
impl ColumnCode {
    /// Returns optimised IR of the function of a graph, in vectors of `lanes`, for columns that
    /// `are_large` or not.
    pub fn ir(jit: &Arc<Jit>, graph: &CallGraph, lanes: u32, are_large: bool) -> String {
        use super::make::list;
        use crate::codegen::Listing;
        let (plan, function) = (plan(jit, graph, false), graph.root().expect("it has a function").clone());
        let streams = are_large && waits_for_memory(graph);
        let entry = Entry::Columns(ColumnEntry { lanes, every: 0, streams });
        let jit_of_worker = jit.clone();
        let listed = jit.wait_for(None, move || {
            let request = BodyRequest { function: &function, plan: &plan, entry };
            list(&jit_of_worker, Listing::Ir, &[(request, "kernel")])
        });
        let listed = listed.and_then(|listed| listed).expect("it is compiled");
        String::from_utf8(listed).expect("it is text")
    }
}
