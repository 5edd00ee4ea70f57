//! Executables and C libraries: what `kal build` makes, with real linkers and compilers,
//! run where there is no Kal.

use crate::binary::{Ran, directory, files, finish, in_parallel, kal};
use crate::choices::{Choices, Random};
use crate::transcripts::{fenced, fits};
use crate::{images, scale};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

/// Returns the runtime that is linked, built if it is not up to date.
fn runtime() -> &'static Path {
    static RUNTIME: OnceLock<PathBuf> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| directory("target"), PathBuf::from);
        let built = Command::new(env!("CARGO"))
            .args([
                "build",
                "--quiet",
                "--locked",
                "-p",
                "kal-runtime",
                "--profile",
                "runtime",
                "--target-dir",
            ])
            .arg(&target)
            .current_dir(directory(""))
            .output()
            .expect("cargo starts");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        target.join("runtime/libkal_runtime.a")
    })
}

fn build(arguments: &[&str]) -> Ran {
    finish(kal().env("KAL_RUNTIME", runtime()).arg("build").args(arguments))
}

/// Runs something that was built, where nothing but the system's libraries is.
fn execute(program: &Path, arguments: &[&str], input: &'static [u8]) -> Ran {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().current_dir("/").stdin(Stdio::null());
    if input.is_empty() { finish(&mut command) } else { crate::binary::feed(&mut command, input) }
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("there is room"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).expect("it is written");
        self.name(name)
    }
}

#[test]
fn programs_say_the_same_as_executables() {
    let mut programs = files(&directory("examples"), "kal");
    programs.extend(files(&directory("tests/programs/tutorial"), "kal"));
    programs.extend(files(&directory("tests/programs/errors"), "kal"));
    programs.extend(files(&directory("tests/programs/libraries"), "kal"));
    programs.retain(|path| !std::fs::read_to_string(path).expect("programs are text").contains("#: "));
    // One in so many, unless all are asked for.
    let share = if std::env::var_os("KAL_EXECUTABLES").is_some() { 1 } else { 6 };
    let programs: Vec<_> = programs.into_iter().step_by(share).collect();
    assert!(programs.len() >= 10, "only {} programs", programs.len());
    let folder = Folder::new();
    let complaints = in_parallel(&programs, |path| {
        let (source, name) = (path.display().to_string(), path.to_string_lossy().replace('/', "_"));
        let output = folder.name(&name);
        let made = build(&[&source, "-o", &output]);
        let expected = finish(kal().args(["--no-tier-up", &source]));
        if made.code != Some(0) {
            // What it says is what running the program ends with.
            let first = made.said().into_iter().next().unwrap_or_default();
            let is_same = expected.said().contains(&first);
            return if is_same { Ok(()) } else { Err(format!("{source}: {}", made.err())) };
        }
        let ran = execute(Path::new(&output), &[], b"");
        if (ran.out(), ran.said(), ran.code) == (expected.out(), expected.said(), expected.code) {
            Ok(())
        } else {
            Err(format!("{source}: {ran:?}\ninstead of\n{expected:?}"))
        }
    });
    assert!(complaints.is_empty(), "{} of {}:\n{}", complaints.len(), programs.len(), complaints.join("\n"));
}

/// How large an executable with a small program may be, in bytes.
const SMALL: u64 = 2 << 20;

