/*
 * One thread compares epoch and last ledger entry of each sold-out sale with Redis every 40 ms, as long as requests
 * for it come: COMPARE_MAX sales in one round trip, because one after the other their books would expire. A book is
 * valid for SALE_BELIEVED_MS after the last comparison was sent, by a clock that also runs during suspend: an
 * instance that was paused, suspended, or cut off from Redis does not answer from an old book. (The epoch alone is
 * not enough: after a failover that lost the last orders, their units can be sold to other buyers between two
 * comparisons, in the same epoch. The new entries have other ids.)
 * A sale of more than a million orders has no book; Redis is asked, in batches.
 *
 * Locks: `mutex` guards the list of sales; a sale's rwlock its book. Neither is held over a call to
 * Redis, nor while the other is taken.
 */
#include "sold_out.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/worker.h"
#include "sale/order_book.h"
#include "store/store_ledger.h"

enum {
    COMPARE_EVERY_MS = 40,
    IDLE_MS = 1000,    /* after this time without requests the comparisons stop */
    FORGET_MS = 30000, /* ... and the book is freed */
    AGAIN_MS = 5000,   /* before another attempt, when a book was incomplete */
    BOOK_MAX = 1000000,
    COMPARE_MAX = 128, /* sales in one round trip */
};

struct sold_out_sale {
    char id[SALE_ID_MAX + 1];
    struct sold_out *owner;
    struct sold_out_sale *next;
    _Atomic int64_t asked_ms; /* monotonic: the last request, or sold_out_mark() */
    atomic_bool has_book;     /* or is reading one */
    pthread_rwlock_t lock;    /* guards all below */
    struct order_book *book;  /* owned; NULL: none */
    int64_t again_ms;         /* monotonic: no attempt to read before; the thread's own */
    int64_t epoch;            /* of the book */
    struct ledger_id last;    /* likewise: the ledger's last entry */
    int64_t fresh_until_ms;   /* monotonic */
    int64_t wrong_ms;         /* monotonic: answers to requests sent until then are ignored */
    unsigned changes;         /* of the servers, when last compared */
};

struct sold_out {
    struct store *store;                 /* borrowed */
    const struct deployment *deployment; /* borrowed; may be NULL */
    struct worker worker;                /* its mutex guards what follows */
    struct sold_out_sale *sales;         /* grows at its head only */
    struct sold_out_sale
        *asked[COMPARE_MAX]; /* the sales of one round trip; only the thread uses these three */
    struct sale_id ids[COMPARE_MAX];
    struct sale_moment moments[COMPARE_MAX];
};

/* ---- asking -------------------------------------------------------------------------------------- */

/* False: the purchase is a replay, which must not be answered from the book. */
static bool answer_from(const struct order_book *book, bool may_replay, struct purchase *purchase)
{
    const char *id = NULL;
    const char *key = NULL;

    if (!order_book_find(book, purchase->buyer, &id, &key)) {
        purchase->outcome = OUTCOME_SOLD_OUT;
        return true;
    }
    bool is_same = purchase->key[0] != '\0' && strcmp(purchase->key, key) == 0;
    if (is_same && !may_replay) return false;
    purchase->outcome = is_same ? OUTCOME_REPLAYED : OUTCOME_ALREADY_ORDERED;
    memcpy(purchase->order_id, id, strlen(id) + 1); /* it came out of a struct order */
    return true;
}

bool sold_out_answer(struct sold_out_sale *sale, struct purchase *purchase)
{
    bool is_known = false;

    if (!sale) return false;
    (void)pthread_rwlock_rdlock(&sale->lock);
    int64_t now_ms = clock_awake_or_not_ms();
    is_known = sale->book && now_ms < sale->fresh_until_ms &&
               sale->changes == deployment_changes(sale->owner->deployment) &&
               answer_from(sale->book, !deployment_is_synced(sale->owner->deployment), purchase);
    (void)pthread_rwlock_unlock(&sale->lock);
    if (is_known &&
        now_ms - atomic_load_explicit(&sale->asked_ms, memory_order_relaxed) > SALE_BELIEVED_MS)
        atomic_store_explicit(&sale->asked_ms, now_ms, memory_order_relaxed);
    return is_known;
}

