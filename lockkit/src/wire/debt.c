/*
 * The words of a release that was not confirmed, kept until it is. Any thread; a debt is one's own.
 */
#include "debt.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "script.h"

struct lki_debt *lki_debt_new(const char *key, const char *token, const char *wake_channel,
                              int64_t until)
{
    size_t key_len = strlen(key);
    size_t token_len = strlen(token);
    size_t channel_len = wake_channel ? strlen(wake_channel) : 0;
    struct lki_debt *debt = malloc(sizeof *debt + key_len + token_len + channel_len);

    if (!debt) return NULL;
    *debt = (struct lki_debt){
        .until = until, .key_len = key_len, .token_len = token_len, .channel_len = channel_len};
    char *end = mempcpy(mempcpy(debt->words, key, key_len), token, token_len);
    if (wake_channel) (void)memcpy(end, wake_channel, channel_len);
    return debt;
}

void lki_debt_free(struct lki_debt *debt)
{
    free(debt);
}

/* By text, or introduced: nobody would be there to hear that the digest is unknown. */
lk_status lki_debt_send(const struct lki_debt *debt, struct lki_redis *redis,
                        const struct lki_endpoint *endpoint, struct lk_error *err)
{
    bool is_told = debt->channel_len > 0;
    const struct lk_script_source *undo =
        lki_script_named(is_told ? "mutex_release" : "redlock_undo");
    bool has_loader = endpoint->loader != NULL;
    const char *token = debt->words + debt->key_len;
    struct lk_bytes words[6];
    size_t count = 0;

    words[count++] = has_loader ? LK_BYTES("EVALSHA") : LK_BYTES("EVAL");
    words[count++] = lk_bytes_of(has_loader ? undo->sha1 : undo->source);
    words[count++] = is_told ? LK_BYTES("2") : LK_BYTES("1");
    words[count++] = (struct lk_bytes){debt->words, debt->key_len};
    if (is_told) words[count++] = (struct lk_bytes){token + debt->token_len, debt->channel_len};
    words[count++] = (struct lk_bytes){token, debt->token_len};
    int64_t now = lki_clock_now();
    lk_status status = LK_OK;

    if (has_loader) status = lki_redis_introduce(redis, endpoint, undo->source, now, err);
    if (status != LK_OK) return status;
    return lki_redis_send(redis, &(struct lk_command){words, count}, 1, now, err);
}
