/*
 * See ways.h. All read, decide and write by hand (guards/by_hand.h) unless they say otherwise; they differ in
 * how they keep others out meanwhile. None waits: who comes second is told so at once. Any thread.
 */
#include "lab/ways.h"

#include <pthread.h>
#include <string.h>

#include "guards/by_hand.h"
#include "lab/ways_inside.h"

static void (*at_pause)(void);

void way_set_pause(void (*pause)(void))
{
    at_pause = pause;
}

void way_pause(void)
{
    if (at_pause) at_pause();
}

/* ---- a lock around it -------------------------------------------------------------------------- */

static struct guard_result sell_inside(struct by_hand *hand)
{
    struct guard_result result = {.status = GUARD_UNAVAILABLE};
    int64_t limit_ms = hand->ctx->limit_ms;

    if (by_hand_read_and_decide(hand, limit_ms, &result.error) != LK_OK) return result;
    lk_status status = by_hand_write(hand, limit_ms, &result.error);
    result.status = status == LK_OK ? GUARD_DONE : GUARD_UNKNOWN;
    if (status == LK_OK) by_hand_tell(hand);
    return result;
}

/* take: whether it got the lock. give: back again. */
static struct guard_result sell_between(const struct guard_ctx *ctx, struct purchase **batch,
                                        size_t count, bool (*take)(const struct by_hand *hand),
                                        void (*give)(const struct by_hand *hand))
{
    struct guard_result result = {.status = GUARD_UNAVAILABLE};
    struct by_hand hand;

    if (by_hand_make(ctx, batch, count, &hand)) {
        result.status = GUARD_BUSY;
        if (take(&hand)) {
            result = sell_inside(&hand);
            give(&hand);
        }
    }
    by_hand_done(&hand);
    return result;
}

/* One command of up to six words, NULL behind the last; NULL when there is no answer. */
static lk_reply *ask(const struct by_hand *hand, const char *const words[7])
{
    struct lk_bytes args[6];
    struct lk_command command = {.args = args};
    lk_reply *reply = NULL;

    while (words[command.count]) {
        args[command.count] = lk_bytes_of(words[command.count]);
        command.count++;
    }
    if (lk_client_call(hand->ctx->client, &command, 1, hand->ctx->limit_ms, &reply, NULL) != LK_OK)
        return NULL;
    return reply;
}

static bool answers_one(const struct by_hand *hand, const char *const words[7])
{
    lk_reply *reply = ask(hand, words);
    bool is_one = lk_reply_integer(reply, 0) == 1;

    lk_reply_free(reply);
    return is_one;
}

static const char *lock_of(const struct by_hand *hand)
{
    return hand->keys.text[KEY_LOCK];
}

/* ---- a lock of this process -------------------------------------------------------------------- */

static pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;

static bool lock_process(const struct by_hand *hand)
{
    (void)hand;
    return pthread_mutex_lock(&process_lock) == 0;
}

static void unlock_process(const struct by_hand *hand)
{
    (void)hand;
    (void)pthread_mutex_unlock(&process_lock);
}

static struct guard_result thread_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                       size_t count)
{
    return sell_between(ctx, batch, count, lock_process, unlock_process);
}

const struct guard way_thread = {
    .name = "thread",
    .idea = "a mutex of the process around read, decide and write",
    .flaw = "it keeps out the threads of one process, and nobody else's",
    .expected = VERDICT_OVERSELLS,
    .sell = thread_sell,
};

/* ---- locks in Redis, the way they were invented ------------------------------------------------- */

static void del(const struct by_hand *hand)
{
    lk_reply_free(ask(hand, (const char *const[7]){"DEL", lock_of(hand)}));
}

static bool setnx(const struct by_hand *hand)
{
    return answers_one(hand, (const char *const[7]){"SETNX", lock_of(hand), hand->ctx->instance});
}

static struct guard_result setnx_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                      size_t count)
{
    return sell_between(ctx, batch, count, setnx, del);
}

const struct guard way_setnx = {
    .name = "setnx",
    .idea = "SETNX, then DEL",
    .flaw = "no expiry: when the holder dies, nobody sells any more",
    .expected = VERDICT_SOUND, /* it sells nothing twice: it stops selling */
    .sell = setnx_sell,
};

static bool setnx_then_expire(const struct by_hand *hand)
{
    return setnx(hand) && answers_one(hand, (const char *const[7]){"EXPIRE", lock_of(hand), "30"});
}

static struct guard_result setnx_expire_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                             size_t count)
{
    return sell_between(ctx, batch, count, setnx_then_expire, del);
}

const struct guard way_setnx_expire = {
    .name = "setnx-expire",
    .idea = "SETNX, then EXPIRE in a second command, then DEL",
    .flaw = "a holder that dies between the two leaves a lock without an expiry",
    .expected = VERDICT_SOUND,
    .sell = setnx_expire_sell,
};

static bool set_nx_px(const struct by_hand *hand)
{
    lk_reply *reply = ask(hand, (const char *const[7]){"SET", lock_of(hand), hand->ctx->instance,
                                                       "NX", "PX", "30000"});
    bool is_taken = lk_reply_type_of(reply) == LK_REPLY_STRING;

    lk_reply_free(reply);
    return is_taken;
}

static struct guard_result set_del_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                        size_t count)
{
    return sell_between(ctx, batch, count, set_nx_px, del);
}

const struct guard way_set_del = {
    .name = "set-del",
    .idea = "SET NX PX, then DEL",
    .flaw = "a holder that comes late deletes the lock of the next one",
    .expected = VERDICT_OVERSELLS,
    .sell = set_del_sell,
};

static void get_then_del(const struct by_hand *hand)
{
    lk_reply *reply = ask(hand, (const char *const[7]){"GET", lock_of(hand)});
    struct lk_bytes owner = lk_reply_bytes(reply);
    bool is_ours = owner.data && strcmp(owner.data, hand->ctx->instance) == 0;

    lk_reply_free(reply);
    if (is_ours) del(hand);
}

static struct guard_result get_del_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                        size_t count)
{
    return sell_between(ctx, batch, count, set_nx_px, get_then_del);
}

const struct guard way_get_del = {
    .name = "get-del",
    .idea = "SET NX PX, then GET, compare, DEL",
    .flaw = "between GET and DEL the lock can become somebody else's",
    .expected = VERDICT_OVERSELLS,
    .sell = get_del_sell,
};

/* ---- the table ----------------------------------------------------------------------------------- */

static const struct guard *const ways[] = {
#define WAY_ENTRY(name) &way_##name,
    WAY_LIST(WAY_ENTRY)
#undef WAY_ENTRY
};

const struct guard *way_find(const char *name)
{
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (strcmp(ways[i]->name, name) == 0) return ways[i];
    }
    return guard_find(name);
}
