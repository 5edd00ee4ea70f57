//! The workloads, the programs that do them, and what is aimed at.

use crate::contestant::Contestant;
use crate::generated::{self, Language};
use crate::prompt::Typed;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A workload.
pub struct Row {
    pub name: &'static str,
    pub contestants: Vec<Contestant>,
    pub targets: Vec<Target>,
    /// Short ones are run more often.
    pub rounds_factor: usize,
}

/// What is aimed at: a part of what a peer takes, or a number.
pub struct Target {
    pub contestant: &'static str,
    pub limit: Limit,
}

#[derive(Clone, Copy)]
pub enum Limit {
    /// At most this many times what this peer takes.
    Ratio(f64, &'static str),
    Seconds(f64),
    /// At most this many seconds more than this peer takes.
    MoreSeconds(f64, &'static str),
    Megabytes(f64),
}

const KAL: &str = "kal";
const HOME: &str = env!("CARGO_MANIFEST_DIR");

/// Returns every row; programs are written and compiled to `folder`.
pub fn all(folder: &Path) -> Vec<Row> {
    installed_kal(folder);
    vec![
        start(folder),
        steady("fib", "fib(40), recursive", "gcc -O2", 1.0, folder),
        steady("mandelbrot", "Mandelbrot, 1000 x 1000 x 255", "clang -O3", 1.05, folder),
        steady("sum", "sum of 1/i² to 5·10⁸", "clang -O3", 1.02, folder),
        steady("chain", "ten tiny functions, called 10⁸ times", "clang -O3", 1.3, folder),
        kernel("operators", "the tutorial's Mandelbrot, with its own operators", 1.15, "clang -O2", folder),
        kernel("fibi", "the tutorial's fibi(4·10⁸)", 1.05, "clang -O2", folder),
        kernel("tak", "tak(30, 20, 10)", 1.05, "gcc -O2", folder),
        kernel("collatz", "Collatz to 3·10⁵", 1.05, "gcc -O2", folder),
        collatz(folder),
        kernel("primes", "primes to 3·10⁵ by division", 1.05, "gcc -O2", folder),
        kernel("black_scholes", "Black–Scholes, 10⁷ calls", 1.1, "clang -O2", folder),
        kernel("gcd", "greatest common divisors, by a recursion", 1.05, "gcc -O2", folder),
        kernel("twins", "twin primes, the second if the first is one", 1.05, "gcc -O2", folder),
        kernel("simpson", "Simpson's rule with 2·10⁷ steps", 1.05, "gcc -O2", folder),
        typed("first fib(25) at the prompt", 0.005, FIB, "luajit"),
        typed("first loop of 10⁶ at the prompt", 0.006, LOOP, "luajit"),
        typed("first call of a chain of 20 functions at the prompt", 0.005, CHAIN, "luajit"),
        first("first fib(25), a process", FIB, folder),
        first("first loop of 10⁶, a process", LOOP, folder),
        first("first call of a chain of 20 functions, a process", CHAIN, folder),
        definitions(folder),
        functions(folder),
        functions_in_branches(folder),
        second_start(
            "10,000 functions, each called once in a branch, second start",
            &[Limit::Seconds(0.01), Limit::Megabytes(16.0)],
            &|language| generated::functions_in_branches(10_000, language),
            &[Language::Lua, Language::JavaScript],
            folder,
        ),
        second_start(
            "100,000 definitions, 10 called, second start",
            &[Limit::Seconds(0.02), Limit::Megabytes(30.0)],
            &|language| generated::definitions(100_000, language),
            &[Language::JavaScript],
            folder,
        ),
        second_start(
            "10,000 functions, each called before the next is defined, second start",
            &[Limit::Ratio(0.6, "kal --cache off")],
            &|language| generated::functions_and_calls(10_000, language),
            &[Language::Lua, Language::JavaScript],
            folder,
        ),
        second_start(
            "the tutorial's Mandelbrot, second start",
            &[Limit::Seconds(0.25)],
            &|_| include_str!("../workloads/operators.kal").to_owned(),
            &[],
            folder,
        ),
        edited(folder),
        imported(folder),
        cold(
            "10,000 functions, each called once in a branch, first start",
            &generated::functions_in_branches(10_000, Language::Kal),
            folder,
        ),
        cold(
            "100,000 definitions, 10 called, first start",
            &generated::definitions(100_000, Language::Kal),
            folder,
        ),
        interpreted_start(),
        interpreted("fib", "fib(40), interpreted"),
        interpreted("sum", "sum of 1/i² to 5·10⁸, interpreted"),
        interpreted("chain", "ten tiny functions, called 10⁸ times, interpreted"),
        tiered_file("10,000 functions, each called once, tiered", 0.1, &generated::functions(10_000), folder),
        tiered("100,000 expressions from a pipe, tiered", 0.3, &generated::expressions(100_000), folder),
        steady_tiered("fib32", "fib(32), tiered"),
        tiered("10,000 times redefined and called, tiered", 0.1, &generated::redefinitions(10_000), folder),
        tiered_items(folder),
        steady_tiered("fib", "fib(40), tiered"),
        steady_tiered("mandelbrot", "Mandelbrot, 1000 x 1000 x 255, tiered"),
        steady_tiered("sum", "sum of 1/i² to 5·10⁸, tiered"),
        steady_tiered("chain", "ten tiny functions, called 10⁸ times, tiered"),
        debugged("fib", "fib(40) in the debugger, a breakpoint not hit", folder),
        debugged("mandelbrot", "Mandelbrot in the debugger, a breakpoint not hit", folder),
        pipe("10,000 expressions from a pipe", 1.5, &generated::expressions(10_000), folder),
        pipe("100,000 expressions from a pipe", 0.6, &generated::expressions(100_000), folder),
        pipe(
            "10,000 times redefined, another shape, and called",
            5.0,
            &generated::reshapings(10_000),
            folder,
        ),
        pipe("10,000 times redefined and called", 1.0, &generated::redefinitions(10_000), folder),
    ]
}

impl Row {
    /// Creates the row that is measured inside this process, last.
    pub fn calling() -> Self {
        Self { name: "a call from Rust", contestants: Vec::new(), targets: Vec::new(), rounds_factor: 1 }
    }
}

fn start(folder: &Path) -> Row {
    Row {
        name: "start: print 1+1",
        contestants: vec![
            Contestant::new(KAL, kal(&["-e", "1+1"])),
            Contestant::new("LLVM toy, static", with_llvm("toy", true, &[], folder)),
            Contestant::new("LLVM toy, dynamic", with_llvm("toy", false, &[], folder)),
            Contestant::new("luajit", tool(&["luajit", "-e", "print(1+1)"])),
            Contestant::new("node", tool(&["node", "-p", "1+1"])),
            Contestant::new("python", tool(&["python3", "-c", "print(1+1)"])),
        ],
        targets: vec![
            Target { contestant: KAL, limit: Limit::Ratio(0.75, "LLVM toy, static") },
            Target { contestant: KAL, limit: Limit::Megabytes(30.0) },
        ],
        rounds_factor: 8,
    }
}

fn steady(file: &'static str, name: &'static str, peer: &'static str, ratio: f64, folder: &Path) -> Row {
    let source = |extension: &str| workload(&format!("{file}.{extension}"));
    let c = source("c");
    Row {
        name,
        contestants: vec![
            Contestant::new(KAL, kal(&[&source("kal")])),
            Contestant::new("gcc -O2", compiled("gcc", "-O2", &c, folder)),
            Contestant::new("clang -O3", compiled("clang-22", "-O3", &c, folder)),
            Contestant::new("luajit", tool(&["luajit", &source("lua")])),
            Contestant::new("node", tool(&["node", &source("js")])),
        ],
        targets: vec![Target { contestant: KAL, limit: Limit::Ratio(ratio, peer) }],
        rounds_factor: 1,
    }
}

/// Returns a kernel in every mode that compiles.
fn kernel(file: &'static str, name: &'static str, ratio: f64, peer: &'static str, folder: &Path) -> Row {
    let (program, c) = (workload(&format!("{file}.kal")), workload(&format!("{file}.c")));
    let limit = || Limit::Ratio(ratio, peer);
    Row {
        name,
        contestants: vec![
            Contestant::new(KAL, kal(&[&program])),
            Contestant::new(EAGER, kal(&["--eager", &program])),
            Contestant::new(TIERED, kal(&["--tiered", &program])),
            Contestant::new("gcc -O2", compiled("gcc", "-O2", &c, folder)),
            Contestant::new("clang -O2", compiled("clang-22", "-O2", &c, folder)),
        ],
        targets: vec![
            Target { contestant: KAL, limit: limit() },
            Target { contestant: EAGER, limit: limit() },
            Target { contestant: TIERED, limit: limit() },
            Target { contestant: EAGER, limit: Limit::Ratio(1.05, KAL) },
        ],
        rounds_factor: 1,
    }
}

/// Returns the row that compares `fmod` with `%`.
fn collatz(folder: &Path) -> Row {
    const FMOD: &str = "kal, fmod";
    let row = kernel("collatz", "Collatz to 3·10⁵, with fmod", 1.05, "gcc -O2", folder);
    let fmod = workload("collatz_fmod.kal");
    Row {
        contestants: vec![
            Contestant::new(KAL, kal(&[&workload("collatz.kal")])),
            Contestant::new(FMOD, kal(&[&fmod])),
            Contestant::new(EAGER, kal(&["--eager", &fmod])),
        ],
        targets: vec![
            Target { contestant: FMOD, limit: Limit::Ratio(1.05, KAL) },
            Target { contestant: EAGER, limit: Limit::Ratio(1.05, KAL) },
        ],
        ..row
    }
}

/// What is called first: definitions, a call, its answer; in Kal and in Lua.
struct FirstCall {
    kal: Typed,
    lua: Typed,
}

const FIB: FirstCall = FirstCall {
    kal: Typed {
        before: &["def fib(n) if n < 2 then n else fib(n-1) + fib(n-2)"],
        line: "fib(25)",
        answer: "75025",
    },
    lua: Typed {
        before: &["function fib(n) if n < 2 then return n else return fib(n-1) + fib(n-2) end end"],
        line: "print(fib(25))",
        answer: "75025",
    },
};

const LOOP: FirstCall = FirstCall {
    kal: Typed {
        before: &["def sum(n) var s = 0 in (for i = 1, i < n in s = s + 1 / (i * i)) + s"],
        line: "sum(1000000)",
        answer: "1.6449330668",
    },
    lua: Typed {
        before: &["function sum(n) local s = 0; for i = 1, n do s = s + 1 / (i * i) end return s end"],
        line: "print(sum(1000000))",
        answer: "1.6449330668",
    },
};

const CHAIN: FirstCall = FirstCall {
    kal: Typed {
        before: &[
            "def a0(x) x + 1; def a1(x) a0(x) * 2; def a2(x) a1(x) - x; def a3(x) a2(x) + 3; def a4(x) a3(x) / 2",
            "def a5(x) a4(x) + 1; def a6(x) a5(x) * 2; def a7(x) a6(x) - x; def a8(x) a7(x) + 3; def a9(x) a8(x) / 2",
            "def b0(x) a9(x) + 1; def b1(x) b0(x) * 2; def b2(x) b1(x) - x; def b3(x) b2(x) + 3; def b4(x) b3(x) / 2",
            "def b5(x) b4(x) + 1; def b6(x) b5(x) * 2; def b7(x) b6(x) - x; def b8(x) b7(x) + 3; def b9(x) b8(x) / 2",
        ],
        line: "b9(8191) * 1000",
        answer: "-8181000",
    },
    lua: Typed {
        before: &[
            "function a0(x) return x + 1 end function a1(x) return a0(x) * 2 end function a2(x) return a1(x) - x end",
            "function a3(x) return a2(x) + 3 end function a4(x) return a3(x) / 2 end",
            "function a5(x) return a4(x) + 1 end function a6(x) return a5(x) * 2 end function a7(x) return a6(x) - x end",
            "function a8(x) return a7(x) + 3 end function a9(x) return a8(x) / 2 end",
            "function b0(x) return a9(x) + 1 end function b1(x) return b0(x) * 2 end function b2(x) return b1(x) - x end",
            "function b3(x) return b2(x) + 3 end function b4(x) return b3(x) / 2 end",
            "function b5(x) return b4(x) + 1 end function b6(x) return b5(x) * 2 end function b7(x) return b6(x) - x end",
            "function b8(x) return b7(x) + 3 end function b9(x) return b8(x) / 2 end",
        ],
        line: "print(b9(8191) * 1000)",
        answer: "-8181000",
    },
};

/// Returns the row of a first call at the prompt.
fn typed(name: &'static str, seconds: f64, call: FirstCall, peer: &'static str) -> Row {
    let prompt = |mode| kal(&["repl", "--no-init", "--quiet", mode]);
    Row {
        name,
        contestants: vec![
            Contestant::new(KAL, prompt("--lazy")).with_typed(call.kal),
            Contestant::new(TIERED, prompt("--tiered")).with_typed(call.kal),
            Contestant::new(peer, tool(&["luajit", "-i"])).with_typed(call.lua),
        ],
        targets: vec![Target { contestant: KAL, limit: Limit::Seconds(seconds) }],
        rounds_factor: 1,
    }
}

/// Returns the row of a first call in a process.
fn first(name: &'static str, call: FirstCall, folder: &Path) -> Row {
    let file = |typed: Typed, extension: &str| {
        let text = format!("{}\n{}\n", typed.before.join("\n"), typed.line);
        write(folder, &format!("first{}.{extension}", name.len()), &text)
    };
    let (program, lua) = (file(call.kal, "kal"), file(call.lua, "lua"));
    Row {
        name,
        contestants: vec![
            Contestant::new(KAL, kal(&[&program])),
            Contestant::new(TIERED, kal(&["--tiered", &program])),
            Contestant::new("luajit", tool(&["luajit", &lua])),
        ],
        targets: Vec::new(),
        rounds_factor: 4,
    }
}

const EAGER: &str = "kal --eager";
const INTERPRETED: &str = "kal --interpret";
const TIERED: &str = "kal --tiered";

fn interpreted_start() -> Row {
    Row {
        name: "start: print 1+1, interpreted",
        contestants: vec![
            Contestant::new(INTERPRETED, kal(&["--interpret", "-e", "1+1"])),
            Contestant::new("luajit", tool(&["luajit", "-e", "print(1+1)"])),
            Contestant::new("python", tool(&["python3", "-c", "print(1+1)"])),
        ],
        targets: vec![
            Target { contestant: INTERPRETED, limit: Limit::Ratio(2.5, "luajit") },
            Target { contestant: INTERPRETED, limit: Limit::Megabytes(16.0) },
        ],
        rounds_factor: 8,
    }
}

fn interpreted(file: &'static str, name: &'static str) -> Row {
    let source = |extension: &str| workload(&format!("{file}.{extension}"));
    Row {
        name,
        contestants: vec![
            Contestant::new(INTERPRETED, kal(&["--interpret", &source("kal")])),
            Contestant::new("luajit -joff", tool(&["luajit", "-joff", &source("lua")])),
        ],
        targets: vec![Target { contestant: INTERPRETED, limit: Limit::Ratio(1.0, "luajit -joff") }],
        rounds_factor: 1,
    }
}

fn steady_tiered(file: &'static str, name: &'static str) -> Row {
    let program = workload(&format!("{file}.kal"));
    Row {
        name,
        contestants: vec![
            Contestant::new(TIERED, kal(&["--tiered", &program])),
            Contestant::new("kal --lazy", kal(&["--lazy", &program])),
        ],
        targets: vec![Target { contestant: TIERED, limit: Limit::Ratio(1.15, "kal --lazy") }],
        rounds_factor: 1,
    }
}

/// Returns items that each call a function with a loop, which is hot before its code has come.
fn tiered_items(folder: &Path) -> Row {
    let program = write(folder, "tiered-items.kal", &generated::calls_of_a_loop(200));
    Row {
        name: "200 items that call a loop of 20,000, tiered",
        contestants: vec![
            Contestant::new(TIERED, kal(&["--tiered", &program])),
            Contestant::new(INTERPRETED, kal(&["--interpret", &program])),
        ],
        targets: vec![Target { contestant: TIERED, limit: Limit::Ratio(1.0, INTERPRETED) }],
        rounds_factor: 4,
    }
}

/// Returns the debugger, with a breakpoint in a function that is never called.
fn debugged(file: &str, name: &'static str, folder: &Path) -> Row {
    const DEBUGGED: &str = "kal debug";
    let source = std::fs::read_to_string(workload(&format!("{file}.kal"))).unwrap_or_default();
    let program = write(folder, &format!("debugged-{file}.kal"), &format!("def rarely(x) x\n{source}"));
    let commands = write(folder, "debugger.txt", "bp rarely\nc\n");
    Row {
        name,
        contestants: vec![
            Contestant::new(DEBUGGED, kal(&["debug", "--lazy", &program])).with_input(Path::new(&commands)),
            Contestant::new("kal --lazy", kal(&["--lazy", &program])),
        ],
        targets: vec![Target { contestant: DEBUGGED, limit: Limit::Ratio(1.1, "kal --lazy") }],
        rounds_factor: 1,
    }
}

fn tiered_file(name: &'static str, seconds: f64, text: &str, folder: &Path) -> Row {
    let program = write(folder, &format!("tiered{}.kal", text.len()), text);
    let contestants = vec![Contestant::new(TIERED, kal(&["--tiered", &program]))];
    let targets = vec![Target { contestant: TIERED, limit: Limit::Seconds(seconds) }];
    Row { name, contestants, targets, rounds_factor: 2 }
}

fn tiered(name: &'static str, seconds: f64, text: &str, folder: &Path) -> Row {
    let input = PathBuf::from(write(folder, &format!("tiered{}.kal", text.len()), text));
    let contestants = vec![Contestant::new(TIERED, kal(&["--tiered", "-"])).with_input(&input)];
    let targets = vec![Target { contestant: TIERED, limit: Limit::Seconds(seconds) }];
    Row { name, contestants, targets, rounds_factor: 2 }
}

fn definitions(folder: &Path) -> Row {
    const COUNT: usize = 100_000;
    let file = |name: &str, language| write(folder, name, &generated::definitions(COUNT, language));
    let (kal_file, js) =
        (file("definitions.kal", Language::Kal), file("definitions.js", Language::JavaScript));
    let lua = file("definitions.lua", Language::Lua);
    Row {
        name: "100,000 definitions, 10 called",
        contestants: vec![
            Contestant::new(KAL, kal(&[&kal_file])),
            Contestant::new("node", tool(&["node", &js])),
            Contestant::new("luajit, in chunks", tool(&["luajit", &workload("chunks.lua"), &lua])),
        ],
        targets: vec![
            Target { contestant: KAL, limit: Limit::Seconds(0.35) },
            Target { contestant: KAL, limit: Limit::Megabytes(130.0) },
        ],
        rounds_factor: 1,
    }
}

fn functions(folder: &Path) -> Row {
    const COUNT: usize = 10_000;
    let program = write(folder, "functions.kal", &generated::functions(COUNT));
    let c = write(folder, "functions.c", &generated::functions_in_c(COUNT));
    let clang = |level: &str| {
        let object = folder.join("functions.o");
        tool(&["clang-22", level, "-fPIC", "-c", &c, "-o", &object.to_string_lossy()])
    };
    Row {
        name: "10,000 functions, each called once",
        contestants: vec![
            Contestant::new(KAL, kal(&[&program])),
            Contestant::new("kal --eager -O0", kal(&["--eager", "-O0", &program])),
            Contestant::new("kal --eager -O2", kal(&["--eager", "-O2", &program])),
            Contestant::new("LLJIT, a module for each", with_llvm("lljit", true, &["10000"], folder)),
            Contestant::new("clang -O0, compile only", clang("-O0")),
            Contestant::new("clang -O2, compile only", clang("-O2")),
        ],
        targets: vec![
            Target { contestant: KAL, limit: Limit::Seconds(2.5) },
            Target { contestant: KAL, limit: Limit::Ratio(0.5, "LLJIT, a module for each") },
            Target { contestant: "kal --eager -O0", limit: Limit::Ratio(0.6, "clang -O0, compile only") },
            Target { contestant: "kal --eager -O2", limit: Limit::Ratio(0.35, "clang -O2, compile only") },
        ],
        rounds_factor: 1,
    }
}

/// Returns the row where no call is certain, so that the lazy mode compiles
/// every function by itself.
fn functions_in_branches(folder: &Path) -> Row {
    const COUNT: usize = 10_000;
    let program = write(folder, "branches.kal", &generated::functions_in_branches(COUNT, Language::Kal));
    Row {
        name: "10,000 functions, each called once in a branch",
        contestants: vec![
            Contestant::new(KAL, kal(&[&program])),
            Contestant::new("kal --tiered", kal(&["--tiered", &program])),
            Contestant::new("LLJIT, a module for each", with_llvm("lljit", true, &["10000"], folder)),
        ],
        targets: vec![Target { contestant: KAL, limit: Limit::Seconds(1.6) }],
        rounds_factor: 1,
    }
}

/// A program whose text and code are in the cache from the second round on, beside one
/// without a cache, and the same in other languages: bytecode for luajit.
fn second_start(
    name: &'static str,
    limits: &[Limit],
    text: &dyn Fn(Language) -> String,
    peers: &[Language],
    folder: &Path,
) -> Row {
    let length = text(Language::Kal).len();
    let file = |language, ending| write(folder, &format!("second{length}.{ending}"), &text(language));
    let program = file(Language::Kal, "kal");
    let cache = folder.join("cache").display().to_string();
    let mut contestants = vec![
        Contestant::new(KAL, kal(&["--cache", &cache, &program])),
        Contestant::new("kal --cache off", kal(&[&program])),
    ];
    for language in peers {
        contestants.push(match language {
            Language::Kal => continue,
            Language::JavaScript => Contestant::new("node", tool(&["node", &file(*language, "js")])),
            Language::Lua => Contestant::new("luajit -b", bytecode(&file(*language, "lua"))),
        });
    }
    let targets = limits.iter().map(|limit| Target { contestant: KAL, limit: *limit }).collect();
    Row { name, contestants, targets, rounds_factor: 1 }
}

/// A program of 10,000 functions, one of which is another one at each run.
fn edited(folder: &Path) -> Row {
    let text = generated::functions_in_branches(10_000, Language::Kal);
    let program = write(folder, "edited.kal", &text);
    let cache = folder.join("cache").display().to_string();
    let edit = |program: String| {
        let (text, line) = (text.clone(), "def f5000(x y)");
        move |number: usize| {
            let edited = text.replace(line, &format!("def f5000(x y) if x < 0 then {number} else"));
            std::fs::write(&program, edited).expect("the folder is ours");
        }
    };
    let plain = write(folder, "edited-plain.kal", &text);
    Row {
        name: "10,000 functions, each called once in a branch, one edited",
        contestants: vec![
            Contestant::new(KAL, kal(&["--cache", &cache, &program])).with_before(edit(program)),
            Contestant::new("kal --cache off", kal(&[&plain])).with_before(edit(plain)),
        ],
        targets: vec![Target { contestant: KAL, limit: Limit::Seconds(0.045) }],
        rounds_factor: 1,
    }
}

/// A program that imports a module of 100,000 functions and calls ten of them, beside one
/// that does nothing.
fn imported(folder: &Path) -> Row {
    let module: String =
        (0..100_000).map(|index| format!("def f{index}(x y) if x < y then x * {index} else y\n")).collect();
    write(folder, "large.kal", &module);
    let calls: String = (0..10).map(|index| format!("f{}(1, 2)\n", index * 9_999)).collect();
    let program = write(folder, "importing.kal", &format!("import large\n{calls}"));
    let empty = write(folder, "empty.kal", &"1 * 89991\n".repeat(10));
    let cache = folder.join("cache").display().to_string();
    Row {
        name: "import of 100,000 functions, 10 called, second start",
        contestants: vec![
            Contestant::new(KAL, kal(&["--cache", &cache, &program])),
            Contestant::new("kal, nothing imported", kal(&["--cache", &cache, &empty])),
            Contestant::new("kal --cache off", kal(&[&program])),
        ],
        targets: vec![Target { contestant: KAL, limit: Limit::MoreSeconds(0.005, "kal, nothing imported") }],
        rounds_factor: 1,
    }
}

/// A program that is run with an empty cache, and without one.
fn cold(name: &'static str, text: &str, folder: &Path) -> Row {
    let program = write(folder, &format!("cold{}.kal", text.len()), text);
    let cache = folder.join("cold");
    let cached = || kal(&["--cache", &cache.display().to_string(), &program]);
    let empty = || {
        let cache = cache.clone();
        move |_| _ = std::fs::remove_dir_all(&cache)
    };
    let off = "kal --cache off";
    Row {
        name,
        contestants: vec![
            Contestant::new(KAL, cached()).with_before(empty()),
            Contestant::new("kal, until it has written", cached()).with_before(empty()).with_rest(),
            Contestant::new(off, kal(&[&program])),
        ],
        targets: vec![
            Target { contestant: KAL, limit: Limit::Ratio(1.03, off) },
            Target { contestant: KAL, limit: Limit::MoreSeconds(0.02, off) },
        ],
        rounds_factor: 1,
    }
}

/// Returns how to run a Lua program from bytecode.
fn bytecode(file: &str) -> Result<Vec<String>, String> {
    installed("luajit")?;
    let compiled = format!("{file}.raw");
    let made = Command::new("luajit").args(["-b", file, &compiled]).status();
    match made {
        Ok(status) if status.success() => tool(&["luajit", &compiled]),
        Ok(status) => Err(format!("luajit -b: {status}")),
        Err(error) => Err(error.to_string()),
    }
}

fn pipe(name: &'static str, seconds: f64, text: &str, folder: &Path) -> Row {
    let input = PathBuf::from(write(folder, &format!("pipe{}.kal", text.len()), text));
    Row {
        name,
        contestants: vec![
            Contestant::new(KAL, kal(&["-"])).with_input(&input),
            Contestant::new("kal -O0", kal(&["-O0", "-"])).with_input(&input),
        ],
        targets: vec![Target { contestant: KAL, limit: Limit::Seconds(seconds) }],
        rounds_factor: 1,
    }
}

/// Measures a call of a compiled function, in nanoseconds. Another program
/// measures it: this one needs no LLVM.
pub fn call_nanoseconds() -> Option<f64> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(["bench", "--bench", "call"]).current_dir(HOME).output().ok()?;
    String::from_utf8_lossy(&output.stdout).lines().last()?.parse().ok()
}

fn workload(file: &str) -> String {
    format!("{HOME}/benches/workloads/{file}")
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("the folder is ours");
    path.to_string_lossy().into_owned()
}

fn kal(arguments: &[&str]) -> Result<Vec<String>, String> {
    let program = INSTALLED.get().ok_or("it cannot be copied")?;
    Ok(std::iter::once(program.as_str()).chain(arguments.iter().copied()).map(str::to_owned).collect())
}

/// Where the command is.
static INSTALLED: OnceLock<String> = OnceLock::new();

/// Copies the command to a folder, as one installs it.
fn installed_kal(folder: &Path) {
    let program = folder.join("kal");
    if std::fs::copy(env!("CARGO_BIN_EXE_kal"), &program).is_ok() {
        let _ = INSTALLED.set(program.to_string_lossy().into_owned());
    }
}

/// Puts a copy of a program in its place, as one installs it: what a linker has
/// just written lies in the system's memory page by page, and a large program
/// takes a millisecond longer to start from there.
fn install(program: &str) -> Result<(), String> {
    let copy = format!("{program}.copy");
    let copied = std::fs::copy(program, &copy).and_then(|_| std::fs::rename(&copy, program));
    copied.map_err(|error| error.to_string())
}

fn tool(words: &[&str]) -> Result<Vec<String>, String> {
    installed(words[0])?;
    Ok(words.iter().map(|&word| word.to_owned()).collect())
}

fn installed(program: &str) -> Result<(), String> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let there = std::env::split_paths(&paths).any(|folder| folder.join(program).is_file());
    if there { Ok(()) } else { Err(format!("{program} is not installed")) }
}

