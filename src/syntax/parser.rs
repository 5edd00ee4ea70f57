//! From tokens to items.
//!
//! The grammar itself is in `grammar`, one chumsky parser per production of
//! `grammar/kaleidoscope.ebnf`. This file drives it item by item, because a
//! `def` may define an operator that the source after it uses: the caller that
//! accepts the definition adds it to the operator table before the next item is
//! read. After a mistake, reading resumes at the next item.

mod builder;
mod diagnosis;
mod failure;
mod grammar;
mod phrase;

use super::ast::{Item, ItemKind, Spanned};
use super::foreign::{self, ForeignSyntax};
use super::lexer::{self, LONGEST_SOURCE, Pieces};
use super::lint;
use super::operator::{Operators, UPDATES};
use super::token::{Terminal, Tokens};
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::distinct::Distinct;
use crate::name::{HeldNames, Name, Names};
use crate::source::{Source, Span};
use crate::stop::Poll;
pub use builder::ParseLimits;
use builder::{Builder, ItemShape, ParserState};
use failure::{Expected, SyntaxFailure};

/// What is wrong with one item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyntaxErrors {
    /// The mistakes in source order: any number of lexical errors, at most one
    /// syntax error.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether the only mistake is that the source ends inside the item, so
    /// that more input could complete it.
    pub at_end: bool,
}

/// Parses the items of a source one by one.
#[derive(Debug)]
pub struct Parser<'t> {
    tokens: &'t Tokens,
    names: &'t Names,
    limits: ParseLimits,
    position: usize,
    /// The first token of the item read last.
    begun: usize,
    runs_on: bool,
    /// Whether that item was refused.
    is_refused: bool,
    /// Braces that open before this token are known not to be closed.
    unclosed: usize,
    builder: Builder,
    /// For each word of the vocabulary, the item that had it last.
    vocabulary_seen: Vec<usize>,
    /// The words of one item.
    words: Vec<u32>,
    poll: Poll,
}

/// Why a source is not one item.
#[derive(Debug)]
pub enum NotOneItem {
    /// It has none.
    Nothing,
    /// It has mistakes.
    Invalid(Vec<Diagnostic>),
    /// It has a second one, at that place.
    Another(Span),
}

impl<'t> Parser<'t> {
    /// Creates a parser that begins at the first of `tokens`, whose names are
    /// from `names`.
    pub fn new(tokens: &'t Tokens, names: &'t Names, limits: ParseLimits) -> Self {
        let (builder, poll) = (Builder::default(), Poll::default());
        Self {
            tokens,
            names,
            limits,
            position: 0,
            begun: 0,
            runs_on: false,
            is_refused: false,
            unclosed: 0,
            builder,
            vocabulary_seen: Vec::new(),
            words: Vec::new(),
            poll,
        }
    }

    /// Makes the parser refuse items once `poll` says to stop.
    #[must_use]
    pub(crate) fn polled(self, poll: &Poll) -> Self {
        Self { poll: poll.clone(), ..self }
    }

    /// Parses the next item with the operators now in force; `None` at the end
    /// of the source.
    ///
    /// An accepted definition of an operator must be entered into the table
    /// before the next call, if the source after it is to use it. What is on the
    /// line of an item that was [refused](Self::refuse) belongs to that.
    pub fn next_item(&mut self, operators: &Operators) -> Option<Result<Item, SyntaxErrors>> {
        loop {
            let item = self.read_item(operators)?;
            if !(self.is_refused && (self.runs_on || self.is_rest_of_import())) {
                self.is_refused = false;
                return Some(item);
            }
            self.refuse();
        }
    }

    /// Parses all remaining items, entering the operators that they define into
    /// the table.
    fn each_item(
        &mut self,
        operators: &mut Operators,
        mut each: impl FnMut(&Self, Result<Item, SyntaxErrors>),
    ) {
        while let Some(item) = self.next_item(operators) {
            item.iter().for_each(|item| install(item, operators));
            each(self, item);
        }
    }

