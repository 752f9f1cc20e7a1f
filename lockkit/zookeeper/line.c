/*
 * The watchdog's line to ZooKeeper asks nobody: the keeper has the session proven, a holder's watch hears of the end of his
 * node. So a round is answered from what is known, and whatever changes that is an alarm: then every hold is looked at.
 * Renewal and check are the same; the session renews. The watchdog's thread only, but for alarms.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "zookeeper.h"

void zookeeper_line_alarm(lk_client *client)
{
    uint64_t one = 1;
    ssize_t done = write(zookeeper_of(client)->line_fd, &one, sizeof one);

    (void)done; /* a full counter is readable too */
}

static void line_start(struct lki_line *line)
{
    for (size_t i = 0; i < line->round.count; i++) {
        struct lki_query *query = &line->round.queries[i];

        query->verdict = lk_held(query->lock) ? LKI_OURS : LKI_GONE;
    }
    line->round.sent_at = lki_clock_now();
}

/* A round is never under way. */
static void line_go_on(struct lki_line *line)
{
    line->events = 0;
}

static void line_look(struct lki_line *line)
{
    uint64_t alarms = 0;

    line->has_ended |= read(zookeeper_of(line->client)->line_fd, &alarms, sizeof alarms) > 0;
}

static bool line_stands_since(struct lki_line *line, int64_t moment)
{
    (void)line;
    (void)moment;
    return true; /* or there is an alarm */
}

static int line_fd(const struct lki_line *line)
{
    return zookeeper_of(line->client)->line_fd;
}

static enum lki_verdict line_verdict(const struct lki_query *query)
{
    return query->verdict;
}

static void line_clear(struct lki_line *line)
{
    line->round.count = 0;
}

static void line_free(struct lki_line *line)
{
    free(line);
}

static const struct lki_line_ops ops = {.start = line_start,
                                        .go_on = line_go_on,
                                        .give_up = line_go_on,
                                        .look = line_look,
                                        .stands_since = line_stands_since,
                                        .fd = line_fd,
                                        .verdict = line_verdict,
                                        .clear = line_clear,
                                        .free = line_free};

struct lki_line *zookeeper_line_new(lk_client *client)
{
    struct lki_line *line = calloc(1, sizeof *line);

    if (line) *line = (struct lki_line){.ops = &ops, .client = client};
    return line;
}
