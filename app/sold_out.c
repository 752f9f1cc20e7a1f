/*
 * One thread compares the epoch of each sold-out sale with Redis every 40 ms, as long as somebody
 * asks for it. A book counts for 100 ms after the moment at which the last comparison was sent, by
 * the monotonic clock: an instance that was paused, or cut off from Redis, does not answer from an
 * old book. Above a million orders there is no book, and Redis is asked, in batches.
 *
 * Locks: `mutex` guards the list of sales; a sale's rwlock its book. Neither is held over a call to
 * Redis, nor while the other is taken.
 */
#include "sold_out.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "order_book.h"

enum {
    LOOK_EVERY_MS = 40,
    FRESH_MS = 100,
    IDLE_MS = 1000, /* nobody has asked for so long: stop looking */
    BOOK_MAX = 1000000,
};

struct sold_out_sale {
    char id[SALE_ID_MAX + 1];
    struct sold_out *owner;
    struct sold_out_sale *next;
    _Atomic int64_t asked_ms; /* monotonic: somebody asked, or noted */
    pthread_rwlock_t lock;    /* guards all below */
    struct order_book *book;  /* owned; NULL: none */
    int64_t epoch;            /* of the book */
    int64_t fresh_until_ms;   /* monotonic */
};

struct sold_out {
    struct store *store; /* borrowed */
    pthread_t thread;
    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t changed;
    struct sold_out_sale *sales; /* grows at its head only */
    bool is_needed;              /* some sale has been noted since the thread last slept */
    bool is_stopping;
};

/* ---- asking -------------------------------------------------------------------------------------- */

static void answer_from(const struct order_book *book, struct purchase *purchase)
{
    const char *id = NULL;
    const char *key = NULL;

    if (!order_book_find(book, purchase->buyer, &id, &key)) {
        purchase->outcome = OUTCOME_SOLD_OUT;
        return;
    }
    bool is_same = purchase->key[0] != '\0' && strcmp(purchase->key, key) == 0;
    purchase->outcome = is_same ? OUTCOME_REPLAYED : OUTCOME_ALREADY_ORDERED;
    memcpy(purchase->order_id, id, strlen(id) + 1); /* it came out of a struct order */
}

bool sold_out_answer(struct sold_out_sale *sale, struct purchase *purchase)
{
    int64_t now_ms = clock_mono_ms();
    bool is_known = false;

    if (!sale) return false;
    (void)pthread_rwlock_rdlock(&sale->lock);
    is_known = sale->book && now_ms < sale->fresh_until_ms;
    if (is_known) answer_from(sale->book, purchase);
    (void)pthread_rwlock_unlock(&sale->lock);
    if (is_known && now_ms - atomic_load_explicit(&sale->asked_ms, memory_order_relaxed) > FRESH_MS)
        atomic_store_explicit(&sale->asked_ms, now_ms, memory_order_relaxed);
    return is_known;
}

