/*
 * The book: what the ledgers of all sales say, in PostgreSQL, so that it outlives Redis. Redis decides; of all
 * instances one writes the book, elected by a lock of lockkit there, and shows the lock's fencing token with
 * every batch: whoever believes in an old lease is refused by the database. A batch is in the book with the
 * position behind it, in one transaction, or not at all, so each entry is there once, whatever is repeated.
 *
 * Sales do not wait for it, unless they are to: then an accepted order is one that is in the book. One whose book is too far behind is held up. All instances look how far that is.
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
    bool is_waited_for; /* book_confirm() waits */
    void (*on_event)(const struct lk_event *event,
                     void *arg); /* of the client; NULL: nobody is told */
    /* Of the book's thread: so many entries were taken in; 0: they could not be. NULL: nobody is told. */
    void (*on_taken)(int64_t entries, void *arg);
    void *arg; /* of both */
};

/* Start a thread. PostgreSQL may be down. NULL: no memory, or *why, which shows no password: a bad URL. */
struct book *book_new(const struct book_options *options, struct start_error *why);
/* End the thread, and the leadership, if it leads. NULL is fine. */
void book_free(struct book *self);

/* Purchases of this sale are to be refused. No I/O; NULL: never. */
bool book_holds_up(struct book *self, const char *sale_id);

/*
 * Wait until the book has the orders of these purchases (a list by `next`), that are to be told created or replayed:
 * at most to the deadline of the first, or a bit longer. Those that it has not got by then are OUTCOME_UNKNOWN. NULL,
 * or nobody waits for it: they stay as they are. Any number of threads.
 */
void book_confirm(struct book *self, const char *sale_id, struct purchase *first);

/* What else somebody is to be told only when the book has it. */
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
 * Keep a sale, in whose ledger nothing is written any more, under another name in the book: nobody makes it again, and
 * a sale of its name is another one. Done again it changes nothing.
 *
 * Returns  false: the book has not got all of it. true for NULL.
 */
bool book_remove(struct book *self, const char *sale_id);

/* How far a sale's book was behind, when it was looked at last. No I/O. */
struct book_lag {
    int64_t entries;
    int64_t ms; /* since the first of them was written */
};
struct book_lag book_lag_of(struct book *self, const char *sale_id);

/* Whether it has this sale, when it was looked at last: so Redis must know it, too. No I/O; NULL: never. */
bool book_keeps(struct book *self, const char *sale_id);

/* Look at all sales now, if this instance writes: who sells may wait for that. NULL is fine. */
void book_wake(struct book *self);

/* Whether this instance writes. */
bool book_leads(struct book *self);

#endif