    /// Parses the only item of a source.
    ///
    /// # Errors
    /// If it has none, more than one, or mistakes.
    pub fn only_item(mut self, operators: &Operators) -> Result<Item, NotOneItem> {
        let mistakes = |errors: SyntaxErrors| NotOneItem::Invalid(errors.diagnostics);
        let item = self.next_item(operators).ok_or(NotOneItem::Nothing)?.map_err(mistakes)?;
        match self.next_item(operators).transpose().map_err(mistakes)? {
            None => Ok(item),
            Some(next) => Err(NotOneItem::Another(next.span)),
        }
    }

    /// Returns whether the item read last is the end of `from stats import mean`.
    fn is_rest_of_import(&self) -> bool {
        let Some(from) = self.begun.checked_sub(2) else { return false };
        self.tokens.terminals()[self.begun] == Terminal::Import
            && self.tokens.text(from) == "from"
            && self.are_on_one_line(from, self.begun)
    }

    fn read_item(&mut self, operators: &Operators) -> Option<Result<Item, SyntaxErrors>> {
        let start = self.item_start()?;
        self.begun = start;
        self.runs_on = self.continues_line(start);
        let outcome = self.run(start, operators);
        self.position = match outcome {
            // The item may go on in what was not read.
            Ok(end) if self.tokens.is_unread(end) => end + 1,
            Ok(end) => end.max(self.command_end().unwrap_or(0)),
            Err(failure) => self.after_mistake(start, failure),
        };
        let errors = self.errors(start, outcome.err());
        if !errors.diagnostics.is_empty() {
            return Some(Err(errors));
        }
        let kind = self.builder.finish()?;
        let span = self.tokens.span(start).to(self.tokens.span(self.position - 1));
        let names = self.names_read();
        Some(Ok(Item { kind, source: self.tokens.source().clone(), span, names }))
    }

    /// Returns the names in the item read last and in the token after it, each once,
    /// and the functions of its operators.
    fn names_read(&mut self) -> HeldNames {
        self.vocabulary_seen.resize(self.tokens.vocabulary.len(), 0);
        self.words.clear();
        let read = self.begun..self.tokens.len().min(self.position + 1);
        for word in self.tokens.words(read) {
            // An item is told by its first token. None begins before the first one.
            let seen = &mut self.vocabulary_seen[word as usize];
            if std::mem::replace(seen, self.begun + 1) != self.begun + 1 {
                self.words.push(word);
            }
        }
        let vocabulary = &self.tokens.vocabulary;
        self.words.retain(|word| !vocabulary[*word as usize].is_permanent());
        let words = self.words.iter().map(|word| &vocabulary[*word as usize]);
        words.chain(&self.builder.functions).cloned().collect()
    }

    /// Skips what else belongs to the item read last, which is refused, by the
    /// parser or the check: a comment or braces of another language. What was
    /// read as an operand of `}` and is on a later line does not belong to it.
    pub fn refuse(&mut self) {
        self.is_refused = true;
        let stop = self.position.max(self.foreign_end().unwrap_or(0));
        self.position = match self.closing_brace(self.begun, stop) {
            Some(closing) => {
                let next = (closing + 1..stop).find(|&at| !self.continues_line(at));
                next.unwrap_or(stop.max(closing + 1))
            }
            None => stop,
        };
    }

    /// Skips the lines after a refused item that are indented deeper, and a word such as `end`
    /// or `else` that follows them: in other languages they belong to it. For sources that are
    /// there as a whole.
    pub fn skip_block(&mut self) {
        let Some(margin) = self.indentation(self.begun) else { return };
        let line = self.line_end(self.begun);
        if (self.begun..line).any(|token| self.tokens.text(token) == "{") {
            return;
        }
        let is_definition = self.tokens.terminals()[self.begun] == Terminal::Def;
        let mut has_block = self.position > line;
        if self.position < self.tokens.len() && self.continues_line(self.position) {
            self.position = self.line_end(self.position);
        }
        loop {
            // What a `;` was to separate in the body of a definition belongs to it, too.
            let rest = self.tokens.terminals().get(self.position..).unwrap_or_default();
            let is_separator = |terminal: &&Terminal| is_definition && **terminal == Terminal::Semicolon;
            let next = self.position + rest.iter().take_while(is_separator).count();
            let Some(terminal) = self.tokens.terminals().get(next) else { return };
            let Some(indentation) = self.indentation(next) else { return };
            let is_inside = indentation > margin && !terminal.begins_item();
            let is_end = has_block
                && indentation == margin
                && (*terminal == Terminal::Else || foreign::ends_block(self.tokens.text(self.position)));
            if !is_inside && !is_end {
                return;
            }
            has_block = true;
            self.position = self.line_end(next);
        }
    }

