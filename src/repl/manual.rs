//! The manual: what help says about operators, keywords and whole topics.
//!
//! The library has its own table next to the functions (`host::library`), the
//! commands have theirs (`command`); completion uses all of them.

use crate::host::library::LIBRARY;
use crate::module::standard;
use crate::syntax::comment::{first_sentence, opening};
use crate::syntax::operator::{BinaryOp, Infix};

/// What an entry is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ManualKind {
    Unary,
    Binary,
    Keyword,
    /// A word that has a meaning where nothing else is called so.
    Word,
}

/// The help about an operator or a keyword.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct ManualEntry {
    pub(super) kind: ManualKind,
    /// The token.
    pub(super) name: &'static str,
    /// Its form in a program.
    pub(super) form: &'static str,
    /// The description, in one line.
    pub(super) summary: &'static str,
    /// Further lines, if needed.
    pub(super) details: &'static [&'static str],
}

macro_rules! entries {
    ($($kind:ident $name:literal $form:literal $summary:literal [$($detail:literal)*];)+) => {
        &[$(ManualEntry {
            kind: ManualKind::$kind,
            name: $name,
            form: $form,
            summary: $summary,
            details: &[$($detail),*],
        }),+]
    };
}

/// The operators, tightest first, then the keywords.
pub(super) const ENTRIES: &[ManualEntry] = entries! {
    Binary "^" "x ^ y" "x to the power of y" [];
    Unary "-" "-x" "x with the other sign" [];
    Unary "!" "!x" "1 if x is 0 or nan, else 0" [];
    Binary "*" "x * y" "the product of x and y" [];
    Binary "/" "x / y" "the quotient of x and y; inf or nan if y is 0" [];
    Binary "%" "x % y" "the remainder of x / y, with the sign of x" [];
    Binary "+" "x + y" "the sum of x and y" [];
    Binary "-" "x - y" "the difference of x and y" [];
    Binary "<" "x < y" "1 if x is less than y, else 0"
        ["Comparisons form chains: `1 < x < 3` is `1 < x && x < 3`."];
    Binary ">" "x > y" "1 if x is greater than y, else 0" [];
    Binary "<=" "x <= y" "1 if x is less than or equal to y, else 0" [];
    Binary ">=" "x >= y" "1 if x is greater than or equal to y, else 0" [];
    Binary "==" "x == y" "1 if x and y are equal, else 0; nan equals nothing" [];
    Binary "!=" "x != y" "1 if x and y differ, else 0" [];
    Binary "&&" "x && y" "1 if x and y are true, else 0; y is evaluated only if x is"
        ["0 and nan are false, every other number is true."];
    Binary "||" "x || y" "1 if x or y is true, else 0; y is evaluated only if x is not"
        ["0 and nan are false, every other number is true."];
    Binary "=" "x = y" "assigns y to the variable x; its value is y"
        ["To compare, write `==`."];
    Binary "+=" "x += y" "assigns x + y to the variable x" [];
    Binary "-=" "x -= y" "assigns x - y to the variable x" [];
    Binary "*=" "x *= y" "assigns x * y to the variable x" [];
    Binary "/=" "x /= y" "assigns x / y to the variable x" [];
    Binary ":" "x : y" "evaluates x, then y, which is its value" [];
    Keyword "def" "def NAME(A B …) EXPR" "defines a function; parameters are separated by blanks or commas"
        ["Defining a name again redefines it, and every caller sees the new definition."
         "Operators: `?unary` and `?binary`."];
    Keyword "extern" "extern NAME(A B …)" "declares a function that is built in, with its parameters" [];
    Keyword "import" "import MODULE [as NAME] [(NAMES…)]" "makes the names of a module known"
        ["`stats` is the file stats.kal, `stats.robust` is stats/robust.kal."
         "Its names are then `mean` and `stats.mean`; `as s` makes that `s.mean` only."
         "A list imports these names only: `import stats(mean sd binary ⊕)`."];
    Keyword "as" "import MODULE as NAME" "gives the names of a module another qualifier: `NAME.f`" [];
    Keyword "if" "if CONDITION then A else B" "A if CONDITION is true, else B; only that one is evaluated"
        ["0 and nan are false, every other number is true."
         "Without `else`, its value is 0 where CONDITION is false."
         "An `else` belongs to the nearest `if` before it."];
    Keyword "then" "if CONDITION then A else B" "precedes the value for a CONDITION that is true; see `?if`" [];
    Keyword "else" "if CONDITION then A else B" "precedes the value for a CONDITION that is false; see `?if`" [];
    Keyword "for" "for I = START, CONDITION in BODY" "repeats BODY while CONDITION is true; its value is 0"
        ["BODY runs before CONDITION is tested, so it runs at least once:"
         "`for i = 1, i < n in printd(i)` prints 1 to n."
         "Each time I grows by 1, or STEP: `for I = START, CONDITION, STEP in BODY`."
         "0 and nan are false, every other number is true."];
    Keyword "while" "while CONDITION in BODY" "repeats BODY while CONDITION is true; its value is 0"
        ["CONDITION is tested first: BODY may run never."
         "0 and nan are false, every other number is true."];
    Keyword "do" "do EXPR" "evaluates EXPR at the top level for its effect, and prints nothing" [];
    Keyword "in" "for … in BODY, var … in BODY" "precedes the body of `for`, `while` and `var`" [];
    Keyword "var" "var A = X, B = Y in BODY" "variables for BODY, which is its value; they are 0 if nothing is assigned"
        ["At the top level, without `in`: variables that all functions can use."];
    Keyword "unary" "def unary OP (A) EXPR" "defines an operator that is written before its operand: `OP x`" [];
    Keyword "binary" "def binary OP PRECEDENCE (A B) EXPR" "defines an operator between two operands: `x OP y`"
        ["PRECEDENCE is 1 (loosest) to 100; 30 if omitted. `:help operators` shows those of the others."];
    Word "print" "print(A, B, …)" "writes its arguments and ends the line: texts, and numbers as values are printed"
        ["`print(\"n = \", n)`; its value is 0, which is not printed."
         "All numbers are evaluated before anything is written."
         "In texts `\\n`, `\\t`, `\\\"`, `\\\\` and `\\u{b5}` stand for characters."
         "How a number is written: `?fixed`, `?sci`, `?pad`."];
    Word "write" "write(A, B, …)" "writes its arguments as `print` does, and does not end the line" [];
    Word "fixed" "fixed(X, DIGITS)" "in `print`: X with DIGITS digits behind the point" [];
    Word "sci" "sci(X, DIGITS)" "in `print`: X as `1.50e3`, with DIGITS digits behind the point" [];
    Word "pad" "pad(A, WIDTH)" "in `print`: A in WIDTH columns, at their right; at their left if WIDTH is negative" [];
    Word "pi" "pi" "the circumference of a circle of diameter 1: 3.141592653589793" [];
    Word "e" "e" "the base of the natural logarithm: 2.718281828459045" [];
    Word "inf" "inf" "infinity: more than every number" [];
    Word "nan" "nan" "not a number: what 0/0 is; it equals nothing" [];
};

