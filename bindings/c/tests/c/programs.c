// Engines, contexts, programs, functions and errors.
#include "check.h"
#include <stddef.h>

static void texts(kal_context *context) {
    double value = 5;
    bool has_value = true;
    CHECK(value_of(context, "def f(x) x + 1; f(1)") == 2);
    CHECK_WORKS(kal_eval(context, "def g(x) x * 2", KAL_TO_ZERO, &value, &has_value, &error));
    CHECK(value == 5 && !has_value);
    // Only so many bytes are read, and they need not end with a zero byte.
    CHECK_WORKS(kal_eval(context, "1 + 1 nonsense", 5, &value, NULL, &error));
    CHECK(value == 2);
    CHECK_WORKS(kal_eval(context, NULL, 0, NULL, &has_value, &error));
    CHECK(!has_value);
    CHECK_FAILS(kal_eval(context, NULL, 3, NULL, NULL, &error), KAL_ERROR_CALLER, "the text is null");
    CHECK_FAILS(kal_eval(context, NULL, KAL_TO_ZERO, NULL, NULL, &error), KAL_ERROR_CALLER,
                "the text is null");
    CHECK_FAILS(kal_eval(context, "1 + \xff", KAL_TO_ZERO, NULL, NULL, &error), KAL_ERROR_CALLER,
                "the text is not UTF-8 after 4 bytes");
    CHECK_FAILS(kal_eval(NULL, "1", 1, NULL, NULL, &error), KAL_ERROR_CALLER, "the context is null");
    // What comes before a mistake stays.
    CHECK_FAILS(kal_eval(context, "def h(x) x; h(1, 2)", KAL_TO_ZERO, NULL, NULL, &error),
                KAL_ERROR_INVALID, "`h` takes 1 argument, not 2");
    CHECK(value_of(context, "h(4)") == 4);
    // Nobody need take the error.
    CHECK(!kal_eval(context, "nonsense", KAL_TO_ZERO, NULL, NULL, NULL));
}

static void files(kal_context *context, const char *path) {
    FILE *file = fopen(path, "w");
    CHECK(file);
    CHECK(fputs("def from_file(x) x * 10\nfrom_file(4)\n", file) >= 0 && fclose(file) == 0);
    double value = 0;
    CHECK_WORKS(kal_eval_file(context, path, &value, NULL, &error));
    CHECK(value == 40);
    file = fopen(path, "w");
    CHECK(file && fputs("1\n\n  2 + )\n", file) >= 0 && fclose(file) == 0);
    kal_error *error = NULL;
    CHECK(!kal_eval_file(context, path, &value, NULL, &error));
    CHECK(strcmp(kal_error_source(error), path) == 0);
    CHECK(kal_error_line(error) == 3 && kal_error_column(error) == 7);
    kal_error_free(error);
    CHECK(remove(path) == 0);
    CHECK(!kal_eval_file(context, path, &value, NULL, &error));
    CHECK(kal_error_kind(error) == KAL_ERROR_SYSTEM);
    kal_error_free(error);
}

static void errors(kal_context *context) {
    kal_error *error = NULL;
    CHECK(!kal_eval(context, "def deep(x) missing(x)\ndeep(1)", KAL_TO_ZERO, NULL, NULL, &error));
    CHECK(kal_error_kind(error) == KAL_ERROR_FAILED);
    CHECK(strcmp(kal_error_code(error), "E0301") == 0);
    CHECK(strcmp(kal_error_source(error), "<eval>") == 0);
    CHECK(kal_error_line(error) == 1 && kal_error_column(error) == 13);
    CHECK(kal_error_row(error) == KAL_NO_ROW);
    CHECK(strstr(kal_error_report(error), "^^^^^^^"));
    const char *json = kal_error_json(error);
    CHECK(strstr(json, "\"kind\":\"failed\"") && strstr(json, "\"code\":\"E0301\""));
    CHECK(strstr(json, "\"row\":null") && strstr(json, "\"diagnostics\":[{"));
    // Texts stay where they are until the error is freed.
    CHECK(json == kal_error_json(error));
    kal_error_free(error);

    CHECK(!kal_function_get(context, "nowhere", 1, &error));
    CHECK(strcmp(kal_error_code(error), "") == 0 && kal_error_line(error) == 0);
    CHECK(strcmp(kal_error_report(error), "error: no function `nowhere` is defined\n") == 0);
    CHECK(strstr(kal_error_json(error), "\"code\":null"));
    kal_error_free(error);

    // All functions take NULL.
    CHECK(strcmp(kal_error_message(NULL), "") == 0 && strcmp(kal_error_report(NULL), "") == 0);
    CHECK(strcmp(kal_error_json(NULL), "") == 0 && strcmp(kal_error_code(NULL), "") == 0);
    CHECK(kal_error_kind(NULL) == 0 && kal_error_line(NULL) == 0 && kal_error_column(NULL) == 0);
    CHECK(kal_error_row(NULL) == KAL_NO_ROW && strcmp(kal_error_source(NULL), "") == 0);
    kal_error_free(NULL);
    kal_text_free(NULL);
    kal_engine_free(NULL);
    kal_context_free(NULL);
    kal_function_free(NULL);
    kal_kernel_free(NULL);
    kal_interrupt_free(NULL);
    kal_interrupt_now(NULL);
    CHECK(!kal_context_interrupt(NULL) && !kal_host_stopped());
    CHECK_FAILS(kal_context_new(NULL, &error), KAL_ERROR_CALLER, "the engine is null");
}

