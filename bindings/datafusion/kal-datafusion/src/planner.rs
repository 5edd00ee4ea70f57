//! A planner that fuses what another one has planned.

use crate::fuse::FuseKalCalls;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::error::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// Plans as another planner does, and then [fuses](FuseKalCalls): for sessions whose list of
/// physical optimizer rules is not theirs to choose, as in Ballista's scheduler.
#[derive(Debug)]
pub struct FusingPlanner {
    inner: Arc<dyn QueryPlanner + Send + Sync>,
    rule: FuseKalCalls,
}

impl FusingPlanner {
    /// Creates a planner around another one.
    pub fn new(inner: Arc<dyn QueryPlanner + Send + Sync>, rule: FuseKalCalls) -> Self {
        Self { inner, rule }
    }
}

#[async_trait]
impl QueryPlanner for FusingPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        state: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = self.inner.create_physical_plan(plan, state).await?;
        self.rule.optimize(plan, state.config_options())
    }
}