#[test]
fn an_executable_has_what_its_program_needs() {
    let functions = ["log10", "lgamma", "erfc", "tgamma", "pow"];
    let mut programs = vec![("sum".to_owned(), "1 + 1\n".to_owned())];
    programs.extend(functions.map(|name| (name.to_owned(), call_of(name))));
    // With a constant exponent, by the other name, with two at once, and in a module.
    programs.extend(
        [
            ("power", "def f(x) x ^ 1.5\nf(7)\nread() ^ 0.1\n"),
            ("ln", "def f(x) ln(x)\nf(7)\n"),
            ("polar", "def f(r a) r * sin(a) + r * cos(a)\nf(2, 0.7)\n"),
            (
                "import",
                "import stats\nimport complex\nstats.normal_cumulative(0.3, 0, 1)\ncomplex.argument(3, 4)\n",
            ),
            ("redefined", "def f(x) cosh(x)\ndef g(x) f(x)\ng(2)\ndef f(x) tanh(x)\ng(2)\n"),
        ]
        .map(|(name, text)| (name.to_owned(), text.to_owned())),
    );
    let folder = Folder::new();
    let complaints = in_parallel(&programs, |(name, text)| {
        let source = folder.write(&format!("{name}.kal"), text);
        let made = build(&[&source, "-o", &folder.name(name)]);
        let expected = finish(kal().arg(&source).stdin(Stdio::null()));
        let ran = execute(&folder.path(name), &[], b"");
        let size = std::fs::metadata(folder.path(name)).map_or(0, |data| data.len());
        let is_same = (ran.out(), ran.err(), ran.code) == (expected.out(), expected.err(), Some(0));
        let is_small = size <= if name == "sum" { SMALL } else { 2 * SMALL };
        if is_same && is_small {
            Ok(())
        } else {
            Err(format!("{name}, {size} bytes: {made:?} {ran:?}\ninstead of\n{expected:?}"))
        }
    });
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Returns a program that calls a function, with constants and without.
fn call_of(name: &str) -> String {
    let more = if name == "pow" { ", 0.3" } else { "" };
    format!("def f(x) {name}(x{more})\n{name}(2.5{more})\nf(7)\nf(read())\n")
}

#[test]
fn an_executable_has_the_modules_that_it_was_built_with() {
    let folder = Folder::new();
    folder.write("rates.kal", "def rate(x) x * 2\n");
    let source = folder.write("main.kal", "import rates\nrate(21)\n");
    let made = build(&[&source, "-o", &folder.name("main")]);
    assert_eq!((made.out(), made.err(), made.code), ("", "", Some(0)));
    for text in [Some("def rate(x) x * 3\n"), None] {
        match text {
            Some(text) => _ = folder.write("rates.kal", text),
            None => std::fs::remove_file(folder.path("rates.kal")).expect("it is there"),
        }
        let ran = finish(Command::new(folder.path("main")).current_dir(folder.0.path()));
        assert_eq!((ran.out(), ran.err(), ran.code), ("42\n", "", Some(0)));
    }
}

#[test]
fn a_closed_standard_input_is_an_empty_one_and_an_ignored_interrupt_is_ignored() {
    let folder = Folder::new();
    let source = folder.write("read.kal", "read()\n(for i = 1, i < 3e8 in i / 3) + 7\n");
    let made = build(&[&source, "-o", &folder.name("read")]);
    assert_eq!((made.out(), made.err(), made.code), ("", "", Some(0)));
    // The signal comes before the shell becomes the program, or while it runs.
    let script = r#"trap "" INT; (sleep 0.05; kill -INT $$) & exec "$@" <&-"#;
    for program in [&[folder.name("read")][..], &[env!("CARGO_BIN_EXE_kal").into(), source]] {
        let mut command = Command::new("sh");
        let ran = finish(command.args(["-c", script, "sh"]).args(program).env("KAL_CACHE", "off"));
        assert_eq!((ran.out(), ran.err(), ran.code), ("nan\n7\n", "", Some(0)), "{program:?}");
    }
}

#[test]
fn a_program_that_its_own_modules_import_is_in_its_executable_twice() {
    let folder = Folder::new();
    let source = folder.write("pair.kal", "import other\ndef pair(n) other.next(n) + 1\n");
    folder.write("other.kal", "import pair\ndef next(n) if n < 1 then 0 else pair(n - 1)\n");
    let made = build(&[&source, "-o", &folder.name("pair")]);
    assert_eq!((made.out(), made.err(), made.code), ("", "", Some(0)));
    let ran = execute(&folder.path("pair"), &[], b"");
    assert_eq!((ran.out(), ran.err(), ran.code), ("", "", Some(0)));
}

#[test]
fn an_executable_reads_its_arguments_and_its_input() {
    let folder = Folder::new();
    let source = folder.write("add.kal", "arg(1) + arg(2) + args()\nread() * 2\nread()\n");
    let made = build(&[&source, "-o", &folder.name("add")]);
    assert_eq!((made.out(), made.err(), made.code), ("", "", Some(0)));
    let ran = execute(&folder.path("add"), &["3", "4.5"], b"21 1e3");
    assert_eq!((ran.out(), ran.err(), ran.code), ("9.5\n42\n1000\n", "", Some(0)));
    // Nothing is left of linking.
    let mut left: Vec<_> = std::fs::read_dir(folder.0.path())
        .expect("it is there")
        .map(|entry| entry.expect("it can be read").file_name().into_string().expect("it is text"))
        .collect();
    left.sort();
    assert_eq!(left, ["add", "add.kal"]);
}

#[test]
fn an_executable_begins_with_what_a_prelude_has_left() {
    let folder = Folder::new();
    let prelude = folder.write(
        "prelude.kal",
        "var sum = 0, calls = 0\nfor i = 1, i < 11 in sum += i * i\ndef f(x) calls += 1 : x + sum\nf(0)\n",
    );
    let program = folder.write("main.kal", "f(1)\nsum += 1\nf(1)\ncalls\ndef f(x) x\nf(1)\n");
    let built = build(&["--preinit", &prelude, &program, "-o", &folder.name("main")]);
    assert_eq!((built.err(), built.code), ("", Some(0)));
    let ran = execute(&folder.path("main"), &[], b"");
    assert_eq!((ran.out(), ran.err(), ran.code), ("507\n507\n508\n3\n1\n", "", Some(0)));
}

#[test]
fn an_executable_ends_as_the_command_does() {
    let folder = Folder::new();
    let source = folder.write("ends.kal", "def f(n) f(n + 1) + 1\n1\nf(0)\n2\n");
    assert_eq!(build(&[&source, "-o", &folder.name("ends")]).code, Some(0));
    let ran = execute(&folder.path("ends"), &[], b"");
    assert_eq!((ran.out(), ran.code), ("1\n", Some(1)));
    assert!(ran.said()[0].starts_with("error[E0303] 1:"), "{}", ran.err());
    // A closed output is no crash.
    let source = folder.write("many.kal", "for i = 0, i < 100000 in print(i)\n");
    assert_eq!(build(&[&source, "-o", &folder.name("many")]).code, Some(0));
    let mut child = Command::new(folder.path("many")).stdout(Stdio::piped()).spawn().expect("it starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(141));
}

#[test]
fn without_a_runtime_the_command_says_how_to_get_one() {
    let folder = Folder::new();
    let source = folder.write("a.kal", "1\n");
    let run = |runtime: &str| {
        finish(kal().env("KAL_RUNTIME", runtime).args(["build", &source, "-o", &folder.name("a")]))
    };
    let missing = run("/nonexistent/libkal_runtime.a");
    assert_eq!(
        (missing.err(), missing.code),
        ("error: /nonexistent/libkal_runtime.a: No such file or directory (os error 2)\n", Some(1))
    );
    let other = folder.write("other.a", "kal runtime build of something else");
    let expected = format!(
        "error: {other} is of another build of Kal than this command; `make runtime` builds that of this one\n"
    );
    assert_eq!(run(&other).err(), expected);
    let linker = finish(kal().env("KAL_RUNTIME", runtime()).env("CC", "/nonexistent/cc").args([
        "build",
        &source,
        "-o",
        &folder.name("a"),
    ]));
    assert!(
        linker.err().starts_with("error: cannot run `/nonexistent/cc`: No such file"),
        "{}",
        linker.err()
    );
    assert!(!folder.path("a").exists());
    let its_folder = runtime().parent().expect("it is in a folder").display().to_string();
    assert_eq!((run(&its_folder).err(), run(&its_folder).code), ("", Some(0)));
    let shown = build(&["--verbose-linking", &source, "-o", &folder.name("a")]);
    assert!(shown.err().starts_with("cc ") && shown.err().contains("libkal_runtime.a"), "{}", shown.err());
}

const LIBRARY: &str = "var calls = 0\n\
    ## The mean of two numbers.\n\
    def mean(a b) calls += 1 : (a + b) / 2\n\
    def binary⊕ 20 (a b) a * 10 + b\n\
    def count() calls\n\
    def deep(n) if n < 1 then 0 else 1 + deep(n - 1)\n\
    def twice(f(x) x) f(f(x))\n\
    def int(long) long ⊕ 2\n\
    def forever(x) if x < 0 then 0 else (for i = 0, 1 in i)\n\
    def third(library codes) (library + codes) / 3\n\
    def nine(a b c d e f g h i) a * i\n";

/// What others may call of it.
const EXPORTS: &str = "mean,binary⊕=oplus,count,deep,int=to_int,forever,third,nine";

/// A program in C, of whose every line the value is known.
const C_PROGRAM: &str = r#"
#include "libnumbers.h"
#include <fenv.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void *other_thread(void *unused) {
    (void)unused;
    mean(1, 1);
    printf("other %g\n", count());
    return NULL;
}

int main(void) {
    double r = 0;
    printf("%g\n", mean(1, 4));
    printf("%g %g\n", oplus(3, 4), to_int(5));
    printf("%g [%s]\n", count(), numbers_last_error());
    r = deep(1e9);
    printf("%d\n%s\n", r != r, numbers_last_error());
    numbers_context *c = numbers_context_new();
    numbers_context *d = numbers_context_new();
    int e = mean_in(c, 2, 4, &r);
    printf("%d %g\n", e, r);
    e = numbers_eval(c, "def mean(a b) a * b", NULL) + mean_in(c, 6, 7, &r);
    printf("%d %g\n", e, r);
    e = mean_in(d, 6, 7, &r);
    printf("%d %g\n", e, r);
    e = numbers_eval(c, "def mean(a b", &r);
    printf("%d %s\n", e, numbers_last_error());
    e = numbers_set_deadline(c, 0.05) + forever_in(c, 1, &r);
    printf("%d %s\n", e, strstr(numbers_last_error(), "E03") != NULL ? "late" : numbers_last_error());
    e = numbers_set_deadline(c, -1) + count_in(c, &r);
    printf("%d %g\n", e, r);
    e = count_in(NULL, &r);
    printf("%d %s\n", e, numbers_last_error());
    numbers_context_free(c);
    numbers_context_free(d);
    pthread_t thread;
    pthread_create(&thread, NULL, other_thread, NULL);
    pthread_join(thread, NULL);
    printf("%g\n", count());
    /* Code that needs no context is called without one from the second call on. */
    for (int way = 0; way < 4; way++) {
        fesetround(way % 2 ? FE_UPWARD : FE_TONEAREST);
        feclearexcept(FE_ALL_EXCEPT);
        double a = third(1, 0), b = nine(2, 0, 0, 0, 0, 0, 0, 0, 3);
        int raised = fetestexcept(FE_ALL_EXCEPT), rounds = fegetround() == (way % 2 ? FE_UPWARD : FE_TONEAREST);
        fesetround(FE_TONEAREST);
        printf("%.17g %g %d %d\n", a, b, raised, rounds);
    }
    return 0;
}
"#;

const C_OUTPUT: &str = "2.5\n34 52\n1 []\n1\nnumbers.kal:6:5: E0303: stack overflow\n0 3\n0 42\n0 6.5\n\
    1 <eval>:1:9: E0105: this `(` is never closed\n1 late\n0 1\n1 the context is null\nother 1\n1\n\
    0.33333333333333331 6 0 1\n0.33333333333333331 6 0 1\n0.33333333333333331 6 0 1\n\
    0.33333333333333331 6 0 1\n";

#[test]
fn a_library_is_called_from_c_and_from_cpp() {
    let folder = Folder::new();
    folder.write("numbers.kal", LIBRARY);
    let command = |file: &str| {
        finish(kal().env("KAL_RUNTIME", runtime()).current_dir(folder.0.path()).args([
            "build",
            "--lib",
            "numbers.kal",
            "--export",
            EXPORTS,
            "-o",
            file,
        ]))
    };
    let made = command("libnumbers.so");
    assert_eq!((made.out(), made.err(), made.code), ("", "", Some(0)));
    let header = std::fs::read_to_string(folder.path("libnumbers.h")).expect("it was written");
    assert!(
        header.contains("/* The mean of two numbers. */\ndouble mean(double a, double b);\n"),
        "{header}"
    );
    folder.write("use.c", C_PROGRAM);
    let flags = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-Wl,-rpath,$ORIGIN"];
    for (compiler, standard) in [("gcc", "-std=c11"), ("g++", "-std=c++17")] {
        let language: &[&str] = if compiler == "g++" { &["-x", "c++"] } else { &[] };
        let compiled = finish(
            Command::new(compiler)
                .current_dir(folder.0.path())
                .args(flags)
                .arg(standard)
                .args(language)
                .args(["use.c", "-x", "none", "-L.", "-lnumbers", "-lpthread", "-lm", "-o", "use"]),
        );
        assert_eq!((compiled.err(), compiled.code), ("", Some(0)), "{compiler}");
        let ran = execute(&folder.path("use"), &[], b"");
        assert_eq!((ran.out(), ran.err(), ran.code), (C_OUTPUT, "", Some(0)), "{compiler}");
    }
    // Nothing else can be linked with.
    let symbols = finish(Command::new("nm").args(["-D", "--defined-only"]).arg(folder.path("libnumbers.so")));
    let mut symbols: Vec<&str> =
        symbols.out().lines().filter_map(|line| line.split(' ').next_back()).collect();
    symbols.sort_unstable();
    assert_eq!(
        symbols,
        [
            "count",
            "count_in",
            "deep",
            "deep_in",
            "forever",
            "forever_in",
            "mean",
            "mean_in",
            "nine",
            "nine_in",
            "numbers_context_free",
            "numbers_context_new",
            "numbers_eval",
            "numbers_interrupt",
            "numbers_last_error",
            "numbers_set_deadline",
            "oplus",
            "oplus_in",
            "third",
            "third_in",
            "to_int",
            "to_int_in",
        ]
    );
}

/// Calls the library from Python, without a header or a compiler.
const PYTHON_PROGRAM: &str = r#"
import ctypes, math, sys
kal = ctypes.CDLL(sys.argv[1])
number = ctypes.c_double
for name, arity in (("mean", 2), ("oplus", 2), ("count", 0), ("deep", 1), ("to_int", 1)):
    function = getattr(kal, name)
    function.restype, function.argtypes = number, [number] * arity
kal.numbers_last_error.restype = ctypes.c_char_p
print(kal.mean(1, 4), kal.oplus(3, 4), kal.to_int(5), kal.count())
print(math.isnan(kal.deep(1e9)), kal.numbers_last_error().decode())
kal.numbers_context_new.restype = ctypes.c_void_p
context, result = ctypes.c_void_p(kal.numbers_context_new()), number()
print(kal.numbers_eval(context, b"def mean(a b) a * b", None), end=" ")
print(kal.mean_in(context, number(6), number(7), ctypes.byref(result)), result.value, kal.mean(6, 7))
kal.numbers_context_free(context)
"#;

#[test]
fn a_library_is_called_from_python() {
    let folder = Folder::new();
    let source = folder.write("numbers.kal", LIBRARY);
    let library = folder.name("libnumbers.so");
    assert_eq!(build(&["--lib", &source, "--export", EXPORTS, "-o", &library]).code, Some(0));
    let program = folder.write("use.py", PYTHON_PROGRAM);
    let ran = finish(Command::new("python3").args([&program, &library]));
    let place = format!("{source}:6:5: E0303: stack overflow");
    let expected = format!("2.5 34.0 52.0 1.0\nTrue {place}\n0 0 42.0 6.5\n");
    assert_eq!((ran.out(), ran.err(), ran.code), (&*expected, "", Some(0)));
}

#[test]
fn a_damaged_executable_gives_no_other_answer() {
    let folder = Folder::new();
    let source = folder.write("p.kal", "def f(x) x + 1\ndef g(x) f(x) * 2\ng(1) + 0.5\n");
    assert_eq!(build(&[&source, "-o", &folder.name("whole")]).code, Some(0));
    let whole = std::fs::read(folder.path("whole")).expect("it was made");
    // The runtime itself knows how an image begins.
    let begins = |at: &usize| whole[*at..].starts_with(b"KALIMAGE\x05\0\0\0");
    let image = (0..whole.len()).find(begins).expect("there is an image in it");
    let length = whole[image + 44..image + 52].try_into().expect("it is a number");
    let opened = images::open(whole[image..].to_vec()).expect("it is whole");
    let packs: usize = opened.versions().map(|version| version.bytes).sum();
    let end = image + 84 + u64::from_le_bytes(length) as usize + packs;
    let (mut random, mut refused, times) = (Random::new(27), 0, scale("KAL_EXECUTABLE_MUTATIONS", 300));
    for _ in 0..times {
        let at = image + random.below(end - image);
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << random.below(8);
        let program = folder.path("damaged");
        write_program(&program, &damaged);
        let ran = execute(&program, &[], b"");
        let says = |damage: &str| ran.err().starts_with(damage);
        let is_refused = ran.code == Some(1)
            && ran.out().is_empty()
            && (says("error: this program: not an image that can be used: ")
                || says("error: the program is damaged: "));
        assert!(
            is_refused || (ran.out(), ran.err(), ran.code) == ("4.5\n", "", Some(0)),
            "byte {at}: {ran:?}"
        );
        refused += u64::from(is_refused);
    }
    assert!(refused > 0 && refused < times, "{refused} of {times} refused");
}

/// Writes an executable in a process of its own: one that is forked meanwhile would keep
/// it open for writing.
fn write_program(path: &Path, bytes: &[u8]) {
    let mut copy = Command::new("sh");
    copy.args(["-c", "rm -f \"$0\"; cat > \"$0\" && chmod 755 \"$0\""]).arg(path).stdin(Stdio::piped());
    let mut copy = copy.spawn().expect("there is a shell");
    std::io::Write::write_all(&mut copy.stdin.take().expect("it is piped"), bytes).expect("it is written");
    assert!(copy.wait().expect("it ends").success());
}

#[test]
fn what_was_built_runs_in_a_folder_with_the_libraries_of_c_alone() {
    let folder = Folder::new();
    let root = folder.path("root");
    let source = folder.write("numbers.kal", LIBRARY);
    let library = root.join("libnumbers.so");
    std::fs::create_dir(&root).expect("it is new");
    let path = library.display().to_string();
    assert_eq!(build(&["--lib", &source, "--export", EXPORTS, "-o", &path]).code, Some(0));
    let header = std::fs::read(library.with_extension("h")).expect("it was written");
    std::fs::write(folder.path("libnumbers.h"), header).expect("it is written");
    folder.write("use.c", C_PROGRAM);
    let compiled =
        finish(Command::new("gcc").current_dir(folder.0.path()).arg("use.c").arg(&library).args([
            "-Wl,-rpath,/",
            "-lpthread",
            "-lm",
            "-o",
            "root/use",
        ]));
    assert_eq!(compiled.code, Some(0), "{compiled:?}");
    let program = folder.write(
        "one.kal",
        "import math\nmath.gcd(12, 18)\ndef deep(n) if n < 1 then 0 else 1 + deep(n - 1)\ndeep(1e9)\n",
    );
    assert_eq!(build(&[&program, "-o", &root.join("one").display().to_string()]).code, Some(0));
    for file in ["use", "one", "libnumbers.so"] {
        let needed = finish(Command::new("ldd").arg(root.join(file)));
        for library in needed.out().split_whitespace().filter(|word| word.starts_with("/lib")) {
            let copy = root.join(&library[1..]);
            std::fs::create_dir_all(copy.parent().expect("it is in a folder")).expect("there is room");
            std::fs::copy(library, copy).expect("it is there");
        }
    }
    // Who is not root may change the root folder in a name space of its own.
    let is_root = finish(Command::new("id").arg("-u")).out() == "0\n";
    let enter: &[&str] = if is_root { &["chroot"] } else { &["unshare", "--map-root-user", "chroot"] };
    let run = |program: &str| {
        finish(
            Command::new(enter[0])
                .args(&enter[1..])
                .arg(&root)
                .arg(program)
                .env_clear()
                .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
        )
    };
    let ran = run("/one");
    assert_eq!((ran.out(), ran.code), ("6\n", Some(1)));
    assert!(ran.err().starts_with("error[E0303]"), "{}", ran.err());
    let ran = run("/use");
    let expected = C_OUTPUT.replace("numbers.kal:6:5", &format!("{source}:6:5"));
    assert_eq!((ran.out(), ran.err(), ran.code), (&*expected, "", Some(0)));
}

#[test]
fn what_cannot_be_a_library_is_said() {
    let folder = Folder::new();
    let source = folder.write("numbers.kal", LIBRARY);
    let program = folder.write("program.kal", "def f(x) x\nf(1)\n");
    let wrong = folder.write("wrong.kal", "def f(x) y\n");
    let refused = |source: &str, output: &str, exports: &str| {
        let output = folder.name(output);
        let mut arguments = vec!["--lib", source, "-o", &output];
        if !exports.is_empty() {
            arguments.extend(["--export", exports]);
        }
        let made = build(&arguments);
        assert_eq!(made.code, Some(1), "{exports}");
        assert!(!Path::new(&output).exists());
        made.said().into_iter().next().unwrap_or_default()
    };
    assert_eq!(refused(&source, "liba.so", "gone"), "error: --export: no function `gone` is defined");
    assert_eq!(
        refused(&source, "liba.so", "twice"),
        "error: --export: `twice` takes functions, which C cannot give"
    );
    let unspellable = "error: --export: C cannot spell `int`; `int=NAME` gives it another name";
    assert_eq!(refused(&source, "liba.so", "int"), unspellable);
    let taken = "error: --export: the C library has a `free`, whose place this one would take in the whole \
                 process; `count=NAME` gives it another name";
    assert_eq!(refused(&source, "liba.so", "mean,count=free"), taken);
    let twice = "error: --export: two functions would be called `a`";
    assert_eq!(refused(&source, "liba.so", "mean=a,count=a"), twice);
    let no_name = "error: --export: C cannot spell `class`; `mean=NAME` gives it another name";
    assert_eq!(refused(&source, "liba.so", "mean=class"), no_name);
    let of_another = "error: --export: two functions would be called `mean_in`";
    assert_eq!(refused(&source, "liba.so", "mean,count=mean_in"), of_another);
    let of_itself = "error: --export: two functions would be called `a_eval`";
    assert_eq!(refused(&source, "liba.so", "mean=a_eval"), of_itself);
    let of_runtime = "error: --export: two functions would be called `kal_library_call`";
    assert_eq!(refused(&source, "liba.so", "mean=kal_library_call"), of_runtime);
    let of_headers =
        "error: --export: `NULL` is a macro in headers of the C library; `mean=NAME` gives it another name";
    assert_eq!(refused(&source, "liba.so", "mean=NULL"), of_headers);
    assert!(refused(&source, "lib1.so", "").starts_with("error: lib1.so: the name of the library begins"));
    let expression = format!(
        "error: {program}:2:1: a library only declares, and this expression would never be evaluated"
    );
    assert_eq!(refused(&program, "liba.so", ""), expression);
    assert!(refused(&wrong, "liba.so", "").starts_with("error[E0201] 1:10 unknown variable `y`"));
}

#[test]
fn what_is_built_overwrites_nothing_that_it_is_built_from() {
    let folder = Folder::new();
    folder.write("part.kal", "def part(x) x\n");
    let text = "import part\ndef f(x) part(x) + 1\n";
    let source = folder.write("whole.kal", text);
    let refused = |arguments: &[&str]| {
        let made = build(arguments);
        assert_eq!(made.code, Some(1), "{arguments:?}");
        made.said().into_iter().next_back().unwrap_or_default()
    };
    let overwrites = |path: &str| format!("error: the output would overwrite {path}, which it is built from");
    let part = folder.name("part.kal");
    assert_eq!(refused(&[&source, "-o", &source]), overwrites(&source));
    assert_eq!(refused(&[&source, "-o", &part]), overwrites(&part));
    let library = folder.name("libwhole.so");
    assert_eq!(refused(&["--lib", &source, "-o", &library, "--header", &part]), overwrites(&part));
    let one = "error: the library and its header would be one file";
    assert_eq!(refused(&["--lib", &source, "-o", &library, "--header", &library]), one);
    let gone = folder.name("gone/whole.h");
    let no_folder = format!("error: {gone}: No such file or directory (os error 2)");
    assert_eq!(refused(&["--lib", &source, "-o", &library, "--header", &gone]), no_folder);
    assert!(!Path::new(&library).exists());
    assert_eq!(std::fs::read_to_string(&source).expect("it is there"), text);
    // What may be missing is a warning, and what a prelude defines is there.
    let prelude = folder.write("prelude.kal", "def given(x) x * 2\n");
    let uses = folder.write("uses.kal", "def twice(x) given(x)\n");
    let made = build(&["--lib", &uses, "-o", &folder.name("libuses.so")]);
    assert_eq!((made.code, made.said().len()), (Some(0), 1), "{:?}", made.said());
    assert!(made.said()[0].starts_with("warning[E0301]"), "{:?}", made.said());
    let made = build(&["--lib", &uses, "--preinit", &prelude, "-o", &folder.name("libuses.so")]);
    assert_eq!((made.code, made.err()), (Some(0), ""));
}

/// Compiles `use.c` with the library of that name.
fn compile_use(folder: &Folder, library: &str) {
    let compiled = finish(
        Command::new("gcc")
            .current_dir(folder.0.path())
            .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "use.c", "-L."])
            .args([&format!("-l{library}"), "-lpthread", "-Wl,-rpath,$ORIGIN", "-o", "use"]),
    );
    assert_eq!((compiled.err(), compiled.code), ("", Some(0)));
}

