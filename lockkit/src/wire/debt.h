/*
 * What a server still has to undo.
 */
#ifndef LKI_DEBT_H
#define LKI_DEBT_H

#include "redis.h"

/* A compare-and-delete that no server has confirmed. */
struct lki_debt {
    struct lki_debt *next; /* of a list that it is in */
    int64_t until;
    size_t key_len;
    size_t token_len;
    size_t channel_len; /* 0: none */
    char words[];       /* key, token, channel */
};

/* wake_channel: of a release, which is told there; NULL: nobody waits for it. until: the lease has ended
   by then. NULL when out of memory: then the lease pays. */
struct lki_debt *lki_debt_new(const char *key, const char *token, const char *wake_channel,
                              int64_t until);
void lki_debt_free(struct lki_debt *debt); /* NULL is fine */

/* Send it; one answer follows. Statuses of lki_redis_send(). */
LK_MUST_CHECK lk_status lki_debt_send(const struct lki_debt *debt, struct lki_redis *redis,
                                      const struct lki_endpoint *endpoint, struct lk_error *err);

#endif
