//! Kernels: functions over columns of numbers.
//!
//! A kernel is a function with all that it calls, as names meant it at one moment. If it is
//! one piece of code that computes a value (it does not call itself, calls nothing of the
//! host, and assigns no variable of the context), it is compiled to compute many rows at
//! once; else its rows are computed one by one, in contexts of its own. Both give the same
//! bits, and [`Kernel::explain`] tells which it is.

mod blocks;
mod column;
mod fuel;
mod live;
mod pinned;
mod remark;
mod rows;
mod run;
mod wide;

use crate::bytes::Writer;
use crate::codegen::HAS_COMPILER;
use crate::config::Mode;
use crate::context::Context;
use crate::error::Error;
#[cfg(feature = "cli")]
use crate::failure::Failure;
use crate::fingerprint::Fingerprint;
use crate::float_environment::{DefaultEnvironment, PresentEnvironment};
use crate::host::lanes::same_nan;
use crate::module::parts;
use crate::name::{HeldName, Name};
use crate::output::literal;
use crate::sema::call_graph::{CallGraph, Obstacle, ObstacleKind};
#[cfg(feature = "cli")]
use crate::sema::checked::Callee;
use crate::sema::checked::{CheckedFunction, CheckedNode, FORMULA};
use crate::sema::{Environment, Extern};
use crate::source::Source;
#[cfg(feature = "cli")]
use crate::source::Span;
pub use column::{Column, RowError};
pub use live::Columns;
use pinned::PinnedFunction;
pub use remark::Remark;
use rows::RowCode;
pub use run::{Failing, Run, Validity};
use std::fmt;
use std::sync::Arc;
use wide::WideCode;

/// What separates these encodings from others. The number changes with the meaning of the
/// language.
const KIND: &str = "kal 2026 kernel 1";

/// Kernels of more operations, with a copy of a function for each of its calls, are run row
/// by row: what they take to compile grows faster than they do.
const LARGEST: usize = 6000;

/// A function over columns, with all that it calls. Immutable: a redefinition makes another
/// one. Cheap to clone; any number of threads may use it at once.
///
/// ```
/// use kal::{Column, Run};
///
/// let mut context = kal::Engine::new()?.context()?;
/// context.eval("def tax(income rate) if income < 1000 then 0 else (income - 1000) * rate")?;
/// let tax = context.kernel("tax")?;
/// let incomes = [500.0, 1500.0, 3000.0];
/// let mut output = [0.0; 3];
/// tax.apply(&[Column::Values(&incomes), Column::Every(0.2)], &mut output, &mut Run::new())?;
/// assert_eq!(output, [0.0, 100.0, 400.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Kernel(Arc<KernelInner>);

struct KernelInner {
    /// Before the function, which has the engine that the code is in.
    code: KernelCode,
    function: PinnedFunction,
}

/// How the rows are computed.
enum KernelCode {
    Wide(WideCode),
    /// One by one, and why.
    Rows(RowCode, Vec<Remark>),
}

impl Kernel {
    /// Returns the kernel of a function, as names mean it in a context.
    fn of(function: &Arc<CheckedFunction>, name: HeldName, context: &mut Context) -> Result<Self, Error> {
        let engine = context.engine().clone();
        let graph = CallGraph::of(function, context);
        let root = graph.root().cloned().unwrap_or_else(|| function.clone());
        let variables = values(&graph, context)?;
        let remarks_on = |is_meant: &dyn Fn(ObstacleKind) -> bool| -> Vec<Remark> {
            let meant = graph.obstacles.iter().filter(|obstacle| is_meant(obstacle.kind));
            meant.map(|obstacle| Remark::of_obstacle(obstacle, context)).collect()
        };
        let effects = remarks_on(&|kind| kind.is_impure(context));
        let failing_calls = remarks_on(&|kind| matches!(kind, ObstacleKind::FailingCall(_)));
        let remarks = obstacles(&graph, context);
        let code = if remarks.is_empty() {
            KernelCode::Wide(WideCode::new(&engine))
        } else {
            let called = graph.functions.iter().flat_map(|function| &function.callees);
            let declared: Vec<Extern> =
                called.filter_map(|callee| context.declared(callee.name).cloned()).collect();
            let hosts = engine.hosts();
            let is_random = |kind| matches!(kind, ObstacleKind::HostCall(name) if hosts.is_random(name));
            let draws = graph.obstacles.iter().any(|obstacle| is_random(obstacle.kind));
            KernelCode::Rows(RowCode::new(declared, draws.then(|| context.random_stream())), remarks)
        };
        let modules = context.modules_of(&graph);
        let function =
            PinnedFunction { graph, name, root, variables, modules, effects, failing_calls, engine };
        Ok(Self(Arc::new(KernelInner { code, function })))
    }

