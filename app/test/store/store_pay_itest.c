/*
 * What becomes of an order that is held, on a real Redis: each state with each step, once and twice,
 * batches, spoilt keys, lost answers; and that all books agree afterwards.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "store/store_admin.h"
#include "store/store_pay.h"
#include "test/support/sale_instances.h"
#include "test/support/testing.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

enum { UNITS = 3, WINDOW_MS = 60000, SHORT_MS = 60 };

/* Sale "p", paid for within so long. */
static void put_up(struct sale_world *world, int64_t window_ms)
{
    struct sale sale = {.id = "p", .title = "p", .guard = "mutex", .initial = UNITS};

    SALE_INSTANCES(world, "mutex", 1, .batch = 8);
    sale.payment = (struct sale_payment){.window_ms = window_ms, .amount = 500, .currency = "CNY"};
    assert_int_equal(store_create_sale(world->shops[0].store, &sale, NULL), STORE_OK);
}

static struct purchase buy(struct sale_world *world, const char *buyer)
{
    struct purchase purchase = {.buyer = buyer, .key = "k"};

    (void)group_commit_sell(world->shops[0].group, "p", &purchase);
    return purchase;
}

/* Of a buyer who has none yet; its id. */
static const char *order_of(struct sale_world *world, const char *buyer)
{
    static struct purchase bought;

    bought = buy(world, buyer);
    assert_int_equal(bought.outcome, OUTCOME_CREATED);
    return bought.order_id;
}

/* What is not said is what it should be. */
static pay_result pay_as(struct sale_world *world, struct payment_event event)
{
    struct lk_error err = {0};

    if (!event.id) event.id = "evt-1";
    if (!event.kind) event.kind = "succeeded";
    if (!event.payment) event.payment = "pay-1";
    if (!event.amount) event.amount = "500";
    if (!event.currency) event.currency = "CNY";
    assert_int_equal(store_pay_events(world->shops[0].store, "p", &event, 1, &err), STORE_OK);
    return event.result;
}

/* PAY(world, "ann", id, .payment = "pay-2") */
#define PAY(world, who, ...)                                                                       \
    pay_as((world), (struct payment_event){.buyer = (who), .order = __VA_ARGS__})

static cancel_end cancel(struct sale_world *world, const char *buyer, const char *id)
{
    struct order order = {0};
    cancel_end end = CANCEL_NO_ORDER;
    struct lk_error err = {0};

    (void)snprintf(order.buyer, sizeof order.buyer, "%s", buyer);
    (void)snprintf(order.id, sizeof order.id, "%s", id);
    assert_int_equal(store_cancel_order(world->shops[0].store, "p", &order, &end, &err), STORE_OK);
    return end;
}

static struct expiry expire(struct sale_world *world, unsigned most)
{
    struct expiry got = {.most = most};
    struct lk_error err = {0};

    assert_int_equal(store_expire_orders(world->shops[0].store, "p", 1, &got, &err), STORE_OK);
    return got;
}

/* As if its time was over. */
static void let_pass(struct sale_world *world, const char *buyer)
{
    assert_true(sale_do(world->client, "ZADD seckill:{p}:due 1 %s", buyer));
}

/* Fail unless so many orders are in each state, these units are left, and the books agree. */
static void books_are(struct sale_world *world, const char *expected)
{
    struct sale sale = {0};
    struct sale_audit audit = {0};
    char got[96];

    assert_int_equal(store_load_sale(world->shops[0].store, "p", &sale, NULL), STORE_OK);
    (void)snprintf(got, sizeof got, "held %d paid %d cancelled %d expired %d left %d",
                   (int)(sale.orders - sale.payment.paid), (int)sale.payment.paid,
                   (int)sale.payment.cancelled, (int)sale.payment.expired, (int)sale.left);
    assert_string_equal(got, expected);
    assert_int_equal(sale_ask_number(world->client, "ZCARD seckill:{p}:due"),
                     sale.orders - sale.payment.paid);
    assert_int_equal(store_audit_sale(world->shops[0].store, "p", &audit, NULL), STORE_OK);
    for (int i = 0; i < AUDIT_CHECK_COUNT; i++) {
        if (audit.checks[i].verdict != AUDIT_PASS)
            fail_msg("%s: %s", sale_audit_check_name((enum audit_check)i), audit.checks[i].words);
    }
}

