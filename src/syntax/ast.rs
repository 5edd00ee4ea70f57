//! The abstract syntax tree of one item, as a flat array.
//!
//! The nodes of an expression are in *post-order*: operands before their
//! operator, so a walk over the array with a stack of values visits the tree
//! without recursion, however deep it is. Constructs that bind a name or choose
//! what to evaluate leave *marks* between their parts, so that the same single
//! walk knows where each part begins:
//!
//! ```text
//! a && b            a  ShortCircuit(And)  b  Binary(And)
//! x = e             e  Assign(x)
//! f(a, b)           a  b  Call f 2
//! if c then a else b
//!                   c  Then  a  Else  b  If
//! for i = s, c, t in b
//!                   s  ForVariable(i)  c  ForCondition  t  ForStep  b  For
//! while c in b      WhileCondition  c  WhileBody  b  While
//! a : b             a  Next  b  Sequence
//! a < b < c         a  b  Chained(<, first)  c  Chained(<, last)
//! x += e            x  e  Binary(+)  Assign(x)
//! var x = e, y in b
//!                   e  Bind(x)  0  Bind(y)  b  Var(2)
//! ```
//!
//! A missing step is the number 1, a missing initialiser or `else` branch the number 0
//! (with the empty span of the place where they would be).

use crate::name::{HeldNames, Name};
use crate::source::{Source, Span};
use crate::syntax::operator::{BinaryOp, Fixity, UnaryOp};

/// One entry of the post-order array. Comments say what it takes from the
/// stack of values and what it leaves there.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Node {
    /// Leaves the number.
    Number(f64),
    /// Leaves a text, which only `print` and `write` take: as it is written, with its
    /// quotes.
    Text(Name),
    /// Leaves an operator as a function, `binary+`, which only a call takes.
    Function(Name),
    /// Leaves the value of a variable.
    Variable(Name),
    /// Takes a value, assigns it to the variable, leaves it.
    Assign(Name),
    /// Takes one value, leaves the result of a built-in operator.
    Unary(UnaryOp),
    /// Takes two values, leaves the result of a built-in operator. `And` and
    /// `Or` have a `ShortCircuit` mark after the left operand.
    Binary(BinaryOp),
    /// Mark after the left operand of `And` or `Or`.
    ShortCircuit(BinaryOp),
    /// Takes `arguments` values, leaves the result of the call.
    Call {
        /// The function; for a user-defined operator `unary` or `binary`
        /// followed by the operator's text.
        callee: Name,
        /// The number of arguments.
        arguments: u32,
    },
    /// A call of a user-defined operator, or the use of an unknown one: as
    /// [`Node::Call`], with one argument if unary, two if binary.
    Operator {
        /// The function that defines it: `unary!`, `binary|`.
        callee: Name,
        /// 1 or 2.
        arguments: u8,
    },
    /// Mark after the condition of an `if`: takes it.
    Then,
    /// Mark between the branches of an `if`.
    Else,
    /// End of an `if`: leaves the value of the branch taken.
    If,
    /// Mark after the start of a `for`: takes it, brings the variable into scope.
    ForVariable(Name),
    /// Mark after the condition of a `for`.
    ForCondition,
    /// Mark after the step of a `for`.
    ForStep,
    /// End of a `for`: takes the value of the body, leaves 0, ends the scope.
    For,
    /// Mark before the condition of a `while`.
    WhileCondition,
    /// Mark after the condition of a `while`: takes it.
    WhileBody,
    /// End of a `while`: takes the value of the body, leaves 0.
    While,
    /// A comparison in a chain, `a < b < c`: takes two values. The last leaves 1 if all
    /// hold, else 0. The others leave for the next what they found, and their right
    /// operand, which that compares with its own.
    Chained {
        /// The comparison.
        op: BinaryOp,
        /// Whether the chain begins with it.
        is_first: bool,
        /// Whether the chain ends with it.
        is_last: bool,
    },
    /// Mark after the left operand of the built-in `:`: takes it.
    Next,
    /// End of the built-in `:`: leaves the value of the right operand.
    Sequence,
    /// Mark after an initialiser: takes it, brings the variable into scope.
    Bind(Name),
    /// End of a `var … in`: ends the scope of this many variables and leaves
    /// the value of the body.
    Var(u32),
}

/// An expression: its nodes in post-order, and the place of each (for an
/// operator the operator's token, for an assignment the variable, for a call
/// the callee's name).
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ast {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The place of each node.
    pub spans: Vec<Span>,
}

