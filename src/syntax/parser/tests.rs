//! The parser on sources with known trees and known mistakes.

use super::*;
use crate::diagnostic::ErrorCode;
use crate::syntax::printer;

fn parse(text: &str) -> (Vec<Item>, Vec<Diagnostic>, Names) {
    let names = Names::new();
    let source = Source::new("test", text);
    let (items, diagnostics) = parse_all(&source, &names, &mut Operators::new(&names));
    (items, diagnostics, names)
}

/// Returns the items as S-expressions, each on one line.
fn trees(text: &str) -> Vec<String> {
    let (items, diagnostics, names) = parse(text);
    assert_eq!(diagnostics, [], "{text}");
    items.iter().map(|item| printer::symbolic(item, &names).trim_end().to_owned()).collect()
}

/// Returns code, place and message of each mistake.
fn mistakes(text: &str) -> Vec<(ErrorCode, String, String)> {
    let describe = |found: Diagnostic| {
        let label = &found.labels[0];
        (found.code, label.source.slice(label.span).to_owned(), found.message)
    };
    parse(text).1.into_iter().map(describe).collect()
}

fn check_trees(cases: &[(&str, &[&str])]) {
    for (text, expected) in cases {
        assert_eq!(trees(text), *expected, "{text}");
    }
}

#[test]
fn precedence_and_associativity() {
    check_trees(&[
        ("1 + 2 * 3 - 4", &["(- (+ 1 (* 2 3)) 4)"]),
        ("a < b == c < d && e || f", &["(|| (&& (== (< a b) (< c d)) e) f)"]),
        ("2^3^2", &["(^ 2 (^ 3 2))"]),
        ("-2^2", &["(- (^ 2 2))"]),
        ("2^-1", &["(^ 2 (- 1))"]),
        ("2^-1*3", &["(* (^ 2 (- 1)) 3)"]),
        ("2^-1^3", &["(^ 2 (- (^ 1 3)))"]),
        ("-x+1", &["(+ (- x) 1)"]),
        ("-x*y", &["(* (- x) y)"]),
        ("!-!x", &["(! (- (! x)))"]),
        ("a - -b", &["(- a (- b))"]),
        ("10 % 4 / 2", &["(/ (% 10 4) 2)"]),
        ("(1 + 2) * 3", &["(* (+ 1 2) 3)"]),
        ("x = y = 3 + 1", &["(= x (= y (+ 3 1)))"]),
        ("(x) = 1", &["(= x 1)"]),
        ("x = a || b", &["(= x (|| a b))"]),
    ]);
}

#[test]
fn constructs() {
    check_trees(&[
        ("f() + g(1) * h(x, y + 1)", &["(+ (f) (* (g 1) (h x (+ y 1))))"]),
        ("if a then b else c + 1", &["(if a b (+ c 1))"]),
        ("1 + if a then b else if c then d else e", &["(+ 1 (if a b (if c d e)))"]),
        ("for i = 1, i < n in f(i)", &["(for i 1 (< i n) 1 (f i))"]),
        ("for i = 1, i < n, 2 in i = i + 1", &["(for i 1 (< i n) 2 (= i (+ i 1)))"]),
        ("var a = 1, b in a + b", &["(var (a 1) (b 0) (+ a b))"]),
        ("2 * var a in a * 3", &["(* 2 (var (a 0) (* a 3)))"]),
        ("var a = 1, b", &["(var (a 1) (b 0))"]),
        ("def f(x y, z) x", &["(def (f x y z) x)"]),
        ("def f() 1", &["(def (f) 1)"]),
        ("extern sin(x)", &["(extern (sin x))"]),
        ("def unary!(v) if v then 0 else 1", &["(def (unary! v) (if v 0 1))"]),
        ("def binary | 5 (a b) a", &["(def (binary| 5 a b) a)"]),
        ("def binary:(a, b) a", &["(def (binary: 30 a b) a)"]),
    ]);
}

#[test]
fn items_need_no_separator() {
    check_trees(&[
        ("", &[]),
        (";;; # nothing\n;", &[]),
        ("1 2;3 x (y)", &["1", "2", "3", "(x y)"]),
        ("def f(x) x f(1) extern g() g()", &["(def (f x) x)", "(f 1)", "(extern (g))", "(g)"]),
        ("1 !2", &["1", "(! 2)"]),
        ("if a then b else c !d", &["(if a b c)", "(! d)"]),
        ("f(1 ! 2)", &["(f (binary! 1 2))"]),
        ("if a then b ! c else d", &["(if a (binary! b c) d)"]),
        ("var a = 1 ! b", &["(var (a (binary! 1 b)))"]),
    ]);
}

