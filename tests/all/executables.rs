//! Executables and C libraries: what `kal build` makes, with real linkers and compilers,
//! run where there is no Kal.

use crate::binary::{Ran, directory, files, finish, in_parallel, kal};
use crate::c_libraries::{C_OUTPUT, C_PROGRAM, EXPORTS, LIBRARY};
use crate::choices::{Choices, Random};
use crate::transcripts::{fenced, fits};
use crate::{images, scale};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

/// Returns the runtime that is linked, built if it is not up to date.
pub(crate) fn runtime() -> &'static Path {
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
            // As `make runtime` does.
            .env("RUSTFLAGS", "")
            .current_dir(directory(""))
            .output()
            .expect("cargo starts");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        target.join("runtime/libkal_runtime.a")
    })
}

pub(crate) fn build(arguments: &[&str]) -> Ran {
    finish(kal().env("KAL_RUNTIME", runtime()).arg("build").args(arguments))
}

/// Runs something that was built, where nothing but the system's libraries is.
pub(crate) fn execute(program: &Path, arguments: &[&str], input: &'static [u8]) -> Ran {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().current_dir("/").stdin(Stdio::null());
    if input.is_empty() { finish(&mut command) } else { crate::binary::feed(&mut command, input) }
}

pub(crate) struct Folder(pub(crate) TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("there is room"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn name(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
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

/// How large an executable with a small program may be, in bytes, and how much larger with some
/// mathematical functions: all are 1.3 MB.
const SMALL: u64 = 9 << 18;
const MORE: u64 = 1 << 19;

/// What only a parser says.
const PARSER_TEXT: &[u8] = b"is never closed";

#[test]
fn executables_contain_only_what_their_programs_need() {
    let functions = ["log10", "lgamma", "erfc", "tgamma", "pow"];
    let mut programs = vec![("sum".to_owned(), "1 + 1\n".to_owned())];
    programs.extend(functions.map(|name| (name.to_owned(), call_of(name))));
    // Without items, with a constant exponent, by the other name, with two or many at once, and in a module.
    programs.extend(
        [
            ("empty", ""),
            ("comment", "#!/usr/bin/env kal\n# sin(1)\n;;\n"),
            // An operator that is a letter elsewhere.
            ("operator", "def binaryⒶ 5 (a b) a + b\ndef f(x) 1 Ⓐsin(x)\nf(2)\nf(read())\n"),
            ("power", "def f(x) x ^ 1.5\nf(7)\nread() ^ 0.1\n"),
            ("ln", "def f(x) ln(x)\nf(7)\n"),
            ("strips", "def f(n) var s = 0 in (for i = 1, i < n in s = s + exp(-i) * sin(i)) : s\nf(1000)\n"),
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
        let bytes = std::fs::read(folder.path(name)).unwrap_or_default();
        let most = match name.as_str() {
            "sum" | "empty" | "comment" => SMALL,
            // Its modules have many functions.
            "import" => 2 * SMALL,
            _ => SMALL + MORE,
        };
        let is_same = (ran.out(), ran.err(), ran.code) == (expected.out(), expected.err(), Some(0));
        let has_parser = memchr::memmem::find(&bytes, PARSER_TEXT).is_some();
        if is_same && !has_parser && (1..=most).contains(&(bytes.len() as u64)) {
            Ok(())
        } else {
            Err(format!("{name}, {} bytes: {made:?} {ran:?}\ninstead of\n{expected:?}", bytes.len()))
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
fn an_executable_runs_where_its_code_does_not() {
    let folder = Folder::new();
    let text = "import stats\ndef f(x) sin(x) + x ^ 0.3\nf(2)\nstats.normal_cumulative(0.3, 0, 1)\n";
    let source = folder.write("f.kal", text);
    let made = build(&[&source, "--target", "x86-64-v4", "-o", &folder.name("f")]);
    assert_eq!((made.out(), made.err(), made.code), ("", "", Some(0)));
    let expected = finish(kal().arg(&source));
    // Valgrind's processor has no AVX-512.
    for tool in [&[][..], &["valgrind", "--quiet", "--smc-check=all-non-file"]] {
        let words: Vec<_> = tool.iter().map(|word| (*word).to_owned()).chain([folder.name("f")]).collect();
        let ran = finish(Command::new(&words[0]).args(&words[1..]).env("HOME", folder.0.path()));
        assert_eq!((ran.out(), ran.code), (expected.out(), Some(0)), "{words:?}: {}", ran.err());
    }
}

#[test]
fn an_executable_may_use_the_fuel_that_it_was_built_with() {
    let folder = Folder::new();
    let source = folder.write("f.kal", "def f(n) (for i = 1, i < n in i) + n\nf(10)\nf(1e9)\n");
    let made = build(&["--fuel", "10000", &source, "-o", &folder.name("f")]);
    assert_eq!((made.out(), made.err(), made.code), ("", "", Some(0)));
    let expected = finish(kal().args(["--no-tier-up", "--fuel", "10000", &source]));
    assert!(expected.out() == "10\n" && expected.err().contains("E0308"), "{expected:?}");
    let ran = execute(&folder.path("f"), &[], b"");
    assert_eq!((ran.out(), ran.err(), ran.code), (expected.out(), expected.err(), expected.code));
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
