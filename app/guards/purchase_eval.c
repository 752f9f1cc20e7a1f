/*
 * See purchase_eval.h. Any thread.
 */
#include "purchase_eval.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_ARGS = 2, ARGS_PER_PURCHASE = 3, HEAD_ANSWERS = 2 };

bool purchase_eval_make(const struct guard_ctx *ctx, struct purchase *const *batch, size_t count,
                        struct purchase_eval *out)
{
    struct lk_bytes *next = calloc(HEAD_ARGS + ARGS_PER_PURCHASE * count, sizeof *next);

    out->args = next;
    if (!next) return false;
    sale_keys_make(ctx->sale_id, &out->keys);
    (void)snprintf(out->count, sizeof out->count, "%zu", count);
    *next++ = lk_bytes_of(ctx->instance);
    *next++ = lk_bytes_of(out->count);
    for (size_t i = 0; i < count; i++) {
        *next++ = lk_bytes_of(batch[i]->buyer);
        *next++ = lk_bytes_of(batch[i]->order_id);
        *next++ = lk_bytes_of(batch[i]->key);
    }
    out->eval = (struct lk_eval){.script = ctx->purchase,
                                 .keys = out->keys.key,
                                 .key_count = KEY_LEDGER + 1,
                                 .args = out->args,
                                 .arg_count = (size_t)(next - out->args)};
    return true;
}

void purchase_eval_done(struct purchase_eval *self)
{
    free(self->args);
}

/* 'C', 'R<id>', 'A<id>', 'S', 'N', 'E', 'P'; false for anything else. */
static bool read_answer(const lk_reply *answer, int64_t until_start_ms, struct purchase *purchase)
{
    static const struct {
        char letter;
        bool names_order; /* whose id follows; none when the order's value was no order */
        outcome outcome;
    } letters[] = {{'C', false, OUTCOME_CREATED},        {'R', true, OUTCOME_REPLAYED},
                   {'A', true, OUTCOME_ALREADY_ORDERED}, {'S', false, OUTCOME_SOLD_OUT},
                   {'N', false, OUTCOME_NOT_STARTED},    {'E', false, OUTCOME_ENDED},
                   {'P', false, OUTCOME_PAUSED}};
    struct lk_bytes text = lk_reply_bytes(answer);
    size_t i = 0;

    if (text.len == 0 || text.len > ORDER_ID_MAX) return false;
    while (i < sizeof letters / sizeof letters[0] && letters[i].letter != text.data[0])
        i++;
    if (i == sizeof letters / sizeof letters[0]) return false;
    if (!letters[i].names_order && text.len > 1) return false;
    purchase->outcome = letters[i].outcome;
    if (letters[i].names_order) { /* never the id that was offered: it is nobody's order */
        memcpy(purchase->order_id, text.data + 1, text.len - 1);
        purchase->order_id[text.len - 1] = '\0';
    }
    if (purchase->outcome == OUTCOME_NOT_STARTED) purchase->retry_ms = until_start_ms;
    return true;
}

static bool read_answers(const lk_reply *reply, struct purchase **batch, size_t count)
{
    bool is_sale = lk_reply_integer(lk_reply_at(reply, 0), -1) >= 0;
    int64_t until_start_ms = lk_reply_integer(lk_reply_at(reply, 1), 0);

    if (lk_reply_count(reply) != HEAD_ANSWERS + (is_sale ? count : 0)) return false;
    for (size_t i = 0; i < count; i++) {
        if (!is_sale) {
            batch[i]->outcome = OUTCOME_NO_SALE;
        } else if (!read_answer(lk_reply_at(reply, HEAD_ANSWERS + i), until_start_ms, batch[i])) {
            return false;
        }
    }
    return true;
}

static guard_status status_of(lk_status status)
{
    switch (status) {
    case LK_OK:
        return GUARD_DONE;
    case LK_BUSY:
    case LK_CANCELLED:
    case LK_LOST:
    case LK_NOT_OWNER:
        return GUARD_BUSY;
    case LK_UNKNOWN:
        return GUARD_UNKNOWN;
    case LK_INVALID:
    case LK_NO_MEMORY:
    case LK_UNREACHABLE:
    case LK_SERVER: /* the script checks everything before its first write */
    case LK_STATUS_COUNT:
        break;
    }
    return GUARD_UNAVAILABLE;
}

struct guard_result purchase_eval_read(lk_status status, lk_reply *reply,
                                       const struct lk_error *err, struct purchase **batch,
                                       size_t count)
{
    struct guard_result result = {.status = status_of(status), .error = *err};

    if (status == LK_OK && !read_answers(reply, batch, count)) {
        result.status = GUARD_UNKNOWN;
        result.error.code = LK_SERVER;
        (void)snprintf(result.error.text, sizeof result.error.text,
                       "purchase.lua gave an answer of unexpected shape");
    }
    lk_reply_free(reply);
    return result;
}
