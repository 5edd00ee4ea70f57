//! Contexts: what a program has defined so far, and running more of it.

mod ahead;
mod beginning;
mod calling;
#[cfg(feature = "cli")]
mod command;
mod debugging;
mod declaring;
mod describe;
mod editing;
mod formula;
mod history;
mod importing;
mod isolated;
mod limit;
mod listing;
mod module_files;
mod notes;
mod opening;
mod refused;
mod preview;
mod reading;
mod resuming;
mod script;
#[cfg(all(test, feature = "compiler"))]
pub(crate) mod tests;
mod trace;
mod undo;
mod used_modules;
mod variables;

pub use describe::Description;
pub use formula::Formula;
pub use history::Change;
pub use listing::Stage;
pub use resuming::{Resumed, Saved};
pub use trace::{Trace, Transition};
pub(crate) use used_modules::UsedModules;

use crate::abi::HeldVariables;
use crate::backend::Backend;
use crate::config::Mode;
use crate::deadline::Alarm;
use crate::debugger::Debugger;
use crate::diagnostic::suggest::Budget;
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::engine::Engine;
use crate::error::Error;
use crate::failure::report::FailureReport;
use crate::failure::{Failure, RunFailure};
use crate::fingerprint::Fingerprint;
use crate::float_environment::{DefaultEnvironment, as_host};
use crate::host::{HostFunctions, Output};
use crate::host::{NumberInput, Outside};
use crate::interrupt::InterruptHandle;
use crate::library::ModuleFrontEnd;
use crate::module::{Imports, MemberKind, NameMistake};
use crate::name::{HeldName, Name, Names};
use crate::prelude::Beginning;
use crate::program::Program;
use crate::runtime::Variable;
use crate::sema::constant::declared_numbers;
use crate::sema::instance::is_made;
use crate::sema::{self, Declaration, Environment, checked};
use crate::source::Source;
use crate::stats::Stats;
use crate::status::State;
use crate::stop::Poll;
use crate::syntax::operator::{Fixity, Operators};
use crate::world::{Origin, World};
use history::{Changed, History};
use module_files::ModuleFiles;
use notes::VariableNotes;
use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A program in progress: its definitions, variables and operators, and what
/// it needs to run. One thread uses it at a time; it may move between threads.
///
/// ```
/// let mut context = kal::Engine::new()?.context()?;
/// let source = "def fib(n) if n < 2 then n else fib(n-1) + fib(n-2)
///               fib(10)";
/// assert_eq!(context.eval(source)?, Some(55.0));
///
/// let error = context.eval("fib(1, 2)").unwrap_err();
/// assert_eq!(error.to_string(), "`fib` takes 1 argument, not 2");
/// assert_eq!(context.eval("fib(20)")?, Some(6765.0));
/// # Ok::<(), kal::Error>(())
/// ```
pub struct Context {
    engine: Engine,
    front_end: FrontEnd,
    backend: Backend,
    /// What every name means.
    world: World,
    /// The places of the variables that are declared, or may be again.
    variables: HeldVariables,
    history: History,
    /// The `##` lines above declarations of variables.
    notes: VariableNotes,
    module_files: ModuleFiles,
    outside: Outside,
    /// What each item of a source, and each call from Rust, may take, if it is counted.
    fuel: Option<u64>,
    deadline: Option<Instant>,
    alarm: OnceCell<Arc<Alarm>>,
    /// Whether fuel, a deadline or a debugger watches calls, which is asked at each.
    is_watched: bool,
    debugger: Option<Debugger>,
    /// The budget for suggestions in the source in progress.
    suggestions: Budget,
    /// Whether failed runs are kept for inspection.
    keeps_failures: bool,
    /// The expression whose evaluation failed last.
    failed: Option<Arc<checked::CheckedFunction>>,
    redefined: u64,
    /// The items that were parsed and checked here.
    items_read: u64,
    /// The number of texts of which items have been parsed.
    parsed_units: u64,
    /// The items that the engine knew already.
    items_known: u64,
    parse_time: Duration,
    sources: SourcesInProgress,
    /// Whether an interrupt between two evaluations stops the second one.
    heeds_earlier: bool,
    beginning: Beginning,
    evaluation: Evaluation,
}

