/*
 * Operators' steps on a real Redis: what each writes and refuses, also under hostile arguments,
 * spoilt keys and rights, and what the service's own audit finds in books that were doctored.
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>

#include "base/clock.h"
#include "store/app_scripts.h"
#include "store/store_admin.h"
#include "test/support/sale_instances.h"
#include "test/support/testing.h"

#define HEX             "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* Moments in the script's past and future, as text and as numbers. */
#define PAST            "1000"
#define LATER           "95617584000000"
#define LATEST          "95617585000000"

#define LATER_MS        95617584000000
#define LATEST_MS       95617585000000

/* ---- the steps, in one form -------------------------------------------------------------------------- */

struct step {
    enum { PAUSE, RESUME, PATCH, RESTOCK, END, STEP_KINDS } kind;
    struct sale_patch patch;
    int64_t units;
    const char *key;
};

static store_status take(struct sale_world *world, const struct step *step,
                         struct sale_step_end *out_end, struct lk_error *err)
{
    struct store *store = world->shops[0].store;

    switch (step->kind) {
    case PAUSE:
        return store_pause_sale(store, "s", out_end, err);
    case RESUME:
        return store_resume_sale(store, "s", out_end, err);
    case PATCH:
        return store_patch_sale(store, "s", &step->patch, out_end, err);
    case RESTOCK:
        return store_restock_sale(store, "s", &(struct sale_restock){step->units, step->key},
                                  out_end, err);
    case END:
        return store_end_sale(store, "s", out_end, err);
    case STEP_KINDS:
        break;
    }
    abort();
}

#define RESTOCKED(some, under) (&(struct step){.kind = RESTOCK, .units = (some), .key = (under)})

static const struct step to_end = {.kind = END};
static const struct step steps[] = {
    {.kind = PAUSE},
    {.kind = RESUME},
    {.kind = PATCH, .patch = {.title = "new", .starts_ms = -1, .ends_ms = -1}},
    {.kind = RESTOCK, .units = 5, .key = "k"},
};

static void open_sale(struct sale_world *world, int64_t units)
{
    SALE_INSTANCES(world, "script", units, .batch = 1);
}

static void ends_as(struct sale_world *world, const struct step *step, sale_step expected)
{
    struct sale_step_end got = {.step = SALE_STEP_COUNT};
    struct lk_error err = {0};

    if (take(world, step, &got, &err) != STORE_OK) fail_msg("kind %d: %s", step->kind, err.text);
    assert_string_equal(store_step_name(got.step), store_step_name(expected));
    assert_int_equal(got.epoch, sale_number(world, "HGET seckill:{s}:sale epoch"));
}

/* The same, and nothing has changed. */
static void changes_nothing(struct sale_world *world, const struct step *step, sale_step expected)
{
    sale_remember(world->client);
    ends_as(world, step, expected);
    sale_assert_same(world->client, store_step_name(expected));
}

static void ledger_has(struct sale_world *world, const char *entry)
{
    char *dump = sale_dump(world->client, "s");

    if (!strstr(dump, entry)) fail_msg("no \"%s\" in:\n%s", entry, dump);
    free(dump);
}

/* ---- pause and resume ---------------------------------------------------------------------------------- */

TEST(a_paused_sale_sells_nothing_until_it_is_resumed, struct sale_world *world)
{
    open_sale(world, 5);
    changes_nothing(world, &steps[RESUME], SALE_STEP_NOT_PAUSED);
    ends_as(world, &steps[PAUSE], SALE_STEP_DONE);
    ledger_has(world, "(event paused by first epoch 1 left 5)");
    sale_instances_expect(world, "ann", OUTCOME_PAUSED);
    changes_nothing(world, &steps[PAUSE], SALE_STEP_DONE);
    ends_as(world, &steps[RESUME], SALE_STEP_DONE);
    ledger_has(world, "(event resumed by first epoch 1 left 5)");
    sale_instances_expect(world, "ann", OUTCOME_CREATED);
    assert_int_equal(sale_number(world, "XLEN seckill:{s}:ledger"), 4);
}

