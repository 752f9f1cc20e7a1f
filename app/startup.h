/*
 * Is this Redis fit to keep orders? Asked once, before anything is sold.
 */
#ifndef SECKILL_STARTUP_H
#define SECKILL_STARTUP_H

#include "lockkit/lockkit.h"

#include "refusal.h"

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

typedef enum durability {
#define DURABILITY_VALUE(value, name, meaning) value,
    DURABILITY_LIST(DURABILITY_VALUE)
#undef DURABILITY_VALUE
        DURABILITY_COUNT
} durability;

const char *durability_name(durability which);
const char *durability_meaning(durability which);

/* What a Redis says of itself; strings are "" and numbers negative when it does not say. */
struct startup_facts {
    char version[32]; /* that of Redis whose commands it has */
    char role[16];    /* "master", "slave" */
    char policy[32];  /* maxmemory-policy */
    char append[8];   /* appendonly: "yes", "no" */
    char fsync[16];   /* appendfsync */
    char save[64];    /* snapshots: "" means none when has_save */
    bool has_save;
    long long max_memory; /* bytes; 0: no limit */
    durability durability;
};

/*
 * Wait while Redis reads its data, ask what it is, and refuse one that would lose what is sold.
 *
 * Shape    *why names the setting of Redis that is wrong and the way out.
 * Units    waits without limit while Redis is loading, and says so in the log; `should_stop` is
 *          asked every 100 ms, and may do the waiting for it (NULL: never).
 * Returns  false with *why: it evicts, it is a replica, it is older than 6.2, or it went away; and
 *          with an empty *why when should_stop said so.
 */
bool startup_check(lk_client *client, bool (*should_stop)(void *arg), void *arg,
                   struct startup_facts *out, struct refusal *why);

/* The steps of it. Take what a text of INFO, or a pair of CONFIG GET, tells. */
void startup_take_info(const char *info, struct startup_facts *facts);
void startup_take_setting(const char *name, const char *value, struct startup_facts *facts);
/* Work out the durability, and judge. */
bool startup_judge(struct startup_facts *facts, struct refusal *why);

#endif
