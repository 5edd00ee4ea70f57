//! Habits from other languages: what an operator without a meaning was
//! probably part of, and how that is written in Kaleidoscope.
//!
//! Nothing here is grammar. It is consulted when an operator turns out to be
//! undefined, so never for a program that defines the operator. It uses only
//! the source text.

use super::number;
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::source::{Source, Span};

/// A construct of another language.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignSyntax {
    /// Its place, as far as the source shows it.
    pub span: Span,
    message: String,
    note: &'static str,
    help: Option<String>,
}

/// Operators of other languages, longer ones before those they contain, each
/// with the way to write it in Kaleidoscope.
const OPERATORS: [(&str, &str); 17] = [
    ("<=>", "compare with `<`, `==` and `>`"),
    ("===", "to compare, write `==`"),
    ("!==", "to compare, write `!=`"),
    ("**", "the power is written `x ^ y`"),
    ("++", "write `x += 1`"),
    ("=>", "did you mean `>=`?"),
    ("=<", "did you mean `<=`?"),
    ("=!", "did you mean `!=`?"),
    ("<>", "did you mean `!=`?"),
    ("~=", "did you mean `!=`?"),
    ("<<", "multiply by a power of two: `x * 2 ^ n`"),
    (">>", "divide by a power of two: `floor(x / 2 ^ n)`"),
    ("->", "the body follows the parameters at once: `def f(x) x + 1`"),
    (":=", "to assign, write `x = 3`"),
    ("??", "to choose, write `if a then b else c`"),
    ("&&=", "write `x = x && y`"),
    ("||=", "write `x = x || y`"),
];

/// Compound assignments of other languages.
const COMPOUND_ASSIGNMENTS: [&str; 2] = ["%=", "^="];

/// Words that are operators, keywords or constants elsewhere.
const WORDS: [(&str, &str); 24] = [
    ("mod", "the remainder is written `x % y`, or `mod(x, y)`"),
    ("div", "integer division is written `floor(a / b)`"),
    ("and", "and is written `&&`"),
    ("or", "or is written `||`"),
    ("not", "not is written `!`"),
    ("let", "to declare a variable: `var x = 3`"),
    ("const", "to declare a variable: `var x = 3`"),
    ("return", "the value of the body is the value of the function: `def f(x) x + 1`"),
    ("print", PRINT),
    ("write", "to print without ending the line, write `write(\"x = \", x)`"),
    ("function", "a function is written `def f(x) x + 1`"),
    ("fn", "a function is written `def f(x) x + 1`"),
    ("func", "a function is written `def f(x) x + 1`"),
    ("true", "true is any number but 0, such as `1`"),
    ("false", "false is `0`"),
    ("PI", "did you mean `pi`?"),
    ("null", "every value is a number, such as `0`"),
    ("nil", "every value is a number, such as `0`"),
    ("None", "every value is a number, such as `0`"),
    ("lambda", "a function is written `def f(x) x + 1`"),
    ("int", NO_TYPES),
    ("float", NO_TYPES),
    ("double", NO_TYPES),
    ("void", NO_TYPES),
];

/// How something is printed.
const PRINT: &str = "to print, write `print(\"x = \", x)`";

/// What is written instead of types.
pub const NO_TYPES: &str = "there are no types, every value is a number: `var x = 3`, `def f(x) x + 1`";

/// Functions that have another name here, or none.
const FUNCTIONS: [(&str, &str); 12] = [
    ("int", "did you mean `trunc`?"),
    ("println", PRINT),
    ("printf", PRINT),
    ("echo", PRINT),
    ("puts", PRINT),
    ("fixed", "it stands among the arguments of `print`: `print(fixed(x, 2))`"),
    ("sci", "it stands among the arguments of `print`: `print(sci(x, 2))`"),
    ("pad", "it stands among the arguments of `print`: `print(pad(x, 8))`"),
    ("input", "did you mean `read`?"),
    ("not", "not is written `!`"),
    ("exit", "a program ends where its source ends"),
    ("quit", "a program ends where its source ends"),
];