TEST(an_ended_sale_stays_as_it_is, struct sale_world *world)
{
    static const char *const ends[] = {"HSET seckill:{s}:sale state ended",
                                       "HSET seckill:{s}:sale ends_ms " PAST,
                                       "HSET seckill:{s}:sale state paused ends_ms " PAST};

    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        open_sale(world, 5);
        assert_true(sale_do(world->client, "%s", ends[i]));
        for (size_t k = 0; k < COUNT_OF(steps); k++)
            changes_nothing(world, &steps[k], SALE_STEP_HAS_ENDED);
    }
}

TEST(ending_again_changes_nothing, struct sale_world *world)
{
    open_sale(world, 5);
    ends_as(world, &steps[RESTOCK], SALE_STEP_DONE);
    ends_as(world, &to_end, SALE_STEP_DONE);
    ledger_has(world, "(event ended by first epoch 2 left 10)");
    changes_nothing(world, &to_end, SALE_STEP_DONE);
}

TEST(a_sale_that_is_not_there_is_not_found, struct sale_world *world)
{
    struct sale_audit audit;

    open_sale(world, 5);
    assert_true(sale_do(world->client, "FLUSHALL"));
    for (size_t k = 0; k < COUNT_OF(steps); k++) {
        struct sale_step_end end = {.step = SALE_STEP_COUNT};

        assert_int_equal(take(world, &steps[k], &end, NULL), STORE_NOT_FOUND);
        assert_int_equal(end.step, SALE_STEP_COUNT); /* untouched */
    }
    assert_int_equal(store_audit_sale(world->shops[0].store, "s", &audit, NULL), STORE_NOT_FOUND);
    assert_int_equal(sale_number(world, "DBSIZE"), 0);
}

/* ---- patch ----------------------------------------------------------------------------------------------- */

TEST(a_patch_changes_what_it_may, struct sale_world *world)
{
    static const struct {
        const char *before; /* of starts_ms and ends_ms */
        struct sale_patch patch;
        sale_step expected;
    } rows[] = {
        {"starts_ms 1 ends_ms 0", {"T", -1, -1, 0}, SALE_STEP_DONE},
        {"starts_ms 1 ends_ms 0", {NULL, -1, LATER_MS, 0}, SALE_STEP_DONE},
        {"starts_ms 1 ends_ms " LATER, {NULL, -1, 0, 0}, SALE_STEP_DONE},
        {"starts_ms 1 ends_ms " LATER, {"T", -1, LATEST_MS, 0}, SALE_STEP_DONE},
        {"starts_ms " LATER " ends_ms 0", {NULL, 1, -1, 0}, SALE_STEP_DONE}, /* starts now */
        {"starts_ms " LATER " ends_ms 0", {"T", LATEST_MS, -1, 0}, SALE_STEP_DONE},
        {"starts_ms " LATER " ends_ms " LATEST, {NULL, 5, LATER_MS, 0}, SALE_STEP_DONE},
        {"starts_ms 1 ends_ms 0", {NULL, LATER_MS, -1, 0}, SALE_STEP_HAS_STARTED},
        {"starts_ms 1 ends_ms 0", {"T", LATER_MS, LATEST_MS, 0}, SALE_STEP_HAS_STARTED},
        {"starts_ms 1 ends_ms 0", {NULL, -1, 1000, 0}, SALE_STEP_ENDS_IN_PAST},
        {"starts_ms " LATER " ends_ms 0", {NULL, -1, LATER_MS, 0}, SALE_STEP_ENDS_TOO_EARLY},
        {"starts_ms " LATER " ends_ms 0", {"T", LATEST_MS, LATER_MS, 0}, SALE_STEP_ENDS_TOO_EARLY},
        {"starts_ms 95617583000000 ends_ms " LATER,
         {NULL, LATEST_MS, -1, 0},
         SALE_STEP_ENDS_TOO_EARLY},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct step step = {.kind = PATCH, .patch = rows[i].patch};
        struct sale before;
        struct sale after;

        open_sale(world, 5);
        assert_true(sale_do(world->client, "HSET seckill:{s}:sale %s", rows[i].before));
        if (rows[i].expected != SALE_STEP_DONE) {
            changes_nothing(world, &step, rows[i].expected);
            continue;
        }
        assert_int_equal(store_load_sale(world->shops[0].store, "s", &before, NULL), STORE_OK);
        ends_as(world, &step, SALE_STEP_DONE);
        assert_int_equal(store_load_sale(world->shops[0].store, "s", &after, NULL), STORE_OK);
        assert_string_equal(after.title, step.patch.title ? step.patch.title : before.title);
        assert_int_equal(after.starts_ms,
                         step.patch.starts_ms >= 0 ? step.patch.starts_ms : before.starts_ms);
        assert_int_equal(after.ends_ms,
                         step.patch.ends_ms >= 0 ? step.patch.ends_ms : before.ends_ms);
        assert_int_equal(after.left, 5);
        assert_int_equal(after.epoch, 1);
        assert_int_equal(sale_number(world, "XLEN seckill:{s}:ledger"), 2);
    }
}

