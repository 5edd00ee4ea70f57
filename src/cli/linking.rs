//! Linking images: into shared objects, and with the runtime into executables.
//!
//! An image is data. It enters through an assembler file that includes it, so any linker
//! will do; the C compiler calls the assembler and the linker.

use crate::executable::BUILD_MARK;
use crate::image::{SIZE_SYMBOL, START_SYMBOL};
use crate::terminal::file::write_atomically;
use crate::terminal::replacement::target;
use kal_math::uncalled_symbols;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The file of the runtime.
const RUNTIME: &str = "libkal_runtime.a";

/// A linker script that places what runs at each start side by side: the system maps pages of a
/// file by sixteen, and each time takes microseconds.
#[cfg(feature = "compiler")]
const SECTIONS: &str = include_str!(concat!(env!("OUT_DIR"), "/executable-sections.ld"));
/// Without a compiler nothing is built that starts.
#[cfg(not(feature = "compiler"))]
const SECTIONS: &str = "";

/// What the runtime needs of the system. What the C library has is taken from there: then no
/// other library need be loaded.
const SYSTEM_LIBRARIES: [&str; 4] = ["-lpthread", "-ldl", "-lc", "-lm"];

/// How something is linked.
#[derive(clap::Args, Debug, Clone)]
pub(super) struct LinkArguments {
    /// The linker, as in `-fuse-ld=NAME`: that of the C compiler if not given
    #[arg(long, value_name = "NAME")]
    linker: Option<String>,
    /// Print the command that links, and what it says
    #[arg(long)]
    verbose_linking: bool,
}

/// Why something is not linked.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkingError {
    /// A file cannot be written or read.
    #[error("{}: {}", .0.display(), .1)]
    Io(PathBuf, io::Error),
    /// There is no C compiler.
    #[error("cannot run `{0}`: {1}; a C compiler links, which CC names")]
    NoCompiler(String, io::Error),
    /// It refuses.
    #[error("`{0}` fails:\n{1}")]
    Refused(String, String),
    /// There is no runtime.
    #[error(
        "{RUNTIME} is neither beside `kal` nor in `../lib`; `make runtime` builds it, and KAL_RUNTIME says \
         where it is"
    )]
    NoRuntime,
    /// The runtime is that of another build.
    #[error("{} is of another build of Kal than this command; `make runtime` builds that of this one", .0.display())]
    OtherRuntime(PathBuf),
}

/// What an image is linked into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Linked<'a> {
    /// A shared object with nothing else.
    Image,
    /// An executable: the runtime, with these mathematical functions only.
    Executable { mathematics: &'a BTreeSet<&'static str> },
    /// A shared library with the runtime, this C source, the header that it includes, by name and
    /// text, and only these symbols.
    Library { source: &'a str, header: (&'a str, &'a str), exports: &'a [String] },
}

/// Links an image into a file, which is whole or not there.
///
/// # Errors
/// Why it cannot be.
pub(super) fn link(
    image: &[u8],
    linked: Linked<'_>,
    output: &Path,
    arguments: &LinkArguments,
) -> Result<(), LinkingError> {
    let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| LinkingError::Io(path, error)
    };
    std::fs::metadata(parent).map_err(failed(parent))?;
    // Beside the output, so that renaming it is all that is left to do.
    let folder = tempfile::Builder::new().prefix(".kal-link-").tempdir_in(parent).map_err(failed(parent))?;
    let file = |name: &str| folder.path().join(name);
    let write = |name: &str, bytes: &[u8]| {
        let path = file(name);
        std::fs::write(&path, bytes).map_err(failed(&path)).map(|()| path)
    };
    write("image.bin", image)?;
    let left_out = match linked {
        Linked::Executable { mathematics } => uncalled_symbols(|name| mathematics.contains(name)),
        Linked::Image | Linked::Library { .. } => Vec::new(),
    };
    let mut inputs = vec![write("image.s", assembler(linked, &left_out).as_bytes())?];
    if let Linked::Library { source, header: (name, text), .. } = linked {
        write(name, text.as_bytes())?;
        inputs.push(write("library.c", source.as_bytes())?);
    }
    let made = file("output");
    let mut options: Vec<OsString> = match linked {
        Linked::Image => ["-shared", "-nostdlib"].map(OsString::from).to_vec(),
        // A tenth of the start less than with relocations and another library.
        Linked::Executable { .. } => ["-no-pie", "-static-libgcc"].map(OsString::from).to_vec(),
        Linked::Library { exports, .. } => {
            let script = write("exports.map", version_script(exports).as_bytes())?;
            let script = joined("-Wl,--version-script=", script);
            let soname = joined("-Wl,-soname,", output.file_name().unwrap_or_default());
            vec!["-shared".into(), "-fPIC".into(), "-O2".into(), script, soname]
        }
    };
    options.extend(arguments.linker.iter().map(|name| format!("-fuse-ld={name}").into()));
    options.extend(inputs.into_iter().map(OsString::from));
    if linked != Linked::Image {
        options.push(runtime()?.into());
        options.extend(["-Wl,--gc-sections", "-Wl,-s", "-Wl,--as-needed"].map(OsString::from));
        let unwinding: &[&str] =
            if matches!(linked, Linked::Executable { .. }) { &["-lgcc_eh", "-lgcc"] } else { &["-lgcc_s"] };
        options.extend(unwinding.iter().chain(&SYSTEM_LIBRARIES).map(OsString::from));
    }
    if !left_out.is_empty() {
        // To define the symbols would not do: some are in one object with others that are needed.
        let wrapped: String = left_out.iter().map(|symbol| format!("-Wl,--wrap={symbol}\n")).collect();
        options.push(joined("@", write("left-out.options", wrapped.as_bytes())?));
    }
    options.extend(["-o".into(), made.clone().into()]);
    // The assembler looks for what it includes there.
    options.push(joined("-Wa,-I", folder.path()));
    // Not every linker knows such scripts, and without one the start takes a little longer.
    let is_ordered = linked != Linked::Image && {
        let script = joined("-Wl,-T,", write("sections.ld", SECTIONS.as_bytes())?);
        run(&[&options[..], &[script]].concat(), arguments).is_ok()
    };
    if !is_ordered {
        run(&options, arguments)?;
    }
    // A device or a pipe is written to, and a link leads to the file that is replaced.
    let target = target(output);
    if std::fs::metadata(&target).is_ok_and(|data| !data.is_file() && !data.is_dir()) {
        let bytes = std::fs::read(&made).map_err(failed(&made))?;
        return write_atomically(&target, &bytes).map_err(failed(output));
    }
    std::fs::rename(&made, &target).map_err(failed(output))
}

