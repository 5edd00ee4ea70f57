//! What a session has defined.
//!
//! A session is one context of Kal. What SQL knows are the functions that `CREATE FUNCTION`
//! names, each as a pinned kernel; what else their bodies define is there for other bodies
//! to call. After each change, the kernels of all functions are made again: those that
//! compute something else now are the ones that reach the change.

use crate::engine::{KalEngine, check, define};
use crate::function::KalFunction;
use crate::report::refusal;
use crate::udf::KalUdf;
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::logical_expr::ScalarUDF;
use kal::source::Source;
use kal::{Context, Kernel};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A function as `CREATE FUNCTION` describes it.
pub(crate) struct NewFunction {
    pub(crate) name: String,
    /// The names of the parameters, if all have one.
    pub(crate) parameters: Vec<String>,
    pub(crate) arity: usize,
    pub(crate) body: String,
    pub(crate) replaces: bool,
}

/// What a session has defined.
pub(crate) struct KalSession {
    context: Context,
    functions: BTreeMap<String, SqlFunction>,
}

/// A function that SQL knows.
struct SqlFunction {
    id: [u8; 32],
    arity: usize,
    parameters: Vec<String>,
}

impl KalSession {
    pub(crate) fn new(engine: &KalEngine) -> Result<Self> {
        Ok(Self { context: engine.context()?, functions: BTreeMap::new() })
    }

    /// Defines a function, and registers it with all that compute something else now. An
    /// error changes nothing.
    pub(crate) fn create(&mut self, new: &NewFunction, state: &mut SessionState) -> Result<Arc<ScalarUDF>> {
        self.forget_dropped(state);
        let name = &new.name;
        if !new.replaces && is_known(name, state) {
            return plan_err!("the function `{name}` exists; CREATE OR REPLACE FUNCTION replaces it");
        }
        // One step, and none before it.
        self.context.keep_history(0);
        self.context.keep_history(1);
        let changed = self.define(new);
        if changed.is_err() {
            self.context.undo();
        }
        self.context.keep_history(0);
        let mut created = None;
        for (name, kernel) in changed? {
            let function = Arc::new(KalFunction::new(kernel));
            let parameters = match self.functions.get(&name) {
                Some(known) if name != new.name => known.parameters.clone(),
                Some(_) | None => new.parameters.clone(),
            };
            let (id, arity) = (*function.id(), function.arity());
            let udf =
                Arc::new(ScalarUDF::from(KalUdf::new(&name, function).with_parameters(parameters.clone())?));
            state.register_udf(udf.clone())?;
            if name == new.name {
                created = Some(udf);
            }
            self.functions.insert(name, SqlFunction { id, arity, parameters });
        }
        created.map_or_else(|| plan_err!("`{name}` is not defined"), Ok)
    }

    /// Runs the body. Returns the kernel of the new function, and of all others that compute
    /// something else now.
    fn define(&mut self, new: &NewFunction) -> Result<BTreeMap<String, Kernel>> {
        let NewFunction { name, .. } = new;
        let source = Source::new(format!("<{name}>"), &new.body);
        let defined = define(&mut self.context, &source)?;
        if !defined.contains(name) {
            let others = defined.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let others = if others.is_empty() { "nothing".into() } else { others };
            let case = match defined.iter().any(|other| other.eq_ignore_ascii_case(name)) {
                true => "; it is another name in another case".to_owned(),
                false => String::new(),
            };
            return plan_err!("the body of `{name}` has to define it, and defines {others}{case}");
        }
        let unfit = |error| refusal("it cannot be a function of columns", &error);
        let kernel = self.context.kernel(name).map_err(unfit)?;
        let takes = kernel.parameters().len();
        if takes != new.arity {
            let asked = new.arity;
            let parameters = if asked == 1 { "parameter" } else { "parameters" };
            return plan_err!("`{name}` has {asked} {parameters} in SQL, and {takes} in its body");
        }
        check(&kernel, &source)?;
        let mut changed = BTreeMap::new();
        for (other, known) in self.functions.iter().filter(|(other, _)| *other != name) {
            let kernel = self.context.kernel(other).map_err(unfit)?;
            if *kernel.id().as_bytes() == known.id {
                continue;
            }
            if !new.replaces {
                return plan_err!(
                    "the body of `{name}` redefines what `{other}` calls; CREATE OR REPLACE FUNCTION replaces it"
                );
            }
            if kernel.parameters().len() != known.arity {
                return plan_err!("the body of `{name}` gives `{other}` other parameters");
            }
            check(&kernel, &source)?;
            changed.insert(other.clone(), kernel);
        }
        changed.insert(name.clone(), kernel);
        Ok(changed)
    }

    /// Forgets the functions that were dropped, and definitions that no function calls.
    fn forget_dropped(&mut self, state: &SessionState) {
        let is_there = |name: &String, known: &SqlFunction| {
            let udf = state.scalar_functions().get(name);
            udf.and_then(|udf| udf.inner().downcast_ref::<KalUdf>()).is_some_and(|udf| *udf.id() == known.id)
        };
        self.functions.retain(|name, known| is_there(name, known));
        let mut called: BTreeSet<String> = BTreeSet::new();
        let mut open: Vec<String> = self.functions.keys().cloned().collect();
        while let Some(name) = open.pop() {
            if let Some(description) = self.context.describe(&name)
                && called.insert(name)
            {
                open.extend(description.callees);
            }
        }
        for definition in self.context.definitions() {
            if !called.contains(&definition.name) {
                // What cannot be dropped by itself is dropped with what it was made for.
                let _ = self.context.drop_function(&definition.name);
            }
        }
        for variable in self.context.variable_names() {
            // One that is in use stays.
            let _ = self.context.drop_variable(&variable);
        }
    }
}

/// Returns whether SQL knows a function of that name.
fn is_known(name: &str, state: &SessionState) -> bool {
    state.scalar_functions().contains_key(name)
        || state.aggregate_functions().contains_key(name)
        || state.window_functions().contains_key(name)
}
