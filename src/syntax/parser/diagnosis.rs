//! The one diagnostic that is made of a [`SyntaxFailure`].

use super::builder::{Builder, ParseLimits};
use super::failure::{Expected, GivenUp, SyntaxFailure};
use crate::diagnostic::suggest::nearest;
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::syntax::ast::Node;
use crate::syntax::foreign;
use crate::syntax::token::{Terminal, Tokens, shortened};

/// Where functions of a function are defined.
const NESTED: &str = "a definition holds no other ones: define that function before this one";

/// The form of a loop.
pub(super) const LOOP: &str = "write `for i = 1, i < 10 in …`";

impl SyntaxFailure {
    pub(super) fn is_at_end(self, tokens: &Tokens) -> bool {
        self.at >= tokens.len() && self.given_up.is_none()
    }

    /// Returns the diagnostic for the item that began at token `start`.
    pub(super) fn diagnostic(
        self,
        tokens: &Tokens,
        start: usize,
        builder: &Builder,
        limits: ParseLimits,
    ) -> Diagnostic {
        if let Some((token, operands)) = builder.unknown_operator {
            let (diagnostic, _) = foreign::unknown_operator(tokens.source(), tokens.span(token), operands);
            return Diagnostic { code: ErrorCode::UnexpectedToken, ..diagnostic };
        }
        let (source, place) = (tokens.source(), tokens.span(self.at));
        match self.given_up {
            None => {}
            Some(GivenUp::Stopped(request)) => return request.while_reading(source, place),
            Some(GivenUp::TooDeep) => {
                let levels = if limits.max_nesting == 1 { "level" } else { "levels" };
                let message = format!("nested deeper than {} {levels}", limits.max_nesting);
                return Diagnostic::error(ErrorCode::TooDeep, source, place, message)
                    .with_note("one level too many")
                    .with_help("name parts of it with `var … in`, or move them into functions");
            }
        }
        if self.is_keyword_for_name(tokens) {
            let message = self.message(tokens, start);
            let help = match source.slice(place) {
                "var" => "one `var` declares several: `var x = 1, y = 2`".to_owned(),
                "in" if self.previous(start).is_some_and(|before| tokens.text(before) == ",") => {
                    "there is no comma after the last variable: `var x = 1, y = 2 in …`".to_owned()
                }
                keyword => format!("`{keyword}` is a keyword, and cannot be a name"),
            };
            return Diagnostic::error(ErrorCode::UnexpectedToken, source, place, message)
                .with_note("a keyword")
                .with_help(help);
        }
        if is_inner_item(tokens, self.at, builder) {
            return inner_item(tokens, self.at, self.message(tokens, start));
        }
        if let Some(found) = list_head(tokens, start) {
            return found;
        }
        if tokens.terminals().get(self.at) == Some(&Terminal::Text) {
            let is_behind_argument = self.expected.contains(Expected::terminal(Terminal::Comma));
            return misplaced_text(tokens, self.at, is_behind_argument);
        }
        if let Some(word) = self.foreign_word(tokens, start) {
            return word;
        }
        let message = self.message(tokens, start);
        let open = builder.open_parentheses.last().map(|&token| tokens.span(token as usize));
        let closed = parentheses_around(tokens, self.at, builder)
            .map(|_| "a comma separates arguments, and `a : b` evaluates both: `;` ends an item".to_owned());
        let diagnostic = match open {
            Some(open) if self.is_unclosed(tokens) && closed.is_none() => {
                Diagnostic::error(ErrorCode::UnclosedParenthesis, source, open, "this `(` is never closed")
                    .with_note("no `)` closes it")
                    .with_label(source, place, message)
            }
            _ => {
                let code = if self.is_at_end(tokens) {
                    ErrorCode::UnexpectedEnd
                } else {
                    ErrorCode::UnexpectedToken
                };
                let diagnostic = match self.lacking(tokens, start) {
                    Some(token) => Diagnostic::error(code, source, tokens.span(token), message).with_note(
                        match self.follows_head(tokens, start) {
                            true => "the body must follow, an expression",
                            false => "an expression must follow",
                        },
                    ),
                    None => Diagnostic::error(code, source, place, message).with_note(self.role(tokens)),
                };
                match open {
                    Some(open) => diagnostic.with_label(source, open, "inside this parenthesis"),
                    None => diagnostic,
                }
            }
        };
        let intended = self.intended(tokens, start).map(|keyword| format!("did you mean `{keyword}`?"));
        let nested = || self.is_nested(tokens, start).then(|| NESTED.to_owned());
        let hyphenated = self.hyphenated(tokens);
        match hyphenated.or(intended).or(closed).or_else(nested).or_else(|| self.cure(tokens, builder)) {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        }
    }

