//! Engines.

use crate::config::KalConfig;
use crate::error::KalError;
use crate::guard::{free, made};
use kal::Engine;

/// What contexts share: the compiler, the functions of the host, the limits. Any thread may use
/// it at any time.
pub struct KalEngine(Engine);

impl KalEngine {
    pub fn engine(&self) -> &Engine {
        &self.0
    }
}

/// Creates an engine, as the configuration says, which may be NULL; NULL after an error. If it
/// fails, no `user` pointer is released.
///
/// # Safety
/// The configuration is null, or as its description says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_engine_new(
    config: *const KalConfig,
    error: *mut *mut KalError,
) -> Option<Box<KalEngine>> {
    // SAFETY: the caller has a place for an error, or none.
    unsafe {
        made(error, || {
            // SAFETY: as the caller says.
            let (config, users) = KalConfig::read(config)?;
            let engine = Engine::with_config(config)?;
            users.iter().for_each(|user| user.accept());
            Ok(KalEngine(engine))
        })
    }
}

/// Frees an engine; nothing for NULL. Contexts and kernels that were made of it can still be used.
#[unsafe(no_mangle)]
pub extern "C" fn kal_engine_free(engine: Option<Box<KalEngine>>) {
    free(engine);
}
