/*
 * What the fault matrix does to locks: topologies, steps and faults, each a table.
 */
#ifndef MATRIX_FAULTS_H
#define MATRIX_FAULTS_H

#include "test/postgres/lk_postgres.h"
#include "test/support/lk_fault.h"
#include "test/support/lk_topology.h"

enum { WORLDS_MAX = 5, FAULTS = 28, WORLD_POOL = 128 };

/* What can be done to servers. */
enum deed {
    NOTHING,
    PAUSE,
    PAUSE_FORGETFUL, /* and it has no scripts afterwards */
    RESTART,
    WIPE,
    REPLACE, /* another takes its place */
    LOSE_A_SLOT,
    FORGET_SCRIPTS,
    FILL,
    LOAD,
    CROWD,
    CUT, /* all connections, once */
    FORBID_CHANNELS,
    FORBID_STEPS,
    SOIL,   /* connections, by the client's own hands */
    BREAK,  /* one of its processes */
    LOCK,   /* what locks are in, by another's hands */
    OCCUPY, /* by a script without end */
    FAIL_SAVING,
    ORPHAN, /* a replica without its primary, that shows nothing old */
    LACK_REPLICAS,
    SUSPEND, /* it reads what is sent, and answers later */
    DEEDS
};

struct lkz_link;
struct lkz_server;
struct world;
struct deed_ops {
    void (*begin)(struct world *world); /* NULL: there is no such fault */
    void (*end)(struct world *world);
};

/* What each kind of server does in its way. */
struct world_ops {
    void (*start)(struct world *world);
    void (*stop)(struct world *world);
    void (*find)(struct world *world); /* who the server is by now; NULL: always the same */
    void (*tidy)(struct world *world, bool is_unsettled); /* NULL: nothing is to be done */
    void (*fill_pool)(lk_client *client, size_t count);   /* NULL: there is none */
    /* The step EVAL (NULL: there is none); a round trip of it decides, the first or a later one. */
    lk_status (*eval)(lk_lock *lock, const char *key, struct lk_error *err);
    int deciding;
    bool (*is_left)(struct world *world, const char *key, bool is_counted);
    /* Whether that step was done exactly when it says so; NULL: nobody can tell. */
    bool (*is_true)(struct world *world, const char *key, lk_status status);
    struct deed_ops deeds[DEEDS];
};
extern const struct world_ops world_redis, world_cluster, world_postgres, world_pooler;

/* A topology. All keys are in one slot, so that there is one server to do things to. */
struct world {
    const char *name;
    const struct world_ops *ops;
    struct lkt *set;
    struct lks_server *server; /* who it is by now */
    struct lkp_server *postgres, *spare, *pooler;
    struct lkz_server *zookeeper;
    struct lkz_link *link;
    lk_client *mine, *rival; /* whose steps they are; and who wants the same */
    pthread_t helper, rivals;
    struct lkt_options options;
    unsigned lacks; /* kinds of cells, in a mask */
    unsigned
        late; /* statuses, likewise, of a wait that was short: a try waits for its server to the end */
    bool has_moved; /* another took over that one's place and data */
    char at[8];     /* that server's name */
    char url[320];
};

extern struct world worlds[]; /* of the program, worlds_count */
extern const size_t worlds_count;

enum step { ACQUIRE, WAIT, RENEW, BY_HAND, RELEASE, EVAL, STEPS };

/* Whose the fault is: of a round trip; of a server, while steps are taken; of the process that takes them; of
   another thread, which is in the middle of something with the same handle. */
enum place { AT_CALL, AT_SERVER, IN_CHILD, BESIDE };

struct fault {
    const char *name;
    enum place place;
    enum lks_fault_kind call;
    enum deed deed;
    bool is_cold;      /* clients are new, and know no script */
    bool forgets;      /* the server does */
    bool is_unsettled; /* afterwards the servers need a moment for each other */
    int64_t wait_ms;   /* of a step that waits [10000: longer than any fault] */
    int64_t command_ms;
    unsigned may[STEPS]; /* statuses, in masks [0: there is no such step] */
};

extern const struct fault faults[FAULTS];

bool faults_has(const struct fault *fault, const struct world *world);
/* Everywhere. Steps at whose calls a fault is arm it themselves. */
void faults_begin(const struct fault *fault);
void faults_end(const struct fault *fault);

#endif
