// Kal for C: formulas and functions over numbers, compiled.
//
// Programs are text; what they define can be called, one value or whole columns at a time, and
// redefined while it is in use. `docs/c.md` is the introduction.
//
// Functions that can fail return false or NULL, and write an error object to `*error`, which the
// caller frees with `kal_error_free`; if `error` is NULL, nobody is told. Where they succeed, and
// where it says nothing else, `*error` is not touched. Handles are freed by the function that is
// called like them, `kal_engine_free` for `kal_engine`, in any order, and all these functions do
// nothing for NULL. Texts are UTF-8.
//
// Generated from the sources of the library: changes are made there.

#ifndef KAL_H
#define KAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The length of a text that ends with a zero byte.
#define KAL_TO_ZERO SIZE_MAX

// The row of an error that has none.
#define KAL_NO_ROW SIZE_MAX

// The structures of Arrow's C data interface, unless another header has them.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

// The number of this interface, which each change of the header raises. A library with a greater
// number has all of it, if the program is not older than `KAL_ABI_OLDEST` of the library, as
// linking makes sure.
#define KAL_ABI 1

// The number of the oldest interface that is a part of this one: programs that were compiled for
// that or a later one need not be compiled again. It is in the name of the shared library.
#define KAL_ABI_OLDEST 1

// A text was refused: it has mistakes.
#define KAL_ERROR_INVALID 1

// A program, or a function of the host in it, failed while it ran.
#define KAL_ERROR_FAILED 2

// What ran was interrupted.
#define KAL_ERROR_INTERRUPTED 3

// What ran took longer than allowed.
#define KAL_ERROR_DEADLINE 4

// The call was wrong: nothing is defined of that name, a column has another length, a pointer
// is NULL.
#define KAL_ERROR_CALLER 5

// The context is in use: by another thread, or by the caller, who is inside of it.
#define KAL_ERROR_IN_USE 6

// The system refuses memory, a thread or a file.
#define KAL_ERROR_SYSTEM 7

// A bug in Kal, which is worth a report. Everything can be used afterwards.
#define KAL_ERROR_INTERNAL 8

// Functions are compiled at their first call: the default.
#define KAL_MODE_LAZY 0

// Functions are compiled when they are defined.
#define KAL_MODE_EAGER 1

// Functions are interpreted, and the compiler is not started.
#define KAL_MODE_INTERPRET 2

// Functions are interpreted until they are hot.
#define KAL_MODE_TIERED 3

// Code is optimised as by default.
#define KAL_LEVEL_DEFAULT 0

// Code is not optimised.
#define KAL_LEVEL_O0 1

// Code is optimised by cheap passes.
#define KAL_LEVEL_O1 2

// Code is optimised as by `clang -O2`.
#define KAL_LEVEL_O2 3

// Code is optimised as by `clang -O3`.
#define KAL_LEVEL_O3 4

// The run ends with the first row that fails, which is its error: the default.
#define KAL_FAILING_STOP 0

// The result of a row that fails is nan.
#define KAL_FAILING_NAN 1

// The result of a row that fails is nan, and the row is marked in `failed`; of an Arrow array, it
// is null.
#define KAL_FAILING_MARK 2

// A program in progress: its definitions and variables. One thread at a time may use it; a
// function that is given a context in use fails, and changes nothing.
typedef struct kal_context kal_context;

// What contexts share: the compiler, the functions of the host, the limits. Any thread may use
// it at any time.
typedef struct kal_engine kal_engine;

// What went wrong. It does not change, any thread may read it, and its texts are there until it
// is freed.
typedef struct kal_error kal_error;

// A function by its name, or a formula. Any thread may use it, in every context of its engine
// that knows the name; a redefinition is seen by the next call.
typedef struct kal_function kal_function;

// Stops what runs in a context, or the run of a kernel that it is given to. Any thread may use
// it at any time, also when the context is gone: then it does nothing.
typedef struct kal_interrupt kal_interrupt;

// A function over columns, with all that it calls, as names and variables were when it was made.
// It never changes. Any thread may use it at any time, and it outlives its context and engine.
typedef struct kal_kernel kal_kernel;

// A function of the host. It gets its `user` pointer and `count` arguments, and returns true
// and writes `*result`, or false, and may write a text that ends with a zero byte to
// `*message`, which is copied at once: the run ends with it as its error.
//
// It may be called by several threads at the same time, on the stack of the thread that runs the
// program, and returns: no C++ exception and no `longjmp` leaves it. It must not use the context that has called it, which
// answers that it is in use; any other it may.
typedef bool (*kal_host)(void *user,
                         const double *arguments,
                         size_t count,
                         double *result,
                         const char **message);

