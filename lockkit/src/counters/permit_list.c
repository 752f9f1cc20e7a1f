/*
 * Ids are 32 hex digits for the caller and 16 raw bytes on the server. Every script that counts first releases
 * expired permits, by the server's clock; without a script nothing releases them. Threads: any.
 */
#include "permit_list.h"

#include <stdlib.h>
#include <string.h>

#include "lockkit/semaphore.h"

#include "base/error.h"
#include "base/name.h"
#include "wire/reply.h"

static int hex_value(char digit)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *found = digit ? strchr(digits, digit) : NULL;

    return found ? (int)((found - digits) % 16) : -1;
}

char *lki_permit_list_channel(lk_client *client, const char *key)
{
    if (lki_context_is_by_session(client)) return lki_context_own_channel(client);
    return client && client->backend ? strdup(key) : lki_name_prefix("redisson_sc", key);
}

bool lki_permit_list_parse(const char *text, struct lki_permit_id *out)
{
    if (strnlen(text, LK_PERMIT_ID_MAX) != 2 * sizeof out->bytes) return false;
    for (size_t i = 0; i < sizeof out->bytes; i++) {
        int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);

        if (high < 0 || low < 0) return false;
        out->bytes[i] = (unsigned char)(high * 16 + low);
    }
    return true;
}

lk_status lki_permit_list_run(const struct lki_permit_list *list, const char *script,
                              long long *out_answer, size_t count, struct lk_error *err)
{
    const struct lki_backend *backend = list->client->backend;
    lk_reply *reply = NULL;
    long long answer[2] = {0};

    if (backend) {
        lk_status status = backend->permits(list, script, answer, err);

        if (status == LK_OK) memcpy(out_answer, answer, count * sizeof *answer);
        return status;
    }
    struct lk_bytes *args = calloc(list->count + 1, sizeof *args);
    struct lk_eval ids = {.args = args};
    struct lki_call call = {
        .script = script,
        .preamble = "permits_sweep",
        .eval = &ids,
        .keys = {lk_bytes_of(list->key), lk_bytes_of(list->timeouts), lk_bytes_of(list->channel)},
        .key_count = 3,
        .undo_until = list->undo_until,
        .out_is_synced = list->out_is_synced};

    if (!args) return LKI_FAIL(err, LK_NO_MEMORY, "%s", list->key);
    if (list->number) args[ids.arg_count++] = lk_bytes_of(list->number);
    for (size_t i = 0; i < list->count; i++) {
        args[ids.arg_count++] = (struct lk_bytes){.data = (const char *)list->ids[i].bytes,
                                                  .len = sizeof list->ids[i].bytes};
    }
    lk_status status = lki_call_reply(list->client, &call, list->deadline, &reply, err);
    free(args);
    return status == LK_OK ? lki_reply_integers(reply, out_answer, count, err) : status;
}

lk_status lki_permit_list_take(const struct lki_permit_list *list, int64_t lease_ms,
                               int64_t *out_ttl_ms, struct lk_error *err)
{
    char lease[LKI_NUMBER_MAX];
    long long answer[2] = {0};
    struct lki_permit_list wanted = *list;

    wanted.is_waited_for = out_ttl_ms != NULL;
    wanted.number = lki_number(lease, lease_ms).data;
    lk_status status = lki_permit_list_run(&wanted, "permits_acquire", answer, 2, err);
    if (status != LK_OK || answer[0] == 1) return status;
    if (out_ttl_ms) *out_ttl_ms = answer[1];
    return LKI_FAIL(err, LK_BUSY, "%s: fewer than %zu permits are available", list->key,
                    list->count);
}

lk_status lki_permit_list_give(const struct lki_permit_list *list, bool *out_is_none,
                               struct lk_error *err)
{
    enum { SOME_ARE_OUT, GIVEN, NONE_IS_OUT };
    long long answer = SOME_ARE_OUT;
    lk_status status = lki_permit_list_run(list, "permits_release", &answer, 1, err);

    if (status != LK_OK || answer == GIVEN) return status;
    if (out_is_none) *out_is_none = answer == NONE_IS_OUT;
    return LKI_FAIL(err, LK_NOT_OWNER, "%s: a permit had ended before its release", list->key);
}
