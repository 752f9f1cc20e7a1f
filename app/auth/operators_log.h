/*
 * The operators' log: what operators asked for and what became of it, written where Redis does not
 * reach, so that the auditor has something to compare the ledger with.
 *
 * Shape    NDJSON, two lines for each step, as loadtest/evidence/operators_log.h says. Threads and processes
 *          may share the file; one that is stopped amid a line keeps the others waiting.
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

/* Add a line about the step, and make it durable: the first one before it is taken, the second one
   before anybody is told. step NULL: only look whether that can be done.
   false: *why names the file, and a step whose first line it is must not be taken; where it is the
   second, the step stands, and the auditor takes it as done or not. */
bool operators_log_add(const char *path, const char *instance, struct operator_step *step,
                       struct start_error *why);

#endif
