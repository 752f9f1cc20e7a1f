/*
 * The five promises of the design, and which checks of the auditor stand behind each.
 */
#ifndef LOADTEST_PROMISE_H
#define LOADTEST_PROMISE_H

#include "audit.h"

enum { PROMISE_COUNT = 5, PROMISE_CHECKS_MAX = 6 };

struct promise {
    const char *text;
    audit_check_id checks[PROMISE_CHECKS_MAX];
    int check_count;
};

extern const struct promise promises[PROMISE_COUNT];

/* Fail when one of its checks failed, else void when one is void, else pass. */
audit_verdict promise_verdict(const struct promise *promise, const struct audit_result *result);

#endif
