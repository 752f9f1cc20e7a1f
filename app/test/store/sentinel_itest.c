/*
 * seckilld on a primary with two replicas and three Sentinels: it sells as on one server, accepts no
 * order that replicas have not got when it is told to wait for them, and goes on after a failover.
 * What a failover loses: failover_loss_itest.c.
 */
#include "test/support/app_fixture.h"
#include "test/support/app_stream.h"
#include "test/support/app_topology.h"

enum { SOON_MS = 10000, FAILOVER_MS = 30000, BUYERS_MAX = 400, NAME_SIZE = 16, ORDER_ID_ROOM = 24 };

static const char *const sound[] = {"mutex", "mutex-watchdog", "fenced", "script", "watch"};
enum { SOUND = sizeof sound / sizeof sound[0] };

static struct app_topology many;

BEFORE_ALL()
{
    many.topology = lkt_start(NULL);
}

AFTER_ALL()
{
    lkt_stop(many.topology);
}

BEFORE_EACH()
{
    app_topology_begin(&many);
}

AFTER_EACH()
{
    app_topology_end(&many);
}

static void sell_out(const char *guard)
{
    char sale[32];

    (void)snprintf(sale, sizeof sale, "out-%s", guard);
    assert_int_equal(app_topology_create(&many, sale, 2, guard), 201);
    assert_int_equal(app_topology_buy(&many, sale, "ann", "k1"), 201);
    assert_int_equal(app_topology_buy(&many, sale, "ann", "k1"), 201);
    assert_non_null(strstr(many.reply.headers, "Idempotency-Replayed: true"));
    assert_int_equal(app_topology_buy(&many, sale, "bob", NULL), 201);
    assert_int_equal(app_topology_buy(&many, sale, "bob", NULL), 409);
    assert_true(app_is_problem(&many.reply, 409, "already-ordered"));
    assert_int_equal(app_topology_buy(&many, sale, "cid", NULL), 409);
    assert_true(app_is_problem(&many.reply, 409, "sold-out"));
    assert_int_equal(app_topology_look_up(&many, sale, "bob"), 200);
    assert_int_equal(app_topology_look_up(&many, sale, "cid"), 404);
    app_topology_assert_books(&many, sale, 2, 0);
}

TEST(every_sound_guard_sells_out)
{
    APP_MANY_START(&many, "--lease-ms", "3000");
    for (size_t i = 0; i < SOUND; i++)
        sell_out(sound[i]);
    assert_int_equal(app_topology_get(&many, "/readyz"), 200);
    assert_string_equal(many.reply.body, "ready\n");
}

TEST(operators_and_watchers_are_served)
{
    static struct app_stream stream;
    struct app_event event;

    APP_MANY_START(&many, "--lease-ms", "3000");
    assert_int_equal(app_topology_create(&many, "cup", 2, "mutex"), 201);
    assert_true(app_stream_open(&stream, many.service.buyers, "cup"));
    assert_true(app_stream_find(&stream, "snapshot", &event, SOON_MS));
    assert_int_equal(app_topology_buy(&many, "cup", "ann", NULL), 201);
    assert_true(app_stream_find(&stream, "stock", &event, SOON_MS));
    assert_int_equal(app_event_number(&event, "remaining"), 1);
    assert_int_equal(app_topology_step(&many, "cup", "pause", NULL), 200);
    assert_int_equal(app_topology_buy(&many, "cup", "bob", NULL), 503);
    assert_true(app_is_problem(&many.reply, 503, "sale-paused"));
    assert_int_equal(app_topology_step(&many, "cup", "resume", NULL), 200);
    assert_int_equal(app_topology_step(&many, "cup", "restock", "{\"units\":2}"), 200);
    assert_true(app_stream_find(&stream, "stock", &event, SOON_MS));
    assert_int_equal(app_event_number(&event, "remaining"), 3);
    assert_int_equal(app_topology_buy(&many, "cup", "bob", NULL), 201);
    assert_int_equal(app_topology_step(&many, "cup", "end", NULL), 200);
    app_topology_assert_books(&many, "cup", 2, 2);
    app_stream_close(&stream);
}

