/*
 * The kinds of lock that lockctl run can hold, by name, and a hold on one of them.
 */
#ifndef LOCKCTL_KINDS_H
#define LOCKCTL_KINDS_H

#include "lockkit/lockkit.h"

#include "ctl.h"

/* A lock of some kind and its clients. */
struct kinds_hold {
    const struct ctl_request *request; /* borrowed */
    lk_client *clients[CTL_URLS_MAX];  /* owned */
    size_t client_count;
    lk_lock *lock;           /* owned, unless it is a side of rwlock; NULL: a semaphore */
    lk_rwlock *rwlock;       /* owned; NULL: no such kind */
    lk_semaphore *semaphore; /* owned; NULL: no such kind */
    int lost_fd;             /* borrowed from the lock; -1: it has none */
};

struct ctl_kind {
    const char *name;
    const char *idea;
    lk_lock *(*make_lock)(lk_client *client, const char *name, struct lk_error *err);
    bool (*make)(struct kinds_hold *hold, struct lk_error *err); /* instead of make_lock */
    bool has_permits;                                            /* --permits goes with it */
    bool is_redlock;                                             /* for several servers */
    bool has_no_end; /* that could be set: --at-least does not go with it */
};

/* One row of the table; NULL when there is no such kind. */
const struct ctl_kind *kinds_find(const char *name, size_t len);
const struct ctl_kind *kinds_at(size_t index);

/*
 * Connect, and make the lock.
 *
 * Owns     *out is initialised in any case; end it with kinds_close().
 * Returns  an exit status, after its complaint.
 */
int kinds_open(const struct ctl_request *request, struct kinds_hold *out);

/* Take it: OK, or as lk_lock_acquire() and lk_semaphore_acquire(). */
LK_MUST_CHECK lk_status kinds_acquire(struct kinds_hold *hold, struct lk_error *err);

/* End the wait of kinds_acquire() in another thread, if it has begun. */
void kinds_cancel(struct kinds_hold *hold);

/* Give it back; as lk_lock_release(). */
lk_status kinds_release(struct kinds_hold *hold, struct lk_error *err);

/*
 * Leave it to its lease, which ends in rest_ms from now; nobody holds the handle any more.
 *
 * Returns  OK; NOT_OWNER: it had ended; UNKNOWN, UNREACHABLE...: it ends with the lease that it has.
 */
lk_status kinds_leave(struct kinds_hold *hold, int64_t rest_ms, struct lk_error *err);

/* Whether there is a number of permits at all: a semaphore that nobody has set up admits nobody. */
bool kinds_is_unset(struct kinds_hold *hold);

void kinds_close(struct kinds_hold *hold);

#endif
