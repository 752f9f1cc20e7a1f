/*
 * See waiting_room.h. Rooms once known stay so; one thread steps them, others read under a room's mutex, which
 * is held for no I/O.
 */
#include "waiting_room.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/worker.h"
#include "draw.h"
#include "sale/known.h"

enum { STEP_MS = 200, NONE_STEP_MS = 1000 };

struct room {
    struct known_sale base;
    atomic_bool is_kept;          /* false: the sale has none, as far as is known */
    _Atomic int64_t next_step_ms; /* monotonic; whoever moves it on takes the step */
    pthread_mutex_t mutex;
    struct waiting_step now; /* under it, as the next; admit 0: there is none */
    unsigned char commitment[TOKEN_MAC_SIZE];
    atomic_bool has_failed; /* the last step, and that was said */
};

struct waiting_rooms {
    struct store *store; /* borrowed */
    void (*on_failure)(void *arg);
    void *arg;
    struct known rooms;
    struct worker worker; /* its mutex: for their growing */
};

const char *waiting_turn_name(waiting_turn turn)
{
    static const char *const names[] = {WAITING_TURN_LIST(LIST_NAME)};

    return (unsigned)turn < WAITING_TURN_COUNT ? names[turn] : "?";
}

/* ---- rooms ----------------------------------------------------------------------------------------- */

static void free_room(void *sale)
{
    struct room *room = sale;

    (void)pthread_mutex_destroy(&room->mutex);
    free(room);
}

/* The room, unless another thread was faster; then that one's. */
static struct room *add(struct waiting_rooms *self, struct room *room)
{
    (void)pthread_mutex_lock(&self->worker.mutex);
    struct room *other = known_find(&self->rooms, room->base.id);
    if (!other) known_add(&self->rooms, room);
    (void)pthread_mutex_unlock(&self->worker.mutex);
    if (!other) return room;
    free_room(room);
    return other;
}

static struct token_key key_of(const unsigned char bytes[WAITING_SECRET_SIZE])
{
    struct token_key key = {.len = WAITING_SECRET_SIZE};

    memcpy(key.bytes, bytes, WAITING_SECRET_SIZE);
    return key;
}

/* step: what Redis says; all zero: there is no such sale, or it has no room. */
static void note(struct room *room, const struct waiting_step *step)
{
    (void)pthread_mutex_lock(&room->mutex);
    int64_t admitted = room->now.admitted;
    bool is_same = memcmp(room->now.key, step->key, sizeof step->key) == 0;
    struct token_key seed = key_of(step->seed);

    room->now = *step;
    if (!is_same) (void)draw_commit(&seed, room->commitment);
    /* The server may forget, by a failover; whoever was let in stays so. */
    if (is_same && step->admitted < admitted) room->now.admitted = admitted;
    atomic_store(&room->is_kept, step->admit > 0);
    (void)pthread_mutex_unlock(&room->mutex);
}

static struct waiting_step read_now(struct room *room)
{
    (void)pthread_mutex_lock(&room->mutex);
    struct waiting_step now = room->now;
    (void)pthread_mutex_unlock(&room->mutex);
    return now;
}

/* Nobody comes in any more, but an id may come to stand for another sale: it is stepped by who asks. */
static bool is_left(struct room *room)
{
    return !atomic_load(&room->is_kept) || read_now(room).is_over;
}

/* Whether it is time for a step, and this thread's to take it. */
static bool is_due(struct room *room)
{
    int64_t now_ms = clock_mono_ms();
    int64_t due_ms = atomic_load(&room->next_step_ms);
    int64_t span_ms = atomic_load(&room->is_kept) ? STEP_MS : NONE_STEP_MS;

    return now_ms >= due_ms &&
           atomic_compare_exchange_strong(&room->next_step_ms, &due_ms, now_ms + span_ms);
}

static void note_failure(struct room *room, store_status status, const struct lk_error *err)
{
    bool is_failure = status == STORE_FAILED; /* that the store is away is said elsewhere */

    if (!atomic_exchange(&room->has_failed, is_failure) && is_failure)
        log_event(LOG_ERROR, &(struct log_fields){.event = "waiting-room", .sale = room->base.id},
                  "sale %s: its waiting room lets nobody in: %s", room->base.id, err->text);
}

static store_status step(struct waiting_rooms *self, struct room *room, struct lk_error *err)
{
    struct waiting_step now = {.admitted = 0};
    struct lk_error own = {0};
    store_status status = STORE_FAILED;

    if (getrandom(now.key, sizeof now.key, 0) == (ssize_t)sizeof now.key &&
        getrandom(now.seed, sizeof now.seed, 0) == (ssize_t)sizeof now.seed)
        status = store_waiting_step(self->store, room->base.id, &now, &own);
    if (status == STORE_NOT_FOUND) now = (struct waiting_step){.admitted = 0};
    if (status == STORE_OK || status == STORE_NOT_FOUND)
        note(room, &now);
    else
        self->on_failure(self->arg);
    note_failure(room, status, &own);
    if (err) *err = own;
    return status;
}

static store_status open_room(struct waiting_rooms *self, const char *sale_id, struct room **out,
                              struct lk_error *err)
{
    struct sale sale;

