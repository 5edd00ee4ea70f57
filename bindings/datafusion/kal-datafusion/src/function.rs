//! A function as the engine has it: one kernel, compiled once for all that use it.

use datafusion::error::{DataFusionError, Result};
use kal::{Column, Kernel};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::report::in_one_line;

/// A function over columns.
#[derive(Debug)]
pub(crate) struct KalFunction {
    kernel: Kernel,
    id: [u8; 32],
    is_compiled: AtomicBool,
    compiling: Mutex<()>,
}

impl KalFunction {
    pub(crate) fn new(kernel: Kernel) -> Self {
        let id = *kernel.id().as_bytes();
        Self { kernel, id, is_compiled: AtomicBool::new(false), compiling: Mutex::new(()) }
    }

    pub(crate) fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Returns the identity of what it computes.
    pub(crate) fn id(&self) -> &[u8; 32] {
        &self.id
    }

    /// Returns the first digits of its identity, for people.
    pub(crate) fn short_id(&self) -> String {
        self.kernel.id().to_string().chars().take(12).collect()
    }

    /// Returns the number of its arguments.
    pub(crate) fn arity(&self) -> usize {
        self.kernel.parameters().len()
    }

    /// Compiles it for such columns unless it has been used before. Others that want to use
    /// it wait meanwhile. `name` is what SQL calls it.
    pub(crate) fn compile(&self, name: &str, inputs: &[Column<'_>]) -> Result<()> {
        if self.is_compiled.load(Ordering::Acquire) {
            return Ok(());
        }
        let _compiling = self.compiling.lock();
        if self.is_compiled.load(Ordering::Acquire) {
            return Ok(());
        }
        let start = Instant::now();
        self.kernel.prepare(inputs).map_err(|error| {
            DataFusionError::Execution(format!("`{name}` is not compiled: {}", in_one_line(&error)))
        })?;
        let how = if self.kernel.is_wide() { "many rows at once" } else { "row by row" };
        let took = start.elapsed().as_secs_f64() * 1e3;
        log::info!("compiled `{name}` {} in {took:.1} ms, {how}", self.short_id());
        self.is_compiled.store(true, Ordering::Release);
        Ok(())
    }
}
