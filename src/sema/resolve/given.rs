//! The functions that calls are given: `integral(sin, 0, pi)`.

use super::{GivenFunction, Resolver, SourcePlace, WantedFunction};
use crate::diagnostic::suggest::nearest;
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::module::MemberKind;
use crate::name::Name;
use crate::sema::checked::{CheckedNode, EXPRESSION, TakenFunction};
use crate::sema::constant::constant;
use crate::sema::environment::arguments;
use crate::sema::instance::{instance_name, is_built_in, operator_name, shown, taken_name};
use crate::source::Span;
use crate::syntax::ast::{self, Ast};
use crate::syntax::foreign;

/// What is known of the parameters of a function that is called.
struct Parameters {
    functions: Box<[TakenFunction]>,
    /// The number of the others.
    numbers: usize,
    place: Option<SourcePlace>,
}

impl Resolver<'_, '_> {
    /// Returns the function of that name that the definition takes.
    pub(super) fn taken(&self, name: Name) -> Option<TakenFunction> {
        self.functions.iter().find(|function| function.name == name).copied()
    }

    /// Returns whether a node is a function that a call is given; records that.
    pub(super) fn gives(&mut self, body: &Ast, at: usize, span: Span) -> bool {
        let (name, is_operator) = match body.nodes[at] {
            ast::Node::Variable(name) => (name, false),
            ast::Node::Function(name) => (name, true),
            _ => return false,
        };
        let Some((name, text, arity)) = self.function_named(name, is_operator, span) else { return false };
        let arguments = self.arguments.get_or_insert_with(|| {
            let calls = body.arguments().into_iter().enumerate();
            calls
                .flat_map(|(call, found)| {
                    found.into_iter().zip(0..).map(move |(node, place)| (node, (call, place)))
                })
                .collect()
        });
        let Some(&(call, position)) = arguments.get(&at) else {
            if self.taken(name).is_some() {
                self.function_as_value(&self.checker.text(name), span);
                let zero = self.number(0.0);
                self.push(zero, span);
                return true;
            }
            return false;
        };
        // A name that nothing has yet is that of a function where one is wanted, in what runs
        // later.
        let may_be_wanted = || match self.is_function_wanted(body, call, position) {
            Some(is_wanted) => is_wanted,
            None => !self.is_misspelt(name, span),
        };
        if arity.is_none() && !(self.runs_later() && may_be_wanted()) {
            return false;
        }
        self.given.entry(call).or_default().push(GivenFunction { position, text, name, arity, span });
        true
    }

    /// Returns whether a call takes a function in a place; `None` if nothing is known of what
    /// it calls.
    fn is_function_wanted(&self, body: &Ast, call: usize, position: u32) -> Option<bool> {
        let ast::Node::Call { callee, .. } = body.nodes[call] else { return Some(false) };
        if self.taken(callee).is_some() {
            return Some(false);
        }
        let callee = self.checker.stands_for(callee, MemberKind::Function, body.spans[call])?;
        if self.checker.environment.hosts().get(callee).is_some() {
            return Some(false);
        }
        let known = self.parameters_of(callee)?;
        Some(known.functions.iter().any(|function| function.position == position))
    }

    /// Returns whether a name that nothing has is rather a misspelt variable of the definition,
    /// or a word of another language.
    fn is_misspelt(&self, name: Name, span: Span) -> bool {
        /// More variables are not compared.
        const MOST: usize = 64;
        let names = self.checker.environment.names();
        let locals: Vec<_> = self.scope.names().take(MOST).map(|local| names.text(local)).collect();
        foreign::word(self.checker.source, span).is_some() || nearest(&names.text(name), locals).is_some()
    }

    /// Returns the function that a name means where no variable has it: its name, what it
    /// is called in the name of an instance, and the number of its arguments, if anything
    /// is known of it.
    fn function_named(
        &self,
        name: Name,
        is_operator: bool,
        span: Span,
    ) -> Option<(Name, String, Option<u32>)> {
        let environment = self.checker.environment;
        if !is_operator && self.scope.local(name).is_some() {
            return None;
        }
        let text = self.checker.text(name);
        if is_operator {
            return self.operator_named(name, &text, span);
        }
        if let Some(taken) = self.taken(name) {
            return Some((name, taken_name(&text), Some(taken.arity)));
        }
        let stands_for = |kind| self.checker.stands_for(name, kind, span);
        let is_variable = environment.has_variable(name) || constant(&text).is_some();
        let known = stands_for(MemberKind::Function)?;
        if is_variable
            || stands_for(MemberKind::Variable).is_some_and(|variable| environment.has_variable(variable))
        {
            return None;
        }
        let text = self.checker.text(known).to_string();
        let arity = match self.parameters_of(known) {
            Some(parameters) if !parameters.functions.is_empty() => return None,
            Some(parameters) => Some(parameters.numbers as u32),
            None => environment.hosts().get(known).map(|host| host.arity),
        };
        Some((known, text, arity))
    }