/// The words above that are binary operators.
const INFIX_WORDS: [&str; 4] = ["mod", "div", "and", "or"];

/// The words above that are values.
const CONSTANTS: [&str; 6] = ["true", "false", "PI", "null", "nil", "None"];

/// The words above that print.
const PRINTING: [&str; 2] = ["print", "write"];

/// The words above that are types.
const TYPES: [&str; 4] = ["int", "float", "double", "void"];

impl ForeignSyntax {
    /// Recognises what the operator at `operator` is part of.
    pub fn recognise(source: &Source, operator: Span) -> Option<Self> {
        let text = source.text();
        match text.get(operator.range())? {
            "'" if !follows_a_word(text, operator) => Some(string(text, operator, '\'')),
            "{" | "}" => Some(brace(text, operator)),
            "[" | "]" => Some(bracket(text, operator)),
            ":" | "?" if begins_command(source, operator) => Some(command(text, operator)),
            "?" if line_from(text, operator.end).contains(':') => Some(choice(operator)),
            _ => compound(text, operator),
        }
    }

    /// Returns the diagnostic, of kind `code`.
    pub fn diagnostic(self, code: ErrorCode, source: &Source) -> Diagnostic {
        let diagnostic = Diagnostic::error(code, source, self.span, self.message).with_note(self.note);
        match self.help {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        }
    }
}

/// Returns whether a line begins with the operator at `place` and looks like a
/// command of the prompt: `:list`, `?sin`.
pub fn begins_command(source: &Source, place: Span) -> bool {
    let (before, after) = (line_up_to(source.text(), place.start), line_from(source.text(), place.end));
    matches!(source.slice(place), ":" | "?")
        && before.is_empty()
        && after.starts_with(|next: char| next.is_ascii_alphabetic())
}

/// Returns such a line.
fn command(text: &str, operator: Span) -> ForeignSyntax {
    let rest = line_from(text, operator.end).trim_end();
    let (symbol, example) =
        if text[operator.range()].starts_with('?') { ("?", "?sin") } else { (":", ":list") };
    ForeignSyntax {
        span: Span { start: operator.start, end: operator.end + rest.len() as u32 },
        message: format!("no unary operator `{symbol}` is defined"),
        note: "a command",
        help: Some(format!("commands such as `{example}` are for the prompt: `kal`, or `kal repl`")),
    }
}

/// Returns the diagnostic for the operator at `place`, which has no meaning
/// before one operand or between two; with whether it comes from another
/// language.
pub fn unknown_operator(source: &Source, place: Span, operands: u8) -> (Diagnostic, bool) {
    if let Some(foreign) = ForeignSyntax::recognise(source, place) {
        return (foreign.diagnostic(ErrorCode::UnknownOperator, source), true);
    }
    let symbol = source.slice(place);
    let kind = if operands == 1 { "unary" } else { "binary" };
    let begins_line = line_up_to(source.text(), place.start).trim().is_empty();
    let message = format!("no {kind} operator `{symbol}` is defined");
    let diagnostic =
        Diagnostic::error(ErrorCode::UnknownOperator, source, place, message).with_note("not defined");
    let diagnostic = match cure(symbol, operands, begins_line) {
        Some(help) => diagnostic.with_help(help),
        None => diagnostic,
    };
    (diagnostic, false)
}

/// Returns the help: how to define the operator, or what to write instead if it
/// cannot be defined.
fn cure(symbol: &str, operands: u8, begins_line: bool) -> Option<String> {
    let may_be_meant = !symbol.is_ascii() || matches!(symbol, "~" | "|" | "&" | ":" | "@" | "$" | "?" | "!");
    Some(match (symbol, operands) {
        ("=", _) => "a definition has no `=`: write `def f(x) x + 1`; to compare, write `==`".into(),
        (":", 1) if begins_line => "commands such as `:list` are for the prompt: `kal`, or `kal repl`".into(),
        (":", 1) => "the body follows the parameters at once: `def f(x) x + 1`".into(),
        ("+", 1) => "leave it out: a number without a sign is positive".into(),
        ("|" | "||", 2) => format!("define it first: `def binary {symbol} 5 (x y) …`"),
        (_, 1) if may_be_meant => format!("define it first: `def unary {symbol} (x) …`"),
        (_, _) if may_be_meant => {
            format!("define it first, with its precedence: `def binary {symbol} … (x y) …`")
        }
        _ => return None,
    })
}

