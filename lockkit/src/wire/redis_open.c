/*
 * Opens a connection: look-up of the host name (dns.h), connect, TLS handshake, log-in; no step blocks. One thread
 * at a time per connection.
 *
 * Addresses are tried in turn, each for an equal part of the time that is left. While there are further addresses, the
 * caller polls an epoll of the socket and of a timer, so it need not know of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>

#include <hiredis/hiredis.h>

#include "base/clock.h"
#include "base/error.h"
#include "dns.h"
#include "redis_internal.h"
#include "reply.h"
#include "tls.h"

#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count;
#endif

enum {
    NESTING_MAX = 7, /* depth of arrays, as hiredis 0.14 */
    NS_PER_S = 1000000000,
    PATIENCE_MS = 250 /* an address without an answer for less may only be far away */
};

/*
 * In place of hiredis' function, which from 1.0 on accepts any depth, and frees it recursively; and which takes a push of
 * RESP3 for the answer to the oldest command.
 */
static void *make_array(const redisReadTask *task, element_count count)
{
    const redisReplyObjectFunctions *usual = task->privdata;
    int depth = 1;

    if (task->type != REDIS_REPLY_ARRAY) return NULL;
    for (const redisReadTask *outer = task->parent; outer; outer = outer->parent)
        depth++;
    return depth > NESTING_MAX ? NULL : usual->createArray(task, count);
}

static bool bound_nesting(struct lki_redis *redis, redisReader *reader)
{
    redisReplyObjectFunctions *ours = malloc(sizeof *ours);

    if (!ours) return false;
    *ours = *reader->fn;
    ours->createArray = make_array;
    reader->privdata = reader->fn;
    reader->fn = redis->functions = ours;
    return true;
}

/* From now on a recv() without MSG_DONTWAIT blocks for LKI_SLICE_MS at most. */
static bool block_in_slices(int fd)
{
    struct timeval slice = {.tv_usec = (suseconds_t)LKI_SLICE_MS * 1000};
    int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof slice) == 0;
}

/* The socket is connected. */
static lk_status finish_connect(struct lki_redis *redis, const struct lki_endpoint *endpoint,
                                struct lk_error *err)
{
    int reason = 0;
    socklen_t len = sizeof reason;

    if (getsockopt(redis->context->fd, SOL_SOCKET, SO_ERROR, &reason, &len) != 0 || reason != 0) {
        errno = reason;
        return lki_redis_broken(redis, LK_UNREACHABLE, err);
    }
    if (!block_in_slices(redis->context->fd)) return lki_redis_broken(redis, LK_UNREACHABLE, err);
    if (!endpoint->tls) return LK_OK;
    redis->tls = lki_tls_begin(endpoint, redis->label, redis->context->fd);
    return redis->tls ? LK_OK : LKI_FAIL(err, LK_NO_MEMORY, "%s", redis->label);
}

/*
 * Keepalive: the kernel detects the silent end of an idle connection by probes; unacknowledged data it gives up after
 * TCP_USER_TIMEOUT, long after the caller has. A unix socket has neither.
 */
static void keep_alive(int fd)
{
    enum { IDLE_S = 15, PAUSE_S = 5, PROBES = 3, SILENT_MS = (IDLE_S + PAUSE_S * PROBES) * 1000 };
    static const struct {
        int level, name, value;
    } options[] = {
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, PAUSE_S},
        {IPPROTO_TCP, TCP_KEEPCNT, PROBES},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, SILENT_MS},
    };

    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
}

/* context: taken; NULL: out of memory. */
static lk_status attach(struct lki_redis *redis, redisContext *context, struct lk_error *err)
{
    redis->context = context;
    if (!context || !bound_nesting(redis, context->reader))
        return LKI_FAIL(err, LK_NO_MEMORY, "%s", redis->label);
    if (context->err) return LKI_FAIL(err, LK_UNREACHABLE, "%s: %s", redis->label, context->errstr);
    (void)fcntl(context->fd, F_SETFD, FD_CLOEXEC); /* programs that are started do not inherit it */
    keep_alive(context->fd);
    return LK_OK;
}

/* Begin again, on another socket; BUSY until it is connected. */
static lk_status begin_anew(struct lki_redis *redis, const struct lki_endpoint *endpoint,
                            short *out_events, struct lk_error *err)
{
    const char *address = redis->address[0] ? redis->address : endpoint->host;

    lki_redis_drop_socket(redis);
    *out_events = POLLOUT;
    lk_status status = attach(redis, redisConnectNonBlock(address, endpoint->port), err);
    return status == LK_OK ? LK_BUSY : status;
}

