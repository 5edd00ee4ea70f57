//! The C source and the header of a library.
//!
//! Each function of the library is one in C, which calls the runtime by number. The source
//! defines what the header declares, so the C compiler checks that they agree.

use crate::diagnostic::{Diagnostic, Severity};
use crate::draft::Draft;
use crate::engine::Engine;
use crate::host::is_of_process;
use crate::sema::CheckedItem;
use crate::sema::checked::CheckedFunction;
use crate::source::Source;
use crate::syntax::comment::documentation;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// What a library for C consists of, besides its image.
pub(super) struct CLibrary {
    /// The names of the functions in Kal.
    pub(super) functions: Vec<String>,
    /// The symbols that it exports.
    pub(super) symbols: Vec<String>,
    /// Its C source.
    pub(super) source: String,
    /// Its header.
    pub(super) header: String,
    /// What is not exported, and why, if all that C can spell is.
    pub(super) left_out: Vec<String>,
    /// What is likely to be wrong with the program.
    pub(super) warnings: Vec<Diagnostic>,
}

/// Why a program is no library for C.
#[derive(Debug, thiserror::Error)]
pub(super) enum CLibraryError {
    /// The program has mistakes.
    #[error("the program has mistakes")]
    Mistakes(Vec<Diagnostic>),
    /// A library only declares.
    #[error("{0}:{1}:{2}: a library only declares, and this expression would never be evaluated")]
    Expression(String, usize, usize),
    /// There is no such function.
    #[error("--export: no function `{0}` is defined")]
    Unknown(String),
    /// It cannot be exported under that name.
    #[error("--export: {}", .problem.refused(.name, .c_name))]
    Refused { name: String, c_name: String, problem: ExportProblem },
    /// There are no functions.
    #[error("there is no function that C could call")]
    Nothing,
    /// The name of the file is no name in C.
    #[error(
        "{0}: the name of the library begins its functions in C, as in `stats_context_new`; letters, digits and `_` are expected after `lib`"
    )]
    Library(String),
}

/// Why a function cannot be exported under a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ExportProblem {
    /// It takes functions.
    Pattern,
    /// C cannot spell it.
    Unspellable,
    /// It would take the place of another function.
    Taken,
    /// Standard headers define a macro of that name.
    Macro,
    /// Two functions would have it; one of them may be what the library has for each export or
    /// for itself.
    Twice(String),
}

impl ExportProblem {
    /// Returns the error for a name that was asked for.
    fn refused(&self, name: &str, c_name: &str) -> String {
        let other = format!("`{name}=NAME` gives it another name");
        match self {
            Self::Pattern => format!("`{name}` takes functions, which C cannot give"),
            Self::Unspellable => format!("C cannot spell `{c_name}`; {other}"),
            Self::Taken => format!(
                "the C library has a `{c_name}`, whose place this one would take in the whole process; {other}"
            ),
            Self::Macro => format!("`{c_name}` is a macro in headers of the C library; {other}"),
            Self::Twice(symbol) => format!("two functions would be called `{symbol}`"),
        }
    }

    /// Returns the note on a function that was not asked for.
    fn note(&self, name: &str) -> String {
        let other = format!("`--export '{name}=NAME'` gives it another name");
        let why = match self {
            Self::Pattern => "it takes functions, which C cannot give".to_owned(),
            Self::Unspellable => format!("C cannot spell it; {other}"),
            Self::Taken => format!("the C library has one; {other}"),
            Self::Macro => format!("it is a macro in headers of the C library; {other}"),
            Self::Twice(symbol) => format!("two functions would be called `{symbol}`; {other}"),
        };
        format!("`{name}` is not exported: {why}")
    }
}

/// A function of a library.
struct Export {
    function: Arc<CheckedFunction>,
    name: String,
    c_name: String,
    parameters: Vec<String>,
}

/// What the names begin with that the C source of a library has for itself.
const OF_SOURCE: [&str; 6] = ["kal_library_", "kal_image", "int64_t", "uint32_t", "uint64_t", "uintptr_t"];

/// Words that are none of a program in C or C++.
const RESERVED: &str = " alignas alignof and and_eq asm auto bitand bitor bool break case catch char class \
    compl concept const const_cast constexpr continue decltype default delete do double dynamic_cast else enum \
    explicit export extern false float for friend goto if inline int long main mutable namespace new noexcept not \
    not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires restrict return \
    short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try \
    typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq ";

