/*
 * See link.h. Each link has its own pauses and pings, so a server that is dead or silent
 * delays nobody but those who wait for it. What is not answered yet is bounded, so that what is sent
 * fits into a socket's buffers whether the server reads or not.
 */
#include "link.h"

#include <poll.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"

enum {
    PING_MS = 5000, /* a silent connection is asked whether it lives */
    SEND_MS = 50,   /* a server that takes nothing, its buffers full, stops the others so long */
};

struct lki_link *lki_link_new(const struct lk_client_options *options, struct lki_node *node,
                              bool is_sharded)
{
    struct lki_link *link = calloc(1, sizeof *link);

    if (!link) {
        lki_node_unref(node);
        return NULL;
    }
    link->node = node;
    link->options = options;
    link->is_sharded = is_sharded;
    link->idle_since = lki_clock_now();
    return link;
}

void lki_link_free(struct lki_link *link)
{
    if (!link) return;
    lki_redis_close(link->redis);
    lki_node_unref(link->node);
    free(link);
}

/* ---- asking -------------------------------------------------------------------------------------- */

size_t lki_link_room(const struct lki_link *link)
{
    size_t used = link->unanswered > link->asks.count ? link->unanswered : link->asks.count;

    return link->is_open && used < LKI_ASKS_MAX ? LKI_ASKS_MAX - used : 0;
}

static void ask(struct lki_link *link, struct lk_bytes verb, const struct lki_channel *channel)
{
    struct lki_asks *asks = &link->asks;

    asks->words[asks->count][0] = verb;
    asks->words[asks->count][1] = lk_bytes_of(channel->name);
    asks->commands[asks->count] = (struct lk_command){asks->words[asks->count], 2};
    asks->count++;
    link->unanswered++;
}

void lki_link_subscribe(struct lki_link *link, const struct lki_channel *channel)
{
    ask(link, link->is_sharded ? LK_BYTES("SSUBSCRIBE") : LK_BYTES("SUBSCRIBE"), channel);
}

void lki_link_unsubscribe(struct lki_link *link, const struct lki_channel *channel)
{
    ask(link, link->is_sharded ? LK_BYTES("SUNSUBSCRIBE") : LK_BYTES("UNSUBSCRIBE"), channel);
}

void lki_link_answered(struct lki_link *link)
{
    if (link->unanswered > 0) link->unanswered--; /* a cluster's server ends some by itself */
    link->backoff = (struct lki_backoff){0};
    link->connect_at = 0;
}

static bool send_now(struct lki_link *link, const struct lk_command *commands, size_t count)
{
    int64_t limit_ms = link->options->command_ms < SEND_MS ? link->options->command_ms : SEND_MS;

    return lki_redis_send(link->redis, commands, count, lki_clock_after_ms(limit_ms), NULL) ==
           LK_OK;
}

/* A silent connection is asked; one that does not answer in time is given up. */
static bool check_alive(struct lki_link *link)
{
    struct lk_bytes ping = LK_BYTES("PING");

    if (lki_clock_left_ms(link->ping_at) > 0) return true;
    if (link->is_pinged) return false;
    link->is_pinged = true;
    link->ping_at = lki_clock_after_ms(PING_MS);
    return send_now(link, &(struct lk_command){&ping, 1}, 1);
}

static bool send_asks(struct lki_link *link)
{
    size_t count = link->asks.count;

    link->asks.count = 0;
    return count == 0 || send_now(link, link->asks.commands, count);
}

/* ---- coming and going ------------------------------------------------------------------------------ */

static enum lki_link_news lose(struct lki_link *link)
{
    lki_redis_close(link->redis);
    link->redis = NULL;
    link->is_open = link->has_told = false;
    link->unanswered = link->asks.count = 0;
    return LINK_LOST;
}

/*
 * An attempt to connect has ended. A server that lets us in and throws us out (too many clients) is
 * paused for as well: only its first answer ends the pauses.
 */
static enum lki_link_news end_attempt(struct lki_link *link, lk_status status)
{
    const struct lk_client_options *options = link->options;
    int64_t now = lki_clock_now();

    options->on_event(&(struct lk_event){.type = LK_EVENT_CONNECT,
                                         .status = status,
                                         .at_ns = now,
                                         .duration_ns = now - link->began_at,
                                         .attempts = 1},
                      options->on_event_arg);
    link->connect_at = lki_clock_after_ms(lki_backoff_next(&link->backoff, options->backoff_ms));
    if (status != LK_OK) return lose(link);
    link->is_open = true;
    link->is_pinged = false;
    link->ping_at = lki_clock_after_ms(PING_MS);
    link->events = POLLIN;
    return LINK_OPENED;
}

static enum lki_link_news go_on(struct lki_link *link)
{
    lk_status status =
        lki_redis_open_go_on(link->redis, &link->node->endpoint, &link->events, NULL);

    return status == LK_BUSY ? LINK_SAME : end_attempt(link, status);
}

static enum lki_link_news begin_attempt(struct lki_link *link)
{
    struct lk_error why = {0};

    link->began_at = lki_clock_now();
    link->connect_by = lki_clock_after_ms(link->options->connect_ms);
    link->redis = lki_redis_open_begin(&link->node->endpoint, link->connect_by, &why);
    return link->redis ? go_on(link) : end_attempt(link, why.code);
}

int64_t lki_link_due(const struct lki_link *link)
{
    if (link->is_open) return link->ping_at;
    if (link->redis) return link->connect_by;
    return link->channel_count > 0 ? link->connect_at : INT64_MAX;
}

enum lki_link_news lki_link_tend(struct lki_link *link)
{
    if (link->is_open) {
        bool is_outdated = lki_pool_is_outdated(link->node->pool, link->began_at);

        return !is_outdated && send_asks(link) && check_alive(link) ? LINK_SAME : lose(link);
    }
    if (lki_clock_left_ms(lki_link_due(link)) > 0) return LINK_SAME;
    return link->redis ? end_attempt(link, LK_UNREACHABLE) : begin_attempt(link);
}

enum lki_link_news lki_link_receive(struct lki_link *link, lk_reply **out)
{
    *out = NULL;
    if (!link->is_open) return link->redis ? go_on(link) : LINK_SAME;
    if (lki_redis_receive(link->redis, out, NULL) != LK_OK) return lose(link);
    if (*out) link->is_pinged = false; /* whatever it says, it lives */
    return LINK_SAME;
}
