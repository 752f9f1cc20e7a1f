/*
 * Leader election: a thread acquires a lock, calls on_elected, waits for the end of the hold, calls on_deposed,
 * and begins again. It uses lock.h alone, so any kind of lock will do.
 *
 * Threads: the leader's own calls all hooks and uses the lock. Any other may query, resign and close, by the
 * condition or, during an acquire, by a cancel. Locks: its mutex, under which no other is taken.
 */
#include "lockkit/leader.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "base/pid.h"
#include "base/thread.h"
#include "locks/lock.h"

enum {
    RESIGNED_PAUSE_MS = 2000, /* pause after a resignation: other waiters try within poll_ms */
    TROUBLE_MAX_MS = 1000,    /* longest pause after a failed acquire */
};

struct lk_leader {
    lk_lock *lock; /* borrowed */
    struct lk_leader_options options;
    pid_t pid; /* that made it: a child process does not have its thread */
    pthread_t thread;
    struct lk_error why_left; /* of the last release; read when the thread has ended */
    _Atomic uint64_t fence;   /* of this term */
    _Atomic bool is_elected;  /* on_elected was called, or will be, and the term has not ended */
    pthread_mutex_t mutex;    /* guards all below */
    pthread_cond_t changed;
    bool is_resigning; /* this term */
    bool is_closing;
};

static _Thread_local const lk_leader *own; /* of a leader's thread */

/* ---- any thread ---------------------------------------------------------------------------------- */

static bool is_usable(const lk_leader *leader)
{
    return leader && leader->pid == lki_pid();
}

bool lk_leader_is_leading(const lk_leader *leader)
{
    return is_usable(leader) && atomic_load(&leader->is_elected) && lk_held(leader->lock);
}

uint64_t lk_leader_fence(const lk_leader *leader)
{
    return lk_leader_is_leading(leader) ? atomic_load(&leader->fence) : 0;
}

/* End the term: set the flag, and wake the leader's thread. */
static void end_term(lk_leader *leader, bool *what)
{
    (void)pthread_mutex_lock(&leader->mutex);
    *what = true;
    atomic_store(&leader->is_elected, false);
    (void)pthread_cond_signal(&leader->changed);
    (void)pthread_mutex_unlock(&leader->mutex);
}

void lk_leader_resign(lk_leader *leader)
{
    if (is_usable(leader) && atomic_load(&leader->is_elected))
        end_term(leader, &leader->is_resigning);
}

/* ---- its own thread ------------------------------------------------------------------------------ */

/* On the watchdog's thread. */
static void on_lost_lock(lk_lock *lock, void *arg)
{
    lk_leader *leader = arg;

    (void)lock;
    (void)pthread_mutex_lock(&leader->mutex);
    (void)pthread_cond_signal(&leader->changed);
    (void)pthread_mutex_unlock(&leader->mutex);
}

static void report_trouble(lk_leader *leader, const struct lk_error *why)
{
    if (leader->options.on_trouble) leader->options.on_trouble(leader, why, leader->options.arg);
}

static bool is_closing(lk_leader *leader)
{
    (void)pthread_mutex_lock(&leader->mutex);
    bool is_closing = leader->is_closing;
    (void)pthread_mutex_unlock(&leader->mutex);
    return is_closing;
}

static void pause_for(lk_leader *leader, int64_t ms)
{
    int64_t until = lki_clock_after_ms(ms);

    (void)pthread_mutex_lock(&leader->mutex);
    while (!leader->is_closing && lki_clock_wait(&leader->changed, &leader->mutex, until))
        continue;
    (void)pthread_mutex_unlock(&leader->mutex);
}

/* Begin a term. False: the leader is closed, or the lock was lost again. */
static bool become_leader(lk_leader *leader)
{
    (void)pthread_mutex_lock(&leader->mutex);
    bool is_elected = !leader->is_closing && lk_held(leader->lock);
    leader->is_resigning = false;
    atomic_store(&leader->fence, lk_lock_fence(leader->lock));
    atomic_store(&leader->is_elected, is_elected);
    (void)pthread_mutex_unlock(&leader->mutex);
    return is_elected;
}

/* Wait for the end of the term; true: it has resigned. The end of the lease is checked here, too, as the watchdog's
   thread, which reports a loss, may be busy in an event hook. */
