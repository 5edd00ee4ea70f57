//! Making a program smaller while it keeps a property: what is shown of a
//! failure is a few short lines.

use crate::program::{Expr, Item, Program};

/// Returns the smallest program to be found by leaving things out that still
/// `fails`.
pub fn shrink(program: &Program, fails: &mut dyn FnMut(&Program) -> bool) -> Program {
    let mut best = program.clone();
    loop {
        let before = best.clone();
        without_items(&mut best, fails);
        with_smaller_expressions(&mut best, fails);
        if best == before {
            return best;
        }
    }
}

fn without_items(best: &mut Program, fails: &mut dyn FnMut(&Program) -> bool) {
    for index in (0..best.0.len()).rev() {
        let mut candidate = best.clone();
        candidate.0.remove(index);
        if fails(&candidate) {
            *best = candidate;
        }
    }
}

fn with_smaller_expressions(best: &mut Program, fails: &mut dyn FnMut(&Program) -> bool) {
    for item in 0..best.0.len() {
        let mut place = 0;
        while place < best.0[item].expressions().iter().map(|expression| expression.size()).sum() {
            let smaller = best.expression(item, place).map(|found| found.smaller()).unwrap_or_default();
            let replaced = smaller.into_iter().find_map(|replacement| {
                let mut candidate = best.clone();
                *candidate.expression(item, place)? = replacement;
                fails(&candidate).then_some(candidate)
            });
            match replaced {
                Some(candidate) => *best = candidate,
                None => place += 1,
            }
        }
    }
}

impl Expr {
    fn parts(&self) -> Vec<&Expr> {
        match self {
            Self::Leaf(_) => Vec::new(),
            Self::Assign(.., value) | Self::Unary(_, value) | Self::For(_, value) => vec![value],
            Self::Binary(_, sides) | Self::Then(sides) | Self::While(.., sides) | Self::Print(sides) => {
                sides.iter().collect()
            }
            Self::If(parts) | Self::Chain(_, parts) => parts.iter().collect(),
            Self::Var(bindings, body) => bindings.iter().map(|(_, value)| value).chain([&**body]).collect(),
            Self::Call(_, arguments) => arguments.iter().collect(),
        }
    }

    fn parts_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Self::Leaf(_) => Vec::new(),
            Self::Assign(.., value) | Self::Unary(_, value) | Self::For(_, value) => vec![value],
            Self::Binary(_, sides) | Self::Then(sides) | Self::While(.., sides) | Self::Print(sides) => {
                sides.iter_mut().collect()
            }
            Self::If(parts) | Self::Chain(_, parts) => parts.iter_mut().collect(),
            Self::Var(bindings, body) => {
                bindings.iter_mut().map(|(_, value)| value).chain([&mut **body]).collect()
            }
            Self::Call(_, arguments) => arguments.iter_mut().collect(),
        }
    }

    /// Returns simpler expressions that could replace it: a number, or one of
    /// its parts.
    fn smaller(&self) -> Vec<Expr> {
        let numbers = ["1", "0"].map(|text| Expr::Leaf(text.to_owned()));
        match self {
            Self::Leaf(text) if text == "1" => Vec::new(),
            Self::Leaf(text) if text == "0" => numbers[..1].to_vec(),
            _ => self.parts().into_iter().cloned().chain(numbers).collect(),
        }
    }

    /// Returns the expression at a place of the walk from the root.
    fn at(&mut self, place: &mut usize) -> Option<&mut Expr> {
        if *place == 0 {
            return Some(self);
        }
        *place -= 1;
        self.parts_mut().into_iter().find_map(|part| part.at(place))
    }

    fn size(&self) -> usize {
        1 + self.parts().into_iter().map(Expr::size).sum::<usize>()
    }
}

impl Item {
    fn expressions(&self) -> Vec<&Expr> {
        match self {
            Self::Variables(bindings) => bindings.iter().map(|(_, value)| value).collect(),
            Self::Define { body, .. }
            | Self::Pattern { body, .. }
            | Self::Evaluate(body)
            | Self::Do(body) => {
                vec![body]
            }
            Self::Declare { .. } => Vec::new(),
        }
    }
}

impl Program {
    fn expression(&mut self, item: usize, mut place: usize) -> Option<&mut Expr> {
        match &mut self.0[item] {
            Item::Variables(bindings) => bindings.iter_mut().find_map(|(_, value)| value.at(&mut place)),
            Item::Define { body, .. }
            | Item::Pattern { body, .. }
            | Item::Evaluate(body)
            | Item::Do(body) => body.at(&mut place),
            Item::Declare { .. } => None,
        }
    }
}
