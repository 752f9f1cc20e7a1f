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
 * How long to pause before the next attempt: each time twice as long, never longer than longest_ms,
 * and between half and all of that by chance, so that clients who lost a server do not return in
 * step. Start again with {0}.
 */
int64_t lki_backoff_next(struct lki_backoff *backoff, int64_t longest_ms);

#endif