/* ---- each state, each step ----------------------------------------------------------------------- */

enum state { HELD, PAID, CANCELLED, EXPIRED, STATES, NONE = STATES };

static const char *bring_to(struct sale_world *world, enum state state)
{
    const char *id = order_of(world, "ann");

    if (state == PAID) assert_int_equal(PAY(world, "ann", id), PAY_PAID);
    if (state == CANCELLED) assert_int_equal(cancel(world, "ann", id), CANCEL_DONE);
    if (state == EXPIRED) {
        let_pass(world, "ann");
        assert_int_equal(expire(world, 1).expired, 1);
    }
    return id;
}

struct meeting {
    enum state from;
    pay_result paid, mismatched, failed;
    cancel_end cancelled;
    int expired;
    outcome bought;
    const char *books; /* after the payment */
};

static void meet(struct sale_world *world, const struct meeting *row, int step)
{
    const char *id = bring_to(world, row->from);

    switch (step) {
    case 0:
        assert_int_equal(PAY(world, "ann", id, .id = "e2", .payment = "p2"), row->paid);
        books_are(world, row->books);
        break;
    case 1:
        assert_int_equal(PAY(world, "ann", id, .id = "e2", .payment = "p2", .amount = "501"),
                         row->mismatched);
        break;
    case 2:
        assert_int_equal(PAY(world, "ann", id, .id = "e2", .kind = "failed"), row->failed);
        break;
    case 3:
        assert_int_equal(cancel(world, "ann", id), row->cancelled);
        break;
    case 4:
        assert_int_equal(expire(world, 9).expired, 0); /* not due */
        if (row->from == HELD) let_pass(world, "ann");
        assert_int_equal(expire(world, 9).expired, row->expired);
        break;
    default:
        assert_int_equal(buy(world, "ann").outcome, row->bought);
    }
}

TEST(every_state_meets_every_step, struct sale_world *world)
{
    static const struct meeting rows[] = {
        {HELD, PAY_PAID, PAY_MISMATCH, PAY_NOTED, CANCEL_DONE, 1, OUTCOME_REPLAYED,
         "held 0 paid 1 cancelled 0 expired 0 left 2"},
        {PAID, PAY_DOUBLE, PAY_DOUBLE, PAY_NOTED, CANCEL_IS_PAID, 0, OUTCOME_REPLAYED,
         "held 0 paid 1 cancelled 0 expired 0 left 2"},
        {CANCELLED, PAY_LATE, PAY_LATE, PAY_NOTED, CANCEL_BEFORE, 0, OUTCOME_WAS_CANCELLED,
         "held 0 paid 0 cancelled 1 expired 0 left 3"},
        {EXPIRED, PAY_LATE, PAY_LATE, PAY_NOTED, CANCEL_HAS_EXPIRED, 0, OUTCOME_HAS_EXPIRED,
         "held 0 paid 0 cancelled 0 expired 1 left 3"},
    };
    enum { STEPS = 6 };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        for (int step = 0; step < STEPS; step++) {
            put_up(world, WINDOW_MS);
            meet(world, &rows[i], step);
        }
    }
}

