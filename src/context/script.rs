//! Scripts: what is defined now, as a text that defines it again.
//!
//! What a source means depends on the operators in force, and a session may
//! have changed those in between. So definitions are put in an order in which
//! each finds the operators it was read with: after the definitions of the
//! operators it uses, before those that hide a built-in one it uses. Where no
//! such order exists, an operator is introduced ahead of its definition. Source
//! that would still read differently, because a precedence has changed, is
//! printed from its tree. In the same way, a variable is declared after the
//! definitions in which its name means a function or a constant.

use super::Context;
use crate::module::{self, MemberKind, add_operators};
use crate::name::{HeldName, Name, Names};
use crate::output::literal;
use crate::sema::checked::{Callee, CheckedFunction};
use crate::sema::constant::constant;
use crate::sema::instance::instance_parts;
use crate::sema::is_printing_word;
use crate::source::Source;
use crate::syntax::ast::{Item, ItemKind, Node};
use crate::syntax::comment::{documentation, trailing_comment};
use crate::syntax::lexer::lex;
use crate::syntax::operator::{Fixity, Operators};
use crate::syntax::parser::{ParseLimits, Parser};
use crate::syntax::printer;
use crate::world::{Origin, World};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::sync::Arc;

/// A context as a text.
pub(crate) struct Script {
    /// The program.
    pub(crate) text: String,
    /// The names of the functions that are in it as comments only, since they use operators that
    /// are not defined any more.
    pub(crate) left_out: Vec<String>,
}

impl Context {
    /// Returns a program that declares the variables with their present values
    /// and defines what is defined now, callees first where possible. Run in a
    /// new context, it gives the same answers. The variables in `omit` are left
    /// out if no definition uses them. A function that uses an operator which is
    /// not defined any more, and so cannot be read again, is in it as a comment.
    pub fn script(&self, omit: &[&str]) -> String {
        self.whole_script(omit).text
    }

    /// Returns the [script](Self::script), and what is not in it.
    pub(crate) fn whole_script(&self, omit: &[&str]) -> Script {
        let names = self.engine.names();
        let parts = self.parts();
        let mut script = String::new();
        for import in self.imports_in_force() {
            script += &format!("{import};\n");
        }
        let with_meanings: FxHashSet<Name> = parts.iter().flat_map(|part| &part.meanings).copied().collect();
        // Those that are declared between definitions.
        let mut later = Vec::new();
        for name in self.variable_names().into_iter().filter(|name| module::parts(name).is_none()) {
            let known = names.get(&name);
            let is_used = || parts.iter().any(|part| part.uses_variable(known));
            if omit.contains(&name.as_str()) && !is_used() {
                continue;
            }
            let value = self.variable(&name).unwrap_or(f64::NAN);
            let above = self.variable_documentation(&name).into_iter().flat_map(str::lines);
            let mut declaration: String = above.map(|line| format!("## {line}\n")).collect();
            declaration += &format!("var {name} = {};\n", literal(value));
            match known.filter(|known| with_meanings.contains(known)) {
                Some(name) => later.push((name, declaration)),
                None => script += &declaration,
            }
        }
        let mut operators = Operators::new(names);
        for import in self.world.imports().iter() {
            // They do not contradict each other.
            let _ = add_operators(import, &mut operators, names);
        }
        let mut writer = ScriptWriter { names, operators, agreeing: None, script, left_out: Vec::new() };
        let variables: Vec<Name> = later.iter().map(|(name, _)| *name).collect();
        for step in Order::new(&parts, &variables, names).steps(&self.world) {
            match step {
                ScriptStep::Declare(variable) => writer.declare(&later[variable].1),
                ScriptStep::Define(part) => writer.define(self, &parts[part]),
                ScriptStep::Introduce(part) => writer.introduce(&parts[part]),
                ScriptStep::LeaveOut(part) => writer.leave_out(&parts[part]),
            }
        }
        for head in self.unbound_declarations() {
            writer.separate();
            writer.script += &format!("extern {head}\n");
        }
        Script { text: writer.script, left_out: writer.left_out }
    }

    /// Parses the source of a definition again, with the operators it was first
    /// read with.
    pub(super) fn reread(&self, function: &CheckedFunction) -> Option<Item> {
        let definition = self.world.definition(function.name)?;
        let source = Source::new(function.source.name(), function.text());
        self.only_definition(&source, &definition.operators)
    }

    fn only_definition(&self, source: &Source, operators: &Operators) -> Option<Item> {
        let names = self.engine.names();
        let tokens = lex(source, names).ok()?;
        let limits = ParseLimits { max_nesting: self.engine.config().limits.max_nesting };
        Parser::new(&tokens, names, limits).only_item(operators).ok()
    }

