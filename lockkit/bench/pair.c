/*
 * An uncontended acquire and release against two bare round trips: commands of a mutex's own size
 * (SET key token NX PX lease; UNLINK with as many words and bytes as its release script), on the
 * same kind of connection to the same server. The two take turns in slices of a millisecond or so,
 * each going first as often as the other, so that whatever slows the machine slows both.
 */
#include <stdio.h>

#include "base/error.h"
#include "holder.h"
#include "moment.h"
#include "process.h"
#include "works.h"

enum { SLICE = 32, SLICES_MAX = 20000 };

/* The slices of one side. */
struct side {
    double spans_us[SLICES_MAX]; /* of one pair, on average */
    size_t count;
};

struct contest {
    struct holder holder;
    struct bare bare;
    struct wire set, unlink;
    struct side locks, trips;
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

static lk_status run_locks(struct contest *contest, struct lk_error *err)
{
    lk_status status = LK_OK;

    for (int i = 0; i < SLICE && status == LK_OK; i++) {
        status = holder_take(&contest->holder, err);
        if (status == LK_OK) status = holder_give(&contest->holder, err);
    }
    return status;
}

static lk_status run_trips(struct contest *contest, struct lk_error *err)
{
    for (int i = 0; i < SLICE; i++) {
        if (!bare_trip(&contest->bare, &contest->set, "+OK\r\n") ||
            !bare_trip(&contest->bare, &contest->unlink, ":1\r\n"))
            return LKI_FAIL(err, LK_SERVER, "a bare round trip was not answered as expected");
    }
    return LK_OK;
}

static lk_status run_slice(struct contest *contest, struct side *side, struct lk_error *err)
{
    int64_t begin_ns = moment_ns();
    lk_status status = side == &contest->locks ? run_locks(contest, err) : run_trips(contest, err);

    side->spans_us[side->count++] = (double)(moment_ns() - begin_ns) / 1e3 / SLICE;
    return status;
}

static lk_status take_turns(struct contest *contest, int64_t duration_ms, struct lk_error *err)
{
    int64_t until_ns = moment_ns() + duration_ms * 1000000;
    struct side *sides[2] = {&contest->locks, &contest->trips};
    lk_status status = LK_OK;

    for (size_t i = 0; status == LK_OK && contest->trips.count < SLICES_MAX - 1; i++) {
        status = run_slice(contest, sides[i % 2], err);
        if (status == LK_OK) status = run_slice(contest, sides[1 - i % 2], err);
        if (moment_ns() >= until_ns) break;
    }
    return status;
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
    status = take_turns(&contest, stage->duration_ms, err);
    if (status != LK_OK) return status;
    out_values[0] = plan_spread(contest.locks.spans_us, contest.locks.count).median;
    out_values[1] = plan_spread(contest.trips.spans_us, contest.trips.count).median;
    return LK_OK;
}

lk_status pair_work(struct stage *stage, const struct task *task, double *out_values,
                    struct lk_error *err)
{
    return process_measure(run_pair, stage, task, out_values, err);
}