TEST(a_step_that_is_repeated_changes_nothing, struct sale_world *world)
{
    put_up(world, WINDOW_MS);
    const char *id = order_of(world, "ann");

    (void)expire(world, 256);
    assert_int_equal(PAY(world, "ann", id), PAY_PAID);
    assert_int_equal(PAY(world, "ann", id, .id = "e2", .kind = "failed"), PAY_NOTED);
    char *before = sale_dump(world->client, "p");
    assert_int_equal(PAY(world, "ann", id), PAY_REPEATED);
    assert_int_equal(PAY(world, "ann", id, .id = "e2", .kind = "failed"), PAY_REPEATED);
    assert_int_equal(expire(world, 256).expired, 0);
    assert_int_equal(cancel(world, "ann", id), CANCEL_IS_PAID);
    char *after = sale_dump(world->client, "p");
    assert_string_equal(before, after);
    free(before);
    free(after);
}

TEST(the_same_money_under_another_event_is_not_paid_twice, struct sale_world *world)
{
    put_up(world, WINDOW_MS);
    const char *id = order_of(world, "ann");

    assert_int_equal(PAY(world, "ann", id), PAY_PAID);
    assert_int_equal(PAY(world, "ann", id, .id = "evt-2"), PAY_REPEATED);
    assert_int_equal(sale_ask_number(world->client, "HLEN seckill:{p}:refunds"), 0);
}

/* ---- money for nothing ---------------------------------------------------------------------------- */

static bool note_refund(const char *payment, const char *row, void *arg)
{
    (void)snprintf(arg, 256, "%s %s", payment, row);
    return true;
}

TEST(money_for_nothing_is_owed_back_once, struct sale_world *world)
{
    char refund[256] = "";
    struct order_standing standing = {0};

    put_up(world, WINDOW_MS);
    const char *id = order_of(world, "ann");
    assert_int_equal(cancel(world, "ann", id), CANCEL_DONE);
    for (int i = 0; i < 3; i++)
        assert_int_equal(PAY(world, "ann", id, .id = i < 2 ? "late" : "later"),
                         i == 0 ? PAY_LATE : PAY_REPEATED);
    assert_int_equal(store_scan_refunds(world->shops[0].store, "p", note_refund, refund, NULL),
                     STORE_OK);
    assert_non_null(strstr(refund, ":ann:500:CNY:late:owed:"));
    assert_int_equal(strncmp(refund, "pay-1 ", 6), 0);
    assert_int_equal(store_order_standing(world->shops[0].store, "p", "ann", &standing, NULL),
                     STORE_OK);
    assert_string_equal(standing.order.state, "cancelled");
    assert_string_equal(standing.refund.state, "owed");
    static const struct {
        const char *payment, *state;
        int expected;
    } steps[] = {{"none", "sent", 0},  {"pay-1", "sent", 1},  {"pay-1", "sent", 2},
                 {"pay-1", "done", 1}, {"pay-1", "sent", -1}, {"pay-1", "done", 2}};
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        struct refund_note note = {.payment = steps[i].payment, .state = steps[i].state};

        assert_int_equal(store_refund(world->shops[0].store, "p", &note, NULL), STORE_OK);
        assert_int_equal(note.done, steps[i].expected);
    }
    books_are(world, "held 0 paid 0 cancelled 1 expired 0 left 3");
}

#define TEN     "A1-b_C2-d_"
#define SIXTY   TEN TEN TEN TEN TEN TEN
#define LONGEST SIXTY "x.y."

