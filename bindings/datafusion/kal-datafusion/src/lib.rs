//! SQL functions in Kal, for DataFusion: `CREATE FUNCTION … LANGUAGE kal`.
//!
//! ```
//! use datafusion::prelude::SessionContext;
//! use kal_datafusion::{KalEngine, enable};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> datafusion::error::Result<()> {
//! let context = SessionContext::new();
//! enable(&context, &KalEngine::new()?)?;
//! context
//!     .sql("CREATE FUNCTION net(price DOUBLE, rate DOUBLE) RETURNS DOUBLE LANGUAGE kal
//!           AS 'def net(price rate) price / (1 + rate)'")
//!     .await?;
//! let table = context.sql("SELECT net(price, 0.25) AS net FROM (VALUES (100), (30)) AS t (price)").await?;
//! let shown = datafusion::arrow::util::pretty::pretty_format_batches(&table.collect().await?)?.to_string();
//! assert_eq!(shown, "\
//! +------+
//! | net  |
//! +------+
//! | 80.0 |
//! | 24.0 |
//! +------+");
//! # Ok(())
//! # }
//! ```
//!
//! A [`KalEngine`] reads and compiles functions; a process needs one. [`enable`] gives a
//! session the statement, the [settings](KalSettings) and the [rule](FuseKalCalls) that
//! computes arithmetic around calls with them. A function is a [`KalUdf`]: immutable, and
//! pinned to what its definition and all that it calls meant when it was made. Redefining one
//! registers those that call it anew, so the next query has the new meaning, and queries that
//! are running keep the old one.
//!
//! Where plans are sent to other processes, [`KalLogicalCodec`] and [`KalPhysicalCodec`] send
//! functions with them: as text, with an id that the receiver checks. It compiles for its own
//! processor. The text is in a language without pointers, and every function has limits, so a
//! stranger's function may fail, and cannot do harm.
//!
//! # The modules, in the order of the data flow
//!
//! | module | holds |
//! |---|---|
//! | `report` | errors of Kal as those of DataFusion |
//! | `settings` | `SET kal.…` |
//! | `payload` | how a function travels, as bytes |
//! | `function` | a kernel, compiled once for all that use it |
//! | `udf` | the scalar function that DataFusion calls, with columns of Arrow |
//! | `engine` | reading definitions, and the functions that arrived |
//! | `codec` | the codecs of plans |
//! | `session` | what a session has defined |
//! | `factory` | the statement `CREATE FUNCTION` |
//! | `fuse`, `planner` | arithmetic around calls, as one kernel |

mod report;
mod settings;
mod payload;
mod function;
mod udf;
mod engine;
mod codec;
mod session;
mod factory;
mod fuse;
mod planner;

pub use codec::{KalLogicalCodec, KalPhysicalCodec};
pub use engine::KalEngine;
pub use factory::KalFactory;
pub use fuse::FuseKalCalls;
pub use planner::FusingPlanner;
pub use settings::{KalSettings, OnError};
pub use udf::KalUdf;

use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::SessionContext;
use std::sync::Arc;

/// Enables Kal in a session: `CREATE FUNCTION … LANGUAGE kal`, the settings, and the rule that
/// fuses. Functions of other languages are created as before.
///
/// # Errors
/// If the system refuses the memory of a context of Kal.
pub fn enable(context: &SessionContext, engine: &KalEngine) -> Result<()> {
    let inner = context.state().function_factory().cloned();
    let factory = KalFactory::new(engine, context.state_weak_ref(), inner)?;
    let shared = context.state_ref();
    let mut state = shared.write();
    let mut rules = state.physical_optimizers().to_vec();
    // Before those that move expressions to where the rule does not look.
    rules.insert(0, Arc::new(FuseKalCalls::new(engine.clone())));
    let mut config = state.config().clone();
    if config.options().extensions.get::<KalSettings>().is_none() {
        config = config.with_option_extension(KalSettings::default());
    }
    *state = SessionStateBuilder::new_from_existing(state.clone())
        .with_config(config)
        .with_physical_optimizer_rules(rules)
        .with_function_factory(Some(Arc::new(factory)))
        .build();
    Ok(())
}

/// The example in the page about SQL is tested with the others.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/sql.md")]
mod page {}
