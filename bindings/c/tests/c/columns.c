// Kernels over columns, and over arrays of Arrow.
#include "check.h"
#include <fenv.h>

enum { ROWS = 1000 };

static kal_kernel *kernel_of(kal_context *context, const char *text, const char **names, size_t count) {
    kal_kernel *kernel;
    CHECK_WORKS(kernel = kal_kernel_of_formula(context, text, KAL_TO_ZERO, names, count, &error));
    return kernel;
}

static void columns(kal_context *context) {
    static double x[ROWS], y[ROWS], out[ROWS];
    for (int row = 0; row < ROWS; row++) x[row] = row, y[row] = 2 * row;
    const char *names[] = {"x", "y", "a"};
    kal_kernel *kernel = kernel_of(context, "x * y + a", names, 3);
    CHECK(kal_kernel_arity(kernel) == 3 && kal_kernel_is_wide(kernel));
    kal_column given[] = {{.values = x}, {.values = y}, {.every = 0.5}};
    for (uint32_t threads = 0; threads < 4; threads++) {
        kal_run run = {.size = sizeof run, .threads = threads};
        memset(out, 0, sizeof out);
        CHECK_WORKS(kal_apply(kernel, given, 3, out, NULL, ROWS, &run, &error));
        for (int row = 0; row < ROWS; row++) CHECK(out[row] == 2.0 * row * row + 0.5);
    }
    // Every number of rows, also none, for which there need be no memory.
    for (size_t rows = 0; rows < 70; rows++) {
        out[rows] = -1;
        CHECK_WORKS(kal_apply(kernel, given, 3, out, NULL, rows, NULL, &error));
        CHECK(out[rows] == -1 && (rows == 0 || out[rows - 1] == 2.0 * (rows - 1) * (rows - 1) + 0.5));
    }
    CHECK_WORKS(kal_apply(kernel, given, 3, NULL, NULL, 0, NULL, &error));
    // The output may lie where a column lies, or a part of one.
    CHECK_WORKS(kal_apply(kernel, given, 3, x, NULL, ROWS, NULL, &error));
    for (int row = 0; row < ROWS; row++) CHECK(x[row] == 2.0 * row * row + 0.5);
    CHECK_WORKS(kal_apply(kernel, (kal_column[]){{y, 0}, {y, 0}, {NULL, 0}}, 3, y + 1, NULL, ROWS - 1, NULL, &error));
    for (int row = 1; row < ROWS; row++) CHECK(y[row] == 4.0 * (row - 1) * (row - 1));
    CHECK_FAILS(kal_apply(kernel, given, 2, out, NULL, ROWS, NULL, &error), KAL_ERROR_CALLER,
                "`(formula)` takes 3 arguments, not 2");
    CHECK_FAILS(kal_apply(kernel, given, 3, NULL, NULL, ROWS, NULL, &error), KAL_ERROR_CALLER,
                "the output is null");
    CHECK_FAILS(kal_apply(kernel, NULL, 3, out, NULL, ROWS, NULL, &error), KAL_ERROR_CALLER,
                "the list of columns is null");
    CHECK_FAILS(kal_apply(NULL, given, 3, out, NULL, ROWS, NULL, &error), KAL_ERROR_CALLER,
                "the kernel is null");
    CHECK_FAILS(kal_apply(kernel, given, 3, (double *)((char *)out + 1), NULL, ROWS - 1, NULL, &error),
                KAL_ERROR_CALLER, "the output is not aligned");
    CHECK_FAILS(kal_apply(kernel, given, 3, out, NULL, SIZE_MAX, NULL, &error), KAL_ERROR_CALLER,
                "the column is longer than memory");
    kal_run run = {.size = 8};
    CHECK_FAILS(kal_apply(kernel, given, 3, out, NULL, ROWS, &run, &error), KAL_ERROR_CALLER,
                "the size of the run is 8, and at least 48: it begins with `sizeof`");
    run = (kal_run){.size = sizeof run, .failing = 3};
    CHECK_FAILS(kal_apply(kernel, given, 3, out, NULL, ROWS, &run, &error), KAL_ERROR_CALLER,
                "no way to fail has the number 3");
    kal_kernel_free(kernel);
}

