/*
 * purchase_eval.c: a batch laid out as purchase.lua reads it; the reader of its answer, which must
 * make an outcome or an "unknown" out of whatever comes; and what is done when no answer came.
 * Replies are trees made here, resolve.lua's answers come from a list, and the clock is a number.
 * link: -Wl,--wrap=lk_client_eval,--wrap=clock_mono_ms,--wrap=clock_pause_ms
 * link: -Wl,--wrap=lk_reply_type_of,--wrap=lk_reply_integer,--wrap=lk_reply_bytes
 * link: -Wl,--wrap=lk_reply_count,--wrap=lk_reply_at,--wrap=lk_reply_free
 */
#include "base/clock.h"
#include "guards/shared/purchase_eval.h"
#include "test/support/testing.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* ---- made-up replies ----------------------------------------------------------------------------- */

struct lk_reply {
    lk_reply_type type;
    long long integer;
    struct lk_bytes bytes;
    const struct lk_reply *elements;
    size_t count;
};

static unsigned frees;

/* What the server says to resolve.lua, and how long each time it takes to say it. */
static struct {
    const lk_status *answers; /* one after the other, the last for ever */
    size_t answer_count;
    struct lk_reply *reply; /* of an OK */
    int64_t answer_ms;
    int64_t now_ms;
    struct deployment *moves; /* NULL: the servers stay the same when it is asked */
    unsigned asked;
    char seen[256]; /* the last keys and arguments, blanks between */
    const lk_script *script;
} server;

static void see(const struct lk_bytes *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        strncat(server.seen, words[i].data, sizeof server.seen - strlen(server.seen) - 1);
        strncat(server.seen, " ", sizeof server.seen - strlen(server.seen) - 1);
    }
}

FAKE(lk_status, lk_client_eval, lk_client *client, const struct lk_eval *eval, int64_t limit_ms,
     lk_reply **out_reply, struct lk_error *err)
{
    size_t at = server.asked < server.answer_count ? server.asked : server.answer_count - 1;

    server.asked++;
    if (server.moves) atomic_fetch_add(&server.moves->changes, 1);
    server.now_ms += server.answer_ms;
    server.script = eval->script;
    server.seen[0] = '\0';
    see(eval->keys, eval->key_count);
    see(eval->args, eval->arg_count);
    if (server.answers[at] == LK_OK) *out_reply = server.reply;
    return server.answers[at];
}

FAKE_RETURNS(int64_t, clock_mono_ms, (void), server.now_ms);

FAKE(void, clock_pause_ms, int64_t ms)
{
    server.now_ms += ms;
}

FAKE_RETURNS(lk_reply_type, lk_reply_type_of, (const lk_reply *reply),
             reply ? reply->type : LK_REPLY_NIL);
FAKE_RETURNS(long long, lk_reply_integer, (const lk_reply *reply, long long fallback),
             reply && reply->type == LK_REPLY_INTEGER ? reply->integer : fallback);

FAKE(struct lk_bytes, lk_reply_bytes, const lk_reply *reply)
{
    bool has_bytes = reply && (reply->type == LK_REPLY_STRING || reply->type == LK_REPLY_ERROR);

    return has_bytes ? reply->bytes : (struct lk_bytes){0};
}

FAKE_RETURNS(size_t, lk_reply_count, (const lk_reply *reply),
             reply && reply->type == LK_REPLY_ARRAY ? reply->count : 0);
FAKE_RETURNS(const lk_reply *, lk_reply_at, (const lk_reply *reply, size_t index),
             index < __wrap_lk_reply_count(reply) ? &reply->elements[index] : NULL);

FAKE(void, lk_reply_free, lk_reply *reply)
{
    if (reply) frees++;
}

static struct lk_reply number(long long value)
{
    return (struct lk_reply){.type = LK_REPLY_INTEGER, .integer = value};
}

static struct lk_reply text(const char *words)
{
    return (struct lk_reply){.type = LK_REPLY_STRING, .bytes = lk_bytes_of(words)};
}