    /// Returns the same of an operator, `binary+`.
    fn operator_named(&self, name: Name, text: &str, span: Span) -> Option<(Name, String, Option<u32>)> {
        let (operands, operator) = match (text.strip_prefix("unary"), text.strip_prefix("binary")) {
            (Some(operator), _) => (1, operator),
            (None, operator) => (2, operator.unwrap_or_default()),
        };
        let built_in = Some(operator_name(operands, operator)).filter(|given| is_built_in(given));
        let defined = if name == self.written {
            // In the definition of a built-in operator, that is the built-in one.
            built_in.is_none().then_some(self.head.name)
        } else {
            let known = self.checker.stands_for(name, MemberKind::Function, span);
            known.filter(|known| self.parameters_of(*known).is_some())
        };
        match (defined, built_in) {
            (Some(function), _) => Some((function, self.checker.text(function).to_string(), Some(operands))),
            (None, built_in) => Some((name, built_in?, Some(operands))),
        }
    }

    /// Returns what is known of the parameters of a function of the program.
    fn parameters_of(&self, function: Name) -> Option<Parameters> {
        if function == self.head.name {
            let (functions, numbers) = (self.functions.clone(), self.parameters.len());
            return Some(Parameters { functions, numbers, place: None });
        }
        let environment = self.checker.environment;
        if let Some(known) = environment.function(function) {
            let place = Some(SourcePlace { source: known.source.clone(), span: known.name_span });
            let (functions, numbers) = (known.functions.clone(), known.parameters.len());
            return Some(Parameters { functions, numbers, place });
        }
        let head = environment.declared(function)?;
        let (functions, numbers) = (head.functions.clone(), head.parameters.len());
        Some(Parameters { functions, numbers, place: Some(head.place.clone()) })
    }

    /// Reports a function where a number is wanted.
    pub(super) fn function_as_value(&mut self, text: &str, span: Span) {
        let message = format!("`{text}` is a function, and every value is a number");
        let error = self.error(ErrorCode::UnknownVariable, span, message);
        error.labels[0].message = "a function".into();
        error.help =
            Some("a call of a function that takes one can be given it: `def twice(f(x) x) f(f(x))`".into());
    }

    /// Reports a function that the definition takes and assigns to.
    pub(super) fn function_assigned(&mut self, name: Name, span: Span) {
        let text = self.checker.text(name).to_string();
        // What is assigned to it is the same mistake.
        self.mistakes.found_foreign();
        let message = format!("`{text}` is a function that the definition takes, not a variable");
        let error = self.error(ErrorCode::BadAssignment, span, message);
        error.labels[0].message = "cannot be assigned".into();
        error.help =
            Some(format!("each call gives its own `{text}`; a number has a variable: `var y = 3 in …`"));
    }

    /// Reports a function that a call of a function of numbers is given.
    fn not_taken_by(&mut self, callee: Name, given: &GivenFunction) {
        let before = self.checker.diagnostics.len();
        self.not_taken(given);
        let known = self.checker.environment.function(callee);
        let head = known.and_then(|known| {
            let parameter = known.parameters.get(given.position as usize)?;
            known.head_taking(*parameter, self.checker.environment.names())
        });
        if let (Some(head), Some(error)) = (head, self.checker.diagnostics.get_mut(before)) {
            error.help = Some(format!("to take a function: `def {head} …`"));
        }
    }

    /// Reports a function that a call is given and does not take.
    pub(super) fn not_taken(&mut self, given: &GivenFunction) {
        if self.taken(given.name).is_some()
            || !self
                .checker
                .source
                .slice(given.span)
                .starts_with(|first: char| first == '_' || first.is_alphabetic())
        {
            let text = self.checker.text(given.name);
            self.function_as_value(&text, given.span);
        } else {
            self.variable(given.name, given.span);
        }
    }

    /// Reports the functions that a part of `print` is given: it takes none.
    pub(super) fn given_to_print(&mut self) {
        let given = self.given.remove(&self.mistakes.at).unwrap_or_default();
        given.iter().for_each(|given| self.not_taken(given));
    }