    /// Returns all definitions, in the order in which their names were first
    /// read.
    fn parts(&self) -> Vec<ScriptItem> {
        let telling = self.telling_words();
        self.world.own_functions().filter_map(|function| self.part(function.clone(), &telling)).collect()
    }

    /// Returns the words that tell whether the place of a definition matters: that of one whose
    /// text has none of them does not, unless it calls an operator.
    fn telling_words(&self) -> Vec<HeldName> {
        let names = self.engine.names();
        let own = || self.world.own_functions().map(|function| function.name);
        let fixities = own().filter_map(|name| self.world.definition(name)?.fixity);
        let operators = fixities.map(|fixity| match fixity {
            Fixity::Unary { operator } | Fixity::Binary { operator, .. } => names.text(operator),
        });
        let words = own().map(|name| names.text(name)).filter(|name| is_printing_word(name));
        let variables = self.variable_names().into_iter().filter_map(|name| names.get(&name));
        let variables = variables.filter(|name| self.hides(*name)).map(|name| names.text(name));
        operators.chain(words).chain(variables).collect()
    }

    /// Returns whether a variable of that name hides a constant, or a variable of a module, in what
    /// is defined after it.
    fn hides(&self, name: Name) -> bool {
        let imported = || self.world.imports().alias(name, MemberKind::Variable);
        constant(&self.engine.names().text(name)).is_some() || imported().is_ok_and(|found| found.is_some())
    }

    /// Returns a definition with what its position depends on. Its source is read only if that
    /// may be anything.
    fn part(&self, function: Arc<CheckedFunction>, telling: &[HeldName]) -> Option<ScriptItem> {
        let names = self.engine.names();
        let is_of_operator = |callee: &Callee| {
            let name = names.text(callee.name);
            ["unary", "binary"].iter().any(|kind| name.starts_with(kind))
        };
        let calls_operator = || function.callees.iter().any(is_of_operator);
        let text = function.text();
        let is_read = telling.iter().any(|word| text.contains(&**word)) || calls_operator();
        let item = if is_read { Some(self.reread(&function)?) } else { None };
        let nodes = match item.as_ref().map(|item| &item.kind) {
            Some(ItemKind::Definition(_, body)) => &*body.nodes,
            Some(_) => return None,
            None => &[],
        };
        let (mut operators, mut built_in) = (FxHashSet::default(), FxHashSet::default());
        let mut variables = FxHashSet::default();
        let is_imported =
            |name| self.world.definition(name).is_some_and(|bound| bound.origin == Origin::Module);
        let (mut meanings, mut words) = (FxHashSet::default(), FxHashSet::default());
        let calls = |name: Name| function.callees.iter().any(|callee| callee.name == name);
        for node in nodes {
            match node {
                Node::Variable(name)
                    if variables.insert(*name) && !function.uses_variable(*name) && self.hides(*name) =>
                {
                    meanings.insert(*name);
                }
                Node::Call { callee, .. } if is_printing_word(&names.text(*callee)) && !calls(*callee) => {
                    words.insert(*callee);
                }
                Node::Operator { callee, .. } if *callee != function.name && !is_imported(*callee) => {
                    operators.insert(*callee);
                }
                Node::Unary(op) => _ = built_in.insert((1, op.text())),
                Node::Binary(op) => _ = built_in.insert((2, op.text())),
                _ => {}
            }
        }
        let built_in = built_in.into_iter().map(|(arity, text)| (arity, names.intern(text))).collect();
        let documentation = documentation(&function.source, function.span);
        let definition = self.world.definition(function.name)?;
        let (fixity, read_with) = (definition.fixity, definition.operators.clone());
        let token = fixity.and_then(|fixity| self.token(fixity));
        for callee in &function.callees {
            let called = names.text(callee.name);
            let Some((_, given)) = instance_parts(&called) else { continue };
            let is_operator =
                |name: &Name| self.world.definition(*name).is_some_and(|bound| bound.fixity.is_some());
            let known = given.iter().flatten().filter_map(|text| names.get(text));
            operators.extend(known.filter(|name| is_operator(name) && !is_imported(*name)));
            let short = |text| module::parts(text).map_or(text, |(_, short)| short);
            meanings.extend(given.into_iter().flatten().filter_map(|text| names.get(short(text))));
        }
        Some(ScriptItem {
            function,
            item,
            read_with,
            fixity,
            token,
            documentation,
            operators,
            built_in,
            meanings,
            words,
        })
    }
}

impl Context {
    /// Returns the token that means an operator's definition once it is in
    /// force, with its count of operands; none for `=`, which always assigns.
    fn token(&self, fixity: Fixity) -> Option<(u8, Name)> {
        match fixity {
            Fixity::Unary { operator } => Some((1, operator)),
            Fixity::Binary { operator, .. } => {
                (!self.world.operators().assigns(operator)).then_some((2, operator))
            }
        }
    }
}