static struct lk_reply list(const struct lk_reply *elements, size_t count)
{
    return (struct lk_reply){.type = LK_REPLY_ARRAY, .elements = elements, .count = count};
}

/* An array of words: numbers, "nil", and other texts. Good until the next but one. */
static struct lk_reply answer(const char *words)
{
    static struct lk_reply places[2][8];
    static char copies[2][128];
    static size_t turn;
    struct lk_reply *parts = places[++turn % 2];
    char *rest = copies[turn % 2];
    size_t count = 0;

    (void)snprintf(rest, sizeof copies[0], "%s", words);
    for (const char *word = NULL; (word = strsep(&rest, " ")); count++) {
        char *end = NULL;
        long long value = strtoll(word, &end, 10);

        parts[count] = *end ? text(word) : number(value);
        if (strcmp(word, "nil") == 0) parts[count] = (struct lk_reply){.type = LK_REPLY_NIL};
    }
    return list(parts, count);
}

/* ---- a batch --------------------------------------------------------------------------------------- */

enum { BATCH = 3 };

static struct {
    struct purchase purchases[BATCH];
    struct purchase *list[BATCH];
} batch; /* of the last sell */

static void fill(void)
{
    static const char *const buyers[BATCH] = {"ann", "bob", "cid"};
    static const char *const keys[BATCH] = {"k1", "", "k3"};
    static const char *const ids[BATCH] = {"101", "102", "103"};

    memset(&batch, 0, sizeof batch);
    for (size_t i = 0; i < BATCH; i++) {
        struct purchase *purchase = &batch.purchases[i];

        batch.list[i] = purchase;
        purchase->buyer = buyers[i];
        purchase->key = keys[i];
        purchase->outcome = OUTCOME_COUNT;
        purchase->retry_ms = -7;
        memcpy(purchase->order_id, ids[i], strlen(ids[i]) + 1);
    }
}

static const struct deployment *deployment; /* of the next sell; NULL: no replicas are waited for */

/* A sell that ended with that status and that reply of purchase.lua. */
static struct guard_result sell(size_t count, lk_status status, struct lk_reply *reply)
{
    struct guard_ctx ctx = {.sale_id = "s",
                            .instance = "here",
                            .process = "here.1",
                            .attempt = 42,
                            .limit_ms = 2000,
                            .deployment = deployment,
                            .confirm = (lk_script *)&deployment, /* any address, to know it again */
                            .resolve = (lk_script *)&server};
    struct lk_error why = {.code = status, .text = "because"};
    struct purchase_eval eval;

    fill();
    assert_true(purchase_eval_make(&ctx, batch.list, count, &eval));
    return purchase_eval_end(&eval, status, reply, &why);
}

static struct guard_result read_reply(size_t count, struct lk_reply *reply)
{
    return sell(count, LK_OK, reply);
}

static void let_server_answer(const lk_status *answers, size_t count, struct lk_reply *reply)
{
    memset(&server, 0, sizeof server);
    server.answers = answers;
    server.answer_count = count;
    server.reply = reply;
}

TEST(a_batch_is_laid_out_as_the_script_reads_it)
{
    static const char *const args[] = {
        "here", "here.1", "9007199254740993", "3", "ann", "101", "k1", "bob", "102", "", "cid",
        "103",  "k3"};
    static const char *const keys[] = {"seckill:{s}:sale",   "seckill:{s}:stock",
                                       "seckill:{s}:orders", "seckill:{s}:ledger",
                                       "seckill:{s}:void",   "seckill:{s}:due"};
    struct guard_ctx ctx = {
        .sale_id = "s", .instance = "here", .process = "here.1", .attempt = 9007199254740993};
    struct purchase_eval eval;

    fill();
    assert_true(purchase_eval_make(&ctx, batch.list, BATCH, &eval));

    assert_int_equal(eval.eval.arg_count, sizeof args / sizeof args[0]);
    for (size_t i = 0; i < eval.eval.arg_count; i++) {
        assert_int_equal(eval.eval.args[i].len, strlen(args[i]));
        assert_memory_equal(eval.eval.args[i].data, args[i], strlen(args[i]));
    }
    assert_int_equal(eval.eval.key_count, sizeof keys / sizeof keys[0]);
    for (size_t i = 0; i < eval.eval.key_count; i++) {
        assert_int_equal(eval.eval.keys[i].len, strlen(keys[i]));
        assert_memory_equal(eval.eval.keys[i].data, keys[i], strlen(keys[i]));
    }
    assert_string_equal(eval.keys.text[KEY_LOCK], "seckill:{s}:lock");
    (void)purchase_eval_end(&eval, LK_BUSY, NULL, &(struct lk_error){0});
}

