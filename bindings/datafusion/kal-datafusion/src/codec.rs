//! Codecs that send functions with plans: around others, which have all the rest to do.

use crate::engine::{KalEngine, arrived_udf};
use crate::payload::Payload;
use crate::udf::KalUdf;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::TableReference;
use datafusion::datasource::file_format::FileFormatFactory;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{
    AggregateUDF, Extension, HigherOrderUDF, LogicalPlan, ScalarUDF, ScalarUDFImpl, WindowUDF,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_common::physical_expr::proto_decode::PhysicalExprDecodeCtx;
use datafusion::physical_expr_common::physical_expr::proto_encode::PhysicalExprEncodeCtx;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use std::sync::Arc;

/// Sends functions of Kal with logical plans.
#[derive(Debug)]
pub struct KalLogicalCodec {
    engine: KalEngine,
    inner: Arc<dyn LogicalExtensionCodec>,
}

/// Sends functions of Kal with physical plans.
#[derive(Debug)]
pub struct KalPhysicalCodec {
    engine: KalEngine,
    inner: Arc<dyn PhysicalExtensionCodec>,
}

impl KalLogicalCodec {
    /// Creates a codec; `inner` does all that is not about functions of Kal.
    pub fn new(engine: KalEngine, inner: Arc<dyn LogicalExtensionCodec>) -> Self {
        Self { engine, inner }
    }
}

impl KalPhysicalCodec {
    /// Creates a codec; `inner` does all that is not about functions of Kal.
    pub fn new(engine: KalEngine, inner: Arc<dyn PhysicalExtensionCodec>) -> Self {
        Self { engine, inner }
    }
}

/// Writes a function to a buffer if it is one of Kal.
fn encode(function: &ScalarUDF, buffer: &mut Vec<u8>) -> Option<Result<()>> {
    let udf = function.inner().downcast_ref::<KalUdf>()?;
    let definitions = udf.source();
    let written = Payload { id: *udf.id(), definitions: &definitions }.write(buffer);
    Some(written.map_err(|why| {
        DataFusionError::Execution(format!(
            "the function `{}` cannot be sent: {why}",
            ScalarUDFImpl::name(udf)
        ))
    }))
}

/// Reads a function if it is one of Kal.
fn decode(engine: &KalEngine, name: &str, bytes: &[u8]) -> Option<Result<Arc<ScalarUDF>>> {
    Payload::is_in(bytes).then(|| Ok(Arc::new(ScalarUDF::from(arrived_udf(engine, name, bytes)?))))
}

impl LogicalExtensionCodec for KalLogicalCodec {
    fn try_decode_udf(&self, name: &str, buffer: &[u8]) -> Result<Arc<ScalarUDF>> {
        decode(&self.engine, name, buffer).unwrap_or_else(|| self.inner.try_decode_udf(name, buffer))
    }

    fn try_encode_udf(&self, node: &ScalarUDF, buffer: &mut Vec<u8>) -> Result<()> {
        encode(node, buffer).unwrap_or_else(|| self.inner.try_encode_udf(node, buffer))
    }

    fn try_decode(&self, buffer: &[u8], inputs: &[LogicalPlan], context: &TaskContext) -> Result<Extension> {
        self.inner.try_decode(buffer, inputs, context)
    }

    fn try_encode(&self, node: &Extension, buffer: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode(node, buffer)
    }

    fn try_decode_table_provider(
        &self,
        buffer: &[u8],
        table: &TableReference,
        schema: SchemaRef,
        context: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        self.inner.try_decode_table_provider(buffer, table, schema, context)
    }

    fn try_encode_table_provider(
        &self,
        table: &TableReference,
        node: Arc<dyn TableProvider>,
        buffer: &mut Vec<u8>,
    ) -> Result<()> {
        self.inner.try_encode_table_provider(table, node, buffer)
    }

    fn try_decode_file_format(
        &self,
        buffer: &[u8],
        context: &TaskContext,
    ) -> Result<Arc<dyn FileFormatFactory>> {
        self.inner.try_decode_file_format(buffer, context)
    }

    fn try_encode_file_format(&self, buffer: &mut Vec<u8>, node: Arc<dyn FileFormatFactory>) -> Result<()> {
        self.inner.try_encode_file_format(buffer, node)
    }

    fn try_decode_higher_order_function(&self, name: &str, buffer: &[u8]) -> Result<Arc<HigherOrderUDF>> {
        self.inner.try_decode_higher_order_function(name, buffer)
    }

    fn try_encode_higher_order_function(&self, node: &HigherOrderUDF, buffer: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode_higher_order_function(node, buffer)
    }

    fn try_decode_udaf(&self, name: &str, buffer: &[u8]) -> Result<Arc<AggregateUDF>> {
        self.inner.try_decode_udaf(name, buffer)
    }

    fn try_encode_udaf(&self, node: &AggregateUDF, buffer: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode_udaf(node, buffer)
    }

    fn try_decode_udwf(&self, name: &str, buffer: &[u8]) -> Result<Arc<WindowUDF>> {
        self.inner.try_decode_udwf(name, buffer)
    }

    fn try_encode_udwf(&self, node: &WindowUDF, buffer: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode_udwf(node, buffer)
    }
}

impl PhysicalExtensionCodec for KalPhysicalCodec {
    fn try_decode_udf(&self, name: &str, buffer: &[u8]) -> Result<Arc<ScalarUDF>> {
        decode(&self.engine, name, buffer).unwrap_or_else(|| self.inner.try_decode_udf(name, buffer))
    }

    fn try_encode_udf(&self, node: &ScalarUDF, buffer: &mut Vec<u8>) -> Result<()> {
        encode(node, buffer).unwrap_or_else(|| self.inner.try_encode_udf(node, buffer))
    }

    fn try_decode(
        &self,
        buffer: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.inner.try_decode(buffer, inputs, context, converter)
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buffer: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        self.inner.try_encode(node, buffer, converter)
    }

    fn try_decode_expr(
        &self,
        buffer: &[u8],
        inputs: &[Arc<dyn PhysicalExpr>],
        context: &PhysicalExprDecodeCtx<'_>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        self.inner.try_decode_expr(buffer, inputs, context)
    }

    fn try_encode_expr(
        &self,
        node: &Arc<dyn PhysicalExpr>,
        buffer: &mut Vec<u8>,
        context: &PhysicalExprEncodeCtx<'_>,
    ) -> Result<()> {
        self.inner.try_encode_expr(node, buffer, context)
    }

    fn try_decode_higher_order_function(&self, name: &str, buffer: &[u8]) -> Result<Arc<HigherOrderUDF>> {
        self.inner.try_decode_higher_order_function(name, buffer)
    }

    fn try_encode_higher_order_function(&self, node: &HigherOrderUDF, buffer: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode_higher_order_function(node, buffer)
    }

    fn try_decode_udaf(&self, name: &str, buffer: &[u8]) -> Result<Arc<AggregateUDF>> {
        self.inner.try_decode_udaf(name, buffer)
    }

    fn try_encode_udaf(&self, node: &AggregateUDF, buffer: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode_udaf(node, buffer)
    }

    fn try_decode_udwf(&self, name: &str, buffer: &[u8]) -> Result<Arc<WindowUDF>> {
        self.inner.try_decode_udwf(name, buffer)
    }

    fn try_encode_udwf(&self, node: &WindowUDF, buffer: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode_udwf(node, buffer)
    }
}