static void functions(const kal_engine *engine, kal_context *context) {
    CHECK_WORKS(kal_eval(context, "def area(w h) w * h", KAL_TO_ZERO, NULL, NULL, &error));
    kal_function *area;
    CHECK_WORKS(area = kal_function_get(context, "area", 2, &error));
    double arguments[] = {3, 4}, result = 0;
    CHECK_WORKS(kal_call(context, area, arguments, 2, &result, &error));
    CHECK(result == 12);
    // The result may be where an argument is, or nowhere.
    CHECK_WORKS(kal_call(context, area, arguments, 2, &arguments[0], &error));
    CHECK(arguments[0] == 12);
    CHECK_WORKS(kal_call(context, area, arguments, 2, NULL, &error));
    // A redefinition is seen.
    CHECK_WORKS(kal_eval(context, "def area(w h) w + h", KAL_TO_ZERO, NULL, NULL, &error));
    CHECK_WORKS(kal_call(context, area, arguments, 2, &result, &error));
    CHECK(result == 16);
    CHECK_FAILS(kal_call(context, area, arguments, 1, &result, &error), KAL_ERROR_CALLER,
                "`area` takes 2 arguments, not 1");
    CHECK_FAILS(kal_call(context, area, NULL, 2, &result, &error), KAL_ERROR_CALLER,
                "the list of arguments is null");
    CHECK_FAILS(kal_call(context, NULL, arguments, 2, &result, &error), KAL_ERROR_CALLER,
                "the function is null");
    CHECK_FAILS(kal_call(NULL, area, arguments, 2, &result, &error), KAL_ERROR_CALLER,
                "the context is null");
    CHECK_FAILS(kal_function_get(context, "area", 3, &error), KAL_ERROR_CALLER,
                "`area` takes 2 arguments, not 3");
    CHECK_FAILS(kal_function_get(context, NULL, 3, &error), KAL_ERROR_CALLER, "the name is null");
    // Another context has other names; another engine other handles.
    kal_context *other = new_context(engine);
    CHECK_FAILS(kal_call(other, area, arguments, 2, &result, &error), KAL_ERROR_FAILED,
                "a call of `area`, which is not defined");
    kal_context_free(other);
    kal_engine *strangers = new_engine(NULL);
    kal_context *stranger = new_context(strangers);
    CHECK_FAILS(kal_call(stranger, area, arguments, 2, &result, &error), KAL_ERROR_CALLER,
                "this function belongs to another engine");
    kal_context_free(stranger);
    kal_engine_free(strangers);
    kal_function_free(area);

    // Of every number of arguments, up to more than registers take.
    for (int count = 0; count <= 20; count++) {
        char text[400] = "def many(";
        double values[20], sum = 0;
        for (int i = 0; i < count; i++) {
            sprintf(text + strlen(text), " x%d", i);
            values[i] = i + 1;
            sum += (i + 1) * (i + 1);
        }
        strcat(text, ") 0");
        for (int i = 0; i < count; i++) sprintf(text + strlen(text), " + %d * x%d", i + 1, i);
        CHECK_WORKS(kal_eval(context, text, KAL_TO_ZERO, NULL, NULL, &error));
        kal_function *many;
        CHECK_WORKS(many = kal_function_get(context, "many", (uint32_t)count, &error));
        CHECK_WORKS(kal_call(context, many, values, (size_t)count, &result, &error));
        CHECK(result == sum);
        kal_function_free(many);
    }
}

