/*
 * hiredis connects and parses the protocol; it is written and the socket driven here, so that every
 * step has one absolute deadline, "nothing was sent" is told from "no answer came", and a closed
 * connection raises no SIGPIPE. One thread at a time per connection.
 */
#include "redis.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <hiredis/hiredis.h>

#include "clock.h"
#include "error.h"
#include "number.h"
#include "script.h"

enum {
    READ_CHUNK = 16384,
    SLICE_MS = 50, /* SO_RCVTIMEO of every connection */
};

struct lki_redis {
    redisContext *context; /* owned */
    char *chunk;           /* owned, READ_CHUNK bytes: not on the stacks of thousands of threads */
    bool is_broken;
    bool is_connected;    /* past that, only log-ins are still to be answered */
    unsigned logins_left; /* not answered yet */
    struct lki_identity identity;
    int native;                         /* enum lki_native */
    uint64_t sent;                      /* commands so far */
    uint64_t heard;                     /* answers so far */
    struct introduction *introductions; /* owned; first first; not answered yet */
    size_t introduction_count;
    struct lk_error refusal; /* of the last ones under way, the first */
    char label[128];
};

/* Log in as the loader, load, log in again: their answers are nobody else's. */
enum { INTRODUCE_LOGIN, INTRODUCE_LOAD, INTRODUCE_BACK, INTRODUCE_STEPS };

struct introduction {
    uint64_t begin; /* so many commands were sent before it */
    char loader[64];
};

/* ---- replies -------------------------------------------------------------------------------- */

static const redisReply *inner(const lk_reply *reply)
{
    return (const redisReply *)(const void *)reply;
}

struct lk_bytes lk_bytes_of(const char *text)
{
    return (struct lk_bytes){.data = text, .len = strlen(text)};
}

lk_reply_type lk_reply_type_of(const lk_reply *reply)
{
    if (!reply) return LK_REPLY_NIL;
    switch (inner(reply)->type) {
    case REDIS_REPLY_INTEGER:
        return LK_REPLY_INTEGER;
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_STRING:
        return LK_REPLY_STRING;
    case REDIS_REPLY_ERROR:
        return LK_REPLY_ERROR;
    case REDIS_REPLY_ARRAY:
        return LK_REPLY_ARRAY;
    default:
        return LK_REPLY_NIL;
    }
}

long long lk_reply_integer(const lk_reply *reply, long long fallback)
{
    return lk_reply_type_of(reply) == LK_REPLY_INTEGER ? inner(reply)->integer : fallback;
}

struct lk_bytes lk_reply_bytes(const lk_reply *reply)
{
    lk_reply_type type = lk_reply_type_of(reply);

    if (type != LK_REPLY_STRING && type != LK_REPLY_ERROR) return (struct lk_bytes){0};
    return (struct lk_bytes){.data = inner(reply)->str, .len = (size_t)inner(reply)->len};
}

size_t lk_reply_count(const lk_reply *reply)
{
    return lk_reply_type_of(reply) == LK_REPLY_ARRAY ? inner(reply)->elements : 0;
}

const lk_reply *lk_reply_at(const lk_reply *reply, size_t index)
{
    if (index >= lk_reply_count(reply)) return NULL;
    return (const lk_reply *)(const void *)inner(reply)->element[index];
}

void lk_reply_free(lk_reply *reply)
{
    freeReplyObject(reply);
}

/* ---- the socket ----------------------------------------------------------------------------- */

/* True when the socket is ready before the deadline; false with errno set (ETIMEDOUT). */
static bool wait_ready(int fd, short events, int64_t deadline)
{
    struct pollfd poll_fd = {.fd = fd, .events = events};
    int ready = 0;

    do {
        ready = poll(&poll_fd, 1, lki_clock_left_ms(deadline));
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) errno = ETIMEDOUT;
    return ready > 0;
}

static lk_status broken(struct lki_redis *redis, lk_status status, struct lk_error *err)
{
    redis->is_broken = true;
    return LKI_FAIL_ERRNO(err, status, "%s", redis->label);
}