    fn message(self, tokens: &Tokens, start: usize) -> String {
        let found = found(tokens, self.at);
        match self.previous(start) {
            Some(previous) if self.expected == Expected::EXPRESSION => {
                format!("expected an expression after `{}`, found {found}", shortened(tokens.text(previous)))
            }
            _ if self.is_stray_parenthesis(tokens) => "this `)` closes nothing".to_owned(),
            _ => format!("expected {}, found {found}", self.expected.words()),
        }
    }

    /// Returns the help for a name with hyphens: `def my-function(x)`, `var my-var = 3`.
    fn hyphenated(self, tokens: &Tokens) -> Option<String> {
        if self.expected.contains(Expected::EXPRESSION) || self.at >= tokens.len() {
            return None;
        }
        let is_hyphen = tokens.text(self.at) == "-";
        let is_name_wanted = self.expected.contains(Expected::terminal(Terminal::Identifier));
        let next = (self.at + 1 < tokens.len()).then(|| tokens.span(self.at + 1).end);
        let end = if is_hyphen { next? } else { tokens.span(self.at).start };
        (is_hyphen || is_name_wanted)
            .then(|| foreign::hyphenated(tokens.source().text(), end as usize))
            .flatten()
    }

    /// Returns whether the body of a definition begins with another one, on a line that is
    /// indented.
    fn is_nested(self, tokens: &Tokens, start: usize) -> bool {
        let is_inner = tokens.terminals().get(self.at) == Some(&Terminal::Def);
        let is_indented = || {
            let before = &tokens.source().text()[..tokens.span(self.at).start as usize];
            before.ends_with([' ', '\t']) && before.trim_end_matches([' ', '\t']).ends_with('\n')
        };
        is_inner && self.follows_head(tokens, start) && is_indented()
    }

    /// Returns whether the body of a definition begins here.
    fn follows_head(self, tokens: &Tokens, start: usize) -> bool {
        let terminals = tokens.terminals();
        let before = self.previous(start).map(|before| terminals[before]);
        terminals.get(start) == Some(&Terminal::Def) && before == Some(Terminal::RightParenthesis)
    }

    /// Returns the diagnostic for a word of other languages here, or before.
    fn foreign_word(self, tokens: &Tokens, start: usize) -> Option<Diagnostic> {
        let word = |token: usize| {
            (tokens.terminals().get(token) == Some(&Terminal::Identifier)).then(|| tokens.span(token))
        };
        let ends = [Terminal::RightParenthesis, Terminal::Then, Terminal::Else, Terminal::In];
        let is_in_expression = ends.into_iter().any(|end| self.expected.contains(Expected::terminal(end)));
        let is_call = tokens.terminals().get(self.at) == Some(&Terminal::LeftParenthesis);
        let before = self.previous(start).and_then(word).filter(|_| !is_call);
        if !is_in_expression || self.is_in_head(tokens, start) {
            return None;
        }
        foreign::misplaced(tokens.source(), word(self.at), before)
    }

    /// Returns whether the refused token is in the head of a definition.
    fn is_in_head(self, tokens: &Tokens, start: usize) -> bool {
        let item = &tokens.terminals()[start..self.at.min(tokens.len())];
        matches!(item.first(), Some(Terminal::Def | Terminal::Extern))
            && !item.contains(&Terminal::RightParenthesis)
    }

