/*
 * See store_segments.h. Any thread.
 */
#include "store_segments.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/hex.h"
#include "store_internal.h"

enum { NUMBER_SIZE = 24, MAP_SIZE = 24, DRAWS = 256 };

/* "COUNT:GENERATION" */
static bool read_map(const char *map, struct sale_segments *out)
{
    char *rest = NULL;
    unsigned long count = strtoul(map, &rest, 10);

    if (count < 1 || count > SALE_SEGMENTS_MAX || *rest != ':' ||
        strlen(rest + 1) != SEGMENT_GENERATION)
        return false;
    out->count = (unsigned)count;
    memcpy(out->generation, rest + 1, SEGMENT_GENERATION + 1);
    return true;
}

store_status store_find_segments(struct store *store, const char *id, struct sale *out,
                                 struct lk_error *err)
{
    struct sale_keys keys;
    char map[MAP_SIZE] = "";
    lk_reply *reply = NULL;

    sale_keys_make(id, &keys);
    const struct lk_bytes get[] = {LK_BYTES("GET"), keys.key[KEY_SEGMENTS]};
    store_status status = store_ask(store, &(struct lk_command){get, 2}, 1, &reply, err);
    if (status != STORE_OK) return status;
    bool is_there = lk_reply_type_of(reply) != LK_REPLY_NIL;
    bool is_read = store_to_text(reply, map, sizeof map) && read_map(map, &out->segments);
    if (!is_there) status = STORE_NOT_FOUND;
    if (is_there && !is_read) status = store_failed(err, reply);
    lk_reply_free(reply);
    (void)snprintf(out->id, sizeof out->id, "%s", id);
    return status;
}

store_status store_find_home(struct store *store, const char *id, const char *buyer,
                             struct sale_id *out, struct lk_error *err)
{
    struct sale sale;
    store_status status = store_find_segments(store, id, &sale, err);

    if (status == STORE_OK)
        segment_id(id, sale.segments.generation, segment_home(buyer, sale.segments.count), out);
    return status;
}

store_status store_find_pieces(struct store *store, const char *id, struct store_pieces *out,
                               struct lk_error *err)
{
    struct sale sale;
    store_status status = store_find_segments(store, id, &sale, err);

    if (status != STORE_OK) return status;
    out->count = sale.segments.count;
    memcpy(out->generation, sale.segments.generation, sizeof out->generation);
    for (unsigned i = 0; i < out->count; i++)
        segment_id(id, out->generation, i, &out->ids[i]);
    return STORE_OK;
}

static void write_map(unsigned count, const char *generation, char out[MAP_SIZE])
{
    (void)snprintf(out, MAP_SIZE, "%u:%.*s", count, SEGMENT_GENERATION, generation);
}

/* ---- made, and read ------------------------------------------------------------------------------ */

/* Delete segments; the sale's own key does not list them, so they are never read. */
static void drop_pieces(struct store *store, const struct sale *sale)
{
    for (unsigned i = 0; i < sale->segments.count; i++) {
        struct sale_keys keys;
        struct sale_id id;
        lk_reply *reply = NULL;

        segment_id(sale->id, sale->segments.generation, i, &id);
        sale_keys_make(id.text, &keys);
        const struct lk_bytes unlink[] = {LK_BYTES("UNLINK"), keys.key[KEY_SALE],
                                          keys.key[KEY_STOCK], keys.key[KEY_LEDGER]};
        (void)store_ask(store, &(struct lk_command){unlink, 4}, 1, &reply, NULL);
        lk_reply_free(reply);
    }
}

static store_status create_pieces(struct store *store, const struct sale *sale,
                                  struct lk_error *err)
{
    store_status status = STORE_OK;

    for (unsigned i = 0; i < sale->segments.count && status == STORE_OK; i++) {
        struct sale part = *sale;
        struct sale_id id;

        segment_id(sale->id, sale->segments.generation, i, &id);
        (void)snprintf(part.id, sizeof part.id, "%s", id.text);
        part.initial = segment_share(sale->initial, sale->segments.count, i);
        if (i > 0) part.waiting.admit = 0; /* the first has the waiting room of all */
        status = store_create_piece(store, &part, err);
    }
    return status;
}

/* Write the sale's own key; or only check that no sale of that id exists. */
static store_status set_map(struct store *store, const struct sale *sale, bool is_set,
                            struct lk_error *err)
{
    struct sale_keys keys;
    char map[MAP_SIZE];
    lk_reply *reply = NULL;
    store_status status = STORE_OK;

    sale_keys_make(sale->id, &keys);
    write_map(sale->segments.count, sale->segments.generation, map);
    const struct lk_bytes used[] = {LK_BYTES("EXISTS"),   keys.key[KEY_SALE],
                                    keys.key[KEY_STOCK],  keys.key[KEY_ORDERS],
                                    keys.key[KEY_LEDGER], keys.key[KEY_SEGMENTS]};
    const struct lk_bytes arg = lk_bytes_of(map);
    status = is_set ? store_run(store, STORE_CREATE_SEGMENTS,
                                (struct lk_eval){
                                    .keys = used + 1, .key_count = 5, .args = &arg, .arg_count = 1},
                                &reply, err)
                    : store_ask(store, &(struct lk_command){used, 6}, 1, &reply, err);
    if (status == STORE_OK && lk_reply_integer(reply, 0) != is_set) status = STORE_EXISTS;
    lk_reply_free(reply);
    return status;
}

