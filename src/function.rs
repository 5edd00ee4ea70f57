//! Handles of functions, typed by their arguments or not.

use crate::backend::CallHandle;
use crate::context::Context;
use crate::engine::Engine;
use crate::error::Error;
use crate::float_environment::PresentEnvironment;
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
    untyped: UntypedFunction,
    signature: PhantomData<fn() -> F>,
}

/// A handle of a function of a program, for calls whose number of arguments is only known at
/// run time: what bindings to other languages need. Like [`Function`], it refers to the name.
///
/// ```
/// let engine = kal::Engine::new()?;
/// let mut context = engine.context()?;
/// context.eval("def area(w h) w * h")?;
/// let area = context.untyped_function("area", 2)?;
/// assert_eq!(area.call(&mut context, &[3.0, 4.0])?, 12.0);
/// # Ok::<(), kal::Error>(())
/// ```
#[derive(Clone)]
pub struct UntypedFunction {
    engine: Engine,
    name: HeldName,
    handle: CallHandle,
    arity: u32,
}

impl UntypedFunction {
    /// Returns the name of the function.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of arguments that it is called with.
    pub fn arity(&self) -> u32 {
        self.arity
    }

    /// Calls the function in `context`.
    ///
    /// # Errors
    /// As [`Function::call`], and [`Error::Arity`] for another number of arguments than the
    /// handle was made for.
    #[inline]
    pub fn call(&self, context: &mut Context, arguments: &[f64]) -> Result<f64, Error> {
        self.call_from(PresentEnvironment::read(), context, arguments)
    }

    /// Calls the function, like [`call`](Self::call), where the floating-point environment has been
    /// read already.
    #[doc(hidden)]
    #[inline]
    pub fn call_from(
        &self,
        present: PresentEnvironment,
        context: &mut Context,
        arguments: &[f64],
    ) -> Result<f64, Error> {
        if !context.engine().is(&self.engine) {
            return Err(Error::OtherEngine);
        }
        let asked = arguments.len() as u32;
        if asked != self.arity {
            return Err(Error::Arity { name: self.name.to_string(), takes: self.arity, asked });
        }
        context.call_handle(&self.handle, CallArguments::new(arguments), present)
    }
}

impl fmt::Debug for UntypedFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UntypedFunction({}, {})", self.name, self.arity)
    }
}

impl<F: Signature> Function<F> {
    /// Returns the name of the function.
    pub fn name(&self) -> &str {
        self.untyped.name()
    }

    /// Calls the function in `context`.
    ///
    /// # Errors
    /// [`Error::Failed`] if the call does not run to its end, or the name is no
    /// longer bound or now takes another number of arguments;
    /// [`Error::OtherEngine`] for a context of another engine.
    #[inline]
    pub fn call(&self, context: &mut Context, arguments: F::Arguments) -> Result<f64, Error> {
        let present = PresentEnvironment::read();
        if !context.engine().is(&self.untyped.engine) {
            return Err(Error::OtherEngine);
        }
        let registers = F::registers(&arguments);
        context.call_handle(&self.untyped.handle, CallArguments::few(&registers, F::ARITY), present)
    }
}

impl Context {
    /// Creates a handle of a function, to call it from Rust.
    ///
    /// # Errors
    /// [`Error::NoFunction`] if the name is neither bound nor a host
    /// function's, [`Error::Arity`] if it takes another number of arguments.
    pub fn function<F: Signature>(&mut self, name: &str) -> Result<Function<F>, Error> {
        Ok(Function { untyped: self.untyped_function(name, F::ARITY)?, signature: PhantomData })
    }

    /// Creates a handle of a function that takes `arity` arguments, to call it with a slice.
    ///
    /// # Errors
    /// As [`function`](Self::function).
    pub fn untyped_function(&mut self, name: &str, arity: u32) -> Result<UntypedFunction, Error> {
        self.adopt_alias_called(name);
        let (name, handle) = self.handle(name, arity)?;
        Ok(UntypedFunction { engine: self.engine().clone(), name, handle, arity })
    }
}

impl<F> Clone for Function<F> {
    fn clone(&self) -> Self {
        Self { untyped: self.untyped.clone(), signature: PhantomData }
    }
}

impl<F> fmt::Debug for Function<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({})", self.untyped.name)
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
