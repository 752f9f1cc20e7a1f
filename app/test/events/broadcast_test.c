/*
 * Who watches a sale hears what its ledger says, once; with a store made of words.
 * link: -Wl,--wrap=store_read_ledgers,--wrap=store_load_moment,--wrap=store_find_entry
 */
#include <poll.h>
#include <pthread.h>

#include "events/broadcast.h"
#include "store/store_ledger.h"
#include "test/support/testing.h"

enum { LIMIT_MS = 5000, ENTRIES_MAX = 300, START = 100 };

/* The ledger of every sale, as the wrapped functions tell it to the thread. */
static struct {
    pthread_mutex_t mutex; /* guards the rest */
    struct ledger_entry entries[ENTRIES_MAX];
    size_t count;
    struct sale_moment moment; /* what a reload finds */
    store_status status;       /* of every call */
    bool has_forgotten;        /* entries that were told */
    const char *dead;          /* the sale whose server is away; NULL: none */
    unsigned reads;
    size_t pages_max; /* in one read */
} store = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void read_page_locked(struct ledger_page *page)
{
    page->count = 0;
    for (size_t i = 0; i < store.count && page->count < LEDGER_PAGE; i++) {
        if (ledger_id_compare(store.entries[i].id, page->after) > 0)
            page->entries[page->count++] = store.entries[i];
    }
}

FAKE(store_status, store_read_ledgers, struct store *self, struct ledger_page *pages, size_t count,
     int64_t *out_now_ms, struct lk_error *err)
{
    store_status status = STORE_OK;

    (void)pthread_mutex_lock(&store.mutex);
    status = store.status;
    store.reads++;
    if (count > store.pages_max) store.pages_max = count;
    for (size_t i = 0; i < count && status == STORE_OK; i++) {
        read_page_locked(&pages[i]);
        if (store.dead && strcmp(pages[i].sale_id, store.dead) == 0) status = STORE_UNAVAILABLE;
    }
    *out_now_ms = START + ENTRIES_MAX;
    (void)pthread_mutex_unlock(&store.mutex);
    return status;
}

FAKE(store_status, store_load_moment, struct store *self, const char *id, struct sale_moment *out,
     struct lk_error *err)
{
    store_status status = STORE_OK;

    (void)pthread_mutex_lock(&store.mutex);
    status = store.status;
    *out = store.moment;
    (void)pthread_mutex_unlock(&store.mutex);
    return status;
}

FAKE(store_status, store_find_entry, struct store *self, const char *id, struct ledger_id which,
     struct ledger_entry *out, struct lk_error *err)
{
    store_status status = STORE_OK;

    (void)pthread_mutex_lock(&store.mutex);
    status = store.has_forgotten ? STORE_NOT_FOUND : store.status;
    (void)pthread_mutex_unlock(&store.mutex);
    return status;
}

static void set_status(store_status status)
{
    (void)pthread_mutex_lock(&store.mutex);
    store.status = status;
    (void)pthread_mutex_unlock(&store.mutex);
}

/* Into the ledger, and so into what a reload finds, in one step: it may be compared at any time. */
static void write_entries_locked(const char *event, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct ledger_entry *entry = &store.entries[store.count++];

        *entry = (struct ledger_entry){.id = {START + store.count, 0},
                                       .has_left = true,
                                       .left = 1000 - (int64_t)store.count,
                                       .orders = strcmp(event, "sold") == 0,
                                       .starts_ms = -1,
                                       .ends_ms = -1};
        (void)snprintf(entry->event, sizeof entry->event, "%s", event);
        store.moment.last = entry->id;
        store.moment.sale.left = entry->left;
        store.moment.orders += entry->orders;
    }
}

static void write_entries(const char *event, size_t count)
{
    (void)pthread_mutex_lock(&store.mutex);
    write_entries_locked(event, count);
    (void)pthread_mutex_unlock(&store.mutex);
}

static struct sale_moment moment_of(const char *id)
{
    struct sale_moment moment = {.last = {START, 0}};

    (void)snprintf(moment.sale.id, sizeof moment.sale.id, "%s", id);
    (void)stpcpy(moment.sale.stored_state, "open");
    moment.sale.left = 1000;
    moment.sale.now_ms = START;
    return moment;
}

static int set_up(void **state)
{
    store.count = store.pages_max = 0;
    store.reads = 0;
    store.status = STORE_OK;
    store.has_forgotten = false;
    store.dead = NULL;
    store.moment = moment_of("cup");
    *state = broadcast_new(NULL, NULL);
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    broadcast_free(*state);
    return 0;
}

static struct subscriber *watch(struct broadcast *broadcast, const char *id)
{
    struct sale_moment from = moment_of(id);
    struct subscriber *subscriber = broadcast_subscribe(broadcast, &from);

    assert_non_null(subscriber);
    return subscriber;
}

