/*
 * By the mean of what is done.
 */
#include "progress.h"

#include <stdio.h>

#include "clock.h"

enum { MS_PER_MIN = 60000, IN_SECONDS_MS = 100000 };

void progress_begin(struct progress *progress, long count)
{
    *progress = (struct progress){.count = count, .began_ms = clock_ms()};
}

const char *progress_step(struct progress *progress, char out[PROGRESS_WORDS_MAX])
{
    long left = progress->count - ++progress->done;
    int64_t left_ms = (clock_ms() - progress->began_ms) / progress->done * left;

    if (left <= 0)
        (void)snprintf(out, PROGRESS_WORDS_MAX, "%ld/%ld", progress->done, progress->count);
    else if (left_ms < IN_SECONDS_MS)
        (void)snprintf(out, PROGRESS_WORDS_MAX, "%ld/%ld, %ld s left", progress->done,
                       progress->count, (long)(left_ms + 999) / 1000);
    else
        (void)snprintf(out, PROGRESS_WORDS_MAX, "%ld/%ld, %ld min left", progress->done,
                       progress->count, (long)(left_ms + MS_PER_MIN / 2) / MS_PER_MIN);
    return out;
}
