/*
 * What a server still has to undo.
 */
#ifndef LKI_DEBT_H
#define LKI_DEBT_H

#include "redis.h"
#include "script.h"

/* A script that gives back, and that no server has confirmed. */
struct lki_debt {
    struct lki_debt *next; /* of a list that it is in */
    int64_t until;
    bool is_astray;                   /* another server has the key by now, as the last one said */
    const struct lki_variant *script; /* borrowed */
    size_t key_count;
    size_t count;
    struct lk_bytes words[]; /* the keys, then the arguments; what they say stands behind */
};

/* Copies the words; the script, one of lockkit's own, lives as long as its client. until: the lease has
   ended by then. NULL when out of memory: then the lease pays. */
struct lki_debt *lki_debt_new(const struct lki_variant *script, const struct lk_eval *eval,
                              int64_t until);
void lki_debt_free(struct lki_debt *debt); /* NULL is fine */

/* Send it; one answer follows. Statuses of lki_redis_send(). */
LK_MUST_CHECK lk_status lki_debt_send(const struct lki_debt *debt, struct lki_redis *redis,
                                      const struct lki_endpoint *endpoint, struct lk_error *err);
/* Whether the answer says that it is done. */
bool lki_debt_is_paid(const lk_reply *reply);

#endif