void sold_out_invalidate(struct sold_out_sale *sale)
{
    if (!sale || !atomic_load(&sale->has_book)) return;
    (void)pthread_rwlock_wrlock(&sale->lock);
    sale->wrong_ms = clock_awake_or_not_ms();
    sale->fresh_until_ms = 0;
    (void)pthread_rwlock_unlock(&sale->lock);
}

void sold_out_mark(struct sold_out_sale *sale)
{
    int64_t now_ms = clock_awake_or_not_ms();

    if (!sale) return;
    if (atomic_exchange(&sale->asked_ms, now_ms) + COMPARE_EVERY_MS > now_ms) return;
    worker_wake(&sale->owner->worker);
}

/* ---- the thread ---------------------------------------------------------------------------------- */

static bool add_to_book(const struct order *order, void *arg)
{
    struct order_book **book = arg;

    if (*book && (order_book_count(*book) >= BOOK_MAX || !order_book_add(*book, order))) {
        order_book_free(*book);
        *book = NULL;
    }
    return *book != NULL;
}

/* Read all orders; NULL when that fails, or when they are too many. */
static struct order_book *read_book(struct store *store, const char *id)
{
    struct order_book *book = order_book_new();

    if (!book || store_scan_orders(store, id, add_to_book, &book, NULL) == STORE_OK) return book;
    order_book_free(book);
    return NULL;
}

/* The state of a sold-out sale at one moment. */
struct end {
    int64_t epoch;
    struct ledger_id last; /* of the ledger */
    int64_t orders;
    int64_t sent_ms;  /* monotonic: before asking */
    unsigned changes; /* likewise: of the servers */
};

static struct end begin_comparison(const struct sold_out *self)
{
    return (struct end){.changes = deployment_changes(self->deployment),
                        .sent_ms = clock_awake_or_not_ms()};
}

/* Whether the sale is sold out at that moment, and no returned units cool. */
static bool read_end(const struct sale_moment *moment, struct end *out)
{
    out->epoch = moment->sale.epoch;
    out->last = moment->last;
    out->orders = moment->orders;
    return sale_state_of(&moment->sale) == SALE_SOLD_OUT && moment->sale.cooling == 0;
}

/* The same, by a request for this sale alone. */
static bool is_sold_out(const struct sold_out_sale *sale, struct end *out)
{
    struct sale_moment moment;

    *out = begin_comparison(sale->owner);
    return store_load_moment(sale->owner->store, sale->id, &moment, NULL) == STORE_OK &&
           read_end(&moment, out);
}

static bool is_same(const struct end *end, int64_t epoch, struct ledger_id last)
{
    return end->epoch == epoch && ledger_id_compare(end->last, last) == 0;
}

/* Replace the book (NULL: by none), or prolong the present one. */
static void set_book(struct sold_out_sale *sale, struct order_book *book, const struct end *end)
{
    (void)pthread_rwlock_wrlock(&sale->lock);
    struct order_book *old = sale->book;
    sale->book = book;
    sale->epoch = end->epoch;
    sale->last = end->last;
    sale->fresh_until_ms =
        book && end->sent_ms > sale->wrong_ms ? end->sent_ms + SALE_BELIEVED_MS : 0;
    sale->changes = end->changes;
    atomic_store(&sale->has_book, book != NULL);
    (void)pthread_rwlock_unlock(&sale->lock);
    if (old != book) order_book_free(old);
}

/* Read a new book, and use it if the sale's state is the same before and after, and the book is complete: after a
   failover in between, the pages would come from two servers that differ. */
static void renew_book(struct sold_out_sale *sale, const struct end *before)
{
    /* Set before Redis is asked: sold_out_invalidate() reads it after Redis has answered. */
    atomic_store(&sale->has_book, true);
    struct order_book *book = read_book(sale->owner->store, sale->id);
    struct end after = {0};
    bool stood_still = book && is_sold_out(sale, &after) && after.changes == before->changes &&
                       is_same(&after, before->epoch, before->last);

    if (stood_still && after.orders == (int64_t)order_book_count(book)) {
        set_book(sale, book, &after);
        return;
    }
    if (stood_still) sale->again_ms = after.sent_ms + AGAIN_MS;
    order_book_free(book);
    set_book(sale, NULL, before); /* the old book is of another state */
}