/// One definition and what its position depends on.
struct ScriptItem {
    function: Arc<CheckedFunction>,
    /// Its source as it was read; `None` if that was not read again.
    item: Option<Item>,
    /// The operators that it was read with.
    read_with: Arc<Operators>,
    fixity: Option<Fixity>,
    /// The token that means this operator once it is defined.
    token: Option<(u8, Name)>,
    documentation: Option<String>,
    /// The program's operators that its source uses, by their functions.
    operators: FxHashSet<Name>,
    /// The built-in operators that its source uses: count of operands, and
    /// token.
    built_in: FxHashSet<(u8, Name)>,
    /// The names in its source that mean functions or constants, and would mean variables of
    /// these names.
    meanings: FxHashSet<Name>,
    /// The words such as `print` that it uses, and that are not functions of the program.
    words: FxHashSet<Name>,
}

impl ScriptItem {
    fn uses_variable(&self, name: Option<Name>) -> bool {
        name.is_some_and(|name| self.function.uses_variable(name))
    }
}

/// What the script says next.
#[derive(Clone, Copy)]
enum ScriptStep {
    /// The definition, by its index.
    Define(usize),
    /// The operator's fixity; its definition follows later.
    Introduce(usize),
    /// Only a comment: the definition uses an operator that no longer exists.
    LeaveOut(usize),
    /// The variable, by its index.
    Declare(usize),
}

/// The search for an order.
struct Order<'a> {
    parts: &'a [ScriptItem],
    index: FxHashMap<Name, usize>,
    /// For a built-in operator that a definition hides, the other definitions
    /// that use it.
    users: FxHashMap<(u8, Name), Vec<usize>>,
    /// For a definition, those that mean something else by its name, or call it with what
    /// it does not take: that is accepted only before it is defined.
    misfits: FxHashMap<usize, Vec<usize>>,
    variables: Vec<LaterVariable>,
    written: Vec<bool>,
    introduced: Vec<bool>,
}

/// A variable that is declared between definitions.
struct LaterVariable {
    /// The definitions that its declaration follows.
    after: Vec<usize>,
    /// Those that it precedes.
    before: Vec<usize>,
    is_declared: bool,
}

impl<'a> Order<'a> {
    fn new(parts: &'a [ScriptItem], variables: &[Name], names: &Names) -> Self {
        let index: FxHashMap<Name, usize> =
            parts.iter().enumerate().map(|(at, part)| (part.function.name, at)).collect();
        let mut users: FxHashMap<(u8, Name), Vec<usize>> =
            parts.iter().filter_map(|part| Some((part.token?, Vec::new()))).collect();
        let mut misfits: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for (at, part) in parts.iter().enumerate() {
            for token in part.built_in.iter().filter(|token| part.token != Some(**token)) {
                if let Some(users) = users.get_mut(token) {
                    users.push(at);
                }
            }
            let words = part.words.iter().filter_map(|word| index.get(word)).filter(|word| **word != at);
            words.for_each(|word| misfits.entry(*word).or_default().push(at));
            for callee in &part.function.callees {
                let called = names.text(callee.name);
                let pattern = instance_parts(&called).map(|(pattern, _)| names.get(pattern));
                let known = index.get(&pattern.flatten().unwrap_or(callee.name)).copied();
                let fits = |known: &CheckedFunction| match pattern {
                    Some(_) => known.is_pattern_of(&called),
                    None => known.fits(callee.arity),
                };
                if let Some(known) = known.filter(|known| *known != at && !fits(&parts[*known].function)) {
                    misfits.entry(known).or_default().push(at);
                }
            }
        }
        let none = vec![false; parts.len()];
        let parts_with = |has: &dyn Fn(&ScriptItem) -> bool| {
            (0..parts.len()).filter(|part| has(&parts[*part])).collect::<Vec<_>>()
        };
        let variables: Vec<LaterVariable> = variables
            .iter()
            .map(|variable| LaterVariable {
                after: parts_with(&|part| part.meanings.contains(variable)),
                before: parts_with(&|part| part.function.uses_variable(*variable)),
                is_declared: false,
            })
            .collect();
        Self { parts, index, users, misfits, variables, written: none.clone(), introduced: none }
    }

    fn steps(mut self, world: &World) -> Vec<ScriptStep> {
        let mut waiting = VecDeque::from(self.callees_first(world));
        let mut steps = Vec::new();
        loop {
            for (number, variable) in self.variables.iter_mut().enumerate() {
                if !variable.is_declared && variable.after.iter().all(|part| self.written[*part]) {
                    variable.is_declared = true;
                    steps.push(ScriptStep::Declare(number));
                }
            }
            let Some(&first) = waiting.front() else { return steps };
            let place = waiting.iter().position(|part| self.can_be_written(*part));
            if let Some(part) = place.and_then(|place| waiting.remove(place)) {
                self.written[part] = true;
                self.introduced[part] = true;
                steps.push(ScriptStep::Define(part));
            } else if let Some(&operator) = waiting.iter().find(|part| self.can_be_introduced(**part)) {
                self.introduced[operator] = true;
                steps.push(ScriptStep::Introduce(operator));
            } else {
                waiting.pop_front();
                self.written[first] = true;
                steps.push(ScriptStep::LeaveOut(first));
            }
        }
    }

