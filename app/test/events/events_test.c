/*
 * What streams say: how events are written, what a ledger's entries make of a sale, what is told to
 * whom, and how often.
 */
#include "events/events.h"
#include "test/support/testing.h"

enum { NOW_MS = 1000000, ROOM = 4096 };

static char room[ROOM];

/* What each test begins with: a new sale, of which nothing is told yet but that it is there. */
static struct sale_moment moment;
static struct events_group group;
static struct events_told told;
static struct events_news news;
static struct events_change change;

static void empty_group(void)
{
    memset(room, 0, sizeof room);
    group = (struct events_group){.text = {.data = room, .size = sizeof room - 1}};
}

/* An open sale of 10 units with nothing sold, created at 1-0. */
static struct sale_moment new_sale(void)
{
    struct sale_moment new = {.last = {1, 0}};

    (void)stpcpy(new.sale.id, "cup");
    (void)stpcpy(new.sale.stored_state, "open");
    new.sale.initial = new.sale.left = 10;
    new.sale.starts_ms = 1;
    new.sale.now_ms = 1;
    return new;
}

static struct ledger_entry entry_of(const char *event, uint64_t ms, int64_t left, int64_t orders)
{
    struct ledger_entry entry = {.id = {ms, 0},
                                 .left = left,
                                 .has_left = true,
                                 .orders = orders,
                                 .starts_ms = -1,
                                 .ends_ms = -1};

    (void)snprintf(entry.event, sizeof entry.event, "%s", event);
    return entry;
}

static bool follow(struct ledger_entry entry)
{
    return events_follow(&moment, &entry, &change);
}

/* All of the moment as news, with these changes, into an empty room. */
static void tell(const struct events_change *changes, size_t count)
{
    news = (struct events_news){.last = moment.last,
                                .left = moment.sale.left,
                                .orders = moment.orders,
                                .now_ms = moment.sale.now_ms,
                                .state = sale_state_of(&moment.sale),
                                .change_count = count};
    if (count > 0) memcpy(news.changes, changes, count * sizeof *changes);
    empty_group();
    events_add_news(&group, &news, &told);
}

/* The client knows all of the moment. */
static void tell_all(void)
{
    empty_group();
    events_add_snapshot(&group, &moment, "{}", &told);
    empty_group();
}

BEFORE_EACH()
{
    moment = new_sale();
    tell_all();
}

/* ---- how events are written -------------------------------------------------------------------- */

TEST(each_line_of_the_data_has_its_field)
{
    static const struct {
        const char *data, *written;
    } cases[] = {
        {"{\"a\":1}", "event: stock\ndata: {\"a\":1}\n\n"},
        {"", "event: stock\ndata: \n\n"},
        {"one\ntwo", "event: stock\ndata: one\ndata: two\n\n"},
        {"one\rtwo", "event: stock\ndata: one\ndata: two\n\n"},
        {"one\r\ntwo", "event: stock\ndata: one\ndata: two\n\n"},
        {"one\n\ntwo", "event: stock\ndata: one\ndata: \ndata: two\n\n"},
        {"one\n\rtwo", "event: stock\ndata: one\ndata: \ndata: two\n\n"},
        {"one\n", "event: stock\ndata: one\ndata: \n\n"},
        {"\n", "event: stock\ndata: \ndata: \n\n"},
        {"x\nevent: state\n\nid: 1-1", "event: stock\ndata: x\ndata: event: state\ndata: \n"
                                       "data: id: 1-1\n\n"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        empty_group();
        events_add(&group, EVENT_STOCK, cases[i].data, strlen(cases[i].data));
        assert_string_equal(room, cases[i].written);
        assert_int_equal(group.count[EVENT_STOCK], 1);
    }
}

TEST(a_snapshot_is_the_sale_and_its_orders)
{
    moment.last = (struct ledger_id){77, 3};
    moment.orders = 4;
    events_add_snapshot(&group, &moment, "{}", &told);

    assert_string_equal(room,
                        "event: snapshot\ndata: {}\n\nevent: orders\ndata: {\"orders\":4}\n\n");
    assert_int_equal(told.left, 10);
    assert_int_equal(ledger_id_compare(told.last, moment.last), 0);
}

TEST(names_are_those_of_the_interface)
{
    static const char *const names[] = {"snapshot", "stock", "orders", "state"};

    for (int i = 0; i < EVENT_KIND_COUNT; i++)
        assert_string_equal(events_kind_name((event_kind)i), names[i]);
}

/* ---- following a ledger ------------------------------------------------------------------------ */

TEST(a_ledger_is_followed_entry_by_entry)
{
    static const struct {
        const char *event;
        int64_t left, orders;
        const char *told; /* NULL: no change of state */
    } cases[] = {
        {"sold", 8, 2, NULL},
        {"paused", 8, 0, "paused"},
        {"patched", 8, 0, "paused"},
        {"restocked", 9, 0, "paused"},
        {"resumed", 9, 0, "active"},
        {"sold", 0, 9, "sold_out"},
        {"unheard-of", 0, 0, NULL},
        {"restocked", 5, 0, "active"},
        {"unheard-of", 0, 0, "sold_out"},
        {"ended", 0, 0, "ended"},
    };
    int64_t orders = 0;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ledger_entry entry =
            entry_of(cases[i].event, 10 + i, cases[i].left, cases[i].orders);
        bool is_told = events_follow(&moment, &entry, &change);

        assert_int_equal(is_told, cases[i].told != NULL);
        if (is_told) {
            assert_string_equal(sale_state_name(change.state), cases[i].told);
            assert_string_equal(change.because, cases[i].event);
            assert_int_equal(ledger_id_compare(change.id, entry.id), 0);
        }
        orders += cases[i].orders;
        assert_int_equal(moment.orders, orders);
        assert_int_equal(moment.sale.left, cases[i].left);
        assert_int_equal(ledger_id_compare(moment.last, entry.id), 0);
    }
}