    /// Returns whether the refused token is a keyword where something is to get its name, and
    /// not what begins the next item.
    pub(super) fn is_keyword_for_name(self, tokens: &Tokens) -> bool {
        let Some(before) = self.at.checked_sub(1) else { return false };
        let Some(&here) = tokens.terminals().get(self.at) else { return false };
        let gap = tokens.span(before).end as usize..tokens.span(self.at).start as usize;
        let is_named = || match tokens.terminals().get(self.at + 1) {
            Some(Terminal::Equals | Terminal::Comma | Terminal::RightParenthesis) => true,
            Some(Terminal::LeftParenthesis) => tokens.terminals()[before] == Terminal::Def,
            _ => false,
        };
        here.is_keyword()
            && self.expected.contains(Expected::terminal(Terminal::Identifier))
            && !self.expected.contains(Expected::EXPRESSION)
            && !tokens.source().text()[gap].contains('\n')
            && (!here.begins_item() || is_named())
    }

    /// Returns a description of the refused token for the message.
    fn role(self, tokens: &Tokens) -> String {
        if self.is_stray_parenthesis(tokens) {
            return "no `(` is open".to_owned();
        }
        format!("expected {}", self.expected.words())
    }

    fn is_stray_parenthesis(self, tokens: &Tokens) -> bool {
        self.expected == Expected::ITEM
            && tokens.terminals().get(self.at) == Some(&Terminal::RightParenthesis)
    }

    /// Returns the token before the refused one, in the item that began at
    /// `start`.
    fn previous(self, start: usize) -> Option<usize> {
        self.at.checked_sub(1).filter(|previous| *previous >= start)
    }

    /// Returns the token after which an expression is missing, if the refused
    /// one is on a later line and unrelated.
    fn lacking(self, tokens: &Tokens, start: usize) -> Option<usize> {
        let previous = self.previous(start).filter(|_| self.expected == Expected::EXPRESSION)?;
        let between = tokens.span(previous).end as usize..tokens.span(self.at).start as usize;
        let is_apart = self.at >= tokens.len() || tokens.source().text()[between].contains('\n');
        is_apart.then_some(previous)
    }

    /// Returns whether a line between the last `if` and here ends with a `:`.
    fn has_colon_for_then(self, tokens: &Tokens) -> bool {
        let text = tokens.source().text();
        let ends_line = |token: usize| text[tokens.span(token).end as usize..].starts_with(['\n', '\r']);
        let condition = (0..self.at).rev().take_while(|token| tokens.terminals()[*token] != Terminal::If);
        condition.into_iter().any(|token| tokens.text(token) == ":" && ends_line(token))
    }

