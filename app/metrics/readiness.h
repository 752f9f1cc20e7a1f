/*
 * How many of the servers that take writes take one now: for /readyz.
 */
#ifndef SECKILL_READINESS_H
#define SECKILL_READINESS_H

#include "lockkit/lockkit.h"

enum { READINESS_AGE_MS = 1000, READINESS_WORD_SIZE = 16 };

/* What was found out, at most READINESS_AGE_MS ago. */
struct readiness {
    size_t servers; /* that take writes, as far as is known: one, or a cluster's masters */
    size_t serving; /* of these: that answer and take a write, and whose replicas have it */
    /* Why one that answers takes none: Redis's word for it, as READONLY, OOM, MISCONF, NOREPLICAS (also
       when fewer have it than an order waits for), LOADING, CLUSTERDOWN; "": they all do, or do not
       answer. */
    char refusal[READINESS_WORD_SIZE];
};

struct readiness_probe; /* opaque */

/* client: borrowed. So many replicas an order waits for, so long. NULL when out of memory. */
struct readiness_probe *readiness_new(lk_client *client, unsigned sync_replicas, int64_t sync_ms);
/* Nobody may be looking. */
void readiness_free(struct readiness_probe *self);

/*
 * Write a small key to each of them, and see. However many look, it is one write per server and
 * second, as such a write goes to the disk as an order does.
 *
 * Units    it takes some 1.5 s at most, and sync_ms where replicas are waited for.
 * Threads  any; those who come while Redis is asked wait for the same answer.
 */
struct readiness readiness_check(struct readiness_probe *self);

/*
 * What was found out last, no matter how; asks nobody and does not wait.
 *
 * Returns  false when that is older than max_age_ms: nobody looks.
 */
bool readiness_recall(struct readiness_probe *self, int64_t max_age_ms, struct readiness *out);

#endif