// What a kernel is: its text, its identity, how it runs. It stays as it was.
static void pinned(kal_context *context) {
    CHECK_WORKS(kal_eval(context, "def twice(x) 2 * x; def f(x) twice(x) + 1", KAL_TO_ZERO, NULL, NULL, &error));
    kal_kernel *first, *second;
    CHECK_WORKS(first = kal_kernel_get(context, "f", &error));
    CHECK_WORKS(kal_eval(context, "def twice(x) printd(x)", KAL_TO_ZERO, NULL, NULL, &error));
    CHECK_WORKS(second = kal_kernel_get(context, "f", &error));
    double x = 3, y = 0;
    kal_column column = {.values = &x};
    CHECK_WORKS(kal_apply(first, &column, 1, &y, NULL, 1, NULL, &error));
    CHECK(y == 7);
    CHECK(kal_kernel_is_wide(first) && !kal_kernel_is_wide(second));
    char *source = kal_kernel_source(first), *how = kal_kernel_explain(second);
    CHECK(strcmp(source, "def twice(x) 2 * x\ndef f(x) twice(x) + 1") == 0);
    CHECK(strstr(how, "row by row\n`printd` is a function of the host (<eval>:1:14)\n") == how);
    kal_text_free(source);
    kal_text_free(how);
    uint8_t one[32], other[32];
    kal_kernel_id(first, one);
    kal_kernel_id(second, other);
    CHECK(memcmp(one, other, 32) != 0);
    kal_kernel_id(NULL, one);
    CHECK(!kal_kernel_source(NULL) && !kal_kernel_explain(NULL) && kal_kernel_arity(NULL) == 0);
    CHECK_FAILS(kal_kernel_get(context, "nowhere", &error), KAL_ERROR_CALLER,
                "no function `nowhere` is defined");
    kal_kernel_free(first);
    kal_kernel_free(second);
}

static void failing(kal_context *context) {
    CHECK_WORKS(kal_eval(context, "def odd(x) if x % 2 == 1 then missing(x) else x * 10", KAL_TO_ZERO, NULL,
                         NULL, &error));
    kal_kernel *kernel;
    CHECK_WORKS(kernel = kal_kernel_get(context, "odd", &error));
    double x[20], y[20];
    for (int row = 0; row < 20; row++) x[row] = row < 10 ? 2 * row : row;
    kal_column column = {.values = x};
    kal_error *error = NULL;
    CHECK(!kal_apply(kernel, &column, 1, y, NULL, 20, NULL, &error));
    CHECK(kal_error_row(error) == 11 && kal_error_kind(error) == KAL_ERROR_FAILED && y[9] == 180);
    CHECK(strstr(kal_error_json(error), "\"row\":11"));
    CHECK(strncmp(kal_error_message(error), "row 11: ", 8) == 0);
    CHECK(strstr(kal_error_report(error), "  Row: 11\n"));
    kal_error_free(error);

    kal_run run = {.size = sizeof run, .failing = KAL_FAILING_NAN};
    CHECK_WORKS(kal_apply(kernel, &column, 1, y, NULL, 20, &run, &error));
    CHECK(isnan(y[11]) && isnan(y[19]) && y[18] == 180);
    uint8_t failed[3] = {0xff, 0xff, 0xff};
    run.failing = KAL_FAILING_MARK;
    CHECK_WORKS(kal_apply(kernel, &column, 1, y, failed, 20, &run, &error));
    CHECK(failed[0] == 0 && failed[1] == 0xa8 && failed[2] == 0x0a && isnan(y[13]));
    CHECK_FAILS(kal_apply(kernel, &column, 1, y, NULL, 20, &run, &error), KAL_ERROR_CALLER,
                "the bitmap of failed rows is null");
    // Rows without values cannot fail.
    uint8_t valid[] = {0xf8, 0x07, 0x55, 0x55};
    run = (kal_run){.size = sizeof run, .valid = valid, .valid_offset = 3};
    x[12] = 4;
    CHECK_WORKS(kal_apply(kernel, &column, 1, y, NULL, 8, &run, &error));
    CHECK(y[0] == 0 && y[7] == 140);
    CHECK_WORKS(kal_apply(kernel, &column, 1, y, NULL, 10, (run.valid_offset = 16, &run), &error));
    CHECK(y[0] == 0 && isnan(y[1]) && y[2] == 40 && isnan(y[9]));
    kal_kernel_free(kernel);
}

static void keep_array(struct ArrowArray *array) { array->release = NULL; }
static void keep_type(struct ArrowSchema *type) { type->release = NULL; }

