/*
 * An uncontended acquire and release against two bare round trips: commands of a mutex's own size
 * (SET key token NX PX lease; UNLINK with as many words and bytes as its release script), on the
 * same kind of connection to the same server. The two take turns in slices of a millisecond or so.
 */
#include <stdio.h>

#include "base/error.h"
#include "holder.h"
#include "moment.h"
#include "process.h"
#include "works.h"

enum { SLICE = 32 };

struct contest {
    struct holder holder;
    struct bare bare;
    struct wire set, unlink;
    struct moment_turns turns;
};

static void write_trips(struct contest *contest, const char *key)
{
    static const char token[] = "0123456789abcdef0123456789abcdef";
    static const char digest[] = "0123456789abcdef0123456789abcdef01234567";
    char channel[80];

    (void)snprintf(channel, sizeof channel, "lockkit_wake:{%s}", key);
    bare_write(&contest->set, (const char *const[]){"SET", key, token, "NX", "PX", "30000", NULL});
    /* As long as EVALSHA digest 2 key channel token. */
    bare_write(&contest->unlink,
               (const char *const[]){"UNLINK", digest, "22", key, channel, token, NULL});
}

/* The lock's; the bare round trips. */
static lk_status step(void *arg, size_t side, struct lk_error *err)
{
    struct contest *contest = arg;

    if (side == 0) {
        lk_status status = holder_take(&contest->holder, err);

        return status == LK_OK ? holder_give(&contest->holder, err) : status;
    }
    if (bare_trip(&contest->bare, &contest->set, "+OK\r\n") &&
        bare_trip(&contest->bare, &contest->unlink, ":1\r\n"))
        return LK_OK;
    return LKI_FAIL(err, LK_SERVER, "a bare round trip was not answered as expected");
}

static lk_status run_pair(struct stage *stage, const struct task *task, double *out_values,
                          struct lk_error *err)
{
    const char *url = task->is_tcp ? stage->tcp_url : stage->url;
    static struct contest contest; /* large */
    lk_client *client = lk_client_open(&(struct lk_client_options){.url = url}, err);
    char key[64];

    if (!client) return LK_UNREACHABLE; /* the process ends: nothing to free */
    (void)snprintf(key, sizeof key, "%s", stage_key(stage));
    lk_status status = holder_open(&contest.holder, task->kind, client, key, err);
    if (status == LK_OK) status = bare_open(&contest.bare, url, err);
    if (status != LK_OK) return status;
    write_trips(&contest, stage_key(stage));
    contest.turns.each = SLICE;
    status = moment_take_turns(&contest.turns, stage->duration_ms, step, &contest, err);
    if (status != LK_OK) return status;
    for (size_t side = 0; side < 2; side++)
        out_values[side] = plan_spread(contest.turns.us[side], contest.turns.count).median;
    return LK_OK;
}

lk_status pair_work(struct stage *stage, const struct task *task, double *out_values,
                    struct lk_error *err)
{
    return process_measure(run_pair, stage, task, out_values, err);
}
