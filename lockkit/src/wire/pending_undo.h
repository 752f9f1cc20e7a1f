/*
 * A pending undo: the compensation of a command whose outcome is unknown, as the release of a lock after an
 * acquire without an answer. It is sent until the server confirms it, or the lease has ended.
 */
#ifndef LKI_PENDING_UNDO_H
#define LKI_PENDING_UNDO_H

#include "redis.h"
#include "script.h"

struct lki_pending_undo {
    struct lki_pending_undo *next; /* in its list */
    int64_t until;                 /* it is dropped then: the lease has ended */
    bool is_moved;                 /* the last server said that another one has the key */
    struct lki_request
        *request; /* owned; of one of lockkit's own scripts, which the client keeps */
};

/* Takes the request (NULL is fine), and turns it into EVAL, as after NOSCRIPT nobody might repeat it. NULL: out of
   memory; then only the end of the lease undoes the command. */
struct lki_pending_undo *lki_pending_undo_new(struct lki_request *request, bool has_loader,
                                              int64_t until);
void lki_pending_undo_free(struct lki_pending_undo *undo); /* NULL is fine */

/* Send it; the server gives one answer. Statuses of lki_redis_send(). */
LK_MUST_CHECK lk_status lki_pending_undo_send(const struct lki_pending_undo *undo,
                                              struct lki_redis *redis,
                                              const struct lki_endpoint *endpoint,
                                              struct lk_error *err);
/* Whether this answer confirms it. */
bool lki_pending_undo_is_done(const lk_reply *reply);

#endif
