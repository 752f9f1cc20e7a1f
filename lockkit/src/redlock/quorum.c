/*
 * One poll() loop drives the connections to all servers, so a slow server does not delay the others.
 *
 * Threads: the caller's. Locks: none of its own.
 */
#include "quorum.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "wire/endpoint.h"

enum { WAITING_MS = 1 };

static bool begin_all(struct lki_quorum *quorum)
{
    bool is_over = false;

    for (size_t i = 0; i < quorum->count; i++) {
        struct lki_quorum_server *server = &quorum->servers[i];

        lk_reply_free(server->reply);
        free(server->request);
        server->reply = NULL;
        server->request = NULL;
        server->why = (struct lk_error){0};
        server->sent_at = 0;
        server->round_trip_ns = -1;
        server->phase = LKI_QUORUM_IDLE;
        if (quorum->ask && !quorum->ask(quorum->arg, i, &server->request)) {
            server->why.code = LK_CANCELLED;
        } else {
            is_over |= lki_quorum_server_begin(quorum, i) == LKI_QUORUM_DECIDED;
        }
    }
    return is_over;
}

static size_t count_asked(const struct lki_quorum *quorum)
{
    size_t asked = 0;

    for (size_t i = 0; i < quorum->count; i++)
        asked += quorum->servers[i].phase == LKI_QUORUM_ASKED;
    return asked;
}

/*
 * Choose the sockets to poll. While n answers are missing, the first n - 1 servers are left out of
 * poll(): one of the others has to answer in any case, and then all are read. On two processors this
 * saved a third of the context switches.
 */
static nfds_t choose(const struct lki_quorum *quorum, struct pollfd *fds, int *in_out_wait_ms)
{
    size_t missing = quorum->missing ? quorum->missing(quorum->arg) : 1;
    size_t asked = count_asked(quorum);
    nfds_t count = 0;

    if (missing > asked) missing = asked;

    for (size_t i = 0; i < quorum->count; i++) {
        const struct lki_quorum_server *server = &quorum->servers[i];
        bool may_wait = server->phase == LKI_QUORUM_ASKED && missing > 1;

        fds[i] = (struct pollfd){.fd = -1, .events = server->events};
        if (server->phase == LKI_QUORUM_IDLE) continue;
        count++;
        if (server->phase == LKI_QUORUM_WAITING) {
            if (*in_out_wait_ms > WAITING_MS) *in_out_wait_ms = WAITING_MS;
        } else if (may_wait) {
            missing--;
        } else {
            fds[i].fd = lki_redis_fd(server->redis);
        }
    }
    return count;
}

/* Poll once, and serve the sockets that are ready. False: the call has ended. */
static bool poll_once(struct lki_quorum *quorum)
{
    struct pollfd fds[LKI_QUORUM_SERVERS_MAX];
    bool is_over = false;
    int left_ms = lki_clock_left_ms(quorum->deadline);
    int wait_ms = left_ms;

    if (choose(quorum, fds, &wait_ms) == 0) return false;
    int ready = poll(fds, quorum->count, wait_ms);
    if (ready < 0 && errno == EINTR) return true;
    for (size_t i = 0; i < quorum->count; i++) {
        bool was_left_out = fds[i].fd < 0 && quorum->servers[i].phase != LKI_QUORUM_IDLE;

        if (was_left_out || fds[i].revents != 0)
            is_over |= lki_quorum_server_go_on(quorum, i) == LKI_QUORUM_DECIDED;
    }
    return !is_over && left_ms > 0;
}

void lki_quorum_ask(struct lki_quorum *quorum)
{
    bool goes_on = !begin_all(quorum);

    while (goes_on)
        goes_on = poll_once(quorum);
    for (size_t i = 0; i < quorum->count; i++) {
        struct lki_quorum_server *server = &quorum->servers[i];

        if (server->phase == LKI_QUORUM_IDLE || server->why.code != LK_OK) continue;
        (void)lki_error_fill(
            &server->why, server->phase == LKI_QUORUM_ASKED ? LK_UNKNOWN : LK_UNREACHABLE,
            ETIMEDOUT, __func__, "%s: no answer so far", server->client->url.seeds[0].label);
    }
}
