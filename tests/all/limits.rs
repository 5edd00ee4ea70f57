//! Texts and runs that are large, deep or endless: each ends with its result or
//! a diagnostic, never a crash.
//!
//! Everything runs in a process of its own, which must end by itself with the
//! code 0 or 1, and print nothing but diagnostics.

use crate::binary::{Ran, run_with};
use std::time::Instant;

/// Runs a program from standard input, with arguments.
fn program(arguments: &[&str], text: &str) -> Ran {
    let start = Instant::now();
    let ran = run_with(&[arguments, &["-"]].concat(), text.as_bytes());
    println!("{} bytes took {:?}", text.len(), start.elapsed());
    ran
}

fn value(arguments: &[&str], text: &str) -> String {
    let ran = program(arguments, text);
    assert_eq!((ran.code, ran.err()), (Some(0), ""));
    ran.out().trim_end().to_owned()
}

/// Returns the codes of the diagnostics.
fn codes(ran: &Ran) -> Vec<String> {
    assert_eq!(ran.code, Some(1), "{}", ran.err());
    let codes = |line: &str| Some(line.strip_prefix("error[")?.split(']').next()?.to_owned());
    ran.err().lines().filter_map(codes).collect()
}

#[test]
fn a_sum_of_a_hundred_thousand_terms() {
    let terms: Vec<String> = (1..=100_000).map(|i| i.to_string()).collect();
    assert_eq!(value(&[], &terms.join(" + ")), "5000050000");
    let terms: Vec<String> = (1..=100_000).map(|i| format!("x*{i}")).collect();
    assert_eq!(value(&[], &format!("def f(x) {}; f(2)", terms.join(" + "))), "10000100000");
}

#[test]
fn long_chains_of_other_operators() {
    assert_eq!(value(&[], &format!("1{}", " && 1".repeat(20_000))), "1");
    assert_eq!(value(&[], &format!("0{} || 7", " || 0".repeat(20_000))), "1");
    assert_eq!(value(&[], &format!("1{}", " == 1".repeat(20_000))), "1");
    let user =
        format!("def binary: 1 (x y) y; 0{}", (1..=5_000).map(|i| format!(" : {i}")).collect::<String>());
    assert_eq!(value(&[], &user), "5000");
}

#[test]
fn ten_thousand_parameters() {
    let parameters: String = (0..10_000).map(|i| format!("p{i} ")).collect();
    let arguments: Vec<String> = (0..10_000).map(|i| i.to_string()).collect();
    let text = format!(
        "def f({parameters}) p0 + p1*10 + p4999 + p9999; def g() f({}); f({}); g()",
        arguments.join(", "),
        arguments.join(",")
    );
    for mode in [["--lazy", "-O0"], ["--lazy", "-O2"], ["--eager", "-O2"]] {
        assert_eq!(value(&mode, &text), "15008\n15008");
    }
    let short = format!("def f({parameters}) p0; f({})", arguments[1..].join(","));
    assert_eq!(codes(&program(&[], &short)), ["E0205"]);
}

#[test]
fn a_million_open_parentheses() {
    assert_eq!(codes(&program(&[], &"(".repeat(1_000_000))), ["E0106"]);
    let closed = format!("{}1{}", "(".repeat(1_000_000), ")".repeat(1_000_000));
    assert_eq!(codes(&program(&[], &closed)), ["E0106"]);
    assert_eq!(codes(&program(&[], &format!("f({}", "f(".repeat(500_000)))), ["E0106"]);
    assert_eq!(value(&[], &format!("{}1", "-".repeat(1_000_000))), "1", "a chain is no nesting");
    assert_eq!(codes(&program(&[], &"-".repeat(1_000_000))), ["E0104"]);
    assert_eq!(codes(&program(&[], &"if ".repeat(500_000))), ["E0106"]);
}

