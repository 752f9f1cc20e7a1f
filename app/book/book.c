/*
 * See book.h. One thread writes; sales are only ever added. A thread that waits for orders to be in the book asks the
 * database itself, each time this instance has written, and at intervals, because another instance may be the writer.
 */
#include "book.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lockkit/lockkit.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/worker.h"
#include "book_rebuild.h"
#include "sale/known.h"

enum {
    AT_ONCE = 32, /* entries; of 1,024 orders each at most */
    SOON_MS =
        5, /* pause after a round with new entries; it doubles after each round without, up to: */
    IDLE_MS = 250,
    WAITED_MS = 25, /* instead, where orders of other instances wait for the book */
    WAIT_MIN_MS = 5,
    WAIT_MAX_MS = 50,
    WAIT_LAST_MS = 300, /* however late a purchase was served, the book has so long */
    NS_PER_MS = 1000000,
    PLACED_MS = 5000,
    LIST_MS = 500,  /* between listings of sales; and checks by instances that do not write */
    RETRY_MS = 500, /* when a server does not answer, or refuses */
    SAY_MS = 5000,  /* of what goes on failing, a line */
    LEASE_MS = 2000,
    REMOVE_MS = 1500, /* for what is written last */
    POOL_SIZE = 4,
    CLAIM_BITS = 20, /* behind the lease's fencing token */
    CLAIM_MAX = (1 << CLAIM_BITS) - 1,
};

static const char lock_key[] = "seckill:book";

struct booked {
    struct known_sale base;
    struct book_position position; /* the thread's own, as the next */
    bool is_placed;                /* the position is the database's, as of then: */
    int64_t placed_ms;             /* monotonic */
    unsigned claim;                /* grows, so that a late batch that failed is refused */
    int64_t next_ms;               /* monotonic: when the next update is due */
    int64_t pause_ms;
    int64_t say_ms;
    _Atomic int64_t lag_entries, lag_ms;
    atomic_bool is_held_up, is_kept;
};

struct book {
    struct book_options options;
    lk_client *client; /* owned */
    struct known sales;
    lk_lock *lock; /* owned, as the next; NULL until the schema is there */
    _Atomic(lk_leader *) leader;
    int64_t list_ms; /* monotonic: the thread's own, as the next */
    int64_t say_ms;
    atomic_bool is_asked; /* update all sales at once */
    pthread_cond_t taken; /* with the worker's mutex: something was */
    struct worker worker;
};

/* A line now and then. */
static void complain(int64_t *say_ms, const char *what, const char *text)
{
    if (clock_mono_ms() < *say_ms) return;
    *say_ms = clock_mono_ms() + SAY_MS;
    log_line(LOG_ERROR, "book: %s: %s", what, text);
}

/* ---- sales ----------------------------------------------------------------------------------------- */

static void add_sales(struct book *self, struct sale_id *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct booked *sale =
            known_find(&self->sales, ids[i].text) ? NULL : calloc(1, sizeof *sale);

        if (!sale) continue; /* known, or found the next time */
        (void)strncpy(sale->base.id, ids[i].text, sizeof sale->base.id - 1);
        sale->position.entries = -1;
        known_add(&self->sales, sale);
    }
    free(ids);
}

/* Add the sales that Redis has, and those that only the book has, so that they can be rebuilt. */
static void list_sales(struct book *self)
{
    struct sale_id *ids = NULL;
    size_t count = 0;

    if (clock_mono_ms() < self->list_ms) return;
    self->list_ms = clock_mono_ms() + LIST_MS;
    if (store_list_ids(self->options.store, &ids, &count, NULL) == STORE_OK)
        add_sales(self, ids, count);
    if (book_leads(self) && book_database_list(self->client, &ids, &count, NULL) == LK_OK)
        add_sales(self, ids, count);
}

/* ---- who leads ----------------------------------------------------------------------------------- */

static void on_elected(lk_leader *leader, uint64_t fence, void *arg)
{
    (void)leader;
    (void)arg;
    log_line(LOG_INFO, "book: writing it, fence %llu", (unsigned long long)fence);
}