/// Macros of standard headers, and of compilers outside their strict modes, that a function or a
/// parameter could be called like; and what others of them begin with.
const MACROS: &str = " ATOMIC_VAR_INIT BUFSIZ CHAR_BIT CLOCKS_PER_SEC CMPLX EDOM EILSEQ EOF ERANGE EXIT_FAILURE \
    EXIT_SUCCESS FOPEN_MAX HUGE HUGE_VAL HUGE_VALF HUGE_VALL I INFINITY MAXFLOAT MB_CUR_MAX NAN NDEBUG NULL RAND_MAX \
    SEEK_CUR SEEK_END SEEK_SET TMP_MAX WEOF assert complex errno fpclassify i386 imaginary isfinite isgreater \
    isgreaterequal isinf isless islessequal islessgreater isnan isnormal isunordered kill_dependency linux \
    math_errhandling noreturn offsetof setjmp signbit stderr stdin stdout unix va_arg va_copy va_end va_start ";
const MACRO_PREFIXES: [&str; 15] = [
    "M_",
    "FP_",
    "FE_",
    "FLT_",
    "DBL_",
    "LDBL_",
    "INT_",
    "UINT_",
    "LONG_",
    "SHRT_",
    "SIG_",
    "LC_",
    "PRI_",
    "SCN_",
    "FILENAME_",
];

