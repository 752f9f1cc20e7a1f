/*
 * The book: what the ledgers of all sales say, in PostgreSQL, so that it outlives Redis. Redis decides; of all
 * instances one writes the book, elected by a lock of lockkit in the database, and presents the lock's fencing token
 * with every batch, so that the database refuses a writer whose lease has expired. A batch is in the book with the
 * position behind it, in one transaction, or not at all, so each entry is there once, whatever is repeated.
 *
 * By default sales do not wait for the book. With --book-wait an order is accepted only once it is in the book, and
 * with --book-lag purchases are refused while the book is too far behind. All instances observe the lag.
 */
#ifndef SECKILL_BOOK_H
#define SECKILL_BOOK_H

#include "base/start_error.h"
#include "sale/purchase.h"
#include "store/store.h"

struct book; /* opaque; safe for any number of threads */

struct book_options {
    const char *url;      /* of PostgreSQL */
    const char *password; /* borrowed by book_new(); NULL: the URL has it, or there is none */
    struct store *store;  /* borrowed */
    int64_t lag_max; /* entries; a sale with more that are not in the book is held up; 0: none is */
    bool is_waited_for;                                        /* book_confirm() waits */
    void (*on_event)(const struct lk_event *event, void *arg); /* of the client; may be NULL */
    /* Called by the book's thread: so many entries were written; 0: the write failed. May be NULL. */
    void (*on_taken)(int64_t entries, void *arg);
    void *arg; /* of both */
};

/* Start a thread. PostgreSQL may be down. NULL: no memory, or *why, which shows no password: a bad URL. */
struct book *book_new(const struct book_options *options, struct start_error *why);
/* End the thread, and the leadership if it leads. NULL is allowed. */
void book_free(struct book *self);

/* Purchases of this sale are to be refused. No I/O; NULL: never. */
bool book_holds_up(struct book *self, const char *sale_id);

/*
 * Wait until the book has the orders of these purchases (a list by `next`) whose outcome is created or replayed, at
 * most until the deadline of the first one, or a little longer. Orders that are not in the book by then become
 * OUTCOME_UNKNOWN. No effect if self is NULL or sales do not wait for the book. Any number of threads.
 */
void book_confirm(struct book *self, const char *sale_id, struct purchase *first);

/* Another fact that is confirmed to clients only when it is in the book. */
struct book_fact {
    const char *order;   /* borrowed, as the next; "0": none is named */
    const char *state;   /* of the order, or of the refund; "": any */
    const char *payment; /* the order's, or one that is owed back; "": whichever */
    bool is_booked;      /* in: true, there is nothing to wait for; out */
};
/* The same for these: those that the book has not got in time are not booked. */
void book_confirm_facts(struct book *self, const char *sale_id, struct book_fact *facts,
                        size_t count);
/* The same for one. */
bool book_has(struct book *self, const char *sale_id, struct book_fact fact);

/*
 * Rename a sale in the book after the last entry of its ledger: it is never rebuilt, and a later sale of the same id is
 * a different one. Idempotent.
 *
 * Returns  false: the book does not have all entries yet. true for NULL.
 */
bool book_remove(struct book *self, const char *sale_id);

/* How far a sale's book was behind at the last check. No I/O. */
struct book_lag {
    int64_t entries;
    int64_t ms; /* since the first of them was written */
};
struct book_lag book_lag_of(struct book *self, const char *sale_id);

/* Whether the book had this sale at the last check: then Redis must have it, too. No I/O; NULL: false. */
bool book_keeps(struct book *self, const char *sale_id);

/* Start the next round now, if this instance writes: purchases may be waiting for it. NULL is allowed. */
void book_wake(struct book *self);

/* Whether this instance writes. */
bool book_leads(struct book *self);

#endif
