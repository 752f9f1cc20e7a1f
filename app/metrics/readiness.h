/*
 * How many of the primary servers accept a write now: for /readyz.
 */
#ifndef SECKILL_READINESS_H
#define SECKILL_READINESS_H

#include "lockkit/lockkit.h"

enum { READINESS_AGE_MS = 1000, READINESS_WORD_SIZE = 16 };

/* The result of a check, at most READINESS_AGE_MS old. */
struct readiness {
    size_t servers; /* that take writes, as far as is known: one, or a cluster's masters */
    size_t serving; /* of these: that answer and take a write, and whose replicas have it */
    /* Why one that answers takes none: Redis's word for it, as READONLY, OOM, MISCONF, NOREPLICAS (also
       when fewer have it than an order waits for), LOADING, CLUSTERDOWN; "": they all do, or do not
       answer. */
    char refusal[READINESS_WORD_SIZE];
};

struct readiness_probe; /* opaque */

/* client: borrowed. sync_*: as for orders, the replicas to wait for and how long. NULL when out of memory. */
struct readiness_probe *readiness_new(lk_client *client, unsigned sync_replicas, int64_t sync_ms);
/* No check may be under way. */
void readiness_free(struct readiness_probe *self);

/*
 * Check by writing a small key to each primary. However many threads call, it is at most one write per server and
 * second, because such a write goes to the disk as an order does.
 *
 * Units    it takes some 1.5 s at most, and sync_ms where replicas are waited for.
 * Threads  any; calls during a check wait for its result (single-flight).
 */
struct readiness readiness_check(struct readiness_probe *self);

/*
 * The result of the last check, without I/O and without waiting.
 *
 * Returns  false when it is older than max_age_ms, or there is none.
 */
bool readiness_recall(struct readiness_probe *self, int64_t max_age_ms, struct readiness *out);

#endif