/* Send all bytes; *out_sent grows even when it fails half-way. */
static bool send_all(int fd, const char *data, size_t len, int64_t deadline, size_t *out_sent)
{
    size_t done = 0;

    while (done < len) {
        ssize_t sent = send(fd, data + done, len - done, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent >= 0) {
            done += (size_t)sent;
            *out_sent += (size_t)sent;
        } else if (errno == EAGAIN) {
            if (!wait_ready(fd, POLLOUT, deadline)) return false;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* Read what is there into the parser. False with errno set: EAGAIN when there is nothing; without
   MSG_DONTWAIT, when nothing came for SLICE_MS. */
static bool feed_parser(struct lki_redis *redis, int flags)
{
    ssize_t got = 0;

    do {
        got = recv(redis->context->fd, redis->chunk, READ_CHUNK, flags);
    } while (got < 0 && errno == EINTR);
    if (got == 0) errno = ECONNRESET;
    if (got <= 0) return false;
    if (redisReaderFeed(redis->context->reader, redis->chunk, (size_t)got) == REDIS_OK) return true;
    errno = ENOMEM;
    return false;
}

/*
 * Wait until there is more for the parser; false with errno set. While the deadline is far, in a
 * recv() that blocks: where client and server run on processors of their own, each asleep while the
 * other works, poll() and recv() instead made a lock and its release a fifth slower.
 */
static bool await_more(struct lki_redis *redis, int64_t deadline)
{
    while (lki_clock_left_ms(deadline) > SLICE_MS) {
        if (feed_parser(redis, 0)) return true;
        if (errno != EAGAIN) return false;
    }
    do {
        if (!wait_ready(redis->context->fd, POLLIN, deadline)) return false;
        if (feed_parser(redis, MSG_DONTWAIT)) return true;
    } while (errno == EAGAIN);
    return false;
}

/* ---- commands ------------------------------------------------------------------------------- */

enum { HEAD_ROOM = LKI_NUMBER_MAX + 5 }; /* a sign, a number, CR LF; and CR LF after a word */

/* "*6\r\n" or "$3\r\n"; where it ends. */
static char *write_head(char *to, char sign, size_t number)
{
    char digits[LKI_NUMBER_MAX];
    struct lk_bytes word = lki_number(digits, (long long)number);

    *to++ = sign;
    memcpy(to, word.data, word.len);
    to += word.len;
    *to++ = '\r';
    *to++ = '\n';
    return to;
}

static char *write_command(char *to, const struct lk_command *command)
{
    to = write_head(to, '*', command->count);
    for (size_t i = 0; i < command->count; i++) {
        struct lk_bytes word = command->args[i];

        to = write_head(to, '$', word.len);
        if (word.len > 0) memcpy(to, word.data, word.len);
        to += word.len;
        *to++ = '\r';
        *to++ = '\n';
    }
    return to;
}

/*
 * The wire form of all commands in one block; NULL when out of memory. Yours to free(). By hand:
 * redisFormatCommandArgv() took more than half of the instructions of a lock and its release.
 */
static char *format_pipeline(const struct lk_command *commands, size_t count, size_t *out_len)
{
    size_t room = 1;

    for (size_t i = 0; i < count; i++) {
        room += HEAD_ROOM * (commands[i].count + 1);
        for (size_t k = 0; k < commands[i].count; k++)
            room += commands[i].args[k].len;
    }
    char *pipeline = malloc(room);
    char *end = pipeline;
    for (size_t i = 0; pipeline && i < count; i++)
        end = write_command(end, &commands[i]);
    *out_len = (size_t)(end - pipeline);
    return pipeline;
}

lk_status lki_redis_send(struct lki_redis *redis, const struct lk_command *commands, size_t count,
                         int64_t deadline, struct lk_error *err)
{
    size_t len = 0;
    size_t sent = 0;
    char *pipeline = format_pipeline(commands, count, &len);

    if (!pipeline) return LKI_FAIL(err, LK_NO_MEMORY, "a pipeline of %zu commands", count);
    bool is_sent = send_all(redis->context->fd, pipeline, len, deadline, &sent);
    int reason = errno;
    free(pipeline);
    redis->sent += count;
    if (is_sent) return LK_OK;
    errno = reason;
    return broken(redis, sent > 0 ? LK_UNKNOWN : LK_UNREACHABLE, err);
}

/* The next answer among what has been read, whoever it is for; *out is NULL: there is no whole one. */
static lk_status parse_any(struct lki_redis *redis, lk_reply **out, struct lk_error *err)
{
    void *reply = NULL;

    *out = NULL;
    if (redisReaderGetReply(redis->context->reader, &reply) != REDIS_OK) {
        redis->is_broken = true;
        return LKI_FAIL(err, LK_UNREACHABLE, "%s: %s", redis->label,
                        redis->context->reader->errstr);
    }
    *out = reply;
    return LK_OK;
}

/* How much of a refused log-in may be told: a server that knows no AUTH repeats its words behind that. */
static int telling_len(const lk_reply *reply)
{
    struct lk_bytes words = lk_reply_bytes(reply);
    const char *repeated = words.data ? strstr(words.data, ", with args") : NULL;

    return repeated ? (int)(repeated - words.data) : (int)words.len;
}

/* An answer to the oldest introduction. */
static lk_status hear_introduction(struct lki_redis *redis, const lk_reply *reply,
                                   struct lk_error *err)
{
    const struct introduction *oldest = &redis->introductions[0];
    uint64_t step = redis->heard - oldest->begin;
    bool is_refused = lk_reply_type_of(reply) == LK_REPLY_ERROR;

    if (is_refused && step == INTRODUCE_BACK) {
        redis->is_broken = true;
        return LKI_FAIL(err, LK_UNREACHABLE, "%s: %.*s", redis->label, telling_len(reply),
                        lk_reply_bytes(reply).data);
    }
    if (is_refused && redis->refusal.code == LK_OK)
        (void)LKI_FAIL(&redis->refusal, lki_reply_is_passing(reply) ? LK_UNREACHABLE : LK_SERVER,
                       "%s: the loader of scripts, \"%s\": %.*s", redis->label, oldest->loader,
                       telling_len(reply), lk_reply_bytes(reply).data);
    if (step == INTRODUCE_BACK)
        memmove(redis->introductions, redis->introductions + 1,
                --redis->introduction_count * sizeof *redis->introductions);
    return LK_OK;
}

/* The next answer that is somebody's. */
static lk_status parse_reply(struct lki_redis *redis, lk_reply **out, struct lk_error *err)
{
    lk_status status = parse_any(redis, out, err);

    while (status == LK_OK && *out && redis->introduction_count > 0 &&
           redis->heard >= redis->introductions[0].begin) {
        status = hear_introduction(redis, *out, err);
        redis->heard++;
        lk_reply_free(*out);
        *out = NULL;
        if (status == LK_OK) status = parse_any(redis, out, err);
    }
    if (*out) redis->heard++;
    return status;
}

lk_status lki_redis_receive(struct lki_redis *redis, lk_reply **out, struct lk_error *err)
{
    for (;;) {
        lk_status status = parse_reply(redis, out, err);

        if (status != LK_OK || *out) return status;
        if (feed_parser(redis, MSG_DONTWAIT)) continue;
        return errno == EAGAIN ? LK_OK : broken(redis, LK_UNREACHABLE, err);
    }
}

lk_status lki_redis_exchange(struct lki_redis *redis, const struct lk_command *commands,
                             size_t count, int64_t deadline, lk_reply **replies,
                             struct lk_error *err)
{
    size_t done = 0;
    lk_status status = lki_redis_send(redis, commands, count, deadline, err);

    if (status != LK_OK) return status;
    while (done < count) {
        status = parse_reply(redis, &replies[done], err);
        if (status != LK_OK) break;
        if (replies[done]) {
            done++;
        } else if (!await_more(redis, deadline)) {
            status = broken(redis, LK_UNKNOWN, err);
            break;
        }
    }
    if (status == LK_OK) return LK_OK;
    while (done > 0) {
        lk_reply_free(replies[--done]);
        replies[done] = NULL; /* a caller who frees all of them whatever happened is right too */
    }
    if (err) err->code = LK_UNKNOWN; /* sent, but not all was answered */
    return LK_UNKNOWN;
}

/* ---- scripts -------------------------------------------------------------------------------- */

static lk_status note_introduction(struct lki_redis *redis, const struct lki_endpoint *endpoint,
                                   struct lk_error *err)
{
    struct introduction *more =
        realloc(redis->introductions, (redis->introduction_count + 1) * sizeof *more);

    if (!more) return LKI_FAIL(err, LK_NO_MEMORY, "%s", redis->label);
    redis->introductions = more;
    if (redis->introduction_count == 0) redis->refusal = (struct lk_error){0};
    more += redis->introduction_count++;
    *more = (struct introduction){.begin = redis->sent};
    (void)snprintf(more->loader, sizeof more->loader, "%s", endpoint->loader);
    return LK_OK;
}

lk_status lki_redis_introduce(struct lki_redis *redis, const struct lki_endpoint *endpoint,
                              const char *text, int64_t deadline, struct lk_error *err)
{
    /* With the name of the default user any password will do where it needs none. */
    const char *user = endpoint->user ? endpoint->user : "default";
    const char *password = endpoint->password ? endpoint->password : "";
    const struct lk_bytes login[] = {LK_BYTES("AUTH"), lk_bytes_of(endpoint->loader),
                                     lk_bytes_of(endpoint->loader_password)};
    const struct lk_bytes load[] = {LK_BYTES("SCRIPT"), LK_BYTES("LOAD"), lk_bytes_of(text)};
    const struct lk_bytes back[] = {LK_BYTES("AUTH"), lk_bytes_of(user), lk_bytes_of(password)};
    const struct lk_command steps[] = {
        [INTRODUCE_LOGIN] = {login, 3}, [INTRODUCE_LOAD] = {load, 3}, [INTRODUCE_BACK] = {back, 3}};
    lk_status status = note_introduction(redis, endpoint, err);

    if (status != LK_OK) return status;
    status = lki_redis_send(redis, steps, INTRODUCE_STEPS, deadline, err);
    if (status == LK_NO_MEMORY) redis->introduction_count--; /* nothing was sent: no answers */
    return status;
}

const struct lk_error *lki_redis_refusal(const struct lki_redis *redis)
{
    return &redis->refusal;
}

/* ---- opening -------------------------------------------------------------------------------- */

/* From now on a recv() without MSG_DONTWAIT waits for SLICE_MS. */
static bool block_in_slices(int fd)
{
    struct timeval slice = {.tv_usec = (suseconds_t)SLICE_MS * 1000};
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
        return block_in_slices(redis->context->fd) ? LK_OK : broken(redis, LK_UNREACHABLE, err);
    }
    errno = reason;
    return broken(redis, LK_UNREACHABLE, err);
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
            status = LKI_FAIL(err, LK_SERVER, "%s: %.*s", redis->label, telling_len(reply),
                              lk_reply_bytes(reply).data);
        }
        lk_reply_free(reply);
    }
    return status;
}