    /// Resolves a call that may be given functions.
    pub(super) fn call_given(
        &mut self,
        callee: Name,
        arguments: u32,
        given: &[GivenFunction],
        span: Span,
    ) -> CheckedNode {
        let known = self.parameters_of(callee);
        let takes_none = known.as_ref().is_some_and(|known| known.functions.is_empty())
            || self.checker.environment.hosts().get(callee).is_some();
        match known {
            Some(known) if !known.functions.is_empty() => {
                self.functions_fit(callee, arguments, given, known, span);
            }
            _ if takes_none || given.is_empty() => {
                given.iter().for_each(|given| self.not_taken_by(callee, given));
                return self.call(callee, arguments, span);
            }
            _ => {}
        }
        let mut places: Vec<Option<&str>> = vec![None; arguments as usize];
        for given in given {
            if let Some(place) = places.get_mut(given.position as usize) {
                *place = Some(&given.text);
            }
        }
        let name = instance_name(&self.checker.text(callee), &places);
        let name = self.checker.hold(&name);
        self.callee(name, arguments.saturating_sub(given.len() as u32), span)
    }

    /// Reports what a call of a function that takes functions is given, if that does not fit.
    fn functions_fit(
        &mut self,
        callee: Name,
        arguments: u32,
        given: &[GivenFunction],
        known: Parameters,
        span: Span,
    ) {
        let Parameters { functions, numbers, place } = known;
        let before = self.checker.diagnostics.len();
        self.fits(callee, arguments, span, (numbers + functions.len()) as u32, place);
        if self.checker.diagnostics.len() != before {
            return;
        }
        let is_taken =
            |given: &&GivenFunction| functions.iter().any(|taken| taken.position == given.position);
        let mut misplaced = given.iter().filter(|given| !is_taken(given));
        for function in &functions {
            let Some(given) = given.iter().find(|given| given.position == function.position) else {
                let misplaced = misplaced.next().map(|given| (given.name, given.position));
                let call = self.mistakes.at;
                self.wanted.push(WantedFunction { call, callee, function: *function, misplaced });
                continue;
            };
            if let Some(arity) = given.arity.filter(|arity| *arity != function.arity) {
                let (name, takes) = (shown(&self.checker.text(given.name)), arguments_of(arity));
                let wanted = arguments_of(function.arity);
                let message = format!("`{name}` takes {takes}, and is called with {wanted}");
                let error = self.error(ErrorCode::WrongArity, given.span, message);
                error.labels[0].message = format!("called with {wanted}");
            }
        }
        misplaced.for_each(|given| self.not_taken(given));
    }

    /// Reports the numbers where calls take functions, unless these are mistakes themselves.
    pub(super) fn functions_wanted(&mut self, body: &Ast) {
        let wanted = std::mem::take(&mut self.wanted);
        if wanted.is_empty() {
            return;
        }
        let (arguments, starts) = (body.arguments(), body.starts());
        for WantedFunction { call, callee, function, misplaced } in wanted {
            let Some(&argument) = arguments[call].get(function.position as usize) else { continue };
            let nodes = starts[argument]..argument + 1;
            let inside = self.mistakes.within(&nodes);
            let is_expression = nodes.len() > 1;
            let is_the_same = |&(number, node): &(usize, usize)| {
                self.mistake(number).code == ErrorCode::UnknownVariable
                    && (is_expression || self.is_function(body, node))
            };
            if !inside.iter().all(is_the_same) {
                continue;
            }
            let names_functions = inside.iter().any(|(_, node)| self.is_function(body, *node));
            let unknown: Vec<_> = inside.iter().map(|(_, node)| &body.nodes[*node]).collect();
            let free = if names_functions { &[] } else { &*unknown };
            // The names of functions in it, and the variables that its parameters would be, are
            // the same mistake.
            self.mistakes.dropped.extend(inside.into_iter().map(|(number, _)| number));
            let text = self.checker.text(callee);
            let (number, arguments) = (function.position + 1, arguments_of(function.arity));
            let message = format!("argument {number} of `{text}` is a function of {arguments}");
            let span = body.spans[nodes].iter().copied().reduce(Span::to);
            let label = self.given_instead(body, argument);
            let help = match misplaced {
                Some((given, position)) => {
                    format!("`{}` is given as argument {}", self.checker.text(given), position + 1)
                }
                None => {
                    self.as_definition(free, function.arity, span.unwrap_or_default()).unwrap_or_else(|| {
                        "a function is given by its name, `sin`, an operator as `binary+`".to_owned()
                    })
                }
            };
            self.mistakes.at = argument;
            let error = self.error(ErrorCode::FunctionWanted, span.unwrap_or_default(), message);
            error.labels[0].message = label.into();
            error.help = Some(help);
        }
    }

