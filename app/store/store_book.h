/*
 * Raw access to a sale's ledger for the book (book.h), and the steps that rebuild a sale from it.
 */
#ifndef SECKILL_STORE_BOOK_H
#define SECKILL_STORE_BOOK_H

#include "sale/ledger.h"
#include "store.h"

/* A piece of a ledger; all but `entries` is of the whole, at that moment. */
struct store_entries {
    unsigned most;   /* in: entries at once */
    lk_reply *reply; /* yours (lk_reply_free): [id, [name, value...]] each */
    int64_t length;  /* entries */
    int64_t now_ms;  /* Redis' clock */
    bool is_rebuilt; /* just now: nothing of it is for sale */
    char replid[48]; /* of the server; another one, or it began anew: another id */
    bool is_checked; /* an instance has noted that it has all that the book has */
};

/* From that entry on, it too. A sale that is not there has none. */
store_status store_read_entries(struct store *store, const char *id, struct ledger_id from,
                                struct store_entries *out, struct lk_error *err);

/* Note that. */
store_status store_note_checked(struct store *store, const char *id, const char *replid,
                                struct lk_error *err);

/* Its last entry alone. Owns: *out is yours: [entry], or [] when there is none. */
store_status store_read_last(struct store *store, const char *id, lk_reply **out,
                             struct lk_error *err);

/*
 * A step of a rebuild: one script, with these words behind its keys.
 *
 * Owns     *out is yours.
 * Source   scripts/rebuild_begin.lua, rebuild_step.lua, rebuild_end.lua: what is told and answered.
 */
enum store_rebuild_step { REBUILD_BEGIN, REBUILD_STEP, REBUILD_END };
struct store_rebuild {
    enum store_rebuild_step step;
    const char *words[3]; /* NULL: the instance */
};
store_status store_rebuild(struct store *store, const char *id, const struct store_rebuild *step,
                           lk_reply **out, struct lk_error *err);

/*
 * What of a sale stands in no ledger: its title, units at first, window, guard, price.
 *
 * Owns     *out is yours (lk_reply_free): the values of store_plain_fields, nil where there is none.
 * Returns  also STORE_NOT_FOUND.
 */
enum { STORE_PLAIN_FIELDS = 10 };
extern const char *const store_plain_fields[STORE_PLAIN_FIELDS];
store_status store_read_plain(struct store *store, const char *id, lk_reply **out,
                              struct lk_error *err);

#endif
