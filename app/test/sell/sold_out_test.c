/*
 * Memory of a sell-out against a Redis that is played here.
 * link: -Wl,--wrap=store_load_moment,--wrap=store_load_moments -Wl,--wrap=store_scan_orders -Wl,--wrap=clock_awake_or_not_ms
 */
#include <pthread.h>
#include <time.h>

#include "sell/sold_out.h"
#include "store/deployment.h"
#include "store/store_ledger.h"
#include "test/support/testing.h"

enum { WITHIN_MS = 5000 };

static struct deployment deployment = {.kind = DEPLOYMENT_SENTINEL};
static atomic_uint looks;         /* that were answered */
static atomic_llong cooling;      /* units */
static atomic_llong orders;       /* that there are, and are not found */
static atomic_uint scans;         /* of all orders */
static _Atomic int64_t answer_ms; /* that a look takes */
static _Atomic int64_t ms_later;  /* than the clock says */

/* While it is held, no look is answered. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

FAKE(int64_t, clock_awake_or_not_ms, void)
{
    return __real_clock_awake_or_not_ms() + atomic_load(&ms_later);
}

/* Of one round trip, whatever it asks for. */
FAKE(store_status, store_load_moments, struct store *store, const struct sale_id *ids, size_t count,
     struct sale_moment *out, struct lk_error *err)
{
    (void)pthread_mutex_lock(&gate);
    (void)pthread_mutex_unlock(&gate);
    for (size_t i = 0; i < count; i++) {
        out[i] = (struct sale_moment){.sale = {.initial = 1, .now_ms = 10, .epoch = 1}};
        if (strncmp(ids[i].text, "alone", 5) == 0 && count > 1) continue; /* as one in segments */
        out[i].sale.cooling = atomic_load(&cooling);
        out[i].orders = atomic_load(&orders);
        (void)snprintf(out[i].sale.id, sizeof out[i].sale.id, "%s", ids[i].text);
        (void)snprintf(out[i].sale.stored_state, sizeof out[i].sale.stored_state, "open");
    }
    atomic_fetch_add(&ms_later, atomic_load(&answer_ms));
    atomic_fetch_add(&looks, 1);
    return STORE_OK;
}

FAKE(store_status, store_load_moment, struct store *store, const char *id, struct sale_moment *out,
     struct lk_error *err)
{
    struct sale_id one;

    (void)snprintf(one.text, sizeof one.text, "%s", id);
    return __wrap_store_load_moments(store, &one, 1, out, err);
}

FAKE(store_status, store_scan_orders, struct store *store, const char *id, store_each *each,
     void *arg, struct lk_error *err)
{
    atomic_fetch_add(&scans, 1);
    return STORE_OK;
}

static bool is_answered(struct sold_out_sale *sale)
{
    struct purchase purchase = {.buyer = "late", .key = ""};

    return sold_out_answer(sale, &purchase) && purchase.outcome == OUTCOME_SOLD_OUT;
}

/* Keep asking until memory answers. */
static bool comes_to_answer(struct sold_out_sale *sale)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    for (int i = 0; i < WITHIN_MS; i++) {
        if (is_answered(sale)) return true;
        sold_out_mark(sale);
        (void)nanosleep(&pause, NULL);
    }
    return false;
}

static int open_memory(void **state)
{
    static struct store *const nobody = NULL;

    *state = sold_out_new(nobody, &deployment);
    return *state ? 0 : -1;
}

static int close_memory(void **state)
{
    sold_out_free(*state);
    return 0;
}

TEST(a_unit_that_is_sold_all_the_same_silences_memory_until_the_next_look)
{
    struct sold_out_sale *sale = sold_out_register(*state, "one");

    assert_true(comes_to_answer(sale));
    (void)pthread_mutex_lock(&gate);
    sold_out_invalidate(sale);
    bool is_known = is_answered(sale);
    (void)pthread_mutex_unlock(&gate);
    assert_false(is_known);
    assert_true(comes_to_answer(sale));
}

TEST(a_change_of_servers_silences_memory_until_the_next_look)
{
    struct sold_out_sale *sale = sold_out_register(*state, "two");

    assert_true(comes_to_answer(sale));
    (void)pthread_mutex_lock(&gate);
    atomic_fetch_add(&deployment.changes, 1);
    bool is_known = is_answered(sale);
    (void)pthread_mutex_unlock(&gate);
    assert_false(is_known);
    assert_true(comes_to_answer(sale));
}