/// How a context reads texts. It is reached by pointers, so that a program whose contexts have
/// [`NONE`](Self::NONE) is linked without a parser.
#[derive(Clone, Copy)]
struct FrontEnd {
    items: fn(&mut Context, &Source, IfUnchanged, Interest, &mut Each<'_>) -> ControlFlow<()>,
    modules: Option<ModuleFrontEnd>,
}

impl FrontEnd {
    /// Reads any text.
    const WHOLE: Self = Self { items: Context::run_items::<true>, modules: Some(ModuleFrontEnd::WHOLE) };

    /// Reads only texts whose checked items are in an image.
    const NONE: Self = Self { items: Context::run_items::<false>, modules: None };
}

/// A callback for the outcome of each item of a source, which decides whether
/// to continue.
pub type Each<'a> = dyn FnMut(&mut Context, Result<Outcome, Error>) -> ControlFlow<()> + 'a;

/// What to do about a definition that changes nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IfUnchanged {
    Keep,
    Replace,
}

/// What becomes of the expressions of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Evaluation {
    /// They run.
    Run,
    /// They are compiled, to become parts of an image.
    Compile,
    /// They have run elsewhere.
    Skip,
    /// The same, and what the program imports has been kept there.
    Record,
}

/// Which outcomes the callback of a source is interested in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Interest {
    /// All; it may do anything with the context.
    Everything,
    /// Values, warnings and errors.
    Shown,
    /// Values and errors.
    Values,
}

/// At most this many callers that no longer fit a function get a warning each.
const SHOWN_CALLERS: usize = 10;

/// The outcome of one item of a program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// A function was defined or redefined.
    Defined {
        /// Its name.
        name: String,
        /// Whether the name was defined before.
        redefined: bool,
        /// Warnings about callers that no longer fit the definition.
        warnings: Vec<Diagnostic>,
    },
    /// A function already had an equal definition; only [`Context::update`]
    /// checks that.
    Unchanged {
        /// Its name.
        name: String,
    },
    /// An `extern` was accepted.
    Extern {
        /// The name of the function.
        name: String,
        /// What it declares.
        declares: Declaration,
    },
    /// A module was imported.
    Imported {
        /// Its name.
        module: String,
    },
    /// Variables were declared.
    Declared {
        /// Their names, in order.
        names: Vec<String>,
    },
    /// An expression was evaluated.
    Value(f64),
    /// An expression was evaluated for its effect, by `do`.
    Done,
}

impl Context {
    /// Creates a context in which nothing is defined, whatever the engine's images say.
    pub(crate) fn without_prelude(engine: &Engine) -> Result<Self, Error> {
        Self::new(engine, FrontEnd::WHOLE)
    }

    fn new(engine: &Engine, front_end: FrontEnd) -> Result<Self, Error> {
        Ok(Self::over(engine, Backend::new(engine)?, front_end))
    }

    /// Creates a context with this back end and front end.
    fn over(engine: &Engine, backend: Backend, front_end: FrontEnd) -> Self {
        let mut context = Self {
            engine: engine.clone(),
            front_end,
            backend,
            world: World::new(engine.operators().clone()),
            variables: HeldVariables::of(engine.variables()),
            history: History::default(),
            notes: VariableNotes::default(),
            module_files: ModuleFiles::default(),
            outside: Outside::new(engine.config().new_output()),
            fuel: engine.config().limits.fuel,
            deadline: None,
            is_watched: false,
            alarm: OnceCell::new(),
            debugger: None,
            suggestions: Budget::default(),
            keeps_failures: false,
            failed: None,
            redefined: 0,
            items_read: 0,
            parsed_units: 0,
            items_known: 0,
            parse_time: Duration::ZERO,
            sources: SourcesInProgress::default(),
            heeds_earlier: false,
            beginning: Beginning::Empty,
            evaluation: if engine.config().is_for_image { Evaluation::Compile } else { Evaluation::Run },
        };
        context.note_watch();
        context
    }

