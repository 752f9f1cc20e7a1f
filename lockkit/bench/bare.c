/*
 * See bare.h. One thread.
 */
#include "bare.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/error.h"
#include "call/context.h"
#include "wire/endpoint.h"
#include "wire/redis.h"

enum { ASK_MS = 5000 };

lk_status bare_open(struct bare *bare, const char *url, struct lk_error *err)
{
    struct lki_endpoint endpoint;

    *bare = (struct bare){.fd = -1};
    if (lki_endpoint_parse(url, NULL, &endpoint, err) == LK_OK) {
        bare->redis = lki_redis_open(&endpoint, lki_clock_after_ms(ASK_MS), err);
    }
    lki_endpoint_done(&endpoint);
    if (!bare->redis) return LK_UNREACHABLE;
    bare->fd = lki_redis_fd(bare->redis);
    return LK_OK;
}

void bare_close(struct bare *bare)
{
    lki_redis_close(bare->redis);
    *bare = (struct bare){.fd = -1};
}

void bare_write(struct wire *out, const char *const *words)
{
    size_t count = 0;

    while (words[count])
        count++;
    out->len = (size_t)snprintf(out->bytes, sizeof out->bytes, "*%zu\r\n", count);
    for (size_t i = 0; i < count && out->len < sizeof out->bytes; i++)
        out->len += (size_t)snprintf(out->bytes + out->len, sizeof out->bytes - out->len,
                                     "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
    assert(out->len < sizeof out->bytes); /* the words are ours */
}

bool bare_trip(const struct bare *bare, const struct wire *request, const char *answer)
{
    char bytes[64];
    size_t len = strlen(answer);
    size_t got = 0;

    if (send(bare->fd, request->bytes, request->len, MSG_NOSIGNAL) != (ssize_t)request->len)
        return false;
    while (got < len) {
        ssize_t more = recv(bare->fd, bytes + got, sizeof bytes - got, 0);
        if (more == 0 || (more < 0 && errno != EAGAIN)) return false; /* lockkit's have a timeout */
        if (more > 0) got += (size_t)more;
    }
    return got == len && memcmp(bytes, answer, len) == 0;
}

static lk_reply *ask(const struct bare *bare, const char *const *words)
{
    struct lk_bytes args[16];
    struct lk_command command = {.args = args};
    lk_reply *reply = NULL;

    while (words[command.count]) {
        assert(command.count < sizeof args / sizeof args[0]);
        args[command.count] = lk_bytes_of(words[command.count]);
        command.count++;
    }
    if (lki_redis_exchange(bare->redis, &command, 1, lki_clock_after_ms(ASK_MS), &reply, NULL) !=
        LK_OK)
        return NULL;
    return reply;
}

long long bare_integer(const struct bare *bare, const char *const *words)
{
    lk_reply *reply = ask(bare, words);
    long long number = lk_reply_integer(reply, -1);

    lk_reply_free(reply);
    return number;
}

void bare_remove(const struct bare *bare, const char *text)
{
    char pattern[64], cursor[32] = "0";

    (void)snprintf(pattern, sizeof pattern, "*%s:*", text);
    do {
        lk_reply *reply = ask(
            bare, (const char *const[]){"SCAN", cursor, "MATCH", pattern, "COUNT", "1000", NULL});
        const lk_reply *keys = lk_reply_at(reply, 1);
        const char *next = lk_reply_bytes(lk_reply_at(reply, 0)).data;

        (void)snprintf(cursor, sizeof cursor, "%s", next ? next : "0");
        for (size_t i = 0; i < lk_reply_count(keys); i++)
            (void)bare_integer(
                bare,
                (const char *const[]){"UNLINK", lk_reply_bytes(lk_reply_at(keys, i)).data, NULL});
        lk_reply_free(reply);
    } while (strcmp(cursor, "0") != 0);
}

void bare_info(const struct bare *bare, const char *name, char *out, size_t size)
{
    lk_reply *reply = ask(bare, (const char *const[]){"INFO", "server", NULL});
    const char *text = lk_reply_bytes(reply).data;
    const char *found = text ? strstr(text, name) : NULL;

    (void)snprintf(out, size, "?");
    if (found) {
        found += strlen(name) + 1; /* the colon */
        (void)snprintf(out, size, "%.*s", (int)strcspn(found, "\r\n"), found);
    }
    lk_reply_free(reply);
}
