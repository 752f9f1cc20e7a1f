/*
 * A waiter joins its channel, tries again once the subscription is confirmed (a release in between
 * would else be missed), and then sleeps until it is woken or its timer ends. Messages are hints:
 * the timer never sleeps past the holder's lease, nor longer than the client's poll_ms. What is
 * released without a message (spin) is asked for again after a growing pause; so is a server that is
 * out of reach, or refuses for now.
 *
 * Threads: the waiting one. Locks: none of its own.
 */
#include "wait.h"

#include "base/backoff.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "servers/topology.h"

enum {
    SLEEP_FLOOR_MS = 2, /* a waiter never asks the server more often than this by its timer */
    JITTER_MAX_MS = 50, /* waiters whose timers end together drift apart */
    SPIN_MAX_MS = 128,  /* longest pause without messages: as Redisson's spin lock */
};

/* Until when to sleep if nobody wakes us: at most the holder's TTL, at most poll_ms, with jitter. */
static int64_t sleep_until(const struct lki_pursuit *pursuit, int64_t ttl_ms)
{
    int64_t poll_ms = pursuit->client->options.poll_ms;
    int64_t sleep_ms = ttl_ms < 0 ? (ttl_ms == -1 ? poll_ms : 0) : ttl_ms;
    int64_t jitter_ms = 0;

    if (sleep_ms > poll_ms) sleep_ms = poll_ms;
    if (sleep_ms < SLEEP_FLOOR_MS) sleep_ms = SLEEP_FLOOR_MS;
    jitter_ms = sleep_ms / 4 + 1 < JITTER_MAX_MS ? sleep_ms / 4 + 1 : JITTER_MAX_MS;
    int64_t until = lki_clock_after_ms(sleep_ms) + lki_random_below(jitter_ms * NS_PER_MS);
    return until < pursuit->deadline ? until : pursuit->deadline;
}

static int64_t pause_until(const struct lki_pursuit *pursuit, struct lki_backoff *backoff)
{
    int64_t until = lki_clock_after_ms(lki_backoff_next(backoff, SPIN_MAX_MS));

    return until < pursuit->deadline ? until : pursuit->deadline;
}

/* Nothing was sent or done, or it may be sent again, and soon a server may be there to be asked: this one
   or another. */
static bool is_passing(const struct lki_pursuit *pursuit, lk_status status)
{
    if (status == LK_EXHAUSTED) return true;
    if (pursuit->client->options.is_impatient) /* but there it is, and refuses for now */
        return status == LK_UNREACHABLE && !pursuit->client->backend &&
               !lki_topology_is_troubled(pursuit->client->topology);
    return status == LK_UNREACHABLE || (status == LK_UNKNOWN && pursuit->is_repeatable);
}

/* Joined: try, sleep, try. A release that woke us and that we leave untried is handed on, or the
   next waiter would sleep beside a free lock. */
static lk_status try_and_wait(struct lki_pursuit *pursuit, struct lk_error *err)
{
    struct lki_hub *hub = pursuit->client->hub;
    struct lki_backoff backoff = {1}; /* so the first pause is 1 or 2 ms */
    int64_t ttl_ms = 0;
    bool is_woken = false;
    lk_status status = LK_OK;

    for (;;) {
        ttl_ms = -2;
        pursuit->attempts++;
        status = pursuit->try_once(pursuit->arg, &ttl_ms, err);
        lk_status tried = status;
        bool is_out = is_passing(pursuit, status);
        if (status != LK_BUSY && !is_out) break;
        status = lki_hub_wait(hub, pursuit->waiter,
                              pursuit->channel && !is_out ? sleep_until(pursuit, ttl_ms)
                                                          : pause_until(pursuit, &backoff));
        is_woken = status == LK_OK;
        if (status == LK_CANCELLED) {
            (void)LKI_FAIL(err, LK_CANCELLED, "%s: the wait was cancelled", pursuit->what);
            break;
        }
        if (lki_clock_left_ms(pursuit->deadline) == 0 && is_out) {
            status = tried; /* err has why */
            break;
        }
        if (lki_clock_left_ms(pursuit->deadline) == 0) {
            status = LKI_FAIL(err, LK_BUSY, "%s: not free after %u tries", pursuit->what,
                              pursuit->attempts);
            break;
        }
    }
    if (is_woken && status != LK_OK) lki_hub_unwake(hub, pursuit->waiter);
    return status;
}

static lk_status pursue(struct lki_pursuit *pursuit, struct lk_error *err)
{
    struct lki_hub *hub = pursuit->client->hub;
    lk_status status = pursuit->try_once(pursuit->arg, NULL, err);

    pursuit->attempts = 1;
    if (status != LK_BUSY && !is_passing(pursuit, status)) return status;
    if (lki_clock_left_ms(pursuit->deadline) == 0) return status;
    /* Who is out of reach is soon asked again, subscribed or not. */
    int64_t confirm_by =
        lki_clock_after_ms(status == LK_BUSY ? pursuit->client->options.poll_ms : 0);
    if (confirm_by > pursuit->deadline) confirm_by = pursuit->deadline;
    status = lki_hub_join(hub, pursuit->waiter, pursuit->channel, confirm_by, err);
    if (status != LK_OK) return status;
    status = try_and_wait(pursuit, err);
    lki_hub_leave(hub, pursuit->waiter);
    return status;
}

lk_status lki_wait_pursue(struct lki_pursuit *pursuit, struct lk_error *err)
{
    struct lk_error why = {0};
    lk_status status = pursue(pursuit, &why);

    if (err && status != LK_OK) *err = why; /* tries before a success are no failure */
    return status;
}