    /// Returns the engine it belongs to.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the output of `printd` and `putchard`: standard output by
    /// default.
    pub fn output(&mut self) -> &mut dyn Output {
        &mut *self.outside.output
    }

    /// Sets the output of `printd` and `putchard`.
    pub fn set_output(&mut self, output: Box<dyn Output>) {
        self.outside.output = output;
    }

    /// Sets where `read()` reads numbers: standard input by default.
    pub fn set_input(&mut self, input: Box<dyn std::io::Read + Send>) {
        self.outside.state.input = NumberInput::from_host(input);
    }

    /// Sets what `arg(n)` and `args()` return: the arguments of the program, none by
    /// default.
    pub fn set_arguments(&mut self, arguments: Vec<String>) {
        self.outside.state.set_arguments(arguments);
    }

    /// Runs a source, item by item, up to its first error. Returns the value of
    /// its last expression, if it has one.
    ///
    /// # Errors
    /// [`Error::Invalid`] when an item is refused, [`Error::Failed`] when an
    /// expression does not run to its end. Earlier items stay in effect.
    pub fn eval(&mut self, text: &str) -> Result<Option<f64>, Error> {
        self.last_value(&Source::new("<eval>", text))
    }

    /// Runs a source item by item, and passes the outcome of each to `each` until that breaks. The
    /// outcomes in which that is not interested may be left out.
    fn items(
        &mut self,
        source: &Source,
        if_unchanged: IfUnchanged,
        interest: Interest,
        each: &mut Each<'_>,
    ) -> ControlFlow<()> {
        (self.front_end.items)(self, source, if_unchanged, interest, each)
    }

