/*
 * hiredis parses the protocol. Writing it and driving the socket is done here, so that every step has an
 * absolute deadline, "nothing was sent" is distinguished from "no answer came", and no SIGPIPE is raised.
 * How it is opened: redis_open.c. One thread at a time per connection.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/number.h"
#include "dns.h"
#include "redis_internal.h"
#include "reply.h"
#include "tls.h"

/* The steps of a load, whose answers are handled here. */
enum { LOAD_LOGIN, LOAD_SCRIPT, LOAD_LOGIN_BACK, LOAD_STEPS };

struct load {
    uint64_t begin; /* number of commands sent before it */
    char loader[64];
};

/* ---- the socket ----------------------------------------------------------------------------- */

lk_status lki_redis_broken(struct lki_redis *redis, lk_status status, struct lk_error *err)
{
    const char *fault = redis->tls ? lki_tls_fault(redis->tls) : NULL;
    const char *hint = "";

    redis->is_broken = true;
    if (fault) return LKI_FAIL(err, status, "%s: %s", redis->label, fault);
    if (redis->lookup && !redis->context) {
        hint = ": its name has no address yet";
    } else if (redis->tls && !redis->is_connected) {
        hint = ": the TLS handshake does not end (a server without TLS?)";
    } else if (!redis->tls && redis->sent > 0 && redis->received == 0 && errno == ECONNRESET) {
        hint = ": it hung up at the first word (TLS? then rediss://)";
    }
    return LKI_FAIL_ERRNO(err, status, "%s%s", redis->label, hint);
}

/* Read once into the parser. False with errno set: EAGAIN: nothing has arrived; without MSG_DONTWAIT, not within
   LKI_SLICE_MS. */
static bool feed_parser(struct lki_redis *redis, int flags)
{
    ssize_t got = 0;

    do {
        got = redis->tls ? lki_tls_recv(redis->tls, redis->chunk, LKI_READ_CHUNK, flags)
                         : recv(redis->context->fd, redis->chunk, LKI_READ_CHUNK, flags);
    } while (got < 0 && errno == EINTR);
    if (got == 0) errno = ECONNRESET;
    if (got <= 0) return false;
    if (redisReaderFeed(redis->context->reader, redis->chunk, (size_t)got) == REDIS_OK) return true;
    errno = ENOMEM;
    return false;
}

/* Busy-poll until then. False with errno set: EAGAIN: nothing came. */
static bool spin_until(struct lki_redis *redis, int64_t until)
{
    bool has_come = false;

    do {
        has_come = feed_parser(redis, MSG_DONTWAIT);
    } while (!has_come && errno == EAGAIN && lki_clock_now() < until);
    return has_come;
}

/*
 * Wait until there is more for the parser; false with errno set. While the deadline is far, this is a
 * blocking recv(): with poll() and recv(), a lock and its release took a fifth longer, where client and
 * server run on processors of their own.
 */