/* Behind all that the script reads itself, where fence_check.lua looks for it. */
TEST(a_fencing_token_comes_last_with_its_key_and_its_script)
{
    static const struct guard guard = {.name = "g"};
    struct guard_ctx ctx = {.guard = &guard,
                            .sale_id = "s",
                            .instance = "here",
                            .process = "here.1",
                            .fenced = (lk_script *)&server, /* any address, to know it again */
                            .purchase = (lk_script *)&deployment};
    struct purchase_eval eval;

    fill();
    assert_true(purchase_eval_make(&ctx, batch.list, BATCH, &eval));
    size_t args = eval.eval.arg_count;
    size_t keys = eval.eval.key_count;
    purchase_eval_show_fence(&eval, UINT64_MAX);

    assert_ptr_equal(eval.eval.script, ctx.fenced);
    assert_int_equal(eval.eval.arg_count, args + 1);
    assert_string_equal(eval.eval.args[args].data, "18446744073709551615");
    assert_int_equal(eval.eval.args[args].len, 20);
    assert_int_equal(eval.eval.key_count, keys + 1);
    assert_string_equal(eval.eval.keys[keys].data, "seckill:{s}:fence");
    (void)purchase_eval_end(&eval, LK_BUSY, NULL, &(struct lk_error){0});
}

struct answer_case {
    const char *answer;
    outcome outcome; /* OUTCOME_COUNT: the whole reply is refused */
    const char *order_id;
    int64_t retry_ms;
};

static const struct answer_case answers[] = {
    {"C", OUTCOME_CREATED, "101", -7},
    {"R55", OUTCOME_REPLAYED, "55", -7},
    {"A66", OUTCOME_ALREADY_ORDERED, "66", -7},
    {"A9223372036854775807", OUTCOME_ALREADY_ORDERED, "9223372036854775807", -7},
    {"A", OUTCOME_ALREADY_ORDERED, "",
     -7}, /* the order's value is spoilt: no id, least of all ours */
    {"S", OUTCOME_SOLD_OUT, "101", -7},
    {"N", OUTCOME_NOT_STARTED, "101", 1234},
    {"E", OUTCOME_ENDED, "101", -7},
    {"P", OUTCOME_PAUSED, "101", -7},
    {"", OUTCOME_COUNT, NULL, 0},
    {"c", OUTCOME_COUNT, NULL, 0},
    {"Z", OUTCOME_COUNT, NULL, 0},
    {"C123456789012345", OUTCOME_CREATED, "101", -7},
    {"C1234567890123456", OUTCOME_COUNT, NULL, 0},
    {"C1.", OUTCOME_COUNT, NULL, 0},
    {"X77", OUTCOME_WAS_CANCELLED, "77", -7},
    {"Y78", OUTCOME_HAS_EXPIRED, "78", -7},
    {"S250", OUTCOME_SOLD_OUT, "101", 250},
    {"S0", OUTCOME_SOLD_OUT, "101", 1},
    {"SS", OUTCOME_COUNT, NULL, 0},
    {" C", OUTCOME_COUNT, NULL, 0},
    {"A92233720368547758070", OUTCOME_COUNT, NULL, 0}, /* longer than an id */
    {"\xff", OUTCOME_COUNT, NULL, 0},
};

