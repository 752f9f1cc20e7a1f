/*
 * A crowd of buyers in two instances at once, and an audit of what they were told against what Redis
 * holds: sound guards sell every unit once, also through a kill -9 of the server; without a guard
 * the same crowd oversells, or the experiment would prove nothing.
 */
#include <pthread.h>
#include <signal.h>

#include "base/clock.h"
#include "test/support/sale_postgres.h"
#include "test/support/testing.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* ---- the crowd ------------------------------------------------------------------------------------------ */

enum { THREADS = 32, BUYERS = 400, TRIES = 40, NAME_SIZE = 16 };

/* What one thread asked, and was told. */
struct attempt {
    unsigned buyer;
    bool has_key; /* "k", else none */
    outcome outcome;
    char order_id[ORDER_ID_MAX];
};

struct shopper {
    pthread_t thread;
    struct group_commit *group;
    unsigned number;
    bool insists; /* asks again until it is told for sure */
    struct attempt attempts[TRIES];
};

static bool is_for_sure(outcome told)
{
    return told != OUTCOME_UNKNOWN && told != OUTCOME_STORE_UNAVAILABLE &&
           told != OUTCOME_LOCK_TIMEOUT && told != OUTCOME_OVERLOADED;
}

static void *shop_around(void *arg)
{
    struct shopper *shopper = arg;
    int64_t give_up_ms = clock_mono_ms() + 20000;

    for (unsigned i = 0; i < TRIES; i++) {
        struct attempt *attempt = &shopper->attempts[i];
        char name[NAME_SIZE];
        struct purchase purchase = {.buyer = name, .outcome = OUTCOME_COUNT};

        /* Neighbours ask for the same buyers at about the same time, each asks for some twice. */
        attempt->buyer =
            (i * 11 + shopper->number / 4 * 7 + (i % 5 == 0) * shopper->number) % BUYERS;
        attempt->has_key = shopper->insists || i % 3 > 0;
        (void)snprintf(name, sizeof name, "b%u", attempt->buyer);
        purchase.key = attempt->has_key ? "k" : "";
        do {
            (void)group_commit_sell(shopper->group, "s", &purchase);
            if (is_for_sure(purchase.outcome) || !shopper->insists) break;
            clock_pause_ms(1);
        } while (clock_mono_ms() < give_up_ms);
        attempt->outcome = purchase.outcome;
        memcpy(attempt->order_id, purchase.order_id, sizeof attempt->order_id);
    }
    return NULL;
}

static struct shopper shoppers[SALE_INSTANCES * THREADS];

static void send_crowd(struct sale_world *world, unsigned per_shop, bool insists)
{
    for (unsigned i = 0; i < SALE_INSTANCES * per_shop; i++) {
        shoppers[i] = (struct shopper){
            .group = world->shops[i % SALE_INSTANCES].group, .number = i, .insists = insists};
        assert_int_equal(pthread_create(&shoppers[i].thread, NULL, shop_around, &shoppers[i]), 0);
    }
}

static void await_crowd(unsigned per_shop)
{
    for (unsigned i = 0; i < SALE_INSTANCES * per_shop; i++)
        assert_int_equal(pthread_join(shoppers[i].thread, NULL), 0);
}

/* ---- the audit ---------------------------------------------------------------------------------------- */

struct books {
    int64_t stock;
    unsigned orders;
    unsigned rows;                        /* of the ledger, each an order */
    unsigned misfits;                     /* rows that are no order, or the other way round */
    char order_ids[BUYERS][ORDER_ID_MAX]; /* "": none */
    char values[BUYERS][128];
};

