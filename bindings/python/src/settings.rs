//! What sessions are made with.

use crate::callback;
use crate::output::ThreadOutput;
use kal::{Config, Engine, Error, Limits, Mode};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// Folders, one or many.
pub struct Folders(pub Vec<PathBuf>);

impl<'py> FromPyObject<'_, 'py> for Folders {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.extract::<PathBuf>() {
            Ok(folder) => Ok(Self(vec![folder])),
            Err(_) => object.try_iter()?.map(|folder| folder?.extract()).collect::<PyResult<_>>().map(Self),
        }
    }
}

/// What a session is made with.
#[derive(Clone, PartialEq, Default)]
pub struct Settings {
    pub timeout: Option<Duration>,
    pub fuel: Option<u64>,
    pub library: Vec<PathBuf>,
    pub interpret: bool,
}

impl Settings {
    /// Returns an engine with these settings. All sessions with the default ones share one, and
    /// with it the code of equal functions.
    pub fn engine(&self) -> Result<Engine, Error> {
        static SHARED: OnceLock<Engine> = OnceLock::new();
        if *self != Self::default() {
            return self.new_engine();
        }
        if let Some(engine) = SHARED.get() {
            return Ok(engine.clone());
        }
        let engine = self.new_engine()?;
        Ok(SHARED.get_or_init(|| engine).clone())
    }

    fn new_engine(&self) -> Result<Engine, Error> {
        let limits = Limits { deadline: self.timeout, fuel: self.fuel, ..Limits::default() };
        let mut config = callback::configure(Config::new()).limits(limits).output(|| Box::new(ThreadOutput));
        if self.interpret {
            config = config.mode(Mode::Interpret);
        }
        for folder in &self.library {
            config = config.library_path(folder);
        }
        Engine::with_config(config)
    }

    /// Returns the settings as keyword arguments of a session.
    pub fn keywords<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let keywords = PyDict::new(py);
        keywords.set_item("timeout", self.timeout.map(|timeout| timeout.as_secs_f64()))?;
        keywords.set_item("fuel", self.fuel)?;
        let library: Vec<String> =
            self.library.iter().map(|folder| folder.to_string_lossy().into_owned()).collect();
        keywords.set_item("library", library)?;
        keywords.set_item("interpret", self.interpret)?;
        Ok(keywords)
    }
}