TEST(units_that_cool_are_left_when_their_moment_has_come)
{
    struct ledger_entry restock = entry_of("restocked", 100, 5, 0);

    restock.units = 5;
    restock.sellable_ms = 350;
    (void)follow(entry_of("sold", 50, 0, 10));
    assert_true(follow(restock));
    assert_int_equal(change.state, SALE_SOLD_OUT);
    assert_int_equal(moment.sale.left, 0);
    assert_int_equal(moment.sale.cooling, 5);
    (void)follow(entry_of("paused", 200, 5, 0));
    (void)follow(entry_of("resumed", 210, 5, 0));
    events_tick(&moment, 349);
    assert_int_equal(sale_state_of(&moment.sale), SALE_SOLD_OUT);
    tell_all();
    events_tick(&moment, 350);
    tell(NULL, 0);
    assert_string_equal(room, "event: state\ndata: {\"state\":\"active\",\"because\":\"clock\"}\n\n"
                              "event: stock\ndata: {\"remaining\":5}\n\n");
    empty_group();
    events_add_news(&group, &news, &told);
    assert_string_equal(room, "");
    (void)follow(entry_of("sold", 400, 3, 2));
    assert_int_equal(moment.sale.left, 3);
}

TEST(a_patch_moves_the_window)
{
    struct ledger_entry entry = entry_of("patched", 100, 10, 0);

    entry.starts_ms = 500;
    entry.ends_ms = 900;
    assert_true(events_follow(&moment, &entry, &change));
    assert_int_equal(change.state, SALE_UPCOMING);
    events_tick(&moment, 499);
    assert_int_equal(sale_state_of(&moment.sale), SALE_UPCOMING);
    events_tick(&moment, 500);
    assert_int_equal(sale_state_of(&moment.sale), SALE_ACTIVE);
    events_tick(&moment, 300); /* a clock that goes back */
    assert_int_equal(sale_state_of(&moment.sale), SALE_ACTIVE);
    events_tick(&moment, 900);
    assert_int_equal(sale_state_of(&moment.sale), SALE_ENDED);
}

/* ---- what is told ------------------------------------------------------------------------------ */

TEST(a_group_is_the_states_then_orders_then_stock)
{
    struct events_change changes[2];

    assert_true(follow(entry_of("paused", 5, 10, 0)));
    tell(&change, 1);
    assert_string_equal(room,
                        "event: state\ndata: {\"state\":\"paused\",\"because\":\"paused\"}\n\n");

    assert_true(follow(entry_of("resumed", 6, 10, 0)));
    changes[0] = change;
    assert_true(follow(entry_of("sold", 7, 0, 10)));
    changes[1] = change;
    tell(changes, 2);
    assert_string_equal(room,
                        "event: state\ndata: {\"state\":\"active\",\"because\":\"resumed\"}\n\n"
                        "event: state\ndata: {\"state\":\"sold_out\",\"because\":\"sold\"}\n\n"
                        "event: orders\ndata: {\"orders\":10}\n\n"
                        "event: stock\ndata: {\"remaining\":0}\n\n");
    assert_int_equal(group.count[EVENT_STATE], 2);
}

