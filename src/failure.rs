//! The results of defining and running, as data that all back ends share.

pub(crate) mod report;

use crate::budget::ReachedLimit;
use crate::host::HostError;
use crate::name::Name;
use crate::sema::checked::CheckedFunction;
use crate::stop::StopRequest;
use std::sync::Arc;

/// A failed run: why, and where.
#[derive(Clone, Debug)]
pub struct RunFailure {
    /// The reason.
    pub failure: Failure,
    /// The calls that were in progress.
    pub trace: CallTrace,
}

impl From<Failure> for RunFailure {
    fn from(failure: Failure) -> Self {
        Self { failure, trace: CallTrace::default() }
    }
}

impl RunFailure {
    /// Says of `by` what it says of `function`: of the expression that was to
    /// run, if its code is that of its shape.
    #[must_use]
    pub(crate) fn restate(mut self, function: &Arc<CheckedFunction>, by: &Arc<CheckedFunction>) -> Self {
        if !Arc::ptr_eq(function, by) {
            self.failure = self.failure.restate(function, by);
            self.trace.functions_mut().filter(|known| Arc::ptr_eq(known, function)).for_each(|known| {
                *known = by.clone();
            });
        }
        self
    }
}

/// The calls in progress when a run was left, innermost first, repeats folded.
#[derive(Clone, Debug, Default)]
pub struct CallTrace {
    /// The groups at both ends, and what may still be folded.
    groups: Vec<CallGroup>,
    /// How many functions of the last group have been called once more: the
    /// beginning of another repeat.
    begun: usize,
    /// How many calls between the innermost and the outermost are left out.
    omitted: u64,
}

/// Calls of one function by itself, or of a few in turn.
#[derive(Clone, Debug)]
pub struct CallGroup {
    /// The functions, innermost first.
    functions: Functions,
    /// How often the whole sequence repeats.
    pub count: u64,
}

/// The functions of a group; most are single, and millions may be added.
#[derive(Clone, Debug)]
enum Functions {
    One(Arc<CheckedFunction>),
    Several(Vec<Arc<CheckedFunction>>),
}

/// How many groups of calls a trace shows from either end.
const SHOWN: usize = 8;

/// Sequences of at most this many functions are folded.
const LONGEST: usize = 4;

impl CallTrace {
    /// Returns whether there are no calls in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Adds the next call outwards, if the program has it.
    pub(crate) fn push(&mut self, function: &Arc<CheckedFunction>) {
        if function.made.is_between() {
            return;
        }
        if let Some(last) = self.groups.last_mut() {
            if Arc::ptr_eq(&last.functions()[self.begun], function) {
                self.begun += 1;
                if self.begun == last.functions().len() {
                    (last.count, self.begun) = (last.count + 1, 0);
                }
                return;
            }
            self.separate();
        }
        self.add(function.clone());
    }

    /// Returns the innermost groups, how many calls are left out, the outermost
    /// groups.
    pub(crate) fn shown(&self) -> (Vec<CallGroup>, u64, Vec<CallGroup>) {
        let mut all = self.clone();
        all.separate();
        let mut outer = all.groups.split_off(all.groups.len().min(SHOWN));
        let between = outer.len().saturating_sub(SHOWN);
        let omitted: u64 = outer.drain(..between).map(|calls| calls.total()).sum();
        (all.groups, all.omitted + omitted, outer)
    }

    fn functions_mut(&mut self) -> impl Iterator<Item = &mut Arc<CheckedFunction>> {
        self.groups.iter_mut().flat_map(|group| match &mut group.functions {
            Functions::One(function) => std::slice::from_mut(function),
            Functions::Several(functions) => functions,
        })
    }

    /// Turns the incomplete repeat of the last group into calls of their own.
    fn separate(&mut self) {
        let begun = std::mem::take(&mut self.begun);
        let last = self.groups.last().filter(|_| begun > 0);
        let calls = last.map_or_else(Vec::new, |last| last.functions()[..begun].to_vec());
        calls.into_iter().for_each(|function| self.add(function));
    }

    fn add(&mut self, function: Arc<CheckedFunction>) {
        self.groups.push(CallGroup { functions: Functions::One(function), count: 1 });
        self.fold();
        if self.groups.len() > 2 * (SHOWN + LONGEST) {
            self.omitted += self.groups.remove(SHOWN).total();
        }
    }

