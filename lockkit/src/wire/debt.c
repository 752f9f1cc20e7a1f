/*
 * The words of a release that was not confirmed, kept until it is. Any thread; a debt is one's own.
 */
#include "debt.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static const struct lk_bytes *word_of(const struct lk_eval *eval, size_t i)
{
    return i < eval->key_count ? &eval->keys[i] : &eval->args[i - eval->key_count];
}

struct lki_debt *lki_debt_new(const struct lki_variant *script, const struct lk_eval *eval,
                              int64_t until)
{
    size_t count = eval->key_count + eval->arg_count;
    size_t len = 0;

    for (size_t i = 0; i < count; i++)
        len += word_of(eval, i)->len;
    struct lki_debt *debt = malloc(sizeof *debt + count * sizeof *debt->words + len);
    if (!debt) return NULL;
    lki_script_digest(eval->script, script);
    *debt = (struct lki_debt){
        .until = until, .script = script, .key_count = eval->key_count, .count = count};
    char *end = (char *)&debt->words[count];
    for (size_t i = 0; i < count; i++) {
        const struct lk_bytes *word = word_of(eval, i);

        debt->words[i] = (struct lk_bytes){.data = end, .len = word->len};
        if (word->len > 0) end = mempcpy(end, word->data, word->len);
    }
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
    bool has_loader = endpoint->loader != NULL;
    struct lki_script_words words = {.variant = debt->script, .by_text = !has_loader};
    const struct lk_eval eval = {.keys = debt->words,
                                 .key_count = debt->key_count,
                                 .args = debt->words + debt->key_count,
                                 .arg_count = debt->count - debt->key_count};
    int64_t now = lki_clock_now();
    lk_status status = lki_script_words(&words, &eval, err);

    if (status == LK_OK && has_loader)
        status = lki_redis_introduce(redis, endpoint, debt->script->text, now, err);
    if (status == LK_OK)
        status = lki_redis_send(redis, &(struct lk_command){words.words, words.count}, 1, now, err);
    free(words.words);
    return status;
}

bool lki_debt_is_paid(const lk_reply *reply)
{
    return lk_reply_type_of(reply) == LK_REPLY_INTEGER || lk_reply_type_of(reply) == LK_REPLY_ARRAY;
}
