//! One kernel for arithmetic around calls: `payment(sum, rate / 12, 12 * years) * 2` is one
//! loop, without columns in between.
//!
//! What is computed together are calls of Kal's functions, `+`, `-`, `*`, `/`, `%` and
//! negation of DOUBLEs, and numbers; all else are the columns that go in. These operators give
//! the same in Kal as in DataFusion, and NULL where one of their arguments is.

use crate::engine::{KalEngine, define};
use crate::function::KalFunction;
use crate::settings::KalSettings;
use crate::udf::KalUdf;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::ScalarValue;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::{Operator, ScalarUDF};
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal, NegativeExpr};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use kal::source::Source;
use kal::{Context, Kernel};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The name of the function that has it all.
const FUSED: &str = "fused";

/// The deepest nesting that is taken; what is deeper goes in as a column.
const DEEPEST: usize = 64;

/// The most operations that are taken.
const MOST: usize = 500;

/// Replaces arithmetic around calls of Kal's functions by one function. `SET kal.fuse = false`
/// turns it off.
#[derive(Debug)]
pub struct FuseKalCalls {
    engine: KalEngine,
}

impl FuseKalCalls {
    /// Creates the rule.
    pub fn new(engine: KalEngine) -> Self {
        Self { engine }
    }

    /// Returns a node with its expressions fused.
    fn node(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        fuser: &Fuser<'_>,
    ) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
        if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
            let schema = projection.input().schema();
            let roots = projection.expr().iter().map(|root| root.expr.clone());
            let Some(fused) = fuser.all(roots, &schema)? else { return Ok(Transformed::no(plan)) };
            let named = fused.into_iter().zip(projection.expr());
            let named = named.map(|(expr, old)| ProjectionExpr { expr, alias: old.alias.clone() });
            let node = ProjectionExec::try_new(named.collect::<Vec<_>>(), projection.input().clone())?;
            return Ok(Transformed::yes(Arc::new(node)));
        }
        if let Some(filter) = plan.downcast_ref::<FilterExec>() {
            let schema = filter.input().schema();
            let fused = fuser.all(std::iter::once(filter.predicate().clone()), &schema)?;
            let Some(predicate) = fused.and_then(|mut fused| fused.pop()) else {
                return Ok(Transformed::no(plan));
            };
            let node = FilterExecBuilder::from(filter).with_predicate(predicate).build()?;
            return Ok(Transformed::yes(Arc::new(node)));
        }
        if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
            let schema = aggregate.input_schema();
            let mut changed = false;
            let mut functions = Vec::new();
            for function in aggregate.aggr_expr() {
                let all = function.all_expressions();
                let fused = fuser.all(all.args.into_iter(), &schema)?;
                let new = fused.and_then(|args| function.with_new_expressions(args, all.order_by_exprs));
                changed |= new.is_some();
                functions.push(new.map_or_else(|| function.clone(), Arc::new));
            }
            if changed {
                return Ok(Transformed::yes(Arc::new(aggregate.with_new_aggr_exprs(functions))));
            }
        }
        Ok(Transformed::no(plan))
    }
}

impl PhysicalOptimizerRule for FuseKalCalls {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !KalSettings::of(config).fuse {
            return Ok(plan);
        }
        let fuser = Fuser { engine: &self.engine, options: Arc::new(config.clone()) };
        plan.transform_up(|plan| self.node(plan, &fuser)).data()
    }

    fn name(&self) -> &str {
        "fuse_kal_calls"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// What fuses expressions of one plan.
struct Fuser<'a> {
    engine: &'a KalEngine,
    options: Arc<ConfigOptions>,
}