    /// Returns the form of the construct that was probably meant.
    fn cure(self, tokens: &Tokens, builder: &Builder) -> Option<String> {
        let before = |distance| {
            let token = self.at.checked_sub(distance)?;
            tokens.terminals().get(token).copied()
        };
        let expects = |terminal| self.expected.contains(Expected::terminal(terminal));
        if expects(Terminal::Then) && self.has_colon_for_then(tokens) {
            return Some("`then` ends the condition, not `:`: write `if a then b else c`".into());
        }
        if expects(Terminal::Then) || expects(Terminal::Else) {
            return Some("write `if a then b else c`".into());
        }
        let in_head_of_for = match builder.ast.nodes.last() {
            Some(Node::ForCondition) => false,
            Some(Node::ForStep) if expects(Terminal::In) => true,
            _ => {
                before(1) == Some(Terminal::For)
                    || before(2) == Some(Terminal::For) && expects(Terminal::Equals)
                    || self.expected == Expected::terminal(Terminal::Comma)
            }
        };
        if in_head_of_for {
            return Some(LOOP.into());
        }
        if expects(Terminal::In) && builder.innermost(tokens) == Some(Terminal::While) {
            return Some("write `while x < 10 in …`".into());
        }
        if expects(Terminal::In) {
            return Some("inside an expression write `var y = 2 in …`".into());
        }
        let here = tokens.terminals().get(self.at).copied();
        if here == Some(Terminal::For) && expects(Terminal::RightParenthesis) {
            return Some(
                "a loop stands before its body, and its value is 0: `for i = 1, i < 10 in sum += i`".into(),
            );
        }
        if before(1) == Some(Terminal::Operator)
            && before(2) == Some(Terminal::Operator)
            && tokens.text(self.at - 1) == "-"
            && self.ends_decrement(tokens)
        {
            let variable =
                if before(3) == Some(Terminal::Identifier) { tokens.text(self.at - 3) } else { "x" };
            return Some(format!("write `{variable} -= 1`"));
        }
        if before(1) == Some(Terminal::Operator)
            && matches!(here, Some(Terminal::Comma | Terminal::RightParenthesis))
            && matches!(before(2), Some(Terminal::Comma | Terminal::LeftParenthesis))
        {
            return Some(foreign::given_operator(tokens.text(self.at - 1)));
        }
        if here == Some(Terminal::Comma) && expects(Terminal::Identifier) {
            return Some("parameters are names: `def f(x y) x + y`".into());
        }
        if here == Some(Terminal::Comma)
            && before(1) == Some(Terminal::LeftParenthesis)
            && before(2) == Some(Terminal::Identifier)
        {
            let called = tokens.text(self.at - 2);
            return Some(match tokens.terminals().get(self.at + 1) {
                Some(Terminal::RightParenthesis) => format!("a call without arguments is `{called}()`"),
                _ => format!("a comma is between two arguments: `{called}(x, y)`"),
            });
        }
        let open = builder.open_parentheses.last().and_then(|open| (*open as usize).checked_sub(1));
        let is_after_if = || open.is_some_and(|before| tokens.terminals()[before] == Terminal::If);
        if here == Some(Terminal::Comma) && expects(Terminal::RightParenthesis) && is_after_if() {
            return Some("write `if a then b else c`".into());
        }
        if here == Some(Terminal::Comma) && expects(Terminal::RightParenthesis) {
            return Some(foreign::advice_on_list(tokens.source(), tokens.span(self.at)).into());
        }
        if self.separates_parts(tokens) {
            return Some("a comma separates what is printed: `print(\"x = \", x)`".into());
        }
        if before(1) == Some(Terminal::Operator)
            && tokens.text(self.at - 1) == "!"
            && self.follows_operand(tokens)
        {
            return Some(foreign::FACTORIAL.into());
        }
        if before(1) == Some(Terminal::Operator)
            && tokens.text(self.at - 1) == "%"
            && self.follows_operand(tokens)
        {
            return Some(foreign::PERCENTAGE.into());
        }
        let name = (before(1) == Some(Terminal::Identifier)).then(|| tokens.text(self.at - 1));
        if expects(Terminal::LeftParenthesis) {
            match (before(1), here) {
                (Some(Terminal::Identifier), Some(Terminal::Identifier))
                    if name.is_some_and(foreign::is_type) =>
                {
                    return Some(foreign::NO_TYPES.into());
                }
                (Some(Terminal::Identifier), _) => {
                    return Some("parameters go in parentheses, as in `def f(x y) x + y`".into());
                }
                (Some(Terminal::Operator), Some(Terminal::Operator | Terminal::Equals)) => {
                    return Some("an operator is one character, such as `~`".into());
                }
                (Some(Terminal::Operator), Some(Terminal::Number)) => {
                    return Some("only an operator between two operands has a precedence".into());
                }
                _ => {}
            }
        }
        if here == Some(Terminal::Else) && self.expected == Expected::ITEM {
            return Some(self.cure_of_else(tokens).into());
        }
        if here == Some(Terminal::Comma) && before(2) == Some(Terminal::Import) {
            return Some("each module has an `import` of its own".into());
        }
        if here == Some(Terminal::Equals)
            && expects(Terminal::Identifier)
            && expects(Terminal::RightParenthesis)
        {
            return Some("a parameter has no value of its own: every call gives one".into());
        }
        if here == Some(Terminal::Number) && self.expected == Expected::terminal(Terminal::Identifier) {
            return Some("each variable has its own value: `var x = 1, y = 2`".into());
        }
        if expects(Terminal::Identifier) && here.is_some() && tokens.text(self.at) == ":" {
            return Some(foreign::NO_TYPES.into());
        }
        let digits = foreign::grouped_digits(tokens.source(), tokens.span(self.at));
        digits.filter(|_| self.expected == Expected::ITEM).map(|number| format!("write `{number}`"))
    }

