//! The same formulas as functions in Rust.

use datafusion::arrow::array::{Array, AsArray, Float64Array};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A function over columns without NULL.
#[derive(Clone, Debug)]
pub struct Native {
    name: &'static str,
    signature: Signature,
    rows: fn(&[&[f64]]) -> Option<Vec<f64>>,
}

impl Native {
    /// All; those called `first…` return their first argument as it is.
    pub fn all() -> Vec<Self> {
        let new = |name, arity, rows| Self {
            name,
            signature: Signature::exact(vec![DataType::Float64; arity], Volatility::Immutable),
            rows,
        };
        vec![
            new("first1", 1, |_| None),
            new("first2", 2, |_| None),
            new("first3", 3, |_| None),
            new("native_line", 3, |c| Some(three(c, |a, x, b| a * x + b))),
            new("native_tax", 1, |c| Some(c[0].iter().map(|x| tax(*x)).collect())),
            new("native_option", 3, |c| Some(three(c, option))),
            new("native_nested", 2, |c| Some(c[0].iter().zip(c[1]).map(|(x, y)| nested(*x, *y)).collect())),
        ]
    }
}

fn three(columns: &[&[f64]], row: impl Fn(f64, f64, f64) -> f64) -> Vec<f64> {
    let rows = columns[0].iter().zip(columns[1]).zip(columns[2]);
    rows.map(|((a, b), c)| row(*a, *b, *c)).collect()
}

fn tax(x: f64) -> f64 {
    match x {
        x if x < 10_000.0 => 0.0,
        x if x < 30_000.0 => (x - 10_000.0) * 0.14,
        x if x < 60_000.0 => 2800.0 + (x - 30_000.0) * 0.24,
        x if x < 250_000.0 => 10_000.0 + (x - 60_000.0) * 0.42,
        x => 89_800.0 + (x - 250_000.0) * 0.45,
    }
}

fn normal(x: f64) -> f64 {
    let u = 1.0 / (1.0 + 0.2316419 * x.abs());
    let polynomial = 1.781477937 + u * (-1.821255978 + u * 1.330274429);
    let polynomial = 0.31938153 + u * (-0.356563782 + u * polynomial);
    let tail = 0.3989422804014327 * (-x * x / 2.0).exp() * u * polynomial;
    if x < 0.0 { tail } else { 1.0 - tail }
}

fn option(s: f64, k: f64, t: f64) -> f64 {
    let d = ((s / k).ln() + 0.065 * t) / (0.3 * t.sqrt());
    s * normal(d) - k * (-0.02 * t).exp() * normal(d - 0.3 * t.sqrt())
}

fn nested(x: f64, y: f64) -> f64 {
    let k0 = |x: f64| x + 1.0;
    let k1 = |x: f64| k0(x) * 0.5;
    let k2 = |x: f64| if k1(x) > 1.0 { k1(x) - 1.0 } else { k0(x) };
    let k4 = |x: f64| (k2(x) + k1(x)) * 0.25;
    let k5 = |x: f64, y: f64| k4(x) + k4(y);
    let k6 = |x: f64, y: f64| if k5(x, y) > x { k5(x, y) } else { y };
    let k7 = |x: f64, y: f64| k6(x, y) - k6(y, x);
    k7(x, y) * 2.0 + k7(y, x)
}

impl PartialEq for Native {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Native {}

impl Hash for Native {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Native {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let columns: Vec<&[f64]> =
            arrays.iter().map(|array| &array.as_primitive::<Float64Type>().values()[..array.len()]).collect();
        Ok(ColumnarValue::Array(match (self.rows)(&columns) {
            Some(rows) => Arc::new(Float64Array::from(rows)),
            None => arrays[0].clone(),
        }))
    }
}
