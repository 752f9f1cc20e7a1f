/*
 * Entries of a ledger on their way into the book: as JSON, and each with a digest. No I/O.
 */
#ifndef SECKILL_BOOK_WORDS_H
#define SECKILL_BOOK_WORDS_H

#include "sale/ledger.h"

/* A place in a ledger: its entry, by id and by what is in it. 0-0: before the first. */
struct book_place {
    struct ledger_id at;
    int64_t digest;
};

/* The place of one entry of XRANGE's answer; false: it is none. Two entries of other words share a digest by
   a chance of 2^-64: a ledger that was forgotten and begun anew shows. */
bool book_words_place(const lk_reply *entry, struct book_place *out);

/*
 * The entries from number `first` on as [{"ms":, "seq":, "digest":, "words": [...]}...].
 *
 * Owns     the result is yours (free). NULL: no memory, or one is no entry.
 * Returns  and *out_last, the place of the last.
 */
char *book_words_json(const lk_reply *entries, size_t first, struct book_place *out_last);

/* ["name", "value"...] of a sale's plain fields (store_book.h), those that are there; likewise yours. */
char *book_words_fields(const char *const *names, const lk_reply *values);

#endif