/* Whether memory answers although it has been asked about for so many looks. */
static bool answers_within_looks(struct sold_out_sale *sale, unsigned count)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    unsigned until = atomic_load(&looks) + count;
    bool has_answered = false;

    while (atomic_load(&looks) < until) {
        has_answered |= is_answered(sale);
        sold_out_mark(sale);
        (void)nanosleep(&pause, NULL);
    }
    return has_answered;
}

TEST(while_units_cool_nothing_is_remembered)
{
    struct sold_out_sale *sale = sold_out_register(*state, "four");

    atomic_store(&cooling, 5);
    assert_false(answers_within_looks(sale, 4)); /* nor made */
    atomic_store(&cooling, 0);
    assert_true(comes_to_answer(sale));
    atomic_store(&cooling, 5);
    (void)answers_within_looks(sale, 2);
    assert_false(answers_within_looks(sale, 4)); /* nor prolonged */
    atomic_store(&cooling, 0);
}

/* The instance was stopped, or its machine slept. */
TEST(a_memory_past_its_time_is_not_believed)
{
    struct sold_out_sale *sale = sold_out_register(*state, "five");

    assert_true(comes_to_answer(sale));
    (void)pthread_mutex_lock(&gate);
    atomic_fetch_add(&ms_later, SALE_BELIEVED_MS);
    bool is_known = is_answered(sale);
    (void)pthread_mutex_unlock(&gate);
    assert_false(is_known);
}

TEST(an_answer_that_came_late_is_not_believed)
{
    struct sold_out_sale *sale = sold_out_register(*state, "six");

    atomic_store(&answer_ms, SALE_BELIEVED_MS);
    assert_false(answers_within_looks(sale, 4));
    atomic_store(&answer_ms, 0);
    assert_true(comes_to_answer(sale));
}

enum { MANY = 300 };

static bool are_all_answered(struct sold_out_sale *const *sales)
{
    size_t answered = 0;

    for (size_t i = 0; i < MANY; i++) {
        answered += is_answered(sales[i]);
        sold_out_mark(sales[i]);
    }
    return answered == MANY;
}

/* At 4 ms a question, 25 of them take as long as an answer is believed. */
TEST(however_many_are_sold_out_none_goes_stale_in_turn)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    struct sold_out_sale *sales[MANY];
    bool is_all = false;
    char id[16];

    for (size_t i = 0; i < MANY; i++) {
        (void)snprintf(id, sizeof id, "%s-%zu", i < 3 ? "alone" : "many", i);
        sales[i] = sold_out_register(*state, id);
    }
    atomic_store(&answer_ms, 4);
    for (int i = 0; i < WITHIN_MS && !is_all; i++) {
        is_all = are_all_answered(sales);
        (void)nanosleep(&pause, NULL);
    }
    atomic_store(&answer_ms, 0);
    assert_true(is_all);
}

/* Reading them is what Redis must be spared. */
TEST(a_book_that_cannot_be_is_not_read_again_and_again)
{
    static const struct {
        const char *id;
        long long orders;
        unsigned scans;
    } rows[] = {{"huge", 1000001, 0}, {"unreadable", 1, 1}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sold_out_sale *sale = sold_out_register(*state, rows[i].id);

        atomic_store(&orders, rows[i].orders);
        atomic_store(&scans, 0);
        bool has_answered = answers_within_looks(sale, 10);
        atomic_store(&orders, 0);
        assert_false(has_answered);
        assert_int_equal(atomic_load(&scans), rows[i].scans);
        atomic_fetch_add(&ms_later, 5000); /* nobody asks for this one any more; AGAIN_MS */
    }
    assert_true(comes_to_answer(sold_out_register(*state, "unreadable")));
}

TEST(a_book_that_nobody_asks_for_is_forgotten)
{
    static const struct {
        int64_t pause_ms;
        unsigned scans;
    } rows[] = {{20000, 0}, {31000, 1}};
    struct sold_out_sale *sale = sold_out_register(*state, "quiet");
    struct sold_out_sale *other = sold_out_register(*state, "busy");

    assert_true(comes_to_answer(sale));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        atomic_fetch_add(&ms_later, rows[i].pause_ms);
        (void)answers_within_looks(other, 4); /* the quiet one has been passed by */
        atomic_store(&scans, 0);
        assert_true(comes_to_answer(sale));
        assert_int_equal(atomic_load(&scans), rows[i].scans);
    }
}

TEST(without_memory_there_is_nothing_to_contradict)
{
    struct sold_out_sale *sale = sold_out_register(*state, "three");

    sold_out_invalidate(NULL);
    sold_out_invalidate(sale);
    assert_true(comes_to_answer(sale));
}

FIXTURE(open_memory, close_memory);