    /// Returns what separates an `else` from its `if`.
    fn cure_of_else(self, tokens: &Tokens) -> &'static str {
        let before = tokens.terminals()[..self.at].iter().rev();
        let mut of_if = before.take_while(|terminal| **terminal != Terminal::If);
        if of_if.any(|terminal| *terminal == Terminal::Semicolon) {
            "it belongs to an `if` before it, with no `;` between them"
        } else {
            "each branch is one expression: `if a then (b : c) else d`"
        }
    }

    /// Returns whether a comma is missing after a text.
    fn separates_parts(self, tokens: &Tokens) -> bool {
        let before = self.at.checked_sub(1).and_then(|before| tokens.terminals().get(before));
        self.at < tokens.len()
            && before == Some(&Terminal::Text)
            && self.expected.contains(Expected::terminal(Terminal::Comma))
    }

    /// Returns whether `x--` precedes the refused token.
    fn ends_decrement(self, tokens: &Tokens) -> bool {
        let Some(first) = self.at.checked_sub(3) else { return false };
        let (name, signs) = (tokens.span(first), tokens.span(first + 1).to(tokens.span(first + 2)));
        tokens.terminals()[first] == Terminal::Identifier
            && name.end == signs.start
            && tokens.source().slice(signs) == "--"
    }

    /// Returns whether the operator before the refused token directly follows an operand.
    fn follows_operand(self, tokens: &Tokens) -> bool {
        let Some(operand) = self.at.checked_sub(2) else { return false };
        let is_operand = matches!(
            tokens.terminals()[operand],
            Terminal::Number | Terminal::Identifier | Terminal::RightParenthesis
        );
        is_operand && tokens.span(operand).end == tokens.span(operand + 1).start
    }

    /// Returns whether a `)` is missing before something that cannot be inside
    /// parentheses.
    fn is_unclosed(self, tokens: &Tokens) -> bool {
        let ends = match tokens.terminals().get(self.at) {
            None | Some(Terminal::Semicolon) => true,
            Some(terminal) => terminal.begins_item(),
        };
        ends && self.expected.contains(Expected::terminal(Terminal::RightParenthesis))
    }

    /// Returns the keyword that was probably meant by a misspelt name: here,
    /// before an operator to define, or before the item.
    fn intended(self, tokens: &Tokens, start: usize) -> Option<&'static str> {
        let identifier = |token: Option<usize>| {
            let token = token?;
            (tokens.terminals().get(token) == Some(&Terminal::Identifier)).then(|| tokens.text(token))
        };
        let here = identifier(Some(self.at)).and_then(|text| nearest(text, self.expected.keywords()));
        let is_head = self.expected.contains(Expected::terminal(Terminal::LeftParenthesis));
        let operator = identifier(self.at.checked_sub(1).filter(|_| is_head))
            .and_then(|text| nearest(text, ["unary", "binary"]));
        let item = || nearest(identifier(start.checked_sub(1))?, ["def", "extern", "import"]);
        here.or(operator).or_else(item)
    }
}

/// Returns the token that closes the outermost parentheses in which a `;` stands at `token`; `None`
/// if something else stands there, or nothing closes them.
pub(super) fn parentheses_around(tokens: &Tokens, token: usize, builder: &Builder) -> Option<usize> {
    /// Longer ones are not looked for.
    const LONGEST: usize = 4096;
    let open = *builder.open_parentheses.first()? as usize;
    let is_separator = *tokens.terminals().get(token)? == Terminal::Semicolon;
    is_separator.then(|| tokens.closing(open, ("(", ")"), LONGEST).ok()).flatten()
}