static void formulas(kal_context *context) {
    const char *names[] = {"w", "h"};
    kal_function *formula;
    CHECK_WORKS(formula = kal_formula_new(context, "w * h / 2", KAL_TO_ZERO, names, 2, &error));
    double arguments[] = {3, 4}, result = 0;
    CHECK_WORKS(kal_call(context, formula, arguments, 2, &result, &error));
    CHECK(result == 6);
    CHECK_FAILS(kal_call(context, formula, arguments, 1, &result, &error), KAL_ERROR_CALLER,
                "`the formula` takes 2 arguments, not 1");
    kal_function_free(formula);
    CHECK_FAILS(kal_formula_new(context, "w * d", KAL_TO_ZERO, names, 2, &error), KAL_ERROR_INVALID,
                "unknown variable `d`");
    CHECK_FAILS(kal_formula_new(context, "", KAL_TO_ZERO, names, 2, &error), KAL_ERROR_INVALID,
                "expected an expression, found nothing");
    names[1] = NULL;
    CHECK_FAILS(kal_formula_new(context, "w", KAL_TO_ZERO, names, 2, &error), KAL_ERROR_CALLER,
                "the name of a parameter is null");
    CHECK_FAILS(kal_formula_new(context, "w", KAL_TO_ZERO, NULL, 2, &error), KAL_ERROR_CALLER,
                "the list of parameters is null");
}

static void variables(kal_context *context) {
    double value = 0;
    CHECK_WORKS(kal_set_variable(context, "rate", 0.5, &error));
    CHECK(value_of(context, "rate * 4") == 2);
    CHECK(value_of(context, "rate = 3") == 3);
    CHECK_WORKS(kal_variable(context, "rate", &value, &error));
    CHECK(value == 3);
    CHECK_FAILS(kal_variable(context, "rote", &value, &error), KAL_ERROR_CALLER,
                "no variable `rote` is declared");
    CHECK_FAILS(kal_set_variable(context, "3x", 1, &error), KAL_ERROR_CALLER,
                "`3x` is not a name that a program can use");
}

struct written {
    char text[64];
    int released;
};

static bool write_text(void *user, const char *bytes, size_t count) {
    struct written *written = user;
    if (strlen(written->text) + count >= sizeof written->text) return false;
    strncat(written->text, bytes, count);
    return true;
}

static void release_written(void *user) { ((struct written *)user)->released++; }

static void output(kal_context *context) {
    struct written written = {"", 0}, other = {"", 0};
    CHECK_WORKS(kal_context_set_output(context, write_text, &written, release_written, &error));
    value_of(context, "printd(4.5); putchard(75); 1");
    CHECK(strcmp(written.text, "4.5\nK") == 0);
    CHECK_FAILS(kal_context_set_output(context, NULL, &other, release_written, &error),
                KAL_ERROR_CALLER, "the function that writes is null");
    CHECK(other.released == 0 && written.released == 0);
    CHECK_WORKS(kal_context_set_output(context, write_text, &other, release_written, &error));
    CHECK(written.released == 1);
    // A host that takes no more ends the program.
    kal_error *error = NULL;
    CHECK(!kal_eval(context, "for i = 0, i < 100 in printd(i)", KAL_TO_ZERO, NULL, NULL, &error));
    CHECK(kal_error_kind(error) == KAL_ERROR_FAILED);
    kal_error_free(error);
    // What it has refused is not offered again.
    error = NULL;
    const size_t before = strlen(other.text);
    CHECK(!kal_eval(context, "printd(12345)", KAL_TO_ZERO, NULL, NULL, &error));
    kal_error_free(error);
    other.text[0] = 0;
    value_of(context, "printd(6); 1");
    CHECK(before > 0 && strcmp(other.text, "6\n") == 0);
    CHECK_WORKS(kal_context_set_output(context, write_text, &written, NULL, &error));
    CHECK(other.released == 1);
}

static void modes(void) {
    for (uint32_t mode = KAL_MODE_LAZY; mode <= KAL_MODE_TIERED; mode++)
        for (uint32_t level = KAL_LEVEL_DEFAULT; level <= KAL_LEVEL_O3; level++) {
            kal_config config = {.size = sizeof config, .mode = mode, .level = level, .workers = 1};
            kal_engine *engine = new_engine(&config);
            kal_context *context = new_context(engine);
            const char *text = "def fib(n) if n < 2 then n else fib(n - 1) + fib(n - 2); fib(15)";
            CHECK(value_of(context, text) == 610);
            kal_context_free(context);
            kal_engine_free(engine);
        }
}

