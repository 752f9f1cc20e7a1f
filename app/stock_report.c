/*
 * Two round trips: the ids, which Redis sorts and cuts, and all their numbers. Those of one sale are of
 * one moment, or they would not add up while it sells. Any thread.
 */
#include "stock_report.h"

#include <stdlib.h>
#include <string.h>

#include "sale_keys.h"

/* Per sale. */
enum { ASK_MULTI, ASK_PUT_UP, ASK_LEFT, ASK_ORDERS, ASK_EXEC, COMMANDS, WORDS = 4 };

static bool to_number(const lk_reply *reply, int64_t *out)
{
    struct lk_bytes text = lk_reply_bytes(reply);

    if (!text.data) return false;
    *out = strtoll(text.data, NULL, 10); /* NUL-terminated */
    return true;
}

/* The valid ids of a reply into rows; how many. */
static size_t take_ids(const lk_reply *ids, struct metrics_stock rows[STOCK_REPORT_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < lk_reply_count(ids) && count < STOCK_REPORT_MAX; i++) {
        struct lk_bytes id = lk_reply_bytes(lk_reply_at(ids, i));

        if (!id.data || id.len > SALE_ID_MAX || !sale_id_is_valid(id.data)) continue;
        rows[count] = (struct metrics_stock){.initial = 0};
        memcpy(rows[count++].sale_id, id.data, id.len + 1);
    }
    return count;
}

/* exec: what was asked between MULTI and EXEC. */
static bool read_row(const lk_reply *exec, struct metrics_stock *row)
{
    const lk_reply *put_up = lk_reply_at(exec, ASK_PUT_UP - 1);
    int64_t restocked = 0;

    row->orders = lk_reply_integer(lk_reply_at(exec, ASK_ORDERS - 1), 0);
    (void)to_number(lk_reply_at(put_up, 1), &restocked); /* not there before the first */
    if (!to_number(lk_reply_at(put_up, 0), &row->initial) ||
        !to_number(lk_reply_at(exec, ASK_LEFT - 1), &row->left))
        return false;
    row->initial += restocked;
    return true;
}

static bool read_rows(lk_client *client, struct metrics_stock rows[STOCK_REPORT_MAX], size_t count,
                      struct metrics_stock *out, size_t *out_count)
{
    struct sale_keys keys[STOCK_REPORT_MAX];
    struct lk_bytes words[STOCK_REPORT_MAX * COMMANDS][WORDS];
    struct lk_command commands[STOCK_REPORT_MAX * COMMANDS] = {0};
    lk_reply *replies[STOCK_REPORT_MAX * COMMANDS] = {0};
    size_t good = 0;

    for (size_t i = 0; i < count; i++) {
        struct lk_bytes(*of_sale)[WORDS] = &words[i * COMMANDS];

        sale_keys_make(rows[i].sale_id, &keys[i]);
        const struct lk_bytes asked[COMMANDS][WORDS] = {
            [ASK_MULTI] = {LK_BYTES("MULTI")},
            [ASK_PUT_UP] = {LK_BYTES("HMGET"), keys[i].key[KEY_SALE], LK_BYTES("initial"),
                            LK_BYTES("restocked")},
            [ASK_LEFT] = {LK_BYTES("GET"), keys[i].key[KEY_STOCK]},
            [ASK_ORDERS] = {LK_BYTES("HLEN"), keys[i].key[KEY_ORDERS]},
            [ASK_EXEC] = {LK_BYTES("EXEC")},
        };
        static const size_t counts[COMMANDS] = {1, 4, 2, 2, 1};

        memcpy(of_sale, asked, sizeof asked);
        for (size_t c = 0; c < COMMANDS; c++)
            commands[i * COMMANDS + c] = (struct lk_command){of_sale[c], counts[c]};
    }
    if (lk_client_call(client, commands, count * COMMANDS, STOCK_REPORT_WAIT_MS, replies, NULL) !=
        LK_OK)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (read_row(replies[i * COMMANDS + ASK_EXEC], &rows[i])) out[good++] = rows[i];
    }
    for (size_t i = 0; i < count * COMMANDS; i++)
        lk_reply_free(replies[i]);
    *out_count = good;
    return true;
}

bool stock_report_read(lk_client *client, struct metrics_stock out[STOCK_REPORT_MAX],
                       size_t *out_count)
{
    struct lk_bytes words[] = {LK_BYTES("SORT"),  LK_BYTES("seckill:sales"),
                               LK_BYTES("ALPHA"), LK_BYTES("LIMIT"),
                               LK_BYTES("0"),     LK_BYTES("50")};
    struct metrics_stock rows[STOCK_REPORT_MAX];
    lk_reply *ids = NULL;
    size_t count = 0;

    _Static_assert(STOCK_REPORT_MAX == 50, "LIMIT says so");
    if (lk_client_call(client, &(struct lk_command){words, 6}, 1, STOCK_REPORT_WAIT_MS, &ids,
                       NULL) != LK_OK)
        return false;
    bool is_list = lk_reply_type_of(ids) == LK_REPLY_ARRAY;
    count = take_ids(ids, rows);
    lk_reply_free(ids);
    if (is_list && count > 0) return read_rows(client, rows, count, out, out_count);
    if (is_list) *out_count = 0;
    return is_list;
}
