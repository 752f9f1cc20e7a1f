/*
 * See store_book.h. Any thread.
 */
#include "store_book.h"

#include <stdio.h>
#include <string.h>

#include "store_internal.h"

const char *const store_plain_fields[STORE_PLAIN_FIELDS] = {
    "title",     "initial", "starts_ms", "ends_ms", "guard",
    "window_ms", "amount",  "currency",  "admit",   "draw"};

static void read_replid(const lk_reply *info, char out[48])
{
    static const char name[] = "master_replid:";
    const char *text = lk_reply_bytes(info).data;
    const char *at = text ? strstr(text, name) : NULL;

    at = at ? at + sizeof name - 1 : "";
    (void)snprintf(out, 48, "%.*s", (int)strspn(at, "0123456789abcdef"), at);
}

store_status store_note_checked(struct store *store, const char *id, const char *replid,
                                struct lk_error *err)
{
    const struct lk_bytes arg = lk_bytes_of(replid);
    struct sale_keys keys;
    lk_reply *reply = NULL;

    sale_keys_make(id, &keys);
    store_status status =
        store_run(store, STORE_NOTE_CHECKED,
                  (struct lk_eval){.keys = keys.key, .key_count = 1, .args = &arg, .arg_count = 1},
                  &reply, err);
    lk_reply_free(reply);
    return status;
}

store_status store_read_entries(struct store *store, const char *id, struct ledger_id from,
                                struct store_entries *out, struct lk_error *err)
{
    struct sale_keys keys;
    char at[LEDGER_ID_SIZE];
    char most[16];
    lk_reply *answers[5] = {0};

    sale_keys_make(id, &keys);
    ledger_id_format(from, at);
    (void)snprintf(most, sizeof most, "%u", out->most);
    const struct lk_bytes range[] = {LK_BYTES("XRANGE"), keys.key[KEY_LEDGER], lk_bytes_of(at),
                                     LK_BYTES("+"),      LK_BYTES("COUNT"),    lk_bytes_of(most)};
    const struct lk_bytes length[] = {LK_BYTES("XLEN"), keys.key[KEY_LEDGER]};
    const struct lk_bytes time[] = {LK_BYTES("TIME")};
    const struct lk_bytes marks[] = {LK_BYTES("HMGET"), keys.key[KEY_SALE], LK_BYTES("rebuild"),
                                     LK_BYTES("replid")};
    const struct lk_bytes info[] = {LK_BYTES("INFO"), LK_BYTES("replication")};
    const struct lk_command commands[] = {
        {range, 6}, {length, 2}, {time, 1}, {marks, 4}, {info, 2}};
    store_status status = store_ask(store, commands, 5, answers, err);
    if (status != STORE_OK) return status;
    out->reply = answers[0];
    out->length = lk_reply_integer(answers[1], 0);
    (void)store_to_time_ms(answers[2], &out->now_ms);
    out->is_rebuilt = lk_reply_bytes(lk_reply_at(answers[3], 0)).data != NULL;
    read_replid(answers[4], out->replid);
    const char *checked = lk_reply_bytes(lk_reply_at(answers[3], 1)).data;
    out->is_checked = checked && strcmp(checked, out->replid) == 0;
    for (size_t i = 1; i < 5; i++)
        lk_reply_free(answers[i]);
    return STORE_OK;
}

store_status store_read_plain(struct store *store, const char *id, lk_reply **out,
                              struct lk_error *err)
{
    struct sale_keys keys;
    struct lk_bytes words[2 + STORE_PLAIN_FIELDS] = {LK_BYTES("HMGET")};
    lk_reply *reply = NULL;

    sale_keys_make(id, &keys);
    words[1] = keys.key[KEY_SALE];
    for (size_t i = 0; i < STORE_PLAIN_FIELDS; i++)
        words[2 + i] = lk_bytes_of(store_plain_fields[i]);
    store_status status =
        store_ask(store, &(struct lk_command){words, 2 + STORE_PLAIN_FIELDS}, 1, &reply, err);
    if (status != STORE_OK) return status;
    if (lk_reply_bytes(lk_reply_at(reply, 1)).data) {
        *out = reply;
        return STORE_OK;
    }
    lk_reply_free(reply);
    return STORE_NOT_FOUND;
}

store_status store_read_last(struct store *store, const char *id, lk_reply **out,
                             struct lk_error *err)
{
    struct sale_keys keys;

    sale_keys_make(id, &keys);
    const struct lk_bytes last[] = {LK_BYTES("XREVRANGE"), keys.key[KEY_LEDGER], LK_BYTES("+"),
                                    LK_BYTES("-"),         LK_BYTES("COUNT"),    LK_BYTES("1")};
    return store_ask(store, &(struct lk_command){last, 6}, 1, out, err);
}

store_status store_rebuild(struct store *store, const char *id, const struct store_rebuild *step,
                           lk_reply **out, struct lk_error *err)
{
    struct lk_bytes args[3];
    struct sale_keys keys;

    if (step->step == REBUILD_BEGIN) {
        store_status status = store_list_id(store, id, err);

        if (status != STORE_OK) return status;
    }
    sale_keys_make(id, &keys);
    const struct lk_bytes used[] = {keys.key[KEY_SALE],   keys.key[KEY_STOCK], keys.key[KEY_ORDERS],
                                    keys.key[KEY_LEDGER], keys.key[KEY_DUE],   keys.key[KEY_EVENTS],
                                    keys.key[KEY_REFUNDS]};
    for (size_t i = 0; i < 3; i++)
        args[i] = lk_bytes_of(step->words[i] ? step->words[i] : store->instance);
    return store_run(store, STORE_REBUILD_BEGIN + (enum store_script)step->step,
                     (struct lk_eval){.keys = used, .key_count = 7, .args = args, .arg_count = 3},
                     out, err);
}
