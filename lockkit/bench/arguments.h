/*
 * The command line.
 */
#ifndef LOCKKIT_BENCH_ARGUMENTS_H
#define LOCKKIT_BENCH_ARGUMENTS_H

#include "common/flags.h"

struct arguments {
    uint64_t repeat;
    int64_t duration_ms;
    uint64_t seed; /* 0: random */
    struct flag_texts only;
    const char *json;    /* NULL: no file */
    const char *redis;   /* NULL: a server of our own */
    const char *interop; /* where the rivals are */
    bool is_list;
};

extern const struct arguments arguments_usual;
extern const struct flags arguments_flags;

#endif
