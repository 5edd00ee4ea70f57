//! The engine that a process has: it reads and compiles functions, and keeps those that
//! arrived from elsewhere.

use crate::function::KalFunction;
use crate::payload::{self, Payload};
use crate::report::{in_one_line, mistake, refusal, refusal_of};
use crate::udf::KalUdf;
use datafusion::error::{DataFusionError, Result};
use kal::diagnostic::{Diagnostic, ErrorCode, Severity};
use kal::name::Names;
use kal::source::Source;
use kal::syntax::ast::ItemKind;
use kal::syntax::operator::Operators;
use kal::syntax::parser::parse_all;
use kal::{Config, Context, Engine, Error, Kernel, Limits, LineOutput, Outcome};
use lru::LruCache;
use parking_lot::Mutex;
use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How many functions that arrived are kept compiled.
const KEPT: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

/// How long reading definitions may take.
const READING: Duration = Duration::from_secs(2);

/// What reads, compiles and keeps functions. A process needs one; clones are the same.
#[derive(Clone)]
pub struct KalEngine(Arc<EngineInner>);

struct EngineInner {
    engine: Engine,
    /// Those that arrived, by their ids.
    arrived: Mutex<LruCache<[u8; 32], Arc<Arrival>>>,
}

/// A function that has arrived, or is being read by the first that met it.
type Arrival = OnceLock<Arc<KalFunction>>;

impl KalEngine {
    /// Returns limits for functions of strangers.
    pub fn default_limits() -> Limits {
        Limits {
            stack: 4 << 20,
            max_compiled_operations: 20_000,
            max_source_bytes: payload::LONGEST as u32,
            ..Limits::default()
        }
    }

    /// Creates an engine with the default limits.
    ///
    /// # Errors
    /// If the system refuses what it needs.
    pub fn new() -> Result<Self> {
        Self::with_limits(Self::default_limits())
    }

    /// Creates an engine with other limits. The time that functions may take for a batch is
    /// the [setting](crate::KalSettings::timeout) of a session.
    ///
    /// # Errors
    /// If the system refuses what it needs.
    pub fn with_limits(limits: Limits) -> Result<Self> {
        // What arrives is kept by id here, so the engine need not keep the texts.
        let engine = Engine::with_config(Config::new().limits(limits).keep_texts(false)).map_err(system)?;
        Ok(Self(Arc::new(EngineInner { engine, arrived: Mutex::new(LruCache::new(KEPT)) })))
    }

    /// Returns a context in which nothing is defined.
    pub(crate) fn context(&self) -> Result<Context> {
        let mut context = self.0.engine.context().map_err(system)?;
        context.set_output(Box::new(LineOutput::new(io::sink())));
        context.set_input(Box::new(io::empty()));
        Ok(context)
    }

    /// Returns the function of a payload: the one that is kept, or what its definitions say.
    pub(crate) fn arrive(&self, name: &str, bytes: &[u8]) -> Result<Arc<KalFunction>> {
        let refused = |why: &dyn fmt::Display| {
            DataFusionError::Execution(format!("the function `{name}` that arrived is refused: {why}"))
        };
        let payload = Payload::read(bytes).map_err(|why| refused(&why))?;
        let place = self.0.arrived.lock().get_or_insert(payload.id, Arc::default).clone();
        if let Some(function) = place.get() {
            return Ok(function.clone());
        }
        let start = Instant::now();
        let read = self.read(payload.definitions).and_then(|kernel| {
            let function = KalFunction::new(kernel);
            match *function.id() == payload.id {
                true => Ok(function),
                false => {
                    Err(refused(&"its definitions have another id; was it made by another version of Kal?"))
                }
            }
        });
        let function = match read {
            Ok(function) => function,
            Err(error) => {
                self.0.arrived.lock().pop(&payload.id);
                let error = error.strip_backtrace();
                return Err(refused(&error));
            }
        };
        let function = place.get_or_init(|| {
            let took = start.elapsed().as_secs_f64() * 1e3;
            log::info!("`{name}` {} has arrived and is read, in {took:.1} ms", function.short_id());
            Arc::new(function)
        });
        Ok(function.clone())
    }

    /// Returns the function with this kernel, the same for all who ask.
    pub(crate) fn keep(&self, kernel: Kernel) -> Arc<KalFunction> {
        let function = KalFunction::new(kernel);
        let place = self.0.arrived.lock().get_or_insert(*function.id(), Arc::default).clone();
        place.get_or_init(|| Arc::new(function)).clone()
    }

