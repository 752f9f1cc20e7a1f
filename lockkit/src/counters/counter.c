/*
 * A step changes a number that has no owner, so after a lost answer the number alone does not show whether the
 * step was done. Therefore each handle has a claim key on the server: the number of its last step, which the
 * script writes atomically with the change. When a step is repeated, the script finds its number and changes
 * nothing; an undo moves the claim ahead of the step, which is refused if it arrives later. The claim key outlives
 * anything that a connection may still deliver, and then expires. A step that is repeated after that (the process
 * was suspended) ends as LOST, and is not done again. Threads: the handle's, except for cancelling.
 */
#include "counter.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/name.h"
#include "locks/lock.h"
#include "wire/reply.h"

enum { CLAIM_MS = 60000, CLAIM_COMMANDS = 4, STEP_TRIES = 2 };

/* ---- life ------------------------------------------------------------------------------------ */

lk_status lki_counter_init(struct lki_counter *counter, lk_client *client, const char *key,
                           struct lk_error *err)
{
    size_t len = key ? strlen(key) : 0;

    counter->step = 1;
    lki_waiter_init(&counter->waiter, counter->waiter.rule);
    counter->waiter.cancelled_by = &counter->is_cancelled;
    if (!client) return LKI_FAIL(err, LK_INVALID, "no client (NULL)");
    if (!counter->is_served && lki_context_check_redis(client, counter->kind, err) != LK_OK)
        return LK_INVALID;
    if (len < 1 || len > LKI_KEY_MAX)
        return LKI_FAIL(err, LK_INVALID, "a key has 1 to %d bytes", LKI_KEY_MAX);
    counter->client = lki_context_ref(client);
    counter->waiter.is_alone = lki_context_is_by_session(client);
    counter->key = strdup(key);
    if (!counter->key || !counter->channel) return LKI_FAIL(err, LK_NO_MEMORY, "%s", key);
    lk_status status = lki_context_check_name(client, key, err);
    return status == LK_OK ? lki_context_check_helper(client, key, counter->channel, err) : status;
}

lk_status lki_counter_name_claim(struct lki_counter *counter, struct lk_error *err)
{
    char owner[LKI_OWNER_MAX];
    char suffix[LKI_OWNER_MAX + sizeof "lockkit_claim:"];

    lki_context_owner(counter->client, owner);
    (void)snprintf(suffix, sizeof suffix, "lockkit_claim:%s", owner);
    counter->claim = lki_name_suffix(counter->key, suffix);
    return counter->claim ? LK_OK : LKI_FAIL(err, LK_NO_MEMORY, "%s", counter->key);
}