    /// Returns how far a token is from the beginning of its line, if it is the first on it.
    fn indentation(&self, token: usize) -> Option<usize> {
        let start = self.tokens.span(token).start as usize;
        let after = token.checked_sub(1).map_or(0, |before| self.tokens.span(before).end as usize);
        let gap = &self.tokens.source().text()[after..start];
        match gap.rfind('\n') {
            Some(line) => Some(gap.len() - line - 1),
            None => (token == 0).then_some(gap.len()),
        }
    }

    /// Continues at the first token that does not begin before `offset`, if that
    /// is further on.
    pub fn skip_to(&mut self, offset: u32) {
        let rest = self.position..self.tokens.len();
        let before = rest.take_while(|token| self.tokens.span(*token).start < offset).count();
        self.is_refused &= before == 0;
        self.position += before;
    }

    /// Returns the operators whose meaning the reading of the last item depended
    /// on, each once: those in it and the one after it.
    pub fn operators(&self) -> Vec<Name> {
        let end = self.tokens.len().min(self.position + 1);
        let mut operators = Distinct::default();
        for token in (self.begun..end).filter(|token| self.tokens.terminals()[*token].is_operator()) {
            if operators.add(self.tokens.name(token)).1 {
                let text = self.tokens.text(token);
                if UPDATES.contains(&text) {
                    operators.add(self.names.intern(&text[..1]));
                }
            }
        }
        operators.into_values()
    }

    /// Returns whether the item read last ends the source with an `if` that has no `else`
    /// so far.
    fn may_go_on(&self) -> bool {
        self.position == self.tokens.len() && self.builder.open_choice == Some(self.position)
    }

