/*
 * Memory of a sell-out against a Redis that is played here.
 * link: -Wl,--wrap=store_load_moment -Wl,--wrap=store_scan_orders
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "sold_out.h"
#include "store_ledger.h"
#include "topology.h"

enum { WITHIN_MS = 5000 };

static struct topology topology = {.kind = TOPOLOGY_SENTINEL};
static atomic_uint looks; /* that were answered */

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): names of the linker */
store_status __wrap_store_load_moment(struct store *store, const char *id, struct sale_moment *out,
                                      struct lk_error *err);
store_status __wrap_store_scan_orders(struct store *store, const char *id,
                                      bool (*each)(const struct order *order, void *arg), void *arg,
                                      struct lk_error *err);
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

store_status __wrap_store_load_moment(struct store *store, const char *id, struct sale_moment *out,
                                      struct lk_error *err)
{
    (void)store;
    (void)err;
    *out = (struct sale_moment){.sale = {.initial = 1, .now_ms = 10, .epoch = 1}};
    (void)snprintf(out->sale.id, sizeof out->sale.id, "%s", id);
    (void)snprintf(out->sale.stored_state, sizeof out->sale.stored_state, "open");
    atomic_fetch_add(&looks, 1);
    return STORE_OK;
}

store_status __wrap_store_scan_orders(struct store *store, const char *id,
                                      bool (*each)(const struct order *order, void *arg), void *arg,
                                      struct lk_error *err)
{
    (void)store;
    (void)id;
    (void)each;
    (void)arg;
    (void)err;
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

    for (int i = 0; i < WITHIN_MS && !is_answered(sale); i++) {
        sold_out_note(sale);
        (void)nanosleep(&pause, NULL);
    }
    return is_answered(sale);
}

static int open_memory(void **state)
{
    static struct store *const nobody = NULL;

    *state = sold_out_new(nobody, &topology);
    return *state ? 0 : -1;
}

static int close_memory(void **state)
{
    sold_out_free(*state);
    return 0;
}

static void a_unit_that_is_sold_all_the_same_silences_memory_until_the_next_look(void **state)
{
    struct sold_out_sale *sale = sold_out_watch(*state, "one");

    assert_true(comes_to_answer(sale));
    sold_out_contradict(sale);
    unsigned before = atomic_load(&looks);
    bool is_silent = !is_answered(sale) || atomic_load(&looks) > before;
    assert_true(is_silent);
    assert_true(comes_to_answer(sale));
}

static void a_change_of_servers_silences_memory_until_the_next_look(void **state)
{
    struct sold_out_sale *sale = sold_out_watch(*state, "two");

    assert_true(comes_to_answer(sale));
    atomic_fetch_add(&topology.changes, 1);
    unsigned before = atomic_load(&looks);
    bool is_silent = !is_answered(sale) || atomic_load(&looks) > before;
    assert_true(is_silent);
    assert_true(comes_to_answer(sale));
}

static void without_memory_there_is_nothing_to_contradict(void **state)
{
    struct sold_out_sale *sale = sold_out_watch(*state, "three");

    sold_out_contradict(NULL);
    sold_out_contradict(sale);
    assert_true(comes_to_answer(sale));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_unit_that_is_sold_all_the_same_silences_memory_until_the_next_look, open_memory,
            close_memory),
        cmocka_unit_test_setup_teardown(a_change_of_servers_silences_memory_until_the_next_look,
                                        open_memory, close_memory),
        cmocka_unit_test_setup_teardown(without_memory_there_is_nothing_to_contradict, open_memory,
                                        close_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