fn compiled(compiler: &str, level: &str, source: &str, folder: &Path) -> Result<Vec<String>, String> {
    let stem = Path::new(source).file_stem().unwrap_or_default().to_string_lossy();
    let program = folder.join(format!("{stem}-{compiler}")).to_string_lossy().into_owned();
    build(compiler, &[level, source, "-o", &program, "-lm"])?;
    install(&program)?;
    Ok(vec![program])
}

/// Returns a program in C++ that uses LLVM, built, with its arguments.
fn with_llvm(name: &str, is_static: bool, arguments: &[&str], folder: &Path) -> Result<Vec<String>, String> {
    let prefix = std::env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".into());
    let program = folder.join(format!("{name}-{}", if is_static { "static" } else { "dynamic" }));
    let mut words: Vec<String> =
        ["-O2", "-std=c++17", "-fno-rtti", "-ffunction-sections", "-Wl,--gc-sections"]
            .map(str::to_owned)
            .to_vec();
    words.push(format!("-I{prefix}/include"));
    words.extend([workload(&format!("{name}.cpp")), "-o".into(), program.to_string_lossy().into_owned()]);
    words.push(format!("-L{prefix}/lib"));
    if is_static {
        let libraries = Command::new(format!("{prefix}/bin/llvm-config"))
            .args(["--link-static", "--libs", "orcjit", "passes", "x86"])
            .output()
            .map_err(|error| format!("llvm-config: {error}"))?;
        let libraries = String::from_utf8_lossy(&libraries.stdout).into_owned();
        words.extend(libraries.split_whitespace().map(str::to_owned));
        words.extend(["-lz", "-lzstd", "-lpthread", "-ldl"].map(str::to_owned));
    } else {
        words.push("-lLLVM-22".into());
    }
    build("c++", &words.iter().map(String::as_str).collect::<Vec<_>>())?;
    let mut command = vec![program.to_string_lossy().into_owned()];
    install(&command[0])?;
    command.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    Ok(command)
}

fn build(compiler: &str, arguments: &[&str]) -> Result<(), String> {
    installed(compiler)?;
    let output = Command::new(compiler).args(arguments).output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(format!("{compiler} refuses it")) }
}
