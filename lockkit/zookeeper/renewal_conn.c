/*
 * The watchdog's connection for ZooKeeper, which sends nothing: the keeper has the session proven, and a watch reports the
 * end of a holder's node. So a round is answered from local state; a change of that is an alarm, after which all holds are
 * checked. Renewal and check are the same, as the session is renewed. The watchdog's thread only, except for alarms.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "zookeeper.h"

void zookeeper_renewal_conn_alarm(lk_client *client)
{
    uint64_t one = 1;
    ssize_t done = write(zookeeper_of(client)->conn_fd, &one, sizeof one);

    (void)done; /* a full counter is readable, too */
}

static void conn_start(struct lki_renewal_conn *conn)
{
    for (size_t i = 0; i < conn->round.count; i++) {
        struct lki_query *query = &conn->round.queries[i];

        query->verdict = lk_held(query->lock) ? LKI_OURS : LKI_GONE;
    }
    conn->round.sent_at = lki_clock_now();
}

/* A round is done at once. */
static void conn_go_on(struct lki_renewal_conn *conn)
{
    conn->events = 0;
}

static void conn_check_idle(struct lki_renewal_conn *conn)
{
    uint64_t alarms = 0;

    conn->has_ended |= read(zookeeper_of(conn->client)->conn_fd, &alarms, sizeof alarms) > 0;
}

static bool conn_is_open_since(struct lki_renewal_conn *conn, int64_t moment)
{
    (void)conn;
    (void)moment;
    return true; /* else there is an alarm */
}

static int conn_fd(const struct lki_renewal_conn *conn)
{
    return zookeeper_of(conn->client)->conn_fd;
}

static enum lki_verdict conn_verdict(const struct lki_query *query)
{
    return query->verdict;
}

static void conn_clear(struct lki_renewal_conn *conn)
{
    conn->round.count = 0;
}

static void conn_free(struct lki_renewal_conn *conn)
{
    free(conn);
}

static const struct lki_renewal_conn_ops ops = {.start = conn_start,
                                                .go_on = conn_go_on,
                                                .give_up = conn_go_on,
                                                .check_idle = conn_check_idle,
                                                .is_open_since = conn_is_open_since,
                                                .fd = conn_fd,
                                                .verdict = conn_verdict,
                                                .clear = conn_clear,
                                                .free = conn_free};

struct lki_renewal_conn *zookeeper_renewal_conn_new(lk_client *client)
{
    struct lki_renewal_conn *conn = calloc(1, sizeof *conn);

    if (conn) *conn = (struct lki_renewal_conn){.ops = &ops, .client = client};
    return conn;
}
