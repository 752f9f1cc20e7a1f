/*
 * The operators' log: operators' requests and their results, written outside Redis, so that the auditor can compare
 * the ledger with it.
 *
 * Shape    NDJSON, two lines for each step, as loadtest/evidence/operators_log.h says. Threads and processes
 *          may share the file; one that is suspended while it writes a line blocks the others.
 */
#ifndef SECKILL_OPERATORS_LOG_H
#define SECKILL_OPERATORS_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/start_error.h"
#include "net/client_address.h"

struct operator_step {
    const char *who; /* the operator's name; borrowed, as the next four */
    const char *sale;
    const char *what;              /* "restock" */
    const char *key;               /* idempotency key; NULL: none */
    const char *result;            /* "done"; set with the first line: "asked" */
    int64_t began_ns;              /* monotonic: it was asked for */
    int64_t units;                 /* 0: none */
    int64_t epoch;                 /* of the sale, as the step left it; 0: not known */
    char client[CLIENT_TEXT_SIZE]; /* where the operator asks from */
    char id[64];                   /* given with the first line */
};

/* Append a line about the step and sync it: the first line before the step is taken, the second one
   before the answer is sent. step NULL: only check that the file can be written.
   false: *why names the file. If it was the first line, the step must not be taken; if it was the
   second, the step stands, and the auditor treats its result as unknown. */
bool operators_log_add(const char *path, const char *instance, struct operator_step *step,
                       struct start_error *why);

#endif
