//! Whether an executor lives, for those who watch processes: `/healthz` always says so,
//! `/readyz` if the scheduler has answered its last sign of life.

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use ballista_executor::health::ExecutorHealth;
use std::io;
use std::net::SocketAddr;
use tokio::net::TcpListener;

/// Serves both in the background. Returns where.
pub(crate) async fn serve(host: &str, port: u16, health: ExecutorHealth) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((host, port)).await?;
    let address = listener.local_addr()?;
    let ready = move || {
        let answer = match health.is_ready() {
            true => (StatusCode::OK, "ready\n"),
            false => (StatusCode::SERVICE_UNAVAILABLE, "the scheduler has not answered\n"),
        };
        async move { answer }
    };
    let routes = Router::new().route("/healthz", get(|| async { "ok\n" })).route("/readyz", get(ready));
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, routes).await {
            log::error!("health is served no more: {error}");
        }
    });
    Ok(address)
}
