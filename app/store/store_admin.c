/*
 * Operators' steps on a sale, each one script (app/scripts) on the same three keys. Any thread.
 */
#include "store_admin.h"

#include <inttypes.h>
#include <stdio.h>

#include "store_inside.h"

enum { NUMBER_SIZE = 24 };

const char *store_step_name(sale_step step)
{
    static const char *const names[] = {
#define STEP_NAME(value, answer, name) [value] = (name),
        SALE_STEP_LIST(STEP_NAME)
#undef STEP_NAME
    };

    return (unsigned)step < SALE_STEP_COUNT ? names[step] : "?";
}

/* What a script answers, { 0, 0 } (no such sale) aside; false for anything else. */
static bool read_end(const lk_reply *reply, struct sale_step_end *out_end)
{
    static const int answers[] = {SALE_STEP_LIST(LIST_NAME)};
    long long answer = lk_reply_integer(lk_reply_at(reply, 0), 0);
    int64_t epoch = lk_reply_integer(lk_reply_at(reply, 1), -1);
    size_t i = 0;

    while (i < SALE_STEP_COUNT && answers[i] != answer)
        i++;
    if (i == SALE_STEP_COUNT || epoch < 0) return false;
    *out_end = (struct sale_step_end){.step = (sale_step)i,
                                      .epoch = epoch,
                                      .sellable_ms = lk_reply_integer(lk_reply_at(reply, 2), 0)};
    return true;
}

struct step {
    enum store_script script;
    const char *id;
    size_t count;
    struct lk_bytes args[4]; /* the first is filled in: who does it */
};

static store_status take_step(struct store *store, struct step step, struct sale_step_end *out_end,
                              struct lk_error *err)
{
    struct sale_keys keys;
    lk_reply *reply = NULL;

    sale_keys_make(step.id, &keys);
    const struct lk_bytes used[] = {keys.key[KEY_SALE], keys.key[KEY_STOCK], keys.key[KEY_LEDGER]};
    step.args[0] = lk_bytes_of(store->instance);
    store_status status = store_run(
        store, step.script,
        (struct lk_eval){.keys = used, .key_count = 3, .args = step.args, .arg_count = step.count},
        &reply, err);
    if (status != STORE_OK) return status;
    if (lk_reply_integer(lk_reply_at(reply, 0), -1000) == 0) {
        status = STORE_NOT_FOUND;
    } else if (!read_end(reply, out_end)) {
        status = store_failed(err, NULL);
    }
    lk_reply_free(reply);
    return status;
}

store_status store_end_sale(struct store *store, const char *id, struct sale_step_end *out_end,
                            struct lk_error *err)
{
    return take_step(store, (struct step){STORE_END, id, 1, {{0}}}, out_end, err);
}

store_status store_pause_sale(struct store *store, const char *id, struct sale_step_end *out_end,
                              struct lk_error *err)
{
    return take_step(store, (struct step){STORE_PAUSE, id, 1, {{0}}}, out_end, err);
}

store_status store_resume_sale(struct store *store, const char *id, struct sale_step_end *out_end,
                               struct lk_error *err)
{
    return take_step(store, (struct step){STORE_RESUME, id, 1, {{0}}}, out_end, err);
}

/* "" for a moment that stays. */
static struct lk_bytes moment(int64_t at_ms, char text[NUMBER_SIZE])
{
    text[0] = '\0';
    if (at_ms >= 0) (void)snprintf(text, NUMBER_SIZE, "%" PRId64, at_ms);
    return lk_bytes_of(text);
}

store_status store_patch_sale(struct store *store, const char *id, const struct sale_patch *patch,
                              struct sale_step_end *out_end, struct lk_error *err)
{
    char starts[NUMBER_SIZE];
    char ends[NUMBER_SIZE];
    struct step step = {STORE_PATCH,
                        id,
                        4,
                        {{0},
                         lk_bytes_of(patch->title ? patch->title : ""),
                         moment(patch->starts_ms, starts),
                         moment(patch->ends_ms, ends)}};

    return take_step(store, step, out_end, err);
}

store_status store_restock_sale(struct store *store, const char *id,
                                const struct sale_restock *restock, struct sale_step_end *out_end,
                                struct lk_error *err)
{
    char units[NUMBER_SIZE];
    char cool[NUMBER_SIZE];
    struct step step = {STORE_RESTOCK,
                        id,
                        4,
                        {{0},
                         moment(restock->units, units),
                         lk_bytes_of(restock->key),
                         moment(SALE_COOL_MS, cool)}};

    return take_step(store, step, out_end, err);
}
