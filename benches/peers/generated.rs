//! Programs too large to keep, generated for each run.

use std::fmt::Write as _;

/// Returns `count` definitions, ten of them called.
pub fn definitions(count: usize, language: Language) -> String {
    let mut text = String::new();
    for index in 0..count {
        let next = (index + 1) % count;
        let _ = match language {
            Language::Kal => writeln!(
                text,
                "def f{index}(x y) if x < y then x * {index} + y * 2.5 - 1 else (if x == 1e9 then f{next}(y, x) else x / 3.25)"
            ),
            Language::JavaScript => writeln!(
                text,
                "function f{index}(x, y) {{ return x < y ? x * {index} + y * 2.5 - 1 : (x == 1e9 ? f{next}(y, x) : x / 3.25) }}"
            ),
            Language::Lua => writeln!(
                text,
                "function f{index}(x, y) if x < y then return x * {index} + y * 2.5 - 1 elseif x == 1e9 then return f{next}(y, x) else return x / 3.25 end end"
            ),
        };
    }
    let calls: Vec<String> = (0..10).map(|index| format!("f{}({index}, 5)", index * (count / 10))).collect();
    let sum = calls.join(" + ");
    let _ = match language {
        Language::Kal => writeln!(text, "{sum}"),
        Language::JavaScript => writeln!(text, "console.log({sum})"),
        Language::Lua => writeln!(text, "print({sum})"),
    };
    text
}

/// Returns `count` functions, each called before the next one is defined.
#[allow(dead_code, reason = "only the comparison with peers has a use for it")]
pub fn functions_and_calls(count: usize, language: Language) -> String {
    let mut text = match language {
        Language::Kal => "var total = 0\n",
        Language::JavaScript => "let total = 0\n",
        Language::Lua => "local total = 0\n",
    }
    .to_owned();
    for index in 0..count {
        let (body, call) =
            (format!("x * {index} + y / {}", index % 7 + 1), format!("f{index}({}, 5)", index % 13));
        let _ = match language {
            Language::Kal => writeln!(text, "def f{index}(x y) {body}\ndo total = total + {call}"),
            Language::JavaScript => {
                writeln!(text, "function f{index}(x, y) {{ return {body} }}\ntotal = total + {call}")
            }
            Language::Lua => {
                writeln!(text, "function f{index}(x, y) return {body} end\ntotal = total + {call}")
            }
        };
    }
    text + match language {
        Language::Kal => "total\n",
        Language::JavaScript => "console.log(total)\n",
        Language::Lua => "print(total)\n",
    }
}

#[derive(Clone, Copy)]
pub enum Language {
    Kal,
    JavaScript,
    Lua,
}

/// How many functions one function calls below.
const CALLS: usize = 100;

/// Returns `count` functions, each called once, outside of all branches.
pub fn functions(count: usize) -> String {
    functions_called(count, Language::Kal, |callee, call| format!("f{callee}(z, {call})"))
}

/// Returns the same functions, each called once in a branch, so that no call is
/// certain before it happens.
pub fn functions_in_branches(count: usize, language: Language) -> String {
    functions_called(count, language, |callee, call| match language {
        Language::Kal => format!("(if z > 0 then f{callee}(z, {call}) else z)"),
        Language::JavaScript => format!("(z > 0 ? f{callee}(z, {call}) : z)"),
        Language::Lua => format!("(z > 0 and f{callee}(z, {call}) or z)"),
    })
}

/// Returns the definitions among these functions alone.
#[allow(dead_code, reason = "the comparison with peers has no use for it")]
pub fn definitions_in_branches(count: usize) -> String {
    let text = functions_in_branches(count, Language::Kal);
    text.lines().filter(|line| line.starts_with("def")).map(|line| line.to_owned() + "\n").collect()
}

fn functions_called(count: usize, language: Language, call: impl Fn(usize, usize) -> String) -> String {
    let mut text = String::new();
    for index in 0..count {
        let (a, b) = (index % 13, index % 7 + 1);
        let (one, other) = (format!("x * {index} + y * 2.5"), format!("(x - y) * {a} + x / {b}"));
        let _ = match language {
            Language::Kal => writeln!(text, "def f{index}(x y) if x < y then {one} else {other}"),
            Language::JavaScript => {
                writeln!(text, "function f{index}(x, y) {{ return x < y ? {one} : {other} }}")
            }
            Language::Lua => writeln!(
                text,
                "function f{index}(x, y) if x < y then return {one} else return {other} end end"
            ),
        };
    }
    for group in 0..count / CALLS {
        let calls: Vec<_> = (0..CALLS).map(|index| call(group * CALLS + index, index)).collect();
        let sum = calls.join(" + ");
        let _ = match language {
            Language::Kal => writeln!(text, "def group{group}(z) {sum}"),
            Language::JavaScript => writeln!(text, "function group{group}(z) {{ return {sum} }}"),
            Language::Lua => writeln!(text, "function group{group}(z) return {sum} end"),
        };
    }
    let groups: Vec<_> = (0..count / CALLS).map(|group| format!("group{group}(50)")).collect();
    let sum = groups.join(" + ");
    let _ = match language {
        Language::Kal => writeln!(text, "{sum}"),
        Language::JavaScript => writeln!(text, "console.log({sum})"),
        // As many digits as tell one double from the next.
        Language::Lua => writeln!(text, "print(string.format('%.17g', {sum}))"),
    };
    text
}

/// Returns the same functions in C, each of which may be replaced (it has
/// external linkage).
pub fn functions_in_c(count: usize) -> String {
    let mut text = String::new();
    for index in 0..count {
        let (a, b) = (index % 13, index % 7 + 1);
        let _ = writeln!(
            text,
            "double f{index}(double x, double y) {{ return x < y ? x * {index} + y * 2.5 : (x - y) * {a} + x / {b}; }}"
        );
    }
    for group in 0..count / CALLS {
        let calls: Vec<_> = (0..CALLS).map(|call| format!("f{}(z, {call})", group * CALLS + call)).collect();
        let _ = writeln!(text, "double group{group}(double z) {{ return {}; }}", calls.join(" + "));
    }
    text
}

/// Returns `count` expressions.
pub fn expressions(count: usize) -> String {
    (0..count).map(|index| format!("{index} * 2 + {};\n", index % 7)).collect()
}

/// Returns a definition of another shape each time, and a call, `count` times.
pub fn reshapings(count: usize) -> String {
    let mut text = String::new();
    for index in 0..count {
        let body: String = (0..10).map(|bit| if index >> bit & 1 == 0 { " + x" } else { " * x" }).collect();
        let _ = writeln!(text, "def f(x) x{body} - {};\nf({});", index / 1024, index % 5);
    }
    text
}

/// Returns a definition and a call, `count` times.
pub fn redefinitions(count: usize) -> String {
    (0..count).map(|index| format!("def f(x) x * {index} + 1;\nf({});\n", index % 5)).collect()
}

/// Returns a program of `count` items that call a function with a loop.
pub fn calls_of_a_loop(count: usize) -> String {
    let definitions = "def g(x) x * 0.5 + 1\nvar t = 0\ndef h() for i = 1, i < 20000 in t = t + g(i)\n";
    format!("{definitions}{}t\n", "do h()\n".repeat(count))
}