    fn last_value(&mut self, source: &Source) -> Result<Option<f64>, Error> {
        let mut result = Ok(None);
        let _ = self.items(source, IfUnchanged::Replace, Interest::Values, &mut |_, outcome| {
            match outcome {
                Ok(Outcome::Value(value)) => result = Ok(Some(value)),
                Ok(
                    Outcome::Defined { .. }
                    | Outcome::Unchanged { .. }
                    | Outcome::Extern { .. }
                    | Outcome::Imported { .. }
                    | Outcome::Declared { .. }
                    | Outcome::Done,
                ) => {}
                Err(error) => result = Err(error),
            }
            if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        self.submit();
        result
    }

    /// Runs a source up to its first error.
    ///
    /// # Errors
    /// What is wrong with it; earlier items stay in effect.
    pub(crate) fn run_all(&mut self, source: &Source) -> Result<(), Error> {
        let mut result = Ok(());
        let _ = self.run_for_values(source, &mut |_, outcome| match outcome {
            Ok(_) => ControlFlow::Continue(()),
            Err(error) => {
                result = Err(error);
                ControlFlow::Break(())
            }
        });
        result
    }

    /// Runs a source, item by item, and passes the outcome of every item to
    /// `each` until that breaks. After an item that is refused or fails, the
    /// next one can still be run.
    ///
    /// All changes of one call are one step of [`undo`](Self::undo), including
    /// those that `each` makes.
    pub fn run(&mut self, source: &Source, each: &mut Each<'_>) -> ControlFlow<()> {
        let flow = self.items(source, IfUnchanged::Replace, Interest::Everything, each);
        self.submit();
        flow
    }

    /// Runs a source like [`run`](Self::run), but may leave out the outcomes of
    /// definitions without warnings. So what another context of the engine has run, or an
    /// earlier run has checked and the [cache](crate::Config::cache) has kept, can be taken
    /// over as a whole, at the start of a program: it costs what is used of it. What is taken over
    /// is defined before `each` is called for what lies between.
    pub fn run_for_values(&mut self, source: &Source, each: &mut Each<'_>) -> ControlFlow<()> {
        let flow = self.items(source, IfUnchanged::Replace, Interest::Shown, each);
        self.submit();
        flow
    }

    /// Runs a source like [`run`](Self::run), but skips definitions that are
    /// equal to the present ones: their code is kept, and so is that of their
    /// callers. Layout and comments do not matter.
    pub fn update(&mut self, source: &Source, each: &mut Each<'_>) -> ControlFlow<()> {
        let flow = self.items(source, IfUnchanged::Keep, Interest::Everything, each);
        self.submit();
        flow
    }

    /// Ends the present batch of eager definitions, so that it is compiled.
    fn submit(&self) {
        // Without a worker nothing is compiled ahead of the first call, which
        // then reports why.
        let _ = self.backend.submit();
    }

    /// Runs a program that was read before, item by item, and passes the
    /// outcome of every item to `each` until that breaks, like
    /// [`run`](Self::run).
    pub fn run_program(&mut self, program: &Program, each: &mut Each<'_>) -> ControlFlow<()> {
        if !program.engine.is(&self.engine) {
            return each(self, Err(Error::OtherEngine));
        }
        let flow = self.parts_of(program, each);
        self.submit();
        flow
    }

    fn parts_of(&mut self, program: &Program, each: &mut Each<'_>) -> ControlFlow<()> {
        let _environment = DefaultEnvironment::enter();
        let _source = self.begin_source();
        let _step = self.history.step();
        self.debugger.iter().for_each(Debugger::forget_ending);
        let limit = match self.limit() {
            Ok(limit) => limit,
            Err(error) => return each(self, Err(error)),
        };
        for part in &program.parts {
            let part = part.clone();
            // An instance is made of its pattern.
            if part.function().is_some_and(|function| is_made(&self.engine.names().text(function.name))) {
                continue;
            }
            if let (Some(function), Some(tape)) = (part.function(), &part.tape) {
                self.backend.supply(function, tape);
            }
            let begun = self.begin_item(limit.as_ref()).and_then(|()| self.fits(&part.item));
            let outcome = begun.and_then(|()| self.item(part.item, IfUnchanged::Replace));
            as_host(|| each(self, outcome))?;
            if !program.engine.is(&self.engine) {
                return each(self, Err(Error::OtherEngine));
            }
        }
        ControlFlow::Continue(())
    }

    /// Returns when evaluations are stopped, if that is set.
    #[cfg(feature = "cli")]
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Sets a deadline for everything that runs in this context, in addition to
    /// that of each evaluation; `None` removes it.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
        self.note_watch();
        if let Some(alarm) = self.alarm.get() {
            alarm.set_end(deadline);
        }
    }

    /// Creates a handle that interrupts what runs here, from any thread.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle::new(&self.backend.stopper())
    }

    /// Returns the fuel left by the last evaluation or call; `None` without a
    /// limit.
    pub fn fuel(&self) -> Option<u64> {
        self.fuel.map(|_| self.backend.fuel())
    }

    fn item(&mut self, item: sema::CheckedItem, if_unchanged: IfUnchanged) -> Result<Outcome, Error> {
        match item {
            sema::CheckedItem::Definition(function, fixity) => match if_unchanged {
                IfUnchanged::Keep if self.world.is_bound_to(&function, fixity, self.engine.names()) => {
                    Ok(Outcome::Unchanged { name: self.engine.names().text(function.name).to_string() })
                }
                IfUnchanged::Keep | IfUnchanged::Replace => self.define(&function, fixity),
            },
            sema::CheckedItem::Extern(extern_) => self.declare_extern(&extern_),
            sema::CheckedItem::Import(import) => self.import(&import),
            sema::CheckedItem::Variables(function, names) => {
                let is_new = |name: &&Name| !self.world.has_variable(**name);
                let new: Vec<Name> = names.iter().filter(is_new).copied().collect();
                let moment = self.history.moment(&self.world);
                let names = self.declare_variables(&function, &names)?;
                self.note_variables(&function, &names);
                for name in names.iter().filter(|name| new.contains(&name.name())) {
                    self.history.push(moment.clone(), &self.world, Changed::Variable(name.clone()));
                }
                Ok(Outcome::Declared { names: names.iter().map(ToString::to_string).collect() })
            }
            sema::CheckedItem::Expression(function) => self.evaluate(&function).map(Outcome::Value),
            sema::CheckedItem::Effect(function) => self.evaluate(&function).map(|_| Outcome::Done),
        }
    }