static void campaign(struct book *self)
{
    struct lk_error err = {0};
    lk_leader *leader = NULL;

    if (book_database_migrate(self->client, &err) == LK_OK) {
        if (!self->lock) self->lock = lk_fenced_new(self->client, lock_key, &err);
        if (self->lock)
            leader = lk_leader_new(
                self->lock, LK_OPTIONS(leader, .lease_ms = LEASE_MS, .on_elected = on_elected),
                &err);
    }
    atomic_store(&self->leader, leader);
    if (!leader) complain(&self->say_ms, "cannot be written", err.text);
}

bool book_leads(struct book *self)
{
    lk_leader *leader = self ? atomic_load(&self->leader) : NULL;

    return leader && lk_leader_is_leading(leader);
}

void book_wake(struct book *self)
{
    if (!book_leads(self)) return;
    atomic_store(&self->is_asked, true);
    worker_wake(&self->worker);
}

/* ---- how far it is ----------------------------------------------------------------------------------- */

static void note_lag(const struct book *self, struct booked *sale, int64_t entries, int64_t ms)
{
    int64_t most = self->options.lag_max;

    atomic_store(&sale->lag_entries, entries);
    atomic_store(&sale->lag_ms, ms > 0 ? ms : 0);
    atomic_store(&sale->is_held_up, most > 0 && entries > most);
}

bool book_holds_up(struct book *self, const char *sale_id)
{
    struct booked *sale = self ? known_find(&self->sales, sale_id) : NULL;

    return sale && atomic_load(&sale->is_held_up);
}

bool book_keeps(struct book *self, const char *sale_id)
{
    struct booked *sale = self ? known_find(&self->sales, sale_id) : NULL;

    return sale && atomic_load(&sale->is_kept);
}

struct book_lag book_lag_of(struct book *self, const char *sale_id)
{
    struct booked *sale = self ? known_find(&self->sales, sale_id) : NULL;

    if (!sale) return (struct book_lag){0};
    return (struct book_lag){.entries = atomic_load(&sale->lag_entries),
                             .ms = atomic_load(&sale->lag_ms)};
}

/* How many entries the ledger has after the book's position. */
static int64_t behind(const struct booked *sale, const struct store_entries *read)
{
    return read->length - (sale->position.entries > 0 ? sale->position.entries : 0);
}

static void measure(const struct book *self, struct booked *sale, const struct store_entries *read)
{
    struct book_place oldest = {.at.ms = (uint64_t)read->now_ms};
    size_t first = sale->position.entries > 0 ? 1 : 0; /* behind the one that is in the book */

    (void)book_words_place(lk_reply_at(read->reply, first), &oldest);
    note_lag(self, sale, behind(sale, read), read->now_ms - (int64_t)oldest.at.ms);
}

/* ---- writing ----------------------------------------------------------------------------------------- */

/* Add the sale's first row. False: failed; or, if err is empty, the sale is being removed. */
static bool add_sale(struct book *self, struct booked *sale, const struct book_place *created,
                     struct lk_error *err)
{
    lk_reply *plain = NULL;
    char *fields = NULL;
    bool was_removed = true;

    if (book_database_was_removed(self->client, sale->base.id, created, &was_removed, err) !=
            LK_OK ||
        was_removed)
        return false;
    if (store_read_plain(self->options.store, sale->base.id, &plain, err) == STORE_OK)
        fields = book_words_fields(store_plain_fields, plain);
    lk_reply_free(plain);
    bool is_added = fields && book_database_add(self->client, sale->base.id, fields, err) == LK_OK;
    free(fields);
    if (is_added) sale->position.entries = 0;
    return is_added;
}

/*
 * Write the entries that were read and are not in the book yet; if this server has not been compared with the book
 * before, the sale may be sold from then on. The database is asked even if there is nothing to write: it confirms the
 * leader and the book's position under a lock, after which no earlier batch of another writer can commit.
 */