    fn can_be_written(&self, part: usize) -> bool {
        let uses = &self.parts[part].operators;
        let has_operators =
            uses.iter().all(|name| self.index.get(name).is_some_and(|at| self.introduced[*at]));
        let misfits = self.misfits.get(&part);
        let is_too_early =
            |variable: &LaterVariable| !variable.is_declared && variable.before.contains(&part);
        has_operators
            && !self.variables.iter().any(is_too_early)
            && misfits.is_none_or(|callers| callers.iter().all(|caller| self.written[*caller]))
            && (self.introduced[part] || self.hides_nothing(part))
    }

    fn can_be_introduced(&self, part: usize) -> bool {
        self.parts[part].fixity.is_some() && !self.introduced[part] && self.hides_nothing(part)
    }

    /// Returns whether no definition still to be written needs the built-in
    /// operator that this one hides.
    fn hides_nothing(&self, part: usize) -> bool {
        let users = self.parts[part].token.and_then(|token| self.users.get(&token));
        users.is_none_or(|users| users.iter().all(|user| *user == part || self.written[*user]))
    }

    /// Returns all definitions, callees before callers except in a cycle.
    fn callees_first(&self, world: &World) -> Vec<usize> {
        let roots = self.parts.iter().map(|part| part.function.name);
        let order = world.callees_first(roots);
        order.iter().filter_map(|name| self.index.get(name).copied()).collect()
    }
}

/// The script so far, and the operators in force at its end.
struct ScriptWriter<'a> {
    names: &'a Names,
    operators: Operators,
    /// The operators that a definition was read with, and whether these agree with them.
    agreeing: Option<(Arc<Operators>, bool)>,
    script: String,
    left_out: Vec<String>,
}

impl ScriptWriter<'_> {
    fn define(&mut self, context: &Context, part: &ScriptItem) {
        let text = part.function.text();
        // To be printed, if it would be read in another way.
        let printed = if self.has_operators_of(part) {
            None
        } else {
            let item = part.item.clone().or_else(|| context.reread(&part.function));
            let again = context.only_definition(&Source::new("", text), &self.operators);
            item.filter(|item| again.is_none_or(|again| again.kind != item.kind))
        };
        self.separate();
        for line in part.documentation.iter().flat_map(|documentation| documentation.lines()) {
            self.script += &format!("## {line}\n");
        }
        match printed {
            None => self.script.push_str(text),
            Some(item) => self.script.push_str(&printer::source(&item, self.names, &self.operators)),
        }
        self.script.push_str(trailing_comment(&part.function.source, part.function.span));
        self.script.push('\n');
        self.enter(part);
    }

    fn declare(&mut self, declaration: &str) {
        self.separate();
        self.script += declaration;
    }

    /// Writes a provisional definition of an operator, for its fixity.
    fn introduce(&mut self, part: &ScriptItem) {
        self.separate();
        let head = match part.fixity {
            None => return,
            Some(Fixity::Unary { operator }) => format!("unary {} (x)", self.names.text(operator)),
            Some(Fixity::Binary { operator, precedence }) => {
                format!("binary {} {precedence} (x y)", self.names.text(operator))
            }
        };
        self.script += &format!("# Its definition follows.\ndef {head} 0\n");
        self.enter(part);
    }

    fn leave_out(&mut self, part: &ScriptItem) {
        let name = self.names.text(part.function.name);
        self.separate();
        self.script += &format!("# `{name}` is left out: it uses an operator that is not defined.\n");
        part.function.text().lines().for_each(|line| self.script += &format!("# {line}\n"));
        self.left_out.push(name.to_string());
    }

    /// Returns whether the operators in force are those that a definition was read with.
    fn has_operators_of(&mut self, part: &ScriptItem) -> bool {
        let known = self.agreeing.as_ref().filter(|(known, _)| Arc::ptr_eq(known, &part.read_with));
        if let Some((_, agree)) = known {
            return *agree;
        }
        let agree = self.operators.agree_with(&part.read_with);
        self.agreeing = Some((part.read_with.clone(), agree));
        agree
    }

    fn enter(&mut self, part: &ScriptItem) {
        if let Some(fixity) = part.fixity {
            self.agreeing = None;
            self.operators.define(fixity, part.function.name, &part.function.names);
        }
    }

    fn separate(&mut self) {
        if !self.script.is_empty() {
            self.script.push('\n');
        }
    }
}