    /// Evaluates a declaration of variables, and declares them. Returns their names.
    fn declare_variables(
        &mut self,
        declaration: &Arc<checked::CheckedFunction>,
        names: &[Name],
    ) -> Result<Vec<HeldName>, Error> {
        self.check_variables(declaration, names)?;
        self.hold_variables(names)?;
        let is_seen = self.debugger.is_some() || self.fuel.is_some();
        let numbers = declared_numbers(declaration).filter(|_| !is_seen);
        let values = numbers.and_then(|numbers| {
            let place = |(name, value)| Some((Variable(self.variables.find(name)?), value));
            numbers.into_iter().map(place).collect::<Option<Vec<_>>>()
        });
        if let Some(values) = values {
            values.into_iter().for_each(|(variable, value)| self.backend.set_variable(variable, value));
        } else if let Err(error) = self.evaluate(declaration) {
            self.release_variables();
            return Err(error);
        }
        let names: Vec<_> = names.iter().map(|name| self.engine.names().text(*name)).collect();
        names.iter().for_each(|name| self.world.declare_variable(name.clone()));
        Ok(names)
    }

    /// Checks that one more definition fits into the book, after some others that are
    /// not in it yet.
    fn check_definition(&self, function: &checked::CheckedFunction, others: usize) -> Result<(), Error> {
        let most = self.engine.config().limits.max_definitions;
        if self.world.defines(function.name) || self.world.len() + others < most {
            return Ok(());
        }
        let message = format!("no more than {most} definitions are allowed");
        let diagnostic = Diagnostic::error(ErrorCode::TooMany, &function.source, function.name_span, message);
        Err(Error::Invalid(vec![diagnostic.with_note("one definition too many")]))
    }

    fn define(
        &mut self,
        function: &Arc<checked::CheckedFunction>,
        fixity: Option<Fixity>,
    ) -> Result<Outcome, Error> {
        self.check_definition(function, 0)?;
        self.backend.admit(&self.engine, function)?;
        self.adopt_aliases(function);
        let name = function.name;
        let moment = self.history.moment(&self.world);
        let before = moment.as_ref().and_then(|_| self.backend.bound(name));
        if let Some(debugger) = &self.debugger {
            debugger.note(function);
        }
        if let Some(bound) = self.world.definition(name).filter(|bound| bound.origin == Origin::Module) {
            self.module_files.redefining(&bound.function);
        }
        let hidden = self.imported_pattern(name);
        let changed = self.world.define(function, fixity);
        self.backend.define(function);
        if moment.is_some() {
            let (name, after) = (self.engine.names().text(name), self.backend.bound(name));
            self.history.push(moment, &self.world, Changed::Function { name, before, after });
        }
        self.follow_aliases(function.name);
        let before = changed.before.as_ref().or(hidden.as_ref());
        let instances = self.follow_pattern(name, before, Some(function));
        let redefined = changed.before.is_some() || !instances.is_empty();
        self.redefined += u64::from(redefined);
        if self.engine.mode() == Mode::Eager {
            self.backend.prepare_soon(name);
        }
        let mut warnings = self.warnings(&changed.stale, function);
        let alias = self.world.alias_of(function.name, self.engine.names());
        if let Some(alias) = alias.and_then(|alias| self.world.function(alias)) {
            warnings.extend(self.warnings(&self.world.stale_callers(alias), alias));
        }
        warnings.extend(self.warnings_of_givers(&instances, function));
        warnings.extend(sema::uncalled(function, fixity, self.engine.names()));
        let name = self.engine.names().text(name).to_string();
        Ok(Outcome::Defined { name, redefined, warnings })
    }

