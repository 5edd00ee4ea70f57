//! What an earlier engine has stored.

use crate::cache::{Cache, CacheEvent, EngineCache, ImageText};
use crate::config::Config;
use crate::image::Image;
use crate::processor::FeatureSet;
use std::sync::Arc;
use std::time::Instant;

/// Adds what an earlier engine has stored to what a cache finds.
pub(super) fn load(mut cache: Cache, engine_cache: &EngineCache, config: &Config) -> Cache {
    let started = Instant::now();
    let Some(file) = engine_cache.load.clone() else {
        cache.note(CacheEvent::NoEngine { file: None });
        return cache;
    };
    let unused = |reason| CacheEvent::UnusedEngine { file: file.clone(), reason };
    let event = match engine_cache.read(cache.target()) {
        Ok(None) => CacheEvent::NoEngine { file: Some(file.clone()) },
        Err(reason) => unused(reason),
        Ok(Some(bytes)) => {
            let size = bytes.len() as u64;
            match texts(file.display().to_string(), bytes, config) {
                Err(reason) => unused(reason),
                Ok(texts) => {
                    cache.add_texts(texts);
                    let microseconds = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
                    CacheEvent::LoadedEngine { file: file.clone(), bytes: size, microseconds }
                }
            }
        }
    };
    cache.note(event);
    cache
}

/// Returns the texts in an image that this user has signed, with their packs.
fn texts(name: String, bytes: Vec<u8>, config: &Config) -> Result<Vec<ImageText>, String> {
    let image = Image::read(name, Arc::new(bytes)).map_err(|error| error.to_string())?;
    image.packs(FeatureSet::present(), config.level, config.limits.fuel.is_some())
}
