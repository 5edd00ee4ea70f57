//! Words of other languages: keywords, operators, constants and functions that are called
//! something else here.

use super::line::{line_from, line_up_to};
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::source::{Source, Span};

/// What a word is in other languages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WordKind {
    /// A binary operator.
    Infix,
    /// A unary operator, or a keyword that something follows.
    Prefix,
    /// A statement that prints.
    Printing,
    /// A type.
    Type,
    /// A constant.
    Constant,
    /// A keyword that stands for itself, or is a good name here.
    Bare,
}

const WORDS: [(&str, WordKind, &str); 89] = [
    ("mod", WordKind::Infix, "the remainder is written `x % y`, or `mod(x, y)`"),
    ("div", WordKind::Infix, "integer division is written `floor(a / b)`"),
    ("and", WordKind::Infix, "and is written `&&`"),
    ("or", WordKind::Infix, "or is written `||`"),
    ("xor", WordKind::Infix, "one of two is written `!a != !b`"),
    ("is", WordKind::Infix, "to compare, write `==`"),
    ("not", WordKind::Prefix, "not is written `!`"),
    ("elif", WordKind::Infix, ELSE_IF),
    ("elsif", WordKind::Infix, ELSE_IF),
    ("elseif", WordKind::Infix, ELSE_IF),
    ("let", WordKind::Prefix, VARIABLE),
    ("const", WordKind::Prefix, VARIABLE),
    ("local", WordKind::Prefix, "to declare a variable: `var x = 3 in …`"),
    ("global", WordKind::Prefix, VARIABLE),
    ("auto", WordKind::Prefix, VARIABLE),
    ("static", WordKind::Prefix, VARIABLE),
    ("return", WordKind::Prefix, "the value of the body is the value of the function: `def f(x) x + 1`"),
    ("function", WordKind::Prefix, FUNCTION),
    ("fn", WordKind::Prefix, FUNCTION),
    ("func", WordKind::Prefix, FUNCTION),
    ("fun", WordKind::Prefix, FUNCTION),
    ("define", WordKind::Prefix, FUNCTION),
    ("lambda", WordKind::Prefix, FUNCTION),
    ("defun", WordKind::Prefix, FUNCTION),
    ("defn", WordKind::Prefix, FUNCTION),
    ("setq", WordKind::Prefix, VARIABLE),
    ("procedure", WordKind::Prefix, FUNCTION),
    ("sub", WordKind::Prefix, FUNCTION),
    ("print", WordKind::Printing, PRINT),
    ("write", WordKind::Printing, "to print without ending the line, write `write(\"x = \", x)`"),
    ("println", WordKind::Prefix, PRINT),
    ("printf", WordKind::Prefix, PRINT),
    ("echo", WordKind::Prefix, PRINT),
    ("puts", WordKind::Prefix, PRINT),
    ("disp", WordKind::Prefix, PRINT),
    ("int", WordKind::Type, NO_TYPES),
    ("float", WordKind::Type, NO_TYPES),
    ("double", WordKind::Type, NO_TYPES),
    ("void", WordKind::Type, NO_TYPES),
    ("long", WordKind::Type, NO_TYPES),
    ("unsigned", WordKind::Type, NO_TYPES),
    ("bool", WordKind::Type, NO_TYPES),
    ("char", WordKind::Type, NO_TYPES),
    ("from", WordKind::Bare, IMPORT),
    ("use", WordKind::Bare, IMPORT),
    ("using", WordKind::Bare, IMPORT),
    ("include", WordKind::Bare, IMPORT),
    ("require", WordKind::Bare, IMPORT),
    ("foreach", WordKind::Bare, "write `for i = 1, i < 10 in …`"),
    ("repeat", WordKind::Bare, "write `while x < 10 in …`"),
    ("loop", WordKind::Bare, "write `while x < 10 in …`"),
    ("break", WordKind::Bare, "a loop ends when its condition is 0: `while going && x < 10 in …`"),
    ("continue", WordKind::Bare, "to leave out a part of the body: `if a then b`"),
    ("switch", WordKind::Bare, "write `if a then b else if c then d else e`"),
    ("case", WordKind::Bare, "write `if a then b else if c then d else e`"),
    ("until", WordKind::Bare, "write `while x < 10 in …`"),
    ("assert", WordKind::Bare, "to test, write `if x != 1 then print(\"x = \", x)`"),
    ("try", WordKind::Bare, NO_EXCEPTIONS),
    ("throw", WordKind::Bare, NO_EXCEPTIONS),
    ("raise", WordKind::Bare, NO_EXCEPTIONS),
    ("class", WordKind::Bare, "there are no types, every value is a number"),
    ("struct", WordKind::Bare, "there are no types, every value is a number"),
    ("help", WordKind::Bare, HELP),
    ("exit", WordKind::Bare, ENDS),
    ("quit", WordKind::Bare, ENDS),
    ("clear", WordKind::Bare, "at the prompt, `:reset` forgets everything, and Ctrl-L clears the screen"),
    ("begin", WordKind::Bare, "to group, write `( … )`; `a : b` evaluates both"),
    ("end", WordKind::Bare, "nothing ends a body: it is one expression, such as `(a : b)`"),
    ("done", WordKind::Bare, "nothing ends a body: it is one expression, such as `(a : b)`"),
    ("pass", WordKind::Bare, "to do nothing, write `0`"),
    ("true", WordKind::Constant, TRUTH),
    ("false", WordKind::Constant, TRUTH),
    ("True", WordKind::Constant, TRUTH),
    ("False", WordKind::Constant, TRUTH),
    ("null", WordKind::Constant, NOTHING),
    ("nil", WordKind::Constant, NOTHING),
    ("None", WordKind::Constant, NOTHING),
    ("PI", WordKind::Constant, "did you mean `pi`?"),
    ("Pi", WordKind::Constant, "did you mean `pi`?"),
    ("π", WordKind::Constant, "did you mean `pi`?"),
    ("E", WordKind::Constant, "did you mean `e`?"),
    ("Inf", WordKind::Constant, "did you mean `inf`?"),
    ("INF", WordKind::Constant, "did you mean `inf`?"),
    ("infinity", WordKind::Constant, "did you mean `inf`?"),
    ("Infinity", WordKind::Constant, "did you mean `inf`?"),
    ("NaN", WordKind::Constant, "did you mean `nan`?"),
    ("NAN", WordKind::Constant, "did you mean `nan`?"),
    ("EOF", WordKind::Constant, "`read()` is nan at the end of the input: `x != x` is true of nan alone"),
    ("eof", WordKind::Constant, "`read()` is nan at the end of the input: `x != x` is true of nan alone"),
];

