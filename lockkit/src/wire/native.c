/*
 * A script costs the server more than a command. A connection asks once what its server has, behind
 * a step that it takes anyway, so nobody waits for that. Both kinds of server have SET ... IFEQ since
 * before they have the delete. Any thread; a connection is one thread's.
 */
#include "native.h"

#include "base/number.h"
#include "reply.h"

enum { STEP, TELL, STEPS };

static enum lki_native read_answer(const lk_reply *answer)
{
    if (lk_reply_count(lk_reply_at(answer, 0)) > 0) return LKI_NATIVE_DELIFEQ;
    if (lk_reply_count(lk_reply_at(answer, 1)) > 0) return LKI_NATIVE_DELEX;
    return LKI_NATIVE_NONE; /* also when COMMAND is forbidden */
}

static lk_status ask_along(struct lki_redis *redis, const struct lk_command *fallback,
                           int64_t deadline, lk_reply **reply, struct lk_error *err)
{
    const struct lk_bytes ask[] = {LK_BYTES("COMMAND"), LK_BYTES("INFO"), LK_BYTES("DELIFEQ"),
                                   LK_BYTES("DELEX")};
    const struct lk_command commands[] = {*fallback, {ask, 4}};
    lk_reply *replies[2] = {0};
    lk_status status = lki_redis_exchange(redis, commands, 2, deadline, replies, err);

    if (status != LK_OK) return status;
    lki_redis_set_native(redis, (int)read_answer(replies[1]));
    lk_reply_free(replies[1]);
    *reply = replies[0];
    return LK_OK;
}

static lk_status set_lease(struct lki_redis *redis, const struct lki_compare *compare,
                           int64_t deadline, lk_reply **reply, struct lk_error *err)
{
    char lease[LKI_NUMBER_MAX];
    const struct lk_bytes value = lk_bytes_of(compare->value);
    const struct lk_bytes set[] = {
        LK_BYTES("SET"),
        lk_bytes_of(compare->key),
        value,
        LK_BYTES("IFEQ"),
        value,
        LK_BYTES("PX"),
        lki_number(lease, compare->lease_ms),
    };

    return lki_redis_exchange(redis, &(struct lk_command){set, 7}, 1, deadline, reply, err);
}

static lk_status delete_it(struct lki_redis *redis, const struct lki_compare *compare,
                           int64_t deadline, lk_reply **reply, struct lk_error *err)
{
    const struct lk_bytes key = lk_bytes_of(compare->key);
    const struct lk_bytes value = lk_bytes_of(compare->value);
    const struct lk_bytes delifeq[] = {LK_BYTES("DELIFEQ"), key, value};
    const struct lk_bytes delex[] = {LK_BYTES("DELEX"), key, LK_BYTES("IFEQ"), value};
    const struct lk_bytes tell[] = {lk_bytes_of(compare->publish), lk_bytes_of(compare->channel),
                                    LK_BYTES("0")};
    struct lk_command commands[STEPS] = {[STEP] = {delifeq, 3}, [TELL] = {tell, 3}};
    lk_reply *replies[STEPS] = {0};

    if (lki_redis_native(redis) == LKI_NATIVE_DELEX) commands[STEP] = (struct lk_command){delex, 4};
    lk_status status = lki_redis_exchange(redis, commands, STEPS, deadline, replies, err);
    if (status != LK_OK) return status;
    lk_reply_free(replies[TELL]);
    *reply = replies[STEP];
    return LK_OK;
}

/* Who may not use the command may run the script: it is not tried again here. */
static bool is_forbidden(struct lki_redis *redis, lk_status status, lk_reply **reply)
{
    if (status != LK_OK || !lki_reply_is_error(*reply, "NOPERM")) return false;
    lki_redis_set_native(redis, LKI_NATIVE_NONE);
    lk_reply_free(*reply);
    *reply = NULL;
    return true;
}

lk_status lki_native_exchange(struct lki_redis *redis, const struct lki_native_step *step,
                              lk_reply **reply, struct lk_error *err)
{
    const struct lki_compare *compare = step->compare;
    lk_status status = LK_OK;

    switch ((enum lki_native)lki_redis_native(redis)) {
    case LKI_NATIVE_UNKNOWN:
        return ask_along(redis, step->fallback, step->deadline, reply, err);
    case LKI_NATIVE_NONE:
        return lki_redis_exchange(redis, step->fallback, 1, step->deadline, reply, err);
    case LKI_NATIVE_DELIFEQ:
    case LKI_NATIVE_DELEX:
        break;
    }
    status = compare->lease_ms > 0 ? set_lease(redis, compare, step->deadline, reply, err)
                                   : delete_it(redis, compare, step->deadline, reply, err);
    return is_forbidden(redis, status, reply)
               ? lki_redis_exchange(redis, step->fallback, 1, step->deadline, reply, err)
               : status;
}
