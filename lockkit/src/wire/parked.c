/*
 * A connection with unanswered commands cannot be lent, and closing it would not cancel them. So it is kept
 * in a list, which is polled by callers that need a connection and periodically by the pool's thread. They
 * never block, so they read under the mutex: lki_parked_take() must not miss a connection. Threads: any.
 */
#include "parked.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "reply.h"
#include "script.h"

enum {
    UNDOS_MAX = 1024,
    AGAIN_MS = 50, /* pause after a refused undo */
};

struct parked_conn {
    struct lki_redis *redis;
    uint64_t ticket;
    unsigned unanswered;
    struct lki_pending_undo *undo; /* owned; NULL: none */
    int64_t until;
};

struct lki_parked {
    pthread_mutex_t mutex;          /* guards all below */
    uint64_t tickets;               /* the last one given out */
    struct lki_pending_undo *undos; /* the oldest first */
    size_t undo_count;
    int64_t undos_paused_until;
    bool has_taken_undo; /* one was taken, and may not be added again yet */
    size_t count;
    struct parked_conn places[]; /* the oldest first */
};

/* ---- undos --------------------------------------------------------------------------------------- */

static void undo_later_locked(struct lki_parked *parked, struct lki_pending_undo *undo)
{
    if (!undo) return;
    if (parked->undo_count >= UNDOS_MAX || undo->until <= lki_clock_now()) {
        lki_pending_undo_free(undo);
        return;
    }
    struct lki_pending_undo **end = &parked->undos;
    while (*end)
        end = &(*end)->next;
    undo->next = NULL;
    *end = undo;
    parked->undo_count++;
}

void lki_parked_undo_later(struct lki_parked *parked, struct lki_pending_undo *undo)
{
    (void)pthread_mutex_lock(&parked->mutex);
    undo_later_locked(parked, undo);
    (void)pthread_mutex_unlock(&parked->mutex);
}

struct lki_pending_undo *lki_parked_take_undo(struct lki_parked *parked)
{
    struct lki_pending_undo *undo = NULL;
    int64_t now = lki_clock_now();

    (void)pthread_mutex_lock(&parked->mutex);
    while (parked->undos_paused_until <= now && (undo = parked->undos)) {
        parked->undos = undo->next;
        parked->undo_count--;
        if (undo->until > now) break;
        lki_pending_undo_free(undo);
        undo = NULL;
    }
    parked->has_taken_undo = undo != NULL;
    (void)pthread_mutex_unlock(&parked->mutex);
    return undo;
}

void lki_parked_hand_over(struct lki_parked *parked,
                          void (*undo_later)(void *arg, struct lki_pending_undo *undo), void *arg)
{
    (void)pthread_mutex_lock(&parked->mutex);
    struct lki_pending_undo *undo = parked->undos;
    parked->undos = NULL;
    parked->undo_count = 0;
    (void)pthread_mutex_unlock(&parked->mutex);
    while (undo) {
        struct lki_pending_undo *next = undo->next;

        undo_later(arg, undo);
        undo = next;
    }
}

bool lki_parked_has_undo(struct lki_parked *parked)
{
    (void)pthread_mutex_lock(&parked->mutex);
    bool is_any = parked->undos || parked->has_taken_undo;
    for (size_t i = 0; i < parked->count; i++)
        is_any |= parked->places[i].undo != NULL;
    (void)pthread_mutex_unlock(&parked->mutex);
    return is_any;
}

/* ---- connections --------------------------------------------------------------------------------- */

uint64_t lki_parked_add(struct lki_parked *parked, struct lki_redis *redis, unsigned unanswered,
                        struct lki_pending_undo *undo, int64_t until)
{
    (void)pthread_mutex_lock(&parked->mutex);
    uint64_t ticket = ++parked->tickets;
    parked->places[parked->count++] = (struct parked_conn){redis, ticket, unanswered, undo, until};
    (void)pthread_mutex_unlock(&parked->mutex);
    return ticket;
}

