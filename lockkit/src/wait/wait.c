/*
 * A waiter joins its channel, tries again once the subscription is confirmed (else it would miss a release
 * in between), and then sleeps until it is woken or its timer ends. Messages are hints: the timer ends with
 * the holder's lease, and after the client's poll_ms at the latest. A kind that publishes no releases (spin)
 * tries again after growing pauses; so does a waiter whose server is unreachable or refuses temporarily.
 *
 * Threads: the waiting one. Locks: none of its own.
 */
#include "wait.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "servers/topology.h"

enum {
    SLEEP_FLOOR_MS = 2, /* shortest time of the timer */
    JITTER_MAX_MS = 50, /* added at random to the timer */
    SPIN_MAX_MS = 128,  /* longest pause without messages, as in Redisson's spin lock */
};

/* The end of the timer: after the holder's TTL or poll_ms, whichever is less, with jitter. */
static int64_t sleep_until(const struct lki_pursuit *pursuit)
{
    int64_t ttl_ms = pursuit->ttl;
    int64_t poll_ms = pursuit->client->options.poll_ms;
    int64_t sleep_ms = ttl_ms < 0 ? (ttl_ms == -1 ? poll_ms : 0) : ttl_ms;
    int64_t jitter_ms = 0;

    if (sleep_ms > poll_ms) sleep_ms = poll_ms;
    if (sleep_ms < SLEEP_FLOOR_MS) sleep_ms = SLEEP_FLOOR_MS;
    jitter_ms = sleep_ms / 4 + 1 < JITTER_MAX_MS ? sleep_ms / 4 + 1 : JITTER_MAX_MS;
    int64_t until = lki_clock_after_ms(sleep_ms) + lki_random_below(jitter_ms * NS_PER_MS);
    return until < pursuit->deadline ? until : pursuit->deadline;
}

static int64_t pause_until(struct lki_pursuit *pursuit)
{
    int64_t until = lki_clock_after_ms(lki_backoff_next(&pursuit->backoff, SPIN_MAX_MS));

    return until < pursuit->deadline ? until : pursuit->deadline;
}

/* Whether a failed try may be repeated after a pause: it has done nothing, or is repeatable. */
static bool is_passing(const struct lki_pursuit *pursuit, lk_status status)
{
    if (status == LK_EXHAUSTED) return true;
    if (pursuit->client->options
            .fail_fast) /* goes on only if the server answers, with a temporary error */
        return status == LK_UNREACHABLE && !pursuit->client->backend &&
               !lki_topology_is_degraded(pursuit->client->topology);
    return status == LK_UNREACHABLE || (status == LK_UNKNOWN && pursuit->is_repeatable);
}

/* After the first try: subscribe, and try again. */
static bool join(struct lki_pursuit *pursuit, lk_status *status)
{
    int64_t poll_ms = pursuit->client->options.poll_ms;

    if (lki_clock_left_ms(pursuit->deadline) == 0) return false;
    /* An unreachable server is soon tried again, subscribed or not. */
    int64_t confirm_by = lki_clock_after_ms(*status == LK_BUSY ? poll_ms : 0);
    if (confirm_by > pursuit->deadline) confirm_by = pursuit->deadline;
    *status = lki_hub_join(pursuit->client->hub, pursuit->waiter, pursuit->channel, confirm_by,
                           &pursuit->why);
    if (*status != LK_OK) return false;
    pursuit->ttl_ms = &pursuit->ttl;
    pursuit->backoff = (struct lki_backoff){1}; /* so the first pause is 1 or 2 ms */
    return true;
}

/* Joined: sleep, and try again. */
static bool sleep_on(struct lki_pursuit *pursuit, lk_status *status)
{
    bool is_out = *status != LK_BUSY;
    int64_t until = pursuit->channel && !is_out ? sleep_until(pursuit) : pause_until(pursuit);
    lk_status waited = lki_hub_wait(pursuit->client->hub, pursuit->waiter, until);

    pursuit->is_woken = waited == LK_OK;
    if (waited == LK_CANCELLED) {
        *status =
            LKI_FAIL(&pursuit->why, LK_CANCELLED, "%s: the wait was cancelled", pursuit->what);
        return false;
    }
    if (lki_clock_left_ms(pursuit->deadline) > 0) return true;
    if (!is_out) /* else why is filled already */
        *status = LKI_FAIL(&pursuit->why, LK_BUSY, "%s: not free after %u tries", pursuit->what,
                           pursuit->attempts);
    return false;
}

/* A wake-up that led to no successful try goes to the next waiter, which would else sleep beside a free lock. */
static void leave(struct lki_pursuit *pursuit, lk_status status)
{
    struct lki_hub *hub = pursuit->client->hub;

    if (pursuit->is_woken && status != LK_OK) lki_hub_unwake(hub, pursuit->waiter);
    lki_hub_leave(hub, pursuit->waiter);
}

bool lki_wait_again(struct lki_pursuit *pursuit, lk_status *status, struct lk_error *err)
{
    bool is_first = pursuit->attempts++ == 0;
    bool goes_on = *status == LK_BUSY || is_passing(pursuit, *status);

    if (goes_on) goes_on = is_first ? join(pursuit, status) : sleep_on(pursuit, status);
    pursuit->ttl = -2;
    if (goes_on) return true;
    if (pursuit->ttl_ms) leave(pursuit, *status);
    if (pursuit->cancelled) atomic_store(pursuit->cancelled, false);
    if (err && *status != LK_OK) *err = pursuit->why; /* tries before a success are no failure */
    return false;
}