TEST(a_patch_is_in_the_ledger_with_what_it_changed, struct sale_world *world)
{
    const struct step step = {.kind = PATCH,
                              .patch = {.title = "T", .starts_ms = -1, .ends_ms = LATER_MS}};

    open_sale(world, 5);
    ends_as(world, &step, SALE_STEP_DONE);
    ledger_has(world, "(event patched by first epoch 1 left 5 title T ends_ms " LATER ")");
}

/* ---- restock --------------------------------------------------------------------------------------------- */

static bool has_cooled(void *arg)
{
    struct sale_world *world = arg;
    struct sale sale = {.cooling = 1};

    return store_load_sale(world->shops[0].store, "s", &sale, NULL) == STORE_OK &&
           sale.cooling == 0;
}

TEST(a_restock_sells_on_in_a_new_epoch, struct sale_world *world)
{
    struct sale sale;

    open_sale(world, 1);
    sale_instances_expect(world, "ann", OUTCOME_CREATED);
    sale_instances_expect(world, "bob", OUTCOME_SOLD_OUT);
    int64_t before_ms = clock_unix_ms();
    ends_as(world, RESTOCKED(2, "k1"), SALE_STEP_DONE);
    ledger_has(world, "(event restocked by first epoch 2 left 2 units 2 key k1 sellable_ms ");
    assert_int_equal(store_load_sale(world->shops[0].store, "s", &sale, NULL), STORE_OK);
    assert_int_equal(sale.initial, 1);
    assert_int_equal(sale.restocked, 2);
    lk_reply *cool = sale_ask(world->client, "HGET seckill:{s}:sale cool");
    int64_t sellable_ms = strtoll(lk_reply_bytes(cool).data, NULL, 10);
    lk_reply_free(cool);
    assert_in_range(sellable_ms, before_ms + 2 * (int64_t)SALE_BELIEVED_MS,
                    clock_unix_ms() + SALE_COOL_MS + 50);
    bool is_cool = sale.now_ms < sellable_ms; /* unless this test was stopped meanwhile */
    assert_int_equal(sale.left, is_cool ? 0 : 2);
    assert_int_equal(sale.cooling, is_cool ? 2 : 0);
    assert_int_equal(sale.epoch, 2);
    assert_int_equal(sale_state_of(&sale), is_cool ? SALE_SOLD_OUT : SALE_ACTIVE);
    assert_true(sale_eventually(has_cooled, world, SALE_GENEROUS_MS));
    assert_int_equal(store_load_sale(world->shops[0].store, "s", &sale, NULL), STORE_OK);
    assert_int_equal(sale.left, 2);
    assert_int_equal(sale.cooling, 0);
    assert_int_equal(sale_state_of(&sale), SALE_ACTIVE);
    ends_as(world, RESTOCKED(3, "k2"), SALE_STEP_DONE);
    assert_int_equal(sale_number(world, "HGET seckill:{s}:sale restocked"), 5);
    assert_int_equal(sale_number(world, "HGET seckill:{s}:sale epoch"), 3);
    assert_int_equal(sale_number(world, "GET seckill:{s}:stock"), 5);
}

TEST(a_restock_under_one_key_happens_once, struct sale_world *world)
{
    open_sale(world, 1);
    ends_as(world, RESTOCKED(2, "k.1"), SALE_STEP_DONE);
    ends_as(world, RESTOCKED(2, "k.2"), SALE_STEP_DONE);
    changes_nothing(world, RESTOCKED(2, "k.1"), SALE_STEP_REPEATED);
    changes_nothing(world, RESTOCKED(3, "k.1"), SALE_STEP_KEY_REUSED);
    assert_true(sale_do(world->client, "HSET seckill:{s}:sale state ended"));
    changes_nothing(world, RESTOCKED(2, "k.2"), SALE_STEP_REPEATED); /* it did happen */
    assert_int_equal(sale_number(world, "GET seckill:{s}:stock"), 5);
}