    /// Returns the names that the item read last, which is refused, was to define or declare,
    /// here or in another language: `def f(x) …`, `x = 3`, `let x = 3`, `f(x) = …`. That these
    /// are unknown afterwards is no other mistake.
    pub fn intended(&self) -> Vec<Spanned> {
        let rest = self.begun + 1..self.tokens.len();
        let line = rest.take_while(|at| self.continues_line(*at)).count() + self.begun + 1;
        let terminals = &self.tokens.terminals()[self.begun..line.max(self.position).min(self.tokens.len())];
        let name = |at: usize| {
            let token = self.begun + at;
            Spanned { name: self.tokens.name(token), span: self.tokens.span(token) }
        };
        let names = |terminals: &[Terminal]| {
            let is_name = |at: &usize| terminals[*at] == Terminal::Identifier;
            (0..terminals.len()).filter(is_name).map(name).collect()
        };
        match terminals {
            [Terminal::Def, Terminal::Identifier, ..] => vec![name(1)],
            [Terminal::Var, ..] => names(terminals),
            [Terminal::Identifier, Terminal::Identifier, ..]
                if foreign::begins_construct(self.tokens.text(self.begun)) =>
            {
                let is_word = |at: &usize| {
                    let is_name = terminals.get(*at) == Some(&Terminal::Identifier);
                    is_name && foreign::begins_construct(self.tokens.text(self.begun + at))
                };
                let words = (0..terminals.len()).take_while(is_word).count();
                match terminals[words..] {
                    // `function y = f(x)` defines `f`.
                    [Terminal::Identifier, Terminal::Equals, Terminal::Identifier, ..] => {
                        vec![name(words), name(words + 2)]
                    }
                    [Terminal::Identifier, ..] => vec![name(words)],
                    _ => Vec::new(),
                }
            }
            [Terminal::Identifier, ..] if self.is_arrow(self.begun + 1) => vec![name(0)],
            [Terminal::Identifier, ..] => {
                let equals = |at: usize| terminals.get(at) == Some(&Terminal::Equals);
                let end = (0..terminals.len()).find(|at| equals(*at)).unwrap_or(0);
                let head = &terminals[..end];
                let is_list = head.contains(&Terminal::Comma) && !head.contains(&Terminal::LeftParenthesis);
                let is_assigned = |at: &usize| {
                    let is_target = *at == 0 || equals(at + 1) || is_list && *at < end;
                    is_target && end > 0 && terminals[*at] == Terminal::Identifier
                };
                (0..terminals.len()).filter(is_assigned).map(name).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns whether `<-` is at a token: an assignment in other languages.
    fn is_arrow(&self, token: usize) -> bool {
        let here = self.tokens.spans.get(token..token + 2);
        here.is_some_and(|signs| self.tokens.source().slice(signs[0].to(signs[1])) == "<-")
    }

    /// Returns whether the item read last begins on the line on which the one
    /// before it ended, with nothing between them.
    pub fn runs_on(&self) -> bool {
        self.runs_on
    }

    /// Returns whether `token` is on the line of the token before it, and
    /// neither is a `;` nor begins an item.
    fn continues_line(&self, token: usize) -> bool {
        let Some(before) = token.checked_sub(1) else { return false };
        let terminals = self.tokens.terminals();
        let gap = self.tokens.span(before).end as usize..self.tokens.span(token).start as usize;
        terminals[before] != Terminal::Semicolon
            && terminals[token] != Terminal::Semicolon
            && !terminals[token].begins_item()
            && !self.tokens.source().text()[gap].contains('\n')
    }

    /// Returns the index of the next token that is not a `;`.
    fn item_start(&self) -> Option<usize> {
        let rest = &self.tokens.terminals()[self.position..];
        let separators = rest.iter().take_while(|terminal| **terminal == Terminal::Semicolon).count();
        (separators + self.tokens.lookahead < rest.len()).then_some(self.position + separators)
    }

    /// Runs the grammar on the item at token `start`; returns the token after
    /// it.
    fn run(&mut self, start: usize, operators: &Operators) -> Result<usize, SyntaxFailure> {
        self.builder.clear();
        let mut state = ParserState {
            tokens: self.tokens,
            names: self.names,
            operators,
            limits: self.limits,
            start,
            end: None,
            failure: SyntaxFailure::default(),
            builder: &mut self.builder,
            poll: &self.poll,
        };
        let rest = &self.tokens.terminals()[start..];
        grammar::program().run(rest, &mut state)
    }

    /// Returns where to resume after a mistake in the item that began at `start`.
    fn after_mistake(&mut self, start: usize, failure: SyntaxFailure) -> usize {
        let at = failure.at;
        let stop = self.after_foreign(start).or_else(|| self.after_loop_head(at));
        let stop = stop.or_else(|| failure.is_keyword_for_name(self.tokens).then(|| self.line_end(at)));
        let stop = stop.or_else(|| self.after_inner_item(at)).or_else(|| self.after_list(start));
        let stop = stop.or_else(|| self.after_loop(start, failure));
        let stop = stop.or_else(|| self.after_parentheses(start, at));
        let stop = stop.unwrap_or_else(|| self.recover(start, at));
        self.closing_brace(start, stop).map_or(stop, |closing| stop.max(closing + 1))
    }

    /// Returns the token after the parentheses of `for (…)`, if they open at `at`.
    fn after_loop_head(&self, at: usize) -> Option<usize> {
        let head = self.tokens.terminals().get(at.checked_sub(1)?..=at)?;
        /// Longer heads are not looked for.
        const LONGEST_HEAD: usize = 256;
        let opens = head == [Terminal::For, Terminal::LeftParenthesis];
        opens
            .then(|| self.tokens.closing(at, ("(", ")"), LONGEST_HEAD).ok())
            .flatten()
            .map(|closing| closing + 1)
    }

    /// Returns the token after the line of an item inside parentheses: `(do 3)`.
    fn after_inner_item(&self, at: usize) -> Option<usize> {
        diagnosis::is_inner_item(self.tokens, at, &self.builder).then(|| self.line_end(at))
    }

    /// Returns the token after a definition of Lisp: `(defun f (x) x)`.
    fn after_list(&self, start: usize) -> Option<usize> {
        /// Longer ones are not looked for.
        const LONGEST: usize = 4096;
        diagnosis::list_head(self.tokens, start)?;
        self.tokens.closing(start, ("(", ")"), LONGEST).ok().map(|closing| closing + 1)
    }

    /// Returns the token after the line of a loop of another language: `for i = 1 to 10 do …`.
    fn after_loop(&self, start: usize, failure: SyntaxFailure) -> Option<usize> {
        let terminals = self.tokens.terminals();
        let is_loop = matches!(terminals[start], Terminal::For | Terminal::While);
        let is_head = is_loop
            && (failure.expected.contains(Expected::terminal(Terminal::In))
                || failure.expected.contains(Expected::terminal(Terminal::Comma)));
        is_head.then(|| self.line_end(failure.at))
    }

    /// Returns the token after the item in whose parentheses a `;` stands at token `at`.
    fn after_parentheses(&self, start: usize, at: usize) -> Option<usize> {
        let closing = diagnosis::parentheses_around(self.tokens, at, &self.builder)?;
        Some(self.recover(start, closing + 1))
    }

    fn are_on_one_line(&self, one: usize, other: usize) -> bool {
        let between = self.tokens.span(one).end as usize..self.tokens.span(other).start as usize;
        !self.tokens.source().text()[between].contains('\n')
    }

    /// Returns the first token after the line of token `at`.
    fn line_end(&self, at: usize) -> usize {
        let text = self.tokens.source().text();
        let Some(here) = (at < self.tokens.len()).then(|| self.tokens.span(at).start as usize) else {
            return at;
        };
        let line = here + text[here..].find('\n').unwrap_or(text.len() - here);
        self.tokens.spans.partition_point(|span| (span.start as usize) < line)
    }

    /// Returns the token that closes the braces which open before `stop` in the
    /// item that began at `start`: their contents belong to the mistake.
    fn closing_brace(&mut self, start: usize, stop: usize) -> Option<usize> {
        let is_brace = |at: &usize| self.tokens.text(*at) == "{";
        let first = (start.max(self.unclosed)..stop).find(is_brace)?;
        let closing = self.tokens.closing(first, ("{", "}"), usize::MAX);
        self.unclosed = closing.err().unwrap_or(self.unclosed);
        closing.ok()
    }

    /// Returns where to resume after a mistake at token `at` of the item that
    /// began at `start`, if nothing else is known of it: after the next `;`,
    /// before a keyword that begins an item, or before an operand that begins a
    /// line.
    fn recover(&self, start: usize, at: usize) -> usize {
        let from = at.max(start + 1);
        let terminals = self.tokens.terminals();
        let found = terminals.iter().skip(from).zip(from..).position(|(terminal, at)| {
            *terminal == Terminal::Semicolon || terminal.begins_item() || self.begins_line(at)
        });
        found.map_or(terminals.len(), |distance| {
            let stop = from + distance;
            if terminals[stop] == Terminal::Semicolon { stop + 1 } else { stop }
        })
    }

    /// Returns whether a token is an operand at the very start of a line.
    fn begins_line(&self, at: usize) -> bool {
        let is_operand = matches!(
            self.tokens.terminals()[at],
            Terminal::Number
                | Terminal::Identifier
                | Terminal::If
                | Terminal::For
                | Terminal::While
                | Terminal::Var
        );
        let start = self.tokens.span(at).start as usize;
        is_operand && self.tokens.source().text()[..start].ends_with('\n')
    }

    /// Returns all mistakes of the item from token `start` to the position.
    fn errors(&mut self, start: usize, failure: Option<SyntaxFailure>) -> SyntaxErrors {
        /// The most lexical mistakes reported for one item.
        const MOST_LEXICAL: usize = 100;
        let mut diagnostics = std::mem::take(&mut self.builder.diagnostics);
        diagnostics.extend(self.tokens.diagnostics(start..self.position).take(MOST_LEXICAL));
        self.join_brackets(&mut diagnostics);
        let mut at_end = false;
        // A text that is not closed has swallowed what follows.
        let is_swallowed = diagnostics.iter().any(|lexical| lexical.code == ErrorCode::MalformedText);
        let failure = failure.filter(|_| !is_swallowed);
        self.explain_assignments(&mut diagnostics, failure.is_some());
        let code = if failure.is_some() { ErrorCode::UnexpectedToken } else { ErrorCode::UnknownOperator };
        if let Some(failure) = failure {
            let has_meaning = self.builder.unknown_operator.is_none();
            at_end = diagnostics.is_empty() && has_meaning && failure.is_at_end(self.tokens);
            if !has_meaning || self.tokens.terminals().get(failure.at) != Some(&Terminal::Unknown) {
                let mut refused = failure.diagnostic(self.tokens, start, &self.builder, self.limits);
                if refused.help.as_deref() == Some(diagnosis::LOOP) {
                    diagnostics.retain(|lexical| is_before(lexical, &refused));
                }
                let same = |lexical: &Diagnostic| lexical.labels[0].span == refused.labels[0].span;
                if let Some(same) = diagnostics.iter().position(same) {
                    refused.help = diagnostics.remove(same).help;
                }
                diagnostics.push(refused);
            }
        }
        if let Some(foreign) = self.foreign().filter(|_| !diagnostics.is_empty()) {
            let found = foreign.diagnostic(code, self.tokens.source());
            diagnostics.retain(|other| is_before(other, &found));
            diagnostics.push(found);
        }
        diagnostics.sort_by_key(|diagnostic| diagnostic.labels[0].span.start);
        SyntaxErrors { diagnostics, at_end }
    }

    /// Removes what is said of the second bracket of `⌊x⌋`.
    fn join_brackets(&self, diagnostics: &mut Vec<Diagnostic>) {
        let is_of = |found: &Diagnostic, brackets: [char; 2]| {
            let text = self.tokens.source().slice(found.labels[0].span);
            found.code == ErrorCode::UnknownCharacter && text.starts_with(brackets)
        };
        if diagnostics.iter().any(|found| is_of(found, ['⌊', '⌈'])) {
            diagnostics.retain(|found| !is_of(found, ['⌋', '⌉']));
        }
    }

    /// Reports the operator with which a body begins in place of an `=` after it, in `def f(x):
    /// y = x + 1`.
    fn explain_assignments(&self, diagnostics: &mut Vec<Diagnostic>, is_refused: bool) {
        let Some((token, operands)) = self.builder.unknown_operator else { return };
        let is_definition = matches!(self.builder.shape, ItemShape::Definition);
        if is_refused || !is_definition {
            return;
        }
        let before = diagnostics.len();
        diagnostics.retain(|found| found.code != ErrorCode::BadAssignment);
        if diagnostics.len() < before {
            let (source, place) = (self.tokens.source(), self.tokens.span(token));
            diagnostics.push(foreign::unknown_operator(source, place, operands).0);
        }
    }

    /// Returns the construct of another language in the item read last.
    fn foreign(&self) -> Option<ForeignSyntax> {
        let (token, _) = self.builder.unknown_operator?;
        ForeignSyntax::recognise(self.tokens.source(), self.tokens.span(token))
    }

    /// Returns the token after a command of the prompt, which ends with its line.
    fn command_end(&self) -> Option<usize> {
        let (token, _) = self.builder.unknown_operator?;
        let is_command = foreign::begins_command(self.tokens.source(), self.tokens.span(token));
        is_command.then(|| self.foreign_end()).flatten()
    }

    /// Returns the token after such a construct.
    fn foreign_end(&self) -> Option<usize> {
        let end = self.foreign()?.span.end;
        Some(self.tokens.spans.partition_point(|span| span.start < end))
    }

    /// Returns where to resume after such a construct: after the next `;`,
    /// before a keyword that begins an item, or on a later line.
    fn after_foreign(&self, start: usize) -> Option<usize> {
        let terminals = self.tokens.terminals();
        let from = self.foreign_end()?.max(start + 1);
        let stop = (from..terminals.len()).find(|&at| !self.continues_line(at)).unwrap_or(terminals.len());
        Some(if terminals.get(stop) == Some(&Terminal::Semicolon) { stop + 1 } else { stop })
    }
}

/// Returns whether one mistake is at an earlier place than another.
fn is_before(one: &Diagnostic, other: &Diagnostic) -> bool {
    one.labels[0].span.start < other.labels[0].span.start
}

/// Parses a whole source, adding the operators it defines to `operators`.
pub fn parse_all(source: &Source, names: &Names, operators: &mut Operators) -> (Vec<Item>, Vec<Diagnostic>) {
    let (mut items, mut diagnostics) = (Vec::new(), Vec::new());
    let pieces = match Pieces::new(source, names, LONGEST_SOURCE) {
        Ok(pieces) => pieces,
        Err(diagnostic) => return (items, vec![diagnostic]),
    };
    for tokens in pieces {
        let mut parser = Parser::new(&tokens, names, ParseLimits::default());
        parser.each_item(operators, |_, item| match item {
            Ok(item) => items.push(item),
            Err(errors) => diagnostics.extend(errors.diagnostics),
        });
    }
    (items, diagnostics)
}

/// Returns the lints of a whole source that is read with `operators`; none if
/// it has syntax errors.
pub fn lints(source: &Source, names: &Names, mut operators: Operators) -> Vec<Diagnostic> {
    let Ok(tokens) = lexer::lex(source, names) else { return Vec::new() };
    let mut parser = Parser::new(&tokens, names, ParseLimits::default());
    let mut found = Some(Vec::new());
    parser.each_item(&mut operators, |parser, item| match (item, &mut found) {
        (Ok(item), Some(found)) => found.extend(lint::lints(&item, parser.runs_on(), names)),
        (Ok(_), None) => {}
        (Err(_), _) => found = None,
    });
    found.unwrap_or_default()
}

/// Adds the operator that `item` defines, if it defines one.
fn install(item: &Item, operators: &mut Operators) {
    if let ItemKind::Definition(prototype, _) = &item.kind
        && let Some(fixity) = prototype.fixity
    {
        operators.define(fixity, prototype.name.name, &item.names);
    }
}

/// Returns whether the source ends inside an item that more input could
/// complete: a prompt then asks for another line. An operator after an operand
/// can only be completed if it is defined as a binary one; `5!` is two items,
/// and the second is not waited for.
pub fn is_incomplete(source: &Source, names: &Names, operators: &Operators) -> bool {
    let Ok(tokens) = lexer::lex(source, names) else { return false };
    let mut operators = operators.clone();
    let mut parser = Parser::new(&tokens, names, ParseLimits::default());
    let mut incomplete = false;
    parser.each_item(&mut operators, |parser, item| {
        incomplete = match item {
            Ok(item) => parser.may_go_on() && source.slice(item.span).contains('\n'),
            Err(errors) => errors.at_end && !is_afterthought(&tokens, parser.begun),
        };
    });
    incomplete
}

/// Returns the length in bytes of all items of a text but the last: whatever is
/// appended to the text, they do not change. Blanks and comments between items
/// belong to the next.
pub fn complete_items(source: &Source, names: &Names, operators: &Operators, limits: ParseLimits) -> usize {
    let Ok(tokens) = lexer::lex(source, names) else { return source.text().len() };
    let mut operators = operators.clone();
    let mut parser = Parser::new(&tokens, names, limits);
    let mut complete = 0;
    parser.each_item(&mut operators, |parser, _| {
        if parser.position < tokens.len() {
            complete = tokens.span(parser.position - 1).end as usize;
        }
    });
    complete
}

/// Returns whether all tokens from `start` on are operators, on the line of the
/// item before them.
fn is_afterthought(tokens: &Tokens, start: usize) -> bool {
    let terminals = tokens.terminals();
    let Some(before) = start.checked_sub(1).filter(|before| terminals[*before] != Terminal::Semicolon) else {
        return false;
    };
    let between = tokens.span(before).end as usize..tokens.span(start).start as usize;
    terminals[start..].iter().all(|terminal| terminal.is_operator())
        && !tokens.source().text()[between].contains('\n')
}

#[cfg(test)]
mod tests;