impl ManualEntry {
    /// Returns the words that are called as functions are, `print`.
    pub(super) fn called_words() -> impl Iterator<Item = &'static Self> {
        ENTRIES.iter().filter(|entry| entry.kind == ManualKind::Word && entry.form.ends_with(')'))
    }

    /// Returns every entry of a token: `-` has two.
    pub(super) fn all(name: &str) -> impl Iterator<Item = &'static Self> {
        ENTRIES.iter().filter(move |entry| entry.name == name)
    }

    /// Returns the name as in definitions: `unary-`, `binary-`, `for`.
    pub(super) fn full_name(&self) -> String {
        match self.kind {
            ManualKind::Unary => format!("unary{}", self.name),
            ManualKind::Binary => format!("binary{}", self.name),
            ManualKind::Keyword | ManualKind::Word => self.name.to_owned(),
        }
    }

    /// Returns the head of a definition that would replace it.
    pub(super) fn head(&self) -> Option<String> {
        match self.kind {
            ManualKind::Unary => Some(format!("def unary {} (x) ", self.name)),
            ManualKind::Binary => {
                self.precedence().map(|level| format!("def binary {} {level} (x y) ", self.name))
            }
            ManualKind::Keyword | ManualKind::Word => None,
        }
    }

    /// Returns how tightly an operator between operands binds.
    pub(super) fn precedence(&self) -> Option<u8> {
        match self.kind {
            ManualKind::Binary => {
                let known = BinaryOp::ALL.into_iter().find(|op| op.text() == self.name);
                // What assigns is not an operation.
                let other = if self.name == ":" { Infix::SEQUENCE } else { Infix::ASSIGNMENT };
                Some(known.map_or(other.precedence, BinaryOp::precedence))
            }
            ManualKind::Unary | ManualKind::Keyword | ManualKind::Word => None,
        }
    }

    /// Returns the whole entry.
    pub(super) fn text(&self) -> String {
        let mut text = format!("{}\n    {}", self.form, self.summary);
        for detail in self.details {
            text += &format!("\n    {detail}");
        }
        if let Some(precedence) = self.precedence() {
            let side =
                if matches!(self.name, "^" | "=" | "+=" | "-=" | "*=" | "/=") { "right" } else { "left" };
            text += &format!("\nprecedence {precedence}, groups to the {side}");
        }
        if self.kind == ManualKind::Unary {
            text += "\nbinds tighter than every binary operator except the built-in `^`";
        }
        text
    }
}