/* As long, and of such letters, as an event's may be. */
TEST(a_refund_of_any_words_is_shown_and_sent, struct sale_world *world)
{
    static const struct {
        const char *payment, *buyer, *order, *currency; /* order NULL: the buyer's own */
        pay_result expected;
    } rows[] = {{"p1", "ann", NULL, "cny", PAY_MISMATCH},
                {"p2", "bob", "no-order.1", "CNY", PAY_NO_ORDER},
                {LONGEST, SIXTY "bob_", NULL, LONGEST, PAY_MISMATCH},
                {"p4", LONGEST, LONGEST, LONGEST, PAY_NO_ORDER}};

    put_up(world, WINDOW_MS);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct refund_note note = {.payment = rows[i].payment, .state = "sent"};
        struct order_standing standing = {0};
        const char *id = rows[i].order ? rows[i].order : order_of(world, rows[i].buyer);

        assert_int_equal(PAY(world, rows[i].buyer, id, .id = rows[i].payment,
                             .payment = rows[i].payment, .amount = "9223372036854775807",
                             .currency = rows[i].currency),
                         rows[i].expected);
        if (!rows[i].order) {
            assert_int_equal(cancel(world, rows[i].buyer, id), CANCEL_DONE);
            assert_int_equal(
                store_order_standing(world->shops[0].store, "p", rows[i].buyer, &standing, NULL),
                STORE_OK);
            assert_string_equal(standing.refund.state, "owed");
            assert_string_equal(standing.refund.currency, rows[i].currency);
        }
        assert_int_equal(store_refund(world->shops[0].store, "p", &note, NULL), STORE_OK);
        assert_int_equal(note.done, 1);
    }
}

TEST(nothing_is_said_of_orders_that_a_book_may_know_better, struct sale_world *world)
{
    static const char *const marks[] = {"replid 0", "rebuild open"};
    struct payment_event event = {"e", "succeeded", "bob", "77", "p", "500", "CNY", PAY_NOTED};
    struct refund_note note = {.payment = "p", .state = "sent"};
    struct order order = {.buyer = "ann", .id = "77"};
    cancel_end end = CANCEL_NO_ORDER;

    put_up(world, WINDOW_MS);
    struct store *store = world->shops[0].store;
    assert_true(store_keep_book(store));
    for (size_t i = 0; i < COUNT_OF(marks); i++) {
        assert_true(sale_do(world->client, "HSET seckill:{p}:sale %s", marks[i]));
        assert_int_equal(store_pay_events(store, "p", &event, 1, NULL), STORE_UNAVAILABLE);
        assert_int_equal(store_cancel_order(store, "p", &order, &end, NULL), STORE_UNAVAILABLE);
        assert_int_equal(store_refund(store, "p", &note, NULL), STORE_UNAVAILABLE);
        assert_int_equal(store_find_order(store, "p", "ann", &order, NULL), STORE_UNAVAILABLE);
        assert_true(sale_do(world->client, "HDEL seckill:{p}:sale %s", marks[i]));
    }
    assert_int_equal(store_find_order(store, "p", "ann", &order, NULL), STORE_NOT_FOUND);
    assert_int_equal(PAY(world, "ann", order_of(world, "ann")), PAY_PAID);
}

TEST(an_unknown_order_is_owed_and_an_unknown_sale_is_told, struct sale_world *world)
{
    struct payment_event event = {"e", "succeeded", "bob", "77", "p", "500", "CNY", PAY_NOTED};

    put_up(world, WINDOW_MS);
    assert_int_equal(PAY(world, "bob", "77"), PAY_NO_ORDER);
    assert_int_equal(sale_ask_number(world->client, "HLEN seckill:{p}:refunds"), 2);
    assert_int_equal(store_pay_events(world->shops[0].store, "nope", &event, 1, NULL),
                     STORE_NOT_FOUND);
    assert_int_equal(store_pay_events(world->shops[0].store, "s", &event, 1, NULL),
                     STORE_NOT_FOUND);
    assert_int_equal(sale_ask_number(world->client, "EXISTS seckill:{s}:events"), 0);
}

/* ---- batches -------------------------------------------------------------------------------------- */

