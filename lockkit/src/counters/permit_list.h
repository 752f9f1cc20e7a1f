/*
 * A list of permits of one semaphore, as its scripts see them: for permits.c, and for the lock that is one
 * permit (permit_lock.c).
 */
#ifndef LKI_PERMIT_LIST_H
#define LKI_PERMIT_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "call/eval.h"

struct lki_permit_id {
    unsigned char bytes[16];
};

/* All borrowed. */
struct lki_permit_list {
    lk_client *client;
    const char *key;
    const char *timeouts; /* "{key}:timeout" */
    const char *channel;
    const struct lki_permit_id *ids;
    size_t count;
    const char *number;  /* of some scripts; NULL: none */
    int64_t deadline;    /* of the step that is taken next */
    bool is_waited_for;  /* the caller waits at the channel if they are not free */
    int64_t undo_until;  /* not 0: as in lki_call; for a backend: they may not have been taken */
    bool *out_is_synced; /* of lki_permit_list_take(); as in a pipeline */
};

/* Run one of the scripts behind permits_sweep, or what a backend has for it, with the number and the ids.
   *out_answer: so many integers, 2 at most. */
LK_MUST_CHECK lk_status lki_permit_list_run(const struct lki_permit_list *list, const char *script,
                                            long long *out_answer, size_t count,
                                            struct lk_error *err);

/* The channel on which releases are published; yours. NULL: no memory. */
char *lki_permit_list_channel(lk_client *client, const char *key);

/* From 32 hex digits; false when they are none. */
bool lki_permit_list_parse(const char *text, struct lki_permit_id *out);

/*
 * Acquire all of them, or none. lease_ms: LK_PERMIT_NO_LEASE: without a lease.
 *
 * Returns  OK; BUSY: too few, and the next one expires in *out_ttl_ms (-1: none does; may be NULL);
 *          UNKNOWN, UNREACHABLE, SERVER, NO_MEMORY
 */
LK_MUST_CHECK lk_status lki_permit_list_take(const struct lki_permit_list *list, int64_t lease_ms,
                                             int64_t *out_ttl_ms, struct lk_error *err);

/* Give them all back, or none: OK; NOT_OWNER: one had ended, and *out_is_none says whether all had
   (it may be NULL); UNKNOWN... */
lk_status lki_permit_list_give(const struct lki_permit_list *list, bool *out_is_none,
                               struct lk_error *err);

#endif
