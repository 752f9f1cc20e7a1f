/*
 * Operators' steps on a sale, each one script (app/scripts). Any thread.
 */
#include "store_admin.h"

#include <inttypes.h>
#include <stdio.h>

#include "store_internal.h"

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
    struct lk_bytes args[5]; /* the first is filled in: the instance */
};

static store_status take_step_in(struct store *store, struct step step,
                                 struct sale_step_end *out_end, struct lk_error *err)
{
    struct sale_keys keys;
    lk_reply *reply = NULL;

    sale_keys_make(step.id, &keys);
    const struct lk_bytes some[] = {keys.key[KEY_SALE], keys.key[KEY_STOCK], keys.key[KEY_LEDGER]};
    const struct lk_bytes all[] = {
        keys.key[KEY_SALE],    keys.key[KEY_STOCK], keys.key[KEY_ORDERS], keys.key[KEY_LEDGER],
        keys.key[KEY_VOID],    keys.key[KEY_DUE],   keys.key[KEY_EVENTS], keys.key[KEY_REFUNDS],
        keys.key[KEY_WAITING], keys.key[KEY_PLACES]};
    bool is_removal = step.script == STORE_REMOVE;
    step.args[0] = lk_bytes_of(store->instance);
    store_status status =
        store_run(store, step.script,
                  (struct lk_eval){.keys = is_removal ? all : some,
                                   .key_count = is_removal ? sizeof all / sizeof all[0] : 3,
                                   .args = step.args,
                                   .arg_count = step.count},
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

/* The first segment alone has the waiting room. False: nothing is left to be done. */
static bool make_for_others(struct step *step)
{
    bool is_any = false;

    if (step->script != STORE_PATCH) return true;
    step->args[4].len = 0;
    for (size_t i = 1; i < 4; i++)
        is_any |= step->args[i].len > 0;
    return is_any;
}

/* What became of a step on all segments. */
struct steps_end {
    struct sale_step_end first, refusal; /* of the first segment; of any other, unless it is DONE */
    store_status worst;
    bool is_any_taken;
};

/* On one of them. False: on no other any more. */
static bool take_step_at(struct store *store, struct step step, unsigned number,
                         struct steps_end *all, struct lk_error *err)
{
    bool is_removal = step.script == STORE_REMOVE;
    struct sale_step_end end = {.step = SALE_STEP_DONE};
    store_status status = take_step_in(store, step, &end, err);

    if (number == 0) all->first = end;
    if (status == STORE_OK || status == STORE_UNKNOWN) all->is_any_taken = true;
    if (status != STORE_OK && all->worst != STORE_UNKNOWN) all->worst = status;
    if (end.step != SALE_STEP_DONE && !(number > 0 && end.step == SALE_STEP_NOT_PAUSED))
        all->refusal = end;
    if (is_removal)
        return end.step == SALE_STEP_DONE && (status == STORE_OK || status == STORE_NOT_FOUND);
    return step.script != STORE_PATCH || (status == STORE_OK && end.step == SALE_STEP_DONE);
}

/* A removal is of all or none, and a patch is refused by the first one, before the others; other steps are taken wherever
   they can be. The first one's answer, or any refusal: but that some are resumed already is none. What was taken here
   and not there is UNKNOWN: whoever asks again ends it. */
static store_status take_step_on(struct store *store, struct step step,
                                 const struct store_pieces *pieces, struct sale_step_end *out_end,
                                 struct lk_error *err)
{
    const struct sale_step_end done = {.step = SALE_STEP_DONE};
    struct steps_end all = {done, done, STORE_OK, false};
    bool goes_on = true;

    for (unsigned i = 0; i < pieces->count && goes_on; i++) {
        unsigned number = step.script == STORE_PATCH ? i : pieces->count - 1 - i;
        struct step piece = step;

        piece.id = pieces->ids[number].text;
        if (number == 0 || make_for_others(&piece))
            goes_on = take_step_at(store, piece, number, &all, err);
    }
    *out_end = all.refusal.step != SALE_STEP_DONE ? all.refusal : all.first;
    if (step.script == STORE_REMOVE)
        return all.worst == STORE_NOT_FOUND && out_end->step != SALE_STEP_DONE ? STORE_OK
                                                                               : all.worst;
    return all.worst != STORE_OK && all.is_any_taken ? STORE_UNKNOWN : all.worst;
}

static store_status take_step(struct store *store, struct step step, struct sale_step_end *out_end,
                              struct lk_error *err)
{
    struct store_pieces pieces;
    store_status status = take_step_in(store, step, out_end, err);

    if (status != STORE_NOT_FOUND) return status;
    status = store_find_pieces(store, step.id, &pieces, err);
    return status == STORE_OK ? take_step_on(store, step, &pieces, out_end, err) : status;
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

store_status store_begin_removal(struct store *store, const char *id, struct sale_step_end *out_end,
                                 struct lk_error *err)
{
    return take_step(store, (struct step){STORE_REMOVE, id, 2, {{0}, LK_BYTES("begin")}}, out_end,
                     err);
}

store_status store_clear_segments(struct store *store, const char *id,
                                  struct sale_step_end *out_end, struct lk_error *err)
{
    struct store_pieces pieces;
    struct step step = {STORE_REMOVE, id, 2, {{0}, LK_BYTES("end")}};
    store_status status = store_find_pieces(store, id, &pieces, err);

    if (status != STORE_OK) return status;
    out_end->step = SALE_STEP_DONE;
    status = take_step_on(store, step, &pieces, out_end, err);
    if (status != STORE_OK && status != STORE_NOT_FOUND) return status; /* this: they are gone */
    if (out_end->step != SALE_STEP_DONE) return STORE_OK;
    status = store_unlist_id(store, id, err);
    return status == STORE_OK ? store_forget_pieces(store, id, &pieces, err) : status;
}

store_status store_end_removal(struct store *store, const char *id, struct sale_step_end *out_end,
                               struct lk_error *err)
{
    store_status status = store_clear_segments(store, id, out_end, err);

    if (status != STORE_NOT_FOUND) return status;
    /* First off the list: as long as it is there it can be removed again, by its id. */
    status = store_unlist_id(store, id, err);
    if (status != STORE_OK) return status;
    return take_step_in(store, (struct step){STORE_REMOVE, id, 2, {{0}, LK_BYTES("end")}}, out_end,
                        err);
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
    char admit[NUMBER_SIZE];
    struct step step = {STORE_PATCH,
                        id,
                        5,
                        {{0},
                         lk_bytes_of(patch->title ? patch->title : ""),
                         moment(patch->starts_ms, starts),
                         moment(patch->ends_ms, ends),
                         moment(patch->admit > 0 ? patch->admit : -1, admit)}};

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
    struct sale_id home;
    store_status status = take_step_in(store, step, out_end, err);

    if (status != STORE_NOT_FOUND) return status;
    /* In one segment, which the key chooses: so it happens once. The units move to where buyers are. */
    status = store_find_home(store, id, restock->key, &home, err);
    step.id = home.text;
    return status == STORE_OK ? take_step_in(store, step, out_end, err) : status;
}