impl Fuser<'_> {
    /// Returns expressions with all that can be fused in them; `None` if that is nothing.
    fn all(
        &self,
        roots: impl Iterator<Item = Arc<dyn PhysicalExpr>>,
        schema: &Schema,
    ) -> Result<Option<Vec<Arc<dyn PhysicalExpr>>>> {
        let mut changed = false;
        let mut fused = Vec::new();
        for root in roots {
            let new = root.transform_down(|expr| match self.fused(&expr, schema)? {
                Some(new) => Ok(Transformed::yes(new)),
                None => Ok(Transformed::no(expr)),
            })?;
            changed |= new.transformed;
            fused.push(new.data);
        }
        Ok(changed.then_some(fused))
    }

    /// Returns one call for an expression and what is below it; `None` if it is one already,
    /// or none can be made.
    fn fused(&self, root: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<Option<Arc<dyn PhysicalExpr>>> {
        let mut formula = Formula { schema, inputs: Vec::new(), calls: Vec::new(), operations: 0 };
        let tree = formula.tree(root, 0)?;
        if formula.calls.is_empty() || formula.operations < 2 {
            return Ok(None);
        }
        let Some((body, kernel)) = self.kernel(&formula, &tree)? else { return Ok(None) };
        let name = format!("{FUSED}[{body}]");
        let udf = ScalarUDF::from(KalUdf::new(name.clone(), self.engine.keep(kernel)));
        let field = Arc::new(Field::new(&name, DataType::Float64, true));
        let inputs = formula.inputs;
        Ok(Some(Arc::new(ScalarFunctionExpr::new(&name, Arc::new(udf), inputs, field, self.options.clone()))))
    }

    /// Returns the text and the kernel of a formula; `None` if what it calls cannot be in one
    /// program.
    fn kernel(&self, formula: &Formula<'_>, tree: &Tree) -> Result<Option<(String, Kernel)>> {
        let mut context = self.engine.context()?;
        for call in &formula.calls {
            let source = Source::new("<definitions>", call.kernel().source());
            if define(&mut context, &source).is_err() {
                return Ok(None);
            }
        }
        // Definitions of one name may be different, and operators may mean something else.
        let is_same = |call: &Arc<KalFunction>| {
            let kernel = context.kernel(call.kernel().name());
            kernel.is_ok_and(|kernel| kernel.id() == call.kernel().id())
        };
        if !formula.calls.iter().all(is_same) || context.is_function(FUSED) {
            return Ok(None);
        }
        if OPERATORS.iter().any(|(_, _, function)| context.fingerprint(function).is_some()) {
            return Ok(None);
        }
        let parameters = formula.names(&context);
        let body = without_parentheses(&tree.text(&parameters));
        let definition = format!("def {FUSED}({}) {body}", parameters.join(" "));
        if define(&mut context, &Source::new("<fused>", definition)).is_err() {
            return Ok(None);
        }
        Ok(context.kernel(FUSED).ok().filter(Kernel::is_wide).map(|kernel| (body, kernel)))
    }
}

/// The operators of both languages: in DataFusion, in Kal, and what a program would define to
/// give it another meaning.
const OPERATORS: &[(Operator, &str, &str)] = &[
    (Operator::Plus, "+", "binary+"),
    (Operator::Minus, "-", "binary-"),
    (Operator::Multiply, "*", "binary*"),
    (Operator::Divide, "/", "binary/"),
    (Operator::Modulo, "%", "binary%"),
];

/// What is fused.
enum Tree {
    Input(usize),
    Number(f64),
    Negative(Box<Tree>),
    Binary(&'static str, Box<[Tree; 2]>),
    Call(String, Vec<Tree>),
}

impl Tree {
    /// Returns it as Kal reads it.
    fn text(&self, inputs: &[String]) -> String {
        match self {
            Self::Input(number) => inputs.get(*number).cloned().unwrap_or_default(),
            Self::Number(value) if value.is_sign_negative() => format!("(-{})", kal::format_number(-value)),
            Self::Number(value) => kal::format_number(*value),
            Self::Negative(inner) => format!("(-{})", inner.text(inputs)),
            Self::Binary(operator, sides) => {
                let [left, right] = &**sides;
                format!("({} {operator} {})", left.text(inputs), right.text(inputs))
            }
            Self::Call(name, arguments) => {
                let arguments: Vec<String> =
                    arguments.iter().map(|argument| without_parentheses(&argument.text(inputs))).collect();
                format!("{name}({})", arguments.join(", "))
            }
        }
    }
}

/// Returns an operation without the parentheses around it.
fn without_parentheses(text: &str) -> String {
    text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(text).to_owned()
}

/// An expression that is taken apart.
struct Formula<'a> {
    schema: &'a Schema,
    /// What goes in, each once.
    inputs: Vec<Arc<dyn PhysicalExpr>>,
    /// The functions that are called, each once.
    calls: Vec<Arc<KalFunction>>,
    operations: usize,
}