TEST(one_answer_becomes_what_the_table_says)
{
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        const struct answer_case *row = &answers[i];
        struct lk_reply parts[] = {number(9), number(1234), number(1), text(row->answer)};
        struct lk_reply reply = list(parts, 4);
        struct guard_result result = read_reply(1, &reply);

        if (row->outcome == OUTCOME_COUNT) {
            if (result.status != GUARD_UNKNOWN) fail_msg("row %zu", i);
            continue;
        }
        if (result.status != GUARD_DONE) fail_msg("row %zu", i);
        assert_int_equal(batch.purchases[0].outcome, row->outcome);
        assert_string_equal(batch.purchases[0].order_id, row->order_id);
        assert_int_equal(batch.purchases[0].retry_ms, row->retry_ms);
    }
}

TEST(everybody_gets_the_answer_at_his_place)
{
    struct lk_reply reply = answer("0 0 1 C A7 S");

    frees = 0;
    assert_int_equal(read_reply(BATCH, &reply).status, GUARD_DONE);
    assert_int_equal(batch.purchases[0].outcome, OUTCOME_CREATED);
    assert_int_equal(batch.purchases[1].outcome, OUTCOME_ALREADY_ORDERED);
    assert_string_equal(batch.purchases[1].order_id, "7");
    assert_int_equal(batch.purchases[2].outcome, OUTCOME_SOLD_OUT);
    assert_int_equal(frees, 1);
}

TEST(minus_one_means_no_such_sale_for_all)
{
    struct lk_reply reply = answer("-1 0 0");

    assert_int_equal(read_reply(BATCH, &reply).status, GUARD_DONE);
    for (size_t i = 0; i < BATCH; i++)
        assert_int_equal(batch.purchases[i].outcome, OUTCOME_NO_SALE);
}

TEST(a_reply_of_another_shape_is_unknown)
{
    struct lk_reply parts[] = {number(0), number(0), number(1),     text("C"),
                               text("S"), text("S"), text("extra"), number(1)};
    struct lk_reply no_sale[] = {number(-1), number(0), number(0), text("S"), text("S"), text("S")};
    struct lk_reply no_left[] = {text("0"), number(0), number(1), text("S"), text("S"), text("S")};
    struct lk_reply numbers[] = {number(0), number(0), number(1), number(1), number(2), number(3)};
    struct lk_reply error = {.type = LK_REPLY_ERROR, .bytes = LK_BYTES("C")};
    struct lk_reply nil = {.type = LK_REPLY_NIL};
    struct lk_reply nested[] = {number(0), number(0), number(1), list(parts, 3), nil, nil};
    struct lk_reply odd[] = {number(0), text("C"),        list(parts, 0),   list(parts, 1),
                             nil,       list(parts, 5),   list(parts, 7),   list(no_sale, 6),
                             error,     list(no_left, 6), list(numbers, 6), list(nested, 6)};

    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        struct guard_result result = read_reply(BATCH, &odd[i]);

        if (result.status != GUARD_UNKNOWN) fail_msg("row %zu", i);
        assert_int_equal(result.error.code, LK_SERVER);
        assert_true(strlen(result.error.text) > 0);
    }
    assert_int_equal(read_reply(BATCH, NULL).status, GUARD_UNKNOWN);
}

/* All answers of up to three bytes out of an alphabet that has every letter: no crash, no lie. */
TEST(short_answers_of_any_bytes_never_invent_an_outcome)
{
    static const char alphabet[] = "CRASNEP09:\n\xff";
    enum { LETTERS = sizeof alphabet }; /* the NUL too */

    for (size_t i = 0; i < (size_t)LETTERS * LETTERS * LETTERS; i++) {
        const char bytes[] = {alphabet[i % LETTERS], alphabet[i / LETTERS % LETTERS],
                              alphabet[i / LETTERS / LETTERS]};
        size_t len = 1 + i % sizeof bytes;
        struct lk_reply parts[] = {number(1), number(0), number(1), text("")};

        parts[3].bytes = (struct lk_bytes){.data = bytes, .len = len};
        struct lk_reply reply = list(parts, 4);
        bool is_done = read_reply(1, &reply).status == GUARD_DONE;
        bool is_letter = bytes[0] != '\0' && strchr("CSNEP", bytes[0]) && len == 1;
        bool is_moment = (bytes[0] == 'C' || bytes[0] == 'S') &&
                         strspn(strncpy((char[4]){0}, bytes + 1, len - 1), "09") == len - 1;
        bool is_order = bytes[0] == 'R' || bytes[0] == 'A';
        assert_int_equal(is_done, is_letter || is_order || is_moment);
        if (is_done) assert_true(batch.purchases[0].outcome < OUTCOME_NO_SALE);
    }
}