static bool take(struct book *self, struct booked *sale, const struct store_entries *read,
                 uint64_t fence, struct lk_error *err)
{
    size_t first = sale->position.entries > 0 ? 1 : 0;
    size_t count = lk_reply_count(read->reply);
    struct book_position next = sale->position;
    struct book_place created;
    char *entries = NULL;

    if (count == 0 || (count == first && read->is_checked)) return true;
    if (sale->position.entries < 0 && (!book_words_place(lk_reply_at(read->reply, 0), &created) ||
                                       !add_sale(self, sale, &created, err)))
        return false;
    entries = book_words_json(read->reply, first, &next.place);
    bool is_taken =
        entries && book_database_take(
                       self->client,
                       &(struct book_batch){sale->base.id, fence, sale->position.place.at, entries},
                       err) == LK_OK;
    free(entries);
    (void)pthread_cond_broadcast(&self->taken);
    if (self->options.on_taken && (count > first || !is_taken))
        self->options.on_taken(is_taken ? (int64_t)(count - first) : 0, self->options.arg);
    if (!is_taken) return false;
    next.entries = sale->position.entries + (int64_t)(count - first);
    sale->position = next;
    sale->pause_ms = 0;
    note_lag(self, sale, behind(sale, read), 0);
    return read->is_checked ||
           store_note_checked(self->options.store, sale->base.id, read->replid, err) == STORE_OK;
}

static bool place(struct book *self, struct booked *sale, struct lk_error *err)
{
    int64_t now_ms = clock_mono_ms();

    /* An operator may have restored an older backup of the book, which shows only when something is sold. */
    if (now_ms - sale->placed_ms > PLACED_MS) sale->is_placed = false;
    if (!sale->is_placed) {
        sale->is_placed =
            book_database_find(self->client, sale->base.id, &sale->position, err) == LK_OK;
        sale->placed_ms = now_ms;
    }
    return sale->is_placed;
}

/* False: err says why; it has to be tried again. */
static bool restore(struct book *self, struct booked *sale, struct lk_error *err)
{
    struct book_rebuilt rebuilt = {.was_whole = false};

    if (book_database_find(self->client, sale->base.id, &sale->position, err) != LK_OK)
        return false;
    if (sale->position.entries < 0) return true; /* it was removed, from both */
    log_line(LOG_WARN, "book: %s: Redis has forgotten what is in it: made again", sale->base.id);
    if (!book_rebuild(self->client, self->options.store, sale->base.id, &rebuilt, err))
        return false;
    log_line(rebuilt.conflicts > 0 ? LOG_ERROR : LOG_INFO,
             "book: %s: as in the book again; %s, %ld conflicts", sale->base.id, rebuilt.state,
             rebuilt.conflicts);
    return true;
}

/* False: err says why; it has to be tried again. */
static bool go_on(struct book *self, struct booked *sale, uint64_t fence, struct lk_error *err)
{
    struct store_entries read = {.most = fence > 0 ? AT_ONCE : 2};
    bool is_placed = place(self, sale, err); /* else: as far as is known */

    if (store_read_entries(self->options.store, sale->base.id, sale->position.place.at, &read,
                           is_placed ? err : NULL) != STORE_OK)
        return false;
    measure(self, sale, &read);
    bool is_done = is_placed;
    if (is_placed && fence > 0)
        is_done = book_rebuild_is_whole(&sale->position, &read) && !read.is_rebuilt
                      ? take(self, sale, &read, fence << CLAIM_BITS | sale->claim, err)
                      : restore(self, sale, err);
    lk_reply_free(read.reply);
    return is_done;
}

