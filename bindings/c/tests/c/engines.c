// Many engines one after the other: memory, mappings, threads and files are as many as before.
//
//   engines COUNT
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include <dirent.h>
#include <malloc.h>
#include <unistd.h>

static long resident_kilobytes(void) {
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld %ld", &pages, &resident) == 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static int lines_of(const char *path) {
    FILE *file = fopen(path, "r");
    CHECK(file);
    int lines = 0;
    for (int c; (c = getc(file)) != EOF;) lines += c == '\n';
    fclose(file);
    return lines;
}

static int entries_of(const char *path) {
    DIR *folder = opendir(path);
    CHECK(folder);
    int entries = 0;
    while (readdir(folder)) entries++;
    closedir(folder);
    return entries;
}

static bool twice(void *user, const double *arguments, size_t count, double *result, const char **message) {
    (void)count, (void)message;
    ++*(long *)user;
    *result = 2 * arguments[0];
    return true;
}

static void released(void *user) { --*(long *)user; }

// Makes everything that can be made, and frees it.
static void engine(int number) {
    long calls = 0;
    kal_host_function function = {"twice", 1, twice, &calls, released};
    kal_config config = {.size = sizeof config, .functions = &function, .function_count = 1, .workers = 1};
    // The compiler takes most of the time.
    config.mode = number % 8 == 0 ? KAL_MODE_LAZY : KAL_MODE_INTERPRET;
    kal_engine *engine = new_engine(&config);
    kal_context *context = new_context(engine);
    CHECK(value_of(context, "def f(x) twice(x) + 1; f(20)") == 41);
    kal_function *function_f;
    CHECK_WORKS(function_f = kal_function_get(context, "f", 1, &error));
    const char *names[] = {"x"};
    kal_function *formula;
    CHECK_WORKS(formula = kal_formula_new(context, "x + 1", KAL_TO_ZERO, names, 1, &error));
    kal_kernel *kernel;
    CHECK_WORKS(kernel = kal_kernel_get(context, "f", &error));
    double x[3] = {1, 2, 3}, y[3];
    kal_column column = {.values = x};
    CHECK_WORKS(kal_apply(kernel, &column, 1, y, NULL, 3, NULL, &error));
    CHECK(y[2] == 7);
    CHECK_WORKS(kal_call(context, formula, x, 1, y, &error));
    CHECK_FAILS(kal_eval(context, "f(1, 2)", KAL_TO_ZERO, NULL, NULL, &error), KAL_ERROR_INVALID,
                "`f` takes 1 argument, not 2");
    kal_error *error = NULL;
    CHECK(!kal_eval(context, "g(1)", KAL_TO_ZERO, NULL, NULL, &error));
    CHECK(strlen(kal_error_report(error)) > 20 && strlen(kal_error_json(error)) > 20);
    kal_error_free(error);
    kal_interrupt *interrupt = kal_context_interrupt(context);
    kal_interrupt_free(interrupt);
    kal_kernel_free(kernel);
    kal_function_free(formula);
    kal_function_free(function_f);
    kal_context_free(context);
    CHECK(calls == 4);
    kal_engine_free(engine);
    CHECK(calls == 3);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    int engines = atoi(arguments[1]), warm = engines / 10;
    for (int number = 0; number < warm; number++) engine(number);
    malloc_trim(0);
    long memory = resident_kilobytes();
    int mappings = lines_of("/proc/self/maps"), threads = entries_of("/proc/self/task");
    int files = entries_of("/proc/self/fd");
    for (int number = 0; number < engines; number++) engine(number);
    malloc_trim(0);
    printf("%d engines: %ld KiB, %d mappings, %d threads, %d files more\n", engines,
           resident_kilobytes() - memory, lines_of("/proc/self/maps") - mappings,
           entries_of("/proc/self/task") - threads, entries_of("/proc/self/fd") - files);
    // Less than 100 bytes for each.
    CHECK(resident_kilobytes() - memory < engines / 10 + 512);
    CHECK(lines_of("/proc/self/maps") - mappings < 8);
    CHECK(entries_of("/proc/self/task") == threads && entries_of("/proc/self/fd") == files);
    return 0;
}
