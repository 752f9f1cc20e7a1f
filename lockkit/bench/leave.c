/*
 * A reader leaves while many others stay, and one leaves who was alone: their releases take turns, so that whatever
 * slows the machine slows both. Those who leave are any of the crowd: on average, whoever was last to end included.
 */
#include <assert.h>

#include "lockkit/lockkit.h"

#include "base/error.h"
#include "moment.h"
#include "process.h"
#include "works.h"

enum { LEAVERS = 500, CROWD_MAX = 6000, LEASE_MS = 60000 };

/* A reader of its own that has the lock; NULL: see err. */
static lk_lock *enter(lk_client *client, const char *key, struct lk_error *err)
{
    lk_lock *lock = lk_rwlock_read(lk_rwlock_new(client, key, err));
    lk_status status =
        lock ? lk_lock_acquire(lock, &(struct lk_lock_options){.lease_ms = LEASE_MS}, err)
             : LK_NO_MEMORY;

    return status == LK_OK ? lock : NULL;
}

/* What that takes is added to *ns. */
static lk_status leave(lk_lock *lock, int64_t *ns, struct lk_error *err)
{
    int64_t begin_ns = moment_ns();
    lk_status status = lk_lock_release(lock, err);

    *ns += moment_ns() - begin_ns;
    return status;
}

static lk_status run_leave(struct stage *stage, const struct task *task, double *out_values,
                           struct lk_error *err)
{
    lk_client *client = lk_client_open(&(struct lk_client_options){.url = stage->url}, err);
    size_t count = task->size + LEAVERS;
    static lk_lock *crowd[CROWD_MAX]; /* large; the process ends: nothing to free */
    const char *key = stage_key(stage);
    lk_status status = client ? LK_OK : LK_UNREACHABLE;
    int64_t among_ns = 0, alone_ns = 0;

    assert(task->size > 0 && count <= CROWD_MAX);
    for (size_t i = 0; i < count && status == LK_OK; i++) {
        crowd[i] = enter(client, key, err);
        if (!crowd[i]) status = LK_SERVER;
    }
    key = stage_key(stage);
    for (size_t i = 0; i < LEAVERS && status == LK_OK; i++) {
        size_t who = i + plan_chance(stage->seed, i) % task->size;
        lk_lock *leaver = crowd[who];
        lk_lock *loner = enter(client, key, err);

        crowd[who] = crowd[i];
        status = loner ? leave(leaver, &among_ns, err) : LK_SERVER;
        if (status == LK_OK) status = leave(loner, &alone_ns, err);
    }
    out_values[0] = (double)among_ns / 1e3 / LEAVERS;
    out_values[1] = (double)alone_ns / 1e3 / LEAVERS;
    return status;
}

lk_status leave_work(struct stage *stage, const struct task *task, double *out_values,
                     struct lk_error *err)
{
    return process_measure(run_leave, stage, task, out_values, err);
}