TEST(a_restock_leaves_alone_what_cools_already, struct sale_world *world)
{
    struct sale sale;
    int64_t later_ms = clock_unix_ms() + 9900;

    open_sale(world, 4);
    assert_true(
        sale_do(world->client, "HSET seckill:{s}:sale cool 1000:9%c%" PRId64 ":4", '\t', later_ms));
    ends_as(world, RESTOCKED(2, "k"), SALE_STEP_DONE);
    assert_int_equal(store_load_sale(world->shops[0].store, "s", &sale, NULL), STORE_OK);
    assert_int_equal(sale.left + sale.cooling, 6);
    assert_true(sale.cooling >= 4); /* 6, until the new ones have cooled */
    assert_int_equal(sale.sellable_ms, later_ms);
}

TEST(a_sale_is_paused_and_ended_while_units_cool, struct sale_world *world)
{
    struct sale_audit audit;

    open_sale(world, 1);
    sale_instances_expect(world, "ann", OUTCOME_CREATED);
    ends_as(world, RESTOCKED(2, "k1"), SALE_STEP_DONE);
    ends_as(world, &steps[PAUSE], SALE_STEP_DONE);
    assert_true(sale_eventually(has_cooled, world, SALE_GENEROUS_MS));
    sale_instances_expect(world, "bob", OUTCOME_PAUSED);
    ends_as(world, &steps[RESUME], SALE_STEP_DONE);
    sale_instances_expect(world, "bob", OUTCOME_CREATED);
    ends_as(world, RESTOCKED(3, "k2"), SALE_STEP_DONE);
    ends_as(world, &to_end, SALE_STEP_DONE);
    sale_instances_expect(world, "cid", OUTCOME_ENDED);
    assert_int_equal(sale_number(world, "GET seckill:{s}:stock"),
                     4); /* as everything else that is left */
    assert_int_equal(store_audit_sale(world->shops[0].store, "s", &audit, NULL), STORE_OK);
    assert_int_equal(audit.verdict, AUDIT_PASS);
}

TEST(a_restock_has_its_limits, struct sale_world *world)
{
    const struct step most = {.kind = RESTOCK, .units = SALE_STOCK_MAX - 1, .key = "k1"};

    open_sale(world, 1);
    changes_nothing(world, RESTOCKED(SALE_STOCK_MAX, "k2"), SALE_STEP_TOO_MANY);
    ends_as(world, &most, SALE_STEP_DONE);
    changes_nothing(world, RESTOCKED(1, "k2"), SALE_STEP_TOO_MANY);
    assert_int_equal(sale_number(world, "GET seckill:{s}:stock"), SALE_STOCK_MAX);
}

/* ---- what is not as it should be --------------------------------------------------------------------------- */

TEST(hostile_arguments_are_refused_and_change_nothing, struct sale_world *world)
{
    static const struct {
        const char *script, *bad; /* arguments with "," between them, ";" between the rows */
    } rows[] = {{"pause_sale", ""},
                {"resume_sale", ""},
                {"patch_sale", "here,T,1;here,T,1,2;here,T,1,2,3,4;here,,,,;here,T,x,,;here,T,,-1,;"
                               "here,T,1e3,,;here,T,,1234567890123456,;here,,,,x;here,,,,-1"},
                {"waiting_step", ";short,short;" HEX "," HEX "0;" HEX ",x" HEX},
                {"waiting_join", ";a b;a:b;;a,b"},
                {"restock_sale", "here,1,k;here,1,k,250,l;here,0,k,250;here,-1,k,250;here,01,k,250;"
                                 "here,1.5,k,250;here,nan,k,250;here,1234567890123456,k,250;"
                                 "here,1,,250;here,1,a:b,250;here,1,a b,250;here,1,k,;here,1,k,-1;"
                                 "here,1,k,10000"}};

    open_sale(world, 5);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct lk_bytes keys[] = {world->keys.key[KEY_SALE], world->keys.key[KEY_STOCK],
                                        world->keys.key[KEY_LEDGER]};
        lk_script *script = lk_script_new(app_scripts_named(rows[i].script));
        char copy[320];
        char *rest = copy;

        (void)snprintf(copy, sizeof copy, "%s", rows[i].bad);
        for (char *row = NULL; (row = strsep(&rest, ";"));) {
            struct lk_bytes args[8];
            struct lk_eval eval = {.script = script, .keys = keys, .key_count = 3, .args = args};
            lk_reply *reply = NULL;

            while (*rows[i].bad && row)
                args[eval.arg_count++] = lk_bytes_of(strsep(&row, ","));
            sale_remember(world->client);
            if (lk_client_eval(world->client, &eval, 0, &reply, NULL) != LK_SERVER)
                fail_msg("%s: what is before \"%s\"", rows[i].script, rest ? rest : "");
            sale_assert_same(world->client, rows[i].script);
        }
        lk_script_free(script);
    }
}