static void remove_locked(struct lki_parked *parked, size_t i)
{
    parked->count--;
    memmove(&parked->places[i], &parked->places[i + 1],
            (parked->count - i) * sizeof parked->places[0]);
}

struct lki_redis *lki_parked_take(struct lki_parked *parked, uint64_t ticket,
                                  unsigned unanswered_max, unsigned *out_unanswered,
                                  struct lki_pending_undo **out_undo)
{
    struct lki_redis *redis = NULL;

    (void)pthread_mutex_lock(&parked->mutex);
    for (size_t i = 0; i < parked->count && !redis; i++) {
        struct parked_conn *place = &parked->places[i];

        if (place->ticket != ticket || place->unanswered > unanswered_max) continue;
        redis = place->redis;
        *out_unanswered = place->unanswered;
        *out_undo = place->undo;
        remove_locked(parked, i);
    }
    (void)pthread_mutex_unlock(&parked->mutex);
    return redis;
}

/* Read answers. True: all have come, the connection is broken, or it is past its deadline. */
static bool read_answers(struct parked_conn *place)
{
    while (place->unanswered > 0) {
        lk_reply *reply = NULL;
        lk_status status = lki_redis_receive(place->redis, &reply, NULL);
        bool is_done = lki_pending_undo_is_done(reply);
        bool is_moved = lki_reply_error_class(reply) != LKI_ERROR_ANY;

        if (status != LK_OK) return true;
        if (!reply) break;
        lk_reply_free(reply);
        if (--place->unanswered > 0) continue;
        if (place->undo) place->undo->is_moved = is_moved;
        if (!is_done) continue;
        lki_pending_undo_free(place->undo);
        place->undo = NULL;
    }
    if (place->unanswered == 0) return true;
    if (lki_clock_left_ms(place->until) > 0) return false;
    lki_redis_cut(place->redis);
    (void)lki_redis_is_usable(place->redis);
    return true;
}

struct lki_redis *lki_parked_collect(struct lki_parked *parked)
{
    struct lki_redis *redis = NULL;

    (void)pthread_mutex_lock(&parked->mutex);
    for (size_t i = 0; i < parked->count && !redis; i++) {
        struct parked_conn *place = &parked->places[i];

        if (!read_answers(place)) continue;
        redis = place->redis;
        if (place->undo &&
            place->unanswered == 0) /* the undo was refused; else the connection is broken */
            parked->undos_paused_until = lki_clock_after_ms(AGAIN_MS);
        undo_later_locked(parked, place->undo);
        remove_locked(parked, i);
    }
    (void)pthread_mutex_unlock(&parked->mutex);
    return redis;
}

bool lki_parked_is_empty(struct lki_parked *parked)
{
    (void)pthread_mutex_lock(&parked->mutex);
    bool is_empty = parked->count == 0 && !parked->undos;
    (void)pthread_mutex_unlock(&parked->mutex);
    return is_empty;
}

/* ---- life ---------------------------------------------------------------------------------------- */

struct lki_parked *lki_parked_new(unsigned size)
{
    struct lki_parked *parked = calloc(1, sizeof *parked + size * sizeof parked->places[0]);

    if (!parked) return NULL;
    (void)pthread_mutex_init(&parked->mutex, NULL);
    return parked;
}

void lki_parked_free(struct lki_parked *parked)
{
    if (!parked) return;
    while (parked->count > 0) {
        struct parked_conn *place = &parked->places[--parked->count];

        lki_pending_undo_free(place->undo);
        lki_redis_close(place->redis);
    }
    while (parked->undos) {
        struct lki_pending_undo *undo = parked->undos;

        parked->undos = undo->next;
        lki_pending_undo_free(undo);
    }
    (void)pthread_mutex_destroy(&parked->mutex);
    free(parked);
}
