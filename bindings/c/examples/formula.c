// A host program with a field for a formula: what its user types is compiled, called with numbers
// of the host, may call functions of the host, and can be changed while the program runs.
#include <kal.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// A function that formulas may call. `user` is what the host wants it to be.
static bool from_table(void *user, const double *arguments, size_t count, double *result,
                       const char **message) {
    const double *table = user;
    (void)count;
    if (!(arguments[0] >= 0 && arguments[0] <= 3)) {
        *message = "the table has places 0 to 3";
        return false;
    }
    *result = table[(int)arguments[0]];
    return true;
}

// Shows an error, and frees it.
static void show(kal_error *error) {
    printf("%s, line %zu, column %zu: %s\n", kal_error_code(error), kal_error_line(error),
           kal_error_column(error), kal_error_message(error));
    kal_error_free(error);
}

int main(void) {
    static double table[] = {10, 20, 30, 40};
    kal_host_function functions[] = {
        {.name = "from_table", .arity = 1, .call = from_table, .user = table},
    };
    kal_config config = {.size = sizeof config, .functions = functions, .function_count = 1};
    kal_error *error = NULL;
    kal_engine *engine = kal_engine_new(&config, &error);
    kal_context *context = engine ? kal_context_new(engine, &error) : NULL;
    if (!context) {
        fprintf(stderr, "%s", kal_error_report(error));
        return 1;
    }

    // The field has two names that the host fills in.
    const char *names[] = {"width", "height"};
    const char *typed = "width * height / 2 + from_table(1)";
    kal_function *area = kal_formula_new(context, typed, KAL_TO_ZERO, names, 2, &error);
    if (!area) {
        show(error);
        return 1;
    }
    for (int width = 1; width <= 3; width++) {
        double arguments[] = {width, 10}, result;
        if (kal_call(context, area, arguments, 2, &result, &error)) printf("%g\n", result);
    }
    kal_function_free(area);

    // A mistake is an object: with a place to mark in the field, and a report for people.
    if (!kal_formula_new(context, "width * heigth", KAL_TO_ZERO, names, 2, &error)) {
        printf("%s", kal_error_report(error));
        show(error);
    }

    // So is a failure of a call; and one that does not end is stopped after half a second.
    const char *failing[] = {"from_table(4)", "for i = 0, 1 in i"};
    for (int formula = 0; formula < 2; formula++) {
        double result;
        kal_function *function = kal_formula_new(context, failing[formula], KAL_TO_ZERO, NULL, 0, &error);
        if (!function || !kal_context_set_deadline(context, 0.5, &error) ||
            !kal_call(context, function, NULL, 0, &result, &error))
            show(error);
        kal_function_free(function);
        kal_context_set_deadline(context, -1, NULL);
    }
    kal_context_free(context);
    kal_engine_free(engine);
    return 0;
}