static void update_sale(struct book *self, struct booked *sale)
{
    uint64_t fence = book_leads(self) ? lk_leader_fence(atomic_load(&self->leader)) : 0;
    int64_t most_ms = self->options.is_waited_for ? WAITED_MS : IDLE_MS;
    struct lk_error err = {0};

    sale->pause_ms = sale->pause_ms * 2 < SOON_MS ? SOON_MS : sale->pause_ms * 2;
    if (sale->pause_ms > most_ms) sale->pause_ms = most_ms;
    if (!go_on(self, sale, fence, &err)) {
        if (err.text[0]) complain(&sale->say_ms, sale->base.id, err.text);
        sale->pause_ms = RETRY_MS;
        sale->is_placed = false; /* what was sent may have been done; and is not from the next on */
        if (sale->claim < CLAIM_MAX) sale->claim++;
    } else if (fence == 0) {
        sale->pause_ms = LIST_MS;
        sale->is_placed = false; /* another one goes on */
    }
    atomic_store(&sale->is_kept, sale->position.entries > 0);
    sale->next_ms = clock_mono_ms() + sale->pause_ms;
}

/* Update the sales that are due. Returns the earliest moment of the next one. */
static int64_t update_all(struct book *self)
{
    bool is_asked = atomic_exchange(&self->is_asked, false);
    int64_t next_ms = self->list_ms;

    KNOWN_EACH(booked, sale, &self->sales)
    {
        if (is_asked || clock_mono_ms() >= sale->next_ms) update_sale(self, sale);
        if (sale->next_ms < next_ms) next_ms = sale->next_ms;
    }
    return next_ms;
}

static int64_t run_round(void *arg)
{
    struct book *self = arg;

    if (!atomic_load(&self->leader)) campaign(self);
    list_sales(self);
    return update_all(self);
}

/* ---- waiting for it -------------------------------------------------------------------------------- */

enum { WORD_SIZE = ORDER_ID_MAX + 88 }; /* and a state, and a payment's id */

/* "ORDER:STATE:PAYMENT", as book_database_booked() wants it. */
static const char *word_of(const struct book_fact *fact, char out[WORD_SIZE])
{
    (void)snprintf(out, WORD_SIZE, "%s:%s:%s", fact->order, fact->state, fact->payment);
    return out;
}

/* "{WORD,WORD...}" of those that are to be waited for; "{}" for none; yours. */
static char *list_facts(const struct book_fact *facts, size_t count)
{
    struct text text = {.size = sizeof "{}" + count * WORD_SIZE};
    char word[WORD_SIZE];

    text.data = malloc(text.size);
    if (!text.data) return NULL;
    TEXT_ADD(&text, "{");
    for (size_t i = 0; i < count; i++) {
        if (facts[i].is_booked) continue;
        if (text.len > 1) TEXT_ADD(&text, ",");
        text_add_string(&text, word_of(&facts[i], word));
    }
    text_add(&text, "}", 2); /* and the NUL */
    return text.data;
}

/* Wake the writer, if it is this instance, and wait until it has written, or for pause_ms. */
static void pause_round(struct book *self, int64_t pause_ms)
{
    int64_t until_ms = clock_mono_ms() + pause_ms;
    struct timespec until = {.tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * NS_PER_MS};

    book_wake(self);
    (void)pthread_mutex_lock(&self->worker.mutex);
    (void)pthread_cond_clockwait(&self->taken, &self->worker.mutex, CLOCK_MONOTONIC, &until);
    (void)pthread_mutex_unlock(&self->worker.mutex);
}

/* ",WORD,WORD...," of the listed that are in the book: all of them, or what there was last by then; yours. */
static char *wait_for(struct book *self, const char *sale_id, const char *words, int64_t until_ms)
{
    size_t all = strlen(words);
    char *found = NULL;

    for (int64_t pause_ms = WAIT_MIN_MS;; pause_ms *= 2) {
        pause_round(self, pause_ms < WAIT_MAX_MS ? pause_ms : WAIT_MAX_MS);
        int64_t left_ms = until_ms - clock_mono_ms();
        if (left_ms <= 0) return found;
        free(found);
        found = book_database_booked(self->client, sale_id, words, left_ms);
        if (found && strlen(found) == all) return found;
    }
}

