/*
 * A connection that owes answers cannot be lent, and closing it would not take back what was sent. So
 * it waits here, in a list under one mutex, and is looked at by whoever needs a connection and, now
 * and then, by the pool's thread. Those looks never wait, so they are made under the mutex: an owner
 * who comes for its connection must not miss it. Any thread.
 */
#include "parking.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "script.h"

enum { DEBTS_MAX = 1024 };

struct lki_debt {
    struct lki_debt *next;
    int64_t until;
    size_t key_len;
    size_t token_len;
    size_t channel_len; /* 0: none */
    char words[];       /* key, token, channel */
};

struct parked {
    struct lki_redis *redis;
    uint64_t ticket;
    unsigned owed;
    struct lki_debt *debt; /* owned; NULL: none */
    int64_t until;
};

struct lki_parking {
    pthread_mutex_t mutex; /* guards all below */
    uint64_t tickets;      /* given out so far */
    struct lki_debt *debts;
    size_t debt_count;
    size_t count;
    struct parked places[]; /* in the order of coming */
};

/* ---- debts --------------------------------------------------------------------------------------- */

struct lki_debt *lki_debt_new(const char *key, const char *token, const char *wake_channel,
                              int64_t until)
{
    size_t key_len = strlen(key);
    size_t token_len = strlen(token);
    size_t channel_len = wake_channel ? strlen(wake_channel) : 0;
    struct lki_debt *debt = malloc(sizeof *debt + key_len + token_len + channel_len);

    if (!debt) return NULL;
    *debt = (struct lki_debt){
        .until = until, .key_len = key_len, .token_len = token_len, .channel_len = channel_len};
    char *end = mempcpy(mempcpy(debt->words, key, key_len), token, token_len);
    if (wake_channel) (void)memcpy(end, wake_channel, channel_len);
    return debt;
}

void lki_debt_free(struct lki_debt *debt)
{
    free(debt);
}

int64_t lki_debt_until(const struct lki_debt *debt)
{
    return debt->until;
}

/* By text, or introduced: nobody would be there to hear that the digest is unknown. */
lk_status lki_debt_send(const struct lki_debt *debt, struct lki_redis *redis,
                        const struct lki_endpoint *endpoint, struct lk_error *err)
{
    bool is_told = debt->channel_len > 0;
    const struct lk_script_source *undo =
        lki_script_named(is_told ? "mutex_release" : "redlock_undo");
    bool has_loader = endpoint->loader != NULL;
    const char *token = debt->words + debt->key_len;
    struct lk_bytes words[6];
    size_t count = 0;

    words[count++] = has_loader ? LK_BYTES("EVALSHA") : LK_BYTES("EVAL");
    words[count++] = lk_bytes_of(has_loader ? undo->sha1 : undo->source);
    words[count++] = is_told ? LK_BYTES("2") : LK_BYTES("1");
    words[count++] = (struct lk_bytes){debt->words, debt->key_len};
    if (is_told) words[count++] = (struct lk_bytes){token + debt->token_len, debt->channel_len};
    words[count++] = (struct lk_bytes){token, debt->token_len};
    int64_t now = lki_clock_now();
    lk_status status = LK_OK;

    if (has_loader) status = lki_redis_introduce(redis, endpoint, undo->source, now, err);
    if (status != LK_OK) return status;
    return lki_redis_send(redis, &(struct lk_command){words, count}, 1, now, err);
}

static void owe_locked(struct lki_parking *parking, struct lki_debt *debt)
{
    if (!debt) return;
    if (parking->debt_count >= DEBTS_MAX || debt->until <= lki_clock_now()) {
        lki_debt_free(debt);
        return;
    }
    debt->next = parking->debts;
    parking->debts = debt;
    parking->debt_count++;
}

void lki_parking_owe(struct lki_parking *parking, struct lki_debt *debt)
{
    (void)pthread_mutex_lock(&parking->mutex);
    owe_locked(parking, debt);
    (void)pthread_mutex_unlock(&parking->mutex);
}

struct lki_debt *lki_parking_take_debt(struct lki_parking *parking)
{
    struct lki_debt *debt = NULL;