/* The step fails with such words once these commands have spoilt the sale, and changes nothing. */
static void fails_when(struct sale_world *world, const struct step *step, const char *first,
                       const char *second, const char *words)
{
    struct lk_error err = {0};
    struct sale_step_end got;

    open_sale(world, 5);
    if (step->kind == RESUME) ends_as(world, &steps[PAUSE], SALE_STEP_DONE);
    assert_true(sale_do(world->client, "%s", first));
    if (second) assert_true(sale_do(world->client, "%s", second));
    sale_remember(world->client);
    if (take(world, step, &got, &err) != STORE_FAILED || !err.text[0] || !strstr(err.text, words))
        fail_msg("%d, %s: %s", step->kind, first, err.text);
    sale_assert_same(world->client, first);
}

TEST(a_spoilt_sale_fails_with_words_and_stays_as_it_is, struct sale_world *world)
{
    static const struct {
        const char *command;
        unsigned kinds; /* bits of the steps that it stops */
    } rows[] = {
        {"DEL seckill:{s}:stock", 15},
        {"HDEL seckill:{s}:sale epoch", 15},
        {"HDEL seckill:{s}:sale ends_ms", 15},
        {"HSET seckill:{s}:sale ends_ms never", 15},
        {"HDEL seckill:{s}:sale starts_ms", 1U << PATCH},
        {"SET seckill:{s}:stock -1", 1U << RESTOCK},
        {"SET seckill:{s}:stock 1e3", 1U << RESTOCK},
        {"SET seckill:{s}:stock nan", 1U << RESTOCK},
        {"HSET seckill:{s}:sale epoch one", 1U << RESTOCK},
        {"HSET seckill:{s}:sale restocked many", 1U << RESTOCK},
        {"XADD seckill:{s}:ledger 18446744073709551615-18446744073709551615 a b", 15},
    };

    for (size_t i = 0; i < COUNT_OF(rows) * COUNT_OF(steps); i++) {
        const struct step *step = &steps[i % COUNT_OF(steps)];

        if (rows[i / COUNT_OF(steps)].kinds & 1U << (unsigned)step->kind)
            fails_when(world, step, rows[i / COUNT_OF(steps)].command, NULL, "");
    }
}

TEST(a_key_of_a_wrong_type_changes_nothing, struct sale_world *world)
{
    static const char *const rows[][2] = {{"DEL seckill:{s}:sale", "RPUSH seckill:{s}:sale x"},
                                          {"DEL seckill:{s}:stock", "RPUSH seckill:{s}:stock x"},
                                          {"DEL seckill:{s}:ledger", "RPUSH seckill:{s}:ledger x"}};

    for (size_t i = 0; i < COUNT_OF(rows) * COUNT_OF(steps); i++) {
        const char *const *row = rows[i / COUNT_OF(steps)];

        fails_when(world, &steps[i % COUNT_OF(steps)], row[0], row[1], "WRONGTYPE");
    }
}

/* Redis refuses a key that a script touches without a right to it. */
TEST(the_scripts_touch_declared_keys_only, struct sale_world *world)
{
    store_status told[COUNT_OF(steps) + 1];
    struct sale_audit audit;
    struct sale_step_end got;

    open_sale(world, 5);
    assert_true(sale_do(world->client, "ACL SETUSER default resetkeys"));
    for (size_t i = 0; i <= KEY_LEDGER; i++)
        assert_true(sale_do(world->client, "ACL SETUSER default ~%s", world->keys.text[i]));
    for (size_t i = 0; i < COUNT_OF(steps); i++)
        told[i] = take(world, &steps[i], &got, NULL);
    told[COUNT_OF(steps)] = store_audit_sale(world->shops[0].store, "s", &audit, NULL);
    bool reads_others = sale_do(world->client, "GET other");
    assert_true(sale_do(world->client, "ACL SETUSER default allkeys"));

    for (size_t i = 0; i < COUNT_OF(told); i++)
        assert_int_equal(told[i], STORE_OK);
    assert_false(reads_others); /* the limit was in force */
}