static void read_orders(struct sale_world *world, struct books *books)
{
    lk_reply *orders = sale_ask(world->client, "HGETALL %s", world->keys.text[KEY_ORDERS]);

    for (size_t i = 0; i + 1 < lk_reply_count(orders); i += 2) {
        unsigned long buyer =
            strtoul(lk_reply_bytes(lk_reply_at(orders, i)).data + 1, NULL, 10) % BUYERS;
        struct lk_bytes value = lk_reply_bytes(lk_reply_at(orders, i + 1));
        struct order order = {0};

        books->orders++;
        if (!store_parse_order(value, &order)) books->misfits++;
        memcpy(books->order_ids[buyer], order.id, sizeof order.id);
        (void)snprintf(books->values[buyer], sizeof books->values[buyer], "%s:b%lu:%s", order.id,
                       buyer, order.key);
    }
    lk_reply_free(orders);
}

static void read_ledger(struct sale_world *world, struct books *books)
{
    lk_reply *rows = sale_ask(world->client, "XRANGE %s - +", world->keys.text[KEY_LEDGER]);

    for (size_t i = 0; i < lk_reply_count(rows); i++) {
        const lk_reply *words = lk_reply_at(lk_reply_at(rows, i), 1);

        for (size_t k = 0; k + 1 < lk_reply_count(words); k += 2) {
            const char *value = lk_reply_bytes(lk_reply_at(words, k + 1)).data;
            const char *colon = strchr(value, ':');

            if (strcmp(lk_reply_bytes(lk_reply_at(words, k)).data, "order") != 0) continue;
            books->rows++;
            unsigned long buyer = colon ? strtoul(colon + 2, NULL, 10) % BUYERS : 0;
            if (strcmp(books->values[buyer], value) != 0) books->misfits++;
        }
    }
    lk_reply_free(rows);
}

static void read_books(struct sale_world *world, struct books *books)
{
    *books = (struct books){0};
    books->stock = sale_ask_number(world->client, "GET %s", world->keys.text[KEY_STOCK]);
    read_orders(world, books);
    read_ledger(world, books);
}

/* What was told that the books do not bear out. */
static unsigned lies(const struct books *books, unsigned per_shop)
{
    unsigned count = 0;
    static unsigned created[BUYERS];

    memset(created, 0, sizeof created);
    for (size_t i = 0; i < (size_t)SALE_INSTANCES * per_shop; i++) {
        for (size_t k = 0; k < TRIES; k++) {
            const struct attempt *attempt = &shoppers[i].attempts[k];
            const char *order_id = books->order_ids[attempt->buyer];

            switch (attempt->outcome) {
            case OUTCOME_CREATED:
                count += created[attempt->buyer]++ > 0;
                count += strcmp(order_id, attempt->order_id) != 0;
                break;
            case OUTCOME_REPLAYED:
            case OUTCOME_ALREADY_ORDERED:
                count += strcmp(order_id, attempt->order_id) != 0;
                break;
            case OUTCOME_SOLD_OUT:
                count += order_id[0] != '\0' || books->stock > 0;
                break;
            case OUTCOME_WAS_CANCELLED:
            case OUTCOME_HAS_EXPIRED:
            case OUTCOME_NOT_STARTED:
            case OUTCOME_ENDED:
            case OUTCOME_PAUSED:
            case OUTCOME_NO_SALE:
            case OUTCOME_COUNT:
                count++;
                break;
            case OUTCOME_LOCK_TIMEOUT:
            case OUTCOME_OVERLOADED:
            case OUTCOME_STORE_UNAVAILABLE:
            case OUTCOME_NO_GUARD:
            case OUTCOME_UNSYNCED:
            case OUTCOME_UNKNOWN:
                break;
            }
        }
    }
    return count;
}

static unsigned told(outcome what, unsigned per_shop)
{
    unsigned count = 0;

    for (size_t i = 0; i < (size_t)SALE_INSTANCES * per_shop; i++) {
        for (size_t k = 0; k < TRIES; k++)
            count += shoppers[i].attempts[k].outcome == what;
    }
    return count;
}

