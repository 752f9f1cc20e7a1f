/*
 * Ask one server of a cluster for the masters and their slots. Threads: any.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "view.h"
#include "wire/redis.h"
#include "wire/reply.h"

enum { ASK_SLOTS, ASK_SHARDS, ASKS };

/* The index of a server in the view, to which it is added if need be; takes it. LKI_NO_SERVER: there are too many. */
static uint16_t place_of(struct lki_view *view, struct lki_endpoint server)
{
    uint16_t place = 0;

    while (place < view->count && strcmp(view->servers[place].label, server.label) != 0)
        place++;
    if (place == view->count && place < LKI_SERVERS_MAX) {
        view->servers[view->count++] = server;
        return place;
    }
    lki_endpoint_done(&server);
    return place < LKI_SERVERS_MAX ? place : LKI_NO_SERVER;
}

/* Of { host, port, id, { "ip", ip... } }. Empty, or "?" without an IP: the host that was asked. */
static struct lk_bytes host_of(const lk_reply *server)
{
    const lk_reply *more = lk_reply_at(server, 3);
    struct lk_bytes host = lk_reply_bytes(lk_reply_at(server, 0));
    bool is_nameless = host.len == 1 && *host.data == '?';

    for (size_t i = 0; is_nameless && i + 1 < lk_reply_count(more); i += 2) {
        struct lk_bytes key = lk_reply_bytes(lk_reply_at(more, i));

        if (key.len == 2 && memcmp(key.data, "ip", 2) == 0)
            return lk_reply_bytes(lk_reply_at(more, i + 1));
    }
    return host;
}

/* { first, last, { host, port, id... }, replicas... } */
static lk_status take_range(const lk_reply *range, const struct lki_endpoint *asked,
                            const struct lki_url *url, struct lki_view *out, struct lk_error *err)
{
    long long first = lk_reply_integer(lk_reply_at(range, 0), -1);
    long long last = lk_reply_integer(lk_reply_at(range, 1), -1);
    const lk_reply *master = lk_reply_at(range, 2);
    struct lk_bytes host = host_of(master);
    long long port = lk_reply_integer(lk_reply_at(master, 1), 0);
    struct lki_endpoint server;
    char address[300];

    if (first < 0 || last < first || last >= LKI_SLOTS || host.len > sizeof address - 30)
        return LKI_FAIL(err, LK_SERVER, "%s: CLUSTER SLOTS of unexpected shape", asked->label);
    (void)snprintf(address, sizeof address, "%s:%lld", host.data ? host.data : "", port);
    lk_status status = lki_endpoint_at(lk_bytes_of(address), &url->like, asked, &server, err);
    if (status != LK_OK) {
        lki_endpoint_done(&server);
        return status;
    }
    uint16_t place = place_of(out, server);
    if (place == LKI_NO_SERVER)
        return LKI_FAIL(err, LK_SERVER, "a cluster of more than %d masters", LKI_SERVERS_MAX);
    for (long long slot = first; slot <= last; slot++)
        out->owners[slot] = place;
    return LK_OK;
}

static lk_status take_slots(const lk_reply *ranges, const struct lki_endpoint *asked,
                            const struct lki_url *url, struct lki_view *out, struct lk_error *err)
{
    size_t count = lk_reply_count(ranges);
    lk_status status = LK_OK;

    if (lk_reply_type_of(ranges) == LK_REPLY_ERROR) {
        return LKI_FAIL(err, LK_SERVER, "%s: %s", asked->label, lk_reply_bytes(ranges).data);
    }
    if (count == 0) return LKI_FAIL(err, LK_SERVER, "%s: a cluster without slots", asked->label);
    out->servers = calloc(LKI_SERVERS_MAX, sizeof *out->servers);
    out->owners = malloc(LKI_SLOTS * sizeof *out->owners);
    if (!out->servers || !out->owners) return LKI_FAIL(err, LK_NO_MEMORY, "a cluster's slots");
    memset(out->owners, 0xff, LKI_SLOTS * sizeof *out->owners); /* LKI_NO_SERVER */
    for (size_t i = 0; i < count && status == LK_OK; i++)
        status = take_range(lk_reply_at(ranges, i), asked, url, out, err);
    return status;
}

/* A NOPERM answer will do, too: only a server that knows the subcommand forbids it by this name. */
static bool knows_shards(const lk_reply *answer)
{
    bool is_forbidden = lki_reply_is_error(answer, "NOPERM");

    return lk_reply_type_of(answer) == LK_REPLY_ARRAY ||
           (is_forbidden && strstr(lk_reply_bytes(answer).data, "pubsub|shardnumsub"));
}

lk_status lki_cluster_ask(const struct lki_endpoint *server, const struct lki_url *url,
                          int64_t deadline, struct lki_view *out, struct lk_error *err)
{
    const struct lk_bytes slots[] = {LK_BYTES("CLUSTER"), LK_BYTES("SLOTS")};
    const struct lk_bytes shards[] = {LK_BYTES("PUBSUB"), LK_BYTES("SHARDNUMSUB")};
    const struct lk_command asks[ASKS] = {[ASK_SLOTS] = {slots, 2}, [ASK_SHARDS] = {shards, 2}};
    lk_reply *answers[ASKS] = {0};
    struct lki_redis *redis = lki_redis_open(server, deadline, err);

    *out = (struct lki_view){0};
    if (!redis) return err ? err->code : LK_UNREACHABLE;
    lk_status status = lki_redis_exchange(redis, asks, ASKS, deadline, answers, err);
    if (status == LK_OK) {
        out->is_sharded = knows_shards(answers[ASK_SHARDS]);
        status = take_slots(answers[ASK_SLOTS], server, url, out, err);
    } else if (status == LK_UNKNOWN) { /* a question: nothing has happened */
        status = LK_UNREACHABLE;
        if (err) err->code = status;
    }
    for (size_t i = 0; i < ASKS; i++)
        lk_reply_free(answers[i]);
    lki_redis_close(redis);
    return status;
}
