/*
 * A whole service for the fault tests: a redis-server with an append-only file, seckilld instances,
 * and, if wanted, the fault proxy between each instance and Redis (the auditor reads Redis without
 * it). Or on Sentinel or a cluster, where the topology's own script does the harm. Everything dies
 * with the test program.
 */
#ifndef LOADTEST_ITEST_LT_RIG_H
#define LOADTEST_ITEST_LT_RIG_H

#include "base/topology.h"
#include "lt_buyers.h"
#include "lt_proxy.h"

enum { LT_RIG_INSTANCES = 2, LT_RIG_INSTANCES_MAX = 3, LT_RIG_WORDS_MAX = 12 };

typedef enum lt_disk {
    LT_DISK_PLAIN,
    LT_DISK_TMPFS, /* a small file system of its own: really full */
    LT_DISK_LIMIT, /* a limit on the size of a file: where no file system may be mounted */
} lt_disk;

struct lt_rig_options {
    const char *fsync;                      /* appendfsync; NULL: always */
    unsigned instances;                     /* 0: LT_RIG_INSTANCES */
    bool has_proxy;                         /* links "i1" and "i2", of two instances */
    bool has_small_disk;                    /* under Redis' data, SMALL_DISK_KIB of it */
    const char *seckilld[LT_RIG_WORDS_MAX]; /* more flags */
    const char *topology
        [LT_RIG_WORDS_MAX]; /* words of lockkit/tools/redis_set; none: one Redis of our own */
};

struct lt_rig {
    struct lt_sandbox sandbox;
    struct lt_rig_options options;
    lt_disk disk;
    char data[LT_PATH_MAX + 32]; /* folder of the append-only file */
    struct topology topology;
    struct lt_proxy proxy;
    struct process instances[LT_RIG_INSTANCES_MAX];
    struct service service; /* as the load test knows it: running instances */
    struct failure failure;
};

/* Start everything. false: rig->failure says what did not start. */
bool lt_rig_open(struct lt_rig *rig, const struct lt_rig_options *options);
void lt_rig_close(struct lt_rig *rig);

bool lt_rig_create_sale(struct lt_rig *rig, const char *sale, const char *guard, long stock);

/* Start Redis (again) on its data and wait until it answers; the small disk is roomy afterwards. */
bool lt_rig_start_redis(struct lt_rig *rig);
/* Make room on the small disk while Redis runs. */
bool lt_rig_free_disk(struct lt_rig *rig);
/* kill -9, and wait until it is gone. */
void lt_rig_kill_redis(struct lt_rig *rig);

/* A verb for the proxy ("i1:stall"). */
bool lt_rig_proxy(const struct lt_rig *rig, const char *verb);
/* Lines of the proxy's log that have such words ("eat-reply"); of its effects, or of all. */
unsigned lt_rig_count_effects(const struct lt_rig *rig, const char *words);

/* The number behind `label` in an INFO section ("errorstat_OOM:count="); 0 when it is not there. */
long lt_rig_info(const struct lt_rig *rig, const char *section, const char *label);
/* A metric's line ("seckill_lock_release_total{...} ") of instance 0 or 1; 0 when it is not there. */
long lt_rig_metric_of(const struct lt_rig *rig, int instance, const char *line);
/* The sum over both instances. */
long lt_rig_metric(const struct lt_rig *rig, const char *line);

#endif
