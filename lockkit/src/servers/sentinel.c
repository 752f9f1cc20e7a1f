/*
 * Ask one Sentinel for the primary's address and the version of its configuration. A Sentinel that missed a
 * failover has an older version. Threads: any.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "view.h"
#include "wire/redis.h"
#include "wire/reply.h"

enum { ASK_ADDRESS, ASK_MASTER, ASKS };

/* The value behind a name in { name, value, name, value... }. */
static long long number_of(const lk_reply *pairs, const char *name)
{
    for (size_t i = 0; i + 1 < lk_reply_count(pairs); i += 2) {
        struct lk_bytes key = lk_reply_bytes(lk_reply_at(pairs, i));
        struct lk_bytes value = lk_reply_bytes(lk_reply_at(pairs, i + 1));

        if (key.data && value.data && strcmp(key.data, name) == 0)
            return strtoll(value.data, NULL, 10);
    }
    return -1;
}

/* { host, port } -> the only server of the view. */
static lk_status take_address(const lk_reply *answer, const struct lki_endpoint *sentinel,
                              const struct lki_url *url, struct lki_view *out, struct lk_error *err)
{
    struct lk_bytes host = lk_reply_bytes(lk_reply_at(answer, 0));
    struct lk_bytes port = lk_reply_bytes(lk_reply_at(answer, 1));
    char address[300];

    if (lk_reply_type_of(answer) == LK_REPLY_ERROR)
        return LKI_FAIL(err, LK_SERVER, "Sentinel %s: %s", sentinel->label,
                        lk_reply_bytes(answer).data);
    if (!host.data || !port.data || host.len + port.len + 2 > sizeof address)
        return LKI_FAIL(err, LK_SERVER, "Sentinel %s knows no primary called \"%s\"",
                        sentinel->label, url->name);
    (void)stpcpy(stpcpy(stpcpy(address, host.data), ":"), port.data);
    out->servers = calloc(1, sizeof *out->servers);
    if (!out->servers) return LKI_FAIL(err, LK_NO_MEMORY, "a server");
    out->count = 1;
    return lki_endpoint_at(lk_bytes_of(address), &url->like, sentinel, &out->servers[0], err);
}

lk_status lki_sentinel_ask(const struct lki_endpoint *sentinel, const struct lki_url *url,
                           int64_t deadline, struct lki_view *out, struct lk_error *err)
{
    const struct lk_bytes address[] = {LK_BYTES("SENTINEL"), LK_BYTES("GET-MASTER-ADDR-BY-NAME"),
                                       lk_bytes_of(url->name)};
    const struct lk_bytes master[] = {LK_BYTES("SENTINEL"), LK_BYTES("MASTER"),
                                      lk_bytes_of(url->name)};
    const struct lk_command asks[ASKS] = {[ASK_ADDRESS] = {address, 3}, [ASK_MASTER] = {master, 3}};
    lk_reply *answers[ASKS] = {0};
    struct lki_redis *redis = lki_redis_open(sentinel, deadline, err);

    *out = (struct lki_view){0};
    if (!redis) return err ? err->code : LK_UNREACHABLE;
    lk_status status = lki_redis_exchange(redis, asks, ASKS, deadline, answers, err);
    if (status == LK_OK) {
        out->version = number_of(answers[ASK_MASTER], "config-epoch");
        status = take_address(answers[ASK_ADDRESS], sentinel, url, out, err);
    } else if (status == LK_UNKNOWN) { /* a question: nothing has happened */
        status = LK_UNREACHABLE;
        if (err) err->code = status;
    }
    for (size_t i = 0; i < ASKS; i++)
        lk_reply_free(answers[i]);
    lki_redis_close(redis);
    return status;
}
