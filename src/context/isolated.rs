//! Contexts that have some functions of another one, and nothing else.

use super::{Context, FrontEnd};
use crate::backend::Backend;
use crate::engine::Engine;
use crate::error::Error;
use crate::host::RandomNumbers;
use crate::name::{HeldName, Name};
use crate::sema::Extern;
use crate::sema::checked::CheckedFunction;
use crate::stop::StopHandle;
use std::sync::Arc;

impl Context {
    /// Creates a context in which these functions are bound, these declarations hold, and
    /// these variables are 0. If it `counts` fuel and the engine does not, its functions are
    /// interpreted.
    pub(crate) fn of_functions(
        engine: &Engine,
        counts: bool,
        functions: &[Arc<CheckedFunction>],
        declared: &[Extern],
        variables: &[Name],
    ) -> Result<Self, Error> {
        let mut context = match engine.config().limits.fuel {
            None if counts => {
                let mut counting = Self::over(engine, Backend::counting(engine)?, FrontEnd::NONE);
                counting.fuel = Some(u64::MAX);
                counting.note_watch();
                counting
            }
            Some(_) | None => Self::new(engine, FrontEnd::NONE)?,
        };
        context.hold_variables(variables)?;
        for name in variables {
            context.world.declare_variable(engine.names().text(*name));
        }
        for declared in declared {
            context.set_extern(declared.name, Some(declared.clone()));
        }
        for function in functions {
            context.backend.admit(engine, function)?;
            context.world.define(function, None);
            context.backend.define(function);
        }
        Ok(context)
    }

    /// Returns the function that a name is bound to, and the name.
    pub(crate) fn defined_function(&self, text: &str) -> Result<(Arc<CheckedFunction>, HeldName), Error> {
        let missing = || Error::NoFunction(text.to_owned());
        let name = self.name_of(text).ok_or_else(missing)?;
        let function = self.world.function(name).ok_or_else(missing)?;
        Ok((function.clone(), self.engine.names().text(name)))
    }

    /// Returns what the random numbers of a kernel are of, which neither this context nor another
    /// kernel draws.
    pub(crate) fn random_stream(&mut self) -> RandomNumbers {
        self.outside.state.random.stream()
    }

    /// Sets what random numbers are of.
    pub(crate) fn set_random(&mut self, random: RandomNumbers) {
        self.outside.state.random = random;
    }

    /// Sets what each call may take, where fuel is counted.
    pub(crate) fn set_fuel(&mut self, fuel: u64) {
        self.fuel = self.fuel.map(|_| fuel);
    }

    /// Returns a handle with which any thread can stop what runs here.
    pub(crate) fn stopper(&self) -> StopHandle {
        self.backend.stopper()
    }
}