#[test]
fn a_function_may_have_the_name_that_guards_a_header() {
    let folder = Folder::new();
    let source = folder.write("y.kal", "def Y_H(x) x + 1\ndef f(Y_H_ x) Y_H_ * x\n");
    let made = build(&["--lib", &source, "-o", &folder.name("liby.so")]);
    assert_eq!((made.err(), made.code), ("", Some(0)));
    let program = "#include \"liby.h\"\n#include \"liby.h\"\n\
                   int main(void) { return Y_H(2) == 3 && f(3, 4) == 12 ? 0 : 1; }\n";
    folder.write("use.c", program);
    compile_use(&folder, "y");
    assert_eq!(finish(&mut Command::new(folder.path("use"))).code, Some(0));
}

/// A thread gets a context with the first call that needs one, which is seen by what the value of
/// a variable prints.
#[test]
fn a_thread_that_calls_what_needs_no_context_gets_none() {
    let folder = Folder::new();
    let source = folder.write(
        "means.kal",
        "var calls = (print(\"new\") : 1)\ndef mean(a b) (a + b) / 2\ndef count() calls\n",
    );
    assert_eq!(build(&["--lib", &source, "-o", &folder.name("libmeans.so")]).code, Some(0));
    folder.write(
        "use.c",
        "#include \"libmeans.h\"\n#include <pthread.h>\n#include <stdio.h>\n\
         static void *calls(void *counts) {\n  double sum = mean(1, 2) + mean(3, 4);\n  \
         if (counts) sum += count();\n  printf(\"%g\\n\", sum);\n  fflush(stdout);\n  return NULL;\n}\n\
         int main(void) {\n  for (int round = 0; round < 3; round++) {\n    pthread_t thread;\n    \
         pthread_create(&thread, NULL, calls, round == 2 ? &thread : NULL);\n    \
         pthread_join(thread, NULL);\n  }\n  return 0;\n}\n",
    );
    compile_use(&folder, "means");
    let ran = execute(&folder.path("use"), &[], b"");
    assert_eq!((ran.out(), ran.code), ("new\n5\n5\nnew\n6\n", Some(0)));
}