// Frees a user pointer. It is called once, on whatever thread is the last to need it.
typedef void (*kal_release)(void *user);

// A function of the host, and what programs call it.
typedef struct kal_host_function {
    // Its name in programs.
    const char *name;
    // How many arguments it takes.
    uint32_t arity;
    // What it does.
    kal_host call;
    // What it is called with.
    void *user;
    // What is called with `user` when nothing can call the function any more: when the engine,
    // and all that was made of it, is freed. May be NULL.
    kal_release release;
} kal_host_function;

// How an engine is set up. It begins with its size and is zero otherwise, and so are the parts
// that a later version adds: `kal_config config = {.size = sizeof config};`. What is 0 or NULL
// is as by default.
typedef struct kal_config {
    // `sizeof(kal_config)`.
    size_t size;
    // When functions are compiled: `KAL_MODE_…`.
    uint32_t mode;
    // How well: `KAL_LEVEL_…`.
    uint32_t level;
    // How many threads may compile at the same time; by default one for each core.
    uint32_t workers;
    // How many rows kernels compute at once; by default as many as are fastest.
    uint32_t lanes;
    // How long an evaluation, or a call, may take, in seconds; by default any time. A call takes
    // longer then, see `kal_context_set_deadline`.
    double timeout;
    // How many function entries and loop iterations an evaluation or a call may execute; by
    // default they are not counted.
    uint64_t fuel;
    // The stack of programs, in bytes; by default 256 MiB, which are taken only as they are used.
    uint64_t stack;
    // The most bytes that code may take, in all contexts; by default 1 GiB.
    uint64_t max_code_bytes;
    // The most bytes that the code of one context may take; by default any.
    uint64_t max_context_code_bytes;
    // How long compilers may work for one context, in seconds; by default any time.
    double max_compile_time;
    // The most definitions of a context; by default any.
    uint64_t max_definitions;
    // The longest text, in bytes; by default 4 GiB.
    uint32_t max_source_bytes;
    // The deepest nesting of expressions; by default 10,000.
    uint32_t max_nesting;
    // The functions of the host.
    const struct kal_host_function *functions;
    // How many there are.
    size_t function_count;
    // The folders in which modules are looked for that programs import.
    const char *const *library_paths;
    // How many there are.
    size_t library_path_count;
    // The folder in which code is kept for later runs of the same files; none by default.
    const char *cache;
    // The file of the secret that the folder is protected with, which only this user can read;
    // both are created.
    const char *cache_key;
} kal_config;

// Takes what a program prints: `count` bytes, which need not be whole lines. Returns whether it
// could; if not, the program fails.
typedef bool (*kal_write)(void *user, const char *bytes, size_t count);

// The values of an argument.
typedef struct kal_column {
    // One for each row; NULL if all rows have the same.
    const double *values;
    // That of every row, if `values` is NULL.
    double every;
} kal_column;

// How a kernel is run. It begins with its size and is zero otherwise: `kal_run run = {.size =
// sizeof run};`. What is 0 or NULL is as by default.
typedef struct kal_run {
    // `sizeof(kal_run)`.
    size_t size;
    // How many threads compute rows; by default the caller's alone. Results do not depend on it.
    uint32_t threads;
    // What becomes of rows that fail: `KAL_FAILING_…`.
    uint32_t failing;
    // After how many seconds the run is stopped; by default never.
    double timeout;
    // The rows that have values, as a bitmap of Arrow: a bit for each, the lowest of a byte first.
    // Others are not computed: their results are nan. By default all rows have.
    const uint8_t *valid;
    // The bit of row 0.
    size_t valid_offset;
    // What stops the run from another thread; made by `kal_interrupt_new`.
    const struct kal_interrupt *interrupt;
} kal_run;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the number of the interface of the library: `KAL_ABI` of the header that it was
// built with. A program that loads the library by itself checks that it is not less than its own.
uint32_t kal_abi(void);

// Returns the version of the library, such as `0.1.0`. It is never freed.
const char *kal_version(void);

// Frees a text that a function of this header has returned as `char *`; nothing for NULL.
void kal_text_free(char *text);

