//! The C source and the header of a library.
//!
//! Each function of the library is one in C, which calls the runtime by number. The source
//! defines what the header declares, so the C compiler checks that they agree.

use crate::diagnostic::Diagnostic;
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
    /// It takes functions.
    #[error("--export: `{0}` takes functions, which C cannot give")]
    Pattern(String),
    /// C cannot spell its name.
    #[error("--export: C cannot spell `{0}`; `{0}=NAME` gives it another name")]
    Unspellable(String),
    /// It would take the place of another function.
    #[error(
        "--export: the C library has a `{0}`, whose place this one would take in the whole process; \
         `{0}=NAME` gives it another name"
    )]
    Taken(String),
    /// Two functions have one name.
    #[error("--export: two functions would be called `{0}`")]
    Twice(String),
    /// There are no functions.
    #[error("there is no function that C could call")]
    Nothing,
    /// The name of the file is no name in C.
    #[error(
        "{0}: the name of the library begins its functions in C, as in `stats_context_new`; letters, digits and `_` are expected after `lib`"
    )]
    Library(String),
}

/// A function of a library.
struct Export {
    function: Arc<CheckedFunction>,
    name: String,
    c_name: String,
    parameters: Vec<String>,
}

/// Words that are none of a program in C or C++.
const RESERVED: &str = " alignas alignof and and_eq asm auto bitand bitor bool break case catch char class \
    compl concept const const_cast constexpr continue decltype default delete do double dynamic_cast else enum \
    explicit export extern false float for friend goto if inline int long main mutable namespace new noexcept not \
    not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires restrict return \
    short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try \
    typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq ";

fn is_c_name(name: &str) -> bool {
    let is_identifier = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.starts_with(|first: char| first.is_ascii_digit());
    // What begins with an underscore is the implementation's.
    is_identifier && !name.starts_with('_') && !RESERVED.contains(&format!(" {name} "))
}

impl CLibrary {
    /// Returns what is generated for a source, which exports these functions, `NAME` or
    /// `NAME=C_NAME`, or all that C can spell.
    ///
    /// # Errors
    /// Why it is no library.
    pub(super) fn new(
        source: &Source,
        engine: &Engine,
        exports: &[String],
        output: &Path,
        header: &Path,
    ) -> Result<Self, CLibraryError> {
        let draft = Draft::new(std::slice::from_ref(source), engine);
        if !draft.diagnostics.is_empty() {
            return Err(CLibraryError::Mistakes(draft.diagnostics));
        }
        let expression = draft.items.iter().find_map(|item| match item {
            CheckedItem::Expression(function) | CheckedItem::Effect(function) => Some(function),
            _ => None,
        });
        if let Some(function) = expression {
            let (line, column) = source.position(function.span.start);
            return Err(CLibraryError::Expression(source.name().to_owned(), line, column));
        }
        let mut left_out = Vec::new();
        let exports = chosen(&draft, engine, exports, &mut left_out)?;
        let prefix = prefix(output)?;
        let guard = format!("{}_H", prefix.to_uppercase());
        let text = Generated { prefix, exports: &exports };
        let made_from = Path::new(source.name()).file_name().unwrap_or_default().to_string_lossy();
        Ok(Self {
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
    draft: &Draft<'_>,
    engine: &Engine,
    asked: &[String],
    left_out: &mut Vec<String>,
) -> Result<Vec<Export>, CLibraryError> {
    let names = engine.names();
    let defined = |name: &str| {
        let functions = draft.items.iter().rev().filter_map(|item| match item {
            CheckedItem::Definition(function, _) => Some(function),
            _ => None,
        });
        functions.into_iter().find(|function| *names.text(function.name) == *name).cloned()
    };
    let mut pairs: Vec<(String, String)> = Vec::new();
    if asked.is_empty() {
        for item in &draft.items {
            let CheckedItem::Definition(function, _) = item else { continue };
            let name = names.text(function.name).to_string();
            if name.starts_with('_') || pairs.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let why = if !function.functions.is_empty() {
                Some("it takes functions, which C cannot give".to_owned())
            } else if !is_c_name(&name) {
                Some(format!("C cannot spell it; `--export '{name}=NAME'` gives it another name"))
            } else if is_of_process(&name) {
                Some(format!("the C library has one; `--export {name}=NAME` gives it another name"))
            } else {
                None
            };
            match why {
                Some(why) => left_out.push(format!("`{name}` is not exported: {why}")),
                None => pairs.push((name.clone(), name)),
            }
        }
    }
    for export in asked {
        // An operator may be one that has a `=`.
        let (name, c_name) = match export.rsplit_once('=') {
            Some((name, c_name)) if is_c_name(c_name) && !name.is_empty() => (name, c_name),
            _ => (export.as_str(), export.as_str()),
        };
        pairs.push((name.to_owned(), c_name.to_owned()));
    }
    let mut exports: Vec<Export> = Vec::new();
    for (name, c_name) in pairs {
        let function = defined(&name).ok_or_else(|| CLibraryError::Unknown(name.clone()))?;
        if !function.functions.is_empty() {
            return Err(CLibraryError::Pattern(name));
        }
        if !is_c_name(&c_name) {
            return Err(CLibraryError::Unspellable(name));
        }
        if is_of_process(&c_name) {
            return Err(CLibraryError::Taken(c_name));
        }
        if exports.iter().any(|export| export.c_name == c_name) {
            return Err(CLibraryError::Twice(c_name));
        }
        let parameter = |(number, name): (usize, &_)| {
            let name = names.text(*name).to_string();
            // A name could be that of a function, or of something that a header defines.
            if is_c_name(&name) { name } else { format!("x{}", number + 1) }
        };
        let mut parameters: Vec<String> = function.parameters.iter().enumerate().map(parameter).collect();
        let is_double = (1..parameters.len()).any(|at| parameters[..at].contains(&parameters[at]));
        if is_double || parameters.iter().any(|name| ["context", "result"].contains(&name.as_str())) {
            parameters = (1..=parameters.len()).map(|number| format!("x{number}")).collect();
        }
        exports.push(Export { function, name, c_name, parameters });
    }
    if exports.is_empty() { Err(CLibraryError::Nothing) } else { Ok(exports) }
}

/// The texts that are generated.
struct Generated<'a> {
    prefix: String,
    exports: &'a [Export],
}

impl Generated<'_> {
    fn symbols(&self) -> Vec<String> {
        let general = ["context_new", "context_free", "eval", "interrupt", "set_deadline", "last_error"];
        let general = general.iter().map(|name| format!("{}_{name}", self.prefix));
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
            let _ = writeln!(text, "{};\n{};", self.plain(export), self.in_context(export));
        }
        text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
    }

