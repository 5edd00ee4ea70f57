//! Typed handles of functions.

use crate::backend::CallHandle;
use crate::context::Context;
use crate::engine::Engine;
use crate::error::Error;
use crate::name::HeldName;
use crate::runtime::CallArguments;
use std::fmt;
use std::marker::PhantomData;

/// A handle of a function of a program, typed by how it is called:
/// `Function<fn(f64, f64) -> f64>`. It refers to the name, not to one
/// definition: a call reaches what the name is bound to at that time, in the
/// context it is called in.
///
/// ```
/// let engine = kal::Engine::new()?;
/// let mut context = engine.context()?;
/// context.eval("def area(w h) w * h")?;
/// let area = context.function::<fn(f64, f64) -> f64>("area")?;
/// assert_eq!(area.call(&mut context, (3.0, 4.0))?, 12.0);
/// context.eval("def area(w h) w * h / 2")?;
/// assert_eq!(area.call(&mut context, (3.0, 4.0))?, 6.0);
/// # Ok::<(), kal::Error>(())
/// ```
pub struct Function<F> {
    pub(crate) engine: Engine,
    pub(crate) name: HeldName,
    pub(crate) handle: CallHandle,
    signature: PhantomData<fn() -> F>,
}

impl<F: Signature> Function<F> {
    pub(crate) fn new(engine: Engine, name: HeldName, handle: CallHandle) -> Self {
        Self { engine, name, handle, signature: PhantomData }
    }

    /// Returns the name of the function.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Calls the function in `context`.
    ///
    /// # Errors
    /// [`Error::Failed`] if the call does not run to its end, or the name is no
    /// longer bound or now takes another number of arguments;
    /// [`Error::OtherEngine`] for a context of another engine.
    #[inline]
    pub fn call(&self, context: &mut Context, arguments: F::Arguments) -> Result<f64, Error> {
        if !context.engine().is(&self.engine) {
            return Err(Error::OtherEngine);
        }
        let registers = F::registers(&arguments);
        context.call_handle(&self.handle, CallArguments::few(&registers, F::ARITY))
    }
}

impl Context {
    /// Creates a handle of a function, to call it from Rust.
    ///
    /// # Errors
    /// [`Error::NoFunction`] if the name is neither bound nor a host
    /// function's, [`Error::Arity`] if it takes another number of arguments.
    pub fn function<F: Signature>(&mut self, name: &str) -> Result<Function<F>, Error> {
        self.adopt_alias_called(name);
        let (name, handle) = self.handle(name, F::ARITY)?;
        Ok(Function::new(self.engine().clone(), name, handle))
    }
}

impl<F> Clone for Function<F> {
    fn clone(&self) -> Self {
        Self {
            engine: self.engine.clone(),
            name: self.name.clone(),
            handle: self.handle.clone(),
            signature: PhantomData,
        }
    }
}

impl<F> fmt::Debug for Function<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({})", self.name)
    }
}

/// How a function is called: `fn(f64, …) -> f64` with up to eight arguments.
pub trait Signature: sealed::Sealed {
    /// The arguments as a tuple.
    type Arguments;

    /// The number of arguments.
    const ARITY: u32;

    #[doc(hidden)]
    fn registers(arguments: &Self::Arguments) -> [f64; 8];
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! signatures {
    ($($arity:literal: $($argument:ident $number:ident),*;)+) => {
        $(
            impl sealed::Sealed for fn($($number),*) -> f64 {}

            impl Signature for fn($($number),*) -> f64 {
                type Arguments = ($($number,)*);
                const ARITY: u32 = $arity;

                #[inline]
                fn registers(arguments: &Self::Arguments) -> [f64; 8] {
                    let ($($argument,)*) = *arguments;
                    let given: [f64; $arity] = [$($argument),*];
                    std::array::from_fn(|index| given.get(index).copied().unwrap_or(0.0))
                }
            }
        )+
    };
}

signatures! {
    0: ;
    1: a f64;
    2: a f64, b f64;
    3: a f64, b f64, c f64;
    4: a f64, b f64, c f64, d f64;
    5: a f64, b f64, c f64, d f64, e f64;
    6: a f64, b f64, c f64, d f64, e f64, f f64;
    7: a f64, b f64, c f64, d f64, e f64, f f64, g f64;
    8: a f64, b f64, c f64, d f64, e f64, f f64, g f64, h f64;
}
