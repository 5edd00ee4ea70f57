//! Constants: those that every program knows, and variables that are declared as numbers.

use super::checked::{CheckedFunction, CheckedNode};
use crate::name::Name;
use crate::syntax::operator::{BinaryOp, UnaryOp};

/// Returns the value of a constant that every program knows, unless it declares a variable
/// of that name.
pub fn constant(name: &str) -> Option<f64> {
    CONSTANTS.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

const CONSTANTS: [(&str, f64); 4] =
    [("pi", std::f64::consts::PI), ("e", std::f64::consts::E), ("inf", f64::INFINITY), ("nan", f64::NAN)];

/// Returns the values that a declaration gives its variables, if it has numbers for all of
/// them, such as `-1.5` or `0/0`: nothing needs to run.
pub fn declared_numbers(declaration: &CheckedFunction) -> Option<Vec<(Name, f64)>> {
    let (mut stack, mut declared) = (Vec::<f64>::new(), Vec::new());
    let mut locals = vec![0.0; declaration.locals as usize];
    for node in &declaration.nodes {
        match *node {
            CheckedNode::Number(number) => stack.push(*declaration.numbers.get(number as usize)?),
            CheckedNode::Unary(UnaryOp::Negate) => {
                let operand = stack.pop()?;
                stack.push(-operand);
            }
            CheckedNode::Binary(BinaryOp::Divide) => {
                let (right, left) = (stack.pop()?, stack.pop()?);
                stack.push(left / right);
            }
            CheckedNode::Bind(local) => *locals.get_mut(local as usize)? = stack.pop()?,
            CheckedNode::Local(local) => stack.push(*locals.get(local as usize)?),
            CheckedNode::SetVariable(name) => declared.push((name, *stack.last()?)),
            _ => return None,
        }
    }
    Some(declared)
}
