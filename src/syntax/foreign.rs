//! Habits from other languages: what an operator without a meaning was
//! probably part of, and how that is written in Kaleidoscope.
//!
//! Nothing here is grammar. It is consulted when an operator turns out to be
//! undefined, so never for a program that defines the operator. It uses only
//! the source text. Words are in `foreign::word`.

mod line;
mod word;

use super::number;
use super::operator::UPDATES;
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::source::{Source, Span};
use line::{line_from, line_up_to};
pub use word::{
    NO_TYPES, PRINT, begins_construct, begins_list, called_with, counterpart, ends_block, function, is_infix,
    is_type, misplaced, printed_otherwise, taking_more, word,
};

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
const OPERATORS: [(&str, &str); 22] = [
    ("<=>", "compare with `<`, `==` and `>`"),
    ("===", "to compare, write `==`"),
    ("!==", "to compare, write `!=`"),
    ("|>", "write the call: `f(x)`"),
    ("**", "the power is written `x ^ y`"),
    ("%%", "the remainder is written `x % y`"),
    ("++", "write `x += 1`"),
    ("=>", "did you mean `>=`?"),
    ("=<", "did you mean `<=`?"),
    ("=!", "did you mean `!=`?"),
    ("<>", "did you mean `!=`?"),
    ("~=", "did you mean `!=`?"),
    ("<<", "multiply by a power of two: `x * 2 ^ n`"),
    (">>", "divide by a power of two: `floor(x / 2 ^ n)`"),
    ("->", "the body follows the parameters at once: `def f(x) x + 1`"),
    (":=", "to declare a variable, write `var x = 3`; to assign to it, `x = 3`"),
    ("??", "to choose, write `if a then b else c`"),
    ("&&=", "write `x = x && y`"),
    ("||=", "write `x = x || y`"),
    (".^", "write `x ^ y`"),
    (".*", "write `x * y`"),
    ("./", "write `x / y`"),
];

/// Symbols of mathematics, each with the way to write it.
const SYMBOLS: [(&str, &str); 19] = [
    ("×", "write `x * y`"),
    ("∗", "write `x * y`"),
    ("⋅", "write `x * y`"),
    ("∙", "write `x * y`"),
    ("÷", "write `x / y`"),
    ("∕", "write `x / y`"),
    ("−", "write `x - y`"),
    ("≤", "write `x <= y`"),
    ("≥", "write `x >= y`"),
    ("≠", "write `x != y`"),
    ("≈", "write `abs(x - y) < 1e-9`"),
    ("√", "write `sqrt(x)`"),
    ("∛", "write `cbrt(x)`"),
    ("∞", "write `inf`"),
    ("∧", "and is written `&&`"),
    ("∨", "or is written `||`"),
    ("¬", "not is written `!`"),
    ("∑", "`import series` makes `sum` known"),
    ("°", "angles are in radians: `x * pi / 180`"),
];

/// What is written instead of a function that has no name.
const NAMELESS: &str = "a function has a name: `def f(x) x + 1`";

/// How a function is given to another one.
const GIVEN: &str = "a function has a name, by which it is given: `def f(x) x + 1`, `integral(f, 0, 1)`";

/// What `5!` is.
pub const FACTORIAL: &str = "`tgamma(n + 1)` is the factorial of n";

/// What `5%` is.
pub const PERCENTAGE: &str = "a percentage is written `x / 100`";

/// Compound assignments of other languages.
const COMPOUND_ASSIGNMENTS: [&str; 2] = ["%=", "^="];

