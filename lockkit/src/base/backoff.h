/*
 * Pauses between attempts to reach a server that is away.
 */
#ifndef LKI_BACKOFF_H
#define LKI_BACKOFF_H

#include <stdint.h>

struct lki_backoff {
    int64_t pause_ms; /* the last one, before jitter; 0: none yet */
};

/*
 * The pause before the next attempt: twice as long each time, at most longest_ms, and at random between half and
 * all of that, so that clients that lost a server do not return in step. Reset it with {0}.
 */
int64_t lki_backoff_next(struct lki_backoff *backoff, int64_t longest_ms);

#endif