TEST(in_one_batch_the_first_word_counts, struct sale_world *world)
{
    put_up(world, WINDOW_MS);
    char ann[ORDER_ID_MAX];
    (void)snprintf(ann, sizeof ann, "%s", order_of(world, "ann"));
    const char *bob = order_of(world, "bob");
    struct payment_event events[] = {
        {"e1", "started", "ann", ann, "p1", "500", "CNY", PAY_LATE},
        {"e2", "succeeded", "ann", ann, "p1", "500", "CNY", PAY_LATE},
        {"e2", "succeeded", "ann", ann, "p1", "500", "CNY", PAY_LATE},
        {"e3", "succeeded", "ann", ann, "p2", "500", "CNY", PAY_LATE},
        {"e4", "failed", "ann", ann, "p1", "500", "CNY", PAY_LATE},
        {"e5", "succeeded", "bob", bob, "p3", "500", "USD", PAY_LATE},
        {"e6", "succeeded", "bob", ann, "p4", "500", "CNY", PAY_LATE},
        {"e7", "succeeded", "bob", bob, "p5", "500", "CNY", PAY_LATE},
    };
    static const pay_result expected[] = {PAY_NOTED, PAY_PAID,     PAY_REPEATED, PAY_DOUBLE,
                                          PAY_NOTED, PAY_MISMATCH, PAY_NO_ORDER, PAY_PAID};

    assert_int_equal(store_pay_events(world->shops[0].store, "p", events, COUNT_OF(events), NULL),
                     STORE_OK);
    for (size_t i = 0; i < COUNT_OF(events); i++)
        assert_int_equal(events[i].result, expected[i]);
    books_are(world, "held 0 paid 2 cancelled 0 expired 0 left 1");
}

TEST(what_is_due_expires_a_batch_at_a_time_and_is_for_sale, struct sale_world *world)
{
    put_up(world, SHORT_MS);
    (void)order_of(world, "ann");
    (void)order_of(world, "bob");
    (void)order_of(world, "cid");
    struct purchase refused = buy(world, "dan");

    assert_int_equal(refused.outcome, OUTCOME_SOLD_OUT);
    assert_in_range(refused.retry_ms, 1, SHORT_MS);
    struct expiry got = expire(world, 2);
    assert_in_range(got.next_ms, 0, SHORT_MS);
    clock_pause_ms(SHORT_MS + 10);
    assert_int_equal(buy(world, "dan").retry_ms, 1); /* due: at any moment */
    got = expire(world, 2);
    assert_int_equal(got.expired, 2);
    assert_int_equal(got.left, 2);
    assert_int_equal(got.stale, 0);
    books_are(world, "held 1 paid 0 cancelled 0 expired 2 left 2");
    got = expire(world, 2);
    assert_int_equal(got.expired, 1);
    assert_int_equal(got.next_ms, -1);
    struct purchase won = buy(world, "dan");
    assert_int_equal(won.outcome, OUTCOME_CREATED);
    assert_true(won.pay_by_ms > 0);
    books_are(world, "held 1 paid 0 cancelled 0 expired 3 left 2");
}

TEST(a_leader_of_the_past_ends_nothing, struct sale_world *world)
{
    struct expiry got = {.most = 9};
    struct lk_error err = {0};

    put_up(world, WINDOW_MS);
    (void)order_of(world, "ann");
    let_pass(world, "ann");
    assert_true(sale_do(world->client, "SET seckill:{p}:expirer-fence 7"));
    assert_int_equal(store_expire_orders(world->shops[0].store, "p", 6, &got, &err), STORE_FAILED);
    assert_non_null(strstr(err.text, "STALE"));
    books_are(world, "held 1 paid 0 cancelled 0 expired 0 left 2");
    assert_int_equal(store_expire_orders(world->shops[0].store, "p", 7, &got, &err), STORE_OK);
    assert_int_equal(got.expired, 1);
}

TEST(one_that_is_due_and_not_held_is_told_and_goes, struct sale_world *world)
{
    put_up(world, WINDOW_MS);
    const char *id = order_of(world, "ann");

    assert_int_equal(PAY(world, "ann", id), PAY_PAID);
    let_pass(world, "ann"); /* by somebody's hand */
    let_pass(world, "ghost");
    struct expiry got = expire(world, 9);
    assert_int_equal(got.expired, 0);
    assert_int_equal(got.stale, 2);
    books_are(world, "held 0 paid 1 cancelled 0 expired 0 left 2");
}