void lki_counter_done(struct lki_counter *counter)
{
    lki_waiter_done(&counter->waiter);
    free(counter->claim);
    free(counter->channel);
    free(counter->key);
    lki_context_unref(counter->client);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static unsigned long this_thread(void)
{
    return (unsigned long)pthread_self();
}

lk_status lki_counter_enter(struct lki_counter *counter, struct lk_error *err)
{
    unsigned long nobody = 0;

    if (!counter) return LKI_FAIL(err, LK_INVALID, "no handle (NULL)");
    lk_status status = lki_context_check(counter->client, err);
    if (status != LK_OK || atomic_compare_exchange_strong(&counter->user, &nobody, this_thread()))
        return status;
    return LKI_FAIL(err, LK_INVALID, "%s: another thread is using this handle: one at a time",
                    counter->key);
}

lk_status lki_counter_leave(struct lki_counter *counter, lk_status status)
{
    unsigned long ours = this_thread();

    if (counter) (void)atomic_compare_exchange_strong(&counter->user, &ours, 0);
    return status;
}

lk_status lki_counter_check_number(int64_t number, int64_t least, const char *what,
                                   struct lk_error *err)
{
    if (number >= least && number <= INT32_MAX) return LK_OK;
    return LKI_FAIL(err, LK_INVALID, "%s: %" PRId64 " is not between %" PRId64 " and %d", what,
                    number, least, INT32_MAX);
}

/* ---- round trips ----------------------------------------------------------------------------- */

/* A step on a backend, in place of a script. */
static lk_status ask_backend(const struct lki_counter *counter, const char *script, int64_t number,
                             long long *out_answer, struct lk_error *err)
{
    return counter->client->backend->latch(counter, script, number, out_answer, err);
}

static lk_status send_step(const struct lki_counter *counter, struct lki_step *step,
                           struct lk_error *err)
{
    bool is_synced = true;
    char words[3][LKI_NUMBER_MAX];
    int64_t command_ms = lki_clock_left_ms(lki_context_deadline(counter->client, 0));
    bool is_again = counter->is_unsettled && !step->is_undoing;
    struct lki_call call = {.script = step->script,
                            .preamble = is_again ? "claim_again" : NULL,
                            .keys = {lk_bytes_of(counter->key), lk_bytes_of(counter->claim),
                                     lk_bytes_of(counter->channel)},
                            .key_count = 3,
                            .args = {lki_number(words[0], step->number),
                                     lki_number(words[1], (long long)counter->step),
                                     lki_number(words[2], CLAIM_MS + CLAIM_COMMANDS * command_ms)},
                            .arg_count = 3,
                            .undo_until = step->is_undoing ? lki_clock_after_ms(CLAIM_MS) : 0,
                            .out_is_synced = step->is_to_sync ? &is_synced : NULL};
    long long answer[2] = {0};
    lk_reply *reply = NULL;

    if (counter->is_served) {
        step->is_taken = true;
        return ask_backend(counter, step->script, step->number, &step->n, err);
    }
    lk_status status = lki_call_reply(
        counter->client, &call, lki_context_deadline(counter->client, step->limit_ms), &reply, err);

    if (status == LK_OK) status = lki_reply_integers(reply, answer, 2, err);
    if (status != LK_OK) return status;
    if (answer[0] < 0)
        return LKI_FAIL(err, LK_LOST, "%s: asked again too late: the step was taken once, or never",
                        counter->key);
    step->is_taken = answer[0] == 1;
    step->n = answer[1];
    return step->is_taken ? lki_exchange_check_synced(counter->client, is_synced, err) : LK_OK;
}

/* End a step. Its number and the next one are used up: the latter is that of its undo. */
static void end_step(struct lki_counter *counter)
{
    counter->step += 2;
    counter->is_unsettled = false;
}

/* Whether the claim of the step, if it had been done, would still exist. */
static bool would_be_known(const struct lki_counter *counter)
{
    return lki_clock_now() - counter->sent_at < (int64_t)CLAIM_MS * NS_PER_MS;
}

lk_status lki_counter_step(struct lki_counter *counter, struct lki_step *step, struct lk_error *err)
{
    lk_status status = LK_UNKNOWN;

    if (!counter->is_unsettled) counter->sent_at = lki_clock_now();
    for (int i = 0; i < STEP_TRIES && status == LK_UNKNOWN; i++) {
        status = send_step(counter, step, err);
        if (status == LK_LOST && would_be_known(counter)) status = send_step(counter, step, err);
        if (status == LK_UNKNOWN) counter->is_unsettled = true;
    }
    if (status == LK_OK) {
        if (step->is_taken) end_step(counter);
    } else if (status == LK_LOST || (status == LK_SERVER && !counter->is_unsettled)) {
        end_step(counter); /* an error may have written the claim without the change */
    } else if (status == LK_UNSYNCED) {
        counter->is_unsettled = true;
    } else if (counter->is_unsettled) {
        status = LK_UNKNOWN; /* of the first attempt, whatever this one answered */
        if (err) err->code = status;
    }
    return status;
}

lk_status lki_counter_get(const struct lki_counter *counter, int64_t *out_number,
                          struct lk_error *err)
{
    struct lk_bytes words[] = {LK_BYTES("GET"), lk_bytes_of(counter->key)};
    lk_reply *reply = NULL;
    char *end = NULL;
    long long served = 0;
    lk_status status =
        counter->is_served
            ? ask_backend(counter, "latch_count", 0, &served, err)
            : lk_client_call(counter->client, &(struct lk_command){words, 2}, 1, 0, &reply, err);

    if (status == LK_OK && counter->is_served) *out_number = served;
    if (counter->is_served && status != LK_UNKNOWN) return status;
    if (status == LK_UNKNOWN) { /* it was only a read */
        if (err) err->code = LK_UNREACHABLE;
        return LK_UNREACHABLE;
    }
    if (status != LK_OK) return status;
    const char *text = lk_reply_bytes(reply).data;
    long long number = text ? strtoll(text, &end, 10) : 0;
    if (lk_reply_type_of(reply) == LK_REPLY_ERROR) {
        status = lki_exchange_fail(counter->client, reply, err);
    } else if (text && (end == text || *end != '\0')) {
        status = LKI_FAIL(err, LK_SERVER, "%s: its value is not a number", counter->key);
    } else {
        *out_number = number;
    }
    lk_reply_free(reply);
    return status;
}

lk_status lki_counter_try_set(const struct lki_counter *counter, int64_t number,
                              const char *message, struct lk_error *err)
{
    char word[LKI_NUMBER_MAX];
    struct lki_call call = {.script = "counter_try_set",
                            .keys = {lk_bytes_of(counter->key), lk_bytes_of(counter->channel)},
                            .key_count = 2,
                            .args = {lki_number(word, number), lk_bytes_of(message)},
                            .arg_count = 2};
    long long is_set = 0;
    lk_status status =
        counter->is_served
            ? ask_backend(counter, call.script, number, &is_set, err)
            : lki_call_integer(counter->client, &call, lki_context_deadline(counter->client, 0),
                               &is_set, err);

    if (status != LK_OK || is_set == 1) return status;
    return LKI_FAIL(err, LK_BUSY, "%s: it is set already", counter->key);
}

lk_status lki_counter_delete(const struct lki_counter *counter, const char *other_key,
                             const char *message, struct lk_error *err)
{
    struct lki_call call = {.script = "counter_delete",
                            .keys = {lk_bytes_of(counter->key), lk_bytes_of(counter->channel)},
                            .key_count = 2};
    long long was_there = 0;

    if (other_key) call.keys[call.key_count++] = lk_bytes_of(other_key);
    if (message) call.args[call.arg_count++] = lk_bytes_of(message);
    lk_status status =
        counter->is_served
            ? ask_backend(counter, call.script, 0, &was_there, err)
            : lki_call_integer(counter->client, &call, lki_context_deadline(counter->client, 0),
                               &was_there, err);
    if (status != LK_OK || was_there == 1) return status;
    return LKI_FAIL(err, LK_NOT_OWNER, "%s: there is none", counter->key);
}

/* ---- waiting --------------------------------------------------------------------------------- */

struct lki_pursuit lki_counter_pursuit(struct lki_counter *counter, int64_t units, int64_t wait_ms)
{
    counter->waiter.units = units > 0 ? (size_t)units : 1;
    return (struct lki_pursuit){.client = counter->client,
                                .waiter = &counter->waiter,
                                .what = counter->key,
                                .channel = counter->channel,
                                .deadline = lki_clock_after_ms(wait_ms),
                                .cancelled = wait_ms > 0 ? &counter->is_cancelled : NULL};
}

void lki_counter_cancel(struct lki_counter *counter)
{
    if (lki_context_check(counter->client, NULL) != LK_OK) return;
    atomic_store(&counter->is_cancelled, true);
    lki_hub_cancel(counter->client->hub, &counter->waiter);
}

void lki_counter_emit(const struct lki_counter *counter, struct lk_event event, int64_t begin)
{
    event.at_ns = lki_clock_now();
    event.duration_ns = event.at_ns - begin;
    event.kind = counter->kind;
    event.key = counter->key;
    lki_context_emit(counter->client, event);
}