    /// Returns the kernel of the last definition of a text that arrived.
    fn read(&self, definitions: &str) -> Result<Kernel> {
        let mut context = self.context()?;
        let source = Source::new("<definitions>", definitions);
        let defined = define(&mut context, &source)?;
        let Some(last) = defined.last() else {
            return Err(DataFusionError::Execution("nothing is defined".into()));
        };
        let kernel =
            context.kernel(last).map_err(|error| refusal("it cannot be a function of columns", &error))?;
        check(&kernel, &source)?;
        Ok(kernel)
    }
}

impl fmt::Debug for KalEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KalEngine").field("arrived", &self.0.arrived.lock().len()).finish()
    }
}

/// Runs definitions in a context. Returns the names of the functions, in order. After an
/// error, the context may have some of them.
pub(crate) fn define(context: &mut Context, source: &Source) -> Result<Vec<String>> {
    let what = "Kal refuses the definitions";
    if let Some(mistake) = evaluated(source) {
        return Err(refusal_of(what, &[mistake]));
    }
    let mut names = Vec::new();
    let mut result = Ok(());
    context.set_deadline(Some(Instant::now() + READING));
    let _ = context.update(source, &mut |_, outcome| {
        let refused = match outcome {
            Ok(Outcome::Defined { name, warnings, .. }) => {
                let stale = warnings.into_iter().filter(|warning| !warning.code.is_lint());
                let stale: Vec<_> =
                    stale.map(|warning| Diagnostic { severity: Severity::Error, ..warning }).collect();
                let what = format!("other functions call `{name}` with another number of arguments");
                names.push(name);
                (!stale.is_empty()).then(|| refusal_of(&what, &stale))
            }
            Ok(Outcome::Unchanged { name }) => {
                names.push(name);
                None
            }
            Ok(Outcome::Declared { .. } | Outcome::Imported { .. }) => None,
            Ok(_) => Some(DataFusionError::Plan(format!("{what}: there is something else than definitions"))),
            Err(error) => Some(refusal(what, &error)),
        };
        match refused {
            None => ControlFlow::Continue(()),
            Some(error) => {
                result = Err(error);
                ControlFlow::Break(())
            }
        }
    });
    context.set_deadline(None);
    result.map(|()| names)
}

/// Returns the mistake that a source has something else than definitions: it would be computed
/// here and now. One that cannot be read by itself, since it uses operators of others, has
/// none here.
fn evaluated(source: &Source) -> Option<Diagnostic> {
    let names = Names::new();
    let (items, _) = parse_all(source, &names, &mut Operators::new(&names));
    let item = items.into_iter().find(|item| match item.kind {
        ItemKind::Definition(..) | ItemKind::Import(_) | ItemKind::Variables(_) => false,
        ItemKind::Extern(_) | ItemKind::Expression(_) | ItemKind::Effect(_) => true,
    })?;
    Some(Diagnostic::error(ErrorCode::Unsupported, source, item.span, "this is no definition"))
}

/// Checks that a kernel is a function of its arguments, and that it is complete.
pub(crate) fn check(kernel: &Kernel, source: &Source) -> Result<()> {
    let name = kernel.name();
    let mistakes = |code, remarks: &[kal::Remark]| -> Vec<_> {
        remarks.iter().map(|remark| mistake(code, remark, source)).collect()
    };
    if !kernel.failing_calls().is_empty() {
        let mistakes = mistakes(ErrorCode::UndefinedFunction, kernel.failing_calls());
        return Err(refusal_of(&format!("`{name}` is not complete"), &mistakes));
    }
    if !kernel.is_pure() {
        let mistakes = mistakes(ErrorCode::Unsupported, kernel.effects());
        return Err(refusal_of(&format!("`{name}` does more than compute a value"), &mistakes));
    }
    Ok(())
}

/// Returns the error for what the system refuses.
fn system(error: Error) -> DataFusionError {
    DataFusionError::Execution(format!("Kal cannot be started: {}", in_one_line(&error)))
}

/// Creates the scalar function for a payload.
pub(crate) fn arrived_udf(engine: &KalEngine, name: &str, bytes: &[u8]) -> Result<KalUdf> {
    Ok(KalUdf::new(name, engine.arrive(name, bytes)?))
}