    /// Returns the advice for an expression with these unknown names, which is given where a
    /// function is wanted, if it looks like the body of that.
    fn as_definition(&self, free: &[&ast::Node], arity: u32, span: Span) -> Option<String> {
        const LONGEST: usize = 40;
        let &ast::Node::Variable(parameter) = *free.first()? else { return None };
        let is_it = |node: &&ast::Node| matches!(node, ast::Node::Variable(name) if *name == parameter);
        let body = with_parentheses(self.checker.source.text(), span);
        let fits =
            arity == 1 && free.iter().all(is_it) && body.len() <= LONGEST && !body.contains(['\n', '`']);
        let parameter = self.checker.text(parameter);
        fits.then(|| format!("define the function before, and give its name: `def f({parameter}) {body}`"))
    }

    /// Says of the names that nothing has which functions they may be, where calls are given
    /// them.
    pub(super) fn suggest_functions(&mut self, body: &Ast) {
        for (number, argument) in self.mistakes.within(&(0..body.nodes.len())) {
            let ast::Node::Variable(name) = body.nodes[argument] else { continue };
            let place = self.arguments.as_ref().and_then(|arguments| arguments.get(&argument));
            let Some(&(call, position)) = place else { continue };
            if self.mistake(number).code != ErrorCode::UnknownVariable || self.is_function(body, argument) {
                continue;
            }
            if self.is_function_wanted(body, call, position) != Some(true)
                || foreign::word(self.checker.source, body.spans[argument]).is_some()
            {
                continue;
            }
            let text = self.checker.text(name);
            let near = || self.nearest_function(name).map(|near| format!("did you mean `{near}`?"));
            let help = foreign::function(&text).map(str::to_owned).or_else(near);
            let error = &mut self.checker.diagnostics[self.mistakes.earlier + number];
            error.message = format!("unknown function `{text}`");
            error.labels[0].message = "not defined".into();
            error.help = help.or_else(|| error.help.take());
        }
    }

    fn nearest_function(&self, name: Name) -> Option<String> {
        let environment = self.checker.environment;
        let functions =
            environment.functions().into_iter().map(|function| environment.names().text(function));
        environment.suggestions().nearest(&self.checker.text(name), functions).map(|near| near.to_string())
    }

    fn mistake(&self, number: usize) -> &Diagnostic {
        &self.checker.diagnostics[self.mistakes.earlier + number]
    }

    /// Returns whether the body runs when it is called, not at once.
    fn runs_later(&self) -> bool {
        &*self.checker.text(self.head.name) != EXPRESSION
    }

    /// Returns whether a node is the name of a function.
    fn is_function(&self, body: &Ast, node: usize) -> bool {
        match body.nodes[node] {
            ast::Node::Function(_) => true,
            ast::Node::Variable(name) => {
                self.taken(name).is_some()
                    || self.parameters_of(name).is_some()
                    || self.checker.environment.hosts().get(name).is_some()
            }
            _ => false,
        }
    }

    /// Returns what a call is given where it takes a function.
    fn given_instead(&self, body: &Ast, argument: usize) -> &'static str {
        match body.nodes[argument] {
            ast::Node::Variable(name) if self.is_function(body, argument) => match self.parameters_of(name) {
                Some(known) if !known.functions.is_empty() => "takes a function itself",
                _ => "given a number",
            },
            ast::Node::Function(name) => match &*self.checker.text(name) {
                "binary&&" | "binary||" => "evaluates its right side only if needed",
                _ => "not defined",
            },
            _ => "given a number",
        }
    }
}

fn arguments_of(count: u32) -> String {
    arguments(count as usize)
}

/// Returns the text of an expression with the parentheses around its first and last parts.
fn with_parentheses(text: &str, span: Span) -> &str {
    let (mut start, mut end) = (span.start as usize, span.end as usize);
    let (mut open, mut least) = (0_i32, 0);
    for letter in text[span.range()].chars() {
        open += i32::from(letter == '(') - i32::from(letter == ')');
        least = least.min(open);
    }
    for _ in least..0 {
        start = text[..start].trim_end().strip_suffix('(').map_or(start, str::len);
    }
    for _ in least..open {
        let rest = text[end..].trim_start();
        end = rest.strip_prefix(')').map_or(end, |rest| text.len() - rest.len());
    }
    &text[start..end]
}
