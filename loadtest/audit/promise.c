/*
 * A table; every check stands behind at least one promise (promise_test.c).
 */
#include "promise.h"

const struct promise promises[PROMISE_COUNT] = {
    {"never oversold",
     {AUDIT_CONSERVATION, AUDIT_RESTOCKS_ADD_UP, AUDIT_NOTHING_AFTER_END, AUDIT_OPERATORS_AGREE,
      AUDIT_NO_UNACCOUNTED, AUDIT_NO_PHANTOM},
     6},
    {"one order per buyer", {AUDIT_ONE_PER_BUYER, AUDIT_ONE_PER_REQUEST}, 2},
    {"no accepted order lost", {AUDIT_ACKNOWLEDGED_KEPT}, 1},
    {"no undersell", {AUDIT_NO_UNDERSELL, AUDIT_NO_STUCK_LOCK, AUDIT_CONSERVATION}, 3},
    {"an honest answer",
     {AUDIT_HONEST_ANSWERS, AUDIT_REFUSED_NOT_EXECUTED, AUDIT_UNKNOWN_RESOLVED},
     3},
};

audit_verdict promise_verdict(const struct promise *promise, const struct audit_result *result)
{
    audit_verdict verdict = AUDIT_PASS;

    for (int i = 0; i < promise->check_count; i++) {
        audit_verdict one = result->checks[promise->checks[i]].verdict;
        if (one == AUDIT_FAIL || verdict == AUDIT_PASS) verdict = one;
    }
    return verdict;
}
