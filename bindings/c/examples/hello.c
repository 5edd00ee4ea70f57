#include <kal.h>
#include <stdio.h>

int main(void) {
    kal_error *error = NULL;
    kal_engine *engine = kal_engine_new(NULL, &error);
    kal_context *context = kal_context_new(engine, &error);
    double value;
    if (kal_eval(context, "def square(x) x * x; square(7)", KAL_TO_ZERO, &value, NULL, &error))
        printf("%g\n", value);
    else
        fprintf(stderr, "%s", kal_error_report(error));
    kal_error_free(error);
    kal_context_free(context);
    kal_engine_free(engine);
    return error != NULL;
}