/* What there is once it has woken. */
static struct events_news next_news(struct broadcast *broadcast, struct subscriber *subscriber)
{
    struct pollfd wait = {.fd = broadcast_fd(subscriber), .events = POLLIN};
    struct events_news news;

    assert_int_equal(poll(&wait, 1, LIMIT_MS), 1);
    assert_true(broadcast_take(broadcast, subscriber, &news));
    return news;
}

/* The news once so many orders are known, and the store is not away. */
static struct events_news news_of_orders(struct broadcast *broadcast, struct subscriber *subscriber,
                                         int64_t orders)
{
    struct events_news news;

    do
        news = next_news(broadcast, subscriber);
    while (news.is_lost || news.orders < orders);
    return news;
}

TEST(while_nobody_watches_nothing_is_read)
{
    struct subscriber *subscriber = NULL;

    broadcast_free(*state);
    assert_int_equal(store.reads, 0);
    *state = broadcast_new(NULL, NULL);
    subscriber = watch(*state, "cup");
    write_entries("sold", 1);
    (void)next_news(*state, subscriber);
    broadcast_unsubscribe(*state, subscriber);
}

TEST(all_who_watch_a_sale_share_its_reading)
{
    struct subscriber *subscribers[3] = {watch(*state, "cup"), watch(*state, "cup"),
                                         watch(*state, "cup")};

    write_entries("sold", 3);
    write_entries("paused", 1);
    for (size_t i = 0; i < 3; i++) {
        struct events_news news;
        size_t changes = 0;

        do {
            news = next_news(*state, subscribers[i]);
            changes += news.change_count;
        } while (news.last.ms < START + 4);
        assert_int_equal(news.left, 996);
        assert_int_equal(news.orders, 3);
        assert_int_equal(news.state, SALE_PAUSED);
        assert_int_equal(changes, 1);
        assert_false(news.is_gap);
        broadcast_unsubscribe(*state, subscribers[i]);
    }
    assert_int_equal(store.pages_max, 1);
}

TEST(sales_are_read_together)
{
    struct subscriber *subscribers[LEDGER_PAGES + 8];
    size_t count = sizeof subscribers / sizeof subscribers[0];

    for (size_t i = 0; i < count; i++) {
        char id[16];

        (void)snprintf(id, sizeof id, "cup-%zu", i);
        subscribers[i] = watch(*state, id);
    }
    write_entries("paused", 1);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(next_news(*state, subscribers[i]).state, SALE_PAUSED);
        broadcast_unsubscribe(*state, subscribers[i]);
    }
    assert_in_range(store.pages_max, 2, LEDGER_PAGES);
}

TEST(who_comes_later_hears_what_its_moment_lacks)
{
    struct subscriber *first = watch(*state, "cup");
    struct subscriber *second = NULL;
    struct sale_moment from = moment_of("cup");
    struct events_news news;

    write_entries("paused", 1);
    write_entries("resumed", 1);
    do
        news = next_news(*state, first);
    while (news.last.ms < START + 2);
    from.last.ms = START + 1; /* knows the pause */
    second = broadcast_subscribe(*state, &from);
    assert_non_null(second);
    assert_true(broadcast_take(*state, second, &news));
    assert_int_equal(news.change_count, 1);
    assert_string_equal(news.changes[0].because, "resumed");
    broadcast_unsubscribe(*state, first);
    broadcast_unsubscribe(*state, second);
}

TEST(who_lags_too_far_behind_is_told_so)
{
    struct subscriber *quick = watch(*state, "cup");
    struct subscriber *slow = watch(*state, "cup");
    struct events_news news;

    write_entries("patched", EVENTS_KEPT + 1);
    do
        news = next_news(*state, quick);
    while (news.last.ms < START + EVENTS_KEPT + 1);
    assert_true(broadcast_take(*state, slow, &news));
    assert_true(news.is_gap);
    assert_int_equal(news.change_count, 0);
    assert_true(broadcast_take(*state, slow, &news));
    assert_false(news.is_gap);
    broadcast_unsubscribe(*state, quick);
    broadcast_unsubscribe(*state, slow);
}

TEST(after_an_outage_it_goes_on_where_it_was)
{
    struct subscriber *subscriber = watch(*state, "cup");
    struct events_news news;

    set_status(STORE_UNAVAILABLE);
    assert_true(next_news(*state, subscriber).is_lost);
    write_entries("sold", 200); /* more than a page */
    set_status(STORE_OK);
    news = news_of_orders(*state, subscriber, 200);
    assert_false(news.is_lost);
    assert_false(news.is_gap);
    assert_int_equal(news.left, 800);
    broadcast_unsubscribe(*state, subscriber);
}

/* Another server, that has only so many of the entries, and no others yet. */
static void go_back_to(size_t count)
{
    (void)pthread_mutex_lock(&store.mutex);
    store.count = count;
    store.moment.last.ms = START + count;
    store.moment.sale.left = 1000 - (int64_t)count;
    store.moment.orders = (int64_t)count;
    store.has_forgotten = true;
    (void)pthread_mutex_unlock(&store.mutex);
}

