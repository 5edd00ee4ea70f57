//! Columns through a name: what it means at each call.

use super::run::Run;
use super::{Column, Kernel, RowError, values};
use crate::context::Context;
use crate::engine::Engine;
use crate::error::Error;
use crate::float_environment::DefaultEnvironment;

/// A function over columns by its name: each call computes what the name, and all names that
/// it uses, mean then, with the values that variables of the context have then. During a
/// call it does not change.
///
/// ```
/// use kal::{Column, Run};
///
/// let mut context = kal::Engine::new()?.context()?;
/// context.eval("def f(x) x * 10")?;
/// let mut f = context.columns("f")?;
/// let mut output = [0.0; 2];
/// f.apply(&mut context, &[Column::Values(&[1.0, 2.0])], &mut output, &mut Run::new())?;
/// assert_eq!(output, [10.0, 20.0]);
/// context.eval("def f(x) x + 1")?;
/// f.apply(&mut context, &[Column::Values(&[1.0, 2.0])], &mut output, &mut Run::new())?;
/// assert_eq!(output, [2.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Columns {
    engine: Engine,
    name: String,
    kernel: Option<Kernel>,
}

impl Columns {
    /// Computes the function in every row, as [`Kernel::apply`] does. What it assigns to
    /// variables is forgotten at the end: those of the context stay as they are.
    ///
    /// # Errors
    /// As [`Kernel::apply`]; also if the name is not bound any more, and
    /// [`Error::OtherEngine`] for a context of another engine.
    pub fn apply(
        &mut self,
        context: &mut Context,
        inputs: &[Column<'_>],
        output: &mut [f64],
        run: &mut Run<'_>,
    ) -> Result<(), RowError> {
        if !context.engine().is(&self.engine) {
            return Err(Error::OtherEngine.into());
        }
        let _environment = DefaultEnvironment::enter();
        let kernel = self.kernel(context)?;
        kernel.apply_with(&values(&kernel.0.function.graph, context)?, inputs, output, run)
    }

    /// Returns the kernel of what the name means now.
    ///
    /// # Errors
    /// [`Error::NoFunction`] if it is not bound.
    pub fn kernel(&mut self, context: &mut Context) -> Result<Kernel, Error> {
        let Ok((function, _)) = context.defined_function(&self.name) else {
            return context.kernel(&self.name);
        };
        if let Some(kernel) = self.kernel.as_ref()
            && kernel.is_wide()
            && kernel.is_current(&function, context)
        {
            return Ok(kernel.clone());
        }
        let kernel = context.kernel(&self.name)?;
        self.kernel = Some(kernel.clone());
        Ok(kernel)
    }
}

impl Context {
    /// Returns a function over columns that follows what its name means.
    ///
    /// # Errors
    /// [`Error::NoFunction`] if it is not bound now.
    pub fn columns(&mut self, name: &str) -> Result<Columns, Error> {
        let kernel = Some(self.kernel(name)?);
        Ok(Columns { engine: self.engine().clone(), name: name.to_owned(), kernel })
    }
}