/// Returns the diagnostic for an `=` at `place` whose left side is not a
/// variable.
pub fn bad_assignment(source: &Source, place: Span) -> Diagnostic {
    if let Some(foreign) = ForeignSyntax::recognise(source, place) {
        return foreign.diagnostic(ErrorCode::BadAssignment, source);
    }
    let symbol = source.slice(place);
    let message = format!("the left side of `{symbol}` is not a variable");
    Diagnostic::error(ErrorCode::BadAssignment, source, place, message)
        .with_note(format!("this `{symbol}` assigns, so a variable must come before it"))
        .with_help("to compare, write `==`")
}

/// Returns what the undeclared name at `place` was probably meant to be: a
/// message and its help. `goes_on` if there is an item before it on the line.
pub fn word(source: &Source, place: Span) -> Option<(String, String)> {
    let text = source.text();
    let word = source.slice(place);
    let help = WORDS.iter().find(|entry| entry.0 == word)?.1;
    let before = line_up_to(text, place.start).split_whitespace().next_back();
    let message = match before.filter(|_| INFIX_WORDS.contains(&word)) {
        Some(left) => format!("an operator is missing between `{left}` and `{word}`"),
        None if PRINTING.contains(&word) => format!("`{word}` is called with what it prints"),
        None if CONSTANTS.contains(&word) => format!("unknown variable `{word}`"),
        None => format!("there is no `{word}` in Kaleidoscope"),
    };
    Some((message, help.to_owned()))
}

/// Returns whether a word is a binary operator in other languages.
pub fn is_infix(word: &str) -> bool {
    INFIX_WORDS.contains(&word)
}

/// Returns the advice for a call of a function of other languages.
pub fn function(name: &str) -> Option<&'static str> {
    FUNCTIONS.iter().find(|entry| entry.0 == name).map(|entry| entry.1)
}

/// Returns whether a name is a type in other languages.
pub fn is_type(name: &str) -> bool {
    TYPES.contains(&name)
}

/// Returns the advice for a call whose `(` is on a later line than the name at
/// `place`.
pub fn called_across_lines(source: &Source, place: Span) -> Option<String> {
    let rest = &source.text()[place.end as usize..];
    let is_later =
        rest.lines().next().is_some_and(|line| line.split('#').next().unwrap_or("").trim().is_empty());
    let name = source.slice(place);
    is_later.then(|| {
        format!("the `(` on a later line makes this a call; to end the item before it, write `{name};`")
    })
}

/// Returns the text of the value assigned to the variable at `place`, for a
/// message, if it is the rest of its line.
pub fn assigned(source: &Source, place: Span) -> Option<&str> {
    let line = line_from(source.text(), place.end);
    let value = line.trim_start_matches([')', ' ', '\t']).strip_prefix('=')?;
    let value = value.split([';', '#']).next()?.trim();
    let of_outer = |word: &str| matches!(word, "then" | "else" | "in");
    let is_part = value.contains(',')
        || value.matches('(').count() != value.matches(')').count()
        || value.split(|character: char| !character.is_alphanumeric()).any(of_outer);
    if is_part { None } else { short(value) }
}

/// Returns `1_000` for `1,000`, if the comma at `place` separates thousands.
pub fn grouped_digits(source: &Source, place: Span) -> Option<String> {
    let text = source.text();
    let is_digit = |character: char| character.is_ascii_digit();
    let before = &text[..place.start as usize];
    let whole = &before[before.trim_end_matches(is_digit).len()..];
    let after = &text[place.end as usize..];
    let group = &after[..after.find(|character| !is_digit(character)).unwrap_or(after.len())];
    let fits = (1..=3).contains(&whole.len()) && group.len() == 3 && number::value(whole).is_ok();
    fits.then(|| format!("{whole}_{group}"))
}