    fn plain(&self, export: &Export) -> String {
        let parameters = export.parameters.iter().map(|name| format!("double {name}"));
        let parameters = parameters.collect::<Vec<_>>().join(", ");
        let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters };
        format!("double {}({parameters})", export.c_name)
    }

    fn in_context(&self, export: &Export) -> String {
        let parameters: String = export.parameters.iter().map(|name| format!("double {name}, ")).collect();
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

struct library {{
    const unsigned char *image;
    const uint64_t *size;
    const char *const *names;
    const uint32_t *arities;
    uint32_t count;
}};

extern const unsigned char kal_image[];
extern const uint64_t kal_image_size;
void *kal_library_context_new(const struct library *);
void kal_library_context_free(void *);
int kal_library_call(void *, uint32_t, const double *, uint32_t, double *);
double kal_library_call_here(const struct library *, uint32_t, const double *, uint32_t);
int kal_library_eval(void *, const char *, double *);
void kal_library_interrupt(const void *);
int kal_library_set_deadline(void *, double);
const char *kal_library_last_error(void);

static const char *const names[] = {{{}}};
static const uint32_t arities[] = {{{}}};
static const struct library library = {{kal_image, &kal_image_size, names, arities, {}}};

{prefix}_context *{prefix}_context_new(void) {{ return kal_library_context_new(&library); }}
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
            self.exports.len()
        );
        for (number, export) in self.exports.iter().enumerate() {
            let count = export.parameters.len();
            // An array of none would be none of C.
            let values = if count == 0 { "0".to_owned() } else { export.parameters.join(", ") };
            let array = format!("const double arguments[] = {{{values}}};");
            let _ = write!(
                text,
                "
{} {{
    {array}
    return kal_library_call_here(&library, {number}, arguments, {count});
}}
{} {{
    {array}
    return kal_library_call(context, {number}, arguments, {count}, result);
}}
",
                self.plain(export),
                self.in_context(export)
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
