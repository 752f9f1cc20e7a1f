/*
 * Is this Redis fit to keep orders? Every server that takes writes is asked, before anything is sold;
 * and again when servers have changed places, when it is too late to refuse.
 */
#ifndef SECKILL_STARTUP_H
#define SECKILL_STARTUP_H

#include <pthread.h>

#include "lockkit/lockkit.h"

#include "base/list.h"
#include "base/start_error.h"
#include "store/deployment.h"

/* X(value, name in /version, what a crash of Redis costs, for the log) */
#define DURABILITY_LIST(X)                                                                         \
    X(DURABILITY_UNKNOWN, "unknown",                                                               \
      "this Redis does not say whether it keeps accepted orders (no permission for CONFIG GET)")   \
    X(DURABILITY_NONE, "none", "all accepted orders are lost when Redis ends: it stores nothing")  \
    X(DURABILITY_SNAPSHOTS, "snapshots",                                                           \
      "orders accepted since the last snapshot are lost when Redis crashes")                       \
    X(DURABILITY_NO_FSYNC, "appendfsync-no",                                                       \
      "accepted orders survive a crash of Redis, but seconds of them can be lost with the "        \
      "machine")                                                                                   \
    X(DURABILITY_EVERYSEC, "appendfsync-everysec",                                                 \
      "up to about a second of accepted orders can be lost on a Redis crash")                      \
    X(DURABILITY_ALWAYS, "appendfsync-always", "no accepted order is lost by a crash")

typedef enum durability { DURABILITY_LIST(LIST_VALUE) DURABILITY_COUNT } durability;

const char *startup_durability_name(durability which);
const char *startup_durability_meaning(durability which);

/* What a Redis says of itself; strings are "" and numbers negative when it does not say. */
struct startup_facts {
    char server[128]; /* where it is; "": there is only one it can be */
    char version[32]; /* that of Redis whose commands it has */
    char mode[16];    /* redis_mode: "standalone", "cluster", "sentinel" */
    char role[16];    /* "master", "slave" */
    char policy[32];  /* maxmemory-policy */
    char append[8];   /* appendonly: "yes", "no" */
    char fsync[16];   /* appendfsync */
    char save[64];    /* snapshots: "" means none when has_save */
    bool has_save;
    long long max_memory; /* bytes; 0: no limit */
    long long replicas;   /* connected */
    durability durability;
};

/* How the servers are asked, one after the other. */
struct startup_inquiry {
    lk_client *client;
    const struct deployment *deployment;
    const char *fsync;              /* appendfsync, as --redis-fsync tells it; NULL: it does not */
    bool (*should_stop)(void *arg); /* may be NULL */
    void *arg;
    int64_t answer_ms; /* these three are startup.c's own */
    bool waits;        /* while one is loading */
    bool is_answered;
};

/*
 * Wait while Redis reads its data, ask what it is, and refuse one that would lose what is sold. All
 * servers that take writes are asked.
 *
 * Shape    *out: of several, the worst: the lowest durability, the oldest version, the fewest replicas.
 *          *why names the server, its setting that is wrong and the way out.
 * Units    waits without limit while Redis is loading, and says so in the log; `should_stop` is
 *          asked every 100 ms, and may do the waiting for it (NULL: never).
 * Returns  false with *why: one evicts, is a replica, is older than 6.2, is of a cluster that was not
 *          said to be one, or went away; and with an empty *why when should_stop said so.
 */
bool startup_check(struct startup_inquiry inquiry, struct startup_facts *out,
                   struct start_error *why);

/* The same without waiting: a server that does not answer soon, or loads, is a refusal too; then
   *out_is_answered is false. */
bool startup_recheck(struct startup_inquiry inquiry, struct startup_facts *out,
                     bool *out_is_answered, struct start_error *why);

/* What was found last, for any thread. */
struct startup_report {
    pthread_mutex_t mutex; /* guards all below */
    struct startup_facts facts;
};
void startup_report_set(struct startup_report *report, const struct startup_facts *facts);
struct startup_facts startup_report_get(struct startup_report *report);

/* The steps of it. Take what a text of INFO, or a pair of CONFIG GET, tells. */
void startup_read_info(const char *info, struct startup_facts *facts);
void startup_read_setting(const char *name, const char *value, struct startup_facts *facts);
/* Work out the durability, and judge. */
bool startup_judge(struct startup_facts *facts, deployment_kind kind, struct start_error *why);
/* What the worst of two servers is; facts with server "" and version "" are nobody's. */
void startup_merge_worst(const struct startup_facts *one, struct startup_facts *worst);

#endif