fn string(text: &str, quote: Span, mark: char) -> ForeignSyntax {
    let line = line_from(text, quote.end);
    let length = line.find(mark).map_or(line.len(), |at| at + 1);
    ForeignSyntax {
        span: Span { start: quote.start, end: quote.end + length as u32 },
        message: "a text has double quotes, and only `print` and `write` take it".into(),
        note: "not a text",
        help: Some("write `print(\"…\")`".into()),
    }
}

fn brace(text: &str, brace: Span) -> ForeignSyntax {
    let before = line_up_to(text, brace.start);
    let help = match before.split(|character: char| !character.is_alphanumeric()).find(|word| is_head(word)) {
        Some("def") => "the body is one expression: `def f(x) x + 1`",
        Some("for") => "write `for i = 1, i < 10 in …`",
        Some("while") => "write `while x < 10 in …`",
        Some(_) => "write `if a then b else c`",
        None => "to group, write `( … )`",
    };
    ForeignSyntax {
        span: brace,
        message: "there are no braces in Kaleidoscope".into(),
        note: "a brace",
        help: Some(help.into()),
    }
}

fn is_head(word: &str) -> bool {
    matches!(word, "if" | "else" | "def" | "for" | "while")
}

fn bracket(text: &str, bracket: Span) -> ForeignSyntax {
    let help = if follows_a_word(text, bracket) {
        "to call a function, write `f(x)`"
    } else {
        "to group, write `( … )`"
    };
    ForeignSyntax {
        span: bracket,
        message: "there are no arrays in Kaleidoscope".into(),
        note: "a bracket",
        help: Some(help.into()),
    }
}

fn choice(operator: Span) -> ForeignSyntax {
    ForeignSyntax {
        span: operator,
        message: "there is no operator `? :`".into(),
        note: "a choice between two values",
        help: Some("write `if a then b else c`".into()),
    }
}

/// Recognises an operator of several characters, or a comment.
fn compound(text: &str, operator: Span) -> Option<ForeignSyntax> {
    if let Some(start) = covering(text, operator, "//").or_else(|| covering(text, operator, "/*")) {
        return Some(quotient(text, start).unwrap_or_else(|| comment(text, start)));
    }
    if let Some((symbol, start)) = OPERATORS
        .iter()
        .find_map(|(symbol, help)| covering(text, operator, symbol).map(|start| ((*symbol, *help), start)))
    {
        return Some(no_operator(symbol.0, start, symbol.1.into()));
    }
    COMPOUND_ASSIGNMENTS.iter().find_map(|symbol| {
        let start = covering(text, operator, symbol)?;
        let (left, right) = operands(text, start, start + symbol.len() as u32);
        Some(no_operator(symbol, start, format!("write `{left} = {left} {} {right}`", &symbol[..1])))
    })
}

fn no_operator(symbol: &str, start: u32, help: String) -> ForeignSyntax {
    ForeignSyntax {
        span: Span { start, end: start + symbol.len() as u32 },
        message: format!("there is no operator `{symbol}`"),
        note: "not an operator",
        help: Some(help),
    }
}

fn comment(text: &str, start: u32) -> ForeignSyntax {
    let rest = &text[start as usize..];
    let line = line_from(text, start).trim_end().len();
    let length = match rest.strip_prefix("/*") {
        Some(inner) => inner.find("*/").map_or(line, |end| end + 4),
        None => line,
    };
    ForeignSyntax {
        span: Span { start, end: start + length as u32 },
        message: "a comment begins with `#`".into(),
        note: "not a comment",
        help: None,
    }
}