TEST(a_store_that_has_forgotten_is_believed)
{
    struct subscriber *subscriber = watch(*state, "cup");
    struct events_news news;
    bool was_gap = false;

    write_entries("sold", 5);
    (void)news_of_orders(*state, subscriber, 5);
    set_status(STORE_UNAVAILABLE);
    assert_true(next_news(*state, subscriber).is_lost);
    go_back_to(3);
    set_status(STORE_OK);
    do {
        news = next_news(*state, subscriber);
        was_gap = was_gap || news.is_gap;
    } while (news.is_lost);
    assert_true(was_gap);
    assert_int_equal(news.left, 997);
    assert_int_equal(news.orders, 3);
    assert_true(news.last.ms == START + 3);
    broadcast_unsubscribe(*state, subscriber);
}

/* Watch on a deployment of its own until five orders are told. */
static struct subscriber *watch_five(struct broadcast **broadcast,
                                     const struct deployment *deployment)
{
    struct subscriber *subscriber = NULL;

    broadcast_free(*broadcast);
    *broadcast = broadcast_new(NULL, deployment);
    subscriber = watch(*broadcast, "cup");
    write_entries("sold", 5);
    (void)news_of_orders(*broadcast, subscriber, 5);
    return subscriber;
}

/* No call has failed: the new server answered the next one. */
TEST(a_failover_that_nobody_felt_is_found_out)
{
    struct deployment deployment = {.kind = DEPLOYMENT_SENTINEL};
    struct broadcast *broadcast = *state;
    struct subscriber *subscriber = watch_five(&broadcast, &deployment);
    struct events_news news;

    *state = broadcast;
    go_back_to(3);
    atomic_fetch_add(&deployment.changes, 1);
    do
        news = next_news(broadcast, subscriber);
    while (!news.is_gap);
    assert_false(news.is_lost);
    assert_int_equal(news.left, 997);
    assert_int_equal(news.orders, 3);
    broadcast_unsubscribe(broadcast, subscriber);
}

/* Two of five are gone, and a sixth came before anybody heard of the change. */
TEST(a_failover_heard_of_too_late_is_found_out)
{
    struct deployment deployment = {.kind = DEPLOYMENT_SENTINEL};
    struct broadcast *broadcast = *state;
    struct subscriber *subscriber = watch_five(&broadcast, &deployment);
    struct events_news news;
    bool was_gap = false;

    *state = broadcast;
    (void)pthread_mutex_lock(&store.mutex);
    write_entries_locked("sold", 1);
    store.moment.orders = 4;
    (void)pthread_mutex_unlock(&store.mutex);
    do {
        news = next_news(broadcast, subscriber);
        was_gap = was_gap || news.is_gap;
    } while (!was_gap);
    assert_int_equal(news.orders, 4);
    broadcast_unsubscribe(broadcast, subscriber);
}

/* "cup" is on a server of the cluster that is away; "pot" is not. */
TEST(one_server_of_a_cluster_does_not_take_the_others_along)
{
    struct deployment deployment = {.kind = DEPLOYMENT_CLUSTER};
    struct subscriber *cup = NULL;
    struct subscriber *pot = NULL;
    struct events_news news;

    broadcast_free(*state);
    store.dead = "cup";
    *state = broadcast_new(NULL, &deployment);
    cup = watch(*state, "cup");
    pot = watch(*state, "pot");
    assert_true(next_news(*state, cup).is_lost);
    write_entries("sold", 2);
    news = news_of_orders(*state, pot, 2);
    for (size_t sold = 3; sold < 6; sold++) { /* and is not lost again */
        write_entries("sold", 1);
        do {
            news = next_news(*state, pot);
            assert_false(news.is_lost);
        } while (news.orders < (int64_t)sold);
    }
    assert_true(broadcast_take(*state, cup, &news));
    assert_true(news.is_lost);
    assert_int_equal(news.orders, 0);
    (void)pthread_mutex_lock(&store.mutex);
    store.dead = NULL;
    (void)pthread_mutex_unlock(&store.mutex);
    news = news_of_orders(*state, cup, 2);
    broadcast_unsubscribe(*state, cup);
    broadcast_unsubscribe(*state, pot);
}

TEST(the_end_wakes_all_and_nobody_comes_after)
{
    struct subscriber *subscriber = watch(*state, "cup");
    struct sale_moment from = moment_of("cup");
    struct pollfd wait = {.fd = broadcast_fd(subscriber), .events = POLLIN};
    struct events_news news;

    broadcast_end(*state);
    assert_int_equal(poll(&wait, 1, LIMIT_MS), 1);
    assert_false(broadcast_take(*state, subscriber, &news));
    assert_null(broadcast_subscribe(*state, &from));
    broadcast_unsubscribe(*state, subscriber);
}

FIXTURE(set_up, tear_down);
