//! Calling the functions of a library that `kal build --lib` has made.

#![allow(unsafe_code)]

use super::config;
use crate::backend::CallHandle;
use crate::context::Context;
use crate::engine::Engine;
use crate::error::Error;
use crate::float_environment::PresentEnvironment;
use crate::image::Image;
use crate::interrupt::InterruptHandle;
pub use crate::jit::ContextFreeCode;
use crate::name::HeldName;
use crate::output::LineOutput;
use crate::runtime::CallArguments;
use std::sync::Arc;
use std::time::Instant;

/// A library that contexts can be made of, on any thread.
pub struct Library {
    image: Image,
    engine: Engine,
}

/// A context in which a library is defined, for one thread at a time.
pub struct LibraryContext {
    context: Context,
    functions: Vec<(HeldName, CallHandle)>,
}

impl Library {
    /// Opens the library in an image.
    ///
    /// # Errors
    /// Why it cannot be used.
    ///
    /// # Safety
    /// The code in the image may be run: it was made by [`ImageBuilder`](crate::ImageBuilder),
    /// and only trusted users could change it.
    pub unsafe fn open(image: &'static [u8]) -> Result<Self, Error> {
        let image = Image::read("this library".to_owned(), Arc::new(image));
        let image = image.map_err(|error| Error::ImageRequired(error.to_string()))?;
        let engine = Engine::with_config(config(&image))?;
        Ok(Self { image, engine })
    }

    /// Creates a context in which the library is defined, and finds functions in it, each
    /// by name and number of arguments.
    ///
    /// # Errors
    /// If there is no memory, a function is not there, or what a variable is declared with
    /// fails.
    pub fn context<'n>(
        &self,
        functions: impl Iterator<Item = (&'n str, u32)>,
    ) -> Result<LibraryContext, Error> {
        let mut context = self.engine.context()?;
        // What is printed is among what the host prints, also where that ends without a word.
        context.set_output(Box::new(LineOutput::stdout().flush_lines(true)));
        let source = self.image.program().ok_or_else(|| Error::ImageRequired("it has no text".into()))?;
        context.run_all(source)?;
        let functions =
            functions.map(|(name, arity)| context.handle(name, arity)).collect::<Result<_, _>>()?;
        Ok(LibraryContext { context, functions })
    }
}

impl LibraryContext {
    /// Calls a function by its number. `present` is the floating-point environment of this thread,
    /// read before the call.
    ///
    /// # Errors
    /// If the call does not run to its end; [`Error::NoFunction`] for a number that is none.
    #[inline]
    pub fn call(
        &mut self,
        function: usize,
        arguments: &[f64],
        present: PresentEnvironment,
    ) -> Result<f64, Error> {
        let Some((_, handle)) = self.functions.get(function) else {
            return Err(Error::NoFunction(format!("number {function}")));
        };
        self.context.call_handle(handle, CallArguments::new(arguments), present)
    }

    /// Returns the code of a function that has been called, if calls of it need neither a context
    /// nor this library: [`ContextFreeCode`]. That is what the name means in this context now.
    pub fn context_free_code(&self, function: usize) -> Option<ContextFreeCode> {
        let (name, handle) = self.functions.get(function)?;
        self.context.context_free_code(name.name(), handle)
    }

    /// Runs a text in the context, as the prompt would, without printing anything. Returns the
    /// value of its last expression; nan if it has none.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn evaluate(&mut self, text: &str) -> Result<f64, Error> {
        Ok(self.context.eval(text)?.unwrap_or(f64::NAN))
    }

    /// Returns a handle with which other threads can stop what runs in the context.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        self.context.interrupt_handle()
    }

    /// Makes everything fail that runs in the context at that time or later; `None` for no
    /// limit.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.context.set_deadline(deadline);
    }
}

/// Returns an error for people, on one line, with its place.
pub fn described(error: &Error) -> String {
    let Some(diagnostic) = error.diagnostics().first() else { return error.to_string() };
    let place = diagnostic.labels.first().map(|label| {
        let (line, column) = label.source.position(label.span.start);
        format!("{}:{line}:{column}: ", label.source.name())
    });
    format!("{}{}: {}", place.unwrap_or_default(), diagnostic.code, diagnostic.message)
}