void sold_out_note(struct sold_out_sale *sale)
{
    int64_t now_ms = clock_mono_ms();

    if (!sale) return;
    if (atomic_exchange(&sale->asked_ms, now_ms) + LOOK_EVERY_MS > now_ms) return;
    (void)pthread_mutex_lock(&sale->owner->mutex);
    sale->owner->is_needed = true;
    (void)pthread_cond_signal(&sale->owner->changed);
    (void)pthread_mutex_unlock(&sale->owner->mutex);
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

/* The whole book as it is now; NULL when it cannot be read, or is too large. */
static struct order_book *read_book(struct store *store, const char *id)
{
    struct order_book *book = order_book_new();

    if (!book || store_scan_orders(store, id, add_to_book, &book, NULL) == STORE_OK) return book;
    order_book_free(book);
    return NULL;
}

/* Whether the sale is sold out now, and in which epoch; *out_sent_ms is from before asking. */
static bool is_sold_out(struct store *store, const char *id, int64_t *out_epoch,
                        int64_t *out_sent_ms)
{
    struct sale sale;

    *out_sent_ms = clock_mono_ms();
    if (store_load_sale(store, id, &sale, NULL) != STORE_OK) return false;
    *out_epoch = sale.epoch;
    return sale_state_of(&sale) == SALE_SOLD_OUT;
}

/* Put a book in place (NULL: none), or only prolong the one that is there. */
static void set_book(struct sold_out_sale *sale, struct order_book *book, int64_t epoch,
                     int64_t fresh_until_ms)
{
    (void)pthread_rwlock_wrlock(&sale->lock);
    struct order_book *old = sale->book;
    sale->book = book;
    sale->epoch = epoch;
    sale->fresh_until_ms = fresh_until_ms;
    (void)pthread_rwlock_unlock(&sale->lock);
    if (old != book) order_book_free(old);
}

static void look_at(struct store *store, struct sold_out_sale *sale)
{
    int64_t epoch = 0;
    int64_t epoch_after = 0;
    int64_t sent_ms = 0;

    if (!is_sold_out(store, sale->id, &epoch, &sent_ms)) {
        set_book(sale, NULL, 0, 0);
    } else if (sale->book && sale->epoch == epoch) { /* this thread alone writes them */
        set_book(sale, sale->book, epoch, sent_ms + FRESH_MS);
    } else {
        struct order_book *book = read_book(store, sale->id);

        /* Sold out before and after in the same epoch: nothing was added meanwhile. */
        if (book && is_sold_out(store, sale->id, &epoch_after, &sent_ms) && epoch_after == epoch) {
            set_book(sale, book, epoch, sent_ms + FRESH_MS);
        } else {
            order_book_free(book);
        }
    }
}

/* Look at all that somebody asks for; true if there was one. */
static bool look_at_all(struct sold_out *self, struct sold_out_sale *first)
{
    bool is_any = false;

    for (struct sold_out_sale *sale = first; sale; sale = sale->next) {
        if (clock_mono_ms() - atomic_load(&sale->asked_ms) > IDLE_MS) continue;
        look_at(self->store, sale);
        is_any = true;
    }
    return is_any;
}

static void *look_after(void *arg)
{
    struct sold_out *self = arg;

    (void)pthread_mutex_lock(&self->mutex);
    while (!self->is_stopping) {
        struct sold_out_sale *first = self->sales;

        (void)pthread_mutex_unlock(&self->mutex);
        bool goes_on = look_at_all(self, first);
        if (goes_on) clock_pause_ms(LOOK_EVERY_MS);
        (void)pthread_mutex_lock(&self->mutex);
        while (!goes_on && !self->is_needed && !self->is_stopping)
            (void)pthread_cond_wait(&self->changed, &self->mutex);
        self->is_needed = false;
    }
    (void)pthread_mutex_unlock(&self->mutex);
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------------ */

struct sold_out *sold_out_new(struct store *store)
{
    struct sold_out *self = calloc(1, sizeof *self);

    if (!self) return NULL;
    self->store = store;
    (void)pthread_mutex_init(&self->mutex, NULL);
    (void)pthread_cond_init(&self->changed, NULL);
    if (pthread_create(&self->thread, NULL, look_after, self) == 0) return self;
    (void)pthread_cond_destroy(&self->changed);
    (void)pthread_mutex_destroy(&self->mutex);
    free(self);
    return NULL;
}

struct sold_out_sale *sold_out_watch(struct sold_out *self, const char *sale_id)
{
    struct sold_out_sale *sale = calloc(1, sizeof *sale);

    if (!sale) return NULL;
    (void)strncpy(sale->id, sale_id, sizeof sale->id - 1);
    sale->owner = self;
    atomic_init(&sale->asked_ms, INT64_MIN / 2);
    (void)pthread_rwlock_init(&sale->lock, NULL);
    (void)pthread_mutex_lock(&self->mutex);
    sale->next = self->sales;
    self->sales = sale;
    (void)pthread_mutex_unlock(&self->mutex);
    return sale;
}

void sold_out_free(struct sold_out *self)
{
    if (!self) return;
    (void)pthread_mutex_lock(&self->mutex);
    self->is_stopping = true;
    (void)pthread_cond_signal(&self->changed);
    (void)pthread_mutex_unlock(&self->mutex);
    (void)pthread_join(self->thread, NULL);
    while (self->sales) {
        struct sold_out_sale *next = self->sales->next;

        (void)pthread_rwlock_destroy(&self->sales->lock);
        order_book_free(self->sales->book);
        free(self->sales);
        self->sales = next;
    }
    (void)pthread_cond_destroy(&self->changed);
    (void)pthread_mutex_destroy(&self->mutex);
    free(self);
}