#[test]
fn operators_hold_from_their_definition_on() {
    check_trees(&[
        ("1 @ 2 + 3; ~1", &["(+ (binary@ 1 2) 3)", "(unary~ 1)"]),
        ("def binary @ 10 (a b) a\n1 @ 2 + 3", &["(def (binary@ 10 a b) a)", "(binary@ 1 (+ 2 3))"]),
        ("def binary @ (a b) a; 1 @ 2 @ 3", &["(def (binary@ 30 a b) a)", "(binary@ (binary@ 1 2) 3)"]),
        ("def binary + 50 (a b) a; 1 + 2 * 3", &["(def (binary+ 50 a b) a)", "(* (binary+ 1 2) 3)"]),
        ("def binary ^ 50 (a b) a; 1^2^3", &["(def (binary^ 50 a b) a)", "(binary^ (binary^ 1 2) 3)"]),
        ("def unary ~ (x) x; ~1 ^ 2; 1 ~2", &["(def (unary~ x) x)", "(unary~ (^ 1 2))", "1", "(unary~ 2)"]),
        ("def binary & 45 (a b) a; -a & b", &["(def (binary& 45 a b) a)", "(binary& (- a) b)"]),
        ("def binary & 100 (a b) a; -a & b", &["(def (binary& 100 a b) a)", "(binary& (- a) b)"]),
        ("def binary & 60 (a b) a; -a ^ b & c", &["(def (binary& 60 a b) a)", "(- (^ a (binary& b c)))"]),
        ("def binary ^ 60 (a b) a; -a ^ b", &["(def (binary^ 60 a b) a)", "(binary^ (- a) b)"]),
        ("def binary & 50 (a b) a; a & b ^ c", &["(def (binary& 50 a b) a)", "(^ (binary& a b) c)"]),
        ("def binary & 50 (a b) a; a ^ b & c", &["(def (binary& 50 a b) a)", "(binary& (^ a b) c)"]),
        ("def binary = 9 (a b) a; x = y = z", &["(def (binary= 9 a b) a)", "(= x (= y z))"]),
        ("def binary && 6 (a b) a; a && b", &["(def (binary&& 6 a b) a)", "(binary&& a b)"]),
    ]);
}

#[test]
fn an_operator_without_earlier_meaning_means_itself_in_its_body() {
    check_trees(&[
        ("def binary @ 10 (a b) a @ b + 1", &["(def (binary@ 10 a b) (binary@ a (+ b 1)))"]),
        ("def unary ~ (x) (1 ~ 2)", &["(def (unary~ x) (binary~ 1 2))"]),
        ("def unary ~ (x) ~x ~x", &["(def (unary~ x) (unary~ x))", "(unary~ x)"]),
        ("def unary ! (x) !x", &["(def (unary! x) (! x))"]),
        ("def binary + 1 (a b) a + b * 2", &["(def (binary+ 1 a b) (+ a (* b 2)))"]),
    ]);
}

#[test]
fn spans_are_those_of_the_tokens() {
    let text = "def f(x) if x then y = -1 else g(x)";
    let (items, _, _) = parse(text);
    let ItemKind::Definition(prototype, ast) = &items[0].kind else { panic!("{items:?}") };
    let places: Vec<&str> = ast.spans.iter().map(|span| &text[span.range()]).collect();
    assert_eq!(places, ["x", "then", "1", "-", "y", "else", "x", "g", "if"]);
    assert_eq!(&text[prototype.name.span.range()], "f");
    assert_eq!(items[0].span, crate::source::Span::new(0, text.len()));
}