TEST(a_server_out_of_memory_changes_nothing, struct sale_world *world)
{
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        struct sale_step_end got;

        open_sale(world, 5);
        if (steps[i].kind == RESUME) ends_as(world, &steps[PAUSE], SALE_STEP_DONE);
        sale_remember(world->client);
        assert_true(sale_do(world->client, "CONFIG SET maxmemory 1"));
        store_status status = take(world, &steps[i], &got, NULL);
        assert_true(sale_do(world->client, "CONFIG SET maxmemory 0"));
        sale_assert_same(world->client, "out of memory");
        assert_int_equal(status, STORE_UNAVAILABLE); /* until there is memory */
    }
}

/* ---- the service's audit --------------------------------------------------------------------------------- */

static void audit_of(struct sale_world *world, struct sale_audit *out)
{
    struct lk_error err = {0};

    if (store_audit_sale(world->shops[0].store, "s", out, &err) != STORE_OK)
        fail_msg("%s", err.text);
}

static void print_checks(const struct sale_audit *audit)
{
    for (int i = 0; i < AUDIT_CHECK_COUNT; i++)
        print_message("%-20s %-8s %s\n", sale_audit_check_name((enum audit_check)i),
                      sale_audit_verdict_name(audit->checks[i].verdict), audit->checks[i].words);
}

/* Five units, two of them sold, two more put up later. */
static void sell_some(struct sale_world *world)
{
    open_sale(world, 5);
    sale_instances_expect(world, "ann", OUTCOME_CREATED);
    ends_as(world, RESTOCKED(2, "k"), SALE_STEP_DONE);
    assert_int_equal(sale_instances_buy(world, "bob", "k").outcome, OUTCOME_CREATED);
    ends_as(world, &steps[PAUSE], SALE_STEP_DONE);
}

TEST(clean_books_pass_with_their_numbers, struct sale_world *world)
{
    struct sale_audit audit;

    sell_some(world);
    audit_of(world, &audit);
    if (audit.verdict != AUDIT_PASS) print_checks(&audit);
    assert_int_equal(audit.verdict, AUDIT_PASS);
    assert_int_equal(audit.reading.orders, 2);
    assert_int_equal(audit.reading.left, 5);
    assert_int_equal(audit.reading.initial, 5);
    assert_int_equal(audit.reading.restocked, 2);
    assert_int_equal(audit.reading.last_left, 5);
    assert_int_equal(audit.reading.epoch, 2);
    assert_int_equal(audit.reading.entries, 5);
    assert_int_equal(audit.oversold, 0);
}

TEST(doctored_books_fail, struct sale_world *world)
{
    static const struct {
        const char *command;
        char verdicts[AUDIT_CHECK_COUNT + 1]; /* of each check: passes, Fails, or it is not known */
    } rows[] = {
        {"SET seckill:{s}:stock 6", "..FF.."},
        {"SET seckill:{s}:stock -1", "F.FF.."},
        {"SET seckill:{s}:stock many", "F.??.."},
        {"DEL seckill:{s}:stock", "F.??.."},
        {"HSET seckill:{s}:orders eve 9:held:", "..F..F"},
        {"HDEL seckill:{s}:orders ann", "..F..F"},
        {"HSET seckill:{s}:orders 1 1 2 1 3 1 4 1 5 1 6 1", ".FF..F"},
        {"HDEL seckill:{s}:sale initial", ".??..F"},
        {"HSET seckill:{s}:sale restocked x", ".??..F"},
        {"HDEL seckill:{s}:sale restocked", "..F..F"},
        {"HSET seckill:{s}:sale epoch 3", "...F.."},
        {"DEL seckill:{s}:ledger", "...F??"},
        {"XADD seckill:{s}:ledger * event sold by x epoch 2 left 5 order 1:eve:", "....FF"},
        {"XADD seckill:{s}:ledger * event restocked by x epoch 2 left 5", "....F."},
        {"XADD seckill:{s}:ledger * event restocked by x epoch 2 left 6 units 1", "...F.F"},
        {"XADD seckill:{s}:ledger * event created by x epoch 2 left 5 initial 5", "....F."},
        {"XADD seckill:{s}:ledger * event odd by x", "...FF."},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct sale_audit audit;
        char got[AUDIT_CHECK_COUNT + 1] = "";

        sell_some(world);
        assert_true(sale_do(world->client, "%s", rows[i].command));
        audit_of(world, &audit);
        for (unsigned k = 0; k < AUDIT_CHECK_COUNT; k++)
            got[k] = ".F?"[audit.checks[k].verdict];
        if (strcmp(got, rows[i].verdicts) != 0) {
            print_checks(&audit);
            fail_msg("%s: %s, not %s", rows[i].command, got, rows[i].verdicts);
        }
        assert_int_equal(audit.verdict, AUDIT_FAIL);
    }
}