/* Whoever has been told that it is sold out, the unit that comes back is sold by any instance at once. */
TEST(a_unit_that_comes_back_is_not_sold_out_anywhere, struct sale_world *world)
{
    put_up(world, WINDOW_MS);
    char ann[ORDER_ID_MAX];
    (void)snprintf(ann, sizeof ann, "%s", order_of(world, "ann"));
    (void)order_of(world, "bob");
    (void)order_of(world, "cid");
    for (int i = 0; i < 60; i++) { /* long enough for a memory of it, were there one */
        struct purchase told = {.buyer = "dan", .key = ""};

        (void)group_commit_sell(world->shops[i % SALE_INSTANCES].group, "p", &told);
        assert_int_equal(told.outcome, OUTCOME_SOLD_OUT);
        clock_pause_ms(5);
    }
    assert_int_equal(cancel(world, "ann", ann), CANCEL_DONE);
    struct purchase won = {.buyer = "dan", .key = ""};
    (void)group_commit_sell(world->shops[1].group, "p", &won);
    assert_int_equal(won.outcome, OUTCOME_CREATED);
}

/* ---- many steps ------------------------------------------------------------------------------------- */

enum { SLOTS = 5, MANY = 2000, KINDS = 9, IS_NEW = 7 };

/* A buyer, and what shall be so of him. */
struct slot {
    char buyer[16], order[ORDER_ID_MAX];
    char event[16]; /* the last of his payments; "": none */
    char owed[16];  /* the last that is owed back; "": none */
    int sent;       /* of that: 0 owed, 1 sent, 2 done */
    enum state state;
    bool is_due;
};

struct many {
    struct sale_world *world;
    uint64_t seed; /* moves on */
    int64_t left;
    int number; /* of the step */
    int count[STATES];
    struct slot slots[SLOTS];
};

/* xorshift64* */
static unsigned below(struct many *many, unsigned limit)
{
    many->seed ^= many->seed >> 12;
    many->seed ^= many->seed << 25;
    many->seed ^= many->seed >> 27;
    return (unsigned)(many->seed * 2685821657736338717U >> 33) % limit;
}

static void move(struct many *many, struct slot *slot, enum state to)
{
    if (slot->state != NONE) many->count[slot->state]--;
    many->count[to]++;
    many->left += to == HELD ? -1 : to == PAID ? 0 : 1;
    slot->state = to;
    slot->is_due = false;
}

static void buy_one(struct many *many, struct slot *slot)
{
    static const outcome expected[] = {OUTCOME_REPLAYED, OUTCOME_REPLAYED, OUTCOME_WAS_CANCELLED,
                                       OUTCOME_HAS_EXPIRED, OUTCOME_CREATED};

    if (many->left == 0 && many->count[HELD] == 0) return; /* for good: it is remembered */
    struct purchase got = buy(many->world, slot->buyer);
    bool is_refused = slot->state == NONE && many->left == 0;
    assert_int_equal(got.outcome, is_refused ? OUTCOME_SOLD_OUT : expected[slot->state]);
    if (got.outcome != OUTCOME_CREATED) return;
    (void)snprintf(slot->order, sizeof slot->order, "%s", got.order_id);
    move(many, slot, HELD);
}

static void pay_one(struct many *many, struct slot *slot)
{
    static const pay_result expected[] = {PAY_PAID, PAY_DOUBLE, PAY_LATE, PAY_LATE, PAY_NO_ORDER};
    bool is_odd = slot->state == HELD && below(many, 4) == 0;
    char payment[16];

    (void)snprintf(slot->event, sizeof slot->event, "e%d", many->number);
    (void)snprintf(payment, sizeof payment, "p%d", many->number);
    pay_result got = PAY(many->world, slot->buyer, slot->order, .id = slot->event,
                         .payment = payment, .amount = is_odd ? "501" : "500");
    assert_int_equal(got, is_odd ? PAY_MISMATCH : expected[slot->state]);
    if (got == PAY_PAID) move(many, slot, PAID);
    if (got != PAY_PAID) (void)snprintf(slot->owed, sizeof slot->owed, "%s", payment);
    if (got != PAY_PAID) slot->sent = 0;
}

