/*
 * The command line.
 */
#ifndef LOCKKIT_BENCH_ARGUMENTS_H
#define LOCKKIT_BENCH_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lockkit/error.h"

enum { ONLY_MAX = 32 };

struct arguments {
    size_t repeat;
    int64_t duration_ms;
    uint64_t seed; /* 0: random */
    const char *only[ONLY_MAX];
    size_t only_count;
    const char *json;    /* NULL: no file */
    const char *redis;   /* NULL: a server of our own */
    const char *interop; /* where the rivals are */
    bool is_list, is_help;
};

/* INVALID with words for the user. */
LK_MUST_CHECK lk_status arguments_parse(int argc, char **argv, struct arguments *out,
                                        struct lk_error *err);

extern const char arguments_help[];

#endif
