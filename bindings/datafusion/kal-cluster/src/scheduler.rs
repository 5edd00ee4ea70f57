//! The scheduler: Ballista's, which takes functions of Kal in plans.

use crate::session::{config, logical_codec, physical_codec, planning_state};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use kal_datafusion::KalEngine;
use std::error::Error;
use std::sync::Arc;
use tokio::net::TcpListener;

/// Run the scheduler of a cluster: it plans queries, and gives their parts to executors.
#[derive(clap::Args)]
pub struct Options {
    /// The address to listen at.
    #[arg(long, default_value = "127.0.0.1", env = "KAL_BIND_HOST")]
    pub bind_host: String,
    /// The port to listen at; 0 for any that is free.
    #[arg(long, default_value_t = 50050, env = "KAL_BIND_PORT")]
    pub bind_port: u16,
    /// The name or address by which executors reach it.
    #[arg(long, default_value = "localhost", env = "KAL_EXTERNAL_HOST")]
    pub external_host: String,
    /// After how many seconds without a sign of life an executor is taken for lost.
    #[arg(long, default_value_t = 180, env = "KAL_EXECUTOR_TIMEOUT")]
    pub executor_timeout_seconds: u64,
}

/// Runs the scheduler until the process ends. The first line of standard output is its address.
///
/// Besides Ballista's protocol, the port has `/healthz`, `/readyz`, and below `/api` the state
/// of the cluster and of its queries, and `/api/metrics` for Prometheus.
///
/// # Errors
/// If it cannot listen, or Kal cannot be started.
pub async fn run(options: Options) -> Result<(), Box<dyn Error>> {
    let engine = KalEngine::new()?;
    let listener = TcpListener::bind((options.bind_host.as_str(), options.bind_port)).await?;
    let settings = settings(&options, listener.local_addr()?.port(), &engine);
    println!("{}", listener.local_addr()?);
    serve(listener, settings).await
}

/// Returns Ballista's settings for a scheduler.
pub fn settings(options: &Options, port: u16, engine: &KalEngine) -> SchedulerConfig {
    let planning = engine.clone();
    SchedulerConfig {
        bind_host: options.bind_host.clone(),
        bind_port: port,
        external_host: options.external_host.clone(),
        executor_timeout_seconds: options.executor_timeout_seconds,
        // Both depend on how long an executor may be silent.
        expire_dead_executor_interval_seconds: (options.executor_timeout_seconds / 4).clamp(1, 15),
        no_executors_grace_period_seconds: options.executor_timeout_seconds,
        override_config_producer: Some(Arc::new(config)),
        override_session_builder: Some(Arc::new(move |config| planning_state(&planning, config))),
        override_logical_codec: Some(logical_codec(engine)),
        override_physical_codec: Some(physical_codec(engine)),
        ..SchedulerConfig::default()
    }
}

/// Serves at a listener.
///
/// # Errors
/// What Ballista reports.
pub async fn serve(listener: TcpListener, settings: SchedulerConfig) -> Result<(), Box<dyn Error>> {
    settings.validate()?;
    log::info!("the scheduler listens at {}", listener.local_addr()?);
    let cluster = BallistaCluster::new_from_config(&settings).await?;
    let scheduler =
        create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(settings)).await?;
    Ok(start_grpc_service_with_listener(listener, scheduler).await?)
}