TEST(a_status_means_the_same_for_the_whole_batch)
{
    static const struct {
        lk_status status;
        guard_status expected;
    } rows[] = {
        {LK_BUSY, GUARD_BUSY},
        {LK_EXHAUSTED, GUARD_BUSY},
        {LK_CANCELLED, GUARD_BUSY},
        {LK_LOST, GUARD_BUSY},
        {LK_DEADLOCK, GUARD_BUSY},
        {LK_NOT_OWNER, GUARD_BUSY},
        {LK_UNSYNCED, GUARD_UNSYNCED},
        {LK_INVALID, GUARD_UNAVAILABLE},
        {LK_NO_MEMORY, GUARD_UNAVAILABLE},
        {LK_UNREACHABLE, GUARD_UNAVAILABLE},
        {LK_SERVER, GUARD_UNAVAILABLE},
    };

    assert_int_equal(sizeof rows / sizeof rows[0], LK_STATUS_COUNT - 2); /* all but OK, UNKNOWN */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {

        let_server_answer(&rows[i].status, 1, NULL);
        struct guard_result result = sell(BATCH, rows[i].status, NULL);
        assert_int_equal(server.asked, 0); /* it is known that nothing was executed */
        assert_int_equal(result.status, rows[i].expected);
        assert_string_equal(result.error.text, "because");
        assert_string_equal(batch.purchases[0].order_id, "101");
    }
}

/* ---- lost answers -------------------------------------------------------------------------------- */

TEST(a_lost_answer_is_asked_for_by_naming_the_attempt)
{
    struct lk_reply reply = answer("101:held:k1 nil 9:held:");

    let_server_answer((const lk_status[]){LK_OK}, 1, &reply);
    frees = 0;
    struct guard_result result = sell(BATCH, LK_UNKNOWN, NULL);

    assert_int_equal(result.status, GUARD_DONE);
    assert_int_equal(server.asked, 1);
    assert_ptr_equal(server.script, &server);
    assert_string_equal(server.seen, "seckill:{s}:void seckill:{s}:orders here.1 42 ann bob cid ");
    assert_int_equal(frees, 1);
}

/* The first buyer offers id 101 and key "k1", the second id 102 without a key. */
static const struct {
    const char *held; /* the order in Redis; NULL: none */
    size_t buyer;
    outcome outcome;
    const char *order_id;
} settled[] = {
    {"101:held:k1", 0, OUTCOME_CREATED, "101"},
    {"101:paid:k1", 0, OUTCOME_CREATED, "101"},
    {"101:cancelled:k1", 0, OUTCOME_WAS_CANCELLED, "101"},
    {"101:expired:k1", 0, OUTCOME_HAS_EXPIRED, "101"},
    {"55:held:k1", 0, OUTCOME_REPLAYED, "55"},
    {"55:held:k2", 0, OUTCOME_ALREADY_ORDERED, "55"},
    {"55:held:", 0, OUTCOME_ALREADY_ORDERED, "55"},
    {"1010:held:", 0, OUTCOME_ALREADY_ORDERED, "1010"}, /* not ours with a digit more */
    {"102:held:", 1, OUTCOME_CREATED, "102"},
    {"55:held:", 1, OUTCOME_ALREADY_ORDERED, "55"}, /* no key is no equal key */
    {NULL, 0, OUTCOME_STORE_UNAVAILABLE, "101"},    /* it will never be executed */
    {NULL, 1, OUTCOME_STORE_UNAVAILABLE, "102"},
};