fn is_macro(name: &str) -> bool {
    MACROS.contains(&format!(" {name} ")) || MACRO_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn is_c_name(name: &str) -> bool {
    let is_identifier = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.starts_with(|first: char| first.is_ascii_digit());
    // What begins with an underscore is the implementation's.
    is_identifier && !name.starts_with('_') && !RESERVED.contains(&format!(" {name} "))
}

impl CLibrary {
    /// Returns what is generated for a source, after a prelude, which exports these functions,
    /// `NAME` or `NAME=C_NAME`, or all that C can spell.
    ///
    /// # Errors
    /// Why it is no library.
    pub(super) fn new(
        source: &Source,
        prelude: Option<&Source>,
        engine: &Engine,
        exports: &[String],
        (output, header): (&Path, &Path),
    ) -> Result<Self, CLibraryError> {
        // The prelude comes before.
        let sources: Vec<Source> = prelude.into_iter().chain([source]).cloned().collect();
        let draft = Draft::new(&sources, engine);
        let (mistakes, warnings): (Vec<_>, Vec<_>) =
            draft.diagnostics.iter().cloned().partition(|found| found.severity == Severity::Error);
        if !mistakes.is_empty() {
            return Err(CLibraryError::Mistakes(mistakes));
        }
        let is_own = |function: &Arc<CheckedFunction>| function.source.name() == source.name();
        let expression = draft.items.iter().find_map(|item| match item {
            CheckedItem::Expression(function) | CheckedItem::Effect(function) => {
                Some(function).filter(|function| is_own(function))
            }
            _ => None,
        });
        if let Some(function) = expression {
            let (line, column) = source.position(function.span.start);
            return Err(CLibraryError::Expression(source.name().to_owned(), line, column));
        }
        let prefix = prefix(output)?;
        let mut left_out = Vec::new();
        let own = draft.items.iter().filter_map(|item| match item {
            CheckedItem::Definition(function, _) => Some(function).filter(|function| is_own(function)),
            _ => None,
        });
        let exports = chosen(&own.cloned().collect::<Vec<_>>(), &prefix, engine, exports, &mut left_out)?;
        let guard = guard(&prefix, &exports);
        let text = Generated { prefix, exports: &exports };
        let made_from = Path::new(source.name()).file_name().unwrap_or_default().to_string_lossy();
        Ok(Self {
            warnings,
            functions: exports.iter().map(|export| export.name.clone()).collect(),
            left_out,
            symbols: text.symbols(),
            header: text.header(&made_from, &guard),
            source: text.source(&header.file_name().unwrap_or_default().to_string_lossy()),
        })
    }
}

/// Returns what functions in C that concern the whole library begin with: its name.
fn prefix(output: &Path) -> Result<String, CLibraryError> {
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().unwrap_or_default();
    let prefix = stem.strip_prefix("lib").filter(|rest| !rest.is_empty()).unwrap_or(stem).replace('-', "_");
    if is_c_name(&prefix) { Ok(prefix) } else { Err(CLibraryError::Library(name.into_owned())) }
}

/// Returns the functions to export. If all are, adds those to `left_out` that cannot be.
fn chosen(
    functions: &[Arc<CheckedFunction>],
    prefix: &str,
    engine: &Engine,
    asked: &[String],
    left_out: &mut Vec<String>,
) -> Result<Vec<Export>, CLibraryError> {
    let names = engine.names();
    // The last definition of a name is in force.
    let defined = |name: &str| functions.iter().rev().find(|function| *names.text(function.name) == *name);
    let mut exports: Vec<Export> = Vec::new();
    let mut symbols = general_symbols(prefix);
    let mut export = |function: &Arc<CheckedFunction>, name: &str, c_name: &str| {
        let own = [c_name.to_owned(), format!("{c_name}_in")];
        if let Some(problem) = problem(function, c_name, &own, &symbols) {
            return Some(problem);
        }
        symbols.extend(own);
        let parameters = function.parameters.iter().map(|name| names.text(*name).to_string());
        exports.push(Export {
            function: function.clone(),
            name: name.to_owned(),
            c_name: c_name.to_owned(),
            parameters: c_parameters(parameters.collect()),
        });
        None
    };
    if asked.is_empty() {
        let mut known: Vec<String> = Vec::new();
        for function in functions {
            let name = names.text(function.name).to_string();
            if name.starts_with('_') || known.contains(&name) {
                continue;
            }
            let last = defined(&name).unwrap_or(function);
            left_out.extend(export(last, &name, &name).map(|problem| problem.note(&name)));
            known.push(name);
        }
    }
    for asked in asked {
        // An operator may be one that has a `=`.
        let parts = asked.rsplit_once('=').filter(|(name, c_name)| {
            defined(asked).is_none() && (defined(name).is_some() || is_c_name(c_name))
        });
        let (name, c_name) = parts.unwrap_or((asked, asked));
        let function = defined(name).ok_or_else(|| CLibraryError::Unknown(name.to_owned()))?;
        if let Some(problem) = export(function, name, c_name) {
            let (name, c_name) = (name.to_owned(), c_name.to_owned());
            return Err(CLibraryError::Refused { name, c_name, problem });
        }
    }
    if exports.is_empty() { Err(CLibraryError::Nothing) } else { Ok(exports) }
}

/// Returns why a function cannot be exported under a name, with these symbols, into a library that
/// has others.
fn problem(
    function: &CheckedFunction,
    c_name: &str,
    own: &[String],
    others: &[String],
) -> Option<ExportProblem> {
    if !function.functions.is_empty() {
        Some(ExportProblem::Pattern)
    } else if !is_c_name(c_name) {
        Some(ExportProblem::Unspellable)
    } else if is_of_process(c_name) {
        Some(ExportProblem::Taken)
    } else if is_macro(c_name) {
        Some(ExportProblem::Macro)
    } else {
        let is_of_source = |symbol: &str| OF_SOURCE.iter().any(|prefix| symbol.starts_with(prefix));
        let twice = own.iter().find(|symbol| others.contains(symbol) || is_of_source(symbol));
        twice.cloned().map(ExportProblem::Twice)
    }
}

/// Returns the names of parameters in C.
fn c_parameters(names: Vec<String>) -> Vec<String> {
    let is_double = (1..names.len()).any(|at| names[..at].contains(&names[at]));
    let fits = |(number, name): (usize, String)| {
        // A name could be that of a function, or of something that a header defines.
        if is_c_name(&name) && !is_macro(&name) { name } else { format!("x{}", number + 1) }
    };
    let count = names.len();
    let named: Vec<String> = names.into_iter().enumerate().map(fits).collect();
    let is_taken = |name: &String| ["context", "result"].contains(&name.as_str());
    let is_double = is_double || (1..count).any(|at| named[..at].contains(&named[at]));
    if is_double || named.iter().any(is_taken) {
        return numbered(count);
    }
    named
}

/// Returns the macro of a header by which it is read once: none of its names.
fn guard(prefix: &str, exports: &[Export]) -> String {
    let mut guard = format!("{}_H", prefix.to_uppercase());
    let names = || exports.iter().flat_map(|export| export.parameters.iter().chain([&export.c_name]));
    while names().any(|name| *name == guard) {
        guard.push('_');
    }
    guard
}

/// Returns names of that many parameters.
fn numbered(count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("x{number}")).collect()
}

/// Returns the symbols that a library has for itself.
fn general_symbols(prefix: &str) -> Vec<String> {
    let general =
        ["context", "context_new", "context_free", "eval", "interrupt", "set_deadline", "last_error"];
    general.iter().map(|name| format!("{prefix}_{name}")).collect()
}

/// The texts that are generated.
struct Generated<'a> {
    prefix: String,
    exports: &'a [Export],
}

