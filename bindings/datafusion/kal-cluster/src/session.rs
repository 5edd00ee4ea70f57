//! Sessions, and what scheduler and executors have in common with them.

use ballista::prelude::{SessionConfigExt, SessionContextExt};
use ballista_core::serde::{BallistaLogicalExtensionCodec, BallistaPhysicalExtensionCodec};
use ballista_core::utils::{default_config_producer, default_session_builder};
use datafusion::error::Result;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use kal_datafusion::{
    FuseKalCalls, FusingPlanner, KalEngine, KalLogicalCodec, KalPhysicalCodec, KalSettings, enable,
};
use std::sync::Arc;

/// Returns the codec of logical plans.
pub fn logical_codec(engine: &KalEngine) -> Arc<KalLogicalCodec> {
    let inner = Arc::new(BallistaLogicalExtensionCodec::default());
    Arc::new(KalLogicalCodec::new(engine.clone(), inner))
}

/// Returns the codec of physical plans.
pub fn physical_codec(engine: &KalEngine) -> Arc<KalPhysicalCodec> {
    let inner = Arc::new(BallistaPhysicalExtensionCodec::default());
    Arc::new(KalPhysicalCodec::new(engine.clone(), inner))
}

/// Returns the settings of sessions in a cluster, of which those of a client become the values.
pub(crate) fn config() -> SessionConfig {
    default_config_producer().with_option_extension(KalSettings::default())
}

/// Returns the state in which the scheduler plans a query.
pub(crate) fn planning_state(engine: &KalEngine, config: SessionConfig) -> Result<SessionState> {
    let state = default_session_builder(config)?;
    let rule = FuseKalCalls::new(engine.clone());
    // With its adaptive planner, Ballista takes rules of its own in place of those of a session.
    let planner = FusingPlanner::new(state.query_planner().clone(), rule);
    Ok(SessionStateBuilder::new_from_existing(state).with_query_planner(Arc::new(planner)).build())
}

/// Returns a session that runs its queries in this process. The names of files are tables.
///
/// # Errors
/// If Kal cannot be started.
pub fn local(engine: &KalEngine) -> Result<SessionContext> {
    let config = SessionConfig::new().with_information_schema(true);
    let context = SessionContext::new_with_config(config).enable_url_table();
    enable(&context, engine)?;
    Ok(context)
}

/// Returns a session that runs its queries on the cluster of the scheduler at `url`, such as
/// `df://localhost:50050`. There, a table has a name: with that of a file, which has a dot, plans
/// cannot be sent.
///
/// # Errors
/// If the address is none, or Kal cannot be started.
pub async fn remote(engine: &KalEngine, url: &str) -> Result<SessionContext> {
    remote_with_codec(engine, url, logical_codec(engine)).await
}

/// Returns a session like [`remote`] that sends its plans by a codec.
///
/// # Errors
/// As of [`remote`].
pub async fn remote_with_codec(
    engine: &KalEngine,
    url: &str,
    codec: Arc<dyn LogicalExtensionCodec>,
) -> Result<SessionContext> {
    let config = config()
        .with_information_schema(true)
        .with_ballista_logical_extension_codec(codec)
        .with_ballista_physical_extension_codec(physical_codec(engine));
    let state = SessionStateBuilder::new().with_default_features().with_config(config).build();
    let context = SessionContext::remote_with_state(url, state).await?;
    enable(&context, engine)?;
    Ok(context)
}
