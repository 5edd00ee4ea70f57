// Functions of the host, contexts that two threads want, and interrupts.
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sched.h>

// What the functions of the host know.
struct host {
    kal_context *context;
    atomic_int calls;
    atomic_int released;
    atomic_bool inside;
    atomic_bool leave;
};

static bool add(void *user, const double *arguments, size_t count, double *result, const char **message) {
    (void)message;
    struct host *host = user;
    host->calls++;
    *result = 0;
    for (size_t i = 0; i < count; i++) *result += arguments[i];
    return true;
}

// Fails, with and without a message that is gone afterwards.
static bool fail(void *user, const double *arguments, size_t count, double *result, const char **message) {
    (void)user, (void)count, (void)result;
    char text[32];
    static char kept[32];
    snprintf(text, sizeof text, "no %g", arguments[0]);
    if (arguments[0] > 0) *message = strcpy(kept, text);
    return false;
}

// Uses the context that calls it, which is in use.
static bool again(void *user, const double *arguments, size_t count, double *result, const char **message) {
    (void)arguments, (void)count, (void)message;
    struct host *host = user;
    double value = 0;
    CHECK_FAILS(kal_eval(host->context, "1", 1, &value, NULL, &error), KAL_ERROR_IN_USE,
                "the context is in use");
    *result = 1;
    return true;
}

// Uses another context.
static bool nested(void *user, const double *arguments, size_t count, double *result, const char **message) {
    (void)user, (void)count, (void)message;
    kal_engine *engine = new_engine(NULL);
    kal_context *context = new_context(engine);
    CHECK_WORKS(kal_set_variable(context, "x", arguments[0], &error));
    *result = value_of(context, "x * 2");
    kal_context_free(context);
    kal_engine_free(engine);
    return true;
}

// Waits until it may leave, or is to stop.
static bool wait(void *user, const double *arguments, size_t count, double *result, const char **message) {
    (void)arguments, (void)count, (void)message;
    struct host *host = user;
    host->inside = true;
    while (!host->leave && !kal_host_stopped()) sched_yield();
    host->inside = false;
    *result = 1;
    return true;
}

static void release(void *user) { ((struct host *)user)->released++; }

static kal_engine *host_engine(struct host *host, uint32_t mode) {
    kal_host_function functions[] = {
        {"add", 3, add, host, release},     {"fail", 1, fail, host, release},
        {"again", 0, again, host, NULL},    {"nested", 1, nested, host, NULL},
        {"wait", 0, wait, host, release},
    };
    kal_config config = {.size = sizeof config, .mode = mode, .functions = functions, .function_count = 5};
    return new_engine(&config);
}

static void hosts(uint32_t mode) {
    struct host host = {0};
    kal_engine *engine = host_engine(&host, mode);
    host.context = new_context(engine);
    CHECK(value_of(host.context, "add(1, 2, 3) + add(4, 5, 6)") == 21 && host.calls == 2);
    CHECK(value_of(host.context, "again() + nested(4)") == 9);
    CHECK_FAILS(kal_eval(host.context, "fail(3)", KAL_TO_ZERO, NULL, NULL, &error), KAL_ERROR_FAILED,
                "`fail` failed: no 3");
    CHECK_FAILS(kal_eval(host.context, "fail(0)", KAL_TO_ZERO, NULL, NULL, &error), KAL_ERROR_FAILED,
                "`fail` failed: it failed");
    kal_function *function;
    CHECK_WORKS(function = kal_function_get(host.context, "add", 3, &error));
    double arguments[] = {1, 2, 4}, result = 0;
    CHECK_WORKS(kal_call(host.context, function, arguments, 3, &result, &error));
    CHECK(result == 7);
    kal_engine_free(engine);
    kal_context_free(host.context);
    CHECK(host.released == 0);
    // The handle is the last that needs the engine.
    kal_function_free(function);
    CHECK(host.released == 3);
}

static void refused_hosts(void) {
    struct host host = {0};
    kal_host_function functions[] = {{"fine", 1, add, &host, release}, {"3x", 1, add, &host, release}};
    kal_config config = {.size = sizeof config, .functions = functions, .function_count = 2};
    CHECK_FAILS(kal_engine_new(&config, &error), KAL_ERROR_CALLER,
                "`3x` is not a name that a program can use");
    functions[1].name = "none";
    functions[1].call = NULL;
    CHECK_FAILS(kal_engine_new(&config, &error), KAL_ERROR_CALLER, "the host function `none` has no `call`");
    functions[1].name = NULL;
    CHECK_FAILS(kal_engine_new(&config, &error), KAL_ERROR_CALLER, "the name of a host function is null");
    CHECK(host.released == 0);
}

static void *run_wait(void *context) {
    double value = 0;
    kal_error *error = NULL;
    return kal_eval(context, "wait()", KAL_TO_ZERO, &value, NULL, &error) ? NULL : error;
}