    /// Computes the function in every row. `inputs` has a column for each parameter; those
    /// with values have as many rows as `output`.
    ///
    /// The results do not depend on the number of threads, nor on the processor. A NaN is
    /// always the same NaN.
    ///
    /// # Errors
    /// The lowest row that failed or was not complete when the run was stopped; the rows
    /// before it are complete, and those after it may be anything. Also if the columns do
    /// not fit, and what the compiler says.
    pub fn apply(
        &self,
        inputs: &[Column<'_>],
        output: &mut [f64],
        run: &mut Run<'_>,
    ) -> Result<(), RowError> {
        self.apply_with(&self.0.function.variables, inputs, output, run)
    }

    /// Computes the function in every row, where variables of the context have these values.
    #[inline(always)]
    fn apply_with(
        &self,
        variables: &[f64],
        inputs: &[Column<'_>],
        output: &mut [f64],
        run: &mut Run<'_>,
    ) -> Result<(), RowError> {
        // The processor takes its time to read this, in which it checks what is asked.
        let present = PresentEnvironment::read();
        let KernelInner { code, function } = &*self.0;
        if let KernelCode::Wide(code) = code
            && let Some(done) = code.at_once(function, variables, inputs, output, run, present)
        {
            return done;
        }
        self.apply_in_blocks(variables, inputs, output, run, present)
    }

    /// Does the same, whatever is asked for.
    #[inline(never)]
    fn apply_in_blocks(
        &self,
        variables: &[f64],
        inputs: &[Column<'_>],
        output: &mut [f64],
        run: &mut Run<'_>,
        present: PresentEnvironment,
    ) -> Result<(), RowError> {
        let KernelInner { code, function } = &*self.0;
        function.check(inputs, output.len(), run)?;
        let _environment = DefaultEnvironment::enter_from(present);
        let mut run = run.in_progress();
        run.watch(&function.engine)?;
        match code {
            KernelCode::Wide(code) => code.apply(function, variables, inputs, output, &mut run),
            KernelCode::Rows(code, _) => code.apply(function, variables, inputs, output, &mut run),
        }
    }

    /// Compiles it for such columns, as the first run with them does otherwise: how many rows
    /// they have is of no importance, which of them have one value is.
    ///
    /// # Errors
    /// What the compiler says. A kernel whose rows are computed one by one is compiled by
    /// its first run.
    pub fn prepare(&self, inputs: &[Column<'_>]) -> Result<(), Error> {
        let KernelInner { code, function } = &*self.0;
        let _environment = DefaultEnvironment::enter();
        match code {
            KernelCode::Wide(code) => code.prepare(function, inputs),
            KernelCode::Rows(..) => Ok(()),
        }
    }

    /// Returns the identity of what it computes: of its functions, and of the values of the
    /// variables that they read. It is the same wherever the same is defined.
    pub fn id(&self) -> Fingerprint {
        let kernel = &self.0.function;
        let names = kernel.engine.names();
        let mut writer = Writer::with_room(256);
        writer.count(kernel.graph.functions.len());
        for function in &kernel.graph.functions {
            writer.text(&names.text(function.name));
            writer.bytes(function.fingerprint(names).as_bytes());
        }
        writer.count(kernel.variables.len());
        for (name, value) in kernel.graph.variables.iter().zip(&kernel.variables) {
            writer.text(&names.text(*name));
            writer.long(value.to_bits());
        }
        Fingerprint::of(KIND, writer)
    }

    /// Returns its definitions as text, in an order in which they can be read again: what is
    /// imported, the variables with their values, the functions that it calls but those of
    /// modules, and the function; of a formula, the expression at last.
    pub fn source(&self) -> String {
        let kernel = &self.0.function;
        let names = kernel.engine.names();
        let mut lines: Vec<String> = Vec::new();
        let mut add = |line: String| {
            if !lines.contains(&line) {
                lines.push(line);
            }
        };
        kernel.modules.imports.iter().for_each(|import| add(import.clone()));
        for (name, value) in kernel.graph.variables.iter().zip(&kernel.variables) {
            let (name, value) = (names.text(*name), literal(*value));
            match parts(&name) {
                None => add(format!("var {name} = {value}")),
                // It is declared there.
                Some(_) => {
                    let assigned = kernel.modules.assigned.iter().find(|(assigned, _)| **assigned == *name);
                    assigned.into_iter().for_each(|(_, spelling)| add(format!("do {spelling} = {value}")));
                }
            }
        }
        for function in &kernel.graph.functions {
            let is_of_module = || kernel.modules.sources.contains(function.source.name());
            if !function.made.is_between() && !is_of_module() {
                add(function.text().to_owned());
            }
        }
        lines.join("\n")
    }

    /// Returns the definition of the function as text, with which [`source`](Self::source) ends; of a
    /// formula, the expression.
    pub fn text(&self) -> &str {
        self.0.function.root.text()
    }

    /// Returns the name of the function; `(formula)` for a formula.
    pub fn name(&self) -> &str {
        &self.0.function.name
    }

    /// Returns the names of its parameters.
    pub fn parameters(&self) -> Vec<String> {
        let kernel = &self.0.function;
        kernel.root.parameters.iter().map(|name| kernel.engine.names().text(*name).to_string()).collect()
    }

    /// Returns where each of its parameters is first used; `None` for one that is not.
    #[cfg(feature = "cli")]
    pub(crate) fn uses(&self) -> Vec<Option<Span>> {
        let root = &self.0.function.root;
        let mut uses = vec![None; root.parameters.len()];
        for (node, span) in root.nodes.iter().zip(root.spans.iter()) {
            if let CheckedNode::Local(local) | CheckedNode::SetLocal(local) = node
                && let Some(first @ None) = uses.get_mut(*local as usize)
            {
                *first = Some(span);
            }
        }
        uses
    }

    /// Returns the error of the first call in its own text of a function that was not bound.
    #[cfg(feature = "cli")]
    pub(crate) fn unknown_call(&self, context: &Context) -> Option<Error> {
        let PinnedFunction { root, graph, .. } = &self.0.function;
        let is_unknown = |callee: &&Callee| {
            context.function(callee.name).is_none()
                && context.hosts().get(callee.name).is_none()
                && graph
                    .obstacles
                    .iter()
                    .any(|obstacle| obstacle.kind == ObstacleKind::FailingCall(callee.name))
        };
        let callee = root.callees.iter().find(is_unknown)?;
        let (callee, passed) = (callee.name, callee.arity);
        let failure = Failure::Undefined { callee, passed, caller: Some(root.clone()) };
        Some(Error::Invalid(vec![context.with_report(|report| report.diagnose(&failure))]))
    }

    /// Returns the error of a run that was asked to stop before it computed anything.
    #[cfg(feature = "cli")]
    pub(crate) fn stop_of(&self, run: &Run<'_>) -> Option<Error> {
        run.requested().map(|request| self.0.function.stopped(request))
    }

    /// Passes everything that rows have printed to the system.
    #[cfg(feature = "cli")]
    pub(crate) fn flush(&self) -> std::io::Result<()> {
        match &self.0.code {
            KernelCode::Wide(_) => Ok(()),
            KernelCode::Rows(code, _) => code.flush(),
        }
    }

    /// Returns whether its results depend on its arguments only, and it has no effects.
    pub fn is_pure(&self) -> bool {
        self.effects().is_empty()
    }

    /// Returns what keeps it from being pure: calls of host functions that are not, and
    /// assignments to variables of the context.
    pub fn effects(&self) -> &[Remark] {
        &self.0.function.effects
    }

    /// Returns the calls that fail when a row reaches them: of names that were not bound, or
    /// take another number of arguments.
    pub fn failing_calls(&self) -> &[Remark] {
        &self.0.function.failing_calls
    }

    /// Returns whether no row can fail but by being stopped.
    pub fn is_total(&self) -> bool {
        self.0.function.graph.obstacles.is_empty()
    }

    /// Returns how many operations a row takes at most, with those of all functions that it
    /// calls; `None` if that is not known: it has loops, or there is no end to its calls.
    pub fn operations(&self) -> Option<usize> {
        let graph = &self.0.function.graph;
        let is_open = |obstacle: &Obstacle| !matches!(obstacle.kind, ObstacleKind::Assignment(_));
        let has_loops = |function: &Arc<CheckedFunction>| function.nodes.contains(&CheckedNode::For);
        let is_known = !graph.obstacles.iter().any(is_open) && !graph.functions.iter().any(has_loops);
        is_known.then_some(graph.size)
    }

    /// Returns whether it computes many rows at once.
    pub fn is_wide(&self) -> bool {
        matches!(self.0.code, KernelCode::Wide(_))
    }

    /// Returns how it is run, and if that is row by row, what keeps it from being wide.
    pub fn explain(&self) -> Vec<Remark> {
        match &self.0.code {
            KernelCode::Wide(code) => code.explain(&self.0.function.graph),
            KernelCode::Rows(_, reasons) => {
                let how = Remark::new("row by row");
                std::iter::once(how).chain(reasons.iter().cloned()).collect()
            }
        }
    }

    /// Returns whether names still mean the same in a context, but for the values of
    /// variables.
    fn is_current(&self, function: &Arc<CheckedFunction>, context: &Context) -> bool {
        let kernel = &self.0.function;
        let Some((_, callees)) = kernel.graph.functions.split_last() else { return false };
        // The calls of the library are those of the engine, unless a name of them is bound.
        kernel.root.is_alias_of(function)
            && callees.iter().all(|callee| {
                let now = context.function(callee.name);
                now.is_some_and(|now| Arc::ptr_eq(&now, callee) || now.is_alias_of(callee))
            })
            && kernel.graph.builtins.iter().all(|(name, _)| context.function(*name).is_none())
    }
}

/// Returns the values that the variables of a graph have in a context.
fn values(graph: &CallGraph, context: &Context) -> Result<Vec<f64>, Error> {
    let value = |name: &Name| context.variable(&context.engine().names().text(*name));
    graph.variables.iter().map(|name| value(name).map(same_nan)).collect()
}

/// Returns what keeps functions from being compiled to compute many rows at once.
fn obstacles(graph: &CallGraph, context: &Context) -> Vec<Remark> {
    let engine = context.engine();
    let mut remarks: Vec<Remark> =
        graph.obstacles.iter().map(|obstacle| Remark::of_obstacle(obstacle, context)).collect();
    if graph.size > LARGEST {
        let size = graph.size;
        remarks.push(Remark::new(format!(
            "it has {size} operations, with a copy of a function for each call, of {LARGEST} at most"
        )));
    }
    if engine.config().limits.fuel.is_some() {
        remarks.push(Remark::new("fuel is counted"));
    }
    if engine.mode() == Mode::Interpret {
        remarks.push(Remark::new("the engine interprets"));
    } else if !HAS_COMPILER {
        remarks.push(Remark::new("this build has no compiler"));
    }
    remarks
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({})", self.name())
    }
}

impl Context {
    /// Returns the kernel of a function: of what its name, and all names that it uses, mean
    /// now. Variables of this context have the values of this moment. The kernel of a function of
    /// the host or of the library is that of a formula which calls it.
    ///
    /// # Errors
    /// [`Error::NoFunction`] if there is no such function, [`Error::TakesFunctions`] if its
    /// arguments are not all numbers.
    pub fn kernel(&mut self, name: &str) -> Result<Kernel, Error> {
        let _environment = DefaultEnvironment::enter();
        self.adopt_alias_called(name);
        let (function, name) = match self.defined_function(name) {
            Err(error) => return self.kernel_of_host(name).ok_or(error)?,
            Ok(defined) => defined,
        };
        if !function.functions.is_empty() {
            return Err(Error::TakesFunctions(name.to_string()));
        }
        Kernel::of(&function, name, self)
    }

    /// Returns the kernel of a function of the host or of the library: that of a formula which
    /// calls it. `None` if there is none of that name.
    fn kernel_of_host(&mut self, name: &str) -> Option<Result<Kernel, Error>> {
        let signature = self.signature(name)?;
        let parameters = signature.split_once('(').map_or("", |(_, rest)| rest.trim_end_matches(')'));
        let parameters: Vec<&str> = parameters.split_whitespace().collect();
        Some(self.formula_kernel(&format!("{name}({})", parameters.join(", ")), &parameters))
    }

    /// Returns the kernel of an expression whose free names are `parameters`.
    ///
    /// # Errors
    /// As of [`formula`](Self::formula).
    pub fn formula_kernel(&mut self, text: &str, parameters: &[&str]) -> Result<Kernel, Error> {
        let _environment = DefaultEnvironment::enter();
        let function = self.formula_function(&Source::new("<formula>", text), parameters)?;
        let name = self.engine().names().hold(FORMULA);
        Kernel::of(&Arc::new(function.under(name.clone())), name, self)
    }
}