#[test]
fn one_mistake_one_diagnostic() {
    use ErrorCode::{
        BadAssignment, BadPrecedence, MalformedNumber, MalformedText, MisplacedText, ReservedOperator,
        TooDeep, UnclosedParenthesis, UnexpectedEnd, UnexpectedToken, UnknownCharacter,
    };
    let cases: &[(&str, ErrorCode, &str, &str)] = &[
        ("f(1 then", UnexpectedToken, "then", "expected `)` or `,`, found `then`"),
        ("if a b", UnexpectedToken, "b", "expected `then`, found `b`"),
        ("1 +", UnexpectedEnd, "+", "expected an expression after `+`, found the end of the input"),
        ("1 + )", UnexpectedToken, ")", "expected an expression after `+`, found `)`"),
        (")", UnexpectedToken, ")", "this `)` closes nothing"),
        ("1 +\ndef f(x) x", UnexpectedToken, "+", "expected an expression after `+`, found `def`"),
        ("\"it’s", MalformedText, "\"it’s", "`\"it’s` is not a well-formed text"),
        (
            "\"its\" + 1",
            MisplacedText,
            "\"its\"",
            "a text stands only among the arguments of `print` and `write`",
        ),
        ("x ? ", UnexpectedToken, "?", "no binary operator `?` is defined"),
        ("def 1", UnexpectedToken, "1", "expected a name, `unary` or `binary`, found `1`"),
        ("def f", UnexpectedEnd, "", "expected `(`, found the end of the input"),
        ("def f(1)", UnexpectedToken, "1", "expected a name or `)`, found `1`"),
        ("def f(a 1)", UnexpectedToken, "1", "expected a name, `)` or `,`, found `1`"),
        ("def f(a,)", UnexpectedToken, ")", "expected a name, found `)`"),
        ("def unary x (a) a", UnexpectedToken, "x", "expected an operator, found `x`"),
        ("def binary @ (a) a", UnexpectedToken, ")", "expected a name, found `)`"),
        ("for i 1", UnexpectedToken, "1", "expected `=`, found `1`"),
        ("for i = 1 in", UnexpectedToken, "in", "expected `,`, found `in`"),
        ("for i = 1, 2 3", UnexpectedToken, "3", "expected `in` or `,`, found `3`"),
        ("1 + var a b", UnexpectedToken, "b", "expected `in` or `,`, found `b`"),
        ("(1 + 2; ", UnclosedParenthesis, "(", "this `(` is never closed"),
        ("f((1) + 2", UnclosedParenthesis, "(", "this `(` is never closed"),
        ("f(", UnclosedParenthesis, "(", "this `(` is never closed"),
        ("(1 + ", UnexpectedEnd, "+", "expected an expression after `+`, found the end of the input"),
        ("a + x = 1", BadAssignment, "=", "the left side of `=` is not a variable"),
        ("f(x) = 1", BadAssignment, "=", "the left side of `=` is not a variable"),
        ("-x = 1", BadAssignment, "=", "the left side of `=` is not a variable"),
        ("1 = 2 = 3", BadAssignment, "=", "the left side of `=` is not a variable"),
        ("def binary @ 101 (a b) a", BadPrecedence, "101", "`101` is not a precedence"),
        ("def binary @ 0 (a b) a", BadPrecedence, "0", "`0` is not a precedence"),
        ("def binary @ 1.5 (a b) a", BadPrecedence, "1.5", "`1.5` is not a precedence"),
        ("def unary = (a) a", ReservedOperator, "=", "the unary operator `=` cannot be defined"),
        ("import 1", UnexpectedToken, "1", "expected a name, found `1`"),
        ("import a as 1", UnexpectedToken, "1", "expected a name, found `1`"),
        ("a.if(1)", UnexpectedToken, "a.if", "`a.if` is not a name"),
        ("1.2.3", MalformedNumber, "1.2.3", "`1.2.3` is not a well-formed number"),
        ("1 + “", UnknownCharacter, "“", "unknown character `“` (U+201C)"),
    ];
    for (text, code, place, message) in cases {
        assert_eq!(mistakes(text), [(*code, (*place).to_owned(), (*message).to_owned())], "{text}");
    }
    let deep = mistakes(&"(".repeat(10_001));
    assert_eq!((deep.len(), deep[0].0), (1, TooDeep));
}

#[test]
fn second_places_and_advice() {
    let only = |text: &str| parse(text).1.remove(0);
    let unclosed = only("f(1 +\n2 def");
    assert_eq!(unclosed.code, ErrorCode::UnclosedParenthesis);
    assert_eq!(unclosed.labels[0].span.range(), 1..2);
    assert_eq!(unclosed.labels[1].span.range(), 8..11);
    assert_eq!(unclosed.labels[1].message, "expected `)` or `,`, found `def`");
    let inside = only("(1 + (2 * 3) then");
    assert_eq!(inside.labels[1].span.range(), 0..1);
    let advice = [
        ("if a thn b", "did you mean `then`?"),
        ("dfe foo(x y) 1", "did you mean `def`?"),
        ("dfe unary!(x) 1", "did you mean `def`?"),
        ("def unari!(x) 1", "did you mean `unary`?"),
        ("1.2.3", "a number has at most one decimal point"),
        ("1 – 2", "did you mean `-`?"),
        ("if a foo b", "write `if a then b else c`"),
        ("for i in 1", "write `for i = 1, i < 10 in …`"),
        ("for i = 1, i < 2 1", "write `for i = 1, i < 10 in …`"),
        ("for i = 1, i < 2 in for 1", "write `for i = 1, i < 10 in …`"),
        ("0b101", "there are no binary numbers; write `0x5`"),
    ];
    for (text, help) in advice {
        assert_eq!(only(text).help.as_deref(), Some(help), "{text}");
    }
    assert_eq!(only("def f(a a) (b 1)").help, None);
}

