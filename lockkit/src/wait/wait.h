/*
 * How everything is waited for: try, wait, try, until the deadline.
 */
#ifndef LKI_WAIT_H
#define LKI_WAIT_H

#include <stdint.h>

#include "base/backoff.h"
#include "call/context.h"
#include "hub.h"

struct lki_pursuit {
    lk_client *client;         /* borrowed */
    struct lki_waiter *waiter; /* borrowed */
    const char *what;          /* what is waited for, in errors: a key */
    const char *channel;       /* where its release is published; NULL: nowhere, so back off */
    int64_t deadline;          /* of the wait */
    bool is_repeatable;        /* a try whose answer was lost may simply be sent again */
    _Atomic bool *cancelled;   /* borrowed; false again at the end; may be NULL */

    /* A try says there how long to wait at most (-1: nobody knows); NULL: the first one need not. */
    int64_t *ttl_ms;
    struct lk_error why; /* for the tries */
    unsigned attempts;   /* tries so far */
    int64_t ttl;         /* below: wait.c's. -2: as soon as may be */
    struct lki_backoff backoff;
    bool is_woken;
};

/*
 * After a try: whether to try again, which has been waited for:
 *     do status = try(..., pursuit.ttl_ms, &pursuit.why);
 *     while (lki_wait_again(&pursuit, &status, err));
 * BUSY goes on waiting; so do UNREACHABLE, EXHAUSTED, and UNKNOWN of what is repeatable, after pauses.
 *
 * Returns  false: it is over, with *status: what the last try answered; BUSY when the deadline came first
 *          (UNREACHABLE, UNKNOWN: that is why); CANCELLED by lki_hub_cancel(); NO_MEMORY. Not OK: *err is filled.
 */
bool lki_wait_again(struct lki_pursuit *pursuit, lk_status *status, struct lk_error *err);

#endif