    /// Returns the warnings about definitions that call instances which a function is no pattern of
    /// any more.
    fn warnings_of_givers(
        &self,
        instances: &[Name],
        pattern: &Arc<checked::CheckedFunction>,
    ) -> Vec<Diagnostic> {
        self.warnings(&self.world.stale_givers(pattern, instances, self.engine.names()), pattern)
    }

    /// Returns the warnings about callers that no longer fit a function.
    fn warnings(
        &self,
        stale: &[Arc<checked::CheckedFunction>],
        callee: &Arc<checked::CheckedFunction>,
    ) -> Vec<Diagnostic> {
        self.with_report(|report| {
            let shown = stale.iter().take(SHOWN_CALLERS);
            let warnings = shown.filter_map(|caller| report.stale_caller(caller, callee));
            let more = stale.len().checked_sub(SHOWN_CALLERS).filter(|more| *more > 0);
            warnings.chain(more.map(|more| report.more_stale_callers(more, callee))).collect()
        })
    }

    fn evaluate(&mut self, expression: &Arc<checked::CheckedFunction>) -> Result<f64, Error> {
        match self.evaluation {
            Evaluation::Run => {}
            Evaluation::Compile => return self.compile_ahead(expression).map(|()| 0.0),
            Evaluation::Skip | Evaluation::Record => return Ok(0.0),
        }
        if let Some(debugger) = &self.debugger {
            debugger.begin(self.scope());
        }
        self.submit();
        self.backend.admit(&self.engine, expression)?;
        self.adopt_aliases(expression);
        let result = self.backend.run(expression, &mut self.outside);
        self.adopt();
        result.map_err(|stopped| {
            self.failed = self.keeps_failures.then(|| expression.clone());
            self.stopped(&stopped)
        })
    }

    /// Returns the name that reads so, if something may have it.
    fn name_of(&self, text: &str) -> Option<Name> {
        self.world.name(&self.world.imports().everywhere(text), self.engine.names())
    }

    /// Starts compiling a function ahead of its first call, on another
    /// thread. It can be called or redefined meanwhile.
    ///
    /// # Errors
    /// [`Error::NoFunction`] if nothing of that name is defined.
    pub fn prepare(&self, name: &str) -> Result<(), Error> {
        let _environment = DefaultEnvironment::enter();
        let missing = || Error::NoFunction(name.to_owned());
        let name = self.name_of(name).ok_or_else(missing)?;
        self.world.function(name).ok_or_else(missing)?;
        self.backend.prepare(name).map_err(|failure| self.failed(&failure))
    }

    /// Compiles everything that is defined, on all cores, and waits for it.
    ///
    /// # Errors
    /// [`Error::Failed`] for the first definition that cannot be compiled, and
    /// when an interrupt or the deadline comes first.
    pub fn prepare_all(&self) -> Result<(), Error> {
        let _environment = DefaultEnvironment::enter();
        let _limit = self.limit_of_compile()?;
        self.backend.prepare_all().map_err(|failure| self.failed(&failure))
    }

    /// Returns whether a function can be compiled without having been called: any can, unless
    /// it is larger than [limits](crate::Limits::max_compiled_operations) allow, which stays in
    /// the interpreter. What [`Engine::store`] compiles ahead are those that can be.
    ///
    /// # Errors
    /// [`Error::NoFunction`] if nothing of that name is defined.
    pub fn prepare_for_aot(&self, name: &str) -> Result<bool, Error> {
        let function = self.name_of(name).and_then(|name| self.world.function(name));
        let function = function.ok_or_else(|| Error::NoFunction(name.to_owned()))?;
        Ok(!self.engine.is_too_large(function))
    }

    /// Returns the identity of a function's definition; `None` if it is not
    /// defined. It is the same wherever the same is defined: layout, comments and
    /// the names of parameters and other locals do not count. What is called
    /// counts by name only: its definition has an identity of its own.
    pub fn fingerprint(&self, name: &str) -> Option<Fingerprint> {
        let name = self.name_of(name)?;
        Some(self.world.function(name)?.fingerprint(self.engine.names()))
    }