    (void)pthread_mutex_lock(&parking->mutex);
    while ((debt = parking->debts)) {
        parking->debts = debt->next;
        parking->debt_count--;
        if (debt->until > lki_clock_now()) break;
        lki_debt_free(debt);
    }
    (void)pthread_mutex_unlock(&parking->mutex);
    return debt;
}

/* ---- connections --------------------------------------------------------------------------------- */

uint64_t lki_parking_enter(struct lki_parking *parking, struct lki_redis *redis, unsigned owed,
                           struct lki_debt *debt, int64_t until)
{
    (void)pthread_mutex_lock(&parking->mutex);
    uint64_t ticket = ++parking->tickets;
    parking->places[parking->count++] = (struct parked){redis, ticket, owed, debt, until};
    (void)pthread_mutex_unlock(&parking->mutex);
    return ticket;
}

static void remove_locked(struct lki_parking *parking, size_t i)
{
    parking->count--;
    memmove(&parking->places[i], &parking->places[i + 1],
            (parking->count - i) * sizeof parking->places[0]);
}

struct lki_redis *lki_parking_leave(struct lki_parking *parking, uint64_t ticket,
                                    unsigned most_owed, unsigned *out_owed,
                                    struct lki_debt **out_debt)
{
    struct lki_redis *redis = NULL;

    (void)pthread_mutex_lock(&parking->mutex);
    for (size_t i = 0; i < parking->count && !redis; i++) {
        struct parked *place = &parking->places[i];

        if (place->ticket != ticket || place->owed > most_owed) continue;
        redis = place->redis;
        *out_owed = place->owed;
        *out_debt = place->debt;
        remove_locked(parking, i);
    }
    (void)pthread_mutex_unlock(&parking->mutex);
    return redis;
}

/* Read what has come. Whether it is over: all was answered, the connection ended, or time is up. */
static bool is_over(struct parked *place)
{
    while (place->owed > 0) {
        lk_reply *reply = NULL;
        lk_status status = lki_redis_receive(place->redis, &reply, NULL);
        bool is_integer = lk_reply_type_of(reply) == LK_REPLY_INTEGER;

        if (status != LK_OK) return true;
        if (!reply) break;
        lk_reply_free(reply);
        if (--place->owed > 0 || !is_integer) continue;
        lki_debt_free(place->debt);
        place->debt = NULL;
    }
    if (place->owed == 0) return true;
    if (lki_clock_left_ms(place->until) > 0) return false;
    lki_redis_cut(place->redis);
    (void)lki_redis_is_usable(place->redis);
    return true;
}

struct lki_redis *lki_parking_collect(struct lki_parking *parking)
{
    struct lki_redis *redis = NULL;

    (void)pthread_mutex_lock(&parking->mutex);
    for (size_t i = 0; i < parking->count && !redis; i++) {
        struct parked *place = &parking->places[i];

        if (!is_over(place)) continue;
        redis = place->redis;
        owe_locked(parking, place->debt);
        remove_locked(parking, i);
    }
    (void)pthread_mutex_unlock(&parking->mutex);
    return redis;
}

bool lki_parking_is_empty(struct lki_parking *parking)
{
    (void)pthread_mutex_lock(&parking->mutex);
    bool is_empty = parking->count == 0 && !parking->debts;
    (void)pthread_mutex_unlock(&parking->mutex);
    return is_empty;
}

/* ---- life ---------------------------------------------------------------------------------------- */

struct lki_parking *lki_parking_new(unsigned size)
{
    struct lki_parking *parking = calloc(1, sizeof *parking + size * sizeof parking->places[0]);

    if (!parking) return NULL;
    (void)pthread_mutex_init(&parking->mutex, NULL);
    return parking;
}

void lki_parking_free(struct lki_parking *parking)
{
    if (!parking) return;
    while (parking->count > 0) {
        struct parked *place = &parking->places[--parking->count];

        lki_debt_free(place->debt);
        lki_redis_close(place->redis);
    }
    while (parking->debts) {
        struct lki_debt *debt = parking->debts;

        parking->debts = debt->next;
        lki_debt_free(debt);
    }
    (void)pthread_mutex_destroy(&parking->mutex);
    free(parking);
}