impl Generated<'_> {
    fn symbols(&self) -> Vec<String> {
        // The first is a type.
        let general = general_symbols(&self.prefix).into_iter().skip(1);
        let functions = self.exports.iter();
        let functions = functions.flat_map(|export| [export.c_name.clone(), format!("{}_in", export.c_name)]);
        general.chain(functions).collect()
    }

    fn header(&self, made_from: &str, guard: &str) -> String {
        let prefix = &self.prefix;
        let mut text = format!(
            "/* Made by kal {} from {made_from}. */
#ifndef {guard}
#define {guard}

#ifdef __cplusplus
extern \"C\" {{
#endif

/* A program in progress: its definitions and variables. One thread at a time may use it;
   threads that call functions without one have one each. */
typedef struct {prefix}_context {prefix}_context;

/* Creates a context; null if that fails. */
{prefix}_context *{prefix}_context_new(void);

/* Frees a context that nothing runs in. */
void {prefix}_context_free({prefix}_context *context);

/* Runs a text in a context, such as \"def f(x) x + 1\": all that calls f sees it. Returns 0, and
   the value of its last expression in *result, if that is not null; or 1. */
int {prefix}_eval({prefix}_context *context, const char *text, double *result);

/* Stops what runs in a context, from any thread. */
void {prefix}_interrupt(const {prefix}_context *context);

/* Makes what runs in a context fail so many seconds from now, or no longer if negative.
   Returns 0, or 1. */
int {prefix}_set_deadline({prefix}_context *context, double seconds);

/* Returns what went wrong last on this thread; \"\" if nothing has. It is there until the next
   call of this. */
const char *{prefix}_last_error(void);

/* The functions. Without a context they return nan if they fail; with one, 0 and the result, or
   1. */
",
            env!("CARGO_PKG_VERSION")
        );
        for export in self.exports {
            text.push('\n');
            let (source, span) = (&export.function.source, export.function.span);
            if let Some(documentation) = documentation(source, span) {
                let lines = documentation.replace("*/", "* /");
                let _ = writeln!(text, "/* {} */", lines.lines().collect::<Vec<_>>().join("\n   "));
            }
            let parameters = &export.parameters;
            let (plain, in_context) = (self.plain(export, parameters), self.in_context(export, parameters));
            let _ = writeln!(text, "{plain};\n{in_context};");
        }
        text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
    }

    fn plain(&self, export: &Export, parameters: &[String]) -> String {
        let parameters = parameters.iter().map(|name| format!("double {name}"));
        let parameters = parameters.collect::<Vec<_>>().join(", ");
        let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters };
        format!("double {}({parameters})", export.c_name)
    }

    fn in_context(&self, export: &Export, parameters: &[String]) -> String {
        let parameters: String = parameters.iter().map(|name| format!("double {name}, ")).collect();
        format!("int {}_in({}_context *context, {parameters}double *result)", export.c_name, self.prefix)
    }

    fn source(&self, header: &str) -> String {
        let prefix = &self.prefix;
        let names: Vec<_> =
            self.exports.iter().map(|export| format!("\"{}\"", escaped(&export.name))).collect();
        let arities: Vec<_> = self.exports.iter().map(|export| export.parameters.len().to_string()).collect();
        let mut text = format!(
            "#include \"{header}\"
#include <stdint.h>

struct kal_library_parts {{
    const unsigned char *image;
    const uint64_t *size;
    const char *const *names;
    const uint32_t *arities;
    uint32_t count;
    uintptr_t *codes;
    uintptr_t *environment_free_codes;
}};

extern const unsigned char kal_image[];
extern const uint64_t kal_image_size;
void *kal_library_context_new(const struct kal_library_parts *);
void kal_library_context_free(void *);
int kal_library_call(void *, uint32_t, const double *, uint32_t, double *);
double kal_library_call_here(const struct kal_library_parts *, uint32_t, const double *, uint32_t);
int kal_library_eval(void *, const char *, double *);
void kal_library_interrupt(const void *);
int kal_library_set_deadline(void *, double);
const char *kal_library_last_error(void);

static const char *const kal_library_names[] = {{{}}};
static const uint32_t kal_library_arities[] = {{{}}};
/* The code of functions that need no context, once the runtime has stored it; and of those among
   them whose instructions say how they round, and raise no exceptions. */
static uintptr_t kal_library_codes[{count}];
static uintptr_t kal_library_environment_free_codes[{count}];
static const struct kal_library_parts kal_library_here = {{
    kal_image, &kal_image_size, kal_library_names, kal_library_arities, {count}, kal_library_codes,
    kal_library_environment_free_codes}};

/* Returns whether subnormal numbers are not flushed to zero, neither as operands nor as results. The
   processor has AVX-512. */
static inline int kal_library_keeps_subnormals(void) {{
    static const double smallest = 4.9406564584124654e-324;
    double sum;
    int64_t bits;
    __asm__ volatile(\"vxorpd %0, %0, %0\\n\\tvaddsd %{{rn-sae%}}, %2, %0, %0\\n\\tvmovq %0, %1\"
                     : \"=&x\"(sum), \"=r\"(bits) : \"x\"(smallest));
    return bits != 0;
}}

/* Returns the code of a function that can be called in the environment of the host, but for flushing
   subnormal numbers to zero; null if there is none. */
static inline uintptr_t kal_library_environment_free_code(uint32_t number) {{
    return __atomic_load_n(&kal_library_environment_free_codes[number], __ATOMIC_ACQUIRE);
}}

/* Returns the control and status register of the thread's floating-point unit. */
static inline uint32_t kal_library_environment(void) {{
    uint32_t value;
    __asm__ volatile(\"stmxcsr %0\" : \"=m\"(value));
    return value;
}}

/* Returns the code of a function that can be called in an environment; null if there is none, or
   the host has not the default environment, but for the flags. */
static inline uintptr_t kal_library_code_in(uint32_t environment, uint32_t number) {{
    return (environment & ~0x3fu) == 0x1f80 ? __atomic_load_n(&kal_library_codes[number], __ATOMIC_ACQUIRE) : 0;
}}

/* The environment of an earlier call of a host that has raised other flags than the one that says
   that a result was rounded, which most have. */
static uint32_t kal_library_usual = 0x1f80;

/* Returns a result after giving the host back its flags. These are mostly the usual ones, so the
   processor continues on the predicted branch, and does not wait for stmxcsr. */
static inline double kal_library_returned(double result, uint32_t environment) {{
    static const uint32_t inexact = 0x1fa0;
    const uint32_t expected = __atomic_load_n(&kal_library_usual, __ATOMIC_RELAXED);
    uint32_t written = expected;
    /* Hides from the compiler that both are equal. */
    __asm__ volatile(\"\" : \"+r\"(written));
    if (environment == inexact) {{
        __asm__ volatile(\"ldmxcsr %0\" : : \"m\"(inexact), \"x\"(result));
    }} else if (environment == expected) {{
        __asm__ volatile(\"ldmxcsr %0\" : : \"m\"(written), \"x\"(result));
    }} else {{
        __atomic_store_n(&kal_library_usual, environment, __ATOMIC_RELAXED);
        __asm__ volatile(\"ldmxcsr %0\" : : \"m\"(environment), \"x\"(result));
    }}
    return result;
}}

{prefix}_context *{prefix}_context_new(void) {{ return kal_library_context_new(&kal_library_here); }}
void {prefix}_context_free({prefix}_context *context) {{ kal_library_context_free(context); }}
int {prefix}_eval({prefix}_context *context, const char *text, double *result) {{
    return kal_library_eval(context, text, result);
}}
void {prefix}_interrupt(const {prefix}_context *context) {{ kal_library_interrupt(context); }}
int {prefix}_set_deadline({prefix}_context *context, double seconds) {{
    return kal_library_set_deadline(context, seconds);
}}
const char *{prefix}_last_error(void) {{ return kal_library_last_error(); }}
",
            names.join(", "),
            arities.join(", "),
            count = self.exports.len()
        );
        for (number, export) in self.exports.iter().enumerate() {
            let count = export.parameters.len();
            // Not those of the header, which could be names in this file.
            let parameters = numbered(count);
            // An array of none would be none of C.
            let values = if count == 0 { "0".to_owned() } else { parameters.join(", ") };
            let array = format!("const double arguments[] = {{{values}}};");
            // The code does not use the context, which comes first.
            let types = ", double".repeat(count);
            let passed: String = parameters.iter().map(|name| format!(", {name}")).collect();
            let (plain, in_context) = (self.plain(export, &parameters), self.in_context(export, &parameters));
            let _ = write!(
                text,
                "
{plain} {{
    const uintptr_t free_code = kal_library_environment_free_code({number});
    if (free_code && kal_library_keeps_subnormals()) return ((double (*)(const void *{types}))free_code)(0{passed});
    const uint32_t present = kal_library_environment();
    const uintptr_t code = kal_library_code_in(present, {number});
    if (code) return kal_library_returned(((double (*)(const void *{types}))code)(0{passed}), present);
    {array}
    return kal_library_call_here(&kal_library_here, {number}, arguments, {count});
}}
{in_context} {{
    {array}
    return kal_library_call(context, {number}, arguments, {count}, result);
}}
"
            );
        }
        text
    }
}

/// Returns a text as it stands in a literal of C.
fn escaped(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b' ' => char::from(byte).to_string(),
            byte => format!("\\{byte:03o}"),
        })
        .collect()
}
