//! Contexts that begin with what a prelude has left.

use super::{Context, Error, Evaluation, FrontEnd};
use crate::cache::ImageText;
use crate::engine::Engine;
use crate::fingerprint::Fingerprint;
use crate::module::Module;
use crate::prelude::{Beginning, Prelude, Snapshot};
use std::sync::Arc;

impl Context {
    /// Creates a context that begins as the engine's images say.
    pub(super) fn begin(engine: &Engine, front_end: FrontEnd) -> Result<Self, Error> {
        let Some(prelude) = &engine.config().prelude else { return Self::new(engine, front_end) };
        let reason = match engine.prelude_failure() {
            Some(reason) => reason.to_owned(),
            None => {
                let mut context = Self::new(engine, front_end)?;
                let Some(reason) = context.patch(prelude)? else {
                    context.beginning = Beginning::Snapshot;
                    return Ok(context);
                };
                reason
            }
        };
        let mut context = Self::new(engine, front_end)?;
        context.run_all(&prelude.source)?;
        context.beginning = Beginning::Run { reason };
        Ok(context)
    }

    /// Defines and declares what a prelude does, without running anything of it, and sets its
    /// variables. Returns why that is not what the prelude would leave here, if it is not; the
    /// context is of no use then.
    fn patch(&mut self, prelude: &Prelude) -> Result<Option<String>, Error> {
        let Prelude { source, snapshot } = prelude;
        let evaluation = std::mem::replace(&mut self.evaluation, Evaluation::Skip);
        let taken = self.run_all(source);
        self.evaluation = evaluation;
        taken?;
        let now = self.module_texts();
        if let Some((changed, _)) = snapshot.modules.iter().find(|module| !now.contains(module)) {
            return Ok(Some(format!("the module `{changed}` is another one")));
        }
        for (name, bits) in &snapshot.variables {
            self.set_value_of(self.declared(name)?, f64::from_bits(*bits))?;
        }
        Ok(None)
    }

    /// Returns what it began with.
    pub fn beginning(&self) -> &Beginning {
        &self.beginning
    }

    /// Returns what a prelude that has just run here has left.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            environment: self.engine.reading_identity(),
            modules: self.module_texts(),
            variables: self.variable_bits(),
        }
    }

    /// Returns the modules that have been read, with the identities of their texts, in the
    /// order of their names.
    fn module_texts(&self) -> Vec<(String, Fingerprint)> {
        let text = |module: &Arc<Module>| ImageText::identity(&module.source, None);
        let modules = self.world.modules();
        let mut all: Vec<_> = modules.map(|module| (module.name.to_string(), text(module))).collect();
        all.sort();
        all
    }
}