impl Node {
    /// Returns the [group](BinaryOp::comparison) of a comparison.
    pub fn comparison(self) -> Option<u8> {
        if let Self::Binary(op) | Self::Chained { op, .. } = self { op.comparison() } else { None }
    }
}

impl Ast {
    /// Returns the nodes that are the arguments of each call.
    pub fn arguments(&self) -> Vec<Vec<usize>> {
        let starts = self.starts();
        let of_call = |(at, node): (usize, &Node)| {
            let Node::Call { arguments, .. } = node else { return Vec::new() };
            let (mut found, mut end) = (Vec::new(), at);
            for _ in 0..*arguments {
                let Some(last) = end.checked_sub(1) else { break };
                found.push(last);
                end = starts[last];
            }
            found.reverse();
            found
        };
        self.nodes.iter().enumerate().map(of_call).collect()
    }

    /// Returns, for each node, the index of the first node of its operands; for
    /// a mark, that of the mark.
    pub fn starts(&self) -> Vec<usize> {
        let mut values: Vec<usize> = Vec::new();
        let first_of = |(at, node): (usize, &Node)| {
            let count = match *node {
                Node::Number(_) | Node::Text(_) | Node::Function(_) | Node::Variable(_) => 0,
                Node::Assign(_) | Node::Unary(_) => 1,
                Node::Binary(_) | Node::Chained { .. } | Node::Sequence | Node::While => 2,
                Node::Call { arguments, .. } => arguments as usize,
                Node::Operator { arguments, .. } => usize::from(arguments),
                Node::If => 3,
                Node::For => 4,
                Node::Var(count) => count as usize + 1,
                Node::ShortCircuit(_)
                | Node::Then
                | Node::Else
                | Node::ForVariable(_)
                | Node::ForCondition
                | Node::ForStep
                | Node::WhileCondition
                | Node::WhileBody
                | Node::Next
                | Node::Bind(_) => return at,
            };
            let rest = values.len().saturating_sub(count);
            let first = values.drain(rest..).next().unwrap_or(at);
            // Its mark comes before its condition.
            let first = if *node == Node::While { first.saturating_sub(1) } else { first };
            values.push(first);
            first
        };
        self.nodes.iter().enumerate().map(first_of).collect()
    }
}

/// A name with its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spanned {
    /// The name.
    pub name: Name,
    /// Its place.
    pub span: Span,
}

/// The head of a `def` or an `extern`.
#[derive(Clone, PartialEq, Debug)]
pub struct Prototype {
    /// The function; `unary!` or `binary|` for an operator.
    pub name: Spanned,
    /// The parameters in order.
    pub parameters: Vec<Spanned>,
    /// Which of them are functions.
    pub functions: Vec<FunctionParameter>,
    /// The fixity, if the function is an operator.
    pub fixity: Option<Fixity>,
}

/// A parameter `f(x)`, which is a function.
#[derive(Clone, PartialEq, Debug)]
pub struct FunctionParameter {
    /// Its place among the parameters.
    pub position: u32,
    /// The names of its own parameters.
    pub parameters: Vec<Spanned>,
}

/// What an `import` makes known.
#[derive(Clone, PartialEq, Debug)]
pub struct ImportHead {
    /// The module.
    pub module: Spanned,
    /// What the module is called here, behind `as`.
    pub alias: Option<Spanned>,
    /// The names to import, in parentheses: functions, variables, and the
    /// functions of operators, `binary⊕`. All, if there is no list.
    pub names: Option<Vec<Spanned>>,
}

/// The kinds of items.
#[derive(Clone, PartialEq, Debug)]
pub enum ItemKind {
    /// `def prototype body`.
    Definition(Prototype, Ast),
    /// `extern prototype`.
    Extern(Prototype),
    /// `import module …`.
    Import(ImportHead),
    /// A top-level `var` without `in`: initialisers, each followed by its `Bind`.
    Variables(Ast),
    /// A top-level expression.
    Expression(Ast),
    /// `do expression`: only for its effect.
    Effect(Ast),
}

/// One item of a program.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    /// The kind, with its parts.
    pub kind: ItemKind,
    /// The source it is from.
    pub source: Source,
    /// Its place, from the first to the last token.
    pub span: Span,
    /// The names in it, and the operators that its reading depended on.
    pub names: HeldNames,
}
