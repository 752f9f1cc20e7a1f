/*
 * A guard is one way to protect the decrement: the experiment variable of the project.
 *
 * To add one: write app/guards/NAME.c with a sell function and, at its bottom,
 * `const struct guard guard_NAME`, and add NAME to GUARD_LIST. Nothing else knows guards by name.
 * Its .name is what users write: "mutex-watchdog" for guard_mutex_watchdog.
 */
#ifndef SECKILL_GUARD_H
#define SECKILL_GUARD_H

#include "lockkit/lockkit.h"

#include "purchase.h"
#include "redlock_servers.h"
#include "topology.h"

#define GUARD_LIST(X)                                                                              \
    X(mutex)                                                                                       \
    X(mutex_watchdog)                                                                              \
    X(reentrant) X(fair) X(spin) X(redlock) X(script) X(watch) X(none) X(mutex_unchecked)

/* What the lab and the audit must find. */
enum verdict { VERDICT_SOUND, VERDICT_OVERSELLS };

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
    lk_client *client;               /* borrowed */
    lk_script *purchase;             /* borrowed: scripts/purchase.lua */
    lk_script *resolve;              /* borrowed: scripts/resolve.lua */
    lk_script *confirm;              /* borrowed: scripts/confirm.lua */
    const struct topology *topology; /* borrowed; NULL: one server, no replicas waited for */
    struct redlock_servers *redlock; /* borrowed: those of --redlock; NULL: there are none */
    const char *sale_id;
    const char *instance; /* goes into the ledger */
    const char *process;  /* whose attempts these are: unlike any other process before or after */
    int64_t attempt;      /* grows with every sell of this process */
    int64_t lease_ms;
    int64_t limit_ms; /* the whole sell, waiting included */
};

struct guard {
    const char *name; /* "mutex" */
    const char *idea; /* one line for --help, the dashboard and the report */
    const char *flaw; /* NULL when sound; else what breaks it, in one line */
    enum verdict expected;
    bool needs_redlock; /* guard_ctx.redlock: an instance started without --redlock cannot run it */
    /* Threads: several at once with different batches. The array holds pointers, none NULL. */
    struct guard_result (*sell)(const struct guard_ctx *ctx, struct purchase **batch, size_t count);
};

#define GUARD_DECLARE(name) extern const struct guard guard_##name;
GUARD_LIST(GUARD_DECLARE)
#undef GUARD_DECLARE

/* The guard of that name, or NULL; guards in table order, NULL past the end. */
const struct guard *guard_find(const char *name);
const struct guard *guard_at(size_t index);

#endif
