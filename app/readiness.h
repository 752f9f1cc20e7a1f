/*
 * How many of the servers that take writes serve now: for /readyz.
 */
#ifndef SECKILL_READINESS_H
#define SECKILL_READINESS_H

#include "lockkit/lockkit.h"

struct readiness {
    size_t servers; /* that take writes, as far as is known: one, or a cluster's masters */
    size_t
        serving; /* of these: that answer, have loaded their data, and see a cluster that is whole */
};

/* Ask each of them, for at most some 2 s in all. Threads: any. */
struct readiness readiness_look(lk_client *client);

#endif