    /// Returns the compilation status of a function; `None` if it is not
    /// defined.
    pub fn state(&self, name: &str) -> Option<State> {
        let name = self.known(name)?;
        self.backend.state(name)
    }

    /// Returns whether a source ends inside an item that more input could
    /// complete: a prompt then asks for another line.
    pub fn is_incomplete(&self, source: &Source) -> bool {
        crate::syntax::parser::is_incomplete(source, self.engine.names(), self.world.operators())
    }

    /// Returns the operators in force.
    pub fn operators(&self) -> &Operators {
        self.world.operators()
    }

    /// Returns statistics about this context and its engine.
    pub fn stats(&self) -> Stats {
        let (loaded_functions, loading) = self.engine.loaded();
        Stats {
            items_read: self.items_read,
            parsed_units: self.parsed_units,
            loaded_functions,
            load_ms: loading as f64 / 1e6,
            items_known: self.items_known,
            redefined: self.redefined,
            parse_ms: self.parse_time.as_secs_f64() * 1e3,
            ..self.backend.stats()
        }
    }

    #[cold]
    fn stopped(&self, stopped: &RunFailure) -> Error {
        Error::of_run(self.with_report(|report| report.diagnose_run(stopped)))
    }

    fn failed(&self, failure: &Failure) -> Error {
        Error::of_run(self.with_report(|report| report.diagnose(failure)))
    }

    /// Runs a closure with a [`FailureReport`] for this context.
    pub(crate) fn with_report<T>(&self, work: impl FnOnce(&FailureReport<'_>) -> T) -> T {
        let (names, hosts) = (self.engine.names(), self.engine.hosts());
        let (world, suggestions) = (&self.world, &self.suggestions);
        work(&FailureReport { names, hosts, world, suggestions })
    }
}

impl Engine {
    /// Creates a context: nothing defined, nothing declared, unless an
    /// [image](crate::Config::image) has a [prelude](crate::ImageBuilder::prelude): then it
    /// begins with what that has left.
    ///
    /// # Errors
    /// If the system has no memory for it, or the prelude has to run and fails.
    pub fn context(&self) -> Result<Context, Error> {
        Context::begin(self, FrontEnd::WHOLE)
    }

    /// Creates a context that runs only texts whose checked items are in an image.
    #[cfg(feature = "executable")]
    pub(crate) fn context_of_image(&self) -> Result<Context, Error> {
        Context::begin(self, FrontEnd::NONE)
    }
}

/// The sources that a context is running: callbacks may run others. Each has a
/// clone.
#[derive(Clone, Default)]
struct SourcesInProgress(Arc<()>);

impl SourcesInProgress {
    #[inline]
    fn count(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }
}

impl Environment for Context {
    fn names(&self) -> &Names {
        self.engine.names()
    }

    fn hosts(&self) -> &HostFunctions {
        self.engine.hosts()
    }

    fn function(&self, name: Name) -> Option<Arc<checked::CheckedFunction>> {
        self.world.meaning(name).cloned()
    }

    fn arity(&self, name: Name) -> Option<u32> {
        self.world.arity(name)
    }

    fn global(&self, name: Name, kind: MemberKind) -> Result<HeldName, NameMistake> {
        self.world.global(name, kind, self.names())
    }

    fn imports(&self) -> &Imports {
        self.world.imports()
    }

    fn declared(&self, name: Name) -> Option<&sema::Extern> {
        self.world.declaration(name)
    }

    fn has_variable(&self, name: Name) -> bool {
        self.world.has_variable(name)
    }

    fn functions(&self) -> Vec<Name> {
        let bound = self.world.function_names();
        bound.chain(self.engine.hosts().names()).collect()
    }

    fn variables(&self) -> Vec<Name> {
        self.world.variables().collect()
    }

    fn suggestions(&self) -> &Budget {
        &self.suggestions
    }

    fn poll(&self) -> Poll {
        Poll::of(self.backend.stopper())
    }
}
