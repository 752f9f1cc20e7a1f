/*
 * The book's statements: schema seckill_book of a PostgreSQL, by lockkit's client.
 */
#ifndef SECKILL_BOOK_DATABASE_H
#define SECKILL_BOOK_DATABASE_H

#include "lockkit/postgres.h"

#include "book_words.h"

/* All functions return OK; UNKNOWN: perhaps done; else nothing was done, and err says why. Any thread. */

/* Migrate the schema to this program's version; concurrent callers run each migration once. SERVER, too: the schema is
   of a newer program. */
lk_status book_database_migrate(lk_client *client, struct lk_error *err);

/* How far a sale is in the book. */
struct book_position {
    struct book_place place;
    int64_t entries; /* -1: it is not in the book */
};
lk_status book_database_find(lk_client *client, const char *sale_id, struct book_position *out,
                             struct lk_error *err);

/* A sale that may be there already; fields: JSON (book_words_fields). */
lk_status book_database_add(lk_client *client, const char *sale_id, const char *fields,
                            struct lk_error *err);

/* A removed sale is kept as ID@NO. Was this one, by its first entry? */
lk_status book_database_was_removed(lk_client *client, const char *sale_id,
                                    const struct book_place *first, bool *out_was,
                                    struct lk_error *err);
/* Keep it so, if this is its last entry in the book; it may be kept so already. */
lk_status book_database_remove(lk_client *client, const char *sale_id,
                               const struct book_place *last, bool *out_is_removed,
                               struct lk_error *err);

/*
 * Take the next entries in, all of them or none: in one transaction with the position behind them. SERVER, too: the
 * fence is lower than one that was seen, or the book is not at `from`, or an entry does not fit what is in it.
 */
struct book_batch {
    const char *sale_id;
    uint64_t fence;
    struct ledger_id from;
    const char *entries; /* JSON (book_words_json) */
};
lk_status book_database_take(lk_client *client, const struct book_batch *batch,
                             struct lk_error *err);

/* A statement, and the parameters of it. */
#define BOOK_WORK(text, ...)                                                                       \
    (&(struct lk_postgres_work){.sql = (text),                                                     \
                                .params = (const char *const[]){__VA_ARGS__},                      \
                                .count =                                                           \
                                    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)})
/* Ask one. Owns: *out is yours (free): its answer's first field, "" if there is none; NULL: it is not wanted. */
enum { BOOK_LIMIT_MS = 5000 };
lk_status book_database_ask(lk_client *client, const struct lk_postgres_work *work,
                            int64_t limit_ms, char **out, struct lk_error *err);

/*
 * ",WORD,WORD...," of those words "{WORD,WORD...}" that are in the book, each as often as it is asked for. Yours (free);
 * NULL: not known in time.
 *
 * Shape    ORDER:STATE:PAYMENT, as in struct book_fact. What was sold for good is held, and paid.
 */
char *book_database_booked(lk_client *client, const char *sale_id, const char *words,
                           int64_t limit_ms);

/* All sales in the book. Owns: *out_ids is yours (free). */
lk_status book_database_list(lk_client *client, struct sale_id **out_ids, size_t *out_count,
                             struct lk_error *err);

#endif
