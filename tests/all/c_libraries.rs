//! Libraries for C that `kal build --lib` makes: what calls them, and what they are.

use crate::binary::{finish, kal};
use crate::executables::{Folder, build, execute, runtime};
use std::path::Path;
use std::process::Command;

pub(crate) const LIBRARY: &str = "var calls = 0\n\
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
pub(crate) const EXPORTS: &str = "mean,binary⊕=oplus,count,deep,int=to_int,forever,third,nine";

/// A program in C, of whose every line the value is known.
pub(crate) const C_PROGRAM: &str = r#"
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

static int has_ended;

/* Runs until it is interrupted, once the context is free. */
static void *busy_thread(void *context) {
    double r;
    while (forever_in((numbers_context *)context, 1, &r) && strstr(numbers_last_error(), "in use")) {}
    printf("%s\n", strstr(numbers_last_error(), "E0304") ? "interrupted" : numbers_last_error());
    __atomic_store_n(&has_ended, 1, __ATOMIC_RELEASE);
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
    pthread_t thread;
    pthread_create(&thread, NULL, busy_thread, c);
    while (count_in(c, &r) == 0) {}
    printf("%s\n", numbers_last_error());
    /* The context is in use before anything runs in it. */
    while (!__atomic_load_n(&has_ended, __ATOMIC_ACQUIRE)) numbers_interrupt(c);
    pthread_join(thread, NULL);
    e = count_in(c, &r);
    printf("%d %g\n", e, r);
    numbers_context_free(c);
    numbers_context_free(d);
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
    /* Flags that were raised stay, and no others are. */
    const int flags[] = {0, FE_INEXACT, FE_DIVBYZERO, FE_OVERFLOW | FE_INEXACT};
    for (int way = 0; way < 8; way++) {
        feclearexcept(FE_ALL_EXCEPT);
        feraiseexcept(flags[way % 4]);
        int before = fetestexcept(FE_ALL_EXCEPT);
        double a = third(1, 0);
        int after = fetestexcept(FE_ALL_EXCEPT);
        printf("%g %d\n", a * 3, before == after);
    }
    return 0;
}
"#;

pub(crate) const C_OUTPUT: &str = "2.5\n34 52\n1 []\n1\nnumbers.kal:6:5: E0303: stack overflow\n0 3\n0 42\n0 6.5\n\
    1 <eval>:1:9: E0105: this `(` is never closed\n1 late\n0 1\n1 the context is null\n\
    the context is in use\ninterrupted\n0 1\nother 1\n1\n\
    0.33333333333333331 6 0 1\n0.33333333333333331 6 0 1\n0.33333333333333331 6 0 1\n\
    0.33333333333333331 6 0 1\n1 1\n1 1\n1 1\n1 1\n1 1\n1 1\n1 1\n1 1\n";

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

/// Functions without a context whose instructions may all say how they round.
const ENVIRONMENTS: &str = "def poly(x) ((1/3 * x - 0.1) * x + 1/7) * x - 2\n\
    def clamp(x lo hi) if x < lo then lo else if x > hi then hi else x\n\
    def roots(x y) sqrt(abs(x)) / y - sqrt(x)\n\
    def rounds(x) floor(x * 0.3) + ceil(x / 7) * 10 - trunc(-x) * 100\n\
    def truths(x y) (x < y) + 2 * (x == y) + 4 * (x != y) + 8 * (x >= y) + 16 * (!x) + 32 * (x && y || y > 1)\n\
    def signs(x y) copysign(x, y) - -x\n\
    def least(x y) min(x, y) * max(x, 1e-310)\n\
    def named(x) exp(x) + fmod(x, 3)\n\
    def codes(environment) environment / 3\n";

const ENVIRONMENTS_PROGRAM: &str = r#"
#define _GNU_SOURCE
#include "libanywhere.h"
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xmmintrin.h>

static const double values[] = {0.0, -0.0, 1.0, -1.0, 0.1, 3.7, -2.5, 1e308, -1e308, 1e-308, 3e-310, 4.9e-324,
                                -4.9e-324, 2.2250738585072014e-308, INFINITY, -INFINITY, NAN, 1e15, 7.0};
enum { COUNT = sizeof values / sizeof *values, RESULTS = COUNT * COUNT * 9 };

static void compute(double *results) {
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < COUNT; j++) {
            double x = values[i], y = values[j];
            *results++ = poly(x);
            *results++ = clamp(x, y, 1);
            *results++ = roots(x, y);
            *results++ = rounds(x);
            *results++ = truths(x, y);
            *results++ = signs(x, y);
            *results++ = least(x, y);
            *results++ = named(x);
            *results++ = codes(x);
        }
}

int main(void) {
    static double expected[RESULTS], found[RESULTS];
    compute(expected);
    /* Rounding, flushing results and operands to zero, and which exceptions trap. */
    for (unsigned way = 0; way < 4 * 4 * 2; way++) {
        unsigned csr = (way % 4) << 13 | (way & 4 ? 0x8000 : 0) | (way & 8 ? 0x40 : 0) | (way & 16 ? 0 : 0x1f80);
        for (unsigned flags = 0; flags < 64; flags += 63) {
            /* A flag whose exception traps is not set beforehand. */
            unsigned set = csr | (way & 16 ? 0 : flags);
            memset(found, 0, sizeof found);
            _mm_setcsr(set);
            compute(found);
            unsigned after = _mm_getcsr();
            _mm_setcsr(0x1f80);
            if (after != set) printf("%x became %x\n", set, after);
            for (int i = 0; i < RESULTS; i++)
                if (memcmp(&found[i], &expected[i], sizeof *found)) {
                    printf("%x: result %d is %.17g and not %.17g\n", set, i, found[i], expected[i]);
                    return 1;
                }
        }
    }
    printf("%.17g %g %g %g %g\n", poly(0.1), clamp(5, 0, 1), rounds(10), truths(1, 2), least(1e-310, 2));
    return 0;
}
"#;

/// What a host has set changes nothing, and nothing of it is changed.
#[test]
fn functions_compute_alike_in_every_environment() {
    let folder = Folder::new();
    let source = folder.write("anywhere.kal", ENVIRONMENTS);
    folder.write("use.c", ENVIRONMENTS_PROGRAM);
    // Without AVX-512, and with it, where the processor has it.
    for targets in ["x86-64", "x86-64;x86-64-v3;x86-64-v4", "x86-64,clone_all;x86-64-v4,clone_all"] {
        let library = folder.name("libanywhere.so");
        let made = build(&["--lib", "--target", targets, &source, "-o", &library]);
        assert_eq!((made.err(), made.code), ("", Some(0)), "{targets}");
        compile_use(&folder, "anywhere");
        let ran = execute(&folder.path("use"), &[], b"");
        let expected = "-1.9863809523809524 1 1023 37 0\n";
        assert_eq!((ran.out(), ran.err(), ran.code), (expected, "", Some(0)), "{targets}");
    }
}

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
    let of_image = "error: --export: two functions would be called `kal_image`";
    assert_eq!(refused(&source, "liba.so", "mean=kal_image"), of_image);
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
