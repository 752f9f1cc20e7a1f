/*
 * The words of a release that was not confirmed, kept until it is. Any thread; a debt is one's own.
 */
#include "debt.h"

#include <stdlib.h>

#include "base/clock.h"

struct lki_debt *lki_debt_new(struct lki_request *request, bool has_loader, int64_t until)
{
    struct lki_debt *debt = request ? malloc(sizeof *debt) : NULL;

    if (debt) {
        *debt = (struct lki_debt){.until = until, .request = request};
        (void)lki_script_spell_out(request, has_loader);
    } else {
        free(request);
    }
    return debt;
}

void lki_debt_free(struct lki_debt *debt)
{
    if (debt) free(debt->request);
    free(debt);
}

lk_status lki_debt_send(const struct lki_debt *debt, struct lki_redis *redis,
                        const struct lki_endpoint *endpoint, struct lk_error *err)
{
    const struct lki_request *request = debt->request;
    int64_t now = lki_clock_now();
    lk_status status = LK_OK;

    if (request->introduce)
        status = lki_redis_introduce(redis, endpoint, request->introduce->text, now, err);
    return status == LK_OK ? lki_redis_send(redis, &request->command, 1, now, err) : status;
}

bool lki_debt_is_paid(const lk_reply *reply)
{
    return lk_reply_type_of(reply) == LK_REPLY_INTEGER || lk_reply_type_of(reply) == LK_REPLY_ARRAY;
}
