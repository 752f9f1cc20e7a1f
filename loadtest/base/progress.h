/*
 * How far a long run is: so many things of so many, and how long the rest takes if it goes on as until now.
 */
#ifndef LOADTEST_PROGRESS_H
#define LOADTEST_PROGRESS_H

#include <stdint.h>

enum { PROGRESS_WORDS_MAX = 48 };

struct progress {
    long done, count;
    int64_t began_ms;
};

void progress_begin(struct progress *progress, long count);

/* One more is done: "12/48, 5 min left"; of the last one "48/48". */
const char *progress_step(struct progress *progress, char out[PROGRESS_WORDS_MAX]);

#endif