TEST(it_tells_what_a_failover_can_cost)
{
    APP_MANY_START(&many, "--lease-ms", "3000");
    assert_int_equal(app_topology_get(&many, "/version"), 200);
    app_assert_answer(&many.reply, 200,
                      "{`topology`:`sentinel`,`durability`:`appendfsync-always`,`primaries`:1,"
                      "`syncReplicas`:0}");
    assert_non_null(strstr(app_member(&many.reply, "promise"), "can be lost"));
}

/* On a busy machine replicas may be late although nothing is wrong: asking again is what helps. */
static void put_up_synced(const char *sale, int stock, const char *guard)
{
    if (app_topology_create(&many, sale, stock, guard) == 201) return;
    assert_int_equal(many.reply.status, 503);
    assert_int_equal(app_topology_create(&many, sale, stock, guard), 409); /* it is there */
}

static void buy_synced(const char *sale, const char *user, const char *key)
{
    LKS_EVENTUALLY(app_topology_buy(&many, sale, user, key) == 201, SOON_MS);
}

/* One of two replicas stands still: whatever Bob asks, he is not told that he has an order. */
static void ask_while_a_replica_stands(const char *sale)
{
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(app_topology_buy(&many, sale, "bob", "k2"), 503);
        assert_int_not_equal(app_topology_look_up(&many, sale, "bob"), 200);
    }
    assert_int_equal(app_topology_buy(&many, sale, "ann", "k1"),
                     503); /* no replay is confirmed either */
    assert_int_equal(app_topology_look_up(&many, sale, "ann"), 503);
    assert_true(app_is_problem(&many.reply, 503, "outcome-unknown"));
    assert_non_null(strstr(app_member(&many.reply, "detail"), "too few replicas"));
}

/* He stands no more: Bob asks again, and has one order. */
static void ask_again(const char *sale)
{
    char id[ORDER_ID_ROOM];

    buy_synced(sale, "bob", "k2");
    (void)snprintf(id, sizeof id, "%s", app_topology_order(&many));
    LKS_EVENTUALLY(app_topology_look_up(&many, sale, "bob") == 200, SOON_MS);
    assert_string_equal(app_topology_order(&many), id);
    buy_synced(sale, "ann", "k1");
    assert_non_null(strstr(many.reply.headers, "Idempotency-Replayed: true"));
    app_topology_assert_books(&many, sale, 2, 3);
}

TEST(what_too_few_replicas_have_is_never_accepted)
{
    char sale[SOUND][32];

    APP_MANY_START(&many, "--sync-replicas", "2", "--sync-ms", "60");
    for (size_t i = 0; i < SOUND; i++) {
        (void)snprintf(sale[i], sizeof sale[i], "sync-%s", sound[i]);
        put_up_synced(sale[i], 5, sound[i]);
        buy_synced(sale[i], "ann", "k1");
    }
    (void)lkt_tell(many.topology, "pause n3");
    for (size_t i = 0; i < SOUND; i++)
        ask_while_a_replica_stands(sale[i]);
    assert_int_equal(app_topology_create(&many, "sync-new", 5, "mutex"), 503);
    (void)lkt_tell(many.topology, "resume n3");
    for (size_t i = 0; i < SOUND; i++)
        ask_again(sale[i]);
    assert_true(app_topology_metric(
                    &many, "seckill_orders_total{guard=\"mutex\",outcome=\"unsynced\"}") >= 3);
    assert_int_equal(app_topology_create(&many, "sync-new", 5, "mutex"), 409); /* it is there */
}

/* After the sell-out winners are answered from memory; but memory does not know who has an order. */
TEST(a_replay_out_of_memory_is_confirmed_too)
{
    APP_MANY_START(&many, "--sync-replicas", "2", "--sync-ms", "60");
    put_up_synced("memory", 1, "mutex");
    buy_synced("memory", "ann", "k1");
    LKS_EVENTUALLY(app_topology_buy(&many, "memory", "bob", NULL) == 409,
                   SOON_MS); /* reads the book */
    (void)lkt_tell(many.topology, "pause n3");
    for (unsigned i = 0; i < 5; i++) { /* from memory or not, for longer than it takes to read it */
        assert_int_equal(app_topology_buy(&many, "memory", "ann", "k1"), 503);
        lks_nap(20);
    }
    (void)lkt_tell(many.topology, "resume n3");
    buy_synced("memory", "ann", "k1");
}

struct buyers {
    char ids[BUYERS_MAX][ORDER_ID_ROOM];
    size_t count;
    size_t refused; /* asked again later */
};