/// A topic that is not a name in programs, and the function that writes its
/// page.
type Topic = (&'static str, fn() -> String);

/// The topics that are not names in programs.
pub(super) const TOPICS: &[Topic] =
    &[("functions", functions), ("library", library), ("operators", operators), ("keywords", keywords)];

/// Returns the page about the library, one line for each function.
fn functions() -> String {
    let entries = || LIBRARY.iter().flat_map(|(_, entries)| *entries);
    let width = entries().map(|entry| entry.signature().len()).max().unwrap_or_default();
    let mut text = String::new();
    for (title, entries) in LIBRARY {
        text += &format!("{title}\n");
        for entry in *entries {
            text += &format!("  {:width$}  {}\n", entry.signature(), entry.summary);
        }
    }
    text
}

/// Returns the page about the standard library, one line for each module.
fn library() -> String {
    let modules =
        || standard::sources().map(|(name, source)| (name, first_sentence(&opening(source.text()))));
    let width = modules().map(|(name, _)| name.len()).max().unwrap_or_default();
    let lines = modules().map(|(name, about)| format!("  import {name:width$}  {about}\n"));
    format!("Modules that are part of Kal\n{}What each offers: `?math`.\n", lines.collect::<String>())
}

/// Returns the page about the built-in operators, with their precedence.
fn operators() -> String {
    let mut text = String::from("Operators, tightest first, with their precedence\n");
    for entry in ENTRIES {
        if matches!(entry.kind, ManualKind::Unary | ManualKind::Binary) {
            let precedence = entry.precedence().map(|precedence| precedence.to_string());
            let precedence = precedence.unwrap_or_default();
            text += &format!("{precedence:>4}  {:6}  {}\n", entry.form, entry.summary);
        }
    }
    text + "Define others, or redefine these: `?unary`, `?binary`.\n"
}

/// Returns the page about the constructs that begin with a keyword.
fn keywords() -> String {
    let is_beginning =
        |entry: &&ManualEntry| entry.form.starts_with(entry.name) || entry.form.starts_with("def");
    let entries = ENTRIES.iter().filter(|entry| entry.kind == ManualKind::Keyword).filter(is_beginning);
    entries.map(|entry| format!("{}\n    {}\n", entry.form, entry.summary)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::operator::{UPDATES, UnaryOp};
    use crate::syntax::token::KEYWORDS;

    #[test]
    fn every_operator_and_keyword_has_one_entry() {
        let names = |kind: ManualKind| -> Vec<&str> {
            let mut names: Vec<&str> =
                ENTRIES.iter().filter(|entry| entry.kind == kind).map(|entry| entry.name).collect();
            names.sort_unstable();
            names
        };
        let sorted = |mut names: Vec<&'static str>| {
            names.sort_unstable();
            names
        };
        let binary = BinaryOp::ALL.iter().map(|op| op.text()).chain(["=", ":"]).chain(UPDATES).collect();
        assert_eq!(names(ManualKind::Binary), sorted(binary));
        assert_eq!(names(ManualKind::Unary), sorted(UnaryOp::ALL.iter().map(|op| op.text()).collect()));
        assert_eq!(names(ManualKind::Keyword), sorted(KEYWORDS.iter().map(|(_, text)| *text).collect()));
        let precedences: Vec<u8> = ENTRIES.iter().filter_map(ManualEntry::precedence).collect();
        assert!(precedences.is_sorted_by(|one, next| one >= next), "{precedences:?}");
    }
}
