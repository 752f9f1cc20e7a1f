/*
 * The wait loop of all kinds: try, wait, try again, until the deadline.
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
    const char *what;          /* for error texts: the key */
    const char *channel;     /* where releases are published; NULL: nowhere, so poll with backoff */
    int64_t deadline;        /* of the wait */
    bool is_repeatable;      /* a try whose answer was lost may be sent again */
    _Atomic bool *cancelled; /* borrowed; reset at the end; may be NULL */

    /* Where a try stores the longest time to wait (-1: unknown). NULL: the first try need not. */
    int64_t *ttl_ms;
    struct lk_error why; /* for the tries */
    unsigned attempts;   /* tries so far */
    int64_t ttl;         /* from here on wait.c's. -2: as soon as possible */
    struct lki_backoff backoff;
    bool is_woken;
};

/*
 * After a try: wait, and say whether to try again:
 *     do status = try(..., pursuit.ttl_ms, &pursuit.why);
 *     while (lki_wait_again(&pursuit, &status, err));
 * After BUSY it waits; after UNREACHABLE, EXHAUSTED, and UNKNOWN of a repeatable try it pauses.
 *
 * Returns  false: the wait has ended. *status is that of the last try, which is BUSY (or UNREACHABLE, UNKNOWN) at
 *          the deadline; or CANCELLED, by lki_hub_cancel(); NO_MEMORY. Unless it is OK, *err is filled.
 */
bool lki_wait_again(struct lki_pursuit *pursuit, lk_status *status, struct lk_error *err);

#endif