    /// Makes one group of the last calls if they repeat those before.
    fn fold(&mut self) {
        for length in 1..=LONGEST {
            let Some(start) = self.groups.len().checked_sub(length) else { return };
            let (before, last) = self.groups.split_at(start);
            if !last.iter().all(CallGroup::is_single) {
                return;
            }
            if before.last().is_some_and(|group| group.count > 1 && group.is_sequence(last)) {
                self.groups.truncate(start);
                self.groups[start - 1].count += 1;
                return;
            }
            let earlier = start.checked_sub(length).map(|first| (first, &before[first..]));
            let is_same = |(one, other): (&CallGroup, &CallGroup)| {
                one.is_single() && other.is_sequence(std::slice::from_ref(one))
            };
            if let Some((first, earlier)) = earlier
                && earlier.iter().zip(last).all(is_same)
            {
                let functions = last.iter().flat_map(CallGroup::functions).cloned();
                let functions = match length {
                    1 => last[0].functions.clone(),
                    _ => Functions::Several(functions.collect()),
                };
                self.groups.truncate(first);
                self.groups.push(CallGroup { functions, count: 2 });
                return;
            }
        }
    }
}

impl CallGroup {
    /// Returns the functions that call each other in turn, innermost first.
    pub(crate) fn functions(&self) -> &[Arc<CheckedFunction>] {
        match &self.functions {
            Functions::One(function) => std::slice::from_ref(function),
            Functions::Several(functions) => functions,
        }
    }

    fn total(&self) -> u64 {
        self.count * self.functions().len() as u64
    }

    fn is_single(&self) -> bool {
        self.count == 1 && matches!(self.functions, Functions::One(_))
    }

    /// Returns whether this group repeats exactly these calls.
    fn is_sequence(&self, calls: &[Self]) -> bool {
        let functions = self.functions();
        functions.len() == calls.len()
            && functions
                .iter()
                .zip(calls)
                .all(|(function, calls)| Arc::ptr_eq(function, &calls.functions()[0]))
    }
}

/// Why a run failed, or could not begin.
#[derive(Clone, Debug)]
pub enum Failure {
    /// A function was called that is not defined.
    Undefined {
        /// Its name.
        callee: Name,
        /// How many arguments were passed.
        passed: u32,
        /// The caller; `None` for a call from Rust.
        caller: Option<Arc<CheckedFunction>>,
    },
    /// A foreign function was called that the program has not declared.
    Undeclared {
        /// Its name.
        callee: Name,
        /// How many arguments were passed.
        passed: u32,
        /// The caller; `None` for a call from Rust.
        caller: Option<Arc<CheckedFunction>>,
    },
    /// A function was called that now takes another number of arguments.
    Stale {
        /// Its present definition.
        callee: Arc<CheckedFunction>,
        /// How many arguments were passed.
        passed: u32,
        /// The caller; `None` for a call from Rust.
        caller: Option<Arc<CheckedFunction>>,
    },
    /// A host function was called with a number of arguments it does not take.
    HostArity {
        /// Its name.
        callee: Name,
        /// How many arguments it takes.
        wanted: u32,
        /// How many arguments were passed.
        passed: u32,
        /// The caller; `None` for a call from Rust.
        caller: Option<Arc<CheckedFunction>>,
    },
    /// The stack is used up.
    StackOverflow,
    /// The fuel is used up.
    OutOfFuel,
    /// The run was interrupted.
    Interrupted,
    /// The run took longer than allowed.
    DeadlineExceeded,
    /// A host function failed.
    Host {
        /// Its name.
        callee: Name,
        /// What was passed.
        passed: Box<[f64]>,
        /// Its error message, or that it panicked.
        message: String,
    },
    /// A definition could not be compiled.
    Compile {
        /// The definition.
        function: Arc<CheckedFunction>,
        /// The compiler's message.
        message: String,
    },
    /// A definition could not be compiled, or its tape linked, since a limit of the
    /// context is reached.
    OverLimit {
        /// The definition.
        function: Arc<CheckedFunction>,
        /// The limit.
        limit: ReachedLimit,
    },
    /// A fixed capacity is exceeded; this names it.
    TooMany(&'static str),
    /// The system refused memory or a thread.
    System(String),
    /// A bug in Kal: something that should always hold does not.
    Internal {
        /// What does not hold.
        message: String,
        /// The definition that shows it, if it is one.
        function: Option<Arc<CheckedFunction>>,
    },
    /// The console of the debugger panicked, with that message.
    Console(String),
}

impl From<StopRequest> for Failure {
    fn from(request: StopRequest) -> Self {
        match request {
            StopRequest::Interrupt => Self::Interrupted,
            StopRequest::Deadline => Self::DeadlineExceeded,
        }
    }
}

impl Failure {
    /// Says of `by` what it says of `function`.
    #[must_use]
    pub(crate) fn restate(mut self, function: &Arc<CheckedFunction>, by: &Arc<CheckedFunction>) -> Self {
        let named = match &mut self {
            Self::Undefined { caller, .. }
            | Self::Undeclared { caller, .. }
            | Self::Stale { caller, .. }
            | Self::HostArity { caller, .. } => caller.as_mut(),
            Self::Compile { function, .. } | Self::OverLimit { function, .. } => Some(function),
            Self::Internal { function, .. } => function.as_mut(),
            Self::StackOverflow
            | Self::OutOfFuel
            | Self::Interrupted
            | Self::DeadlineExceeded
            | Self::Host { .. }
            | Self::TooMany(_)
            | Self::System(_)
            | Self::Console(_) => None,
        };
        named.filter(|named| Arc::ptr_eq(named, function)).into_iter().for_each(|named| *named = by.clone());
        self
    }