static bool await_more(struct lki_redis *redis, int64_t deadline)
{
    int64_t open_until = lki_spin_begin(&redis->spin);
    bool has_come = open_until > 0 && spin_until(redis, open_until);

    if (open_until > 0) lki_spin_end(&redis->spin, has_come);
    if (has_come) return true;
    if (open_until > 0 && errno != EAGAIN) return false; /* it was closed */
    while (lki_clock_left_ms(deadline) > LKI_SLICE_MS) {
        if (feed_parser(redis, 0)) return true;
        if (errno != EAGAIN) return false;
    }
    if (redis->tls && feed_parser(redis, MSG_DONTWAIT)) return true; /* the socket may be empty */
    do {
        if (!lki_clock_poll(redis->context->fd, POLLIN, deadline)) return false;
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
 * All commands in the protocol's form, in one block; free() it. NULL: out of memory. Not by
 * redisFormatCommandArgv(), which took more than half of the instructions of a lock and its release.
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
    int fd = redis->context->fd;
    short events = POLLOUT;
    bool is_open = true;
    size_t len = 0;
    size_t done = 0;
    char *pipeline = format_pipeline(commands, count, &len);

    if (!pipeline) return LKI_FAIL(err, LK_NO_MEMORY, "a pipeline of %zu commands", count);
    while (is_open && done < len) {
        ssize_t sent = redis->tls
                           ? lki_tls_send(redis->tls, pipeline + done, len - done, &events)
                           : send(fd, pipeline + done, len - done, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent >= 0) {
            done += (size_t)sent;
        } else {
            is_open = errno == EAGAIN ? lki_clock_poll(fd, events, deadline) : errno == EINTR;
        }
    }
    int reason = errno;
    free(pipeline);
    redis->sent += count;
    if (is_open) return LK_OK;
    errno = reason;
    return lki_redis_broken(redis, done > 0 ? LK_UNKNOWN : LK_UNREACHABLE, err);
}

/* The next answer in the parser, also one of a load; *out is NULL: none is complete. */
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

int lki_redis_safe_len(const lk_reply *reply)
{
    struct lk_bytes words = lk_reply_bytes(reply);
    const char *repeated = words.data ? strstr(words.data, ", with args") : NULL;

    return repeated ? (int)(repeated - words.data) : (int)words.len;
}

/* Handle an answer of the oldest load. */
static lk_status handle_load_reply(struct lki_redis *redis, const lk_reply *reply,
                                   struct lk_error *err)
{
    const struct load *oldest = &redis->loads[0];
    uint64_t step = redis->received - oldest->begin;
    bool is_refused = lk_reply_type_of(reply) == LK_REPLY_ERROR;

    if (is_refused && step == LOAD_LOGIN_BACK) {
        redis->is_broken = true;
        return LKI_FAIL(err, LK_UNREACHABLE, "%s: %.*s", redis->label, lki_redis_safe_len(reply),
                        lk_reply_bytes(reply).data);
    }
    if (is_refused && redis->refusal.code == LK_OK)
        (void)LKI_FAIL(&redis->refusal, lki_reply_is_passing(reply) ? LK_UNREACHABLE : LK_SERVER,
                       "%s: the loader of scripts, \"%s\": %.*s", redis->label, oldest->loader,
                       lki_redis_safe_len(reply), lk_reply_bytes(reply).data);
    if (step == LOAD_LOGIN_BACK)
        memmove(redis->loads, redis->loads + 1, --redis->load_count * sizeof *redis->loads);
    return LK_OK;
}

/* Handle the first answer: at maxclients the server accepts a connection, sends an error, and closes it. */
static lk_status handle_first_reply(struct lki_redis *redis, lk_reply **reply, struct lk_error *err)
{
    lk_status status = LK_OK;

    if (!lki_reply_is_error(*reply, "ERR max number of clients")) return LK_OK;
    redis->is_broken = redis->is_unadmitted = true;
    status = LKI_FAIL(err, LK_UNREACHABLE, "%s: %.*s", redis->label, lki_redis_safe_len(*reply),
                      lk_reply_bytes(*reply).data);
    lk_reply_free(*reply);
    *reply = NULL;
    return status;
}

/* The next answer to a caller's command. */
static lk_status parse_reply(struct lki_redis *redis, lk_reply **out, struct lk_error *err)
{
    lk_status status = parse_any(redis, out, err);

    if (*out && redis->received == 0) status = handle_first_reply(redis, out, err);
    while (status == LK_OK && *out && redis->load_count > 0 &&
           redis->received >= redis->loads[0].begin) {
        status = handle_load_reply(redis, *out, err);
        redis->received++;
        lk_reply_free(*out);
        *out = NULL;
        if (status == LK_OK) status = parse_any(redis, out, err);
    }
    if (*out) redis->received++;
    return status;
}

lk_status lki_redis_receive(struct lki_redis *redis, lk_reply **out, struct lk_error *err)
{
    for (;;) {
        lk_status status = parse_reply(redis, out, err);

        if (status != LK_OK || *out) return status;
        if (feed_parser(redis, MSG_DONTWAIT)) continue;
        return errno == EAGAIN ? LK_OK : lki_redis_broken(redis, LK_UNREACHABLE, err);
    }
}

lk_status lki_redis_exchange(struct lki_redis *redis, const struct lk_command *commands,
                             size_t count, int64_t deadline, lk_reply **replies,
                             struct lk_error *err)
{
    size_t done = 0;
    lk_status status = lki_redis_send(redis, commands, count, deadline, err);

    if (status != LK_OK) return status;
    int64_t sent_at = lki_clock_now();
    while (done < count) {
        status = parse_reply(redis, &replies[done], err);
        if (status != LK_OK) break;
        if (replies[done]) {
            done++;
        } else if (!await_more(redis, deadline)) {
            status = lki_redis_broken(redis, LK_UNKNOWN, err);
            break;
        }
    }
    if (status == LK_OK) {
        lki_spin_learn(&redis->spin, lki_clock_now() - sent_at);
        return LK_OK;
    }
    while (done > 0) {
        lk_reply_free(replies[--done]);
        replies[done] = NULL; /* so that a caller may free all of them in any case */
    }
    status =
        redis->is_unadmitted ? LK_UNREACHABLE : LK_UNKNOWN; /* sent, but not all was answered */
    if (err) err->code = status;
    return status;
}

/* ---- scripts -------------------------------------------------------------------------------- */

static lk_status note_load(struct lki_redis *redis, const struct lki_endpoint *endpoint,
                           struct lk_error *err)
{
    struct load *more = realloc(redis->loads, (redis->load_count + 1) * sizeof *more);

    if (!more) return LKI_FAIL(err, LK_NO_MEMORY, "%s", redis->label);
    redis->loads = more;
    if (redis->load_count == 0) redis->refusal = (struct lk_error){0};
    more += redis->load_count++;
    *more = (struct load){.begin = redis->sent};
    (void)snprintf(more->loader, sizeof more->loader, "%s", endpoint->loader);
    return LK_OK;
}

lk_status lki_redis_load_script(struct lki_redis *redis, const struct lki_endpoint *endpoint,
                                const char *text, int64_t deadline, struct lk_error *err)
{
    /* A default user without a password accepts any. */
    const char *user = endpoint->user ? endpoint->user : "default";
    const char *password = endpoint->password ? endpoint->password : "";
    const struct lk_bytes login[] = {LK_BYTES("AUTH"), lk_bytes_of(endpoint->loader),
                                     lk_bytes_of(endpoint->loader_password)};
    const struct lk_bytes load[] = {LK_BYTES("SCRIPT"), LK_BYTES("LOAD"), lk_bytes_of(text)};
    const struct lk_bytes back[] = {LK_BYTES("AUTH"), lk_bytes_of(user), lk_bytes_of(password)};
    const struct lk_command steps[] = {
        [LOAD_LOGIN] = {login, 3}, [LOAD_SCRIPT] = {load, 3}, [LOAD_LOGIN_BACK] = {back, 3}};
    lk_status status = note_load(redis, endpoint, err);

    if (status != LK_OK) return status;
    status = lki_redis_send(redis, steps, LOAD_STEPS, deadline, err);
    if (status == LK_NO_MEMORY) redis->load_count--; /* nothing was sent: no answers */
    return status;
}

const struct lk_error *lki_redis_refusal(const struct lki_redis *redis)
{
    return &redis->refusal;
}

/* ---- life ----------------------------------------------------------------------------------- */

void lki_redis_drop_socket(struct lki_redis *redis)
{
    lki_tls_end(redis->tls);
    redis->tls = NULL;
    redisFree(redis->context);
    redis->context = NULL;
    free(redis->functions);
    redis->functions = NULL;
}

void lki_redis_end_turn(struct lki_redis *redis)
{
    if (redis->turn_fd >= 0) (void)close(redis->turn_fd);
    if (redis->timer_fd >= 0) (void)close(redis->timer_fd);
    redis->turn_fd = redis->timer_fd = -1;
}

void lki_redis_close(struct lki_redis *redis)
{
    if (!redis) return;
    lki_redis_end_turn(redis);
    lki_dns_free(redis->lookup);
    lki_redis_drop_socket(redis);
    free(redis->loads);
    free(redis->chunk);
    free(redis);
}

bool lki_redis_is_usable(struct lki_redis *redis)
{
    char byte = 0;

    if (redis->is_broken) return false;
    /* An idle connection is silent: a byte or an end means that the server closes it. */
    ssize_t got = redis->tls ? lki_tls_recv(redis->tls, &byte, 1, MSG_DONTWAIT)
                             : recv(redis->context->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    redis->is_broken = got >= 0 || errno != EAGAIN;
    return !redis->is_broken;
}

bool lki_redis_is_broken(const struct lki_redis *redis)
{
    return redis->is_broken;
}

bool lki_redis_is_unadmitted(const struct lki_redis *redis)
{
    return redis->is_unadmitted;
}

void lki_redis_cut(struct lki_redis *redis)
{
    (void)shutdown(redis->context->fd, SHUT_RDWR);
}

struct lki_identity *lki_redis_identity(struct lki_redis *redis)
{
    return &redis->identity;
}

struct lki_traces *lki_redis_traces(struct lki_redis *redis)
{
    return &redis->traces;
}

int lki_redis_fd(const struct lki_redis *redis)
{
    if (!redis->context) return lki_dns_fd(redis->lookup);
    return redis->turn_fd >= 0 ? redis->turn_fd : redis->context->fd;
}

const char *lki_redis_address(const struct lki_redis *redis)
{
    return redis->address;
}