#[test]
fn nested_up_to_the_limit() {
    let depth = 9_990;
    let ifs: String = (0..depth).map(|i| format!("if x == {i} then {} else ", i * 3)).collect();
    let text = format!("def f(x) {ifs} -1; f(0); f({}); f({depth})", depth - 1);
    assert_eq!(value(&[], &text), format!("0\n{}\n-1", (depth - 1) * 3));
    let vars: String = (0..depth)
        .map(|i| {
            format!("var v{i} = {} in ", if i == 0 { "x".to_owned() } else { format!("v{} + 1", i - 1) })
        })
        .collect();
    assert_eq!(value(&[], &format!("def f(x) {vars} v{}; f(1)", depth - 1)), depth.to_string());
    let parentheses = format!("{}5{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(value(&[], &parentheses), "5");
    let right = format!("2{}", " ^ 1".repeat(depth));
    assert_eq!(value(&[], &right), "2");
    let assignments = format!("var a; {}3", "a = ".repeat(depth));
    assert_eq!(value(&[], &assignments), "3");
}

#[test]
fn nested_beyond_the_limit() {
    let depth = 20_000;
    for text in [
        format!("{}2", "if 1 then 1 else ".repeat(depth)),
        format!("{}2", "var a in ".repeat(depth)),
        format!("{}2", "for i = 1, 0 in ".repeat(depth)),
        format!("{}1{}", "sin(".repeat(depth), ")".repeat(depth)),
    ] {
        let ran = program(&[], &format!("{text}; 1 + 1"));
        assert_eq!(codes(&ran), ["E0106"]);
        assert_eq!(ran.out(), "2\n", "the next item works");
    }
}

#[test]
fn nested_calls_and_loops() {
    let calls = format!("{}0{}", "cos(".repeat(2_000), ")".repeat(2_000));
    assert_eq!(value(&[], &calls), "0.7390851332151607");
    let loops: String = (0..60).map(|i| format!("for i{i} = 1, 0 in ")).collect();
    assert_eq!(value(&[], &format!("{loops} printd(i0 + i59)")), "2\n0");
}

#[test]
fn a_name_of_a_million_letters() {
    let name = "a".repeat(1_000_000);
    assert_eq!(value(&[], &format!("def {name}(x) x + 1; {name}(1)")), "2");
    assert_eq!(value(&[], &format!("var {name} = 3; {name}")), "3");
    let unknown = program(&[], &format!("1; {name}; 2"));
    assert_eq!((codes(&unknown), unknown.out()), (vec!["E0201".to_owned()], "1\n2\n"));
    let undefined = program(&[], &format!("{name}(1)"));
    assert_eq!(codes(&undefined), ["E0301"]);
}

#[test]
fn numbers_and_comments_of_a_million_characters() {
    assert_eq!(value(&[], &format!("0.{}1", "0".repeat(1_000_000))), "0");
    assert_eq!(value(&[], &"9".repeat(1_000_000)), "inf");
    assert_eq!(value(&[], &format!("# {}\n1", "x".repeat(1_000_000))), "1");
    assert_eq!(value(&[], &format!("{}1", "\n".repeat(1_000_000))), "1");
    assert_eq!(value(&[], &format!("{}1", ";".repeat(1_000_000))), "1");
}

#[test]
fn many_items() {
    let text: String = (0..20_000).map(|i| format!("def f{i}(x) f{}(x) + {i};", i / 2)).collect();
    let ran = program(&["--stats"], &format!("def f0(x) x; {text} def f0(x) x * 2; f19999(1)"));
    let sum = std::iter::successors(Some(19_999_i32), |i| (*i > 1).then_some(i / 2)).sum::<i32>() + 2;
    assert_eq!(ran.out(), format!("{sum}\n"));
    assert!(ran.err().contains("\"ir_generated\":16,"), "{}", ran.err());
}

#[test]
fn ten_thousand_errors_are_all_told() {
    let ran = program(&[], &"1 + ;\n".repeat(10_000));
    assert_eq!(codes(&ran).len(), 10_000);
}

#[test]
fn endless_recursion() {
    for mode in [["--lazy", "-O0"], ["--lazy", "-O2"], ["--eager", "-O3"]] {
        for text in [
            "def f(n) 1 + f(n); f(1)",
            "def f(n) f(n + 1) + f(n); f(1)",
            "def a(n) 1 + b(n); def b(n) 1 + a(n); a(1)",
            "def a(n) 1 + later(n); a(0); def later(n) if n < 1000 then 1 + later(n + 1) else a(0); a(0)",
            "def f(a b c d e f g h i j k) 1 + f(b, a, c, d, e, f, g, h, i, j, k); f(1,2,3,4,5,6,7,8,9,10,11)",
            "def unary~(x) 1 + ~x; ~1",
            "def f(n) sin(f(n)); f(1)",
            "def f(n) var a = n in (for i = 1, i < 3 in a = a + f(a)) + a; f(1)",
        ] {
            let ran = program(&[&mode[..], &["--stack-size", "4"]].concat(), &format!("{text}; 1 + 1"));
            assert_eq!(
                codes(&ran).last().map(String::as_str),
                Some("E0303"),
                "{mode:?} {text}: {}",
                ran.err()
            );
            assert!(ran.out().ends_with("2\n"), "{text}: the next item works");
        }
    }
}

#[test]
fn deep_recursion_that_ends() {
    let text = "def f(n) if n < 1 then 0 else 1 + f(n - 1); f(1000000)";
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        assert_eq!(value(&[level], text), "1000000");
    }
    let pending = "def f(n) if n < 1 then g(n) else 1 + f(n - 1); def g(n) h(n) + 1; def h(n) n; f(1000000)";
    assert_eq!(value(&[], pending), "1000001");
}

#[test]
fn a_large_loop_body() {
    let body: Vec<String> = (0..5_000).map(|i| format!("(a = a + {i})")).collect();
    let text = format!("def f(n) var a in (for i = 1, i < n in {}) + a; f(2)", body.join(" + "));
    assert_eq!(value(&[], &text), (2 * 4999 * 5000 / 2).to_string());
}