    *out = known_find(&self->rooms, sale_id);
    if (*out && is_left(*out) && is_due(*out)) (void)step(self, *out, NULL);
    if (*out) return STORE_OK;
    store_status status = store_load_sale(self->store, sale_id, &sale, err);
    if (status != STORE_OK) return status;
    struct room *room = calloc(1, sizeof *room);
    if (!room) return STORE_FAILED;
    memcpy(room->base.id, sale.id, sizeof room->base.id);
    (void)pthread_mutex_init(&room->mutex, NULL);
    room->next_step_ms = clock_mono_ms() + (sale.waiting.admit > 0 ? STEP_MS : NONE_STEP_MS);
    if (sale.waiting.admit > 0) status = step(self, room, err);
    if (status == STORE_OK) {
        *out = add(self, room);
        return STORE_OK;
    }
    free_room(room);
    return status;
}

/* On the worker's thread. */
static int64_t step_all(void *arg)
{
    struct waiting_rooms *self = arg;

    KNOWN_EACH(room, room, &self->rooms)
    {
        if (worker_is_stopping(&self->worker)) return INT64_MAX;
        if (!is_left(room) && is_due(room)) (void)step(self, room, NULL);
    }
    return clock_mono_ms() + STEP_MS;
}

/* ---- how somebody stands ----------------------------------------------------------------------------- */

static int64_t place_of(const struct waiting_step *now, int64_t number)
{
    struct token_key seed = key_of(now->seed);

    if (number == 0 || now->drawn == WAITING_TO_DRAW) return 0;
    return number > now->drawn ? number : draw_place(&seed, number, now->drawn);
}

static waiting_turn turn_of(const struct waiting_step *now, const struct waiting_view *view)
{
    if (now->is_over) return WAITING_OVER;
    if (view->number == 0) return WAITING_NO_TICKET;
    if (view->place == 0) return WAITING_FOR_DRAW;
    return view->place <= view->admitted ? WAITING_LET_IN : WAITING_IN_LINE;
}

/* now: with a room. */
static void make_view(struct room *room, const struct waiting_step *now, int64_t number,
                      struct waiting_view *out)
{
    *out = (struct waiting_view){.number = number,
                                 .place = place_of(now, number),
                                 .starts_in_ms = now->starts_in_ms,
                                 .admitted = now->admitted,
                                 .given = now->last,
                                 .admit = now->admit,
                                 .drawn = now->drawn};
    int64_t ahead = out->place - now->admitted;
    out->wait_ms = now->starts_in_ms;
    if (ahead > 0) out->wait_ms += (ahead * 1000 + now->admit - 1) / now->admit;
    if (out->drawn >= 0) memcpy(out->seed, now->seed, sizeof out->seed);
    (void)pthread_mutex_lock(&room->mutex);
    memcpy(out->commitment, room->commitment, sizeof out->commitment);
    (void)pthread_mutex_unlock(&room->mutex);
    out->turn = turn_of(now, out);
}

store_status waiting_rooms_view(struct waiting_rooms *self, const struct waiting_asker *who,
                                struct waiting_view *out, struct lk_error *err)
{
    struct ticket good = {.sale_id = who->sale_id, .buyer = who->buyer};
    struct waiting_step now = {.admit = 0};
    struct room *room = NULL;
    store_status status = open_room(self, who->sale_id, &room, err);

    if (status != STORE_OK) return status;
    if (atomic_load_explicit(&room->is_kept, memory_order_relaxed)) now = read_now(room);
    if (now.admit > 0) {
        struct token_key key = key_of(now.key);
        bool is_good = who->ticket && ticket_check(&key, who->ticket, &good);

        make_view(room, &now, is_good ? good.number : 0, out);
    } else {
        *out = (struct waiting_view){.turn = WAITING_NOT_KEPT};
    }
    return STORE_OK;
}

store_status waiting_rooms_join(struct waiting_rooms *self, const struct waiting_asker *who,
                                char out_ticket[TICKET_SIZE], struct waiting_view *out,
                                struct lk_error *err)
{
    struct ticket ticket = {.sale_id = who->sale_id, .buyer = who->buyer};
    struct room *room = NULL;
    store_status status = open_room(self, who->sale_id, &room, err);
    struct waiting_step now = status == STORE_OK ? read_now(room) : (struct waiting_step){0};
    struct token_key key = key_of(now.key);

    if (status == STORE_OK && (now.admit == 0 || now.is_over)) status = STORE_NOT_FOUND;
    if (status == STORE_OK && !(who->ticket && ticket_check(&key, who->ticket, &ticket)))
        status = store_waiting_join(self->store, who->sale_id, who->buyer, &ticket.number, err);
    if (status != STORE_OK) return status;
    if (now.last < ticket.number) now.last = ticket.number; /* it was the latest */
    make_view(room, &now, ticket.number, out);
    return ticket_make(&key, &ticket, out_ticket) ? STORE_OK : STORE_FAILED;
}

/* ---- life -------------------------------------------------------------------------------------------- */

struct waiting_rooms *waiting_rooms_new(struct store *store, void (*on_failure)(void *arg),
                                        void *arg)
{
    struct waiting_rooms *self = calloc(1, sizeof *self);

    if (!self) return NULL;
    self->store = store;
    self->on_failure = on_failure;
    self->arg = arg;
    if (worker_start(&self->worker, step_all, self)) return self;
    free(self);
    return NULL;
}

void waiting_rooms_free(struct waiting_rooms *self)
{
    if (!self) return;
    worker_stop(&self->worker);
    known_free(&self->rooms, free_room);
    free(self);
}