#[test]
fn reading_goes_on_at_the_next_item() {
    let (items, diagnostics, names) = parse("1 + ; 2\n def f( def g(x) x ) ; 3; (4 extern h() 5 5.5.5; 6");
    let trees: Vec<_> = items.iter().map(|item| printer::symbolic(item, &names)).collect();
    assert_eq!(trees, ["2\n", "(def (g x) x)\n", "3\n", "(extern (h))\n", "5\n", "6\n"]);
    let codes: Vec<_> = diagnostics.iter().map(|found| found.code).collect();
    assert_eq!(
        codes,
        [
            ErrorCode::UnexpectedToken,
            ErrorCode::UnclosedParenthesis,
            ErrorCode::UnexpectedToken,
            ErrorCode::UnclosedParenthesis,
            ErrorCode::MalformedNumber
        ]
    );
}

#[test]
fn all_lexical_mistakes_of_an_item_are_reported() {
    let found = mistakes("f(1.2.3, 0x then 3é; 1");
    let codes: Vec<_> = found.iter().map(|mistake| mistake.0).collect();
    assert_eq!(
        codes,
        [
            ErrorCode::MalformedNumber,
            ErrorCode::MalformedNumber,
            ErrorCode::UnexpectedToken,
            ErrorCode::MalformedNumber
        ]
    );
    assert_eq!(mistakes("“ ” ( “ ? „").len(), 3);
}

#[test]
fn incomplete_texts() {
    let check = |text: &str| {
        let names = Names::new();
        is_incomplete(&Source::new("test", text), &names, &Operators::new(&names))
    };
    for text in [
        "1 +",
        "def f(x)",
        "def",
        "(1",
        "f(1,",
        "if a then",
        "if a\nthen b",
        "def f(x)\n  if x then\n    1",
        "var a = 1,",
        "for i = 1, i < 3",
        "1; -",
        "50%",
        "x +=",
        "1\n-",
        "def binary $ (a b) a $",
        "def binary $ (a b) a\n1 $",
        "def unary ~ (x) -x\n~",
    ] {
        assert!(check(text), "{text}");
    }
    for text in [
        "",
        "1",
        "var a = 1",
        "1 + )",
        "if a then b",
        "def f(x) if x then 1",
        "if a\nthen b;",
        "if a\nthen b else c",
        "f(1;",
        "1.2.3 +",
        "1 = 2 +",
        "# def",
        "def f(x) x",
        "\"hello\"",
        "'a'",
        "{1}",
        "[1]",
        "sum[1]",
        "x++",
        "5!",
        "5 ! !",
        "x?",
        "|3|",
        "sq(3).",
        "(1 $ ",
        ":?",
        "~",
    ] {
        assert!(!check(text), "{text}");
    }
}

#[test]
fn nesting_is_limited_and_chains_are_not() {
    let nested = |open: &str, middle: &str, close: &str, levels| {
        format!("{}{middle}{}", open.repeat(levels), close.repeat(levels))
    };
    let cases = [
        ("(", "1", ")"),
        ("f(", "1", ")"),
        ("if 1 then 2 else ", "3", ""),
        ("if ", "1", " then 2 else 3"),
        ("for i = 1, 2 in ", "3", ""),
        ("1 + (2 * ", "3", ")"),
    ];
    // A host may call from a thread with a small stack.
    let small = std::thread::Builder::new().stack_size(512 << 10);
    let checks = small.spawn(move || {
        for (open, middle, close) in cases {
            assert_eq!(mistakes(&nested(open, middle, close, 10_000)), [], "{open}");
            let deeper = mistakes(&nested(open, middle, close, 10_001));
            assert_eq!(
                deeper.iter().map(|found| found.0).collect::<Vec<_>>(),
                [ErrorCode::TooDeep],
                "{open}"
            );
        }
        for open in ["(", "f(", "if ", "var a = ", "1+("] {
            assert_eq!(mistakes(&open.repeat(1_000_000)).len(), 1, "{open}");
        }
        for chain in ["1+", "2^", "-", "1=", "1 && "] {
            let (_, diagnostics, _) = parse(&(chain.repeat(100_000) + "1"));
            assert_eq!(diagnostics.len(), usize::from(chain == "1="), "{chain}");
        }
        assert_eq!(mistakes(&format!("f({}1)", "1,".repeat(100_000))), []);
    });
    checks.unwrap().join().unwrap();
}

#[test]
fn the_limit_can_be_set() {
    let names = Names::new();
    let tokens = lexer::lex(&Source::new("test", "((1)); (((1)))"), &names).unwrap();
    let operators = Operators::new(&names);
    let mut parser = Parser::new(&tokens, &names, ParseLimits { max_nesting: 2 });
    assert!(parser.next_item(&operators).unwrap().is_ok());
    let errors = parser.next_item(&operators).unwrap().unwrap_err();
    assert_eq!(errors.diagnostics[0].message, "nested deeper than 2 levels");
    assert!(!errors.at_end);
    assert!(parser.next_item(&operators).is_none());
}
