//! Calls of functions from the host.

use super::Context;
use crate::backend::CallHandle;
use crate::error::Error;
use crate::failure::RunFailure;
use crate::float_environment::{DefaultEnvironment, PresentEnvironment};
use crate::host::nesting;
#[cfg(feature = "executable")]
use crate::jit::ContextFreeCode;
use crate::name::HeldName;
#[cfg(feature = "executable")]
use crate::name::Name;
use crate::runtime::CallArguments;
use crate::sema;

impl Context {
    /// Calls a function by name.
    ///
    /// # Errors
    /// As [`function`](Self::function), and [`Error::Failed`] when the call
    /// does not run to its end.
    pub fn call(&mut self, name: &str, arguments: &[f64]) -> Result<f64, Error> {
        self.adopt_alias_called(name);
        let (_, handle) = self.handle(name, arguments.len() as u32)?;
        self.call_handle(&handle, CallArguments::new(arguments), PresentEnvironment::read())
    }

    #[inline]
    pub(crate) fn call_handle(
        &mut self,
        handle: &CallHandle,
        arguments: CallArguments<'_>,
        present: PresentEnvironment,
    ) -> Result<f64, Error> {
        if self.is_watched || nesting::is_inside() {
            return self.call_limited(handle, arguments, present);
        }
        // Without an interpreter, code that needs no run is found as quickly on the way to one.
        if self.backend.has_interpreter()
            && let Some(value) = self.backend.call_context_free(handle, arguments, present)
        {
            return Ok(value);
        }
        self.forget_earlier();
        let result = self.backend.call(handle, arguments, present, &mut self.outside);
        result.map_err(|stopped| self.call_stopped(&stopped))
    }

    /// Returns whether a call that needs no run may be made, whatever time it may take: it is
    /// over before that is noticed. What stops a run stops the calls in its closures as well.
    #[inline]
    pub(super) fn may_call_at_once(&self) -> bool {
        self.fuel.is_none() && self.deadline.is_none() && self.debugger.is_none() && !nesting::is_inside()
    }

    /// Calls a function where there is a limit or a debugger. Not inlined: without
    /// either, a call takes a few nanoseconds.
    #[inline(never)]
    fn call_limited(
        &mut self,
        handle: &CallHandle,
        arguments: CallArguments<'_>,
        present: PresentEnvironment,
    ) -> Result<f64, Error> {
        // What ends at once needs no timer.
        if self.may_call_at_once()
            && let Some(value) = self.backend.call_context_free(handle, arguments, present)
        {
            return Ok(value);
        }
        let _environment = DefaultEnvironment::enter_from(present);
        let _limit = self.limit()?;
        if let Some(debugger) = &self.debugger {
            debugger.enter(self.scope());
        }
        let result = self.backend.call(handle, arguments, present, &mut self.outside);
        if self.debugger.is_some() {
            self.adopt();
        }
        result.map_err(|stopped| self.call_stopped(&stopped))
    }

    #[cold]
    fn call_stopped(&mut self, stopped: &RunFailure) -> Error {
        self.suggestions.refill();
        self.stopped(stopped)
    }

    /// Returns the code that calls of a function reach, if that needs no run; `None` as well before
    /// it has been called, and where it may be looked at by a debugger or a limit.
    #[cfg(feature = "executable")]
    pub(crate) fn context_free_code(&self, name: Name, handle: &CallHandle) -> Option<ContextFreeCode> {
        self.may_call_at_once().then(|| self.backend.context_free_code(name, handle))?
    }

    /// Binds an alias that is about to be called by name.
    pub(crate) fn adopt_alias_called(&mut self, name: &str) {
        if !self.world.imports().is_empty()
            && let Ok(name) = self.engine.names().try_hold(name)
        {
            self.adopt_alias(name.name());
        }
    }

    pub(crate) fn handle(&self, text: &str, asked: u32) -> Result<(HeldName, CallHandle), Error> {
        let missing = || Error::NoFunction(text.to_owned());
        let name = self.name_of(text).ok_or_else(missing)?;
        let bound = self.world.function(name).map(|function| function.arity());
        let host = || self.engine.hosts().get(name).map(|host| host.arity);
        let foreign = || self.engine.hosts().foreign(name);
        let declared = || foreign().and(self.world.declaration(name)).map(sema::Extern::arity);
        let takes = bound.or_else(host).or_else(declared).ok_or_else(missing)?;
        if takes != asked {
            return Err(Error::Arity { name: text.to_owned(), takes, asked });
        }
        let handle = self.backend.handle(name, asked).map_err(|failure| self.failed(&failure))?;
        Ok((self.engine.names().text(name), handle))
    }
}
