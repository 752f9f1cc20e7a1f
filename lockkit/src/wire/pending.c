/*
 * A connection that owes answers cannot be lent, and closing it would not take back what was sent. So
 * it waits here, in a list under one mutex, and is looked at by whoever needs a connection and, now
 * and then, by the pool's thread. Those looks never wait, so they are made under the mutex: an owner
 * who comes for its connection must not miss it. Any thread.
 */
#include "pending.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "reply.h"
#include "script.h"

enum {
    DEBTS_MAX = 1024,
    AGAIN_MS = 50, /* a server that has refused is asked again after that */
};

struct parked {
    struct lki_redis *redis;
    uint64_t ticket;
    unsigned owed;
    struct lki_debt *debt; /* owned; NULL: none */
    int64_t until;
};

struct lki_pending {
    pthread_mutex_t mutex;  /* guards all below */
    uint64_t tickets;       /* given out so far */
    struct lki_debt *debts; /* in the order of coming */
    size_t debt_count;
    int64_t debts_rest_until;
    bool has_taken_debt; /* and it may not be anywhere here yet */
    size_t count;
    struct parked places[]; /* in the order of coming */
};

/* ---- debts --------------------------------------------------------------------------------------- */

static void owe_locked(struct lki_pending *pending, struct lki_debt *debt)
{
    if (!debt) return;
    if (pending->debt_count >= DEBTS_MAX || debt->until <= lki_clock_now()) {
        lki_debt_free(debt);
        return;
    }
    struct lki_debt **end = &pending->debts;
    while (*end)
        end = &(*end)->next;
    debt->next = NULL;
    *end = debt;
    pending->debt_count++;
}

void lki_pending_owe(struct lki_pending *pending, struct lki_debt *debt)
{
    (void)pthread_mutex_lock(&pending->mutex);
    owe_locked(pending, debt);
    (void)pthread_mutex_unlock(&pending->mutex);
}

struct lki_debt *lki_pending_take_debt(struct lki_pending *pending)
{
    struct lki_debt *debt = NULL;
    int64_t now = lki_clock_now();

    (void)pthread_mutex_lock(&pending->mutex);
    while (pending->debts_rest_until <= now && (debt = pending->debts)) {
        pending->debts = debt->next;
        pending->debt_count--;
        if (debt->until > now) break;
        lki_debt_free(debt);
        debt = NULL;
    }
    pending->has_taken_debt = debt != NULL;
    (void)pthread_mutex_unlock(&pending->mutex);
    return debt;
}

void lki_pending_pass_on(struct lki_pending *pending, void (*owe)(void *arg, struct lki_debt *debt),
                         void *arg)
{
    (void)pthread_mutex_lock(&pending->mutex);
    struct lki_debt *debt = pending->debts;
    pending->debts = NULL;
    pending->debt_count = 0;
    (void)pthread_mutex_unlock(&pending->mutex);
    while (debt) {
        struct lki_debt *next = debt->next;

        owe(arg, debt);
        debt = next;
    }
}

bool lki_pending_owes(struct lki_pending *pending)
{
    (void)pthread_mutex_lock(&pending->mutex);
    bool is_any = pending->debts || pending->has_taken_debt;
    for (size_t i = 0; i < pending->count; i++)
        is_any |= pending->places[i].debt != NULL;
    (void)pthread_mutex_unlock(&pending->mutex);
    return is_any;
}

/* ---- connections --------------------------------------------------------------------------------- */

uint64_t lki_pending_enter(struct lki_pending *pending, struct lki_redis *redis, unsigned owed,
                           struct lki_debt *debt, int64_t until)
{
    (void)pthread_mutex_lock(&pending->mutex);
    uint64_t ticket = ++pending->tickets;
    pending->places[pending->count++] = (struct parked){redis, ticket, owed, debt, until};
    (void)pthread_mutex_unlock(&pending->mutex);
    return ticket;
}

static void remove_locked(struct lki_pending *pending, size_t i)
{
    pending->count--;
    memmove(&pending->places[i], &pending->places[i + 1],
            (pending->count - i) * sizeof pending->places[0]);
}

struct lki_redis *lki_pending_leave(struct lki_pending *pending, uint64_t ticket,
                                    unsigned most_owed, unsigned *out_owed,
                                    struct lki_debt **out_debt)
{
    struct lki_redis *redis = NULL;

    (void)pthread_mutex_lock(&pending->mutex);
    for (size_t i = 0; i < pending->count && !redis; i++) {
        struct parked *place = &pending->places[i];

        if (place->ticket != ticket || place->owed > most_owed) continue;
        redis = place->redis;
        *out_owed = place->owed;
        *out_debt = place->debt;
        remove_locked(pending, i);
    }
    (void)pthread_mutex_unlock(&pending->mutex);
    return redis;
}

/* Read what has come. Whether it is over: all was answered, the connection ended, or time is up. */
static bool is_over(struct parked *place)
{
    while (place->owed > 0) {
        lk_reply *reply = NULL;
        lk_status status = lki_redis_receive(place->redis, &reply, NULL);
        bool is_paid = lki_debt_is_paid(reply);
        bool is_astray = lki_reply_kin(reply) != LKI_OF_ANY;

        if (status != LK_OK) return true;
        if (!reply) break;
        lk_reply_free(reply);
        if (--place->owed > 0) continue;
        if (place->debt) place->debt->is_astray = is_astray;
        if (!is_paid) continue;
        lki_debt_free(place->debt);
        place->debt = NULL;
    }
    if (place->owed == 0) return true;
    if (lki_clock_left_ms(place->until) > 0) return false;
    lki_redis_cut(place->redis);
    (void)lki_redis_is_usable(place->redis);
    return true;
}

struct lki_redis *lki_pending_collect(struct lki_pending *pending)
{
    struct lki_redis *redis = NULL;

    (void)pthread_mutex_lock(&pending->mutex);
    for (size_t i = 0; i < pending->count && !redis; i++) {
        struct parked *place = &pending->places[i];

        if (!is_over(place)) continue;
        redis = place->redis;
        if (place->debt && place->owed == 0) /* else its connection has ended */
            pending->debts_rest_until = lki_clock_after_ms(AGAIN_MS);
        owe_locked(pending, place->debt);
        remove_locked(pending, i);
    }
    (void)pthread_mutex_unlock(&pending->mutex);
    return redis;
}

bool lki_pending_is_empty(struct lki_pending *pending)
{
    (void)pthread_mutex_lock(&pending->mutex);
    bool is_empty = pending->count == 0 && !pending->debts;
    (void)pthread_mutex_unlock(&pending->mutex);
    return is_empty;
}

/* ---- life ---------------------------------------------------------------------------------------- */

struct lki_pending *lki_pending_new(unsigned size)
{
    struct lki_pending *pending = calloc(1, sizeof *pending + size * sizeof pending->places[0]);

    if (!pending) return NULL;
    (void)pthread_mutex_init(&pending->mutex, NULL);
    return pending;
}

void lki_pending_free(struct lki_pending *pending)
{
    if (!pending) return;
    while (pending->count > 0) {
        struct parked *place = &pending->places[--pending->count];

        lki_debt_free(place->debt);
        lki_redis_close(place->redis);
    }
    while (pending->debts) {
        struct lki_debt *debt = pending->debts;

        pending->debts = debt->next;
        lki_debt_free(debt);
    }
    (void)pthread_mutex_destroy(&pending->mutex);
    free(pending);
}
