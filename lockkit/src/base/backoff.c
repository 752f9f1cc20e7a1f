/*
 * See backoff.h. The caller guards it.
 */
#include "backoff.h"

#include "random.h"

enum { FIRST_PAUSE_MS = 20 };

int64_t lki_backoff_next(struct lki_backoff *backoff, int64_t longest_ms)
{
    int64_t pause_ms = backoff->pause_ms ? backoff->pause_ms * 2 : FIRST_PAUSE_MS;

    if (pause_ms > longest_ms) pause_ms = longest_ms;
    backoff->pause_ms = pause_ms;
    return pause_ms - lki_random_below(pause_ms / 2 + 1);
}