TEST(what_the_buyer_holds_says_what_became_of_his_purchase)
{
    for (size_t i = 0; i < COUNT_OF(settled); i++) {
        struct lk_reply held[] = {{.type = LK_REPLY_NIL}, {.type = LK_REPLY_NIL}};
        struct lk_reply reply = list(held, 2);

        if (settled[i].held) held[settled[i].buyer] = text(settled[i].held);
        let_server_answer((const lk_status[]){LK_OK}, 1, &reply);
        assert_int_equal(sell(2, LK_UNKNOWN, NULL).status, GUARD_DONE);
        const struct purchase *purchase = &batch.purchases[settled[i].buyer];
        if (purchase->outcome != settled[i].outcome) {
            fail_msg("row %zu: %s", i, sale_outcome_name(purchase->outcome));
        }
        assert_string_equal(purchase->order_id, settled[i].order_id);
    }
}

TEST(no_order_by_another_servers_word_stays_unknown)
{
    struct deployment sentinel = {.kind = DEPLOYMENT_SENTINEL};
    struct lk_reply reply = answer("101:held:k1 nil");

    let_server_answer((const lk_status[]){LK_OK}, 1, &reply);
    deployment = &sentinel;
    server.moves = &sentinel;
    assert_int_equal(sell(2, LK_UNKNOWN, NULL).status, GUARD_DONE);
    assert_int_equal(batch.purchases[0].outcome, OUTCOME_CREATED);
    assert_int_equal(batch.purchases[1].outcome, OUTCOME_UNKNOWN);
    server.moves = NULL;
    assert_int_equal(sell(2, LK_UNKNOWN, NULL).status, GUARD_DONE);
    assert_int_equal(batch.purchases[1].outcome, OUTCOME_STORE_UNAVAILABLE);
    deployment = NULL;
}

TEST(it_is_asked_again_until_an_answer_comes)
{
    static const lk_status said[] = {LK_UNREACHABLE, LK_UNKNOWN, LK_SERVER, LK_NO_MEMORY, LK_OK};
    struct lk_reply reply = answer("101:held:k1");

    let_server_answer(said, COUNT_OF(said), &reply);
    assert_int_equal(sell(1, LK_UNKNOWN, NULL).status, GUARD_DONE);
    assert_int_equal(server.asked, COUNT_OF(said));
    assert_int_equal(batch.purchases[0].outcome, OUTCOME_CREATED);
}

/* Whether it takes no time or longer than the limit to hear nothing, it is tried once at least. */
TEST(it_stays_unknown_only_when_the_limit_is_over)
{
    static const int64_t answer_ms[] = {0, 1, 300, 1000, 1999, 2000, 5000};
    static const lk_status said[] = {LK_UNREACHABLE, LK_UNKNOWN, LK_SERVER};

    for (size_t i = 0; i < COUNT_OF(answer_ms) * COUNT_OF(said); i++) {
        int64_t each_ms = answer_ms[i / COUNT_OF(said)];

        let_server_answer(&said[i % COUNT_OF(said)], 1, NULL);
        server.answer_ms = each_ms;
        struct guard_result result = sell(BATCH, LK_UNKNOWN, NULL);
        assert_int_equal(result.status, GUARD_UNKNOWN);
        assert_int_equal(result.error.code, LK_UNKNOWN);
        assert_true(server.asked >= 1);
        assert_in_range(server.now_ms, 2000 - 40, 2000 + each_ms);
    }
}