static bool wait_for_end(lk_leader *leader)
{
    (void)pthread_mutex_lock(&leader->mutex);
    while (!leader->is_closing && !leader->is_resigning && lk_held(leader->lock)) {
        int64_t until = lki_clock_after_ms(lk_lock_remaining_ms(leader->lock));

        (void)lki_clock_wait(&leader->changed, &leader->mutex, until);
    }
    atomic_store(&leader->is_elected, false);
    bool has_resigned = leader->is_resigning;
    (void)pthread_mutex_unlock(&leader->mutex);
    return has_resigned;
}

static void run_term(lk_leader *leader)
{
    const struct lk_leader_options *options = &leader->options;
    bool has_resigned = false;

    if (become_leader(leader)) {
        if (options->on_elected)
            options->on_elected(leader, atomic_load(&leader->fence), options->arg);
        has_resigned = wait_for_end(leader);
        if (options->on_deposed) options->on_deposed(leader, options->arg);
    }
    lk_status status = lk_lock_release(leader->lock, &leader->why_left);
    if (status == LK_NOT_OWNER) leader->why_left = (struct lk_error){0};
    if (leader->why_left.code != LK_OK) report_trouble(leader, &leader->why_left);
    if (has_resigned) pause_for(leader, RESIGNED_PAUSE_MS);
}

static void *leader_main(void *arg)
{
    lk_leader *leader = arg;
    const struct lk_lock_options options = {.wait_ms = LK_FOREVER,
                                            .lease_ms = leader->options.lease_ms,
                                            .is_renewed = true,
                                            .on_lost = on_lost_lock,
                                            .on_lost_arg = leader};
    struct lki_backoff backoff = {0};

    own = leader;
    while (!is_closing(leader)) {
        struct lk_error why = {0};

        leader->why_left = why;
        lk_status status = lk_lock_acquire(leader->lock, &options, &why);

        if (status == LK_OK) {
            backoff = (struct lki_backoff){0};
            run_term(leader);
        } else if (!is_closing(leader)) {
            report_trouble(leader, &why);
            pause_for(leader, lki_backoff_next(&backoff, TROUBLE_MAX_MS));
        }
    }
    return NULL;
}

/* ---- life ---------------------------------------------------------------------------------------- */

static lk_status check_lock(lk_lock *lock, const struct lk_leader_options *options,
                            struct lk_error *err)
{
    lk_status status =
        lki_lock_check_options(&(struct lk_lock_options){.lease_ms = options->lease_ms}, err);

    if (status == LK_OK) status = lki_lock_enter(lock, err);
    if (status != LK_OK) return status;
    int state = atomic_load(&lock->state);
    if (state == LOCK_HELD || state == LOCK_LOST)
        status = LKI_FAIL(err, LK_INVALID, "%s: a leader begins with a lock that holds nothing",
                          lock->key ? lock->key : lock->ops->kind);
    return lki_lock_leave(lock, status);
}

static void leader_free(lk_leader *leader)
{
    (void)pthread_cond_destroy(&leader->changed);
    (void)pthread_mutex_destroy(&leader->mutex);
    free(leader);
}

lk_leader *lk_leader_new(lk_lock *lock, const struct lk_leader_options *options,
                         struct lk_error *err)
{
    struct lk_leader_options known;
    lk_leader *leader = NULL;

    if (LKI_OPTIONS_COPY(&known, options, arg, err) != LK_OK) return NULL;
    if (check_lock(lock, &known, err) != LK_OK) return NULL;
    leader = calloc(1, sizeof *leader);
    if (!leader) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a leader");
        return NULL;
    }
    leader->lock = lock;
    leader->options = known;
    leader->pid = lki_pid();
    (void)pthread_mutex_init(&leader->mutex, NULL);
    (void)pthread_cond_init(&leader->changed, NULL);
    if (lki_thread_start(&leader->thread, leader_main, leader)) return leader;
    (void)LKI_FAIL_ERRNO(err, LK_NO_MEMORY, "a leader's thread");
    leader_free(leader);
    return NULL;
}

lk_status lk_leader_close(lk_leader *leader, struct lk_error *err)
{
    if (!is_usable(leader)) {
        free(leader); /* the copy of a child process: its mutex may be held for ever */
        return LK_OK;
    }
    if (leader == own) return LKI_FAIL(err, LK_INVALID, "a leader is not closed by its own hook");
    end_term(leader, &leader->is_closing);
    lk_lock_cancel(leader->lock);
    (void)pthread_join(leader->thread, NULL);
    atomic_store(&leader->lock->is_cancelled, false); /* else its next wait would end */
    lk_status status = leader->why_left.code;
    if (status != LK_OK && err) *err = leader->why_left;
    leader_free(leader);
    return status;
}