/* ---- addresses in turn --------------------------------------------------------------------------- */

/* Set the timer of an attempt if further addresses are left. Without descriptors for that it has all the time. */
static void begin_turn(struct lki_redis *redis, unsigned left)
{
    struct epoll_event connected = {.events = EPOLLOUT}, over = {.events = EPOLLIN};
    int64_t span = (redis->open_by - lki_clock_now()) / left;
    struct itimerspec turn = {.it_value.tv_nsec = 1};

    redis->is_hasty = span < (int64_t)PATIENCE_MS * NS_PER_MS;
    if (span > 0)
        turn.it_value = (struct timespec){.tv_sec = span / NS_PER_S, .tv_nsec = span % NS_PER_S};
    redis->turn_fd = epoll_create1(EPOLL_CLOEXEC);
    redis->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (redis->turn_fd < 0 || timerfd_settime(redis->timer_fd, 0, &turn, NULL) != 0 ||
        epoll_ctl(redis->turn_fd, EPOLL_CTL_ADD, redis->timer_fd, &over) != 0 ||
        epoll_ctl(redis->turn_fd, EPOLL_CTL_ADD, redis->context->fd, &connected) != 0)
        lki_redis_end_turn(redis);
}

/* Try the next address that does not refuse at once; UNREACHABLE: *err is that of the last one. */
static lk_status begin_next(struct lki_redis *redis, const struct lki_endpoint *endpoint,
                            struct lk_error *err)
{
    lk_status status = LK_UNREACHABLE;
    unsigned left = 0;

    lki_redis_end_turn(redis);
    while (status == LK_UNREACHABLE && (left = lki_dns_next(redis->lookup, endpoint->port,
                                                            &redis->tried, redis->address)) > 0) {
        lki_redis_drop_socket(redis);
        redis->is_broken = false;
        status = attach(redis, redisConnectNonBlock(redis->address, endpoint->port), err);
        if (status == LK_UNREACHABLE)
            lki_dns_note(redis->lookup, endpoint->port, redis->address, true);
    }
    if (status == LK_OK && left > 1) begin_turn(redis, left);
    return status;
}

/* BUSY until it is connected. */
static lk_status end_connect(struct lki_redis *redis, const struct lki_endpoint *endpoint,
                             short *out_events, struct lk_error *err)
{
    bool is_late = redis->timer_fd >= 0 && lki_clock_poll(redis->timer_fd, POLLIN, 0);
    lk_status status = LK_BUSY;

    if (lki_clock_poll(redis->context->fd, POLLOUT, 0)) {
        is_late = false;
        status = finish_connect(redis, endpoint, err);
    } else if (is_late || errno != ETIMEDOUT) {
        status = lki_redis_broken(redis, LK_UNREACHABLE, err);
    }
    if (redis->lookup && status != LK_BUSY && !(is_late && redis->is_hasty))
        lki_dns_note(redis->lookup, endpoint->port, redis->address, status != LK_OK);
    if (redis->lookup && status == LK_UNREACHABLE) {
        status = begin_next(redis, endpoint, err);
        if (status == LK_OK) status = LK_BUSY;
    } else if (status == LK_OK) {
        lki_redis_end_turn(redis);
        lki_dns_free(redis->lookup);
        redis->lookup = NULL;
    }
    *out_events = redis->turn_fd >= 0 ? POLLIN : POLLOUT;
    return status;
}

/* The TLS handshake; BUSY until it has ended. */
static lk_status shake_hands(struct lki_redis *redis, const struct lki_endpoint *endpoint,
                             short *out_events, struct lk_error *err)
{
    if (!redis->tls || lki_tls_shake(redis->tls, out_events)) return LK_OK;
    if (errno == EAGAIN) return LK_BUSY;
    if (lki_tls_is_to_repeat(redis->tls)) return begin_anew(redis, endpoint, out_events, err);
    return lki_redis_broken(redis, LK_UNREACHABLE, err);
}

/* Few bytes, and the first ones: the socket has room for them. */
static lk_status send_login(struct lki_redis *redis, const struct lki_endpoint *endpoint,
                            struct lk_error *err)
{
    char db[16];
    struct lk_bytes auth[3] = {LK_BYTES("AUTH")};
    struct lk_bytes choose[2] = {LK_BYTES("SELECT")};
    const struct lk_bytes ping = LK_BYTES("PING");
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
    /* The server may refuse our certificate after its own part of the handshake: wait for one answer. */
    if (count == 0 && redis->tls) commands[count++] = (struct lk_command){&ping, 1};
    redis->logins_left = count;
    if (count == 0) return LK_OK;
    return lki_redis_send(redis, commands, count, lki_clock_now(), err);
}