// Returns what a kernel of `x + 1` makes of three rows of an array, which begin with its offset.
static void arrow(const kal_kernel *kernel, const char *format, const void *values, const uint8_t *valid,
                  int64_t offset, double *result, uint8_t *nulls) {
    const void *buffers[] = {valid, values};
    struct ArrowArray array = {.length = 3, .null_count = valid ? -1 : 0, .offset = offset};
    array.n_buffers = 2, array.buffers = buffers, array.release = keep_array;
    struct ArrowSchema type = {.format = format, .name = "x", .flags = ARROW_FLAG_NULLABLE};
    type.release = keep_type;
    struct ArrowArray *arrays[] = {&array}, output;
    struct ArrowSchema *types[] = {&type}, output_type;
    CHECK_WORKS(kal_apply_arrow(kernel, arrays, types, 1, 3, &output, &output_type, NULL, &error));
    CHECK(array.release && type.release);
    CHECK(strcmp(output_type.format, "g") == 0 && strcmp(output_type.name, "(formula)") == 0);
    CHECK(output_type.flags == ARROW_FLAG_NULLABLE && output_type.n_children == 0);
    CHECK(output.length == 3 && output.offset == 0 && output.n_buffers == 2 && output.n_children == 0);
    CHECK(!output.dictionary && !output_type.dictionary);
    memcpy(result, output.buffers[1], 3 * sizeof *result);
    *nulls = output.buffers[0] ? (uint8_t)(~*(const uint8_t *)output.buffers[0] & 7) : 0;
    CHECK(output.null_count == (*nulls & 1) + (*nulls >> 1 & 1) + (*nulls >> 2 & 1));
    output.release(&output);
    output_type.release(&output_type);
    CHECK(!output.release && !output_type.release);
}

static void arrows(kal_context *context) {
    const char *names[] = {"x"};
    kal_kernel *kernel = kernel_of(context, "x + 1", names, 1);
    double y[3];
    uint8_t nulls;
#define CHECK_TYPE(format, type, ...)                                                              \
    do {                                                                                           \
        static const type values[] = {9, __VA_ARGS__};                                             \
        static const double expected[] = {__VA_ARGS__};                                            \
        arrow(kernel, format, values, NULL, 1, y, &nulls);                                         \
        for (int row = 0; row < 3; row++) CHECK(y[row] == expected[row] + 1);                      \
        CHECK(nulls == 0);                                                                         \
        arrow(kernel, format, values, (const uint8_t[]){0xf5}, 1, y, &nulls);                      \
        CHECK(nulls == 5 && y[1] == expected[1] + 1 && isnan(y[0]));                               \
    } while (0)
    CHECK_TYPE("g", double, 1.5, -2, 1e300);
    CHECK_TYPE("f", float, 1.5f, -2, 3);
    CHECK_TYPE("c", int8_t, -128, 0, 127);
    CHECK_TYPE("C", uint8_t, 0, 1, 255);
    CHECK_TYPE("s", int16_t, -32768, 0, 32767);
    CHECK_TYPE("S", uint16_t, 0, 1, 65535);
    CHECK_TYPE("i", int32_t, INT32_MIN, 0, INT32_MAX);
    CHECK_TYPE("I", uint32_t, 0, 1, UINT32_MAX);
    CHECK_TYPE("l", int64_t, -4611686018427387904, 0, 4611686018427387904);
    CHECK_TYPE("L", uint64_t, 0, 1, 9223372036854775808U);
    // Truth values are bits.
    // Numbers are converted to the nearest double, however the host rounds.
    CHECK(fesetround(FE_DOWNWARD) == 0);
    arrow(kernel, "l", (const int64_t[]){(1LL << 60) + 200, 1, 2}, NULL, 0, y, &nulls);
    CHECK(fegetround() == FE_DOWNWARD && fesetround(FE_TONEAREST) == 0);
    CHECK(y[0] == 0x1p60 + 256 && y[1] == 2 && y[2] == 3 && nulls == 0);
    arrow(kernel, "b", (const uint8_t[]){0x5f}, NULL, 3, y, &nulls);
    CHECK(y[0] == 2 && y[1] == 2 && y[2] == 1 && nulls == 0);
    // Nothing but nulls.
    arrow(kernel, "n", NULL, NULL, 0, y, &nulls);
    CHECK(nulls == 7);
    // Doubles that are not aligned.
    char bytes[40];
    memcpy(bytes + 1, (const double[]){1, 2, 3}, 24);
    arrow(kernel, "g", bytes + 1, NULL, 0, y, &nulls);
    CHECK(y[0] == 2 && y[2] == 4);
    kal_kernel_free(kernel);
}