/// Recognises an integer division, such as `7 // 2`.
fn quotient(text: &str, start: u32) -> Option<ForeignSyntax> {
    let left = line_up_to(text, start).trim_end();
    let right = line_from(text, start).strip_prefix("//")?.trim();
    let divides = left.ends_with(|last: char| last.is_alphanumeric() || last == ')');
    let help = "to divide and round down: `floor(x / y)`; a comment begins with `#`";
    (divides && number::value(right).is_ok()).then(|| no_operator("//", start, help.into()))
}

/// Returns where `symbol` begins, if it covers the first character of the
/// operator.
fn covering(text: &str, operator: Span, symbol: &str) -> Option<u32> {
    (0..symbol.len() as u32).find_map(|shift| {
        let start = operator.start.checked_sub(shift)?;
        text.get(start as usize..)?.starts_with(symbol).then_some(start)
    })
}

/// Returns the name before `start` and the value after `end`, or examples of
/// them.
fn operands(text: &str, start: u32, end: u32) -> (&str, &str) {
    let before = line_up_to(text, start).trim_end();
    let left = &before[before.trim_end_matches(unicode_ident::is_xid_continue).len()..];
    let right = line_from(text, end).split([';', '#']).next().map_or("", str::trim);
    match (short(left), short(right)) {
        (Some(left), Some(right)) if !left.starts_with(|first: char| first.is_ascii_digit()) => (left, right),
        _ => ("x", "1"),
    }
}

/// Returns a piece of the source that is short enough to be quoted in a
/// message.
fn short(text: &str) -> Option<&str> {
    const LONGEST: usize = 24;
    (!text.is_empty() && text.len() <= LONGEST && !text.contains('`')).then_some(text)
}

fn follows_a_word(text: &str, place: Span) -> bool {
    text[..place.start as usize].ends_with(|before| unicode_ident::is_xid_continue(before) || before == ')')
}

/// Returns the rest of the line from an offset on.
fn line_from(text: &str, offset: u32) -> &str {
    text[offset as usize..].lines().next().unwrap_or("")
}

/// Returns the line up to an offset.
fn line_up_to(text: &str, offset: u32) -> &str {
    let before = &text[..offset as usize];
    &before[before.rfind('\n').map_or(0, |at| at + 1)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recognised(text: &str, operator: &str) -> Option<(String, String, Option<String>)> {
        let source = Source::new("test", text);
        let start = text.find(operator).expect("the operator is there");
        let found = ForeignSyntax::recognise(&source, Span::new(start, start + operator.len()))?;
        Some((source.slice(found.span).to_owned(), found.message, found.help))
    }

    #[test]
    fn an_operator_is_seen_whole_from_any_of_its_characters() {
        for (text, token, whole) in [
            ("x %= 1", "=", "%="),
            ("x => 1", ">", "=>"),
            ("2 === 3", "= ", "==="),
            ("2 // c ", "/", "// c"),
            ("/* c */ 3", "/", "/* c */"),
        ] {
            assert_eq!(recognised(text, token.trim()).map(|found| found.0).as_deref(), Some(whole), "{text}");
        }
        assert_eq!(recognised("x = -1", "="), None);
        assert_eq!(recognised("a : b", ":"), None);
        assert_eq!(recognised("f' + 1", "'"), None);
    }

    #[test]
    fn advice_uses_the_operands() {
        let help = |text, token| recognised(text, token).and_then(|found| found.2);
        assert_eq!(help("sum %= 2 # twice", "="), Some("write `sum = sum % 2`".into()));
        assert_eq!(help("3 ^= 2", "="), Some("write `x = x ^ 1`".into()));
    }

    #[test]
    fn thousands_are_recognised_by_their_digits() {
        let grouped = |text: &str| {
            let at = text.find(',').expect("a comma");
            grouped_digits(&Source::new("test", text), Span::new(at, at + 1))
        };
        assert_eq!(grouped("1,000"), Some("1_000".into()));
        assert_eq!(grouped("12,345 + 1"), Some("12_345".into()));
        assert_eq!(grouped("1,00"), None);
        assert_eq!(grouped("x,000"), None);
        assert_eq!(grouped("1234,000"), None);
    }
}
