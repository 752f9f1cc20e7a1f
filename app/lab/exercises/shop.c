/*
 * A learner's sell() as a guard of the service, and what it has at hand (exercise.h). Linked only
 * into what `make exercise` builds. Any thread.
 *
 * Nothing here is smarter than the learner: what sell() says is what the buyers are told. But one
 * thing is not asked of it, to know what a lost answer means: then the outcome is unknown.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/hex.h"
#include "exercise.h"
#include "guards/shared/by_hand.h"

enum {
    ANSWERS_MAX = 256, /* that one sell() keeps: it asks no more */
    TOKEN_BYTES = 16,
    AGAIN_MS = 3, /* after BUSY */
    FIXED_WORDS = 12,
};

struct shop {
    struct by_hand hand;
    int64_t deadline_ms; /* monotonic: Redis is asked no more */
    bool is_read;        /* a decision was made */
    lk_status doubt;     /* UNKNOWN: a write has got no answer */
    char token[2 * TOKEN_BYTES + 1];
    char lease_ms[24];
    size_t answer_count;
    char *answers[ANSWERS_MAX]; /* owned */
};

/* ---- asking ------------------------------------------------------------------------------------ */

/* 0: too late. */
static int64_t left_ms(const struct shop *shop)
{
    int64_t left = shop->deadline_ms - clock_mono_ms();

    return left > 0 ? left : 0;
}

static lk_status call(struct shop *shop, const struct lk_bytes *words, size_t count,
                      lk_reply **reply)
{
    if (left_ms(shop) == 0) return LK_UNREACHABLE;
    return lk_client_call(shop->hand.ctx->client, &(struct lk_command){words, count}, 1,
                          left_ms(shop), reply, NULL);
}

/* NULL also when there is no memory. */
static char *to_text(const lk_reply *reply)
{
    char *text = NULL;

    switch (lk_reply_type_of(reply)) {
    case LK_REPLY_INTEGER:
        return asprintf(&text, "%lld", lk_reply_integer(reply, 0)) < 0 ? NULL : text;
    case LK_REPLY_STRING:
    case LK_REPLY_ERROR:
        return strndup(lk_reply_bytes(reply).data, lk_reply_bytes(reply).len);
    case LK_REPLY_ARRAY: /* its first element is better than nothing */
        return to_text(lk_reply_at(reply, 0));
    case LK_REPLY_NIL:
        break;
    }
    return NULL;
}