const ELSE_IF: &str = "write `if a then b else if c then d else e`";
const VARIABLE: &str = "to declare a variable: `var x = 3`";
const FUNCTION: &str = "a function is written `def f(x) x + 1`";
const IMPORT: &str = "to use a module, write `import stats`, or `import stats (mean)`";
const NO_EXCEPTIONS: &str = "there are no exceptions: what has no value is `nan`";
const TRUTH: &str = "true is any number but 0, such as `1`; false is `0`";
const NOTHING: &str = "every value is a number, such as `0`";

/// How something is printed.
pub const PRINT: &str = "to print, write `print(\"x = \", x)`";

/// What is written instead of types.
pub const NO_TYPES: &str = "there are no types, every value is a number: `var x = 3`, `def f(x) x + 1`";

/// Functions that have another name here, or none.
const FUNCTIONS: &[(&str, &str)] = &[
    ("int", "did you mean `trunc`?"),
    ("println", PRINT),
    ("printf", PRINT),
    ("echo", PRINT),
    ("puts", PRINT),
    ("display", PRINT),
    ("disp", PRINT),
    ("fprintf", PRINT),
    ("fixed", "it is an argument of `print` itself: `print(fixed(x, 2))`"),
    ("sci", "it is an argument of `print` itself: `print(sci(x, 2))`"),
    ("pad", "it is an argument of `print` itself: `print(pad(x, 8))`"),
    ("input", READ),
    ("raw_input", READ),
    ("scanf", READ),
    ("readline", READ),
    ("range", "write `for i = 1, i < 10 in …`"),
    ("linspace", "write `for x = 0, x < 1, 0.1 in …`"),
    ("float", "leave it out: every value is a number"),
    ("double", "leave it out: every value is a number"),
    ("rand", "did you mean `random`?"),
    ("srand", "did you mean `seed`?"),
    ("time", "did you mean `clock`, or `now`?"),
    ("factorial", "`tgamma(n + 1)` is the factorial of n"),
    ("fact", "`tgamma(n + 1)` is the factorial of n"),
    ("gamma", "did you mean `tgamma`?"),
    ("comb", "did you mean `binomial`, of the module `math`?"),
    ("nCr", "did you mean `binomial`, of the module `math`?"),
    ("perm", "did you mean `permutations`, of the module `math`?"),
    ("nPr", "did you mean `permutations`, of the module `math`?"),
    ("avg", "did you mean `mean`, of the module `stats`?"),
    ("average", "did you mean `mean`, of the module `stats`?"),
    ("std", "did you mean `deviation`, of the module `stats`?"),
    ("stdev", "did you mean `deviation`, of the module `stats`?"),
    ("stddev", "did you mean `deviation`, of the module `stats`?"),
    ("quad", "did you mean `integral`, of the module `calculus`?"),
    ("ceiling", "did you mean `ceil`?"),
    ("sqr", "the square is written `x ^ 2`"),
    ("modulo", "did you mean `mod`, or `x % y`?"),
    ("len", NO_LISTS),
    ("length", NO_LISTS),
    ("append", NO_LISTS),
    ("arctan", "did you mean `atan`?"),
    ("arcsin", "did you mean `asin`?"),
    ("arccos", "did you mean `acos`?"),
    ("rem", "did you mean `fmod`, or `x % y`?"),
    ("isnan", "`x != x` is true of nan alone"),
    ("not", "not is written `!`"),
    ("pi", "`pi` is a number, without parentheses"),
    ("e", "`e` is a number, without parentheses; `exp(x)` is its power"),
    ("inf", "`inf` is a number, without parentheses"),
    ("nan", "`nan` is a number, without parentheses"),
    ("help", HELP),
    ("exit", ENDS),
    ("quit", ENDS),
];

