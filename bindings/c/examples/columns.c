// Formulas over columns: plain arrays, and arrays of Arrow, whose nulls are kept.
#include <kal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(bool is_fine, const kal_error *error) {
    if (!is_fine) {
        fprintf(stderr, "%s", kal_error_report(error));
        exit(1);
    }
}

// Over plain arrays: a curve, drawn with a row of the screen for each x.
static void plot(kal_context *context) {
    enum { ROWS = 13 };
    double x[ROWS], y[ROWS];
    for (int row = 0; row < ROWS; row++) x[row] = row * 0.5;
    const char *names[] = {"x", "damping"};
    kal_error *error = NULL;
    kal_kernel *kernel =
        kal_kernel_of_formula(context, "exp(-damping * x) * cos(2 * x)", KAL_TO_ZERO, names, 2, &error);
    expect(kernel, error);
    // A column of values, and one value for all rows.
    kal_column columns[] = {{.values = x}, {.every = 0.2}};
    expect(kal_apply(kernel, columns, 2, y, NULL, ROWS, NULL, &error), error);
    for (int row = 0; row < ROWS; row++) printf("%4.1f %*c\n", x[row], (int)(21 + 20 * y[row]), '*');
    kal_kernel_free(kernel);
}

static void keep_array(struct ArrowArray *array) { array->release = NULL; }
static void keep_type(struct ArrowSchema *type) { type->release = NULL; }

// Over an array of Arrow, in which one value is missing. A library that reads files makes such
// arrays; this one has static memory, so there is nothing to free.
static void arrow(kal_context *context) {
    static const double prices[] = {2.5, 3, 0, 40};
    static const uint8_t present[] = {0x0b}; // rows 0, 1 and 3
    const void *buffers[] = {present, prices};
    struct ArrowArray array = {
        .length = 4, .null_count = 1, .n_buffers = 2, .buffers = buffers, .release = keep_array};
    struct ArrowSchema type = {.format = "g", .name = "price", .flags = 2, .release = keep_type};

    kal_error *error = NULL;
    kal_kernel *kernel = kal_kernel_get(context, "gross", &error);
    expect(kernel, error);
    struct ArrowArray *arrays[] = {&array}, result;
    struct ArrowSchema *types[] = {&type}, result_type;
    expect(kal_apply_arrow(kernel, arrays, types, 1, 4, &result, &result_type, NULL, &error), error);
    const uint8_t *valid = result.buffers[0];
    const double *values = result.buffers[1];
    for (int row = 0; row < result.length; row++)
        if (valid && !(valid[row / 8] >> row % 8 & 1))
            printf("%s[%d] is null\n", result_type.name, row);
        else
            printf("%s[%d] = %g\n", result_type.name, row, values[row]);
    result.release(&result);
    result_type.release(&result_type);
    kal_kernel_free(kernel);
}

int main(void) {
    kal_error *error = NULL;
    kal_engine *engine = kal_engine_new(NULL, &error);
    expect(engine, error);
    kal_context *context = kal_context_new(engine, &error);
    expect(context, error);
    const char *text = "var rate = 0.25\n"
                       "def gross(price) if price < 10 then price else price * (1 + rate)";
    expect(kal_eval(context, text, KAL_TO_ZERO, NULL, NULL, &error), error);
    plot(context);
    arrow(context);
    kal_context_free(context);
    kal_engine_free(engine);
    return 0;
}