impl Formula<'_> {
    fn tree(&mut self, expr: &Arc<dyn PhysicalExpr>, depth: usize) -> Result<Tree> {
        if depth < DEEPEST && self.operations < MOST {
            if let Some(literal) = expr.downcast_ref::<Literal>()
                && let ScalarValue::Float64(Some(value)) = literal.value()
                && value.is_finite()
            {
                return Ok(Tree::Number(*value));
            }
            let before = (self.inputs.len(), self.calls.len(), self.operations);
            if let Some(negative) = expr.downcast_ref::<NegativeExpr>()
                && let Some(inner) = self.double(negative.arg(), depth + 1)?
            {
                self.operations += 1;
                return Ok(Tree::Negative(Box::new(inner)));
            }
            if let Some(binary) = expr.downcast_ref::<BinaryExpr>()
                && let Some((_, operator, _)) =
                    OPERATORS.iter().find(|(operator, ..)| operator == binary.op())
                && let Some(left) = self.double(binary.left(), depth + 1)?
                && let Some(right) = self.double(binary.right(), depth + 1)?
            {
                self.operations += 1;
                return Ok(Tree::Binary(operator, Box::new([left, right])));
            }
            // An operation of other numbers goes in as a whole.
            self.inputs.truncate(before.0);
            self.calls.truncate(before.1);
            self.operations = before.2;
            if let Some(call) = ScalarFunctionExpr::try_downcast_func::<KalUdf>(expr.as_ref())
                && let Some(udf) = call.fun().inner().downcast_ref::<KalUdf>()
                && udf.function().kernel().is_wide()
                && udf.function().kernel().name() != FUSED
            {
                self.operations += 1;
                let function = udf.function();
                if !self.calls.iter().any(|known| known.id() == function.id()) {
                    self.calls.push(function.clone());
                }
                let arguments = call.args().iter().map(|argument| self.tree(argument, depth + 1));
                let arguments = arguments.collect::<Result<_>>()?;
                return Ok(Tree::Call(function.kernel().name().to_owned(), arguments));
            }
        }
        let known = self.inputs.iter().position(|known| known == expr);
        Ok(Tree::Input(known.unwrap_or_else(|| {
            self.inputs.push(expr.clone());
            self.inputs.len() - 1
        })))
    }

    /// Returns what an expression is if it is a DOUBLE. Only what goes in is asked for its type,
    /// which takes as long as it is deep.
    fn double(&mut self, expr: &Arc<dyn PhysicalExpr>, depth: usize) -> Result<Option<Tree>> {
        let tree = self.tree(expr, depth)?;
        let is_double = !matches!(tree, Tree::Input(_)) || expr.data_type(self.schema)? == DataType::Float64;
        Ok(is_double.then_some(tree))
    }

    /// Returns what its inputs are called: as their columns where that is a name that nothing
    /// else has, else by their numbers.
    fn names(&self, context: &Context) -> Vec<String> {
        let number = |index: usize| format!("x{}", index + 1);
        let column = |input: &Arc<dyn PhysicalExpr>| {
            let name = input.downcast_ref::<Column>()?.name();
            let is_fit = kal::syntax::is_identifier(name) && name != FUSED && !context.is_function(name);
            is_fit.then(|| name.to_owned())
        };
        let columns = self.inputs.iter().map(column).enumerate();
        let names: Vec<String> = columns.map(|(index, name)| name.unwrap_or_else(|| number(index))).collect();
        let is_unique = names.iter().collect::<BTreeSet<_>>().len() == names.len();
        if is_unique { names } else { (0..names.len()).map(number).collect() }
    }
}