// Returns what went wrong, on one line; "" for NULL.
const char *kal_error_message(const struct kal_error *error);

// Returns whose mistake it is: one of the numbers `KAL_ERROR_…`; 0 for NULL.
uint32_t kal_error_kind(const struct kal_error *error);

// Returns the code of the mistake in a program, such as "E0205"; "" if it is none.
const char *kal_error_code(const struct kal_error *error);

// Returns the name of the text with the mistake: that of a file, or "<eval>"; "" if it is in
// none.
const char *kal_error_source(const struct kal_error *error);

// Returns the line of the mistake in its text, from 1; 0 if it is in none.
size_t kal_error_line(const struct kal_error *error);

// Returns the column of the mistake in its line, from 1, in characters; 0 if it is in no text.
size_t kal_error_column(const struct kal_error *error);

// Returns the lowest row that failed, or was not complete when a kernel was stopped, from 0;
// `KAL_NO_ROW` if the error is not that of a row.
size_t kal_error_row(const struct kal_error *error);

// Returns all mistakes for people, each with the lines of its text, marks under them, advice
// and the calls in progress: several lines.
const char *kal_error_report(const struct kal_error *error);

// Returns everything for programs, as a JSON object on one line: `kind`, `code`, `message`,
// `row`, and `diagnostics`, which are as `kal check --json` writes them.
const char *kal_error_json(const struct kal_error *error);

// Frees an error; nothing for NULL.
void kal_error_free(struct kal_error *error);

// Returns whether the run is to stop that has called the function of the host which calls this:
// a function that takes long asks now and then, and returns anything. False elsewhere.
bool kal_host_stopped(void);

// Creates an engine, as the configuration says, which may be NULL; NULL after an error. If it
// fails, no `user` pointer is released.
struct kal_engine *kal_engine_new(const struct kal_config *config, struct kal_error **error);

// Frees an engine; nothing for NULL. Contexts and kernels that were made of it can still be used.
void kal_engine_free(struct kal_engine *engine);

// Creates an interrupt for runs of kernels, of which one at a time may have it in its
// `kal_run`; NULL only after a bug.
struct kal_interrupt *kal_interrupt_new(void);

// Stops what runs now, which ends with an error of the kind `KAL_ERROR_INTERRUPTED`. If nothing
// does, nothing happens: what a stop button should do.
void kal_interrupt_now(const struct kal_interrupt *interrupt);

// Stops what runs now; if nothing does, the next that would run.
void kal_interrupt_now_or_next(const struct kal_interrupt *interrupt);

// Forgets an interrupt that has not stopped anything.
void kal_interrupt_clear(const struct kal_interrupt *interrupt);

// Frees an interrupt; nothing for NULL. No run of a kernel has it.
void kal_interrupt_free(struct kal_interrupt *interrupt);

// Creates a context in which nothing is defined; NULL after an error. It prints to standard
// output.
struct kal_context *kal_context_new(const struct kal_engine *engine, struct kal_error **error);

// Frees a context that is not in use; nothing for NULL. Functions, formulas and kernels that were
// made in it stay.
void kal_context_free(struct kal_context *context);

// Sets where a context prints. `release`, which may be NULL, is called with `user` when the
// context is freed, or prints elsewhere; not if this fails.
bool kal_context_set_output(const struct kal_context *context,
                            kal_write write,
                            void *user,
                            kal_release release,
                            struct kal_error **error);

// Makes everything fail that runs in a context that number of seconds from now or later; removes
// that if it is negative or nan. While there is one, each call takes some ten nanoseconds more.
bool kal_context_set_deadline(const struct kal_context *context,
                              double time,
                              struct kal_error **error);

// Creates an interrupt for what runs in a context. The context may be in use.
struct kal_interrupt *kal_context_interrupt(const struct kal_context *context);

// Runs a text of `length` bytes, or `KAL_TO_ZERO`: definitions and expressions, up to the first
// mistake. What was defined before it stays. `*value` becomes the value of the last expression, if
// there is one, and `*has_value` whether there is; both may be NULL.
bool kal_eval(const struct kal_context *context,
              const char *text,
              size_t length,
              double *value,
              bool *has_value,
              struct kal_error **error);

// Runs a file as `kal_eval` runs a text. The modules that it imports are looked for in its folder
// first.
bool kal_eval_file(const struct kal_context *context,
                   const char *path,
                   double *value,
                   bool *has_value,
                   struct kal_error **error);