// Two threads: the second one is told so, and the first one goes on.
static void in_use(void) {
    struct host host = {0};
    kal_engine *engine = host_engine(&host, KAL_MODE_LAZY);
    kal_context *context = host.context = new_context(engine);
    kal_function *function;
    CHECK_WORKS(function = kal_function_get(context, "add", 3, &error));
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run_wait, context) == 0);
    while (!host.inside) sched_yield();
    const char *text = "the context is in use";
    double numbers[3] = {0};
    CHECK_FAILS(kal_eval(context, "1", 1, NULL, NULL, &error), KAL_ERROR_IN_USE, text);
    CHECK_FAILS(kal_call(context, function, numbers, 3, numbers, &error), KAL_ERROR_IN_USE, text);
    CHECK_FAILS(kal_kernel_get(context, "f", &error), KAL_ERROR_IN_USE, text);
    CHECK_FAILS(kal_variable(context, "x", numbers, &error), KAL_ERROR_IN_USE, text);
    CHECK_FAILS(kal_context_set_deadline(context, 1, &error), KAL_ERROR_IN_USE, text);
    host.leave = true;
    void *failed = NULL;
    CHECK(pthread_join(thread, &failed) == 0 && !failed);
    CHECK(value_of(context, "1 + 1") == 2);

    // An interrupt reaches what runs, and what waits in a function of the host.
    host.leave = false;
    kal_interrupt *interrupt = kal_context_interrupt(context);
    kal_interrupt_now(interrupt);
    CHECK(pthread_create(&thread, NULL, run_wait, context) == 0);
    while (!host.inside) sched_yield();
    kal_interrupt_now(interrupt);
    CHECK(pthread_join(thread, &failed) == 0 && failed);
    CHECK(kal_error_kind(failed) == KAL_ERROR_INTERRUPTED);
    kal_error_free(failed);

    // One for the next run, which may be withdrawn.
    kal_interrupt_now_or_next(interrupt);
    CHECK_FAILS(kal_eval(context, "1 + 1", KAL_TO_ZERO, NULL, NULL, &error), KAL_ERROR_INTERRUPTED,
                "interrupted");
    kal_interrupt_now_or_next(interrupt);
    kal_interrupt_clear(interrupt);
    CHECK(value_of(context, "1 + 1") == 2);
    kal_function_free(function);
    kal_context_free(context);
    kal_engine_free(engine);
    // It does nothing when its context is gone.
    kal_interrupt_now_or_next(interrupt);
    kal_interrupt_free(interrupt);
}

struct race {
    kal_context *context;
    kal_function *function;
    atomic_long fine;
};

enum { THREADS = 4, CALLS = 20000 };

static void *race(void *argument) {
    struct race *race = argument;
    for (int call = 0; call < CALLS; call++) {
        double arguments[] = {call, 1, 2}, result = -1;
        kal_error *error = NULL;
        while (!kal_call(race->context, race->function, arguments, 3, &result, &error)) {
            CHECK(kal_error_kind(error) == KAL_ERROR_IN_USE);
            kal_error_free(error);
            sched_yield();
        }
        CHECK(result == call + 2);
        race->fine++;
    }
    return NULL;
}

// Many threads that all want one context: each call is right, or refused, and made again.
static void races(void) {
    kal_engine *engine = new_engine(NULL);
    struct race shared = {.context = new_context(engine)};
    CHECK_WORKS(kal_eval(shared.context, "def f(x y z) x + y * z", KAL_TO_ZERO, NULL, NULL, &error));
    CHECK_WORKS(shared.function = kal_function_get(shared.context, "f", 3, &error));
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, race, &shared) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(shared.fine == (long)THREADS * CALLS);
    kal_function_free(shared.function);
    kal_context_free(shared.context);
    kal_engine_free(engine);
}

struct endless {
    kal_kernel *kernel;
    kal_interrupt *interrupt;
    kal_error *error;
    atomic_bool done;
};

static void *run_endless(void *argument) {
    struct endless *endless = argument;
    double x[4] = {0, 1, 2, 3}, y[4];
    kal_column column = {.values = x};
    kal_run run = {.size = sizeof run, .interrupt = endless->interrupt};
    kal_apply(endless->kernel, &column, 1, y, NULL, 4, &run, &endless->error);
    endless->done = true;
    return NULL;
}

// A kernel that does not end, in one of its rows, and one that is given another's interrupt.
static void kernels(void) {
    kal_engine *engine = new_engine(NULL);
    kal_context *context = new_context(engine);
    struct endless endless = {.interrupt = kal_interrupt_new()};
    const char *text = "def f(x) if x == 2 then (for i = 0, 1 in i) else x";
    CHECK_WORKS(kal_eval(context, text, KAL_TO_ZERO, NULL, NULL, &error));
    CHECK_WORKS(endless.kernel = kal_kernel_get(context, "f", &error));
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run_endless, &endless) == 0);
    // It may not have begun yet, and is not interrupted then.
    while (!endless.done) {
        kal_interrupt_now(endless.interrupt);
        sched_yield();
    }
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(kal_error_kind(endless.error) == KAL_ERROR_INTERRUPTED);
    CHECK(kal_error_row(endless.error) <= 2);
    kal_error_free(endless.error);

    double x[4] = {0, 1, 0, 1}, y[4];
    kal_column column = {.values = x};
    kal_run run = {.size = sizeof run, .timeout = 5, .interrupt = endless.interrupt};
    CHECK_WORKS(kal_apply(endless.kernel, &column, 1, y, NULL, 4, &run, &error));
    CHECK(y[3] == 1);
    x[3] = 2;
    run.timeout = 0.02;
    kal_error *late = NULL;
    CHECK(!kal_apply(endless.kernel, &column, 1, y, NULL, 4, &run, &late));
    CHECK(kal_error_kind(late) == KAL_ERROR_DEADLINE && kal_error_row(late) <= 3);
    kal_error_free(late);
    kal_interrupt *other = kal_context_interrupt(context);
    run.interrupt = other;
    CHECK_FAILS(kal_apply(endless.kernel, &column, 1, y, NULL, 4, &run, &error), KAL_ERROR_CALLER,
                "the interrupt is of a context, not for kernels");
    kal_interrupt_free(other);
    kal_interrupt_free(endless.interrupt);
    kal_kernel_free(endless.kernel);
    kal_context_free(context);
    kal_engine_free(engine);
}

int main(void) {
    for (uint32_t mode = KAL_MODE_LAZY; mode <= KAL_MODE_TIERED; mode++) hosts(mode);
    refused_hosts();
    in_use();
    races();
    kernels();
    puts("all is well");
    return 0;
}