static void refund_one(struct many *many, struct slot *slot)
{
    int to = 1 + (int)below(many, 2);
    int expected = slot->sent == to ? 2 : slot->sent == 2 ? -1 : 1;
    struct refund_note note = {.payment = slot->owed, .state = to == 1 ? "sent" : "done"};

    assert_int_equal(store_refund(many->world->shops[0].store, "p", &note, NULL), STORE_OK);
    assert_int_equal(note.done, slot->owed[0] ? expected : 0);
    if (note.done == 1) slot->sent = to;
}

static void expire_all(struct many *many)
{
    struct expiry got = expire(many->world, EXPIRE_AT_ONCE_MAX);
    int due = 0;

    for (struct slot *slot = many->slots; slot < many->slots + SLOTS; slot++) {
        due += slot->is_due;
        if (slot->is_due) move(many, slot, EXPIRED);
    }
    assert_int_equal(got.expired, due);
    assert_int_equal(got.stale, 0);
}

/* They cool for as long as a sell-out is remembered, and no longer. */
static void restock(struct many *many)
{
    struct sale_step_end end = {.step = SALE_STEP_DONE};
    char key[16];

    (void)snprintf(key, sizeof key, "r%d", many->number);
    const struct sale_restock more = {.units = UNITS, .key = key};
    assert_int_equal(store_restock_sale(many->world->shops[0].store, "p", &more, &end, NULL),
                     STORE_OK);
    many->left += UNITS;
    clock_pause_ms(SALE_BELIEVED_MS + 1);
    assert_true(sale_do(many->world->client, "HDEL seckill:{p}:sale cool"));
}

static void take_step(struct many *many, unsigned kind, struct slot *slot)
{
    static const cancel_end expected[] = {CANCEL_DONE, CANCEL_IS_PAID, CANCEL_BEFORE,
                                          CANCEL_HAS_EXPIRED, CANCEL_NO_ORDER};

    if (kind == 0) {
        assert_int_equal(cancel(many->world, slot->buyer, slot->order), expected[slot->state]);
        if (slot->state == HELD) move(many, slot, CANCELLED);
    } else if (kind == 1 && slot->state == HELD) {
        let_pass(many->world, slot->buyer);
        slot->is_due = true;
    } else if (kind == 2) {
        expire_all(many);
    } else if (kind == 3 && many->left == 0) {
        restock(many);
    } else if (kind == 4) {
        refund_one(many, slot);
    } else if (kind == 5 && slot->event[0]) {
        assert_int_equal(PAY(many->world, slot->buyer, "1", .id = slot->event), PAY_REPEATED);
    } else if (kind == 6) {
        pay_one(many, slot);
    } else if (kind == IS_NEW && slot->state != HELD) { /* somebody new */
        *slot = (struct slot){.state = NONE, .order = "1"};
        (void)snprintf(slot->buyer, sizeof slot->buyer, "b%d", many->number);
    } else {
        buy_one(many, slot);
    }
}

static void compare(struct many *many)
{
    static const char *const names[] = {"held", "paid", "cancelled", "expired"};
    struct slot *slots = many->slots;
    lk_reply *rows =
        sale_ask(many->world->client, "HMGET seckill:{p}:orders %s %s %s %s %s", slots[0].buyer,
                 slots[1].buyer, slots[2].buyer, slots[3].buyer, slots[4].buyer);

    for (int i = 0; i < SLOTS; i++) {
        const char *row = lk_reply_bytes(lk_reply_at(rows, (size_t)i)).data;
        char expected[64] = "none";

        if (slots[i].state != NONE)
            (void)snprintf(expected, sizeof expected, "%s:%s:k", slots[i].order,
                           names[slots[i].state]);
        assert_string_equal(row ? row : "none", expected);
    }
    lk_reply_free(rows);
    assert_int_equal(sale_ask_number(many->world->client, "GET seckill:{p}:stock"), many->left);
}

