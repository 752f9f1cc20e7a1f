/*
 * What a server still has to undo.
 */
#ifndef LKI_PENDING_UNDO_H
#define LKI_PENDING_UNDO_H

#include "redis.h"
#include "script.h"

/* A script that gives back, and that no server has confirmed. */
struct lki_pending_undo {
    struct lki_pending_undo *next; /* of a list that it is in */
    int64_t until;
    bool is_moved; /* another server has the key by now, as the last one said */
    struct lki_request
        *request; /* owned; of one of lockkit's own scripts, which lives as long as its client */
};

/* Takes the request (NULL is fine), which is spelled out: nobody would be there to hear that the digest is
   unknown. until: the lease has ended by then. NULL when out of memory: then the lease pays. */
struct lki_pending_undo *lki_pending_undo_new(struct lki_request *request, bool has_loader,
                                              int64_t until);
void lki_pending_undo_free(struct lki_pending_undo *undo); /* NULL is fine */

/* Send it; one answer follows. Statuses of lki_redis_send(). */
LK_MUST_CHECK lk_status lki_pending_undo_send(const struct lki_pending_undo *undo,
                                              struct lki_redis *redis,
                                              const struct lki_endpoint *endpoint,
                                              struct lk_error *err);
/* Whether the answer says that it is done. */
bool lki_pending_undo_is_done(const lk_reply *reply);

#endif