static void refresh(struct sold_out_sale *sale, const struct sale_moment *moment, struct end end)
{
    bool is_out = moment->sale.id[0] ? read_end(moment, &end) : is_sold_out(sale, &end);
    bool is_still = is_out && sale->book && /* written by this thread alone */
                    is_same(&end, sale->epoch, sale->last);

    if (is_out && !is_still && end.orders <= BOOK_MAX && end.sent_ms >= sale->again_ms) {
        renew_book(sale, &end);
    } else {
        set_book(sale, is_still ? sale->book : NULL, &end);
    }
}

/* A sale without an answer (in segments, or its server is away) is asked for by a request of its own. */
static void refresh_asked(struct sold_out *self, size_t count)
{
    struct end end = begin_comparison(self);

    for (size_t i = 0; i < count; i++) {
        self->moments[i].sale.id[0] = '\0';
        memcpy(self->ids[i].text, self->asked[i]->id, sizeof self->ids[i].text);
    }
    if (count > 0) (void)store_load_moments(self->store, self->ids, count, self->moments, NULL);
    for (size_t i = 0; i < count; i++)
        refresh(self->asked[i], &self->moments[i], end);
}

/* Compare all sales with recent requests, and free the books of the others; true while a sale has recent requests or
   a book. */
static bool refresh_all(struct sold_out *self, struct sold_out_sale *first)
{
    bool is_any = false;
    size_t count = 0;

    for (struct sold_out_sale *sale = first; sale; sale = sale->next) {
        int64_t idle_ms = clock_awake_or_not_ms() - atomic_load(&sale->asked_ms);

        if (idle_ms <= IDLE_MS) {
            self->asked[count++] = sale;
        } else if (sale->book && idle_ms > FORGET_MS) {
            set_book(sale, NULL, &(struct end){0});
        }
        is_any |= idle_ms <= IDLE_MS || sale->book;
        if (count < COMPARE_MAX) continue;
        refresh_asked(self, count);
        count = 0;
    }
    refresh_asked(self, count);
    return is_any;
}

static int64_t run_round(void *arg)
{
    struct sold_out *self = arg;

    (void)pthread_mutex_lock(&self->worker.mutex);
    struct sold_out_sale *first = self->sales;
    (void)pthread_mutex_unlock(&self->worker.mutex);
    return refresh_all(self, first) ? clock_mono_ms() + COMPARE_EVERY_MS : INT64_MAX;
}

/* ---- life ------------------------------------------------------------------------------------------ */

struct sold_out *sold_out_new(struct store *store, const struct deployment *deployment)
{
    struct sold_out *self = calloc(1, sizeof *self);

    if (!self) return NULL;
    self->store = store;
    self->deployment = deployment;
    if (worker_start(&self->worker, run_round, self)) return self;
    free(self);
    return NULL;
}

struct sold_out_sale *sold_out_register(struct sold_out *self, const char *sale_id)
{
    struct sold_out_sale *sale = calloc(1, sizeof *sale);

    if (!sale) return NULL;
    (void)strncpy(sale->id, sale_id, sizeof sale->id - 1);
    sale->owner = self;
    atomic_init(&sale->asked_ms, INT64_MIN / 2);
    (void)pthread_rwlock_init(&sale->lock, NULL);
    (void)pthread_mutex_lock(&self->worker.mutex);
    sale->next = self->sales;
    self->sales = sale;
    (void)pthread_mutex_unlock(&self->worker.mutex);
    return sale;
}

void sold_out_free(struct sold_out *self)
{
    if (!self) return;
    worker_stop(&self->worker);
    while (self->sales) {
        struct sold_out_sale *next = self->sales->next;

        (void)pthread_rwlock_destroy(&self->sales->lock);
        order_book_free(self->sales->book);
        free(self->sales);
        self->sales = next;
    }
    free(self);
}
