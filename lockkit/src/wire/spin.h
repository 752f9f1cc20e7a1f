/*
 * Adaptive busy-polling: when a receive polls the socket for a moment before it blocks.
 */
#ifndef LKI_SPIN_H
#define LKI_SPIN_H

#include <stdbool.h>
#include <stdint.h>

/* Of one connection; zeroed: never. */
struct lki_spin {
    int64_t longest_ns; /* limit of one spin; 0: never */
    int64_t open_ns;    /* running median of round trips with busy-polling; 0: there was none */
    int64_t shut_ns;    /* ...of those that blocked */
    bool is_open;       /* the receive under way busy-polls */
    unsigned failures;  /* in a row */
    unsigned skips;     /* receives that still block at once */
    unsigned waits;     /* receives since the last one that blocked as a measurement */
};

/* A receive begins: the moment until which to busy-poll, followed by lki_spin_end(). 0: not at all. */
int64_t lki_spin_begin(struct lki_spin *spin);
void lki_spin_end(struct lki_spin *spin, bool has_come);

/* A round trip took this long. */
void lki_spin_learn(struct lki_spin *spin, int64_t trip_ns);

#endif
