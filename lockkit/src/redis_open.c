/*
 * How a connection is opened: a host's name gets its address (lookup.h), the socket connects, we log in; each
 * step without waiting. One thread at a time per connection.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <hiredis/hiredis.h>

#include "clock.h"
#include "error.h"
#include "lookup.h"
#include "redis_inside.h"

/* From now on a recv() without MSG_DONTWAIT waits for LKI_SLICE_MS. */
static bool block_in_slices(int fd)
{
    struct timeval slice = {.tv_usec = (suseconds_t)LKI_SLICE_MS * 1000};
    int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof slice) == 0;
}

/* Connected, so far without a word. */
static lk_status finish_connect(struct lki_redis *redis, struct lk_error *err)
{
    int reason = 0;
    socklen_t len = sizeof reason;

    if (getsockopt(redis->context->fd, SOL_SOCKET, SO_ERROR, &reason, &len) == 0 && reason == 0) {
        return block_in_slices(redis->context->fd) ? LK_OK
                                                   : lki_redis_broken(redis, LK_UNREACHABLE, err);
    }
    errno = reason;
    return lki_redis_broken(redis, LK_UNREACHABLE, err);
}

/* Few bytes, and the first ones: the socket has room for them. */
static lk_status send_login(struct lki_redis *redis, const struct lki_endpoint *endpoint,
                            struct lk_error *err)
{
    char db[16];
    struct lk_bytes auth[3] = {LK_BYTES("AUTH")};
    struct lk_bytes choose[2] = {LK_BYTES("SELECT")};
    struct lk_command commands[2];
    unsigned count = 0;

    if (endpoint->password) {
        size_t words = 1;

        if (endpoint->user) auth[words++] = lk_bytes_of(endpoint->user);
        auth[words++] = lk_bytes_of(endpoint->password);
        commands[count].args = auth;
        commands[count++].count = words;
    }
    if (endpoint->db > 0) {
        (void)snprintf(db, sizeof db, "%d", endpoint->db);
        choose[1] = lk_bytes_of(db);
        commands[count].args = choose;
        commands[count++].count = 2;
    }
    redis->logins_left = count;
    if (count == 0) return LK_OK;
    return lki_redis_send(redis, commands, count, lki_clock_now(), err);
}

/* BUSY while answers are missing. */
static lk_status read_login(struct lki_redis *redis, struct lk_error *err)
{
    lk_status status = LK_OK;

    while (status == LK_OK && redis->logins_left > 0) {
        lk_reply *reply = NULL;

        status = lki_redis_receive(redis, &reply, err);
        if (status != LK_OK) return status;
        if (!reply) return LK_BUSY;
        redis->logins_left--;
        if (lk_reply_type_of(reply) == LK_REPLY_ERROR) {
            status = LKI_FAIL(err, LK_SERVER, "%s: %.*s", redis->label,
                              lki_redis_telling_len(reply), lk_reply_bytes(reply).data);
        }
        lk_reply_free(reply);
    }
    return status;
}

/* context: taken; NULL: out of memory. */
static lk_status attach(struct lki_redis *redis, redisContext *context, struct lk_error *err)
{
    redis->context = context;
    if (!context) return LKI_FAIL(err, LK_NO_MEMORY, "%s", redis->label);
    if (context->err) return LKI_FAIL(err, LK_UNREACHABLE, "%s: %s", redis->label, context->errstr);
    (void)fcntl(context->fd, F_SETFD, FD_CLOEXEC); /* not for a program we start */
    return LK_OK;
}

struct lki_redis *lki_redis_begin(const struct lki_endpoint *endpoint, struct lk_error *err)
{
    struct lki_redis *redis = calloc(1, sizeof *redis);
    lk_status status = LK_OK;

    if (redis) redis->chunk = malloc(LKI_READ_CHUNK);
    if (!redis || !redis->chunk) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "%s", endpoint->label);
        lki_redis_close(redis);
        return NULL;
    }
    (void)snprintf(redis->label, sizeof redis->label, "%s", endpoint->label);
    if (endpoint->path) {
        status = attach(redis, redisConnectUnixNonBlock(endpoint->path), err);
    } else if (lki_lookup_is_needed(endpoint->host)) {
        redis->lookup = lki_lookup_begin(endpoint->host, err);
        if (!redis->lookup) status = LK_UNREACHABLE;
    } else {
        status = attach(redis, redisConnectNonBlock(endpoint->host, endpoint->port), err);
    }
    if (status == LK_OK) return redis;
    lki_redis_close(redis);
    return NULL;
}

/* BUSY until the name has an address. */
static lk_status end_lookup(struct lki_redis *redis, const struct lki_endpoint *endpoint,
                            struct lk_error *err)
{
    char address[LKI_ADDRESS_SIZE];
    lk_status status = lki_lookup_end(redis->lookup, address, err);

    if (status == LK_BUSY) return status;
    lki_lookup_free(redis->lookup);
    redis->lookup = NULL;
    if (status == LK_OK) return attach(redis, redisConnectNonBlock(address, endpoint->port), err);
    return status;
}

lk_status lki_redis_go_on(struct lki_redis *redis, const struct lki_endpoint *endpoint,
                          short *out_events, struct lk_error *err)
{
    lk_status status = LK_OK;

    *out_events = POLLIN;
    if (redis->lookup) status = end_lookup(redis, endpoint, err);
    if (status != LK_OK) return status;
    if (!redis->is_connected) {
        *out_events = POLLOUT;
        if (!lki_redis_wait(redis->context->fd, POLLOUT, 0)) {
            return errno == ETIMEDOUT ? LK_BUSY : lki_redis_broken(redis, LK_UNREACHABLE, err);
        }
        status = finish_connect(redis, err);
        if (status == LK_OK) status = send_login(redis, endpoint, err);
        redis->is_connected = status == LK_OK;
    }
    *out_events = POLLIN;
    if (status == LK_OK) status = read_login(redis, err);
    if (status != LK_UNKNOWN) return status;
    if (err) err->code = LK_UNREACHABLE; /* nothing was asked yet, so that is the whole truth */
    return LK_UNREACHABLE;
}

struct lki_redis *lki_redis_open(const struct lki_endpoint *endpoint, int64_t deadline,
                                 struct lk_error *err)
{
    struct lki_redis *redis = lki_redis_begin(endpoint, err);
    short events = POLLOUT;
    lk_status status = redis ? LK_BUSY : LK_UNREACHABLE;

    while (status == LK_BUSY) {
        status = lki_redis_wait(lki_redis_fd(redis), events, deadline)
                     ? lki_redis_go_on(redis, endpoint, &events, err)
                     : lki_redis_broken(redis, LK_UNREACHABLE, err);
    }
    if (status == LK_OK) return redis;
    lki_redis_close(redis);
    return NULL;
}
