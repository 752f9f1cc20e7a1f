/*
 * What it costs the client to keep many locks: CPU of a player that holds them and does nothing
 * else, per pass of its watchdog. Its lease is short, so that a pass comes every second. One
 * thread.
 */
#include <stdio.h>
#include <time.h>

#include "base/error.h"
#include "moment.h"
#include "works.h"

enum {
    TAKE_MS = 60000, /* for all locks to be taken, or given back */
    PASS_MS = KEEPER_LEASE_MS / 3,
    PASSES = 3, /* that are watched */
};

static double cpu_ms(pid_t pid)
{
    struct timespec spent = {0};
    clockid_t clock;

    if (clock_getcpuclockid(pid, &clock) == 0) (void)clock_gettime(clock, &spent);
    return (double)spent.tv_sec * 1e3 + (double)spent.tv_nsec / 1e6;
}

static void nap_ms(int64_t ms)
{
    int64_t until_ns = moment_ns() + ms * 1000000;

    while (moment_ns() < until_ns && !interrupt_came())
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

lk_status work_upkeep(struct stage *stage, const struct task *task, double *out_values,
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
    if (interrupt_came()) return LKI_FAIL(err, LK_CANCELLED, "interrupted");
    bool is_held = is_kept(stage, key, task->size);
    status = have(keeper, task, "drop", key, err);
    if (status != LK_OK) return status;
    if (!is_held) return LKI_FAIL(err, LK_LOST, "%s: not renewed", player_version(keeper));
    out_values[0] = spent_ms / PASSES;
    return LK_OK;
}