static bool is_worth_asking_again(const struct app_reply *reply)
{
    return app_is_problem(reply, 503, "store-unavailable") ||
           app_is_problem(reply, 503, "outcome-unknown") ||
           app_is_problem(reply, 503, "lock-timeout");
}

/* One buyer more, who asks until there is an order. */
static void buy_until_sold(struct buyers *buyers)
{
    char user[NAME_SIZE];
    double until = lks_now_ms() + FAILOVER_MS;

    assert_true(buyers->count < BUYERS_MAX);
    (void)snprintf(user, sizeof user, "u%zu", buyers->count);
    while (app_topology_buy(&many, "through", user, user) != 201) {
        if (!is_worth_asking_again(&many.reply)) fail_msg("%s", many.reply.body);
        if (lks_now_ms() > until) fail_msg("no end of it: %s", many.reply.body);
        buyers->refused++;
        lks_nap(10);
    }
    (void)snprintf(buyers->ids[buyers->count++], ORDER_ID_ROOM, "%s", app_topology_order(&many));
}

static size_t doubles(const struct buyers *buyers)
{
    size_t count = 0;

    for (size_t i = 0; i < buyers->count; i++)
        for (size_t k = 0; k < i; k++)
            count += strcmp(buyers->ids[i], buyers->ids[k]) == 0;
    return count;
}

/* Whoever becomes the primary, it will be unfit; nobody looks at replicas. */
static void let_replicas_evict(void)
{
    static const char *const replicas[] = {"n2", "n3"};

    for (size_t i = 0; i < 2; i++) {
        struct lks_server *server = lkt_server(many.topology, replicas[i]);

        LKS_DO(server, "CONFIG", "SET", "maxmemory-policy", "volatile-lru");
        LKS_DO(server, "CONFIG", "SET", "maxmemory", "1073741824");
    }
}

static bool log_says(const char *words)
{
    return strstr(app_file(many.dir, "seckilld.log"), words);
}

static void kill_the_primary_once_replicas_have_all(void)
{
    assert_string_equal(lkt_tell(many.topology, "primary"), "n1");
    /* WAIT is for what its own connection has written. */
    LKS_DO(lkt_server(many.topology, "n1"), "SET", "last", "1");
    LKS_EVENTUALLY(LKS_INTEGER(lkt_server(many.topology, "n1"), "WAIT", "2", "500") == 2, SOON_MS);
    (void)lkt_tell(many.topology, "kill n1");
}

/* 503 means that it is not known yet. */
static void look_up(const struct buyers *buyers, size_t which)
{
    char user[NAME_SIZE];

    (void)snprintf(user, sizeof user, "u%zu", which);
    LKS_EVENTUALLY(app_topology_look_up(&many, "through", user) != 503, FAILOVER_MS);
    assert_int_equal(many.reply.status, 200);
    assert_string_equal(app_topology_order(&many), buyers->ids[which]);
}

TEST(after_a_failover_it_sells_on)
{
    static struct buyers buyers;

    APP_MANY_START(&many, "--sync-replicas", "1", "--sync-ms", "100");
    put_up_synced("through", BUYERS_MAX, "mutex");
    double before = app_topology_metric(&many, "seckill_topology_changes_total");
    while (buyers.count < 20)
        buy_until_sold(&buyers);
    let_replicas_evict();
    assert_false(log_says("could be evicted"));
    kill_the_primary_once_replicas_have_all();
    double killed_ms = lks_now_ms();
    buy_until_sold(&buyers);
    print_message("# sold again %.0f ms after the primary was killed; asked %zu times in vain\n",
                  lks_now_ms() - killed_ms, buyers.refused);
    while (buyers.count < 60)
        buy_until_sold(&buyers);
    assert_int_equal(doubles(&buyers), 0);
    assert_true(app_topology_metric(&many, "seckill_topology_changes_total") > before);
    LKS_EVENTUALLY(
        log_says("with maxmemory-policy volatile-lru: orders and locks could be evicted"), SOON_MS);
    assert_int_equal(app_topology_get(&many, "/readyz"), 200);
    app_topology_assert_books(&many, "through", 60, BUYERS_MAX - 60);
    for (size_t i = 0; i < 20; i++)
        look_up(&buyers, i);
}