// Two arrays with nulls and offsets of their own, many rows, and rows that fail.
static void nulls(kal_context *context) {
    enum { COUNT = 133 };
    static double a[COUNT + 5], b[COUNT + 9];
    static uint8_t valid_a[20], valid_b[20];
    for (int i = 0; i < COUNT + 5; i++) a[i] = i, valid_a[i / 8] |= (uint8_t)((i % 3 != 0) << i % 8);
    for (int i = 0; i < COUNT + 9; i++) b[i] = i % 50, valid_b[i / 8] |= (uint8_t)((i % 5 != 0) << i % 8);
    const void *buffers_a[] = {valid_a, a}, *buffers_b[] = {valid_b, b};
    struct ArrowArray left = {.length = COUNT, .null_count = -1, .offset = 5, .n_buffers = 2};
    struct ArrowArray right = {.length = COUNT, .null_count = 12, .offset = 9, .n_buffers = 2};
    left.buffers = buffers_a, right.buffers = buffers_b;
    left.release = right.release = keep_array;
    struct ArrowSchema type = {.format = "g", .name = "", .release = keep_type};
    struct ArrowArray *arrays[] = {&left, &right}, output = {.length = -5};
    struct ArrowSchema *types[] = {&type, &type};
    CHECK_WORKS(kal_eval(context, "def both(a b) if b == 7 then missing(a) else a + b", KAL_TO_ZERO, NULL, NULL,
                         &error));
    kal_kernel *kernel;
    CHECK_WORKS(kernel = kal_kernel_get(context, "both", &error));
    kal_error *error = NULL;
    CHECK(!kal_apply_arrow(kernel, arrays, types, 2, COUNT, &output, NULL, NULL, &error));
    // b is 7 in the rows 48 and 98, in which a has values.
    CHECK(kal_error_row(error) == 48 && output.length == -5);
    kal_error_free(error);
    kal_run run = {.size = sizeof run, .failing = KAL_FAILING_MARK, .threads = 2};
    CHECK_WORKS(kal_apply_arrow(kernel, arrays, types, 2, COUNT, &output, NULL, &run, &error));
    const uint8_t *valid = output.buffers[0];
    const double *values = output.buffers[1];
    int64_t missing = 0;
    for (int row = 0; row < COUNT; row++) {
        bool is_there = (row + 5) % 3 != 0 && (row + 9) % 5 != 0 && (row + 9) % 50 != 7;
        CHECK((valid[row / 8] >> row % 8 & 1) == is_there);
        if (is_there) CHECK(values[row] == row + 5 + (row + 9) % 50);
        missing += !is_there;
    }
    CHECK(output.null_count == missing && (valid[COUNT / 8] >> COUNT % 8) == 0);
    output.release(&output);

    // What does not fit.
    CHECK_FAILS(kal_apply_arrow(kernel, arrays, types, 1, COUNT, &output, NULL, &run, &error),
                KAL_ERROR_CALLER, "`both` takes 2 arguments, not 1");
    CHECK_FAILS(kal_apply_arrow(kernel, arrays, types, 2, 9, &output, NULL, &run, &error), KAL_ERROR_CALLER,
                "column 0 has 133 rows, not 9");
    CHECK_FAILS(kal_apply_arrow(kernel, arrays, types, 2, COUNT, NULL, NULL, &run, &error), KAL_ERROR_CALLER,
                "the output is null");
    struct ArrowSchema text = {.format = "u", .name = "", .release = keep_type};
    types[1] = &text;
    CHECK_FAILS(kal_apply_arrow(kernel, arrays, types, 2, COUNT, &output, NULL, &run, &error),
                KAL_ERROR_CALLER, "column 1 has the Arrow type `u`, and should hold numbers");
    text.dictionary = &type;
    CHECK_FAILS(kal_apply_arrow(kernel, arrays, types, 2, COUNT, &output, NULL, &run, &error),
                KAL_ERROR_CALLER, "column 1 is a dictionary, which has to be decoded");
    types[1] = &type;
    right.release = NULL;
    CHECK_FAILS(kal_apply_arrow(kernel, arrays, types, 2, COUNT, &output, NULL, &run, &error),
                KAL_ERROR_CALLER, "column 1 was released");
    arrays[1] = NULL;
    CHECK_FAILS(kal_apply_arrow(kernel, arrays, types, 2, COUNT, &output, NULL, &run, &error),
                KAL_ERROR_CALLER, "column 1 is null");
    kal_kernel_free(kernel);
    // A kernel without parameters has as many rows as are asked for.
    kernel = kernel_of(context, "6 * 7", NULL, 0);
    CHECK_WORKS(kal_apply_arrow(kernel, NULL, NULL, 0, 2, &output, NULL, NULL, &error));
    CHECK(output.length == 2 && ((const double *)output.buffers[1])[1] == 42 && !output.buffers[0]);
    output.release(&output);
    kal_kernel_free(kernel);
}

int main(void) {
    kal_engine *engine = new_engine(NULL);
    kal_context *context = new_context(engine);
    columns(context);
    pinned(context);
    failing(context);
    arrows(context);
    nulls(context);
    kal_context_free(context);
    kal_engine_free(engine);
    puts("all is well");
    return 0;
}