const NO_LISTS: &str = "there are no lists of values: every value is a number";
const READ: &str = "to read a number, write `read()`";
const HELP: &str = "at the prompt, `?sin` explains `sin`, and `:help` lists the commands";
const ENDS: &str = "a program ends where its source ends, and the prompt with `:quit` or Ctrl-D";

fn known(word: &str) -> Option<(WordKind, &'static str)> {
    WORDS.iter().find(|entry| entry.0 == word).map(|entry| (entry.1, entry.2))
}

/// Returns the other of two words that a language has both of or none.
pub fn counterpart(word: &str) -> Option<&'static str> {
    const PAIRS: [(&str, &str); 2] = [("true", "false"), ("True", "False")];
    let other = |(one, other): &(&'static str, &'static str)| match word {
        word if word == *one => Some(*other),
        word if word == *other => Some(*one),
        _ => None,
    };
    PAIRS.iter().find_map(other)
}

/// Returns what the undeclared name at `place` was probably meant to be: a
/// message and its help.
pub fn word(source: &Source, place: Span) -> Option<(String, String)> {
    let word = source.slice(place);
    let (kind, help) = known(word)?;
    let before = line_up_to(source.text(), place.start);
    let before = before.split([' ', '\t', '(', ',']).rfind(|word| !word.is_empty());
    let message = match (kind, before) {
        (WordKind::Infix, Some(left)) if help != ELSE_IF => {
            format!("an operator is missing between `{left}` and `{word}`")
        }
        (WordKind::Printing, _) if is_argument(source, place) => {
            let help = format!("what prints can be given by a name: `def show(x) {word}(x)`");
            return Some((format!("`{word}` is no function, and cannot be given as one"), help));
        }
        (WordKind::Printing, None) => format!("`{word}` is called with what it prints"),
        (WordKind::Constant, None | Some(_)) => format!("unknown variable `{word}`"),
        (WordKind::Infix | WordKind::Prefix | WordKind::Printing | WordKind::Type | WordKind::Bare, _) => {
            format!("there is no `{word}` in Kaleidoscope")
        }
    };
    Some((message, help.to_owned()))
}