TEST(a_ledger_of_many_pages_is_walked_whole, struct sale_world *world)
{
    enum { ORDERS = 1200 };
    struct sale_audit audit;

    open_sale(world, ORDERS);
    for (unsigned i = 0; i < ORDERS; i++) {
        char buyer[16];

        (void)snprintf(buyer, sizeof buyer, "b%u", i);
        sale_instances_expect(world, buyer, OUTCOME_CREATED);
    }
    audit_of(world, &audit);
    assert_int_equal(audit.verdict, AUDIT_PASS);
    assert_int_equal(audit.reading.ledger.entries, ORDERS + 1);
    assert_int_equal(audit.reading.ledger.orders, ORDERS);
}

/* ---- while sales go on ------------------------------------------------------------------------------------- */

enum { BUYERS = 4, BUYS = 300, RESTOCKS = 60 };

struct buyer {
    pthread_t thread;
    struct group_commit *group;
    unsigned number;
    unsigned won;
};

static void *buy_many(void *arg)
{
    struct buyer *self = arg;

    for (unsigned i = 0; i < BUYS; i++) {
        char name[24];
        struct purchase purchase = {.buyer = name, .key = ""};

        (void)snprintf(name, sizeof name, "b%u-%u", self->number, i);
        (void)group_commit_sell(self->group, "s", &purchase);
        self->won += purchase.outcome == OUTCOME_CREATED;
    }
    return NULL;
}

TEST(steps_and_purchases_at_once_add_up, struct sale_world *world)
{
    struct buyer buyers[BUYERS];
    struct sale_audit audit;
    int64_t won = 0;
    unsigned passed = 0;

    open_sale(world, 10);
    for (unsigned i = 0; i < BUYERS; i++) {
        buyers[i] = (struct buyer){.group = world->shops[i % SALE_INSTANCES].group, .number = i};
        assert_int_equal(pthread_create(&buyers[i].thread, NULL, buy_many, &buyers[i]), 0);
    }
    for (unsigned i = 0; i < RESTOCKS; i++) {
        char key[16];
        struct sale_step_end end;

        (void)snprintf(key, sizeof key, "k%u", i / 2); /* each twice */
        if (store_restock_sale(world->shops[i % SALE_INSTANCES].store, "s",
                               &(struct sale_restock){3, key}, &end, NULL) != STORE_OK ||
            end.step != (i % 2 ? SALE_STEP_REPEATED : SALE_STEP_DONE))
            break;
        if (store_audit_sale(world->shops[0].store, "s", &audit, NULL) != STORE_OK) break;
        passed += audit.verdict == AUDIT_PASS; /* a reading is of one moment */
    }
    for (unsigned i = 0; i < BUYERS; i++) {
        assert_int_equal(pthread_join(buyers[i].thread, NULL), 0);
        won += buyers[i].won;
    }
    assert_int_equal(passed, RESTOCKS);
    audit_of(world, &audit);
    assert_int_equal(audit.verdict, AUDIT_PASS);
    assert_int_equal(audit.reading.orders, won);
    assert_int_equal(audit.reading.orders + audit.reading.left, 10 + RESTOCKS / 2 * 3);
    assert_int_equal(audit.reading.epoch, 1 + RESTOCKS / 2);
}

GROUP(sale_world_open, sale_world_close);
