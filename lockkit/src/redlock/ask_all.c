/*
 * Every server has a seat, and one poll() loop drives them all, so the slowest costs the others nothing.
 *
 * Threads: the caller's. Locks: none of its own.
 */
#include "ask_all.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "wire/endpoint.h"

enum { WAITING_MS = 1 };

static bool begin_all(struct lki_ask_all *all)
{
    bool is_over = false;

    for (size_t i = 0; i < all->count; i++) {
        struct lki_seat *seat = &all->seats[i];

        lk_reply_free(seat->reply);
        free(seat->request);
        seat->reply = NULL;
        seat->request = NULL;
        seat->why = (struct lk_error){0};
        seat->sent_at = 0;
        seat->round_trip_ns = -1;
        seat->phase = LKI_SEAT_IDLE;
        if (all->ask && !all->ask(all->arg, i, &seat->request)) {
            seat->why.code = LK_CANCELLED;
        } else {
            is_over |= lki_seat_begin(all, i) == LKI_ASK_IS_OVER;
        }
    }
    return is_over;
}

/* More answers than that will not come, however many are missing. */
static size_t count_asked(const struct lki_ask_all *all)
{
    size_t asked = 0;

    for (size_t i = 0; i < all->count; i++)
        asked += all->seats[i].phase == LKI_SEAT_ASKED;
    return asked;
}

/*
 * Whom to wait for. While so many answers are missing that some of the others must come too, the first
 * of those asked need not wake us: they are looked at when one of the others does. On two processors
 * that saved a third of the switches between us and the servers.
 */
static nfds_t choose(const struct lki_ask_all *all, struct pollfd *fds, int *in_out_wait_ms)
{
    size_t missing = all->missing ? all->missing(all->arg) : 1;
    size_t asked = count_asked(all);
    nfds_t count = 0;

    if (missing > asked) missing = asked;

    for (size_t i = 0; i < all->count; i++) {
        const struct lki_seat *seat = &all->seats[i];
        bool may_wait = seat->phase == LKI_SEAT_ASKED && missing > 1;

        fds[i] = (struct pollfd){.fd = -1, .events = seat->events};
        if (seat->phase == LKI_SEAT_IDLE) continue;
        count++;
        if (seat->phase == LKI_SEAT_WAITING) {
            if (*in_out_wait_ms > WAITING_MS) *in_out_wait_ms = WAITING_MS;
        } else if (may_wait) {
            missing--;
        } else {
            fds[i].fd = lki_redis_fd(seat->redis);
        }
    }
    return count;
}

/* Wait once, and move those that are ready. False: it is over, or nobody is left to hear. */
static bool poll_once(struct lki_ask_all *all)
{
    struct pollfd fds[LKI_SEATS_MAX];
    bool is_over = false;
    int left_ms = lki_clock_left_ms(all->deadline);
    int wait_ms = left_ms;

    if (choose(all, fds, &wait_ms) == 0) return false;
    int ready = poll(fds, all->count, wait_ms);
    if (ready < 0 && errno == EINTR) return true;
    for (size_t i = 0; i < all->count; i++) {
        bool was_left_out = fds[i].fd < 0 && all->seats[i].phase != LKI_SEAT_IDLE;

        if (was_left_out || fds[i].revents != 0)
            is_over |= lki_seat_move(all, i) == LKI_ASK_IS_OVER;
    }
    return !is_over && left_ms > 0;
}

void lki_ask_all(struct lki_ask_all *all)
{
    bool goes_on = !begin_all(all);

    while (goes_on)
        goes_on = poll_once(all);
    for (size_t i = 0; i < all->count; i++) {
        struct lki_seat *seat = &all->seats[i];

        if (seat->phase == LKI_SEAT_IDLE || seat->why.code != LK_OK) continue;
        (void)lki_error_fill(&seat->why,
                             seat->phase == LKI_SEAT_ASKED ? LK_UNKNOWN : LK_UNREACHABLE, ETIMEDOUT,
                             __func__, "%s: no answer so far", seat->client->url.seeds[0].label);
    }
}