/// Returns an option with what it is for.
fn joined(option: &str, value: impl AsRef<OsStr>) -> OsString {
    let mut option = OsString::from(option);
    option.push(value);
    option
}

/// Runs the C compiler.
fn run(options: &[OsString], arguments: &LinkArguments) -> Result<(), LinkingError> {
    let chosen = std::env::var("CC").ok().filter(|chosen| !chosen.trim().is_empty());
    let chosen = chosen.unwrap_or_else(|| "cc".to_owned());
    let mut words = chosen.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("cc"));
    command.args(words).args(options);
    let shown: Vec<_> = options.iter().map(|option| option.to_string_lossy()).collect();
    let shown = format!("{chosen} {}", shown.join(" "));
    if arguments.verbose_linking {
        let _ = writeln!(io::stderr(), "{shown}");
    }
    let output = command.output().map_err(|error| LinkingError::NoCompiler(chosen, error))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(LinkingError::Refused(shown, said.trim_end().to_owned()));
    }
    if arguments.verbose_linking && !said.is_empty() {
        let _ = write!(io::stderr(), "{said}");
    }
    Ok(())
}

/// Returns the assembler file that includes an image, and starts the program in it. Calls of what
/// is left out lead to `kal_left_out`, which aborts.
fn assembler(linked: Linked<'_>, left_out: &[String]) -> String {
    let mut text = format!(
        "\t.section .rodata.kal,\"a\",@progbits
\t.globl {START_SYMBOL}
\t.type {START_SYMBOL}, @object
\t.balign 4096
{START_SYMBOL}:
\t.incbin \"image.bin\"
.Lend:
\t.size {START_SYMBOL}, . - {START_SYMBOL}
\t.globl {SIZE_SYMBOL}
\t.type {SIZE_SYMBOL}, @object
\t.balign 8
{SIZE_SYMBOL}:
\t.quad .Lend - {START_SYMBOL}
\t.size {SIZE_SYMBOL}, 8
"
    );
    if matches!(linked, Linked::Executable { .. }) {
        let _ = write!(
            text,
            "\t.text
\t.globl main
\t.type main, @function
main:
\tsub $8, %rsp
\tlea {START_SYMBOL}(%rip), %rdi
\tmov {SIZE_SYMBOL}(%rip), %rsi
\tcall kal_run_image@PLT
\tadd $8, %rsp
\tret
"
        );
    }
    for symbol in left_out {
        let _ = write!(text, "\t.globl __wrap_{symbol}\n__wrap_{symbol}:\n");
    }
    if !left_out.is_empty() {
        text.push_str("\tjmp kal_left_out@PLT\n");
    }
    text + "\t.section .note.GNU-stack,\"\",@progbits\n"
}

/// Returns the version script of a library that exports these symbols only.
fn version_script(exports: &[String]) -> String {
    let global: String = exports.iter().map(|export| format!("    {export};\n")).collect();
    format!("{{\n  global:\n{global}  local:\n    *;\n}};\n")
}

/// Returns the file of the runtime: what `KAL_RUNTIME` names or is in that folder, or beside the command, in `lib`,
/// or where its build leaves it.
fn runtime() -> Result<PathBuf, LinkingError> {
    let named = std::env::var_os("KAL_RUNTIME").map(PathBuf::from);
    let command = std::env::current_exe().ok().and_then(|path| path.canonicalize().ok());
    let folder = command.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    let usual = ["", "../lib", "../lib/kal", "../runtime"].map(|place| folder.join(place).join(RUNTIME));
    let file = match named {
        Some(folder) if folder.is_dir() => folder.join(RUNTIME),
        Some(file) => file,
        None => usual.into_iter().find(|file| file.is_file()).ok_or(LinkingError::NoRuntime)?,
    };
    let bytes = std::fs::read(&file).map_err(|error| LinkingError::Io(file.clone(), error))?;
    let is_ours = memchr::memmem::find(&bytes, &BUILD_MARK).is_some();
    if is_ours { Ok(file) } else { Err(LinkingError::OtherRuntime(file)) }
}