/// What it prints is among what the host prints, also where the host ends without a word.
#[test]
fn a_library_prints_when_a_line_ends() {
    let folder = Folder::new();
    let source = folder.write("prints.kal", "def out(x) printd(x)\n");
    assert_eq!(build(&["--lib", &source, "-o", &folder.name("libprints.so")]).code, Some(0));
    folder.write(
        "use.c",
        "#include \"prints.h\"\n#include <stdio.h>\n#include <unistd.h>\n\
         int main(void) {\n  prints_context *context = prints_context_new();\n  out(1);\n  puts(\"two\");\n  \
         fflush(stdout);\n  out_in(context, 3, 0);\n  if (prints_eval(context, 0, 0)) \
         puts(prints_last_error());\n  fflush(stdout);\n  _exit(0);\n}\n",
    );
    std::fs::rename(folder.path("libprints.h"), folder.path("prints.h")).expect("it was written");
    compile_use(&folder, "prints");
    let ran = execute(&folder.path("use"), &[], b"");
    assert_eq!((ran.out(), ran.code), ("1\ntwo\n3\nthere is no text\n", Some(0)));
}

#[test]
fn executables_and_libraries_need_only_the_system() {
    let folder = Folder::new();
    let source = folder.write("numbers.kal", LIBRARY);
    let made = build(&["--lib", &source, "-o", &folder.name("libnumbers.so")]);
    let notes = [
        "note: `binary⊕` is not exported: C cannot spell it; `--export 'binary⊕=NAME'` gives it another name",
        "note: `twice` is not exported: it takes functions, which C cannot give",
        "note: `int` is not exported: C cannot spell it; `--export 'int=NAME'` gives it another name",
    ];
    assert_eq!((made.code, made.said()), (Some(0), notes.map(str::to_owned).to_vec()));
    let program = folder.write("one.kal", "1 + 1\n");
    assert_eq!(build(&[&program, "-o", &folder.name("one")]).code, Some(0));
    for made in ["libnumbers.so", "one"] {
        let needed = finish(Command::new("readelf").arg("-d").arg(folder.path(made)));
        let needed: Vec<&str> = needed.out().lines().filter(|line| line.contains("(NEEDED)")).collect();
        let known = [
            "libc.so.6",
            "libm.so.6",
            "libgcc_s.so.1",
            "ld-linux-x86-64.so.2",
            "libpthread.so.0",
            "libdl.so.2",
        ];
        assert!(needed.iter().all(|line| known.iter().any(|name| line.contains(name))), "{made}: {needed:?}");
    }
}

