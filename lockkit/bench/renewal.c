/*
 * What renewals cost.
 *
 * A pass: the watchdog at its worst, many held locks whose renewals are all due at the same moment. Lock i
 * is taken with the lease whose third ends at that moment. The client's own events tell when the
 * pass begins and ends; the CPU is that of this process, which does nothing else meanwhile.
 *
 * The upkeep: CPU of a player that holds many locks and does nothing else, per pass of its watchdog. Its
 * lease is short, so that a pass comes every second.
 *
 * Threads: the hook runs on the watchdog's thread; atomics and a semaphore stand in between.
 */
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lockkit/lockkit.h"

#include "base/error.h"
#include "moment.h"
#include "process.h"
#include "works.h"

enum {
    LEAD_MS = 5000,
    SPARE_MS = 500,
    WAIT_S = 20,
    KEY_ROOM = 64,
    TAKE_MS = 60000, /* for all locks to be taken, or given back */
    PASS_MS = KEEPER_LEASE_MS / 3,
    PASSES = 3, /* that are watched */
};

/* Of a process; 0: of this one. */
static double cpu_ms(pid_t pid)
{
    struct timespec spent = {0};
    clockid_t clock;

    if (clock_getcpuclockid(pid, &clock) == 0) (void)clock_gettime(clock, &spent);
    return (double)spent.tv_sec * 1e3 + (double)spent.tv_nsec / 1e6;
}

/* ---- a pass -------------------------------------------------------------------------------------- */

struct pass {
    lk_lock **locks;
    size_t count;
    _Atomic size_t renewed, failed;
    _Atomic int64_t begin_ns, end_ns; /* of the events' clock; the watchdog's thread writes them */
    sem_t over;
};

static void note_event(const struct lk_event *event, void *arg)
{
    struct pass *pass = arg;
    int64_t sent_ns = event->at_ns - event->duration_ns;

    if (event->type == LK_EVENT_LOST) atomic_fetch_add(&pass->failed, 1);
    if (event->type != LK_EVENT_RENEW || event->status != LK_OK) return;
    if (atomic_load(&pass->renewed) == 0) atomic_store(&pass->begin_ns, sent_ns);
    atomic_store(&pass->end_ns, event->at_ns);
    if (atomic_fetch_add(&pass->renewed, 1) + 1 == pass->count) (void)sem_post(&pass->over);
}

/* All of them, each with three times what is left until the moment as its lease. */
static lk_status take_all(struct pass *pass, lk_client *client, const char *prefix, int64_t due_ns,
                          struct lk_error *err)
{
    char key[KEY_ROOM];
    lk_status status = LK_OK;

    for (size_t i = 0; i < pass->count && status == LK_OK; i++) {
        int64_t left_ms = (due_ns - moment_ns()) / 1000000;

        if (left_ms < SPARE_MS)
            return LKI_FAIL(err, LK_BUSY, "taking %zu locks took too long", pass->count);
        (void)snprintf(key, sizeof key, "%s:%zu", prefix, i);
        pass->locks[i] = lk_reentrant_new(client, key, err);
        if (!pass->locks[i]) return LK_NO_MEMORY;
        status = lk_lock_acquire(
            pass->locks[i], &(struct lk_lock_options){.lease_ms = 3 * left_ms, .is_renewed = true},
            err);
    }
    return status;
}

static lk_status await_pass(struct pass *pass, int64_t due_ns, double *out_values,
                            struct lk_error *err)
{
    struct timespec until = {0};

    moment_nap_us((due_ns - moment_ns()) / 1000 - (int64_t)SPARE_MS * 500);
    double before_ms = cpu_ms(0);
    (void)clock_gettime(CLOCK_REALTIME, &until); /* the clock of sem_timedwait() */
    until.tv_sec += WAIT_S;
    bool is_over = sem_timedwait(&pass->over, &until) == 0;
    double spent_ms = cpu_ms(0) - before_ms;
    if (!is_over || atomic_load(&pass->failed) > 0) {
        return LKI_FAIL(err, LK_LOST, "of %zu locks %zu were renewed and %zu lost", pass->count,
                        atomic_load(&pass->renewed), atomic_load(&pass->failed));
    }
    out_values[0] = (double)(atomic_load(&pass->end_ns) - atomic_load(&pass->begin_ns)) / 1e9;
    out_values[1] = spent_ms;
    return LK_OK;
}