    /// Returns the failure of a call of a host function.
    pub(crate) fn of_host(callee: Name, passed: &[f64], HostError(message): HostError) -> Self {
        Self::Host { callee, passed: passed.into(), message }
    }

    /// Returns the failure for a bug in Kal that no definition shows.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::Internal { message: message.into(), function: None }
    }

    /// Fills in who made the call that failed.
    #[must_use]
    pub(crate) fn called_by(mut self, function: Option<Arc<CheckedFunction>>) -> Self {
        match &mut self {
            Self::Undefined { caller, .. }
            | Self::Undeclared { caller, .. }
            | Self::Stale { caller, .. }
            | Self::HostArity { caller, .. } => *caller = function,
            Self::StackOverflow
            | Self::OutOfFuel
            | Self::Interrupted
            | Self::DeadlineExceeded
            | Self::Host { .. }
            | Self::Compile { .. }
            | Self::OverLimit { .. }
            | Self::TooMany(_)
            | Self::System(_)
            | Self::Internal { .. }
            | Self::Console(_) => {}
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Names;

    fn function(name: &str, names: &Names) -> Arc<CheckedFunction> {
        Arc::new(CheckedFunction::of_nodes(names.intern(name), 0, Vec::new()))
    }

    #[test]
    fn a_trace_folds_repeats_and_keeps_both_ends() {
        let names = Names::new();
        let (f, g, h) = (function("f", &names), function("g", &names), function("h", &names));
        let described = |trace: &CallTrace| {
            let (inner, omitted, outer) = trace.shown();
            let text = |calls: &CallGroup| {
                let functions: Vec<_> =
                    calls.functions().iter().map(|function| names.text(function.name)).collect();
                format!("{}*{}", functions.join(">"), calls.count)
            };
            (inner.iter().map(text).collect::<Vec<_>>().join(" "), omitted, outer.len())
        };
        let mut trace = CallTrace::default();
        (0..1000).for_each(|_| trace.push(&f));
        assert_eq!(described(&trace), ("f*1000".into(), 0, 0));
        for _ in 0..100 {
            trace.push(&g);
            trace.push(&f);
        }
        trace.push(&h);
        assert_eq!(described(&trace), ("f*1000 g>f*100 h*1".into(), 0, 0));
        let mut trace = CallTrace::default();
        for _ in 0..10 {
            [&f, &g, &h].into_iter().for_each(|function| trace.push(function));
        }
        trace.push(&f);
        trace.push(&h);
        assert_eq!(described(&trace), ("f>g>h*10 f*1 h*1".into(), 0, 0));
        // What does not repeat keeps both ends.
        let mut trace = CallTrace::default();
        for bits in 0..1000_u32 {
            trace.push(if bits.count_ones() % 2 == 0 { &f } else { &g });
        }
        let (inner, omitted, outer) = trace.shown();
        let shown: u64 = inner.iter().chain(&outer).map(CallGroup::total).sum();
        assert_eq!((inner.len(), outer.len(), shown + omitted), (SHOWN, SHOWN, 1000));
    }
}
