/*
 * purchase_eval.c: a batch laid out as purchase.lua reads it, and the reader of its answer, which
 * must make an outcome or an "unknown" out of whatever comes. Replies are trees made here.
 * link: -Wl,--wrap=lk_reply_type_of,--wrap=lk_reply_integer,--wrap=lk_reply_bytes
 * link: -Wl,--wrap=lk_reply_count,--wrap=lk_reply_at,--wrap=lk_reply_free
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "guards/purchase_eval.h"

/* ---- made-up replies ----------------------------------------------------------------------------- */

struct lk_reply {
    lk_reply_type type;
    long long integer;
    struct lk_bytes bytes;
    const struct lk_reply *elements;
    size_t count;
};

static unsigned frees;

/* The linker's names: NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */
lk_reply_type __wrap_lk_reply_type_of(const lk_reply *reply);
long long __wrap_lk_reply_integer(const lk_reply *reply, long long fallback);
struct lk_bytes __wrap_lk_reply_bytes(const lk_reply *reply);
size_t __wrap_lk_reply_count(const lk_reply *reply);
const lk_reply *__wrap_lk_reply_at(const lk_reply *reply, size_t index);
void __wrap_lk_reply_free(lk_reply *reply);

lk_reply_type __wrap_lk_reply_type_of(const lk_reply *reply)
{
    return reply ? reply->type : LK_REPLY_NIL;
}

long long __wrap_lk_reply_integer(const lk_reply *reply, long long fallback)
{
    return reply && reply->type == LK_REPLY_INTEGER ? reply->integer : fallback;
}

struct lk_bytes __wrap_lk_reply_bytes(const lk_reply *reply)
{
    bool has_bytes = reply && (reply->type == LK_REPLY_STRING || reply->type == LK_REPLY_ERROR);

    return has_bytes ? reply->bytes : (struct lk_bytes){0};
}

size_t __wrap_lk_reply_count(const lk_reply *reply)
{
    return reply && reply->type == LK_REPLY_ARRAY ? reply->count : 0;
}

const lk_reply *__wrap_lk_reply_at(const lk_reply *reply, size_t index)
{
    return index < __wrap_lk_reply_count(reply) ? &reply->elements[index] : NULL;
}

void __wrap_lk_reply_free(lk_reply *reply)
{
    if (reply) frees++;
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

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

/* ---- a batch --------------------------------------------------------------------------------------- */

enum { BATCH = 3 };

struct batch {
    struct purchase purchases[BATCH];
    struct purchase *list[BATCH];
};

static void fill(struct batch *batch)
{
    static const char *const buyers[BATCH] = {"ann", "bob", "cid"};
    static const char *const keys[BATCH] = {"k1", "", "k3"};
    static const char *const ids[BATCH] = {"101", "102", "103"};

    *batch = (struct batch){0};
    for (size_t i = 0; i < BATCH; i++) {
        struct purchase *purchase = &batch->purchases[i];

        batch->list[i] = purchase;
        purchase->buyer = buyers[i];
        purchase->key = keys[i];
        purchase->outcome = OUTCOME_COUNT;
        purchase->retry_ms = -7;
        memcpy(purchase->order_id, ids[i], strlen(ids[i]) + 1);
    }
}

static struct guard_result read_reply(struct batch *batch, size_t count, struct lk_reply *reply)
{
    fill(batch);
    return purchase_eval_read(LK_OK, reply, &(struct lk_error){0}, batch->list, count);
}

/* ---- tests ----------------------------------------------------------------------------------------- */

static void a_batch_is_laid_out_as_the_script_reads_it(void **state)
{
    static const char *const args[] = {"here", "3", "ann", "101", "k1", "bob",
                                       "102",  "",  "cid", "103", "k3"};
    static const char *const keys[] = {"seckill:{s}:sale", "seckill:{s}:stock",
                                       "seckill:{s}:orders", "seckill:{s}:ledger"};
    struct guard_ctx ctx = {.sale_id = "s", .instance = "here"};
    struct purchase_eval eval;
    struct batch batch;

    (void)state;
    fill(&batch);
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
    purchase_eval_done(&eval);
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
    {"X", OUTCOME_COUNT, NULL, 0},
    {"C1", OUTCOME_COUNT, NULL, 0},
    {"SS", OUTCOME_COUNT, NULL, 0},
    {" C", OUTCOME_COUNT, NULL, 0},
    {"A92233720368547758070", OUTCOME_COUNT, NULL, 0}, /* longer than an id */
    {"\xff", OUTCOME_COUNT, NULL, 0},
};

static void one_answer_becomes_what_the_table_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        const struct answer_case *row = &answers[i];
        struct lk_reply parts[] = {number(9), number(1234), text(row->answer)};
        struct lk_reply reply = list(parts, 3);
        struct batch batch;
        struct guard_result result = read_reply(&batch, 1, &reply);

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

static void everybody_gets_the_answer_at_his_place(void **state)
{
    struct lk_reply parts[] = {number(0), number(0), text("C"), text("A7"), text("S")};
    struct lk_reply reply = list(parts, 5);
    struct batch batch;

    (void)state;
    frees = 0;
    assert_int_equal(read_reply(&batch, BATCH, &reply).status, GUARD_DONE);
    assert_int_equal(batch.purchases[0].outcome, OUTCOME_CREATED);
    assert_int_equal(batch.purchases[1].outcome, OUTCOME_ALREADY_ORDERED);
    assert_string_equal(batch.purchases[1].order_id, "7");
    assert_int_equal(batch.purchases[2].outcome, OUTCOME_SOLD_OUT);
    assert_int_equal(frees, 1);
}

static void minus_one_means_no_such_sale_for_all(void **state)
{
    struct lk_reply parts[] = {number(-1), number(0)};
    struct lk_reply reply = list(parts, 2);
    struct batch batch;

    (void)state;
    assert_int_equal(read_reply(&batch, BATCH, &reply).status, GUARD_DONE);
    for (size_t i = 0; i < BATCH; i++)
        assert_int_equal(batch.purchases[i].outcome, OUTCOME_NO_SALE);
}

static void a_reply_of_another_shape_is_unknown(void **state)
{
    struct lk_reply parts[] = {number(0), number(0),     text("C"), text("S"),
                               text("S"), text("extra"), number(1)};
    struct lk_reply no_sale[] = {number(-1), number(0), text("S"), text("S"), text("S")};
    struct lk_reply no_left[] = {text("0"), number(0), text("S"), text("S"), text("S")};
    struct lk_reply numbers[] = {number(0), number(0), number(1), number(2), number(3)};
    struct lk_reply error = {.type = LK_REPLY_ERROR, .bytes = LK_BYTES("C")};
    struct lk_reply nil = {.type = LK_REPLY_NIL};
    struct lk_reply nested[] = {number(0), number(0), list(parts, 3), nil, nil};
    struct lk_reply odd[] = {number(0), text("C"),        list(parts, 0),   list(parts, 1),
                             nil,       list(parts, 4),   list(parts, 6),   list(no_sale, 5),
                             error,     list(no_left, 5), list(numbers, 5), list(nested, 5)};

    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        struct batch batch;
        struct guard_result result = read_reply(&batch, BATCH, &odd[i]);

        if (result.status != GUARD_UNKNOWN) fail_msg("row %zu", i);
        assert_int_equal(result.error.code, LK_SERVER);
        assert_true(strlen(result.error.text) > 0);
    }
    struct batch batch;
    assert_int_equal(read_reply(&batch, BATCH, NULL).status, GUARD_UNKNOWN);
}

