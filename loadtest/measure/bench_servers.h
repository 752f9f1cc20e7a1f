/*
 * Further Redis servers of the bench: sets of lockkit/tools/redis_set, on ports of 127.0.0.1 that were free.
 */
#ifndef LOADTEST_BENCH_SERVERS_H
#define LOADTEST_BENCH_SERVERS_H

#include "base/topology.h"
#include "run/service.h"

enum { BENCH_SERVERS_MAX = 8, BENCH_LOCK_SERVERS = 5, BENCH_URLS_MAX = 8 * 40 };

/* Words of redis_set. */
struct bench_redis {
    const char *kind;
    const char *aof;                /* NULL: "always" */
    const char *masters, *replicas; /* of a cluster; or NULL */
    const char *option, *value;     /* one more, before these; or NULL */
    const char *setting;            /* one more line for each redis.conf; or NULL */
};

struct bench_servers {
    struct topology list[BENCH_SERVERS_MAX];
    int count;
    char dir[RUN_PATH_MAX];
};

/* Start one more set in a folder of its own under `dir`, the same each time, and wait until it is well.
 * Returns  NULL   it is not. */
struct topology *bench_servers_add(struct bench_servers *servers, const char *dir,
                                   const struct bench_redis *redis, struct failure *failure);

/* So many, for the locks of guard redlock alone; `urls` names them, commas between. */
bool bench_servers_add_locks(struct bench_servers *servers, const char *dir, int count,
                             char urls[BENCH_URLS_MAX], struct failure *failure);

/* Stop all, and delete what they wrote. */
void bench_servers_stop(struct bench_servers *servers);

#endif