static void limits(void) {
    kal_config config = {.size = sizeof config, .fuel = 1000, .max_definitions = 1};
    config.max_nesting = 10;
    kal_engine *engine = new_engine(&config);
    kal_context *context = new_context(engine);
    // Handles outlive the engine that they are from.
    kal_engine_free(engine);
    CHECK_FAILS(kal_eval(context, "for i = 0, 1 in i", KAL_TO_ZERO, NULL, NULL, &error),
                KAL_ERROR_FAILED, "out of fuel");
    CHECK_FAILS(kal_eval(context, "def a() 1; def b() 2", KAL_TO_ZERO, NULL, NULL, &error),
                KAL_ERROR_INVALID, "no more than 1 definitions are allowed");
    kal_context_free(context);

    config = (kal_config){.size = sizeof config, .timeout = 0.05};
    engine = new_engine(&config);
    context = new_context(engine);
    CHECK_FAILS(kal_eval(context, "for i = 0, 1 in i", KAL_TO_ZERO, NULL, NULL, &error),
                KAL_ERROR_DEADLINE, "the run took longer than allowed");
    kal_context_free(context);
    kal_engine_free(engine);

    engine = new_engine(NULL);
    context = new_context(engine);
    CHECK_WORKS(kal_context_set_deadline(context, 0.02, &error));
    CHECK_FAILS(kal_eval(context, "for i = 0, 1 in i", KAL_TO_ZERO, NULL, NULL, &error),
                KAL_ERROR_DEADLINE, "the run took longer than allowed");
    CHECK_WORKS(kal_context_set_deadline(context, -1, &error));
    CHECK(value_of(context, "6 * 7") == 42);
    CHECK_WORKS(kal_context_set_deadline(context, 1e300, &error));
    CHECK(value_of(context, "6 * 7") == 42);
    // Endless recursion is an error, too.
    CHECK_FAILS(kal_eval(context, "def r(x) r(x + 1) + 1; r(0)", KAL_TO_ZERO, NULL, NULL, &error),
                KAL_ERROR_FAILED, "stack overflow");
    CHECK(value_of(context, "6 * 7") == 42);
    kal_context_free(context);
    kal_engine_free(engine);
}

// A configuration of a later version, with something after what is known.
struct later {
    kal_config config;
    uint64_t more[4];
};

static void configurations(void) {
    kal_config config = {.size = 0};
    CHECK_FAILS(kal_engine_new(&config, &error), KAL_ERROR_CALLER,
                "the size of the configuration is 0, and at least 136: it begins with `sizeof`");
    config.size = sizeof config;
    config.mode = 9;
    CHECK_FAILS(kal_engine_new(&config, &error), KAL_ERROR_CALLER, "there is no mode 9");
    config.mode = 0;
    config.level = 9;
    CHECK_FAILS(kal_engine_new(&config, &error), KAL_ERROR_CALLER, "there is no level 9");
    config.level = 0;
    config.timeout = -1;
    CHECK_FAILS(kal_engine_new(&config, &error), KAL_ERROR_CALLER, "the timeout is -1 seconds");
    config.timeout = NAN;
    CHECK_FAILS(kal_engine_new(&config, &error), KAL_ERROR_CALLER, "the timeout is NaN seconds");
    config.timeout = 0;
    config.function_count = 1;
    CHECK_FAILS(kal_engine_new(&config, &error), KAL_ERROR_CALLER, "the host functions is null");

    struct later later = {.config = {.size = sizeof later}};
    kal_engine_free(new_engine(&later.config));
    later.more[2] = 1;
    CHECK_FAILS(kal_engine_new(&later.config, &error), KAL_ERROR_CALLER,
                "the configuration has settings that this library is too old for");
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    CHECK(kal_abi() == KAL_ABI && strlen(kal_version()) >= 5);
    kal_engine *engine = new_engine(NULL);
    kal_context *context = new_context(engine);
    texts(context);
    files(context, arguments[1]);
    errors(context);
    functions(engine, context);
    formulas(context);
    variables(context);
    output(context);
    kal_context_free(context);
    kal_engine_free(engine);
    modes();
    limits();
    configurations();
    puts("all is well");
    return 0;
}
