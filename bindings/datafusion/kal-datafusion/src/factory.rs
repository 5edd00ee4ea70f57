//! `CREATE FUNCTION … LANGUAGE kal AS '…'`.

use crate::engine::KalEngine;
use crate::session::{KalSession, NewFunction};
use async_trait::async_trait;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{ScalarValue, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion::execution::context::{FunctionFactory, RegisterFunction};
use datafusion::logical_expr::{CreateFunction, Expr};
use parking_lot::{Mutex, RwLock};
use std::fmt;
use std::sync::{Arc, Weak};

/// The lock that DataFusion has around the state of a session.
pub(crate) type SharedState = RwLock<SessionState>;

/// Creates the functions of one session.
pub struct KalFactory {
    session: Mutex<KalSession>,
    state: Weak<SharedState>,
    /// What creates functions of other languages.
    inner: Option<Arc<dyn FunctionFactory>>,
}

impl KalFactory {
    pub(crate) fn new(
        engine: &KalEngine,
        state: Weak<SharedState>,
        inner: Option<Arc<dyn FunctionFactory>>,
    ) -> Result<Self> {
        Ok(Self { session: Mutex::new(KalSession::new(engine)?), state, inner })
    }
}

impl fmt::Debug for KalFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KalFactory").field("inner", &self.inner).finish_non_exhaustive()
    }
}

#[async_trait]
impl FunctionFactory for KalFactory {
    async fn create(&self, state: &SessionState, statement: CreateFunction) -> Result<RegisterFunction> {
        let language = statement.params.language.as_ref().map(|language| language.value.clone());
        if !language.as_ref().is_some_and(|language| language.eq_ignore_ascii_case("kal")) {
            return match (&self.inner, language) {
                (Some(inner), _) => inner.create(state, statement).await,
                (None, Some(language)) => plan_err!("the language of functions is kal, not {language}"),
                (None, None) => plan_err!("the language is missing: LANGUAGE kal"),
            };
        }
        let new = new_function(statement)?;
        let own = self.state.upgrade().filter(|own| own.read().session_id() == state.session_id());
        let Some(own) = own else {
            return plan_err!("this session has the functions of another; enable Kal for it");
        };
        let mut session = self.session.lock();
        let mut state = own.write();
        session.create(&new, &mut state).map(RegisterFunction::Scalar)
    }
}

/// Returns what a statement describes.
fn new_function(statement: CreateFunction) -> Result<NewFunction> {
    let CreateFunction { name, args, return_type, params, or_replace, .. } = statement;
    match return_type {
        Some(DataType::Float64) => {}
        Some(other) => return plan_err!("`{name}` returns DOUBLE, not {other}"),
        None => return plan_err!("what `{name}` returns is missing: RETURNS DOUBLE"),
    }
    let arguments = args.unwrap_or_default();
    for argument in &arguments {
        let shown = argument.name.as_ref().map_or_else(|| "a parameter".into(), |name| format!("`{name}`"));
        if argument.data_type != DataType::Float64 {
            return plan_err!(
                "{shown} of `{name}` is DOUBLE, not {}: other numbers are converted in calls",
                argument.data_type
            );
        }
        if argument.default_expr.is_some() {
            return plan_err!("{shown} of `{name}` cannot have a default");
        }
    }
    let named: Vec<String> =
        arguments.iter().filter_map(|argument| argument.name.as_ref().map(normal)).collect();
    let parameters = if named.len() == arguments.len() { named } else { Vec::new() };
    let body = match params.function_body {
        Some(Expr::Literal(ScalarValue::Utf8(Some(body)) | ScalarValue::Utf8View(Some(body)), _)) => body,
        Some(_) => return plan_err!("the body of `{name}` is a text: AS 'def {name}(…) …'"),
        None => return plan_err!("the body of `{name}` is missing: AS 'def {name}(…) …'"),
    };
    if !kal::syntax::is_identifier(&name) {
        return Err(DataFusionError::Plan(format!("`{name}` is no name in Kal")));
    }
    Ok(NewFunction { name, arity: arguments.len(), parameters, body, replaces: or_replace })
}

/// Returns a name as SQL takes it: in lower case, unless it is quoted.
fn normal(name: &datafusion::logical_expr::sqlparser::ast::Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_lowercase(),
    }
}
