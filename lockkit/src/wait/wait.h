/*
 * The one loop of everything that can be waited for: try, wait, try, until the deadline.
 */
#ifndef LKI_WAIT_H
#define LKI_WAIT_H

#include <stdint.h>

#include "call/context.h"
#include "hub.h"

struct lki_pursuit {
    lk_client *client;         /* borrowed */
    struct lki_waiter *waiter; /* borrowed */
    const char *what;          /* what is waited for, in errors: a key */
    const char *channel;       /* where its release is published; NULL: nowhere, so back off */
    /*
     * Try once, as often as it takes. BUSY goes on waiting, at most *out_ttl_ms when it has said so
     * (-1: nobody knows; -2: as soon as may be); so do UNREACHABLE, EXHAUSTED, and UNKNOWN of
     * what is repeatable, after pauses; every other status ends the pursuit.
     */
    lk_status (*try_once)(void *arg, int64_t *out_ttl_ms, struct lk_error *err);
    void *arg;
    int64_t deadline;   /* of the wait */
    bool is_repeatable; /* a try whose answer was lost may simply be sent again */
    unsigned attempts;  /* out: how often it was tried */
};

/*
 * Returns  what the last try answered; BUSY when the deadline came first (UNREACHABLE, UNKNOWN: that is
 *          why); CANCELLED by
 *          lki_hub_cancel(); NO_MEMORY. The first try passes NULL for out_ttl_ms.
 */
LK_MUST_CHECK lk_status lki_wait_pursue(struct lki_pursuit *pursuit, struct lk_error *err);

#endif
