//! The command.

use clap::{Parser, Subcommand};
use kal_cluster::{executor, scheduler, shell};
use std::process::ExitCode;

/// SQL with functions in Kal, in one process or on a cluster.
#[derive(Parser)]
#[command(version)]
struct Command {
    #[command(subcommand)]
    role: Role,
}

#[derive(Subcommand)]
enum Role {
    Scheduler(scheduler::Options),
    Executor(executor::Options),
    Sql(shell::Options),
}

/// The stack of a thread that plans and runs queries, in bytes: plans are deep.
const STACK: usize = 32 << 20;

fn main() -> ExitCode {
    let command = Command::parse();
    let level = match command.role {
        Role::Scheduler(_) | Role::Executor(_) => "info",
        Role::Sql(_) => "error",
    };
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(level)).init();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(STACK).build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    let result = runtime.block_on(async {
        match command.role {
            Role::Scheduler(options) => scheduler::run(options).await,
            Role::Executor(options) => executor::run(options).await,
            Role::Sql(options) => shell::run(options).await,
        }
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&*error),
    }
}

fn failed(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::FAILURE
}