impl ForeignSyntax {
    /// Recognises what the operator at `operator` is part of.
    pub fn recognise(source: &Source, operator: Span) -> Option<Self> {
        let text = source.text();
        match text.get(operator.range())? {
            "'" if !follows_a_word(text, operator) => Some(string(text, operator, '\'')),
            "{" | "}" => Some(brace(text, operator)),
            "[" | "]" => Some(bracket(text, operator)),
            ":" | "?" if begins_command(source, operator) => Some(command(text, operator)),
            "@" if begins_function(text, operator) => Some(no_operator("@", operator.start, GIVEN.into())),
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
        help: Some(format!(
            "commands such as `{example}` are for the prompt of `kal`, each an input of its own"
        )),
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
    let before = line_up_to(source.text(), place.start).trim();
    let after = line_from(source.text(), place.end).trim_start();
    let message = format!("no {kind} operator `{symbol}` is defined");
    let diagnostic =
        Diagnostic::error(ErrorCode::UnknownOperator, source, place, message).with_note("not defined");
    let diagnostic = match cure(symbol, operands, before, after) {
        Some(help) => diagnostic.with_help(help),
        None => diagnostic,
    };
    (diagnostic, false)
}

/// Returns the help: how to define the operator, or what to write instead if it
/// cannot be defined.
fn cure(symbol: &str, operands: u8, before: &str, after: &str) -> Option<String> {
    let begins_line = before.is_empty();
    let is_in_body = before.ends_with("else") || before.ends_with("then") || before.ends_with("in");
    let may_be_meant = !symbol.is_ascii() || matches!(symbol, "~" | "|" | "&" | ":" | "@" | "$" | "?" | "!");
    if let Some((_, help)) = SYMBOLS.iter().find(|entry| entry.0 == symbol) {
        return Some((*help).to_owned());
    }
    if operands == 1 && before.ends_with(['(', ',']) && after.starts_with([',', ')']) {
        return Some(given_operator(symbol));
    }
    if operands == 1 && before.ends_with('(') && is_list(after) {
        return Some(format!("an operator is between its operands: `x {symbol} y`"));
    }
    Some(match (symbol, operands) {
        ("=", 1) if before.ends_with(['+', '-', '*', '/']) => {
            format!("an update is written without a blank: `x {}= 1`", &before[before.len() - 1..])
        }
        ("=", 1) if before.ends_with('=') => "to compare, write `==`, without a blank".into(),
        ("=", _) => "a definition has no `=`: write `def f(x) x + 1`; to compare, write `==`".into(),
        (":", 1) if begins_line => {
            "commands such as `:list` are for the prompt of `kal`, each an input of its own".into()
        }
        (":", 1) if is_in_body => "leave it out: `a : b` evaluates both".into(),
        (":", 1) if before.ends_with('=') => "to assign, write `x = 3`".into(),
        (":", 1) => "the body follows the parameters at once: `def f(x) x + 1`".into(),
        ("+", 1) if is_reversed(before) => "to add to a variable, write `x += 1`".into(),
        ("+", 1) => "leave it out: a number without a sign is positive".into(),
        ("|", 1) => "the absolute value of x is `abs(x)`".into(),
        ("&", 2) => "and is written `&&`; or define it: `def binary & 6 (x y) …`".into(),
        ("!", 2) => FACTORIAL.into(),
        ("|", 2) => "or is written `||`; or define it: `def binary | 5 (x y) …`".into(),
        ("||", 2) => "define it first: `def binary || 5 (x y) …`".into(),
        (_, 1) if may_be_meant => format!("define it first: `def unary {symbol} (x) …`"),
        (_, _) if may_be_meant => {
            format!("define it first, with its precedence: `def binary {symbol} … (x y) …`")
        }
        _ => return None,
    })
}

/// Returns whether the line before an operator is a name, and an `=` to which the operator
/// sticks: `x =+ 1`.
fn is_reversed(before: &str) -> bool {
    before.strip_suffix('=').is_some_and(|name| is_name(name.trim()))
}

/// Returns how an operator is given to a function.
pub fn given_operator(symbol: &str) -> String {
    format!("an operator is given as `binary{symbol}`")
}

/// Returns whether two operands with only a blank between them begin a text: `1 2)`.
fn is_list(text: &str) -> bool {
    let is_operand = |word: &str| word.starts_with(|first: char| first.is_alphanumeric() || first == '(');
    let mut words = text.split([' ', '\t']).filter(|word| !word.is_empty());
    words.next().is_some_and(|word| is_operand(word) && !word.contains(')'))
        && words.next().is_some_and(is_operand)
}

/// Returns the help for a name with hyphens that ends at `end`, but for blanks: `my-count`.
pub fn hyphenated(text: &str, end: usize) -> Option<String> {
    let before = text.get(..end)?.trim_end_matches(' ');
    let is_part = |letter: char| letter.is_alphanumeric() || "_-".contains(letter);
    let word = before.rsplit(|letter| !is_part(letter)).next()?;
    let is_name = |part: &str| part.starts_with(|first: char| first.is_alphabetic() || first == '_');
    (word.contains('-') && word.split('-').all(is_name))
        .then(|| format!("names have no `-`: `{}`", word.replace('-', "_")))
}

/// Returns whether a name with hyphens before `end` is what an item begins with, or what `var`
/// declares, and so is no difference.
fn begins_item(text: &str, end: u32) -> bool {
    let before = text[..end as usize].trim_end_matches(' ');
    let start = before.rfind(|letter: char| !letter.is_alphanumeric() && !"_-".contains(letter));
    let before = before[..start.map_or(0, |at| at + 1)].trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with([';', '\n']) || before.ends_with("var")
}

/// Returns the diagnostic for an `=` at `place` whose left side is not a
/// variable.
pub fn bad_assignment(source: &Source, place: Span) -> Diagnostic {
    if let Some(foreign) = ForeignSyntax::recognise(source, place) {
        return foreign.diagnostic(ErrorCode::BadAssignment, source);
    }
    let symbol = source.slice(place);
    let message = format!("the left side of `{symbol}` is not a variable");
    let hyphenated =
        hyphenated(source.text(), place.start as usize).filter(|_| begins_item(source.text(), place.start));
    let help = match defined(source.text(), place.start) {
        _ if is_typed(source, place) => NO_TYPES.to_owned(),
        _ if hyphenated.is_some() => hyphenated.unwrap_or_default(),
        _ if UPDATES.contains(&symbol) => {
            format!("to compute without a variable, write `x {} y`", &symbol[..1])
        }
        Some(head) => format!("to define a function: `def {head} …`; to compare, write `==`"),
        None => "to compare, write `==`".to_owned(),
    };
    Diagnostic::error(ErrorCode::BadAssignment, source, place, message)
        .with_note(format!("this `{symbol}` assigns, so a variable must come before it"))
        .with_help(help)
}

/// Returns whether the line up to the `=` at `place` gives a variable a type: `var x: int`.
fn is_typed(source: &Source, place: Span) -> bool {
    let head = line_up_to(source.text(), place.start).trim_start();
    head.starts_with("var ") && head.contains(':')
}

/// Returns what the line up to an offset defines in other languages: `f(x)`.
fn defined(text: &str, end: u32) -> Option<&str> {
    let line = line_up_to(text, end).trim();
    let head = short(line.strip_prefix("var ").unwrap_or(line).trim_start())?;
    let (name, parameters) = head.strip_suffix(')')?.split_once('(')?;
    let is_name = |text: &str| unicode_ident::is_xid_start(text.chars().next()?).then_some(());
    let is_whole = |text: &str| is_name(text).is_some() && text.chars().all(unicode_ident::is_xid_continue);
    let mut parameters = parameters.split([' ', ',']).filter(|parameter| !parameter.is_empty());
    (is_whole(name) && parameters.all(is_whole)).then_some(head)
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

/// Returns whether the variable at `place` is updated: `x += 1`.
pub fn is_updated(source: &Source, place: Span) -> bool {
    // Not the line: that may be long, with many such variables.
    let rest = source.text()[place.end as usize..].trim_start_matches([' ', '\t']);
    UPDATES.iter().any(|update| rest.starts_with(update))
}

/// Returns the text of the value assigned to the variable at `place`, for a
/// message, if it is the rest of its line.
pub fn assigned(source: &Source, place: Span) -> Option<&str> {
    let line = line_from(source.text(), place.end);
    let value = line.trim_start_matches([')', ' ', '\t']).strip_prefix('=')?;
    let value = up_to_sequence(value.split([';', '#']).next()?).trim();
    let of_outer = |word: &str| matches!(word, "then" | "else" | "in");
    let is_part = has_other_parts(value)
        || value.matches('(').count() != value.matches(')').count()
        || value.split(|character: char| !character.is_alphanumeric()).any(of_outer);
    if is_part { None } else { short(value) }
}

/// Returns the part of a value before a `:` that is in no parentheses.
fn up_to_sequence(value: &str) -> &str {
    &value[..outside_parentheses(value, ':').next().unwrap_or(value.len())]
}

/// Returns whether a comma in a value separates it from something else than the next
/// assignment: `1, y = 2`.
fn has_other_parts(value: &str) -> bool {
    outside_parentheses(value, ',').any(|at| !is_assignment(&value[at + 1..]))
}

/// Returns where a character stands that is in no parentheses.
fn outside_parentheses(value: &str, wanted: char) -> impl Iterator<Item = usize> {
    let mut open = 0;
    value.char_indices().filter_map(move |(at, letter)| {
        open += i32::from(letter == '(') - i32::from(letter == ')');
        (letter == wanted && open <= 0).then_some(at)
    })
}

/// Returns whether a text begins with `y =`.
fn is_assignment(text: &str) -> bool {
    let rest = text.trim_start().trim_start_matches(unicode_ident::is_xid_continue).trim_start();
    rest.strip_prefix('=').is_some_and(|value| !value.starts_with('='))
}

/// Returns the advice for the undeclared variable at `place`, if other languages assign to it
/// there: `x <- 3`, `x, y = 1, 2`; with whether nothing else of the item means anything.
pub fn assigned_otherwise(source: &Source, place: Span) -> Option<(String, bool)> {
    let (text, name) = (source.text(), source.slice(place));
    let before = line_up_to(text, place.start);
    if let Some((head, "")) = before.rsplit_once('=').map(|(head, value)| (head.trim(), value.trim())) {
        // `var f(x) = x + 1`, `x = x + 1`.
        let end = place.start - (before.len() - before.rfind('=')?) as u32;
        return match defined(text, end).filter(|_| head.starts_with("var ")) {
            Some(head) => Some((format!("to define a function: `def {head} …`"), true)),
            None => (head == name).then(|| (format!("to declare one: `var {name} = 0`"), false)),
        };
    }
    if !before.trim().is_empty() {
        return None;
    }
    let rest = line_from(text, place.end).trim_start();
    if rest.starts_with("<-") && line_from(text, place.end).starts_with(' ') {
        return Some((format!("to declare a variable: `var {name} = 3`"), true));
    }
    let is_list =
        rest.starts_with(',') && rest.split('=').next()?.split(',').skip(1).all(|each| is_name(each.trim()));
    let help = || "each variable has its own value: `var x = 1, y = 2`".to_owned();
    (is_list && rest.contains('=')).then(|| (help(), false))
}

/// Returns the advice for the undeclared variable at `place`, if it is a parameter or a variable
/// of a definition that the lines before it, which are indented as this one is, seem to go on
/// with.
pub fn ended_definition(source: &Source, place: Span) -> Option<String> {
    /// More lines are not looked at.
    const MOST: usize = 64;
    let is_indented = |line: &str| line.starts_with([' ', '\t']);
    let (text, name) = (source.text(), source.slice(place));
    let own = line_up_to(text, place.start);
    if !is_indented(own) {
        return None;
    }
    let before = &text[..place.start as usize - own.len()];
    let is_code = |line: &&str| !line.trim_start().is_empty() && !line.trim_start().starts_with('#');
    let mut lines = before.lines().rev().take(MOST).filter(is_code);
    let last = lines.next()?;
    let head = if is_indented(last) { lines.find(|line| !is_indented(line))? } else { last };
    let (function, parameters) = head.strip_prefix("def ")?.split_once('(')?;
    let is_parameter = parameters.split(')').next()?.split([' ', ',', '(']).any(|word| word == name);
    let is_small = before.len() < 1 << 20;
    let body = || before.rfind(head).map_or("", |at| &before[at..]);
    let is_own = is_small && (is_parameter || declares(body(), name));
    let is_short = short(function).is_some() && is_own;
    is_short.then(|| {
        let end = before.rfind(last).map_or(0, |at| before[..at].lines().count()) + 1;
        format!("the definition of `{function}` ends on line {end}; `:` at its end goes on")
    })
}

/// Returns whether a text seems to declare a variable: `var i = 0`, `var n = 1, i = 0`.
fn declares(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (text[..at].trim_end(), text[at + name.len()..].trim_start());
        let is_value = after.starts_with('=') && !after.starts_with("==");
        is_value && before.len() < at && (before.ends_with("var") || before.ends_with(','))
    })
}

/// Returns the advice for the undeclared variable at `place`, if its line begins with a sign, and
/// the line before declares it: `--x` after `var x = 1` is `var x = 1 - -x`.
pub fn continues_declaration(source: &Source, place: Span) -> Option<String> {
    let (text, name) = (source.text(), source.slice(place));
    let own = line_up_to(text, place.start);
    let signs = own.trim();
    if signs.is_empty() || !signs.chars().all(|sign| sign.is_ascii_punctuation()) {
        return None;
    }
    let before = text[..place.start as usize - own.len()].lines().next_back()?;
    let declared = before.trim_start().strip_prefix("var ")?.split_once('=')?.0;
    (declared.trim() == name)
        .then(|| "its declaration goes on here; `;` at the end of that line ends it".into())
}

/// Returns whether the assignment at `place` ends its line with a `;`, and a line that is
/// indented follows.
pub fn ends_too_early(source: &Source, place: Span) -> bool {
    let line = line_from(source.text(), place.end);
    let rest = &source.text()[place.end as usize + line.len()..];
    let next = rest.lines().find(|line| !line.trim().is_empty());
    let is_ended = line.split('#').next().is_some_and(|code| code.trim_end().ends_with(';'));
    is_ended && next.is_some_and(|next| next.starts_with([' ', '\t']))
}

/// Returns whether the assigned name at `place` stands on the line of a `var`, after its values.
pub fn follows_variable(source: &Source, place: Span) -> bool {
    let before = line_up_to(source.text(), place.start).trim();
    before.starts_with("var ") && !before.ends_with(',') && !before.contains([';', ':', '('])
}

/// Returns whether the undeclared variable at `place` is a word of a comment of another
/// language: `x = 5 % the radius`.
pub fn begins_comment(source: &Source, place: Span) -> bool {
    let before = &source.text()[..place.start as usize];
    if !before.ends_with("% ") && !before.ends_with("-- ") {
        return false;
    }
    let after = line_from(source.text(), place.end);
    after.strip_prefix(' ').is_some_and(|rest| rest.starts_with(unicode_ident::is_xid_start))
}

fn is_name(text: &str) -> bool {
    text.starts_with(unicode_ident::is_xid_start) && text.chars().all(unicode_ident::is_xid_continue)
}

/// Returns `1_000` for `1,000`, if the comma at `place` is the first that separates thousands.
pub fn grouped_digits(source: &Source, place: Span) -> Option<String> {
    let text = source.text();
    let is_digit = |character: char| character.is_ascii_digit();
    let before = &text[..place.start as usize];
    let earlier = before.trim_end_matches(is_digit);
    let whole = &before[earlier.len()..];
    let is_later_group = earlier.strip_suffix(',').is_some_and(|number| number.ends_with(is_digit));
    let fits = !is_later_group && (1..=3).contains(&whole.len()) && number::value(whole).is_ok();
    let (mut number, mut rest) = (whole.to_owned(), &text[place.start as usize..]);
    while let Some(after) = rest.strip_prefix(',') {
        let length = after.find(|character| !is_digit(character)).unwrap_or(after.len());
        if length != 3 {
            break;
        }
        (number, rest) = (number + "_" + &after[..length], &after[length..]);
    }
    (fits && number != whole).then_some(number)
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
    let inside = line_from(text, bracket.end).split(']').next().unwrap_or("").trim();
    let help = if follows_a_word(text, bracket) {
        "to call a function, write `f(x)`"
    } else if inside.contains([',', ';', ' ']) {
        "instead of a list, write a function of the index: `def a(i) i ^ 2`"
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
    let of_operator = |(symbol, help): &(&'static str, &'static str)| {
        Some((*symbol, *help, covering(text, operator, symbol)?))
    };
    if let Some((symbol, help, start)) = OPERATORS.iter().find_map(of_operator) {
        let help = match symbol {
            "++" => format!("write `{} += 1`", incremented(text, start)),
            "=>" if has_parameters(text, start) => NAMELESS.to_owned(),
            "<<" if line_up_to(text, start).contains("cout") => PRINT.to_owned(),
            ":=" => match defined(text, start) {
                Some(head) => format!("to define a function: `def {head} …`"),
                None => help.to_owned(),
            },
            _ => help.to_owned(),
        };
        return Some(no_operator(symbol, start, help));
    }
    COMPOUND_ASSIGNMENTS.iter().find_map(|symbol| {
        let start = covering(text, operator, symbol)?;
        let (left, right) = operands(text, start, start + symbol.len() as u32);
        Some(no_operator(symbol, start, format!("write `{left} = {left} {} {right}`", &symbol[..1])))
    })
}

/// Returns the variable before or after the `++` at `start`; `x` if there is none.
fn incremented(text: &str, start: u32) -> &str {
    let (before, after) = (line_up_to(text, start).trim_end(), line_from(text, start + 2).trim_start());
    let left = &before[before.trim_end_matches(unicode_ident::is_xid_continue).len()..];
    let right = &after[..after.len() - after.trim_start_matches(unicode_ident::is_xid_continue).len()];
    let is_name = |word: &&str| word.starts_with(unicode_ident::is_xid_start);
    [left, right].into_iter().filter_map(short).find(is_name).unwrap_or("x")
}

/// Returns whether the `@` at `place` makes a function: `@(x) x + 1`, `@sin`.
fn begins_function(text: &str, place: Span) -> bool {
    let before = line_up_to(text, place.start).trim_end();
    let is_operand = before.is_empty() || before.ends_with(['=', '(', ',']);
    let after = line_from(text, place.end);
    is_operand && after.starts_with(|next: char| next == '(' || unicode_ident::is_xid_start(next))
}

/// Returns the advice for the comma at `place`, in parentheses that are no call's.
pub fn advice_on_list(source: &Source, place: Span) -> &'static str {
    let rest = line_from(source.text(), place.end).split_once(')').map_or("", |(_, rest)| rest.trim_start());
    match rest.starts_with("=>") || rest.starts_with("->") {
        true => NAMELESS,
        false => "there are no lists of values; `(a : b)` evaluates both",
    }
}

/// Returns whether parameters precede the `=>` at `start`: `f = x =>`, `(x, y) =>`.
fn has_parameters(text: &str, start: u32) -> bool {
    let before = line_up_to(text, start).trim_end();
    let is_name = |letter: char| unicode_ident::is_xid_continue(letter);
    match before.strip_suffix(')') {
        Some(list) => list
            .rsplit('(')
            .next()
            .is_some_and(|list| list.chars().all(|it| is_name(it) || ", ".contains(it))),
        None => before.trim_end_matches(is_name).trim_end().ends_with('='),
    }
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
        assert_eq!(grouped("1,000,000"), Some("1_000_000".into()));
        assert_eq!(grouped("1,00"), None);
        assert_eq!(grouped("x,000"), None);
        assert_eq!(grouped("1234,000"), None);
    }
}