TEST(thousands_of_steps_do_what_the_model_does, struct sale_world *world)
{
    struct many many = {.world = world, .left = UNITS, .seed = (uint64_t)clock_unix_ms()};
    const int *count = many.count;
    char books[96];

    print_message("# seed %" PRIu64 "\n", many.seed); /* to repeat it, write it above */
    put_up(world, WINDOW_MS);
    for (; many.number < SLOTS; many.number++) {
        many.slots[many.number].state = NONE;
        take_step(&many, IS_NEW, &many.slots[many.number]);
    }
    for (; many.number < MANY; many.number++) {
        take_step(&many, below(&many, KINDS), &many.slots[below(&many, SLOTS)]);
        compare(&many);
    }
    (void)snprintf(books, sizeof books, "held %d paid %d cancelled %d expired %d left %d",
                   count[HELD], count[PAID], count[CANCELLED], count[EXPIRED], (int)many.left);
    print_message("# %s\n", books);
    books_are(world, books);
}

/* ---- what is wrong ---------------------------------------------------------------------------------- */

TEST(spoilt_keys_change_nothing, struct sale_world *world)
{
    static const char *const spoils[] = {"SET seckill:{p}:stock abc", "SET seckill:{p}:stock -1",
                                         "DEL seckill:{p}:due", "DEL seckill:{p}:ledger",
                                         "HSET seckill:{p}:sale paid x cancelled x expired x"};

    for (size_t i = 0; i < COUNT_OF(spoils); i++) {
        struct expiry got = {.most = 9};
        cancel_end end = CANCEL_NO_ORDER;
        struct order order = {.buyer = "ann"};

        put_up(world, WINDOW_MS);
        const char *id = order_of(world, "ann");
        (void)snprintf(order.id, sizeof order.id, "%s", id);
        struct payment_event event = {"e", "succeeded", "ann", id, "p", "500", "CNY", PAY_NOTED};
        assert_true(sale_do(world->client, "%s", spoils[i]));
        if (strncmp(spoils[i], "DEL", 3) == 0)
            assert_true(sale_do(world->client, "RPUSH %s x", spoils[i] + 4));
        assert_true(sale_do(world->client, "SET seckill:{p}:expirer-fence 0"));
        char *before = sale_dump(world->client, "p");
        bool hurts_pay = i >= 2;
        if (hurts_pay)
            assert_int_not_equal(store_pay_events(world->shops[0].store, "p", &event, 1, NULL),
                                 STORE_OK);
        assert_int_not_equal(store_cancel_order(world->shops[0].store, "p", &order, &end, NULL),
                             STORE_OK);
        assert_int_not_equal(store_expire_orders(world->shops[0].store, "p", 0, &got, NULL),
                             STORE_OK);
        char *after = sale_dump(world->client, "p");
        assert_string_equal(before, after);
        free(before);
        free(after);
    }
}

/* Of a sale where orders are final, nothing is. */
TEST(a_sale_that_is_not_paid_later_knows_nothing_of_it, struct sale_world *world)
{
    struct sale sale = {0};

    put_up(world, WINDOW_MS);
    sale_instances_expect(world, "ann", OUTCOME_CREATED);
    assert_int_equal(store_load_sale(world->shops[0].store, "s", &sale, NULL), STORE_OK);
    assert_int_equal(sale.payment.window_ms, 0);
    assert_int_equal(sale.orders, 1);
    assert_int_equal(sale_ask_number(world->client, "EXISTS seckill:{s}:due"), 0);
    sale_instances_expect(world, "bob", OUTCOME_SOLD_OUT);
}

GROUP(sale_world_open, sale_world_close);
