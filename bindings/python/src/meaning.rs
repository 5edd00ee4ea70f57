//! What a name of a session, or a formula, means at one moment, ready to run.

use crate::error::OrException;
use crate::shared_session::SharedSession;
use kal::diagnostic::ErrorCode;
use kal::{Context, Error, Kernel};
use pyo3::prelude::*;
use std::sync::Arc;

/// What a function of Python stands for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// What a name means.
    Name(String),
    /// An expression.
    Formula { text: String, parameters: Vec<String> },
}

impl Target {
    /// Returns a formula; its parameters are found if they are not given.
    pub fn formula(
        py: Python<'_>,
        session: &SharedSession,
        text: &str,
        parameters: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let text = text.trim().to_owned();
        let parameters = match parameters {
            Some(parameters) => parameters,
            None => declared_parameters(&mut *session.lock(py)?, &text).or_exception(py)?,
        };
        Ok(Self::Formula { text, parameters })
    }
}

/// The most operations of a call that is not watched: such calls end within a millisecond.
pub const QUICK: usize = 1 << 18;

/// What a target means at one moment.
pub struct Meaning {
    pub session: Arc<SharedSession>,
    pub target: Target,
    /// The version of the session.
    pub version: u64,
    /// That of the values of its variables.
    pub values: u64,
    pub kernel: Kernel,
    pub parameters: Vec<String>,
    /// How many operations a row takes at most.
    pub operations: Option<usize>,
    /// Whether a call with one row ends soon.
    pub is_quick: bool,
    pub is_pure: bool,
    pub handle: Handle,
}

impl Meaning {
    /// Returns what a target means in a context now.
    pub fn of(context: &mut Context, session: &Arc<SharedSession>, target: &Target) -> Result<Self, Error> {
        let (kernel, handle) = match target {
            Target::Name(name) => named(context, name)?,
            Target::Formula { text, parameters } => formula(context, text, parameters)?,
        };
        let (parameters, operations) = (kernel.parameters(), kernel.operations());
        Ok(Self {
            session: session.clone(),
            target: target.clone(),
            version: session.version(),
            values: session.values(),
            is_quick: operations.is_some_and(|operations| operations <= QUICK),
            is_pure: kernel.is_pure(),
            kernel,
            parameters,
            operations,
            handle,
        })
    }

    /// Returns whether its kernel is that of a formula, as that of a function of the library is.
    pub fn is_formula(&self) -> bool {
        self.kernel.name().starts_with('(')
    }

    /// Returns what it is called in messages.
    pub fn title(&self) -> String {
        match &self.target {
            Target::Name(name) => format!("`{name}`"),
            Target::Formula { .. } => "the formula".to_owned(),
        }
    }
}

fn formula(context: &mut Context, text: &str, parameters: &[String]) -> Result<(Kernel, Handle), Error> {
    let parameters: Vec<&str> = parameters.iter().map(String::as_str).collect();
    let kernel = context.formula_kernel(text, &parameters)?;
    Ok((kernel, Handle::Formula(context.formula(text, &parameters)?)))
}

fn named(context: &mut Context, name: &str) -> Result<(Kernel, Handle), Error> {
    let kernel = context.kernel(name)?;
    let handle = Handle::new(context, name, kernel.parameters().len())?;
    Ok((kernel, handle))
}

/// Returns the parameters of a formula: the names that mean nothing in a context, in their order
/// of appearance.
fn declared_parameters(context: &mut Context, text: &str) -> Result<Vec<String>, Error> {
    let mut parameters: Vec<String> = Vec::new();
    loop {
        let known: Vec<&str> = parameters.iter().map(String::as_str).collect();
        let Err(error) = context.formula_kernel(text, &known) else { break };
        let before = parameters.len();
        for diagnostic in error.diagnostics() {
            let label = diagnostic.labels.first();
            let name = label.map_or("", |label| label.source.slice(label.span));
            if diagnostic.code != ErrorCode::UnknownVariable || !kal::syntax::is_identifier(name) {
                return Err(error);
            }
            if !parameters.iter().any(|parameter| parameter == name) {
                parameters.push(name.to_owned());
            }
        }
        if parameters.len() == before {
            return Err(error);
        }
    }
    Ok(parameters)
}

macro_rules! handles {
    ($($variant:ident $arity:literal: $($argument:ident $number:ident),*;)+) => {
        /// How a function is called with numbers.
        pub enum Handle {
            $($variant(kal::Function<fn($($number),*) -> f64>),)+
            /// By its name, with more arguments than the others have.
            Many(String),
            Formula(kal::Formula),
        }

        impl Handle {
            fn new(context: &mut Context, name: &str, arity: usize) -> Result<Self, Error> {
                match arity {
                    $($arity => context.function::<fn($($number),*) -> f64>(name).map(Self::$variant),)+
                    _ => Ok(Self::Many(name.to_owned())),
                }
            }

            /// Calls the function, with as many arguments as it takes.
            #[inline]
            pub fn call(&self, context: &mut Context, arguments: &[f64]) -> Result<f64, Error> {
                match (self, arguments) {
                    $((Self::$variant(function), &[$($argument),*]) => function.call(context, ($($argument,)*)),)+
                    (Self::Many(name), arguments) => context.call(name, arguments),
                    (Self::Formula(formula), arguments) => formula.call(context, arguments),
                    (_, arguments) => {
                        let (name, asked) = ("the function".into(), arguments.len() as u32);
                        Err(Error::Arity { name, takes: self.arity(), asked })
                    }
                }
            }

            fn arity(&self) -> u32 {
                match self {
                    $(Self::$variant(_) => $arity,)+
                    Self::Many(_) | Self::Formula(_) => u32::MAX,
                }
            }
        }
    };
}

handles! {
    Zero 0: ;
    One 1: a f64;
    Two 2: a f64, b f64;
    Three 3: a f64, b f64, c f64;
    Four 4: a f64, b f64, c f64, d f64;
    Five 5: a f64, b f64, c f64, d f64, e f64;
    Six 6: a f64, b f64, c f64, d f64, e f64, f f64;
    Seven 7: a f64, b f64, c f64, d f64, e f64, f f64, g f64;
    Eight 8: a f64, b f64, c f64, d f64, e f64, f f64, g f64, h f64;
}
