/*
 * "Did you mean": the word of a table that is nearest to one that is not in it.
 */
#ifndef COMMON_SUGGEST_H
#define COMMON_SUGGEST_H

#include <stddef.h>

/* The greatest edit distance of a suggestion: letters inserted, deleted, replaced, or swapped with the next. */
enum { SUGGEST_FAR = 3 };

struct suggestion {
    const char *said; /* borrowed; need not end at said_len */
    size_t said_len;
    const char *word; /* the nearest so far; NULL: none is near */
    size_t distance;  /* of it; begin with SUGGEST_FAR */
};

/* Look at one more word. */
void suggest_consider(struct suggestion *suggestion, const char *word);

#endif