static lk_status run_pass(struct stage *stage, const struct task *task, double *out_values,
                          struct lk_error *err)
{
    struct pass pass = {.count = task->size, .locks = calloc(task->size, sizeof *pass.locks)};
    struct lk_client_options options = {
        .url = stage->url, .on_event = note_event, .on_event_arg = &pass};
    lk_client *client = lk_client_open(&options, err);

    if (!pass.locks || !client) return LK_UNREACHABLE; /* the process ends: nothing to free */
    (void)sem_init(&pass.over, 0, 0);
    int64_t due_ns = moment_ns() + (int64_t)LEAD_MS * 1000000;
    lk_status status = take_all(&pass, client, stage_key(stage), due_ns, err);
    if (status == LK_OK) status = await_pass(&pass, due_ns, out_values, err);
    for (size_t i = 0; i < pass.count && status == LK_OK; i++)
        status = lk_lock_release(pass.locks[i], err);
    return status;
}

lk_status renewal_pass(struct stage *stage, const struct task *task, double *out_values,
                       struct lk_error *err)
{
    return process_measure(run_pass, stage, task, out_values, err);
}

/* ---- upkeep -------------------------------------------------------------------------------------- */

static void nap_ms(int64_t ms)
{
    int64_t until_ns = moment_ns() + ms * 1000000;

    while (moment_ns() < until_ns && !moment_interrupt_came())
        moment_nap_us((until_ns - moment_ns()) / 1000 + 1);
}

/* The first and the last are still there: they were renewed, for a whole lease has passed. */
static bool is_kept(const struct stage *stage, const char *key, unsigned count)
{
    char first[80], last[80];

    (void)snprintf(first, sizeof first, "%s:0", key);
    (void)snprintf(last, sizeof last, "%s:%u", key, count - 1);
    return bare_integer(&stage->bare, (const char *const[]){"EXISTS", first, last, NULL}) == 2;
}

/* Ours say with each lock that it is renewed; Redisson's watchdog has its lease from the start. */
static lk_status have(struct player *player, const struct task *task, const char *verb,
                      const char *key, struct lk_error *err)
{
    char options[48] = "";
    struct answer answer;

    if (task->library == LOCKKIT)
        (void)snprintf(options, sizeof options, "lease=%d renewed=1", KEEPER_LEASE_MS);
    lk_status status =
        player_tell(player, 1, err, "%s %s %s n=%u %s", verb, task->kind, key, task->size, options);

    return status == LK_OK ? players_next(&player, 1, TAKE_MS, &answer, err) : status;
}

lk_status renewal_upkeep(struct stage *stage, const struct task *task, double *out_values,
                         struct lk_error *err)
{
    char key[48];
    lk_status status = stage_keeper(stage, task->library, err);

    if (status != LK_OK) return status;
    struct player *keeper = stage->keepers[task->library];
    (void)snprintf(key, sizeof key, "%s:kept", stage->prefix); /* always these: handles are kept */
    status = have(keeper, task, "hold", key, err);
    if (status != LK_OK) return status;
    nap_ms(PASS_MS);
    double before_ms = cpu_ms(player_pid(keeper));
    nap_ms((int64_t)PASSES * PASS_MS);
    double spent_ms = cpu_ms(player_pid(keeper)) - before_ms;
    if (moment_interrupt_came()) return LKI_FAIL(err, LK_CANCELLED, "interrupted");
    bool is_held = is_kept(stage, key, task->size);
    status = have(keeper, task, "drop", key, err);
    if (status != LK_OK) return status;
    if (!is_held) return LKI_FAIL(err, LK_LOST, "%s: not renewed", player_version(keeper));
    out_values[0] = spent_ms / PASSES;
    return LK_OK;
}
