// What a call takes: prints nanoseconds, the least of many measurements.
#define _POSIX_C_SOURCE 200809L
#include <kal.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALLS = 200000, ROUNDS = 51 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void expect(bool is_fine, const kal_error *error) {
    if (!is_fine) {
        fprintf(stderr, "%s", kal_error_report(error));
        exit(1);
    }
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void measure(const char *what, kal_context *context, const kal_function *function, size_t count) {
    double arguments[3] = {1, 2, 3}, times[ROUNDS], result = 0;
    kal_error *error = NULL;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now();
        for (int call = 0; call < CALLS; call++) {
            arguments[0] = call;
            if (!kal_call(context, function, arguments, count, &result, &error)) expect(false, error);
        }
        times[round] = (now() - start) / CALLS;
    }
    qsort(times, ROUNDS, sizeof times[0], ascending);
    printf("%-28s %6.1f ns, the least %.1f\n", what, times[ROUNDS / 2], times[0]);
}

struct call {
    kal_context *context;
    const kal_function *function;
};

static void *call_once(void *argument) {
    const struct call *call = argument;
    double arguments[1] = {1}, result = 0;
    kal_error *error = NULL;
    expect(kal_call(call->context, call->function, arguments, 1, &result, &error), error);
    return NULL;
}

int main(void) {
    kal_error *error = NULL;
    kal_engine *engine = kal_engine_new(NULL, &error);
    expect(engine, error);
    kal_context *context = kal_context_new(engine, &error);
    expect(context, error);
    const char *text = "def one(x) x + 1; def three(x y z) x + y * z;"
                       "var k = 1; def scaled(x) k * x";
    expect(kal_eval(context, text, KAL_TO_ZERO, NULL, NULL, &error), error);
    kal_function *one = kal_function_get(context, "one", 1, &error);
    expect(one, error);
    kal_function *three = kal_function_get(context, "three", 3, &error);
    expect(three, error);
    const char *names[] = {"x"};
    kal_function *formula = kal_formula_new(context, "x + 1", KAL_TO_ZERO, names, 1, &error);
    expect(formula, error);
    measure("a function of one argument", context, one, 1);
    measure("a function of three", context, three, 3);
    measure("a formula of one argument", context, formula, 1);
    kal_function *scaled = kal_function_get(context, "scaled", 1, &error);
    expect(scaled, error);
    measure("a function with a variable", context, scaled, 1);
    // Another thread takes the context's lock, which is biased to the first one, away.
    struct call call = {context, one};
    pthread_t thread;
    if (pthread_create(&thread, NULL, call_once, &call) || pthread_join(thread, NULL)) return 1;
    measure("one argument, two threads", context, one, 1);
    kal_function_free(scaled);
    kal_function_free(one);
    kal_function_free(three);
    kal_function_free(formula);
    kal_context_free(context);
    kal_engine_free(engine);
    return 0;
}