/* The best of many: with segments all over the slots each of a cluster's masters gets its share. */
static bool draw_generation(const struct sale *sale, char out[SEGMENT_GENERATION + 1])
{
    unsigned char chance[SEGMENT_GENERATION / 2];
    char drawn[SEGMENT_GENERATION + 1];
    unsigned best = 0;

    for (int i = 0; i < DRAWS && best < sale->segments.count; i++) {
        if (getrandom(chance, sizeof chance, 0) != (ssize_t)sizeof chance) return false;
        hex_write(chance, sizeof chance, drawn);
        unsigned spread = segment_spread(sale->id, drawn, sale->segments.count);
        if (spread > best) memcpy(out, drawn, sizeof drawn);
        if (spread > best) best = spread;
    }
    return true;
}

store_status store_create_segmented(struct store *store, const struct sale *sale,
                                    struct lk_error *err)
{
    struct sale whole = *sale;
    store_status status = set_map(store, sale, false, err);

    if (status != STORE_OK) return status;
    if (!draw_generation(sale, whole.segments.generation)) return store_failed(err, NULL);
    status = create_pieces(store, &whole, err);
    if (status != STORE_OK) drop_pieces(store, &whole);
    if (status != STORE_OK) return status;
    status = set_map(store, &whole, true, err);
    if (status != STORE_OK && status != STORE_UNKNOWN) drop_pieces(store, &whole);
    return status;
}

store_status store_load_segmented(struct store *store, const char *id, struct sale *out,
                                  struct lk_error *err)
{
    struct sale whole = {.id = ""};
    struct store_pieces pieces;
    bool is_whole = true;
    store_status status = store_find_pieces(store, id, &pieces, err);

    if (status != STORE_OK) return status;
    struct sale *parts = calloc(pieces.count, sizeof *parts);
    status = parts ? store_load_pieces(store, pieces.ids, pieces.count, parts, err) : STORE_FAILED;
    for (unsigned i = 0; i < pieces.count && status == STORE_OK; i++)
        is_whole &= parts[i].id[0] != '\0';
    if (status == STORE_OK && !is_whole)
        status = STORE_NOT_FOUND; /* it is being removed, or lost */
    if (status == STORE_OK) {
        (void)snprintf(whole.id, sizeof whole.id, "%s", id);
        whole.segments.count = pieces.count;
        memcpy(whole.segments.generation, pieces.generation, sizeof pieces.generation);
        segment_join(parts, &whole);
        *out = whole;
    }
    free(parts);
    return status;
}

store_status store_forget_pieces(struct store *store, const char *id,
                                 const struct store_pieces *pieces, struct lk_error *err)
{
    struct sale_keys keys;
    char map[MAP_SIZE];
    lk_reply *reply = NULL;

    sale_keys_make(id, &keys);
    write_map(pieces->count, pieces->generation, map);
    const struct lk_bytes arg = lk_bytes_of(map);
    store_status status = store_run(
        store, STORE_FORGET_SEGMENTS,
        (struct lk_eval){
            .keys = &keys.key[KEY_SEGMENTS], .key_count = 1, .args = &arg, .arg_count = 1},
        &reply, err);
    lk_reply_free(reply);
    return status;
}

/* ---- moves ------------------------------------------------------------------------------------------- */

/* A step of a move. */
struct move_step {
    enum store_script script;
    const char *segment;
    int64_t numbers[3]; /* behind the instance */
    size_t count;
};

static store_status take_move_step(struct store *store, const struct move_step *step,
                                   lk_reply **reply, struct lk_error *err)
{
    struct sale_keys keys;
    char texts[3][NUMBER_SIZE];
    struct lk_bytes args[4] = {lk_bytes_of(store->instance)};
    bool is_settled = step->script == STORE_SETTLE; /* it writes no ledger */

    sale_keys_make(step->segment, &keys);
    const struct lk_bytes used[] = {keys.key[KEY_SALE], keys.key[KEY_STOCK], keys.key[KEY_LEDGER]};
    for (size_t i = 0; i < step->count; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "%" PRId64, step->numbers[i]);
        args[1 + i] = lk_bytes_of(texts[i]);
    }
    return store_run(store, step->script,
                     (struct lk_eval){.keys = used,
                                      .key_count = is_settled ? 1 : 3,
                                      .args = args + is_settled,
                                      .arg_count = step->count + !is_settled},
                     reply, err);
}

store_status store_withdraw_units(struct store *store, const char *segment, struct sale_move *move,
                                  struct lk_error *err)
{
    const struct move_step step = {STORE_WITHDRAW, segment, {move->target, move->units}, 2};
    lk_reply *reply = NULL;
    store_status status = take_move_step(store, &step, &reply, err);

    if (status == STORE_OK && lk_reply_count(reply) == 0) status = STORE_NOT_FOUND;
    if (status == STORE_OK)
        *move = (struct sale_move){.number = lk_reply_integer(lk_reply_at(reply, 0), 0),
                                   .units = lk_reply_integer(lk_reply_at(reply, 1), 0),
                                   .target = (unsigned)lk_reply_integer(lk_reply_at(reply, 2), 0)};
    lk_reply_free(reply);
    return status;
}

store_status store_deposit_units(struct store *store, const char *segment, unsigned source,
                                 const struct sale_move *move, struct lk_error *err)
{
    const struct move_step step = {STORE_DEPOSIT, segment, {source, move->number, move->units}, 3};
    lk_reply *reply = NULL;
    store_status status = take_move_step(store, &step, &reply, err);

    if (status == STORE_OK && lk_reply_integer(reply, 0) == 0) status = STORE_NOT_FOUND;
    lk_reply_free(reply);
    return status;
}

store_status store_settle_move(struct store *store, const char *segment, int64_t number,
                               struct lk_error *err)
{
    const struct move_step step = {STORE_SETTLE, segment, {number}, 1};
    lk_reply *reply = NULL;
    store_status status = take_move_step(store, &step, &reply, err);

    lk_reply_free(reply);
    return status;
}
