//! The executor: Ballista's, which compiles functions of Kal that arrive in plans.

use crate::health;
use crate::session::{config, logical_codec, physical_codec};
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use kal_datafusion::KalEngine;
use std::error::Error;
use std::net::TcpListener;
use std::sync::Arc;

/// Run an executor: it computes parts of queries.
#[derive(clap::Args)]
pub struct Options {
    /// The scheduler's name or address.
    #[arg(long, default_value = "localhost", env = "KAL_SCHEDULER_HOST")]
    pub scheduler_host: String,
    /// The scheduler's port.
    #[arg(long, default_value_t = 50050, env = "KAL_SCHEDULER_PORT")]
    pub scheduler_port: u16,
    /// How many seconds to try to reach the scheduler at the start.
    #[arg(long, default_value_t = 30)]
    pub scheduler_connect_timeout_seconds: u16,
    /// The address to listen at.
    #[arg(long, default_value = "127.0.0.1", env = "KAL_BIND_HOST")]
    pub bind_host: String,
    /// The name or address by which others reach it, if that is another one.
    #[arg(long, env = "KAL_EXTERNAL_HOST")]
    pub external_host: Option<String>,
    /// The port for results; 0 for any that is free.
    #[arg(long, default_value_t = 50051, env = "KAL_BIND_PORT")]
    pub bind_port: u16,
    /// The port for the scheduler; 0 for any that is free.
    #[arg(long, default_value_t = 50052, env = "KAL_BIND_GRPC_PORT")]
    pub bind_grpc_port: u16,
    /// The port for `/healthz` and `/readyz`; none by default.
    #[arg(long, env = "KAL_HEALTH_PORT")]
    pub health_port: Option<u16>,
    /// How many parts it computes at once; as many as there are processors by default.
    #[arg(long, default_value_t = 0, env = "KAL_VCORES")]
    pub vcores: usize,
    /// The folder for intermediate results; a temporary one by default.
    #[arg(long, env = "KAL_WORK_DIR")]
    pub work_dir: Option<String>,
    /// The bytes of memory that queries may use; 70 % of what there is by default.
    #[arg(long, env = "KAL_MEMORY")]
    pub memory: Option<u64>,
    /// The seconds between two signs of life to the scheduler.
    #[arg(long, default_value_t = 60, env = "KAL_HEARTBEAT")]
    pub heartbeat_seconds: u64,
}

/// Runs an executor until the process is asked to end. It finishes what it has begun.
///
/// # Errors
/// If it cannot listen, does not reach the scheduler, or Kal cannot be started.
pub async fn run(options: Options) -> Result<(), Box<dyn Error>> {
    let engine = KalEngine::new()?;
    // So the first function that arrives does not wait for LLVM.
    std::thread::spawn(kal::Engine::warm_up);
    let temporary = match &options.work_dir {
        Some(_) => None,
        None => Some(tempfile::Builder::new().prefix("kal-executor-").tempdir()?),
    };
    let work_dir = match &temporary {
        Some(folder) => Some(folder.path().to_string_lossy().into_owned()),
        None => options.work_dir,
    };
    let defaults = ExecutorProcessConfig::default();
    let settings = ExecutorProcessConfig {
        port: free_port(&options.bind_host, options.bind_port)?,
        grpc_port: free_port(&options.bind_host, options.bind_grpc_port)?,
        bind_host: options.bind_host.clone(),
        external_host: options.external_host,
        scheduler_host: options.scheduler_host,
        scheduler_port: options.scheduler_port,
        scheduler_connect_timeout_seconds: options.scheduler_connect_timeout_seconds,
        vcores: if options.vcores == 0 { defaults.vcores } else { options.vcores },
        work_dir,
        memory_pool_size: options.memory,
        executor_heartbeat_interval_seconds: options.heartbeat_seconds,
        override_config_producer: Some(Arc::new(config)),
        override_logical_codec: Some(logical_codec(&engine)),
        override_physical_codec: Some(physical_codec(&engine)),
        ..defaults
    };
    if let Some(port) = options.health_port {
        let address = health::serve(&options.bind_host, port, settings.health.clone()).await?;
        log::info!("health is at {address}");
    }
    start_executor_process(Arc::new(settings)).await?;
    drop(temporary);
    Ok(())
}

/// Returns the port, or a free one in place of 0: Ballista has to know it before it listens.
fn free_port(host: &str, port: u16) -> std::io::Result<u16> {
    match port {
        0 => Ok(TcpListener::bind((host, 0))?.local_addr()?.port()),
        port => Ok(port),
    }
}