// Reads a variable of a context.
bool kal_variable(const struct kal_context *context,
                  const char *name,
                  double *value,
                  struct kal_error **error);

// Sets a variable of a context, which is declared if it is not.
bool kal_set_variable(const struct kal_context *context,
                      const char *name,
                      double value,
                      struct kal_error **error);

// Returns a function that takes `arity` numbers; NULL after an error, also if it takes another
// number.
struct kal_function *kal_function_get(const struct kal_context *context,
                                      const char *name,
                                      uint32_t arity,
                                      struct kal_error **error);

// Compiles a formula: an expression of `length` bytes, or `KAL_TO_ZERO`, whose free names are
// `parameters`, in the order of the arguments; NULL after an error. It may use what is defined in
// the context.
struct kal_function *kal_formula_new(const struct kal_context *context,
                                     const char *text,
                                     size_t length,
                                     const char *const *parameters,
                                     size_t count,
                                     struct kal_error **error);

// Calls a function or a formula with `count` arguments in a context. `*result` becomes its value.
bool kal_call(const struct kal_context *context,
              const struct kal_function *function,
              const double *arguments,
              size_t count,
              double *result,
              struct kal_error **error);

// Frees a function or a formula; nothing for NULL.
void kal_function_free(struct kal_function *function);

// Returns the kernel of a function, as its name is bound now; NULL after an error.
struct kal_kernel *kal_kernel_get(const struct kal_context *context,
                                  const char *name,
                                  struct kal_error **error);

// Returns the kernel of a formula: an expression of `length` bytes, or `KAL_TO_ZERO`, whose free
// names are `parameters`, in the order of the columns; NULL after an error.
struct kal_kernel *kal_kernel_of_formula(const struct kal_context *context,
                                         const char *text,
                                         size_t length,
                                         const char *const *parameters,
                                         size_t count,
                                         struct kal_error **error);

// Computes a kernel in `rows` rows: `output[i]` becomes its value for the i-th values of the
// `count` columns, one for each parameter. The output may be one of the columns, which is copied
// then. If `run` is NULL, the first row that fails ends it.
//
// `failed` is for `KAL_FAILING_MARK`, and else NULL: (rows + 7) / 8 bytes, in which the bits of the
// rows that fail are set, the lowest of a byte first, and all others cleared.
//
// After an error, `kal_error_row` is the lowest row that failed or is not complete: all rows
// before it are right.
bool kal_apply(const struct kal_kernel *kernel,
               const struct kal_column *columns,
               size_t count,
               double *output,
               uint8_t *failed,
               size_t rows,
               const struct kal_run *run,
               struct kal_error **error);

// Returns how many columns a kernel takes; 0 for NULL.
size_t kal_kernel_arity(const struct kal_kernel *kernel);

// Returns whether a kernel computes many rows at once.
bool kal_kernel_is_wide(const struct kal_kernel *kernel);

// Returns how a kernel is run, one remark on each line: if row by row, also why. `kal_text_free`
// frees it; NULL for NULL.
char *kal_kernel_explain(const struct kal_kernel *kernel);

// Returns the definitions of a kernel as a text that can be run anywhere, function and all that it
// calls. `kal_text_free` frees it; NULL for NULL.
char *kal_kernel_source(const struct kal_kernel *kernel);

// Writes the identity of what a kernel computes, 32 bytes: it is the same wherever the same is
// defined.
void kal_kernel_id(const struct kal_kernel *kernel, uint8_t *id);

// Frees a kernel that nothing runs; nothing for NULL.
void kal_kernel_free(struct kal_kernel *kernel);

// Computes a kernel in every row of `count` Arrow arrays of `rows` rows, one for each parameter,
// into a new array of doubles, whose `release` frees it. Where an argument is null, so is the
// result, and nothing is computed; a row that fails is null as well with `KAL_FAILING_MARK`.
//
// The arrays and their types stay the caller's, who releases them. They hold doubles, which are
// not copied, or floats, integers or truth values, which are converted to the nearest double.
// `*output_type` becomes the type of the output; it may be NULL. After an error both are as they
// were.
bool kal_apply_arrow(const struct kal_kernel *kernel,
                     struct ArrowArray *const *arrays,
                     struct ArrowSchema *const *types,
                     size_t count,
                     size_t rows,
                     struct ArrowArray *output,
                     struct ArrowSchema *output_type,
                     const struct kal_run *run,
                     struct kal_error **error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* KAL_H */