const char *shop_ask(struct shop *shop, const char *const words[])
{
    size_t count = 0;
    lk_reply *reply = NULL;

    while (words[count])
        count++;
    struct lk_bytes *args = calloc(count + 1, sizeof *args);
    if (!args || shop->answer_count == ANSWERS_MAX) {
        free(args);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        args[i] = lk_bytes_of(words[i]);
    char *text = call(shop, args, count, &reply) == LK_OK ? to_text(reply) : NULL;
    lk_reply_free(reply);
    free(args);
    shop->answers[shop->answer_count++] = text;
    return text;
}

bool says(const char *answer, const char *text)
{
    return answer && strcmp(answer, text) == 0;
}

const char *shop_lock(const struct shop *shop)
{
    return shop->hand.keys.text[KEY_LOCK];
}

const char *shop_token(const struct shop *shop)
{
    return shop->token;
}

const char *shop_lease_ms(const struct shop *shop)
{
    return shop->lease_ms;
}

/* ---- selling ----------------------------------------------------------------------------------- */

static void free_replies(lk_reply **replies, size_t count)
{
    for (size_t i = 0; i < count; i++)
        lk_reply_free(replies[i]);
}

bool shop_read(struct shop *shop)
{
    struct lk_command commands[BY_HAND_READS];
    lk_reply *replies[BY_HAND_READS] = {0};

    shop->is_read = false;
    if (left_ms(shop) == 0) return false;
    by_hand_reads(&shop->hand, commands);
    if (lk_client_call(shop->hand.ctx->client, commands, BY_HAND_READS, left_ms(shop), replies,
                       NULL) != LK_OK)
        return false;
    shop->is_read = by_hand_decide(&shop->hand, replies, NULL) == LK_OK;
    free_replies(replies, BY_HAND_READS);
    return shop->is_read;
}

bool shop_write(struct shop *shop)
{
    struct lk_command commands[BY_HAND_WRITES];
    lk_reply *replies[BY_HAND_WRITES] = {0};
    bool is_written = true;

    if (!shop->is_read) return false;
    if (shop->hand.sold == 0) return true;
    by_hand_pause(&shop->hand);
    if (left_ms(shop) == 0) return false;
    by_hand_writes(&shop->hand, commands);
    lk_status status = lk_client_call(shop->hand.ctx->client, commands, BY_HAND_WRITES,
                                      left_ms(shop), replies, NULL);
    for (size_t i = 0; i < BY_HAND_WRITES && status == LK_OK; i++)
        is_written = is_written && lk_reply_type_of(replies[i]) != LK_REPLY_ERROR;
    if (status == LK_OK) free_replies(replies, BY_HAND_WRITES);
    if (status == LK_UNKNOWN || !is_written) shop->doubt = LK_UNKNOWN; /* perhaps in part */
    return status == LK_OK && is_written;
}

static const char if_script[] = "-- shop_write_if\n"
                                "local void = redis.call('HGET', KEYS[5], ARGV[2])\n"
                                "if void and tonumber(void) >= tonumber(ARGV[3]) then\n"
                                "  return redis.error_reply('VOID this attempt was given up')\n"
                                "end\n"
                                "if not (%s) then return 0 end\n"
                                "local at = 4 -- how many words, the words; again and again\n"
                                "while ARGV[at] do\n"
                                "  local count = tonumber(ARGV[at])\n"
                                "  redis.call(unpack(ARGV, at + 1, at + count))\n"
                                "  at = at + 1 + count\n"
                                "end\n"
                                "return 1\n";

/* EVAL script 5 key ledger orders stock void, argument, the attempt, the three commands. */
static bool eval_writes(struct shop *shop, const char *script, const char *key,
                        const char *argument)
{
    struct lk_command writes[BY_HAND_WRITES];
    char counts[BY_HAND_WRITES][24];
    char attempt[24];
    lk_reply *reply = NULL;
    size_t used = 0;
    size_t room = FIXED_WORDS;

    by_hand_writes(&shop->hand, writes);
    (void)snprintf(attempt, sizeof attempt, "%" PRId64, shop->hand.ctx->attempt);
    for (size_t i = 0; i < BY_HAND_WRITES; i++)
        room += 1 + writes[i].count;
    struct lk_bytes *words = calloc(room, sizeof *words);
    if (!words) return false;
    words[used++] = LK_BYTES("EVAL");
    words[used++] = lk_bytes_of(script);
    words[used++] = LK_BYTES("5");
    words[used++] = lk_bytes_of(key);
    for (size_t i = 0; i < BY_HAND_WRITES; i++)
        words[used++] = writes[i].args[1];
    words[used++] = shop->hand.keys.key[KEY_VOID];
    words[used++] = lk_bytes_of(argument);
    words[used++] = lk_bytes_of(shop->hand.ctx->process);
    words[used++] = lk_bytes_of(attempt);
    for (size_t i = 0; i < BY_HAND_WRITES; i++) {
        (void)snprintf(counts[i], sizeof counts[i], "%zu", writes[i].count);
        words[used++] = lk_bytes_of(counts[i]);
        memcpy(words + used, writes[i].args, writes[i].count * sizeof *words);
        used += writes[i].count;
    }
    lk_status status = call(shop, words, used, &reply);
    if (status == LK_UNKNOWN) shop->doubt = status;
    bool is_written = lk_reply_integer(reply, 0) == 1;
    lk_reply_free(reply);
    free(words);
    return is_written;
}

bool shop_write_if(struct shop *shop, const char *condition, const char *key, const char *argument)
{
    char *script = NULL;
    bool is_written = false;

    if (!shop->is_read) return false;
    if (shop->hand.sold == 0) return true;
    by_hand_pause(&shop->hand);
    if (asprintf(&script, if_script, condition) < 0) return false;
    is_written = eval_writes(shop, script, key, argument);
    free(script);
    return is_written;
}

/* ---- the guard ---------------------------------------------------------------------------------- */

static bool make_token(struct shop *shop)
{
    unsigned char bytes[TOKEN_BYTES];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) return false;
    hex_write(bytes, sizeof bytes, shop->token);
    return true;
}

static void forget_answers(struct shop *shop)
{
    while (shop->answer_count > 0)
        free(shop->answers[--shop->answer_count]);
}

/* One call of sell(); BUSY is the only status after which another makes sense. */
static guard_status sell_once(struct shop *shop)
{
    shop->is_read = false;
    if (!make_token(shop)) return GUARD_UNAVAILABLE;
    enum sold sold = sell(shop);
    forget_answers(shop);
    if (shop->doubt == LK_UNKNOWN) return GUARD_UNKNOWN;
    if (sold == BUSY) return GUARD_BUSY;
    return shop->is_read ? GUARD_DONE : GUARD_UNAVAILABLE;
}

static struct guard_result exercise_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                         size_t count)
{
    int64_t now_ms = clock_mono_ms();
    struct guard_result result = {.status = GUARD_UNAVAILABLE};
    struct shop *shop = calloc(1, sizeof *shop);

    if (shop && by_hand_make(ctx, batch, count, &shop->hand)) {
        shop->deadline_ms = now_ms + ctx->limit_ms;
        (void)snprintf(shop->lease_ms, sizeof shop->lease_ms, "%" PRId64, ctx->lease_ms);
        result.status = sell_once(shop);
        while (result.status == GUARD_BUSY && clock_mono_ms() < now_ms + ctx->wait_ms) {
            clock_pause_ms(AGAIN_MS);
            result.status = sell_once(shop);
        }
        if (result.status == GUARD_DONE) by_hand_set_outcomes(&shop->hand);
    }
    if (shop) by_hand_done(&shop->hand);
    free(shop);
    return result;
}

const struct guard guard_exercise = {
    .name = "exercise",
    .idea = "the one you are writing (make exercise)",
    .flaw = NULL,
    .expected = VERDICT_SOUND,
    .sell = exercise_sell,
};
