// What the tests in C share: a check says what is wrong, and ends the process.
#ifndef CHECK_H
#define CHECK_H

#include <kal.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

// Checks that a call fails with an error of that kind and message, and frees that.
#define CHECK_FAILS(call, expected_kind, expected_message)                                         \
    do {                                                                                           \
        kal_error *error = NULL;                                                                   \
        CHECK(!(call));                                                                            \
        check_error(error, expected_kind, expected_message, __FILE__, __LINE__);                   \
    } while (0)

static inline void check_error(kal_error *error, uint32_t kind, const char *message,
                               const char *file, int line) {
    if (kal_error_kind(error) != kind || strcmp(kal_error_message(error), message) != 0) {
        fprintf(stderr, "%s:%d: kind %u, %s\n", file, line, kal_error_kind(error),
                kal_error_message(error));
        exit(1);
    }
    kal_error_free(error);
}

// Checks that a call succeeds.
#define CHECK_WORKS(call)                                                                          \
    do {                                                                                           \
        kal_error *error = NULL;                                                                   \
        if (!(call)) {                                                                             \
            fprintf(stderr, "%s:%d: %s\n%s", __FILE__, __LINE__, #call, kal_error_report(error));  \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static inline kal_engine *new_engine(const kal_config *config) {
    kal_engine *engine;
    CHECK_WORKS(engine = kal_engine_new(config, &error));
    return engine;
}

static inline kal_context *new_context(const kal_engine *engine) {
    kal_context *context;
    CHECK_WORKS(context = kal_context_new(engine, &error));
    return context;
}

// Returns the value of a text, which must have one.
static inline double value_of(kal_context *context, const char *text) {
    double value = 0;
    bool has_value = false;
    CHECK_WORKS(kal_eval(context, text, KAL_TO_ZERO, &value, &has_value, &error));
    CHECK(has_value);
    return value;
}

#endif
