/*
 * A guard is one way to protect the decrement: the experiment variable of the project.
 * guards/guards.h tells how to add one.
 */
#ifndef SECKILL_GUARD_H
#define SECKILL_GUARD_H

#include "lockkit/lockkit.h"

#include "base/list.h"
#include "guard_servers.h"
#include "sale/purchase.h"
#include "store/deployment.h"

/* What the lab and the audit must find once the fault is there that the flaw waits for. */
#define VERDICT_LIST(X)                                                                            \
    X(VERDICT_SOUND, "sound")                                                                      \
    X(VERDICT_OVERSELLS, "oversells")                                                              \
    X(VERDICT_STUCK, "stuck") /* a crash leaves a lock for ever */

enum verdict { VERDICT_LIST(LIST_VALUE) };

const char *guard_verdict_name(enum verdict which);

/* How a whole batch ended. Only with GUARD_DONE do the purchases carry outcomes. */
typedef enum guard_status {
    GUARD_DONE,        /* every purchase has its outcome */
    GUARD_BUSY,        /* the lock was not passed in time; surely not executed */
    GUARD_UNAVAILABLE, /* Redis out of reach or refusing; surely not executed */
    GUARD_UNKNOWN,     /* sent, no answer */
    GUARD_UNSYNCED,    /* executed, but too few replicas confirmed it: it may be lost yet */
} guard_status;

struct guard_result {
    guard_status status;
    bool is_sold_out;      /* DONE, and no unit is left */
    struct lk_error error; /* why, when not DONE */
};

struct guard_ctx {
    const struct guard *guard; /* borrowed: whose sell() this is */
    lk_client *client;         /* borrowed */
    lk_script *purchase;       /* borrowed: store/scripts/purchase.lua */
    lk_script *resolve;        /* borrowed: store/scripts/resolve.lua */
    lk_script *confirm;        /* borrowed: store/scripts/confirm.lua */
    lk_script *fenced;         /* borrowed: store/scripts/fence_check.lua and purchase.lua */
    const struct deployment *deployment; /* borrowed; NULL: one server, no replicas waited for */
    struct guard_servers *servers;       /* borrowed: what guards need besides; NULL: nothing */
    const char *sale_id;
    const char *instance; /* goes into the ledger */
    const char *process;  /* whose attempts these are: unlike any other process before or after */
    int64_t attempt;      /* grows with every sell of this process */
    int64_t lease_ms;
    int64_t limit_ms; /* the whole sell, waiting included */
    int64_t again_ms; /* between two attempts to learn what became of a lost answer; 0: as usual */
    int64_t wait_ms;  /* how long a guard may wait for its lock; 0: it tries once */
    const char *dir;  /* the guard "file" has its files here; NULL: it cannot run */
    /* A fault, for experiments: called once per sell where a pause of the holder does most harm,
       between the last look at the lock and the write. NULL: none. */
    void (*pause)(const struct guard_ctx *ctx);
    int64_t pause_ms; /* for pause() */
};

struct guard {
    const char *name; /* "mutex" */
    const char *idea; /* one line for --help, the dashboard and the report */
    const char *flaw; /* NULL when sound; else what breaks it, in one line */
    enum verdict expected;
    bool is_renewed; /* a watchdog prolongs its lease */
    bool is_local;   /* nobody beyond its process, or its host, sees its lock */
    bool is_final;   /* its orders are: it cannot sell what is paid for later (purchase.lua can) */
    bool is_paid_later;    /* of the lab alone: what it sells is held until it is paid for */
    bool has_replica;      /* likewise: its lock is on a server of its own, which has one */
    enum guard_need needs; /* of guard_ctx.servers: an instance started without cannot run it */
    /* Threads: several at once with different batches. The array holds pointers, none NULL. */
    struct guard_result (*sell)(const struct guard_ctx *ctx, struct purchase **batch, size_t count);
    const void *way; /* for a sell() that guards share, of its own type; NULL: it needs none */
};

/* For guards: the moment of ctx->pause. */
void guard_pause(const struct guard_ctx *ctx);

#endif
