/*
 * When to wait for an answer with open eyes: to look again and again for a moment, before the thread sleeps.
 */
#ifndef LKI_SPIN_H
#define LKI_SPIN_H

#include <stdbool.h>
#include <stdint.h>

/* Of one connection; zeroed: never. */
struct lki_spin {
    int64_t longest_ns; /* 0: never */
    int64_t
        open_ns; /* of round trips with open eyes, half took longer of late; 0: there was none */
    int64_t shut_ns;   /* likewise, of those that were slept through */
    bool is_open;      /* the one under way */
    unsigned failures; /* in a row, in which nothing came */
    unsigned skips;    /* so many waits still sleep at once */
    unsigned waits;    /* that could have slept, and did not */
};

/* A wait begins: until when to look. 0: not at all. Else what became of it is told by lki_spin_end(). */
int64_t lki_spin_begin(struct lki_spin *spin);
void lki_spin_end(struct lki_spin *spin, bool has_come);

/* A round trip is over, and has taken so long. */
void lki_spin_learn(struct lki_spin *spin, int64_t trip_ns);

#endif