TEST(an_answer_that_fits_no_batch_settles_nothing)
{
    struct lk_reply held[] = {text("101:held:k1"), text("102:held:"), text("103:held:k3"),
                              text("4:held:")};
    struct lk_reply odd[] = {list(held, 0), list(held, 2), list(held, 4), number(1), text("C")};

    for (size_t i = 0; i < COUNT_OF(odd); i++) {

        let_server_answer((const lk_status[]){LK_OK}, 1, &odd[i]);
        assert_int_equal(sell(BATCH, LK_UNKNOWN, NULL).status, GUARD_UNKNOWN);
        assert_int_equal(batch.purchases[0].outcome, OUTCOME_COUNT);
    }
}

/* ---- replays where replicas are waited for ------------------------------------------------------- */

static const struct deployment synced = {.sync_replicas = 1, .sync_ms = 50};

/* Ann's order of before, Bob's new one, Cid's of before; and what confirm.lua says to it. */
static struct guard_result sell_to_three(const lk_status *said, size_t count,
                                         struct lk_reply *confirmed)
{
    struct lk_reply parts[] = {number(1), number(0), number(1), text("R7"), text("C"), text("R9")};
    struct lk_reply reply = list(parts, 6);

    deployment = &synced;
    let_server_answer(said, count, confirmed);
    struct guard_result result = read_reply(BATCH, &reply);
    deployment = NULL;
    assert_int_equal(result.status, GUARD_DONE);
    assert_int_equal(batch.purchases[1].outcome, OUTCOME_CREATED);
    return result;
}

TEST(replays_alone_are_confirmed_once)
{
    struct lk_reply reply = answer("7:held:k1 9:held:k3");

    (void)sell_to_three((const lk_status[]){LK_OK}, 1, &reply);
    assert_int_equal(server.asked, 1);
    assert_ptr_equal(server.script, &deployment);
    assert_string_equal(server.seen, "seckill:{s}:orders ann cid ");
    assert_int_equal(batch.purchases[0].outcome, OUTCOME_REPLAYED);
    assert_int_equal(batch.purchases[2].outcome, OUTCOME_REPLAYED);
}

TEST(a_replay_that_is_not_confirmed_is_no_accepted_order)
{
    static const lk_status said[] = {LK_UNSYNCED, LK_UNREACHABLE, LK_UNKNOWN, LK_SERVER, LK_BUSY};

    for (size_t i = 0; i < COUNT_OF(said); i++) {

        (void)sell_to_three(&said[i], 1, NULL);
        assert_int_equal(server.asked, 1); /* the limit is the caller's to use up */
        assert_int_equal(batch.purchases[0].outcome, OUTCOME_UNSYNCED);
        assert_int_equal(batch.purchases[2].outcome, OUTCOME_UNSYNCED);
    }
}

/* A failover between the reading and the confirming. */
TEST(a_replay_whose_order_is_gone_is_not_known)
{
    struct lk_reply reply = answer("nil 10:held:k3");

    (void)sell_to_three((const lk_status[]){LK_OK}, 1, &reply);
    assert_int_equal(batch.purchases[0].outcome, OUTCOME_UNKNOWN);
    assert_int_equal(batch.purchases[2].outcome, OUTCOME_UNKNOWN);
}

TEST(without_replicas_to_wait_for_nothing_is_confirmed)
{
    struct lk_reply reply = answer("1 0 1 R7");

    let_server_answer((const lk_status[]){LK_OK}, 1, NULL);
    assert_int_equal(read_reply(1, &reply).status, GUARD_DONE);
    assert_int_equal(server.asked, 0);
    assert_int_equal(batch.purchases[0].outcome, OUTCOME_REPLAYED);
}

/* What resolve.lua settles was waited for behind resolve.lua: it is not asked for again. */
TEST(what_was_settled_needs_no_confirming)
{
    static const lk_status said[] = {LK_UNSYNCED, LK_OK};
    struct lk_reply reply = answer("55:held:k1");

    deployment = &synced;
    let_server_answer(said, 2, &reply);
    assert_int_equal(sell(1, LK_UNKNOWN, NULL).status, GUARD_DONE);
    deployment = NULL;
    assert_int_equal(server.asked, 2);
    assert_int_equal(batch.purchases[0].outcome, OUTCOME_REPLAYED);
}
