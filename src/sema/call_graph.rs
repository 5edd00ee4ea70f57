//! All functions that a function may call, as names mean them at one moment, and what
//! keeps them from being one piece of code.

use super::checked::{Callee, CheckedFunction, CheckedNode, variables_of};
use super::environment::{Environment, SourcePlace};
use crate::host::Builtin;
use crate::name::Name;
use crate::source::Span;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A function with all that it may call.
#[derive(Clone, Debug)]
pub struct CallGraph {
    /// The functions, each after those it calls unless they call each other; the last is
    /// the one that is asked about. Each has the name that it is called by.
    pub functions: Vec<Arc<CheckedFunction>>,
    /// The calls of functions of the library that the compiler knows.
    pub builtins: Vec<(Name, Builtin)>,
    /// The variables of the context that are read or assigned, in the order of
    /// [`variables_of`].
    pub variables: Vec<Name>,
    /// What makes the functions more than one piece of code that computes a value.
    pub obstacles: Vec<Obstacle>,
    /// The number of nodes with a copy of a function for each of its calls; saturates.
    pub size: usize,
}

/// Something that has to be done by itself, row for row.
#[derive(Clone, Debug)]
pub struct Obstacle {
    /// What it is.
    pub kind: ObstacleKind,
    /// Where it is.
    pub place: SourcePlace,
}

/// The kinds of obstacles. Names are of what is called or assigned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObstacleKind {
    /// A function that calls itself, directly or through others.
    Recursion(Name),
    /// A call of a function of the host.
    HostCall(Name),
    /// A call of a foreign function.
    ForeignCall(Name),
    /// An assignment to a variable of the context.
    Assignment(Name),
    /// A call of what is not defined, or takes other arguments.
    FailingCall(Name),
}

impl ObstacleKind {
    /// Returns whether a call with the same arguments may have another result, or an
    /// effect.
    pub fn is_impure(self, environment: &dyn Environment) -> bool {
        match self {
            Self::HostCall(name) => environment.hosts().get(name).is_none_or(|host| !host.is_pure),
            Self::ForeignCall(_) | Self::Assignment(_) => true,
            Self::Recursion(_) | Self::FailingCall(_) => false,
        }
    }
}

/// A function on the way from the root to the one that is looked at.
struct Visit {
    function: Arc<CheckedFunction>,
    /// The place of the next of its callees.
    next: usize,
}

struct GraphCollector<'a> {
    environment: &'a dyn Environment,
    graph: CallGraph,
    /// The sizes of the functions that are complete; none while one is on the way.
    sizes: FxHashMap<Name, Option<usize>>,
}

impl CallGraph {
    /// Returns the functions that `root` may call, as `environment` knows them.
    pub fn of(root: &Arc<CheckedFunction>, environment: &dyn Environment) -> Self {
        let graph = Self {
            functions: Vec::new(),
            builtins: Vec::new(),
            variables: Vec::new(),
            obstacles: Vec::new(),
            size: 0,
        };
        let mut collector = GraphCollector { environment, graph, sizes: FxHashMap::default() };
        collector.collect(root);
        let mut graph = collector.graph;
        graph.variables = variables_of(graph.functions.iter().map(|function| &**function));
        graph
    }

    /// Returns the function that is asked about.
    pub fn root(&self) -> Option<&Arc<CheckedFunction>> {
        self.functions.last()
    }

    /// Returns the functions that it may call.
    pub fn callees(&self) -> &[Arc<CheckedFunction>] {
        self.functions.split_last().map_or(&[], |(_, callees)| callees)
    }
}

impl GraphCollector<'_> {
    fn collect(&mut self, root: &Arc<CheckedFunction>) {
        let mut path = vec![self.enter(root.clone())];
        while let Some(visit) = path.last_mut() {
            let Some(callee) = visit.function.callees.get(visit.next).copied() else {
                let size = self.size_of(&visit.function);
                self.sizes.insert(visit.function.name, Some(size));
                self.graph.functions.extend(path.pop().map(|visit| visit.function));
                self.graph.size = size;
                continue;
            };
            visit.next += 1;
            let function = visit.function.clone();
            let next = self.callee(&function, callee);
            path.extend(next);
        }
    }

    /// Begins to look at a function.
    fn enter(&mut self, function: Arc<CheckedFunction>) -> Visit {
        self.sizes.insert(function.name, None);
        for (node, span) in function.nodes.iter().zip(function.spans.iter()) {
            if let CheckedNode::SetVariable(name) = node {
                self.note(ObstacleKind::Assignment(*name), &function, span);
            }
        }
        Visit { function, next: 0 }
    }

    /// Notes what a call leads to. Returns the function if it has not been looked at.
    fn callee(&mut self, caller: &CheckedFunction, callee: Callee) -> Option<Visit> {
        let Callee { name, arity, span } = callee;
        if let Some(function) = self.environment.function(name) {
            if !function.fits(arity) {
                // The error of such a call says what the function takes.
                self.note(ObstacleKind::FailingCall(name), caller, span);
            }
            return match self.sizes.get(&name) {
                None => {
                    let is_alias = function.name != name;
                    let named = || Arc::new(function.under(self.environment.names().text(name)));
                    let function = if is_alias { named() } else { function };
                    Some(self.enter(function))
                }
                Some(None) => {
                    self.note(ObstacleKind::Recursion(name), caller, span);
                    None
                }
                Some(Some(_)) => None,
            };
        }
        let hosts = self.environment.hosts();
        if let Some(builtin) = hosts.builtin(name, arity) {
            if !self.graph.builtins.contains(&(name, builtin)) {
                self.graph.builtins.push((name, builtin));
            }
            return None;
        }
        let kind = match hosts.get(name) {
            Some(host) if host.arity == arity => ObstacleKind::HostCall(name),
            Some(_) => ObstacleKind::FailingCall(name),
            None if hosts.foreign(name).is_some() => ObstacleKind::ForeignCall(name),
            None => ObstacleKind::FailingCall(name),
        };
        self.note(kind, caller, span);
        None
    }

    fn note(&mut self, kind: ObstacleKind, function: &CheckedFunction, span: Span) {
        let place = SourcePlace { source: function.source.clone(), span };
        self.graph.obstacles.push(Obstacle { kind, place });
    }

    /// Returns the number of nodes with a copy for each call.
    fn size_of(&self, function: &CheckedFunction) -> usize {
        function.size_with_copies(|name| self.sizes.get(&name).copied().flatten())
    }
}