/// Returns whether an item begins at a token, where parentheses are open on its line, but for
/// those of a head.
pub(super) fn is_inner_item(tokens: &Tokens, token: usize, builder: &Builder) -> bool {
    let terminals = tokens.terminals();
    let (Some(before), Some(&open)) = (token.checked_sub(1), builder.open_parentheses.first()) else {
        return false;
    };
    let defines = |at: usize| matches!(terminals[at], Terminal::Def | Terminal::Extern);
    let is_head = (open as usize).checked_sub(2).is_some_and(defines);
    let between = tokens.span(before).end as usize..tokens.span(token).start as usize;
    terminals.get(token).is_some_and(|terminal| terminal.begins_item())
        && matches!(terminals[before], Terminal::LeftParenthesis | Terminal::Comma)
        && !is_head
        && !tokens.source().text()[between].contains('\n')
}

/// Returns the diagnostic for such an item.
fn inner_item(tokens: &Tokens, token: usize, message: String) -> Diagnostic {
    let help = match tokens.terminals()[token] {
        Terminal::Do => "leave it out: `do` begins an item, and there are expressions in parentheses",
        Terminal::Def => "define the function before, as an item of its own, and write its name here",
        _ => "it is an item of its own: write it before this one",
    };
    Diagnostic::error(ErrorCode::UnexpectedToken, tokens.source(), tokens.span(token), message)
        .with_note("begins an item")
        .with_help(help)
}

/// Returns the diagnostic for an item that is a definition of Lisp: `(defun f (x) x)`.
pub(super) fn list_head(tokens: &Tokens, start: usize) -> Option<Diagnostic> {
    let head = tokens.terminals().get(start..start + 3)?;
    let is_list = matches!(
        head,
        [Terminal::LeftParenthesis, Terminal::Identifier, Terminal::Identifier | Terminal::LeftParenthesis]
    );
    let is_apart = tokens.span(start + 1).end < tokens.span(start + 2).start;
    let word = is_list && is_apart && foreign::begins_list(tokens.text(start + 1));
    word.then(|| foreign::misplaced(tokens.source(), None, Some(tokens.span(start + 1)))).flatten()
}

/// Returns the diagnostic for a text that is no argument, though it may follow one.
fn misplaced_text(tokens: &Tokens, token: usize, is_behind_argument: bool) -> Diagnostic {
    let message = "a text stands only among the arguments of `print` and `write`";
    let diagnostic =
        Diagnostic::error(ErrorCode::MisplacedText, tokens.source(), tokens.span(token), message);
    let text = tokens.text(token);
    let help = match is_behind_argument {
        true if is_prefixed(tokens, token) => foreign::PRINT.into(),
        true => "a comma separates it from the argument before it".into(),
        false
            if token.checked_sub(1).is_some_and(|before| tokens.terminals()[before] == Terminal::Import) =>
        {
            format!("a module is a name, without quotes: `import {}`", text.trim_matches('"'))
        }
        false if text.len() <= 40 => format!("write `print({text})`"),
        false => "write `print(\"…\")`".into(),
    };
    diagnostic.with_note("every value is a number").with_help(help)
}

/// Returns whether a name directly precedes a text, as in `f"…"`.
fn is_prefixed(tokens: &Tokens, text: usize) -> bool {
    text.checked_sub(1).is_some_and(|before| {
        tokens.terminals()[before] == Terminal::Identifier
            && tokens.span(before).end == tokens.span(text).start
    })
}

/// Describes a token in words.
fn found(tokens: &Tokens, token: usize) -> String {
    match tokens.terminals().get(token) {
        None => "the end of the input".to_owned(),
        Some(_) => format!("`{}`", shortened(tokens.text(token))),
    }
}