/* BUSY while answers are missing. */
static lk_status read_login(struct lki_redis *redis, const struct lki_endpoint *endpoint,
                            struct lk_error *err)
{
    bool is_login = endpoint->password || endpoint->db > 0; /* else any answer is accepted */
    lk_status status = LK_OK;

    while (status == LK_OK && redis->logins_left > 0) {
        lk_reply *reply = NULL;

        status = lki_redis_receive(redis, &reply, err);
        if (status != LK_OK) return status;
        if (!reply) return LK_BUSY;
        redis->logins_left--;
        if (lk_reply_type_of(reply) == LK_REPLY_ERROR && is_login) {
            status =
                LKI_FAIL(err, lki_reply_is_passing(reply) ? LK_UNREACHABLE : LK_SERVER, "%s: %.*s",
                         redis->label, lki_redis_safe_len(reply), lk_reply_bytes(reply).data);
        }
        lk_reply_free(reply);
    }
    return status;
}

struct lki_redis *lki_redis_open_begin(const struct lki_endpoint *endpoint, int64_t deadline,
                                       struct lk_error *err)
{
    struct lki_redis *redis = calloc(1, sizeof *redis);
    lk_status status = LK_OK;

    if (redis) redis->turn_fd = redis->timer_fd = -1;
    if (redis) redis->chunk = malloc(LKI_READ_CHUNK);
    if (!redis || !redis->chunk) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "%s", endpoint->label);
        lki_redis_close(redis);
        return NULL;
    }
    redis->open_by = deadline;
    (void)snprintf(redis->label, sizeof redis->label, "%s", endpoint->label);
    redis->spin.longest_ns = endpoint->spin_ns;
    if (endpoint->is_tls && !endpoint->tls) { /* never without TLS instead */
        status = LKI_FAIL(err, LK_INVALID, "%s: nobody has set up TLS for it", redis->label);
    } else if (endpoint->path) {
        status = attach(redis, redisConnectUnixNonBlock(endpoint->path), err);
    } else if (lki_dns_is_needed(endpoint->host)) {
        redis->lookup = lki_dns_begin(endpoint->host, err);
        if (!redis->lookup) status = LK_UNREACHABLE;
    } else {
        status = attach(redis, redisConnectNonBlock(endpoint->host, endpoint->port), err);
    }
    if (status == LK_OK) return redis;
    lki_redis_close(redis);
    return NULL;
}

lk_status lki_redis_open_go_on(struct lki_redis *redis, const struct lki_endpoint *endpoint,
                               short *out_events, struct lk_error *err)
{
    struct lk_error why = {0}; /* perhaps of an address behind which there is another */
    lk_status status = LK_OK;

    *out_events = POLLIN;
    if (!redis->context) {
        status = lki_dns_end(redis->lookup, &why);
        if (status == LK_OK) status = begin_next(redis, endpoint, &why);
    }
    if (status == LK_OK && !redis->is_connected && !redis->tls)
        status = end_connect(redis, endpoint, out_events, &why);
    if (status == LK_OK && !redis->is_connected)
        status = shake_hands(redis, endpoint, out_events, &why);
    if (status == LK_OK && !redis->is_connected) {
        status = send_login(redis, endpoint, &why);
        redis->is_connected = status == LK_OK;
    }
    if (status == LK_OK) {
        *out_events = POLLIN;
        status = read_login(redis, endpoint, &why);
    }
    if (status == LK_OK || status == LK_BUSY) return status;
    /* No command was sent. An error of TLS is permanent. */
    if (status == LK_UNREACHABLE || status == LK_UNKNOWN)
        status = redis->tls && lki_tls_fault(redis->tls) ? LK_SERVER : LK_UNREACHABLE;
    why.code = status;
    if (err) *err = why;
    return status;
}

struct lki_redis *lki_redis_open(const struct lki_endpoint *endpoint, int64_t deadline,
                                 struct lk_error *err)
{
    struct lki_redis *redis = lki_redis_open_begin(endpoint, deadline, err);
    short events = POLLOUT;
    lk_status status = redis ? LK_BUSY : LK_UNREACHABLE;

    while (status == LK_BUSY) {
        status = lki_clock_poll(lki_redis_fd(redis), events, deadline)
                     ? lki_redis_open_go_on(redis, endpoint, &events, err)
                     : lki_redis_broken(redis, LK_UNREACHABLE, err);
    }
    if (status == LK_OK) return redis;
    lki_redis_close(redis);
    return NULL;
}
