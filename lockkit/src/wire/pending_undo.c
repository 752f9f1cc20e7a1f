/*
 * See pending_undo.h. Threads: any; each undo is one thread's at a time.
 */
#include "pending_undo.h"

#include <stdlib.h>

#include "base/clock.h"

struct lki_pending_undo *lki_pending_undo_new(struct lki_request *request, bool has_loader,
                                              int64_t until)
{
    struct lki_pending_undo *undo = request ? malloc(sizeof *undo) : NULL;

    if (undo) {
        *undo = (struct lki_pending_undo){.until = until, .request = request};
        (void)lki_script_spell_out(request, has_loader);
    } else {
        free(request);
    }
    return undo;
}

void lki_pending_undo_free(struct lki_pending_undo *undo)
{
    if (undo) free(undo->request);
    free(undo);
}

lk_status lki_pending_undo_send(const struct lki_pending_undo *undo, struct lki_redis *redis,
                                const struct lki_endpoint *endpoint, struct lk_error *err)
{
    const struct lki_request *request = undo->request;
    int64_t now = lki_clock_now();
    lk_status status = LK_OK;

    if (request->load_first)
        status = lki_redis_load_script(redis, endpoint, request->load_first->text, now, err);
    return status == LK_OK ? lki_redis_send(redis, &request->command, 1, now, err) : status;
}

bool lki_pending_undo_is_done(const lk_reply *reply)
{
    return lk_reply_type_of(reply) == LK_REPLY_INTEGER || lk_reply_type_of(reply) == LK_REPLY_ARRAY;
}