/* Wait at most until then, but at least a little. */
static void wait_for_facts(struct book *self, const char *sale_id, struct book_fact *facts,
                           size_t count, int64_t until_ms)
{
    int64_t last_ms = clock_mono_ms() + WAIT_LAST_MS;
    char *words = list_facts(facts, count);
    char *found = NULL;

    if (words && words[1] != '}')
        found = wait_for(self, sale_id, words, until_ms > last_ms ? until_ms : last_ms);
    bool is_all = found && words && strlen(found) == strlen(words);
    for (size_t i = 0; i < count; i++) {
        char bare[WORD_SIZE];
        char word[WORD_SIZE + 2];

        (void)snprintf(word, sizeof word, ",%s,", word_of(&facts[i], bare));
        facts[i].is_booked |= is_all || (found && strstr(found, word));
    }
    free(found);
    free(words);
}

void book_confirm_facts(struct book *self, const char *sale_id, struct book_fact *facts,
                        size_t count)
{
    if (self && self->options.is_waited_for) {
        wait_for_facts(self, sale_id, facts, count, 0);
        return;
    }
    for (size_t i = 0; i < count; i++)
        facts[i].is_booked = true;
}

bool book_has(struct book *self, const char *sale_id, struct book_fact fact)
{
    book_confirm_facts(self, sale_id, &fact, 1);
    return fact.is_booked;
}

static bool has_order(const struct purchase *purchase)
{
    return purchase->outcome == OUTCOME_CREATED || purchase->outcome == OUTCOME_REPLAYED;
}

void book_confirm(struct book *self, const char *sale_id, struct purchase *first)
{
    struct book_fact *facts = NULL;
    size_t count = 0;

    if (!self || !self->options.is_waited_for) return;
    for (const struct purchase *at = first; at; at = at->next)
        count += has_order(at);
    if (count == 0) return;
    facts = calloc(count, sizeof *facts);
    count = 0;
    for (const struct purchase *at = first; facts && at; at = at->next) {
        if (has_order(at)) facts[count++] = (struct book_fact){at->order_id, "", "", false};
    }
    if (facts) wait_for_facts(self, sale_id, facts, count, first->deadline_ns / NS_PER_MS);
    count = 0;
    for (struct purchase *at = first; at; at = at->next) {
        if (has_order(at) && !(facts && facts[count++].is_booked)) at->outcome = OUTCOME_UNKNOWN;
    }
    free(facts);
}

/* ---- removing ------------------------------------------------------------------------------------ */

bool book_remove(struct book *self, const char *sale_id)
{
    int64_t until_ms = clock_mono_ms() + REMOVE_MS;
    struct book_place last;
    bool is_kept = !self;

    while (!is_kept && clock_mono_ms() < until_ms) {
        book_wake(self);
        clock_pause_ms(SOON_MS);
        if (book_rebuild_last(self->options.store, sale_id, &last, NULL) &&
            book_database_remove(self->client, sale_id, &last, &is_kept, NULL) != LK_OK)
            is_kept = false;
    }
    return is_kept;
}

/* ---- life -------------------------------------------------------------------------------------------- */

static void release(struct book *self)
{
    (void)lk_leader_close(atomic_load(&self->leader), NULL);
    lk_lock_free(self->lock);
    lk_client_close(self->client);
    known_free(&self->sales, free);
    (void)pthread_cond_destroy(&self->taken);
    free(self);
}

struct book *book_new(const struct book_options *options, struct start_error *why)
{
    struct book *self = calloc(1, sizeof *self);
    struct lk_error err = {.text = "out of memory"};

    if (!self) return NULL;
    self->options = *options;
    self->options.password = NULL;
    (void)pthread_cond_init(&self->taken, NULL);
    self->client = lk_client_open(&(struct lk_client_options){.url = options->url,
                                                              .password = options->password,
                                                              .may_be_down = true,
                                                              .fail_fast = true,
                                                              .pool_size = POOL_SIZE,
                                                              .on_event = options->on_event,
                                                              .on_event_arg = options->arg},
                                  &err);
    if (self->client && worker_start(&self->worker, run_round, self)) return self;
    (void)start_error_say(why, "--book: %s", err.text[0] ? err.text : "no thread");
    release(self);
    return NULL;
}

void book_free(struct book *self)
{
    if (!self) return;
    worker_stop(&self->worker);
    release(self);
}
