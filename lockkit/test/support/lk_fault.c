/*
 * See lk_fault.h. Round trips are counted in the thread that armed the fault; renewals are sent by a
 * watchdog's thread.
 */
#include "lk_fault.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "testing.h"
#include "wire/redis.h"

enum { COMMANDS_MAX = 8, WORDS_MAX = 32 };

static struct {
    pthread_t thread; /* round trips: only those of this thread are counted */
    bool is_armed;    /* of that thread */
    int left;         /* calls until the fault */
    bool is_hit;
    bool goes_on; /* every later call is refused */
    enum lks_fault_kind kind;
    _Atomic int renewals_left;         /* renewals until the fault; 0: not armed */
    _Atomic(struct lki_redis *) eaten; /* what arrives here next is thrown away */
    char *late[WORDS_MAX];             /* owned: words of a command that nobody knows of */
    size_t late_lens[WORDS_MAX];
    size_t late_count;
} fault;

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

static bool is_faulty_call(void)
{
    if (!fault.is_armed || !pthread_equal(pthread_self(), fault.thread)) return false;
    fault.left--;
    return fault.left == 0 || (fault.left < 0 && fault.goes_on);
}

FAKE(lk_status, lki_redis_exchange, struct lki_redis *redis, const struct lk_command *commands,
     size_t count, int64_t deadline, lk_reply **replies, struct lk_error *err)
{
    struct lk_command errors[COMMANDS_MAX];

    if (!is_faulty_call()) {
        return __real_lki_redis_exchange(redis, commands, count, deadline, replies, err);
    }
    fault.is_hit = true;
    if (fault.left == 0 && fault.kind == LKS_LATE) {
        keep_late(commands);
        cut(redis);
        return LKI_FAIL(err, LK_UNKNOWN, "nothing came back");
    }
    if (fault.left < 0 || fault.kind == LKS_REFUSED) {
        cut(redis); /* the real call finds that it cannot send a byte */
    } else if (fault.kind == LKS_ERROR_ANSWER || fault.kind == LKS_QUEUED) {
        fill_with_nonsense(errors, count);
        commands = errors;
    } else if (fault.kind == LKS_CUT_SHORT) {
        count = 1;
    }
    lk_status status = __real_lki_redis_exchange(redis, commands, count, deadline, replies, err);
    if (fault.left < 0 || fault.kind < LKS_REPLY_LOST || status != LK_OK) return status;
    for (size_t i = 0; i < count; i++) {
        lk_reply_free(replies[i]);
        replies[i] = NULL;
    }
    cut(redis);
    return LKI_FAIL(err, LK_UNKNOWN, "the reply was lost");
}

/* The watchdog's renewals, known by their script; the hub's subscriptions pass. */
FAKE(lk_status, lki_redis_send, struct lki_redis *redis, const struct lk_command *commands,
     size_t count, int64_t deadline, struct lk_error *err)
{
    struct lk_command errors[COMMANDS_MAX];
    bool is_renewal = strncmp(commands[0].args[0].data, "EVAL", 4) == 0;

    if (is_renewal && atomic_load(&fault.renewals_left) > 0 &&
        atomic_fetch_sub(&fault.renewals_left, 1) == 1) {
        if (fault.kind == LKS_REFUSED) cut(redis);
        if (fault.kind == LKS_CUT_SHORT) count = 1;
        if (fault.kind >= LKS_REPLY_LOST) atomic_store(&fault.eaten, redis);
        if (fault.kind == LKS_ERROR_ANSWER || fault.kind == LKS_QUEUED) {
            fill_with_nonsense(errors, count);
            commands = errors;
        }
    }
    return __real_lki_redis_send(redis, commands, count, deadline, err);
}

FAKE(lk_status, lki_redis_receive, struct lki_redis *redis, lk_reply **out, struct lk_error *err)
{
    struct pollfd poll_fd = {.fd = lki_redis_fd(redis), .events = POLLIN};

    if (atomic_load(&fault.eaten) != redis) return __real_lki_redis_receive(redis, out, err);
    (void)poll(&poll_fd, 1, 1000); /* the server has done it */
    atomic_store(&fault.eaten, NULL);
    *out = NULL;
    return LKI_FAIL(err, LK_UNREACHABLE, "the reply was lost");
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
    fault.thread = pthread_self();
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

void lks_fault_arm_renewal(enum lks_fault_kind kind, int n)
{
    fault.kind = kind;
    atomic_store(&fault.renewals_left, n);
}

bool lks_fault_renewal_is_over(void)
{
    return atomic_load(&fault.renewals_left) == 0 && !atomic_load(&fault.eaten);
}