struct lki_redis *lki_redis_begin(const struct lki_endpoint *endpoint, struct lk_error *err)
{
    struct lki_redis *redis = calloc(1, sizeof *redis);

    if (!redis) goto fail;
    redis->chunk = malloc(READ_CHUNK);
    if (!redis->chunk) goto fail;
    (void)snprintf(redis->label, sizeof redis->label, "%s", endpoint->label);
    redis->context = endpoint->path ? redisConnectUnixNonBlock(endpoint->path)
                                    : redisConnectNonBlock(endpoint->host, endpoint->port);
    if (!redis->context) goto fail;
    if (redis->context->err) {
        (void)LKI_FAIL(err, LK_UNREACHABLE, "%s: %s", redis->label, redis->context->errstr);
        lki_redis_close(redis);
        return NULL;
    }
    (void)fcntl(redis->context->fd, F_SETFD, FD_CLOEXEC); /* not for a program we start */
    return redis;

fail:
    (void)LKI_FAIL(err, LK_NO_MEMORY, "%s", endpoint->label);
    lki_redis_close(redis);
    return NULL;
}

lk_status lki_redis_go_on(struct lki_redis *redis, const struct lki_endpoint *endpoint,
                          short *out_events, struct lk_error *err)
{
    lk_status status = LK_OK;

    if (!redis->is_connected) {
        *out_events = POLLOUT;
        if (!wait_ready(redis->context->fd, POLLOUT, 0)) {
            return errno == ETIMEDOUT ? LK_BUSY : broken(redis, LK_UNREACHABLE, err);
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
        status = wait_ready(redis->context->fd, events, deadline)
                     ? lki_redis_go_on(redis, endpoint, &events, err)
                     : broken(redis, LK_UNREACHABLE, err);
    }
    if (status == LK_OK) return redis;
    lki_redis_close(redis);
    return NULL;
}

void lki_redis_close(struct lki_redis *redis)
{
    if (!redis) return;
    if (redis->context) redisFree(redis->context);
    free(redis->introductions);
    free(redis->chunk);
    free(redis);
}

bool lki_redis_is_usable(struct lki_redis *redis)
{
    char byte = 0;

    if (redis->is_broken) return false;
    /* Idle means silent: a byte or an end here is an old server going away. */
    ssize_t got = recv(redis->context->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    redis->is_broken = got >= 0 || errno != EAGAIN;
    return !redis->is_broken;
}

bool lki_redis_is_broken(const struct lki_redis *redis)
{
    return redis->is_broken;
}

void lki_redis_cut(struct lki_redis *redis)
{
    (void)shutdown(redis->context->fd, SHUT_RDWR);
}

struct lki_identity *lki_redis_identity(struct lki_redis *redis)
{
    return &redis->identity;
}

int lki_redis_native(const struct lki_redis *redis)
{
    return redis->native;
}

void lki_redis_set_native(struct lki_redis *redis, int native)
{
    redis->native = native;
}

int lki_redis_fd(const struct lki_redis *redis)
{
    return redis->context->fd;
}