/* All answers of up to three bytes out of an alphabet that has every letter: no crash, no lie. */
static void short_answers_of_any_bytes_never_invent_an_outcome(void **state)
{
    static const char alphabet[] = "CRASNEP09:\n\xff";
    enum { LETTERS = sizeof alphabet }; /* the NUL too */

    (void)state;
    for (size_t i = 0; i < (size_t)LETTERS * LETTERS * LETTERS; i++) {
        const char bytes[] = {alphabet[i % LETTERS], alphabet[i / LETTERS % LETTERS],
                              alphabet[i / LETTERS / LETTERS]};
        size_t len = 1 + i % sizeof bytes;
        struct lk_reply parts[] = {number(1), number(0), text("")};
        struct batch batch;

        parts[2].bytes = (struct lk_bytes){.data = bytes, .len = len};
        struct lk_reply reply = list(parts, 3);
        bool is_done = read_reply(&batch, 1, &reply).status == GUARD_DONE;
        bool is_letter = bytes[0] != '\0' && strchr("CSNEP", bytes[0]) && len == 1;
        bool is_order = bytes[0] == 'R' || bytes[0] == 'A';
        assert_int_equal(is_done, is_letter || is_order);
        if (is_done) assert_true(batch.purchases[0].outcome < OUTCOME_NO_SALE);
    }
}

static void a_status_means_the_same_for_the_whole_batch(void **state)
{
    static const struct {
        lk_status status;
        guard_status expected;
    } rows[] = {
        {LK_BUSY, GUARD_BUSY},
        {LK_CANCELLED, GUARD_BUSY},
        {LK_LOST, GUARD_BUSY},
        {LK_NOT_OWNER, GUARD_BUSY},
        {LK_UNKNOWN, GUARD_UNKNOWN},
        {LK_INVALID, GUARD_UNAVAILABLE},
        {LK_NO_MEMORY, GUARD_UNAVAILABLE},
        {LK_UNREACHABLE, GUARD_UNAVAILABLE},
        {LK_SERVER, GUARD_UNAVAILABLE},
    };

    (void)state;
    assert_int_equal(sizeof rows / sizeof rows[0], LK_STATUS_COUNT - 1); /* all but OK */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lk_error why = {.code = rows[i].status, .text = "because"};
        struct batch batch;

        fill(&batch);
        struct guard_result result =
            purchase_eval_read(rows[i].status, NULL, &why, batch.list, BATCH);
        assert_int_equal(result.status, rows[i].expected);
        assert_string_equal(result.error.text, "because");
        assert_string_equal(batch.purchases[0].order_id, "101");
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_is_laid_out_as_the_script_reads_it),
        cmocka_unit_test(one_answer_becomes_what_the_table_says),
        cmocka_unit_test(everybody_gets_the_answer_at_his_place),
        cmocka_unit_test(minus_one_means_no_such_sale_for_all),
        cmocka_unit_test(a_reply_of_another_shape_is_unknown),
        cmocka_unit_test(short_answers_of_any_bytes_never_invent_an_outcome),
        cmocka_unit_test(a_status_means_the_same_for_the_whole_batch),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
