/*
 * See lk_fault.h. Round trips are counted in the thread that armed the fault; renewals are sent by watchdogs'
 * threads.
 */
#include "lk_fault.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "testing.h"
#include "wire/redis.h"

enum { COMMANDS_MAX = 8, WORDS_MAX = 32 };

/* A thread's own: round trips of others pass. */
static _Thread_local struct {
    bool is_armed;
    int left; /* calls until the fault */
    bool is_hit;
    bool goes_on; /* every later call is refused */
    enum lks_fault_kind kind;
    char *late[WORDS_MAX]; /* owned: words of a command that nobody knows of */
    size_t late_lens[WORDS_MAX];
    size_t late_count;
} fault;

static _Atomic int kind_of_sent = LKS_NO_FAULT;

/* The same number of commands that a real server answers with errors, or as in a transaction. */
static void fill_with_nonsense(struct lk_command *out, size_t count)
{
    static const struct lk_bytes nonsense = {.data = "NO-SUCH-COMMAND", .len = 15};
    static const struct lk_bytes queued[] = {{.data = "ECHO", .len = 4},
                                             {.data = "QUEUED", .len = 6}};

    for (size_t i = 0; i < count && i < COMMANDS_MAX; i++)
        out[i] = fault.kind == LKS_QUEUED ? (struct lk_command){queued, 2}
                                          : (struct lk_command){&nonsense, 1};
}

static void cut(struct lki_redis *redis)
{
    (void)shutdown(lki_redis_fd(redis), SHUT_RDWR);
}

static void forget_late(void)
{
    while (fault.late_count > 0)
        free(fault.late[--fault.late_count]);
}

static void keep_late(const struct lk_command *command)
{
    forget_late();
    for (size_t i = 0; i < command->count && i < WORDS_MAX; i++) {
        char *copy = malloc(command->args[i].len + 1);

        if (!copy) abort();
        memcpy(copy, command->args[i].data, command->args[i].len);
        fault.late_lens[fault.late_count] = command->args[i].len;
        fault.late[fault.late_count++] = copy;
    }
}

enum lks_fault_kind lks_fault_strikes(void)
{
    if (!fault.is_armed) return LKS_NO_FAULT;
    fault.left--;
    bool is_faulty = fault.left == 0 || (fault.left < 0 && fault.goes_on);
    fault.is_hit |= is_faulty;
    if (!is_faulty) return LKS_NO_FAULT;
    return fault.left < 0 ? LKS_REFUSED : fault.kind;
}

FAKE(lk_status, lki_redis_exchange, struct lki_redis *redis, const struct lk_command *commands,
     size_t count, int64_t deadline, lk_reply **replies, struct lk_error *err)
{
    struct lk_command errors[COMMANDS_MAX];
    enum lks_fault_kind kind = lks_fault_strikes();

    if (kind == LKS_LATE) {
        keep_late(commands);
        cut(redis);
        return LKI_FAIL(err, LK_UNKNOWN, "nothing came back");
    }
    if (kind == LKS_REFUSED) {
        cut(redis); /* the real call finds that it cannot send a byte */
    } else if (kind == LKS_ERROR_ANSWER || kind == LKS_QUEUED) {
        fill_with_nonsense(errors, count);
        commands = errors;
    } else if (kind == LKS_CUT_SHORT) {
        count = 1;
    }
    lk_status status = __real_lki_redis_exchange(redis, commands, count, deadline, replies, err);
    if (kind < LKS_REPLY_LOST || kind == LKS_NO_FAULT || status != LK_OK) return status;
    for (size_t i = 0; i < count; i++) {
        lk_reply_free(replies[i]);
        replies[i] = NULL;
    }
    cut(redis);
    return LKI_FAIL(err, LK_UNKNOWN, "the reply was lost");
}

/* The server has answered, and nobody hears of it. */
static void swallow_answer(struct lki_redis *redis)
{
    struct pollfd poll_fd = {.fd = lki_redis_fd(redis), .events = POLLIN};
    char answer[1024];

    (void)poll(&poll_fd, 1, 1000);
    while (recv(poll_fd.fd, answer, sizeof answer, MSG_DONTWAIT) > 0) {}
    cut(redis);
}

/* What watchdogs and redlocks ask; the hub's subscriptions pass. */
FAKE(lk_status, lki_redis_send, struct lki_redis *redis, const struct lk_command *commands,
     size_t count, int64_t deadline, struct lk_error *err)
{
    const char *verb = commands[0].args[0].data;
    bool is_asked = strncmp(verb, "EVAL", 4) == 0 || strncmp(verb, "SET", 3) == 0;
    enum lks_fault_kind kind = is_asked ? lks_fault_of_sent() : LKS_NO_FAULT;

    if (kind == LKS_REFUSED || kind == LKS_LATE) cut(redis);
    if (kind == LKS_LATE) return LK_OK;
    lk_status status = __real_lki_redis_send(redis, commands, count, deadline, err);
    if (kind == LKS_REPLY_LOST && status == LK_OK) swallow_answer(redis);
    return status;
}

/* ---- what tests call -------------------------------------------------------------------------- */

const char *lks_fault_name(enum lks_fault_kind kind)
{
    static const char *const names[] = {
        "refused", "error answer", "queued", "reply lost", "cut after its first command",
        "",        "late"};

    return names[kind];
}

void lks_fault_arm(enum lks_fault_kind kind, int n)
{
    forget_late();
    fault.kind = kind;
    fault.left = n;
    fault.goes_on = false;
    fault.is_hit = false;
    fault.is_armed = true;
}

void lks_fault_arm_for_good(enum lks_fault_kind kind, int n)
{
    lks_fault_arm(kind, n);
    fault.goes_on = true;
}

bool lks_fault_disarm(void)
{
    fault.is_armed = false;
    return fault.is_hit;
}

void lks_fault_deliver(lk_client *client)
{
    struct lk_bytes words[WORDS_MAX];
    lk_reply *reply = NULL;

    for (size_t i = 0; i < fault.late_count; i++)
        words[i] = (struct lk_bytes){.data = fault.late[i], .len = fault.late_lens[i]};
    if (lk_client_call(client, &(struct lk_command){words, fault.late_count}, 1, 0, &reply, NULL) ==
        LK_OK)
        lk_reply_free(reply);
}

void lks_fault_arm_sent(enum lks_fault_kind kind)
{
    atomic_store(&kind_of_sent, (int)kind);
}

enum lks_fault_kind lks_fault_of_sent(void)
{
    return (enum lks_fault_kind)atomic_load(&kind_of_sent);
}