/// Returns whether the word at `place` is an argument of a call.
fn is_argument(source: &Source, place: Span) -> bool {
    let before = line_up_to(source.text(), place.start).trim_end();
    let after = line_from(source.text(), place.end).trim_start();
    before.ends_with(['(', ',']) && after.starts_with([',', ')'])
}

/// Returns whether a word begins a list of Lisp that defines something.
pub fn begins_list(word: &str) -> bool {
    matches!(word, "defun" | "defn" | "define" | "lambda" | "fn" | "setq" | "let")
}

/// Returns the diagnostic for the word at `place` that the grammar refused after an operand,
/// or for the word at `before` that it took for an operand.
pub fn misplaced(source: &Source, place: Option<Span>, before: Option<Span>) -> Option<Diagnostic> {
    let is_of = |span: &Span, kinds: &[WordKind]| {
        known(source.slice(*span)).is_some_and(|(kind, _)| kinds.contains(&kind))
    };
    let operands = [WordKind::Prefix, WordKind::Printing, WordKind::Type];
    let infix = place.filter(|place| is_of(place, &[WordKind::Infix]));
    let span = infix.or_else(|| before.filter(|before| is_of(before, &operands)))?;
    let (message, help) = word(source, span)?;
    let error = Diagnostic::error(ErrorCode::UnexpectedToken, source, span, message);
    Some(error.with_note("a word of other languages").with_help(help))
}

/// Returns whether a word is a binary operator in other languages.
pub fn is_infix(word: &str) -> bool {
    known(word).is_some_and(|(kind, _)| kind == WordKind::Infix)
}

/// Returns the advice for a call of a function of other languages, with or without a module.
pub fn function(name: &str) -> Option<&'static str> {
    let name = name.rsplit_once('.').map_or(name, |(_, member)| member);
    FUNCTIONS.iter().find(|entry| entry.0 == name).map(|entry| entry.1)
}

/// Returns the advice for a call of a built-in function that takes more arguments in other
/// languages.
pub fn taking_more(name: &str, passed: u32) -> Option<&'static str> {
    Some(match (name, passed) {
        ("log" | "ln", 2) => "`log(x) / log(b)` is the logarithm to base b; there are `log2` and `log10`",
        ("max", 3..) => "the largest of three is `max(a, max(b, c))`",
        ("min", 3..) => "the smallest of three is `min(a, min(b, c))`",
        ("round", 2) => "to print with two decimals, write `print(fixed(x, 2))`",
        ("atan", 2) => "did you mean `atan2`?",
        ("random", 1 | 2) => "`random()` is from 0 to 1; `import random` has others",
        _ => return None,
    })
}

/// Returns the advice for a text at `place` that is an argument of a function, such as
/// `printf`, which prints elsewhere, or prints numbers.
pub fn printed_otherwise(source: &Source, place: Span) -> Option<&'static str> {
    let callee = called_with(source, place)?;
    let prints = matches!(callee, "printd" | "putchard") || function(callee) == Some(PRINT);
    let reads = function(callee) == Some(READ);
    if prints { Some(PRINT) } else { reads.then_some(READ) }
}

/// Returns the word before the last `(` of the line up to `place`.
pub fn called_with(source: &Source, place: Span) -> Option<&str> {
    let before = line_up_to(source.text(), place.start);
    let callee = before[..before.rfind('(')?].trim_end();
    Some(&callee[callee.trim_end_matches(unicode_ident::is_xid_continue).len()..])
}

/// Returns whether a word is part of a construct of other languages, in which the names around
/// it mean nothing here.
pub fn begins_construct(word: &str) -> bool {
    known(word).is_some_and(|(kind, _)| kind != WordKind::Constant)
}

/// Returns whether a word ends a block of lines, or begins the next block of a construct, in
/// other languages.
pub fn ends_block(word: &str) -> bool {
    matches!(word, "end" | "done" | "fi" | "endif" | "elif" | "elseif" | "elsif" | "except" | "finally")
}

/// Returns whether a name is a type in other languages.
pub fn is_type(name: &str) -> bool {
    known(name).is_some_and(|(kind, _)| kind == WordKind::Type)
}
