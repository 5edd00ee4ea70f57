//! The scalar function that DataFusion calls.

use crate::function::KalFunction;
use crate::report::in_one_line;
use crate::settings::{KalSettings, OnError};
use datafusion::arrow::array::{Array, AsArray, Float64Array};
use datafusion::arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float64Type};
use datafusion::common::{ScalarValue, internal_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use kal::{Column, Failing, RowError, Run, Validity, format_number};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Instant;

/// A function of Kal, pinned: what it calls is what was defined when it was made.
///
/// It takes and returns `DOUBLE`s; other numbers are converted before. NULL in gives NULL
/// out, and NaN is a value. Two are equal if they compute the same, so plans share what they
/// compute, and a plan that was made before a redefinition is not taken for one made after.
#[derive(Debug)]
pub struct KalUdf {
    name: String,
    function: Arc<KalFunction>,
    signature: Signature,
}

impl KalUdf {
    /// Creates the scalar function that SQL calls by `name`.
    pub(crate) fn new(name: impl Into<String>, function: Arc<KalFunction>) -> Self {
        let types = match function.arity() {
            0 => TypeSignature::Nullary,
            arity => TypeSignature::Exact(vec![DataType::Float64; arity]),
        };
        let signature = Signature::new(types, Volatility::Immutable);
        Self { name: name.into(), function, signature }
    }

    /// Sets the names that calls may give arguments by: `f(rate => 0.1)`.
    pub(crate) fn with_parameters(mut self, names: Vec<String>) -> Result<Self> {
        if !names.is_empty() {
            self.signature = self.signature.with_parameter_names(names)?;
        }
        Ok(self)
    }

    pub(crate) fn function(&self) -> &Arc<KalFunction> {
        &self.function
    }

    /// Returns the identity of what it computes: of its definition and of all that it calls.
    pub fn id(&self) -> &[u8; 32] {
        self.function.id()
    }

    /// Returns its definition and all that it calls, as Kal reads them.
    pub fn source(&self) -> String {
        self.function.kernel().source()
    }

    /// Returns the error of a run, with the arguments of the row that it ended in.
    fn failure(&self, failed: &RowError, inputs: &[Column<'_>], settings: &KalSettings) -> DataFusionError {
        let what = in_one_line(&failed.error);
        let Some(row) = failed.row else {
            return DataFusionError::Execution(format!("`{}`: {what}", self.name));
        };
        let value = |input: &Column<'_>| match input {
            Column::Values(values) => values.get(row).map_or_else(String::new, |value| format_number(*value)),
            Column::Every(value) => format_number(*value),
        };
        let names = self.function.kernel().parameters();
        let arguments = names.iter().zip(inputs).map(|(name, input)| format!("{name} = {}", value(input)));
        let arguments = arguments.collect::<Vec<_>>().join(", ");
        let place = if arguments.is_empty() { String::new() } else { format!(" for {arguments}") };
        let is_late = failed.error.diagnostics().first().is_some_and(|first| first.code.number() == 305);
        let limit = settings
            .timeout
            .filter(|_| is_late)
            .map_or_else(String::new, |timeout| format!(" (kal.timeout_ms is {})", timeout.as_millis()));
        DataFusionError::Execution(format!("`{}` fails{place}: {what}{limit}", self.name))
    }
}

impl PartialEq for KalUdf {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.id() == other.id()
    }
}

impl Eq for KalUdf {}

impl Hash for KalUdf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.id().hash(state);
    }
}

impl ScalarUDFImpl for KalUdf {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        // A row that fails may have NULL as its result, so even without arguments it can be NULL.
        let _ = arguments;
        Ok(Arc::new(Field::new(&self.name, DataType::Float64, true)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let settings = KalSettings::of(&arguments.config_options);
        let mut nulls: Option<NullBuffer> = None;
        let mut inputs = Vec::with_capacity(arguments.args.len());
        for argument in &arguments.args {
            inputs.push(match argument {
                ColumnarValue::Array(array) => {
                    let Some(array) = array.as_primitive_opt::<Float64Type>() else {
                        return internal_err!("`{}` is given {}", self.name, array.data_type());
                    };
                    nulls = NullBuffer::union(nulls.as_ref(), array.nulls());
                    Column::Values(array.values())
                }
                ColumnarValue::Scalar(ScalarValue::Float64(Some(value))) => Column::Every(*value),
                ColumnarValue::Scalar(value) if value.is_null() => return Ok(null()),
                ColumnarValue::Scalar(value) => {
                    return internal_err!("`{}` is given {}", self.name, value.data_type());
                }
            });
        }
        let is_scalar = inputs.iter().all(|input| matches!(input, Column::Every(_)));
        let rows = if is_scalar { 1 } else { arguments.number_rows };
        let results = self.compute(&inputs, rows, nulls, &settings)?;
        if !is_scalar {
            return Ok(ColumnarValue::Array(Arc::new(results)));
        }
        let value = results.is_valid(0).then(|| results.value(0));
        Ok(ColumnarValue::Scalar(ScalarValue::Float64(value)))
    }
}

impl KalUdf {
    /// Computes rows; those of `nulls` are NULL.
    fn compute(
        &self,
        inputs: &[Column<'_>],
        rows: usize,
        nulls: Option<NullBuffer>,
        settings: &KalSettings,
    ) -> Result<Float64Array> {
        self.function.compile(&self.name, inputs)?;
        let mut output = vec![0.0; rows];
        let mut marks = match settings.on_error {
            OnError::Null => vec![0; rows.div_ceil(8)],
            OnError::Fail => Vec::new(),
        };
        let mut run = Run::new();
        run.deadline = settings.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        run.valid = nulls.as_ref().map(|nulls| Validity { bitmap: nulls.validity(), offset: nulls.offset() });
        run.failing = match settings.on_error {
            OnError::Fail => Failing::Stop,
            OnError::Null => Failing::Mark(&mut marks),
        };
        let computed = self.function.kernel().apply(inputs, &mut output, &mut run);
        drop(run);
        computed.map_err(|failed| self.failure(&failed, inputs, settings))?;
        let nulls = if marks.iter().all(|byte| *byte == 0) {
            nulls
        } else {
            let succeeded = !&BooleanBuffer::new(Buffer::from_vec(marks), 0, rows);
            NullBuffer::union(nulls.as_ref(), Some(&NullBuffer::new(succeeded)))
        };
        Ok(Float64Array::new(output.into(), nulls))
    }
}

/// Returns NULL for every row.
fn null() -> ColumnarValue {
    ColumnarValue::Scalar(ScalarValue::Float64(None))
}