TEST(sound_guards_sell_every_unit_once, struct sale_world *world)
{
    static const struct {
        const char *guard;
        unsigned batch;
        int64_t units;
    } rows[] = {
        {"mutex", 64, 150},
        {"mutex", 3, 150},
        {"mutex", 1, 60},
        {"script", 64, 150},
        {"script", 1, 150},
        {"mutex", 64, 1000},
        {"mutex-watchdog", 64, 150},
        {"mutex-watchdog", 1, 60},
        {"reentrant", 64, 150},
        {"postgres", 64, 150},
        {"database", 64, 150},
        {"database", 1, 150},
        {"skip-locked", 64, 150},
        {"skip-locked", 1, 150},
        {"fair", 64, 150},
        {"spin", 64, 150},
        {"watch", 64, 150},
        {"watch", 3, 150},
        {"watch", 1, 60},
        {"fenced", 64, 150},
        {"fenced", 1, 60},
        /* flawed, but here are one process and one host, nobody is paused and nobody dies */
        {"thread", 64, 150},
        {"thread", 1, 60},
        {"file", 64, 150},
        {"file", 1, 60},
        {"setnx", 64, 150},
        {"setnx", 1, 60},
        {"setnx-expire", 64, 150},
        {"set-del", 64, 150},
        {"get-del", 64, 150},
        {"get-del", 1, 60},
        {"mutex-unchecked", 64, 150},
        {"watchdog-unchecked", 64, 150}};
    static struct books books;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        SALE_INSTANCES(world, rows[i].guard, rows[i].units, .batch = rows[i].batch);
        send_crowd(world, THREADS, false);
        await_crowd(THREADS);
        read_books(world, &books);

        assert_int_equal(books.stock + books.orders, rows[i].units);
        assert_true(books.stock == 0 || rows[i].units > BUYERS);
        assert_int_equal(books.rows, books.orders);
        assert_int_equal(books.misfits, 0);
        assert_int_equal(lies(&books, THREADS), 0);
        assert_int_equal(told(OUTCOME_CREATED, THREADS), books.orders);
        assert_true(told(OUTCOME_REPLAYED, THREADS) > 0);
        assert_true(told(OUTCOME_ALREADY_ORDERED, THREADS) > 0);
        assert_int_equal(sale_ask_number(world->client, "EXISTS %s", world->keys.text[KEY_LOCK]),
                         0);
    }
}

static bool has_sold_some(void *arg)
{
    struct sale_world *world = arg;

    return sale_ask_number(world->client, "HLEN %s", world->keys.text[KEY_ORDERS]) >= 20;
}

/* kill -9 in the middle: the file brings back whatever was answered, and everybody gets to know. */
TEST(a_server_killed_at_full_load_loses_no_order_it_told_of, struct sale_world *world)
{
    static const char *const guards[] = {"mutex",    "mutex-watchdog", "reentrant",  "fair",
                                         "spin",     "fenced",         "script",     "watch",
                                         "postgres", "database",       "skip-locked"};
    static struct books books;

    for (size_t i = 0; i < COUNT_OF(guards); i++) {
        SALE_INSTANCES(world, guards[i], 150, .batch = 8);
        send_crowd(world, THREADS, true);
        assert_true(sale_eventually(has_sold_some, world, 10000));
        sale_server_stop(&world->server, SIGKILL);
        assert_true(sale_server_restart(&world->server));
        await_crowd(THREADS);
        read_books(world, &books);

        assert_int_equal(books.stock, 0);
        assert_int_equal(books.orders, 150);
        assert_int_equal(books.rows, 150);
        assert_int_equal(books.misfits, 0);
        assert_int_equal(lies(&books, THREADS), 0);
        assert_int_equal(told(OUTCOME_UNKNOWN, THREADS) + told(OUTCOME_STORE_UNAVAILABLE, THREADS) +
                             told(OUTCOME_LOCK_TIMEOUT, THREADS),
                         0);
    }
}

GROUP(sale_postgres_open, sale_postgres_close);
