/*
 * See pay_batch.h. One mutex, which is never held during I/O.
 */
#include "pay_batch.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "base/worker.h"
#include "book/book.h"
#include "sale/order_id.h"

struct pay_batch {
    struct store *store;
    struct book *book;
    struct worker worker; /* its mutex guards all below, and the queue's links */
    struct pay_wish *first;
    struct pay_wish **last; /* where the next one is put */
};

/* Remove the first event from the queue, and as many others of the same sale as fit into a step. */
static size_t take_locked(struct pay_batch *self, struct pay_wish *out[EVENTS_AT_ONCE_MAX])
{
    const char *sale_id = self->first->sale_id;
    struct pay_wish **at = &self->first;
    size_t count = 0;

    while (*at && count < EVENTS_AT_ONCE_MAX) {
        struct pay_wish *wish = *at;

        if (strcmp(wish->sale_id, sale_id) == 0) {
            out[count++] = wish;
            *at = wish->next;
        } else {
            at = &wish->next;
        }
    }
    while (*at)
        at = &(*at)->next;
    self->last = at;
    return count;
}

/* Where the money is, by what is answered. */
static struct book_fact fact_of(const struct payment_event *event)
{
    bool is_named = (event->result == PAY_PAID || event->result == PAY_REPEATED) &&
                    order_id_ms(event->order) >= 0;

    return (struct book_fact){.order = is_named ? event->order : "0",
                              .state = event->result == PAY_PAID ? "paid" : "",
                              .payment = event->payment,
                              .is_booked = strcmp(event->kind, "succeeded") != 0};
}

static void serve(struct pay_batch *self, struct pay_wish *const wishes[], size_t count)
{
    struct payment_event events[EVENTS_AT_ONCE_MAX];
    struct book_fact facts[EVENTS_AT_ONCE_MAX];
    struct lk_error err = {0};

    for (size_t i = 0; i < count; i++)
        events[i] = wishes[i]->event;
    store_status status = store_pay_events(self->store, wishes[0]->sale_id, events, count, &err);
    for (size_t i = 0; status == STORE_OK && i < count; i++)
        facts[i] = fact_of(&events[i]);
    if (status == STORE_OK) book_confirm_facts(self->book, wishes[0]->sale_id, facts, count);
    for (size_t i = 0; i < count; i++) {
        wishes[i]->event.result = events[i].result;
        wishes[i]->status = status == STORE_OK && !facts[i].is_booked ? STORE_UNKNOWN : status;
        if (status != STORE_OK) wishes[i]->err = err;
        wishes[i]->done(wishes[i], wishes[i]->arg); /* from here on it may be gone */
    }
}

static int64_t serve_all(void *arg)
{
    struct pay_batch *self = arg;
    struct pay_wish *wishes[EVENTS_AT_ONCE_MAX];
    size_t count = 0;

    do {
        (void)pthread_mutex_lock(&self->worker.mutex);
        count = self->first ? take_locked(self, wishes) : 0;
        (void)pthread_mutex_unlock(&self->worker.mutex);
        if (count > 0) serve(self, wishes, count);
    } while (count > 0);
    return INT64_MAX;
}

struct pay_batch *pay_batch_new(struct store *store, struct book *book)
{
    struct pay_batch *self = calloc(1, sizeof *self);

    if (!self) return NULL;
    self->store = store;
    self->book = book;
    self->last = &self->first;
    if (worker_start(&self->worker, serve_all, self)) return self;
    free(self);
    return NULL;
}

void pay_batch_free(struct pay_batch *self)
{
    if (!self) return;
    worker_stop(&self->worker);
    (void)serve_all(self); /* what came behind its last round */
    free(self);
}

void pay_batch_submit(struct pay_batch *self, struct pay_wish *wish)
{
    wish->next = NULL;
    (void)pthread_mutex_lock(&self->worker.mutex);
    bool is_idle = !self->first;
    *self->last = wish;
    self->last = &wish->next;
    (void)pthread_mutex_unlock(&self->worker.mutex);
    if (is_idle) worker_wake(&self->worker);
}

static void post(struct pay_wish *wish, void *arg)
{
    (void)wish;
    (void)sem_post(arg);
}

void pay_batch_take(struct pay_batch *self, struct pay_wish *wish)
{
    sem_t done;

    (void)sem_init(&done, 0, 0);
    wish->done = post;
    /* cppcheck-suppress autoVariables ; this function returns after done() has used it */
    wish->arg = &done;
    pay_batch_submit(self, wish);
    while (sem_wait(&done) != 0) {}
    (void)sem_destroy(&done);
}