TEST(nothing_is_told_twice)
{
    assert_true(follow(entry_of("paused", 5, 10, 0)));
    tell_all();
    tell(&change, 1); /* a change that the snapshot had shown */
    assert_string_equal(room, "");

    told.last = (struct ledger_id){6, 0}; /* a client that is ahead of this process */
    told.left = 9;
    told.state = SALE_ACTIVE;
    events_add_news(&group, &news, &told);
    assert_string_equal(room, "");
    assert_int_equal(told.left, 9);
}

TEST(what_the_clock_does_is_told)
{
    moment.sale.ends_ms = 100;
    tell_all();
    events_tick(&moment, 100);
    tell(NULL, 0);
    assert_string_equal(room,
                        "event: state\ndata: {\"state\":\"ended\",\"because\":\"clock\"}\n\n");
    events_add_news(&group, &news, &told);
    assert_int_equal(group.count[EVENT_STATE], 1);

    told.now_ms = 200; /* the client has heard from a process whose view is newer */
    told.state = SALE_ACTIVE;
    events_add_news(&group, &news, &told);
    assert_int_equal(group.count[EVENT_STATE], 1);
}

TEST(an_outage_is_told_once)
{
    tell(NULL, 0);
    news.is_lost = true;
    events_add_news(&group, &news, &told);
    events_add_news(&group, &news, &told);
    assert_string_equal(room, ": store unavailable\n\n");
    news.is_lost = false;
    events_add_news(&group, &news, &told);
    news.is_lost = true;
    events_add_news(&group, &news, &told);
    assert_string_equal(room, ": store unavailable\n\n: store unavailable\n\n");
}

TEST(the_fullest_group_fits)
{
    static char large[EVENTS_GROUP_MAX];

    group = (struct events_group){.text = TEXT_OVER(large)};
    told = (struct events_told){0};
    news.last = (struct ledger_id){UINT64_MAX, UINT64_MAX};
    news.left = news.orders = INT64_MIN;
    news.is_lost = true;
    news.change_count = EVENTS_KEPT;
    for (size_t i = 0; i < EVENTS_KEPT; i++) {
        news.changes[i].id = news.last;
        news.changes[i].state = SALE_SOLD_OUT;
        memset(news.changes[i].because, 1, LEDGER_EVENT_SIZE - 1); /* each is escaped */
    }
    events_add_news(&group, &news, &told);

    assert_int_equal(group.count[EVENT_STATE], EVENTS_KEPT + 1);
    assert_false(group.text.is_cut);
}

/* ---- how often --------------------------------------------------------------------------------- */

TEST(a_burst_becomes_ten_groups_in_a_second)
{
    struct events_pace pace = {0};
    unsigned written = 0;

    moment.sale.left = 5000;
    tell_all();
    for (int64_t ms = 0; ms < 1000; ms++) { /* a purchase in each */
        struct ledger_entry entry = entry_of("sold", 10 + (uint64_t)ms, moment.sale.left - 1, 1);

        (void)follow(entry);
        if (events_wait_ms(&pace, true, NOW_MS + ms) > 0) continue;
        tell(NULL, 0);
        written += group.count[EVENT_STOCK];
        events_wrote(&pace, NOW_MS + ms);
    }

    assert_int_equal(written, 10);
    assert_int_equal(told.left, 5000 - 901); /* at 900 ms: the latest then */
    assert_int_equal(told.orders, 901);
}

TEST(waits_end_when_something_is_due)
{
    struct events_pace pace = {0};

    assert_int_equal(events_wait_ms(&pace, true, NOW_MS), 0);
    events_wrote(&pace, NOW_MS);
    assert_int_equal(events_wait_ms(&pace, true, NOW_MS + 1), EVENTS_GAP_MS - 1);
    assert_int_equal(events_wait_ms(&pace, true, NOW_MS + EVENTS_GAP_MS), 0);
    assert_int_equal(events_wait_ms(&pace, false, NOW_MS + EVENTS_GAP_MS),
                     EVENTS_BEAT_MS - EVENTS_GAP_MS);
    assert_int_equal(events_wait_ms(&pace, false, NOW_MS + EVENTS_BEAT_MS + 5), 0);
}
