//! What comes of defining and running, as data that all back ends give.

use crate::name::Name;
use crate::sema::checked::Function;
use crate::stop::Request;
use std::collections::VecDeque;
use std::sync::Arc;

/// What became of a definition.
#[derive(Clone, Debug)]
pub struct Defined {
    /// What the name was bound to before.
    pub before: Option<Arc<Function>>,
    /// The definitions that call the name with another number of arguments
    /// than it takes now.
    pub stale: Vec<Arc<Function>>,
}

/// A run that was left: why, and where.
#[derive(Clone, Debug)]
pub struct Stopped {
    /// Why.
    pub failure: Failure,
    /// The calls that were in progress.
    pub trace: Trace,
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self { failure, trace: Trace::default() }
    }
}

/// The calls in progress when a run was left, innermost first, repeats folded.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The innermost calls.
    pub inner: Vec<Calls>,
    /// How many calls between the innermost and the outermost are left out.
    pub omitted: u64,
    /// The outermost calls.
    pub outer: VecDeque<Calls>,
}

/// Calls of one function by itself.
#[derive(Clone, Debug)]
pub struct Calls {
    /// The function.
    pub function: Arc<Function>,
    /// How many calls of it follow one another.
    pub count: u64,
}

/// How many groups of calls a trace shows from either end.
const SHOWN: usize = 8;

impl Trace {
    /// Whether there are no calls in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    /// Adds the next call outwards.
    pub(crate) fn push(&mut self, function: &Arc<Function>) {
        if let Some(last) = self.outer.back_mut().or_else(|| self.inner.last_mut())
            && Arc::ptr_eq(&last.function, function)
        {
            last.count += 1;
            return;
        }
        let calls = Calls { function: function.clone(), count: 1 };
        if self.inner.len() < SHOWN {
            self.inner.push(calls);
            return;
        }
        self.outer.push_back(calls);
        if self.outer.len() > SHOWN
            && let Some(left_out) = self.outer.pop_front()
        {
            self.omitted += left_out.count;
        }
    }
}

/// Why a run was left, or could not begin.
#[derive(Clone, Debug)]
pub enum Failure {
    /// A function was called that is not defined.
    Undefined {
        /// Its name.
        callee: Name,
        /// How many arguments were passed.
        passed: u32,
        /// Who called it; `None` for a call from Rust.
        caller: Option<Arc<Function>>,
    },
    /// A foreign function was called that the program has not declared.
    Undeclared {
        /// Its name.
        callee: Name,
        /// How many arguments were passed.
        passed: u32,
        /// Who called it; `None` for a call from Rust.
        caller: Option<Arc<Function>>,
    },
    /// A function was called that takes another number of arguments by now.
    Stale {
        /// Its present definition.
        callee: Arc<Function>,
        /// How many arguments were passed.
        passed: u32,
        /// Who called it; `None` for a call from Rust.
        caller: Option<Arc<Function>>,
    },
    /// A host function was called with a number of arguments it does not take.
    HostArity {
        /// Its name.
        callee: Name,
        /// How many arguments it takes.
        wanted: u32,
        /// How many arguments were passed.
        passed: u32,
        /// Who called it; `None` for a call from Rust.
        caller: Option<Arc<Function>>,
    },
    /// The stack is used up.
    StackOverflow,
    /// The fuel is used up.
    OutOfFuel,
    /// Somebody interrupted the run.
    Interrupted,
    /// The run took longer than allowed.
    DeadlineExceeded,
    /// A host function failed.
    Host {
        /// Its name.
        callee: Name,
        /// What it said.
        message: String,
    },
    /// A definition could not be compiled.
    Compile {
        /// The definition.
        function: Arc<Function>,
        /// What the compiler said.
        message: String,
    },
    /// More of something than there can be.
    TooMany(&'static str),
    /// The system refused memory or a thread.
    System(String),
}

impl From<Request> for Failure {
    fn from(request: Request) -> Self {
        match request {
            Request::Interrupt => Self::Interrupted,
            Request::Deadline => Self::DeadlineExceeded,
        }
    }
}

impl Failure {
    /// Fills in who made the call that failed.
    #[must_use]
    pub(crate) fn called_by(mut self, function: Option<Arc<Function>>) -> Self {
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
            | Self::TooMany(_)
            | Self::System(_) => {}
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Names;
    use crate::source::{Source, Span};

    fn function(name: &str, names: &Names) -> Arc<Function> {
        Arc::new(Function {
            name: names.intern(name),
            name_span: Span::default(),
            parameters: Box::default(),
            locals: 0,
            nodes: Box::default(),
            spans: crate::sema::spans::Spans::default(),
            numbers: Box::default(),
            callees: Box::default(),
            source: Source::new("", ""),
            span: Span::default(),
        })
    }

    #[test]
    fn a_trace_folds_repeats_and_keeps_both_ends() {
        let names = Names::new();
        let (f, g) = (function("f", &names), function("g", &names));
        let mut trace = Trace::default();
        (0..1000).for_each(|_| trace.push(&f));
        assert_eq!((trace.inner.len(), trace.inner[0].count, trace.omitted), (1, 1000, 0));
        for _ in 0..100 {
            trace.push(&g);
            trace.push(&f);
        }
        let count = |calls: &Calls| calls.count;
        let shown: u64 = trace.inner.iter().map(count).chain(trace.outer.iter().map(count)).sum();
        assert_eq!(shown + trace.omitted, 1200);
        assert_eq!((trace.inner.len(), trace.outer.len()), (SHOWN, SHOWN));
    }
}