#[test]
fn what_the_page_about_images_shows_is_what_happens() {
    let folder = Folder::new();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kal"), folder.path("kal")).expect("it is linked");
    let path = format!("{}:{}", folder.0.path().display(), std::env::var("PATH").unwrap_or_default());
    let page = std::fs::read_to_string(directory("docs/images.md")).expect("there is one");
    let mut commands = 0;
    for (language, text) in fenced(&page) {
        if language != "console" {
            let first = text.lines().next().unwrap_or_default();
            folder.write(first.trim_matches(['#', '/', '*', ' ']), text);
            continue;
        }
        let mut lines = text.lines().peekable();
        while let Some(command) = lines.next() {
            let command = command.strip_prefix("$ ").expect("a command comes first");
            let mut expected = Vec::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
                expected.push(line);
            }
            let mut shell = Command::new("sh");
            shell.current_dir(folder.0.path()).env("PATH", &path).env("KAL_RUNTIME", runtime());
            shell.env("XDG_STATE_HOME", folder.path("state"));
            let ran = finish(shell.env("KAL_CACHE", "off").args(["-c", command]));
            let found: Vec<&str> = ran.out().lines().collect();
            let is_same = found.len() == expected.len()
                && expected.iter().zip(&found).all(|(expected, found)| fits(found, expected));
            assert!(is_same && ran.code == Some(0) && ran.err().is_empty(), "{command}: {ran:?}");
            commands += 1;
        }
    }
    assert!(commands >= 8, "{commands} commands");
}
