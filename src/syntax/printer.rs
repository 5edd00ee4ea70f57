//! Writing tokens and trees back as text.
//!
//! Three forms: a list of tokens, trees as S-expressions, and Kaleidoscope
//! source that reads back as the same tree. None of them recurses, so a tree
//! may be as deep as the parser allows.

mod source;
mod symbolic;

pub use source::source;
pub use symbolic::symbolic;

use super::token::Tokens;
use crate::diagnostic::visible::visible;
use crate::source::Span;
use std::fmt::Write;

/// Returns one line for each token in a wanted place: `line:column kind text`.
pub fn token_list(tokens: &Tokens, is_wanted: impl Fn(Span) -> bool) -> String {
    let text = tokens.source().text();
    let mut list = String::new();
    let (mut offset, mut line, mut column) = (0, 1, 1);
    for token in 0..tokens.len() {
        let start = tokens.span(token).start as usize;
        for character in text.get(offset..start).unwrap_or_default().chars() {
            (line, column) = if character == '\n' { (line + 1, 1) } else { (line, column + 1) };
        }
        offset = start;
        if !is_wanted(tokens.span(token)) {
            continue;
        }
        let kind = tokens.terminals()[token].kind();
        let _ = write!(list, "{line}:{column} {kind} ");
        list.extend(tokens.text(token).chars().map(visible));
        list.push('\n');
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Names;
    use crate::source::Source;
    use crate::syntax::lexer;
    use crate::syntax::operator::Operators;
    use crate::syntax::parser::parse_all;

    /// Prints the only item of a text as source.
    fn printed(text: &str) -> String {
        let names = Names::new();
        let mut operators = Operators::new(&names);
        let (items, diagnostics) = parse_all(&Source::new("test", text), &names, &mut operators);
        assert_eq!(diagnostics, [], "{text}");
        source(items.last().unwrap(), &names, &operators)
    }

    #[test]
    fn source_has_the_parentheses_it_needs() {
        let cases = [
            ("1+2*3", "1 + 2 * 3"),
            ("(1+2)*3", "(1 + 2) * 3"),
            ("(1*2)+3", "1 * 2 + 3"),
            ("1-(2-3)", "1 - (2 - 3)"),
            ("(1-2)-3", "1 - 2 - 3"),
            ("2^(3^2)", "2 ^ 3 ^ 2"),
            ("(2^3)^2", "(2 ^ 3) ^ 2"),
            ("-(2^2)", "-2 ^ 2"),
            ("(-2)^2", "(-2) ^ 2"),
            ("2^(-1)*3", "2 ^ -1 * 3"),
            ("2^(-(1*3))", "2 ^ -(1 * 3)"),
            ("(2^-1)^3", "(2 ^ -1) ^ 3"),
            ("- - -x", "- - -x"),
            ("-(!x)", "- !x"),
            ("1 - -x", "1 - -x"),
            ("(x = 1) + 2", "(x = 1) + 2"),
            ("x = (y = 1)", "x = y = 1"),
            ("1 + (if a then b else c)", "1 + (if a then b else c)"),
            ("f((1), ((x = 2)), (if a then b else c))", "f(1, x = 2, if a then b else c)"),
            ("(1 ! 2)", "(1 ! 2)"),
            (". 5", ". 5"),
            ("for i=1,i<3 in var a in a", "for i = 1, i < 3, 1 in var a = 0 in a"),
            ("var a=1,b", "var a = 1, b = 0"),
            ("def f(x,y)x", "def f(x y) x"),
            ("def binary|(a b)a|b", "def binary | 30 (a b) a | b"),
            ("def unary!(a)!a", "def unary ! (a) !a"),
            ("extern f(x)", "extern f(x)"),
            ("import a", "import a"),
            ("import a.b as c", "import a.b as c"),
            ("import a(x,y unary! binary ⊕)", "import a(x y unary ! binary ⊕)"),
            ("import a (x + 1)", "x + 1"),
            ("def a.f(x) as + a.f(x.y)", "def a.f(x) as + a.f(x.y)"),
            ("def binary @ 45 (a b) a; (-x) @ y", "-x @ y"),
            ("def binary @ 46 (a b) a; (-x) @ y", "-x @ y"),
            ("def binary @ 46 (a b) a; -(x @ y)", "-(x @ y)"),
            ("def binary @ 60 (a b) a; (-(2^x)) @ y", "(-2 ^ x) @ y"),
            ("def binary @ 60 (a b) a; -(2^(x @ y))", "-2 ^ x @ y"),
            ("def binary @ 60 (a b) a; -((2 @ x) ^ y)", "-(2 @ x ^ y)"),
            ("def binary @ 60 (a b) a; (-2 @ x) ^ y", "-2 @ x ^ y"),
            ("def binary ^ 60 (a b) a; -(x ^ y)", "-(x ^ y)"),
            ("def binary @ 50 (a b) a; x @ (y ^ z)", "x @ (y ^ z)"),
            ("def binary @ 50 (a b) a; (x @ y) ^ z", "x @ y ^ z"),
            ("def binary @ 50 (a b) a; (x ^ y) @ z", "x ^ y @ z"),
            ("def binary @ 50 (a b) a; x ^ ((y @ z) ^ w)", "x ^ (y @ z ^ w)"),
            ("0x10 + 1_000.50 + 1e300 + 1e-7 + 1e999", "16 + 1000.5 + 1e300 + 1e-7 + 1e999"),
        ];
        for (text, expected) in cases {
            assert_eq!(printed(text), expected, "{text}");
        }
    }

    #[test]
    fn long_trees_are_broken_at_their_lists() {
        let names = Names::new();
        let text = "def f(x y) if x < y then g(x, y, some_rather_long_name, another_rather_long_name) \
                    else for i = 1, i < x in printd(i) + 1";
        let (items, _) = parse_all(&Source::new("test", text), &names, &mut Operators::new(&names));
        let expected = "\
(def
  (f x y)
  (if
    (< x y)
    (g x y some_rather_long_name another_rather_long_name)
    (for i 1 (< i x) 1 (+ (printd i) 1))))
";
        assert_eq!(symbolic(&items[0], &names), expected);
    }

    #[test]
    fn deep_and_long_trees_are_written_without_recursion() {
        let texts = ["1+".repeat(100_000) + "1", "-".repeat(100_000) + "1", "x^".repeat(100_000) + "1"];
        for text in texts {
            let names = Names::new();
            let mut operators = Operators::new(&names);
            let (items, _) = parse_all(&Source::new("test", text.as_str()), &names, &mut operators);
            let tree = symbolic(&items[0], &names);
            assert!(tree.len() < 60 * text.len(), "{}", tree.len());
            let again = source(&items[0], &names, &operators);
            assert_eq!(again.replace(' ', ""), text);
        }
    }

    #[test]
    fn tokens_with_places() {
        let names = Names::new();
        let source = Source::new("test", "def é(x)\n  x<=1.5 # c\n\t\u{1}");
        let list = token_list(&lexer::lex(&source, &names).unwrap(), |_| true);
        let expected = "\
1:1 keyword def
1:5 identifier é
1:6 punctuation (
1:7 identifier x
1:8 punctuation )
2:3 identifier x
2:4 operator <=
2:6 number 1.5
3:2 unknown ␁
";
        assert_eq!(list, expected);
    }
}
